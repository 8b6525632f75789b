"""A tree of files as a value that reference implementations work on: what a command would see and do, without running any."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from edgeevo.domain import Directory, File, Link, Node


def text(lines: list[str] | tuple[str, ...], *, mode: int = 0o644, age_seconds: int = 0) -> File:
    """A text file of these lines, each ended by a newline."""
    return File(data="".join(f"{line}\n" for line in lines).encode(), mode=mode, age_seconds=age_seconds)


class World:
    """Files by absolute path, with the few operations that references need. Mutable on purpose: a reference edits its own copy."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes: dict[str, Node] = {}
        self.probes: dict[str, tuple[str, tuple[str, ...]]] = {}  # artefact -> (command that reads it, lines it must print)
        for path, node in nodes.items():
            self.put(path, node)

    def copy(self) -> World:
        """An independent copy; nodes themselves are frozen and shared."""
        twin = World({})
        twin.nodes, twin.probes = dict(self.nodes), dict(self.probes)
        return twin

    def put(self, path: str, node: Node) -> None:
        """Place `node` at `path`, making missing parents."""
        parent = posixpath.dirname(path)
        while parent not in ("", "/") and parent not in self.nodes:
            self.nodes[parent] = Directory()
            parent = posixpath.dirname(parent)
        self.nodes[path] = node

    def write(self, path: str, lines: list[str]) -> None:
        """Put a text file of `lines` at `path`, keeping the mode of a file that was there; PermissionError if its owner may not write."""
        old = self.nodes.get(path)
        if isinstance(old, File) and not old.mode & 0o200:
            raise PermissionError(path)
        self.put(path, text(lines, mode=old.mode if isinstance(old, File) else 0o644))

    def remove(self, path: str) -> None:
        """Remove `path` and everything beneath it."""
        for other in [p for p in self.nodes if p == path or p.startswith(path + "/")]:
            del self.nodes[other]

    def move(self, source: str, target: str) -> None:
        """Rename a file or tree."""
        moved = {target + p[len(source) :]: n for p, n in self.nodes.items() if p == source or p.startswith(source + "/")}
        self.remove(source)
        self.nodes.update(moved)

    def duplicate(self, source: str, target: str) -> None:
        """Copy a file or tree as `cp -r` does: changed just now, and no write permission for group and others (umask 022)."""
        for path, node in [(p, n) for p, n in self.nodes.items() if p == source or p.startswith(source + "/")]:
            fresh = File(data=node.data, mode=node.mode & ~0o022) if isinstance(node, File) else node
            self.put(target + path[len(source) :], fresh)

    def opaque(self, path: str) -> bool:
        """Whether `path` is no plain text to a reference: a link, a packed file, or an artefact whose bytes it doesn't know."""
        node = self.nodes.get(path)
        if path in self.probes or isinstance(node, Link):
            return True
        return isinstance(node, File) and b"\0" in node.data

    def file(self, path: str) -> File:
        """The regular file at `path`; a KeyError otherwise is a fault of the skill entry."""
        node = self.nodes[path]
        if not isinstance(node, File):
            raise KeyError(path)
        return node

    def lines(self, path: str) -> list[str]:
        """The lines of the text file at `path`, without newlines."""
        return self.file(path).data.decode().splitlines()

    def is_dir(self, path: str) -> bool:
        """Whether a directory is at `path`."""
        return isinstance(self.nodes.get(path), Directory)

    def below(self, directory: str, *, depth: int | None = None) -> Iterator[tuple[str, Node]]:
        """Everything beneath `directory` in path order, at most `depth` levels down (1 = its own entries)."""
        prefix = directory.rstrip("/") + "/"
        for path in sorted(self.nodes):
            if path.startswith(prefix) and (depth is None or path[len(prefix) :].count("/") < depth):
                yield path, self.nodes[path]

    def files(self, directory: str, keep: Callable[[str, File], bool] = lambda _p, _f: True, *, depth: int | None = None) -> list[str]:
        """Paths of the regular files beneath `directory` for which `keep(path, file)` holds, in path order."""
        return [p for p, n in self.below(directory, depth=depth) if isinstance(n, File) and keep(p, n)]

    def directories(self, directory: str, *, depth: int | None = None) -> list[str]:
        """Paths of the directories beneath `directory`, in path order."""
        return [p for p, n in self.below(directory, depth=depth) if isinstance(n, Directory)]

    def links(self, directory: str) -> list[str]:
        """Paths of the symbolic links beneath `directory`, in path order."""
        return [p for p, n in self.below(directory) if isinstance(n, Link)]


def base(path: str) -> str:
    """Last component of a path."""
    return posixpath.basename(path)


def extension(path: str) -> str:
    """What follows the last dot of the name, or '' (also for dot files)."""
    stem, dot, tail = base(path).rpartition(".")
    return tail if dot and stem else ""
