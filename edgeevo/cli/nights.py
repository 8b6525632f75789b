"""`night`, `audit`, `history`, `adapters`, `rollback`: what the box learns, and taking it back."""

from __future__ import annotations

import re
import time

import click

from edgeevo.cli import Settings
from edgeevo.cli.text import clean, duration, table
from edgeevo.control import AuditAsked, Finished, NightAsked, Request, RollbackAsked, StopAsked, Told, ask, call
from edgeevo.errors import ModelError, WorkerError
from edgeevo.store.reader import Reader

UNITS = {"": 60.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """Such as "20m", "90s", "2h", or a bare number of minutes, as seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds as a float; a usage error for anything else."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value))
        if not found or float(found[1]) <= 0:
            self.fail(f"{value!r} is not a duration such as 20m, 90s or 2h", param, ctx)
        return float(found[1]) * UNITS[found[2]]


@click.command()
@click.option(
    "--for", "for_seconds", type=Duration(), metavar="TIME", help="Stop after this time (20m, 90s, 2h); what is not done goes on later."
)
@click.pass_obj
def night(settings: Settings, for_seconds: float | None) -> None:
    """Run a night now, or go on with the one that was interrupted; Ctrl-C stops it cleanly."""
    follow(settings, NightAsked(for_seconds=for_seconds))


@click.command()
@click.option("--adapter", metavar="ID", help="Measure this adapter (first digits, `factory` or `base`) instead of the one that serves.")
@click.pass_obj
def audit(settings: Settings, adapter: str | None) -> None:
    """Play the audit set, which no decision ever reads, with one policy; `report` shows the result."""
    follow(settings, AuditAsked(adapter=adapter))


def follow(settings: Settings, request: Request) -> Finished:
    """Send a request and print what is told until it is finished; Ctrl-C stops the work itself. WorkerError when it did not finish."""
    started = time.monotonic()
    try:
        for said in call(settings.loaded.socket, request):
            if isinstance(said, Told):
                click.echo(f"{time.monotonic() - started:6.0f} s  {clean(said.text)}")
            elif isinstance(said, Finished):
                click.echo(f"{time.monotonic() - started:6.0f} s  {clean(said.text)}")
                if not said.ok:
                    raise WorkerError(said.text, hint="`edgeevo history` shows it; a night goes on in the next window")
                return said
    except KeyboardInterrupt:
        click.echo(clean(_text(ask(settings.loaded.socket, StopAsked(), timeout_seconds=30.0))))
        raise
    raise WorkerError("the daemon hung up before the work was finished", hint="`edgeevo status` shows whether it still runs")


def _text(answer: object) -> str:
    return answer.text if isinstance(answer, Finished) else ""


@click.command()
@click.option("--limit", default=20, show_default=True, help="How many nights and audits.")
@click.pass_obj
def history(settings: Settings, limit: int) -> None:
    """Nights and audits, the latest first."""
    with Reader(settings.loaded.database) as reader:
        rows = reader.history(limit)
    shown = [
        (
            row.id,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(row.started_at)),
            row.cause,
            row.status,
            duration(row.ended_at - row.started_at) if row.ended_at else "",
            f"{row.admitted}/{row.admitted + row.rejected}",
            str(row.attempts),
            str(row.examples),
            row.decision,
            row.summary or row.reason,
        )
        for row in rows
    ]
    header = ("id", "started", "cause", "status", "took", "admitted", "attempts", "examples", "gate", "summary")
    click.echo(table(shown, header) if rows else "no nights yet")


@click.command()
@click.pass_obj
def adapters(settings: Settings) -> None:
    """All adapters that were trained, newest first, then the factory adapter, and which one serves."""
    with Reader(settings.loaded.database) as reader:
        rows = reader.adapters()
    shown = [
        (row.sha256[:12], time.strftime("%Y-%m-%d %H:%M", time.localtime(row.at)), row.owner, f"{row.loss:.3f}", row.decision, row.slot)
        for row in rows
    ]
    name, sha256, problem = _factory(settings)
    if sha256:
        serves = "" if any(row.slot == "active" for row in rows) else ", serves"
        shown.append((sha256[:12], "", name, "", "", f"factory{serves}"))
    click.echo(table(shown, ("id", "trained", "in", "loss", "gate", "slot")) if shown else "no adapters yet: the base model serves")
    if problem:
        click.echo(clean(f"the factory adapter is refused: {problem}"))


def _factory(settings: Settings) -> tuple[str, str, str]:
    """Name and hash of the factory adapter, and why it is refused; empty: it is not, or there is none."""
    from edgeevo.models import factory

    try:
        found = factory.find(settings.loaded)
    except ModelError as error:
        return "", "", str(error)
    return (found.name, found.adapter.sha256, "") if found else ("", "", "")


@click.command()
@click.pass_obj
def rollback(settings: Settings) -> None:
    """Let the previous adapter serve again (or the factory state, when there is none)."""
    click.echo(clean(_text(ask(settings.loaded.socket, RollbackAsked()))))
