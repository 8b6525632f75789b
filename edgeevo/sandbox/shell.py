r"""A shell that stays: one confined process in which command after command runs, for tasks that need jobs. Never for verdicts.

    runner  ── "N\0command\0" ──▶  shell      on a descriptor of its own, one command at a time
    runner  ◀── "N status\0"    ──  shell      on another; nothing that a command prints is ever read as protocol

A command's output is what lay in the pipes when its status came; what jobs print later belongs to the next command. Commands share one
process, so an agent can reach the shell's own descriptors: it can feign a status or end the shell, and so harm its own episode only.
When the shell ends (`exit`, `exec`, a kill, a limit), the command that was under way, or else the next one, is answered with that.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import select
import signal
import time

import msgspec

from edgeevo.domain import CommandResult, LimitHit
from edgeevo.sandbox.box import OpenBox
from edgeevo.sandbox.command import READ_BYTES, RunningCommand
from edgeevo.sandbox.confine import CARRY_FD, COMMANDS_FD

MAX_STATUS_BYTES = 64 << 10  # more without an end is no status
_PIPE_BYTES = 1 << 18  # the longest command always fits, so that the runner never waits for a shell
_STATUS = re.compile(rb"(\d{1,18}) (\d{1,3})")
# Two loops, so that `break` and `continue` of a command only lead back here; the status of the command is then still to be told.
_LOOP = rf"""
set -m
__p=
while :; do while :; do
  [[ $__p ]] && {{ builtin printf '%s %s\0' "$__n" "$__s" >&{CARRY_FD}; __p=; }}
  IFS= builtin read -r -d '' -u {COMMANDS_FD} __n && IFS= builtin read -r -d '' -u {COMMANDS_FD} __c || builtin exit
  __p=1 __s=0
  builtin eval "$__c" {CARRY_FD}>&- {COMMANDS_FD}<&-
  __s=$?
done; done
"""


class RunningShell(RunningCommand):
    """Driven like a command; `tell` gives it the next one, `take` the answer once it is there. `asked` is the call that waits, or 0."""

    def __init__(self, box: OpenBox) -> None:
        self.asked = 0
        self._number = 0
        self._status_of_command: int | None = None
        self._ended_with: CommandResult | None = None
        super().__init__(box, _LOOP, math.inf, read_only=False)
        for fd in self._pipes:
            os.set_blocking(fd, False)

    def _open_more(self) -> list[tuple[int, int]]:
        self._carries = False  # the shell itself keeps its directory and variables
        self._carry, status_child = os.pipe()
        commands_child, self._commands = os.pipe()
        os.set_blocking(self._commands, False)
        with contextlib.suppress(OSError):  # then a long command may find no room, which ends the shell
            fcntl.fcntl(self._commands, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        return [(status_child, CARRY_FD), (commands_child, COMMANDS_FD)]

    @property
    def descriptors(self) -> list[int]:
        """What to wait on now: output only while a command is under way, so that jobs of an idle shell fill no memory of ours."""
        if self.asked or self._killed:
            return super().descriptors
        output = {fd for fd, buffer in self._pipes.items() if buffer is self.stdout or buffer is self.stderr}
        return [fd for fd in super().descriptors if fd not in output]

    def tell(self, number: int, text: str, wall_seconds: float) -> None:
        """Start a command; `number` is the call that will be answered."""
        self.asked, self.text = number, text
        if self.finished:
            return
        self._number += 1
        self._status_of_command = None
        self.stdout.clear()
        self.stderr.clear()
        self._cpu_seconds, self._open_files = 0.0, 0
        self._full_before, self._full_meanwhile = self.box.full(), None
        self.started = time.monotonic()
        if not self._killed:
            self.deadline = self.started + wall_seconds
        command = text.encode("utf-8", "replace").replace(b"\0", b"")
        try:
            os.write(self._commands, b"%d\0%s\0" % (self._number, command))
        except OSError:  # it reads no more, or not what we wrote before
            self.kill(None)

    def take(self) -> CommandResult | None:
        """The answer to the call that waits, or None while there is none; SandboxError as for a command."""
        if not self.asked:
            return None
        if not self.finished and self._status_of_command is not None and not self._killed:
            self._drain()
        if self.finished:
            return self._last_words()
        if self._status_of_command is None or self._killed:
            return None
        exit_code, self._status_of_command = self._status_of_command, None
        self.deadline = math.inf
        return CommandResult(
            command=self.text,
            exit_code=exit_code,
            stdout=bytes(self.stdout),
            stderr=bytes(self.stderr),
            limit_hit=self._judge(exit_code),
            seconds=round(time.monotonic() - self.started, 6),
        )

    def _last_words(self) -> CommandResult:
        """How the shell ended; the same for every command that comes after, without the output."""
        if self._ended_with is None:
            if self._exit_status is not None and self.hit is None and not self._reported:
                self._status_text += b'{"exit-code": %d}' % (128 + signal.SIGKILL)  # ended by us without a limit, or with its process 1
            self._ended_with = msgspec.structs.replace(self.result(), shell_ended=True)
            return self._ended_with
        return msgspec.structs.replace(self._ended_with, command=self.text, stdout=b"", stderr=b"", truncated=False, seconds=0.0)

    def _drain(self) -> None:
        """Read what lies in the pipes by now, at most what the limit allows."""
        waiting = [fd for fd, buffer in self._pipes.items() if buffer is self.stdout or buffer is self.stderr]
        while waiting and not self._killed:
            ready, _, _ = select.select(waiting, [], [], 0)
            if not ready:
                return
            for fd in ready:
                self._read(fd)
            waiting = [fd for fd in waiting if fd in self._pipes]

    def _read(self, fd: int) -> None:
        if fd != self._carry:
            with contextlib.suppress(BlockingIOError):  # an event from before a drain
                super()._read(fd)
            return
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return
        self._carried_text += data
        *records, rest = bytes(self._carried_text).split(b"\0")
        self._carried_text[:] = rest
        for record in records:
            found = _STATUS.fullmatch(record)
            if found and int(found[1]) == self._number:
                self._status_of_command = int(found[2]) & 255
        if not data:  # it has ended, or a command took its place (`exec`), whose end is then the end of all
            os.close(fd)
            del self._pipes[fd]
        if len(rest) > MAX_STATUS_BYTES:
            self.kill(None)

    def kill(self, reason: LimitHit | None) -> None:
        """End the shell and everything in it."""
        self._hang_up()
        super().kill(reason)

    def on_ready(self, fd: int) -> None:
        """Handle one readable descriptor."""
        super().on_ready(fd)
        if self._exit_status is not None:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._commands >= 0:
            os.close(self._commands)
            self._commands = -1

    def restart_at_root(self) -> bool:
        """Never: whatever was told to it is gone."""
        return False
