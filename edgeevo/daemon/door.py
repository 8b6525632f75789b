"""The daemon's end of its unix socket: who calls, what they may ask, one request per line; never blocks, the loop selects on it.

    door = Door(path, access, max_bytes=…)

The kernel says who calls: SO_PEERCRED the user and the group, SO_PEERGROUPS the other groups. Nothing that a caller says about themselves
counts. edgeevo.control has the table of rights; file permissions are a first gate before it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import struct
from pathlib import Path

import msgspec

from edgeevo.control import RULES, Answer, Request, Right, tag
from edgeevo.domain import Value, encode
from edgeevo.errors import DaemonError, RefusedError

READ_BYTES = 1 << 16
MAX_PATH_BYTES = 107
SO_PEERGROUPS = 59  # Python has no name for it
MAX_GROUPS_BYTES = 1024  # more than getsockopt gives us is looked up in the host's database


class Access(Value):
    """Who has which right, besides root and the daemon's own user. None: nobody by a group."""

    uids: tuple[int, ...] = ()  # may read
    read_gid: int | None = None
    operate_gid: int | None = None

    @property
    def anybody(self) -> bool:
        """Whether somebody else than root and the daemon's own user may come in."""
        return bool(self.uids) or self.read_gid is not None or self.operate_gid is not None

    @property
    def only_gid(self) -> int | None:
        """The group that everybody who may come in belongs to, where there is such a one."""
        gids = {gid for gid in (self.read_gid, self.operate_gid) if gid is not None}
        return gids.pop() if len(gids) == 1 and not self.uids else None

    def rights(self, uid: int, gids: frozenset[int]) -> frozenset[Right]:
        """What a user in these groups may do."""
        if uid in (0, os.geteuid()) or self.operate_gid in gids:
            return frozenset(Right)
        return frozenset({Right.READ}) if uid in self.uids or self.read_gid in gids else frozenset()


def groups_of(link: socket.socket, uid: int, gid: int) -> frozenset[int]:
    """Every group of the process at the other end, as the kernel tells it; where it can't, those of its user in the host's database."""
    try:
        told = link.getsockopt(socket.SOL_SOCKET, SO_PEERGROUPS, MAX_GROUPS_BYTES)
        return frozenset({gid, *struct.unpack(f"{len(told) // 4}I", told)})
    except OSError:  # more groups than fit
        try:
            return frozenset({gid, *os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)})
        except (KeyError, OSError):
            return frozenset({gid})


class Connection:
    """One caller. `closing` once everything was said; the owner of the selector calls `read` and `flush` when it may."""

    def __init__(self, link: socket.socket, max_bytes: int) -> None:
        link.setblocking(False)
        self.link = link
        told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
        self.pid, self.uid, gid = struct.unpack("iII", told)
        self.gids = groups_of(link, self.uid, gid)
        self._max_bytes = max_bytes
        self._incoming, self._outgoing = bytearray(), bytearray()
        self._searched = 0  # so many bytes of `_incoming` hold no end of a line
        self.closing = False
        self.gone = False

    @property
    def wants_to_write(self) -> bool:
        """True while something waits to be sent."""
        return bool(self._outgoing)

    def read(self) -> Request | None:
        """The request, once its line is complete. Raises DaemonError on nonsense; sets `gone` when the caller hung up."""
        try:
            chunk = self.link.recv(READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            chunk = b""
        if not chunk:
            self.gone = True
            return None
        self._incoming += chunk
        if len(self._incoming) > self._max_bytes:
            raise DaemonError(
                f"request longer than {self._max_bytes} bytes", hint="send fewer lines at a time, or raise control.max_message_bytes"
            )
        end = self._incoming.find(b"\n", self._searched)  # all of a long line again for each piece of it would take quadratic time
        self._searched = len(self._incoming) if end < 0 else 0
        if end < 0:
            return None
        line = bytes(self._incoming[:end])
        del self._incoming[: end + 1]
        try:
            return msgspec.json.decode(line, type=Request)
        except msgspec.DecodeError as error:
            raise DaemonError(f"request not understood: {error}", hint="client and daemon must be of the same version") from error

    def send(self, answer: Answer, *, last: bool = True) -> None:
        """Queue an answer; `last` closes the connection once it is sent. A caller that does not read is dropped, never waited for."""
        self._outgoing += encode(answer) + b"\n"
        self.closing = self.closing or last
        if len(self._outgoing) > self._max_bytes:
            self.gone = True
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes now."""
        try:
            while self._outgoing:
                del self._outgoing[: self.link.send(self._outgoing)]
        except BlockingIOError:
            return
        except OSError:
            self.gone = True
        if self.closing and not self._outgoing:
            self.gone = True

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self.link.close()


class Door:
    """The listening end."""

    def __init__(self, path: Path, access: Access, *, max_bytes: int) -> None:
        if len(os.fsencode(path)) > MAX_PATH_BYTES:
            raise DaemonError(f"socket path {path} is longer than {MAX_PATH_BYTES} bytes", hint="set daemon.runtime_dir to a shorter path")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755 if access.anybody else 0o700)
        self.path, self._access, self._max_bytes = path, access, max_bytes
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # the caller holds the state directory's lock: whoever made this is dead
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        old = os.umask(0o177)
        try:
            self.link.bind(str(path))
        finally:
            os.umask(old)
        self._open_up()
        self.link.listen(16)

    def _open_up(self) -> None:
        """Let those try who may come in: by its group where there is one for all of them, else everybody, and `check` decides alone."""
        if not self._access.anybody:
            return
        gid = self._access.only_gid
        if gid is not None:
            with contextlib.suppress(PermissionError):  # we are not a member of that group
                os.chown(self.path, -1, gid)
                self.path.chmod(0o660)
                return
        self.path.chmod(0o666)

    def accept(self) -> Connection | None:
        """The next caller, or None."""
        try:
            link, _ = self.link.accept()
        except (BlockingIOError, OSError):
            return None
        return Connection(link, self._max_bytes)

    def check(self, uid: int, gids: frozenset[int], kind: type[Request]) -> None:
        """Raises RefusedError when a user in these groups may not ask for this."""
        right = RULES[kind].right
        if right not in self._access.rights(uid, gids):
            key = "control.operate_group" if right is Right.OPERATE else "control.read_group or control.allow_uids"
            raise RefusedError(f"user {uid} may not ask for {tag(kind)}", hint=f"use sudo, or ask to be admitted by {key}")

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self.link.close()
        with contextlib.suppress(OSError):
            self.path.unlink()
