"""What an agent changed, for people: paths by kind of change, and a folded unified diff of each text file. Everything is escaped."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeevo.cli.text import clean
from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.sandbox.laying import SPECIAL_TARGET

MAX_DIFF_LINES = 40
MAX_DIFF_BYTES = 200_000
MAX_PATHS = 50


def show_changes(changes: Changes) -> Iterator[str]:
    """Lines that say what differs from the real files: added, changed and removed paths, then a folded unified diff of each text file."""
    paths = sorted(changes.nodes)
    if not paths:
        yield "nothing changed"
    for path in paths[:MAX_PATHS]:
        real = _place(changes, path)
        before = _real(real)
        yield f"{_verb(changes.nodes[path], before)} {clean(path)}"
        yield from _diff(real, changes.nodes[path], before)
    if len(paths) > MAX_PATHS:
        yield f"… and {len(paths) - MAX_PATHS} more"
    for path in changes.left_out:
        yield f"changed {clean(path)} (not shown: too large, or not text)"
    if not changes.complete:
        yield "(there is more than could be read within the bounds)"


def told_changes(changes: Changes) -> list[dict[str, Any]]:
    """The same for programs: path, what happened to it, and the diff's lines. Bytes that are no UTF-8 are spelt out."""
    rows = []
    for path in sorted(changes.nodes):
        node, real = changes.nodes[path], _place(changes, path)
        before = _real(real)
        row: dict[str, Any] = {
            "path": path,
            "change": _verb(node, before),
            "diff": [line.strip("\n") for line in _diff(real, node, before)],
        }
        if isinstance(node, File | Directory):
            row["mode"] = f"{node.mode:04o}"
        rows.append(row)
    return rows


def _place(changes: Changes, path: str) -> str:
    """The path as the file system wants it."""
    return os.fsdecode(changes.raw.get(path, path.encode()))


def _verb(node: Node | None, before: bytes | None) -> str:
    if node is None:
        return "removed"
    kind = "special file" if node == Link(target=SPECIAL_TARGET) else {File: "file", Directory: "directory", Link: "link"}[type(node)]
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
    if isinstance(node, Link) and node.target != SPECIAL_TARGET:
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
