"""The shell that stays: jobs, a protocol that no output can disturb, and an end that is always told."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest

from edgeevo.domain import LimitHit
from edgeevo.errors import SandboxError
from edgeevo.sandbox.abuse.trial import inside
from tests.sandbox.conftest import STATE, TIGHT, both_tiers, descendants, settled

pytestmark = [pytest.mark.sandbox, both_tiers]
BRIEF = msgspec.structs.replace(TIGHT, wall_seconds=1.5)


@pytest.fixture
def box(sandbox):
    with sandbox.open(STATE, TIGHT) as opened:
        yield opened


@pytest.fixture
def shell(box):
    with box.shell() as opened:
        yield opened


def out(shell, command: str) -> bytes:
    return shell.run(command).stdout


def test_directory_variables_functions_and_options_stay(shell):
    """What a command did to the shell holds for the next, exported or not."""
    shell.run("cd conf; A=1; export B=2; f() { echo f$A; }; set -o pipefail")
    assert out(shell, "pwd; f; printenv B; false | true; echo $?") == b"/srv/app/conf\nf1\n2\n1\n"


def test_jobs_go_on_between_commands(shell):
    """A job is listed, its later output comes with the next command, and it can be waited for and killed."""
    assert out(shell, "(sleep 0.2; echo late) & sleep 60 & jobs | wc -l") == b"2\n"
    time.sleep(0.5)
    assert out(shell, "kill %2; wait; jobs").startswith(b"late\n")


def test_streams_and_exit_codes_are_the_commands(shell):
    """Each command has its own output, errors and exit code."""
    first, second = shell.run("echo a; echo b >&2; (exit 7)"), shell.run("true")
    assert (first.stdout, first.stderr, first.exit_code, first.shell_ended) == (b"a\n", b"b\n", 7, False)
    assert (second.stdout, second.stderr, second.exit_code) == (b"", b"", 0)


@pytest.mark.parametrize(
    "command",
    [
        "printf '1 0\\0' ",
        "printf '2 0\\0\\0 3 0\\0' >&2",
        "head -c 9000 /dev/urandom",
        "printf 'x\\0y'; printf '{\"exit-code\": 3}'",
        "break",
        "break 2>/dev/null; continue",
        "continue 99",
        "nosuch(",
        "'",
        "return 3",
        "exec 1>/tmp/o",
        "exec 2>&1",
        "IFS=x; unset PATH; set -f",
        "alias echo=false; shopt -s expand_aliases",
        "printf() { :; }; read() { :; }; eval() { :; }",
        "trap 'echo trapped' DEBUG; trap - DEBUG",
        "for f in 3 4 5 6 7 8 9; do printf '9 9\\0' >&$f; done",
        "printf '9999 0\\0' >&10; printf 'nonsense\\0' >&10",
        "\ud800\0",
    ],
)
def test_no_command_disturbs_the_next(shell, command):
    """Whatever a command prints, or does to the shell's own loop, the next one is run and answered by itself."""
    shell.run(command)
    assert shell.run("builtin echo here > /tmp/here; (exit 5)").exit_code == 5
    shown = shell.run("/usr/bin/cat /tmp/here >&2")
    assert (shown.stdout + shown.stderr).endswith(b"here\n")


@pytest.mark.parametrize(
    ("command", "code", "limit"),
    [
        ("echo bye; exit 3", 3, None),
        ("exec true", 0, None),
        ("exec nosuch", 127, None),
        ("kill -9 $$", 137, None),
        ("kill -INT $$", 130, None),
        ("set -e; false", 1, None),
        ("break 99", 0, None),
        ("sleep 60", 137, LimitHit.WALL),
        ("exec sleep 60", 137, LimitHit.WALL),
        ("kill -STOP $$", 137, LimitHit.WALL),
        ("yes & wait", 137, LimitHit.OUTPUT),
        ("f() { f | f & }; f; sleep 60", 137, LimitHit.PROCESSES),
    ],
)
def test_the_end_of_the_shell_is_told(sandbox, command, code, limit):
    """The command that ended it says so, with exit code and limit; so does every later one, and another shell can be opened."""
    with sandbox.open(STATE, BRIEF) as box, box.shell() as shell:
        ended = shell.run(command)
        assert (ended.exit_code, ended.limit_hit, ended.shell_ended) == (code, limit, True)
        later = shell.run("echo more")
        assert (later.command, later.stdout, later.shell_ended) == ("echo more", b"", True)
        with box.shell() as other:
            assert out(other, "echo on") == b"on\n"


