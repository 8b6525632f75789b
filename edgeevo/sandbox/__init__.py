"""Run untrusted commands: a Box is one episode's file system, in which each command runs confined and after which nothing remains.

    with open_sandbox() as sandbox:
        box = sandbox.open(state)
        result = box.run("sort /srv/app/names | head -3")
        changed = box.changes()
        box.close()

What is promised, and what is not, is written in docs/safety.md. `ScriptedSandbox` is the second
implementation, for whatever needs no commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from edgeevo.domain import Changes, CommandResult, Limits, State
from edgeevo.sandbox.client import RunnerSandbox
from edgeevo.sandbox.doctor import ProbeResult, probe, self_check
from edgeevo.sandbox.layers import Tier
from edgeevo.sandbox.scripted import ScriptedBox, ScriptedSandbox

__all__ = ["Box", "ProbeResult", "Sandbox", "ScriptedBox", "ScriptedSandbox", "Tier", "open_sandbox", "probe", "self_check"]


class Box(Protocol):
    """One episode's sandbox."""

    def run(self, command: str, *, wall_seconds: float | None = None, read_only: bool = False) -> CommandResult:
        """Run one shell command; a command that fails or hits a limit is a result, SandboxError means that the sandbox broke."""
        ...

    def changes(self) -> Changes:
        """What differs from the initial state, read within bounds and through no link."""
        ...

    def opened(self) -> frozenset[str] | None:
        """Which files of the changes that it was opened with were opened since, run or read; None when that isn't known."""
        ...

    def close(self) -> None:
        """End the box; may be called twice."""
        ...


class Sandbox(Protocol):
    """Opens boxes; many may be open at once."""

    def open(self, state: State, limits: Limits = ...) -> Box:
        """A box on an initial state; TaskError when the state is malformed."""
        ...

    def open_directory(self, directory: Path, limits: Limits = ..., *, read_only: bool = ..., changes: Changes | None = ...) -> Box:
        """A box on a copy-on-write view of a real directory at its own path; RefusedError for places of the system."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


def open_sandbox(*, tier: Tier | None = None, workers: int | None = 1) -> RunnerSandbox:
    """Start the sandbox of this machine; SandboxError with a hint when bubblewrap or user namespaces can't be had.

    `workers` is the number of runners, all started now; None: as many as fit the machine. One serves many boxes at once.
    `tier` forces how boxes get their writable trees, for tests: "overlay" fails where there is none, "copy" uses no overlay at all.
    """
    return RunnerSandbox(tier=tier, workers=workers)
