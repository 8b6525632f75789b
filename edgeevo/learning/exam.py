"""Sitting a set of held-out tasks: greedy, one attempt each, in parts, so that an interrupted evaluation goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from edgeevo.agent.episode import Attempt, play
from edgeevo.agent.policy import Policy
from edgeevo.domain import Ending, Episode, Split, Task, content_id, derive_seed
from edgeevo.environments.program import FACT
from edgeevo.events import Evaluated, Event, Outcome
from edgeevo.sandbox import Sandbox

PART_TASKS = 16
STRATA = {1: "single", 2: "pair", 3: "triple"}


def set_id(tasks: Sequence[Task]) -> str:
    """Content id of a set: the ids of its tasks, in order."""
    return content_id([task.id for task in tasks])


def stratum(task: Task) -> str:
    """By number of links; a look-up counts as a link."""
    return STRATA.get(len(task.program.links), "long")


def outcome(task: Task, episode: Episode) -> Outcome:
    """The permanent row of an attempt."""
    return Outcome(
        task_id=task.id,
        structure=task.program.structure,
        stratum=stratum(task),
        skill=next(link.skill for link in reversed(task.program.links) if link.skill != FACT),
        passed=episode.passed,
        ending=episode.ending,
        steps=len(episode.steps),
        reply_tokens=sum(step.reply_tokens for step in episode.steps),
        seconds=round(episode.seconds, 3),
    )


def sit(policy: Policy, tasks: Sequence[Task], split: Split, sandbox: Sandbox, past: Iterable[Event] = ()) -> Iterator[Evaluated]:
    """Play every task once with `policy`; parts that `past` already holds for this policy and set are not played again.

    An attempt that the box and not the policy ended (BROKEN) is played once more, alone, before it counts as broken.
    """
    name = set_id(tasks)
    done = {e.part for e in past if isinstance(e, Evaluated) and e.set_id == name and e.policy_id == policy.id}
    for part in range(0, len(tasks), PART_TASKS):
        number = part // PART_TASKS
        if number in done:
            continue
        chunk = tasks[part : part + PART_TASKS]
        attempts = [Attempt(task=task, seed=derive_seed("sit", name, task.id)) for task in chunk]
        episodes = play(policy, attempts, sandbox)
        for place, episode in enumerate(episodes):
            if episode.ending is Ending.BROKEN:
                episodes[place] = play(policy, [attempts[place]], sandbox)[0]
        outcomes = tuple(outcome(t, e) for t, e in zip(chunk, episodes, strict=True))
        yield Evaluated(set_id=name, split=split, policy_id=policy.id, part=number, outcomes=outcomes, tasks=tuple(chunk))


def outcomes_of(events: Iterable[Event], name: str, policy_id: str) -> dict[str, Outcome]:
    """Task id → outcome of one policy on one set, BROKEN episodes left out."""
    rows = [o for e in events if isinstance(e, Evaluated) and e.set_id == name and e.policy_id == policy_id for o in e.outcomes]
    return {o.task_id: o for o in rows if o.ending is not Ending.BROKEN}
