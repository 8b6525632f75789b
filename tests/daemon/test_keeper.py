"""edgeevo.daemon: small parts that the whole daemon is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeevo.agent.policy import Scripted
from edgeevo.config import load
from edgeevo.daemon.brain import ModelBrain
from edgeevo.daemon.desk import Desk, ScriptedBrain
from edgeevo.daemon.job import decode
from edgeevo.daemon.keeper import brief
from edgeevo.daemon.telling import tell
from edgeevo.domain import Message, Role
from edgeevo.errors import ModelError, WorkerError
from edgeevo.events import Event, ModelFiles, NightPlan, NightRequest
from edgeevo.rehearsal import night

TALK = (Message(role=Role.USER, text="hello"),)


class Caller:
    """Somebody who waits."""

    uid, pid, gone = 1, 1, False


class Loop:
    """A daemon's loop for one answer: what is posted runs in the test's thread."""

    def __init__(self) -> None:
        self.posted: list[Callable[[], None]] = []
        self.ready = threading.Event()

    def post(self, function: Callable[[], None]) -> None:
        """Keep it until `turn`."""
        self.posted.append(function)
        self.ready.set()

    def turn(self) -> None:
        """Wait for something posted and run it."""
        assert self.ready.wait(5)
        self.posted.pop(0)()
        self.ready.clear()


def asked(desk: Desk, loop: Loop) -> list[object]:
    heard: list[object] = []
    desk.ask([TALK], (None, None), lambda *answer: heard.extend(answer), caller=Caller())
    loop.turn()
    return heard


def test_the_desk_answers_in_the_loop() -> None:
    """The reply comes back through the loop with the policy that said it."""
    loop = Loop()
    desk = Desk(ScriptedBrain({"hello": ["ls"]}), loop.post)
    replies, policy_id, error = asked(desk, loop)
    assert [reply.text for reply in replies] == ["ls"] and policy_id and error is None  # type: ignore[attr-defined]
    assert desk.loaded and desk.waiting == 0
    desk.close(5)


class Broken(ScriptedBrain):
    """A brain whose first policy fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error: Exception | None = error

    def policy(self, adapter_path, adapter) -> Scripted:
        """Fail once, then work."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return Scripted({})


@pytest.mark.parametrize("error", [WorkerError("gone"), RuntimeError("odd")])
def test_a_broken_model_costs_one_answer(error: Exception) -> None:
    """The failed request gets the error; the next one starts a fresh worker."""
    loop = Loop()
    brain = Broken(error)
    desk = Desk(brain, loop.post)
    assert isinstance(asked(desk, loop)[2], WorkerError | ModelError)
    assert brain.closed == 1
    assert asked(desk, loop)[2] is None
    desk.close(5)


def test_m5_the_desk_lets_the_model_go() -> None:
    """Release closes the brain once everything that waited was answered."""
    loop = Loop()
    brain = ScriptedBrain({})
    desk = Desk(brain, loop.post)
    asked(desk, loop)
    desk.release()
    desk.close(5)
    assert not desk.loaded and brain.closed >= 1


def test_no_card_means_no_model() -> None:
    """Without a configured model asking is an error with a hint, not a crash."""
    with pytest.raises(ModelError, match="no model is configured"):
        ModelBrain(load(None, ["model.card="])).policy(None, None)


def test_every_event_is_told_in_one_line(tmp_path: Path) -> None:
    """Each event of a night has its line."""
    model = ModelFiles(gguf="", sha256="", card="", weights_dir="")
    request = NightRequest(night_id="n", seed=1, plan=NightPlan(), model=model, spool_dir=str(tmp_path))
    told = [tell(event) for event in night(request)]
    assert all(line and "\n" not in line for line in told)


def test_what_is_no_event_is_an_error() -> None:
    """A worker that speaks another language is named."""
    with pytest.raises(WorkerError, match="unexpected"):
        decode(b'{"type":"song"}', Event)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "worker x ended with status 1: Traceback (most recent call last):\n  File y\nKeyError: 'a'",
            "worker x ended with status 1: KeyError: 'a'",
        ),
        ("worker x ended with status -9: no message", "worker x ended with status -9: no message"),
        ("", ""),
    ],
)
def test_an_error_is_told_without_its_traceback(text: str, line: str) -> None:
    """People see the fact; the incident keeps the rest."""
    assert brief(WorkerError(text)) == line
