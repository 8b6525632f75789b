"""The daemon's life, with rehearsed nights: start, answer, learn, stop, be killed, go on."""

from __future__ import annotations

import os
import signal
import time

import msgspec
import pytest

from edgeevo.control import (
    AuditAsked,
    Finished,
    NightAsked,
    ProposeAsked,
    Proposed,
    Recorded,
    RollbackAsked,
    RunEnded,
    StopAsked,
    Told,
)
from edgeevo.domain import Message, Role, encode
from edgeevo.errors import DaemonError, RefusedError
from edgeevo.events import Event, NightRequest, Progress
from edgeevo.rehearsal import night

EVENTS = 20  # that a rehearsed night stores
RUN = RunEnded(
    instruction="x", directory="/srv", check_command=None, policy_id="p", steps=1, ending="submitted", verified=None, seconds=0.1
)


def recorded(box, owner="night-1"):
    return box.rows("select seq, kind, body from events where owner = ? order by seq", owner)


def alive(pid: int) -> bool:
    """True while a process runs; one that is dead and waits for its reaper does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def test_a_commanded_night_is_told_live_and_recorded_whole(box) -> None:
    """Following a night gives a line per event and ends with success; every event is in the store."""
    box.start()
    said = box.follow(NightAsked())
    assert isinstance(said[-1], Finished) and said[-1].ok
    assert len([each for each in said if isinstance(each, Told)]) == EVENTS + 1
    assert [seq for seq, _, _ in recorded(box)] == list(range(1, EVENTS + 1))


def test_a_promotion_flips_the_slot_and_a_rollback_takes_it_back(box) -> None:
    """After a night that was judged PROMOTE the adapter serves; after rollback the base does."""
    box.start()
    trained = box.follow(NightAsked())[-1].adapter
    assert box.status().adapter == trained is not None
    assert isinstance(box.ask(RollbackAsked()), Finished)
    assert box.status().adapter is None
    assert [row[0] for row in box.rows("select action from slot_changes order by id")] == ["activate", "rollback"]


def test_a_comparison_is_never_promoted(box) -> None:
    """The comparison night is judged like any other, but the slots stay."""
    box.start()
    said = box.follow(NightAsked(comparison=True))
    assert said[-1].ok and said[-1].adapter
    assert box.status().adapter is None


def test_the_adapter_of_a_comparison_can_be_audited(box) -> None:
    """What a comparison trained is kept and can be measured by its hash."""
    box.start()
    trained = box.follow(NightAsked(comparison=True))[-1].adapter
    assert box.follow(AuditAsked(adapter=trained[:10]))[-1].ok
    assert box.rows("select count(*), sum(passed) from outcomes where split = 'audit'") == [(12, 8)]


def test_what_was_audited_is_not_measured_again(box) -> None:
    """A second audit of the same policy is finished from the store: the outcomes are those of the first."""
    box.start()
    box.follow(AuditAsked(adapter="base"))
    box.follow(AuditAsked(adapter="base"))
    assert box.rows("select count(*) from outcomes where split = 'audit'") == [(12,)]
    assert box.rows("select count(*) from events where owner = 'audit-2'") == [(2,)]


def test_an_audit_is_shared_through_the_cache_directory(box, tmp_path) -> None:
    """A fresh state directory with the same cache takes its audit from what was measured elsewhere; another module measures for itself."""
    from tests.daemon.conftest import Box

    cache = f"audit.cache_dir={tmp_path / 'cache'}"
    box.start(cache)
    box.follow(AuditAsked(adapter="base"))
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text(kept.read_text().replace('"passed":false', '"passed":true'))  # so that it is told from one that was played
    for module, passed in (("edgeevo.rehearsal", 12), ("edgeevo.nothing_plays_here", None)):
        (tmp_path / module).mkdir()
        second = Box(tmp_path / module)
        try:
            second.start(cache, f"daemon.audit_module={module}")
            second.follow(AuditAsked(adapter="base"))
            assert second.rows("select sum(passed) from outcomes where split = 'audit'") == [(passed,)]
        finally:
            second.kill()


def test_killed_after_every_event_a_night_goes_on_and_ends_the_same(box) -> None:
    """SIGKILL of the daemon at every event boundary loses and doubles nothing, and ends with the record of a night that ran through."""
    box.start("night.rehearsal_seconds=3")
    calls = box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    seen: list[int] = []
    while len(before := recorded(box)) < EVENTS:
        if not seen or len(before) > seen[-1]:
            seen.append(len(before))
            night = children(box.process.pid)
            box.kill()
            before = recorded(box)
            assert [pid for pid in night if alive_soon(pid)] == []
            box.start()
            assert recorded(box)[: len(before)] == before
        time.sleep(0.01)
    calls.join(5)
    box.wait(lambda status: not status.working_on)
    broken = recorded(box)
    assert [seq for seq, _, _ in broken] == list(range(1, EVENTS + 1))
    assert box.status().adapter is not None
    assert len(seen) > EVENTS // 3
    whole = [(kind, body) for kind, body in ((event.__struct_config__.tag, encode(event)) for event in rehearsed(box))]
    assert [(kind, body) for _, kind, body in broken] == whole


def rehearsed(box) -> list[Event]:
    """What a night that ran through would have recorded."""
    ((request,),) = box.rows("select request from owners")
    asked = msgspec.json.decode(request, type=NightRequest)
    spool = box.loaded.state_dir / "spool" / "night-1"
    spool.mkdir(parents=True, exist_ok=True)
    return [
        event
        for event in night(msgspec.structs.replace(asked, night_id="night-1", spool_dir=str(spool)))
        if not isinstance(event, Progress)
    ]


def alive_soon(pid: int) -> bool:
    """True when a process is still there after a moment."""
    for _ in range(500):
        if not alive(pid):
            return False
        time.sleep(0.02)
    return True


def test_sigterm_stops_within_two_seconds_and_the_night_goes_on_later(box) -> None:
    """A clean stop in the middle of a night takes less than 2 s, leaves no child, and the next start goes on."""
    box.start("night.rehearsal_seconds=4")
    calls = box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    night = children(box.process.pid)
    assert box.kill(signal.SIGTERM) < 2.0
    assert box.process.returncode == 0
    calls.join(5)
    assert [pid for pid in night if alive_soon(pid)] == []
    assert not box.loaded.socket.exists()
    box.start()
    assert box.wait(lambda status: not status.working_on).last_night.startswith("night-1")


def test_a_killed_night_is_tried_again_and_ends_the_same(box) -> None:
    """SIGKILL of the night itself: the daemon starts it again behind its last event."""
    box.start("night.rehearsal_seconds=1.0")
    calls = box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    for pid in children(box.process.pid):
        os.kill(pid, signal.SIGKILL)
    box.wait(lambda status: status.last_night != "", seconds=20)
    calls.join(5)
    assert [seq for seq, _, _ in recorded(box)] == list(range(1, EVENTS + 1))


def test_a_commanded_night_goes_on_although_worker_and_daemon_died(box) -> None:
    """SIGKILL of the night, then of the daemon before its next try: the next start goes on with the night at once."""
    box.start("night.rehearsal_seconds=3")
    calls = box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    for pid in children(box.process.pid):
        os.kill(pid, signal.SIGKILL)
    while not box.rows("select 1 from owners where failures > 0"):
        time.sleep(0.01)
    box.kill()
    calls.join(5)
    box.start()
    box.wait(lambda status: status.last_night != "")
    assert box.rows("select id, status from owners") == [("night-1", "ended")]
    assert [seq for seq, _, _ in recorded(box)] == list(range(1, EVENTS + 1))


def test_stop_keeps_what_was_recorded_for_a_later_night(box) -> None:
    """Stopping a night interrupts it; asking for a night again goes on with the same one."""
    box.start("night.rehearsal_seconds=3")
    calls = box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    assert box.ask(StopAsked()).owner == "night-1"
    calls.join(5)
    assert not box.status().working_on
    box.kill(signal.SIGTERM)
    box.start()
    time.sleep(0.5)
    assert not box.status().working_on
    box.follow(NightAsked())
    assert box.rows("select id, status from owners") == [("night-1", "ended")]


def test_time_for_a_night_ends_it(box) -> None:
    """`--for` stops a night when its time is over; it can go on later."""
    box.start("night.rehearsal_seconds=30")
    said = box.follow(NightAsked(for_seconds=0.5))
    assert not said[-1].ok and "time is over" in said[-1].text
    assert box.rows("select status from owners") == [("interrupted",)]


def test_an_idle_window_starts_one_night_by_itself(box) -> None:
    """Inside the window, quiet long enough: one night runs, and no second one follows in the same window."""
    box.start("idle.enter_dwell_seconds=0.2", "idle.enter_load_cores=64", "idle.leave_load_cores=64")
    box.wait(lambda status: status.last_night != "")
    time.sleep(0.5)
    assert box.rows("select id, cause, status from owners") == [("night-1", "window", "ended")]


def test_two_daemons_never_share_a_state_directory(box) -> None:
    """A second daemon on the same state is refused with a hint."""
    box.start()
    from edgeevo.daemon.desk import ScriptedBrain
    from edgeevo.daemon.service import serve
    from edgeevo.host import FakeHost

    with pytest.raises(DaemonError, match="another daemon"):
        serve(box.loaded, FakeHost(), ScriptedBrain({}))


def test_conversations_are_answered_in_order(box) -> None:
    """Proposals come back in the order of the conversations, by the policy that serves."""
    box.start()
    talks = tuple((Message(role=Role.USER, text=text),) for text in ("list the files", "something else"))
    answer = box.ask(ProposeAsked(conversations=talks))
    assert isinstance(answer, Proposed)
    assert [said.text for said in answer.replies] == ["ls -la", "submit"]


def test_outcomes_of_real_tasks_are_recorded(box) -> None:
    """A run gets a number and a row with the caller's uid."""
    box.start()
    assert box.ask(RUN) == Recorded(run=1)
    assert box.rows("select uid, instruction, verified from runs") == [(os.getuid(), "x", None)]


def test_rollback_without_an_adapter_is_refused(box) -> None:
    """The error of the daemon arrives as the same error, with its hint."""
    box.start()
    with pytest.raises(RefusedError):
        box.ask(RollbackAsked())


def test_d4_a_store_that_fails_is_shown_and_answering_goes_on(box) -> None:
    """When an event can't be recorded the night stops, status says why, and proposals are still answered."""
    box.start()
    import sqlite3

    rival = sqlite3.connect(box.loaded.database, isolation_level=None)
    rival.execute("create trigger full before insert on events begin select raise(abort, 'database or disk is full'); end")
    rival.close()
    calls = box.follow_in_background(NightAsked())
    status = box.wait(lambda status: bool(status.health))
    calls.join(5)
    assert "disk is full" in " ".join(each.detail for each in status.health)
    talk = (Message(role=Role.USER, text="list the files"),)
    assert isinstance(box.ask(ProposeAsked(conversations=(talk,))), Proposed)
