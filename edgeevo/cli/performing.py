"""A real task from the first look at its directory to the number under which it is recorded: what `run` and a detached job share."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from edgeevo.cli.changes import show_changes, told_changes
from edgeevo.cli.hands import Done, RealTask, work
from edgeevo.cli.text import clean, duration
from edgeevo.cli.thinking import Thinker
from edgeevo.cli.undoing import told_kept
from edgeevo.control import MAX_TEXT_BYTES, RunEnded
from edgeevo.domain import Changes, CommandResult, Ending, Value
from edgeevo.errors import EdgeevoError, RefusedError
from edgeevo.hands import MAX_UNDO_BYTES, Before, Ledger, Seen, apply, before, go_on, home, outside
from edgeevo.sandbox import open_sandbox

MAX_SHOWN_BYTES = 2000
MAX_NAMED = 8


class Wishes(Value):
    """How a task is done and shown.

    `write` None: asked at the end, where somebody can answer. `in_place`: what was done is written back whatever came of it.
    """

    write: bool | None = False
    in_place: bool = False
    shown: bool = True  # as text, while it happens
    told: bool = False  # as one object, at the end
    approve: bool = False
    max_undo_bytes: int = MAX_UNDO_BYTES


class Performed(NamedTuple):
    """What came of it, and what was there before."""

    done: Done
    seen: Seen
    told: dict[str, Any]  # the one object of --json; empty unless wished
    undo: str  # which run undoes it; empty: nothing was written back
    number: int | None  # of the daemon's record; None: no daemon
    refusal: EdgeevoError | None  # why it was not written back


def perform(thinker: Thinker, task: RealTask, wishes: Wishes = Wishes(), step: Before = go_on) -> Performed:  # noqa: B008 - it is frozen
    """Do it: transcript live, changes at the end, written back if wished, the outcome recorded by the daemon.

    `step` hears of each step of writing back. A refusal to write back is told in the result.
    """
    for name, text in (("instruction", task.instruction), ("check", task.check or "")):
        if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
            raise RefusedError(f"the {name} is longer than {MAX_TEXT_BYTES} bytes", hint="put it into a file and say where that is")
    seen, last = before(task.directory), [""]

    def noted(name: str) -> None:
        last[0] = name
        step(name)

    try:
        done = _worked(thinker, task, wishes)
        diff = told_changes(done.changes) if wishes.told else []
        if wishes.shown:
            for line in (*show_changes(done.changes), summary(done)):
                click.echo(line)
        number = _recorded(thinker, task, done)
        undo, kept, refusal = _written(seen, done, task, wishes, noted)
    except KeyboardInterrupt:
        all_the_same = last[0] == "mark applied"  # it came too late
        click.echo(f"stopped; {'written back: `edgeevo undo` undoes it' if all_the_same else 'nothing was written back'}", err=True)
        raise
    behind = outside(done.changes, task.directory)
    if wishes.shown:
        if refusal is None:
            click.echo(
                f"written back; `edgeevo undo {undo}` undoes it" if undo else f"nothing was written back{_why_not(done, task, wishes)}"
            )
        for line in (*_told_outside(behind), *told_kept(kept)):
            click.echo(line)
        click.echo(f"recorded as run {number}" if number else "not recorded: no daemon is running")
    writing = {"written_back": bool(undo), "undo": undo or None, "outside": behind, "kept": list(kept)}
    told = _told(task, done, diff, number, writing, refusal) if wishes.told else {}
    return Performed(done, seen, told, undo, number, refusal)


def _worked(thinker: Thinker, task: RealTask, wishes: Wishes) -> Done:
    sandbox = open_sandbox()
    try:
        return work(task, sandbox, thinker.one, _show if wishes.shown else _nothing, _ask if wishes.approve else lambda _: True)
    finally:
        sandbox.close()


def _recorded(thinker: Thinker, task: RealTask, done: Done) -> int | None:
    return thinker.record(
        RunEnded(
            instruction=task.instruction,
            directory=sayable(task.directory),
            check_command=task.check,
            policy_id=thinker.policy_id,
            steps=len(done.steps),
            ending=str(done.ending),
            verified=done.verified,
            seconds=done.seconds,
        )
    )


def _written(seen: Seen, done: Done, task: RealTask, wishes: Wishes, step: Before) -> tuple[str, tuple[str, ...], RefusedError | None]:
    """Write back what is wanted: the journal's id, where content lies that somebody saved meanwhile, and why nothing was written."""
    try:
        if not _wanted(done, task, wishes):
            return "", (), None
        return *write_back(seen, done.changes, task.instruction, wishes.max_undo_bytes, step), None
    except RefusedError as error:
        return "", (), error


