"""What the processes of a box use right now, read from /proc: the fallback where no cgroup is delegated to us."""

from __future__ import annotations

import contextlib
import os
import re

import msgspec

_MEMORY = re.compile(rb"^(?:RssAnon|RssShmem):\s+(\d+) kB", re.MULTILINE)
_PSS = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB", re.MULTILINE)
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Usage(msgspec.Struct, frozen=True):
    """Tasks (threads) alive, private and shared memory in bytes, and the most CPU seconds and descriptors that one process has."""

    tasks: int
    memory_bytes: int
    cpu_seconds: float
    open_files: int


def measure(first_pid: int, max_tasks: int, memory_bytes: int) -> Usage:
    """Walk the process tree below (and with) `first_pid`, the box's process 1, to which every orphan returns.

    With more than `max_tasks` it stops there, without a figure for memory. Summed resident memory counts pages shared by forks more than
    once, so when the sum exceeds `memory_bytes` the exact proportional figure replaces it.
    """
    pids, tasks, seconds, descriptors = [first_pid], 0, 0.0, 0
    for pid in pids:  # grows while it is walked
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                tasks += 1
                pids += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            seconds = max(seconds, (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND)
            descriptors = max(descriptors, os.stat(f"/proc/{pid}/fd").st_size)  # their number, since Linux 6.2; 0 before
        if tasks > max_tasks:  # the verdict is known, and every moment spent reading lets a fork bomb double
            return Usage(tasks, 0, seconds, descriptors)
    used = _memory(pids, "status", _MEMORY)
    if used > memory_bytes:
        used = _memory(pids, "smaps_rollup", _PSS)
    return Usage(tasks, used, seconds, descriptors)


def children(pid: int) -> list[int]:
    """Processes whose parent is the single-threaded process `pid`; none when it is gone."""
    with contextlib.suppress(OSError):
        return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]
    return []


def _memory(pids: list[int], file: str, pattern: re.Pattern[bytes]) -> int:
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += sum(map(int, pattern.findall(_read(f"/proc/{pid}/{file}"))))
    return total << 10


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16)
    finally:
        os.close(fd)
