"""The main job, end to end, in a state directory of its own (`edgeevo demo`, `make demo`): three real tasks, one night, a report.

The daemon is a child that ends with us, so Ctrl-C at any moment leaves no process and no mount behind. Everything goes through the same
code as the commands; every figure that is printed is a query on the store. What was measured of the base in an earlier demo is not measured
again: evaluations are shared through a cache by policy and set.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from edgeevo.cli import INTERRUPTED, Settings
from edgeevo.cli.hands import RealTask
from edgeevo.cli.nights import follow
from edgeevo.cli.performing import perform
from edgeevo.cli.report import lines
from edgeevo.cli.text import clean, duration
from edgeevo.cli.thinking import Thinker
from edgeevo.config import Loaded, share
from edgeevo.control import AuditAsked, NightAsked, Status, StatusAsked, ask
from edgeevo.errors import DaemonError, EdgeevoError
from edgeevo.models import fetch, load_card
from edgeevo.store.figures import report
from edgeevo.store.reader import Reader
from edgeevo.worker import Worker

READY_SECONDS = 60.0
STOP_SECONDS = 2.0
KEPT_RUNS = 5
DWELL_SECONDS = 3.0  # of quiet, before the night begins; the first daemon waits for a day of it
WINDOW_SECONDS = 60.0  # to wait for that

LOG = "".join(f"2026-05-0{1 + n % 7} {('INFO', 'ERROR', 'WARN')[n % 3]} unit-{n % 5} message {n}\n" for n in range(40))
FILES = {
    "app.log": LOG,
    "names.txt": "walter\nada\nmina\nbruno\nselma\n",
    "warnings.txt": "kept from yesterday\n",
    "data/keep.csv": "id,n\n1,5\n",
}


def real_tasks(directory: Path) -> list[RealTask]:
    """Three everyday tasks in `directory`, each with a check that fails beforehand."""
    there = str(directory)
    return [
        RealTask(
            instruction=f"Count the lines of {there}/app.log that contain ERROR and save the result in {there}/errors.txt",
            directory=there,
            check="test \"$(tr -d ' \\n' < errors.txt)\" = 13",
        ),
        RealTask(
            instruction=f"Sort {there}/names.txt and write the result to {there}/sorted.txt",
            directory=there,
            check='test "$(tr "\\n" " " < sorted.txt)" = "ada bruno mina selma walter "',
        ),
        RealTask(
            instruction=f"Append the lines of {there}/app.log that contain WARN to {there}/warnings.txt",
            directory=there,
            check='test "$(grep -c WARN warnings.txt)" = 13 && head -n 1 warnings.txt | grep -q yesterday',
        ),
    ]


def main(arguments: list[str]) -> int:
    """Run the demo; the exit code is that of an `edgeevo` command.

    `--compare` adds a night without evolution; all other arguments are settings (SECTION.KEY=VALUE) over configs/demo.toml.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    try:
        _play(tuple(each for each in arguments if each != "--compare"), compare="--compare" in arguments)
    except KeyboardInterrupt:
        click.echo("\nstopped; nothing is left running")
        return INTERRUPTED
    except EdgeevoError as error:
        click.echo(f"edgeevo: {clean(str(error))}\nhint: {clean(error.hint)}", err=True)
        return error.exit_code
    click.echo(f"\ntotal time {duration(time.monotonic() - started)}")
    return 0


def _play(wanted: tuple[str, ...], *, compare: bool) -> None:
    place = cache_place()
    with _directories(place) as (state, runtime, work):
        settings = Settings(str(share("configs") / "demo.toml"), (*overrides(place, state, runtime), *wanted))
        loaded: Loaded = settings.loaded
        _title(f"State in {state}")
        fetch(load_card(loaded.card_path), loaded.models_dir, lambda line: click.echo(clean(line)))
        with served(settings):
            _title("Three real tasks, before the night (nothing is written back)")
            _work(loaded, work)
            _title("Audit of the base model at its best prompt")
            follow(settings, AuditAsked(adapter="base"))
        with served(Settings(settings.config_option, (*settings.settings, f"idle.enter_dwell_seconds={DWELL_SECONDS}"))):
            _title("The idle window opens: one night")
            _wait_for_the_window(settings.loaded)
            trained = follow(settings, NightAsked()).adapter
            if trained:
                _title("Audit of what the night trained")
                follow(settings, AuditAsked(adapter=trained))
            if compare:
                _title("The comparison: as many examples, founders only, never promoted")
                other = follow(settings, NightAsked(comparison=True)).adapter
                if other:
                    follow(settings, AuditAsked(adapter=other))
            _title("The same three tasks, in the morning")
            _work(loaded, work)
        _title("Report")
        with Reader(loaded.database) as reader:
            click.echo("\n".join(lines(report(reader))))


