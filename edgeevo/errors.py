"""Every way edgeevo can fail, as one tree.

    EdgeevoError
    ├── ConfigError          a configuration file or value is wrong                    exit 2
    ├── RefusedError         asked for something that is never done                    exit 3
    ├── SandboxError         the sandbox can't be had, or broke under us               exit 4
    ├── ModelError           weights or an adapter are missing, altered or unusable    exit 5
    ├── StoreError           the database can't be read or written                     exit 6
    ├── DaemonError          the daemon isn't there, or answers nonsense               exit 7
    │   └── NobodyAnswersError   there is none at the socket, or it is not open to us
    ├── WorkerError          a child process of ours ended without finishing           exit 8
    └── TaskError            a task or program can't be rendered or is malformed       exit 9

A failed *attempt* is a value (`Ending`, `Rejection`, `Verdict`), never one of these: these say that the box, not the agent, failed.
The message states the fact, the object, what was expected and what was found; `hint` says what to do next.
"""

from __future__ import annotations


class EdgeevoError(Exception):
    """Base of the tree; `hint` is one sentence that tells the reader what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(EdgeevoError):
    """A configuration file or value is wrong; nothing was changed."""

    exit_code = 2


class RefusedError(EdgeevoError):
    """Something was asked for that edgeevo never does, such as working on `/`."""

    exit_code = 3


class SandboxError(EdgeevoError):
    """The sandbox can't be had on this machine, or it broke; no command was run outside it."""

    exit_code = 4


class ModelError(EdgeevoError):
    """Weights or an adapter are missing, do not match their hash, or can't be used."""

    exit_code = 5


class StoreError(EdgeevoError):
    """The database can't be read or written."""

    exit_code = 6


class DaemonError(EdgeevoError):
    """The daemon isn't running, refused the caller, or its answer could not be understood."""

    exit_code = 7


class NobodyAnswersError(DaemonError):
    """There is no daemon at the socket, or it is not open to the caller: nothing was asked yet."""


class WorkerError(EdgeevoError):
    """A child process of ours ended without finishing its work."""

    exit_code = 8


class TaskError(EdgeevoError):
    """A task, program or skill is malformed, or has no instance for this seed."""

    exit_code = 9
