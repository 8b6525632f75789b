"""One night's work, as a generator of events in a child process: evolve → practise → train → exam → gate.

    python -m edgeevo.night      one NightRequest on stdin, events on stdout, one JSON line each

What was not yielded did not happen. A request that carries the events of the night's first part makes it go on behind them: phases that
ended are not repeated, parts that are recorded are not played again, and all dice are keyed, so the decisions are the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from edgeevo.agent.episode import SUBMIT, Attempt, observe, opening, play, side_by_side, verify
from edgeevo.agent.policy import Policy
from edgeevo.agent.prompt import BASE_PROMPT, TRAINED_PROMPT
from edgeevo.agent.remote import ModelWorker
from edgeevo.domain import Adapter, CommandResult, Ending, Environment, Message, Role, Split, Task, content_id, derive_seed
from edgeevo.environments import sets
from edgeevo.errors import SandboxError
from edgeevo.events import (
    AdapterJudged,
    AdapterTrained,
    EnvironmentAdmitted,
    EnvironmentRejected,
    EpisodesPlayed,
    Event,
    ExamplesSelected,
    LineageMoved,
    NightEnded,
    NightRequest,
    Phase,
    PhaseEnded,
    PhaseStarted,
    Progress,
    Source,
    TrainingCheckpoint,
)
from edgeevo.evolution.harness import Harness
from edgeevo.evolution.lineage import Pool, due, move
from edgeevo.evolution.rules import RuleProposer
from edgeevo.learning import exam, gate
from edgeevo.learning.examples import Example, practice_tasks, select, shuffled
from edgeevo.sandbox import Sandbox, open_sandbox
from edgeevo.worker import Worker, emit, requests

PRACTICE_TEMPERATURE = 0.8
WHOLE_PERCENT = 15
WALKS_A_REPORT = 50
SPARE_EXAMPLES = 1.15  # rendered for each one wanted: some drop out as duplicates or over a cap


class Night:
    """The state of one night while it runs: the request, what has happened so far, and the two things that it works with."""

    def __init__(self, request: NightRequest, sandbox: Sandbox, model: ModelWorker) -> None:
        self.request, self.plan = request, request.plan
        self.sandbox, self.model = sandbox, model
        self.past: list[Event] = list(request.past)
        self.pool = Pool.of(request.lineages, request.past)

    def run(self) -> Iterator[Event]:
        """The whole night, in order; every event is yielded once and folded in before the next is made."""
        for phase, work in (
            (Phase.EVOLVE, self._evolve),
            (Phase.PRACTISE, self._practise),
            (Phase.TRAIN, self._train),
            (Phase.EXAM, self._exam),
            (Phase.GATE, self._gate),
        ):
            if any(isinstance(e, PhaseEnded) and e.phase is phase for e in self.past):
                continue
            started = time.monotonic()
            if not any(isinstance(e, PhaseStarted) and e.phase is phase for e in self.past):
                yield self._happened(PhaseStarted(phase=phase))
            for event in work():
                yield self._happened(event)
            yield self._happened(PhaseEnded(phase=phase, seconds=round(time.monotonic() - started, 2)))
        yield NightEnded(summary=self._summary())

    def _happened(self, event: Event) -> Event:
        if not isinstance(event, Progress):
            self.past.append(event)
            self.pool = self.pool.after(event)
        return event

    # --- evolve -------------------------------------------------------------------------------------------------------

    def _evolve(self) -> Iterator[Event]:
        founders = self._lineages()
        proposer, weights = RuleProposer(self.plan.groups), self.plan.direction_weights
        harness = Harness(
            self.sandbox, self.request.seed, proposer, generations=self.plan.generations, children=self.plan.children, weights=weights
        )
        rounds = 1 + (self.plan.generations if self.plan.evolution else 0)
        yield from self._counted(harness.founders(founders, self.pool), 0, len(founders) * rounds)
        if not self.plan.evolution:
            return
        lineages = [founder.lineage for founder in founders]
        youngest = max((env.generation for env in self.request.lineages), default=0)
        for number in range(1, youngest + self.plan.generations + 1):
            yield from self._counted(harness.generation(number, lineages, self.pool), len(founders) * number, len(founders) * rounds)

    def _lineages(self) -> list[Environment]:
        """The founders whose lineages grow tonight: drawn from all by hash, so that every lineage has its turn."""
        order = sorted(sets.founders(self.plan.groups), key=lambda env: derive_seed("tonight", self.request.seed, env.id))
        return order[: self.plan.lineages]

    @staticmethod
    def _counted(events: Iterator[Event], done: int, total: int) -> Iterator[Event]:
        """The events, and every ten of them how far it is: a lineage counts once in each generation, however many plans it takes."""
        lineages = set()
        for n, event in enumerate(events, 1):
            yield event
            if isinstance(event, EnvironmentAdmitted | EnvironmentRejected):
                lineages.add(event.environment.lineage)
            if n % 10 == 0:
                yield Progress(phase=Phase.EVOLVE, done=min(total, done + len(lineages)), total=total)

    # --- practise -----------------------------------------------------------------------------------------------------

    def _practise(self) -> Iterator[Event]:
        policy = self._incumbent()
        # by the moves of earlier nights alone: tonight's must not change what a night that is resumed still has to do
        tonight = due(self.pool.environments, self.request.moves, self.request.seed, self.plan.practice_groups)
        for n, env in enumerate(tonight):
            if env.id in self.pool.played:
                yield from self._moved(env)
                continue
            (task,) = practice_tasks([env], derive_seed("practise", self.request.seed), 1, 1.0) or (None,)
            if task is None:
                continue
            seeds = [derive_seed("attempt", self.request.seed, env.id, i) for i in range(self.plan.group_attempts)]
            episodes = play(policy, [Attempt(task=task, seed=s, temperature=PRACTICE_TEMPERATURE) for s in seeds], self.sandbox)
            yield EpisodesPlayed(environment_id=env.id, task=task, episodes=tuple(episodes))
            yield from self._moved(env)
            yield Progress(phase=Phase.PRACTISE, done=n + 1, total=len(tonight))

    def _moved(self, env: Environment) -> Iterator[Event]:
        """Where the scheduler's pointer goes after the attempts at `env`, unless that is recorded already; BROKEN ones don't count."""
        if any(isinstance(e, LineageMoved) and e.environment_id == env.id for e in self.past):
            return
        played = next(e for e in self.past if isinstance(e, EpisodesPlayed) and e.environment_id == env.id)
        valid = [e for e in played.episodes if e.ending is not Ending.BROKEN]
        yield move(env, sum(e.passed for e in valid), len(valid), self.request.moves)

    # --- train --------------------------------------------------------------------------------------------------------

    def _train(self) -> Iterator[Event]:
        if any(isinstance(e, AdapterTrained) for e in self.past):
            return
        candidates: list[Example] = self._successes()
        count = round(self.plan.examples * SPARE_EXAMPLES)
        known = {env.id for env in self.pool.environments}
        everything = [*self.pool.environments, *(env for env in sets.founders(self.plan.groups) if env.id not in known)]
        tasks = practice_tasks(everything, self.request.seed, count, self.plan.singles_share)
        for start in range(0, len(tasks), WALKS_A_REPORT):
            walks = side_by_side(self._walk, tasks[start : start + WALKS_A_REPORT])
            candidates += [example for example in walks if example]
            yield Progress(phase=Phase.TRAIN, done=start, total=len(tasks), note="verifying oracle walks")
        chosen = select(candidates, self.plan.examples, self.request.seed)
        if self.plan.shuffle_labels:
            chosen = shuffled(chosen, self.request.seed)
        examples_id = content_id([example.conversation for example in chosen])
        if not any(isinstance(e, ExamplesSelected) and e.examples_id == examples_id for e in self.past):
            yield self._selected(chosen, examples_id)
        if chosen:
            yield from self._fit(chosen, examples_id)

    def _successes(self) -> list[Example]:
        """The policy's own verified successes, one per task that not every attempt passed, in no more commands than there are links."""
        out = []
        for event in self.past:
            if isinstance(event, EpisodesPlayed):
                good = [e for e in event.episodes if e.passed and e.steps and len(e.steps) <= len(event.task.program.links)]
                if good and not all(e.passed for e in event.episodes):
                    results = [step.result for step in good[0].steps]
                    out.append(Example(conversation=_walk_of(event.task, results), source=Source.SUCCESS, task=event.task))
        return out

    def _walk(self, task: Task) -> Example | None:
        try:
            trial = verify(task, self.sandbox, task.oracle)
        except SandboxError:
            return None
        if not trial.verdict.passed:
            return None
        return Example(conversation=_walk_of(task, trial.results), source=Source.ORACLE, task=task)

    @staticmethod
    def _selected(chosen: Sequence[Example], examples_id: str) -> ExamplesSelected:
        skills = [link.skill for example in chosen for link in example.task.program.links]
        sources = [example.source.value for example in chosen]
        return ExamplesSelected(
            examples_id=examples_id,
            count=len(chosen),
            by_source={s: sources.count(s) for s in sorted(set(sources))},
            by_skill={s: skills.count(s) for s in sorted(set(skills))},
            tasks=tuple(_without_files(example.task) for example in chosen),
        )

    def _fit(self, chosen: Sequence[Example], examples_id: str) -> Iterator[Event]:
        plan, spool = self.plan, Path(self.request.spool_dir)
        tokens = self.model.tokenize([example.conversation for example in chosen], TRAINED_PROMPT)
        started = time.monotonic()
        with Worker("edgeevo.learning.trainer") as trainer:
            trainer.send(
                {
                    "weights_dir": self.request.model.weights_dir,
                    "examples": tokens,
                    "rank": plan.rank,
                    "alpha": plan.alpha,
                    "learning_rate": plan.learning_rate,
                    "b_rate_ratio": plan.b_rate_ratio,
                    "batch_size": plan.batch_size,
                    "epochs": plan.epochs,
                    "seed": derive_seed("train", self.request.seed),
                    "out_dir": str(spool / examples_id),
                    "threads": plan.threads,
                    "checkpoint_seconds": plan.checkpoint_seconds,
                    "resume": True,
                }
            )
            for told in trainer:
                kind = told["kind"]
                if kind == "start" and told["damage"]:
                    yield Progress(phase=Phase.TRAIN, done=0, total=told["steps"], note=told["damage"])
                elif kind == "step":
                    yield Progress(phase=Phase.TRAIN, done=told["step"], total=told["steps"], note=f"loss {told['loss']:.3f}")
                elif kind == "checkpoint":
                    yield TrainingCheckpoint(path=told["path"], step=told["step"], steps=told["steps"], loss=told["loss"])
                elif kind == "done":
                    adapter = Adapter(
                        sha256=told["sha256"],
                        base_sha256=self.request.model.sha256,
                        examples_id=examples_id,
                        fingerprint=self.model.fingerprint(Path(told["gguf"])),
                        rank=plan.rank,
                        alpha=plan.alpha,
                    )
                    seconds = round(time.monotonic() - started, 1)
                    yield AdapterTrained(adapter=adapter, path=told["gguf"], loss=told["loss"], tokens=told["tokens"], seconds=seconds)

    # --- exam and gate ------------------------------------------------------------------------------------------------

    def _exam(self) -> Iterator[Event]:
        if self._trained() is None:
            return
        tasks = self._exam_tasks()
        for policy, who in ((self._incumbent(), "incumbent"), (self._candidate(), "candidate")):
            for n, event in enumerate(exam.sit(policy, tasks, Split.EXAM, self.sandbox, self.past), 1):
                yield event
                yield Progress(phase=Phase.EXAM, done=min(len(tasks), n * exam.PART_TASKS), total=len(tasks), note=who)

    def _gate(self) -> Iterator[Event]:
        trained = self._trained()
        if trained is None or any(isinstance(e, AdapterJudged) for e in self.past):
            return
        name = exam.set_id(self._exam_tasks())
        incumbent, candidate = self._incumbent(), self._candidate()
        judgement = gate.judge(
            exam.outcomes_of(self.past, name, incumbent.id),
            exam.outcomes_of(self.past, name, candidate.id),
            p_threshold=self.plan.p_threshold,
            margin=self.plan.margin,
        )
        yield AdapterJudged(
            candidate_sha256=trained.adapter.sha256,
            incumbent_sha256=self.request.incumbent.sha256 if self.request.incumbent else None,
            candidate_policy=candidate.id,
            incumbent_policy=incumbent.id,
            set_id=name,
            judgement=judgement,
        )

    def _exam_tasks(self) -> tuple[Task, ...]:
        """Instances drawn fresh each night from the exam structures."""
        return sets.held_out_tasks(Split.EXAM, derive_seed("exam", self.request.seed), self.plan.exam_pairs, self.plan.groups)

    def _trained(self) -> AdapterTrained | None:
        """Tonight's candidate; None when there was nothing to learn from."""
        return next((e for e in reversed(self.past) if isinstance(e, AdapterTrained)), None)

    def _incumbent(self) -> Policy:
        return policy_of(self.model, self.request.incumbent_path, self.request.incumbent)

    def _candidate(self) -> Policy:
        trained = self._trained()
        assert trained is not None
        return policy_of(self.model, trained.path, trained.adapter)

    def _summary(self) -> str:
        judged = next((e for e in reversed(self.past) if isinstance(e, AdapterJudged)), None)
        verdict = f"{judged.judgement.decision}: {'; '.join(judged.judgement.reasons)}" if judged else "no candidate"
        return f"{len(self.pool.environments)} environments; {verdict}"


