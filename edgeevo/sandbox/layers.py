"""Where a box's writable tree comes from: an overlay over its initial tree (tier B) or, where the kernel has none for us, a copy (tier C).

Both lie on the box's quota, look the same to commands and give the same `changes()`. Which one serves is settled once, by trying, when a
runner starts: a mount that succeeds proves nothing, since overlays on a tmpfs without user attributes mount and then fail to replace
directories.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from typing import Literal, NamedTuple

from edgeevo.domain import Value
from edgeevo.errors import SandboxError
from edgeevo.sandbox import kernel
from edgeevo.sandbox.namespace import CACHE, SYSTEM_PLACES

Tier = Literal["overlay", "copy"]
MAX_COPIED_ENTRIES, MAX_COPIED_DEPTH = 50_000, 48
PAGE_BYTES, CHUNK_BYTES = 4096, 1 << 20
OPAQUE = "user.overlay.opaque"


class Abilities(Value):
    """What this kernel lets us do; `reason` says why boxes are copies, `merges` whether read-only overlays over /usr can be had."""

    tier: Tier
    merges: bool
    reason: str = ""


def find_abilities(forced: Tier | None, directory: str | None) -> Abilities:
    """Try both kinds of overlay, over the real directory when there is one.

    With `forced` "copy" nothing is tried and no overlay of any kind is used; with "overlay" SandboxError says why there is none.
    """
    if forced == "copy":
        return Abilities(tier="copy", merges=False, reason="asked for")
    place = f"{CACHE}/probe"
    os.mkdir(place)
    try:
        reason = _try_overlay(place, directory)
        merges = _try_merging(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if reason and forced == "overlay":
        raise SandboxError(f"no writable overlay can be had: {reason}", hint="use Linux 6.6 or newer, or leave the tier open")
    return Abilities(tier="copy" if reason else "overlay", merges=merges, reason=reason)


def _try_overlay(place: str, directory: str | None) -> str:
    """Replace a directory and change a file in a writable overlay; gives what failed, or nothing."""
    for name in ("lower/old/inner", "upper", "work", "merged"):
        os.makedirs(f"{place}/{name}")
    flags, ends = kernel.MS_NOSUID | kernel.MS_NODEV, f"upperdir={place}/upper,workdir={place}/work,userxattr"
    try:
        if directory is not None:  # some file systems can't lie below an overlay
            kernel.mount("probe", f"{place}/merged", "overlay", flags, f"lowerdir={directory},{ends}")
            kernel.unmount(f"{place}/merged")
        kernel.mount("probe", f"{place}/merged", "overlay", flags, f"lowerdir={place}/lower,{ends}")
    except OSError as error:
        return str(error)
    try:
        shutil.rmtree(f"{place}/merged/old")
        os.mkdir(f"{place}/merged/old")
        works = not os.listdir(f"{place}/merged/old") and os.getxattr(f"{place}/upper/old", OPAQUE) == b"y"
    except OSError as error:
        return f"a directory can't be replaced in it: {error.strerror}"
    finally:
        kernel.unmount(f"{place}/merged")
    return "" if works else "a replaced directory shows its old entries"


def _try_merging(place: str) -> bool:
    """Hide one tool of /usr in a read-only overlay."""
    layer, merged = f"{place}/layer", f"{place}/usr"
    os.makedirs(f"{layer}/bin")
    os.mkdir(merged)
    try:
        os.mknod(f"{layer}/bin/env", stat.S_IFCHR, os.makedev(0, 0))
        kernel.mount("probe", merged, "overlay", kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV, f"lowerdir={layer}:/usr,userxattr")
    except OSError:
        return False
    try:
        return not os.path.lexists(f"{merged}/bin/env") and os.path.lexists(f"{merged}/bin/bash")
    finally:
        kernel.unmount(merged)


class OverlayLayer:
    """One overlay of a box: `lowers` (first on top), `upper` as the box filled it, `merged` as it sees it, `prefix` its place inside."""

    def __init__(self, base: str, name: str, lowers: tuple[str, ...], prefix: str) -> None:
        self.lowers, self.prefix = lowers, prefix
        self.upper, self.work, self.merged = f"{base}/{name}-upper", f"{base}/{name}-work", f"{base}/{name}"
        for directory in (self.work, self.merged):
            os.mkdir(directory)
        os.mkdir(self.upper, stat.S_IMODE(os.stat(lowers[0]).st_mode))  # the view's own root takes its mode from here
        # The paths are ours and contain nothing that the option syntax could mistake.
        options = f"lowerdir={':'.join(self.lowers)},upperdir={self.upper},workdir={self.work},userxattr"
        kernel.mount("box", self.merged, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)


class Made(NamedTuple):
    """One copied entry: its whole st_mode, its size in bytes, and a file's digest or a link's target."""

    mode: int
    size: int
    content: bytes


class CopiedLayer:
    """The union of `lowers` (first on top) copied into `merged`: files, modes, links and times; all of it belongs to the box's user.

    What was copied is recorded by relative path in `made`, and the names in each directory in `names`: a real directory may change while
    the box is open, and that is no change of the box. What can't be copied has an empty stand-in: files and directories that our user
    may not read (mode 000), devices (likewise), and mount points (an empty directory).
    Raises SandboxError, with `what` as the subject, when it takes more than `max_bytes` (in whole pages), 50,000 entries or 48 levels.
    """

    def __init__(self, base: str, name: str, lowers: tuple[str, ...], prefix: str, *, what: str, max_bytes: int) -> None:
        self.lowers, self.prefix, self.merged = lowers, prefix, f"{base}/{name}"
        self.made: dict[bytes, Made] = {}
        self.names: dict[bytes, set[bytes]] = {b"": set()}
        self._what, self._max_bytes = what, max_bytes
        self._bytes = self._entries = 0
        os.mkdir(self.merged, 0o700)
        target = os.open(self.merged, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for lower in reversed(lowers):
                source = os.open(lower, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    status = os.fstat(source)
                    self._copy_entries(source, target, b"", 0, status.st_dev)
                    os.fchmod(target, stat.S_IMODE(status.st_mode))
                    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
                finally:
                    os.close(source)
        finally:
            os.close(target)

    def _copy_entries(self, source: int, target: int, inside: bytes, depth: int, device: int) -> None:
        if depth > MAX_COPIED_DEPTH:
            raise self._refusal(inside, f"has more than {MAX_COPIED_DEPTH} levels")
        for name in os.listdir(f"/proc/self/fd/{source}".encode()):
            relative = inside + b"/" + name if inside else name
            status = os.stat(name, dir_fd=source, follow_symlinks=False)
            self._count(relative, 0)
            mode, times = stat.S_IMODE(status.st_mode), (status.st_atime_ns, status.st_mtime_ns)
            existing = self.made.get(relative)
            if existing is not None and not (stat.S_ISDIR(existing.mode) and stat.S_ISDIR(status.st_mode)):
                self._remove(target, name, relative)  # of a lower layer, made by us a moment ago
            content = b""
            if stat.S_ISDIR(status.st_mode):
                mode = self._copy_directory(source, target, name, relative, depth, device, status)
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(name, dir_fd=source)
                os.symlink(content, name, dir_fd=target)
            elif stat.S_ISREG(status.st_mode):
                mode, content = self._copy_file(source, target, name, relative, mode)
            elif stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                mode, content = _stand_in_for_file(target, name)
            else:  # a fifo or a socket
                os.mknod(name, status.st_mode, dir_fd=target)
            if not stat.S_ISLNK(status.st_mode):
                os.chmod(name, mode, dir_fd=target)
            os.utime(name, ns=times, dir_fd=target, follow_symlinks=False)
            made = os.stat(name, dir_fd=target, follow_symlinks=False)
            self.made[relative] = Made(made.st_mode, made.st_size, content)
            self.names[inside].add(name)

    def _copy_directory(
        self, source: int, target: int, name: bytes, relative: bytes, depth: int, device: int, status: os.stat_result
    ) -> int:
        """Copy with everything in it; gives the mode that the copy shall have."""
        if relative not in self.names:
            os.mkdir(name, 0o700, dir_fd=target)
            self.names[relative] = set()
        mode = stat.S_IMODE(status.st_mode)
        if not self.prefix and relative in SYSTEM_PLACES:
            return mode  # the mount point is all that a box sees of it
        if status.st_dev != device:
            return mode
        try:
            inner = kernel.open_beneath(source, name, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            return 0
        inner_target = kernel.open_beneath(target, name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._copy_entries(inner, inner_target, relative, depth + 1, device)
        finally:
            os.close(inner)
            os.close(inner_target)
        return mode

    def _copy_file(self, source: int, target: int, name: bytes, relative: bytes, mode: int) -> tuple[int, bytes]:
        """Copy; gives the mode that the copy shall have, and the digest of its content."""
        digest = new_digest()
        try:
            fd = kernel.open_beneath(source, name, os.O_RDONLY | os.O_NONBLOCK)
        except PermissionError:
            return _stand_in_for_file(target, name)
        copy = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise self._refusal(relative, "was changed while it was copied")
            while chunk := os.read(fd, CHUNK_BYTES):  # counted as it comes: the file may be growing
                self._count(relative, len(chunk))
                digest.update(chunk)
                left = memoryview(chunk)
                while left:
                    left = left[os.write(copy, left) :]
        finally:
            os.close(fd)
            os.close(copy)
        return mode, digest.digest()

    def _remove(self, target: int, name: bytes, relative: bytes) -> None:
        if relative in self.names:
            shutil.rmtree(os.fsdecode(name), dir_fd=target)
        else:
            os.unlink(name, dir_fd=target)
        for kept in (self.made, self.names):
            for path in [path for path in kept if path == relative or path.startswith(relative + b"/")]:
                del kept[path]

    def _count(self, relative: bytes, size: int) -> None:
        self._bytes += -(-size // PAGE_BYTES) * PAGE_BYTES
        self._entries += size == 0
        if self._bytes > self._max_bytes:
            raise self._refusal(relative, f"is larger than the box's disk limit of {self._max_bytes} bytes")
        if self._entries > MAX_COPIED_ENTRIES:
            raise self._refusal(relative, f"has more than {MAX_COPIED_ENTRIES} entries")

    def _refusal(self, relative: bytes, why: str) -> SandboxError:
        where = relative.decode("utf-8", "backslashreplace")
        return SandboxError(
            f"{self._what} {why} (reached at {where!r}); on this machine a box starts with a copy of it",
            hint="name a smaller directory or raise disk_bytes; on Linux 6.6 or newer nothing is copied",
        )


Layer = OverlayLayer | CopiedLayer


def new_digest() -> hashlib.blake2b:
    """The hash by which contents are compared."""
    return hashlib.blake2b(digest_size=32)


def _stand_in_for_file(target: int, name: bytes) -> tuple[int, bytes]:
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target))
    return 0, new_digest().digest()
