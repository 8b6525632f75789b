"""Several runners behind one sandbox."""

from __future__ import annotations

import os
import signal

import msgspec
import pytest

from edgeevo.domain import State
from edgeevo.errors import SandboxError, TaskError
from edgeevo.sandbox import open_sandbox, pool
from tests.sandbox.conftest import STATE, descendants, settled

pytestmark = pytest.mark.sandbox
OTHER = msgspec.structs.replace(STATE, hostname="other")


@pytest.fixture
def two():
    with open_sandbox(workers=2) as opened:
        yield opened


def served_by(sandbox, box) -> int:
    return box._connection.pid


def test_boxes_that_are_open_at_once_are_shared_out(two):
    """The runner with the fewest open boxes gets the next one; all are warm from the start."""
    assert len(set(two.runner_pids)) == 2
    boxes = [two.open(STATE) for _ in range(4)]
    assert sorted(served_by(two, box) for box in boxes) == sorted([*two.runner_pids] * 2)
    assert [box.run("cat names | wc -l").stdout for box in boxes] == [b"3\n"] * 4
    for box in boxes:
        box.close()


def test_a_state_goes_where_it_lies_ready(two):
    """Of idle runners the one that served a state last serves it again."""
    with two.open(STATE) as first, two.open(OTHER) as second:
        served = (served_by(two, first), served_by(two, second))
    for _ in range(3):
        with two.open(OTHER) as box:
            assert served_by(two, box) == served[1]
        with two.open(STATE) as box:
            assert served_by(two, box) == served[0]


def test_a_dead_runner_is_replaced_and_the_others_go_on(two):
    """Who works on another runner notices nothing."""
    dying, living = two.open(STATE), two.open(STATE)
    os.kill(served_by(two, dying), signal.SIGKILL)
    with pytest.raises(SandboxError):
        dying.run("true")
    dying.close()
    assert living.run("echo on").stdout == b"on\n"
    boxes = [two.open(STATE) for _ in range(3)]
    assert [box.run("echo on").stdout for box in boxes] == [b"on\n"] * 3
    for box in (*boxes, living):
        box.close()


def test_a_worn_runner_is_replaced_between_boxes(monkeypatch):
    """After so many boxes a fresh runner takes over, never under an open box, and the old one is gone."""
    monkeypatch.setattr(pool, "RECYCLED_AFTER_BOXES", 3)
    with open_sandbox() as sandbox:
        first = sandbox.runner_pid
        kept = sandbox.open(STATE)
        for _ in range(4):
            sandbox.open(STATE).close()
        assert sandbox.runner_pid == first and kept.run("echo on").stdout == b"on\n"
        kept.close()
        with sandbox.open(STATE) as box:
            assert sandbox.runner_pid != first and box.run("cat names | wc -l").stdout == b"3\n"
        assert settled(lambda: not os.path.exists(f"/proc/{first}"))


def test_a_state_that_is_refused_occupies_no_runner(two):
    """A malformed state leaves the shares as they were."""
    for _ in range(3):
        with pytest.raises(TaskError):
            two.open(State(nodes={}, cwd="relative"))
    with two.open(STATE) as first, two.open(STATE) as second:
        assert served_by(two, first) != served_by(two, second)


def test_closing_the_sandbox_ends_every_runner():
    """Nothing is left of a pool."""
    sandbox = open_sandbox(workers=2)
    pids = sandbox.runner_pids
    sandbox.open(STATE).run("true")
    sandbox.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids) and not set(pids) & set(descendants(os.getpid()))
    with pytest.raises(SandboxError):
        sandbox.open(STATE)


def test_a_pool_fits_its_machine(monkeypatch):
    """One runner per processor, fewer where memory is short, never more than four; and none is no pool."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 4096}[name])
    assert pool.fitting_workers() == 4
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PHYS_PAGES": 1 << 17, "SC_PAGE_SIZE": 4096}[name])
    assert pool.fitting_workers() == 1
    with pytest.raises(SandboxError) as caught:
        open_sandbox(workers=0)
    assert caught.value.hint
