"""docs/socket-api.md and edgeevo.control: the page is what the messages are, its example runs, and the daemon answers as the table says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from edgeevo.control import RULES, Answer, Failed, FeedbackGiven, Finished, Request, Right, call, tag
from tests.daemon.conftest import Box

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "socket-api.md"


@pytest.fixture(scope="module")
def docs_socket() -> ModuleType:
    """scripts/docs_socket.py as a module."""
    specification = importlib.util.spec_from_file_location("docs_socket", ROOT / "scripts" / "docs_socket.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A daemon that says `ls -la`, then `submit`."""
    made = Box(tmp_path_factory.mktemp("daemon"))
    made.start()
    yield made
    made.kill()


def test_the_page_is_what_the_messages_are(docs_socket: ModuleType) -> None:
    """Whoever changes a message, a right or a comment has to say `make docs`."""
    assert PAGE.read_text() == docs_socket.page(), "run `make docs`"


def test_every_message_is_on_the_page_with_every_field(docs_socket: ModuleType) -> None:
    """No request, answer or field is left out, and each has an example."""
    text = PAGE.read_text()
    kinds = [*typing.get_args(Request), *typing.get_args(Answer)]
    assert set(docs_socket.SAMPLES) == set(kinds)
    for kind in kinds:
        name = tag(kind)
        section = text.partition(f"### `{name}`\n" if kind in RULES else f"### Answer `{name}`\n")[2].partition("\n### ")[0]
        assert section and all(f"| `{field.name}` |" in section for field in msgspec.structs.fields(kind))


def test_every_json_on_the_page_is_a_message() -> None:
    """Each example is read by the decoder that the daemon or the client has."""
    examples = re.findall(r"```json\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == len(typing.get_args(Request)) + len(typing.get_args(Answer))
    for kind, text in zip([Request] * len(RULES) + [Answer] * len(typing.get_args(Answer)), examples, strict=True):
        assert msgspec.json.decode(text, type=kind)


def test_every_request_has_a_rule() -> None:
    """A request that is added later can't be asked by anybody before somebody has said who may."""
    assert set(RULES) == set(typing.get_args(Request))
    assert {rule.right for rule in RULES.values()} == set(Right)


def test_the_example_runs(box: Box) -> None:
    """The program on the page, by an interpreter that can't see edgeevo, against a real daemon."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(box.loaded.socket)], capture_output=True, text=True, timeout=60, check=True, cwd="/"
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{box.status().version} ") and lines[1:] == ["'ls -la'", "'submit'"]


def test_the_example_tells_what_failed(box: Box) -> None:
    """A refusal ends it with the exit code and the two texts of the answer."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    wrong = program.replace('{"type": "status"}', '{"type": "status", "x": 1}')
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", wrong, str(box.loaded.socket)], capture_output=True, text=True, timeout=60, check=False, cwd="/"
    )
    assert done.returncode == 7 and "not understood" in done.stderr


def test_a_real_daemon_answers_as_the_table_says(box: Box, docs_socket: ModuleType) -> None:
    """Every request of the table: the answers are those of its rule, and the last of them comes last."""
    samples = docs_socket.SAMPLES | {FeedbackGiven: FeedbackGiven(run=None, good=True)}
    for kind, rule in RULES.items():
        said = list(call(box.loaded.socket, samples[kind]))
        assert {type(each) for each in said} == set(rule.answers) - {Failed} and type(said[-1]) is rule.answers[-1]
        if isinstance(said[-1], Finished):
            box.wait(lambda status: not status.working_on)
