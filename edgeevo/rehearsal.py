"""A night without a model: `python -m edgeevo.rehearsal` plays a fixed sequence of events, slowly, and resumes behind those it is given.

The second implementation of the night's and the auditor's language: the service is rehearsed with it (crash it anywhere, the record must
come out the same), and so can an operator on a box without weights: `--set daemon.night_module=edgeevo.rehearsal --set model.card=`.
The whole sequence takes `plan.rehearsal_seconds`. It runs no command and trains nothing; its "adapter" is a file of a few bytes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from edgeevo.domain import (
    Adapter,
    CommandResult,
    Direction,
    Ending,
    Environment,
    Episode,
    Printed,
    Program,
    ProgramLink,
    Split,
    State,
    Step,
    Task,
    Verdict,
)
from edgeevo.events import (
    AdapterJudged,
    AdapterTrained,
    AuditRequest,
    Decision,
    EnvironmentAdmitted,
    EnvironmentRejected,
    EpisodesPlayed,
    Evaluated,
    Event,
    Evidence,
    ExamplesSelected,
    Judgement,
    LineageMoved,
    NightEnded,
    NightRequest,
    Outcome,
    Phase,
    PhaseEnded,
    PhaseStarted,
    Progress,
    Stratum,
    TrainingCheckpoint,
)
from edgeevo.worker import emit, requests

WORDS = {Split.PRACTICE: "print the greeting of", Split.EXAM: "what does the greeting say for", Split.AUDIT: "show me how one greets"}


def task(split: Split, number: int) -> Task:
    """A task of the named set; the three sets share neither structure nor wording nor commands."""
    return Task(
        instruction=f"{WORDS[split]} number {number} in the {split} list",
        initial=State(nodes={}, cwd="/home/user"),
        contract=(Printed(lines=(f"{split} {number}",)),),
        oracle=(f"echo {split} {number}",),
        alternative=(f"printf '%s\\n' '{split} {number}'",),
        program=Program(scenario=f"rehearsal-{split}", links=(ProgramLink(skill="greet", variant=str(number % 4)),)),
        seed=number,
        wording=f"{split}-{number % 4}",
        split=split,
    )


def outcome(one: Task, *, passed: bool) -> Outcome:
    """The outcome of one attempt at a task of `task`."""
    return Outcome(
        task_id=one.id,
        structure=one.program.structure,
        stratum="single",
        skill="greet",
        passed=passed,
        ending=Ending.SUBMITTED,
        steps=1,
        reply_tokens=4,
        seconds=0.0,
    )


def evaluated(split: Split, policy: str, share: int, count: int) -> Evaluated:
    """An evaluation in which every task but each `share`-th passes (1: none does)."""
    tasks = tuple(task(split, number) for number in range(count))
    outcomes = tuple(outcome(one, passed=place % share != 0) for place, one in enumerate(tasks))
    return Evaluated(set_id=f"{split}-1", split=split, policy_id=policy, part=0, outcomes=outcomes, tasks=tasks)


def night(request: NightRequest) -> Iterator[Event]:
    """The whole sequence; the same request gives the same events, the times in them included."""
    founder = Environment(program=task(Split.PRACTICE, 0).program, lineage=f"greet-{request.night_id}")
    child = msgspec.structs.replace(founder, generation=1, parent=founder.id, direction=Direction.LENGTH, operator="repeat")
    yield PhaseStarted(phase=Phase.EVOLVE)
    yield EnvironmentAdmitted(environment=founder, place=0, evidence=(Evidence(verifier="oracle", satisfied=True, detail="passed twice"),))
    yield Progress(phase=Phase.EVOLVE, done=1, total=2)
    rejection = Evidence(verifier="harder", satisfied=False, detail="the parent's links pass")
    yield EnvironmentRejected(environment=child, place=1, reason="SURFACE_ONLY", detail="nothing but names differs", evidence=(rejection,))
    yield LineageMoved(lineage=founder.lineage, generation=0, action="stay", passed=1, attempts=2)
    yield PhaseEnded(phase=Phase.EVOLVE, seconds=1.0)
    yield PhaseStarted(phase=Phase.PRACTISE)
    for number in range(2):
        yield _played(founder, task(Split.PRACTICE, number))
    yield PhaseEnded(phase=Phase.PRACTISE, seconds=2.0)
    yield PhaseStarted(phase=Phase.TRAIN)
    learnt = tuple(task(Split.PRACTICE, number) for number in range(2))
    yield ExamplesSelected(examples_id="rehearsed", count=2, by_source={"oracle": 2}, by_skill={"greet": 2}, tasks=learnt)
    yield TrainingCheckpoint(path=f"{request.spool_dir}/checkpoint", step=1, steps=2, loss=0.5)
    trained = _adapter(request)
    yield trained
    yield PhaseEnded(phase=Phase.TRAIN, seconds=3.0)
    yield PhaseStarted(phase=Phase.EXAM)
    yield evaluated(Split.EXAM, "incumbent", 1, 8)
    yield evaluated(Split.EXAM, trained.adapter.sha256[:16], 4, 8)
    yield PhaseEnded(phase=Phase.EXAM, seconds=4.0)
    stratum = Stratum(name="single", n=8, incumbent_passed=0, candidate_passed=6, wins=6, losses=0, margin=0.05, non_inferior=True)
    judged = Judgement(decision=Decision.PROMOTE, reasons=("rehearsed",), n=8, wins=6, losses=0, p_value=1 / 64, strata=(stratum,))
    yield AdapterJudged(
        candidate_sha256=trained.adapter.sha256,
        incumbent_sha256=request.incumbent.sha256 if request.incumbent else None,
        candidate_policy=trained.adapter.sha256[:16],
        incumbent_policy="incumbent",
        set_id="exam-1",
        judgement=judged,
    )
    yield NightEnded(summary="rehearsed: one of two environments admitted, adapter promoted")


def _played(environment: Environment, one: Task) -> EpisodesPlayed:
    step = Step(result=CommandResult(command=one.oracle[0], exit_code=0, stdout=b"x\n"), reply_tokens=4)
    verdicts = (Verdict(passed=True), Verdict(passed=False, reasons=("line 1 differs",)))
    episodes = tuple(
        Episode(task_id=one.id, policy_id="incumbent", seed=place, steps=(step,), ending=Ending.SUBMITTED, verdict=verdict)
        for place, verdict in enumerate(verdicts)
    )
    return EpisodesPlayed(environment_id=environment.id, task=one, episodes=episodes)


def _adapter(request: NightRequest) -> AdapterTrained:
    data = f"rehearsed by {request.night_id}".encode()
    sha256 = hashlib.sha256(data).hexdigest()
    path = Path(request.spool_dir) / f"{sha256}.gguf"
    path.write_bytes(data)
    adapter = Adapter(sha256=sha256, base_sha256=request.model.sha256, examples_id="rehearsed", fingerprint=(0.0,), rank=1, alpha=1.0)
    return AdapterTrained(adapter=adapter, path=str(path), loss=0.25, tokens=64, seconds=3.0)


def audit(request: AuditRequest) -> Iterator[Event]:
    """Two parts of an audit; what `past` already holds is not played again."""
    for part in range(2):
        whole = evaluated(
            Split.AUDIT, request.adapter.sha256[:16] if request.adapter else "base", 3 if request.adapter else 1, request.tasks
        )
        half = len(whole.tasks) // 2
        chosen = slice(0, half) if part == 0 else slice(half, None)
        yield msgspec.structs.replace(whole, part=part, tasks=whole.tasks[chosen], outcomes=whole.outcomes[chosen])


def play(request: Any, say: Callable[[Event], None], pause: Callable[[float], None]) -> None:
    """Say the events of one request that its past doesn't hold, with a pause before each."""
    if "night_id" in request:
        asked = msgspec.convert(request, NightRequest)
        events, past, seconds = list(night(asked)), len(asked.past), asked.plan.rehearsal_seconds
    else:
        wanted = msgspec.convert(request, AuditRequest)
        events, past, seconds = list(audit(wanted)), len(wanted.past), 0.0
    stored = [event for event in events if not isinstance(event, Progress)]
    for event in stored[past:]:
        pause(seconds / len(stored))
        say(event)


if __name__ == "__main__":
    for line in requests():
        play(line, emit, time.sleep)
        break
