"""Hands: a real task on a copy-on-write view of a real directory, in a sandbox of the caller's, with somebody else's brain.

    work(task, sandbox, think, watch)  ->  Done

`think` gives the next reply to a conversation (the daemon over its socket, or a scripted one). Nothing is written back to the directory
here. A check must fail before the work and pass after it, each time in a fresh sandbox where the directory is read-only, so that nothing
that the agent left running or planted can answer for it; and it proves nothing when what the agent had changed may have steered it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from edgeevo.agent.episode import SUBMIT, command_of, observe
from edgeevo.control import Said
from edgeevo.domain import Changes, CommandResult, Ending, Limits, Message, Role, Value
from edgeevo.errors import RefusedError
from edgeevo.hands import code_behind
from edgeevo.sandbox import Box, Sandbox

MAX_STEPS = 12

Think = Callable[[tuple[Message, ...]], Said]
Watch = Callable[[CommandResult], None]
Approve = Callable[[str], bool]


class RealTask(Value):
    """What a person wants done, where, and how to see that it is done (None: it can't be checked)."""

    instruction: str
    directory: str
    check: str | None = None
    steps: int = MAX_STEPS
    timeout_seconds: float | None = None  # for all commands and replies together; None: only each command has its limit


class Done(Value):
    """What came of a real task. `checked` is the check's last run, None without one.

    `verified` None: there was no check, or it passed where what the agent had changed may have decided it: `doubted` names that.
    """

    ending: Ending
    steps: tuple[CommandResult, ...]
    changes: Changes
    verified: bool | None
    checked: CommandResult | None
    seconds: float
    doubted: tuple[str, ...] = ()


def work(task: RealTask, sandbox: Sandbox, think: Think, watch: Watch = lambda _: None, approve: Approve = lambda _: True) -> Done:
    """Let the agent work until it submits, repeats itself, has used its steps or its time, or a command is not approved.

    Raises RefusedError when the check passes beforehand.
    """
    started, directory = time.monotonic(), Path(task.directory)
    if task.check is not None and _run_check(task.check, directory, sandbox, None)[0].exit_code == 0:
        raise RefusedError(
            f"the check `{task.check}` passes before anything was done", hint="give a check that fails now and passes when the task is done"
        )
    box = sandbox.open_directory(directory)
    try:
        ending, steps = _converse(task, box, think, watch, approve)
        changes = box.changes()
    finally:
        box.close()
    checked: CommandResult | None = None
    verified: bool | None = None
    doubted: tuple[str, ...] = ()
    if task.check is not None:
        if changes.complete:
            checked, opened = _run_check(task.check, directory, sandbox, changes)
            verified = checked.exit_code == 0 and checked.limit_hit is None
            if verified:
                doubted = code_behind(task.check, str(directory.resolve()), changes, opened)
                verified = None if doubted else True
        else:
            verified = False  # half of the changes can't be laid on a view, and would prove nothing
    seconds = time.monotonic() - started
    return Done(ending=ending, steps=steps, changes=changes, verified=verified, checked=checked, seconds=seconds, doubted=doubted)


def _run_check(command: str, directory: Path, sandbox: Sandbox, changes: Changes | None) -> tuple[CommandResult, frozenset[str] | None]:
    """What came of the check, and which of the changed files it opened (None: not known)."""
    box = sandbox.open_directory(directory, read_only=True, changes=changes)
    try:
        return box.run(command), box.opened()
    finally:
        box.close()


def _converse(task: RealTask, box: Box, think: Think, watch: Watch, approve: Approve) -> tuple[Ending, tuple[CommandResult, ...]]:
    """The same protocol as in practice: one command per reply, `submit` ends, the same command with the same output twice is repetition."""
    conversation: tuple[Message, ...] = (Message(role=Role.USER, text=task.instruction),)
    steps: list[CommandResult] = []
    deadline = None if task.timeout_seconds is None else time.monotonic() + task.timeout_seconds
    while len(steps) < task.steps:
        if deadline is not None and time.monotonic() >= deadline:
            return Ending.STOPPED, tuple(steps)
        said = think(conversation)
        command = command_of(said.text)
        if said.finish == "repetition":
            return Ending.REPETITION, tuple(steps)
        if said.finish == "length" or not command:
            return Ending.TOKENS, tuple(steps)
        if command == SUBMIT:
            return Ending.SUBMITTED, tuple(steps)
        if not approve(command):
            return Ending.STOPPED, tuple(steps)
        left = None if deadline is None else max(0.05, min(Limits().wall_seconds, deadline - time.monotonic()))
        result = box.run(command, wall_seconds=left)
        watch(result)
        again = bool(steps) and steps[-1].command == command and steps[-1].stdout == result.stdout
        steps.append(result)
        if again:
            return Ending.REPETITION, tuple(steps)
        conversation += (Message(role=Role.ASSISTANT, text=command), Message(role=Role.USER, text=observe(result)))
    return Ending.STEPS, tuple(steps)
