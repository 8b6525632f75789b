"""A night in miniature, in the real sandbox: once with scripted minds, once with real weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

from edgeevo.agent.policy import Policy, Scripted
from edgeevo.agent.prompt import Prompt
from edgeevo.agent.remote import ModelWorker
from edgeevo.audit import audit
from edgeevo.domain import Adapter, Split, derive_seed
from edgeevo.environments import sets
from edgeevo.environments.program import render
from edgeevo.environments.splits import split_of
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
    ExamplesSelected,
    LineageMoved,
    ModelFiles,
    NightEnded,
    NightPlan,
    NightRequest,
    Phase,
    PhaseEnded,
    PhaseStarted,
    Progress,
    TrainingCheckpoint,
)
from edgeevo.learning import exam
from edgeevo.learning.gate import mcnemar_p
from edgeevo.night import Night

SEED = 4
PLAN = NightPlan(lineages=2, generations=1, practice_groups=3, group_attempts=2, examples=12, exam_pairs=12, groups=("text",))
NIGHT = (Phase.EVOLVE, Phase.PRACTISE, Phase.TRAIN, Phase.EXAM, Phase.GATE)
CANDIDATE = Adapter(sha256="c" * 64, base_sha256="b" * 64, examples_id="", fingerprint=(1.0,), rank=1, alpha=1.0)
TRAINED = AdapterTrained(adapter=CANDIDATE, path="/spool/candidate.gguf", loss=0.5, tokens=64, seconds=0.0)


def of(events: Sequence[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


class Minds:
    """What a night asks of a model, answered by scripts: the base says nothing, an adapter knows these commands by instruction."""

    def __init__(self, knows: dict[str, tuple[str, ...]]) -> None:
        self.knows = knows
        self.fingerprints: list[tuple[float, ...]] = []

    def policy(self, adapter: Path | None, prompt: Prompt, *, fingerprint: Sequence[float] = ()) -> Policy:
        if adapter is not None:
            self.fingerprints.append(tuple(fingerprint))
        return Scripted({} if adapter is None else self.knows)


def exam_tasks(plan: NightPlan = PLAN):
    return sets.held_out_tasks(Split.EXAM, derive_seed("exam", SEED), plan.exam_pairs, plan.groups)


def request(plan: NightPlan = PLAN, past: Sequence[Event] = (), **more: object) -> NightRequest:
    model = ModelFiles(gguf="", sha256="b" * 64, card="", weights_dir="")
    return NightRequest(night_id="n", seed=SEED, plan=plan, model=model, spool_dir="/spool", past=tuple(past), **more)


def dream(sandbox, minds: Minds, past: Sequence[Event] = (), plan: NightPlan = PLAN) -> list[Event]:
    """A night behind `past`; where the trainer would start it is stopped, and goes on behind what the trainer would have said."""
    events = list(past)
    if of(events, ExamplesSelected) and not of(events, AdapterTrained):
        events.append(TRAINED)
    for event in Night(request(plan, events), sandbox, minds).run():
        if not isinstance(event, Progress):
            events.append(event)
        if isinstance(event, ExamplesSelected):
            return dream(sandbox, minds, events, plan)
    return events


def decisions(events: Sequence[Event]) -> list[object]:
    """What was decided, without clocks and without the marks of beginnings and ends."""
    out: list[object] = []
    for event in events:
        match event:
            case EnvironmentAdmitted(environment=env, place=place):
                out.append(("admitted", env.id, place))
            case EnvironmentRejected(environment=env, place=place, reason=reason):
                out.append((reason, env.id, place))
            case LineageMoved():
                out.append(event)
            case EpisodesPlayed(environment_id=env_id, task=task, episodes=episodes):
                out.append((env_id, task.id, [(e.seed, e.passed, e.ending) for e in episodes]))
            case ExamplesSelected(examples_id=examples_id, count=count):
                out.append((examples_id, count))
            case Evaluated(set_id=set_id, policy_id=policy, part=part, outcomes=outcomes):
                out.append((set_id, policy, part, [(o.task_id, o.passed, o.ending) for o in outcomes]))
            case AdapterTrained(adapter=adapter):
                out.append(adapter.sha256)
            case AdapterJudged():
                out.append(event)
            case _:
                pass
    return out


def solutions() -> dict[str, tuple[str, ...]]:
    return {task.instruction: task.oracle for task in exam_tasks()}


@pytest.fixture(scope="module")
def night(sandbox) -> list[Event]:
    """All events of one night with a candidate that knows the exam."""
    return dream(sandbox, Minds(solutions()))


@pytest.mark.sandbox
def test_phases_come_in_order_once_each(night: list[Event]) -> None:
    """Every phase begins once and ends once, one behind the other, and then the night ends."""
    marks = [event for event in night if isinstance(event, PhaseStarted | PhaseEnded)]
    assert [mark.phase for mark in marks] == [phase for phase in NIGHT for _ in (0, 1)]
    assert [isinstance(mark, PhaseEnded) for mark in marks] == [False, True] * len(NIGHT)
    assert isinstance(night[-1], NightEnded) and len(of(night, NightEnded)) == 1


@pytest.mark.sandbox
def test_a_candidate_that_knows_the_exam_is_promoted(night: list[Event]) -> None:
    """Both sit the same tasks, and the paired table decides."""
    (judged,) = of(night, AdapterJudged)
    assert judged.judgement.decision is Decision.PROMOTE and judged.judgement.n == PLAN.exam_pairs
    assert judged.judgement.losses == 0 and judged.candidate_sha256 == CANDIDATE.sha256 and judged.incumbent_sha256 is None
    assert {e.policy_id for e in of(night, Evaluated)} == {judged.candidate_policy, judged.incumbent_policy}


@pytest.mark.sandbox
@pytest.mark.parametrize("tenth", range(10))
def test_a_night_that_was_cut_goes_on_with_the_same_decisions(sandbox, night: list[Event], tenth: int) -> None:
    """Started again behind any of its events, the night yields the rest and nothing twice."""
    cut = len(night) * tenth // 10 + tenth % 2
    again = dream(sandbox, Minds(solutions()), night[:cut])
    assert decisions(again) == decisions(night), night[cut]


@pytest.mark.sandbox
def test_a_recorded_judgement_is_not_made_again(sandbox, night: list[Event]) -> None:
    """Cut right behind the judgement, the night only ends: a promotion is never carried out twice."""
    cut = night.index(of(night, AdapterJudged)[0]) + 1
    assert [type(event) for event in dream(sandbox, Minds({}), night[:cut])[cut:]] == [PhaseEnded, NightEnded]


@pytest.mark.sandbox
def test_a_group_whose_move_was_lost_is_moved(sandbox, night: list[Event]) -> None:
    """Cut between the attempts and the move of the pointer, the move is made from the recorded attempts."""
    played = of(night, EpisodesPlayed)[0]
    cut = night.index(played) + 1
    assert isinstance(night[cut], LineageMoved)
    again = dream(sandbox, Minds(solutions()), night[:cut])
    assert again[cut] == night[cut] and len(of(again, EpisodesPlayed)) == len(of(night, EpisodesPlayed))


@pytest.mark.sandbox
def test_every_event_survives_the_pipe(night: list[Event]) -> None:
    """Each event is the same after being written and read as one JSON line."""
    for event in night:
        assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@pytest.mark.sandbox
def test_nothing_held_out_is_practised(night: list[Event]) -> None:
    """Environments, played tasks and examples are practice by structure and by name; exam tasks are exam."""
    practised = [e.environment.program for e in of(night, EnvironmentAdmitted)]
    learnt = [e.task for e in of(night, EpisodesPlayed)] + [task for e in of(night, ExamplesSelected) for task in e.tasks]
    assert learnt and {task.split for task in learnt} == {Split.PRACTICE}
    assert {split_of(program) for program in [*practised, *(task.program for task in learnt)]} == {Split.PRACTICE}
    assert {task.split for e in of(night, Evaluated) for task in e.tasks} == {Split.EXAM}


@pytest.mark.sandbox
def test_what_was_learnt_from_is_kept_without_its_files(night: list[Event]) -> None:
    """The store keeps no file of an example, and program and seed give the same task with its files again."""
    learnt = [task for e in of(night, ExamplesSelected) for task in e.tasks]
    assert learnt and not any(task.initial.nodes for task in learnt)
    whole = [render(task.program, task.seed, task.split) for task in learnt]
    assert all(task.initial.nodes for task in whole)
    assert [msgspec.structs.replace(task, initial=kept.initial) for task, kept in zip(whole, learnt, strict=True)] == learnt


@pytest.mark.sandbox
def test_evolved_environments_are_practised_too(sandbox, night: list[Event]) -> None:
    """A child that was admitted is played like a founder when its turn comes."""
    everything = msgspec.structs.replace(PLAN, practice_groups=99)
    cut = next(i for i, e in enumerate(night) if isinstance(e, PhaseEnded) and e.phase is Phase.EVOLVE) + 1
    again = dream(sandbox, Minds({}), night[:cut], everything)
    assert {e.environment_id for e in of(again, EpisodesPlayed)} == {e.environment.id for e in of(again, EnvironmentAdmitted)}


@pytest.mark.sandbox
def test_practice_is_where_the_pointers_of_earlier_nights_stand(sandbox, night: list[Event]) -> None:
    """What was solved in an earlier night isn't played again: its lineage's turn is the next generation's."""
    cut = next(i for i, e in enumerate(night) if isinstance(e, PhaseEnded) and e.phase is Phase.EVOLVE) + 1
    grown = [e.environment for e in of(night, EnvironmentAdmitted)]
    lineages = sorted({env.lineage for env in grown if env.generation == 1})
    plan = msgspec.structs.replace(PLAN, practice_groups=len(lineages))
    for action, generation in (("stay", 0), ("advance", 1)):
        moves = [LineageMoved(lineage=x, generation=0, action=action, passed=7, attempts=8, environment_id="e") for x in lineages]
        asked = request(plan, night[:cut], moves=tuple(moves))
        with closing(Night(asked, sandbox, Minds({})).run()) as running:
            events = list(takewhile(lambda e: not (isinstance(e, PhaseStarted) and e.phase is Phase.TRAIN), running))
        played = {e.environment_id for e in of(events, EpisodesPlayed)}
        assert lineages and played == {env.id for env in grown if env.id in played and env.generation == generation}
        assert len(played) == len(lineages)


