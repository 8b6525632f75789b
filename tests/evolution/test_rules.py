from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.domain import Direction, Program, ProgramLink, Split
from edgeevo.environments import sets
from edgeevo.environments.program import FACT
from edgeevo.environments.splits import split_of
from edgeevo.evolution.lineage import novelty
from edgeevo.evolution.roles import Proposal, Rejection
from edgeevo.evolution.rules import MAX_LINKS, RuleProposer, RuleReviewer

FOUNDERS = sets.founders()


def proposal(program: Program) -> Proposal:
    return Proposal(program=program, operator="append_link", direction=Direction.LENGTH, touched=0)


def objection(program: Program, ancestors: tuple[Program, ...] = (), pool: frozenset[str] = frozenset()) -> Rejection | None:
    found = RuleReviewer().review(proposal(program), ancestors, pool)
    return found.reason if found else None


PLAIN = sets.pairs(Split.PRACTICE)[0]


def test_a_sound_new_program_is_agreed_to() -> None:
    """A practice program that nobody has seen meets no objection."""
    assert objection(PLAIN) is None


def test_links_that_do_not_fit_are_unsound() -> None:
    """What reads lines can't stand behind what prints nothing and has no request of its own, nor can a look-up stand last."""
    fact = ProgramLink(skill=FACT, variant="word")
    assert objection(Program(scenario="logs", links=(PLAIN.links[0], fact))) is Rejection.UNSOUND
    assert objection(Program(scenario="logs", links=())) is Rejection.UNSOUND


def test_programs_are_bounded_in_length() -> None:
    """More links than the bound are too long; a look-up is not counted as one."""
    grep, fact = ProgramLink(skill="grep"), ProgramLink(skill=FACT, variant="word")
    assert objection(Program(scenario="logs", links=(grep,) * (MAX_LINKS + 1))) is Rejection.TOO_LONG
    assert objection(Program(scenario="logs", links=(fact, *(grep,) * MAX_LINKS))) is not Rejection.TOO_LONG


@pytest.mark.parametrize("split", [Split.EXAM, Split.AUDIT])
def test_what_is_held_out_is_refused(split: Split) -> None:
    """No program of the exam or the audit is ever agreed to, single or pair."""
    assert objection(sets.singles(split)[0]) is Rejection.HELD_OUT
    assert {objection(program) for program in sets.pairs(split)[:50]} == {Rejection.HELD_OUT}


@given(st.sampled_from(sets.pairs(Split.EXAM) + sets.pairs(Split.AUDIT)), st.sampled_from(["word", "n", "key"]))
@settings(max_examples=60)
def test_a_look_up_does_not_smuggle_in_a_held_out_composition(program: Program, name: str) -> None:
    """Two links whose composition is held out stay held out with a look-up between or before them, and behind another link."""
    first, second = program.links
    fact = ProgramLink(skill=FACT, variant=name)
    for links in ((first, fact, second), (fact, first, second), (first, first, fact, second)):
        assert split_of(Program(scenario=program.scenario, links=links)) is not Split.PRACTICE


@given(st.sampled_from(sets.singles(Split.EXAM) + sets.singles(Split.AUDIT)))
def test_a_hazard_does_not_smuggle_in_a_held_out_single(program: Program) -> None:
    """Hazards and a look-up leave a held-out link in its scenario held out."""
    fact = ProgramLink(skill=FACT, variant="word")
    assert split_of(Program(scenario=program.scenario, links=program.links, hazards=("spaces",))) is split_of(program)
    assert split_of(Program(scenario=program.scenario, links=(fact, *program.links))) is not Split.PRACTICE


def test_going_back_is_an_undo() -> None:
    """A program that the lineage has had is refused, even if the pool has forgotten it."""
    assert objection(PLAIN, ancestors=(PLAIN,)) is Rejection.UNDONE


def test_the_pool_holds_each_structure_once() -> None:
    """A structure that any lineage has is not admitted again."""
    assert objection(PLAIN, pool=frozenset({novelty(PLAIN)})) is Rejection.KNOWN


@given(st.sampled_from(FOUNDERS), st.sampled_from(Direction), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_proposals_have_the_direction_that_was_asked_for(parent, direction: Direction, seed: int) -> None:
    """The proposer answers in the given direction with a changed program, or not at all, and the same dice give the same answer."""
    found = RuleProposer().propose(parent, direction, Random(seed))
    assert found == RuleProposer().propose(parent, direction, Random(seed))
    if found:
        assert found.direction is direction and found.program.structure != parent.program.structure
