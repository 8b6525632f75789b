"""`run`: a real task. The sandbox belongs to the caller; the model answers through the daemon, or a worker of ours."""

from __future__ import annotations

import json
from pathlib import Path

import click

from edgeevo.cli import Settings
from edgeevo.cli.hands import MAX_STEPS, RealTask
from edgeevo.cli.performing import Wishes, echo_json, perform, sayable
from edgeevo.cli.text import clean
from edgeevo.cli.thinking import Thinker
from edgeevo.domain import Limits
from edgeevo.hands import MAX_UNDO_BYTES, before, concerns, home, jobs_home, refuse_directory
from edgeevo.sandbox import open_sandbox

CHECK_FAILED = 10


@click.command()
@click.argument("instruction")
@click.option(
    "--dir", "directory", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="The directory to work on."
)
@click.option(
    "--apply/--no-apply", "write", default=None, help="Write the changes back at the end, or never; else you are asked on a terminal."
)
@click.option("--in-place", is_flag=True, help="Write back whatever was done, also when the check fails; `edgeevo undo` takes it back.")
@click.option("--check", metavar="COMMAND", help="Must fail before and pass after; else the outcome is recorded as unverified.")
@click.option("--steps", type=click.IntRange(1, 1000), default=MAX_STEPS, show_default=True, help="At most so many commands.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Stop the agent after this time.")
@click.option("--approve", is_flag=True, help="Ask before each command; the first `no` ends the work.")
@click.option("--dry-run", is_flag=True, help="Show the sandbox, its limits and what would be refused; run nothing.")
@click.option("--detach", is_flag=True, help="Go on without this terminal; see `jobs`, `logs`, `cancel` and `apply`.")
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
    in_place: bool,
    check: str | None,
    steps: int,
    timeout_seconds: float | None,
    approve: bool,
    dry_run: bool,
    detach: bool,
    as_json: bool,
    max_undo_bytes: int,
    adapter: str | None,
) -> int:
    """Do a task on a copy-on-write view of DIR and show the changes; write them back if you say so.

    What was written back can be undone with `edgeevo undo`.
    """
    _refuse_contradictions(in_place=in_place, write=write is not None, approve=approve, dry_run=dry_run, detach=detach)
    task = RealTask(
        instruction=sayable(instruction),
        directory=str(directory.resolve()),
        check=None if check is None else sayable(check),
        steps=steps,
        timeout_seconds=timeout_seconds,
    )
    refuse(settings, task.directory)
    if dry_run:
        show_dry_run(task, as_json=as_json)
        return 0
    wishes = Wishes(write=write, in_place=in_place, shown=not as_json, told=as_json, approve=approve, max_undo_bytes=max_undo_bytes)
    if detach:
        from edgeevo.cli.jobs import start

        number = start(settings, task, wishes, adapter)
        click.echo(json.dumps({"job": number}) if as_json else f"job {number} runs; `edgeevo logs {number} --follow` shows it")
        return 0
    thinker = Thinker(settings.loaded, adapter)
    try:
        performed = perform(thinker, task, wishes)
    finally:
        thinker.close()
    if as_json:
        echo_json(performed.told)
    if performed.refusal is not None:
        raise performed.refusal
    return CHECK_FAILED if performed.done.verified is False else 0


def _refuse_contradictions(*, in_place: bool, write: bool, approve: bool, dry_run: bool, detach: bool) -> None:
    """A usage error for options of which one would silently win."""
    wrong = {
        "--in-place writes back whatever was done, and --apply or --no-apply says otherwise": in_place and write,
        "--in-place works on the directory, and --dry-run on nothing": in_place and dry_run,
        "--detach leaves nobody who could be asked, as --approve wants": detach and approve,
        "--detach goes on without you, and --dry-run runs nothing": detach and dry_run,
    }
    for what, is_so in wrong.items():
        if is_so:
            raise click.UsageError(f"{what}: leave one of them out")


def refuse(settings: Settings, directory: str) -> None:
    """Raise RefusedError where `directory` is, contains or lies in what is never worked on."""
    loaded = settings.loaded
    own = (loaded.state_dir, loaded.runtime_dir, loaded.models_dir, loaded.weights_dir, home(), jobs_home())
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
        echo_json(
            {"directory": task.directory, "tier": abilities.tier, "limits": told, "entries": len(seen.entries), "refused": untouchable}
        )
        return
    click.echo(f"sandbox    {abilities.tier}" + (f" ({clean(abilities.reason)})" if abilities.reason else ""))
    click.echo("limits     " + ", ".join(f"{name} {value}" for name, value in told.items() if value is not None))
    click.echo(f"directory  {clean(task.directory)}: {len(seen.entries)} entries; it may be worked on")
    click.echo(f"refused    {'nothing that is there now' if not untouchable else 'changes to:'}")
    for line in untouchable:
        click.echo(f"  {clean(line)}")
    click.echo("nothing was run")
