"""What a daemon survives: absurd requests, a state directory in disorder, records of another version, and judgements that came too late."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing

import msgspec
import pytest

from edgeevo.control import AuditAsked, FeedbackGiven, NightAsked, Recorded, RollbackAsked, RunEnded, StopAsked
from edgeevo.errors import RefusedError, StoreError

RUN = RunEnded(
    instruction="x", directory="/srv", check_command=None, policy_id="p", steps=1, ending="submitted", verified=None, seconds=0.1
)


@pytest.mark.parametrize(
    "request_", [msgspec.structs.replace(RUN, steps=1 << 63), FeedbackGiven(run=1 << 63, good=True)], ids=["a count", "a number of a run"]
)
def test_a_number_beyond_the_database_costs_one_answer(box, request_) -> None:
    """A number of more than 64 bits is refused, and the next caller is served."""
    box.start()
    with pytest.raises(StoreError):
        box.ask(request_)
    assert box.ask(RUN) == Recorded(run=1)


@pytest.mark.parametrize("name", ["instruction", "directory", "check_command", "policy_id", "ending"])
def test_a_text_without_end_is_not_kept_for_ever(box, name: str) -> None:
    """What is recorded with a real task is bounded; more is refused and nothing is recorded."""
    box.start()
    with pytest.raises(RefusedError, match=f"{name} is longer than 16000 bytes"):
        box.ask(msgspec.structs.replace(RUN, **{name: "é" * 8001}))
    assert box.ask(msgspec.structs.replace(RUN, **{name: "é" * 8000})) == Recorded(run=1)


def test_what_was_refused_does_not_begin_later(box) -> None:
    """An audit that is refused beside a night leaves no record, so that no later start of the daemon plays it."""
    box.start("night.rehearsal_seconds=30")
    box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1")
    with pytest.raises(RefusedError, match="night-1 is running"):
        box.ask(AuditAsked(adapter="base"))
    assert box.rows("select id from owners") == [("night-1",)]


def test_a_state_directory_in_disorder_stops_nights_and_nothing_else(box) -> None:
    """Where the spool can't be made, a night fails with the reason in status, and tasks are recorded as before."""
    (box.state / "spool").write_text("not a directory")
    box.start()
    box.follow_in_background(NightAsked())
    status = box.wait(lambda status: bool(status.health))
    assert "can't be used" in " ".join(each.detail for each in status.health)
    assert box.ask(RUN) == Recorded(run=1)


def test_events_of_another_version_do_not_keep_the_daemon_down(box) -> None:
    """A night whose records can't be read is named in status; the daemon starts and answers."""
    box.start("night.rehearsal_seconds=30")
    box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-1" and bool(box.rows("select 1 from events")))
    box.kill()
    with closing(sqlite3.connect(box.loaded.database, isolation_level=None)) as database:
        database.execute("update events set body = ?", [b'{"type":"of_tomorrow"}'])
    box.start()
    status = box.wait(lambda status: bool(status.health))
    assert "another version" in " ".join(each.detail for each in status.health) or "can't be read" in str(status.health)
    assert box.ask(RUN) == Recorded(run=1)


def test_a_night_that_waits_for_its_next_try_can_be_stopped(box) -> None:
    """Stop ends it for the record too: the next start of the daemon does not take it up by itself."""
    (box.state / "spool").write_text("not a directory")
    box.start()
    box.follow_in_background(NightAsked())
    box.wait(lambda status: bool(status.health))
    assert box.ask(StopAsked()).owner == "night-1"
    assert box.rows("select status from owners") == [("interrupted",)]


def test_an_adapter_that_was_not_compared_with_what_serves_is_not_activated(box) -> None:
    """A night that went on after a rollback examined against the former adapter: its promotion is recorded as superseded."""
    box.start()
    box.follow(NightAsked())
    assert box.status().adapter is not None
    box.kill(signal.SIGTERM)
    box.start("night.rehearsal_seconds=30")
    box.follow_in_background(NightAsked())
    box.wait(lambda status: status.working_on == "night-2")
    box.ask(StopAsked())
    box.ask(RollbackAsked())
    box.kill(signal.SIGTERM)
    box.start()
    box.follow(NightAsked())
    assert box.status().adapter is None
    assert [row[0] for row in box.rows("select action from slot_changes order by id")] == ["activate", "rollback", "superseded"]
