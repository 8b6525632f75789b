"""The command line of the one confined bubblewrap in which each command runs, and the resource limits of its processes."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from edgeevo.domain import Limits

BWRAP = "/usr/bin/bwrap"
SHELL = ("/usr/bin/bash", "--norc", "--noprofile", "-c")
PRECEDENCE = -19  # niceness of a runner that serves root
SECCOMP_FD, STATUS_FD, BLOCK_FD, CARRY_FD, COMMANDS_FD = 3, 4, 5, 6, 7  # where the child finds them
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
MEMLOCK_BYTES, MESSAGE_QUEUE_BYTES, PENDING_SIGNALS = 64 << 10, 64 << 10, 256
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try", "--disable-userns",
    "--die-with-parent", "--new-session", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
)  # fmt: skip


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What one box looks like from inside: sources are paths in the runner's root."""

    root: str  # bound as /
    shared_memory: str  # bound as /dev/shm
    usr: str = "/usr"
    usr_binds: tuple[tuple[str, str], ...] = ()  # (source, place inside) below /usr, always read-only
    binds: tuple[tuple[str, str], ...] = ()  # further (source, place inside), writable unless the command is read-only
    system_directories: tuple[str, ...] = ()  # /bin and friends where they are no links into /usr
    cwd: str | bytes = "/"
    hostname: str = "box"
    environment: Mapping[str, str] | Mapping[bytes, bytes] = {}  # empty: that of a plain box


def bwrap_argv(view: View, command: bytes, *, read_only: bool = False, private_tmp_bytes: int = 16 << 20) -> list[str | bytes]:
    """Arguments for bubblewrap: nothing of the host is visible but /usr, /proc of the box's own processes and six devices."""
    bind = "--ro-bind" if read_only else "--bind"
    argv: list[str | bytes] = [BWRAP, *_NAMESPACES, bind, view.root, "/", "--ro-bind", view.usr, "/usr"]
    for source, place in view.usr_binds:
        argv += ["--ro-bind", source, place]
    for directory in view.system_directories:
        argv += ["--ro-bind", directory, directory]
    argv += ["--proc", "/proc", "--dev", "/dev", "--bind", view.shared_memory, "/dev/shm", "--remount-ro", "/dev"]
    if read_only:
        argv += ["--size", str(private_tmp_bytes), "--tmpfs", "/tmp"]
    for source, place in view.binds:
        argv += [bind, source, place]
    argv += ["--hostname", view.hostname, "--chdir", view.cwd, "--clearenv"]
    for name, value in (view.environment or environment()).items():
        argv += ["--setenv", name, value]
    argv += ["--seccomp", str(SECCOMP_FD), "--json-status-fd", str(STATUS_FD), "--block-fd", str(BLOCK_FD), "--"]
    precedence = -os.getpriority(os.PRIO_PROCESS, 0)
    ordinary = ("/usr/bin/nice", "-n", str(precedence)) if precedence > 0 else ()
    return [*argv, *ordinary, *SHELL, command]


def environment(
    home: str = "/home/user", *, time_zone: str = "UTC", locale: str = "C.UTF-8", variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment of a command; `variables` come on top and may replace any of it."""
    return {
        "PATH": PATH,
        "HOME": home,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "LC_ALL": locale,
        "TZ": time_zone,
        "TERM": "dumb",
        **(variables or {}),
    }


def resource_limits(limits: Limits) -> Sequence[tuple[int, tuple[int, int]]]:
    """(resource, (soft, hard)) pairs for prlimit(2) on the box's first process, from which all others inherit them.

    They are set from outside once the namespaces exist: the process limit then counts this box only, and nothing that the agent wrote
    (a preloaded library, a changed loader cache) runs before they hold.
    """
    # Who exceeds the limit is seen and ended by the watch; the kernel's bound lies somewhat above, where a shell would retry for ever.
    tasks = limits.processes + limits.processes // 2 + 8
    address_space = 2 * limits.memory_bytes + (4 << 30)  # a backstop only: stacks and arenas reserve far more than they use
    return (
        (resource.RLIMIT_NPROC, (tasks, tasks)),
        (resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files)),
        (resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes)),
        (resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1)),
        (resource.RLIMIT_AS, (address_space, address_space)),
        (resource.RLIMIT_CORE, (0, 0)),
        (resource.RLIMIT_MEMLOCK, (MEMLOCK_BYTES, MEMLOCK_BYTES)),
        (resource.RLIMIT_MSGQUEUE, (MESSAGE_QUEUE_BYTES, MESSAGE_QUEUE_BYTES)),
        (resource.RLIMIT_SIGPENDING, (PENDING_SIGNALS, PENDING_SIGNALS)),
    )


def take_precedence() -> None:
    """Run before ordinary processes, whatever their number: the runner, and process 1 of each box; what the agent starts is ordinary.

    RLIMIT_NPROC does not bind the kernel's root. A fork bomb in a directory of root's is ended by the watch alone, and by the end of
    process 1, and both would wait for their turn among thousands while it grows. Without the right to it (CAP_SYS_NICE) they do wait.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRECEDENCE)
        Path("/proc/self/autogroup").write_text(str(PRECEDENCE))  # where sessions, too, take turns