@pytest.mark.sandbox
def test_an_adapter_is_only_asked_with_its_fingerprint(sandbox, night: list[Event]) -> None:
    """The candidate's stored fingerprint is demanded every time it speaks."""
    minds = Minds({})
    cut = next(i for i, e in enumerate(night) if isinstance(e, PhaseEnded) and e.phase is Phase.TRAIN) + 1
    judged = of(dream(sandbox, minds, night[:cut]), AdapterJudged)[0]
    assert minds.fingerprints and set(minds.fingerprints) == {CANDIDATE.fingerprint}
    assert judged.judgement.decision is Decision.KEEP


@pytest.mark.sandbox
def test_a_night_without_examples_has_no_candidate(sandbox) -> None:
    """Where nothing teaches, nothing is trained, sat or judged, and the night ends all the same."""
    plan = msgspec.structs.replace(PLAN, examples=0, practice_groups=0, evolution=False, lineages=1)
    events = [event for event in Night(request(plan), sandbox, Minds({})).run() if not isinstance(event, Progress)]
    assert isinstance(events[-1], NightEnded) and "no candidate" in events[-1].summary
    assert not of(events, AdapterTrained) and not of(events, Evaluated) and not of(events, AdapterJudged)


@pytest.mark.sandbox
def test_an_audit_goes_on_where_it_stopped(sandbox) -> None:
    """Recorded parts of an audit are not played again, and the set is the audit's own."""
    asked = AuditRequest(seed=1, tasks=20, model=request().model, threads=1, groups=PLAN.groups)
    whole = [event for event in audit(asked, sandbox, Minds({})) if isinstance(event, Evaluated)]
    assert [part.part for part in whole] == [0, 1] and {part.split for part in whole} == {Split.AUDIT}
    assert {split_of(task.program) for part in whole for task in part.tasks} == {Split.AUDIT}
    rest = audit(msgspec.structs.replace(asked, past=(whole[0],)), sandbox, Minds({}))
    assert decisions([event for event in rest if isinstance(event, Evaluated)]) == decisions(whole[1:])


