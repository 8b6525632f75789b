"""Which programs there are for each split, and the fixed sets that are drawn from them: founders, exam, audit.

`groups` names what a box practises: groups of the vocabulary or single skills (see `edgeevo env skills`); empty means everything.
The sets of two choices are different sets with different ids.
"""

from __future__ import annotations

from functools import cache
from random import Random

from edgeevo.domain import Environment, Program, ProgramLink, Split, Task, content_id, derive_seed
from edgeevo.environments import vocabulary
from edgeevo.environments.program import follows, render
from edgeevo.environments.scenarios import SCENARIOS
from edgeevo.environments.splits import split_of
from edgeevo.errors import TaskError

PAIR_SHARE_PERCENT = 40


@cache
def links(groups: tuple[str, ...] = ()) -> tuple[ProgramLink, ...]:
    """Every link of these groups, in order of name."""
    wanted = set(groups)
    entries = sorted(vocabulary.ENTRIES.items())
    return tuple(ProgramLink(skill=s, variant=v) for (s, v), e in entries if not wanted or {e.group, e.skill} & wanted)


@cache
def openers(groups: tuple[str, ...] = ()) -> tuple[ProgramLink, ...]:
    """The links that can stand first."""
    return tuple(link for link in links(groups) if follows(None, link))


@cache
def singles(split: Split, groups: tuple[str, ...] = ()) -> tuple[Program, ...]:
    """All programs of one link in a split."""
    every = (Program(scenario=s, links=(link,)) for link in openers(groups) for s in sorted(SCENARIOS))
    return tuple(p for p in every if split_of(p) is split)


@cache
def pairs(split: Split, groups: tuple[str, ...] = ()) -> tuple[Program, ...]:
    """All programs of two links in a split, each in the scenario that its hash chooses."""
    out = []
    for first in openers(groups):
        for second in links(groups):
            if follows(first, second):
                names = sorted(SCENARIOS)
                scenario = names[derive_seed("pair scenario", first.skill, first.variant, second.skill, second.variant) % len(names)]
                out.append(Program(scenario=scenario, links=(first, second)))
    return tuple(p for p in out if split_of(p) is split)


def founder(program: Program) -> Environment:
    """A generation-0 environment; its lineage is named by its structure."""
    return Environment(program=program, lineage=content_id(program, 8))


@cache
def founders(groups: tuple[str, ...] = ()) -> tuple[Environment, ...]:
    """Every founder: the practice programs of one link; each opener of these groups once, in order of hash, before any comes twice."""
    by_link: dict[ProgramLink, list[Program]] = {}
    for program in sorted(singles(Split.PRACTICE, groups), key=lambda p: derive_seed("founder", p.structure)):
        by_link.setdefault(program.links[0], []).append(program)
    rounds = max((len(programs) for programs in by_link.values()), default=0)
    return tuple(founder(programs[i]) for i in range(rounds) for programs in by_link.values() if i < len(programs))


def held_out_tasks(split: Split, seed: int, count: int, groups: tuple[str, ...] = ()) -> tuple[Task, ...]:
    """`count` tasks of the exam or audit split: 60 % singles and 40 % two-link programs, as even over skills as they go.

    The same arguments give the same tasks. Programs that offer no instance are passed over.
    """
    wanted_pairs = count * PAIR_SHARE_PERCENT // 100
    out: list[Task] = []
    for programs, wanted in ((singles(split, groups), count - wanted_pairs), (pairs(split, groups), wanted_pairs)):
        out += _draw(programs, split, seed, wanted)
    return tuple(out)


def _draw(programs: tuple[Program, ...], split: Split, seed: int, wanted: int) -> list[Task]:
    rng = Random(derive_seed("held out", split.value, seed, len(programs)))
    order = list(programs)
    rng.shuffle(order)
    seen: dict[ProgramLink, int] = {}
    ranked: list[tuple[int, int, Program]] = []
    for program in order:  # every last link once before any twice
        link = program.links[-1]
        ranked.append((seen.get(link, 0), len(ranked), program))
        seen[link] = seen.get(link, 0) + 1
    out: list[Task] = []
    lap = 0
    while len(out) < wanted and lap < wanted:
        for _, place, program in sorted(ranked, key=lambda row: row[:2]):
            if len(out) == wanted:
                break
            try:
                out.append(render(program, derive_seed("held out task", seed, place, lap), split))
            except TaskError:
                continue
        lap += 1
    return out
