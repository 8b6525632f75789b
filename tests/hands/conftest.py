"""Photographs of directories: everything that undoing has to give back, and what a command would have made of a copy."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from edgeevo.hands import Ledger


class Shot(NamedTuple):
    """One entry: all that can be seen of it but access times and inode numbers."""

    kind: int
    mode: int
    owner: tuple[int, int]
    content: bytes
    names: tuple[bytes, ...]  # of the same file
    xattrs: tuple[tuple[str, bytes], ...]
    mtime_ns: int
    sparse: bool


def photograph(directory: Path) -> dict[bytes, Shot]:
    """Every entry below a directory, and the directory itself, by relative path."""
    top, found, inodes = os.fsencode(directory), {}, {}
    paths = [top]
    while paths:
        path = paths.pop()
        status = os.lstat(path)
        content, xattrs = b"", ()
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            content = content_of(path, status)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            xattrs = tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
        if stat.S_ISDIR(status.st_mode):
            paths += [path + b"/" + name for name in os.listdir(path)]
        relative = path[len(top) + 1 :]
        inodes.setdefault(status.st_ino, []).append(relative)
        sparse = stat.S_ISREG(status.st_mode) and status.st_blocks * 512 < status.st_size
        found[relative] = Shot(
            stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid), content, (status.st_ino,),
            xattrs, status.st_mtime_ns, sparse,
        )  # fmt: skip
    return {path: shot._replace(names=tuple(sorted(inodes[shot.names[0]]))) for path, shot in found.items()}


def content_of(path: bytes, status: os.stat_result) -> bytes:
    """The bytes of a file; of a huge one its data and where it lies."""
    if status.st_size < 64 << 20:
        return Path(os.fsdecode(path)).read_bytes()
    parts, at = [str(status.st_size).encode()], 0
    with open(path, "rb") as file:
        while at < status.st_size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            data = os.pread(file.fileno(), end - at, at).rstrip(b"\0")
            parts.append(data)
            at = end
    return b"|".join(part for part in parts if part)


def plain(shots: dict[bytes, Shot]) -> dict[bytes, tuple[object, ...]]:
    """What a command makes wherever it runs: kinds, modes, contents and names."""
    return {path: (shot.kind, shot.mode, shot.content, shot.names) for path, shot in shots.items() if path}


def done_for_real(directory: Path, command: str) -> dict[bytes, tuple[object, ...]]:
    """What the command makes of a copy of the directory, without our sandbox.

    The rest of the machine is read-only to it: some of these commands write through links that lead out of the directory.
    """
    copy = directory.with_name(directory.name + "-copy")
    subprocess.run(["cp", "-a", "--sparse=always", str(directory), str(copy)], check=True)
    held = ["bwrap", "--ro-bind", "/", "/", "--bind", str(copy), str(copy), "--dev", "/dev", "--chdir", str(copy), "--"]
    command_line = [*held, "bash", "-c", command]
    subprocess.run(command_line, check=False, umask=0o022, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return plain(photograph(copy))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An empty directory that tasks may be done in."""
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Records of their own."""
    return Ledger(tmp_path / "state" / "undo")
