"""The caller's side: starts runners, sends calls, waits for answers. Safe to use from several threads; commands of several boxes overlap.

One runner serves all boxes on states. Each real directory gets a runner of its own, because a runner keeps nothing of the host but what
its boxes need. As root, runners become an unused uid (or the directory's owner) before anything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Self

from edgeevo.domain import Changes, CommandResult, Limits, State, content_id
from edgeevo.errors import RefusedError, SandboxError
from edgeevo.sandbox import messages as m
from edgeevo.sandbox.confine import BWRAP
from edgeevo.sandbox.layers import Abilities, Tier
from edgeevo.sandbox.template import check_limits, check_state

UNUSED_UID = 61_111  # in the range that distributions and systemd leave unused: owns no file and no other process
START_SECONDS = 20.0
STDERR_TAIL_BYTES = 2000
REMEMBERED_IDS = 256
SYSTEM_PLACES = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr")
_BOOT = "import json,sys; a=json.loads(sys.argv[1]); sys.path[:]=a.pop('path'); from edgeevo.sandbox.runner import main; main(**a)"


class Connection:
    """One runner process and the calls under way to it."""

    def __init__(self, *, uid: int, gid: int, directory: Path | None = None, tier: Tier | None = None) -> None:
        self._condition = threading.Condition()
        self._frames = m.Frames()
        self._answers: dict[int, m.Reply] = {}
        self._waiting: set[int] = set()
        self._reading = False
        self._last_number = 0
        self._dead = False
        self._send_lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._socket, theirs = socket.socketpair()
        directory_fd = -1 if directory is None else os.open(directory, os.O_PATH | os.O_DIRECTORY)
        arguments = {
            "path": [entry for entry in sys.path if entry] + [str(Path(__file__).parents[2])],
            "parent_pid": os.getpid(),
            "uid": uid,
            "gid": gid,
            "from_main_thread": threading.current_thread() is threading.main_thread(),
            "place": "" if directory is None else str(directory),
            "directory_fd": directory_fd,
            "control_fd": theirs.fileno(),
            "tier": tier,
        }
        passed = [theirs.fileno()] + ([directory_fd] if directory_fd >= 0 else [])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(arguments)],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                pass_fds=passed,
                start_new_session=True,
                cwd="/",
            )
        finally:
            theirs.close()
            if directory_fd >= 0:
                os.close(directory_fd)
        self._socket.settimeout(START_SECONDS)
        self._waiting.add(0)
        try:
            ready = self._wait(0)
        except BaseException:
            self.close()
            raise
        assert isinstance(ready, m.Ready)
        self.abilities = ready.abilities
        self._socket.settimeout(None)

    @property
    def pid(self) -> int:
        """Process id of the runner."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether calls can still be made."""
        return not self._dead and self._process.poll() is None

    def call(self, body: m.Body) -> m.Reply:
        """Send a call and wait for its answer; SandboxError when the runner reports one or has died."""
        with self._condition:
            self._last_number += 1
            number = self._last_number
            self._waiting.add(number)
        data = m.frame(m.Call(number=number, body=body))
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError as error:
            raise self._died() from error
        except BaseException:
            self._dead = True  # half a frame may have been sent
            raise
        return self._wait(number)

    def tell(self, body: m.Body) -> None:
        """Send a call whose answer nobody waits for; calls are handled in order, so whatever is sent next finds it done."""
        data = m.frame(m.Call(number=0, body=body))
        with contextlib.suppress(OSError), self._send_lock:
            self._socket.sendall(data)

    def _wait(self, number: int) -> m.Reply:
        """One waiting thread reads for all; the others sleep until their answer is there or the reader's place is free."""
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: number in self._answers or not self._reading)
                    if number in self._answers:
                        break
                    self._reading = True
                try:
                    self._receive()
                finally:
                    with self._condition:
                        self._reading = False
                        self._condition.notify_all()
            reply = self._answers.pop(number)
        finally:
            with self._condition:
                self._waiting.discard(number)
        if isinstance(reply, m.Failed):
            raise SandboxError(reply.message, hint=reply.hint)
        return reply

    def _receive(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except OSError as error:
            raise self._died() from error
        if not data:
            raise self._died()
        for body in self._frames.feed(data):
            answer = m.answer_decoder.decode(body)
            if answer.number in self._waiting:  # else its caller was interrupted
                self._answers[answer.number] = answer.reply

    def _died(self) -> SandboxError:
        self._dead = True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        tail = ""
        with contextlib.suppress(ValueError, OSError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - STDERR_TAIL_BYTES))
            tail = self._errors.read().decode("utf-8", "backslashreplace").strip()
        status = self._process.poll()
        return SandboxError(
            f"the sandbox runner {'does not answer' if status is None else f'ended with status {status}'}: {tail or 'no message'}",
            hint="its boxes are gone; open new ones. `edgeevo doctor` checks this machine",
        )

    def close(self) -> None:
        """Hang up; the runner ends, and with it its mounts and boxes. Kills it when it doesn't."""
        self._dead = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


