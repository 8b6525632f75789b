"""What writing back would do, step by step, from what was seen and what the agent changed. Whatever can't be done is refused by name.

    plan(place, seen, changes)  ->  Plan        nothing is written; RefusedError names each thing that is refused and why

Each step puts one name from its state before to its state after: removals first (children before their directory), then what is made or
replaced (directories before what is in them). Read backwards with the states exchanged, the same steps undo the work.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from edgeevo.domain import Changes, Directory, File, Link, Node, Value
from edgeevo.errors import RefusedError
from edgeevo.hands.place import Meta, Place, Seen, shown
from edgeevo.sandbox.laying import SPECIAL_TARGET

SET_ID_BITS = 0o6000
CAP_SYS_ADMIN, CAP_SETFCAP = 21, 31  # of the kernel
MAX_REASONS = 8
KEPT_SECURITY = "security.selinux"  # given anew by the system to whatever is made


class Entry(Value):
    """The state of one name. `group` (not 0) joins names of one file; `digest` and `size` tell a file's content."""

    kind: Literal["file", "directory", "link"]
    mode: int
    uid: int
    gid: int
    size: int = 0
    digest: bytes = b""
    target: bytes = b""
    sparse: bool = False
    allocated_bytes: int = 0
    group: int = 0
    xattrs: dict[str, bytes] = msgspec.field(default_factory=dict)
    times_ns: tuple[int, int] | None = None  # of access and of change; None: as it comes
    identity: tuple[int, ...] = ()  # of the file itself, while it is still there


class Step(Value):
    """One name: from `before` to `after`, where None is that there is nothing."""

    path: bytes
    before: Entry | None
    after: Entry | None


class Parent(Value):
    """A directory in which something happens: its mode and time before, its mode after. None: it isn't there then."""

    path: bytes
    mode_before: int | None
    times_before_ns: tuple[int, int]
    mode_after: int | None


class Plan(Value):
    """All steps in order, the directories that they touch, and by group an untouched name of the same file with its identity."""

    steps: tuple[Step, ...]
    parents: tuple[Parent, ...]
    anchors: dict[int, tuple[bytes, tuple[int, ...]]]


def inside(changes: Changes, directory: bytes) -> dict[bytes, Node | None]:
    """The changes below `directory`, by their relative bytes."""
    prefix = directory + b"/"
    paths = {changes.raw.get(key, key.encode()): node for key, node in changes.nodes.items()}
    return {path[len(prefix) :]: node for path, node in paths.items() if path.startswith(prefix)}


def outside(changes: Changes, directory: str) -> list[str]:
    """The changes that are not below `directory`, and stay behind."""
    prefix = os.fsencode(directory) + b"/"
    return sorted(key for key in changes.nodes if not changes.raw.get(key, key.encode()).startswith(prefix))


def plan(place: Place, seen: Seen, changes: Changes) -> Plan:
    """Work out the steps; raises RefusedError when anything can't be written back, or the directory isn't as it was seen."""
    try:
        return _Planner(place, seen, changes).plan()
    except OSError as error:
        raise RefusedError(
            f"nothing was written back: {shown(place.directory)} can't be read whole: {error}", hint="see to its permissions"
        ) from error


