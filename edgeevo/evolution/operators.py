"""The operators: small pure functions that edit a program in one direction, each with the reason why its child is harder.

Adding one is adding a row to `OPERATORS`: an id, its cell (direction and aspect), the reason, and `edit(program, rng, links)`: the
edited program and the index of the link it touched, or None when its precondition doesn't hold. What a child is worth is measured later.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from edgeevo.domain import Direction, Program, ProgramLink
from edgeevo.environments.program import FACT, WITHOUT, entry_of, follows, uses
from edgeevo.environments.scenarios import HAZARDS
from edgeevo.environments.skills import Entry, Kind

FACT_PARAMETERS = ("word", "n", "key")
SCARCE_TOOLS = ("awk", "sed", "find", "grep", "sort", "tee", "head", "tr", "xargs", "perl", "paste", "tac")
LOOKING_TOOLS = ("find", "ls", "du")


class Aspect(enum.StrEnum):
    """The three aspects of an environment in which a direction is realised."""

    CONSTRAINT = "constraint"
    RESOURCE = "resource"
    INTERACTION = "interaction"


Edit = Callable[[Program, Random, Sequence[ProgramLink]], tuple[Program, int] | None]


@dataclass(frozen=True)
class Operator:
    """One operator with its cell in the matrix and why its child is harder than the parent."""

    id: str
    direction: Direction
    aspect: Aspect
    harder_because: str
    edit: Edit


def fits(links: tuple[ProgramLink, ...]) -> bool:
    """Whether every link can stand behind the one before it (a `fact` link is transparent to types)."""
    real = [k for k in links if k.skill != FACT]
    if not real or links[-1].skill == FACT:
        return False
    return all(follows(before, after) for before, after in zip([None, *real], real, strict=False))


def _with(program: Program, links: tuple[ProgramLink, ...]) -> Program | None:
    return Program(scenario=program.scenario, links=links, hazards=program.hazards) if fits(links) else None


def _some(rng: Random, programs: list[tuple[Program, int]]) -> tuple[Program, int] | None:
    return rng.choice(programs) if programs else None


def append_link(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """One more link at the end: its result depends on everything before."""
    found = [(new, len(program.links)) for link in links if (new := _with(program, (*program.links, link)))]
    return _some(rng, found)


def insert_link(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """One more link in the middle: what follows works on other input."""
    at = [i for i in range(1, len(program.links)) if program.links[i - 1].skill != FACT]
    found = []
    for i in at:
        for link in links:
            new = _with(program, (*program.links[:i], link, *program.links[i:]))
            if new:
                found.append((new, i))
    return _some(rng, found)


def hide_fact(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """A value that the instruction gave must now be read from a file first."""
    if any(link.skill == FACT for link in program.links):
        return None
    found = []
    for i, link in enumerate(program.links):
        for name in FACT_PARAMETERS:
            if _usable_fact(entry_of(link), name):
                links = (*program.links[:i], ProgramLink(skill=FACT, variant=name), *program.links[i:])
                found.append((Program(scenario=program.scenario, links=links, hazards=program.hazards), i))
    return _some(rng, found)


def _usable_fact(entry: Entry, name: str) -> bool:
    """At least two ways must take the value as a word of its own, so that `"$(cat f)"` can stand there."""
    return sum(f"{{{name}}}" in way and f"{{{name}:raw}}" not in way for way in entry.ways) > 1


def add_hazard(hazard: str) -> Edit:
    """An operator that puts `hazard` into the scenario."""

    def edit(program: Program, _rng: Random, _links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
        if hazard in program.hazards:
            return None
        return Program(scenario=program.scenario, links=program.links, hazards=(*program.hazards, hazard)), 0

    return edit


def add_decoys(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """Near misses, where they can matter and show: the first link looks for files, and the last one prints."""
    first = next(link for link in program.links if link.skill != FACT)
    looks = any(uses(way, tool) for way in entry_of(first).ways for tool in LOOKING_TOOLS)
    return add_hazard("decoys")(program, rng, links) if looks and entry_of(program.links[-1]).gives is not Kind.TREE else None


def take_tool(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """The tool of a link's everyday form is absent from the box; two other forms must remain, of this link and of every other."""
    if any(h.startswith(WITHOUT) for h in program.hazards):
        return None
    forms = {i: entry_of(link).ways for i, link in enumerate(program.links) if link.skill != FACT}
    found = []
    for i, ways in forms.items():
        for tool in SCARCE_TOOLS:
            if tool in ways[0].split() and all(sum(not uses(way, tool) for way in others) > 1 for others in forms.values()):
                found.append((Program(scenario=program.scenario, links=program.links, hazards=(*program.hazards, WITHOUT + tool)), i))
    return _some(rng, found)


def rarer_sibling(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """Another variant of the same skill: a move that looks like the expected one and isn't."""
    return _swap(program, rng, links, lambda old, new: old.skill == new.skill and new.variant != "plain")


def other_skill(program: Program, rng: Random, links: Sequence[ProgramLink]) -> tuple[Program, int] | None:
    """Another skill with the same types in the last link's place."""
    return _swap(program, rng, links, lambda old, new: old.skill != new.skill)


def _swap(
    program: Program, rng: Random, links: Sequence[ProgramLink], allowed: Callable[[ProgramLink, ProgramLink], bool]
) -> tuple[Program, int] | None:
    found = []
    for i, old in enumerate(program.links):
        if old.skill == FACT or (i and program.links[i - 1].skill == FACT):
            continue
        kinds = (entry_of(old).takes, _broad(entry_of(old).gives))
        for new in links:
            if new == old or not allowed(old, new) or (entry_of(new).takes, _broad(entry_of(new).gives)) != kinds:
                continue
            child = _with(program, (*program.links[:i], new, *program.links[i + 1 :]))
            if child:
                found.append((child, i))
    return _some(rng, found)


def _broad(kind: Kind) -> Kind:
    return Kind.LINES if kind is Kind.NUMBERS else kind


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "append_link", Direction.LENGTH, Aspect.CONSTRAINT, "a further result is required that depends on every earlier link", append_link
    ),
    Operator("insert_link", Direction.LENGTH, Aspect.CONSTRAINT, "a link in between changes what all later links work on", insert_link),
    Operator("hide_fact", Direction.LENGTH, Aspect.INTERACTION, "a value must be found in a file before it can be used", hide_fact),
    Operator(
        "hostile_names",
        Direction.SCENARIO,
        Aspect.CONSTRAINT,
        HAZARDS["spaces"] + ", so that an unquoted path means two",
        add_hazard("spaces"),
    ),
    Operator("decoys", Direction.SCENARIO, Aspect.INTERACTION, HAZARDS["decoys"] + ", so that a loose match takes too much", add_decoys),
    Operator("take_tool", Direction.SKILL, Aspect.RESOURCE, "the usual tool is absent from the box", take_tool),
    Operator(
        "rarer_sibling",
        Direction.SKILL,
        Aspect.CONSTRAINT,
        "a neighbouring move is asked for that the usual form doesn't make",
        rarer_sibling,
    ),
    Operator("other_skill", Direction.SKILL, Aspect.CONSTRAINT, "a less expected move is asked for in the same place", other_skill),
)
BY_ID = {operator.id: operator for operator in OPERATORS}
