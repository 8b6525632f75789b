"""Which directories are never worked on: by device and inode, whatever they are called."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from edgeevo.errors import RefusedError
from edgeevo.hands import before, concerns, refuse_directory
from edgeevo.hands.refusing import Guarded, mount_points

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A state directory of edgeevo's with something in it."""
    (tmp_path / "up/state/adapters").mkdir(parents=True)
    return tmp_path / "up/state"


def test_a_directory_of_ones_own_may_be_worked_on(tmp_path: Path, own: Path) -> None:
    """Beside the state directory, nothing stands in the way on this machine."""
    (tmp_path / "mine").mkdir()
    refuse_directory(str(tmp_path / "mine"), own=[own], holding=[tmp_path / "up/edgeevo.toml"])
    assert before(str(tmp_path / "mine")).entries.keys() == {b""}


@pytest.mark.parametrize(("name", "how"), [("", "is"), ("adapters", "lies in"), ("..", "contains")])
def test_edgeevos_own_directories_are_refused(own: Path, name: str, how: str) -> None:
    """The directory itself, what lies in it and what contains it; the error says which, and what to do instead."""
    with pytest.raises(RefusedError, match=f"{how} a directory of edgeevo's own") as caught:
        refuse_directory(str(own / name), own=[own], others=())
    assert str(own) in str(caught.value) and caught.value.hint


def test_another_name_of_a_refused_directory_is_refused(tmp_path: Path, own: Path) -> None:
    """A link to it, and a path through `..`, are the same directory."""
    (tmp_path / "alias").symlink_to(own)
    for spelling in (tmp_path / "alias", tmp_path / "alias/adapters", own / "adapters/../../state"):
        with pytest.raises(RefusedError, match="edgeevo's own"):
            refuse_directory(str(spelling), own=[own], others=())


def test_a_state_directory_that_is_named_through_a_link_is_found(tmp_path: Path, own: Path) -> None:
    """The configuration may spell it as it likes."""
    (tmp_path / "alias").symlink_to(own)
    with pytest.raises(RefusedError, match="edgeevo's own"):
        refuse_directory(str(own), own=[tmp_path / "alias"], others=())


