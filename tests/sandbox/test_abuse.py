"""Hostile commands, each followed by the same questions: back in time, nothing running, no mount, host unchanged, next episode clean.

The cases ship with edgeevo (`edgeevo.sandbox.abuse`, run by `edgeevo doctor --full`); here each is a test, in both tiers where the tier
matters, and once more all together as a user without any privilege.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import msgspec
import pytest

from benchmarks._service_user import ServiceUser
from edgeevo.domain import CommandResult, LimitHit
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import CASES, Attacker, Case, Finding, Host
from edgeevo.sandbox.abuse.trial import inside
from tests.sandbox.conftest import STATE, TIGHT, both_tiers, needs_root, settled

pytestmark = pytest.mark.sandbox
TREES = [case for case in CASES if case.kind in {"trees", "verdicts"}]


@pytest.fixture(scope="module")
def host():
    with Host() as bait:
        yield bait


@pytest.fixture(scope="module")
def sandbox(host, request):
    with open_sandbox(tier=getattr(request, "param", None)) as opened:
        yield opened


@pytest.fixture(scope="module")
def attacker(sandbox, host):
    return Attacker(sandbox, host)


def name(case: Case) -> str:
    return f"{case.kind}: {case.name}"


def test_every_case_has_a_name_of_its_own():
    """No two cases of the suite are shown under the same name."""
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case not in TREES], ids=name)
def test_every_abuse_is_contained(attacker, case):
    """Whatever is tried, its wall holds, the limit that was hit is named, and nothing remains, outside or for the next episode."""
    if not case.applies:
        pytest.skip(f"only on {', '.join(case.machines)}")
    assert attacker.attack(case).escapes == ()


@both_tiers
@pytest.mark.parametrize("case", TREES, ids=name)
def test_no_hostile_result_harms_who_reads_it(attacker, case):
    """However a result is built, in either tier it is read within bounds, leads nowhere, and fools no verifier."""
    assert attacker.attack(case).escapes == ()


@needs_root
def test_every_abuse_is_contained_for_a_user_without_privileges():
    """The same suite holds when everything belongs to a user who may do nothing but make namespaces."""
    with ServiceUser() as user:
        found = msgspec.json.decode(user.run(FULL_SUITE), type=list[Finding])
    assert len(found) > 150 and {finding.case: finding.escapes for finding in found if finding.escapes} == {}


FULL_SUITE = """
from edgeevo.domain import encode
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import CASES, Attacker, Host
with Host() as host, open_sandbox() as sandbox:
    attacker = Attacker(sandbox, host)
    print(encode([attacker.attack(case) for case in CASES if case.applies]).decode())
