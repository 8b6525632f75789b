"""The database as a file: on which file system it may lie, how it is opened, and what becomes of a damaged one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from edgeevo.errors import StoreError

BUSY_TIMEOUT_SECONDS = 10.0
NETWORK_FILESYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "ceph"})


def connect(path: Path, *, max_bytes: int, now: float, mounts: str) -> tuple[sqlite3.Connection, str]:
    """Open or create; a damaged file is moved aside, and the text says so (empty: it was clean). StoreError when it can't be had."""
    kind = filesystem_of(path.parent, mounts)
    if kind in NETWORK_FILESYSTEMS:
        raise StoreError(f"{path.parent} is on {kind}, where locks can't be trusted", hint="set daemon.state_dir to a local disk")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        return _open(path, max_bytes), ""
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(f"database {path}: {error}", hint="is another daemon running, is the disk full or read-only?") from error
        incident = _move_aside(path, now, str(error))
        return _open(path, max_bytes), incident


def filesystem_of(directory: Path, mounts: str) -> str:
    """The type of the file system that holds `directory`, by the text of /proc/mounts; empty when unknown."""
    best, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split(" ")
        point = parts[1].replace("\\040", " ") if len(parts) > 2 else ""
        if point and Path(point) in (directory.absolute(), *directory.absolute().parents) and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind


def _open(path: Path, max_bytes: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        page = connection.execute("pragma page_size").fetchone()[0]
        connection.execute(f"pragma max_page_count = {max_bytes // page}")
        found = connection.execute("pragma quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
    except BaseException:
        connection.close()
        raise
    return connection


def _move_aside(path: Path, now: float, why: str) -> str:
    """Rename database, wal and shm with a time stamp, so that a new one can start and the old one can be looked at."""
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(f"{path.name}.damaged-{now:.0f}{suffix}"))
    return f"database was damaged ({why.splitlines()[0][:200]}); moved to {path.name}.damaged-{now:.0f}, started anew"
