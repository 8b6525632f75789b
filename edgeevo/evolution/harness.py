"""One night's evolution: founders are verified, then each lineage grows by generations through two gated loops. Read it top to bottom.

    plan loop         proposer edits the parent in one direction; the reviewer objects or agrees, within a budget
    environment loop  the child is rendered solution first; verifiers measure it in the sandbox; a failure is repaired within a budget

Directions are tried in random order from the same parent; a lineage ends for the night only when all three fail for the first of its
children. Siblings widen a generation; the first that is admitted is the parent of the next. All dice are keyed by
(night seed, lineage, generation), and what is recorded is not measured again, so a night that was stopped after any event takes the
same decisions when it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from edgeevo.domain import Direction, Environment, Split, Task, derive_seed
from edgeevo.environments.program import render
from edgeevo.environments.splits import split_of
from edgeevo.errors import SandboxError, TaskError
from edgeevo.events import EnvironmentAdmitted, EnvironmentRejected, Event, Evidence, LineageMoved
from edgeevo.evolution.lineage import END, NARROW, Pool
from edgeevo.evolution.roles import PlanReviewer, Proposal, Proposer, Rejection
from edgeevo.evolution.rules import RuleProposer, RuleReviewer
from edgeevo.evolution.verifiers import REASONS, examine
from edgeevo.sandbox import Sandbox

PLAN_TRIES = 24  # plans in one direction, those that the reviewer objects to included: they cost no sandbox
BUILDS = 2  # children in one direction that are measured before the next direction has its turn
PLACES = 3 * PLAN_TRIES  # tries of one child at most; those of its next sibling are numbered behind them
REPAIRS = 1


@dataclass(frozen=True)
class Harness:
    """The roles and the sandbox that generations are made with."""

    sandbox: Sandbox
    seed: int
    proposer: Proposer = field(default_factory=RuleProposer)
    reviewer: PlanReviewer = field(default_factory=RuleReviewer)
    generations: int = 1  # that a lineage may grow by in one night
    children: int = 1  # of one parent
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)  # of length, scenario and skill

    def founders(self, candidates: Sequence[Environment], pool: Pool) -> Iterator[Event]:
        """Verify founders; those that pass are admitted as generation 0."""
        known = {env.id for env in pool.environments}
        for founder in candidates:
            if founder.id in known or (founder.lineage, 0, 0) in pool.tried:
                continue
            yield self._build(founder, None, None, 0)

    def generation(self, number: int, lineages: Sequence[str], pool: Pool) -> Iterator[Event]:
        """Give every lineage its children of generation `number`; `pool` is followed along, the parent is one of the generation before."""
        for lineage in lineages:
            parent = pool.parent(lineage, number)
            if parent is None or lineage in pool.ended or number > pool.began_at(lineage) + self.generations:
                continue
            for sibling in range(self.children):
                for event in self._child(parent, sibling, pool):
                    pool = pool.after(event)
                    yield event
                if lineage in pool.ended or (lineage, parent.generation) in pool.narrowed:
                    break

    def _child(self, parent: Environment, sibling: int, pool: Pool) -> Iterator[Event]:
        first = sibling * PLACES
        name, generation = parent.lineage, parent.generation + 1
        if any((name, generation, place) in pool.admitted for place in range(first + 1, first + PLACES + 1)):
            return
        rng = Random(derive_seed("child", self.seed, name, generation, sibling))
        place = first
        for direction in self._order(rng):
            builds = 0
            for _ in range(PLAN_TRIES):
                proposal = self.proposer.propose(parent, direction, rng)
                if proposal is None or builds == BUILDS:
                    break
                place += 1
                objection = self.reviewer.review(proposal, pool.ancestors(name), pool.novelties)
                if objection is not None:
                    yield from self._once(pool, self._rejected(parent, proposal, place, objection.reason, objection.detail))
                    continue
                builds += 1
                child = _child_of(parent, proposal)
                if (name, generation, place) in pool.tried:
                    continue  # measured and rejected in an earlier part of this night
                event = self._build(child, proposal, parent, place)
                yield event
                if isinstance(event, EnvironmentAdmitted):
                    return
        action = NARROW if sibling else END
        yield LineageMoved(lineage=name, generation=parent.generation, action=action, passed=0, attempts=0)

    def _order(self, rng: Random) -> list[Direction]:
        """All three directions in random order; one of weight w comes first in a share w of the draws (Efraimidis and Spirakis 2006)."""
        weights = {d: max(w, 1e-9) for d, w in zip(Direction, self.weights, strict=True)}
        return sorted(Direction, key=lambda d: -(rng.random() ** (1 / weights[d])))

    @staticmethod
    def _once(pool: Pool, event: EnvironmentRejected) -> Iterator[Event]:
        """The event, unless an earlier part of this night has recorded it already."""
        if (event.environment.lineage, event.environment.generation, event.place) not in pool.tried:
            yield event

    @staticmethod
    def _rejected(parent: Environment, proposal: Proposal, place: int, reason: Rejection, detail: str) -> EnvironmentRejected:
        return EnvironmentRejected(environment=_child_of(parent, proposal), place=place, reason=reason, detail=detail)

    def _build(
        self, child: Environment, proposal: Proposal | None, parent: Environment | None, place: int
    ) -> EnvironmentAdmitted | EnvironmentRejected:
        """The environment loop: render and measure, once more with other dice when a verifier objects.

        What is held out is refused here as well, whoever proposed it.
        """
        if (split := split_of(child.program)) is not Split.PRACTICE:
            return EnvironmentRejected(environment=child, place=place, reason=Rejection.HELD_OUT, detail=f"belongs to {split}")
        evidence: tuple[Evidence, ...] = ()
        reason, detail = Rejection.NO_INSTANCE, ""
        for repair in range(REPAIRS + 1):
            evidence = ()
            try:
                task = self._render(child, repair)
                evidence = tuple(examine(task, proposal, parent, self.sandbox))
            except TaskError as error:
                reason, detail = Rejection.NO_INSTANCE, str(error)
                continue
            except SandboxError as error:
                reason, detail = Rejection.BROKEN, str(error)
                continue
            failed = next((e for e in evidence if not e.satisfied), None)
            if failed is None:
                return EnvironmentAdmitted(environment=child, place=place, evidence=evidence)
            reason, detail = REASONS[failed.verifier], failed.detail
        return EnvironmentRejected(environment=child, place=place, reason=reason, detail=detail, evidence=evidence)

    def _render(self, child: Environment, repair: int) -> Task:
        return render(child.program, derive_seed("verify", self.seed, child.id, repair), Split.PRACTICE)


def _child_of(parent: Environment, proposal: Proposal) -> Environment:
    return Environment(
        program=proposal.program,
        lineage=parent.lineage,
        generation=parent.generation + 1,
        parent=parent.id,
        direction=proposal.direction,
        operator=proposal.operator,
    )
