"""Which limit spoilt a command: the pure decision, and what the runner really names."""

from __future__ import annotations

import msgspec
import pytest

from edgeevo.domain import File, LimitHit, Limits, State
from edgeevo.errors import TaskError
from edgeevo.sandbox.judging import Seen, judge
from tests.sandbox.conftest import STATE, TIGHT

SHELL = b"/usr/bin/bash: line 1:     7 "


@pytest.mark.parametrize(
    ("exit_code", "stderr", "seen", "limit"),
    [
        (0, b"", Seen(), None),
        (1, b"", Seen(), None),
        (152, b"", Seen(), LimitHit.CPU),
        (153, b"", Seen(), LimitHit.FILE_SIZE),
        (137, b"", Seen(cpu_seconds=0.95), LimitHit.CPU),
        (137, b"", Seen(cpu_seconds=0.5), None),
        (0, SHELL + b"CPU time limit exceeded sh -c x\n", Seen(), LimitHit.CPU),
        (0, SHELL + b"File size limit exceededhead -c 9M\n", Seen(), LimitHit.FILE_SIZE),
        (0, SHELL + b"Killed sh -c x\n", Seen(cpu_seconds=1.0), LimitHit.CPU),
        (0, SHELL + b"Killed sh -c x\n", Seen(), None),
        (1, b"OSError: [Errno 27] File too large\n", Seen(), LimitHit.FILE_SIZE),
        (1, b"OSError: [Errno 24] Too many open files: 'x'\n", Seen(), LimitHit.OPEN_FILES),
        (0, b"OSError: [Errno 24] Too many open files: 'x'\n", Seen(), None),
        (1, b"accept: Too many open files in system\n", Seen(), None),
        (1, b"", Seen(open_files=64), LimitHit.OPEN_FILES),
        (0, b"", Seen(open_files=64), None),
        (1, b"Traceback\nMemoryError\n", Seen(), LimitHit.MEMORY),
        (1, b"the class MemoryError\n", Seen(), None),
        (254, b"bash: fork: retry: Resource temporarily unavailable\n", Seen(), LimitHit.PROCESSES),
        (1, b"cp: x: No space left on device\n", Seen(), LimitHit.DISK),
        (1, b"cp: x: No space left on device\n", Seen(full_meanwhile=LimitHit.INODES), LimitHit.INODES),
        (0, b"", Seen(full_after=LimitHit.DISK), LimitHit.DISK),
        (0, b"", Seen(full_before=LimitHit.DISK, full_after=LimitHit.DISK), None),
        (1, b"", Seen(full_before=LimitHit.DISK, full_after=LimitHit.DISK), LimitHit.DISK),
        (1, b"", Seen(full_meanwhile=LimitHit.DISK), LimitHit.DISK),
        (0, b"", Seen(full_meanwhile=LimitHit.DISK), None),
        (1, b"", Seen(full_before=LimitHit.INODES, full_meanwhile=LimitHit.INODES), None),
    ],
)
def test_the_limit_is_found_from_what_was_seen(exit_code, stderr, seen, limit):
    """Signals and quotas decide first; words of the C library count for a command that failed, never for one that succeeded."""
    assert judge(exit_code, stderr, TIGHT, seen) is limit


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "command",
    [
        "grep 'Too many open files' log",
        "cat log; false",
        "cat log >&2",
        "head -c 3M /dev/zero > f; rm f; false",
        "for i in $(seq 40); do exec {f}</dev/null; done; false",
        "kill -9 $$",
    ],
)
def test_what_stays_within_its_limits_hits_none(sandbox, command):
    """Failing, being killed, using much and reading of limits are not taken for hitting one."""
    log = File(data=b"accept: Too many open files\nFile too large\nMemoryError\n")
    with sandbox.open(State(nodes={"/srv/app/log": log}, cwd="/srv/app"), TIGHT) as box:
        assert box.run(command).limit_hit is None


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "limit",
    [
        {"wall_seconds": 0.5},
        {"cpu_seconds": 1},
        {"output_bytes": 1},
        {"memory_bytes": 4 << 20},
        {"disk_bytes": 64 << 10},
        {"inodes": 16},
        {"file_bytes": 1},
        {"processes": 4},
        {"open_files": 16},
    ],
    ids=lambda limit: next(iter(limit)),
)
def test_each_limit_can_be_tight_alone(sandbox, limit):
    """Any single limit may be a task's constraint: a small command still runs under it."""
    with sandbox.open(STATE, msgspec.structs.replace(Limits(), **limit)) as box:
        result = box.run("test -f names && echo $((1 + 1)) | cat > /dev/null")
    assert (result.exit_code, result.limit_hit, result.stderr) == (0, None, b"")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "limit",
    [{name: value} for name in Limits.__struct_fields__ for value in (0, -1)]
    + [{"processes": 3}, {"open_files": 15}, {"memory_bytes": 1 << 20}],
    ids=str,
)
def test_a_limit_under_which_nothing_runs_is_refused(sandbox, limit):
    """A limit below what the shell itself needs is the task's fault, with a hint, and not a box in which everything fails."""
    with pytest.raises(TaskError) as caught:
        sandbox.open(STATE, msgspec.structs.replace(Limits(), **limit))
    assert next(iter(limit)) in str(caught.value) and caught.value.hint
