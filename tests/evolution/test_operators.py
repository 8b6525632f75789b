from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.domain import Direction, Program, ProgramLink, Split, State
from edgeevo.environments import sets
from edgeevo.environments.program import FACT, WITHOUT, entry_of, follows, render, uses
from edgeevo.environments.scenarios import decoys
from edgeevo.environments.skills import Kind
from edgeevo.errors import TaskError
from edgeevo.evolution.operators import BY_ID, OPERATORS, Aspect, Operator, fits

LINKS = sets.links()
SINGLES, PAIRS = sets.singles(Split.PRACTICE), sets.pairs(Split.PRACTICE)
PROGRAMS = st.sampled_from(SINGLES) | st.sampled_from(PAIRS)
EVERY = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.id)


def link(name: str) -> ProgramLink:
    skill, _, variant = name.partition(".")
    return ProgramLink(skill=skill, variant=variant or "plain")


def program(*names: str, hazards: tuple[str, ...] = ()) -> Program:
    return Program(scenario="logs", links=tuple(map(link, names)), hazards=hazards)


def real(one: Program) -> list[ProgramLink]:
    return [k for k in one.links if k.skill != FACT]


def instance(one: Program) -> State | None:
    for seed in range(3):
        try:
            return render(one, seed, Split.PRACTICE).initial
        except TaskError:
            continue
    return None


