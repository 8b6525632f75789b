"""Run one of our modules in a child process and exchange JSON lines with it; closing the worker ends it and all it started.

    parent                                   child (python -m MODULE)
    with Worker("edgeevo.night") as w:       serve(handler)  or  emit(...)
        w.send(request)                ──▶   one JSON line on stdin
        for line in w: ...             ◀──   one JSON line on stdout

The child gets a session of its own, dies with its parent (PR_SET_PDEATHSIG), and spins but briefly: two libraries that spin for ever on two
cores make no progress at all. A child that ends without being asked to is a `WorkerError` with the tail of its stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import msgspec

from edgeevo.errors import WorkerError

PR_SET_PDEATHSIG = 1
STDERR_TAIL_BYTES = 4000
# Threads that wait spin a moment and then sleep: never spinning halves the speed of two threads (a product of small matrices ends every few
# microseconds), spinning for ever starves whoever else needs the cores.
QUIET_THREADS = {"GOMP_SPINCOUNT": "100000", "KMP_BLOCKTIME": "1", "TOKENIZERS_PARALLELISM": "false"}


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: what Python needs to find us, calm OpenMP, no hub access; nothing else is inherited."""
    kept = {k: os.environ[k] for k in ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH") if k in os.environ}
    return {**kept, **QUIET_THREADS, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", **(extra or {})}


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel to kill this process when its parent ends; call first thing in a child. Ends at once if it is already too late."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


class Worker:
    """A child process running `python -m module`; iterate it for the JSON values it writes, `send` to write to it."""

    def __init__(self, module: str, *, extra_env: Mapping[str, str] | None = None, nice: int = 0) -> None:
        self.module = module
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child; closed in close()
        command = [sys.executable, "-P", "-c", _BOOT, str(os.getpid()), str(nice), module]  # -P: no module comes from where we happen to be
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=child_environment(extra_env),
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """False once the child has ended."""
        return self._process.poll() is None

    @property
    def stdout_fd(self) -> int:
        """File descriptor to select on; becomes readable when a line is there or the child has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def send(self, value: Any) -> None:
        """Write one JSON line to the child; raises WorkerError when it is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(value) + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._died() from error

    def receive(self) -> Any:
        """The next JSON value from the child (blocking); raises WorkerError when it ended instead."""
        for value in self:
            return value
        raise self._died()

    def __iter__(self) -> Iterator[Any]:
        """JSON values until the child ends; an end with a non-zero status raises WorkerError."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield msgspec.json.decode(line)
        if self._process.wait() != 0:
            raise self._died()

    def _died(self) -> WorkerError:
        status = self._process.wait()
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - STDERR_TAIL_BYTES))
        tail = self._stderr.read().decode("utf-8", "backslashreplace").strip()
        return WorkerError(
            f"worker {self.module} ended with status {status}: {tail or 'no message'}",
            hint="the work done so far is kept; it resumes in the next idle window. `edgeevo doctor` checks this machine",
        )

    def close(self, grace_seconds: float = 1.0) -> None:
        """End the child and its whole session: TERM, then KILL after the grace. Safe to call more than once."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            deadline = time.monotonic() + grace_seconds
            while self._process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._stderr.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_BOOT = """
import os, runpy, sys
parent, nice, module = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
from edgeevo.worker import die_with_parent
die_with_parent(parent)
if nice: os.nice(nice)
sys.argv = [module]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def detach(module: str, arguments: Sequence[str], *, log_fd: int, kept_fd: int) -> None:
    """Start `python -m module` so that it outlives us and the terminal: a session of its own, our environment, all it prints to `log_fd`.

    `kept_fd` stays open in it under the same number. It is nobody's child any more once we have ended.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log_fd,
        stderr=log_fd,
        pass_fds=(kept_fd,),
        start_new_session=True,
    )
    process.returncode = 0  # nobody waits for it here, and that is no oversight to be warned of


def requests() -> Iterator[Any]:
    """In a child: the JSON values that the parent sends, until it closes the pipe."""
    for line in sys.stdin.buffer:
        yield msgspec.json.decode(line)


def emit(value: Any) -> None:
    """In a child: write one JSON value to the parent, at once."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
