"""edgeevo.cli.jobs and its neighbours: a real task goes on without its terminal, stays readable, can be stopped, and applied later."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click.testing
import pytest
from click.testing import CliRunner

from edgeevo.cli import edgeevo
from edgeevo.cli.job import Log
from edgeevo.errors import RefusedError, WorkerError
from edgeevo.hands import Job, Jobs, Progress
from edgeevo.hands.ledger import Mark
from tests.daemon.conftest import Box
from tests.hands.conftest import photograph
from tests.hands.test_hostile import needs_root

ROOT = Path(__file__).resolve().parents[2]
REPLIES = {
    "change a": ["echo two > a", "echo new > n"],
    "slow": ["echo begun > n; echo begun", "sleep 8", "sleep 9"],
    "loud": [f"echo {number}; head -c 1900 /dev/zero | tr '\\0' x" for number in range(12)],
    "hostile": ["printf 'x\\033[31m\\342\\200\\256'"],
    "many files": ["for i in $(seq 300); do echo $i > f$i; done"],
}
pytestmark = pytest.mark.sandbox


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """Where this test's jobs are recorded; what still runs at its end is ended."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = Jobs(max_kept=50, max_running=50, place=tmp_path / "home/edgeevo/jobs")
    yield made
    for job in made.all():
        if job.alive:
            job.cancel()


def told(box: Box, *words: str) -> click.testing.Result:
    return CliRunner().invoke(edgeevo, ["--config", str(box.file), *words], standalone_mode=False)


def detached(box: Box, records: Jobs, instruction: str, directory: Path, *words: str) -> Job:
    """A job that has been started."""
    result = told(box, "run", instruction, "--dir", str(directory), "--detach", *words)
    assert result.exception is None, result.exception
    return records.job(None)


def ended(job: Job, seconds: float = 30.0) -> Progress:
    """Its last word, once it has ended."""
    deadline = time.monotonic() + seconds
    while job.alive and time.monotonic() < deadline:
        time.sleep(0.02)
    assert job.progress.phase == "ended", job.log.read_text()
    return job.progress


def under_way(job: Job, word: str, seconds: float = 20.0) -> None:
    """Return once the log has this word."""
    deadline = time.monotonic() + seconds
    while word not in job.log.read_text():
        assert time.monotonic() < deadline and job.alive, job.log.read_text()
        time.sleep(0.02)


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    try:
        below = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*below, *(deeper for child in below for deeper in descendants(child))]


def gone(pids: list[int], seconds: float = 5.0) -> bool:
    """Whether all of these end in time; one that is dead and waits for its reaper has ended."""

    def runs(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if runs(pid)]:
        if time.monotonic() > deadline:
            return not left
        time.sleep(0.02)
    return True


def test_a_job_goes_on_when_its_terminal_is_gone(box: Box, directory: Path, records: Jobs) -> None:
    """Its starter has ended and its session is another one: transcript, diff, check and outcome are there afterwards."""
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    words = ["--config", str(box.file), "run", "change a", "--dir", str(directory), "--check", "grep -qx two a", "--detach", "--json"]
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    job = records.job(json.loads(done.stdout)["job"])
    assert ended(job).exit_code == 0 and not done.stderr
    said = told(box, "logs", str(job.number)).output
    assert "$ echo two > a" in said and "changed file" in said and "check passed" in said and "recorded as run" in said
    result = json.loads(told(box, "logs", str(job.number), "--json").output)
    assert [step["command"] for step in result["transcript"]] == ["echo two > a", "echo new > n"]
    assert result["check"]["verdict"] == "passed" and not result["outcome"]["written_back"]
    assert (directory / "a").read_text() == "one\n"


def test_a_job_has_a_session_of_its_own_and_no_terminal(box: Box, directory: Path, records: Jobs) -> None:
    """Nothing that ends the starter's session reaches it; its input is empty, and it holds none of the starter's descriptors."""
    with (directory / "a").open() as held:
        os.set_inheritable(held.fileno(), True)
        job = detached(box, records, "slow", directory)
        under_way(job, "begun")
        pid = job.progress.pid
        assert os.getsid(pid) == pid != os.getsid(0)
        open_files = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null" and str(directory / "a") not in open_files
    job.cancel()