def _wait_for_the_window(loaded: Loaded) -> None:
    """Until the daemon has begun its night by itself, to be followed. On a machine that others keep busy the night will be asked for."""
    told, deadline = "", time.monotonic() + WINDOW_SECONDS
    while time.monotonic() < deadline:
        status = ask(loaded.socket, StatusAsked())
        assert isinstance(status, Status)
        if status.working_on:
            return
        if status.detail != told:
            told = status.detail
            click.echo(f"         not idle yet: {clean(told)}" if told else "         idle")
        time.sleep(0.2)
    click.echo("         not idle: the night is asked for instead")


def _title(text: str) -> None:
    click.echo(f"\n== {clean(text)}")


def _work(loaded: Loaded, work: Path) -> None:
    for task in real_tasks(work):
        thinker = Thinker(loaded, None)
        click.echo(f"\n> {clean(task.instruction)}")
        try:
            perform(thinker, task)
        finally:
            thinker.close()


def cache_place() -> Path:
    """Where demos and the making of the factory adapter keep their state: in a checkout its .cache, else the user's cache."""
    checkout = share("configs").parent
    if (checkout / "pyproject.toml").is_file() and os.access(checkout, os.W_OK):
        return checkout / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgeevo"


def overrides(place: Path, state: Path, runtime: Path) -> tuple[str, ...]:
    """The settings that put everything of a run into these directories; models and audits are shared by all runs in `place`."""
    return (
        f"daemon.state_dir={state}",
        f"daemon.runtime_dir={runtime}",
        f"model.models_dir={place / 'models'}",
        f"audit.cache_dir={place / 'audits'}",
    )


@contextmanager
def _directories(place: Path) -> Iterator[tuple[Path, Path, Path]]:
    """A fresh state directory (the latest few are kept), a short runtime directory for the socket, and a directory of real files."""
    demos = place / "demo"
    demos.mkdir(parents=True, exist_ok=True)
    earlier = sorted((each for each in demos.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    for old in earlier[: max(0, len(earlier) - KEPT_RUNS + 1)]:
        if not _in_use(old):
            shutil.rmtree(old, ignore_errors=True)
    state = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=demos))
    runtime = Path(tempfile.mkdtemp(prefix="edgeevo-"))
    try:
        work = runtime / "work"
        for name, content in FILES.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        yield state, runtime, work
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


def _in_use(state: Path) -> bool:
    """Whether a daemon of another demo has this state directory."""
    try:
        with (state / "daemon.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return time.time() - state.stat().st_mtime < READY_SECONDS  # it is only just being started
    return False


@contextmanager
def served(settings: Settings) -> Iterator[None]:
    """The daemon as our child, ready to answer; it and everything it started are gone afterwards, whatever happens."""
    worker = Worker("edgeevo.daemon")
    try:
        worker.send({"config": settings.config_option, "settings": settings.settings})
        _wait_until_ready(settings.loaded, worker)
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not leave the daemon behind
        worker.close(STOP_SECONDS)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait_until_ready(loaded: Loaded, worker: Worker) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            ask(loaded.socket, StatusAsked(), timeout_seconds=5.0)
        except DaemonError:
            if not worker.alive:
                worker.receive()  # says why it ended
            time.sleep(0.05)
        else:
            return
    raise DaemonError(f"the daemon did not answer within {READY_SECONDS:.0f} s", hint="`edgeevo doctor` checks this machine")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
