"""edgeevo.cli: two-line errors, exit codes, light imports, and each command against a store or a daemon with rehearsed nights."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from edgeevo.cli import COMMANDS, edgeevo, run_command
from edgeevo.cli.nights import Duration
from edgeevo.cli.status import ASK, lines, read
from edgeevo.cli.thinking import Thinker
from edgeevo.cli.work import answers, parse
from edgeevo.config import load
from edgeevo.control import Health, Said, Status, StatusAsked
from edgeevo.domain import encode
from edgeevo.errors import DaemonError, EdgeevoError, ModelError, RefusedError
from edgeevo.sandbox.abuse import Case
from edgeevo.store.writer import Store
from tests.daemon.conftest import Box
from tests.models.test_factory import CARD, put
from tests.store.conftest import fill

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "peft", "llama_cpp", "numpy", "onnxruntime", "sqlite3", "sqlite_utils", "apscheduler", "msgspec")
STATUS = Status(
    version="1",
    pid=1,
    state="busy",
    reason="others_load",
    detail="others use 2 cores",
    next_try_seconds=90.0,
    up_seconds=61.0,
    window="01:00-06:00",
    others_load_cores=2.0,
    working_on="",
    phase="",
    done=0,
    total=0,
    model="m",
    model_loaded=False,
    adapter="a" * 64,
    previous="b" * 64,
    last_night="night-1: done",
    health=(Health(name="slots", detail="restored"),),
)


class Thinking:
    """A thinker that says its conversation's instruction back."""

    def many(self, conversations) -> list[Said]:
        """One reply each."""
        return [Said(text=f"echo {talk[0].text}", finish="stop") for talk in conversations]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A configuration file over a state directory with one rehearsed night."""
    store = Store.open(tmp_path / "edgeevo.db", max_bytes=1 << 28, now=1.0)
    fill(store, tmp_path)
    store.close()
    path = tmp_path / "c.toml"
    path.write_text(f'version = 1\n[daemon]\nstate_dir = "{tmp_path}"\nruntime_dir = "{tmp_path}"\n')
    return path


def told(state: Path, *words: str) -> str:
    result = CliRunner().invoke(edgeevo, ["--config", str(state), *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--set", "idle.x=1", "config", "check"], 2),
        (["nonsense"], 2),
        (["night", "--for", "long"], 2),
        (["ask"], 2),
        (["--set", "daemon.runtime_dir=/nowhere", "status"], 7),
        (["--set", "daemon.state_dir=/nowhere", "history"], 6),
        (["--set", "model.models_dir=/nowhere", "model", "verify"], 5),
    ],
)
def test_errors_are_two_lines_and_an_exit_code(capsys: pytest.CaptureFixture[str], words: list[str], code: int) -> None:
    """`edgeevo: fact`, `hint: what to do`, never a traceback."""
    assert run_command(words) == code
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and said[0].startswith("edgeevo: ") and said[1].startswith("hint: ")


def test_unexpected_errors_are_two_lines_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of ours shows as one, escaped, with the way to see more."""

    def broken(*args: object, **kwargs: object) -> None:
        raise ValueError("\x1b[31mboo")

    monkeypatch.setattr(edgeevo, "main", broken)
    assert run_command([]) == 1
    assert capsys.readouterr().err.splitlines()[0] == "edgeevo: unexpected ValueError: \\x1b[31mboo"


