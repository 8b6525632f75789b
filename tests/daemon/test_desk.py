"""The desk with many callers: users take turns, nobody's batch makes somebody else wait for all of it, and what waits is bounded."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.agent.policy import Reply, Turn
from edgeevo.control import ProposeAsked, Proposed, ask, call
from edgeevo.daemon.desk import BATCH, Desk
from edgeevo.daemon.turns import Turns
from edgeevo.domain import Adapter, Message, Role
from edgeevo.errors import EdgeevoError, RefusedError
from tests.daemon.conftest import Box


class Caller:
    """Somebody with a user and a process."""

    def __init__(self, uid: int, pid: int = 1) -> None:
        self.uid, self.pid, self.gone = uid, pid, False


class Held:
    """A brain that answers one turn at a time, when the test says so, and notes who had it; a policy of itself."""

    id = "held"

    def __init__(self) -> None:
        self.turns: list[tuple[str, int]] = []
        self.adapters: list[Path | None] = []
        self.closed: list[int] = []  # after how many turns
        self._may = threading.Semaphore(0)
        self._at_work = threading.Semaphore(0)

    def policy(self, adapter_path: Path | None, adapter: Adapter | None) -> Held:
        """Itself, whichever adapter."""
        self.adapters.append(adapter_path)
        return self

    def begin(self) -> None:
        """It remembers nothing."""

    def close(self) -> None:
        """Note when."""
        self.closed.append(len(self.turns))

    def propose(self, turns: Sequence[Turn]) -> list[Reply]:
        """Wait until told to go on."""
        self._at_work.release()
        self._may.acquire()
        self.turns.append((turns[0].conversation[0].text, len(turns)))
        return [Reply(text=f"{turn.conversation[0].text}!") for turn in turns]

    def busy(self) -> None:
        """Return when it is at work."""
        assert self._at_work.acquire(timeout=10)

    def go_on(self, turns: int = 1000) -> None:
        """Let it answer so many turns."""
        self._may.release(turns)


class Loop:
    """The daemon's loop: runs what is posted, until so many answers are there."""

    def __init__(self) -> None:
        self._posted: list[Callable[[], None]] = []
        self._there = threading.Semaphore(0)
        self.answers: dict[str, list[str] | EdgeevoError] = {}

    def post(self, function: Callable[[], None]) -> None:
        """From the desk's thread."""
        self._posted.append(function)
        self._there.release()

    def note(self, name: str) -> Callable[..., None]:
        """Who is called with the answer to `name`."""

        def answer(replies: list[Reply] | None, policy_id: str, error: EdgeevoError | None) -> None:
            assert (error is None) == (replies is not None)
            self.answers[name] = error or [reply.text for reply in replies or ()]

        return answer

    def run(self, answers: int) -> None:
        """Until so many are there."""
        while len(self.answers) < answers:
            assert self._there.acquire(timeout=10)
            self._posted.pop(0)()


def talks(name: str, count: int) -> list[list[Message]]:
    return [[Message(role=Role.USER, text=name)]] * count


@pytest.fixture
def at() -> tuple[Desk, Held, Loop]:
    """A desk whose brain is held while the first request is at work."""
    brain, loop = Held(), Loop()
    desk = Desk(brain, loop.post, max_requests=6, max_requests_per_user=4)
    return desk, brain, loop


def asked(at: tuple[Desk, Held, Loop], name: str, count: int, uid: int, pid: int = 1) -> Caller:
    caller = Caller(uid, pid)
    at[0].ask(talks(name, count), (Path(name), None), at[2].note(name), caller=caller)
    return caller


def test_a_short_question_waits_for_one_turn_of_a_long_batch(at: tuple[Desk, Held, Loop]) -> None:
    """Somebody else's batch was there first: the question is answered after the turn in hand, and the batch goes on in turns."""
    desk, brain, loop = at
    asked(at, "batch", 200, uid=1)
    brain.busy()
    asked(at, "ask", 1, uid=2)
    brain.go_on()
    loop.run(2)
    desk.close(5)
    assert brain.turns[:2] == [("batch", BATCH), ("ask", 1)] and list(loop.answers) == ["ask", "batch"]
    assert loop.answers["batch"] == ["batch!"] * 200 and sum(count for name, count in brain.turns if name == "batch") == 200


def test_the_same_user_can_ask_beside_their_own_batch(at: tuple[Desk, Held, Loop]) -> None:
    """Callers of one user take turns as well: `ask` is not starved by one's own jobs."""
    desk, brain, loop = at
    asked(at, "batch", 200, uid=1, pid=10)
    brain.busy()
    asked(at, "ask", 1, uid=1, pid=11)
    brain.go_on()
    loop.run(2)
    desk.close(5)
    assert [name for name, _ in brain.turns[:2]] == ["batch", "ask"]


def test_users_take_turns_however_many_callers_they_have(at: tuple[Desk, Held, Loop]) -> None:
    """Of two users who always want more each gets every second turn, though one has three callers."""
    desk, brain, loop = at
    for pid in range(3):
        asked(at, f"one-{pid}", 100, uid=1, pid=pid)
    brain.busy()
    asked(at, "two", 100, uid=2)
    brain.go_on()
    loop.run(4)
    desk.close(5)
    first = [name for name, _ in brain.turns[1:11]]
    assert [name == "two" for name in first] == [True, False] * 5 and set(first) == {"one-0", "one-1", "one-2", "two"}
    assert {count for _, count in brain.turns[1:9]} == {BATCH}


