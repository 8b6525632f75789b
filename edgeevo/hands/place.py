"""A real directory, held open and looked at without ever following a link: what the agent or somebody else planted leads nowhere.

Every entry is reached by openat2 from the directory's own descriptor (beneath it, through no link, into no other mount) and then by its
last name. Paths are bytes relative to the directory, b"" is the directory itself.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import posixpath
import stat
import time
from collections.abc import Iterator

from edgeevo.domain import Value
from edgeevo.errors import RefusedError
from edgeevo.sandbox import kernel

MAX_ENTRIES = 200_000
BLOCK_BYTES, PAGE_BYTES = 1 << 16, 4096
TICK_SECONDS = 0.02  # more than a tick of the clock that files are stamped by
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_RESOLVE = kernel.SAFE_RESOLVE | kernel.RESOLVE_NO_XDEV


class Meta(Value):
    """An entry as it was seen: enough to tell whether it is still the same."""

    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    device: int
    inode: int
    names: int
    mtime_ns: int
    ctime_ns: int
    atime_ns: int
    allocated_bytes: int

    @property
    def sparse(self) -> bool:
        """Whether a file has holes."""
        return self.kind == "file" and self.allocated_bytes < self.size

    @property
    def identity(self) -> tuple[int, ...]:
        """Changes whenever the content may have changed, by nothing that we do to its names, and not by a remount."""
        return (self.inode, self.size, self.mtime_ns)


def meta_of(status: os.stat_result) -> Meta:
    """What stat says, in our words."""
    return Meta(
        kind=KINDS[stat.S_IFMT(status.st_mode)],
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        device=status.st_dev,
        inode=status.st_ino,
        names=status.st_nlink,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        atime_ns=status.st_atime_ns,
        allocated_bytes=status.st_blocks * 512,
    )


def attributes_at(fd: int, name: bytes) -> dict[str, bytes | None]:
    """The extended attributes of a file or directory in the directory `fd`; None for what we may not read."""
    opened = kernel.open_beneath(fd, name, os.O_PATH | os.O_NOFOLLOW)
    try:
        path = f"/proc/self/fd/{opened}"
        found: dict[str, bytes | None] = {}
        for key in os.listxattr(path):
            try:
                found[key] = os.getxattr(path, key)
            except PermissionError:
                found[key] = None
        return found
    finally:
        os.close(opened)


def shown(path: bytes) -> str:
    """A path for a message."""
    return path.decode("utf-8", "backslashreplace") or "."


class Place:
    """An open real directory. RefusedError when it can't be opened or is reached through a link."""

    def __init__(self, directory: bytes) -> None:
        self.directory = directory
        try:
            self.fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise RefusedError(
                f"directory {shown(directory)} can't be opened: {error.strerror}", hint="name an existing directory"
            ) from error

    @contextlib.contextmanager
    def parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """Descriptor of the directory that holds `path`, and its last name. OSError when there is none, or it is behind a link or mount."""
        fd = self.open(posixpath.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield fd, posixpath.basename(path)
        finally:
            os.close(fd)

    def open(self, path: bytes, flags: int, *, mode: int = 0) -> int:
        """A descriptor of `path` itself."""
        return kernel.open_beneath(self.fd, path or b".", flags | os.O_NOFOLLOW, resolve=_RESOLVE, mode=mode)

    def look(self, path: bytes) -> Meta | None:
        """What is at `path`, or None. A link or mount on the way counts as nothing being there."""
        try:
            if not path:
                return meta_of(os.fstat(self.fd))
            with self.parent(path) as (fd, name):
                return meta_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV):
                return None
            raise

    def names(self, path: bytes) -> list[bytes]:
        """The entries of a directory."""
        fd = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return os.listdir(f"/proc/self/fd/{fd}".encode())
        finally:
            os.close(fd)

    def target(self, path: bytes) -> bytes:
        """Where a link points."""
        with self.parent(path) as (fd, name):
            return os.readlink(name, dir_fd=fd)

    def handle(self) -> bytes:
        """What the file system calls the directory, for good; empty where it has no such names, or gives them anew with each mount."""
        status = os.fstat(self.fd)
        mark = f" {os.major(status.st_dev)}:{os.minor(status.st_dev)} "
        with open("/proc/self/mountinfo", errors="surrogateescape") as mounts:
            if any(mark in line and " - fuse" in line for line in mounts):
                return b""
        return kernel.handle(self.fd)

    def close(self) -> None:
        """Let the directory go."""
        os.close(self.fd)


