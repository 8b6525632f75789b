"""What is said over the daemon's unix socket, and who may say it: one JSON line per request, one or more JSON lines as answer.

    for answer in call(path, StatusAsked()): ...      # the client; DaemonError with a hint when nobody answers

`RULES` is the one table of rights; edgeevo.daemon.door, the other end, follows it. docs/socket-api.md is made from what stands here: the
docstrings, the fields and the comments beside them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from edgeevo.domain import Message, Value, encode
from edgeevo.errors import DaemonError, EdgeevoError
from edgeevo.wire import exchange

ANSWER_SECONDS = 600.0


# --- requests ----------------------------------------------------------------------------------------------------------


class StatusAsked(Value, tag="status"):
    """How the box is."""


class ProposeAsked(Value, tag="propose"):
    """The next reply in each conversation, greedy. Nothing is executed."""

    conversations: tuple[tuple[Message, ...], ...]  # each begins with the instruction, by `user`; then replies by `assistant` and outputs
    adapter: str | None = None  # null: the one that serves; "base": none; "factory"; or the first digits of a hash


MAX_TEXT_BYTES = 16_000  # of each text that is recorded with a real task, where it stays for ever


class RunEnded(Value, tag="run_ended"):
    """A real task is over, and is recorded with the caller's user; each text has at most 16,000 bytes."""

    instruction: str
    directory: str  # a text like any other: the daemon never opens it
    check_command: str | None  # null: there was none; never run by the daemon
    policy_id: str  # of the `proposed` answers
    steps: int  # commands that were run
    ending: str  # submitted, steps, tokens, repetition or stopped
    verified: bool | None  # null: it was not checked, or the check proves nothing
    seconds: float


class FeedbackGiven(Value, tag="feedback"):
    """What a person thought of a real task of theirs."""

    run: int | None  # its number; null: their last one
    good: bool
    note: str = ""  # at most 2000 bytes


class NightAsked(Value, tag="night"):
    """Run a night now, or go on with the one that was interrupted; one that runs already is followed."""

    for_seconds: float | None = None  # stop after this time; null: run to its end
    comparison: bool = False  # founders only, never promoted


class AuditAsked(Value, tag="audit"):
    """Play the audit set with one policy."""

    adapter: str | None = None  # as in `propose`


class StopAsked(Value, tag="stop"):
    """Stop the night or audit that runs; what was recorded stays."""


class RollbackAsked(Value, tag="rollback"):
    """Let the previous adapter (or the factory state) serve again."""


Request = StatusAsked | ProposeAsked | RunEnded | FeedbackGiven | NightAsked | AuditAsked | StopAsked | RollbackAsked


# --- answers -----------------------------------------------------------------------------------------------------------


class Health(Value):
    """One condition that is not as it should be."""

    name: str  # what it is about: database, adapter, night, worker, …
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
    waiting: int = 0  # requests that wait for the model, or are being answered
    health: tuple[Health, ...] = ()  # empty: all is well


class Said(Value):
    """One reply of the model."""

    text: str  # a shell command, or `submit`; what a model says is never to be trusted
    finish: str  # stop (it is whole), length (it was cut off) or repetition (it went round in circles)


class Proposed(Value, tag="proposed"):
    """Replies in the order of the conversations, and whose they are."""

    replies: tuple[Said, ...]
    policy_id: str  # of base, adapter and prompt together


class Recorded(Value, tag="recorded"):
    """The number under which a real task was recorded."""

    run: int


class Told(Value, tag="told"):
    """A line of progress; more follow."""

    text: str
    phase: str = ""
    done: int = 0
    total: int = 0  # 0: only the text counts


class Finished(Value, tag="finished"):
    """The last line of an answer that took time."""

    ok: bool
    text: str
    owner: str = ""  # id of the night or audit; empty: none
    adapter: str | None = None  # hash of what a night trained; None: nothing


class Failed(Value, tag="failed"):
    """The request could not be fulfilled; may come in place of any answer."""

    message: str
    hint: str  # what to do next
    exit_code: int  # the kind of error, as in docs/cli.md


Answer = Status | Proposed | Recorded | Told | Finished | Failed


# --- who may ask what, and what comes back -----------------------------------------------------------------------------


class Right(enum.StrEnum):
    """What a caller may do. Root and the daemon's own user have both rights."""

    READ = "read"  # look, ask for replies, and have own tasks recorded; changes nothing that anybody else sees
    OPERATE = "operate"  # nights, audits and which adapter serves; includes reading


class Rule(Value):
    """Which right a request takes, and which answers it gets; the last of them ends the conversation."""

    right: Right
    answers: tuple[type[Answer], ...]


RULES: Mapping[type[Request], Rule] = {
    StatusAsked: Rule(right=Right.READ, answers=(Status,)),
    ProposeAsked: Rule(right=Right.READ, answers=(Proposed,)),
    RunEnded: Rule(right=Right.READ, answers=(Recorded,)),
    FeedbackGiven: Rule(right=Right.READ, answers=(Recorded,)),
    NightAsked: Rule(right=Right.OPERATE, answers=(Told, Finished)),
    AuditAsked: Rule(right=Right.OPERATE, answers=(Told, Finished)),
    StopAsked: Rule(right=Right.OPERATE, answers=(Finished,)),
    RollbackAsked: Rule(right=Right.OPERATE, answers=(Finished,)),
}


def tag(kind: type[Request | Answer]) -> str:
    """The value of "type" in a message of this kind."""
    return str(kind.__struct_config__.tag)


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


def failed(error: EdgeevoError) -> Failed:
    """An error as an answer."""
    return Failed(message=str(error), hint=error.hint, exit_code=error.exit_code)
