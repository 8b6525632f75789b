"""A Sandbox that runs nothing: a function answers each command. For tests and for dry runs of whatever is built on the protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgeevo.domain import Changes, CommandResult, Limits, State
from edgeevo.errors import SandboxError

Answer = Callable[[str], CommandResult]


class ScriptedBox:
    """A Box that asks the function and remembers the commands that it was given."""

    def __init__(self, answer: Answer, changes: Changes) -> None:
        self._answer, self._changes = answer, changes
        self.commands: list[str] = []
        self.closed = False

    def run(self, command: str, *, wall_seconds: float | None = None, read_only: bool = False) -> CommandResult:
        """The function's answer to the command; SandboxError after close, as with the real one."""
        if self.closed:
            raise SandboxError("the box is closed", hint="open a new one")
        self.commands.append(command)
        return self._answer(command)

    def changes(self) -> Changes:
        """The changes that the sandbox was made with."""
        if self.closed:
            raise SandboxError("the box is closed", hint="open a new one")
        return self._changes

    def opened(self) -> frozenset[str] | None:
        """Nothing was looked at."""
        return frozenset()

    def close(self) -> None:
        """Mark the box as closed."""
        self.closed = True


class ScriptedSandbox:
    """A Sandbox whose boxes answer from `answer(command)` and report `changes`; `boxes` are all that were opened."""

    def __init__(self, answer: Answer, changes: Changes | None = None) -> None:
        self._answer = answer
        self._changes = changes if changes is not None else Changes(nodes={})
        self.boxes: list[ScriptedBox] = []

    def open(self, state: State, limits: Limits = Limits()) -> ScriptedBox:  # noqa: B008 - Limits is frozen
        """A new scripted box."""
        return self._open()

    def open_directory(
        self,
        directory: Path,
        limits: Limits = Limits(),  # noqa: B008
        *,
        read_only: bool = False,
        changes: Changes | None = None,
    ) -> ScriptedBox:
        """A new scripted box; the directory isn't touched."""
        return self._open()

    def _open(self) -> ScriptedBox:
        box = ScriptedBox(self._answer, self._changes)
        self.boxes.append(box)
        return box

    def close(self) -> None:
        """Close all boxes."""
        for box in self.boxes:
            box.close()
