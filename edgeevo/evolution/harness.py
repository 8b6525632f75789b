"""One night's evolution: founders are verified, then each lineage grows by generations through two gated loops. Read it top to bottom.

    plan loop         proposer edits the parent in one direction; the reviewer objects or agrees, within a budget
    environment loop  the child is rendered solution first; verifiers measure it in the sandbox; a failure is repaired within a budget

Directions are tried in random order from the same parent; a lineage ends for the night only when all three fail. All dice are keyed by
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
from edgeevo.evolution.lineage import END, Pool
from edgeevo.evolution.roles import PlanReviewer, Proposal, Proposer, Rejection
from edgeevo.evolution.rules import RuleProposer, RuleReviewer
from edgeevo.evolution.verifiers import REASONS, examine
from edgeevo.sandbox import Sandbox

PLAN_TRIES = 6
REPAIRS = 1


@dataclass(frozen=True)
class Harness:
    """The roles and the sandbox that generations are made with."""

    sandbox: Sandbox
    seed: int
    proposer: Proposer = field(default_factory=RuleProposer)
    reviewer: PlanReviewer = field(default_factory=RuleReviewer)

    def founders(self, candidates: Sequence[Environment], pool: Pool) -> Iterator[Event]:
        """Verify founders; those that pass are admitted as generation 0."""
        known = {env.id for env in pool.environments}
        for founder in candidates:
            if founder.id in known or (founder.lineage, 0, 0) in pool.tried:
                continue
            yield self._build(founder, None, None, 0)

    def generation(self, number: int, lineages: Sequence[str], pool: Pool) -> Iterator[Event]:
        """Give every lineage one child of generation `number`; `pool` is followed along, parents are those of the generation before."""
        parents = {lineage: pool.latest(lineage) for lineage in lineages}
        for lineage in lineages:
            parent = parents[lineage]
            if parent is None or parent.generation != number - 1 or lineage in pool.ended:
                continue
            for event in self._child(parent, pool):
                pool = pool.after(event)
                yield event

    def _child(self, parent: Environment, pool: Pool) -> Iterator[Event]:
        rng = Random(derive_seed("child", self.seed, parent.lineage, parent.generation + 1))
        directions = list(Direction)
        rng.shuffle(directions)
        place = 0
        for direction in directions:
            proposal = None
            for _ in range(PLAN_TRIES):
                proposal = self.proposer.propose(parent, direction, rng)
                if proposal is None:
                    break
                objection = self.reviewer.review(proposal, pool.ancestors(parent.lineage), pool.structures())
                if objection is None:
                    break
                place += 1
                yield from self._once(pool, self._rejected(parent, proposal, place, objection.reason, objection.detail))
                proposal = None
            if proposal is None:
                continue
            place += 1
            child = _child_of(parent, proposal)
            if (child.lineage, child.generation, place) in pool.tried:
                continue  # measured and rejected in an earlier part of this night: an admitted one would be the lineage's latest
            event = self._build(child, proposal, parent, place)
            yield event
            if isinstance(event, EnvironmentAdmitted):
                return
        yield LineageMoved(lineage=parent.lineage, generation=parent.generation, action=END, passed=0, attempts=0)

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
