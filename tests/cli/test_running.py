"""edgeevo.cli.running and its neighbours: `run`, `undo`, `resume-apply` and `feedback`, against a daemon with a scripted mind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import click.testing
import pytest
from click.testing import CliRunner

from edgeevo.cli import edgeevo, run_command
from edgeevo.control import FeedbackGiven
from edgeevo.errors import RefusedError
from edgeevo.hands import KillAt, Ledger, apply
from edgeevo.hands import undo as take_back
from tests.daemon.conftest import Box
from tests.hands.conftest import photograph

ROOT = Path(__file__).resolve().parents[2]
REPLIES = {
    "change a": ["echo two > a", "echo new > n"],
    "many": [f"echo {number}" for number in range(30)],
    "slow": ["echo begun > n", "sleep 8", "sleep 9"],
    "hostile": ["printf 'x\\033[31m\\033]52;c;eA==\\007\\342\\200\\256' > a; cat a"],
    "fifo": ["mkfifo pipe"],
    "outside": ["echo 1 > /tmp/result; ln -s /tmp/result copy"],
}


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's runs are recorded for undoing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home/edgeevo/undo"


def told(box: Box, *words: str, answer: str | None = None) -> click.testing.Result:
    return CliRunner().invoke(edgeevo, ["--config", str(box.file), *words], input=answer, standalone_mode=False)


pytestmark = pytest.mark.sandbox


def test_changes_are_written_back_on_request_and_undone(box: Box, directory: Path, records: Path) -> None:
    """`run --apply`, then `undo`: the original is back, times and all."""
    original = photograph(directory)
    result = told(box, "run", "change a", "--dir", str(directory), "--apply")
    assert "written back; `edgeevo undo" in result.output and (directory / "a").read_text() == "two\n"
    assert "is as it was before" in told(box, "undo").output
    assert photograph(directory) == original


@pytest.mark.parametrize("words", [(), ("--no-apply",)])
def test_without_a_request_nothing_is_written_back(box: Box, directory: Path, records: Path, words: tuple[str, ...]) -> None:
    """Where nobody can be asked, and where it was forbidden."""
    original = photograph(directory)
    result = told(box, "run", "change a", "--dir", str(directory), *words, answer="y\n")
    assert "nothing was written back" in result.output
    assert photograph(directory) == original and not records.exists()


@pytest.mark.parametrize(("answer", "text"), [("y", "two\n"), ("n", "one\n"), ("", "one\n")])
def test_on_a_terminal_one_is_asked(box: Box, directory: Path, records: Path, answer: str, text: str) -> None:
    """The diff, then y or N; an empty answer is a no."""
    assert "Write these changes back? [y/N]" in asked(box, directory, answer) and (directory / "a").read_text() == text


def test_on_a_terminal_the_question_says_that_the_check_failed(box: Box, directory: Path, records: Path) -> None:
    """Whoever says yes to what did not pass has read so in the question; no without an answer."""
    said = asked(box, directory, "", "--check", "grep -qx three a")
    assert "The check FAILED. Write these changes back all the same? [y/N]" in said and (directory / "a").read_text() == "one\n"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_changes_outside_the_directory_are_told(box: Box, directory: Path, records: Path, words: tuple[str, ...]) -> None:
    """A link may lead to a file that stays behind: the result names it."""
    said = told(box, "run", "outside", "--dir", str(directory), "--apply", *words).output
    assert (directory / "copy").is_symlink()
    if words:
        assert json.loads(said)["outcome"]["outside"] == ["/tmp/result"]
    else:
        assert "not written back, because it is outside the directory: /tmp/result" in said


def asked(box: Box, directory: Path, answer: str, *words: str) -> str:
    """What a run on a terminal says to somebody who gives this answer."""
    ours, theirs = pty.openpty()
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "--config", str(box.file), "run", "change a", "--dir", str(directory), *words]
    process = subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=subprocess.PIPE, text=True)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    said = process.communicate(timeout=60)[0]
    os.close(ours)
    return said


@pytest.mark.parametrize(("check", "text"), [("grep -qx two a", "two\n"), ("grep -qx three a", "one\n")])
def test_only_what_passes_its_check_is_written_back(box: Box, directory: Path, records: Path, check: str, text: str) -> None:
    """`--apply` with a check that fails leaves everything as it was."""
    said = told(box, "run", "change a", "--dir", str(directory), "--apply", "--check", check).output
    assert (directory / "a").read_text() == text and ("only what passes its check" in said) == (text == "one\n")


def test_in_place_everything_is_written_back_and_one_undo_takes_it_back(box: Box, directory: Path, records: Path) -> None:
    """Nobody is asked and the check has failed: what was done is in the directory, and one `undo` gives the original bit for bit."""
    original = photograph(directory)
    words = ["run", "change a", "--dir", str(directory), "--in-place", "--check", "grep -qx three a"]
    result = told(box, *words)
    assert "check failed" in result.output and "written back; `edgeevo undo" in result.output and result.return_value == 10
    assert (directory / "a").read_text() == "two\n" and (directory / "n").exists()
    told(box, "undo")
    assert photograph(directory) == original and len(Ledger(records).ids()) == 1


def test_in_place_keeps_what_was_done_before_the_time_was_over(box: Box, directory: Path, records: Path) -> None:
    """A task that its own limit stopped has done something: that is written back, and undone."""
    original = photograph(directory)
    told(box, "run", "slow", "--dir", str(directory), "--timeout", "1", "--in-place")
    assert (directory / "n").read_text() == "begun\n"
    told(box, "undo")
    assert photograph(directory) == original


def test_in_place_what_can_not_be_undone_is_not_done(box: Box, directory: Path, records: Path) -> None:
    """The promise comes first: a change that the journal can't hold is refused by name, and nothing is written."""
    original = photograph(directory)
    result = told(box, "run", "fifo", "--dir", str(directory), "--in-place")
    assert isinstance(result.exception, RefusedError) and "pipe is neither" in str(result.exception)
    assert photograph(directory) == original


