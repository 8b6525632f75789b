from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.domain import Environment, Split
from edgeevo.environments import sets
from edgeevo.events import EnvironmentAdmitted, EnvironmentRejected, LineageMoved, Phase, PhaseStarted
from edgeevo.evolution.lineage import ADVANCE, END, REDUCE, STAY, Pool, due, move, pointer

FOUNDERS = sets.founders()[:4]
PAIRS = sets.pairs(Split.PRACTICE)


def child(lineage: int, generation: int) -> Environment:
    return Environment(program=PAIRS[lineage * 9 + generation], lineage=FOUNDERS[lineage].lineage, generation=generation)


EVENTS = st.lists(
    st.builds(
        EnvironmentAdmitted,
        environment=st.builds(child, st.integers(0, 3), st.integers(1, 8)),
        place=st.integers(0, 3),
        evidence=st.just(()),
    )
    | st.builds(
        EnvironmentRejected,
        environment=st.builds(child, st.integers(0, 3), st.integers(1, 8)),
        place=st.integers(0, 3),
        reason=st.just("known"),
        detail=st.just(""),
    )
    | st.builds(
        LineageMoved,
        lineage=st.sampled_from([f.lineage for f in FOUNDERS]),
        generation=st.integers(0, 8),
        action=st.sampled_from([ADVANCE, STAY, REDUCE, END]),
        passed=st.just(0),
        attempts=st.just(8),
    )
    | st.just(PhaseStarted(phase=Phase.EVOLVE)),
    max_size=12,
)


@given(EVENTS, st.integers(0, 12))
def test_a_pool_is_a_fold(events: list, cut: int) -> None:
    """Folding events in two parts gives the pool that folding them at once gives."""
    first = Pool.of(FOUNDERS, events[:cut])
    for event in events[cut:]:
        first = first.after(event)
    assert first == Pool.of(FOUNDERS, events)


@given(EVENTS, st.integers(1, 9))
def test_a_parent_is_the_first_admitted_of_the_generation_before(events: list, number: int) -> None:
    """Of siblings the one that was admitted first is the parent, and rejected ones never are."""
    pool = Pool.of(FOUNDERS, events)
    for founder in FOUNDERS:
        grown = [e.environment for e in events if isinstance(e, EnvironmentAdmitted)]
        line = [env for env in (founder, *grown) if env.lineage == founder.lineage and env.generation == number - 1]
        assert pool.parent(founder.lineage, number) == (line[0] if line else None)


def test_a_lineage_that_was_past_a_generation_gets_no_more_children_there() -> None:
    """What earlier nights grew isn't grown again, and an unknown lineage has no parent."""
    pool = Pool.of([FOUNDERS[0], child(0, 1), child(0, 2)], [])
    assert [pool.parent(FOUNDERS[0].lineage, number) for number in (1, 2, 3)] == [None, None, child(0, 2)]
    assert pool.began_at(FOUNDERS[0].lineage) == 2 and pool.began_at("nobody") == 0
    assert pool.parent("nobody", 1) is None


def test_ancestors_come_oldest_first() -> None:
    """The programs of a lineage are in order of generation, however they were stored."""
    pool = Pool.of((child(0, 2), child(0, 1), FOUNDERS[0], FOUNDERS[1]), ())
    assert pool.ancestors(FOUNDERS[0].lineage) == [FOUNDERS[0].program, child(0, 1).program, child(0, 2).program]


def moved(passed: int, generation: int = 0, action: str = STAY, lineage: int = 0) -> LineageMoved:
    return LineageMoved(
        lineage=FOUNDERS[lineage].lineage, generation=generation, action=action, passed=passed, attempts=8, environment_id="e"
    )


@pytest.mark.parametrize(
    ("passed", "attempts", "before", "action"),
    [
        (8, 8, [], ADVANCE),
        (7, 8, [], ADVANCE),
        (6, 8, [], STAY),
        (0, 8, [moved(0)], STAY),
        (0, 8, [moved(0), moved(0)], REDUCE),
        (0, 8, [moved(0), moved(1)], STAY),
        (0, 8, [moved(0), moved(0, lineage=1)], STAY),
        (0, 8, [moved(0, generation=1), moved(0)], STAY),
        (0, 0, [moved(0), moved(0)], STAY),
        (3, 4, [], STAY),
        (4, 4, [], ADVANCE),
        (0, 0, [], STAY),
    ],
)
def test_the_pointer_moves_by_rule(passed: int, attempts: int, before: list[LineageMoved], action: str) -> None:
    """More than 6 of 8 advances, three nights at zero in one generation reduce, all else stays; broken attempts shrink the group."""
    assert move(FOUNDERS[0], passed, attempts, before).action == action


@pytest.mark.parametrize(
    ("moves", "at"),
    [
        ([], 0),
        ([moved(8, 0, ADVANCE)], 1),
        ([moved(8, 0, ADVANCE), moved(2, 1)], 1),
        ([moved(8, 0, ADVANCE), moved(8, 1, ADVANCE), moved(0, 2, REDUCE)], 1),
        ([moved(0, 0, REDUCE)], 0),
        ([moved(8, 0, ADVANCE, lineage=1)], 0),
    ],
)
def test_the_last_move_says_where_a_lineage_stands(moves: list[LineageMoved], at: int) -> None:
    """Advance is one generation on, reduce one back but never before the founder; a lineage that was never attempted begins with it."""
    assert pointer(FOUNDERS[0].lineage, moves) == at


def test_what_is_due_is_the_generation_at_the_pointer() -> None:
    """One environment of each lineage, where its pointer stands or the youngest before that; the others fill up what is left."""
    pool = [FOUNDERS[0], child(0, 1), child(0, 2), FOUNDERS[1], child(1, 1)]
    moves = [moved(8, 0, ADVANCE), *[moved(8, n, ADVANCE, lineage=1) for n in range(4)]]
    for seed in range(8):
        assert set(due(pool, moves, seed, 2)) == {child(0, 1), child(1, 1)}
        assert len(due(pool, moves, seed, 1)) == 1
        assert len(set(due(pool, moves, seed, 9))) == 5
    assert len({due(pool, moves, seed, 1)[0].id for seed in range(8)}) == 2  # every lineage has its turn


@given(EVENTS, st.integers(0, 9), st.randoms(use_true_random=False))
def test_what_is_due_depends_on_no_order(events: list, seed: int, dice: Random) -> None:
    """The same environments and moves give the same list, in whatever order the environments come."""
    pool = list(Pool.of(FOUNDERS, events).environments)
    moves = [event for event in events if isinstance(event, LineageMoved)]
    mixed = dice.sample(pool, len(pool))
    assert due(mixed, moves, seed, 5) == due(pool, moves, seed, 5)


def test_only_an_end_ends_a_lineage() -> None:
    """The scheduler's moves leave a lineage open; `end` closes it for the night."""
    assert Pool().after(move(FOUNDERS[0], 0, 8)).ended == frozenset()
    ended = LineageMoved(lineage="x", generation=0, action=END, passed=0, attempts=0)
    assert Pool().after(ended).ended == {"x"}