@EVERY
@given(parent=PROGRAMS, seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_children_are_well_typed(operator: Operator, parent: Program, seed: int) -> None:
    """Every link of a child can stand behind the one before it, whatever the parent."""
    edited = operator.edit(parent, Random(seed), LINKS)
    if edited:
        child, touched = edited
        assert fits(child.links) and follows(None, real(child)[0])
        assert all(follows(a, b) for a, b in pairwise(real(child)))
        assert 0 <= touched < len(child.links)


@EVERY
@given(parent=PROGRAMS, seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_only_the_operators_direction_is_raised(operator: Operator, parent: Program, seed: int) -> None:
    """Length adds one link, scenario one hazard of the state, skill a tool less or one other link; nothing else differs."""
    edited = operator.edit(parent, Random(seed), LINKS)
    if not edited:
        return
    child = edited[0]
    more = sorted(set(child.hazards) - set(parent.hazards))
    assert child.scenario == parent.scenario and set(parent.hazards) <= set(child.hazards)
    if operator.direction is Direction.LENGTH:
        left = list(child.links)
        del left[edited[1]]
        assert tuple(left) == parent.links and not more
    elif operator.direction is Direction.SCENARIO:
        assert child.links == parent.links and len(more) == 1 and not more[0].startswith(WITHOUT)
    elif operator.aspect is Aspect.RESOURCE:
        assert child.links == parent.links and len(more) == 1 and more[0].startswith(WITHOUT)
    else:
        changed = [i for i, (a, b) in enumerate(zip(parent.links, child.links, strict=True)) if a != b]
        assert changed == [edited[1]] and not more


@EVERY
@given(parent=PROGRAMS, seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_an_edit_is_a_function_of_its_dice(operator: Operator, parent: Program, seed: int) -> None:
    """The same parent and dice give the same child."""
    assert operator.edit(parent, Random(seed), LINKS) == operator.edit(parent, Random(seed), LINKS)


@EVERY
def test_children_render(operator: Operator) -> None:
    """Most children of an operator have an instance, so a direction isn't lost to programs that can't be."""
    dice = Random(5)
    children = [edited[0] for parent in dice.sample(SINGLES + PAIRS, 150) if (edited := operator.edit(parent, dice, LINKS))][:8]
    assert len(children) == 8
    assert sum(instance(child) is not None for child in children) >= 0.6 * len(children)


@EVERY
def test_every_operator_says_why(operator: Operator) -> None:
    """An operator has a cell of the matrix and a reason for being harder, and is found by its id."""
    assert operator.harder_because and BY_ID[operator.id] is operator


def test_every_direction_has_an_operator() -> None:
    """No direction of the matrix is empty."""
    assert {operator.direction for operator in OPERATORS} == set(Direction)


def test_a_fact_is_hidden_once_and_before_a_link_that_uses_it() -> None:
    """A program has at most one look-up, and it stands right before a link with that parameter."""
    child, place = BY_ID["hide_fact"].edit(program("grep"), Random(0), LINKS)
    assert child.links[place] == ProgramLink(skill=FACT, variant="word") and child.links[place + 1] == link("grep")
    assert BY_ID["hide_fact"].edit(child, Random(0), LINKS) is None


@given(st.sampled_from(SINGLES), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_a_hidden_value_is_read_by_two_forms_at_least(parent: Program, seed: int) -> None:
    """Both the solution and the alternative of a look-up take the value from the file."""
    edited = BY_ID["hide_fact"].edit(parent, Random(seed), LINKS)
    if edited:
        try:
            task = render(edited[0], seed, Split.PRACTICE)
        except TaskError:
            return
        assert "$(cat " in task.oracle[0] and "$(cat " in task.alternative[0] and task.oracle != task.alternative


def test_a_hazard_comes_once() -> None:
    """What is in the scenario already makes nothing harder."""
    assert BY_ID["hostile_names"].edit(program("sort", hazards=("spaces",)), Random(0), LINKS) is None
    assert BY_ID["take_tool"].edit(program("sort", hazards=(WITHOUT + "awk",)), Random(0), LINKS) is None


def test_decoys_need_a_search_whose_result_shows() -> None:
    """Near misses matter only to what looks for files and prints what it finds."""
    assert BY_ID["decoys"].edit(program("find_ext"), Random(0), LINKS) is not None
    assert BY_ID["decoys"].edit(program("sort"), Random(0), LINKS) is None
    assert BY_ID["decoys"].edit(program("config_add"), Random(0), LINKS) is None


def test_decoys_are_told_from_the_rest() -> None:
    """Exactly the files that the hazard added are known as decoys."""
    one = program("find_ext")
    lured = instance(Program(scenario=one.scenario, links=one.links, hazards=("decoys",)))
    plain = instance(one)
    assert lured is not None and plain is not None
    assert decoys(lured.nodes) == set(lured.nodes) - set(plain.nodes) != set()
    assert decoys(plain.nodes) == set()


@given(PROGRAMS, st.integers(0, 50))
@settings(max_examples=40, deadline=None)
def test_a_taken_tool_leaves_two_ways_for_every_link(parent: Program, seed: int) -> None:
    """The everyday form of one link loses its tool; no link of the program keeps fewer than two forms."""
    edited = BY_ID["take_tool"].edit(parent, Random(seed), LINKS)
    if edited:
        child, touched = edited
        tool = child.hazards[-1].removeprefix(WITHOUT)
        assert uses(entry_of(child.links[touched]).ways[0], tool)
        assert all(sum(not uses(way, tool) for way in entry_of(k).ways) >= 2 for k in real(child))


def test_swapped_links_keep_their_types() -> None:
    """A sibling or another skill takes what the old link took and gives what it gave, lines and numbers being alike."""
    dice = Random(3)

    def kinds(one: ProgramLink) -> tuple[Kind, Kind]:
        gives = entry_of(one).gives
        return entry_of(one).takes, Kind.LINES if gives is Kind.NUMBERS else gives

    for name in ("rarer_sibling", "other_skill"):
        for parent in dice.sample(SINGLES + PAIRS, 60):
            if edited := BY_ID[name].edit(parent, dice, LINKS):
                child, at = edited
                assert kinds(child.links[at]) == kinds(parent.links[at])
                assert (child.links[at].skill == parent.links[at].skill) == (name == "rarer_sibling")


def test_the_middle_needs_two_links() -> None:
    """Nothing can be inserted into a program of one link."""
    assert BY_ID["insert_link"].edit(program("sort"), Random(0), LINKS) is None
