"""edgeevo.demo: interrupted at any moment it leaves nothing behind. Nights and audits are rehearsed, the model and the sandbox are real."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgeevo.demo import KEPT_RUNS, _directories, real_tasks
from edgeevo.host import descendants
from edgeevo.store.reader import Reader

ROOT = Path(__file__).resolve().parents[1]
REHEARSED = (
    "daemon.night_module=edgeevo.rehearsal",
    "daemon.audit_module=edgeevo.rehearsal",
    "night.rehearsal_seconds=3",
    "audit.tasks=12",
)
PROC = Path("/proc")


def alive(pid: int) -> bool:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


COMMAND = r"\$ |recorded as run 1"  # the untrained model does not always say a command, and the directory's name is another each time


@pytest.mark.model
@pytest.mark.sandbox
@pytest.mark.parametrize(("number", "marker"), [(signal.SIGINT, "State in"), (signal.SIGINT, "> Count"), (signal.SIGTERM, COMMAND)])
def test_interrupting_the_demo_leaves_nothing_behind(number: signal.Signals, marker: str) -> None:
    """Ctrl-C (or TERM) while it starts, while the model thinks, while a command ran: no process, no mount, no runtime directory."""
    before = (PROC / "mounts").read_text()
    demo = subprocess.Popen([sys.executable, "-u", "-m", "edgeevo.demo", *REHEARSED], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    for line in demo.stdout:
        if re.search(marker, line):
            break
    time.sleep(0.3)
    family = descendants(PROC, [demo.pid])
    demo.send_signal(number)
    rest = demo.stdout.read()
    assert demo.wait(15) == 130
    assert "nothing is left running" in rest
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in family if alive(pid)] == []
    assert (PROC / "mounts").read_text() == before


@pytest.mark.model
@pytest.mark.sandbox
def test_the_night_of_the_demo_begins_by_itself() -> None:
    """Nobody asks for the demo's night: the daemon finds the box idle, and the demo follows (a rehearsed adapter can't serve)."""
    settings = ("night.rehearsal_seconds=1", "audit.tasks=4", "idle.enter_load_cores=900")
    demo = subprocess.run(
        [sys.executable, "-m", "edgeevo.demo", *REHEARSED, *settings], check=False, cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    night = demo.stdout.partition("== The idle window opens")[2].partition("\n== ")[0]
    assert "night-1 runs" in night
    assert "asked for instead" not in night
    state = re.search(r"== State in (\S+)", demo.stdout)
    assert state
    with Reader(Path(state.group(1)) / "edgeevo.db") as reader:
        assert [row.cause for row in reader.history(10) if row.id.startswith("night")] == ["window"]


def test_the_three_tasks_work_where_they_are_told(tmp_path: Path) -> None:
    """Each task names its directory and has a check."""
    tasks = real_tasks(tmp_path)
    assert len(tasks) == 3
    assert all(task.directory == str(tmp_path) and task.check and str(tmp_path) in task.instruction for task in tasks)


def test_a_state_directory_in_use_is_kept(tmp_path: Path) -> None:
    """Of the earlier demos the latest few are kept, and every one whose daemon still runs."""
    place = tmp_path / "demo"
    for number in range(KEPT_RUNS + 3):
        (place / str(number)).mkdir(parents=True)
        (place / str(number) / "daemon.lock").touch()
        os.utime(place / str(number), (number, number))
    with (place / "0" / "daemon.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _directories(tmp_path) as (state, _, _):
            assert {each.name for each in place.iterdir()} == {"0", *(str(4 + n) for n in range(KEPT_RUNS - 1)), state.name}
