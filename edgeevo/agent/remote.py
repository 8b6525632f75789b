"""The model behind its worker process, as policies. This is what everybody else uses; nothing here loads a model library.

    model = ModelWorker(path, sha256, threads=2)
    policy = model.policy(adapter_path, TRAINED_PROMPT, fingerprint=adapter.fingerprint)
    policy.propose(turns)
    model.close()                 # the memory is free when this returns

One worker serves many policies; whichever is asked puts its adapter in force first, and that is proven by the logits on a fixed probe.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from edgeevo.agent.policy import Reply, Turn
from edgeevo.agent.prompt import Prompt
from edgeevo.domain import Message, content_id
from edgeevo.errors import ModelError, WorkerError
from edgeevo.worker import Worker

SAME_LOGITS = 0.05  # two fingerprints are the same weights when no logit differs by more (other processors round differently)
MAX_RSS_BYTES = 2 << 30  # a worker that ever held more is replaced by a fresh one
SIGILL_STATUS = "status -4"


class ModelWorker:
    """A verified model file (`base_sha256`) served by a child that is started when first asked. Not thread-safe; a context manager."""

    def __init__(
        self,
        model: Path,
        base_sha256: str = "",
        *,
        threads: int = 2,
        sequences: int = 8,
        sequence_tokens: int = 1024,
        max_reply_tokens: int = 64,
        max_rss_bytes: int = MAX_RSS_BYTES,
    ) -> None:
        """`base_sha256` defaults to the file's name, which is its hash.

        Up to `sequences` replies are decoded at once, prompt and reply within `sequence_tokens` each (23 kB of memory per token).
        """
        self.base_sha256 = base_sha256 or model.stem
        self.max_reply_tokens, self.max_rss_bytes = max_reply_tokens, max_rss_bytes
        self._request = {
            "op": "load",
            "path": str(model),
            "base_sha256": self.base_sha256,
            "threads": threads,
            "sequences": sequences,
            "sequence_tokens": sequence_tokens,
            "max_reply_tokens": max_reply_tokens,
        }
        self._worker: Worker | None = None
        self._in_force: Path | None = None
        self._base_fingerprint: tuple[float, ...] = ()
        self._proven: dict[Path, tuple[float, ...]] = {}

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None while there is none."""
        return self._worker.pid if self._worker is not None else None

    def policy(self, adapter: Path | None, prompt: Prompt, *, fingerprint: Sequence[float] = ()) -> RemotePolicy:
        """The model with this adapter (None: the base) and prompt; `fingerprint`, where given, is what its logits must be.

        The file is hashed now: ModelError when it is missing or is not what its name says.
        """
        sha256 = "" if adapter is None else _verified_sha256(adapter)
        return RemotePolicy(self, adapter, sha256, prompt, tuple(fingerprint))

    def fingerprint(self, adapter: Path | None) -> tuple[float, ...]:
        """The logits on the fixed probe with this adapter in force; ModelError when it changes nothing."""
        self.use(adapter)
        return self._base_fingerprint if adapter is None else self._proven[adapter]

    def tokenize(self, conversations: Sequence[Sequence[Message]], prompt: Prompt) -> list[dict[str, list[int]]]:
        """{"tokens": ids, "mask": 1 where the agent's} per conversation: what the trainer takes, and what serving sees."""
        texts = [prompt.segments(conversation, awaiting_reply=False) for conversation in conversations]
        answer = self._ask({"op": "tokenize", "texts": texts})
        return [{"tokens": tokens, "mask": mask} for tokens, mask in zip(answer["tokens"], answer["masks"], strict=True)]

    def surprise(self, conversations: Sequence[Sequence[Message]], prompt: Prompt, adapter: Path | None = None) -> list[list[float]]:
        """-log p (nats) of every token of the agent's replies in each conversation."""
        self.use(adapter)
        texts = [prompt.segments(conversation, awaiting_reply=False) for conversation in conversations]
        nats: list[list[float]] = self._ask({"op": "surprise", "texts": texts})["nats"]
        return nats

    def use(self, adapter: Path | None, expected: Sequence[float] = ()) -> None:
        """Put an adapter in force and prove it: its logits differ from the base's and match `expected`. ModelError otherwise."""
        self._started()
        if adapter != self._in_force:
            told = tuple(self._ask({"op": "adapter", "path": str(adapter) if adapter is not None else None})["fingerprint"])
            self._in_force = adapter
            if adapter is None:
                _must_match(told, self._base_fingerprint, "the base model")
                return
            if _same(told, self._base_fingerprint):
                self.close()
                raise ModelError(f"adapter {adapter.name} is not in force: the logits are the base's", hint="roll back: edgeevo rollback")
            self._proven[adapter] = told
        if adapter is not None and expected:
            _must_match(self._proven[adapter], expected, f"adapter {adapter.name}")

    def propose(self, turns: Sequence[Turn], prompt: Prompt) -> list[Reply]:
        """One reply per turn, by whatever adapter is in force; see RemotePolicy."""
        asked = [
            {"segments": prompt.segments(t.conversation, awaiting_reply=True), "seed": t.seed, "temperature": t.temperature} for t in turns
        ]
        answer = self._ask({"op": "propose", "turns": asked})
        if answer["peak_rss_bytes"] > self.max_rss_bytes:
            self.close()  # the next question starts a fresh one
        return msgspec.convert(answer["replies"], list[Reply])

    def forget(self) -> None:
        """Empty the worker's cache, if there is a worker."""
        if self._worker is not None:
            self._ask({"op": "forget"})

    def close(self) -> None:
        """End the worker if there is one; its memory is free when this returns. The next question starts another."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            self._in_force = None
            self._proven.clear()
            worker.close()

    def _started(self) -> Worker:
        if self._worker is None:
            self._worker = Worker("edgeevo.agent.serve")
            self._base_fingerprint = tuple(self._ask(self._request)["fingerprint"])
        return self._worker

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        worker = self._started()
        try:
            worker.send(request)
            answer: dict[str, Any] = worker.receive()
        except WorkerError as error:
            self.close()
            if SIGILL_STATUS in str(error):
                hint = "rebuild llama-cpp-python with the portable flags of the requirements file, without pip's wheel cache"
                raise ModelError("the model library uses instructions that this processor lacks", hint=hint) from error
            raise
        if "error" in answer:
            if request["op"] == "load":
                self.close()
            raise ModelError(answer["error"], hint=answer["hint"])
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemotePolicy:
    """The model of a ModelWorker with one adapter and one prompt, as a Policy."""

    def __init__(
        self, model: ModelWorker, adapter: Path | None, adapter_sha256: str, prompt: Prompt, fingerprint: tuple[float, ...]
    ) -> None:
        self._model, self._adapter, self._sha256, self._prompt, self._fingerprint = model, adapter, adapter_sha256, prompt, fingerprint

    @property
    def id(self) -> str:
        """Content id of base, adapter, prompt and how replies are drawn (top-k and reply length; temperature and seed are the turn's)."""
        return content_id([self._model.base_sha256, self._sha256, self._prompt.id, "top-k 40", self._model.max_reply_tokens])

    def begin(self) -> None:
        """Empty the worker's cache: tokens that lie in it were computed in other batches, which moves logits in their last bits."""
        self._model.forget()

    def propose(self, turns: Sequence[Turn]) -> list[Reply]:
        """One reply per turn, in order, with the adapter proven in force. ModelError, WorkerError."""
        if not turns:
            return []
        self._model.use(self._adapter, self._fingerprint)
        return self._model.propose(turns, self._prompt)


def _same(left: Sequence[float], right: Sequence[float]) -> bool:
    return len(left) == len(right) and all(abs(a - b) <= SAME_LOGITS for a, b in zip(left, right, strict=True))


def _must_match(found: Sequence[float], expected: Sequence[float], what: str) -> None:
    if not _same(found, expected):
        apart = max((abs(a - b) for a, b in zip(found, expected, strict=False)), default=float("inf"))
        raise ModelError(
            f"{what} is not what was stored: its logits differ from the fingerprint by {apart:.3f}", hint="roll back: edgeevo rollback"
        )


def _verified_sha256(path: Path) -> str:
    """The file's SHA-256; where the name is a SHA-256 the two must agree."""
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"adapter {path} can't be read: {error.strerror}", hint="roll back: edgeevo rollback") from error
    if len(path.stem) == len(found) and path.stem != found:
        raise ModelError(f"adapter {path} was altered: its sha256 is {found}", hint="roll back: edgeevo rollback")
    return found