"""


def test_every_abuse_is_contained_in_a_shell_that_stays(sandbox, host):
    """The same walls stand around a persistent shell."""
    attacker = Attacker(sandbox, host, in_shells=True)
    found = [attacker.attack(case) for case in CASES if case.applies]
    assert {finding.case: finding.escapes for finding in found if finding.escapes} == {}


# --- the suite itself can fail ------------------------------------------------------------------------------------------------


class Leaky:
    """A sandbox with a hole: after each command `hole()` does what a contained command never could."""

    def __init__(self, sandbox, hole):
        self._sandbox, self._hole = sandbox, hole
        self.runner_pid = sandbox.runner_pid

    def open(self, state, limits):
        box, hole = self._sandbox.open(state, limits), self._hole
        run = box.run

        def leak(*arguments, **options):
            return hole(run(*arguments, **options)) if arguments[0] == "true" else run(*arguments, **options)

        box.run = leak
        return box


HARMLESS = Case(name="nothing", kind="none", command="true", wall="none", holds=lambda result, _: result.exit_code == 0)


def test_a_changed_host_is_an_escape(sandbox, host):
    """A canary that changed makes any case an escape, by name."""
    canary = Path(host.state, "credentials")
    secret = canary.read_text()

    def hole(result):
        canary.write_text("changed")
        return result

    try:
        assert "the canary changed" in Attacker(Leaky(sandbox, hole), host).attack(HARMLESS).escapes
    finally:
        canary.write_text(secret)


def test_a_secret_that_comes_out_is_an_escape(sandbox, host):
    """A command that could read the secret is an escape, whatever else it did."""
    secret = Path(host.state, "credentials").read_bytes()
    hole = lambda result: msgspec.structs.replace(result, stdout=b"found " + secret)  # noqa: E731 - one expression, used once
    assert "the host's secret came out" in Attacker(Leaky(sandbox, hole), host).attack(HARMLESS).escapes


def test_a_process_that_stays_is_an_escape(sandbox, host, monkeypatch):
    """A process that is still there after its command is an escape, found by its namespace and not by its parent."""
    monkeypatch.setattr("edgeevo.sandbox.abuse.trial.SETTLE_SECONDS", 0.2)
    other = sandbox.open(STATE, TIGHT)
    thread = threading.Thread(target=lambda: other.run("sleep 3"))
    thread.start()
    assert settled(lambda: len(inside(sandbox.runner_pid)) > 1)
    found = Attacker(sandbox, host).attack(HARMLESS).escapes
    thread.join()
    other.close()
    assert any("still runs" in escape for escape in found) and "a mount is left" in found


def test_a_wall_that_gives_way_is_an_escape(sandbox, host):
    """A case whose own question has the wrong answer is an escape, and so is a limit under another name."""
    broken = msgspec.structs.replace(HARMLESS, command="echo in", limit=LimitHit.WALL, holds=lambda result, _: result.stdout == b"")
    found = Attacker(sandbox, host).attack(broken).escapes
    assert len(found) == 2 and "its wall did not hold" in found[0] and "instead of wall" in found[1]


def test_a_broken_sandbox_is_an_escape_and_no_crash(host):
    """A sandbox that dies in a case is reported as such."""
    with open_sandbox() as dying:
        attacker = Attacker(dying, host)
        box = dying.open(STATE)
        os.kill(dying.runner_pid, signal.SIGKILL)
        box.close()
        found = attacker.attack(msgspec.structs.replace(HARMLESS, holds=lambda *_: False))
    assert found.escapes


# --- what comes after abuse ---------------------------------------------------------------------------------------------------


@both_tiers
def test_the_working_directory_may_be_anything(sandbox):
    """A working directory that was removed, made a link out, or forbidden does not stop the next command."""
    for command in (
        "rm -rf /srv/app",
        "rm -rf /srv/app; ln -s /proc/1/root /srv/app",
        "chmod 000 /srv",
        "rm -rf /srv/app; mkfifo /srv/app",
    ):
        with sandbox.open(STATE, TIGHT) as box:
            box.run(command)
            assert box.run("echo here").stdout == b"here\n"


@both_tiers
def test_a_box_without_a_shell_answers_with_a_result(sandbox):
    """When the agent has destroyed the loader's links on purpose, later commands fail; the sandbox does not."""
    with sandbox.open(STATE, TIGHT) as box:
        box.run("chmod 755 /; rm -rf --one-file-system --no-preserve-root / 2>/dev/null")
        assert box.run("echo here").exit_code != 0
        assert box.changes().complete


@both_tiers
def test_a_full_box_still_runs_commands(sandbox):
    """With disk and inodes used up, commands run and the box can be read and closed."""
    with sandbox.open(STATE, TIGHT) as box:
        box.run("cat /dev/zero > a; cat /dev/zero > b; cat /dev/zero > c; i=0; while : > i$i; do i=$((i+1)); done")
        assert box.run("cat names").stdout == b"cyan\namber\nblue\n"
        assert box.run("rm a b c i*; echo ok > d; cat d").stdout == b"ok\n"


@pytest.mark.parametrize(
    "command", ["", "\0", "echo \0 x", "\ud800", "'", "if", "exit 300", "x" * 200_000, "printf '\\377\\0'", "\n\n", "#"]
)
def test_no_text_of_a_command_breaks_us(attacker, command):
    """Whatever text comes as a command, the answer is a result."""
    result, _, escapes = attacker.run(command)
    assert isinstance(result, CommandResult) and result.limit_hit is None and escapes == []