def _without_files(task: Task) -> Task:
    """A task as the store keeps it for the proof of disjointness: nearly all of it are files, which program and seed give again."""
    return msgspec.structs.replace(task, initial=msgspec.structs.replace(task.initial, nodes={}))


def policy_of(model: ModelWorker, path: str | None, adapter: Adapter | None) -> Policy:
    """The base at its best prompt, or an adapter, its fingerprint checked before it speaks, with the prompt it was trained in."""
    if path is None or adapter is None:
        return model.policy(None, BASE_PROMPT)
    return model.policy(Path(path), TRAINED_PROMPT, fingerprint=adapter.fingerprint)


def _walk_of(task: Task, results: Sequence[CommandResult]) -> tuple[Message, ...]:
    """The conversation of a verified walk: up to the last command, or (a share of them, by hash) on to its output and the submission.

    Observations cost as many tokens as commands and are alike; a share of them is enough to learn when to submit (docs/results/pilot.md).
    """
    whole = derive_seed("whole", task.id) % 100 < WHOLE_PERCENT
    conversation = list(opening(task))
    for result in results:
        conversation.append(Message(role=Role.ASSISTANT, text=result.command))
        conversation.append(Message(role=Role.USER, text=observe(result)))
    return (*conversation, Message(role=Role.ASSISTANT, text=SUBMIT)) if whole else tuple(conversation[:-1])


def main() -> None:
    """Read the request, run the night, write its events."""
    request = msgspec.convert(next(requests()), NightRequest)
    sandbox = open_sandbox()
    model = ModelWorker(Path(request.model.gguf), request.model.sha256, threads=request.plan.threads)
    try:
        for event in Night(request, sandbox, model).run():
            emit(event)
    finally:
        model.close()
        sandbox.close()


if __name__ == "__main__":
    main()
