"""edgeevo.host: what is read from /proc, and that our own load is not taken for somebody else's."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgeevo.host import FakeHost, LinuxHost, busy_seconds, descendants, notify

SPIN = "import time\nend = time.time() + 1.5\nwhile time.time() < end: pass"
FAMILY = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"


def test_t4_our_own_load_is_subtracted(tmp_path: Path) -> None:
    """A grandchild that spins is ours when we are the root, and others' when only somebody else is."""
    ours, theirs = LinuxHost(), LinuxHost()
    child = subprocess.Popen([sys.executable, "-c", FAMILY, SPIN])
    try:
        for host, root in ((ours, child.pid), (theirs, 1 << 22)):
            assert host.read(tmp_path, [root]).others_load_cores is None
        time.sleep(1.0)
        mine = ours.read(tmp_path, [child.pid]).others_load_cores
        all_of_it = theirs.read(tmp_path, [1 << 22]).others_load_cores
    finally:
        child.wait()
    assert mine is not None and all_of_it is not None
    assert all_of_it - mine > 0.2


def test_time_of_ended_children_stays_ours(tmp_path: Path) -> None:
    """Short-lived children are found in their parent's account after they have ended."""
    program = (
        "import subprocess, sys, time\nfor _ in range(4): subprocess.run([sys.executable, '-c', 'sum(range(6000000))'])\ntime.sleep(5)"
    )
    host, everything = LinuxHost(), LinuxHost()
    child = subprocess.Popen([sys.executable, "-c", program])
    try:
        host.read(tmp_path, [child.pid])
        everything.read(tmp_path, [1 << 22])
        time.sleep(2.0)
        mine = host.read(tmp_path, [child.pid]).others_load_cores
        all_of_it = everything.read(tmp_path, [1 << 22]).others_load_cores
    finally:
        child.kill()
        child.wait()
    assert mine is not None and all_of_it is not None
    assert mine < all_of_it


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