class RunnerBox:
    """A Box served by a runner; `private` means that the runner serves nothing else and ends with the box."""

    def __init__(self, connection: Connection, handle: int, limits: Limits, *, private: bool) -> None:
        self._connection, self._handle, self._limits, self._private = connection, handle, limits, private
        self.closed = False

    def run(self, command: str, *, wall_seconds: float | None = None, read_only: bool = False) -> CommandResult:
        """Run one shell command in the box's working directory and return what came of it.

        `wall_seconds` replaces the limit of the box; `read_only` makes everything but a private /tmp read-only. Raises SandboxError only
        when the sandbox itself failed: a command that is killed by a limit is a result.
        """
        command = command.encode("utf-8", "replace").decode()  # half characters of a model's text can't be sent
        wall = self._limits.wall_seconds if wall_seconds is None else wall_seconds
        reply = self._call(m.Run(box=self._handle, command=command, wall_seconds=wall, read_only=read_only))
        assert isinstance(reply, m.Ran)
        return reply.result

    def changes(self) -> Changes:
        """What differs now from the initial state, within bounds (`complete` is False where one was hit); removed paths are None."""
        reply = self._call(m.Harvest(box=self._handle))
        assert isinstance(reply, m.Harvested)
        return reply.changes

    def opened(self) -> frozenset[str] | None:
        """Which files of the `changes` that the box was opened with have been opened since; None when that isn't known."""
        reply = self._call(m.AskOpened(box=self._handle))
        assert isinstance(reply, m.WereOpened)
        return None if reply.paths is None else frozenset(reply.paths)

    def close(self) -> None:
        """End the box; may be called twice. Returns at once: the runner kills what runs and unmounts before it does anything else."""
        if self.closed:
            return
        self.closed = True
        if self._private:
            self._connection.close()
        else:
            self._connection.tell(m.Close(box=self._handle))  # a runner that died took its boxes along

    def _call(self, body: m.Body) -> m.Reply:
        if self.closed:
            raise SandboxError("the box is closed", hint="open a new one")
        return self._connection.call(body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RunnerSandbox:
    """The Sandbox of this machine: confined by bubblewrap, served by runner processes that it starts when they are needed.

    How boxes get their writable trees (by overlays or by copies) is settled by each runner when it starts, unless `tier` is given.
    """

    def __init__(self, *, tier: Tier | None = None) -> None:
        self._tier: Tier | None = tier
        self._lock = threading.Lock()
        self._ids: OrderedDict[int, tuple[State, str]] = OrderedDict()
        self._private: list[RunnerBox] = []
        self._closed = False
        check_installed()
        self._shared = self._start_shared()

    @property
    def runner_pid(self) -> int:
        """Process id of the runner that serves boxes on states."""
        return self._shared.pid

    @property
    def abilities(self) -> Abilities:
        """What the kernel lets the runner for boxes on states do, and so the tier that is in force."""
        return self._shared.abilities

    def open(self, state: State, limits: Limits = Limits()) -> RunnerBox:  # noqa: B008 - Limits is frozen
        """Open a box on a state: its files at their absolute paths, everything written goes to a quota and vanishes at close.

        Raises TaskError when the state is malformed or a limit too small, SandboxError when no box can be had.
        """
        check_limits(limits)
        connection = self._connection()
        state_id = self._state_id(state)
        reply = connection.call(m.Open(state_id=state_id, limits=limits))
        if isinstance(reply, m.Unknown):
            reply = connection.call(m.OpenState(state_id=state_id, state=state, limits=limits))
        assert isinstance(reply, m.Opened)
        return RunnerBox(connection, reply.box, limits, private=False)

    def open_directory(
        self,
        directory: Path,
        limits: Limits = Limits(),  # noqa: B008
        *,
        read_only: bool = False,
        changes: Changes | None = None,
    ) -> RunnerBox:
        """Open a box with a copy-on-write view of a real directory at its own absolute path; commands start in it.

        Where overlays can't be had, the view is a copy, and a directory larger than `limits.disk_bytes` is refused by a SandboxError.
        Nothing is written to the real directory. `changes` of an earlier box are laid on top first; `read_only` holds for every command.
        Raises RefusedError for places that belong to the system, SandboxError when the directory or the box can't be had.
        """
        check_limits(limits)
        try:
            place = directory.resolve(strict=True)
            owner = place.stat()
        except OSError as error:
            raise SandboxError(f"directory {directory} can't be used: {error.strerror}", hint="name an existing directory") from error
        if place == Path("/") or place.parts[1] in SYSTEM_PLACES:
            raise RefusedError(f"{place} belongs to the system", hint="name a directory of your own, such as one below your home")
        uid, gid = (owner.st_uid, owner.st_gid) if os.getuid() == 0 else (os.getuid(), os.getgid())
        connection = Connection(uid=uid, gid=gid, directory=place, tier=self._tier)
        try:
            reply = connection.call(m.OpenDirectory(limits=limits, read_only=read_only, changes=changes))
        except BaseException:
            connection.close()
            raise
        assert isinstance(reply, m.Opened)
        box = RunnerBox(connection, reply.box, limits, private=True)
        with self._lock:
            self._private = [*(other for other in self._private if not other.closed), box]
        return box

    def close(self) -> None:
        """End all runners and with them all boxes."""
        with self._lock:
            self._closed = True
            private, self._private = self._private, []
        for box in private:
            box.close()
        self._shared.close()

    def _connection(self) -> Connection:
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed", hint="open a new one")
            if not self._shared.alive:
                self._shared.close()
                self._shared = self._start_shared()
            return self._shared

    def _start_shared(self) -> Connection:
        if os.getuid() == 0:
            return Connection(uid=UNUSED_UID, gid=UNUSED_UID, tier=self._tier)
        return Connection(uid=os.getuid(), gid=os.getgid(), tier=self._tier)

    def _state_id(self, state: State) -> str:
        """Content id of a state; remembered per object, since hashing thousands of files takes longer than opening a box on them."""
        with self._lock:
            known = self._ids.get(id(state))
            if known is not None and known[0] is state:
                self._ids.move_to_end(id(state))
                return known[1]
        check_state(state)
        state_id = content_id(state, 32)
        with self._lock:
            self._ids[id(state)] = (state, state_id)
            while len(self._ids) > REMEMBERED_IDS:
                self._ids.popitem(last=False)
        return state_id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_installed() -> None:
    """Raise SandboxError with the cure when bubblewrap or the shell is missing."""
    for program, package in ((BWRAP, "bubblewrap"), ("/usr/bin/bash", "bash")):
        if not os.access(program, os.X_OK):
            raise SandboxError(
                f"{program} is missing: commands are never run without it",
                hint=f"install the package {package}, e.g. `apt install {package}`",
            )
