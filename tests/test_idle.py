"""edgeevo.idle: pure judgement of whether the box is ours."""

from __future__ import annotations

import msgspec
import pytest

from edgeevo.domain import Readings
from edgeevo.idle import Busy, Idle, Reason, Rules, judge, parse_window, window_left_seconds

RULES = Rules(
    window_start_minute=60,
    window_end_minute=360,
    enter_load_cores=0.3,
    leave_load_cores=0.8,
    enter_dwell_seconds=60,
    leave_dwell_seconds=20,
    min_free_memory_bytes=1000,
    min_free_disk_bytes=1000,
)
NIGHT, NOON = 2 * 3600.0, 12 * 3600.0


def look(at: float, load: float | None = 0.0, memory: int = 5000, disk: int = 5000) -> Readings:
    return Readings(at=at, others_load_cores=load, available_memory_bytes=memory, free_disk_bytes=disk)


def test_a_quiet_box_inside_the_window_is_idle_until_it_closes() -> None:
    """Quiet for the dwell inside the window gives the rest of the window."""
    assert judge([look(0), look(60)], RULES, second_of_day=NIGHT, running=False) == Idle(until_seconds=4 * 3600)


def test_outside_the_window_names_when_it_opens() -> None:
    """At noon the next try is at one in the morning."""
    found = judge([look(0), look(60)], RULES, second_of_day=NOON, running=False)
    assert isinstance(found, Busy) and (found.reason, found.next_try_seconds) == (Reason.WINDOW, 13 * 3600)


def test_a_window_crosses_midnight() -> None:
    """22:00-05:00 is open at 23:00 and at 04:00, closed at 06:00."""
    start, end = parse_window("22:00-05:00")
    rules = msgspec.structs.replace(RULES, window_start_minute=start, window_end_minute=end)
    assert [window_left_seconds(rules, hour * 3600) for hour in (23, 4, 6)] == [6 * 3600, 3600, 0]


def test_equal_ends_mean_always() -> None:
    """00:00-00:00 never closes."""
    assert window_left_seconds(msgspec.structs.replace(RULES, window_start_minute=0, window_end_minute=0), NOON) > 0


def test_quiet_too_short_waits_for_the_rest_of_the_dwell() -> None:
    """Thirty quiet seconds of sixty: try again in thirty."""
    found = judge([look(0, 0.5), look(10), look(40)], RULES, second_of_day=NIGHT, running=False)
    assert isinstance(found, Busy) and (found.reason, found.next_try_seconds) == (Reason.DWELL, 30)


@pytest.mark.parametrize("running", [False, True])
def test_t5_square_wave_load_never_flaps(running: bool) -> None:
    """A load of 2 s on, 2 s off neither starts a night nor stops a running one."""
    history = [look(at, 1.5 if at % 4 < 2 else 0.0) for at in range(100)]
    assert isinstance(judge(history, RULES, second_of_day=NIGHT, running=running), Idle if running else Busy)


def test_load_between_the_thresholds_keeps_both_states() -> None:
    """At 0.5 cores a night goes on, but none starts."""
    history = [look(at, 0.5) for at in range(100)]
    assert isinstance(judge(history, RULES, second_of_day=NIGHT, running=True), Idle)
    assert isinstance(judge(history, RULES, second_of_day=NIGHT, running=False), Busy)


def test_lasting_load_of_others_stops_a_night() -> None:
    """Above the leaving threshold for the whole dwell is Busy with the reason."""
    found = judge([look(at, 1.0) for at in range(0, 30, 5)], RULES, second_of_day=NIGHT, running=True)
    assert isinstance(found, Busy) and found.reason is Reason.LOAD


def test_t6_an_unknown_load_is_not_idle() -> None:
    """A load that can't be read never starts a night."""
    found = judge([look(0, None), look(100, None)], RULES, second_of_day=NIGHT, running=False)
    assert isinstance(found, Busy) and found.reason is Reason.UNKNOWN


@pytest.mark.parametrize(("memory", "disk", "reason"), [(1, 5000, Reason.MEMORY), (5000, 1, Reason.DISK)])
def test_low_memory_or_disk_leaves_at_once(memory: int, disk: int, reason: Reason) -> None:
    """One low reading is enough, no dwell."""
    found = judge([look(0), look(100, 0.0, memory, disk)], RULES, second_of_day=NIGHT, running=True)
    assert isinstance(found, Busy) and found.reason is reason
