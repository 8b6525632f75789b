"""The daemon's unix socket, both ends: one JSON line per request, one or more JSON lines as answer. Plain values, no decisions.

    for answer in call(path, StatusAsked()): ...      # the client; DaemonError with a hint when nobody answers
    server = Server(path, allow_uids=(), max_bytes=…)  # the daemon; never blocks, the caller selects on it

The kernel says who calls (SO_PEERCRED). Root and the daemon's own user may do everything; other users, where allowed, may look and ask.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec

from edgeevo.domain import Message, Value, encode
from edgeevo.errors import DaemonError, EdgeevoError, RefusedError
from edgeevo.wire import exchange

ANSWER_SECONDS = 600.0
READ_BYTES = 1 << 16
MAX_PATH_BYTES = 107


# --- requests ----------------------------------------------------------------------------------------------------------


class StatusAsked(Value, tag="status"):
    """How is the box? Answered by Status."""


class ProposeAsked(Value, tag="propose"):
    """The next reply in each conversation, greedy. `adapter`: None = what serves, "base", "factory", or the first digits of a hash."""

    conversations: tuple[tuple[Message, ...], ...]
    adapter: str | None = None


class RunEnded(Value, tag="run_ended"):
    """A real task is over; answered by Recorded. `verified` None: it was not checked."""

    instruction: str
    directory: str
    check_command: str | None
    policy_id: str
    steps: int
    ending: str
    verified: bool | None
    seconds: float


class FeedbackGiven(Value, tag="feedback"):
    """What a person thought of a real task of theirs: `run` by its number, None for their last one. Answered by Recorded."""

    run: int | None
    good: bool
    note: str = ""


class NightAsked(Value, tag="night"):
    """Run (or go on with) a night now; answered by Told until Finished. `comparison`: founders only, never promoted."""

    for_seconds: float | None = None
    comparison: bool = False


class AuditAsked(Value, tag="audit"):
    """Play the audit set with one policy; `adapter` as in ProposeAsked. Answered by Told until Finished."""

    adapter: str | None = None


class StopAsked(Value, tag="stop"):
    """Stop the night or audit that runs; what was recorded stays. Answered by Finished."""


class RollbackAsked(Value, tag="rollback"):
    """Let the previous adapter (or factory) serve again. Answered by Finished."""


Request = StatusAsked | ProposeAsked | RunEnded | FeedbackGiven | NightAsked | AuditAsked | StopAsked | RollbackAsked
EVERYBODY = (StatusAsked, ProposeAsked, RunEnded, FeedbackGiven)  # what allowed users other than root may ask


# --- answers -----------------------------------------------------------------------------------------------------------


class Health(Value):
    """One condition that is not as it should be."""

    name: str
    detail: str


class Status(Value, tag="status"):
    """The box at one moment."""

    version: str
    pid: int
    state: str  # "night", "audit", "idle" (the box is ours, nothing is due) or "busy" (the box is not ours)
    reason: str  # why busy, as a code of edgeevo.idle.Reason; empty otherwise
    detail: str  # the same in words; empty when there is nothing to say
    next_try_seconds: float  # until the next look that could start a night; 0 while one runs
    up_seconds: float
    window: str
    others_load_cores: float | None  # None: not yet known
    working_on: str  # id of the night or audit; empty: none
    phase: str  # of what runs; empty: none
    done: int
    total: int  # 0: unknown
    model: str  # name of the card; empty: none configured
    model_loaded: bool
    adapter: str | None  # hash of the promoted adapter that serves; None: factory
    previous: str | None  # hash of what a rollback returns to; None: factory
    last_night: str  # one line about the last finished night; empty: there was none
    factory: str = ""  # name of the adapter in the factory slot; empty: there is none, factory is the base without an adapter
    health: tuple[Health, ...] = ()  # empty: all is well


class Said(Value):
    """One reply of the model: its text and why it ended (stop, length or repetition)."""

    text: str
    finish: str


class Proposed(Value, tag="proposed"):
    """Replies in the order of the conversations, and whose they are."""

    replies: tuple[Said, ...]
    policy_id: str


class Recorded(Value, tag="recorded"):
    """The number under which a real task was recorded."""

    run: int


class Told(Value, tag="told"):
    """A line of progress. `total` 0: only the text counts."""

    text: str
    phase: str = ""
    done: int = 0
    total: int = 0


class Finished(Value, tag="finished"):
    """The last line of an answer that took time."""

    ok: bool
    text: str
    owner: str = ""  # id of the night or audit; empty: none
    adapter: str | None = None  # hash of what a night trained; None: nothing


class Failed(Value, tag="failed"):
    """The request could not be fulfilled: what the error tree says."""

    message: str
    hint: str
    exit_code: int


Answer = Status | Proposed | Recorded | Told | Finished | Failed


# --- client ------------------------------------------------------------------------------------------------------------


def call(path: Path, request: Request, *, timeout_seconds: float = ANSWER_SECONDS) -> Iterator[Answer]:
    """Send `request`, yield answers until the daemon closes the connection. Failed is raised as the error it stands for."""
    decoder = msgspec.json.Decoder(Answer)
    for line in exchange(path, encode(request), timeout_seconds=timeout_seconds):
        try:
            answer = decoder.decode(line)
        except msgspec.DecodeError as error:
            hint = "client and daemon must be of the same version"
            raise DaemonError(f"the daemon at {path} said something unexpected: {error}", hint=hint) from error
        if isinstance(answer, Failed):
            raise _error(answer)
        yield answer


def ask(path: Path, request: Request, *, timeout_seconds: float = ANSWER_SECONDS) -> Answer:
    """The first answer to `request`; DaemonError when there is none."""
    for answer in call(path, request, timeout_seconds=timeout_seconds):
        return answer
    raise DaemonError(f"the daemon at {path} closed the connection without an answer", hint="`edgeevo status` shows whether it still runs")


def _error(failed: Failed) -> EdgeevoError:
    for kind in EdgeevoError.__subclasses__():
        if kind.exit_code == failed.exit_code:
            return kind(failed.message, hint=failed.hint)
    return EdgeevoError(failed.message, hint=failed.hint)


# --- server ------------------------------------------------------------------------------------------------------------


class Connection:
    """One caller. `closing` once everything was said; the owner of the selector calls `read` and `flush` when it may."""

    def __init__(self, link: socket.socket, max_bytes: int) -> None:
        link.setblocking(False)
        self.link = link
        self.pid, self.uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        self._max_bytes = max_bytes
        self._incoming, self._outgoing = bytearray(), bytearray()
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
        line, newline, rest = self._incoming.partition(b"\n")
        if not newline:
            return None
        self._incoming = bytearray(rest)
        try:
            return msgspec.json.decode(bytes(line), type=Request)
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


class Server:
    """The listening end."""

    def __init__(self, path: Path, *, allow_uids: tuple[int, ...], max_bytes: int) -> None:
        if len(os.fsencode(path)) > MAX_PATH_BYTES:
            raise DaemonError(f"socket path {path} is longer than {MAX_PATH_BYTES} bytes", hint="set daemon.runtime_dir to a shorter path")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755 if allow_uids else 0o700)
        self.path = path
        self._allowed, self._max_bytes = {0, os.geteuid()}, max_bytes
        self._guests = set(allow_uids)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()  # the caller holds the state directory's lock: whoever made this is dead
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        old = os.umask(0o177)
        try:
            self.link.bind(str(path))
        finally:
            os.umask(old)
        if allow_uids:
            path.chmod(0o666)  # the kernel tells who calls; `check` decides
        self.link.listen(16)

    def accept(self) -> Connection | None:
        """The next caller, or None."""
        try:
            link, _ = self.link.accept()
        except (BlockingIOError, OSError):
            return None
        return Connection(link, self._max_bytes)

    def check(self, uid: int, request: Request) -> None:
        """Raises RefusedError when this user may not ask this."""
        if uid in self._allowed or (uid in self._guests and isinstance(request, EVERYBODY)):
            return
        raise RefusedError(
            f"user {uid} may not ask for {type(request).__struct_config__.tag}", hint="use sudo, or add the uid to control.allow_uids"
        )

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self.link.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


def failed(error: EdgeevoError) -> Failed:
    """An error as an answer."""
    return Failed(message=str(error), hint=error.hint, exit_code=error.exit_code)
