"""The cache of audits that state directories share: one file for each policy, set and code, written when an audit has ended."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from edgeevo.domain import content_id, encode
from edgeevo.durable import write_durably
from edgeevo.events import AuditRequest, Evaluated, Event


class Audits:
    """Use from the daemon alone. Without a directory nothing is found and nothing kept."""

    def __init__(self, directory: str, module: str) -> None:
        self._directory, self._module = directory, module

    def find(self, request: AuditRequest) -> tuple[Event, ...]:
        """The parts of the same audit of the same policy, measured by the same code; empty when there is none that can be read."""
        place = self._place(request)
        try:
            return tuple(msgspec.json.decode(line, type=Event) for line in place.read_bytes().splitlines()) if place else ()
        except (OSError, msgspec.DecodeError):
            return ()

    def keep(self, request: AuditRequest, past: Iterable[Event]) -> None:
        """The parts among the events of an audit that has ended."""
        place = self._place(request)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_durably(place, b"\n".join(encode(event) for event in past if isinstance(event, Evaluated)))

    def _place(self, request: AuditRequest) -> Path | None:
        if not self._directory:
            return None
        adapter = request.adapter.sha256 if request.adapter else ""
        parts = [_code_id(), self._module, request.seed, request.tasks, request.groups, request.model.sha256, adapter]
        return Path(self._directory) / f"{content_id(parts)}.jsonl"


@cache
def _code_id() -> str:
    """Content hash of everything that renders, plays and judges a task: another vocabulary, prompt or judge is another set."""
    package = Path(__file__).parents[1]
    files = [f for part in ("environments", "agent", "learning", "sandbox") for f in sorted((package / part).glob("*.py"))]
    return content_id([[f.name, hashlib.sha256(f.read_bytes()).hexdigest()] for f in [*files, package / "audit.py", package / "domain.py"]])