def test_replies_stay_with_their_request(at: tuple[Desk, Held, Loop]) -> None:
    """However the turns are mixed, each request gets its own replies, in order, by its own adapter."""
    desk, brain, loop = at
    for number in range(5):
        asked(at, f"r{number}", 10 + 20 * number, uid=number // 2, pid=number)
    brain.go_on()
    loop.run(5)
    desk.close(5)
    assert loop.answers == {f"r{number}": [f"r{number}!"] * (10 + 20 * number) for number in range(5)}
    assert [str(path) for path in brain.adapters] == [name for name, _ in brain.turns]


@pytest.mark.parametrize(("uid", "count", "key"), [(1, 4, "control.max_requests_per_user"), (3, 6, "control.max_requests)")])
def test_what_is_too_much_is_refused_with_why_and_what_to_do(at: tuple[Desk, Held, Loop], uid: int, count: int, key: str) -> None:
    """One user's bound and the bound for all: the message names number and key, the hint the way on; the others are answered."""
    desk, brain, loop = at
    for number in range(count):
        asked(at, f"r{number}", 1, uid=1 if number < 4 else 2, pid=number)
    with pytest.raises(RefusedError) as caught:
        asked(at, "one more", 1, uid=uid)
    assert key in str(caught.value) and str(count) in str(caught.value) and caught.value.hint
    brain.go_on()
    loop.run(count)
    desk.close(5)
    assert desk.waiting == 0 and "one more" not in loop.answers


def test_a_user_at_their_bound_is_no_obstacle_to_others(at: tuple[Desk, Held, Loop]) -> None:
    """Another user's request is taken while one user may not put more."""
    desk, brain, loop = at
    for number in range(4):
        asked(at, f"r{number}", 1, uid=1)
    asked(at, "other", 1, uid=2)
    brain.go_on()
    loop.run(5)
    desk.close(5)
    assert loop.answers["other"] == ["other!"]


def test_nobody_thinks_for_those_who_have_hung_up(at: tuple[Desk, Held, Loop]) -> None:
    """A batch whose caller is gone ends with the turn in hand."""
    desk, brain, loop = at
    caller = asked(at, "batch", 500, uid=1)
    brain.busy()
    caller.gone = True
    asked(at, "ask", 1, uid=2)
    brain.go_on()
    loop.run(2)
    desk.close(5)
    assert brain.turns == [("batch", BATCH), ("ask", 1)] and desk.waiting == 0


def test_m5_the_model_goes_though_others_keep_asking(at: tuple[Desk, Held, Loop]) -> None:
    """A night that wants the memory gets it once what waited before was answered, whoever came later."""
    desk, brain, loop = at
    asked(at, "before", 100, uid=1)
    brain.busy()
    desk.release()
    asked(at, "after", 100, uid=2)
    brain.go_on()
    loop.run(2)
    last = max(number for number, (name, _) in enumerate(brain.turns) if name == "before")
    assert brain.closed[0] == last + 1
    desk.close(5)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=20))
def test_between_two_turns_of_one_nobody_has_more_than_one_turn_per_caller(requests: list[tuple[int, int, int]]) -> None:
    """Whatever waits: between two turns of a user each other user has at most one, and everything gets all its turns."""
    turns: Turns[list[int]] = Turns()
    owners: dict[int, int] = {}
    for user, caller, count in requests:
        item = [count]
        owners[id(item)] = user
        turns.add(user, caller, item)
    kept = list(turns)  # so that no id is used twice
    had: list[int] = []
    while (item := turns.next()) is not None:
        had.append(owners[id(item)])
        item[0] -= 1
        turns.end(item, over=not item[0])
    assert len(had) == sum(count for _, _, count in requests) and len(turns) == 0 and kept
    for user in set(had):
        places = [place for place, each in enumerate(had) if each == user]
        for start, end in itertools.pairwise(places):
            between = had[start + 1 : end]
            assert len(between) == len(set(between))


def test_several_clients_at_once_are_all_answered(box: Box) -> None:
    """A real daemon: a large batch and many small questions at the same time, each with its own replies."""
    box.replies = {f"task {number}": [f"echo {number}"] for number in range(300)}
    box.start()
    heard: dict[int, list[str]] = {}

    def client(start: int, count: int) -> None:
        conversations = tuple((Message(role=Role.USER, text=f"task {number}"),) for number in range(start, start + count))
        answer = ask(box.loaded.socket, ProposeAsked(conversations=conversations))
        assert isinstance(answer, Proposed)
        heard[start] = [said.text for said in answer.replies]

    threads = [threading.Thread(target=client, args=(0, 300)), *(threading.Thread(target=client, args=(n, 1)) for n in range(1, 7))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert heard == {0: [f"echo {n}" for n in range(300)], **{n: [f"echo {n}"] for n in range(1, 7)}}
    assert box.status().waiting == 0


def test_connections_of_one_user_are_bounded(box: Box) -> None:
    """Whoever opens too many is told so, and is served again when one is closed."""
    box.start("control.max_connections_per_user=3")
    held = []
    for _ in range(3):
        link = socket.socket(socket.AF_UNIX)
        link.connect(str(box.loaded.socket))
        held.append(link)
    question = ProposeAsked(conversations=())
    with pytest.raises(RefusedError, match="has 3 connections open"):
        list(call(box.loaded.socket, question))
    for link in held:
        link.close()
    box.wait(lambda status: status.pid > 0)
    assert isinstance(box.ask(question), Proposed)
