"""`jobs`, `logs`, `cancel`, `apply`: real tasks that go on without a terminal. They are the caller's own; no daemon is asked."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from edgeevo.cli import INTERRUPTED, Settings
from edgeevo.cli.hands import RealTask
from edgeevo.cli.job import Order
from edgeevo.cli.performing import Wishes, sayable, write_back
from edgeevo.cli.running import CHECK_FAILED, refuse
from edgeevo.cli.text import clean, table
from edgeevo.cli.undoing import told_kept
from edgeevo.errors import RefusedError, WorkerError
from edgeevo.hands import MAX_UNDO_BYTES, Job, Jobs
from edgeevo.worker import detach

LOOK_SECONDS = 0.1
READ_BYTES = 1 << 16
MODULE = "edgeevo.cli.job"


def start(settings: Settings, task: RealTask, wishes: Wishes, adapter: str | None) -> int:
    """Begin a job; its number. RefusedError when too many run."""
    loaded = settings.loaded
    order = Order(
        instruction=task.instruction,
        directory=os.fsencode(task.directory),
        check=task.check,
        steps=task.steps,
        timeout_seconds=task.timeout_seconds,
        wishes=msgspec.structs.replace(wishes, shown=True, told=True),
        adapter=adapter,
        config=os.fsencode(Path(loaded.path).absolute()) if loaded.path else b"",
        settings=tuple(os.fsencode(each) for each in settings.settings),
        at=time.time(),
    )
    jobs = _jobs(settings)
    job, lock = jobs.begin(msgspec.json.encode(order))
    try:
        log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            detach(MODULE, [str(job.place), str(lock)], log_fd=log, kept_fd=lock)
        finally:
            os.close(log)
    except OSError as error:
        raise WorkerError(f"job {job.number} could not be started: {error}", hint="`edgeevo doctor` checks this machine") from error
    finally:
        os.close(lock)
    return job.number


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option("--forget", "number", type=int, metavar="JOB", help="Remove the record of this job instead, and what could still be applied.")
@click.pass_obj
def jobs(settings: Settings, *, as_json: bool, number: int | None) -> None:
    """Your detached tasks, oldest first: what runs, and how the others ended."""
    kept = _jobs(settings)
    if number is not None:
        kept.forget(kept.job(number))
        click.echo(f"job {number} is forgotten")
        return
    rows = [_row(job) for job in kept.all()]
    if as_json:
        click.echo(json.dumps({"jobs": rows}))
        return
    header = ("job", "started", "state", "directory", "instruction", "how it ended")
    shown = [(str(row["job"]), row["started"], row["state"], row["directory"], row["instruction"], row["told"]) for row in rows]
    click.echo(table(shown, header) if shown else "no jobs yet: `edgeevo run --detach` starts one")


@click.command()
@click.argument("number", metavar="[JOB]", type=int, required=False)
@click.option("--follow", is_flag=True, help="Go on until the job ends, and exit as it did.")
@click.option("--json", "as_json", is_flag=True, help="The one object of `run --json` instead, once the job has ended.")
@click.pass_obj
def logs(settings: Settings, *, number: int | None, follow: bool, as_json: bool) -> int:
    """What a detached task has printed so far: JOB by its number, else the last one."""
    job = _jobs(settings).job(number)
    if as_json:
        if follow:
            raise click.UsageError("--follow shows the text, and --json the result at the end: leave one of them out")
        result = job.read("result")
        if not result:
            raise RefusedError(f"job {job.number} has no result ({_state(job)})", hint=f"`edgeevo logs {job.number}` shows its text")
        click.echo(json.dumps(json.loads(result)))
        return 0
    _print(job, follow=follow)
    if not follow:
        return 0
    if _state(job) == "broken off":
        raise WorkerError(f"job {job.number} was broken off: {_told(job)}", hint="run the task again")
    return job.progress.exit_code


@click.command()
@click.argument("number", metavar="JOB", type=int)
@click.pass_obj
def cancel(settings: Settings, number: int) -> None:
    """Stop a detached task as Ctrl-C would: what it had written to the directory is put back, and nothing of it goes on running."""
    job = _jobs(settings).job(number)
    by_itself = job.cancel()
    click.echo(clean(f"job {number}: {_told(job)}" if by_itself else f"job {number} did not stop in time and was killed: {_told(job)}"))


@click.command("apply")
@click.argument("number", metavar="JOB", type=int)
@click.option("--anyway", is_flag=True, help="Also when its check did not pass.")
@click.option(
    "--max-undo-bytes", type=click.IntRange(min=0), default=MAX_UNDO_BYTES, show_default=True,
    help="What the records for undoing may take in your state directory.",
)  # fmt: skip
@click.pass_obj
def apply_job(settings: Settings, number: int, *, anyway: bool, max_undo_bytes: int) -> None:
    """Write back the changes of a detached task that has ended, as `run --apply` would have; `edgeevo undo` takes them back.

    Nothing is written when what it would change was changed since the task began.
    """
    job = _jobs(settings).job(number)
    if job.alive:
        raise RefusedError(f"job {number} still runs", hint=f"`edgeevo logs {number} --follow` waits for it")
    if undo := job.progress.undo:
        raise RefusedError(
            f"job {number} was written back as run {undo}",
            hint=f"`edgeevo undo {undo}` takes that back; to have it anew, run the task again",
        )
    kept = job.kept()
    if kept is None:
        raise RefusedError(f"job {number} has no changes to write back: {_told(job)}", hint=f"`edgeevo logs {number}` says more")
    if not (kept.passed or anyway):
        raise RefusedError(f"job {number} did not pass its check", hint="--anyway writes its changes back all the same")
    refuse(settings, os.fsdecode(kept.seen.directory))
    undo, displaced = write_back(kept.seen, kept.changes, kept.instruction, max_undo_bytes)
    job.tell(msgspec.structs.replace(job.progress, undo=undo))
    click.echo(f"written back; `edgeevo undo {undo}` undoes it" if undo else "nothing was written back")
    for line in told_kept(displaced):
        click.echo(line)


def _jobs(settings: Settings) -> Jobs:
    limits = settings.loaded.config.jobs
    return Jobs(max_kept=limits.max_kept, max_running=limits.max_running)


def _state(job: Job) -> str:
    """One or two words; asked of the lock first, so that a job that ends just now is not called broken off."""
    alive, progress = job.alive, job.progress
    if progress.phase != "ended":
        return str(progress.phase) if alive else "broken off"
    return {0: "done", CHECK_FAILED: "check failed", INTERRUPTED: "cancelled"}.get(progress.exit_code, "failed")


def _told(job: Job) -> str:
    """One line about how it ended, or why it did not."""
    progress = job.progress
    if _state(job) != "broken off":
        return progress.told + (f"; written back as run {progress.undo}" if progress.undo else "")
    if progress.phase == "writing":
        return "it was killed while it wrote to the directory; `edgeevo undo` or `edgeevo resume-apply` finishes that"
    return "its process was killed; nothing was written back"


def _row(job: Job) -> dict[str, Any]:
    data, progress = job.read("order"), job.progress
    order = msgspec.json.decode(data, type=Order) if data else None
    return {
        "job": job.number,
        "started": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(order.at)) if order else "",
        "state": _state(job),
        "directory": sayable(os.fsdecode(order.directory)) if order else "",
        "instruction": order.instruction if order else "",
        "told": _told(job),
        "exit_code": progress.exit_code if progress.phase == "ended" else None,
        "undo": progress.undo or None,
        "to_apply": (job.place / "kept").exists() and not progress.undo,
    }


def _print(job: Job, *, follow: bool) -> None:
    """Its log as it is now, line by line; with `follow` until it has ended and all is printed. Escaped once more: it is a file."""
    rest = b""
    try:
        file = job.log.open("rb")
    except OSError as error:
        raise RefusedError(f"job {job.number} has no log: {error.strerror}", hint="`edgeevo jobs` shows how it ended") from error
    with file:
        while True:
            alive = job.alive  # asked before reading: whatever a job wrote before it ended is read
            while data := file.read(READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    click.echo(clean(line))
            if not (follow and alive):
                break
            time.sleep(LOOK_SECONDS)
    if rest:
        click.echo(clean(rest))
