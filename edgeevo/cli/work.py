"""`ask`: what the model would do first. It answers through the daemon, or in a worker of ours; nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

import click

from edgeevo.agent.episode import command_of
from edgeevo.cli import Settings
from edgeevo.cli.text import clean
from edgeevo.cli.thinking import Thinker
from edgeevo.domain import Message, Role
from edgeevo.errors import RefusedError

INSTRUCTION_KEYS = ("instruction", "task", "prompt", "question", "query", "text", "input", "description", "nl")
BATCH = 256


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
