"""/usr of a box whose state adds files below it or lacks tools: the host's own, with a layer of ours over it, always read-only.

`merge_usr` leaves that to a read-only overlay. `link_usr` serves kernels without any: directories that differ are rebuilt with links to
the host's files, which are bound at /usr/.host; all other directories are bound as they are. Commands find the same tools in both.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence

from edgeevo.sandbox import kernel

TOOL_DIRECTORIES = ("bin", "sbin", "local/bin", "local/sbin", "games")
HOST = "/usr/.host"  # inside a box
Binds = tuple[tuple[str, str], ...]


def merge_usr(path: str, absent_tools: Sequence[str]) -> str:
    """Mount the layer `path`/root/usr, with whiteouts for absent tools, over the host's /usr; gives the mount."""
    layer, merged = f"{path}/root/usr", f"{path}/usr"
    for tool in _present(absent_tools):
        os.makedirs(os.path.dirname(f"{layer}/{tool}"), exist_ok=True)
        os.mknod(f"{layer}/{tool}", stat.S_IFCHR | 0o000, os.makedev(0, 0))  # a whiteout
    os.makedirs(layer, exist_ok=True)
    os.mkdir(merged)
    options = f"lowerdir={layer}:/usr,userxattr"
    kernel.mount("usr", merged, "overlay", kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV, options)
    return merged


def link_usr(path: str, absent_tools: Sequence[str]) -> tuple[str, Binds]:
    """Rebuild what differs from the host's /usr in `path`/usr; gives that directory and what has to be bound into it.

    An absent tool is in no directory of the PATH; below /usr/.host an unreadable, empty file covers it.
    """
    layer, target, nothing = f"{path}/root/usr", f"{path}/usr", f"{path}/nothing"
    os.makedirs(layer, exist_ok=True)
    with open(nothing, "xb") as file:
        os.fchmod(file.fileno(), 0)
    absent = frozenset(_present(absent_tools))
    binds: list[tuple[str, str]] = [("/usr", HOST)]
    _link_directory("", layer, target, absent, binds)
    os.mkdir(f"{target}/{os.path.basename(HOST)}")
    # A link needs no cover: what it leads to is either absent by its own name, or there.
    binds += [(nothing, f"{HOST}/{tool}") for tool in sorted(absent) if not os.path.islink(f"/usr/{tool}")]
    return target, tuple(binds)


def _present(tools: Sequence[str]) -> Iterator[str]:
    """Where these tools are, relative to /usr."""
    for directory in TOOL_DIRECTORIES:
        for tool in tools:
            if os.path.lexists(f"/usr/{directory}/{tool}"):
                yield f"{directory}/{tool}"


def _link_directory(inside: str, layer: str, target: str, absent: frozenset[str], binds: list[tuple[str, str]]) -> None:
    """Fill `target` with the entries of /usr/`inside` and of `layer`/`inside` on top; `inside` is "" or ends with a slash."""
    os.mkdir(target)
    own = set(os.listdir(f"{layer}/{inside}")) if os.path.isdir(f"{layer}/{inside}") else set()
    with os.scandir(f"/usr/{inside}") as entries:
        for entry in entries:
            name, relative = entry.name, inside + entry.name
            ours, theirs = f"{layer}/{relative}", f"{target}/{name}"
            is_directory = entry.is_dir(follow_symlinks=False)
            differs = name in own or any(tool.startswith(relative + "/") for tool in absent)
            if relative in absent or (name in own and not (is_directory and _is_directory(ours))):
                continue
            if is_directory and differs:
                own.discard(name)
                _link_directory(relative + "/", layer, theirs, absent, binds)
            elif is_directory:
                os.mkdir(theirs)
                binds.append((f"/usr/{relative}", f"/usr/{relative}"))
            else:
                os.symlink(os.readlink(entry.path) if entry.is_symlink() else f"{HOST}/{relative}", theirs)
    for name in own:
        if _is_directory(f"{layer}/{inside}{name}"):
            shutil.copytree(f"{layer}/{inside}{name}", f"{target}/{name}", symlinks=True)
        else:
            shutil.copy2(f"{layer}/{inside}{name}", f"{target}/{name}", follow_symlinks=False)


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
