"""The clock, the load, memory, disk and systemd's notify socket: the only reader of /proc and of time. All others take them as values."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from edgeevo.domain import Readings

JUMP_SECONDS = 30.0


class Host(Protocol):
    """What the daemon asks of the machine; `FakeHost` is the other implementation."""

    def wall(self) -> float:
        """Seconds since the epoch; may jump."""

    def steady(self) -> float:
        """Seconds that never jump and go on during suspend."""

    def second_of_day(self) -> float:
        """Seconds after local midnight."""

    def read(self, state_dir: Path, own_pids: Sequence[int]) -> Readings:
        """One look at load, memory and disk; `own_pids` and their descendants are ours."""

    def mounts(self) -> str:
        """The text of /proc/mounts; empty when it can't be read."""


class LinuxHost:
    """The real one. The load of others is the CPU time that all used minus what ours used, between two reads."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._tick = os.sysconf("SC_CLK_TCK")
        self._last: tuple[float, float, float] | None = None

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def steady(self) -> float:
        """CLOCK_BOOTTIME: monotonic, and counts while the box sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def second_of_day(self) -> float:
        """Seconds after local midnight."""
        now = time.localtime()
        return now.tm_hour * 3600.0 + now.tm_min * 60 + now.tm_sec

    def mounts(self) -> str:
        """The text of /proc/mounts."""
        return _text(self._proc / "mounts")

    def read(self, state_dir: Path, own_pids: Sequence[int]) -> Readings:
        """Load since the last call (None at the first), memory available, disk free under `state_dir`."""
        disk = os.statvfs(state_dir)
        return Readings(
            at=self.steady(),
            others_load_cores=self._others(own_pids),
            available_memory_bytes=_available(_text(self._proc / "meminfo")),
            free_disk_bytes=disk.f_bavail * disk.f_frsize,
        )

    def _others(self, own_pids: Sequence[int]) -> float | None:
        """The time of our ended processes is in their parents' children fields, so the sum over our tree never loses any."""
        at, busy = self.steady(), busy_seconds(_text(self._proc / "stat"), self._tick)
        if busy is None:
            return None
        own = sum(self._cpu_seconds(pid) for pid in descendants(self._proc, own_pids))
        last, self._last = self._last, (at, busy, own)
        if last is None or at - last[0] <= 0:
            return None
        return max(0.0, (busy - last[1] - max(0.0, own - last[2])) / (at - last[0]))

    def _cpu_seconds(self, pid: int) -> float:
        """User and system time of a process and of its reaped children; 0 when it is gone."""
        fields = _text(self._proc / str(pid) / "stat").rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / self._tick


class FakeHost:
    """A machine that does what it is told: set the attributes, or `step` the clock."""

    def __init__(self, *, now: float = 1_700_000_000.0, second_of_day: float = 2 * 3600.0) -> None:
        self.now, self.boot, self.day = now, 1000.0, second_of_day
        self.others_load_cores: float | None = 0.0
        self.available_memory_bytes = 8 << 30
        self.free_disk_bytes = 50 << 30

    def step(self, seconds: float) -> None:
        """Let time pass."""
        self.now, self.boot, self.day = self.now + seconds, self.boot + seconds, (self.day + seconds) % 86_400

    def wall(self) -> float:
        """The wall clock as set."""
        return self.now

    def steady(self) -> float:
        """The steady clock as stepped."""
        return self.boot

    def second_of_day(self) -> float:
        """The time of day as set."""
        return self.day

    def mounts(self) -> str:
        """No mounts are known."""
        return ""

    def read(self, state_dir: Path, own_pids: Sequence[int]) -> Readings:
        """The attributes as readings."""
        return Readings(
            at=self.boot,
            others_load_cores=self.others_load_cores,
            available_memory_bytes=self.available_memory_bytes,
            free_disk_bytes=self.free_disk_bytes,
        )


def descendants(proc: Path, roots: Sequence[int]) -> list[int]:
    """`roots` and everything they started, by the parent field of /proc/PID/stat."""
    children: dict[int, list[int]] = {}
    for entry in (each.name for each in proc.iterdir()):
        if entry.isdigit():
            fields = _text(proc / entry / "stat").rpartition(")")[2].split()
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append(int(entry))
    found, todo = [], list(roots)
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def busy_seconds(stat: str, tick: int) -> float | None:
    """CPU seconds that were not idle since boot, from the text of /proc/stat (guest time is already inside user); None when unreadable."""
    fields = stat.partition("\n")[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        return None
    user, nice, system, _, _, irq, softirq, _ = (int(field) for field in fields[1:9])
    return (user + nice + system + irq + softirq) / tick


def notify(message: str, address: str) -> bool:
    """Send `message` (READY=1, WATCHDOG=1, STOPPING=1, STATUS=…) to systemd at `address` ($NOTIFY_SOCKET); False when nobody listens."""
    if not address:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as link, contextlib.suppress(OSError):
        link.connect("\0" + address[1:] if address[0] == "@" else address)
        link.sendall(message.encode())
        return True
    return False


def _available(meminfo: str) -> int:
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
