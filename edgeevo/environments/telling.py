"""Puts a drawn program into words: nested, or clause after clause in one of several styles, with the templates of one split.

A `then` template is an imperative ("sort {x}"), a question, or a noun phrase that begins with one of `PHRASES` ("the first {n} of {x}",
"{x} in upper case"): noun phrases nest, and get a verb where they end a clause. Behind a tree-changing link a template that begins with
`{x}` is a sentence of its own ("{x} should end up in {out}").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from edgeevo.domain import Split
from edgeevo.environments.draft import Draft, Stage
from edgeevo.environments.skills import Entry, Kind, NoInstanceError
from edgeevo.environments.wording import FRAGMENT, Manner, Speaker, gathered, polish, pool, varied

PRONOUNS = {
    Kind.PATHS: ("them", "them", "these files", "those", "those files", "the files found"),
    Kind.LINES: ("them", "them", "those", "these lines", "those lines", "the resulting lines"),
    Kind.NUMBERS: ("them", "them", "those", "these numbers", "the resulting numbers"),
    Kind.VALUE: ("it", "the result", "that", "what you get"),
}
DIRECTORIES = ("them", "those", "these directories", "the directories found")
ONE_FILE = ("it", "that file", "that one")
ONE_PATH = ("its path", "the path of that file")
PATHS_ONLY = ("their paths", "the list of their paths", "these paths", "the paths found")  # to save paths is not to save files
FACT_PHRASES = (
    "the text [stored|kept|written|given] in {file}",
    "the content of {file}",
    "whatever {file} [says|contains]",
    "the value in {file}",
)
SHOW = ("show ", "print ", "display ", "output ", "give me ", "get ", "i need ", "i want ", "let me see ", "show me ", "return ")
LIST = ("list ", "find ", "get a list of ", "print the paths of ", "show me the paths of ", "i need the paths of ", "locate ", "look for ")
LIST_ONE = ("find ", "locate ", "print the path of ", "show me the path of ", "i need the path of ")  # "print the file" would be its text
TELL = ("tell me ", "print ", "show ", "find out ", "i need to know ", "let me know ", "report ", "i want to know ", "output ")
GATHER = ("get ", "get ", "take ", "find ", "collect ", "fetch ")
VERBS = tuple(dict.fromkeys(("", *SHOW, *LIST, *LIST_ONE, *TELL, *GATHER)))  # whatever may stand before a noun phrase

# How clauses are joined: what stands before the first, before those in the middle (the second of two), before the last.
EVERYDAY_JOINTS = ("|, then |, and ", "| and |, and ", "| and then |, and then ", "|, and |, then ", "|. then |. then ")  # in every split
JOINTS = (  # split by hash like templates
    "first |, then |, and finally ",
    "first |; then |; then ",
    "|; after that |; after that ",
    "|. after that, |. finally, ",
    "|. next, |. lastly, ",
    "|, after that |, and at last ",
    "|; next |; next ",
    "|, afterwards |, and in the end ",
    "{i}) |, {i}) |, {i}) ",
    "step {i}: |; step {i}: |; step {i}: ",
    "|, |, ",
    "| -> | -> ",
    "|, subsequently |, and finally ",
    "|, and after that |, and after that ",
    "start with this: |. then |. then ",
    "|. when that is done, |. to finish, ",
    "|, next |, and then ",
    "|. now |. now ",
)
JOINTS_OF_NOUNS = (  # the first clause is a noun phrase; split by hash
    "take | and |, then ",
    "get |, then |, and ",
    "|: |, then ",
    "given |, |, then ",
    "starting from |, |, and ",
    "look at | and |, then ",
    "find | and then |, and then ",
    "with |, do this: |, then ",
    "consider |; |; then ",
    "collect |. then |. then ",
    "for |: |, and ",
)
PHRASES = frozenset("{x} the how only just all line lines field column".split())
FEW_WORDS, MANY_WORDS = 9, 13  # of a noun phrase, before what follows it gets lost
_HEAVY = re.compile(r"\} (add )?\{x\}$")  # only said of something long: "save to {out} {x}"
_MODIFIED = re.compile(r" (with|without|that|whose|where|containing|mentioning|except|but|free|in which) ")
_MODIFIES = re.compile(r"\{x\} (with|without|free|that|containing|minus|except|longer|shorter|from|each|after|in which)\b")
PRONOUN = "@"  # stands for it until its clause is known
_ACTS = re.compile(rf"\b(do|are) {PRONOUN}|(?<! of )(?<! among ){PRONOUN} (have|take|contain|come|look|add)\b")  # "they"
LEFT = ("the rest", "the remaining lines", "what is left")  # after "leave out …", where "them" would be what was left out
_LEAVES_OUT = re.compile(
    r"(leave(?! only)|skip|ignore|exclude|omit|drop|strip|cut off|remove|get rid|filter out|filter .+ out (of|from))\b", re.IGNORECASE
)
_EXCLUDING = frozenset(
    "grep grep_neither grep_starts grep_ends grep_either grep_both longer_than shorter_than skip_first skip_last dedupe remove_blank "
    "config_active numbers_above numbers_below csv_rows csv_sort csv_column csv_distinct".split()
)
_PRINTS = re.compile(r"(\band|\bthen|,) (then )?(print|show|list|display|give|name|output|tell)\b")
_NEVER_SUBJECT = frozenset("every each everything what how which whether where yes same a an only just one both".split())
_FILES = re.compile(r"\{(in|file|archive)\}|the (content|text|lines) of \{")


@dataclass(frozen=True)
class Clause:
    """One part of a request, as it stands in the middle of a sentence."""

    text: str
    apart: bool = False  # a sentence of its own: a question, or one that begins with what it speaks of
    fixed: bool = False  # begins with a value
    noun: bool = False


def is_phrase(entry: Entry, template: str) -> bool:
    """Whether a `then` template is a noun phrase rather than something to do."""
    return entry.gives is not Kind.TREE and not template.endswith("?") and template.split(maxsplit=1)[0].rstrip(",") in PHRASES


def is_apart(template: str) -> bool:
    """Whether a `then` template can't follow a comma: a question, or a sentence about `{x}`."""
    return template.endswith("?") or template.startswith("{x}")


