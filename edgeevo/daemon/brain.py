"""The configured model behind its worker, as the desk wants it; also used by `ask` and `run` when no daemon is there."""

from __future__ import annotations

from pathlib import Path

from edgeevo.agent.policy import Policy
from edgeevo.agent.prompt import BASE_PROMPT, TRAINED_PROMPT
from edgeevo.agent.remote import ModelWorker
from edgeevo.config import Loaded
from edgeevo.domain import Adapter
from edgeevo.errors import ModelError
from edgeevo.models import cards


class ModelBrain:
    """Starts the model worker when it is first asked; the model's file is verified before. Implements desk.Brain."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._worker: ModelWorker | None = None

    def policy(self, adapter_path: Path | None, adapter: Adapter | None) -> Policy:
        """The policy with this adapter proven in force (None: the base). Raises ModelError, WorkerError."""
        if not self._loaded.config.model.card:
            raise ModelError("no model is configured", hint="set model.card, then `edgeevo model fetch`")
        if self._worker is None:
            card = cards.load_card(self._loaded.card_path)
            model = cards.locate(card, self._loaded.models_dir)
            self._worker = ModelWorker(model, card.sha256, threads=self._loaded.config.model.threads)
        if adapter is None:
            return self._worker.policy(None, BASE_PROMPT)
        return self._worker.policy(adapter_path, TRAINED_PROMPT, fingerprint=adapter.fingerprint)

    def close(self) -> None:
        """End the worker; its memory is free when this returns."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            worker.close()
