"""The nouns: frozen, content-addressed values that every other module speaks in. No I/O, no clock, no dice.

A *task* is one concrete instance (instruction, initial state, contract, oracle); an *environment* is the program that tasks are
rendered from; an *episode* is one attempt at a task. Everything here is strict both ways through msgspec.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Any, dataclass_transform

import msgspec

RUN_WORDS = 8


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ValueMeta(msgspec.StructMeta):
    """Tells type checkers what msgspec does at run time: subclasses of a frozen Struct are frozen too."""


class Value(msgspec.Struct, metaclass=_ValueMeta, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all values: immutable, compared by content, unknown fields refused when decoded."""


def encode(value: Any) -> bytes:
    """Canonical JSON of a value: keys in definition order for structs, sorted for mappings."""
    return msgspec.json.encode(value, order="deterministic")


def content_id(value: Any, length_chars: int = 16) -> str:
    """The first `length_chars` hex digits of the SHA-256 of the canonical encoding of `value`."""
    return hashlib.sha256(encode(value)).hexdigest()[:length_chars]


def derive_seed(purpose: str, *parts: str | int) -> int:
    """A 63-bit seed from a purpose and its parts, by SHA-256, so that streams of different purposes never meet."""
    digest = hashlib.sha256(msgspec.json.encode([purpose, *parts])).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def runs(text: str) -> set[str]:
    """All runs of RUN_WORDS lower-case words of a request; a shorter one is one run."""
    words = text.lower().split()
    count = max(1, len(words) - RUN_WORDS + 1)
    return {" ".join(words[start : start + RUN_WORDS]) for start in range(count)}


# --- what lies in a directory -----------------------------------------------------------------------------------------


class File(Value, tag="file"):
    """A regular file; `age_seconds` is how long before the start of the episode it was last changed (0 = just now)."""

    data: bytes
    mode: int = 0o644
    age_seconds: int = 0


class Directory(Value, tag="directory"):
    """A directory; its entries are other keys of the tree."""

    mode: int = 0o755


class Link(Value, tag="link"):
    """A symbolic link with its literal target."""

    target: str


Node = File | Directory | Link
Tree = Mapping[str, Node]  # absolute normalised path -> node; parent directories may be left out (0755)


class State(Value):
    """Where an episode starts, and what its box is like.

    Files at absolute paths, a working directory, a home; tools that this box lacks and places in which nothing can be changed; its name,
    time zone and locale; `variables` that every command finds exported. With `carries` the working directory and the exported variables
    of one command are those of the next, as in a shell that stays.
    """

    nodes: dict[str, Node]
    cwd: str
    home: str = "/home/user"
    absent_tools: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    hostname: str = "box"
    time_zone: str = "UTC"
    locale: str = "C.UTF-8"
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    carries: bool = False


class Changes(Value):
    """What differs from the initial state: path -> new node, or None where it was removed. `complete` is False when a bound was hit.

    Paths that are no UTF-8 are keys with backslash escapes, and `raw` has their bytes. `same` groups paths that are names of one file,
    where one of them is a key of `nodes`; `left_out` are paths that differ in a way that could not be read.
    """

    nodes: dict[str, Node | None]
    complete: bool = True
    raw: dict[str, bytes] = msgspec.field(default_factory=dict)
    same: tuple[tuple[str, ...], ...] = ()
    left_out: tuple[str, ...] = ()


# --- running commands -------------------------------------------------------------------------------------------------


class Limits(Value):
    """Every bound of one episode, each with its unit; wall, CPU and output count per command, the rest per episode."""

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    output_bytes: int = 65_536
    memory_bytes: int = 512 << 20
    disk_bytes: int = 64 << 20
    inodes: int = 4096
    file_bytes: int = 32 << 20
    processes: int = 64
    open_files: int = 256


class LimitHit(enum.StrEnum):
    """Which limit ended or spoilt a command; the runner decides, never the exit code alone."""

    WALL = "wall"
    CPU = "cpu"
    OUTPUT = "output"
    MEMORY = "memory"
    DISK = "disk"
    INODES = "inodes"
    FILE_SIZE = "file_size"
    PROCESSES = "processes"
    OPEN_FILES = "open_files"


class CommandResult(Value):
    """One command as the runner saw it. `exit_code` is the shell's (128+n after signal n); outputs are cut at `output_bytes`.

    `shell_ended` says that the persistent shell in which it ran is gone, by `exit`, a kill or a limit.
    """

    command: str
    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    limit_hit: LimitHit | None = None
    seconds: float = 0.0
    shell_ended: bool = False


# --- tasks ------------------------------------------------------------------------------------------------------------


class Split(enum.StrEnum):
    """Which of the three sets a structure belongs to; they never mix."""

    PRACTICE = "practice"
    EXAM = "exam"
    AUDIT = "audit"


class Order(enum.StrEnum):
    """How two lists of lines are compared: in order or as multisets, as text or as paths resolved against the working directory."""

    LINES = "lines"
    SET = "set"
    PATHS = "paths"
    PATH_LINES = "path_lines"


