"""Hands: a real task on a copy-on-write view of a real directory, in a sandbox of the caller's, with somebody else's brain.

    work(task, sandbox, think, watch)  ->  Done

`think` gives the next reply to a conversation (the daemon over its socket, or a scripted one). Nothing is written back to the directory.
A check must fail before the work and pass after it, each time in a fresh sandbox where the directory is read-only, so that nothing that the
agent left running or planted can answer for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from edgeevo.agent.episode import SUBMIT, command_of, observe
from edgeevo.control import Said
from edgeevo.domain import Changes, CommandResult, Ending, Message, Role, Value
from edgeevo.errors import RefusedError
from edgeevo.sandbox import Sandbox

MAX_STEPS = 12

Think = Callable[[tuple[Message, ...]], Said]
Watch = Callable[[CommandResult], None]


class RealTask(Value):
    """What a person wants done, where, and how to see that it is done (None: it can't be checked)."""

    instruction: str
    directory: str
    check: str | None = None


class Done(Value):
    """What came of a real task. `verified` None: there was no check; `checked` is the check's last run, None without one."""

    ending: Ending
    steps: tuple[CommandResult, ...]
    changes: Changes
    verified: bool | None
    checked: CommandResult | None
    seconds: float


def work(task: RealTask, sandbox: Sandbox, think: Think, watch: Watch = lambda _: None) -> Done:
    """Let the agent work until it submits, repeats itself or has used its steps. Raises RefusedError when the check passes beforehand."""
    started, directory = time.monotonic(), Path(task.directory)
    if task.check is not None and _run_check(task.check, directory, sandbox, None).exit_code == 0:
        raise RefusedError(
            f"the check `{task.check}` passes before anything was done", hint="give a check that fails now and passes when the task is done"
        )
    box = sandbox.open_directory(directory)
    try:
        ending, steps = _converse(task.instruction, box.run, think, watch)
        changes = box.changes()
    finally:
        box.close()
    checked = None if task.check is None else _run_check(task.check, directory, sandbox, changes)
    verified = None if checked is None else checked.exit_code == 0 and checked.limit_hit is None and changes.complete
    return Done(ending=ending, steps=steps, changes=changes, verified=verified, checked=checked, seconds=time.monotonic() - started)


def _run_check(command: str, directory: Path, sandbox: Sandbox, changes: Changes | None) -> CommandResult:
    box = sandbox.open_directory(directory, read_only=True, changes=changes)
    try:
        return box.run(command)
    finally:
        box.close()


def _converse(
    instruction: str, run: Callable[[str], CommandResult], think: Think, watch: Watch
) -> tuple[Ending, tuple[CommandResult, ...]]:
    """The same protocol as in practice: one command per reply, `submit` ends, the same command with the same output twice is repetition."""
    conversation: tuple[Message, ...] = (Message(role=Role.USER, text=instruction),)
    steps: list[CommandResult] = []
    while len(steps) < MAX_STEPS:
        said = think(conversation)
        command = command_of(said.text)
        if said.finish == "repetition":
            return Ending.REPETITION, tuple(steps)
        if said.finish == "length" or not command:
            return Ending.TOKENS, tuple(steps)
        if command == SUBMIT:
            return Ending.SUBMITTED, tuple(steps)
        result = run(command)
        watch(result)
        again = bool(steps) and steps[-1].command == command and steps[-1].stdout == result.stdout
        steps.append(result)
        if again:
            return Ending.REPETITION, tuple(steps)
        conversation += (Message(role=Role.ASSISTANT, text=command), Message(role=Role.USER, text=observe(result)))
    return Ending.STEPS, tuple(steps)