# --- with real weights ----------------------------------------------------------------------------------------------------

TINY = NightPlan(
    lineages=2,
    generations=1,
    practice_groups=1,
    group_attempts=2,
    examples=8,
    batch_size=2,
    exam_pairs=10,
    threads=1,
    groups=("text",),
    checkpoint_seconds=0.1,
)


@pytest.fixture(scope="module")
def model(model_path: Path) -> Iterator[ModelWorker]:
    with ModelWorker(model_path, threads=1) as worker:  # two threads wait for each other at every layer when the machine is busy
        yield worker


def sleep(sandbox, model: ModelWorker, files: tuple[Path, Path, Path], plan: NightPlan = TINY, past: Sequence[Event] = ()) -> list[Event]:
    """A real night with (model file, weights, spool) behind `past`; all events but progress."""
    gguf, weights, spool = files
    asked = NightRequest(
        night_id="n",
        seed=SEED,
        plan=plan,
        model=ModelFiles(gguf=str(gguf), sha256=gguf.stem, card="", weights_dir=str(weights)),
        spool_dir=str(spool),
        past=tuple(past),
    )
    return [*past, *(event for event in Night(asked, sandbox, model).run() if not isinstance(event, Progress))]


@pytest.fixture(scope="module")
def files(model_path: Path, weights_dir: Path, tmp_path_factory) -> tuple[Path, Path, Path]:
    return model_path, weights_dir, tmp_path_factory.mktemp("spool")


