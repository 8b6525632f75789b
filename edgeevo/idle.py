"""Is the box ours? Pure: readings and the window in, a judgement with a reason and the next try out. No clock, no /proc.

    judge(readings, rules, history, now) -> Idle(until) | Busy(reason, detail, next_try)

Two thresholds and two dwell times keep a square-wave load from making nights flap: entering needs `enter_dwell_seconds` of quiet below the
lower threshold, leaving needs `leave_dwell_seconds` above the higher one. Too little memory or disk leaves at once.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from edgeevo.domain import Readings, Value

DAY_SECONDS = 86_400


class Reason(enum.StrEnum):
    """Why the box is not ours now."""

    WINDOW = "outside_window"
    LOAD = "others_load"
    DWELL = "not_quiet_long_enough"
    MEMORY = "low_memory"
    DISK = "low_disk"
    UNKNOWN = "load_unknown"
    CLOCK = "clock_jumped"


class Rules(Value):
    """What idle means here. The window is in minutes after local midnight; start > end crosses midnight, equal means always."""

    window_start_minute: int
    window_end_minute: int
    enter_load_cores: float
    leave_load_cores: float
    enter_dwell_seconds: float
    leave_dwell_seconds: float
    min_free_memory_bytes: int
    min_free_disk_bytes: int


class Idle(Value, tag="idle"):
    """The box is ours for `until_seconds` more at most."""

    until_seconds: float


class Busy(Value, tag="busy"):
    """The box is not ours; look again in `next_try_seconds`."""

    reason: Reason
    detail: str
    next_try_seconds: float


def parse_window(text: str) -> tuple[int, int]:
    """The two ends of "HH:MM-HH:MM" as minutes after midnight; the configuration has checked the form."""
    start, end = (int(part[:2]) * 60 + int(part[3:]) for part in text.split("-"))
    return start, end


def window_left_seconds(rules: Rules, second_of_day: float) -> float:
    """Seconds until the window closes; 0 when it is closed now; a whole day when it never closes."""
    start, end = rules.window_start_minute * 60, rules.window_end_minute * 60
    if start == end:
        return DAY_SECONDS
    length = (end - start) % DAY_SECONDS
    inside = (second_of_day - start) % DAY_SECONDS
    return length - inside if inside < length else 0.0


def judge(history: Sequence[Readings], rules: Rules, *, second_of_day: float, running: bool) -> Idle | Busy:
    """`history`: readings, oldest first, the last is now; `running`: a night is under way, so the leaving thresholds hold."""
    now = history[-1]
    left = window_left_seconds(rules, second_of_day)
    if left <= 0:
        opens = (rules.window_start_minute * 60 - second_of_day) % DAY_SECONDS
        return Busy(reason=Reason.WINDOW, detail=f"the window opens in {opens / 60:.0f} min", next_try_seconds=opens)
    if now.available_memory_bytes < rules.min_free_memory_bytes:
        return _low(Reason.MEMORY, "memory", now.available_memory_bytes, rules.min_free_memory_bytes, rules)
    if now.free_disk_bytes < rules.min_free_disk_bytes:
        return _low(Reason.DISK, "disk", now.free_disk_bytes, rules.min_free_disk_bytes, rules)
    if running:
        return _stay(history, rules, left)
    return _enter(history, rules, left)


def _low(reason: Reason, what: str, found: int, wanted: int, rules: Rules) -> Busy:
    detail = f"{found // 1_000_000} MB of {what} free, {wanted // 1_000_000} wanted"
    return Busy(reason=reason, detail=detail, next_try_seconds=max(rules.enter_dwell_seconds, 1.0))


def _stay(history: Sequence[Readings], rules: Rules, left: float) -> Idle | Busy:
    """A running night leaves only after every reading of the whole leaving dwell was above the threshold."""
    loud = _since(history, lambda load: load is None or load > rules.leave_load_cores)
    if loud is not None and history[-1].at - loud >= rules.leave_dwell_seconds:
        reason = Reason.UNKNOWN if history[-1].others_load_cores is None else Reason.LOAD
        return Busy(reason=reason, detail=_loads(history[-1], rules.leave_load_cores), next_try_seconds=rules.enter_dwell_seconds)
    return Idle(until_seconds=left)


def _enter(history: Sequence[Readings], rules: Rules, left: float) -> Idle | Busy:
    now = history[-1]
    if now.others_load_cores is None:
        return Busy(reason=Reason.UNKNOWN, detail="the load of others can't be read", next_try_seconds=max(rules.enter_dwell_seconds, 1.0))
    if now.others_load_cores > rules.enter_load_cores:
        detail = _loads(now, rules.enter_load_cores)
        return Busy(reason=Reason.LOAD, detail=detail, next_try_seconds=max(rules.enter_dwell_seconds, 1.0))
    quiet = _since(history, lambda load: load is not None and load <= rules.enter_load_cores)
    waited = now.at - (now.at if quiet is None else quiet)
    if waited < rules.enter_dwell_seconds:
        rest = rules.enter_dwell_seconds - waited
        return Busy(reason=Reason.DWELL, detail=f"quiet for {waited:.0f} s of {rules.enter_dwell_seconds:.0f} s", next_try_seconds=rest)
    return Idle(until_seconds=left)


def _loads(now: Readings, threshold: float) -> str:
    load = "unknown" if now.others_load_cores is None else f"{now.others_load_cores:.2f}"
    return f"others use {load} cores, threshold {threshold:.2f}"


def _since(history: Sequence[Readings], holds: Callable[[float | None], bool]) -> float | None:
    """Since when `holds` has been true without a break up to the last reading; None when it isn't true now."""
    since = None
    for reading in reversed(history):
        if not holds(reading.others_load_cores):
            break
        since = reading.at
    return since