def test_a_job_may_be_applied_afterwards_and_undone(box: Box, directory: Path, records: Jobs) -> None:
    """`apply` writes back what the job showed, once; `undo` gives the original bit for bit."""
    original = photograph(directory)
    job = detached(box, records, "change a", directory)
    ended(job)
    assert photograph(directory) == original and f"`edgeevo apply {job.number}`" in job.log.read_text()
    assert "written back; `edgeevo undo" in told(box, "apply", str(job.number)).output
    assert (directory / "a").read_text() == "two\n" and (directory / "n").read_text() == "new\n"
    assert isinstance(told(box, "apply", str(job.number)).exception, RefusedError)
    told(box, "undo")
    assert photograph(directory) == original


def test_what_was_changed_since_a_job_began_is_never_overwritten(box: Box, directory: Path, records: Jobs) -> None:
    """Applying later asks the same as applying at once: the file is named and nothing is written."""
    job = detached(box, records, "change a", directory)
    ended(job)
    (directory / "a").write_text("mine\n")
    said = told(box, "apply", str(job.number)).exception
    assert isinstance(said, RefusedError) and "a was changed meanwhile" in str(said)
    assert (directory / "a").read_text() == "mine\n" and not (directory / "n").exists()


@pytest.mark.parametrize("words", [("--apply",), ("--in-place",)])
def test_a_job_writes_back_what_it_was_told_to(box: Box, directory: Path, records: Jobs, words: tuple[str, ...]) -> None:
    """Asked for up front, it is written at the end of the job, by the job."""
    job = detached(box, records, "change a", directory, *words)
    assert ended(job).undo and (directory / "a").read_text() == "two\n"
    assert job.progress.undo in told(box, "jobs").output


def test_a_job_that_failed_its_check_is_applied_only_on_demand(box: Box, directory: Path, records: Jobs) -> None:
    """`apply` refuses, `apply --anyway` does it; the job's exit code is that of `run`."""
    job = detached(box, records, "change a", directory, "--check", "grep -qx three a", "--apply")
    assert ended(job).exit_code == 10 and not job.progress.undo
    assert "did not pass its check" in str(told(box, "apply", str(job.number)).exception)
    assert (directory / "a").read_text() == "one\n"
    told(box, "apply", str(job.number), "--anyway")
    assert (directory / "a").read_text() == "two\n"


def test_cancelling_leaves_nothing_running_and_nothing_written(box: Box, directory: Path, records: Jobs) -> None:
    """Stopped in the middle of a command: the original is there, and every process below the job is gone."""
    original = photograph(directory)
    job = detached(box, records, "slow", directory, "--in-place")
    under_way(job, "begun")
    pids = [job.progress.pid, *descendants(job.progress.pid)]
    assert len(pids) > 2
    said = told(box, "cancel", str(job.number)).output
    assert "cancelled; nothing was written back" in said and job.progress.exit_code == 130
    assert gone(pids) and photograph(directory) == original
    assert isinstance(told(box, "cancel", str(job.number)).exception, RefusedError)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_of_the_system_are_understood(box: Box, directory: Path, records: Jobs, number: signal.Signals) -> None:
    """SIGTERM stops a job as cancelling does; SIGHUP, which a closed terminal sends, does not."""
    job = detached(box, records, "slow", directory, "--timeout", "2")
    under_way(job, "begun")
    os.kill(job.progress.pid, number)
    assert ended(job).exit_code == (130 if number == signal.SIGTERM else 0)


def test_a_job_that_was_killed_is_told_as_such(box: Box, directory: Path, records: Jobs) -> None:
    """SIGKILL: nothing of it runs on, nothing was written, and `jobs` and `logs --follow` say so instead of waiting."""
    original = photograph(directory)
    job = detached(box, records, "slow", directory, "--in-place")
    under_way(job, "begun")
    pids = descendants(job.progress.pid)
    os.kill(job.progress.pid, signal.SIGKILL)
    assert gone(pids) and photograph(directory) == original
    assert "broken off" in told(box, "jobs").output
    assert isinstance(told(box, "logs", "--follow").exception, WorkerError)


