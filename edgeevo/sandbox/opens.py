"""Which of the files that were laid on a view have been opened since, by whatever means: run, sourced or only read."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from edgeevo.domain import Changes, File
from edgeevo.sandbox import kernel
from edgeevo.sandbox.laying import parent_of

_EVENT = struct.Struct("=iIII")
READ_BYTES = 1 << 16


class Opens:
    """One inotify watch on each file of `changes`, for a single event each. What can't be watched makes the answer unknown."""

    def __init__(self, changes: Changes, layers: Sequence[tuple[str, str]]) -> None:
        self._paths: dict[int, str] = {}
        self._opened: set[str] = set()
        self._known = True
        self._fd = -1
        try:
            self._fd = kernel.inotify()
            for path, node in changes.nodes.items():
                if isinstance(node, File):
                    self._watch(path, os.fsdecode(changes.raw.get(path, path.encode())), layers)
        except OSError:
            self._known = False

    def _watch(self, key: str, path: str, layers: Sequence[tuple[str, str]]) -> None:
        parent, name = parent_of(path, layers)
        try:
            fd = kernel.open_beneath(parent, os.fsencode(name), os.O_PATH | os.O_NOFOLLOW)
            try:
                self._paths[kernel.inotify_watch(self._fd, f"/proc/self/fd/{fd}", kernel.IN_OPEN | kernel.IN_ONESHOT)] = key
            finally:
                os.close(fd)
        finally:
            os.close(parent)

    def paths(self) -> tuple[str, ...] | None:
        """The paths that were opened so far, or None when that isn't known."""
        while self._fd >= 0:
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                break
            place = 0
            while place < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, place)
                place += _EVENT.size + length
                if mask & kernel.IN_Q_OVERFLOW:
                    self._known = False
                elif mask & kernel.IN_OPEN:
                    self._opened.add(self._paths[number])
        return tuple(sorted(self._opened)) if self._known else None

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
