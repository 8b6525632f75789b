"""Every verifier is shown to bite: one task for each way in which an environment can be worthless; and to let a good one pass."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from edgeevo.domain import (
    Absent,
    Clause,
    Content,
    Direction,
    Directory,
    Environment,
    File,
    Limits,
    Link,
    Order,
    Present,
    Printed,
    Program,
    ProgramLink,
    Rerun,
    Split,
    State,
    Task,
    Untouched,
)
from edgeevo.environments import sets
from edgeevo.environments.program import FACT, render
from edgeevo.evolution import verifiers
from edgeevo.evolution.operators import BY_ID
from edgeevo.evolution.roles import Proposal

pytestmark = pytest.mark.sandbox
LINKS = sets.links()
LINES = tuple(f"{word} {number}" for number, word in enumerate(("amber", "cedar", "delta", "ember", "fjord")))
START = State(
    nodes={
        "/srv/a": Directory(),
        "/srv/a/names": File(data="".join(f"{line}\n" for line in reversed(LINES)).encode()),
        "/srv/a/other": File(data=b"other\n"),
        "/srv/a/third": File(data=b"third\n"),
    },
    cwd="/srv/a",
)
PROGRAM = Program(scenario="logs", links=(ProgramLink(skill="sort"),))
SORTED = Printed(lines=LINES)
REST = Untouched()


def task(
    *contract: Clause, oracle: str = "sort names", alternative: str = "sort < names", words: str = "sort the names", initial: State = START
) -> Task:
    return Task(
        instruction=words,
        initial=initial,
        contract=contract or (SORTED, REST),
        oracle=(oracle,),
        alternative=(alternative,),
        program=PROGRAM,
        seed=1,
        wording="w",
    )


def written(*lines: str) -> Content:
    return Content(path="/srv/a/out", lines=lines)


# --- oracle and alternative -----------------------------------------------------------------------------------------------


def test_a_good_solution_satisfies_the_oracle(sandbox) -> None:
    """A solution that meets its contract twice, with the same end, is accepted."""
    assert verifiers.oracle(task(), sandbox)[0]


def test_a_wrong_solution_is_refused(sandbox) -> None:
    """An oracle that doesn't meet the contract says which clause."""
    satisfied, detail = verifiers.oracle(task(oracle="cat names"), sandbox)
    assert not satisfied and "printed" in detail


def test_a_solution_that_ends_differently_each_time_is_refused(sandbox) -> None:
    """Two runs must leave the same bytes."""
    restless = "sort names; head -c 9 /dev/urandom > noise"
    assert verifiers.oracle(task(oracle=restless), sandbox) == (False, "two runs of the solution end in different states")


def test_a_solution_that_links_somewhere_else_each_time_is_refused(sandbox) -> None:
    """A link's target is part of the end state."""
    assert not verifiers.oracle(task(oracle='sort names; ln -s "$(tr -dc a-z < /dev/urandom | head -c 9)" link'), sandbox)[0]


def test_a_solution_needs_half_of_its_limits_at_most(sandbox) -> None:
    """A slow or wordy solution leaves the agent no room."""
    slow = msgspec.structs.replace(task(oracle="sleep 0.7; sort names"), limits=Limits(wall_seconds=1.0))
    wordy = msgspec.structs.replace(task(oracle="head -c 600 /dev/zero >&2; sort names"), limits=Limits(output_bytes=1000))
    assert "half of the time" in verifiers.oracle(slow, sandbox)[1]
    assert "half of what may be printed" in verifiers.oracle(wordy, sandbox)[1]


def test_the_alternative_is_another_command_that_passes(sandbox) -> None:
    """A second way is wanted, and it must work."""
    assert verifiers.alternative(task(), sandbox)[0]
    assert not verifiers.alternative(task(alternative="sort names"), sandbox)[0]
    assert not verifiers.alternative(task(alternative="cat names"), sandbox)[0]


# --- invalid --------------------------------------------------------------------------------------------------------------


def test_a_contract_that_doing_nothing_meets_is_refused(sandbox) -> None:
    """Nop must fail."""
    assert verifiers.invalid(task(REST), sandbox) == (False, "doing nothing passes")


def test_an_answer_that_can_be_guessed_is_refused(sandbox) -> None:
    """A program with two possible answers is right too often for somebody who always says the same."""
    program = next(p for p in sets.singles(Split.PRACTICE) if p.links[0] == ProgramLink(skill="is_executable"))
    satisfied, detail = verifiers.invalid(render(program, 1, Split.PRACTICE), sandbox)
    assert not satisfied and "most frequent answer" in detail


def test_an_answer_of_many_lines_can_not_be_guessed(sandbox) -> None:
    """A task whose answers differ from instance to instance is accepted."""
    program = next(p for p in sets.singles(Split.PRACTICE) if p.links[0] == ProgramLink(skill="sort"))
    assert verifiers.invalid(render(program, 1, Split.PRACTICE), sandbox)[0]


# --- harder ---------------------------------------------------------------------------------------------------------------


