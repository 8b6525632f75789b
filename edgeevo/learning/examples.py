"""Which episodes teach: oracle walks and own verified successes, with their source, duplicates removed, capped per skill. Pure.

An example is a whole trajectory: instruction, command, what came of it, `submit`. Only verified commands get here; the caller has run them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from edgeevo.domain import Environment, Message, Role, Split, Task, Value, derive_seed
from edgeevo.environments.program import render
from edgeevo.environments.splits import split_of
from edgeevo.errors import TaskError
from edgeevo.events import Source

MAX_SOURCE_SHARE = {Source.ORACLE: 1.0, Source.SUCCESS: 0.5}
MAX_SKILL_SHARE = 0.15


class Example(Value):
    """One trajectory that teaches, where it came from, and the task behind it."""

    conversation: tuple[Message, ...]
    source: Source
    task: Task


def practice_tasks(environments: Sequence[Environment], seed: int, count: int, singles_share: float) -> list[Task]:
    """`count` tasks rendered from environments: `singles_share` of them from one-link programs, each part even over its environments.

    Every task has a seed of its own, derived from the environment and its turn, so that asking for more only adds to the end.
    """
    one = [e for e in environments if len(e.program.links) == 1]
    more = [e for e in environments if len(e.program.links) > 1]
    wanted = count if not more else round(count * singles_share) if one else 0
    tasks = _rounds(one, seed, wanted) + _rounds(more, seed, count - wanted)
    Random(derive_seed("order of examples", seed)).shuffle(tasks)
    return tasks


def _rounds(environments: Sequence[Environment], seed: int, count: int) -> list[Task]:
    out: list[Task] = []
    turn, empty = 0, 0
    while environments and len(out) < count and empty < len(environments):
        env = environments[turn % len(environments)]
        try:
            out.append(render(env.program, derive_seed("example", seed, env.id, turn // len(environments)), Split.PRACTICE))
            empty = 0
        except TaskError:
            empty += 1
        turn += 1
    return out


def select(candidates: Iterable[Example], count: int, seed: int) -> list[Example]:
    """At most `count` examples, own successes first: no two with the same instruction and replies, no source or skill above its share.

    What is held out never teaches, wherever it came from.
    """
    rng = Random(derive_seed("select examples", seed))
    ranked = sorted(candidates, key=lambda e: (e.source is not Source.SUCCESS, rng.random()))
    by_source: Counter[Source] = Counter()
    by_skill: Counter[str] = Counter()
    seen: set[tuple[Message, ...]] = set()
    out: list[Example] = []
    for example in ranked:
        skill = example.task.program.links[-1].skill
        said = (example.conversation[0], *(m for m in example.conversation if m.role is Role.ASSISTANT))
        if len(out) == count:
            break
        if example.task.split is not Split.PRACTICE or split_of(example.task.program) is not Split.PRACTICE:
            continue
        if said in seen or by_source[example.source] >= MAX_SOURCE_SHARE[example.source] * count:
            continue
        if by_skill[skill] >= max(8, MAX_SKILL_SHARE * count):
            continue
        seen.add(said)
        by_source[example.source] += 1
        by_skill[skill] += 1
        out.append(example)
    rng.shuffle(out)
    return out


def shuffled(examples: Sequence[Example], seed: int) -> list[Example]:
    """The control: the same instructions with the replies of other examples, in a fixed-point-free order (a rotation of a shuffle)."""
    order = list(range(len(examples)))
    Random(derive_seed("shuffled labels", seed)).shuffle(order)
    other = {order[i]: order[(i + 1) % len(order)] for i in range(len(order))}
    out = []
    for i, example in enumerate(examples):
        conversation = (example.conversation[0], *examples[other[i]].conversation[1:])
        out.append(Example(conversation=conversation, source=example.source, task=example.task))
    return out
