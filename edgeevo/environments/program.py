"""A program of links becomes a task: state, request, shell solutions and contract, all from one seed, all from the same parameters.

    render(program, seed, split)  →  Task
    follows(before, after)        →  whether a link can stand behind another

The reference implementations decide what must come out; the shell solutions are only proposals that the verifiers measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from edgeevo.domain import Program, ProgramLink, Split, State, Task, derive_seed
from edgeevo.environments.contract import contract
from edgeevo.environments.draft import FACT, WITHOUT, Draft, Stage, draw_once, entry_of, follows
from edgeevo.environments.reserved import echoes
from edgeevo.environments.skills import Draw, Entry, NoInstanceError
from edgeevo.environments.telling import words
from edgeevo.environments.wording import PATHS, QUOTED, Speaker, Style
from edgeevo.errors import TaskError

__all__ = ["FACT", "WITHOUT", "entry_of", "follows", "naive_command", "render", "uses"]

MAX_DRAWS = 40
MAX_TELLINGS = 8


def render(program: Program, seed: int, split: Split) -> Task:
    """The task of `program` for `seed`, with names and wordings of `split`; TaskError when no draw gives an instance."""
    for attempt in range(MAX_DRAWS):
        rng = _dice(program, seed, split, attempt)
        try:
            return _finish(draw_once(program, rng, split), program, seed, split, rng)
        except (NoInstanceError, PermissionError):  # nothing to work on, or an earlier link took the right to write
            continue
    names = " → ".join(f"{k.skill}.{k.variant}" for k in program.links)
    raise TaskError(
        f"program {names} in {program.scenario} has no instance after {MAX_DRAWS} draws, seed {seed}", hint="draw another seed or program"
    )


def _dice(program: Program, seed: int, split: Split, attempt: int) -> Random:
    """Hazards stay out of the seed, so that a program and its hazardous twin start from the same scene."""
    return Random(derive_seed("task", program.scenario, *[f"{k.skill}.{k.variant}" for k in program.links], split.value, seed, attempt))


def naive_command(
    task: Task,
    *,
    drop: int | None = None,
    swap: tuple[int, ProgramLink] | None = None,
    unquoted: bool = False,
    ignore_absent: bool = False,
    unread: bool = False,
) -> str | None:
    """What somebody would type who misses one thing about `task`, with the task's own names and values; None when it can't be written.

    `drop` leaves out a link, `swap` uses another skill's first way in a link's place, `unquoted` forgets the quotes, `ignore_absent` uses
    tools that this state lacks, `unread` takes the name of the file that holds a fact for the fact.
    """
    for attempt in range(MAX_DRAWS):
        rng = _dice(task.program, task.seed, task.split, attempt)
        try:
            draft = draw_once(task.program, rng, task.split)
            _finish(draft, task.program, task.seed, task.split, _twin(rng))
        except (NoInstanceError, PermissionError):  # nothing to work on, or an earlier link took the right to write
            continue
        stages = list(draft.stages)
        place = sum(link.skill != FACT for link in task.program.links[: drop if drop is not None else swap[0] if swap else 0])
        if drop is not None:
            del stages[place]
        if swap is not None:
            try:
                stages[place] = _instead(stages[place], entry_of(swap[1]), draft, task.split)
            except NoInstanceError:
                return None
        if not stages or not stages[0].starts:
            return None
        if unread:
            stages = [replace(s, params={**s.params, s.fact[0]: s.fact[1]}, fact=None) if s.fact else s for s in stages]
        speaker = Speaker(Style.draw(rng), draft.scene.cwd, draft.scene.home)
        absent = () if ignore_absent else task.initial.absent_tools
        try:
            command = _command(replace(draft, stages=stages), speaker, 0, absent)
        except (NoInstanceError, KeyError):
            return None
        return command.replace("'", "") if unquoted else command
    return None


def _instead(stage: Stage, entry: Entry, draft: Draft, split: Split) -> Stage:
    """Another entry in a stage's place: its own parameters are drawn, and the stage's values are used wherever the names agree."""
    dice = Random(derive_seed("instead", entry.skill, entry.variant, *sorted(stage.params.values())))
    drawn = entry.draw(Draw(dice, draft.scene, draft.initial, split, None if stage.starts else []))
    return Stage(entry, {**drawn, **{k: v for k, v in stage.params.items() if k in drawn or k == "in"}}, stage.starts)


def _twin(rng: Random) -> Random:
    """Dice in the same state as `rng`, so that trying something out does not move the stream."""
    twin = Random()
    twin.setstate(rng.getstate())
    return twin


def uses(way: str, tool: str) -> bool:
    """Whether a shell form needs `tool` (or has a word that looks like it)."""
    return bool(re.search(rf"\b{re.escape(tool)}\b", way))


def _command(draft: Draft, speaker: Speaker, preference: int, absent: tuple[str, ...]) -> str:
    """The whole program as one command line, using each entry's way number `preference` (or the nearest that is allowed)."""
    out = ""
    for stage in draft.stages:
        ways = [w for w in stage.entry.ways if not any(uses(w, tool) for tool in absent)]
        if stage.fact:
            ways = [w for w in ways if f"{{{stage.fact[0]}}}" in w and f"{{{stage.fact[0]}:raw}}" not in w]
        if not stage.starts:
            ways = [w for w in ways if not w.startswith("!")]
        if not ways or ((absent or stage.fact) and len(ways) < 2):
            raise NoInstanceError
        way = ways[min(preference, len(ways) - 1)].removeprefix("!")
        if stage.fact:
            way = way.replace(f"{{{stage.fact[0]}}}", f'"$(cat {speaker.shell_path(stage.fact[1])})"')
        text = speaker.shell(way, stage.params, piped=not stage.starts)
        glue = "" if not out else " && " if stage.starts else " " if text.startswith(">") else " | "
        out += glue + text
    return out


