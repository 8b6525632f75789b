"""edgeevo.cli.hands: a real task on a view of a real directory, with a check that can't be fooled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeevo.cli.hands import MAX_STEPS, Done, RealTask, work
from edgeevo.control import Said
from edgeevo.demo import FILES, real_tasks
from edgeevo.domain import Changes, CommandResult, Ending, File, Message
from edgeevo.errors import RefusedError
from edgeevo.sandbox import Sandbox, ScriptedSandbox, open_sandbox


def answer(command: str) -> CommandResult:
    """A shell in which checks fail and everything else works."""
    return CommandResult(command=command, exit_code=1 if command.startswith("test") else 0, stdout=command.encode())


def says(*lines: str, finish: str = "stop"):
    """A mind that says these lines, then `submit` for ever."""
    left = list(lines)

    def think(conversation: tuple[Message, ...]) -> Said:
        return Said(text=left.pop(0) if left else "submit", finish=finish)

    return think


def scripted(*lines: str, check: str | None = None, finish: str = "stop") -> Done:
    return work(RealTask(instruction="x", directory="/srv/x", check=check), ScriptedSandbox(answer), says(*lines, finish=finish))


@pytest.mark.parametrize(
    ("lines", "finish", "ending", "steps"),
    [
        (("ls",), "stop", Ending.SUBMITTED, 1),
        (("ls", "ls", "pwd"), "stop", Ending.REPETITION, 2),
        (tuple(f"echo {number}" for number in range(50)), "stop", Ending.STEPS, MAX_STEPS),
        (("ls",), "length", Ending.TOKENS, 0),
        (("ls",), "repetition", Ending.REPETITION, 0),
        (("",), "stop", Ending.TOKENS, 0),
    ],
)
def test_an_attempt_ends_as_in_practice(lines: tuple[str, ...], finish: str, ending: Ending, steps: int) -> None:
    """Submission, repetition, too many steps, a reply that was cut off."""
    done = scripted(*lines, finish=finish)
    assert (done.ending, len(done.steps), done.verified) == (ending, steps, None)


def test_the_mind_sees_what_came_of_its_commands() -> None:
    """Each turn has the instruction, the commands so far and their observations."""
    seen = []

    def think(conversation: tuple[Message, ...]) -> Said:
        seen.append([message.text for message in conversation])
        return Said(text="ls" if len(seen) == 1 else "submit", finish="stop")

    work(RealTask(instruction="look", directory="/srv/x"), ScriptedSandbox(answer), think)
    assert seen == [["look"], ["look", "ls", "exit 0\nls"]]


def test_a_check_that_passes_beforehand_is_refused() -> None:
    """A check that proves nothing is not run twice."""
    with pytest.raises(RefusedError, match="before anything was done"):
        scripted("ls", check="true")


def test_a_check_that_still_fails_is_a_failure() -> None:
    """Submitting is not passing."""
    assert scripted("ls", check="test -e y").verified is False


def test_changes_that_could_not_be_read_whole_never_pass() -> None:
    """A check over half of the changes proves nothing."""
    results = iter([1, 0, 0])
    sandbox = ScriptedSandbox(lambda command: CommandResult(command=command, exit_code=next(results)), Changes(nodes={}, complete=False))
    assert work(RealTask(instruction="x", directory="/srv/x", check="c"), sandbox, says("ls")).verified is False


def test_every_box_is_closed_even_when_the_mind_fails() -> None:
    """An exception leaves no box open."""
    sandbox = ScriptedSandbox(answer)

    def think(conversation: tuple[Message, ...]) -> Said:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        work(RealTask(instruction="x", directory="/srv/x"), sandbox, think)
    assert all(box.closed for box in sandbox.boxes)


# --- with the real sandbox ---------------------------------------------------------------------------------------------


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox()
    yield opened
    opened.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="edgeevo-test-") as name:
        for path, content in FILES.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_text(content)
        yield Path(name)


def snapshot(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.sandbox
@pytest.mark.parametrize("number", range(3))
def test_the_demos_tasks_can_be_done_and_nothing_is_written_back(sandbox: Sandbox, directory: Path, number: int) -> None:
    """Each of the three tasks has a command that makes its check pass; the real directory stays as it was."""
    solution = ("grep -c ERROR app.log > errors.txt", "sort names.txt > sorted.txt", "grep WARN app.log >> warnings.txt")[number]
    before = snapshot(directory)
    done = work(real_tasks(directory)[number], sandbox, says(solution))
    assert (done.verified, done.ending) == (True, Ending.SUBMITTED)
    assert done.changes.nodes and snapshot(directory) == before


@pytest.mark.sandbox
@pytest.mark.parametrize("number", range(3))
def test_doing_nothing_fails_the_demos_checks(sandbox: Sandbox, directory: Path, number: int) -> None:
    """The nop control fails every check."""
    assert work(real_tasks(directory)[number], sandbox, says()).verified is False


@pytest.mark.sandbox
def test_a_check_can_not_change_the_directory(sandbox: Sandbox, directory: Path) -> None:
    """The check's sandbox is read-only: a check that writes fails instead of making itself true."""
    task = RealTask(instruction="x", directory=str(directory), check="touch made && test -e made")
    assert work(task, sandbox, says("true")).verified is False


