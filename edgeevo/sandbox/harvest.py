"""Read what an agent left behind: the writable layers of a box, compared with the initial ones, within bounds and through no link.

Everything read here is hostile: trees may be thousands deep, files huge or sparse, names any bytes, entries fifos or links to anywhere.
Each entry is opened by its last name relative to its directory's descriptor with openat2 (BENEATH, NO_SYMLINKS, NO_MAGICLINKS).

Of an overlay only the upper layer is walked, with its whiteouts and opaque directories; a copy is walked as a whole, which its quota
bounds, and what it lacks was removed. Times prove nothing there (a mapped file is written without a trace): every content is compared.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.sandbox import kernel
from edgeevo.sandbox.layers import CHUNK_BYTES, OPAQUE, CopiedLayer, Layer, OverlayLayer, new_digest
from edgeevo.sandbox.laying import SPECIAL_TARGET
from edgeevo.sandbox.namespace import SYSTEM_PLACES

MAX_NODES, MAX_BYTES, MAX_DEPTH = 8192, 16 << 20, 48


class _BoundReachedError(Exception):
    """A bound was reached; what was found so far stands."""


class _Harvest:
    def __init__(self) -> None:
        self.nodes: dict[str, Node | None] = {}
        self.raw: dict[str, bytes] = {}
        self.left_out: list[str] = []
        self.names: dict[tuple[int, int], list[bytes]] = {}  # of files with several names, by device and inode
        self.complete = True
        self._bytes_left = MAX_BYTES

    def note(self, path: bytes, node: Node | None) -> None:
        if len(self.nodes) >= MAX_NODES:
            self.complete = False
            raise _BoundReachedError
        key = _key(path)
        if key in self.nodes:  # two names that look the same once escaped
            self.leave_out(path)
            return
        self.nodes[key] = node
        if key.encode("utf-8") != path:
            self.raw[key] = path

    def leave_out(self, path: bytes) -> None:
        """Note that something differs here that can't be told."""
        self.left_out.append(_key(path))

    def take(self, path: bytes, size: int) -> bool:
        """Whether a file of this size still fits."""
        if size > self._bytes_left:
            self.complete = False
            self.leave_out(path)
            return False
        self._bytes_left -= size
        return True

    def changes(self) -> Changes:
        """All that was noted."""
        groups = [tuple(map(_key, names)) for names in self.names.values()]
        same = tuple(group for group in groups if len(group) > 1 and any(key in self.nodes for key in group))
        return Changes(nodes=self.nodes, complete=self.complete, raw=self.raw, same=same, left_out=tuple(self.left_out))


