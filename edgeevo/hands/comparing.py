"""Is what is there the state that the journal speaks of? Kind, owner, mode, target, content and extended attributes are compared."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from edgeevo.hands.ledger import Journal
from edgeevo.hands.place import Meta, Place, attributes_at, digest_of
from edgeevo.hands.plan import Entry
from edgeevo.sandbox import kernel

STAGING = ".edgeevo-"
SET_GID = 0o2000
GIVEN_BY_THE_SYSTEM = frozenset(["security.selinux", "security.ima", "security.evm"])


class Move(NamedTuple):
    """One step in the direction of the work."""

    number: int
    path: bytes
    before: Entry | None
    after: Entry | None


def fits(fd: int, name: bytes, now: Meta | None, entry: Entry | None) -> bool:
    """Whether `name` in the directory `fd`, which looks like `now`, is in this state; of directories only the kind is asked here."""
    if now is None or entry is None:
        return now is None and entry is None
    if now.kind != entry.kind:
        return False
    if now.kind == "directory":
        return True
    if (now.uid, now.gid) != (entry.uid, entry.gid):
        return False
    if now.kind == "link":
        return os.readlink(name, dir_fd=fd) == entry.target
    if (now.mode, now.size) != (entry.mode, entry.size) or not same_attributes(fd, name, entry):
        return False
    if entry.identity and now.identity == entry.identity:
        return True
    opened = _readable(fd, name, now)
    try:
        return digest_of(opened) == entry.digest
    finally:
        os.close(opened)


def _readable(fd: int, name: bytes, now: Meta) -> int:
    """A descriptor of a file to read; one of ours that forbids it is opened for a moment."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        return kernel.open_beneath(fd, name, flags)
    except PermissionError:
        if now.uid != os.geteuid():
            raise
    held = kernel.open_beneath(fd, name, os.O_PATH | os.O_NOFOLLOW)
    try:
        os.chmod(f"/proc/self/fd/{held}", now.mode | 0o400)
        try:
            return kernel.open_beneath(fd, name, flags)
        finally:
            os.chmod(f"/proc/self/fd/{held}", now.mode)
    finally:
        os.close(held)


def same_attributes(fd: int, name: bytes, entry: Entry) -> bool:
    """Whether the extended attributes (ACLs among them) are those of this state; what we may not read counts by its name."""
    found = {key: value for key, value in attributes_at(fd, name).items() if key not in GIVEN_BY_THE_SYSTEM}
    wanted = {key: value for key, value in entry.xattrs.items() if key not in GIVEN_BY_THE_SYSTEM}
    return found.keys() == wanted.keys() and all(value is None or value == wanted[key] for key, value in found.items())


def is_the_one(place: Place, journal: Journal) -> bool:
    """Whether this is the journal's directory; the number of its device is not asked, for a reboot may change it.

    Our staging directory in it proves it, else its inode, and its handle where the file system has such.
    """
    status = os.fstat(place.fd)
    with suppress(FileNotFoundError):
        ours = os.stat(os.fsencode(STAGING + journal.id), dir_fd=place.fd, follow_symlinks=False)
        if stat.S_ISDIR(ours.st_mode) and ours.st_uid == os.geteuid():
            return True
    if status.st_ino != journal.inode:
        return False
    handle = place.handle()
    return not handle or not journal.handle or handle == journal.handle


def altered_directories(place: Place, journal: Journal, moves: Iterable[Move], *, forwards: bool, begun: bool) -> list[bytes]:
    """Directories whose mode or attributes somebody changed since we gave them theirs. Where we left a mode alone it may be any."""
    found = []
    for parent in journal.parents:
        meta = place.look(parent.path)
        before, after = (parent.mode_before, parent.mode_after) if forwards else (parent.mode_after, parent.mode_before)
        if meta is None or meta.kind != "directory" or before is None or before == after:
            continue
        ours = {before, before | 0o700, after or 0, (after or 0) | 0o700} if begun else {before}
        if meta.mode & ~SET_GID not in {mode & ~SET_GID for mode in ours}:  # a bit that the system may have withheld
            found.append(parent.path)
    for move in moves:
        meta = place.look(move.path)
        if meta is not None and meta.kind == "directory" and move.before is not None and move.before.kind == "directory":
            with place.parent(move.path) as (fd, last):
                if not same_attributes(fd, last, move.before):
                    found.append(move.path)
    return list(dict.fromkeys(found))
