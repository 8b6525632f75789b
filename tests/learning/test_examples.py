from __future__ import annotations

from collections import Counter
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.domain import Environment, Message, Program, ProgramLink, Role, Split, State, Task
from edgeevo.environments import sets
from edgeevo.environments.program import FACT
from edgeevo.environments.splits import split_of
from edgeevo.events import Source
from edgeevo.learning.examples import MAX_SKILL_SHARE, MAX_SOURCE_SHARE, Example, practice_tasks, select, shuffled

PROGRAMS = sets.singles(Split.PRACTICE)
SKILLS = sorted({program.links[0].skill for program in PROGRAMS})
ONE = tuple(founder for founder in sets.founders() if founder.program.links[0].skill in ("grep", "sort", "head"))[:3]
TWO = tuple(sets.founder(program) for program in sets.pairs(Split.PRACTICE) if program.links[0] == ProgramLink(skill="grep"))[:3]


@cache
def program_of(skill: str) -> Program:
    return next(program for program in PROGRAMS if program.links[0].skill == skill)


def example(
    words: str,
    *replies: str,
    source: Source = Source.ORACLE,
    program: Program = PROGRAMS[0],
    split: Split = Split.PRACTICE,
    seen: str = "exit 0",
) -> Example:
    talk = [Message(role=Role.USER, text=words)]
    for reply in replies:
        talk += [Message(role=Role.ASSISTANT, text=reply), Message(role=Role.USER, text=seen)]
    task = Task(
        instruction=words,
        initial=State(nodes={}, cwd="/srv"),
        contract=(),
        oracle=replies,
        alternative=replies,
        program=program,
        seed=0,
        wording="w",
        split=split,
    )
    return Example(conversation=(*talk, Message(role=Role.ASSISTANT, text="submit")), source=source, task=task)


EVERY = [
    example(words, reply, source=source, program=program_of(skill))
    for words in ("a", "b", "c", "d", "e")
    for reply in ("ls", "wc")
    for source in Source
    for skill in SKILLS[:6]
]
EXAMPLES = st.lists(st.sampled_from(EVERY), max_size=60)


def said(one: Example) -> tuple[str, ...]:
    return (one.conversation[0].text, *(m.text for m in one.conversation if m.role is Role.ASSISTANT))


@given(EXAMPLES, st.integers(1, 60))
def test_no_example_teaches_twice(candidates: list[Example], count: int) -> None:
    """No two selected examples have the same instruction and replies."""
    chosen = select(candidates, count, 1)
    assert len({said(one) for one in chosen}) == len(chosen) <= count


@given(EXAMPLES, st.integers(1, 60))
def test_no_source_or_skill_is_above_its_share(candidates: list[Example], count: int) -> None:
    """Every source and every skill stays within its cap of the wanted number."""
    chosen = select(candidates, count, 1)
    sources, skills = Counter(one.source for one in chosen), Counter(one.task.program.links[-1].skill for one in chosen)
    assert all(number <= MAX_SOURCE_SHARE[source] * count + 1 for source, number in sources.items())
    assert all(number <= max(8, MAX_SKILL_SHARE * count + 1) for number in skills.values())


@given(EXAMPLES, st.integers(1, 60), st.integers(0, 9))
def test_selection_takes_from_the_candidates_and_is_a_function_of_the_seed(candidates: list[Example], count: int, seed: int) -> None:
    """Nothing is invented, every example keeps its source and task, and the same seed selects the same list."""
    chosen = select(candidates, count, seed)
    assert all(one in candidates for one in chosen) and chosen == select(candidates, count, seed)


def test_what_was_seen_makes_no_second_example() -> None:
    """The same words and commands with another observation are a duplicate."""
    assert len(select([example("a", "ls", seen="exit 0"), example("a", "ls", seen="exit 1")], 9, 1)) == 1


def test_own_successes_come_first() -> None:
    """Where there is room for one of two, the policy's own success is taken."""
    both = [example("a", "ls"), example("b", "ls", source=Source.SUCCESS)]
    assert [one.source for one in select(both, 2, 1)].count(Source.SUCCESS) == 1
    many = [example(f"o{i}", "ls", program=program_of(SKILLS[i % 9])) for i in range(40)]
    many += [example(f"s{i}", "ls", source=Source.SUCCESS, program=program_of(SKILLS[i % 9])) for i in range(5)]
    assert Counter(one.source for one in select(many, 20, 1))[Source.SUCCESS] == 5


