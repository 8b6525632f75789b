"""What a hostile case is: a command, what stands in its way, and how its result shows that this held."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence

from edgeevo.domain import Changes, CommandResult, File, LimitHit, Limits, Link, State, Value

ABUSE_LIMITS = Limits(
    wall_seconds=40.0,  # cases end by themselves or by another limit; a busy machine must not make that the wall clock
    cpu_seconds=1,
    output_bytes=65_536,
    memory_bytes=64 << 20,
    disk_bytes=8 << 20,
    inodes=400,
    file_bytes=4 << 20,
    processes=24,
    open_files=64,
)
ABUSE_STATE = State(
    nodes={
        "/srv/app/names": File(data=b"cyan\namber\nblue\n", age_seconds=3600),
        "/srv/app/conf/app.toml": File(data=b"port = 80\n", mode=0o640),
        "/srv/app/current": Link(target="conf/app.toml"),
    },
    cwd="/srv/app",
)
Holds = Callable[[CommandResult, Changes], bool]


class Case(Value):
    """One hostile command.

    `command` may name the bait of the host as @STATE@ (a directory), @PORT@, @ABSTRACT@ (a socket), @RUNNER@ and @CALLER@ (process ids).
    `wall` says in words what contains it; where that is a limit, `limit` must be named by the result. `holds` looks at result and
    changes. With a `verifier`, that command judges the end state in a fresh box, and `holds` looks at *its* result instead.
    """

    name: str
    kind: str
    command: str
    wall: str
    holds: Holds
    limit: LimitHit | None = None
    limits: Limits = ABUSE_LIMITS
    verifier: str = ""
    machines: tuple[str, ...] = ()  # only there (platform.machine()); empty: everywhere

    @property
    def applies(self) -> bool:
        """Whether this machine can try it at all."""
        return not self.machines or platform.machine() in self.machines


def python(code: str, *, options: str = "-I -S") -> str:
    """A command that runs Python code."""
    return f"python3 {options} - <<'PYTHON'\n{code}\nPYTHON"


def anything(_result: CommandResult, _changes: Changes) -> bool:
    """The questions that follow every case are all that counts."""
    return True


def fails(result: CommandResult, _changes: Changes) -> bool:
    """The command was refused what it wanted."""
    return result.exit_code != 0


def prints(*expected: bytes) -> Holds:
    """The command's standard output is one of these."""
    return lambda result, _changes: result.stdout in expected


def cases(kind: str, wall: str, commands: Sequence[tuple[str, str]], holds: Holds) -> tuple[Case, ...]:
    """Cases (name, command) that only differ in their commands."""
    return tuple(Case(name=name, kind=kind, command=command, wall=wall, holds=holds) for name, command in commands)
