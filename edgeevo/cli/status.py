"""`edgeevo status`: how the box is, for people or as JSON. Imports as little as possible: it is called by scripts, often."""

from __future__ import annotations

import json

import click
import msgspec

from edgeevo.cli import Settings
from edgeevo.cli.text import clean, duration
from edgeevo.control import Status, StatusAsked, ask
from edgeevo.errors import DaemonError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.pass_obj
def status(settings: Settings, *, as_json: bool) -> None:
    """Show how the box is: what runs, what serves, and what is wrong."""
    answer = ask(settings.socket, StatusAsked(), timeout_seconds=10.0)
    if not isinstance(answer, Status):
        raise DaemonError("the daemon answered something else than its status", hint="client and daemon must be of the same version")
    click.echo(json.dumps(msgspec.to_builtins(answer)) if as_json else "\n".join(lines(answer)))


def lines(status: Status) -> list[str]:
    """A status as text; healthy conditions are not mentioned."""
    doing = f"{status.state}"
    if status.working_on:
        progress = f", {status.phase} {status.done} of {status.total}" if status.phase else ""
        doing = f"{status.working_on} runs{progress}"
    elif status.reason:
        doing = f"busy: {status.detail} ({status.reason}); next try in {duration(status.next_try_seconds)}"
    adapter = f"adapter {status.adapter[:12]}" if status.adapter else "no adapter"
    load = "unknown" if status.others_load_cores is None else f"{status.others_load_cores:.2f} cores"
    found = [
        f"edgeevo {status.version}, pid {status.pid}, up {duration(status.up_seconds)}",
        f"now      {doing}",
        f"window   {status.window}, load of others {load}",
        f"serves   {status.model or 'no model'}, {adapter}{', loaded' if status.model_loaded else ''}",
    ]
    if status.previous:
        found.append(f"before   adapter {status.previous[:12]} (edgeevo rollback returns to it)")
    if status.last_night:
        found.append(f"last     {status.last_night}")
    found += [f"problem  {each.name}: {each.detail}" for each in status.health]
    return [clean(line) for line in found]
