"""edgeevo.daemon.service: the loop's decisions with a fake machine, without a process of its own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeevo.config import load
from edgeevo.control import Status, StatusAsked, ask
from edgeevo.daemon.desk import ScriptedBrain
from edgeevo.daemon.service import Service
from edgeevo.host import FakeHost

SETTINGS = ("model.card=", "daemon.night_module=edgeevo.rehearsal", "idle.window=01:00-06:00", "night.rehearsal_seconds=30")


class SlowHost(FakeHost):
    """A machine on which every look takes longer than a tick."""

    def read(self, state_dir, own_pids):
        """Take a while, then as told."""
        time.sleep(0.15)
        return super().read(state_dir, own_pids)


@pytest.fixture
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    host = getattr(request, "param", FakeHost)()
    directories = (f"daemon.state_dir={tmp_path}", f"daemon.runtime_dir={tmp_path}", "daemon.tick_seconds=0.05")
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    made = Service(load(None, (*SETTINGS, *directories)), host, ScriptedBrain({}))
    yield made
    if not made._stopping:  # else its own loop has closed it
        made.close()
    for number, handler in before.items():
        signal.signal(number, handler)


def quiet(service: Service, seconds: float) -> None:
    """Let time pass on a quiet box, looking every ten seconds."""
    for _ in range(int(seconds // 10)):
        service.host.step(10)  # type: ignore[attr-defined]
        service.tick()


def test_a_quiet_box_in_its_window_starts_a_night_after_the_dwell(service: Service) -> None:
    """Not at once, but after the dwell; then it runs for the window's cause."""
    quiet(service, 60)
    assert service.keeper.owner is None
    quiet(service, 120)
    assert service.keeper.owner is not None and service.keeper.owner.cause == "window"


def test_files_that_nothing_needs_are_swept_once_a_day(service: Service) -> None:
    """Spools of ended nights go, those of nights that go on later stay, and so do all adapters as long as one does."""
    service.tick()  # the day's first has passed
    state = service.loaded.state_dir
    later = service.store.start("night", cause="window", seed=1, request=b"{}", now=1.0)
    service.store.finish(later, "interrupted", reason="", now=2.0)
    for name in (later, "night-99"):
        (state / "spool" / name).mkdir(parents=True)
    for number in range(40):
        (state / "adapters" / f"{number}.gguf").write_bytes(b"")
    service.host.others_load_cores = 2.0  # type: ignore[attr-defined]
    service.host.step(86_400)  # type: ignore[attr-defined]
    service.tick()
    assert [p.name for p in (state / "spool").iterdir()] == [later] and len(list((state / "adapters").iterdir())) == 40
    service.store.finish(later, "failed", reason="", now=3.0)
    service.tick()
    assert len(list((state / "spool").iterdir())) == 1
    service.host.step(86_400)  # type: ignore[attr-defined]
    service.tick()
    assert not list((state / "spool").iterdir()) and len(list((state / "adapters").iterdir())) == 30


def test_a_worker_that_says_nothing_is_ended_and_tried_again(service: Service) -> None:
    """After daemon.silence_seconds it counts as failed, by name; its processes are gone, and the night goes on later."""
    service.tick()
    service.keeper.night("command")
    first = service.keeper.job
    service.host.step(50_000)  # type: ignore[attr-defined] - the box slept
    quiet(service, 3600)
    assert service.keeper.job is first is not None
    os.kill(first.pid, signal.SIGSTOP)
    quiet(service, 20)
    assert service.keeper.job is None and "night-1: night-1 has said nothing for 3600 s" in service.keeper.problem
    with pytest.raises(ProcessLookupError):
        os.kill(first.pid, 0)
    quiet(service, 20)
    assert service.keeper.owner is not None and service.keeper.owner.id == "night-1"