class Printed(Value, tag="printed"):
    """Clause: the last command before submission printed these lines on stdout (surrounding blanks and a final newline are free)."""

    lines: tuple[str, ...]
    order: Order = Order.LINES


class Content(Value, tag="content"):
    """Clause: the file at `path` holds these lines (a final newline is free)."""

    path: str
    lines: tuple[str, ...]
    order: Order = Order.LINES


class Present(Value, tag="present"):
    """Clause: `path` exists and equals `node` in kind and bytes (mode only where `mode` is stated)."""

    path: str
    node: Node
    mode: int | None = None


class Absent(Value, tag="absent"):
    """Clause: nothing exists at `path`."""

    path: str


class Untouched(Value, tag="untouched"):
    """Clause: every initial node other than `except_paths` still has its kind, bytes and mode; new scratch files are free."""

    except_paths: tuple[str, ...] = ()


class Rerun(Value, tag="rerun"):
    """Clause: `command`, run by us in a fresh sandbox over the read-only end state, prints these lines (archives, databases, scripts)."""

    path: str  # the artefact that the command reads
    command: str
    lines: tuple[str, ...]
    order: Order = Order.LINES


Clause = Printed | Content | Present | Absent | Untouched | Rerun


class ProgramLink(Value):
    """One link of a program: a skill and which variant of it; parameters are drawn when the program is rendered."""

    skill: str
    variant: str = "plain"


class Program(Value):
    """The genome: a scenario (with its hazards) and the links applied in it, in order."""

    scenario: str
    links: tuple[ProgramLink, ...]
    hazards: tuple[str, ...] = ()

    @property
    def structure(self) -> str:
        """Structural hash: scenario, hazards and the ordered (skill, variant), no parameters."""
        return content_id([self.scenario, sorted(self.hazards), [[k.skill, k.variant] for k in self.links]])


class Task(Value):
    """One concrete instance. `oracle` and `alternative` are command sequences; neither is ever shown to the agent."""

    instruction: str
    initial: State
    contract: tuple[Clause, ...]
    oracle: tuple[str, ...]
    alternative: tuple[str, ...]
    program: Program
    seed: int
    wording: str  # ids of the wording templates used, joined by "+"
    split: Split = Split.PRACTICE
    limits: Limits = Limits()

    @property
    def id(self) -> str:
        """Content hash of the whole task."""
        return content_id(self)


class Direction(enum.StrEnum):
    """The three ways in which a child can be harder than its parent."""

    LENGTH = "length"
    SCENARIO = "scenario"
    SKILL = "skill"


class Environment(Value):
    """An evolvable environment: a program with its place in a lineage. Founders have generation 0 and no parent."""

    program: Program
    lineage: str
    generation: int = 0
    parent: str | None = None
    direction: Direction | None = None
    operator: str | None = None

    @property
    def id(self) -> str:
        """Content hash of the environment, lineage included."""
        return content_id(self)


# --- attempts ---------------------------------------------------------------------------------------------------------


class Role(enum.StrEnum):
    """Who speaks in a conversation: the task and the shell are `user`, the agent is `assistant`."""

    USER = "user"
    ASSISTANT = "assistant"


class Message(Value):
    """One turn of a conversation, before the chat template is applied."""

    role: Role
    text: str


class Ending(enum.StrEnum):
    """How an episode ended. BROKEN means the infrastructure failed: it counts neither for nor against anybody."""

    SUBMITTED = "submitted"
    STEPS = "steps"
    TOKENS = "tokens"
    REPETITION = "repetition"
    STOPPED = "stopped"  # by the person whose task it is, or by its time
    BROKEN = "broken"


class Step(Value):
    """One command of the agent and what came of it."""

    result: CommandResult
    reply_tokens: int = 0


class Verdict(Value):
    """What the judge found: passed, and for a failure one sentence per clause that does not hold."""

    passed: bool
    reasons: tuple[str, ...] = ()


class Episode(Value):
    """One attempt, start to end. `verdict` is None only when the ending is BROKEN."""

    task_id: str
    policy_id: str
    seed: int
    steps: tuple[Step, ...]
    ending: Ending
    verdict: Verdict | None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True when a verdict exists and is positive."""
        return self.verdict is not None and self.verdict.passed


class Adapter(Value):
    """A LoRA adapter by the SHA-256 of its GGUF file, with the base it belongs to and what it was made from."""

    sha256: str
    base_sha256: str
    examples_id: str
    fingerprint: tuple[float, ...]  # logits on the fixed probe with this adapter in force
    rank: int
    alpha: float


# --- the box ----------------------------------------------------------------------------------------------------------


class Readings(Value):
    """One look at the box. `others_load_cores` is total minus our own; None: it could not be read, which is not "idle"."""

    at: float  # seconds, monotonic including suspend
    others_load_cores: float | None
    available_memory_bytes: int
    free_disk_bytes: int