def _key(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def harvest(layers: Sequence[Layer]) -> Changes:
    """What differs in the box from its initial state; `complete` is False when a bound was hit. Touched but equal entries are no change.

    Something that is neither file, directory nor link (a fifo, a socket) is given as a link with an empty target, which no real link has.
    """
    found = _Harvest()
    places = frozenset(os.fsencode(layer.prefix) for layer in layers if layer.prefix)
    try:
        for layer in layers:
            initial = _Record(layer) if isinstance(layer, CopiedLayer) else _Lowers(layer)
            try:
                _Walk(found, layer, initial, places).run()
            finally:
                initial.close()
    except _BoundReachedError:
        found.complete = False
    return found.changes()


class _Before(NamedTuple):
    """An entry as it was: its st_mode and size, and where to find the rest."""

    mode: int
    size: int
    root: int = -1


class _Lowers:
    """The initial tree of an overlay: the union of its lower directories, never read through a link."""

    def __init__(self, layer: OverlayLayer) -> None:
        self._roots = [os.open(lower, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for lower in layer.lowers]

    def close(self) -> None:
        for root in self._roots:
            os.close(root)

    def find(self, relative: bytes) -> _Before | None:
        """What the topmost directory that holds this path has there."""
        for root in self._roots:
            try:
                fd = kernel.open_beneath(root, relative, os.O_PATH | os.O_NOFOLLOW)
            except OSError:
                continue
            status = os.fstat(fd)
            os.close(fd)
            return _Before(status.st_mode, status.st_size, root)
        return None

    def target(self, before: _Before, relative: bytes) -> bytes:
        """Target of a link."""
        fd = kernel.open_beneath(before.root, relative, os.O_PATH | os.O_NOFOLLOW)
        try:
            return os.readlink(b"", dir_fd=fd)
        finally:
            os.close(fd)

    def equals(self, before: _Before, relative: bytes, other: int) -> bool:
        """Whether a file has the content of an open one of the same size."""
        fd = kernel.open_beneath(before.root, relative, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                ours, theirs = _read(fd, CHUNK_BYTES), _read(other, CHUNK_BYTES)
                if ours != theirs:
                    return False
                if len(ours) < CHUNK_BYTES:
                    return True
        finally:
            os.close(fd)

    def names(self, relative: bytes) -> Iterator[bytes]:
        """Entries of a directory."""
        for root in self._roots:
            try:
                fd = kernel.open_beneath(root, relative, os.O_RDONLY | os.O_DIRECTORY)
            except OSError:
                continue
            try:
                yield from os.listdir(f"/proc/self/fd/{fd}".encode())
            finally:
                os.close(fd)


class _Record:
    """The initial tree of a copy, as it was recorded when it was made."""

    def __init__(self, layer: CopiedLayer) -> None:
        self._layer = layer

    def close(self) -> None:
        """Nothing is held open."""

    def find(self, relative: bytes) -> _Before | None:
        """What was made at this path."""
        made = self._layer.made.get(relative)
        return None if made is None else _Before(made.mode, made.size)

    def target(self, _: _Before, relative: bytes) -> bytes:
        """Target of a link."""
        return self._layer.made[relative].content

    def equals(self, _: _Before, relative: bytes, other: int) -> bool:
        """Whether a file had the content of an open one of the same size."""
        digest = new_digest()
        while chunk := os.read(other, CHUNK_BYTES):
            digest.update(chunk)
        return digest.digest() == self._layer.made[relative].content

    def names(self, relative: bytes) -> set[bytes]:
        """Entries of a directory."""
        return self._layer.names.get(relative, set())


class _Walk:
    """One walk over the writable tree of a layer."""

    def __init__(self, found: _Harvest, layer: Layer, initial: _Lowers | _Record, places: frozenset[bytes]) -> None:
        self._found, self._initial, self._places = found, initial, places
        self._prefix = os.fsencode(layer.prefix)
        self._copied = isinstance(layer, CopiedLayer)
        self._top = layer.merged if isinstance(layer, CopiedLayer) else layer.upper

    def run(self) -> None:
        fd = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if self._copied:
                kept = frozenset(os.listdir(f"/proc/self/fd/{fd}".encode()))
                self._note_removed(b"", 0, kept if self._prefix else kept | SYSTEM_PLACES)
            self._walk(fd, b"", 0)
        finally:
            os.close(fd)

    def _path(self, relative: bytes) -> bytes:
        return self._prefix + b"/" + relative

    def _walk(self, here: int, inside: bytes, depth: int, *, anew: bool = False) -> None:
        """Note what differs in an open directory; `anew`: it was made anew, so that nothing shows through, at any depth."""
        for name in sorted(os.listdir(f"/proc/self/fd/{here}".encode())):
            if not inside and not self._prefix and name in SYSTEM_PLACES:
                continue
            relative = inside + b"/" + name if inside else name
            path = self._path(relative)
            if path in self._places:
                continue  # the mount point of another layer
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            before = self._initial.find(relative)
            if before is not None and stat.S_ISDIR(before.mode) and not stat.S_ISDIR(status.st_mode):
                self._note_removed(relative, depth)
            if stat.S_ISDIR(status.st_mode):
                self._walk_directory(here, name, relative, depth, before, status, anew=anew)
            else:
                self._note_entry(here, name, relative, before, status)

    def _note_entry(self, here: int, name: bytes, relative: bytes, before: _Before | None, status: os.stat_result) -> None:
        """Note an entry that is no directory, if it differs."""
        path = self._path(relative)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0 and not self._copied:  # a whiteout
            if before is not None:
                self._found.note(path, None)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=here)
            if before is None or not stat.S_ISLNK(before.mode) or self._initial.target(before, relative) != target:
                self._found.note(path, Link(target=_key(target)))
                if _key(target).encode() != target:
                    self._found.leave_out(path)
        elif stat.S_ISREG(status.st_mode):
            self._note_file(here, name, relative, before)
        elif before is None or stat.S_IFMT(before.mode) != stat.S_IFMT(status.st_mode):
            self._found.note(path, Link(target=SPECIAL_TARGET))

    def _walk_directory(
        self, here: int, name: bytes, relative: bytes, depth: int, before: _Before | None, status: os.stat_result, *, anew: bool
    ) -> None:
        path = self._path(relative)
        was_directory = before is not None and stat.S_ISDIR(before.mode)
        mode = stat.S_IMODE(status.st_mode)
        is_skeleton_of_place = any(place.startswith(path + b"/") for place in self._places)
        if not is_skeleton_of_place and (before is None or not was_directory or stat.S_IMODE(before.mode) != mode):
            self._found.note(path, Directory(mode=mode))
        if depth >= MAX_DEPTH:
            self._found.complete = False
            return
        fd = kernel.open_beneath(here, name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            anew = anew or _is_opaque(fd)  # below an opaque directory no other one is marked
            if was_directory and (self._copied or anew):
                self._note_removed(relative, depth, frozenset(os.listdir(f"/proc/self/fd/{fd}".encode())))
            self._walk(fd, relative, depth + 1, anew=anew)
        finally:
            os.close(fd)

    def _note_file(self, here: int, name: bytes, relative: bytes, before: _Before | None) -> None:
        fd = kernel.open_beneath(here, name, os.O_RDONLY | os.O_NONBLOCK)
        with open(fd, "rb", buffering=0):
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return
            mode, size = stat.S_IMODE(status.st_mode), status.st_size
            if status.st_nlink > 1:
                self._found.names.setdefault((status.st_dev, status.st_ino), []).append(self._path(relative))
            if before is not None and before.mode == status.st_mode and before.size == size:
                if self._initial.equals(before, relative, fd):
                    return
                os.lseek(fd, 0, os.SEEK_SET)
            if not self._found.take(self._path(relative), size):
                return
            data = _read(fd, size)
        self._found.note(self._path(relative), File(data=data, mode=mode))

    def _note_removed(self, relative: bytes, depth: int, kept: frozenset[bytes] = frozenset()) -> None:
        """Note as removed everything that was below a directory, except the names in `kept` right below it."""
        for name in sorted(set(self._initial.names(relative)) - kept):
            child = relative + b"/" + name if relative else name
            self._found.note(self._path(child), None)
            before = self._initial.find(child)
            if before is not None and stat.S_ISDIR(before.mode):
                if depth >= MAX_DEPTH:
                    self._found.complete = False
                    return
                self._note_removed(child, depth + 1)


def _is_opaque(fd: int) -> bool:
    try:
        return os.getxattr(fd, OPAQUE) == b"y"
    except OSError:
        return False


def _read(fd: int, size: int) -> bytes:
    parts, left = [], size
    while left and (part := os.read(fd, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
