"""Where the next reply comes from: the daemon when one answers, else a model worker of our own that ends with us."""

from __future__ import annotations

from collections.abc import Sequence

from edgeevo.agent.policy import Policy, Turn
from edgeevo.config import Loaded
from edgeevo.control import ProposeAsked, Proposed, Recorded, RunEnded, Said, ask
from edgeevo.daemon.brain import ModelBrain
from edgeevo.domain import Adapter, Message
from edgeevo.errors import DaemonError
from edgeevo.store.reader import Reader


class Thinker:
    """Ask one or many conversations, always with the same adapter (None: what serves; "base"; or the first digits of a hash)."""

    def __init__(self, loaded: Loaded, adapter: str | None) -> None:
        self._loaded, self._adapter = loaded, adapter
        self._own: tuple[ModelBrain, Policy] | None = None
        self.policy_id = ""  # known after the first reply

    def one(self, conversation: tuple[Message, ...]) -> Said:
        """The reply to one conversation."""
        return self.many([conversation])[0]

    def many(self, conversations: Sequence[tuple[Message, ...]]) -> list[Said]:
        """Replies in order. The first call decides whether the daemon is asked: when none is running, the model is loaded here."""
        if self._own is None:
            try:
                answer = ask(self._loaded.socket, ProposeAsked(conversations=tuple(conversations), adapter=self._adapter))
            except DaemonError:
                if self.policy_id:  # it was there a moment ago: half a task by one brain and half by another would be nobody's outcome
                    raise
            else:
                if not isinstance(answer, Proposed):
                    raise DaemonError(
                        "the daemon answered something else than replies", hint="client and daemon must be of the same version"
                    )
                self.policy_id = answer.policy_id
                return list(answer.replies)
        policy = self._load()
        self.policy_id = policy.id
        replies = policy.propose([Turn(conversation=conversation) for conversation in conversations])
        return [Said(text=reply.text, finish=reply.finish) for reply in replies]

    def record(self, ended: RunEnded) -> int | None:
        """Record the outcome through the daemon; its number, or None when no daemon is running."""
        try:
            answer = ask(self._loaded.socket, ended)
        except DaemonError:
            return None
        return answer.run if isinstance(answer, Recorded) else None

    def close(self) -> None:
        """Let an own model go."""
        if self._own is not None:
            self._own[0].close()
            self._own = None

    def _load(self) -> Policy:
        if self._own is None:
            adapter = self._which()
            path = self._loaded.state_dir / "adapters" / f"{adapter.sha256}.gguf" if adapter else None
            brain = ModelBrain(self._loaded)
            self._own = (brain, brain.policy(path, adapter))
        return self._own[1]

    def _which(self) -> Adapter | None:
        if self._adapter == "base" or (self._adapter is None and not self._loaded.database.exists()):
            return None
        with Reader(self._loaded.database) as reader:
            return reader.adapter(self._adapter)
