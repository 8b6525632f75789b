"""`env list|show|skills|try`: the environments that evolution made, why, and how they play."""

from __future__ import annotations

import click

from edgeevo.agent.episode import verify
from edgeevo.cli import Settings
from edgeevo.cli.text import clean, table
from edgeevo.environments.skills import Entry
from edgeevo.environments.vocabulary import ENTRIES
from edgeevo.errors import RefusedError, StoreError
from edgeevo.sandbox import open_sandbox
from edgeevo.store.reader import EnvironmentFile, Reader


@click.group()
def env() -> None:
    """Environments: list, show, try; skills."""


@env.command("list")
@click.option("--rejected", is_flag=True, help="Those that were not admitted, with the reason.")
@click.option("--limit", default=100, show_default=True, help="How many, newest first.")
@click.pass_obj
def list_(settings: Settings, *, rejected: bool, limit: int) -> None:
    """Environments with their place in the lineage and how practice went."""
    with Reader(settings.loaded.database) as reader:
        rows = reader.environments(rejected=rejected, limit=limit)
    shown = [
        (
            row.id,
            row.lineage,
            str(row.generation),
            row.scenario,
            row.skills,
            row.direction or "founder",
            row.reason if rejected else f"{row.passed}/{row.attempts}",
        )
        for row in rows
    ]
    last = "reason" if rejected else "passed"
    click.echo(table(shown, ("id", "lineage", "generation", "scenario", "skills", "direction", last)) if rows else "none yet")


@env.command()
@click.argument("group", required=False)
def skills(group: str | None) -> None:
    """The groups of the vocabulary (for `night.groups`), or the skills of one GROUP with a request each."""
    groups: dict[str, list[Entry]] = {}
    for entry in ENTRIES.values():
        groups.setdefault(entry.group, []).append(entry)
    if group is None:
        shown = [(name, str(len(groups[name])), ", ".join(sorted({e.skill for e in groups[name]})[:6])) for name in sorted(groups)]
        click.echo(table(shown, ("group", "entries", "such as")))
    elif group in groups:
        shown = [(e.skill, e.variant, (e.asks or e.then)[0]) for e in groups[group]]
        click.echo(table(shown, ("skill", "variant", "a request")))
    else:
        raise RefusedError(f"no group {group} in the vocabulary", hint=f"the groups are {', '.join(sorted(groups))}")


@env.command()
@click.argument("environment")
@click.pass_obj
def show(settings: Settings, environment: str) -> None:
    """One environment (first digits of its id): its program, the evidence for or against it, a task of it."""
    with Reader(settings.loaded.database) as reader:
        file = reader.environment(environment)
    for line in describe(file):
        click.echo(clean(line))


def describe(file: EnvironmentFile) -> list[str]:
    """An environment as lines, not yet escaped."""
    row, program = file.row, file.environment.program
    lines = [
        f"environment {row.id}: {'admitted' if row.admitted else f'rejected, {row.reason}'}" + (f": {file.detail}" if file.detail else ""),
        f"lineage     {row.lineage}, generation {row.generation}"
        + (f", parent {file.environment.parent}" if file.environment.parent else ""),
        f"made by     {row.operator or 'hand (a founder)'}" + (f", direction {row.direction}" if row.direction else ""),
        f"scenario    {program.scenario}" + (f" with {', '.join(program.hazards)}" if program.hazards else ""),
        f"links       {' -> '.join(f'{link.skill}/{link.variant}' for link in program.links)}",
        f"practice    {row.passed} of {row.attempts} passed",
    ]
    lines += [f"{'held' if each.satisfied else 'FAILED':8} {each.verifier}: {each.detail}" for each in file.evidence]
    for task in file.tasks[:1]:
        lines += [f"task        {task.id}: {task.instruction}", *(f"oracle      {command}" for command in task.oracle)]
    return lines


@env.command("try")
@click.argument("environment")
@click.pass_obj
def try_(settings: Settings, environment: str) -> None:
    """Run oracle, alternative and doing nothing on a task of one environment, in a sandbox of yours."""
    with Reader(settings.loaded.database) as reader:
        file = reader.environment(environment)
    if not file.tasks:
        raise StoreError(f"no task of environment {file.row.id} was stored", hint="only environments that were practised can be tried")
    task = file.tasks[0]
    click.echo(clean(task.instruction))
    sandbox = open_sandbox()
    try:
        for name, commands in (("oracle", task.oracle), ("alternative", task.alternative), ("nop", ())):
            trial = verify(task, sandbox, commands)
            click.echo(f"{name}: {'passes' if trial.verdict.passed else 'fails'}")
            for result in trial.results:
                click.echo(f"  $ {clean(result.command)}   exit {result.exit_code}")
            for reason in trial.verdict.reasons:
                click.echo(f"  {clean(reason)}")
    finally:
        sandbox.close()
