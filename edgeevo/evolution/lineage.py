"""Lineages as a value: what the events of a night say about each line of environments, and where the scheduler's pointer stands.

Pure. `Pool.after(event)` folds one event in; replaying the stored events of a night gives back the pool it had.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from edgeevo.domain import Environment, Program, Value
from edgeevo.events import EnvironmentAdmitted, EnvironmentRejected, EpisodesPlayed, Event, LineageMoved

ADVANCE_ABOVE = 6  # of 8 attempts
ADVANCE, STAY, REDUCE, END = "advance", "stay", "reduce", "end"


class Pool(Value):
    """Admitted environments in order of admission, lineages that ended, and the tries already recorded (lineage, generation, place)."""

    environments: tuple[Environment, ...] = ()
    ended: frozenset[str] = frozenset()
    tried: frozenset[tuple[str, int, int]] = frozenset()
    played: frozenset[str] = frozenset()

    def after(self, event: Event) -> Pool:
        """The pool once `event` has happened; events that say nothing about lineages leave it as it is."""
        match event:
            case EnvironmentAdmitted(environment=env, place=place):
                key = (env.lineage, env.generation, place)
                return msgspec.structs.replace(self, environments=(*self.environments, env), tried=self.tried | {key})
            case EnvironmentRejected(environment=env, place=place):
                return msgspec.structs.replace(self, tried=self.tried | {(env.lineage, env.generation, place)})
            case LineageMoved(lineage=lineage, action="end"):
                return msgspec.structs.replace(self, ended=self.ended | {lineage})
            case EpisodesPlayed(environment_id=env_id):
                return msgspec.structs.replace(self, played=self.played | {env_id})
            case _:
                return self

    @staticmethod
    def of(environments: Iterable[Environment], events: Iterable[Event]) -> Pool:
        """The pool of earlier nights with the events of this one folded in."""
        pool = Pool(environments=tuple(environments))
        for event in events:
            pool = pool.after(event)
        return pool

    def structures(self) -> frozenset[str]:
        """Structural hashes of every admitted environment."""
        return frozenset(env.program.structure for env in self.environments)

    def latest(self, lineage: str) -> Environment | None:
        """The youngest admitted environment of a lineage."""
        line = [env for env in self.environments if env.lineage == lineage]
        return max(line, key=lambda env: env.generation) if line else None

    def ancestors(self, lineage: str) -> list[Program]:
        """The programs of a lineage, oldest first."""
        return [env.program for env in sorted((e for e in self.environments if e.lineage == lineage), key=lambda e: e.generation)]


def move(environment: Environment, passed: int, attempts: int, nights_at_zero: int = 0) -> LineageMoved:
    """The scheduler's rule: advance when more than 6 of 8 pass, reduce after three nights at zero, else stay."""
    if attempts and passed * 8 > ADVANCE_ABOVE * attempts:
        action = ADVANCE
    elif passed == 0 and nights_at_zero >= 3:
        action = REDUCE
    else:
        action = STAY
    return LineageMoved(lineage=environment.lineage, generation=environment.generation, action=action, passed=passed, attempts=attempts)
