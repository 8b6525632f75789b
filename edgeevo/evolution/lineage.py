"""Lineages as a value: what the events of a night say about each line of environments, and where the scheduler's pointer stands.

Pure. `Pool.after(event)` folds one event in; replaying the stored events of a night gives back the pool it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

import msgspec

from edgeevo.domain import Environment, Program, Value, content_id, derive_seed
from edgeevo.events import NIGHTS_AT_ZERO, EnvironmentAdmitted, EnvironmentRejected, EpisodesPlayed, Event, LineageMoved

ADVANCE_ABOVE = 6  # of 8 attempts
ADVANCE, STAY, REDUCE = "advance", "stay", "reduce"  # what the scheduler does after attempts
END, NARROW = "end", "narrow"  # what a night's evolution says: no child at all, no further sibling


def novelty(program: Program) -> str:
    """What makes a program new, as a hash: one link in its scenario, a composition by its links wherever they stand (as in `split_of`).

    Hazards count: the same links among hostile names are another environment.
    """
    if len(program.links) == 1:
        return program.structure
    return content_id([sorted(program.hazards), [[link.skill, link.variant] for link in program.links]])


class Pool(Value):
    """Admitted environments in order of admission, lineages that ended, and the tries already recorded (lineage, generation, place).

    `earlier` holds the youngest generation that each lineage had when the night began, `novelties` what a new environment must differ from.
    """

    environments: tuple[Environment, ...] = ()
    novelties: frozenset[str] = frozenset()
    earlier: frozenset[tuple[str, int]] = frozenset()
    ended: frozenset[str] = frozenset()
    narrowed: frozenset[tuple[str, int]] = frozenset()
    tried: frozenset[tuple[str, int, int]] = frozenset()
    admitted: frozenset[tuple[str, int, int]] = frozenset()
    played: frozenset[str] = frozenset()

    def after(self, event: Event) -> Pool:
        """The pool once `event` has happened; events that say nothing about lineages leave it as it is."""
        match event:
            case EnvironmentAdmitted(environment=env, place=place):
                key = (env.lineage, env.generation, place)
                return msgspec.structs.replace(
                    self,
                    environments=(*self.environments, env),
                    novelties=self.novelties | {novelty(env.program)},
                    tried=self.tried | {key},
                    admitted=self.admitted | {key},
                )
            case EnvironmentRejected(environment=env, place=place):
                return msgspec.structs.replace(self, tried=self.tried | {(env.lineage, env.generation, place)})
            case LineageMoved(lineage=lineage, action="end"):
                return msgspec.structs.replace(self, ended=self.ended | {lineage})
            case LineageMoved(lineage=lineage, generation=generation, action="narrow"):
                return msgspec.structs.replace(self, narrowed=self.narrowed | {(lineage, generation)})
            case EpisodesPlayed(environment_id=env_id):
                return msgspec.structs.replace(self, played=self.played | {env_id})
            case _:
                return self

    @staticmethod
    def of(environments: Iterable[Environment], events: Iterable[Event]) -> Pool:
        """The pool of earlier nights with the events of this one folded in."""
        before = tuple(environments)
        youngest: dict[str, int] = {}
        for env in before:
            youngest[env.lineage] = max(env.generation, youngest.get(env.lineage, 0))
        novelties = frozenset(novelty(env.program) for env in before)
        pool = Pool(environments=before, novelties=novelties, earlier=frozenset(youngest.items()))
        for event in events:
            pool = pool.after(event)
        return pool

    def began_at(self, lineage: str) -> int:
        """The youngest generation that a lineage had when the night began; 0 for a new one."""
        return dict(self.earlier).get(lineage, 0)

    def parent(self, lineage: str, number: int) -> Environment | None:
        """Whose children generation `number` of a lineage are; None when the lineage isn't there yet, or was past it before tonight.

        Of siblings the one that was admitted first.
        """
        if self.began_at(lineage) >= number:
            return None
        line = (env for env in self.environments if env.lineage == lineage and env.generation == number - 1)
        return next(line, None)

    def ancestors(self, lineage: str) -> list[Program]:
        """The programs of a lineage, oldest first."""
        return [env.program for env in sorted((e for e in self.environments if e.lineage == lineage), key=lambda e: e.generation)]


def due(pool: Iterable[Environment], moves: Sequence[LineageMoved], seed: int, count: int) -> list[Environment]:
    """At most `count` environments to attempt tonight: of each lineage, drawn by hash, one of the generation that its pointer stands at.

    `moves` are those of earlier nights, oldest first. A pointer that is ahead of its lineage waits at the youngest generation. With fewer
    lineages than `count` the others follow, whatever their generation.
    """

    def drawn(env: Environment) -> int:
        return derive_seed("due", seed, env.id)

    lines: dict[str, list[Environment]] = {}
    for env in sorted(pool, key=drawn):
        lines.setdefault(env.lineage, []).append(env)
    first = []
    for lineage, line in lines.items():
        at = pointer(lineage, moves)
        first.append(max((env for env in line if env.generation <= at), key=lambda env: env.generation, default=line[0]))
    first.sort(key=drawn)
    others = [env for line in lines.values() for env in line if env not in first]
    return [*first, *sorted(others, key=drawn)][:count]


def pointer(lineage: str, moves: Sequence[LineageMoved]) -> int:
    """The generation at which a lineage is to be attempted next; 0 for one that never was."""
    last = next((move for move in reversed(moves) if move.lineage == lineage), None)
    return 0 if last is None else max(0, last.generation + {ADVANCE: 1, REDUCE: -1}.get(last.action, 0))


def move(environment: Environment, passed: int, attempts: int, moves: Sequence[LineageMoved] = ()) -> LineageMoved:
    """The scheduler's rule: advance when more than 6 of 8 pass, reduce after three nights at zero in this generation, else stay.

    `moves` are those of earlier nights, oldest first.
    """
    before = [m for m in moves if m.lineage == environment.lineage and m.attempts]
    zeros = len(list(takewhile(lambda m: m.passed == 0 and m.generation == environment.generation, reversed(before))))
    if attempts and passed * 8 > ADVANCE_ABOVE * attempts:
        action = ADVANCE
    elif attempts and passed == 0 and zeros + 1 >= NIGHTS_AT_ZERO:
        action = REDUCE
    else:
        action = STAY
    return LineageMoved(
        lineage=environment.lineage,
        generation=environment.generation,
        action=action,
        passed=passed,
        attempts=attempts,
        environment_id=environment.id,
    )