def write_back(seen: Seen, changes: Changes, instruction: str, max_undo_bytes: int, step: Before = go_on) -> tuple[str, tuple[str, ...]]:
    """Through the journal: its id (empty: there was nothing to write), and where content lies that somebody saved meanwhile."""
    ledger = Ledger(home(), max_bytes=max_undo_bytes, step=step)
    journal = apply(seen, changes, ledger, instruction=instruction)
    return (journal.id, ledger.mark(journal.id).kept) if journal else ("", ())


def _wanted(done: Done, task: RealTask, wishes: Wishes) -> bool:
    """Whether the changes are to be written back.

    In place everything; on request only what passed its check; on a terminal what somebody says yes to.
    """
    if not done.changes.nodes:
        return False
    if wishes.in_place:
        return True
    if wishes.write is False:
        return False
    if wishes.write:
        return task.check is None or done.verified is True
    if not wishes.shown or not sys.stdin.isatty():
        return False
    return click.confirm(_question(done, task), default=False)


def _question(done: Done, task: RealTask) -> str:
    """What is asked on a terminal; whoever says yes to what did not pass has been told."""
    if task.check is None or done.verified:
        return "Write these changes back?"
    if done.verified is False:
        return "The check FAILED. Write these changes back all the same?"
    return "The check proves nothing. Write these changes back all the same?"


def _told_outside(paths: list[str]) -> Iterator[str]:
    """What stays behind with the view."""
    if paths:
        named = ", ".join(clean(path) for path in paths[:MAX_NAMED])
        more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
        yield f"not written back, because it is outside the directory: {named}{more}"


def _why_not(done: Done, task: RealTask, wishes: Wishes) -> str:
    """Why a request to write back was not followed, where that is not told elsewhere."""
    return ": only what passes its check is" if wishes.write and task.check is not None and done.verified is not True else ""


def sayable(text: str) -> str:
    """The text with bytes that are no UTF-8 spelt out: neither the socket nor a model can be told them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _ask(command: str) -> bool:
    return click.confirm(f"Run `{clean(command)}`?", default=False, err=True)


def summary(done: Done) -> str:
    """One line: how it ended, and what the check said."""
    return f"{_ending(done)}; {_verdict(done)}"


def _ending(done: Done) -> str:
    ending = {Ending.SUBMITTED: "the agent is done"}.get(done.ending, f"the agent stopped ({done.ending})")
    return f"{ending} after {len(done.steps)} commands and {duration(done.seconds)}"


def _verdict(done: Done) -> str:
    if done.doubted:
        names = ", ".join(clean(path) for path in done.doubted[:5])
        more = f" and {len(done.doubted) - 5} more" if len(done.doubted) > 5 else ""
        return f"unverified: the check passed, but what the agent had changed may have decided it ({names}{more})"
    return {None: "not checked", True: "check passed", False: "check failed"}[done.verified]


def _show(result: CommandResult) -> None:
    click.echo(f"$ {clean(result.command)}")
    output = (result.stdout + result.stderr)[:MAX_SHOWN_BYTES]
    for line in clean(output, newlines=True).splitlines():
        click.echo(f"  {line}")
    if result.exit_code or result.limit_hit:
        click.echo(f"  exit {result.exit_code}" + (f", {result.limit_hit} limit" if result.limit_hit else ""))


def _nothing(_: CommandResult) -> None:
    """Show nothing while the agent works."""


def _told(
    task: RealTask, done: Done, diff: list[dict[str, Any]], number: int | None, writing: dict[str, Any], refusal: EdgeevoError | None
) -> dict[str, Any]:
    """The one object of --json."""
    checked = None if done.checked is None else _result(done.checked)
    verdict = {None: "unverified", True: "passed", False: "failed"}[done.verified]
    return {
        "instruction": task.instruction,
        "directory": sayable(task.directory),
        "transcript": [_result(step) for step in done.steps],
        "diff": {"complete": done.changes.complete, "left_out": list(done.changes.left_out), "changes": diff},
        "check": None
        if task.check is None
        else {"command": task.check, "verdict": verdict, "doubted": list(done.doubted), "last": checked},
        "outcome": {
            "ending": str(done.ending),
            "verified": done.verified,
            "seconds": round(done.seconds, 3),
            "recorded_as": number,
            **writing,
            "refused": None if refusal is None else {"message": str(refusal), "hint": refusal.hint},
        },
    }


def _result(result: CommandResult) -> dict[str, Any]:
    return {
        "command": result.command,
        "exit_code": result.exit_code,
        "stdout": result.stdout.decode("utf-8", "backslashreplace"),
        "stderr": result.stderr.decode("utf-8", "backslashreplace"),
        "truncated": result.truncated,
        "limit_hit": result.limit_hit and str(result.limit_hit),
        "seconds": round(result.seconds, 3),
    }


def echo_json(told: dict[str, Any]) -> None:
    """One line of JSON for whoever reads it."""
    with contextlib.suppress(BrokenPipeError):
        click.echo(json.dumps(told))  # ASCII: nothing in it can steer a terminal
