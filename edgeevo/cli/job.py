"""A detached real task in a process of its own (`python -m edgeevo.cli.job RECORD LOCK`), started by `edgeevo run --detach`.

It does what `run` does, as the same user: what `run` would print goes to the record's log, and the record says how far it is and how it
ended. SIGINT and SIGTERM stop it as Ctrl-C stops `run`: what was written to the directory is put back first. It hears only the first one,
so that nobody's impatience stops the putting back, and none once the changes are in the directory for good.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from edgeevo.cli import INTERRUPTED, Settings
from edgeevo.cli.hands import RealTask
from edgeevo.cli.performing import Performed, Wishes, perform, summary
from edgeevo.cli.running import CHECK_FAILED, refuse
from edgeevo.cli.text import clean
from edgeevo.cli.thinking import Thinker
from edgeevo.config import JobsSection
from edgeevo.domain import Value
from edgeevo.errors import EdgeevoError
from edgeevo.hands import Job, Kept, Progress


class Order(Value):
    """What a job is asked: the words of `run`, with paths as the bytes that they are."""

    instruction: str
    directory: bytes
    check: str | None
    steps: int
    timeout_seconds: float | None
    wishes: Wishes
    adapter: str | None
    config: bytes  # empty: no file
    settings: tuple[bytes, ...]
    at: float

    @property
    def task(self) -> RealTask:
        """As `run` knows it."""
        return RealTask(
            instruction=self.instruction,
            directory=os.fsdecode(self.directory),
            check=self.check,
            steps=self.steps,
            timeout_seconds=self.timeout_seconds,
        )


class Ear:
    """Hears the first request to stop, unless it has been closed."""

    def __init__(self) -> None:
        self.closed = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)
        signal.signal(signal.SIGHUP, lambda *_: None)  # unlike SIG_IGN, this is not inherited by what we start
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _hear(self, *_: object) -> None:
        if not self.closed:
            self.closed = True
            raise KeyboardInterrupt


class Log(io.RawIOBase):
    """Writes to a descriptor until it has written `max_bytes`, says so once, and forgets the rest."""

    def __init__(self, fd: int, max_bytes: int) -> None:
        super().__init__()
        self._fd, self._left, self._told = fd, max_bytes, f"… this log ends here, at {max_bytes} bytes (jobs.max_log_bytes)\n"

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """As much of it as there is room for; always counts as all."""
        piece = bytes(data)
        self._put(piece[: self._left])
        self._left -= min(self._left, len(piece))
        if not self._left and self._told:
            told, self._told = self._told, ""
            self._put(told.encode())
        return len(piece)

    def _put(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]


def main(place: str, lock: int) -> int:
    """Live the job's life; its exit code is that of `run`."""
    ear, job = Ear(), Job(Path(place))
    os.set_inheritable(lock, False)  # it goes when we do
    born = Progress(phase="working", pid=os.getpid())
    try:
        job.tell(born)
        try:
            ended = _live(job, ear, born)
        finally:
            ear.closed = True
    except KeyboardInterrupt:
        ended = msgspec.structs.replace(born, exit_code=INTERRUPTED, told="cancelled; nothing was written back")
    except EdgeevoError as error:
        ended = _failed(born, error.exit_code, str(error), error.hint)
    except Exception as error:  # noqa: BLE001 - whatever it was, the record has to say how it ended
        ended = _failed(born, 1, f"unexpected {type(error).__name__}: {error}", "this is a fault of edgeevo")
    job.tell(msgspec.structs.replace(ended, phase="ended", ended_at=time.time()))
    return ended.exit_code


def _live(job: Job, ear: Ear, born: Progress) -> Progress:
    order = msgspec.json.decode(job.read("order"), type=Order)
    settings = Settings(os.fsdecode(order.config) or None, tuple(os.fsdecode(each) for each in order.settings))
    limits: JobsSection = settings.loaded.config.jobs
    sys.stdout = sys.stderr = io.TextIOWrapper(
        Log(1, limits.max_log_bytes),
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )

    def step(name: str) -> None:
        if name == "begin the record":
            job.tell(msgspec.structs.replace(born, phase="writing"))
        elif name == "mark applied":  # from here on it is done, and a request to stop comes too late
            ear.closed = True

    refuse(settings, order.task.directory)
    thinker = Thinker(settings.loaded, order.adapter)
    try:
        performed = perform(thinker, order.task, order.wishes, step)
    finally:
        thinker.close()
    ear.closed = True
    _keep(job, order, performed, limits.max_record_bytes)
    if performed.refusal is not None:
        return _failed(born, performed.refusal.exit_code, str(performed.refusal), performed.refusal.hint)
    code = CHECK_FAILED if performed.done.verified is False else 0
    return msgspec.structs.replace(born, exit_code=code, told=summary(performed.done), undo=performed.undo)


def _keep(job: Job, order: Order, performed: Performed, max_bytes: int) -> None:
    """The result, and what applying needs, each within its bound."""
    done, told = performed.done, performed.told
    if len(json.dumps(told)) > max_bytes:
        told = told | {"transcript": None, "diff": None}
        click.echo(f"transcript and diff are larger than {max_bytes} bytes and left out of the result (jobs.max_record_bytes)")
    job.write("result", json.dumps(told).encode())
    if performed.undo or not done.changes.nodes:
        return
    passed = order.check is None or done.verified is True
    if job.keep(Kept(seen=performed.seen, changes=done.changes, instruction=order.instruction, passed=passed), max_bytes):
        click.echo(f"`edgeevo apply {job.number}` writes the changes back")
    else:
        click.echo(f"the changes can't be applied later: they are larger than {max_bytes} bytes (jobs.max_record_bytes)")


def _failed(born: Progress, code: int, message: str, hint: str) -> Progress:
    click.echo(f"edgeevo: {clean(message)}\nhint: {clean(hint)}", err=True)
    return msgspec.structs.replace(born, exit_code=code, told=message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
