"""Between looking and writing anything may happen: links that were planted, files that somebody edits, users who may not do everything."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeevo.domain import Changes, Directory, File, Node
from edgeevo.errors import RefusedError
from edgeevo.hands import Ledger, apply, before, resume, undo
from tests.hands.conftest import photograph

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
USER = 4001


@pytest.fixture
def project(directory: Path) -> Path:
    """Two files and a directory."""
    (directory / "sub").mkdir()
    for name in ("a", "b", "sub/c"):
        (directory / name).write_text(f"{name}\n")
    return directory


def wanted(directory: Path, **nodes: Node | None) -> Changes:
    return Changes(nodes={f"{directory}/{name.replace('__', '/')}": node for name, node in nodes.items()})


def keep_time(path: Path, text: str) -> None:
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def swap_for_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def directory_for_link(here: Path) -> None:
    (here / "sub").rename(here.parent / "outside")
    (here / "sub").symlink_to(here.parent / "outside")


def directory_anew(here: Path) -> None:
    (here / "sub").rename(here / "old")
    (here / "sub").mkdir()


NEW = File(data=b"new\n")
MEANWHILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "content": (lambda here: (here / "a").write_text("A\n"), "a was changed meanwhile"),
    "content of the same size and time": (lambda here: keep_time(here / "a", "A\n"), "a was changed meanwhile"),
    "mode": (lambda here: (here / "a").chmod(0o600), "a was changed meanwhile"),
    "another file": (lambda here: (here / "b").replace(here / "a"), "a was changed meanwhile"),
    "gone": (lambda here: (here / "a").unlink(), "a was changed meanwhile"),
    "a link in its place": (lambda here: swap_for_link(here / "a"), "a was changed meanwhile"),
    "made by somebody else": (lambda here: (here / "new").write_text("mine"), "new was made meanwhile"),
    "its directory became a link": (directory_for_link, "sub"),
    "its directory is another one": (directory_anew, "sub"),
}


@pytest.mark.parametrize("case", list(MEANWHILE))
def test_what_changed_meanwhile_is_never_overwritten(project: Path, ledger: Ledger, case: str) -> None:
    """The file is named, and nothing at all is written."""
    change, message = MEANWHILE[case]
    seen = before(str(project))
    change(project)
    there = photograph(project)
    with pytest.raises(RefusedError, match=message):
        apply(seen, wanted(project, a=NEW, new=NEW, sub__c=NEW, sub__d=NEW, b=None), ledger)
    assert photograph(project) == there and ledger.ids() == []


def test_what_changes_at_the_last_moment_is_put_back(project: Path, ledger: Ledger) -> None:
    """A file that somebody saves between preparation and exchange keeps what they wrote, and all other files are as before."""
    seen, original = before(str(project)), photograph(project)

    def save(name: str) -> None:
        if name == "make durable: prepared files":
            (project / "b").write_text("saved by somebody\n")

    with pytest.raises(RefusedError, match="b was changed meanwhile"):
        apply(seen, wanted(project, a=NEW, b=NEW, sub__c=None), ledger, step=save)
    now = photograph(project)
    assert now.pop(b"b").content == b"saved by somebody\n"
    assert {path: shot.content for path, shot in now.items()} == {path: shot.content for path, shot in original.items() if path != b"b"}


def test_a_link_planted_at_the_last_moment_leads_nowhere(project: Path, ledger: Ledger, tmp_path: Path) -> None:
    """A directory that becomes a link while we write is never followed; what lies behind the link stays as it was."""
    seen = before(str(project))
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/c").write_text("precious")

    def plant(name: str) -> None:
        if name == "make durable: prepared files":
            (project / "sub").rename(project / "aside")
            (project / "sub").symlink_to(tmp_path / "victim")

    with pytest.raises(RefusedError):
        apply(seen, wanted(project, sub__c=NEW, sub__d=NEW), ledger, step=plant)
    assert {path.name: path.read_text() for path in (tmp_path / "victim").iterdir()} == {"c": "precious"}


def test_a_disk_that_fills_up_changes_nothing(project: Path, ledger: Ledger) -> None:
    """An error of the system in the middle puts back what was written."""
    seen, original = before(str(project)), photograph(project)

    def full(name: str) -> None:
        if name.startswith("replace b"):
            raise OSError(28, "No space left on device")

    with pytest.raises(RefusedError, match="No space left"):
        apply(seen, wanted(project, a=NEW, b=NEW, sub=None, sub__c=None), ledger, step=full)
    assert photograph(project) == original


def test_ctrl_c_while_writing_puts_back_what_was_written(project: Path, ledger: Ledger) -> None:
    """KeyboardInterrupt in the middle leaves the original."""
    seen, original = before(str(project)), photograph(project)

    def interrupt(name: str) -> None:
        if name.startswith("replace b"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(seen, wanted(project, a=NEW, b=NEW), ledger, step=interrupt)
    assert photograph(project) == original


def test_what_others_may_enter_holds_no_records(tmp_path: Path) -> None:
    """A directory for records that is open to others is refused."""
    (tmp_path / "undo").mkdir(mode=0o755)
    with pytest.raises(RefusedError, match="only you can enter") as caught:
        Ledger(tmp_path / "undo")
    assert "chmod" in caught.value.hint


def test_a_damaged_record_is_never_written(project: Path, ledger: Ledger) -> None:
    """A stored content that is not what was stored is refused by name; the directory stays."""
    seen = before(str(project))
    apply(seen, wanted(project, a=NEW), ledger)
    (ledger.place / ledger.ids()[0] / "old" / "0").write_bytes(b"A\n")
    with pytest.raises(RefusedError, match="stored content of a is damaged"):
        undo(ledger)
    assert (project / "a").read_bytes() == b"new\n"


def test_another_directory_of_the_same_name_is_not_touched(project: Path, ledger: Ledger) -> None:
    """Undoing is about the directory, not about its path."""
    apply(before(str(project)), wanted(project, a=NEW), ledger)
    project.rename(project.with_name("moved"))
    project.mkdir()
    (project / "a").write_bytes(b"new\n")
    with pytest.raises(RefusedError, match="is not the directory of run"):
        undo(ledger)
    assert (project / "a").read_bytes() == b"new\n"


@pytest.mark.parametrize("work", [undo, resume])
def test_there_may_be_nothing_to_undo_or_finish(ledger: Ledger, work: Callable[[Ledger], object]) -> None:
    """Without any record both say so."""
    with pytest.raises(RefusedError, match="known are: none"):
        work(ledger)


def as_user(work: Callable[[], object]) -> str:
    """Do this as another user in a process of its own; gives the refusal, or nothing when all went well."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            work()
        except RefusedError as error:
            os.write(write, str(error).encode())
        except BaseException:  # noqa: BLE001 - told by the parent
            os.write(write, traceback.format_exc().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def theirs(project: Path) -> Path:
    """The directory belongs to an unprivileged user who can reach it."""
    for path in (project.parent, project, *project.rglob("*")):
        os.chown(path, USER, USER)
    for path in project.parents:
        if path.name.startswith("pytest-") or path == project.parent:
            path.chmod(path.stat().st_mode | 0o011)
    return project


@needs_root
def test_an_unprivileged_user_writes_back_and_undoes(theirs: Path) -> None:
    """Nothing of it needs root; directories without write permission are opened for the time of the work."""
    (theirs / "sub").chmod(0o500)
    original = photograph(theirs)
    place = theirs.parent / "records"
    changes = wanted(theirs, a=NEW, b=None, sub__c=File(data=b"x", mode=0o400), sub__d=NEW, made=Directory(mode=0o500), made__x=NEW)
    assert as_user(lambda: apply(before(str(theirs)), changes, Ledger(place))) == ""
    now = photograph(theirs)
    assert (now[b"sub"].mode, now[b"made"].mode, now[b"made/x"].owner, now[b"sub/c"].content) == (0o500, 0o500, (USER, USER), b"x")
    assert as_user(lambda: undo(Ledger(place))) == ""
    assert photograph(theirs) == original


@needs_root
def test_ownership_that_can_not_be_kept_is_refused(theirs: Path) -> None:
    """A file of another user, or of a group that one isn't in, is refused by name, for its owner could not be given back."""
    os.chown(theirs / "a", 0, 0)
    os.chown(theirs / "b", USER, 0)
    original = photograph(theirs)
    said = as_user(lambda: apply(before(str(theirs)), wanted(theirs, a=None, b=NEW), Ledger(theirs.parent / "records")))
    assert "a belongs to user 0 and group 0" in said and f"b belongs to user {USER} and group 0" in said
    assert photograph(theirs) == original


@needs_root
def test_a_directory_that_one_may_not_write_to_is_refused(theirs: Path) -> None:
    """Another user's directory inside one's own is named before anything is written."""
    os.chown(theirs / "sub", 0, 0)
    original = photograph(theirs)
    said = as_user(lambda: apply(before(str(theirs)), wanted(theirs, a=NEW, sub__d=NEW), Ledger(theirs.parent / "records")))
    assert "sub can't be written to by you" in said and photograph(theirs) == original


def test_one_may_undo_around_what_was_changed_since(project: Path, ledger: Ledger) -> None:
    """Leaving what is newer, the rest is undone, and the old content of what was left is kept with the record."""
    apply(before(str(project)), wanted(project, a=NEW, b=NEW, made=Directory(), made__x=NEW), ledger)
    (project / "a").write_text("newer")
    (project / "made/mine").write_text("mine")
    left: list[str] = []
    journal = undo(ledger, leave_changed=left)
    assert sorted(left) == ["a", "made"]
    assert (project / "a").read_text() == "newer" and (project / "b").read_text() == "b\n"
    assert [path.name for path in (project / "made").iterdir()] == ["mine"]
    assert (ledger.place / journal.id / "old" / "0").read_bytes() == b"a\n"


def test_a_mode_that_somebody_gave_a_directory_since_is_kept(project: Path, ledger: Ledger) -> None:
    """Undoing a change of a file does not undo somebody's chmod of its directory."""
    apply(before(str(project)), wanted(project, sub__c=NEW), ledger)
    (project / "sub").chmod(0o700)
    undo(ledger)
    assert (project / "sub").stat().st_mode & 0o777 == 0o700 and (project / "sub/c").read_text() == "sub/c\n"


@needs_root
def test_what_may_not_be_read_is_refused(theirs: Path) -> None:
    """A file that one may remove but not read could not be given back: it is named, and stays."""
    (theirs / "a").chmod(0)
    said = as_user(lambda: apply(before(str(theirs)), wanted(theirs, a=None), Ledger(theirs.parent / "records")))
    assert "a can't be read" in said and (theirs / "a").exists()


@needs_root
def test_a_directory_of_a_group_is_worked_on_by_its_members(theirs: Path) -> None:
    """Where one may write but does not own, files come and go, and undoing leaves only the directory's time as it is."""
    os.chown(theirs, 0, USER)
    theirs.chmod(0o775)
    original = photograph(theirs)
    place = theirs.parent / "records"
    assert as_user(lambda: apply(before(str(theirs)), wanted(theirs, a=None, n=NEW), Ledger(place))) == ""
    assert not (theirs / "a").exists() and as_user(lambda: undo(Ledger(place))) == ""
    now = photograph(theirs)
    assert now[b""]._replace(mtime_ns=0) == original[b""]._replace(mtime_ns=0)
    assert {path: shot for path, shot in now.items() if path} == {path: shot for path, shot in original.items() if path}
