"""Commands and trees drawn from dice. `benchmarks/fuzz.py` does the same for minutes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.domain import CommandResult, LimitHit
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import ABUSE_STATE, Attacker, Host
from edgeevo.sandbox.abuse.fuzz import FUZZ_LIMITS, sample, strange, tree
from edgeevo.sandbox.judging import Seen, judge

pytestmark = pytest.mark.sandbox
FIRST_DRAW, DRAWS, TREES = 1_000_000, 60, 30


@pytest.fixture(scope="module")
def host():
    with Host() as bait:
        yield bait


@pytest.fixture(scope="module")
def sandbox(host):
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def copying(host):
    with open_sandbox(tier="copy") as opened:
        yield opened


@pytest.mark.parametrize("block", range(6))
def test_nothing_that_dice_say_gets_out(sandbox, host, block):
    """Drawn commands come back in time as results, leave nothing, tell nothing and change nothing."""
    attacker = Attacker(sandbox, host)
    for number in range(block * DRAWS // 6, (block + 1) * DRAWS // 6):
        drawn = sample(FIRST_DRAW + number)
        result, changes, escapes = attacker.run(host.dress(drawn.command, sandbox.runner_pid), FUZZ_LIMITS)
        assert isinstance(result, CommandResult) and escapes + strange(changes) == [], drawn


@given(st.text(st.characters(codec=None), max_size=300))
@settings(max_examples=40)
def test_any_text_is_a_command_or_an_error_of_the_shell(sandbox, text):
    """Whatever characters a command is made of, surrogates and NUL included, there is a result and the box goes on."""
    with sandbox.open(ABUSE_STATE, FUZZ_LIMITS) as box:
        assert box.run(text).command is not None
        assert box.run("echo on").stdout == b"on\n" or box.changes().nodes


@pytest.mark.parametrize("seed", range(TREES))
def test_both_tiers_read_the_same_of_any_tree(sandbox, copying, seed):
    """What a drawn program leaves behind gives the same changes whether the box was an overlay or a copy."""
    command, found = tree(Random(seed), whiteouts=False), []
    for tier in (sandbox, copying):
        with tier.open(ABUSE_STATE, FUZZ_LIMITS) as box:
            result = box.run(command)
            assert result.exit_code == 0, result.stderr
            changes = box.changes()
            assert strange(changes) == []
            found.append((changes.nodes, changes.complete, changes.raw, sorted(changes.left_out)))
    assert found[0] == found[1]


def test_the_same_seed_draws_the_same_command():
    """A finding can be repeated from its seed."""
    assert [sample(seed) for seed in range(50)] == [sample(seed) for seed in range(50)]


@given(st.integers(0, 255), st.binary(max_size=200), st.floats(0, 9), st.integers(0, 999))
@settings(max_examples=60)
def test_any_end_of_a_command_is_judged(exit_code, stderr, cpu_seconds, open_files):
    """Whatever a command says on its errors, judging it raises nothing, and success without a quota or a signal hits no limit."""
    hit = judge(exit_code, stderr, FUZZ_LIMITS, Seen(cpu_seconds=cpu_seconds, open_files=open_files))
    assert hit is None or isinstance(hit, LimitHit)
