"""Which directories are never worked on. Decided by device and inode, so that another spelling, a link or a bind mount changes nothing.

refuse_directory(directory, own=…, holding=…)      # RefusedError with the fact, the object and what to do instead
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from edgeevo.domain import Value
from edgeevo.errors import RefusedError
from edgeevo.hands.place import Seen, shown
from edgeevo.sandbox.client import SYSTEM_PLACES

HINT = "name a directory of your own that holds only what the task needs, such as one below your home"
HOME_ROOTS = ("/root", "/home")
SECRETS = (".ssh", ".gnupg", ".local/state/edgeevo", ".config/edgeevo")
MAX_CONCERNS = 50

Identity = tuple[int, int]


class Guarded(Value):
    """A place that is not worked on, nor what contains it; with `inside` neither what lies in it."""

    path: str
    what: str
    inside: bool = False


def refuse_directory(directory: str, *, own: Sequence[Path], holding: Sequence[Path] = (), others: Iterable[Guarded] | None = None) -> None:
    """Raise RefusedError where `directory` is, contains or lies in a place of ours or of the system.

    `own` are edgeevo's directories; `holding` are files whose directories may not be worked on, such as the configuration. `others`
    replaces what this machine has of homes, mounts and places of the system.
    """
    above = list(_chain(directory))
    if not above:
        raise RefusedError(f"directory {directory} can't be looked at", hint="name an existing directory that you may enter")
    for guarded in (*_ours(own, holding), *(guarded_places() if others is None else others)):
        chain, there = _nearest(guarded.path)
        if there and chain[0] == above[0]:
            raise RefusedError(f"{directory} is {guarded.what} ({guarded.path})", hint=HINT)
        if above[0] in chain:
            how = "contains" if there else "would contain"
            raise RefusedError(f"{directory} {how} {guarded.what} ({guarded.path})", hint=HINT)
        if there and guarded.inside and chain[0] in above:
            raise RefusedError(f"{directory} lies in {guarded.what} ({guarded.path})", hint=HINT)


def _ours(own: Sequence[Path], holding: Sequence[Path]) -> Iterator[Guarded]:
    for path in own:
        yield Guarded(path=str(path), what="a directory of edgeevo's own", inside=True)
    for path in holding:
        yield Guarded(path=str(path.parent), what="the directory of edgeevo's configuration")


def guarded_places() -> Iterator[Guarded]:
    """What this machine has of places of the system, homes, keys and mounts."""
    yield Guarded(path="/", what="the root directory")
    for name in SYSTEM_PLACES:
        yield Guarded(path=f"/{name}", what="a place of the system", inside=True)
    for home in dict.fromkeys((*HOME_ROOTS, *homes())):
        if Path(home).is_dir():
            yield Guarded(path=home, what="a home directory")
            for name in SECRETS:
                yield Guarded(path=f"{home}/{name}", what="a place of keys or of edgeevo's own", inside=True)
    for place in mount_points(Path("/proc/self/mountinfo").read_text(errors="surrogateescape")):
        yield Guarded(path=place, what="a mount point")


def homes(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The home directories of this machine, the caller's among them also where its users can't be listed."""
    yield from (entry.pw_dir for entry in pwd.getpwall())
    for uid in {os.getuid(), os.geteuid()}:
        with suppress(KeyError):
            yield pwd.getpwuid(uid).pw_dir
    if os.path.isabs(environ.get("HOME", "")):
        yield environ["HOME"]


def mount_points(mountinfo: str) -> list[str]:
    """The mount points in the text of /proc/self/mountinfo, without those that looking at would mount."""
    found = []
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        if not rest.startswith("autofs"):
            found.append(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split(" ")[4]))
    return found


def _nearest(path: str) -> tuple[list[Identity], bool]:
    """The same of a place that may not be there yet, from the nearest directory that is; and whether it is there itself."""
    real = os.path.realpath(path)
    there = True
    while not (chain := list(_chain(real))) and real != "/":
        real, there = os.path.dirname(real), False
    return chain, there


def _chain(path: str) -> Iterator[Identity]:
    """Device and inode of a directory and of all that contain it; nothing when it isn't there or can't be looked at."""
    real = os.path.realpath(path)
    while True:
        try:
            status = os.stat(real)
        except OSError:
            return
        yield status.st_dev, status.st_ino
        if real == "/":
            return
        real = os.path.dirname(real)


def concerns(seen: Seen) -> list[str]:
    """What in a directory could not be changed by a task, each with the reason; for those who ask beforehand."""
    found: list[str] = []
    names: dict[tuple[int, int], list[bytes]] = {}
    for path, meta in seen.entries.items():
        if meta.kind not in ("file", "directory", "link"):
            found.append(f"{shown(path)}: a {meta.kind} is never touched")
        elif os.geteuid() and meta.uid != os.geteuid():
            found.append(f"{shown(path)}: belongs to user {meta.uid}")
        if meta.names > 1 and meta.kind != "directory":
            names.setdefault((meta.inode, meta.names), []).append(path)
    for (_, count), paths in names.items():
        if count != len(paths):
            found.append(f"{shown(paths[0])}: has other names (hard links) outside the directory")
        else:
            found.append(f"{shown(paths[0])}: has {count} names (hard links), which change together or not at all")
    found += [f"{shown(path)}: can't be read by you" for path in seen.left_out]
    more = [f"… and {len(found) - MAX_CONCERNS} more"] if len(found) > MAX_CONCERNS else []
    return [*found[:MAX_CONCERNS], *more]