@pytest.mark.parametrize(
    "held_out",
    [
        example("a", "ls", split=Split.EXAM),
        example("a", "ls", split=Split.AUDIT),
        example("a", "ls", program=sets.singles(Split.AUDIT)[0]),
        example("a", "ls", program=sets.pairs(Split.EXAM)[0]),
    ],
)
def test_what_is_held_out_never_teaches(held_out: Example) -> None:
    """Neither a task of another split nor a held-out structure under the name of practice is selected."""
    assert select([held_out], 9, 1) == []


# --- tasks ----------------------------------------------------------------------------------------------------------------


def test_tasks_are_shared_evenly() -> None:
    """Half from single links, half from longer programs, and within each as even over environments as it goes."""
    tasks = practice_tasks([*ONE, *TWO], 3, 12, 0.5)
    counts = Counter(task.program.structure for task in tasks)
    assert sum(len(task.program.links) == 1 for task in tasks) == 6
    assert max(counts.values()) - min(counts.values()) <= 1 and len(counts) == 6


@pytest.mark.parametrize("environments", [ONE[:1], TWO[:1]], ids=["single", "pair"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_one_kind_alone_gives_all_tasks(environments: tuple[Environment, ...], share: float) -> None:
    """Where there are only singles, or only longer programs, the share can't be kept and the number is."""
    assert len(practice_tasks(environments, 3, 4, share)) == 4


def test_no_environments_no_tasks() -> None:
    """An empty pool offers nothing, and asking it ends."""
    assert practice_tasks([], 3, 4, 0.5) == []


def test_asking_for_more_keeps_what_there_was() -> None:
    """A larger number adds tasks and changes none."""
    few, many = practice_tasks([*ONE, *TWO], 3, 6, 0.5), practice_tasks([*ONE, *TWO], 3, 12, 0.5)
    assert {task.id for task in few} <= {task.id for task in many}


def test_no_task_is_dealt_twice() -> None:
    """Every task has a seed of its own, and neighbouring night seeds share none."""
    tonight, tomorrow = practice_tasks(ONE, 3, 12, 1.0), practice_tasks(ONE, 4, 12, 1.0)
    assert len({task.id for task in tonight + tomorrow}) == 24
    assert all(task.split is Split.PRACTICE and split_of(task.program) is Split.PRACTICE for task in tonight)


def test_a_look_up_counts_as_a_link() -> None:
    """A program with a hidden fact is no single; one with a hazard is."""
    hidden = msgspec.structs.replace(
        ONE[0], program=Program(scenario="logs", links=(ProgramLink(skill=FACT, variant="word"), ProgramLink(skill="grep")))
    )
    lured = msgspec.structs.replace(ONE[0], program=msgspec.structs.replace(ONE[0].program, hazards=("spaces",)))
    tasks = practice_tasks([ONE[1], hidden, lured], 3, 8, 0.5)
    assert Counter(len(task.program.links) for task in tasks) == {1: 4, 2: 4}


# --- the control ----------------------------------------------------------------------------------------------------------


@given(st.integers(2, 40), st.integers(0, 9))
@settings(max_examples=40)
def test_shuffled_labels_keep_instructions_and_move_every_reply(count: int, seed: int) -> None:
    """Instructions, sources and tasks stay where they are, replies are a permutation, and none stays with its own instruction."""
    examples = [example(f"do {i}", f"cmd {i}") for i in range(count)]
    mixed = shuffled(examples, seed)
    assert [(m.conversation[0], m.source, m.task) for m in mixed] == [(e.conversation[0], e.source, e.task) for e in examples]
    assert sorted(said(m)[1] for m in mixed) == sorted(said(e)[1] for e in examples)
    assert all(said(m)[1] != said(e)[1] for m, e in zip(mixed, examples, strict=True))


def test_nothing_to_shuffle() -> None:
    """No examples stay no examples."""
    assert shuffled([], 1) == []
