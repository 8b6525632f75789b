"""`edgeevo status`: how the box is, for people or as JSON.

It is called by scripts, often, so it imports click, json and socket and nothing heavier: it reads the daemon's answer
(edgeevo.control.Status) as the JSON that it is. A field that is at its default may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from edgeevo.cli import Settings
from edgeevo.cli.text import clean, duration
from edgeevo.errors import DaemonError
from edgeevo.wire import exchange

ASK = b'{"type":"status"}'
TIMEOUT_SECONDS = 10.0


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.pass_obj
def status(settings: Settings, *, as_json: bool) -> None:
    """Show how the box is: what runs, what serves, and what is wrong."""
    answer = read(next(exchange(settings.socket, ASK, timeout_seconds=TIMEOUT_SECONDS), b""))
    click.echo(json.dumps(answer) if as_json else "\n".join(lines(answer)))


def read(line: bytes) -> dict[str, Any]:
    """The daemon's answer as a dictionary; DaemonError when it is no status."""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = {}
    if not isinstance(answer, dict) or answer.get("type") != "status":
        said = answer.get("message", "") if isinstance(answer, dict) else ""
        hint = (answer.get("hint") if isinstance(answer, dict) else "") or "client and daemon must be of the same version"
        raise DaemonError(f"the daemon gave no status: {said or line[:100]!r}", hint=hint)
    return answer


def lines(status: Mapping[str, Any]) -> list[str]:
    """A status as text; what is as it should be is not mentioned."""
    doing = str(status["state"])
    if status["working_on"]:
        progress = f", {status['phase']} {status['done']} of {status['total']}" if status["phase"] else ""
        doing = f"{status['working_on']} runs{progress}"
    elif status["reason"]:
        doing = f"busy: {status['detail']} ({status['reason']}); next try in {duration(status['next_try_seconds'])}"
    load = "unknown" if status["others_load_cores"] is None else f"{status['others_load_cores']:.2f} cores"
    factory = f"factory ({status['factory']})" if status.get("factory") else ""
    adapter = f"adapter {status['adapter'][:12]}" if status["adapter"] else factory or "no adapter"
    found = [
        f"edgeevo {status['version']}, pid {status['pid']}, up {duration(status['up_seconds'])}",
        f"now      {doing}",
        f"window   {status['window']}, load of others {load}",
        f"serves   {status['model'] or 'no model'}, {adapter}{', loaded' if status['model_loaded'] else ''}",
    ]
    if status["adapter"]:
        before = f"adapter {status['previous'][:12]}" if status["previous"] else factory or "no adapter"
        found.append(f"before   {before} (edgeevo rollback returns to it)")
    if status.get("waiting"):
        found.append(f"waiting  {status['waiting']} requests for the model")
    if status["last_night"]:
        found.append(f"last     {status['last_night']}")
    found += [f"problem  {each['name']}: {each['detail']}" for each in status.get("health", ())]
    return [clean(line) for line in found]
