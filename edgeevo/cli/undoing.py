"""`undo` and `resume-apply`: take back, or finish, what `run` wrote to a directory. In this process, as you; no daemon is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from edgeevo.cli.text import clean
from edgeevo.hands import Ledger, home
from edgeevo.hands import resume as finish
from edgeevo.hands import undo as take_back


@click.command()
@click.argument("run", required=False)
@click.option("--leave-changed", is_flag=True, help="Leave what was changed since as it is, and undo the rest.")
@click.option("--forget", is_flag=True, help="Remove the record of RUN instead; the directory stays as it is and can't be given back.")
def undo(run: str | None, *, leave_changed: bool, forget: bool) -> None:
    """Give a directory back as it was before RUN (its id, or the first digits; else the last one) was written back, bit for bit.

    It also takes back what was broken off half-way. When something in it was changed since, nothing is done and the file is named.
    """
    ledger = Ledger(home())
    if forget:
        if run is None:
            raise click.UsageError("name the run that is to be forgotten")
        with ledger.locked():
            journal = ledger.journal(run)
            ledger.forget(journal.id)
        click.echo(f"run {journal.id} is forgotten")
        return
    left: list[str] = []
    with _told_when_stopped("undo", run):
        journal = take_back(ledger, run, leave_changed=left if leave_changed else None)
    click.echo(f"run {journal.id} is undone: {clean(journal.directory)} is as it was before" + (", but for:" if left else ""))
    for path in left:
        click.echo(f"  {clean(path)}")
    if left:
        click.echo(f"what these were before is kept in {clean(str(ledger.place / journal.id))}")
    for line in told_kept(ledger.mark(journal.id).kept):
        click.echo(line)


@click.command("resume-apply")
@click.argument("run", required=False)
def resume_apply(run: str | None) -> None:
    """Finish writing back RUN (else the last one) after it was broken off, for example by a power cut."""
    ledger = Ledger(home())
    with _told_when_stopped("resume-apply", run):
        journal = finish(ledger, run)
    click.echo(f"run {journal.id} is written back to {clean(journal.directory)}; `edgeevo undo {journal.id}` undoes it")
    for line in told_kept(ledger.mark(journal.id).kept):
        click.echo(line)


@contextmanager
def _told_when_stopped(command: str, run: str | None) -> Iterator[None]:
    """Say after Ctrl-C that nothing is lost, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        again = f"edgeevo {command} {run}" if run else f"edgeevo {command}"
        click.echo(clean(f"stopped: each file is either old or new, and `{again}` goes on"), err=True)
        raise


def told_kept(names: Sequence[str]) -> Iterator[str]:
    """Where content lies that somebody else saved while we wrote, and that would be nowhere else."""
    if names:
        yield f"what somebody saved meanwhile was displaced, and is kept in the directory as {', '.join(map(clean, names))}"