def child_by(operator: str, parent: Program, seed: int = 1) -> tuple[Task, Proposal, Environment]:
    """A task of the child that an operator makes of a program, with its proposal and parent."""
    edited = BY_ID[operator].edit(parent, Random(seed), LINKS)
    assert edited is not None
    proposal = Proposal(program=edited[0], operator=operator, direction=BY_ID[operator].direction, touched=edited[1])
    return render(edited[0], seed, Split.PRACTICE), proposal, sets.founder(parent)


def single(name: str) -> Program:
    skill, _, variant = name.partition(".")
    return Program(scenario="logs", links=(ProgramLink(skill=skill, variant=variant or "plain"),))


@pytest.mark.parametrize(
    ("operator", "parent"),
    [("hide_fact", "grep"), ("hostile_names", "sort"), ("take_tool", "upper"), ("rarer_sibling", "sort"), ("other_skill", "sort")],
)
def test_a_harder_child_defeats_the_naive_solution(sandbox, operator: str, parent: str) -> None:
    """What solved the parent fails on the child, and the record says what was tried."""
    satisfied, detail = verifiers.harder(*child_by(operator, single(parent)), sandbox)
    assert satisfied and " fails: " in detail


def test_a_longer_child_defeats_the_parents_links(sandbox) -> None:
    """Without the new link the child isn't solved."""
    parent = single("grep")
    child = Program(scenario="logs", links=(*parent.links, ProgramLink(skill="sort")))
    proposal = Proposal(program=child, operator="append_link", direction=Direction.LENGTH, touched=1)
    for seed in range(9):
        task_ = render(child, seed, Split.PRACTICE)
        if verifiers.harder(task_, proposal, sets.founder(parent), sandbox)[0]:
            return
    pytest.fail("the parent's link alone passes in nine instances")


def test_a_child_that_differs_only_in_its_surface_is_refused(sandbox) -> None:
    """The same links with other names are not harder: the parent's link passes."""
    parent = single("sort")
    proposal = Proposal(program=parent, operator="other_skill", direction=Direction.SKILL, touched=0)
    satisfied, detail = verifiers.harder(render(parent, 1, Split.PRACTICE), proposal, sets.founder(parent), sandbox)
    assert not satisfied and " passes: " in detail


def test_blanks_in_names_that_are_not_used_are_surface(sandbox) -> None:
    """Hostile names that the solution never meets make nothing harder."""
    plain = render(single("sort"), 1, Split.PRACTICE)
    proposal = Proposal(program=plain.program, operator="hostile_names", direction=Direction.SCENARIO, touched=0)
    assert not verifiers.harder(plain, proposal, sets.founder(plain.program), sandbox)[0]


def test_decoys_that_change_no_answer_are_surface(sandbox) -> None:
    """A near miss beside a file that isn't asked about leaves the answer as it was."""
    lured = msgspec.structs.replace(START, nodes={**START.nodes, "/srv/a/.other": START.nodes["/srv/a/other"]})
    proposal = Proposal(program=PROGRAM, operator="decoys", direction=Direction.SCENARIO, touched=0)
    satisfied, detail = verifiers.harder(task(initial=lured), proposal, sets.founder(PROGRAM), sandbox)
    assert not satisfied and "without decoys passes" in detail


def test_decoys_that_change_the_answer_are_harder(sandbox) -> None:
    """Who doesn't see the hidden twin counts one file too few."""
    lured = msgspec.structs.replace(START, nodes={**START.nodes, "/srv/a/.other": START.nodes["/srv/a/other"]})
    counted = task(Printed(lines=("4",)), oracle="find . -type f | wc -l", alternative="ls -A | wc -l", initial=lured)
    proposal = Proposal(program=PROGRAM, operator="decoys", direction=Direction.SCENARIO, touched=0)
    assert verifiers.harder(counted, proposal, sets.founder(PROGRAM), sandbox)[0]


# --- mutants --------------------------------------------------------------------------------------------------------------


def test_a_sound_contract_survives_its_mutants(sandbox) -> None:
    """Corruptions fail, harmless variations pass, and their number is told."""
    satisfied, detail = verifiers.mutants(task(), sandbox)
    assert satisfied and detail.startswith("4 corruptions fail, 4 harmless")


@pytest.mark.parametrize(
    ("clause", "oracle"),
    [
        (written(*LINES), "sort names > out"),
        (written(), ": > out"),
        (Content(path="/srv/a/out", lines=LINES, order=Order.SET), "cat names > out"),
        (Present(path="/srv/a/d", node=Directory()), "mkdir d"),
        (Present(path="/srv/a/third", node=File(data=b"third\n", mode=0o755), mode=0o755), "chmod 755 third"),
        (Present(path="/srv/a/l", node=Link(target="names")), "ln -s names l"),
        (Absent(path="/srv/a/third"), "rm third"),
        (Rerun(path="/srv/a/x.tar", command="tar -tf x.tar", lines=("names",)), "tar -cf x.tar names"),
    ],
    ids=["content", "empty file", "lines in any order", "directory", "mode", "link", "absent", "archive"],
)
def test_every_kind_of_clause_can_fail(sandbox, clause: Clause, oracle: str) -> None:
    """Each clause is broken in two ways at least, and a solution that keeps it passes."""
    satisfied, detail = verifiers.mutants(task(clause, Untouched(except_paths=("/srv/a/third",)), oracle=oracle), sandbox)
    assert satisfied, detail
    assert int(detail.split()[0]) >= 4


