"""The caller's side: opens boxes on runners, sends calls, waits for answers. Safe to use from several threads; commands of boxes overlap.

A pool of runners (one, unless asked for more) serves the boxes on states. Each real directory gets a runner of its own, because a runner
keeps nothing of the host but what its boxes need. As root, runners become an unused uid (or the directory's owner) before anything else.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Self

from edgeevo.domain import Changes, CommandResult, Limits, State, content_id
from edgeevo.errors import RefusedError, SandboxError
from edgeevo.sandbox import messages as m
from edgeevo.sandbox.confine import BWRAP
from edgeevo.sandbox.connection import Connection
from edgeevo.sandbox.layers import Abilities, Tier
from edgeevo.sandbox.pool import Pool
from edgeevo.sandbox.template import check_limits, check_state

UNUSED_UID = 61_111  # in the range that distributions and systemd leave unused: owns no file and no other process
REMEMBERED_IDS = 256
SYSTEM_PLACES = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr")


class RunnerBox:
    """A Box served by a runner: one of a pool, or (without one) a runner that serves nothing else and ends with the box."""

    def __init__(self, connection: Connection, handle: int, limits: Limits, pool: Pool | None = None) -> None:
        self._connection, self._handle, self._limits, self._pool = connection, handle, limits, pool
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

    def shell(self) -> RunnerShell:
        """Start a shell that stays, for tasks that need jobs. No verdict may rest on what ran in it; see RunnerShell."""
        reply = self._call(m.OpenShell(box=self._handle))
        assert isinstance(reply, m.Opened)
        return RunnerShell(self._call, reply.box, self._limits)

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
        if self._pool is None:
            self._connection.close()
        else:
            self._connection.tell(m.Close(box=self._handle))  # a runner that died took its boxes along
            self._pool.give_back(self._connection)

    def _call(self, body: m.Body) -> m.Reply:
        if self.closed:
            raise SandboxError("the box is closed", hint="open a new one")
        return self._connection.call(body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RunnerShell:
    """One shell of a box: directory, variables, functions and jobs stay from command to command, and everything ends with it.

    Limits are those of the box. `changes()` of the box can be read once the shell is closed.
    """

    def __init__(self, call: Callable[[m.Body], m.Reply], handle: int, limits: Limits) -> None:
        self._call, self._handle, self._limits = call, handle, limits
        self._closed = False

    def run(self, command: str, *, wall_seconds: float | None = None) -> CommandResult:
        """Run one command; returns when its foreground part has ended. `shell_ended` in the result: open another shell to go on.

        Raises SandboxError when the sandbox itself failed, or another thread's command is under way in this shell.
        """
        command = command.encode("utf-8", "replace").decode()
        wall = self._limits.wall_seconds if wall_seconds is None else wall_seconds
        reply = self._call(m.Tell(shell=self._handle, command=command, wall_seconds=wall))
        assert isinstance(reply, m.Ran)
        return reply.result

    def close(self) -> None:
        """End the shell and its jobs; may be called twice."""
        if not self._closed:
            self._closed = True
            self._call(m.CloseShell(shell=self._handle))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RunnerSandbox:
    """The Sandbox of this machine: confined by bubblewrap, served by runner processes that it starts when they are needed.

    How boxes get their writable trees (by overlays or by copies) is settled by each runner when it starts, unless `tier` is given.
    `workers` runners share the boxes on states; None: as many as this machine has use for.
    """

    def __init__(self, *, tier: Tier | None = None, workers: int | None = 1) -> None:
        self._tier: Tier | None = tier
        self._lock = threading.Lock()
        self._ids: OrderedDict[int, tuple[State, str]] = OrderedDict()
        self._private: list[RunnerBox] = []
        check_installed()
        self._pool = Pool(self._start_shared, workers)

    @property
    def runner_pid(self) -> int:
        """Process id of the first runner that serves boxes on states."""
        return self._pool.connections[0].pid

    @property
    def runner_pids(self) -> tuple[int, ...]:
        """Process ids of all runners that serve boxes on states."""
        return tuple(connection.pid for connection in self._pool.connections)

    @property
    def abilities(self) -> Abilities:
        """What the kernel lets the runner for boxes on states do, and so the tier that is in force."""
        return self._pool.connections[0].abilities

    def open(self, state: State, limits: Limits = Limits()) -> RunnerBox:  # noqa: B008 - Limits is frozen
        """Open a box on a state: its files at their absolute paths, everything written goes to a quota and vanishes at close.

        Raises TaskError when the state is malformed or a limit too small, SandboxError when no box can be had.
        """
        check_limits(limits)
        state_id = self._state_id(state)
        connection = self._pool.take(state_id)
        try:
            reply = connection.call(m.Open(state_id=state_id, limits=limits))
            if isinstance(reply, m.Unknown):
                reply = connection.call(m.OpenState(state_id=state_id, state=state, limits=limits))
        except BaseException:
            self._pool.give_back(connection)
            raise
        assert isinstance(reply, m.Opened)
        return RunnerBox(connection, reply.box, limits, self._pool)

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
        box = RunnerBox(connection, reply.box, limits)
        with self._lock:
            self._private = [*(other for other in self._private if not other.closed), box]
        return box

    def close(self) -> None:
        """End all runners and with them all boxes."""
        with self._lock:
            private, self._private = self._private, []
        for box in private:
            box.close()
        self._pool.close()

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