@pytest.fixture(scope="module")
def real(sandbox, model: ModelWorker, files) -> list[Event]:
    """All events of one night on real weights."""
    return sleep(sandbox, model, files)


@pytest.mark.model
@pytest.mark.sandbox
def test_a_real_night_trains_and_judges(real: list[Event]) -> None:
    """Phases in order, one adapter that lies where the event says and is what it says, one judgement over the whole exam."""
    assert [event.phase for event in of(real, PhaseStarted)] == list(NIGHT) == [event.phase for event in of(real, PhaseEnded)]
    (trained,), (judged,) = of(real, AdapterTrained), of(real, AdapterJudged)
    assert Path(trained.path).stem == trained.adapter.sha256 == judged.candidate_sha256 and Path(trained.path).is_file()
    assert trained.adapter.examples_id == of(real, ExamplesSelected)[0].examples_id and trained.tokens > 0
    assert judged.judgement.n == TINY.exam_pairs and isinstance(real[-1], NightEnded)
    assert of(real, TrainingCheckpoint) and all(0 < each.step <= each.steps for each in of(real, TrainingCheckpoint))


@pytest.mark.model
@pytest.mark.sandbox
@pytest.mark.parametrize("kind", [ExamplesSelected, Evaluated])
def test_a_real_night_goes_on_with_the_same_decisions(sandbox, model: ModelWorker, files, real: list[Event], kind: type) -> None:
    """Cut before its adapter was trained, or behind the first part of its exam, the night comes to the same end."""
    cut = next(i for i, event in enumerate(real) if isinstance(event, kind)) + 1
    again = [event for event in sleep(sandbox, model, files, past=real[:cut]) if not isinstance(event, TrainingCheckpoint)]
    assert decisions(again) == decisions(real)


@pytest.mark.model
@pytest.mark.sandbox
def test_shuffled_labels_are_never_promoted(sandbox, model: ModelWorker, files, real: list[Event]) -> None:
    """The same night on the answers of other tasks is judged KEEP or REJECT, by an exam long enough to promote who wins it."""
    cut = next(i for i, event in enumerate(real) if isinstance(event, PhaseEnded) and event.phase is Phase.PRACTISE) + 1
    plan = msgspec.structs.replace(TINY, shuffle_labels=True)
    mixed = sleep(sandbox, model, files, plan, real[:cut])
    assert of(mixed, ExamplesSelected)[0].examples_id != of(real, ExamplesSelected)[0].examples_id
    assert of(mixed, ExamplesSelected)[0].count == of(real, ExamplesSelected)[0].count
    judgement = of(mixed, AdapterJudged)[0].judgement
    assert judgement.decision in (Decision.KEEP, Decision.REJECT) and mcnemar_p(judgement.n, 0) < TINY.p_threshold
    assert exam.set_id(exam_tasks(TINY)) == of(mixed, AdapterJudged)[0].set_id