class Seen(Value):
    """A directory as it was before the agent was shown it; `left_out` are directories that we may not read."""

    directory: bytes
    entries: dict[bytes, Meta]
    left_out: tuple[bytes, ...] = ()


def look_around(place: Place) -> Seen:
    """Everything in a directory, as it is now. RefusedError when something is mounted in it, or it has too many entries."""
    seen = _scan(place)
    newest = max(meta.ctime_ns for meta in seen.entries.values())
    if time.time_ns() - newest < TICK_SECONDS * 1e9:  # a change within the same tick could not be told from none
        time.sleep(TICK_SECONDS)
        return _scan(place)
    return seen


def _scan(place: Place) -> Seen:
    root = meta_of(os.fstat(place.fd))
    entries, left_out, waiting = {b"": root}, [], [b""]
    while waiting:
        inside = waiting.pop()
        try:
            fd = place.open(inside, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            left_out.append(inside)
            continue
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise _mounted(place, inside) from error
            if error.errno == errno.ENAMETOOLONG:
                raise RefusedError(
                    f"{shown(place.directory)} is deeper than a path may be long (at {shown(inside[:200])}…)", hint="name a directory in it"
                ) from error
            continue  # it went away
        try:
            for name in os.listdir(f"/proc/self/fd/{fd}".encode()):
                path = inside + b"/" + name if inside else name
                try:
                    meta = meta_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
                except FileNotFoundError:
                    continue
                if meta.device != root.device:
                    raise _mounted(place, path)
                entries[path] = meta
                if meta.kind == "directory":
                    waiting.append(path)
        finally:
            os.close(fd)
        if len(entries) > MAX_ENTRIES:
            raise RefusedError(f"{shown(place.directory)} has more than {MAX_ENTRIES} entries", hint="name a smaller directory")
    return Seen(directory=place.directory, entries=entries, left_out=tuple(left_out))


def _mounted(place: Place, path: bytes) -> RefusedError:
    return RefusedError(
        f"something is mounted at {shown(place.directory + b'/' + path)}", hint="unmount it, or name a directory without mounts"
    )


def blocks(fd: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file that are not all zero, with their offsets; holes are not read."""
    size = os.fstat(fd).st_size
    at = 0
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA) // BLOCK_BYTES * BLOCK_BYTES
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            if error.errno != errno.EINVAL:
                raise
        while at < size:
            block = os.pread(fd, BLOCK_BYTES, at)
            if not block:
                return
            at += BLOCK_BYTES
            if not block.strip(b"\0"):
                break  # perhaps a hole begins
            yield at - BLOCK_BYTES, block


def digest_of(fd: int) -> bytes:
    """A hash of a file's content and size, however sparse it is."""
    found = hashlib.blake2b(os.fstat(fd).st_size.to_bytes(8, "big"), digest_size=32)
    for at, block in blocks(fd):
        found.update(at.to_bytes(8, "big") + block)
    return found.digest()


def copy_content(source: int, target: int, *, sparse: bool) -> bytes:
    """Copy a file's content and give its hash; with `sparse` blocks of zeros become holes."""
    size = os.fstat(source).st_size
    found = hashlib.blake2b(size.to_bytes(8, "big"), digest_size=32)
    os.ftruncate(target, size)
    written = 0
    for at, block in blocks(source):
        found.update(at.to_bytes(8, "big") + block)
        if sparse:
            for page in range(0, len(block), PAGE_BYTES):
                if (data := block[page : page + PAGE_BYTES]).strip(b"\0"):
                    _write(target, data, at + page)
            continue
        _fill(target, written, at)
        _write(target, block, at)
        written = at + len(block)
    if not sparse:
        _fill(target, written, size)
    return found.digest()


def _fill(target: int, start: int, end: int) -> None:
    while start < end:
        size = min(BLOCK_BYTES, end - start)
        _write(target, b"\0" * size, start)
        start += size


def _write(target: int, data: bytes, at: int) -> None:
    while data:
        done = os.pwrite(target, data, at)
        data, at = data[done:], at + done