def imperative(template: str) -> bool:
    """Whether a template of `asks` begins with a verb."""
    first = template.split(maxsplit=1)[0].rstrip(":,")
    return not (template.endswith("?") or first.startswith("{") or first in FRAGMENT or template.split()[1:2] == ["of"])


def subject(entry: Entry, template: str) -> str | None:
    """A noun template as the many things that another link works on; None where "the first 3 of …" would not be said of it."""
    first = template.split(maxsplit=1)[0]
    if entry.gives is Kind.VALUE:
        return template
    if _FILES.match(template) and not template.startswith("the lines of "):
        bare = re.sub(r"^the (content|text) of ", "", template)
        return {Kind.LINES: "the lines of ", Kind.NUMBERS: "the numbers of "}.get(entry.gives, "") + bare
    head = re.split(r" (?:of|in|that|with|under|from|below|on|whose|for)\b", template, maxsplit=1)[0]
    plural = any(re.fullmatch(r"[a-z]{3,}s", word) for word in re.findall(r"[a-z]+", head))
    if not plural or first in _NEVER_SUBJECT:
        return None
    if first == "all":
        return "the " + template.removeprefix("all ").removeprefix("of ").removeprefix("the ")
    return template if first == "the" or re.match(r"lines \{", template) else f"the {template}"


def leaves_out(said: str) -> bool:
    """Whether a clause names what it leaves out, so that "them" behind it would be that."""
    return bool(_LEAVES_OUT.match(said))


def extends(entry: Entry, template: str, x: str) -> bool:
    """Whether a `then` template makes a longer noun phrase of the noun phrase `x`."""
    if not is_phrase(entry, template) or template.startswith("how "):
        return False
    if _MODIFIED.search(x) and _MODIFIES.search(template):
        return False
    return template.endswith("{x}") or ("," not in x and (len(x.split()) <= FEW_WORDS or not template.startswith("{x}")))


def join(clauses: list[Clause], shape: str, rng: Random) -> str:
    """All clauses in one string; the first letter is left to `polish`."""
    lead, middle, last = shape.split("|")
    capitals = rng.random() < 0.7
    out = lead.replace("{i}", "1") + clauses[0].text
    for i, clause in enumerate(clauses[1:], 2):
        joint = (last if i == len(clauses) > 2 else middle).replace("{i}", str(i))
        text = clause.text
        if clause.apart or clauses[i - 2].apart:
            joint = " " if out.endswith("?") else ". "
            if capitals and not clause.fixed:
                text = text[0].upper() + text[1:]
        elif joint.startswith(". ") and capitals:
            joint = ". " + joint[2].upper() + joint[3:]
        out += joint + text
    return out


