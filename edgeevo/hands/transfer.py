"""Carry out a journal, forwards or backwards: each name goes from one state to the other in one step that the kernel does not divide.

New files are prepared whole in `.edgeevo-ID`, a directory of ours in the directory itself (so on its file system), and made durable; then
each is renamed into its place, or exchanged with what was there. What was displaced lies in `.edgeevo-ID` until all is durable. Every
step looks first whether it is done already, so the work can be begun again after a kill at any point, in either direction.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from edgeevo.errors import RefusedError
from edgeevo.hands.comparing import STAGING, Move, altered_directories, fits, is_the_one
from edgeevo.hands.ledger import Journal, Ledger
from edgeevo.hands.place import Meta, Place, copy_content, meta_of, shown
from edgeevo.hands.plan import KEPT_SECURITY, Entry
from edgeevo.hands.stepping import Before, go_on
from edgeevo.sandbox import kernel


class Transfer:
    """A journal and the open directory that it is about; RefusedError when that is not the same directory any more."""

    def __init__(self, ledger: Ledger, journal: Journal, step: Before = go_on) -> None:
        self._ledger, self._journal, self._step = ledger, journal, step
        self._place = Place(journal.directory)
        if not is_the_one(self._place, journal):
            self._place.close()
            raise RefusedError(
                f"{shown(journal.directory)} is not the directory of run {journal.id} any more", hint="put that one back first"
            )
        self._staging_name = os.fsencode(STAGING + journal.id)
        self._staging = -1
        self._moves: list[Move] = []
        self._which = ""
        self._placed: dict[int, bytes] = {}
        self._staged: dict[int, bytes] = {}
        self._left: list[bytes] = []
        self._spared: frozenset[bytes] = frozenset()
        self.changed: set[bytes] = set()  # names that we have brought, or may have brought, to their new state
        self.kept: list[str] = []  # where content lies that is nobody's any more and not in the record

    def close(self) -> None:
        """Let the directory go."""
        self._place.close()

    def misfits(self, *, forwards: bool, begun: bool) -> list[str]:
        """What stands in the way of the work: names in neither state (not begun: not in the first one), each with the reason."""
        altered = altered_directories(self._place, self._journal, self._direction(forwards=forwards), forwards=forwards, begun=begun)
        self._spared = frozenset(altered)
        found = [f"{shown(path)} was changed meanwhile" for path in altered]
        known = {step.path for step in self._journal.steps}
        for move in self._direction(forwards=forwards):
            now = self._place.look(move.path)
            if (anchor := self._lost_anchor(move)) is not None and not self._is(move.path, now, move.after):
                found.append(f"{shown(anchor)}, of which {shown(move.path)} was another name, was changed meanwhile")
            if not (self._is(move.path, now, move.before) or (begun and self._is(move.path, now, move.after))):
                found.append(f"{shown(move.path)} was changed meanwhile")
            elif now is not None and now.kind == "directory" and (move.after is None or move.after.kind != "directory"):
                for name in self._place.names(move.path):
                    if move.path + b"/" + name not in known:
                        found.append(f"{shown(move.path + b'/' + name)} was made meanwhile")
        return found

    def times_ns(self) -> dict[bytes, int]:
        """When the directories of the work were last changed."""
        looked = {parent.path: self._place.look(parent.path) for parent in self._journal.parents}
        return {path: meta.mtime_ns for path, meta in looked.items() if meta is not None}

    def carry_out(self, *, forwards: bool, lenient: bool = False, keep_times: frozenset[bytes] = frozenset()) -> list[bytes]:
        """Bring every name to its other state; with `lenient` names that are in neither are left alone, and returned.

        Backwards, directories get their old times, except those in `keep_times`. OSError and RefusedError may leave part of it undone.
        """
        self._moves = list(self._direction(forwards=forwards))
        self._which = "new" if forwards else "old"
        self._placed, self._staged, self._left = {}, {}, []
        if self._is_done():
            self._settle(forwards=forwards, keep_times=keep_times)
            self._sync("directories")
            return self._left
        self._open_up()
        self._open_staging()
        try:
            waiting = [move for move in self._moves if self._stage(move, lenient=lenient)]
            self._sync("prepared files")
            for move in waiting:
                if forwards:
                    self.changed.add(move.path)
                try:
                    self._swap(move)
                except RefusedError:
                    if not lenient:
                        self.changed.discard(move.path)
                        raise
                    self._left.append(move.path)
            self._sync("new names")
            for move in self._moves:
                self._part(move)
                self._clear(move)
        finally:
            os.close(self._staging)
        self._step("remove the staging directory")
        os.rmdir(self._staging_name, dir_fd=self._place.fd)
        self._settle(forwards=forwards, keep_times=keep_times)
        self._sync("directories")
        return list(dict.fromkeys(self._left))

    def _is_done(self) -> bool:
        """Whether every name is in its other state and nothing of ours lies about: then nothing has to be prepared, or could be."""
        if self._place.look(self._staging_name) is not None:
            return False
        return all(self._is(move.path, self._place.look(move.path), move.after) for move in self._moves)

    def _direction(self, *, forwards: bool) -> Iterator[Move]:
        steps = list(enumerate(self._journal.steps))
        if forwards:
            yield from (Move(index, step.path, step.before, step.after) for index, step in steps)
        else:
            yield from (Move(index, step.path, step.after, step.before) for index, step in reversed(steps))

    def _sync(self, what: str) -> None:
        self._step(f"make durable: {what}")
        kernel.sync_filesystem(self._place.fd)

    # --- looking ---

    def _is(self, path: bytes, now: Meta | None, entry: Entry | None) -> bool:
        """Whether what is there is this state."""
        if now is None or entry is None:
            return now is None and entry is None
        with self._place.parent(path) as (fd, last):
            return fits(fd, last, now, entry)

    def _lost_anchor(self, move: Move) -> bytes | None:
        """The untouched name of the file that this move makes another name of, when it is another file by now."""
        if move.after is None or move.after.group not in self._journal.anchors:
            return None
        path, identity = self._journal.anchors[move.after.group]
        meta = self._place.look(path)
        return path if meta is None or meta.identity != tuple(identity)[-3:] else None

    # --- preparing ---

    def _open_up(self) -> None:
        """Directories of ours in which we may not write, for the time of the work."""
        for parent in sorted(self._journal.parents, key=lambda each: each.path):
            meta = self._place.look(parent.path)
            if os.geteuid() and meta is not None and meta.kind == "directory" and meta.uid == os.geteuid() and meta.mode & 0o300 != 0o300:
                self._step(f"open {shown(parent.path)} for writing")
                self._chmod(parent.path, meta.mode | 0o700)

    def _chmod(self, path: bytes, mode: int) -> None:
        fd = self._place.open(path, os.O_PATH | os.O_DIRECTORY)
        try:
            os.chmod(f"/proc/self/fd/{fd}", mode)
        finally:
            os.close(fd)

    def _open_staging(self) -> None:
        self._step("make the staging directory")
        with suppress(FileExistsError):
            os.mkdir(self._staging_name, 0o700, dir_fd=self._place.fd)
        self._staging = self._place.open(self._staging_name, os.O_RDONLY | os.O_DIRECTORY)
        status = os.fstat(self._staging)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            os.close(self._staging)
            raise RefusedError(f"{shown(self._staging_name)} is not a directory of ours", hint="remove it")

    def _clear(self, move: Move) -> None:
        """Remove what was displaced, or prepared and not used. What the record does not hold stays, under a name that is told."""
        name = b"%d" % move.number
        try:
            there = meta_of(os.stat(name, dir_fd=self._staging, follow_symlinks=False))
        except FileNotFoundError:
            return
        known = any(state is not None and fits(self._staging, name, there, state) for state in (move.before, move.after))
        self._step("remove what was displaced")
        if known and there.kind == "directory":
            try:
                os.rmdir(name, dir_fd=self._staging)
            except OSError:  # somebody made something in it
                self._keep(move)
        elif known:
            os.unlink(name, dir_fd=self._staging)
        else:
            self._keep(move)

    def _keep(self, move: Move) -> None:
        """Move what lies in the staging directory to a name of its own in the top directory."""
        for number in itertools.count():
            kept = b"edgeevo-kept-%s-%d" % (os.fsencode(self._journal.id), move.number) + (b".%d" % number if number else b"")
            try:
                kernel.rename(self._staging, b"%d" % move.number, self._place.fd, kept, kernel.RENAME_NOREPLACE)
            except FileExistsError:
                continue
            self.kept.append(f"{shown(kept)} (of {shown(move.path)})")
            return

    def _stage(self, move: Move, *, lenient: bool) -> bool:
        """Prepare what a move puts in place; False when nothing is left to do for it."""
        path, after = move.path, move.after
        now = self._place.look(path)
        if self._is(path, now, after):
            if after is not None and after.group:
                self._placed.setdefault(after.group, path)
            return False
        if not self._is(path, now, move.before) or (lenient and path in self._spared):
            if lenient:
                self._left.append(path)
                return False
            raise self._conflict(path)
        self._clear(move)
        if after is None:
            return True
        self._step(f"prepare {shown(path)}")
        anchor = self._lost_anchor(move)
        if anchor is not None and lenient:  # its other name is somebody's new file: this one comes back as a file of its own
            self._left.append(anchor)
            self.changed.add(anchor)
        name = self._part(move)
        if after.kind == "link":
            os.symlink(after.target, name, dir_fd=self._staging)
            os.chown(name, after.uid, after.gid, dir_fd=self._staging, follow_symlinks=False)
            if after.times_ns:
                os.utime(name, ns=after.times_ns, dir_fd=self._staging, follow_symlinks=False)
        elif after.kind == "directory":
            os.mkdir(name, 0o700, dir_fd=self._staging)
            fd = kernel.open_beneath(self._staging, name, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._dress(fd, after, 0o700)
            finally:
                os.close(fd)
        elif not (after.group and self._link(after.group, name, alone=anchor is not None and lenient)):
            self._stage_file(move.number, name, path, after)
        whole = b"%d" % move.number
        os.rename(name, whole, src_dir_fd=self._staging, dst_dir_fd=self._staging)
        if after.group:
            self._staged.setdefault(after.group, whole)
        return True

    def _part(self, move: Move) -> bytes:
        """The name of what is not prepared whole yet; only we ever have content there, so what a kill left is removed."""
        name = b"%d.part" % move.number
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=self._staging, follow_symlinks=False).st_mode):
                os.rmdir(name, dir_fd=self._staging)
            else:
                os.unlink(name, dir_fd=self._staging)
        return name

    def _link(self, group: int, name: bytes, *, alone: bool) -> bool:
        """Make a staged name of a file that is there already; False when it isn't."""
        if group in self._staged:
            os.link(self._staged[group], name, src_dir_fd=self._staging, dst_dir_fd=self._staging, follow_symlinks=False)
            return True
        source, identity = self._placed.get(group), None
        if source is None and not alone and group in self._journal.anchors:
            source, identity = self._journal.anchors[group]
        if source is None:
            return False
        meta = self._place.look(source)
        if meta is None or (identity is not None and meta.identity != tuple(identity)[-3:]):
            raise self._conflict(source)
        with self._place.parent(source) as (fd, last):
            os.link(last, name, src_dir_fd=fd, dst_dir_fd=self._staging, follow_symlinks=False)
        return True

    def _stage_file(self, index: int, name: bytes, path: bytes, after: Entry) -> None:
        target = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._staging)
        try:
            source = self._ledger.content(self._journal.id, self._which, index)
            try:
                digest = copy_content(source, target, sparse=after.sparse)
            finally:
                os.close(source)
            if digest != after.digest:
                raise RefusedError(f"the stored content of {shown(path)} is damaged", hint=f"it is in {self._ledger.place}")
            self._dress(target, after, after.mode)
        finally:
            os.close(target)

    def _dress(self, fd: int, entry: Entry, mode: int) -> None:
        """Owner, attributes, mode and times, in the order in which none spoils another."""
        os.fchown(fd, entry.uid, entry.gid)
        for name in os.listxattr(fd):
            if name not in entry.xattrs and name != KEPT_SECURITY:
                os.removexattr(fd, name)
        for name, value in entry.xattrs.items():
            os.setxattr(fd, name, value)
        os.fchmod(fd, mode)
        if entry.times_ns:
            os.utime(fd, ns=entry.times_ns)

    # --- the steps that count ---

    def _swap(self, move: Move) -> None:
        path, name = move.path, b"%d" % move.number
        now = self._place.look(path)
        if not self._is(path, now, move.before):
            raise self._conflict(path)
        try:
            with self._place.parent(path) as (fd, last):
                if move.after is None and now is not None and now.kind == "directory":
                    self._step(f"remove {shown(path)}")
                    os.rmdir(last, dir_fd=fd)
                elif move.after is None:
                    self._step(f"remove {shown(path)}")
                    kernel.rename(fd, last, self._staging, name, kernel.RENAME_NOREPLACE)
                    self._verify(move, now, fd, last, kernel.RENAME_NOREPLACE)
                elif now is None:
                    self._step(f"make {shown(path)}")
                    kernel.rename(self._staging, name, fd, last, kernel.RENAME_NOREPLACE)
                else:
                    self._step(f"replace {shown(path)}")
                    kernel.rename(self._staging, name, fd, last, kernel.RENAME_EXCHANGE)
                    self._verify(move, now, fd, last, kernel.RENAME_EXCHANGE)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOSYS):
                raise RefusedError(
                    f"the file system of {shown(self._place.directory)} can't exchange two names in one step",
                    hint="copy the directory to another file system (ext4, xfs, btrfs or tmpfs)",
                ) from error
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT, errno.ENOTDIR):
                raise self._conflict(path) from error
            raise

    def _verify(self, move: Move, now: Meta | None, fd: int, last: bytes, flags: int) -> None:
        """What was displaced must be what was looked at; else it goes back, unless somebody saved again: then the newest stays."""
        name = b"%d" % move.number
        displaced = meta_of(os.stat(name, dir_fd=self._staging, follow_symlinks=False))
        whole = displaced.kind != "directory" or not os.listdir(f"/proc/self/fd/{self._staging}/{os.fsdecode(name)}")
        same = now is not None and (displaced.kind, displaced.inode) == (now.kind, now.inode)
        if same and whole and now is not None and (displaced.kind == "directory" or displaced.identity == now.identity):
            return
        try:
            kernel.rename(self._staging, name, fd, last, flags)
        except (FileExistsError, FileNotFoundError) as error:  # the name was taken, or removed, once more
            self._keep(move)
            raise self._conflict(move.path) from error
        if flags == kernel.RENAME_EXCHANGE:
            back = meta_of(os.stat(name, dir_fd=self._staging, follow_symlinks=False))
            if move.after is not None and not fits(self._staging, name, back, move.after):  # not what we had put there
                kernel.rename(self._staging, name, fd, last, flags)
                self._keep(move)
        raise self._conflict(move.path)

    def _settle(self, *, forwards: bool, keep_times: frozenset[bytes]) -> None:
        """Give directories their modes and, backwards, their times; children first, because a mode may forbid entering."""
        for parent in sorted(self._journal.parents, key=lambda each: each.path, reverse=True):
            mode, other = (parent.mode_after, parent.mode_before) if forwards else (parent.mode_before, parent.mode_after)
            meta = self._place.look(parent.path)
            if mode is None or meta is None or meta.kind != "directory":
                continue
            if parent.path in self._spared:
                self._left.append(parent.path)
                continue
            self._step(f"settle {shown(parent.path)}")
            if meta.mode != mode and (other != mode or meta.mode == mode | 0o700):  # else it isn't ours to change: somebody did since
                self._chmod(parent.path, mode)
            if not forwards and parent.path not in keep_times:
                fd = self._place.open(parent.path, os.O_PATH | os.O_DIRECTORY)
                try:
                    with suppress(PermissionError):  # a directory of somebody else's that we may write to
                        os.utime(f"/proc/self/fd/{fd}", ns=parent.times_before_ns)
                finally:
                    os.close(fd)

    def _conflict(self, path: bytes) -> RefusedError:
        return RefusedError(f"{shown(self._place.directory + b'/' + path)} was changed meanwhile", hint="nothing of that file was touched")