def test_json_is_one_object_with_everything(box: Box, directory: Path, records: Path) -> None:
    """Transcript, diff, check and outcome; nothing else on standard output."""
    words = ["run", "change a", "--dir", str(directory), "--apply", "--json", "--check", "grep -qx two a"]
    said = json.loads(told(box, *words).output)
    assert [step["command"] for step in said["transcript"]] == ["echo two > a", "echo new > n"]
    assert [(row["path"], row["change"]) for row in said["diff"]["changes"]] == [
        (f"{directory}/a", "changed file"),
        (f"{directory}/n", "added file"),
    ]
    assert said["check"]["verdict"] == "passed" and said["outcome"]["written_back"]
    take_back(Ledger(records), said["outcome"]["undo"])
    assert (directory / "a").read_text() == "one\n"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_hostile_output_is_escaped(box: Box, directory: Path, records: Path, words: tuple[str, ...]) -> None:
    """Escape sequences, OSC 52 and bidi overrides in output and diff reach neither a terminal nor a JSON reader's terminal."""
    said = told(box, "run", "hostile", "--dir", str(directory), *words).output
    assert "x" in said and not {"\x1b", "\x07", "\u202e"} & set(said)


def test_a_refusal_names_the_file_and_is_exit_code_3(box: Box, directory: Path, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What can't be written back is told in two lines after the diff."""
    assert run_command(["--config", str(box.file), "run", "fifo", "--dir", str(directory), "--apply"]) == 3
    said = capsys.readouterr()
    assert "added special file" in said.out and "pipe is neither" in said.err and list(records.glob("2*")) == []


def test_a_record_that_would_be_too_large_is_refused(box: Box, directory: Path, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bound in bytes is told, and nothing is written back."""
    words = ["run", "change a", "--dir", str(directory), "--apply", "--max-undo-bytes", "5000"]
    assert run_command(["--config", str(box.file), *words]) == 3
    said = capsys.readouterr().err
    assert "more than 5000" in said and "--max-undo-bytes" in said and (directory / "a").read_text() == "one\n"


def test_records_are_private_and_can_be_forgotten(box: Box, directory: Path, records: Path) -> None:
    """Mode 0700 all the way; `undo --forget` removes one and leaves the directory."""
    told(box, "run", "change a", "--dir", str(directory), "--apply")
    run = Ledger(records).ids()[0]
    assert {path.stat().st_mode & 0o777 for path in (records, records / run, records / run / "old")} == {0o700}
    assert "forgotten" in told(box, "undo", run[:20], "--forget").output
    assert Ledger(records).ids() == [] and (directory / "a").read_text() == "two\n"


def test_what_is_newer_can_be_left_while_the_rest_is_undone(box: Box, directory: Path, records: Path) -> None:
    """`undo` names the file and does nothing; `undo --leave-changed` undoes the rest and says where the old content is."""
    told(box, "run", "change a", "--dir", str(directory), "--apply")
    (directory / "a").write_text("newer")
    assert "a was changed meanwhile" in str(told(box, "undo").exception) and (directory / "n").exists()
    said = told(box, "undo", "--leave-changed").output
    assert "but for:\n  a\n" in said and str(records) in said
    assert (directory / "a").read_text() == "newer" and not (directory / "n").exists()


def test_a_broken_application_is_finished_by_command(box: Box, directory: Path, records: Path) -> None:
    """After a kill in the middle, `resume-apply` finishes, and `undo` gives the original back."""
    original = photograph(directory)
    child = os.fork()
    if not child:
        from edgeevo.domain import Changes, File
        from edgeevo.hands import before

        ledger = Ledger(records)
        apply(before(str(directory)), Changes(nodes={f"{directory}/a": File(data=b"two\n")}), ledger, step=KillAt(4))
    os.waitpid(child, 0)
    assert "is written back" in told(box, "resume-apply").output and (directory / "a").read_text() == "two\n"
    told(box, "undo")
    assert photograph(directory) == original


def test_a_dry_run_shows_and_runs_nothing(box: Box, directory: Path, records: Path) -> None:
    """The tier, the limits and what could not be changed; no command, no record."""
    os.mkfifo(directory / "pipe")
    said = told(box, "run", "change a", "--dir", str(directory), "--dry-run").output
    assert "wall_seconds 10" in said and "pipe: a fifo is never touched" in said and "$" not in said
    assert json.loads(told(box, "run", "change a", "--dir", str(directory), "--dry-run", "--json").output)["tier"] in ("overlay", "copy")


def test_the_number_of_steps_is_bounded(box: Box, directory: Path, records: Path) -> None:
    """`--steps 3` runs three commands."""
    said = json.loads(told(box, "run", "many", "--dir", str(directory), "--steps", "3", "--json").output)
    assert len(said["transcript"]) == 3 and said["outcome"]["ending"] == "steps"


def test_the_time_is_bounded(box: Box, directory: Path, records: Path) -> None:
    """`--timeout` ends the command that runs, and the work."""
    started = time.monotonic()
    said = json.loads(told(box, "run", "slow", "--dir", str(directory), "--timeout", "1", "--json").output)
    assert said["outcome"]["ending"] == "stopped" and said["transcript"][-1]["limit_hit"] == "wall" and time.monotonic() - started < 7


@pytest.mark.parametrize(("answers", "steps"), [("y\ny\n", 2), ("y\nn\n", 1), ("n\n", 0)])
def test_each_command_can_be_approved(box: Box, directory: Path, records: Path, answers: str, steps: int) -> None:
    """`--approve` shows a command before it runs; the first no ends the work."""
    result = told(box, "run", "change a", "--dir", str(directory), "--approve", answer=answers)
    assert "Run `echo two > a`?" in result.output and f"after {steps} commands" in result.output


def test_ctrl_c_leaves_everything_as_it_was(box: Box, directory: Path, records: Path) -> None:
    """Interrupted while a command runs: exit code 130, nothing written, no process left."""
    original = photograph(directory)
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-uc", program, "--config", str(box.file), "run", "slow", "--dir", str(directory), "--apply"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and "begun" in process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)
    assert process.returncode == 130 and "nothing was written back" in said[1]
    assert photograph(directory) == original and children
    deadline = time.monotonic() + 5
    while (left := [pid for pid in children if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


def test_an_interrupt_that_comes_too_late_is_told_as_that(
    box: Box, directory: Path, records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C right behind the last step of writing: what is there is not called "nothing written"."""

    def late(*words: object, **options: object) -> None:
        apply(*words, **options)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeevo.cli.performing.apply", late)
    assert run_command(["--config", str(box.file), "run", "change a", "--dir", str(directory), "--apply"]) == 130
    assert "stopped; written back: `edgeevo undo` undoes it" in capsys.readouterr().err and (directory / "a").read_text() == "two\n"
    take_back(Ledger(records))
    assert (directory / "a").read_text() == "one\n"


@pytest.mark.parametrize("words", [("undo",), ("undo", "2026"), ("resume-apply",)])
def test_an_interrupted_undoing_says_how_it_goes_on(
    records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Ctrl-C during `undo` or `resume-apply`: the same words again go on with it."""

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeevo.cli.undoing.take_back", stopped)
    monkeypatch.setattr("edgeevo.cli.undoing.finish", stopped)
    assert run_command(list(words)) == 130
    assert f"`edgeevo {' '.join(words)}` goes on" in capsys.readouterr().err


LONG = "x" * 16_001


@pytest.mark.parametrize("words", [(LONG,), ("change a", "--check", LONG)], ids=["instruction", "check"])
def test_a_task_too_long_to_be_recorded_is_refused_before_it_begins(
    box: Box, directory: Path, records: Path, words: tuple[str, ...]
) -> None:
    """Nothing is run whose outcome could not be kept."""
    before = box.rows("select 1 from runs")
    result = told(box, "run", *words, "--dir", str(directory))
    assert isinstance(result.exception, RefusedError) and "longer than 16000 bytes" in str(result.exception)
    assert box.rows("select 1 from runs") == before and "$" not in result.output


@pytest.mark.parametrize("name", ["state", "inside", "home", "/"])
def test_places_that_are_never_worked_on_are_refused_by_command(
    box: Box, records: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The daemon's state directory and what lies in it, a home, the root: exit code 3 before anything runs."""
    (box.state / "inside").mkdir(exist_ok=True)
    place = {"state": box.state, "inside": box.state / "inside", "home": Path("~").expanduser(), "/": Path("/")}[name]
    assert run_command(["--config", str(box.file), "run", "change a", "--dir", str(place)]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_feedback_is_kept_with_the_callers_user(box: Box, directory: Path, records: Path) -> None:
    """`feedback last good`: the daemon stores run, user, verdict and note."""
    told(box, "run", "change a", "--dir", str(directory))
    number = box.rows("select max(id) from runs")[0][0]
    assert f"kept with run {number}" in told(box, "feedback", "last", "good", "just so").output
    told(box, "feedback", str(number), "bad")
    rows = box.rows("select uid, good, note from feedback where run = ? order by id", number)
    assert rows == [(os.getuid(), 1, "just so"), (os.getuid(), 0, "")]


@pytest.mark.parametrize("words", [("999999", "good"), ("last", "good", "x" * 3000)])
def test_feedback_that_makes_no_sense_is_refused(box: Box, directory: Path, records: Path, words: tuple[str, ...]) -> None:
    """A run that is not one's own, or an endless note."""
    told(box, "run", "change a", "--dir", str(directory))
    with pytest.raises(RefusedError):
        box.ask(FeedbackGiven(run=None if words[0] == "last" else int(words[0]), good=True, note="".join(words[2:])))
    assert box.rows("select count(*) from feedback where length(note) > 100 or run = 999999") == [(0,)]


def test_an_unchecked_run_is_unverified_for_good(box: Box, directory: Path, records: Path) -> None:
    """Good feedback does not make an outcome verified."""
    told(box, "run", "change a", "--dir", str(directory))
    told(box, "feedback", "last", "good")
    assert box.rows("select verified from runs order by id desc limit 1") == [(None,)]
