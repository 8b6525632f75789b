"""What an agent changed, for people: paths by kind of change, and a folded unified diff of each text file. Everything is escaped."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from edgeevo.cli.text import clean
from edgeevo.domain import Changes, Directory, File, Link, Node

MAX_DIFF_LINES = 40
MAX_DIFF_BYTES = 200_000
MAX_PATHS = 50


def show_changes(changes: Changes) -> Iterator[str]:
    """Lines that say what differs from the real files: added, changed and removed paths, then a folded unified diff of each text file."""
    paths = sorted(changes.nodes)
    if not paths:
        yield "nothing changed"
    for path in paths[:MAX_PATHS]:
        before = _real(path)
        yield f"{_verb(changes.nodes[path], before)} {clean(path)}"
        yield from _diff(path, changes.nodes[path], before)
    if len(paths) > MAX_PATHS:
        yield f"… and {len(paths) - MAX_PATHS} more"
    if not changes.complete:
        yield "(there is more than could be read within the bounds)"


def _verb(node: Node | None, before: bytes | None) -> str:
    if node is None:
        return "removed"
    kind = {File: "file", Directory: "directory", Link: "link"}[type(node)]
    return f"{'added' if before is None else 'changed'} {kind}"


def _real(path: str) -> bytes | None:
    """What the real file holds, for the diff; None when it isn't there; empty for what is no small regular file."""
    place = Path(path)
    if not place.exists() and not place.is_symlink():
        return None
    try:
        if place.is_symlink() or not place.is_file() or place.stat().st_size > MAX_DIFF_BYTES:
            return b""
        return place.read_bytes()
    except OSError:
        return b""


def _diff(path: str, node: Node | None, before: bytes | None) -> Iterator[str]:
    after = node.data if isinstance(node, File) else b""
    if isinstance(node, File) and before is not None and (mode := Path(path).lstat().st_mode & 0o7777) != node.mode:
        yield f"  mode {mode:04o} -> {node.mode:04o}"
    if isinstance(node, Link):
        yield f"  -> {clean(node.target)}"
    if len(after) > MAX_DIFF_BYTES or b"\0" in after or b"\0" in (before or b""):
        yield f"  ({len(after)} bytes, not text)"
        return
    old, new = (data.decode("utf-8", "backslashreplace").splitlines() for data in (before or b"", after))
    lines = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
    for line in lines[:MAX_DIFF_LINES]:
        yield f"  {clean(line)}"
    if len(lines) > MAX_DIFF_LINES:
        yield f"  … {len(lines) - MAX_DIFF_LINES} more lines"