@pytest.mark.skipif(os.getuid() != 0, reason="mounts")
def test_a_bind_mount_of_a_refused_directory_is_refused(tmp_path: Path, own: Path) -> None:
    """Device and inode are the same under another path that is no link."""
    (tmp_path / "bound").mkdir()
    program = (
        "import sys; from edgeevo.hands import refuse_directory; from pathlib import Path\n"
        "try: refuse_directory(sys.argv[1], own=[Path(sys.argv[2])], others=())\nexcept Exception as error: print(error)"
    )
    script = 'mount --bind "$2" "$1" && exec "$0" -c "$3" "$1" "$2"'
    command = ["unshare", "-m", "bash", "-c", script, sys.executable, str(tmp_path / "bound"), str(own), program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "edgeevo's own" in done.stdout, done.stderr


def test_the_directory_of_the_configuration_is_refused(tmp_path: Path) -> None:
    """It and what contains it; not what merely lies beside the file."""
    (tmp_path / "conf/beside").mkdir(parents=True)
    for name in ("conf", "."):
        with pytest.raises(RefusedError, match="configuration"):
            refuse_directory(str(tmp_path / name), own=(), holding=[tmp_path / "conf/edgeevo.toml"], others=())
    refuse_directory(str(tmp_path / "conf/beside"), own=(), holding=[tmp_path / "conf/edgeevo.toml"], others=())


def test_a_place_that_is_not_there_yet_is_guarded(tmp_path: Path) -> None:
    """Before the first record is made, the directories in which it will lie are refused already; their neighbours are not."""
    (tmp_path / ".local/state").mkdir(parents=True)
    (tmp_path / ".local/share").mkdir()
    for name in (".", ".local", ".local/state"):
        with pytest.raises(RefusedError, match="would contain a directory of edgeevo's own"):
            refuse_directory(str(tmp_path / name), own=[tmp_path / ".local/state/edgeevo/undo"], others=())
    refuse_directory(str(tmp_path / ".local/share"), own=[tmp_path / ".local/state/edgeevo/undo"], others=())


def test_the_callers_own_home_is_refused_wherever_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom no list names (of a directory service) has a home in HOME and under the own number."""
    monkeypatch.setattr(pwd, "getpwall", list)
    (tmp_path / "me").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    with pytest.raises(RefusedError, match="is a home directory"):
        refuse_directory(str(tmp_path / "me"), own=())
    monkeypatch.delenv("HOME")
    real = pwd.getpwuid(os.geteuid())
    fields = [*real]
    fields[5] = str(tmp_path / "me")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(fields))
    with pytest.raises(RefusedError, match="is a home directory"):
        refuse_directory(str(tmp_path / "me"), own=())


HOMES = [entry.pw_dir for entry in pwd.getpwall() if Path(entry.pw_dir).is_dir()]


@pytest.mark.parametrize("place", sorted({"/", "/root", "/home", "/etc", "/etc/ssl", "/usr", "/usr/share", "/proc/self", "/dev", *HOMES}))
def test_homes_and_places_of_the_system_are_refused(place: str) -> None:
    """The root, home roots, every home of the password file, and what belongs to the system."""
    if not Path(place).is_dir():
        pytest.skip("not on this machine")
    with pytest.raises(RefusedError) as caught:
        refuse_directory(place, own=())
    assert caught.value.hint and place in str(caught.value)


def test_mount_points_are_refused_and_what_contains_them(tmp_path: Path) -> None:
    """A place where something is mounted is not worked on, nor is a directory that has one in it."""
    (tmp_path / "a/mounted/inner").mkdir(parents=True)
    mounts = [Guarded(path=str(tmp_path / "a/mounted"), what="a mount point")]
    for name, how in (("a/mounted", "is a mount point"), ("a", "contains a mount point")):
        with pytest.raises(RefusedError, match=how):
            refuse_directory(str(tmp_path / name), own=(), others=mounts)
    refuse_directory(str(tmp_path / "a/mounted/inner"), own=(), others=mounts)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts")
def test_a_nested_mount_is_refused_when_the_directory_is_looked_at(tmp_path: Path) -> None:
    """Also one of the same file system, which no device number tells."""
    (tmp_path / "project/inner").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    program = "import sys; from edgeevo.hands import before\ntry: before(sys.argv[1])\nexcept Exception as error: print(error)"
    script = 'mount --bind "$1/../elsewhere" "$1/inner" && exec "$0" -c "$2" "$1"'
    command = ["unshare", "-m", "bash", "-c", script, sys.executable, str(tmp_path / "project"), program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"something is mounted at {tmp_path}/project/inner" in done.stdout, done.stderr


def test_mount_points_are_read_with_their_escapes() -> None:
    """Blanks in a path are octal in /proc; automounts are not touched."""
    text = "1 0 0:1 / /a\\040b rw - ext4 /dev/x rw\n2 0 0:2 / /auto rw shared:1 - autofs x rw\n"
    assert mount_points(text) == ["/a b"]


def test_what_could_not_be_changed_is_told_beforehand(tmp_path: Path) -> None:
    """A fifo and hard links are named with their reasons."""
    here = tmp_path / "project"
    here.mkdir()
    os.mkfifo(here / "fifo")
    (here / "a").write_text("x")
    (here / "b").hardlink_to(here / "a")
    (here / "c").write_text("x")
    (tmp_path / "out").hardlink_to(here / "c")
    told = sorted(concerns(before(str(here))))
    assert [line.split(":")[0] for line in told][1:] == ["c", "fifo"] and "2 names" in told[0] and "outside" in told[1]
