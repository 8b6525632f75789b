"""The opinion roles by rules: the default, offline and deterministic. They may be wrong; the verifiers measure."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from edgeevo.domain import Direction, Environment, Program, Split
from edgeevo.environments import sets
from edgeevo.environments.program import FACT
from edgeevo.environments.splits import split_of
from edgeevo.evolution.lineage import novelty
from edgeevo.evolution.operators import OPERATORS, fits
from edgeevo.evolution.roles import Objection, Proposal, Rejection

MAX_LINKS = 4


class RuleProposer:
    """Tries the operators of a direction in random order and returns the first edit that applies; new links come from `groups`."""

    def __init__(self, groups: tuple[str, ...] = ()) -> None:
        self.links = sets.links(groups)

    def propose(self, parent: Environment, direction: Direction, rng: Random) -> Proposal | None:
        """An edit of the parent's program in `direction`, or None when no operator's precondition holds."""
        operators = [o for o in OPERATORS if o.direction is direction]
        rng.shuffle(operators)
        for operator in operators:
            edited = operator.edit(parent.program, rng, self.links)
            if edited:
                program, touched = edited
                return Proposal(program=program, operator=operator.id, direction=direction, touched=touched)
        return None


class RuleReviewer:
    """Checks a plan by rubric: sound types, within length, new to the pool, no undo, and never a held-out structure."""

    def review(self, proposal: Proposal, ancestors: Sequence[Program], pool: frozenset[str]) -> Objection | None:
        """The first objection found, or None."""
        program = proposal.program
        if not fits(program.links):
            return Objection(reason=Rejection.UNSOUND, detail="a link can't read what the link before it gives")
        if sum(link.skill != FACT for link in program.links) > MAX_LINKS:
            return Objection(reason=Rejection.TOO_LONG, detail=f"more than {MAX_LINKS} links")
        if split_of(program) is not Split.PRACTICE:
            return Objection(reason=Rejection.HELD_OUT, detail=f"belongs to {split_of(program)}")
        if any(program.structure == ancestor.structure for ancestor in ancestors):
            return Objection(reason=Rejection.UNDONE, detail="takes the lineage back to an earlier program")
        if novelty(program) in pool:
            return Objection(reason=Rejection.KNOWN, detail="the pool has this already")
        return None
