"""Puts a drawn program into words: nested or one clause after another, with the templates of one split."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from edgeevo.domain import Split
from edgeevo.environments.draft import Draft, Stage
from edgeevo.environments.skills import Kind, NoInstanceError
from edgeevo.environments.wording import Speaker, polish, pool

PRONOUNS = {Kind.PATHS: ("them", "these files", "those"), Kind.VALUE: ("it", "the result", "that"), Kind.TREE: ("it",)}
FACT_PHRASES = (
    "the text [stored|kept|written|given] in {file}",
    "the content of {file}",
    "whatever {file} [says|contains]",
    "the value in {file}",
)


def _choose(stage: Stage, field_name: str, split: Split, rng: Random, *, last: bool = True) -> tuple[str, str] | None:
    """A template of one list of an entry and its id; None when this split has none there."""
    templates: tuple[str, ...] = getattr(stage.entry, field_name)
    options = [i for i in pool(templates, split) if last or not templates[i].endswith("?")]
    if not options:
        return None
    i = rng.choice(options)
    return templates[i], f"{stage.entry.skill}.{stage.entry.variant}/{field_name}/{i}"


def words(draft: Draft, speaker: Speaker, split: Split, rng: Random) -> tuple[str, str]:
    """The instruction and the ids of the templates in it."""
    used: list[str] = []

    def fill(stage: Stage, template: str, x: str = "") -> str:
        params = dict(stage.params) | {"x": x}
        if stage.fact:
            name, path = stage.fact
            phrase = speaker.fill(rng.choice(FACT_PHRASES), {"file": path}, rng)
            template = template.replace(f"{{{name}}}", phrase)
        return speaker.fill(template, params, rng)

    def opening(stage: Stage, *, last: bool) -> tuple[str, bool]:
        forms = [f for f in ("asks", "nouns") if (f == "asks" or stage.entry.gives is not Kind.TREE)]
        rng.shuffle(forms)
        for form in forms:
            found = _choose(stage, form, split, rng, last=last)
            if found:
                used.append(found[1])
                verb = (
                    rng.choice(("show ", "print ", "list ", "display ", "give me ", "output ", "get ", "tell me "))
                    if form == "nouns"
                    else ""
                )
                return verb + fill(stage, found[0]), found[0].startswith("{") and not verb
        raise NoInstanceError

    stages = draft.stages
    if len(stages) == 2 and not stages[1].starts and rng.random() < 0.6:
        noun, then = _choose(stages[0], "nouns", split, rng), _choose(stages[1], "then", split, rng)
        if noun and then:
            used += [noun[1], then[1]]
            sentence = fill(stages[1], then[0], fill(stages[0], noun[0]))
            return polish(sentence, rng, split, opens_with_value=then[0].startswith("{")), "+".join(used)
    sentence, fixed = opening(stages[0], last=len(stages) == 1)
    for before, stage in pairwise(stages):
        last = stage is stages[-1]
        if stage.starts:
            clause, _ = opening(stage, last=False)
        else:
            found = _choose(stage, "then", split, rng, last=False)
            if not found:
                raise NoInstanceError
            used.append(found[1])
            clause = fill(stage, found[0], rng.choice(PRONOUNS.get(before.entry.gives, ("them", "the result", "these lines", "that"))))
        joint = rng.choice((", then ", " and then ", " and ", ", and ", "; then ", ". then "))
        sentence += (rng.choice((" and ", ", and ", ", then ")) if last and len(stages) > 2 else joint) + clause
    return polish(sentence, rng, split, opens_with_value=fixed), "+".join(used)