def test_a_clause_that_can_not_fail_is_refused(sandbox) -> None:
    """Where everything may be touched, `untouched` says nothing."""
    vacuous = Untouched(except_paths=tuple(START.nodes))
    assert verifiers.mutants(task(SORTED, vacuous), sandbox) == (False, "nothing can break the clause untouched")


def test_a_contract_that_a_corrupted_end_meets_is_refused(sandbox) -> None:
    """An empty line is free at the end, so a contract that asks for nothing but one is met by half an answer."""
    satisfied, detail = verifiers.mutants(task(Printed(lines=("",)), oracle="echo"), sandbox)
    assert not satisfied and "a line dropped" in detail


def test_a_contract_that_tolerates_nothing_is_refused(sandbox) -> None:
    """Forbidding the scratch file that anybody may write is too strict."""
    satisfied, detail = verifiers.mutants(task(SORTED, Absent(path="/tmp/scratch"), oracle="sort names"), sandbox)
    assert not satisfied and "harmless" in detail


def test_mutants_need_no_tool_that_the_box_lacks(sandbox) -> None:
    """Where sed and sort are taken away, corruptions and variations still run."""
    bare = msgspec.structs.replace(START, absent_tools=("sort", "sed"))
    unordered = Printed(lines=LINES, order=Order.SET)
    satisfied, detail = verifiers.mutants(task(unordered, REST, oracle="cat names", initial=bare), sandbox)
    assert satisfied and "5 harmless" in detail, detail


# --- leakage and quality --------------------------------------------------------------------------------------------------


def test_an_answer_in_the_instruction_leaks() -> None:
    """What must be printed isn't read off the request."""
    assert verifiers.leakage(task())[0]
    assert not verifiers.leakage(task(Printed(lines=("amber cedar 17",)), words="print amber cedar 17"))[0]


def test_an_answer_ready_made_in_a_file_leaks() -> None:
    """A file that holds the printed answer makes the work pointless."""
    ready = msgspec.structs.replace(START, nodes={**START.nodes, "/srv/a/ready": File(data="\n".join(LINES).encode())})
    assert not verifiers.leakage(task(initial=ready))[0]


def test_a_hidden_fact_in_the_instruction_leaks() -> None:
    """The value that is to be looked up mustn't be said; a number may stand there for another reason."""
    hidden = msgspec.structs.replace(START, nodes={**START.nodes, "/srv/a/fact": File(data=b"cedar\n")})
    looked_up = 'grep "$(cat fact)" names'
    assert verifiers.leakage(task(oracle=looked_up, words="the lines with what fact says", initial=hidden))[0]
    assert not verifiers.leakage(task(oracle=looked_up, words="the cedar lines, see fact", initial=hidden))[0]


def test_new_files_must_be_named() -> None:
    """A file that the contract reads is named in the request, or its name is that of an initial file or packed in one."""
    assert verifiers.quality(task(written("x"), words="write x to out"))[0]
    assert not verifiers.quality(task(written("x"), words="write x somewhere"))[0]
    assert verifiers.quality(task(Content(path="/srv/a/b/names.bak", lines=("x",)), words="copy it to b"))[0]
    packed = msgspec.structs.replace(START, nodes={**START.nodes, "/srv/a/p": File(data=b"\0out\0")})
    assert verifiers.quality(task(written("x"), words="unpack p", initial=packed))[0]


def test_requests_and_solutions_fit_their_budgets() -> None:
    """Neither may be longer than the model can read or say."""
    assert not verifiers.quality(task(words="sort " * 200))[0]
    assert not verifiers.quality(task(oracle="sort names " + "| cat " * 60))[0]


# --- all together ---------------------------------------------------------------------------------------------------------


def test_examination_ends_with_the_first_objection(sandbox) -> None:
    """Cheap facts come first, and nothing is measured behind a failure."""
    evidence = list(verifiers.examine(task(oracle="cat names"), None, None, sandbox))
    assert [e.satisfied for e in evidence] == [True, True, False] and evidence[-1].verifier == "oracle"
    assert {e.verifier for e in evidence} <= set(verifiers.REASONS)


def test_a_good_founder_and_a_good_child_pass_everything(sandbox) -> None:
    """A founder has no parent to be harder than; a child is measured against its own."""
    parent = single("grep")
    founder = [e.verifier for e in verifiers.examine(render(parent, 3, Split.PRACTICE), None, None, sandbox) if e.satisfied]
    assert founder == ["quality", "leakage", "oracle", "alternative", "invalid", "mutants"]
    child = [e.verifier for e in verifiers.examine(*child_by("hide_fact", parent), sandbox) if e.satisfied]
    assert child == ["quality", "leakage", "oracle", "alternative", "invalid", "harder", "mutants"]
    assert child_by("hide_fact", parent)[0].program.links[0].skill == FACT
