"""The few system calls that the sandbox needs and Python lacks: mount, unshare, pivot_root, openat2, prctl. Thin, typed, raising OSError.

Nothing here decides anything; paths are the caller's business.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT = 1, 2, 4, 8, 16
SAFE_RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
AT_EMPTY_PATH = 0x1000
IN_OPEN, IN_ONESHOT, IN_CLOEXEC, IN_NONBLOCK, IN_Q_OVERFLOW = 0x20, 1 << 31, os.O_CLOEXEC, os.O_NONBLOCK, 0x4000
_OPENAT2 = 437  # the same on every architecture, as for all calls since 5.0
_PIVOT_ROOT = {"x86_64": 155}.get(platform.machine(), 41)  # 41 in the generic table: aarch64, riscv64

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """mount(2); `kind` None for binds and remounts."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    _check(result, f"mount of {kind or 'a bind'} on {target}")


def unmount(target: str) -> None:
    """umount2(2), detached: the mount leaves the tree at once and is freed when its last user ends."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount of {target}")


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument."""
    _check(
        _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), f"prctl {option}"
    )


def pivot_root_here() -> None:
    """Make the working directory (a mount point) the root and drop the old root with everything mounted in it."""
    _check(_libc.syscall(ctypes.c_long(_PIVOT_ROOT), b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def open_beneath(directory_fd: int, path: bytes, flags: int, *, resolve: int = SAFE_RESOLVE, mode: int = 0) -> int:
    """openat2(2) relative to `directory_fd`: by default never leaves it and follows no link of any kind; O_CLOEXEC is added."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, resolve)
    result = _libc.syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(directory_fd), path, how, ctypes.c_size_t(len(how)))
    return _check(result, f"openat2 of {path!r}")


def rename(old_fd: int, old: bytes, new_fd: int, new: bytes, flags: int) -> None:
    """renameat2(2): RENAME_NOREPLACE never replaces, RENAME_EXCHANGE swaps two names in one step."""
    result = _libc.renameat2(ctypes.c_int(old_fd), old, ctypes.c_int(new_fd), new, ctypes.c_uint(flags))
    _check(result, f"rename of {old!r} to {new!r}")


def handle(fd: int) -> bytes:
    """name_to_handle_at(2) of a descriptor: what the file system calls it, the same after a remount; empty where it has no such name."""
    room = 128
    found = ctypes.create_string_buffer(struct.pack("=Ii", room, 0) + bytes(room))
    mount_id = ctypes.c_int()
    try:
        result = _libc.name_to_handle_at(ctypes.c_int(fd), b"", found, ctypes.byref(mount_id), ctypes.c_int(AT_EMPTY_PATH))
    except AttributeError:  # a C library without it
        return b""
    if result < 0:
        return b""
    size, kind = struct.unpack_from("=Ii", found.raw)
    return struct.pack("=i", kind) + found.raw[8 : 8 + size]


def sync_filesystem(fd: int) -> None:
    """syncfs(2): everything that was written to the file system of `fd` is durable."""
    _check(_libc.syncfs(ctypes.c_int(fd)), "syncfs")


def inotify() -> int:
    """inotify_init1(2): a descriptor that events are read from, never waiting."""
    return _check(_libc.inotify_init1(ctypes.c_int(IN_CLOEXEC | IN_NONBLOCK)), "inotify_init1")


def inotify_watch(fd: int, path: str, mask: int) -> int:
    """inotify_add_watch(2): gives the number that events of `path` carry."""
    return _check(_libc.inotify_add_watch(ctypes.c_int(fd), os.fsencode(path), ctypes.c_uint32(mask)), f"watch on {path}")
