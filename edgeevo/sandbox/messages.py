"""What the client and its runner say to each other: typed calls and answers, each one length-prefixed msgpack frame on a socket pair."""

from __future__ import annotations

import struct

import msgspec

from edgeevo.domain import Changes, CommandResult, Limits, State, Value
from edgeevo.sandbox.layers import Abilities

_LENGTH = struct.Struct("<I")
MAX_FRAME_BYTES = 512 << 20


class Open(Value, tag="open"):
    """Open a box on a state that the runner may already hold, by its content id."""

    state_id: str
    limits: Limits


class OpenState(Value, tag="open_state"):
    """Open a box on this state, and keep it as a template."""

    state_id: str
    state: State
    limits: Limits


class OpenDirectory(Value, tag="open_directory"):
    """Open a box on the directory that this runner was started for; `changes` are laid on top of it first."""

    limits: Limits
    read_only: bool
    changes: Changes | None


class Run(Value, tag="run"):
    """Run one command in a box, answered when everything that it started has ended."""

    box: int
    command: str
    wall_seconds: float
    read_only: bool


class OpenShell(Value, tag="open_shell"):
    """Start a shell that stays in a box; commands for it are sent with Tell."""

    box: int


class Tell(Value, tag="tell"):
    """Run one command in a shell, answered as soon as it has ended, whatever jobs it left running."""

    shell: int
    command: str
    wall_seconds: float


class CloseShell(Value, tag="close_shell"):
    """End a shell and everything in it, answered when that has ended."""

    shell: int


class Harvest(Value, tag="harvest"):
    """Read what differs from the initial state."""

    box: int


class AskOpened(Value, tag="ask_opened"):
    """Ask which of the files that were laid on a view have been opened since."""

    box: int


class Close(Value, tag="close"):
    """Kill what runs in a box and unmount it."""

    box: int


Body = Open | OpenState | OpenDirectory | Run | OpenShell | Tell | CloseShell | Harvest | AskOpened | Close


class Call(Value):
    """One request; `number` comes back in the answer, so that several can be under way at once."""

    number: int
    body: Body


class Opened(Value, tag="opened"):
    """The box is open under this handle."""

    box: int


class Unknown(Value, tag="unknown"):
    """The runner does not hold that state (any more): send it with OpenState."""


class Ran(Value, tag="ran"):
    """The command has ended."""

    result: CommandResult


class Harvested(Value, tag="harvested"):
    """What differs."""

    changes: Changes


class WereOpened(Value, tag="were_opened"):
    """Paths as in Changes; None: it isn't known."""

    paths: tuple[str, ...] | None


class Closed(Value, tag="closed"):
    """The box is gone."""


class Failed(Value, tag="failed"):
    """The sandbox, not the command, failed."""

    message: str
    hint: str = ""


class Ready(Value, tag="ready"):
    """Sent once, with number 0, when the runner has entered its namespaces and knows what the kernel lets it do there."""

    abilities: Abilities


Reply = Opened | Unknown | Ran | Harvested | WereOpened | Closed | Failed | Ready


class Answer(Value):
    """One answer to the call of the same number."""

    number: int
    reply: Reply


def frame(message: Call | Answer) -> bytes:
    """A message as it goes over the wire."""
    body = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames:
    """Reassembles frames from chunks of bytes; keeps a partial frame, so an interrupted reader loses nothing."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add received bytes; returns the bodies that are complete now."""
        self._buffer += data
        bodies = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < _LENGTH.size + length:
                break
            bodies.append(bytes(self._buffer[_LENGTH.size : _LENGTH.size + length]))
            del self._buffer[: _LENGTH.size + length]
        return bodies


call_decoder = msgspec.msgpack.Decoder(Call)
answer_decoder = msgspec.msgpack.Decoder(Answer)
