"""Processes by the user namespace that they live in, whoever is their parent by now: what a killed runner may leave behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path

END_SECONDS = 2.0
_NS_GET_PARENT = 0xB702


def own_namespace(pid: int) -> int:
    """A descriptor on the user namespace that a process made for itself, or -1: it lives in ours, or we may not look."""
    try:
        fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
    if os.fstat(fd).st_ino == os.stat("/proc/self/ns/user").st_ino:
        os.close(fd)
        return -1
    return fd


def processes_below(namespace: int) -> list[int]:
    """Processes in the user namespace that this descriptor is open on, or in one below it; those of others can't be seen and don't count.

    Who holds the descriptor open keeps the namespace's number from being given to another.
    """
    above, found = os.fstat(namespace).st_ino, []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
                if above in _ancestors(f"/proc/{name}/ns/user") and _alive(name):
                    found.append(int(name))
    return found


def kill_below(namespace: int) -> None:
    """Kill them all; never anything of a namespace that we live in or below ourselves."""
    if os.fstat(namespace).st_ino in _ancestors("/proc/self/ns/user"):
        return
    for pid in processes_below(namespace):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def end_below_us() -> None:
    """For a runner whose caller is gone: end everything in our user namespace and below it but ourselves, and wait for that.

    Again and again: what a bubblewrap makes while we look has no parent by then, and would wait for it for ever.
    """
    if Path("/proc/self/uid_map").read_text().split()[2:] != ["1"]:
        return  # not a namespace of one user, as a runner makes for itself
    with open("/proc/self/ns/user", "rb") as ours:
        deadline = time.monotonic() + END_SECONDS
        while (left := [pid for pid in processes_below(ours.fileno()) if pid != os.getpid()]) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)


def _alive(pid: str) -> bool:
    """Whether a process is more than an entry that nobody has collected yet."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] not in b"ZX"


def _ancestors(path: str) -> list[int]:
    """Inode numbers of a user namespace and of those above it that we may see."""
    fd, seen = os.open(path, os.O_RDONLY | os.O_CLOEXEC), []
    try:
        while True:
            seen.append(os.fstat(fd).st_ino)
            parent = fcntl.ioctl(fd, _NS_GET_PARENT)
            os.close(fd)
            fd = parent
    except OSError:  # our own is the last one that may be asked for
        return seen
    finally:
        os.close(fd)
