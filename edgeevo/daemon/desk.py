"""The model's desk: one thread that owns the model worker and answers conversations one batch after another.

The daemon's loop must never wait for a model, and a worker dies with the thread that started it; so one thread lives as long as the
daemon, starts the worker when first asked, and lets it go when it was not needed for a while or a night wants the memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from edgeevo.agent.policy import Policy, Reply, Scripted, Turn
from edgeevo.domain import Adapter, Message
from edgeevo.errors import EdgeevoError, ModelError

BATCH = 64  # conversations per request to the worker, so that a stop is never far away

Answer = Callable[[list[Reply] | None, str, EdgeevoError | None], None]


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


class Desk:
    """Ask from the daemon's loop; `post` hands a function back to that loop, where `answer` is called."""

    def __init__(self, brain: Brain, post: Callable[[Callable[[], None]], None]) -> None:
        self._brain, self._post = brain, post
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.waiting = 0  # requests not yet answered
        self.loaded = False
        self._thread = threading.Thread(target=self._serve, name="desk", daemon=True)
        self._thread.start()

    def ask(self, conversations: Sequence[Sequence[Message]], adapter_path: Path | None, adapter: Adapter | None, answer: Answer) -> None:
        """Queue conversations; `answer(replies, policy_id, None)` or `answer(None, "", error)` is called in the loop."""
        self.waiting += 1
        self._work.put(lambda: self._propose(conversations, adapter_path, adapter, answer))

    def release(self) -> None:
        """Let the model go once everything that waits was answered."""
        self._work.put(self._release)

    def close(self, seconds: float) -> None:
        """Stop after the work in hand, waiting at most `seconds`; what is still running then dies with the process."""
        self._work.put(None)
        self._thread.join(seconds)

    def _serve(self) -> None:
        while work := self._work.get():
            work()
        self._release()

    def _propose(self, conversations: Sequence[Sequence[Message]], path: Path | None, adapter: Adapter | None, answer: Answer) -> None:
        replies: list[Reply] = []
        policy_id, problem = "", None
        try:
            policy = self._brain.policy(path, adapter)
            self.loaded = True
            policy_id = policy.id
            for start in range(0, len(conversations), BATCH):
                turns = [Turn(conversation=tuple(conversation)) for conversation in conversations[start : start + BATCH]]
                replies += policy.propose(turns)
        except EdgeevoError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - whatever breaks costs one answer, never the desk
            problem = ModelError(f"the model worker failed: {error}", hint="it is started again for the next request")
        if problem is not None:
            self._release()

        def back() -> None:
            self.waiting -= 1
            answer(None if problem else replies, policy_id, problem)

        self._post(back)

    def _release(self) -> None:
        self.loaded = False
        try:
            self._brain.close()
        except EdgeevoError:
            return  # it was already gone
