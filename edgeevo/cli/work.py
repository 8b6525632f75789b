"""`run` and `ask`: work for people. The sandbox belongs to the caller; the model answers through the daemon, or a worker of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from edgeevo.agent.episode import command_of
from edgeevo.cli import Settings
from edgeevo.cli.changes import show_changes
from edgeevo.cli.hands import Done, RealTask, work
from edgeevo.cli.text import clean, duration
from edgeevo.cli.thinking import Thinker
from edgeevo.control import RunEnded
from edgeevo.domain import CommandResult, Ending, Message, Role
from edgeevo.errors import RefusedError
from edgeevo.sandbox import open_sandbox

INSTRUCTION_KEYS = ("instruction", "task", "prompt", "question", "query", "text", "input", "description", "nl")
CHECK_FAILED = 10
BATCH = 256
MAX_SHOWN_BYTES = 2000


@click.command()
@click.argument("instruction")
@click.option(
    "--dir", "directory", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="The directory to work on."
)
@click.option("--check", metavar="COMMAND", help="Must fail before and pass after; else the outcome is recorded as unverified.")
@click.option("--adapter", metavar="ID", help="Use this adapter (first digits, `factory` or `base`) instead of the one that serves.")
@click.pass_obj
def run(settings: Settings, instruction: str, directory: Path, check: str | None, adapter: str | None) -> int:
    """Do a task on a copy-on-write view of DIR: nothing is written back, the changes are shown."""
    thinker = Thinker(settings.loaded, adapter)
    try:
        done = perform(thinker, RealTask(instruction=instruction, directory=str(directory.resolve()), check=check))
    finally:
        thinker.close()
    return CHECK_FAILED if done.verified is False else 0


def perform(thinker: Thinker, task: RealTask) -> Done:
    """A real task as `run` does it: transcript live, changes at the end, the outcome recorded by the daemon when there is one."""
    sandbox = open_sandbox()
    try:
        done = work(task, sandbox, thinker.one, _show)
    finally:
        sandbox.close()
    for line in show_changes(done.changes):
        click.echo(line)
    verdict = {None: "not checked", True: "check passed", False: "check failed"}[done.verified]
    ending = {Ending.SUBMITTED: "the agent is done"}.get(done.ending, f"the agent stopped ({done.ending})")
    click.echo(f"{ending} after {len(done.steps)} commands and {duration(done.seconds)}; {verdict}; nothing was written back")
    number = thinker.record(
        RunEnded(
            instruction=task.instruction,
            directory=task.directory,
            check_command=task.check,
            policy_id=thinker.policy_id,
            steps=len(done.steps),
            ending=str(done.ending),
            verified=done.verified,
            seconds=done.seconds,
        )
    )
    click.echo(f"recorded as run {number}" if number else "not recorded: no daemon is running")
    return done


def _show(result: CommandResult) -> None:
    click.echo(f"$ {clean(result.command)}")
    output = (result.stdout + result.stderr)[:MAX_SHOWN_BYTES]
    for line in clean(output, newlines=True).splitlines():
        click.echo(f"  {line}")
    if result.exit_code or result.limit_hit:
        click.echo(f"  exit {result.exit_code}" + (f", {result.limit_hit} limit" if result.limit_hit else ""))


@click.command()
@click.argument("instruction", required=False)
@click.option("--adapter", metavar="ID", help="Ask this adapter (first digits, `factory` or `base`) instead of the one that serves.")
@click.option(
    "--batch", type=click.File("r", encoding="utf-8", errors="surrogateescape"), help="JSON lines, each with an instruction; `-` is stdin."
)
@click.pass_obj
def ask(settings: Settings, instruction: str | None, adapter: str | None, batch: TextIO | None) -> None:
    """Propose the first command for INSTRUCTION; nothing is executed. With --batch: one JSON line in, one out with "command"."""
    if (instruction is None) == (batch is None):
        raise click.UsageError("give either an instruction or --batch")
    thinker = Thinker(settings.loaded, adapter)
    try:
        if batch is None:
            said = thinker.many([opening(instruction or "")])[0]
            click.echo(clean(command_of(said.text), newlines=True))
        else:
            for line in answers(batch, thinker):
                click.echo(line)
    finally:
        thinker.close()


def opening(instruction: str) -> tuple[Message, ...]:
    """A conversation that only has its instruction."""
    return (Message(role=Role.USER, text=instruction),)


def answers(lines: TextIO, thinker: Thinker) -> Iterator[str]:
    """For each JSON line of `lines` one JSON line: its fields, "command", and "finish" where the reply was cut off."""
    rows = [parse(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        for (row, _), said in zip(part, thinker.many([opening(text) for _, text in part]), strict=True):
            cut = {} if said.finish == "stop" else {"finish": said.finish}
            yield json.dumps({**row, "command": command_of(said.text), **cut})


def parse(number: int, line: str) -> tuple[dict[str, Any], str]:
    """A line of a batch as its fields and its instruction; a bare JSON string is an instruction. Raises RefusedError naming the line."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise RefusedError(f"line {number} is not JSON: {error}", hint='one object per line: {"id": 1, "instruction": "..."}') from error
    if isinstance(row, str):
        row = {"instruction": row}
    if isinstance(row, dict):
        for key in INSTRUCTION_KEYS:
            if isinstance(row.get(key), str):
                return row, row[key]
        texts = [value for key, value in row.items() if isinstance(value, str) and key not in ("id", "name")]
        if len(texts) == 1:
            return row, texts[0]
    raise RefusedError(f"line {number} has no instruction", hint=f"use one of the keys {', '.join(INSTRUCTION_KEYS)}")