class _Planner:
    def __init__(self, place: Place, seen: Seen, changes: Changes) -> None:
        self._place, self._seen, self._changes = place, seen.entries, changes
        self._nodes = inside(changes, place.directory)
        self._root = seen.entries[b""]
        self._reasons: list[str] = []
        self._groups: dict[bytes, int] = {}  # after, by path
        self._before_groups: dict[tuple[int, int], int] = {}
        self._names: dict[tuple[int, int], list[bytes]] = {}
        for path, meta in seen.entries.items():
            if meta.names > 1 and meta.kind != "directory":
                self._names.setdefault((meta.device, meta.inode), []).append(path)
        self._anchors: dict[int, tuple[bytes, tuple[int, ...]]] = {}
        self._last_group = 0

    def plan(self) -> Plan:
        self._refuse_unread()
        self._group()
        steps = {}
        for path in sorted(self._nodes):
            before = self._before(path)
            steps[path] = Step(path=path, before=before, after=self._after(path, before))
            self._refuse_by_place(path)
        self._refuse_half_removed()
        if self._nodes:
            self._refuse_top()
        if self._reasons:
            more = f"; and {len(self._reasons) - MAX_REASONS} more" if len(self._reasons) > MAX_REASONS else ""
            raise RefusedError(
                f"nothing was written back: {'; '.join(self._reasons[:MAX_REASONS])}{more}",
                hint="take over by hand what you want of the diff, or run the task again",
            )
        both_directories = {path for path, step in steps.items() if _is_directory(step.before) and _is_directory(step.after)}
        done = [step for path, step in steps.items() if path not in both_directories]
        removed = sorted((step for step in done if step.after is None), key=lambda step: step.path.split(b"/"), reverse=True)
        made = sorted((step for step in done if step.after is not None), key=lambda step: step.path.split(b"/"))
        parents = tuple(self._parents([step.path for step in done], both_directories))
        return Plan(steps=(*removed, *made), parents=parents, anchors=self._anchors)

    def _refuse(self, path: bytes, why: str) -> None:
        self._reasons.append(f"{shown(path)} {why}")

    def _refuse_unread(self) -> None:
        for key in self._changes.left_out:
            self._reasons.append(f"{key} was changed in a way that can't be read back")
        if not self._changes.complete and not self._reasons:
            self._reasons.append("there are more changes than can be read back")

    # --- hard links ---

    def _group(self) -> None:
        """Number the names of one file, before and after; refuse where a link would be cut that nobody asked to cut."""
        raw = self._changes.raw
        prefix = self._place.directory + b"/"
        for same in self._changes.same:
            paths = [path[len(prefix) :] for key in same if (path := raw.get(key, key.encode())).startswith(prefix)]
            if len(paths) > 1:
                self._last_group += 1
                for path in paths:
                    self._groups[path] = self._last_group
                    meta = self._seen.get(path)
                    if path not in self._nodes and meta is not None:
                        self._anchors[self._last_group] = (path, meta.identity)
        for names in self._names.values():
            touched = [path for path in names if path in self._nodes]
            if touched:
                self._group_before(names, touched)

    def _group_before(self, names: list[bytes], touched: list[bytes]) -> None:
        meta = self._seen[names[0]]
        if len(names) != meta.names:
            for path in touched:
                self._refuse(path, "has another name (hard link) outside the directory")
            return
        self._last_group += 1
        self._before_groups[meta.device, meta.inode] = self._last_group
        rest = [path for path in names if path not in self._nodes]
        if rest:
            self._anchors[self._last_group] = (rest[0], meta.identity)
        changed = [path for path in touched if isinstance(self._nodes[path], File)]
        if changed and (rest or len({self._groups.get(path, -index) for index, path in enumerate(changed, 1)}) > 1):
            other = next(path for path in names if path != changed[0])
            self._refuse(changed[0], f"was changed, but not its other name {shown(other)} (hard link)")

    # --- the two states of a name ---

    def _before(self, path: bytes) -> Entry | None:
        meta = self._seen.get(path)
        now = self._place.look(path)
        if meta is None:
            if now is not None:
                self._refuse(path, "was made meanwhile")
            return None
        if now is None or _changed(meta, now):
            self._refuse(path, "was changed meanwhile")
            return None
        if meta.kind not in ("file", "directory", "link"):
            self._refuse(path, f"is a {meta.kind}, which is never touched")
            return None
        try:
            xattrs = self._xattrs(path, meta)
            target = self._place.target(path) if meta.kind == "link" else b""
        except OSError as error:
            self._refuse(path, f"can't be read: {error.strerror}")
            return None
        self._refuse_owner(path, meta)
        return Entry(
            kind=meta.kind,  # type: ignore[arg-type]  # the three are all that is left here
            mode=meta.mode,
            uid=meta.uid,
            gid=meta.gid,
            size=meta.size if meta.kind == "file" else 0,
            target=target,
            sparse=meta.sparse,
            allocated_bytes=meta.allocated_bytes,
            group=self._before_groups.get((meta.device, meta.inode), 0) if meta.names > 1 else 0,
            xattrs=xattrs,
            times_ns=(meta.atime_ns, meta.mtime_ns),
            identity=meta.identity,
        )

    def _xattrs(self, path: bytes, meta: Meta) -> dict[str, bytes]:
        """The extended attributes that a new file in this one's place has to have."""
        if meta.kind == "link":
            return {}
        fd = self._place.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            found = {name: os.getxattr(fd, name) for name in os.listxattr(fd) if name != KEPT_SECURITY}
        finally:
            os.close(fd)
        if self._nodes[path] is not None and (name := next((name for name in found if name.startswith("security.")), None)):
            self._refuse(path, f"has the attribute {name}, which no changed file may keep")
        if name := next((name for name in found if not _may_set(name)), None):
            self._refuse(path, f"has the attribute {name}, which you can't give back")
        return found

    def _refuse_owner(self, path: bytes, meta: Meta) -> None:
        if os.geteuid() and (meta.uid != os.geteuid() or meta.gid not in {os.getegid(), *os.getgroups()}):
            self._refuse(path, f"belongs to user {meta.uid} and group {meta.gid}, which you can't give it back to")

    def _after(self, path: bytes, before: Entry | None) -> Entry | None:
        node, meta = self._nodes[path], self._seen.get(path)
        if node is None:
            return None
        if isinstance(node, Link) and node.target == SPECIAL_TARGET:
            self._refuse(path, "is neither file, directory nor link (a fifo, socket or device), which is never made")
            return None
        kind: Literal["file", "directory", "link"] = "file" if isinstance(node, File) else "link" if isinstance(node, Link) else "directory"
        stays = meta is not None and meta.kind == kind
        uid, gid, set_id = (meta.uid, meta.gid, meta.mode) if stays and meta else self._owner_of_new(path)
        mode = 0o777 if isinstance(node, Link) else node.mode
        if extra := mode & SET_ID_BITS & ~(set_id & SET_ID_BITS if stays or kind == "directory" else 0):
            self._refuse(path, f"would get the set-id bits {extra:04o}, which are never given")
        if stays and kind == "file" and mode & SET_ID_BITS:
            self._refuse(path, f"has the set-id bits {mode & SET_ID_BITS:04o}, which no changed file may keep")
        return Entry(
            kind=kind,
            mode=mode,
            uid=uid,
            gid=gid,
            size=len(node.data) if isinstance(node, File) else 0,
            target=os.fsencode(node.target) if isinstance(node, Link) else b"",
            sparse=kind == "file" and (meta is None or meta.sparse or not stays),
            group=self._groups.get(path, 0),
            xattrs=before.xattrs if stays and before else {},
        )

    def _owner_of_new(self, path: bytes) -> tuple[int, int, int]:
        """User, group and mode bits that a new entry takes: as root those of the directory, else our own; the group of a set-gid parent."""
        parent = posixpath.dirname(path)
        above = self._seen.get(parent, self._root)
        uid, gid = (self._root.uid, self._root.gid) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        node = self._nodes.get(parent)
        set_gid = (node.mode if isinstance(node, Directory) else above.mode) & 0o2000
        return uid, above.gid if set_gid and parent in self._seen else gid, set_gid

    # --- where it happens ---

    def _refuse_by_place(self, path: bytes) -> None:
        """The directory that holds `path` must be the one that was seen, or be made by us, and be open to us."""
        parent = posixpath.dirname(path)
        if isinstance(self._nodes.get(parent), Directory):
            return
        if parent in self._nodes:
            if self._nodes[path] is not None:
                self._refuse(path, f"lies below {shown(parent)}, which is no directory any more")
            return
        meta, now = self._seen.get(parent), self._place.look(parent)
        if meta is None or now is None or (meta.kind, meta.device, meta.inode) != (now.kind, now.device, now.inode):
            self._refuse(parent, "was changed meanwhile")
        elif os.geteuid() and now.uid != os.geteuid() and not self._writable(parent):
            self._refuse(parent, "can't be written to by you")

    def _refuse_top(self) -> None:
        """New files are prepared in the directory itself, whichever of its entries change."""
        now = self._place.look(b"")
        if os.geteuid() and now is not None and now.uid == os.geteuid() and now.mode & 0o300 != 0o300:
            return  # opened for the time of the work
        try:
            os.close(self._place.open(b"", os.O_TMPFILE | os.O_RDWR, mode=0o600))
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT) and self._writable(b""):  # no unnamed files here
                return
            self._refuse(self._place.directory, f"can't be written to by you: {os.strerror(error.errno or 0)}")

    def _writable(self, path: bytes) -> bool:
        fd = self._place.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK)
        finally:
            os.close(fd)

    def _refuse_half_removed(self) -> None:
        """A directory goes only with everything that was in it, and only while nothing else is in it."""
        gone = {path for path, node in self._nodes.items() if not isinstance(node, Directory)}
        gone = {path for path in gone if (meta := self._seen.get(path)) is not None and meta.kind == "directory"}
        for path in self._seen:
            if path and posixpath.dirname(path) in gone and self._nodes.get(path, self) is not None:
                self._refuse(path, "would be left without its directory")
        for path in gone:
            try:
                names = self._place.names(path)
            except OSError:
                self._refuse(path, "was changed meanwhile")
                continue
            for name in names:
                if path + b"/" + name not in self._seen:
                    self._refuse(path + b"/" + name, "was made meanwhile")

    def _parents(self, paths: list[bytes], changed: set[bytes]) -> Iterator[Parent]:
        """Every directory whose entries or mode change, and the top one, in which the new files are prepared."""
        touched = {b"", *(posixpath.dirname(path) for path in paths), *changed}
        touched |= {path for path in paths if isinstance(self._nodes[path], Directory)}
        touched |= {path for path in paths if (meta := self._seen.get(path)) is not None and meta.kind == "directory"}
        for path in sorted(touched):
            meta, node = self._seen.get(path), self._nodes.get(path, self)
            before = meta if meta is not None and meta.kind == "directory" else None
            after = node.mode if isinstance(node, Directory) else before.mode if before and node is self else None
            times = (before.atime_ns, before.mtime_ns) if before else (0, 0)
            yield Parent(path=path, mode_before=before.mode if before else None, times_before_ns=times, mode_after=after)


def _may_set(attribute: str) -> bool:
    """Whether this process may give a file such an attribute."""
    if not attribute.startswith(("security.", "trusted.")):
        return True
    able = re.search(r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return able is not None and bool(int(able[1], 16) >> (CAP_SETFCAP if attribute == "security.capability" else CAP_SYS_ADMIN) & 1)


def _is_directory(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == "directory"


def _changed(meta: Meta, now: Meta) -> bool:
    """Whether an entry is another one, or has another content or owner; of a directory, whether it is another one."""
    if meta.kind == "directory":
        return (meta.kind, meta.inode, meta.mode, meta.uid, meta.gid) != (now.kind, now.inode, now.mode, now.uid, now.gid)
    return (meta.kind, meta.mode, meta.uid, meta.gid, meta.device, meta.ctime_ns, meta.identity) != (
        now.kind, now.mode, now.uid, now.gid, now.device, now.ctime_ns, now.identity,
    )  # fmt: skip