def test_a_death_between_commands_is_told_with_the_next(shell):
    """A shell that its own job killed answers the next command with its end."""
    assert not shell.run("(sleep 0.2; kill -9 $$) &").shell_ended
    time.sleep(0.6)
    assert shell.run("echo more").shell_ended


def test_a_job_is_bound_by_the_limits_between_commands_too(sandbox):
    """Memory that a job takes while no command is under way ends the shell, and the limit is named."""
    with sandbox.open(STATE, TIGHT) as box, box.shell() as shell:
        shell.run("python3 -I -S -c 'import time; time.sleep(0.2); x = bytearray(200 << 20); time.sleep(60)' &")
        time.sleep(1.5)
        ended = shell.run("echo more")
    assert ended.shell_ended and ended.limit_hit is LimitHit.MEMORY


def test_an_idle_job_that_prints_without_end_fills_nothing(sandbox):
    """Between commands nothing is read; the next command then meets the output limit."""
    with sandbox.open(STATE, TIGHT) as box, box.shell() as shell:
        shell.run("(sleep 0.2; yes) &")
        time.sleep(0.6)
        ended = shell.run("sleep 60")
    assert ended.limit_hit is LimitHit.OUTPUT and len(ended.stdout) + len(ended.stderr) == TIGHT.output_bytes


def test_nothing_outlives_its_shell(sandbox, box):
    """Closing the shell ends its jobs, detached ones too, and the box goes on."""
    with box.shell() as shell:
        shell.run("sleep 60 & setsid sleep 60 & nohup sleep 60 >/dev/null 2>&1 &")
    assert settled(lambda: not inside(sandbox.runner_pid))
    assert box.run("echo on").stdout == b"on\n"


def test_closing_the_box_ends_its_shells(sandbox):
    """A shell that is open, with a command under way, ends with its box, and its caller is told."""
    box = sandbox.open(STATE, TIGHT)
    shell, failed = box.shell(), []

    def work():
        try:
            shell.run("sleep 60")
        except SandboxError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert settled(lambda: len(descendants(sandbox.runner_pid)) >= 4)
    box.close()
    thread.join(10)
    assert failed and settled(lambda: not inside(sandbox.runner_pid))


def test_changes_are_read_when_the_shell_is_closed(box):
    """While a shell is open its jobs may write, so changes are refused; afterwards they are those of a command."""
    with box.shell() as shell:
        shell.run("echo x > names")
        with pytest.raises(SandboxError, match="shell"):
            box.changes()
    assert set(box.changes().nodes) == {"/srv/app/names"}


def test_one_command_at_a_time(box):
    """A second thread is refused while a command is under way; another shell serves it."""
    with box.shell() as shell, box.shell() as other:
        thread = threading.Thread(target=lambda: shell.run("sleep 1"))
        thread.start()
        time.sleep(0.3)
        with pytest.raises(SandboxError):
            shell.run("true")
        assert out(other, "echo on") == b"on\n"
        thread.join()
        assert out(shell, "echo on") == b"on\n"


def test_long_commands_are_run_and_longer_ones_refused(shell):
    """Up to the kernel's bound of one argument a command is run as anywhere; beyond it is a result, and the shell goes on."""
    assert out(shell, "x=" + "y" * 100_000 + "; echo ${#x}") == b"100000\n"
    assert shell.run("z" * 200_000).exit_code == 126
    assert out(shell, "echo on") == b"on\n"
