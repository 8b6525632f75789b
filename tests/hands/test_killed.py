"""Writing back and undoing, killed before every one of their steps: each name is old or new, and the journal finishes the work."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.errors import RefusedError
from edgeevo.hands import Before, Count, KillAt, Ledger, apply, before, resume, undo
from tests.hands.conftest import Shot, photograph, plain


def build(here: Path) -> None:
    """Something of each kind."""
    for name, text in {"edited": "old", "removed": "gone", "swapped": "was a file", "tree/x": "x", "tree/deep/y": "y", "one": "1"}.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    (here / "two").hardlink_to(here / "one")
    (here / "link").symlink_to("edited")
    (here / "closed").mkdir(mode=0o500)
    os.utime(here / "edited", ns=(1, 2))
    os.utime(here, ns=(3, 4))


def changes(here: Path) -> Changes:
    """Edits, additions, removals and changes of kind."""
    nodes: dict[str, Node | None] = {
        "edited": File(data=b"new", mode=0o600),
        "removed": None,
        "swapped": Directory(mode=0o750),
        "swapped/inner": File(data=b"inner"),
        "tree": File(data=b"was a tree"),
        "tree/x": None,
        "tree/deep": None,
        "tree/deep/y": None,
        "link": Link(target="/nowhere"),
        "two": None,
        "made": Directory(mode=0o500),
        "made/in": File(data=b"in"),
        "made/same": File(data=b"in"),
        "closed/new": File(data=b"n"),
    }
    same = ((f"{here}/made/in", f"{here}/made/same"),)
    return Changes(nodes={f"{here}/{path}": node for path, node in nodes.items()}, same=same)


def killed(work: Callable[[Before], object], number: int) -> bool:
    """Do this in a process that is killed before its step `number`; whether it came that far."""
    child = os.fork()
    if not child:
        try:
            work(KillAt(number))
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def steps(work: Callable[[Before], object]) -> int:
    """How many steps this has."""
    count = Count()
    work(count)
    return len(count.names)


class Site:
    """One directory with its record, before and after."""

    def __init__(self, place: Path) -> None:
        self.directory, self.records = place / "project", place / "undo"
        self.directory.mkdir(parents=True)
        build(self.directory)
        self.seen = before(str(self.directory))
        self.original = photograph(self.directory)

    def apply(self, step: Before) -> None:
        apply(self.seen, changes(self.directory), Ledger(self.records, step=step), step=step)

    def undo(self, step: Before) -> None:
        undo(Ledger(self.records, step=step), step=step)

    def resume(self, step: Before) -> None:
        resume(Ledger(self.records, step=step), step=step)

    def begun(self) -> bool:
        """Whether a record says that something may have been touched."""
        ledger = Ledger(self.records)
        return any(ledger.mark(run).phase != "undone" for run in ledger.ids())

    def now(self) -> dict[bytes, Shot]:
        """Its photograph."""
        return photograph(self.directory)


def nothing(_: str) -> None:
    """No kill."""


@pytest.fixture(scope="module")
def goal(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, tuple[object, ...]]:
    """What writing back makes when nothing happens."""
    site = Site(tmp_path_factory.mktemp("goal"))
    site.apply(nothing)
    return plain(site.now())


def total(tmp_path_factory: pytest.TempPathFactory) -> int:
    return steps(Site(tmp_path_factory.mktemp("count")).apply)


def contents(shots: dict[bytes, tuple[object, ...]]) -> dict[bytes, tuple[object, object]]:
    return {path: (shot[0], shot[2]) for path, shot in shots.items()}


@pytest.mark.parametrize("way", ["undo", "resume"])
def test_a_kill_at_every_step_of_writing_back_can_be_finished_both_ways(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, goal: dict[bytes, tuple[object, ...]], way: str
) -> None:
    """After SIGKILL every name is old or new, and `undo` gives the original bit for bit, `resume` the whole result."""
    number = total(tmp_path_factory)
    assert number > 40
    for kill in range(number):
        site = Site(tmp_path / str(kill))
        assert killed(site.apply, kill)
        old, new, now = contents(plain(site.original)), contents(goal), contents(plain(site.now()))
        ours = {path for path in now if path.startswith(b".edgeevo-")}
        assert [path for path in {*old, *new, *now} - ours if now.get(path) not in (old.get(path), new.get(path))] == []
        if not site.begun():
            assert site.now() == site.original
        elif way == "undo":
            site.undo(nothing)
            assert site.now() == site.original
        elif Ledger(site.records).mark(Ledger(site.records).ids()[0]).phase == "applying":
            site.resume(nothing)
            assert plain(site.now()) == goal


def test_a_kill_at_every_step_of_undoing_can_be_finished(tmp_path: Path) -> None:
    """An undoing that was killed is finished by another, which gives the original bit for bit."""
    first = Site(tmp_path / "count")
    first.apply(nothing)
    number = steps(first.undo)
    for kill in range(number):
        site = Site(tmp_path / str(kill))
        site.apply(nothing)
        assert killed(site.undo, kill)
        if site.begun():
            site.undo(nothing)
        assert site.now() == site.original


def test_kills_may_follow_upon_each_other(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Killed while writing back, killed again while resuming, killed while undoing: the original comes back all the same."""
    for kill in range(8, total(tmp_path_factory), 7):
        site = Site(tmp_path / str(kill))
        killed(site.apply, kill)
        killed(site.resume, kill // 2)
        killed(site.undo, kill // 3)
        if site.begun():
            site.undo(nothing)
        assert site.now() == site.original


def test_nothing_is_changed_before_all_that_undoes_it_is_durable(tmp_path: Path) -> None:
    """The journal is whole before the directory is touched, new files before they get their names, and old ones stay until then."""
    count = Count()
    Site(tmp_path).apply(count)
    kinds = ["write the journal", "name the record", "mark applying", "make the staging directory", "prepare edited"]
    kinds += ["make durable: prepared files", "replace edited", "make durable: new names", "remove what was displaced", "mark applied"]
    places = [count.names.index(kind) for kind in kinds]
    assert places == sorted(places)
    changing = [place for place, name in enumerate(count.names) if name.split()[0] in ("replace", "make", "remove")]
    assert all(place > places[2] for place in changing)


def test_what_is_finished_is_what_was_broken_off(tmp_path: Path) -> None:
    """`resume` without a run takes the one that was broken off, also when a later one on another directory is complete."""
    first, second = Site(tmp_path / "1"), Site(tmp_path / "2")
    second.records = first.records
    killed(first.apply, 20)
    second.apply(nothing)
    first.resume(nothing)
    assert plain(first.now()) == plain(second.now())


def test_a_second_run_on_a_directory_waits_for_the_first_to_be_finished(tmp_path: Path) -> None:
    """While one application is broken off, another on the same directory is refused with the way to finish it."""
    site = Site(tmp_path)
    killed(site.apply, 20)
    site.seen = before(str(site.directory))
    with pytest.raises(RefusedError, match="was broken off") as caught:
        site.apply(nothing)
    assert "resume-apply" in caught.value.hint
    site.undo(nothing)
    assert site.now() == site.original


def test_what_somebody_changed_since_is_never_undone(tmp_path: Path) -> None:
    """A file that was edited after the application is named, and nothing at all is undone."""
    site = Site(tmp_path)
    site.apply(nothing)
    (site.directory / "swapped/inner").write_text("mine now")
    (site.directory / "swapped/also").write_text("mine")
    there = site.now()
    with pytest.raises(RefusedError, match=r"swapped/inner was changed meanwhile.*swapped/also was made meanwhile"):
        site.undo(nothing)
    assert site.now() == there


def test_directories_that_somebody_used_since_keep_their_new_times(tmp_path: Path) -> None:
    """Undoing beside somebody's new file leaves that file, and the time at which it was made."""
    site = Site(tmp_path)
    site.apply(nothing)
    (site.directory / "mine").write_text("mine")
    at = site.now()[b""].mtime_ns
    site.undo(nothing)
    now = site.now()
    assert now.pop(b"mine").content == b"mine" and now[b""].mtime_ns >= at
    assert {path: shot for path, shot in now.items() if path} == {path: shot for path, shot in site.original.items() if path}
