"""The three sets never mix: shown by content, on several hundred rendered tasks of each."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from random import Random

import pytest

from edgeevo.domain import Split, Task, runs
from edgeevo.environments import sets
from edgeevo.environments.program import render
from edgeevo.environments.splits import split_of
from edgeevo.errors import TaskError
from edgeevo.learning.examples import practice_tasks

COUNT = 240
TWO_SETS = pytest.mark.parametrize(("one", "other"), [*combinations(sorted(Split), 2)])


@cache
def rendered(split: Split) -> tuple[Task, ...]:
    """Tasks as a night or an audit renders them: singles and pairs."""
    if split is not Split.PRACTICE:
        return sets.held_out_tasks(split, 5, COUNT)
    pairs = [sets.founder(program) for program in Random(5).sample(sets.pairs(split), COUNT // 2)]
    return tuple(practice_tasks([*sets.founders(), *pairs], 5, COUNT, 0.5))


def structures(split: Split) -> set[str]:
    return {task.program.structure for task in rendered(split)}


def commands(split: Split) -> set[str]:
    """Solutions with blanks normalised, paths and values as they are."""
    return {" ".join(command.split()) for task in rendered(split) for command in task.oracle + task.alternative}


def eights(split: Split) -> set[str]:
    """Runs of eight words of the instructions."""
    return {run for task in rendered(split) for run in runs(task.instruction)}


@pytest.mark.parametrize("split", [Split.EXAM, Split.AUDIT])
def test_the_same_arguments_give_the_same_tasks(split: Split) -> None:
    """A held-out set is a function of split, seed and count; another seed draws other tasks."""
    once, again = ([task.id for task in sets.held_out_tasks(split, seed, 12)] for seed in (5, 5))
    assert once == again
    assert not set(once) & {task.id for task in sets.held_out_tasks(split, 6, 12)}


@pytest.mark.parametrize("split", [Split.EXAM, Split.AUDIT])
def test_a_held_out_set_is_sixty_to_forty(split: Split) -> None:
    """Three of five tasks have one link, two of five have two, all of the asked split, none twice."""
    tasks = rendered(split)
    assert [len(task.program.links) for task in tasks].count(2) == COUNT * 2 // 5 and len(tasks) == COUNT
    assert all(task.split is split and split_of(task.program) is split for task in tasks)
    assert len({task.id for task in tasks}) == COUNT


def test_a_held_out_set_is_even_over_skills() -> None:
    """No skill is asked for a third time before all that render were asked twice, so the largest share is small."""
    singles = [task.program.links[0] for task in rendered(Split.AUDIT) if len(task.program.links) == 1]
    assert len(set(singles)) >= 0.9 * len(singles)


def test_founders_are_practice() -> None:
    """Every founder is a practice single, each link once, each lineage its own."""
    founders = sets.founders()
    assert {split_of(founder.program) for founder in founders} == {Split.PRACTICE}
    assert len({founder.lineage for founder in founders}) == len(founders)
    assert {founder.program.links for founder in founders[: len(sets.openers())]} == {(link,) for link in sets.openers()}


@TWO_SETS
def test_no_structure_is_shared(one: Split, other: Split) -> None:
    """No structural hash is in two sets."""
    assert not structures(one) & structures(other)


@TWO_SETS
def test_no_command_is_shared(one: Split, other: Split) -> None:
    """No solution, blanks normalised, is in two sets."""
    assert not commands(one) & commands(other)


@TWO_SETS
def test_no_eight_words_are_shared(one: Split, other: Split) -> None:
    """No run of eight words of a request is in two sets, not even of words that hold no value."""
    assert not eights(one) & eights(other)


@TWO_SETS
def test_no_instruction_is_shared(one: Split, other: Split) -> None:
    """No request stands in two sets, however short it is."""
    said = [{" ".join(task.instruction.lower().split()) for task in rendered(split)} for split in (one, other)]
    assert not said[0] & said[1]


@TWO_SETS
def test_no_wording_is_shared(one: Split, other: Split) -> None:
    """No template of a request is used by two sets."""
    used = [{part for task in rendered(split) for part in task.wording.split("+")} for split in (one, other)]
    assert used[0] and used[1] and not used[0] & used[1]


def test_hundreds_of_practice_pairs_render() -> None:
    """Compositions are not lost to programs without an instance."""
    programs = Random(6).sample(sets.pairs(Split.PRACTICE), 40)

    def renders(number: int) -> bool:
        try:
            return bool(render(programs[number], 1, Split.PRACTICE))
        except TaskError:
            return False

    assert sum(renders(number) for number in range(40)) >= 28
