"""The model's desk: one thread that owns the model worker and answers conversations, a few of each request in turn (see `turns`).

The daemon's loop must never wait for a model, and a worker dies with the thread that started it; so one thread lives as long as the
daemon, starts the worker when first asked, and lets it go when it was not needed for a while or a night wants the memory.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgeevo.agent.policy import Policy, Reply, Scripted, Turn
from edgeevo.daemon.turns import Turns
from edgeevo.domain import Adapter, Message
from edgeevo.errors import EdgeevoError, ModelError, RefusedError

BATCH = 16  # conversations in one turn: two rounds of what is decoded at once, so that neither a stop nor anybody's turn is far away

Chosen = tuple[Path | None, Adapter | None]  # an adapter's file and what is known of it; None: the base
Answer = Callable[[list[Reply] | None, str, EdgeevoError | None], None]


class Caller(Protocol):
    """Who asked, as the kernel tells it, and whether they have hung up meanwhile: a Connection."""

    uid: int
    pid: int
    gone: bool


class Brain(Protocol):
    """Whatever can be asked: `agent.remote` behind a worker process, or a scripted one."""

    def policy(self, adapter_path: Path | None, adapter: Adapter | None) -> Policy:
        """The policy with this adapter in force; ModelError when it can't be."""

    def close(self) -> None:
        """Let the model go; the next `policy` brings it back."""


class ScriptedBrain:
    """A Brain without a model: every policy says its script. For rehearsals and tests; `opened` and `closed` count."""

    def __init__(self, lines: Mapping[str, Sequence[str]]) -> None:
        self._lines = lines
        self.opened, self.closed = 0, 0

    def policy(self, adapter_path: Path | None, adapter: Adapter | None) -> Policy:
        """The script, whichever adapter."""
        self.opened += 1
        return Scripted(self._lines)

    def close(self) -> None:
        """Nothing to let go."""
        self.closed += 1


class Asked:
    """One request that waits, and the replies that it has got so far."""

    def __init__(self, ticket: int, caller: Caller, conversations: Sequence[Sequence[Message]], adapter: Chosen, answer: Answer) -> None:
        self.ticket, self.caller, self.conversations, self.answer = ticket, caller, conversations, answer
        self.adapter_path, self.adapter = adapter
        self.replies: list[Reply] = []

    @property
    def rest(self) -> Sequence[Sequence[Message]]:
        """The conversations that have no reply yet."""
        return self.conversations[len(self.replies) :]


class Desk:
    """Ask from the daemon's loop; `post` hands a function back to that loop, where `answer` is called.

    At most `max_requests` wait at a time, and at most `max_requests_per_user` of one user.
    """

    def __init__(
        self, brain: Brain, post: Callable[[Callable[[], None]], None], *, max_requests: int = 64, max_requests_per_user: int = 8
    ) -> None:
        self._brain, self._post = brain, post
        self._max_requests, self._max_per_user = max_requests, max_requests_per_user
        self._turns: Turns[Asked] = Turns()
        self._changed = threading.Condition()
        self._tickets = itertools.count(1)
        self._release_before = 0  # let the model go once nothing with a smaller ticket waits; 0: it may stay
        self._closed = False
        self.waiting = 0  # requests not yet answered
        self.loaded = False
        self._thread = threading.Thread(target=self._serve, name="desk", daemon=True)
        self._thread.start()

    def ask(self, conversations: Sequence[Sequence[Message]], adapter: Chosen, answer: Answer, *, caller: Caller) -> None:
        """Queue conversations; `answer(replies, policy_id, None)` or `answer(None, "", error)` is called in the loop.

        RefusedError when too much waits already.
        """
        with self._changed:
            mine = self._turns.of(caller.uid)
            if mine >= self._max_per_user:
                raise RefusedError(
                    f"{mine} requests of user {caller.uid} wait for the model, as many as may (control.max_requests_per_user)",
                    hint="wait for an answer, or put many conversations into one request, as `edgeevo ask --batch` does",
                )
            if len(self._turns) >= self._max_requests:
                raise RefusedError(
                    f"{len(self._turns)} requests wait for the model, as many as may (control.max_requests)",
                    hint="try again in a minute; `edgeevo status` shows how many wait",
                )
            self.waiting += 1
            self._turns.add(caller.uid, caller.pid, Asked(next(self._tickets), caller, conversations, adapter, answer))
            self._changed.notify()

    def release(self) -> None:
        """Let the model go once everything that waits now was answered."""
        with self._changed:
            self._release_before = next(self._tickets)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Stop after the work in hand, waiting at most `seconds`; what is still running then dies with the process."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._release_due or len(self._turns))
                if self._closed:
                    break
                release, self._release_before = self._release_due, 0 if self._release_due else self._release_before
                asked = None if release else self._turns.next()
            if asked is not None:
                self._reply(asked)
            else:
                self._release()
        self._release()

    @property
    def _release_due(self) -> bool:
        return bool(self._release_before) and all(asked.ticket > self._release_before for asked in self._turns)

    def _reply(self, asked: Asked) -> None:
        """One turn of a request: at most BATCH replies. Whoever has hung up meanwhile is forgotten."""
        policy_id, problem = "", None
        try:
            if not asked.caller.gone:
                policy = self._brain.policy(asked.adapter_path, asked.adapter)
                self.loaded = True
                policy_id = policy.id
                asked.replies += policy.propose([Turn(conversation=tuple(conversation)) for conversation in asked.rest[:BATCH]])
        except EdgeevoError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - whatever breaks costs one answer, never the desk
            problem = ModelError(f"the model worker failed: {error}", hint="it is started again for the next request")
        if problem is not None:
            self._release()
        over = problem is not None or not asked.rest or asked.caller.gone
        with self._changed:
            self._turns.end(asked, over=over)
        if not over:
            return

        def back() -> None:
            self.waiting -= 1
            asked.answer(None if problem else asked.replies, policy_id, problem)

        self._post(back)

    def _release(self) -> None:
        self.loaded = False
        try:
            self._brain.close()
        except EdgeevoError:
            return  # it was already gone
