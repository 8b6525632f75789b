"""Lay recorded changes on top of a fresh view: remove, then create, never through a link and never outside the view."""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Sequence

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.errors import SandboxError
from edgeevo.sandbox import kernel

SPECIAL_TARGET = ""  # stands for something that is no file, directory or link; it can't be made again


def lay_changes(changes: Changes, layers: Sequence[tuple[str, str]]) -> None:
    """Apply `changes` to mounted views given as (prefix inside the box, merged directory), the most specific prefix last.

    Raises SandboxError when the changes are incomplete or don't fit the views.
    """
    if not changes.complete:
        raise SandboxError("incomplete changes can't be laid on a view", hint="raise the bounds, or judge without a second sandbox")
    try:
        nodes = {os.fsdecode(changes.raw.get(path, path.encode())): node for path, node in changes.nodes.items()}
        for path in sorted(nodes):
            _remove(path, nodes[path], layers)
        made = [(path, node) for path, node in sorted(nodes.items()) if node is not None]
        for path, node in made:
            _create(path, node, layers)
        for path, node in reversed(made):  # modes last and children first: a mode may forbid entering
            if isinstance(node, Directory):
                parent, name = parent_of(path, layers)
                os.chmod(name, node.mode & 0o1777, dir_fd=parent)
                os.close(parent)
    except (OSError, UnicodeEncodeError) as error:
        raise SandboxError(
            f"changes can't be laid on the view: {error}", hint="the directory was changed meanwhile, or is not the same"
        ) from error


def parent_of(path: str, layers: Sequence[tuple[str, str]]) -> tuple[int, str]:
    """Descriptor of the directory that holds `path`, opened without following links, and the last part of the name."""
    prefix, merged = next((prefix, merged) for prefix, merged in reversed(layers) if path.startswith(prefix + "/"))
    root = os.open(merged, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        inside = posixpath.dirname(path[len(prefix) + 1 :]) or "."
        fd = kernel.open_beneath(root, os.fsencode(inside), os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(root)
    return fd, posixpath.basename(path)


def _remove(path: str, node: Node | None, layers: Sequence[tuple[str, str]]) -> None:
    try:
        parent, name = parent_of(path, layers)
    except (FileNotFoundError, NotADirectoryError):
        return  # it went with its parent, or is yet to be made
    try:
        if name not in os.listdir(parent):
            return
        is_directory = not os.path.islink(f"/proc/self/fd/{parent}/{name}") and os.path.isdir(f"/proc/self/fd/{parent}/{name}")
        if is_directory and not isinstance(node, Directory):
            shutil.rmtree(name, dir_fd=parent)
        elif not is_directory:
            os.unlink(name, dir_fd=parent)
    finally:
        os.close(parent)


def _create(path: str, node: Node, layers: Sequence[tuple[str, str]]) -> None:
    parent, name = parent_of(path, layers)
    try:
        match node:
            case Directory():
                if name not in os.listdir(parent):
                    os.mkdir(name, 0o700, dir_fd=parent)
            case Link(target=target) if target != SPECIAL_TARGET:
                os.symlink(target, name, dir_fd=parent)
            case Link():
                return
            case File():
                fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent)
                with open(fd, "wb") as file:
                    file.write(node.data)
                    os.fchmod(file.fileno(), node.mode & 0o777)
    finally:
        os.close(parent)
