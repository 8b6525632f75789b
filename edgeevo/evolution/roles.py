"""What each role of the harness promises, on one screen. Opinions may be prompted; facts are measured.

| role | asks | answers | may be an LLM |
|---|---|---|---|
| proposer | a parent, one direction, dice | a `Proposal` (an edited program and its operator), or None | yes |
| plan reviewer | the proposal, its lineage, the pool | an `Objection`, or None | yes |
| modifier | an accepted proposal, a seed | the rendered `Task` of the child: solution and values first, words last | words only |
| verifiers | the task, its parent, a sandbox | `Evidence`: measured | never |
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from random import Random
from typing import Protocol

from edgeevo.domain import Direction, Environment, Program, Value


class Rejection(enum.StrEnum):
    """Why a proposal or a child was not admitted."""

    UNSOUND = "unsound"  # the types of the links don't fit
    UNDONE = "undone"  # takes back an earlier edit of the lineage
    KNOWN = "known"  # the pool has this link in this scenario, or these links somewhere, already
    HELD_OUT = "held_out"  # belongs to exam or audit
    TOO_LONG = "too_long"
    NO_INSTANCE = "no_instance"
    ORACLE = "oracle"
    ALTERNATIVE = "alternative"
    INVALID = "invalid"
    SURFACE_ONLY = "surface_only"
    MUTANTS = "mutants"
    LEAKAGE = "leakage"
    QUALITY = "quality"
    BROKEN = "broken"


class Proposal(Value):
    """An edited program: which operator made it, in which direction, and which link it touched (for the naive solution)."""

    program: Program
    operator: str
    direction: Direction
    touched: int


class Objection(Value):
    """Why the plan reviewer sends a proposal back."""

    reason: Rejection
    detail: str


class Proposer(Protocol):
    """Edits a parent in one direction."""

    def propose(self, parent: Environment, direction: Direction, rng: Random) -> Proposal | None:
        """An edit, or None when nothing in this direction applies."""
        ...


class PlanReviewer(Protocol):
    """Judges an edit before anything is built."""

    def review(self, proposal: Proposal, ancestors: Sequence[Program], pool: frozenset[str]) -> Objection | None:
        """An objection, or None; `pool` holds the `novelty` of every admitted environment."""
        ...
