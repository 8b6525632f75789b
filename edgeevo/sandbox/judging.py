"""Which limit spoilt a command that ended by itself: from what the runner saw, and where the kernel leaves no trace, from its own words.

What the runner kills it names itself (wall, output, memory, processes). Of the rest:

    disk, inodes   the quota is used up at the end, or was when the watch looked
    file size, CPU the signal that ended the shell, or one of its children as the shell reports it
    open files     a full table of descriptors when the watch looked
    all of them    a command that failed and says on its errors what the C library says of this limit: a refused system call (EMFILE,
                   EFBIG, ENOSPC, ENOMEM, EAGAIN of fork) can't be seen from outside

A command can feign such words; it then only spoils its own result, and never one that succeeded.
"""

from __future__ import annotations

import re
import signal

from edgeevo.domain import LimitHit, Limits, Value

NEARLY = 0.9  # of the CPU limit: the kernel's clock ticks and the watch's looks are coarse
_SHELLS_REPORT = re.compile(
    rb"^(?:bash|sh|/\S+): (?:line )?\d+: +\d+ (?P<how>CPU time limit exceeded|File size limit exceeded|Killed)", re.MULTILINE
)
_WORDS = (
    (LimitHit.OPEN_FILES, re.compile(rb"Too many open files(?! in system)")),
    (LimitHit.FILE_SIZE, re.compile(rb"File too large|File size limit exceeded")),
    (LimitHit.INODES, re.compile(rb"No space left on device")),  # only where inodes were seen to be used up, else DISK
    (LimitHit.DISK, re.compile(rb"No space left on device|Disk quota exceeded")),
    (LimitHit.MEMORY, re.compile(rb"^MemoryError|Cannot allocate memory|[Mm]emory exhausted|[Oo]ut of memory|bad_alloc", re.MULTILINE)),
    (LimitHit.PROCESSES, re.compile(rb"fork: (?:retry: )?Resource temporarily unavailable|can't start new thread|Cannot fork")),
    (LimitHit.CPU, re.compile(rb"CPU time limit exceeded")),
)


class Seen(Value):
    """What the runner saw of a command: the most CPU seconds and descriptors of one process, and quotas when they were used up."""

    cpu_seconds: float = 0.0
    open_files: int = 0
    full_before: LimitHit | None = None
    full_meanwhile: LimitHit | None = None
    full_after: LimitHit | None = None


def judge(exit_code: int, stderr: bytes, limits: Limits, seen: Seen) -> LimitHit | None:
    """The limit that spoilt a command, or None."""
    if limit := _by_signal(exit_code, stderr, limits, seen):
        return limit
    if seen.full_after is not None and (exit_code != 0 or seen.full_before is None):
        return seen.full_after
    if exit_code == 0:
        return None
    for limit, words in _WORDS:
        if words.search(stderr) and (limit is not LimitHit.INODES or seen.full_meanwhile is LimitHit.INODES):
            return limit
    if seen.open_files >= limits.open_files:
        return LimitHit.OPEN_FILES
    return seen.full_meanwhile if seen.full_before is None else None


def _by_signal(exit_code: int, stderr: bytes, limits: Limits, seen: Seen) -> LimitHit | None:
    """A limit whose signal ended the shell or, as it says itself, one of its children."""
    spun = seen.cpu_seconds > NEARLY * limits.cpu_seconds
    if exit_code == 128 + signal.SIGXCPU or (exit_code == 128 + signal.SIGKILL and spun):
        return LimitHit.CPU
    if exit_code == 128 + signal.SIGXFSZ:
        return LimitHit.FILE_SIZE
    reports = {report["how"] for report in _SHELLS_REPORT.finditer(stderr)}
    if b"CPU time limit exceeded" in reports or (b"Killed" in reports and spun):
        return LimitHit.CPU
    return LimitHit.FILE_SIZE if b"File size limit exceeded" in reports else None
