"""`feedback`: what a person thought of a real task, kept by the daemon with that person's user."""

from __future__ import annotations

import click

from edgeevo.cli import Settings
from edgeevo.control import FeedbackGiven, Recorded, ask
from edgeevo.errors import DaemonError


@click.command()
@click.argument("run", metavar="RUN|last")
@click.argument("verdict", type=click.Choice(["good", "bad"]))
@click.argument("note", default="")
@click.pass_obj
def feedback(settings: Settings, run: str, verdict: str, note: str) -> None:
    """Say of a real task of yours (the number that `run` printed, or `last`) that it was good or bad, and why.

    It is kept with your user as an opinion: it never overrules a check.
    """
    if run != "last" and not run.isdecimal():
        raise click.UsageError(f"{run!r} is neither a run's number nor `last`")
    number = None if run == "last" else int(run)
    answer = ask(settings.socket, FeedbackGiven(run=number, good=verdict == "good", note=note.encode("utf-8", "backslashreplace").decode()))
    if not isinstance(answer, Recorded):
        raise DaemonError("the daemon answered something else", hint="client and daemon must be of the same version")
    click.echo(f"kept with run {answer.run}")