@dataclass
class Teller:
    """Says one draft; `used` collects the ids of what it said."""

    draft: Draft
    speaker: Speaker
    split: Split
    rng: Random
    used: list[str] = field(default_factory=list)

    def choose(self, stage: Stage, kind: str, keep: Callable[[str], bool] = lambda _t: True) -> str | None:
        """A template of one list of an entry that passes `keep`; None when this split has none there."""
        templates: tuple[str, ...] = getattr(stage.entry, kind)
        options = [i for i in pool(templates, self.split) if keep(templates[i])]
        if not options:
            return None
        i = self.rng.choice(options)
        self.used.append(f"{stage.entry.skill}.{stage.entry.variant}/{kind}/{i}")
        return templates[i]

    def fill(self, stage: Stage, template: str, x: str = "") -> str:
        """A template with its values; a value that a file holds is told as that file's content."""
        if stage.fact:
            name, path = stage.fact
            phrase = self.speaker.fill(self.rng.choice(FACT_PHRASES), {"file": path}, self.rng)
            template = template.replace(f"{{{name}}}", phrase)
        return self.speaker.fill(template, dict(stage.params) | {"x": x}, self.rng)

    def verb(self, entry: Entry, template: str, *, onward: bool, first: bool) -> str:
        """The verb before a noun phrase: one that gathers when something is done with it, one that shows otherwise."""
        if template.startswith(("how ", "whether ", "which ", "where ")):
            return self.rng.choice([verb for verb in TELL if first or not verb.startswith("i ")])
        if onward and entry.gives is not Kind.VALUE:
            return self.rng.choice(GATHER)
        verbs: tuple[str, ...] = SHOW
        if entry.gives is Kind.PATHS and not template.startswith("the path"):
            verbs = LIST_ONE if entry.takes is Kind.PATHS or template.startswith("the file ") else LIST
        return self.rng.choice([verb for verb in verbs if first or not verb.startswith("i ")])

    def opening(self, stage: Stage, *, onward: bool, final: bool, first: bool) -> Clause:
        """A link that begins a command; `onward` says that the next link works on what it gives."""
        forms = [f for f in ("asks", "asks", "nouns") if f == "asks" or stage.entry.gives is not Kind.TREE]
        self.rng.shuffle(forms)
        forms = list(dict.fromkeys(forms))
        for form in forms:
            if form == "nouns":
                found = self.choose(stage, form)
                if found:
                    return Clause(self.verb(stage.entry, found, onward=onward, first=first) + self.fill(stage, found))
            elif final and first:
                found = self.choose(stage, form)
            else:
                found = self.choose(stage, form, lambda t: imperative(t) and not (onward and _PRINTS.search(t)))
                if not found and form == forms[-1]:
                    found = self.choose(stage, form, lambda t: not t.endswith("?"))
            if found:
                value = found.startswith("{")
                template = gathered(found, self.rng) if onward and stage.entry.gives is not Kind.VALUE else varied(found, self.rng)
                return Clause(self.fill(stage, template), fixed=value, apart=not first and (value or found.endswith("?")))
        raise NoInstanceError

    def following(self, stage: Stage, x: str, *, onward: bool, final: bool, first: bool) -> Clause | None:
        """A link that works on `x`, a noun phrase or a pronoun; None when this split can't say it here."""
        ask = final and (first or self.rng.random() < 0.5)

        long = "," in x or len(x.split()) > MANY_WORDS

        modified = bool(_MODIFIED.search(x))

        def fits(template: str) -> bool:
            if modified and _MODIFIES.search(template):
                return False  # two modifiers in a row: the second would belong to the first
            if long and not template.endswith(("{x}", "{x}?")):
                return False  # what follows would seem to belong to the last words of `x`
            return ask or not template.endswith("?")

        def fits_well(template: str) -> bool:
            return fits(template) and not (x == PRONOUN and _HEAVY.search(template))

        found = self.choose(stage, "then", fits_well) or self.choose(stage, "then", fits)
        if not found:
            return None
        if is_phrase(stage.entry, found):
            if first and final and not found.startswith(("{x}", "how ")) and self.rng.random() < 0.25:
                return Clause(self.fill(stage, found, x))
            return Clause(self.verb(stage.entry, found, onward=onward, first=first) + self.fill(stage, found, x))
        inner = onward and stage.entry.gives is not Kind.VALUE
        template = gathered(found, self.rng) if inner else varied(found, self.rng)
        return Clause(self.fill(stage, template, x), apart=is_apart(found), fixed=found.startswith("{"))

    def referring(self, before: Stage, stage: Stage, *, said: Clause, onward: bool, final: bool) -> Clause:
        """A link that works on what the link before gave."""
        clause = self.following(stage, PRONOUN, onward=onward, final=final, first=False)
        if not clause:
            raise NoInstanceError
        options = self.pronouns(before, stage)
        if before.entry.skill in _EXCLUDING and leaves_out(said.text) and options is not PATHS_ONLY:
            options = LEFT
        usual = re.search(rf"\b(of|among) (each of )?{PRONOUN}", clause.text) and options[0] == "them"
        word = "them" if usual and not clause.apart else self.rng.choice([o for o in options if o != "them" or not clause.apart])
        if word == "them" and _ACTS.search(clause.text):
            word = "they"
        return replace(clause, text=clause.text.replace(PRONOUN, word))

    def pronouns(self, before: Stage, stage: Stage) -> tuple[str, ...]:
        """What the result of a link may be called when the next one works on it."""
        one = before.entry.gives is Kind.PATHS and before.entry.takes is Kind.PATHS
        if self.writes_paths(before, stage):
            return ONE_PATH if one else PATHS_ONLY
        if before.entry.skill.startswith("find_dirs"):
            return DIRECTORIES
        return ONE_FILE if one else PRONOUNS[before.entry.gives]

    def writes_paths(self, before: Stage, stage: Stage) -> bool:
        """Whether a link puts paths, not lines or numbers, into a file."""
        if stage.entry.gives is not Kind.TREE or stage.entry.takes is not Kind.TEXT or before.entry.gives is Kind.VALUE:
            return False
        for earlier in reversed(self.draft.stages[: self.draft.stages.index(stage)]):
            if earlier.entry.gives is Kind.PATHS:
                return True
            if not earlier.entry.on_paths or earlier.starts:
                return False
        return False

    def nested(self, stages: list[Stage]) -> tuple[str, int] | None:
        """A noun phrase for the result of the first few links of a pipe, and how many they are; at least one link is left over."""
        noun = self.choose(stages[0], "nouns", lambda t: subject(stages[0].entry, t) is not None)
        if not noun:
            return None
        x = self.fill(stages[0], subject(stages[0].entry, noun) or noun)
        count = 1
        while count < len(stages) - 1 and self.rng.random() < 0.6:
            entry = stages[count].entry
            found = self.choose(stages[count], "then", lambda t, e=entry, x=x: extends(e, t, x))  # type: ignore[misc]
            if not found:
                break
            x = self.fill(stages[count], found, x)
            count += 1
        return x, count

    def pipe(self, stages: list[Stage], *, first: bool, final: bool) -> list[Clause]:
        """The clauses of one command."""
        if len(stages) == 1:
            return [self.opening(stages[0], onward=False, final=final, first=first)]
        style = self.rng.random()
        found = self.nested(stages) if style < 0.7 else None
        clauses: list[Clause] = []
        place = 1
        if found and style < 0.5:
            last = found[1] == len(stages) - 1
            x = found[0]
            if self.writes_paths(stages[found[1] - 1], stages[found[1]]):
                x = f"{self.rng.choice(('the paths of', 'the list of', 'the path names of'))} {x}"
            clause = self.following(stages[found[1]], x, onward=not last, final=final and last, first=first)
            if clause:
                clauses.append(clause)
                place = found[1] + 1
        if found and not clauses and first:
            clauses.append(Clause(found[0], noun=True))
            place = found[1]
        if not clauses:
            clauses.append(self.opening(stages[0], onward=True, final=False, first=first))
        for before, stage in pairwise(stages[place - 1 :]):
            last = stage is stages[-1]
            clauses.append(self.referring(before, stage, said=clauses[-1], onward=not last, final=final and last))
        return clauses

    def tell(self) -> str:
        """The whole request."""
        pipes: list[list[Stage]] = []
        for stage in self.draft.stages:
            if stage.starts:
                pipes.append([])
            pipes[-1].append(stage)
        clauses: list[Clause] = []
        for stages in pipes:
            clauses += self.pipe(stages, first=not clauses, final=stages is pipes[-1])
        shape = self.shape(clauses)
        fixed = clauses[0].fixed and shape.startswith("|")
        curt = "{i}" in shape or "->" in shape
        manner = Manner.ALONE if len(clauses) == 1 else Manner.CURT if curt else Manner.PLAIN
        return polish(join(clauses, shape, self.rng), self.rng, self.split, opens_with_value=fixed, manner=manner)

    def shape(self, clauses: list[Clause]) -> str:
        """How the clauses are joined."""
        if len(clauses) == 1:
            return "||"
        shapes, kind = (JOINTS_OF_NOUNS, "of nouns ") if clauses[0].noun else (JOINTS, "")
        plain = clauses[0].noun or (not clauses[0].fixed and imperative(clauses[0].text + " "))
        apart = any(clause.apart for clause in clauses[1:]) and not clauses[0].noun
        if apart or not plain or (not clauses[0].noun and self.rng.random() < 0.45):
            return self.rng.choice(EVERYDAY_JOINTS)
        i = self.rng.choice(pool(shapes, self.split))
        self.used.append(f"joint {kind}{i}")
        return shapes[i]


def words(draft: Draft, speaker: Speaker, split: Split, rng: Random) -> tuple[str, str]:
    """The instruction and the ids of the templates in it."""
    teller = Teller(draft, speaker, split, rng)
    sentence = teller.tell()
    return sentence, "+".join(teller.used)
