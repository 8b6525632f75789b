"""Every entry of the vocabulary, in a real sandbox: its ways do what its reference says, and doing nothing doesn't."""

from __future__ import annotations

import pytest

from edgeevo.agent.episode import verify
from edgeevo.domain import Program, ProgramLink, Split, Task, derive_seed, encode
from edgeevo.environments import vocabulary
from edgeevo.environments.program import follows, render
from edgeevo.environments.scenarios import HAZARDS, SCENARIOS
from edgeevo.environments.skills import Kind
from edgeevo.environments.wording import pool
from edgeevo.errors import TaskError
from edgeevo.sandbox import open_sandbox

PRODUCERS = tuple(
    ProgramLink(skill=skill, variant=variant)
    for skill, variant in (("find_ext", "plain"), ("find_files", "plain"), ("grep", "plain"), ("sort", "numeric"), ("tail", "plain"))
)
SEEDS = 3  # tried before a program counts as one without an instance here
ENTRIES = [pytest.param(ProgramLink(skill=s, variant=v), id=f"{s}.{v}") for s, v in sorted(vocabulary.ENTRIES)]


@pytest.fixture(scope="module")
def sandbox():
    runner = open_sandbox()
    yield runner
    runner.close()


def chains_of(link: ProgramLink) -> list[tuple[ProgramLink, ...]]:
    """One entry alone, if it can stand first, and behind each producer that gives what it takes."""
    alone: list[tuple[ProgramLink, ...]] = [(link,)] if follows(None, link) else []
    return alone + [(producer, link) for producer in PRODUCERS if producer != link and follows(producer, link)]


def programs_of(link: ProgramLink, count: int) -> list[Program]:
    """`count` programs that show one entry, first or behind a producer, in scenarios and hazards that its hash chooses."""
    chains = chains_of(link)
    start = derive_seed("test", link.skill, link.variant)
    scenarios, hazards = sorted(SCENARIOS), [(), *[(h,) for h in sorted(HAZARDS)]]
    return [
        Program(
            scenario=scenarios[(start + i) % len(scenarios)],
            links=chains[i % len(chains)],
            hazards=hazards[(start + i + i // len(scenarios)) % len(hazards)],
        )
        for i in range(count)
    ]


def instance(program: Program) -> Task | None:
    """The first instance among a few seeds, or None."""
    for seed in range(SEEDS):
        try:
            return render(program, seed, Split.PRACTICE)
        except TaskError:
            continue
    return None


def check(link: ProgramLink, sandbox, count: int) -> None:
    """Run both ways of `count` programs of one entry; at least one of the programs must have an instance."""
    tasks = [task for program in programs_of(link, count) if (task := instance(program))]
    assert tasks, "no program has an instance"
    for task in tasks:
        for commands in (task.oracle, task.alternative):
            trial = verify(task, sandbox, commands)
            assert trial.verdict.passed, (task.instruction, commands, trial.verdict.reasons, trial.results[-1])
        assert not verify(task, sandbox, ()).verdict.passed, (task.instruction, "doing nothing passes")


@pytest.mark.sandbox
@pytest.mark.parametrize("link", ENTRIES)
def test_both_ways_satisfy_the_contract_and_doing_nothing_does_not(link, sandbox):
    """The oracle and the alternative of an entry pass, first in a program and behind a producer, and an idle agent fails."""
    check(link, sandbox, min(2, len(chains_of(link))))


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("link", ENTRIES)
def test_both_ways_satisfy_the_contract_in_every_scenario_and_hazard(link, sandbox):
    """The same claim for every scenario with and without each hazard."""
    check(link, sandbox, len(SCENARIOS) * (len(HAZARDS) + 1))


@pytest.mark.parametrize("link", ENTRIES)
def test_a_program_and_a_seed_give_the_same_task_twice(link):
    """Rendering draws on nothing but the program, the seed and the split."""
    program = programs_of(link, 1)[0]
    first = instance(program)
    assert first is None or encode(first) == encode(render(program, first.seed, first.split))


@pytest.mark.parametrize("link", ENTRIES)
def test_every_split_has_words_for_an_entry(link):
    """Exam and audit find a wording in each list, also for a link that isn't the last, so that no split silently loses a skill."""
    entry = vocabulary.ENTRIES[link.skill, link.variant]
    for split in Split:
        for templates in filter(None, (entry.asks, entry.nouns, entry.then)):
            assert pool(templates, split), split
        lists = [t for t in (entry.asks, entry.nouns if entry.gives is not Kind.TREE else ()) if t]
        inner = [t for templates in lists for i in pool(templates, split) if not (t := templates[i]).endswith("?")]
        assert inner or not lists, f"{split} can ask for it only at the end"


def test_no_group_has_the_name_of_a_skill():
    """A box that names a skill practises that skill, and never the whole file of some group as well."""
    assert not {entry.group for entry in vocabulary.ENTRIES.values()} & {skill for skill, _ in vocabulary.ENTRIES}
