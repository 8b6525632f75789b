"""edgeevo.host: what is read from /proc, and that our own load is not taken for somebody else's."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from edgeevo.host import FakeHost, LinuxHost, busy_seconds, descendants, notify


class SteppedHost(LinuxHost):
    """The real reader of a /proc that the test writes, on a clock that the test steps."""

    now = 0.0

    def steady(self) -> float:
        """As stepped."""
        return self.now


def proc(tmp_path: Path, busy_ticks: int, processes: dict[int, tuple[int, int, int]]) -> Path:
    """A /proc with this much busy time and pid -> (parent, own ticks, ticks of reaped children)."""
    (tmp_path / "stat").write_text(f"cpu  {busy_ticks} 0 0 0 0 0 0 0 0 0\n")
    for each in tmp_path.glob("[0-9]*"):
        shutil.rmtree(each)
    for pid, (parent, own, reaped) in processes.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a b) S {parent} 0 0 0 0 0 0 0 0 0 {own} 0 {reaped} 0 0")
    return tmp_path


def test_t4_our_own_load_is_subtracted(tmp_path: Path) -> None:
    """Of 1.5 busy cores, 1.0 is a grandchild of ours: others use half a core."""
    host, second = SteppedHost(), os.sysconf("SC_CLK_TCK")
    host._proc = proc(tmp_path, 0, {10: (1, 0, 0), 11: (10, 0, 0), 12: (11, 0, 0), 99: (1, 0, 0)})
    assert host.read(tmp_path, [10]).others_load_cores is None
    host.now = 10.0
    proc(tmp_path, 15 * second, {10: (1, 0, 0), 11: (10, 0, 0), 12: (11, 10 * second, 0), 99: (1, 5 * second, 0)})
    assert host.read(tmp_path, [10]).others_load_cores == pytest.approx(0.5)


def test_time_of_ended_children_stays_ours(tmp_path: Path) -> None:
    """Children that began and ended between two looks, or ended since, are in their parent's account and stay ours."""
    host, second = SteppedHost(), os.sysconf("SC_CLK_TCK")
    host._proc = proc(tmp_path, 0, {10: (1, 0, 0), 11: (10, 4 * second, 0)})
    host.read(tmp_path, [10])
    host.now = 10.0
    proc(tmp_path, 12 * second, {10: (1, 1 * second, 13 * second)})  # 11 was reaped with 6 s, others with 7 s: 10 s of them are new
    assert host.read(tmp_path, [10]).others_load_cores == pytest.approx(0.2)


def test_the_real_machine_can_be_read(tmp_path: Path) -> None:
    """Load, memory and disk of this machine are there."""
    host = LinuxHost()
    host.read(tmp_path, [os.getpid()])
    time.sleep(0.05)
    readings = host.read(tmp_path, [os.getpid()])
    assert readings.others_load_cores is not None and readings.available_memory_bytes > 0 and readings.free_disk_bytes > 0


def test_descendants_are_found_through_all_generations(tmp_path: Path) -> None:
    """By the parent field of stat, names with spaces and brackets included."""
    for pid, name, parent in ((10, "a", 1), (11, "b) (c", 10), (12, "d", 11), (13, "e", 1)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 0 0")
    assert sorted(descendants(tmp_path, [10])) == [10, 11, 12]


@pytest.mark.parametrize(("stat", "seconds"), [("cpu  100 50 50 900 10 0 0 300 7 0\n", 2.0), ("", None), ("intr 1", None)])
def test_busy_seconds_leave_out_idle_steal_and_guest(stat: str, seconds: float | None) -> None:
    """User, nice, system and interrupts; nothing readable is None, not zero."""
    assert busy_seconds(stat, 100) == seconds


def test_t6_an_unreadable_proc_gives_an_unknown_load(tmp_path: Path) -> None:
    """Without /proc/stat the load is None."""
    host = LinuxHost(proc=tmp_path)
    host.read(tmp_path, [])
    assert host.read(tmp_path, []).others_load_cores is None


def test_notify_speaks_to_systemd(tmp_path: Path) -> None:
    """The message arrives as one datagram; nobody listening is False, never an error."""
    address = str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.bind(address)
        assert notify("READY=1", address)
        assert link.recv(100) == b"READY=1"
    assert [notify("READY=1", ""), notify("READY=1", str(tmp_path / "nobody"))] == [False, False]


def test_the_fake_machine_keeps_time(tmp_path: Path) -> None:
    """Stepping moves all its clocks together."""
    host = FakeHost(now=100.0, second_of_day=86_399.0)
    host.step(2.0)
    assert (host.wall(), host.steady(), host.second_of_day()) == (102.0, 1002.0, 1.0)
    assert host.read(tmp_path, []).at == 1002.0
