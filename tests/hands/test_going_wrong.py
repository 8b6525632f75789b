"""When putting back is not possible as it was: nothing that exists only once is ever lost, and what is left is told."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from edgeevo.domain import Changes, Directory, File, Node
from edgeevo.errors import RefusedError
from edgeevo.hands import Count, KillAt, Ledger, apply, before, place, resume, undo
from edgeevo.sandbox import kernel
from tests.hands.conftest import photograph
from tests.hands.test_hostile import as_user, needs_root, project, theirs
from tests.hands.test_killed import killed

__all__ = ["project", "theirs"]
NEW = File(data=b"new\n")


def wanted(directory: Path, **nodes: Node | None) -> Changes:
    return Changes(nodes={f"{directory}/{name.replace('__', '/')}": node for name, node in nodes.items()})


def kept(ledger: Ledger, run: str) -> list[bytes]:
    """The originals that a record holds."""
    return sorted(path.read_bytes() for path in (ledger.place / run / "old").glob("*"))


def test_a_rollback_that_leaves_something_keeps_its_original(project: Path, ledger: Ledger) -> None:
    """A file that somebody saved after we wrote it is told, its original stays with the record, and `undo` finds the run."""

    def meddle(name: str) -> None:
        if name == "replace b":
            (project / "a").write_text("new\nand mine\n")
            (project / "b").write_text("mine\n")

    with pytest.raises(RefusedError, match="could be put back: a was changed since") as caught:
        apply(before(str(project)), wanted(project, a=NEW, b=NEW), ledger, step=meddle)
    run = ledger.ids()[0]
    assert run in caught.value.hint and b"a\n" in kept(ledger, run)
    left: list[str] = []
    assert undo(ledger, leave_changed=left).id == run and "a" in left
    assert b"a\n" in kept(ledger, run) and (project / "a").read_text() == "new\nand mine\n"


def test_an_interrupt_that_leaves_something_keeps_its_original(project: Path, ledger: Ledger) -> None:
    """The same after Ctrl-C: it is no silent end."""

    def meddle(name: str) -> None:
        if name == "replace b":
            (project / "a").write_text("mine\n")
            raise KeyboardInterrupt

    with pytest.raises(RefusedError, match="was stopped, and not all of it could be put back: a was changed since"):
        apply(before(str(project)), wanted(project, a=NEW, b=NEW), ledger, step=meddle)
    assert b"a\n" in kept(ledger, ledger.ids()[0]) and ledger.mark(ledger.ids()[0]).phase == "undoing"


@pytest.mark.parametrize("number", [10, 16])
@pytest.mark.parametrize("work", [undo, resume])
def test_a_device_number_that_a_reboot_changed_is_no_obstacle(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, number: int, work: object
) -> None:
    """A directory is known by its inode and handle; the number of its device is not asked."""
    (project / "a2").hardlink_to(project / "a")
    changes = wanted(project, a2=None, b=NEW, sub__c=NEW)
    seen, original = before(str(project)), photograph(project)
    assert killed(lambda step: apply(seen, changes, Ledger(ledger.place, step=step), step=step), number)
    real = place.meta_of
    monkeypatch.setattr(place, "meta_of", lambda status: msgspec.structs.replace(real(status), device=77))
    work(ledger)  # type: ignore[operator]
    if work is undo:
        assert photograph(project) == original
    else:
        assert not (project / "a2").exists() and (project / "b").read_bytes() == b"new\n"
        undo(ledger)
        assert photograph(project) == original


def test_our_staging_directory_proves_that_a_directory_is_ours(project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it lies, the handle does not matter; where it doesn't, another handle is another directory."""
    seen, original = before(str(project)), photograph(project)
    assert killed(lambda step: apply(seen, wanted(project, a=NEW), Ledger(ledger.place, step=step), step=step), 10)
    assert list(project.glob(".edgeevo-*"))
    monkeypatch.setattr(kernel, "handle", lambda _: b"another")
    undo(ledger)
    assert photograph(project) == original
    monkeypatch.undo()
    apply(before(str(project)), wanted(project, a=NEW), ledger)
    monkeypatch.setattr(kernel, "handle", lambda _: b"another")
    with pytest.raises(RefusedError, match="is not the directory of run"):
        undo(ledger)


