"""One hostile case tried in a real box, and the five questions asked after it.

A process counts as left when its user namespace lies below the runner's, whoever its parent is by then.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Self

from edgeevo.domain import Changes, CommandResult, File, Limits, Link, Node, State, Value
from edgeevo.errors import EdgeevoError, TaskError
from edgeevo.sandbox.abuse.case import ABUSE_LIMITS, ABUSE_STATE, Case
from edgeevo.sandbox.client import RunnerBox, RunnerSandbox
from edgeevo.sandbox.leftovers import processes_below

LATE_SECONDS, SETTLE_SECONDS = 2.0, 10.0
SPARE_MOUNTS = 2  # the box that a runner keeps prepared: a tmpfs and an overlay
_SETTINGS = (
    *("kernel/core_pattern", "kernel/hostname", "user/max_user_namespaces", "kernel/modprobe", "vm/overcommit_memory"),
    *("kernel/shmmax", "kernel/msgmax", "kernel/sem", "kernel/pid_max", "fs/mqueue/queues_max"),
)
_FILES = (
    *("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/hosts", "/etc/resolv.conf", "/etc/ld.so.cache", "/etc/ld.so.preload"),
    "/usr/bin/env",
)
_LOOK = "cat names current; ls -A /; ls -lA --time-style=+ . /tmp /etc /dev/shm /home/user; ulimit -a; env | sort"


class Finding(Value):
    """What came of one case: `by` is what contained it, `escapes` is empty when it was contained, else one sentence per wrong answer."""

    case: str
    kind: str
    by: str
    seconds: float
    escapes: tuple[str, ...] = ()


class Host:
    """Bait on this machine, laid out before the sandbox is opened: a readable secret, one in the environment, and listeners."""

    def __init__(self) -> None:
        self._secret = f"canary-{secrets.token_hex(16)}"
        self.state = tempfile.mkdtemp(prefix="edgeevo-bait-")
        os.chmod(self.state, 0o755)
        self._file = f"{self.state}/credentials"
        with open(self._file, "w", encoding="ascii") as file:
            file.write(self._secret)
        self._listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        self._abstract = f"edgeevo-bait-{os.getpid()}"
        self._listeners[1].bind(f"{self.state}/edgeevo.sock")
        os.chmod(f"{self.state}/edgeevo.sock", 0o777)
        self._listeners[2].bind("\0" + self._abstract)
        for listener in self._listeners:
            listener.listen()
            listener.setblocking(False)
        os.environ["EDGEEVO_CANARY"] = self._secret
        self._before = dict(self._look())

    def dress(self, command: str, runner_pid: int) -> str:
        """The command with the bait's names in it."""
        names = {"STATE": self.state, "PORT": self._listeners[0].getsockname()[1], "ABSTRACT": self._abstract}
        for name, value in (names | {"RUNNER": runner_pid, "CALLER": os.getpid()}).items():
            command = command.replace(f"@{name}@", str(value))
        return command

    def told(self, result: CommandResult, changes: Changes) -> bool:
        """Whether the secret came out."""
        secret = self._secret.encode()
        files = (node.data for node in changes.nodes.values() if isinstance(node, File))
        return any(secret in data for data in (result.stdout, result.stderr, *files))

    def changed(self) -> list[str]:
        """What is not as it was when the bait was laid out."""
        now = dict(self._look())
        return sorted(name for name in now.keys() | self._before.keys() if now.get(name) != self._before.get(name))

    def _look(self) -> Iterator[tuple[str, object]]:
        with open(self._file, encoding="utf-8", errors="replace") as file:
            yield "the canary", file.read()
        yield "the state directory", sorted(os.listdir(self.state))
        yield "the system's programs", sorted(os.listdir("/usr/bin"))
        for path in _FILES:
            with contextlib.suppress(OSError):
                status = os.stat(path)
                yield path, (status.st_ino, status.st_size, status.st_mode, status.st_uid, status.st_mtime_ns)
        for name in _SETTINGS:
            with contextlib.suppress(OSError), open(f"/proc/sys/{name}", encoding="utf-8") as file:
                yield f"/proc/sys/{name}", file.read()
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            sources = [line.rpartition(" - ")[2].split()[1] for line in file]
        yield "mounts of the host", sorted(source for source in sources if source in {"quota", "box", "cache", "probe", "usr"})
        yield "connections to the host", [place for place, listener in enumerate(self._listeners) if _called(listener)]

    def close(self) -> None:
        """Take the bait away."""
        os.environ.pop("EDGEEVO_CANARY", None)
        for listener in self._listeners:
            listener.close()
        shutil.rmtree(self.state, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Attacker:
    """Tries cases on a sandbox, which must have been opened after the host's bait was laid out; `in_shells`: in shells that stay."""

    def __init__(self, sandbox: RunnerSandbox, host: Host, *, in_shells: bool = False) -> None:
        self._sandbox, self._host, self._in_shells = sandbox, host, in_shells
        self._clean = self._episode()

    def attack(self, case: Case) -> Finding:
        """Run one case and ask; never raises for what the sandbox does, a broken sandbox is an escape."""
        started = time.monotonic()
        result, changes, escapes = self.run(self._host.dress(case.command, self._sandbox.runner_pid), case.limits)
        try:
            if result is not None and case.verifier:
                result, changes = self._verify(case.verifier, changes), Changes(nodes={})
            if result is not None and not case.holds(result, changes):
                escapes.append(f"its wall did not hold: exit {result.exit_code}, limit {result.limit_hit}, stdout {result.stdout[:200]!r}")
        except EdgeevoError as error:
            escapes.append(f"the sandbox broke: {error}")
        if result is not None and case.limit is not None and result.limit_hit is not case.limit:
            escapes.append(f"limit {result.limit_hit} was named instead of {case.limit}")
        seconds = round(time.monotonic() - started, 3)
        return Finding(case=case.name, kind=case.kind, by=case.wall, seconds=seconds, escapes=tuple(escapes))

    def run(self, command: str, limits: Limits = ABUSE_LIMITS) -> tuple[CommandResult | None, Changes, list[str]]:
        """Run any command in a fresh box and ask the five questions; gives result (None: the sandbox broke), changes and wrong answers."""
        escapes: list[str] = []
        result, changes = None, Changes(nodes={})
        try:
            with self._sandbox.open(ABUSE_STATE, limits) as box:
                started = time.monotonic()
                result = _run_in_a_shell(box, command) if self._in_shells else box.run(command)
                if (late := time.monotonic() - started - limits.wall_seconds) > LATE_SECONDS:
                    escapes.append(f"came back {late:.1f} s after its time")
                if not _settled(lambda: not inside(self._sandbox.runner_pid)):
                    escapes.append(f"still runs: {inside(self._sandbox.runner_pid)}")
                changes = box.changes()
            if self._host.told(result, changes):
                escapes.append("the host's secret came out")
            if self._episode() != self._clean:
                escapes.append("the next episode is not clean")
        except EdgeevoError as error:
            escapes.append(f"the sandbox broke: {error}")
        if not _settled(lambda: boxes_mounted(self._sandbox.runner_pid) <= SPARE_MOUNTS):
            escapes.append("a mount is left")
        escapes += [f"{name} changed" for name in self._host.changed()]
        return result, changes, escapes

    def _episode(self) -> tuple[bytes, bool]:
        """What a new episode sees, and whether anything differs in it."""
        with self._sandbox.open(ABUSE_STATE, ABUSE_LIMITS) as box:
            return box.run(_LOOK).stdout, box.changes().nodes == {}

    def _verify(self, verifier: str, changes: Changes) -> CommandResult:
        """Judge an end state as edgeevo does: fresh box, nothing of the agent's in /etc, read-only."""
        try:
            with self._sandbox.open(_end_state(changes), ABUSE_LIMITS) as box:
                return box.run(verifier, read_only=True)
        except TaskError as error:  # no state of ours: what the agent left behind is at fault
            return CommandResult(command=verifier, exit_code=1, stderr=str(error).encode())


def _run_in_a_shell(box: RunnerBox, command: str) -> CommandResult:
    with box.shell() as shell:
        return shell.run(command)


def _end_state(changes: Changes) -> State:
    nodes: dict[str, Node] = dict(ABUSE_STATE.nodes)
    for path, node in changes.nodes.items():
        if f"{path}/".startswith("/etc/") or (isinstance(node, Link) and not node.target):
            continue
        if node is None:
            for gone in [known for known in nodes if known == path or known.startswith(f"{path}/")]:
                del nodes[gone]
        else:
            nodes[path] = node
    return State(nodes=nodes, cwd=ABUSE_STATE.cwd)


def inside(runner_pid: int) -> list[int]:
    """What is left of boxes of a runner: processes in namespaces below its own; none when the runner is gone."""
    try:
        namespace = os.open(f"/proc/{runner_pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return [pid for pid in processes_below(namespace) if pid != runner_pid]
    finally:
        os.close(namespace)


def boxes_mounted(runner_pid: int) -> int:
    """How many mounts of boxes the runner has."""
    try:
        with open(f"/proc/{runner_pid}/mountinfo", encoding="utf-8", errors="replace") as file:
            return sum(line.split()[4].startswith("/boxes/") for line in file)
    except OSError:
        return 0


def _called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _settled(check: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
