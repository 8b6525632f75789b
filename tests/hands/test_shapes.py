"""Run in the real sandbox, write back, undo: whatever a directory holds is kept bit for bit, or refused by name with nothing changed."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeevo.domain import Changes, Limits
from edgeevo.errors import RefusedError
from edgeevo.hands import Ledger, Seen, apply, before, undo
from edgeevo.sandbox import Sandbox, open_sandbox
from tests.hands.conftest import done_for_real, photograph, plain

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_seconds=120.0, cpu_seconds=60, inodes=20_000)
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="makes files of other users")
Build = Callable[[Path], object]


def files(**contents: str) -> Build:
    """Small files by name; two underscores are a slash, and a dash is a dot."""

    def build(here: Path) -> None:
        for name, content in contents.items():
            path = here / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    return build


def several(*builds: Build) -> Build:
    return lambda here: [build(here) for build in builds]


def linked(name: str, target: str) -> Build:
    return lambda here: (here / name).symlink_to(target)


def second_name(old: str, new: str) -> Build:
    return lambda here: (here / new).hardlink_to(here / old)


def mode(name: str, bits: int) -> Build:
    return lambda here: (here / name).chmod(bits)


def owned(name: str, uid: int, gid: int) -> Build:
    return lambda here: os.chown(here / name, uid, gid, follow_symlinks=False)


def many(count: int) -> Build:
    return lambda here: [(here / f"f{number:05}").write_text(f"{number}\n") for number in range(count)]


def listening(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as link:
        old = os.getcwd()
        os.chdir(here)
        link.bind("sock")
        os.chdir(old)


def sparse(size: int) -> Build:
    def build(here: Path) -> None:
        with (here / "sparse").open("wb") as file:
            file.truncate(size)
            os.pwrite(file.fileno(), b"in the middle", size // 2)

    return build


def bytes_named(here: Path) -> None:
    for name in (b"bad\xff", b"gone\xfe\xfd"):
        Path(os.fsdecode(os.fsencode(here) + b"/" + name)).write_bytes(name)


def odd(here: Path) -> None:
    for name in ("new\nline", "-dash", "sp ace", "quo'te\"", "back\\xffslash", "esc\x1b[31m", "*", "$(x)", "ünï", "\u202eoverride"):
        (here / name).write_text(name)


def git(here: Path) -> None:
    run = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
    (here / "nested").mkdir()
    (here / "nested/a").write_text("one\n")
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "first"]):
        subprocess.run([*run, *words], cwd=here / "nested", check=True, env={"PATH": os.environ["PATH"], "HOME": str(here)})


def deep(levels: int) -> Build:
    def build(here: Path) -> None:
        place = here / "/".join(["d"] * levels)
        place.mkdir(parents=True)
        (place / "bottom").write_text("b")

    return build


def attributes(here: Path) -> None:
    for name in ("a", "b"):
        os.setxattr(here / name, "user.note", name.encode())


plain_files = files(a="one\n", b="two\n", sub__c="three\n")
KEPT = {
    "edited": (plain_files, "echo more >> a; sed -i s/two/2/ b"),
    "added and removed": (plain_files, "echo new > n; rm b sub/c"),
    "link changed": (several(plain_files, linked("l", "a")), "ln -sfn b l"),
    "link made and removed": (several(plain_files, linked("l", "a")), "rm l; ln -s sub/c m"),
    "link out of it left alone": (several(plain_files, linked("out", "/etc/hostname")), "echo x > a; echo y > out || true"),
    "link out of it removed": (several(plain_files, linked("out", "/etc")), "rm out"),
    "file to link out of it": (plain_files, "ln -sf /etc/shadow a"),
    "link to file": (several(plain_files, linked("l", "a")), "rm l; echo own > l"),
    "link to directory": (several(plain_files, linked("l", "sub")), "rm l; mkdir l; echo x > l/x"),
    "directory to link": (plain_files, "rm -r sub; ln -s a sub"),
    "file to directory": (plain_files, "rm a; mkdir a; echo x > a/x; mkdir a/deeper; echo y > a/deeper/y"),
    "directory to file": (several(plain_files, files(sub__more__d="d")), "rm -r sub; echo file > sub"),
    "directory made anew": (plain_files, "rm -r sub; mkdir sub; echo other > sub/d"),
    "directory renamed": (several(plain_files, files(sub__x__y="y")), "mv sub moved"),
    "files exchanged": (plain_files, "mv a t; mv b a; mv t b"),
    "new names of one file": (plain_files, "echo x > x; ln x y; ln x sub/z"),
    "new name of an old file": (plain_files, "ln a another"),
    "one of two names removed": (several(plain_files, second_name("a", "a2")), "rm a"),
    "both names removed": (several(plain_files, second_name("a", "sub/a2")), "rm a sub/a2"),
    "both names changed together": (several(plain_files, second_name("a", "a2")), "echo new > t; mv t a; ln -f a a2"),
    "2,000 files": (many(2000), "for f in f*; do echo x >> $f; done"),
    "odd names": (odd, 'for f in * -dash; do echo x >> "./$f"; done; rm -- -dash; echo z > "$(printf \'n\\ny\')"'),
    "names that are no UTF-8": (bytes_named, "echo x >> bad*; rm gone*; echo new > $(printf 'new\\377')"),
    "read-only files": (several(plain_files, mode("a", 0o444), mode("b", 0o400)), "rm -f a; mv -f b c; chmod 600 sub/c"),
    "read-only directory": (several(plain_files, mode("sub", 0o555)), "chmod 755 sub; echo x > sub/x; rm sub/c; chmod 555 sub"),
    "a nested git directory": (git, "cd nested && echo two >> a && git -c user.name=n -c user.email=e@x commit -qam second"),
    "a fifo beside it": (several(plain_files, lambda here: os.mkfifo(here / "fifo")), "echo x > a"),
    "a socket beside it": (several(plain_files, listening), "echo x > a"),
    "a sparse file of 2 GB beside it": (several(plain_files, sparse(2 << 30)), "echo x > a"),
    "a sparse file of 2 GB removed": (several(plain_files, sparse(2 << 30)), "rm sparse"),
    "a sparse file changed": (sparse(6 << 20), "printf end >> sparse"),
    "empty directories": (several(plain_files, lambda here: (here / "e/f").mkdir(parents=True)), "rmdir e/f e; mkdir -p g/h"),
    "a deep tree changed": (deep(40), f"echo x >> {'/'.join(['d'] * 40)}/bottom"),
    "a deep tree removed": (deep(40), "rm -r d"),
    "a very deep tree beside it": (several(plain_files, deep(300)), "echo x > a"),
    "mode bits": (plain_files, "chmod 750 a; chmod 1777 sub; chmod 000 b; mkdir -m 711 m; echo x > m/x; chmod 640 m/x"),
    "a set-id file changed loses the bit": (several(plain_files, mode("a", 0o4755)), "echo x > t; chmod 755 t; mv -f t a"),
    "a set-id file removed": (several(plain_files, mode("a", 0o6755)), "rm -f a"),
    "extended attributes": (several(plain_files, attributes), "echo x > t; mv t a; rm b"),
    "all removed": (several(plain_files, odd), "rm -rf ./* ./-dash"),
    "an empty file": (files(a=""), "true > b; rm a"),
}
HAS_CLOCK = "a nested git directory"  # its commits and its index hold times
REFUSED = {
    "one of two names changed": (several(plain_files, second_name("a", "a2")), "echo x >> a", r"a was changed, but not its other name a2"),
    "a name outside": (
        several(plain_files, lambda here: (here.parent / "outside").hardlink_to(here / "a")), "rm a", "a has another name .* outside",
    ),
    "a fifo removed": (several(plain_files, lambda here: os.mkfifo(here / "fifo")), "rm fifo", "fifo is a fifo"),
    "a fifo made": (plain_files, "mkfifo pipe; echo x > a", "pipe is neither"),
    "a socket removed": (several(plain_files, listening), "rm sock", "sock is a socket"),
    "a set-id bit given": (plain_files, "chmod u+s a", r"a would get the set-id bits 4000"),
    "a set-id file with another mode": (several(plain_files, mode("a", 0o4755)), "chmod 4711 a", "a has the set-id bits 4000"),
    "a file that is too large": (plain_files, "head -c 17M /dev/zero > big", "big was changed in a way that can't be read back"),
    "a link to nowhere sayable": (plain_files, "ln -s $(printf 'x\\377') l", "l was changed in a way that can't be read back"),
}  # fmt: skip


def worked_on(sandbox: Sandbox, directory: Path, command: str) -> tuple[Seen, Changes]:
    """What the directory was, and what the command made of a view of it."""
    seen = before(str(directory))
    box = sandbox.open_directory(directory, LIMITS)
    try:
        result = box.run(command)
        assert result.limit_hit is None
        return seen, box.changes()
    finally:
        box.close()


def round_trip(sandbox: Sandbox, directory: Path, ledger: Ledger, command: str, *, compare: bool = True) -> None:
    """Run, write back, look, undo, look."""
    expected = done_for_real(directory, command)
    original = photograph(directory)
    seen, changes = worked_on(sandbox, directory, command)
    assert photograph(directory) == original
    assert apply(seen, changes, ledger) is not None
    if compare:
        assert plain(photograph(directory)) == expected
    undo(ledger)
    assert photograph(directory) == original
    assert ledger.mark(ledger.ids()[-1]).phase == "undone"


@pytest.mark.parametrize("shape", list(KEPT))
def test_a_shape_is_written_back_and_undone_bit_for_bit(sandbox: Sandbox, directory: Path, ledger: Ledger, shape: str) -> None:
    """What is written back is what the command does to a real directory; undoing gives the original, times and holes included."""
    build, command = KEPT[shape]
    build(directory)
    round_trip(sandbox, directory, ledger, command, compare=shape != HAS_CLOCK)


@pytest.fixture(scope="module")
def copying() -> Iterator[Sandbox]:
    """A sandbox that shows copies, as where the kernel has no overlays for us."""
    with open_sandbox(tier="copy") as opened:
        yield opened


@pytest.mark.parametrize("shape", [shape for shape in KEPT if "2 GB" not in shape and "very deep" not in shape and "2,000" not in shape])
def test_a_shape_is_kept_where_views_are_copies(copying: Sandbox, directory: Path, ledger: Ledger, shape: str) -> None:
    """The other tier gives the same changes, and so the same round trip."""
    build, command = KEPT[shape]
    build(directory)
    round_trip(copying, directory, ledger, command, compare=shape != HAS_CLOCK)


@pytest.mark.slow
def test_ten_thousand_files_are_written_back_and_undone(sandbox: Sandbox, directory: Path, ledger: Ledger) -> None:
    """A large directory of which a good part changes."""
    many(10_000)(directory)
    round_trip(sandbox, directory, ledger, "for f in f0[0-5]*; do echo x >> $f; done")


@pytest.mark.parametrize("shape", list(REFUSED))
def test_a_shape_is_refused_by_name_and_nothing_changes(sandbox: Sandbox, directory: Path, ledger: Ledger, shape: str) -> None:
    """The message names the file and the reason; the directory stays bit for bit as it was, also where other changes were harmless."""
    build, command, message = REFUSED[shape]
    build(directory)
    original = photograph(directory)
    seen, changes = worked_on(sandbox, directory, command)
    with pytest.raises(RefusedError, match=message) as caught:
        apply(seen, changes, ledger)
    assert caught.value.hint and photograph(directory) == original and ledger.ids() == []


@needs_root
def test_files_of_other_users_keep_their_owners(sandbox: Sandbox, directory: Path, ledger: Ledger) -> None:
    """A replaced file has the owner of the one that it replaces; a removed one comes back with its own."""
    several(plain_files, owned("a", 4001, 4002), owned("b", 4003, 4004))(directory)
    original = photograph(directory)
    seen, changes = worked_on(sandbox, directory, "echo new > t; mv -f t a; rm -f b")
    apply(seen, changes, ledger)
    assert photograph(directory)[b"a"].owner == (4001, 4002)
    undo(ledger)
    assert photograph(directory) == original


@needs_root
def test_what_is_new_in_another_users_directory_belongs_to_that_user(sandbox: Sandbox, directory: Path, ledger: Ledger) -> None:
    """Root working for somebody leaves no file of root behind."""
    several(plain_files, *(owned(name, 4001, 4001) for name in (".", "a", "b", "sub", "sub/c")))(directory)
    directory.parent.chmod(0o755)
    original = photograph(directory)
    seen, changes = worked_on(sandbox, directory, "echo x > n; mkdir m; echo y > m/n; ln -s n l; echo z >> sub/c")
    apply(seen, changes, ledger)
    assert {shot.owner for shot in photograph(directory).values()} == {(4001, 4001)}
    undo(ledger)
    assert photograph(directory) == original


@needs_root
@pytest.mark.parametrize(("name", "value"), [("security.capability", b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0")])
def test_a_changed_file_never_keeps_capabilities(sandbox: Sandbox, directory: Path, ledger: Ledger, name: str, value: bytes) -> None:
    """A program with powers that the agent rewrote is refused by name."""
    plain_files(directory)
    os.setxattr(directory / "a", name, value)
    seen, changes = worked_on(sandbox, directory, "echo x > t; mv -f t a")
    with pytest.raises(RefusedError, match="a has the attribute"):
        apply(seen, changes, ledger)
    assert (directory / "a").read_text() == "one\n"


@needs_root
def test_a_device_is_never_removed(sandbox: Sandbox, directory: Path, ledger: Ledger) -> None:
    """A device node that the agent removed is refused by name."""
    plain_files(directory)
    os.mknod(directory / "dev", 0o20600, os.makedev(1, 3))
    seen, changes = worked_on(sandbox, directory, "rm -f dev")
    with pytest.raises(RefusedError, match="dev is a device"):
        apply(seen, changes, ledger)
    assert (directory / "dev").is_char_device()
