"""edgeevo.store.writer: durable, one transaction per event, and what it does with damaged or strange files."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from edgeevo.environments import sets
from edgeevo.errors import StoreError
from edgeevo.events import EnvironmentAdmitted, LineageMoved, NightEnded, NightPlan, NightRequest, Phase, PhaseStarted, Progress
from edgeevo.rehearsal import night
from edgeevo.store.file import filesystem_of
from edgeevo.store.schema import MIGRATIONS
from edgeevo.store.writer import Store
from tests.store.conftest import MODEL, fill

KILLED = """
import os, sys
from pathlib import Path
from edgeevo.events import Phase, PhaseStarted
from edgeevo.store.writer import Store
store = Store.open(Path(sys.argv[1]), max_bytes=1 << 28, now=1.0)
owner = store.start("night", cause="command", seed=1, request=b"{}", now=1.0)
for _ in range(1000):
    print(store.record(owner, PhaseStarted(phase=Phase.EVOLVE), now=2.0), flush=True)
"""


def started(store: Store) -> str:
    return store.start("night", cause="command", seed=1, request=b"{}", now=1.0)


def test_events_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    """What a resumed night is given equals what was recorded, in order."""
    owner = started(store)
    request = NightRequest(night_id="n", seed=1, plan=NightPlan(), model=MODEL, spool_dir=str(tmp_path))
    events = [event for event in night(request) if not isinstance(event, Progress)]
    for event in events:
        store.record(owner, event, now=2.0)
    assert list(store.past(owner)) == events


def test_moves_of_all_nights_come_in_order_the_last_of_each_lineage(store: Store) -> None:
    """A new night knows how pointers moved, not how evolution ended; comparisons move none, and what is too old is left out."""

    def moved(lineage: str, number: int, environment: str = "e") -> LineageMoved:
        return LineageMoved(lineage=lineage, generation=number, action="stay", passed=0, attempts=8, environment_id=environment)

    for number in range(11):
        owner = store.start("night", cause="comparison" if number == 9 else "window", seed=1, request=b"{}", now=float(number))
        for event in (moved("a", number), moved("b", 0, ""), moved("c", number)) if number else (moved("d", 0),):
            store.record(owner, event, now=2.0)
        store.record(owner, NightEnded(summary="done"), now=3.0)
    assert store.moves(2) == (moved("d", 0), moved("a", 8), moved("c", 8), moved("a", 10), moved("c", 10))


def test_environments_of_all_nights_come_in_the_order_of_their_admission(store: Store) -> None:
    """Night 2 comes before night 10, siblings keep their order, and what a comparison admitted is left out."""
    grown = [msgspec.structs.replace(sets.founders()[0], generation=number) for number in range(24)]
    for number in range(11):
        owner = store.start("night", cause="window", seed=1, request=b"{}", now=float(number))
        for env in grown[2 * number : 2 * number + 2]:
            store.record(owner, EnvironmentAdmitted(environment=env, place=1, evidence=()), now=2.0)
        store.record(owner, NightEnded(summary="done"), now=3.0)
    other = store.start("night", cause="comparison", seed=1, request=b"{}", now=11.0)
    store.record(other, EnvironmentAdmitted(environment=grown[22], place=1, evidence=()), now=12.0)
    assert list(store.lineages()) == grown[:22]


def test_progress_is_never_stored(store: Store) -> None:
    """Progress is for eyes only."""
    owner = started(store)
    assert store.record(owner, Progress(phase=Phase.EVOLVE, done=1, total=2), now=1.0) == 0
    assert store.past(owner) == ()


def test_an_ended_night_is_not_unfinished(store: Store) -> None:
    """NightEnded closes the night in its own transaction."""
    owner = started(store)
    assert [each.id for each in store.unfinished()] == [owner]
    store.record(owner, NightEnded(summary="done"), now=3.0)
    assert store.unfinished() == []
    assert store.last_night() == (owner, "done")


def test_an_event_is_recorded_whole_or_not_at_all(store: Store, tmp_path: Path) -> None:
    """When a derived row fails, the event itself is not there either."""
    owner = started(store)
    request = NightRequest(night_id="n", seed=1, plan=NightPlan(), model=MODEL, spool_dir=str(tmp_path))
    admitted = list(night(request))[1]
    store._connection.execute("create trigger no before insert on environments begin select raise(abort, 'no'); end")
    with pytest.raises(StoreError):
        store.record(owner, admitted, now=2.0)
    assert store.past(owner) == ()


def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """After SIGKILL in the middle of writing, every event whose number was told is there."""
    for round_ in range(3):
        path = tmp_path / f"{round_}.db"
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, cwd=Path(__file__).resolve().parents[2])
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(5 + 7 * round_)]
        child.kill()
        told += [int(line) for line in child.stdout.read().split()]
        child.wait()
        store = Store.open(path, max_bytes=1 << 28, now=2.0)
        assert len(store.past("night-1")) >= told[-1]
        assert store.incident == ""
        store.close()


def test_d1_a_damaged_database_is_moved_aside(store: Store, tmp_path: Path) -> None:
    """A flipped page is noticed at start; the old file is kept under another name, a new one serves, and the incident says so."""
    fill(store, tmp_path)
    store._connection.execute("pragma wal_checkpoint(truncate)")
    store.close()
    data = bytearray(store.path.read_bytes())
    data[4096:12288] = bytes(8192)
    store.path.write_bytes(data)
    again = Store.open(store.path, max_bytes=1 << 28, now=77.0)
    assert "damaged" in again.incident
    assert (tmp_path / "edgeevo.db.damaged-77").exists()
    assert again.unfinished() == []
    again.close()


@pytest.mark.parametrize("garbage", [b"\0" * 8192, b"not a database at all" * 500])
def test_d8_garbage_instead_of_a_database_still_starts(tmp_path: Path, garbage: bytes) -> None:
    """Whatever lies there, the service starts."""
    path = tmp_path / "edgeevo.db"
    path.write_bytes(garbage)
    store = Store.open(path, max_bytes=1 << 28, now=5.0)
    assert started(store) == "night-1"
    store.close()


def test_d5_another_process_with_the_lock_is_waited_for(store: Store) -> None:
    """While somebody else holds the write lock, recording waits instead of failing."""
    owner = started(store)
    rival = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    rival.execute("begin immediate")
    timer = threading.Timer(1.0, lambda: rival.execute("commit"))
    timer.start()
    begun = time.monotonic()
    assert store.record(owner, PhaseStarted(phase=Phase.EVOLVE), now=1.0) == 1
    assert time.monotonic() - begun > 0.9
    timer.join()
    rival.close()


def test_d6_network_file_systems_are_refused(tmp_path: Path) -> None:
    """A state directory on NFS is refused before anything is written."""
    mounts = f"server:/x {tmp_path} nfs4 rw 0 0\n"
    with pytest.raises(StoreError, match="nfs4"):
        Store.open(tmp_path / "edgeevo.db", max_bytes=1 << 28, now=1.0, mounts=mounts)
    assert list(tmp_path.iterdir()) == []


def test_the_longest_mount_point_decides() -> None:
    """A local disk mounted below a network share is local."""
    mounts = "a / ext4 rw 0 0\nb /srv nfs rw 0 0\nc /srv/my\\040disk xfs rw 0 0\n"
    assert [filesystem_of(Path(place), mounts) for place in ("/var", "/srv/x", "/srv/my disk/y")] == ["ext4", "nfs", "xfs"]


def test_d7_a_full_quota_is_an_error_and_pruning_frees_it(tmp_path: Path) -> None:
    """At the quota an event is refused whole; after pruning transcripts, recording works again."""
    store = Store.open(tmp_path / "edgeevo.db", max_bytes=400_000, now=1.0)
    owner = started(store)
    request = NightRequest(night_id="n", seed=1, plan=NightPlan(), model=MODEL, spool_dir=str(tmp_path))
    played = next(event for event in night(request) if event.__struct_config__.tag == "episodes_played")
    for _ in range(5000):
        try:
            store.record(owner, played, now=2.0)
        except StoreError:
            break
    else:
        raise AssertionError("the quota was never reached")
    assert store.prune(3.0) > 0
    assert store.record(owner, played, now=4.0) > 0
    store.close()


def test_d10_a_newer_schema_is_refused(store: Store) -> None:
    """A database that a later version wrote is left alone."""
    store._connection.execute("insert into _sqlite_migrations (migration_set, name, applied_at) values ('edgeevo', '9999_future', '')")
    store._connection.commit()
    store.close()
    with pytest.raises(StoreError, match="newer"):
        Store.open(store.path, max_bytes=1 << 28, now=1.0)


def test_migrations_are_applied_once(store: Store) -> None:
    """Opening again applies nothing."""
    store.close()
    again = Store.open(store.path, max_bytes=1 << 28, now=1.0)
    assert MIGRATIONS.pending(again._db) == []
    again.close()


def test_a_promotion_waits_until_it_was_carried_out(store: Store, tmp_path: Path) -> None:
    """A recorded PROMOTE is listed until a slot change names it."""
    fill(store, tmp_path)
    ((owner, seq, _, adapter),) = store.promotions_left()
    store.slot_changed("activate", adapter.sha256, None, "promoted", 300.0, judgement=(owner, seq))
    assert store.promotions_left() == []


def test_transcripts_are_pruned_and_outcomes_stay(store: Store, tmp_path: Path) -> None:
    """Pruning drops the bodies of played groups only."""
    fill(store, tmp_path)
    before = store._connection.execute("select count(*) from outcomes").fetchone()
    assert store.prune(older_than=1e9) == 2
    assert store._connection.execute("select count(*) from outcomes").fetchone() == before
    assert not any(event.__struct_config__.tag == "episodes_played" for event in store.past("night-1"))