def test_a_handle_tells_two_directories_apart(tmp_path: Path) -> None:
    """It is the same each time it is asked for, and another one for another directory (or empty where there are none)."""
    handles = []
    for path in (tmp_path, tmp_path, tmp_path.parent):
        fd = os.open(path, os.O_RDONLY)
        handles.append(kernel.handle(fd))
        os.close(fd)
    assert handles[0] == handles[1] and (handles[0] != handles[2] or not handles[0])


def test_another_name_that_was_edited_since_does_not_stop_undoing(project: Path, ledger: Ledger) -> None:
    """The edited hard link is named; leaving it, the removed name comes back as a file of its own with the old content."""
    (project / "b").unlink()
    (project / "b").hardlink_to(project / "a")
    apply(before(str(project)), wanted(project, b=None, sub__c=NEW), ledger)
    (project / "a").write_text("edited\n")
    with pytest.raises(RefusedError, match="a, of which b was another name, was changed meanwhile"):
        undo(ledger)
    left: list[str] = []
    undo(ledger, leave_changed=left)
    assert left == ["a"]
    assert [(project / name).read_text() for name in ("a", "b", "sub/c")] == ["edited\n", "a\n", "sub/c\n"]


@needs_root
def test_attributes_that_one_can_not_give_back_are_refused(theirs: Path) -> None:
    """A program with capabilities is not removed for a user who could not restore them; it is named."""
    os.setxattr(theirs / "a", "security.capability", b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0")
    original = photograph(theirs)
    said = as_user(lambda: apply(before(str(theirs)), wanted(theirs, a=None, b=NEW), Ledger(theirs.parent / "records")))
    assert "a has the attribute security.capability, which you can't give back" in said and photograph(theirs) == original


def test_whoever_saves_twice_keeps_the_newest(project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that replaces a file before our exchange and again before it is taken back has its newest there, and the other is told."""

    def save(text: str) -> None:
        (project / "a~").write_text(text)
        (project / "a~").rename(project / "a")

    real, calls = kernel.rename, []

    def rename(*words: object) -> None:
        calls.append(words)
        if len(calls) == 2:
            save("second\n")
        real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel, "rename", rename)
    with pytest.raises(RefusedError, match=r"displaced is in edgeevo-kept-\S+ \(of a\)"):
        apply(before(str(project)), wanted(project, a=NEW), ledger, step=lambda name: save("first\n") if name == "replace a" else None)
    assert (project / "a").read_text() == "second\n"
    assert [path.read_text() for path in project.glob("edgeevo-kept-*")] == ["first\n"]


@pytest.mark.parametrize(("nodes", "kept_text"), [({"a": None}, "first\n"), ({"a": NEW}, "first\n")])
def test_a_name_that_came_and_went_twice_loses_nothing(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, nodes: dict[str, Node | None], kept_text: str
) -> None:
    """Where what was displaced can't go back, because the name is taken (or gone) once more, it is kept and told."""
    removing = nodes["a"] is None
    real, calls = kernel.rename, []

    def rename(*words: object) -> None:
        calls.append(words)
        if len(calls) == 2 and removing:
            (project / "a").write_text("second\n")
        elif len(calls) == 2:
            (project / "a").unlink()
        real(*words)  # type: ignore[arg-type]

    def save(name: str) -> None:
        if name in ("remove a", "replace a"):
            (project / "a~").write_text("first\n")
            (project / "a~").rename(project / "a")

    monkeypatch.setattr(kernel, "rename", rename)
    with pytest.raises(RefusedError, match=r"displaced is in edgeevo-kept-\S+ \(of a\)"):
        apply(before(str(project)), wanted(project, **nodes), ledger, step=save)
    assert [path.read_text() for path in project.glob("edgeevo-kept-2*")] == [kept_text]
    assert (project / "a").exists() == removing and not list(project.glob(".edgeevo-*"))


def test_what_a_kill_left_displaced_is_not_deleted(project: Path, ledger: Ledger) -> None:
    """Content in the staging directory that the record does not hold stays, whichever way the work is finished."""
    seen = before(str(project))

    def work(step: KillAt) -> None:
        def save_and_step(name: str) -> None:
            if name == "replace a":
                (project / "mine").write_text("saved just then\n")
                (project / "mine").rename(project / "a")
            step(name)

        apply(seen, wanted(project, a=NEW), Ledger(ledger.place), step=save_and_step)

    original = kernel.rename

    def rename_and_die(*words: object) -> None:
        original(*words)  # type: ignore[arg-type]
        os.kill(os.getpid(), 9)

    def dying(_: object) -> None:
        kernel.rename = rename_and_die  # type: ignore[assignment]  # in a child only
        work(KillAt(1000))

    assert killed(dying, 0)
    journal = undo(ledger)
    assert (project / "a").read_text() == "a\n" and ledger.mark(journal.id).kept
    assert [path.read_text() for path in project.glob("edgeevo-kept-*")] == ["saved just then\n"]


@needs_root
def test_files_that_forbid_their_owner_to_read_are_undone(theirs: Path) -> None:
    """Modes without a right to read are compared and given back all the same, for a user who is not root."""
    original = photograph(theirs)
    records = theirs.parent / "records"
    changes = wanted(theirs, a=File(data=b"x", mode=0), b=File(data=b"b\n", mode=0o200), n=File(data=b"n", mode=0))
    assert as_user(lambda: apply(before(str(theirs)), changes, Ledger(records))) == ""
    assert (theirs / "a").stat().st_mode & 0o777 == 0
    assert as_user(lambda: undo(Ledger(records))) == ""
    assert photograph(theirs) == original


@needs_root
def test_a_top_directory_that_one_may_not_write_to_is_refused_at_once(theirs: Path) -> None:
    """Nothing is begun, so that nothing is left to be finished; also where the changes are in a directory of one's own below it."""
    os.chown(theirs, 0, 0)
    theirs.chmod(0o755)
    original = photograph(theirs)
    place_of_records = theirs.parent / "records"
    said = as_user(lambda: apply(before(str(theirs)), wanted(theirs, sub__c=NEW), Ledger(place_of_records)))
    assert f"{theirs} can't be written to by you: Permission denied" in said and photograph(theirs) == original
    assert Ledger.ids.__get__(_bare(place_of_records))() == []


def _bare(records: Path) -> Ledger:
    """Another user's records, to look at."""
    ledger = Ledger.__new__(Ledger)
    ledger.place = records
    return ledger


@pytest.mark.parametrize("when", ["mark applied", "mark applying"])
def test_ctrl_c_while_the_mark_is_made_leaves_the_original(project: Path, ledger: Ledger, when: str) -> None:
    """Neither the first nor the last mark is a moment in which an interrupt leaves something unfinished."""

    def interrupt(name: str) -> None:
        if name == when:
            raise KeyboardInterrupt

    original = photograph(project)
    with pytest.raises(KeyboardInterrupt):
        apply(before(str(project)), wanted(project, a=NEW, sub__c=None), Ledger(ledger.place, step=interrupt))
    assert photograph(project) == original and ledger.mark(ledger.ids()[0]).phase == "undone"


def test_what_was_promised_to_be_kept_is_never_pruned(project: Path, ledger: Ledger) -> None:
    """The originals of what was left stay however many runs follow; other undone records go."""
    first = apply(before(str(project)), wanted(project, a=NEW), ledger)
    assert first is not None
    (project / "a").write_text("mine\n")
    undo(ledger, leave_changed=[])
    for _ in range(22):
        apply(before(str(project)), wanted(project, x=NEW), ledger)
        undo(ledger)
    with ledger.locked():
        assert kept(ledger, first.id) == [b"a\n"] and len(ledger.ids()) == 21


def test_attributes_that_somebody_gave_since_are_not_undone(project: Path, ledger: Ledger) -> None:
    """A file or a made directory with new extended attributes counts as changed, and is left as it is."""
    apply(before(str(project)), wanted(project, a=NEW, b=NEW, made=Directory()), ledger)
    for name in ("a", "made"):
        os.setxattr(project / name, "user.note", b"mine")
    with pytest.raises(RefusedError, match=r"made was changed meanwhile; .*a was changed meanwhile"):
        undo(ledger)
    left: list[str] = []
    undo(ledger, leave_changed=left)
    assert sorted(left) == ["a", "made"] and (project / "b").read_text() == "b\n"
    assert os.getxattr(project / "a", "user.note") == os.getxattr(project / "made", "user.note") == b"mine"


def test_a_mode_that_somebody_gave_since_to_a_directory_we_changed_is_not_undone(project: Path, ledger: Ledger) -> None:
    """It is named; leaving it, the mode stays."""
    apply(before(str(project)), wanted(project, sub=Directory(mode=0o700), a=NEW), ledger)
    (project / "sub").chmod(0o500)
    with pytest.raises(RefusedError, match="sub was changed meanwhile"):
        undo(ledger)
    left: list[str] = []
    undo(ledger, leave_changed=left)
    assert left == ["sub"] and (project / "sub").stat().st_mode & 0o777 == 0o500 and (project / "a").read_text() == "a\n"


def test_a_file_system_without_unnamed_files_is_asked_for_its_rights(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one may write there is then told by the rights alone."""
    real = place.Place.open

    def without(self: place.Place, path: bytes, flags: int, *, mode: int = 0) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return real(self, path, flags, mode=mode)

    monkeypatch.setattr(place.Place, "open", without)
    apply(before(str(project)), wanted(project, a=NEW), ledger)
    assert (project / "a").read_bytes() == b"new\n"


def test_a_file_system_that_can_not_be_written_to_is_refused_before_the_record(
    project: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read-only, or full: the reason is the system's own."""
    real = place.Place.open

    def read_only(self: place.Place, path: bytes, flags: int, *, mode: int = 0) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EROFS, "Read-only file system")
        return real(self, path, flags, mode=mode)

    monkeypatch.setattr(place.Place, "open", read_only)
    with pytest.raises(RefusedError, match="can't be written to by you: Read-only file system"):
        apply(before(str(project)), wanted(project, a=NEW), ledger)
    assert ledger.ids() == []


def test_a_second_ctrl_c_while_putting_back_says_how_to_finish(project: Path, ledger: Ledger) -> None:
    """The first interrupt begins to put back, the second stops that: the error names the run and `undo`, which gives the original back."""
    original, stops = photograph(project), iter(("replace b", "prepare a"))
    next_stop = [next(stops)]

    def impatient(name: str) -> None:
        if name == next_stop[0]:
            next_stop[0] = next(stops, "")
            raise KeyboardInterrupt

    with pytest.raises(RefusedError, match="putting back what had been written was stopped as well") as caught:
        apply(before(str(project)), wanted(project, a=NEW, b=NEW), ledger, step=impatient)
    run = ledger.ids()[0]
    assert ledger.mark(run).phase == "applying" and f"`edgeevo undo {run}`" in caught.value.hint
    undo(ledger)
    assert photograph(project) == original


def test_a_system_error_at_any_step_of_undoing_is_told_with_the_way_on(project: Path, ledger: Ledger) -> None:
    """A full or failing disk in the middle of undoing is an error of ours, and a second undoing gives the original back."""
    changes, original, count = wanted(project, a=NEW, sub__c=None, made=Directory()), photograph(project), Count()
    apply(before(str(project)), changes, ledger)
    undo(Ledger(ledger.place, step=count), step=count)
    assert len(count.names) > 8
    for number in range(len(count.names)):
        journal = apply(before(str(project)), changes, ledger)
        assert journal is not None
        full = FullAt(number)
        with pytest.raises(RefusedError, match="No space left on device") as caught:
            undo(Ledger(ledger.place, step=full), step=full)
        assert f"`edgeevo undo {journal.id}` goes on" in caught.value.hint
        undo(ledger)
        assert photograph(project) == original


class FullAt:
    """The disk is full at step number `number`."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, name: str) -> None:
        """Fail when it is time."""
        self.left -= 1
        if self.left == -1:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["journal", "phase"])
def test_a_damaged_record_is_told_as_one(project: Path, ledger: Ledger, name: str) -> None:
    """A record that can't be read is an error of ours with the place in it, and the directory is not touched."""
    journal = apply(before(str(project)), wanted(project, a=NEW), ledger)
    assert journal is not None
    (ledger.place / journal.id / name).write_bytes(b"\0")
    with pytest.raises(RefusedError, match=journal.id) as caught:
        undo(ledger)
    assert caught.value.hint and (project / "a").read_bytes() == b"new\n"
