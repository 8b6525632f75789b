"""`run`: a real task. The sandbox belongs to the caller; the model answers through the daemon, or a worker of ours."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from edgeevo.cli import Settings
from edgeevo.cli.changes import show_changes, told_changes
from edgeevo.cli.hands import MAX_STEPS, Done, RealTask, work
from edgeevo.cli.text import clean, duration
from edgeevo.cli.thinking import Thinker
from edgeevo.cli.undoing import told_kept
from edgeevo.control import RunEnded
from edgeevo.domain import CommandResult, Ending, Limits, Value
from edgeevo.errors import EdgeevoError, RefusedError
from edgeevo.hands import MAX_UNDO_BYTES, Ledger, apply, before, concerns, home, outside, refuse_directory
from edgeevo.sandbox import open_sandbox

CHECK_FAILED = 10
MAX_SHOWN_BYTES = 2000
MAX_NAMED = 8


class Wishes(Value):
    """How a task is done and shown. `write` None: asked at the end, where somebody can answer."""

    write: bool | None = False
    as_json: bool = False
    approve: bool = False
    max_undo_bytes: int = MAX_UNDO_BYTES


@click.command()
@click.argument("instruction")
@click.option(
    "--dir", "directory", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="The directory to work on."
)
@click.option(
    "--apply/--no-apply", "write", default=None, help="Write the changes back at the end, or never; else you are asked on a terminal."
)
@click.option("--check", metavar="COMMAND", help="Must fail before and pass after; else the outcome is recorded as unverified.")
@click.option("--steps", type=click.IntRange(1, 1000), default=MAX_STEPS, show_default=True, help="At most so many commands.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Stop the agent after this time.")
@click.option("--approve", is_flag=True, help="Ask before each command; the first `no` ends the work.")
@click.option("--dry-run", is_flag=True, help="Show the sandbox, its limits and what would be refused; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text: transcript, diff, check, outcome.")
@click.option(
    "--max-undo-bytes", type=click.IntRange(min=0), default=MAX_UNDO_BYTES, show_default=True,
    help="What the records for undoing may take in your state directory.",
)  # fmt: skip
@click.option("--adapter", metavar="ID", help="Use this adapter (first digits, `factory` or `base`) instead of the one that serves.")
@click.pass_obj
def run(
    settings: Settings,
    *,
    instruction: str,
    directory: Path,
    write: bool | None,
    check: str | None,
    steps: int,
    timeout_seconds: float | None,
    approve: bool,
    dry_run: bool,
    as_json: bool,
    max_undo_bytes: int,
    adapter: str | None,
) -> int:
    """Do a task on a copy-on-write view of DIR and show the changes; write them back if you say so.

    What was written back can be undone with `edgeevo undo`.
    """
    task = RealTask(
        instruction=_sayable(instruction),
        directory=str(directory.resolve()),
        check=None if check is None else _sayable(check),
        steps=steps,
        timeout_seconds=timeout_seconds,
    )
    refuse(settings, task.directory)
    if dry_run:
        show_dry_run(task, as_json=as_json)
        return 0
    wishes = Wishes(write=write, as_json=as_json, approve=approve, max_undo_bytes=max_undo_bytes)
    thinker = Thinker(settings.loaded, adapter)
    try:
        done = perform(thinker, task, wishes)
    finally:
        thinker.close()
    return CHECK_FAILED if done.verified is False else 0


def refuse(settings: Settings, directory: str) -> None:
    """Raise RefusedError where `directory` is, contains or lies in what is never worked on."""
    loaded = settings.loaded
    own = (loaded.state_dir, loaded.runtime_dir, loaded.models_dir, loaded.weights_dir, home())
    refuse_directory(directory, own=own, holding=(Path(loaded.path).absolute(),) if loaded.path else ())


def show_dry_run(task: RealTask, *, as_json: bool) -> None:
    """What a run would have, without running anything."""
    sandbox = open_sandbox()
    try:
        abilities = sandbox.abilities
    finally:
        sandbox.close()
    seen = before(task.directory)
    limits = Limits()
    told = {name: getattr(limits, name) for name in Limits.__struct_fields__} | {
        "steps": task.steps,
        "timeout_seconds": task.timeout_seconds,
    }
    untouchable = concerns(seen)
    if as_json:
        _echo({"directory": task.directory, "tier": abilities.tier, "limits": told, "entries": len(seen.entries), "refused": untouchable})
        return
    click.echo(f"sandbox    {abilities.tier}" + (f" ({clean(abilities.reason)})" if abilities.reason else ""))
    click.echo("limits     " + ", ".join(f"{name} {value}" for name, value in told.items() if value is not None))
    click.echo(f"directory  {clean(task.directory)}: {len(seen.entries)} entries; it may be worked on")
    click.echo(f"refused    {'nothing that is there now' if not untouchable else 'changes to:'}")
    for line in untouchable:
        click.echo(f"  {clean(line)}")
    click.echo("nothing was run")


def perform(thinker: Thinker, task: RealTask, wishes: Wishes = Wishes()) -> Done:  # noqa: B008 - Wishes is frozen
    """A real task as `run` does it: transcript live, changes at the end, written back if wished, the outcome recorded by the daemon."""
    say = _nothing if wishes.as_json else _show
    seen = before(task.directory)
    sandbox = open_sandbox()
    try:
        done = work(task, sandbox, thinker.one, say, _ask if wishes.approve else lambda _: True)
    except KeyboardInterrupt:
        click.echo("stopped; nothing was written back", err=True)
        raise
    finally:
        sandbox.close()
    told = told_changes(done.changes) if wishes.as_json else []
    if not wishes.as_json:
        for line in show_changes(done.changes):
            click.echo(line)
        click.echo(f"{_ending(done)}; {_verdict(done)}")
    number = thinker.record(
        RunEnded(
            instruction=task.instruction,
            directory=_sayable(task.directory),
            check_command=task.check,
            policy_id=thinker.policy_id,
            steps=len(done.steps),
            ending=str(done.ending),
            verified=done.verified,
            seconds=done.seconds,
        )
    )
    behind = outside(done.changes, task.directory)
    written, refusal = "", None
    kept: tuple[str, ...] = ()
    try:
        if _wanted(done, task, wishes):
            ledger = Ledger(home(), max_bytes=wishes.max_undo_bytes)
            journal = apply(seen, done.changes, ledger, instruction=task.instruction)
            written, kept = (journal.id, ledger.mark(journal.id).kept) if journal else ("", ())
    except RefusedError as error:
        refusal = error
    if wishes.as_json:
        told_of_writing = {"written_back": bool(written), "undo": written or None, "outside": behind, "kept": list(kept)}
        _echo(_told(task, done, told, number, told_of_writing, refusal))
    else:
        if refusal is None:
            click.echo(
                f"written back; `edgeevo undo {written}` undoes it"
                if written
                else f"nothing was written back{_why_not(done, task, wishes)}"
            )
        for line in (*_told_outside(behind), *told_kept(kept)):
            click.echo(line)
        click.echo(f"recorded as run {number}" if number else "not recorded: no daemon is running")
    if refusal is not None:
        raise refusal
    return done


def _wanted(done: Done, task: RealTask, wishes: Wishes) -> bool:
    """Whether the changes are to be written back. On request only what passed its check; on a terminal what somebody says yes to."""
    if wishes.write is False or not done.changes.nodes:
        return False
    if wishes.write:
        return task.check is None or done.verified is True
    if wishes.as_json or not sys.stdin.isatty():
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


def _sayable(text: str) -> str:
    """The text with bytes that are no UTF-8 spelt out: neither the socket nor a model can be told them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _ask(command: str) -> bool:
    return click.confirm(f"Run `{clean(command)}`?", default=False, err=True)


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
        "directory": _sayable(task.directory),
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


def _echo(told: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        click.echo(json.dumps(told))  # ASCII: nothing in it can steer a terminal
