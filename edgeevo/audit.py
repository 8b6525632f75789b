"""Plays the audit set with one policy. No decision reads what it finds: every published figure comes from it.

    python -m edgeevo.audit      one AuditRequest on stdin, `Evaluated` parts (and progress) on stdout

Parts that the request holds already are not played again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from edgeevo.agent.remote import ModelWorker
from edgeevo.domain import Split, derive_seed
from edgeevo.environments import sets
from edgeevo.events import AuditRequest, Event, Phase, Progress
from edgeevo.learning import exam
from edgeevo.night import policy_of
from edgeevo.sandbox import Sandbox, open_sandbox
from edgeevo.worker import emit, requests


def audit(request: AuditRequest, sandbox: Sandbox, model: ModelWorker) -> Iterator[Event]:
    """The parts of the audit that `request.past` does not hold yet."""
    tasks = sets.held_out_tasks(Split.AUDIT, derive_seed("audit", request.seed), request.tasks, request.groups)
    policy = policy_of(model, request.adapter_path, request.adapter)
    for event in exam.sit(policy, tasks, Split.AUDIT, sandbox, request.past):
        yield event
        yield Progress(phase=Phase.AUDIT, done=min(len(tasks), (event.part + 1) * exam.PART_TASKS), total=len(tasks))


def main() -> None:
    """Read the request, play the set, write its parts."""
    request = msgspec.convert(next(requests()), AuditRequest)
    sandbox = open_sandbox()
    model = ModelWorker(Path(request.model.gguf), request.model.sha256, threads=request.threads)
    try:
        for event in audit(request, sandbox, model):
            emit(event)
    finally:
        model.close()
        sandbox.close()


if __name__ == "__main__":
    main()
