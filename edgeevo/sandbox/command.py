"""One command under way inside the runner: spawned, limited, read, watched, and judged when everything that it started has ended."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import time

import msgspec

from edgeevo.domain import CommandResult, LimitHit
from edgeevo.errors import SandboxError
from edgeevo.sandbox.box import OpenBox, reachable_directory
from edgeevo.sandbox.carrying import MAX_CARRIED_BYTES, PRELUDE, parse
from edgeevo.sandbox.confine import BLOCK_FD, CARRY_FD, SECCOMP_FD, STATUS_FD, bwrap_argv, resource_limits
from edgeevo.sandbox.judging import Seen, judge
from edgeevo.sandbox.namespace import FILTER
from edgeevo.sandbox.watch import children, measure

POLL_SECONDS = 0.02
KILL_GRACE_SECONDS = 10.0  # from the kill to the end of the last process; a fork bomb of root, whom no rlimit counts, takes seconds
READ_BYTES = 1 << 16
MAX_COMMAND_BYTES = 120_000  # the kernel's bound for one argument is 128 KiB
SETUP_ERROR_BYTES = 2000
TOO_LONG = CommandResult(command="", exit_code=126, stderr=b"bash: command: Argument list too long\n")
_CHILD = re.compile(rb'"child-pid"\s*:\s*(\d+)')
_EXIT = re.compile(rb'"exit-code"\s*:\s*(\d+)')
_SIGNALS_TO_RESET = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them; a command must not


def _may_be_there(box: OpenBox, cwd: str | bytes) -> bool:
    return os.fsencode(cwd).startswith(b"/usr") or reachable_directory(box, cwd)


class RunningCommand:
    """Drive it by `on_ready(fd)` for its descriptors and `tick(now)`; when `finished`, take `result()`."""

    def __init__(self, box: OpenBox, text: str, wall_seconds: float, *, read_only: bool) -> None:
        self.box, self.text = box, text
        self._read_only = read_only or box.read_only
        self._wall_seconds = wall_seconds
        self._command = text.encode("utf-8", "replace").replace(b"\0", b"")
        self._full_before = box.full()
        self._carries = box.template is not None and box.template.state.carries and not self._read_only
        if self._carries:
            self._command = PRELUDE.encode() + self._command
        wanted = [box.view.cwd, "/"] if box.carried is None else [box.carried.cwd, box.view.cwd, "/"]
        self._start(next(cwd for cwd in wanted if cwd == "/" or _may_be_there(box, cwd)))

    def _start(self, cwd: str | bytes) -> None:
        self.stdout, self.stderr, self._status_text = bytearray(), bytearray(), bytearray()
        self.hit: LimitHit | None = None
        self.truncated = self._killed = False
        self._child_pid = 0
        self._child_gone = -1
        self._exit_status: int | None = None
        self._cpu_seconds, self._open_files = 0.0, 0
        self._full_meanwhile: LimitHit | None = None
        self._stuck = False
        self.started = time.monotonic()
        self.deadline = self.started + self._wall_seconds
        self._next_poll = self.started + POLL_SECONDS
        view = msgspec.structs.replace(self.box.view, cwd=cwd)
        if self.box.carried is not None:
            view = msgspec.structs.replace(view, environment=self.box.carried.environment)
        argv = bwrap_argv(view, self._command, read_only=self._read_only)
        out, out_child = os.pipe()
        err, err_child = os.pipe()
        status, status_child = os.pipe()
        block_child, self._block = os.pipe()
        self._carry, self._carried_text = -1, bytearray()
        more = self._open_more()
        null, program = os.open("/dev/null", os.O_RDONLY), os.open(FILTER, os.O_RDONLY)
        inherited = [(null, 0), (out_child, 1), (err_child, 2), (program, SECCOMP_FD), (status_child, STATUS_FD), (block_child, BLOCK_FD)]
        inherited += more
        # All of these are above the targets: the runner keeps the low numbers occupied.
        actions = [(os.POSIX_SPAWN_DUP2, source, target) for source, target in inherited]
        try:
            self._pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsigdef=_SIGNALS_TO_RESET)
        except OSError as error:
            for fd in (out, err, status, self._block, *([self._carry] if self._carry >= 0 else [])):
                os.close(fd)
            raise SandboxError(f"bubblewrap can't be started: {error}", hint="install the package bubblewrap") from error
        finally:
            for fd, _ in inherited:
                os.close(fd)
        self._outer_gone = os.pidfd_open(self._pid)
        self._pipes = {out: self.stdout, err: self.stderr, status: self._status_text}
        self._status = status
        if self._carry >= 0:
            self._pipes[self._carry] = self._carried_text

    def _open_more(self) -> list[tuple[int, int]]:
        """Further descriptors for the child, and where it finds them; ours are kept in attributes."""
        if not self._carries:
            return []
        self._carry, child = os.pipe()
        return [(child, CARRY_FD)]

    @property
    def descriptors(self) -> list[int]:
        """What to wait on now."""
        waiting = list(self._pipes)
        if self._exit_status is None:
            waiting.append(self._outer_gone)
        elif self._child_gone >= 0:
            waiting.append(self._child_gone)
        return waiting

    @property
    def finished(self) -> bool:
        """Everything has ended and been read (or, after a kill, refused to end within the grace)."""
        return self._stuck or (self._exit_status is not None and not self._pipes and self._child_gone < 0)

    def next_tick(self) -> float:
        """The monotonic time at which `tick` wants to be called."""
        return self.deadline if self._killed else min(self.deadline, self._next_poll)

    def on_ready(self, fd: int) -> None:
        """Handle one readable descriptor."""
        if fd == self._outer_gone and self._exit_status is None:
            _, self._exit_status = os.waitpid(self._pid, 0)
            os.close(self._outer_gone)
            if not self._killed:
                self.deadline = time.monotonic() + KILL_GRACE_SECONDS
                self._killed = True  # by the kernel: process 1 of the box dies with its parent
                self._forget_empty_box()
            self._unblock()
        elif fd == self._child_gone:
            os.close(fd)
            self._child_gone = -1
        elif fd in self._pipes:
            self._read(fd)

    def _forget_empty_box(self) -> None:
        """The shell is gone: unless it left processes behind, don't wait for the slow end of its namespaces, which nobody uses now.

        Orphans return to process 1, so without children of process 1 nothing in the box is alive.
        """
        if self._child_gone >= 0 and not children(self._child_pid):
            os.close(self._child_gone)
            self._child_gone = -1

    def _read(self, fd: int) -> None:
        data = os.read(fd, READ_BYTES)
        if not data:
            os.close(fd)
            del self._pipes[fd]
            return
        if fd == self._status:
            self._status_text += data
            if not self._child_pid and (found := _CHILD.search(self._status_text)):
                self._confine_child(int(found.group(1)))
            return
        if fd == self._carry:
            self._carried_text += data[: MAX_CARRIED_BYTES + 1 - len(self._carried_text)]
            return
        room = self.box.limits.output_bytes - len(self.stdout) - len(self.stderr)
        self._pipes[fd].extend(data[:room])
        if len(data) > room:
            self.truncated = True
            self.kill(LimitHit.OUTPUT)

    def _confine_child(self, pid: int) -> None:
        """Limit the box's process 1 while it waits for us, then let it go on."""
        self._child_pid = pid
        with contextlib.suppress(ProcessLookupError):
            self._child_gone = os.pidfd_open(pid)
            for kind, bounds in resource_limits(self.box.limits):
                resource.prlimit(pid, kind, bounds)
        self._unblock()

    def _unblock(self) -> None:
        if self._block >= 0:
            os.close(self._block)
            self._block = -1

    def tick(self, now: float) -> None:
        """Enforce wall clock, memory and number of processes."""
        if now >= self.deadline:
            if self._killed:
                self._stuck = not self._news()
            else:
                self.kill(LimitHit.WALL)
        elif not self._killed and now >= self._next_poll:
            self._next_poll = now + POLL_SECONDS
            if self._child_pid:
                self._watch()

    def _news(self) -> bool:
        """Whether something is there to be handled. Among a thousand dying processes we may be the one whom the kernel kept waiting."""
        poll = select.poll()
        for fd in self.descriptors:
            poll.register(fd, select.POLLIN)
        return bool(poll.poll(0))

    def _watch(self) -> None:
        limits = self.box.limits
        usage = measure(self._child_pid, limits.processes, limits.memory_bytes)
        self._cpu_seconds = max(self._cpu_seconds, usage.cpu_seconds)
        self._open_files = max(self._open_files, usage.open_files)
        self._full_meanwhile = self._full_meanwhile or self.box.full()
        if usage.memory_bytes > limits.memory_bytes:
            self.kill(LimitHit.MEMORY)
        if usage.tasks > limits.processes:
            self.kill(LimitHit.PROCESSES)

    def kill(self, reason: LimitHit | None) -> None:
        """Kill the outer process, and with it the whole process namespace."""
        if self._killed:
            return
        self.hit, self._killed = reason, True
        self.deadline = time.monotonic() + KILL_GRACE_SECONDS
        if self._exit_status is None:
            if not self._child_pid:
                self._take_hold_of_child()
            os.kill(self._pid, signal.SIGKILL)
        if self._child_gone >= 0:
            with contextlib.suppress(ProcessLookupError):  # it has just ended, and we have not been told yet
                signal.pidfd_send_signal(self._child_gone, signal.SIGKILL)
        self._unblock()

    def _take_hold_of_child(self) -> None:
        """Killed while bubblewrap is starting: find the box's process 1 ourselves.

        It is tied to its parent only after the parent has told it its user; if that died before, it would wait for ever. The parent is
        stopped first, so that it makes no child behind our back.
        """
        os.kill(self._pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for child in children(self._pid):
            with contextlib.suppress(ProcessLookupError):
                self._child_gone, self._child_pid = os.pidfd_open(child), child

    def dispose(self) -> None:
        """Kill and wait, for a box that is closed while its command runs."""
        self.kill(None)
        while not self.finished:
            ready, _, _ = select.select(self.descriptors, [], [], max(0.0, self.deadline - time.monotonic()))
            for fd in ready:
                self.on_ready(fd)
            self.tick(time.monotonic())

    def restart_at_root(self) -> bool:
        """When the working directory could not be entered, nothing was run: start again at /. Returns whether that was done."""
        unentered = b"bwrap: Can't chdir to" in self.stderr[:SETUP_ERROR_BYTES]
        if self.hit or self._stuck or _EXIT.search(self._status_text) or not unentered or self.box.view.cwd == "/":
            return False
        self._start("/")
        return True

    @property
    def _reported(self) -> re.Match[bytes] | None:
        """What bubblewrap says of the end of the shell."""
        return _EXIT.search(self._status_text)

    def result(self) -> CommandResult:
        """What came of it; SandboxError when bubblewrap could not set the box up, or something in it could not be killed."""
        seconds = time.monotonic() - self.started
        if self._stuck:
            raise SandboxError(
                f"processes of a box survived SIGKILL for {KILL_GRACE_SECONDS} s", hint="a device or disk of this machine hangs"
            )
        assert self._exit_status is not None
        reported = self._reported
        if self.hit is not None:
            exit_code = 128 + signal.SIGKILL
        elif reported:
            exit_code = int(reported.group(1))
        elif self.stderr.startswith(b"bwrap: execvp "):
            exit_code = 127  # the box has no shell any more (the agent destroyed it), or never had one
        else:
            raise SandboxError(
                f"bubblewrap ended with {os.waitstatus_to_exitcode(self._exit_status)} before the command ran: "
                + self.stderr[:SETUP_ERROR_BYTES].decode("utf-8", "backslashreplace").strip(),
                hint="run `edgeevo doctor`",
            )
        if self._carries and self.hit is None:
            self.box.carried = parse(bytes(self._carried_text)) or self.box.carried
        return CommandResult(
            command=self.text,
            exit_code=exit_code,
            stdout=bytes(self.stdout),
            stderr=bytes(self.stderr),
            truncated=self.truncated,
            limit_hit=self.hit or self._judge(exit_code),
            seconds=round(seconds, 6),
        )

    def _judge(self, exit_code: int) -> LimitHit | None:
        seen = Seen(
            cpu_seconds=self._cpu_seconds,
            open_files=self._open_files,
            full_before=self._full_before,
            full_meanwhile=self._full_meanwhile,
            full_after=self.box.full(),
        )
        return judge(exit_code, bytes(self.stderr), self.box.limits, seen)