def test_somebody_who_needs_the_box_gets_it(service: Service) -> None:
    """Lasting load of others interrupts the night of the window; it goes on when they are gone."""
    quiet(service, 200)
    assert service.keeper.owner is not None
    service.host.others_load_cores = 2.0  # type: ignore[attr-defined]
    quiet(service, 60)
    assert service.keeper.owner is None
    assert [owner.status for owner in service.store.unfinished()] == ["interrupted"]
    service.host.others_load_cores = 0.0  # type: ignore[attr-defined]
    quiet(service, 200)
    assert service.keeper.owner is not None and service.keeper.owner.id == "night-1"


def test_who_runs_a_night_now_decides_whether_a_busy_box_stops_it(service: Service) -> None:
    """A commanded night that the window goes on with is stopped for others; a night of the window that somebody asked for is not."""
    service.keeper.night("command")
    service.keeper.stop("asked to stop")
    quiet(service, 200)
    assert service.keeper.owner is not None and service.keeper.owner.cause == "command"
    service.host.others_load_cores = 2.0  # type: ignore[attr-defined]
    quiet(service, 60)
    assert service.keeper.owner is None
    (owner,) = service.store.unfinished()
    service.keeper.go_on(owner, asked=True)
    quiet(service, 60)
    assert service.keeper.owner is not None


def test_the_time_that_a_resumed_night_was_given_is_stored(service: Service) -> None:
    """What `night --for` says of a night that goes on survives a kill of the daemon."""
    service.keeper.night("command")
    service.keeper.stop("asked to stop")
    (owner,) = service.store.unfinished()
    service.keeper.go_on(owner, asked=True, deadline_at=4711.0)
    assert [each.deadline_at for each in service.store.unfinished()] == [4711.0]


def test_d11_little_disk_stops_nights_and_nothing_else(service: Service) -> None:
    """Below the soft limit the night is interrupted; the daemon goes on."""
    quiet(service, 200)
    service.host.free_disk_bytes = 1  # type: ignore[attr-defined]
    quiet(service, 10)
    assert service.keeper.owner is None
    assert "low_disk" in str(service.judged)


def test_the_end_of_the_window_ends_the_night(service: Service) -> None:
    """At six the box belongs to others."""
    quiet(service, 200)
    service.host.day = 6 * 3600.0  # type: ignore[attr-defined]
    service.tick()
    assert service.keeper.owner is None


@pytest.mark.parametrize("jump", [365 * 86_400.0, -20.0 * 86_400])
def test_t1_a_clock_that_jumps_is_noted_and_the_tick_goes_on(service: Service, jump: float) -> None:
    """A year forward or weeks back: an incident is written, the tick job is made anew."""
    service._add_tick()
    service._scheduler.start()
    service.tick()
    service.host.now += jump  # type: ignore[attr-defined]
    service.tick()
    assert service._scheduler.get_job("tick") is not None
    assert service.store._connection.execute("select kind from incidents").fetchall() == [("clock",)]


def test_t1_a_scheduler_that_waits_for_a_clock_set_back_is_not_waited_for(service: Service) -> None:
    """The loop ticks by the steady clock when the scheduler has been silent for too long: an hour back is not an hour without a look."""
    service.tick()
    service.host.step(10)  # type: ignore[attr-defined]
    looks = len(service.history)
    for _ in range(2):
        service._turn()
    assert len(service.history) == looks + 1


@pytest.mark.parametrize("service", [SlowHost], indirect=True)
def test_t2_a_box_slower_than_its_ticks_still_answers_and_stops(service: Service) -> None:
    """When each tick takes longer than the time between two, callers are answered and stopping works."""
    answers: list[object] = []

    def caller() -> None:
        time.sleep(0.5)
        answers.append(ask(service.loaded.socket, StatusAsked(), timeout_seconds=5.0))
        service.stop()

    thread = threading.Thread(target=caller)
    thread.start()
    begun = time.monotonic()
    service.run()
    thread.join(5)
    assert isinstance(answers[0], Status)
    assert time.monotonic() - begun < 8
