"""Worker child that holds the model: `python -m edgeevo.agent.serve`, one JSON object in, one out (see the table of handlers).

    {"op": "load", "path", "base_sha256", "threads", "sequences", "sequence_tokens", "max_reply_tokens"}   must come first
    {"op": "adapter", "path": str | null}                  ->  {"fingerprint": [...]}        now in force
    {"op": "propose", "turns": [{"segments", "seed", "temperature"}, ...]}  ->  {"replies": [...], "peak_rss_bytes"}
    {"op": "forget"}                                       ->  {}                            the cache is empty
    {"op": "tokenize", "texts": [[segment, ...], ...]}     ->  {"tokens": [[...]], "masks": [[...]]}
    {"op": "surprise", "texts": [[segment, ...], ...]}     ->  {"nats": [[...]]}             of the action tokens
    anything that fails                                    ->  {"error", "hint"}

A segment is [text, special, action]. Before a model file is parsed the child gives up what it will never need: new privileges and
writing files. It ends with its parent.
"""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgeevo.agent.decoding import Job
from edgeevo.agent.llama import Engine
from edgeevo.agent.policy import Reply
from edgeevo.agent.prompt import Segment
from edgeevo.errors import ModelError
from edgeevo.worker import emit, requests

PR_SET_NO_NEW_PRIVS = 38


def confine() -> None:
    """Give up new privileges, core dumps and writing to files, for good; pipes still work. ModelError where the kernel refuses."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise ModelError("the model worker can't be confined: no_new_privs was refused", hint="use a kernel of version 3.5 or later")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Server:
    """Answers one request after the other with one engine."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "load": self._load,
            "adapter": self._adapter,
            "propose": self._propose,
            "forget": self._forget,
            "tokenize": self._tokenize,
            "surprise": self._surprise,
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request; failures of ours are answers, too."""
        handler = self._handlers.get(str(request.get("op")))
        if handler is None:
            return {"error": f"unknown operation {request.get('op')!r}", "hint": f"known: {', '.join(self._handlers)}"}
        try:
            return handler(request)
        except ModelError as error:
            return {"error": str(error), "hint": error.hint}

    @property
    def engine(self) -> Engine:
        """The loaded engine; ModelError before "load"."""
        if self._engine is None:
            raise ModelError("no model is loaded", hint='send {"op": "load", …} first')
        return self._engine

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        settings = {key: request[key] for key in ("threads", "base_sha256", "sequences", "sequence_tokens", "max_reply_tokens")}
        self._engine = Engine(Path(request["path"]), **settings)
        return {"fingerprint": self.engine.fingerprint()}

    def _adapter(self, request: dict[str, Any]) -> dict[str, Any]:
        self.engine.set_adapter(Path(request["path"]) if request["path"] is not None else None)
        return {"fingerprint": self.engine.fingerprint()}

    def _propose(self, request: dict[str, Any]) -> dict[str, Any]:
        jobs = []
        for turn in request["turns"]:
            tokens, _ = self.engine.tokenize(_segments(turn["segments"]))
            jobs.append(Job(tuple(tokens), turn["seed"], turn["temperature"]))
        replies = [
            Reply(
                text=self.engine.text(said.tokens).strip(), finish=said.finish, prompt_tokens=len(job.prompt), reply_tokens=len(said.tokens)
            )
            for job, said in zip(jobs, self.engine.propose(jobs), strict=True)
        ]
        return {"replies": replies, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}

    def _forget(self, _request: dict[str, Any]) -> dict[str, Any]:
        self.engine.forget()
        return {}

    def _tokenize(self, request: dict[str, Any]) -> dict[str, Any]:
        pairs = [self.engine.tokenize(_segments(text)) for text in request["texts"]]
        return {"tokens": [tokens for tokens, _ in pairs], "masks": [mask for _, mask in pairs]}

    def _surprise(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"nats": [self.engine.surprise(_segments(text)) for text in request["texts"]]}


def _segments(values: list[list[Any]]) -> list[Segment]:
    return [Segment(text, bool(special), bool(action)) for text, special, action in values]


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    confine()
    server = Server()
    for request in requests():
        emit(server.answer(request))


if __name__ == "__main__":
    main()
