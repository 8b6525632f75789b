from __future__ import annotations

from functools import cache

import msgspec
import pytest

from edgeevo.agent.policy import Scripted
from edgeevo.domain import CommandResult, Ending, Episode, Printed, Program, ProgramLink, Split, State, Task, Verdict
from edgeevo.environments.program import FACT
from edgeevo.errors import SandboxError
from edgeevo.events import Evaluated
from edgeevo.learning import exam
from edgeevo.sandbox import ScriptedSandbox


@cache
def tasks(count: int) -> tuple[Task, ...]:
    return tuple(
        Task(
            instruction=f"say {number}",
            initial=State(nodes={}, cwd="/srv"),
            contract=(Printed(lines=(f"say {number}",)),),
            oracle=(f"say {number}",),
            alternative=(f"say {number} ",),
            program=Program(scenario="logs", links=(ProgramLink(skill="sort"),) * (1 + number % 3)),
            seed=number,
            wording="w",
            split=Split.EXAM,
        )
        for number in range(count)
    )


def echo(command: str) -> CommandResult:
    """A shell that prints every command, and breaks at `say 3`."""
    if command == "say 3":
        raise SandboxError("broke", hint="none")
    return CommandResult(command=command, exit_code=0, stdout=command.encode())


def knows(*numbers: int) -> Scripted:
    """A mind that solves these tasks."""
    return Scripted({f"say {number}": (f"say {number}",) for number in numbers})


def sit(policy: Scripted, count: int = 40, past: tuple[Evaluated, ...] = ()) -> list[Evaluated]:
    return list(exam.sit(policy, tasks(count), Split.EXAM, ScriptedSandbox(echo), past))


def timeless(parts: list[Evaluated]) -> list[tuple]:
    return [(p.part, p.policy_id, [(o.task_id, o.passed, o.ending) for o in p.outcomes]) for p in parts]


def test_every_task_is_sat_once_in_parts() -> None:
    """The parts are numbered in order, cover the set exactly, and carry their tasks."""
    parts = sit(knows(1, 2))
    assert [len(part.outcomes) for part in parts] == [16, 16, 8] and [part.part for part in parts] == [0, 1, 2]
    assert [task for part in parts for task in part.tasks] == list(tasks(40))
    assert [o.task_id for part in parts for o in part.outcomes] == [task.id for task in tasks(40)]


@pytest.mark.parametrize("done", [(), (0,), (1,), (0, 1), (0, 2), (0, 1, 2)])
def test_an_interrupted_evaluation_sits_what_is_missing(done: tuple[int, ...]) -> None:
    """Whatever parts are recorded, the others and only they are played, with the same outcomes."""
    whole = sit(knows(1, 20))
    past = tuple(whole[number] for number in done)
    assert timeless(sit(knows(1, 20), past=past)) == timeless([part for part in whole if part.part not in done])


def test_parts_of_another_policy_or_set_count_for_nothing() -> None:
    """What somebody else sat, or what was sat on another set, is not taken over."""
    past = (*sit(knows(5)), *sit(knows(1), 20))
    assert len(sit(knows(1), past=past)) == 3


def test_broken_episodes_are_left_out() -> None:
    """A task on which the sandbox broke is neither passed nor failed."""
    policy = knows(1, 3)
    parts = sit(policy)
    found = exam.outcomes_of(parts, exam.set_id(tasks(40)), policy.id)
    assert tasks(40)[3].id not in found and len(found) == 39
    assert parts[0].outcomes[3].ending is Ending.BROKEN


def test_what_broke_once_is_played_again_alone() -> None:
    """A sandbox that fails for a moment costs no pair: the second attempt counts."""
    broken = ["say 3"]

    def once(command: str) -> CommandResult:
        if command in broken:
            broken.remove(command)
            raise SandboxError("broke", hint="none")
        return CommandResult(command=command, exit_code=0, stdout=command.encode())

    (part,) = exam.sit(knows(1, 3), tasks(16), Split.EXAM, ScriptedSandbox(once))
    assert [place for place, outcome in enumerate(part.outcomes) if outcome.passed] == [1, 3]


def test_outcomes_are_of_one_policy_on_one_set() -> None:
    """Outcomes are looked up by both, so that two policies are compared on the same tasks."""
    one, other = knows(1), knows(2)
    events = [*sit(one), *sit(other), *sit(one, 20)]
    found = exam.outcomes_of(events, exam.set_id(tasks(40)), one.id)
    assert [task_id for task_id, outcome in found.items() if outcome.passed] == [tasks(40)[1].id]
    assert exam.outcomes_of(events, "another", one.id) == {}


def test_the_id_of_a_set_is_its_content() -> None:
    """One task more, less or elsewhere is another set."""
    assert len({exam.set_id(tasks(5)), exam.set_id(tasks(6)), exam.set_id(tasks(6)[::-1])}) == 3
    assert exam.set_id(tasks(5)) == exam.set_id(tuple(tasks(6)[:5]))


@pytest.mark.parametrize(("links", "stratum"), [(1, "single"), (2, "pair"), (3, "triple"), (4, "long"), (6, "long")])
def test_strata_are_lengths(links: int, stratum: str) -> None:
    """A task belongs to the stratum of its number of links."""
    program = Program(scenario="logs", links=(ProgramLink(skill="sort"),) * links)
    one = msgspec.structs.replace(tasks(1)[0], program=program)
    assert exam.stratum(one) == stratum


def test_the_row_of_an_attempt() -> None:
    """An outcome names the last real skill and sums up what was said."""
    links = (ProgramLink(skill="grep"), ProgramLink(skill=FACT, variant="n"), ProgramLink(skill="head"))
    one = msgspec.structs.replace(tasks(1)[0], program=Program(scenario="logs", links=links))
    episode = Episode(task_id=one.id, policy_id="p", seed=0, steps=(), ending=Ending.STEPS, verdict=Verdict(passed=True), seconds=1.23456)
    row = exam.outcome(one, episode)
    assert (row.skill, row.stratum, row.passed, row.ending, row.seconds) == ("head", "triple", True, Ending.STEPS, 1.235)
