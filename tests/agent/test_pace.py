"""How many threads the model uses while others want the processor."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from edgeevo.agent.pace import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LOOK_SECONDS, Pace


def test_undisturbed_threads_stay() -> None:
    """As long as all threads run, all are used."""
    pace = Pace(2)
    for _ in range(1000):
        pace.took(0.01, 0.0195)
        assert pace.threads == 2


def test_preempted_threads_become_fewer_after_one_look() -> None:
    """Once a whole look got clearly less than all threads could use, the work goes on with what it got, one at least."""
    pace = Pace(4)
    pace.took(LOOK_SECONDS / 2, LOOK_SECONDS)
    assert pace.threads == 4
    pace.took(LOOK_SECONDS / 2, LOOK_SECONDS)
    assert pace.threads == 2
    alone = Pace(2)
    alone.took(LOOK_SECONDS, LOOK_SECONDS / 5)
    assert alone.threads == 1


def test_all_threads_are_tried_again_ever_later_and_at_once_after_a_success() -> None:
    """The pause before the next try doubles while tries fail, up to its bound, and is short again once one has not failed."""
    pace, pauses = Pace(2), []
    for _ in range(10):
        pace.took(LOOK_SECONDS, LOOK_SECONDS)
        pauses.append(_until_all(pace))
    assert pauses[0] == FIRST_PAUSE_SECONDS
    assert all(later == min(LONGEST_PAUSE_SECONDS, 2 * sooner) for sooner, later in pairwise(pauses))
    pace.took(LOOK_SECONDS, 2 * LOOK_SECONDS)
    assert pace.threads == 2
    pace.took(LOOK_SECONDS, LOOK_SECONDS)
    assert _until_all(pace) == FIRST_PAUSE_SECONDS


def _until_all(pace: Pace) -> float:
    """Seconds of work with fewer threads until all are tried again."""
    seconds = 0.0
    while pace.threads < pace.most:
        pace.took(0.5, 0.5)
        seconds += 0.5
    return seconds


@given(st.integers(1, 64), st.lists(st.tuples(st.floats(0, 5), st.floats(0, 500)), max_size=50))
def test_the_number_of_threads_is_always_possible(most: int, work: list[tuple[float, float]]) -> None:
    """Whatever the clocks say, at least one and at most all threads are used."""
    pace = Pace(most)
    for wall, cpu in work:
        pace.took(wall, cpu)
        assert 1 <= pace.threads <= most
