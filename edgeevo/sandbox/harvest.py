"""Read what an agent left behind: the upper layers of a box, compared with the lower ones, within bounds and through no link.

Everything read here is hostile: trees may be thousands deep, files huge or sparse, names any bytes, entries fifos or links to anywhere.
Each entry is opened by its last name relative to its directory's descriptor with openat2 (BENEATH, NO_SYMLINKS, NO_MAGICLINKS).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.sandbox import kernel
from edgeevo.sandbox.box import Layer
from edgeevo.sandbox.laying import SPECIAL_TARGET

MAX_NODES, MAX_BYTES, MAX_DEPTH = 8192, 16 << 20, 48
SYSTEM_PLACES = frozenset((b"usr", b"proc", b"dev", b"sys"))  # mount points in the root: whatever lies below is never seen by a box
_OPAQUE = "user.overlay.opaque"


class _BoundReachedError(Exception):
    """A bound was reached; what was found so far stands."""


class _Harvest:
    def __init__(self) -> None:
        self.nodes: dict[str, Node | None] = {}
        self.complete = True
        self._bytes_left = MAX_BYTES

    def note(self, path: bytes, node: Node | None) -> None:
        if len(self.nodes) >= MAX_NODES:
            self.complete = False
            raise _BoundReachedError
        self.nodes[path.decode("utf-8", "backslashreplace")] = node

    def take(self, size: int) -> bool:
        """Whether a file of this size still fits."""
        if size > self._bytes_left:
            self.complete = False
            return False
        self._bytes_left -= size
        return True


def harvest(layers: Sequence[Layer]) -> Changes:
    """What differs in the box from its initial state; `complete` is False when a bound was hit. Touched but equal entries are no change.

    Something that is neither file, directory nor link (a fifo, a socket) is given as a link with an empty target, which no real link has.
    """
    found = _Harvest()
    places = {os.fsencode(layer.prefix) for layer in layers if layer.prefix}
    try:
        for layer in layers:
            lowers = [os.open(lower, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for lower in layer.lowers]
            upper = os.open(layer.upper, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _walk(found, upper, lowers, os.fsencode(layer.prefix), b"", 0, places)
            finally:
                for fd in (upper, *lowers):
                    os.close(fd)
    except _BoundReachedError:
        found.complete = False
    return Changes(nodes=found.nodes, complete=found.complete)


def _walk(found: _Harvest, upper: int, lowers: list[int], prefix: bytes, inside: bytes, depth: int, places: set[bytes]) -> None:
    for name in sorted(os.listdir(f"/proc/self/fd/{upper}".encode())):
        if not inside and not prefix and name in SYSTEM_PLACES:
            continue
        relative = inside + b"/" + name if inside else name
        path = prefix + b"/" + relative
        if path in places:
            continue  # the mount point of another layer
        status = os.stat(name, dir_fd=upper, follow_symlinks=False)
        before = _lower_status(lowers, relative)
        was_directory = before is not None and stat.S_ISDIR(before[1].st_mode)
        if was_directory and not stat.S_ISDIR(status.st_mode):
            _note_removed(found, lowers, relative, path, depth)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if before is not None:
                found.note(path, None)
        elif stat.S_ISDIR(status.st_mode):
            _walk_directory(found, upper, name, lowers, prefix, relative, depth, places, before, status)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=upper)
            if before is None or not stat.S_ISLNK(before[1].st_mode) or _lower_link(before[0], relative) != target:
                found.note(path, Link(target=target.decode("utf-8", "backslashreplace")))
        elif stat.S_ISREG(status.st_mode):
            _note_file(found, upper, name, path, relative, before)
        else:
            found.note(path, Link(target=SPECIAL_TARGET))


def _walk_directory(
    found: _Harvest,
    upper: int,
    name: bytes,
    lowers: list[int],
    prefix: bytes,
    relative: bytes,
    depth: int,
    places: set[bytes],
    before: tuple[int, os.stat_result] | None,
    status: os.stat_result,
) -> None:
    path = prefix + b"/" + relative
    was_directory = before is not None and stat.S_ISDIR(before[1].st_mode)
    mode = stat.S_IMODE(status.st_mode)
    is_skeleton_of_place = any(place.startswith(path + b"/") for place in places)
    if not is_skeleton_of_place and (before is None or not was_directory or stat.S_IMODE(before[1].st_mode) != mode):
        found.note(path, Directory(mode=mode))
    if depth >= MAX_DEPTH:
        found.complete = False
        return
    fd = kernel.open_beneath(upper, name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if was_directory and _is_opaque(fd):
            _note_removed(found, lowers, relative, path, depth, frozenset(os.listdir(f"/proc/self/fd/{fd}".encode())))
        _walk(found, fd, lowers, prefix, relative, depth + 1, places)
    finally:
        os.close(fd)


def _is_opaque(fd: int) -> bool:
    try:
        return os.getxattr(fd, _OPAQUE) == b"y"
    except OSError:
        return False


def _note_file(found: _Harvest, upper: int, name: bytes, path: bytes, relative: bytes, before: tuple[int, os.stat_result] | None) -> None:
    fd = kernel.open_beneath(upper, name, os.O_RDONLY | os.O_NONBLOCK)
    with open(fd, "rb", buffering=0) as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not found.take(status.st_size):
            return
        data = _read(file.fileno(), status.st_size)
    mode = stat.S_IMODE(status.st_mode)
    if (
        before is not None
        and stat.S_ISREG(before[1].st_mode)
        and stat.S_IMODE(before[1].st_mode) == mode
        and before[1].st_size == len(data)
    ):
        lower = kernel.open_beneath(before[0], relative, os.O_RDONLY | os.O_NONBLOCK)
        with open(lower, "rb", buffering=0):
            if _read(lower, len(data)) == data:
                return
    found.note(path, File(data=data, mode=mode))


def _read(fd: int, size: int) -> bytes:
    parts, left = [], size
    while left and (part := os.read(fd, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _lower_status(lowers: list[int], relative: bytes) -> tuple[int, os.stat_result] | None:
    """The descriptor of the topmost lower layer that holds this path, and its status there; never through a link."""
    for root in lowers:
        try:
            fd = kernel.open_beneath(root, relative, os.O_PATH | os.O_NOFOLLOW)
        except OSError:
            continue
        status = os.fstat(fd)
        os.close(fd)
        return root, status
    return None


def _lower_link(root: int, relative: bytes) -> bytes:
    fd = kernel.open_beneath(root, relative, os.O_PATH | os.O_NOFOLLOW)
    try:
        return os.readlink(b"", dir_fd=fd)
    finally:
        os.close(fd)


def _note_removed(
    found: _Harvest, lowers: list[int], relative: bytes, path: bytes, depth: int, kept: frozenset[bytes] = frozenset()
) -> None:
    """Note as removed everything that the lower layers hold below a directory, except the names in `kept` right below it."""
    for name in sorted(set(_lower_names(lowers, relative)) - kept):
        child = relative + b"/" + name
        found.note(path + b"/" + name, None)
        before = _lower_status(lowers, child)
        if before is not None and stat.S_ISDIR(before[1].st_mode):
            if depth >= MAX_DEPTH:
                found.complete = False
                return
            _note_removed(found, lowers, child, path + b"/" + name, depth + 1)


def _lower_names(lowers: list[int], relative: bytes) -> Iterator[bytes]:
    for root in lowers:
        try:
            fd = kernel.open_beneath(root, relative, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            yield from os.listdir(f"/proc/self/fd/{fd}".encode())
        finally:
            os.close(fd)