def test_following_shows_everything_and_exits_as_the_job_did(box: Box, directory: Path, records: Jobs) -> None:
    """`logs --follow` begun while the job runs prints the whole log and ends with its exit code."""
    job = detached(box, records, "slow", directory, "--timeout", "1", "--check", "false")
    result = told(box, "logs", str(job.number), "--follow")
    assert result.return_value == 10 and result.output == job.log.read_text() and "check failed" in result.output


def test_whoever_stops_following_stops_nothing_else(box: Box, directory: Path, records: Jobs) -> None:
    """Ctrl-C in `logs --follow` ends the following with 130; the job goes on."""
    job = detached(box, records, "slow", directory)
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    words = ["--config", str(box.file), "logs", "--follow"]
    process = subprocess.Popen([sys.executable, "-uc", program, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130 and job.alive
    process.stdout.close()
    job.cancel()


def test_the_log_is_bounded_and_says_so(box: Box, directory: Path, records: Jobs) -> None:
    """What is beyond jobs.max_log_bytes is left out; the job goes on to its end and its result is whole."""
    small = ("--set", "jobs.max_log_bytes=10000")
    told(box, *small, "run", "loud", "--dir", str(directory), "--detach")
    job = records.job(None)
    assert ended(job).exit_code == 0
    assert job.log.stat().st_size < 10_200 and "this log ends here, at 10000 bytes" in job.log.read_text()
    assert len(json.loads(job.read("result"))["transcript"]) == 12


def test_a_result_that_is_too_large_is_left_out_and_told(box: Box, directory: Path, records: Jobs) -> None:
    """jobs.max_record_bytes holds for the result and for what applying needs; both are told in the log."""
    told(box, "--set", "jobs.max_record_bytes=10000", "run", "many files", "--dir", str(directory), "--detach")
    job = records.job(None)
    ended(job)
    result = json.loads(job.read("result"))
    assert result["transcript"] is result["diff"] is None and result["outcome"]["ending"] == "submitted"
    assert "left out of the result" in job.log.read_text() and "can't be applied later" in job.log.read_text()
    assert "no changes to write back" in str(told(box, "apply", str(job.number)).exception)


def test_hostile_output_in_a_log_is_escaped(box: Box, directory: Path, records: Jobs) -> None:
    """Neither the file nor what `logs` prints of it steers a terminal, whatever got into the file."""
    job = detached(box, records, "hostile", directory)
    ended(job)
    with job.log.open("ab") as log:
        log.write(b"\x1b[2J\xff")
    said = told(box, "logs").output
    assert not {"\x1b", "\u202e"} & set(said) and "\\x1b[2J" in said


def test_no_more_jobs_run_at_once_than_may(box: Box, directory: Path, records: Jobs) -> None:
    """The one too many is refused by the number of those that run, and leaves no record."""
    job = detached(box, records, "slow", directory)
    result = told(box, "--set", "jobs.max_running=1", "run", "slow", "--dir", str(directory), "--detach")
    assert isinstance(result.exception, RefusedError) and f"({job.number})" in str(result.exception)
    assert [each.number for each in records.all()] == [job.number]
    job.cancel()


def test_old_records_go_and_numbers_are_never_given_twice(tmp_path: Path) -> None:
    """The oldest ended ones go first, what runs stays, and a forgotten number does not come back."""
    jobs = Jobs(max_kept=2, max_running=9, place=tmp_path / "jobs")
    first, running = jobs.begin(b"{}")
    for _ in range(4):
        _, lock = jobs.begin(b"{}")
        os.close(lock)
    assert [job.number for job in jobs.all()] == [1, 4, 5] and first.alive
    os.close(running)
    for job in jobs.all():
        jobs.forget(job)
    last, lock = jobs.begin(b"{}")
    os.close(lock)
    assert last.number == 6 and not last.alive


def test_records_are_private(box: Box, directory: Path, records: Jobs) -> None:
    """Only their user can read transcript and diff, whatever the umask is."""
    old = os.umask(0)
    try:
        job = detached(box, records, "change a", directory)
    finally:
        os.umask(old)
    ended(job)
    assert {path.stat().st_mode & 0o077 for path in (records.place, job.place)} == {0}
    records.place.chmod(0o755)
    assert isinstance(told(box, "jobs").exception, RefusedError)
    records.place.chmod(0o700)


def test_a_terminal_that_closes_takes_no_job_along(box: Box, directory: Path, records: Jobs) -> None:
    """Started in a shell on a terminal of its own, which is then hung up: the shell is gone, the job ends as it would have."""
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    words = ["--config", str(box.file), "run", "slow", "--dir", str(directory), "--detach", "--timeout", "3"]
    shell, terminal = pty.fork()
    if not shell:
        line = shlex.join([sys.executable, "-c", program, *words])
        os.execv("/bin/bash", ["bash", "-c", f"cd {shlex.quote(str(ROOT))}; {line}; sleep 60"])
    assert b"job 1 runs" in read_until(terminal, b"follow")
    job = records.job(1)
    under_way(job, "begun")
    os.close(terminal)
    assert gone([shell]) and job.alive
    os.waitpid(shell, 0)
    assert ended(job).exit_code == 0 and "the agent stopped (stopped)" in job.progress.told


def read_until(terminal: int, word: bytes) -> bytes:
    said = b""
    while word not in said:
        said += os.read(terminal, 4096)
    return said


def reachable(path: Path) -> bool:
    """Whether any user may use this path."""
    return path.exists() and all(parent.stat().st_mode & 1 for parent in path.resolve().parents)


def as_another_user(box: Box, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line as user 4001, who is in no other group."""
    names = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", f"/usr/local/bin/python3.{sys.version_info.minor}")
    interpreter = next((name for name in names if reachable(Path(name))), None)
    packages = Path(click.__file__).parents[1]
    if interpreter is None or not (reachable(ROOT / "edgeevo") and reachable(packages / "click")):
        pytest.skip("another user can't start Python or read this checkout here")
    program = "import sys; from edgeevo.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [interpreter, "-c", program, "--config", str(box.file), *words],
        cwd="/", env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": f"{ROOT}:{packages}"}, user=4001, group=4001,
        extra_groups=[], capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@needs_root
def test_another_users_job_is_theirs(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    """A job of an ordinary user beside a daemon of root's: its process, its records and the daemon's row are that user's."""
    state = tmp_path_factory.mktemp("shared")
    for path in (state, state.parent, state.parent.parent, tmp_path):
        path.chmod(path.stat().st_mode | 0o011)
    home, project = tmp_path / "home", tmp_path / "project"
    for path in (home, project):
        path.mkdir()
        os.chown(path, 4001, 4001)
    shared = Box(state, REPLIES)
    shared.file.chmod(0o644)
    shared.start("control.read_group=4001")
    try:
        done = as_another_user(shared, home, "run", "slow", "--dir", str(project), "--detach", "--timeout", "3")
        assert done.returncode == 0, done.stderr
        job = Job(home / ".local/state/edgeevo/jobs/1")
        under_way(job, "begun")
        assert {os.stat(path).st_uid for path in (f"/proc/{job.progress.pid}", job.place, job.log)} == {4001}
        assert {path.stat().st_mode & 0o077 for path in (job.place.parent, job.place, job.log)} == {0}
        assert shared.process is not None and job.progress.pid not in descendants(shared.process.pid)
        ended(job)
        assert job.progress.exit_code == 0, job.log.read_text()
        assert "written back" in as_another_user(shared, home, "apply", "1").stdout
        assert (project / "n").stat().st_uid == 4001 and shared.rows("select uid from runs") == [(4001,)]
    finally:
        shared.kill()


def test_the_directory_of_jobs_is_never_worked_on(box: Box, directory: Path, records: Jobs) -> None:
    """A task on the records of tasks is refused, detached or not."""
    job = detached(box, records, "change a", directory)
    ended(job)
    for words in ((), ("--detach",)):
        assert isinstance(told(box, "run", "change a", "--dir", str(job.place), *words).exception, RefusedError)


@pytest.mark.parametrize(
    "words",
    [
        ("--in-place", "--dry-run"),
        ("--in-place", "--apply"),
        ("--in-place", "--no-apply"),
        ("--detach", "--approve"),
        ("--detach", "--dry-run"),
    ],
)
def test_contradictions_are_refused(box: Box, directory: Path, records: Jobs, words: tuple[str, ...]) -> None:
    """Of two options that exclude each other none wins silently."""
    result = told(box, "run", "change a", "--dir", str(directory), *words)
    assert isinstance(result.exception, click.UsageError) and "leave one of them out" in str(result.exception)
    assert records.all() == [] and (directory / "a").read_text() == "one\n"


def test_jobs_are_listed_for_scripts_and_can_be_forgotten(box: Box, directory: Path, records: Jobs) -> None:
    """`jobs --json` has a row with everything; `jobs --forget` removes one."""
    job = detached(box, records, "change a", directory)
    ended(job)
    (row,) = json.loads(told(box, "jobs", "--json").output)["jobs"]
    assert (row["job"], row["state"], row["exit_code"], row["to_apply"]) == (job.number, "done", 0, True)
    told(box, "jobs", "--forget", str(job.number))
    assert "no jobs yet" in told(box, "jobs").output


def test_a_code_in_the_directory_is_not_ours(box: Box, directory: Path, records: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is started from within a hostile directory imports nothing from it."""
    for name in ("click.py", "msgspec.py", "edgeevo.py"):
        (directory / name).write_text(f"open({str(directory / 'bait')!r}, 'w').close()\nraise SystemExit\n")
    monkeypatch.chdir(directory)
    job = detached(box, records, "change a", directory)
    assert ended(job).exit_code == 0 and not (directory / "bait").exists()


def lived(job: Job, lock: int, stop_after: str) -> None:
    """Live a job's life in this process, with a request to stop right behind this mark of the journal."""
    from edgeevo.cli.job import main
    from edgeevo.hands import Ledger

    real = Ledger.set_mark

    def marked(self: Ledger, run: str, mark: Mark) -> None:
        real(self, run, mark)
        if mark.phase == stop_after:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

    Ledger.set_mark = marked  # type: ignore[method-assign]  # in a child only
    os._exit(main(str(job.place), lock))


@pytest.mark.parametrize(("stop_after", "code", "text"), [("applying", 130, "one\n"), ("undone", 130, "one\n"), ("applied", 0, "two\n")])
def test_a_request_to_stop_is_followed_wholly_or_not_at_all(
    box: Box, directory: Path, records: Jobs, monkeypatch: pytest.MonkeyPatch, stop_after: str, code: int, text: str
) -> None:
    """While it writes, what was written is put back and later requests don't stop that; once it is written, the request comes too late."""
    monkeypatch.setattr("edgeevo.cli.jobs.detach", lambda *_, **__: None)
    job = detached(box, records, "change a", directory, "--apply")
    lock = os.open(job.place / "lock", os.O_RDWR)
    original, child = photograph(directory), os.fork()
    if not child:
        if stop_after == "undone":
            lived_until_undone(job, lock)
        lived(job, lock, stop_after)
    os.waitpid(child, 0)
    os.close(lock)
    assert job.progress.exit_code == code and bool(job.progress.undo) == (code == 0)
    assert (directory / "a").read_text() == text and (code == 0 or photograph(directory) == original)


def lived_until_undone(job: Job, lock: int) -> None:
    """The same with a request to stop while it writes, and another one while it puts back."""
    from edgeevo.hands import transfer

    real, calls = transfer.kernel.rename, []

    def rename(*words: object) -> None:
        calls.append(words)
        os.kill(os.getpid(), signal.SIGINT)
        real(*words)  # type: ignore[arg-type]

    transfer.kernel.rename = rename  # type: ignore[assignment]  # in a child only
    lived(job, lock, "undone")


def test_a_damaged_record_is_told_and_can_be_forgotten(box: Box, directory: Path, records: Jobs) -> None:
    """The job is named, and the way to be rid of it."""
    job = detached(box, records, "change a", directory)
    ended(job)
    (job.place / "progress").write_bytes(b"\0")
    said = told(box, "jobs").exception
    assert isinstance(said, RefusedError) and f"--forget {job.number}" in said.hint
    told(box, "jobs", "--forget", str(job.number))
    assert records.all() == []


def test_a_log_takes_what_fits(tmp_path: Path) -> None:
    """Up to its bound to the byte, then one line that says so, then nothing."""
    with (tmp_path / "log").open("wb") as file:
        log = Log(file.fileno(), 10)
        assert [log.write(b"12345678"), log.write(b"9abc"), log.write(b"d")] == [8, 4, 1]
    assert (tmp_path / "log").read_text() == "123456789a… this log ends here, at 10 bytes (jobs.max_log_bytes)\n"