def test_exit_codes_are_different() -> None:
    """Each branch of the error tree has a code of its own."""
    codes = [kind.exit_code for kind in EdgeevoError.__subclasses__()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    """Every command of the table can be imported and says what it does."""
    result = CliRunner().invoke(edgeevo, [name, "--help"])
    assert result.exit_code == 0 and "Usage" in result.output


def test_status_stays_light(tmp_path: Path) -> None:
    """`status` imports no database, scheduler, model or message library."""
    program = f"import sys; from edgeevo.cli import run_command; run_command(sys.argv[1:]); print([m for m in {HEAVY} if m in sys.modules])"
    words = ["--set", f"daemon.runtime_dir={tmp_path}", "status"]
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("line", [b"", b"x", b"[]", b'{"type":"failed","message":"no","hint":"ask root","exit_code":3}'])
def test_what_is_no_status_is_an_error(line: bytes) -> None:
    """An empty, foreign or refusing answer becomes a DaemonError with a hint."""
    with pytest.raises(DaemonError) as caught:
        read(line)
    assert caught.value.hint


def test_status_says_how_many_wait() -> None:
    """Requests that wait for the model are shown when there are any."""
    told = [lines(msgspec.to_builtins(msgspec.structs.replace(STATUS, waiting=waiting))) for waiting in (0, 3)]
    assert "waiting  3 requests for the model" in told[1] and not any("waiting" in line for line in told[0])


def test_the_status_question_is_the_protocols() -> None:
    """What status sends is what the protocol calls a status question."""
    assert encode(StatusAsked()) == ASK


def test_the_daemon_never_loads_a_model_library() -> None:
    """Importing all of the daemon and the command line loads no model library."""
    heavy = HEAVY[:6]
    program = (
        "import sys, pkgutil, importlib, edgeevo.cli, edgeevo.daemon, edgeevo.demo\n"
        "for package in (edgeevo.cli, edgeevo.daemon):\n"
        "    for module in pkgutil.iter_modules(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_status_is_text_that_names_what_is_wrong() -> None:
    """Busy with its reason and next try, what serves, what a rollback gives, and problems."""
    text = "\n".join(lines(msgspec.to_builtins(STATUS)))
    for part in ("others use 2 cores", "next try in 1 min 30 s", "adapter aaaaaaaaaaaa", "bbbbbbbbbbbb", "problem  slots: restored"):
        assert part in text


@pytest.mark.parametrize(("text", "seconds"), [("20m", 1200.0), ("90s", 90.0), ("2h", 7200.0), ("5", 300.0), ("1.5h", 5400.0)])
def test_durations_are_read(text: str, seconds: float) -> None:
    """Minutes unless said otherwise."""
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("line", "instruction"),
    [
        ('{"id": 1, "instruction": "a"}', "a"),
        ('{"task": "b", "name": "x"}', "b"),
        ('{"prompt": "c"}', "c"),
        ('{"id": "7", "whatever": "d"}', "d"),
        ('"e"', "e"),
        ('{"instruction": "f", "task": "g", "n": 3}', "f"),
    ],
)
def test_batches_are_read_leniently(line: str, instruction: str) -> None:
    """The usual names of an instruction, a single text whatever its name, or a bare string."""
    assert parse(1, line)[1] == instruction


@pytest.mark.parametrize("line", ["no json", "[1]", "{}", '{"a": "x", "b": "y"}', '{"instruction": 3}'])
def test_lines_without_an_instruction_are_refused_by_number(line: str) -> None:
    """The error names the line."""
    with pytest.raises(RefusedError, match="line 7"):
        parse(7, line)


def test_a_batch_answers_line_by_line_and_echoes_its_fields() -> None:
    """Hundreds of lines keep their order and their other fields; empty lines are skipped."""
    asked = "\n".join(json.dumps({"id": number, "instruction": f"t{number}"}) for number in range(600)) + "\n\n"
    rows = [json.loads(line) for line in answers(io.StringIO(asked), Thinking())]  # type: ignore[arg-type]
    assert rows == [{"id": number, "instruction": f"t{number}", "command": f"echo t{number}"} for number in range(600)]


def test_history_shows_nights(state: Path) -> None:
    """The night, its gate and its summary."""
    text = told(state, "history")
    assert "night-1" in text and "promote" in text and "rehearsed" in text


def test_env_commands_show_the_pool(state: Path) -> None:
    """list, list --rejected, show."""
    listed = told(state, "env", "list")
    assert "greet" in listed and "SURFACE_ONLY" in told(state, "env", "list", "--rejected")
    shown = told(state, "env", "show", listed.splitlines()[1].split()[0])
    assert "oracle" in shown and "2 of 4 passed" in shown


@pytest.mark.sandbox
def test_env_try_runs_oracle_alternative_and_nop(state: Path) -> None:
    """An environment can be tried from the store, by another process."""
    name = told(state, "env", "list").splitlines()[1].split()[0]
    tried = told(state, "env", "try", name)
    assert "oracle: passes" in tried and "nop: fails" in tried


def test_adapters_and_report_read_the_store(state: Path) -> None:
    """Both work without a daemon."""
    assert "promote" in told(state, "adapters")
    assert "8/12" in told(state, "report")
    assert json.loads(told(state, "report", "--json"))["overlaps"][0]["common"] == 0


def test_config_show_names_every_origin(state: Path) -> None:
    """The file's values and the defaults are told apart."""
    text = told(state, "config", "show")
    assert f"file {state}" in text and "default" in text
    assert "right" in told(state, "config", "check")


def said(state: Path, *words: str) -> Result:
    """What a command says that may find this machine wanting."""
    return CliRunner().invoke(edgeevo, ["--config", str(state), *words], standalone_mode=False)


@pytest.mark.sandbox
def test_doctor_prints_every_probe_as_text_and_as_json(state: Path) -> None:
    """Each probe of the sandbox is named with what was found; scripts get the same as one object."""
    text, found = said(state, "doctor").output, json.loads(said(state, "doctor", "--json").output)
    names = [check["name"] for check in found["checks"] if check["name"].startswith("sandbox")]
    assert len(names) > 10 and all(name in text for name in names) and "tier" in text
    assert found["abuse"] == [] and found["escapes"] is None


@pytest.mark.sandbox
def test_doctor_full_names_what_escaped_and_fails(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hostile cases are tried one by one; one that gives way is named, counted, and makes the exit code 1."""
    held = Case(name="held", kind="k", command="true", wall="a wall", holds=lambda result, _: result.exit_code == 0)
    monkeypatch.setattr("edgeevo.sandbox.abuse.CASES", (held, msgspec.structs.replace(held, name="given way", holds=lambda *_: False)))
    done = said(state, "doctor", "--full")
    assert done.return_value == 1
    assert "right  k: held: contained by a wall" in done.output and "wrong  k: given way: ESCAPED" in done.output
    assert "2 hostile commands, 1 escapes" in done.output and "run no agent on this machine" in done.output


@pytest.fixture
def box(tmp_path: Path):
    made = Box(tmp_path)
    made.start()
    yield made
    made.kill()


def test_commands_talk_to_the_daemon(box: Box, tmp_path: Path) -> None:
    """status, night, adapters, ask, ask --batch and rollback against a living daemon."""
    assert json.loads(told(box.file, "status", "--json"))["pid"] == box.process.pid
    assert "night-1 ended" in told(box.file, "night", "--for", "1h")
    assert "active" in told(box.file, "adapters")
    assert told(box.file, "ask", "list the files").strip() == "ls -la"
    batch = tmp_path / "b.jsonl"
    batch.write_text('{"id": 1, "task": "list the files"}\n')
    assert json.loads(told(box.file, "ask", "--batch", str(batch))) == {"id": 1, "task": "list the files", "command": "ls -la"}
    assert "base model" in told(box.file, "rollback")


@pytest.mark.sandbox
def test_run_records_its_outcome_through_the_daemon(box: Box, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The transcript is shown, nothing is written back, the outcome is in the store; a failing check is exit code 10."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "a").write_text("x")
    text = told(box.file, "run", "list the files", "--dir", str(directory))
    assert "$ ls -la" in text and "nothing was written back" in text and "recorded as run 1" in text
    words = ["--config", str(box.file), "run", "list the files", "--dir", str(directory), "--check", "test -e b"]
    assert run_command(words) == 10
    assert box.rows("select uid, verified from runs order by id") == [(os.getuid(), None), (os.getuid(), 0)]


def test_without_a_daemon_the_factory_adapter_is_the_one_that_is_installed(tmp_path: Path) -> None:
    """By default and by name: the verified file beside its card; `base` is the model without one."""
    path = put(tmp_path)
    loaded = load(None, [f"model.factory={path}", f"daemon.state_dir={tmp_path}"])
    chosen = [Thinker(loaded, name)._which()[0] for name in (None, "factory", "base")]
    assert chosen == [path.with_suffix(".gguf"), path.with_suffix(".gguf"), None]


def test_m3_without_a_daemon_a_damaged_factory_adapter_is_never_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The base answers in its place and says so; asked for by name it is an error."""
    loaded = load(None, [f"model.factory={put(tmp_path, data=b'x')}", f"daemon.state_dir={tmp_path}"])
    assert Thinker(loaded, None)._which() == (None, None)
    assert "the base model answers in its place" in capsys.readouterr().err
    with pytest.raises(ModelError, match="altered"):
        Thinker(loaded, "factory")._which()


def test_adapters_names_the_factory_adapter(state: Path, tmp_path: Path) -> None:
    """With its hash, after what was trained; a damaged one is refused in words."""
    card = put(tmp_path)
    shown = told(state, "--set", f"model.factory={card}", "adapters").splitlines()
    assert "small-factory" in shown[-1] and CARD.sha256[:12] in shown[-1] and shown[-1].endswith("factory, serves")
    card.with_suffix(".gguf").write_bytes(b"x")
    assert "is refused" in told(state, "--set", f"model.factory={card}", "adapters")


def test_a_status_names_the_factory_adapter() -> None:
    """It serves while nothing was promoted, and is what the first promotion rolls back to."""
    fresh = msgspec.structs.replace(STATUS, adapter=None, previous=None, factory="small-factory")
    assert "serves   m, factory (small-factory)" in lines(msgspec.to_builtins(fresh))
    first = msgspec.structs.replace(STATUS, previous=None, factory="small-factory")
    assert "before   factory (small-factory) (edgeevo rollback returns to it)" in lines(msgspec.to_builtins(first))