@pytest.mark.sandbox
def test_what_the_agent_left_running_does_not_answer_for_it(sandbox: Sandbox, directory: Path) -> None:
    """A background process and a planted file outside the directory are not there when the check runs."""
    command = (
        "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/bin/test; chmod +x ~/bin/test; (while :; do touch errors.txt; done) & sleep 0.2"
    )
    task = RealTask(instruction="x", directory=str(directory), check="grep -qx 13 errors.txt")
    done = work(task, sandbox, says(command))
    assert done.verified is False


@pytest.mark.sandbox
def test_a_file_that_the_agent_wrote_is_read_back(sandbox: Sandbox, directory: Path) -> None:
    """The changes name the new file by its real path, with its bytes."""
    done = work(RealTask(instruction="x", directory=str(directory)), sandbox, says("printf hello > new.txt"))
    node = done.changes.nodes[f"{os.path.realpath(directory)}/new.txt"]
    assert isinstance(node, File) and node.data == b"hello"


@pytest.mark.sandbox
def test_the_root_directory_is_refused(sandbox: Sandbox) -> None:
    """`--dir /` is never worked on."""
    with pytest.raises(RefusedError):
        work(RealTask(instruction="x", directory="/"), sandbox, says("ls"))


# --- checks that the agent would like to answer itself -------------------------------------------------------------------


def evil(sandbox: Sandbox, directory: Path, check: str, *commands: str) -> Done:
    """A run whose check fails before, and passes after these commands."""
    done = work(RealTask(instruction="x", directory=str(directory.resolve()), check=check), sandbox, says(*commands))
    assert done.checked is not None and done.checked.exit_code == 0
    return done


@pytest.fixture
def checked(directory: Path) -> Path:
    """A directory with a check of its own: a script, and a library that it sources."""
    (directory / "check.sh").write_text("#!/bin/bash\n. ./lib.sh\nis_done errors.txt\n")
    (directory / "lib.sh").write_text("is_done() { grep -qx 13 $1; }\n")
    (directory / "check.sh").chmod(0o755)
    (directory / "bin").mkdir()
    return directory


@pytest.mark.sandbox
@pytest.mark.parametrize("check", ["./check.sh", "bash check.sh", "bash ./bin/../check.sh"])
def test_an_edited_check_script_verifies_nothing(sandbox: Sandbox, checked: Path, check: str) -> None:
    """The agent rewrites the script that the check runs."""
    done = evil(sandbox, checked, check, "printf '#!/bin/sh\\nexit 0\\n' > check.sh")
    assert done.verified is None and done.doubted == (f"{checked.resolve()}/check.sh",)


@pytest.mark.sandbox
@pytest.mark.parametrize("check", ["./check.sh", ". ./lib.sh; is_done errors.txt", "cat names.txt && bash check.sh"])
def test_an_edited_sourced_file_verifies_nothing(sandbox: Sandbox, checked: Path, check: str) -> None:
    """The agent rewrites what the check, or the script that it runs, reads as code."""
    done = evil(sandbox, checked, check, "echo 'is_done() { true; }' > lib.sh")
    assert done.verified is None and done.doubted == (f"{checked.resolve()}/lib.sh",)


@pytest.mark.sandbox
@pytest.mark.parametrize("check", ["PATH=$PWD/bin:$PATH; grep -qx 13 errors.txt", "export PATH=bin:$PATH && wc -l app.log | grep -q 99"])
def test_a_program_planted_earlier_in_the_path_verifies_nothing(sandbox: Sandbox, checked: Path, check: str) -> None:
    """The agent puts a program of the same name where the check's PATH looks first."""
    done = evil(sandbox, checked, check, "printf '#!/bin/sh\\nexit 0\\n' > bin/grep; chmod 755 bin/grep")
    assert done.verified is None and done.doubted == (f"{checked.resolve()}/bin/grep",)


@pytest.mark.sandbox
def test_an_honest_result_for_an_untouched_script_is_verified(sandbox: Sandbox, directory: Path) -> None:
    """A check script that only reads what the agent made may judge it."""
    (directory / "check.sh").write_text("#!/bin/sh\nset -e\ngrep -qx 13 errors.txt\n")
    task = RealTask(instruction="x", directory=str(directory.resolve()), check="sh check.sh")
    done = work(task, sandbox, says("grep -c ERROR app.log > errors.txt"))
    assert (done.verified, done.doubted) == (True, ())


def test_without_a_check_an_outcome_is_unverified() -> None:
    """Whatever the agent did, nobody knows whether it was right."""
    assert scripted("ls").verified is None


def test_the_work_ends_at_the_first_command_that_is_not_approved() -> None:
    """A command that somebody said no to is never run."""
    sandbox = ScriptedSandbox(answer)
    done = work(RealTask(instruction="x", directory="/srv/x"), sandbox, says("ls", "rm x"), approve=lambda command: command == "ls")
    assert done.ending is Ending.STOPPED and sandbox.boxes[0].commands == ["ls"]