def _names_something(draft: Draft, speaker: Speaker) -> bool:
    """Whether any parameter is a name or text of the split's own rather than the working directory or a number."""
    for stage in draft.stages:
        for name, value in stage.params.items():
            if (name in PATHS and speaker.path(value) != ".") or (name in QUOTED and any(c.isalpha() for c in value)):
                return True
    return False


def _tellings(draft: Draft, speaker: Speaker, split: Split, rng: Random) -> Iterator[tuple[str, str]]:
    """The draft in words, again and again in others."""
    return (words(draft, speaker, split, rng) for _ in range(MAX_TELLINGS))


def _finish(draft: Draft, program: Program, seed: int, split: Split, rng: Random) -> Task:
    scene, style = draft.scene, Style.draw(rng)
    speaker = Speaker(style, scene.cwd, scene.home)
    absent = tuple(h.removeprefix(WITHOUT) for h in program.hazards if h.startswith(WITHOUT))
    oracle = _command(draft, speaker, 0, absent)
    alternative = _command(
        draft, Speaker(Style("absolute", "", number_words=False, noun=False, dotted_ext=False), scene.cwd, scene.home), 1, absent
    )
    if split is not Split.PRACTICE and not _names_something(draft, speaker):
        raise NoInstanceError  # "find . -type f" is the same command in every split
    instruction, wording = next((told for told in _tellings(draft, speaker, split, rng) if not echoes(told[0], split)), ("", ""))
    if not instruction:
        raise NoInstanceError  # whatever this draft is called in this split, a held-out request says it too
    if absent:
        instruction += f" ({', '.join(absent)} is not installed)"
    initial = State(nodes=dict(sorted(draft.initial.nodes.items())), cwd=scene.cwd, home=scene.home, absent_tools=absent)
    return Task(
        instruction=instruction,
        initial=initial,
        contract=contract(draft),
        oracle=(oracle,),
        alternative=(alternative,),
        program=program,
        seed=seed,
        wording=wording,
        split=split,
    )
