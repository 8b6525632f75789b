"""Where the next reply comes from: the daemon when one answers, else a model worker of our own that ends with us."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from edgeevo.agent.policy import Policy, Turn
from edgeevo.cli.text import clean
from edgeevo.config import Loaded
from edgeevo.control import ProposeAsked, Proposed, Recorded, RunEnded, Said, ask
from edgeevo.daemon.brain import ModelBrain
from edgeevo.domain import Adapter, Message
from edgeevo.errors import DaemonError, ModelError, NobodyAnswersError
from edgeevo.models import factory
from edgeevo.store.reader import Reader


class Thinker:
    """Ask one or many conversations, always with the same adapter (None: what serves; "base"; "factory"; or first digits of a hash)."""

    def __init__(self, loaded: Loaded, adapter: str | None) -> None:
        self._loaded, self._adapter = loaded, adapter
        self._own: tuple[ModelBrain, Policy] | None = None
        self.policy_id = ""  # known after the first reply

    def one(self, conversation: tuple[Message, ...]) -> Said:
        """The reply to one conversation."""
        return self.many([conversation])[0]

    def many(self, conversations: Sequence[tuple[Message, ...]]) -> list[Said]:
        """Replies in order. The first call decides whether the daemon is asked: when none can be, the model is loaded here, which is said.

        A daemon that is there and fails is an error: a second model beside it would only hide that.
        """
        if self._own is None:
            try:
                answer = ask(self._loaded.socket, ProposeAsked(conversations=tuple(conversations), adapter=self._adapter))
            except NobodyAnswersError as error:
                if self.policy_id:  # it was there a moment ago: half a task by one brain and half by another would be nobody's outcome
                    raise
                click.echo(clean(f"edgeevo: {error}; the model is loaded here"), err=True)
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
            brain = ModelBrain(self._loaded)
            self._own = (brain, brain.policy(*self._which()))
        return self._own[1]

    def _which(self) -> tuple[Path | None, Adapter | None]:
        """File and adapter as the daemon would choose them; a factory adapter is verified here and taken from where it was installed."""
        if self._adapter == "base":
            return None, None
        promoted = None
        if self._adapter not in (None, "factory") or (self._adapter is None and self._loaded.database.exists()):
            with Reader(self._loaded.database) as reader:
                promoted = reader.adapter(self._adapter)
        if promoted is not None:
            return self._loaded.state_dir / "adapters" / f"{promoted.sha256}.gguf", promoted
        return self._factory()

    def _factory(self) -> tuple[Path | None, Adapter | None]:
        """The factory adapter; where it is damaged, that is said, and the base answers unless the factory was asked for by name."""
        try:
            found = factory.find(self._loaded)
        except ModelError as error:
            if self._adapter is not None:
                raise
            click.echo(clean(f"edgeevo: {error}; the base model answers in its place"), err=True)
            found = None
        if found is None and self._adapter is not None:
            raise ModelError("no factory adapter is configured", hint="model.factory names one; `base` is the model without an adapter")
        return (found.path, found.adapter) if found else (None, None)
