"""A night or audit as the daemon sees it: a worker whose lines arrive one by one, read without ever waiting."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from edgeevo.errors import WorkerError
from edgeevo.worker import Worker

READ_BYTES = 1 << 18
NICE = 10


class Job:
    """One running worker of the night or audit with id `owner`; `lines()` gives what has arrived."""

    def __init__(self, owner: str, module: str, request: Any) -> None:
        self.owner, self.module = owner, module
        self._worker = Worker(module, nice=NICE)
        self._rest = bytearray()  # a line that has begun; appended to, because a line may have hundreds of megabytes
        self.ended = False
        try:
            self._worker.send(request)
        except WorkerError:
            self._worker.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._worker.pid

    def fileno(self) -> int:
        """For the selector: readable when a line is there or the worker has ended."""
        return self._worker.stdout_fd

    def lines(self) -> list[bytes]:
        """The complete lines that are there; sets `ended` at the end. Raises WorkerError when the worker failed; call when readable."""
        chunk = os.read(self.fileno(), READ_BYTES)
        if not chunk:
            self.ended = True
            for _ in self._worker:  # at its end this checks the exit status and raises with the tail of stderr
                raise AssertionError("a line after the end")
            return []
        lines = []
        first, *more = chunk.split(b"\n")
        self._rest += first
        for piece in more:
            lines.append(bytes(self._rest))
            self._rest = bytearray(piece)
        return lines

    def close(self, grace_seconds: float) -> None:
        """End the worker and everything it started."""
        self._worker.close(grace_seconds)


def decode(line: bytes, kind: Any) -> Any:
    """A worker's line as `kind`; WorkerError when it is something else."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        raise WorkerError(f"a worker said something unexpected: {error}: {line[:200]!r}", hint="update all of edgeevo together") from error
