"""Every entry of the vocabulary, in a real sandbox: its ways do what its reference says, and doing nothing doesn't."""

from __future__ import annotations

import pytest

from edgeevo.agent.episode import verify
from edgeevo.domain import Program, ProgramLink, Split, Task, derive_seed, encode
from edgeevo.environments import vocabulary
from edgeevo.environments.program import follows, render
from edgeevo.environments.scenarios import HAZARDS, SCENARIOS
from edgeevo.errors import TaskError
from edgeevo.sandbox import open_sandbox

PRODUCERS = tuple(
    ProgramLink(skill=skill, variant=variant)
    for skill, variant in (("find_ext", "plain"), ("find_files", "plain"), ("grep", "plain"), ("sort", "numeric"), ("tail", "plain"))
)
INSTANCES = 3  # per entry; together they see three scenarios, and the hazards in turn
SEEDS = 6  # tried per instance before an entry counts as one that can't be instantiated


@pytest.fixture(scope="module")
def sandbox():
    with_runner = open_sandbox()
    yield with_runner
    with_runner.close()


def programs_of(link: ProgramLink) -> list[Program]:
    """Programs that show one entry: alone where it can stand first, and behind a producer where it takes what one gives."""
    chains: list[tuple[ProgramLink, ...]] = [(link,)] if follows(None, link) else []
    chains += [(producer, link) for producer in PRODUCERS if follows(producer, link) and follows(None, producer)][: 1 + (not chains)]
    scenarios = sorted(SCENARIOS, key=lambda s: derive_seed("test", link.skill, link.variant, s))
    hazards = [(), *[(h,) for h in sorted(HAZARDS)]]
    return [Program(scenario=scenarios[i], links=chains[i % len(chains)], hazards=hazards[i % len(hazards)]) for i in range(INSTANCES)]


def instance(program: Program) -> Task | None:
    """The first instance among a few seeds, or None."""
    for seed in range(SEEDS):
        try:
            return render(program, seed, Split.PRACTICE)
        except TaskError:
            continue
    return None


ENTRIES = [pytest.param(ProgramLink(skill=s, variant=v), id=f"{s}.{v}") for s, v in sorted(vocabulary.ENTRIES)]


@pytest.mark.sandbox
@pytest.mark.parametrize("link", ENTRIES)
def test_both_ways_satisfy_the_contract_and_doing_nothing_does_not(link, sandbox):
    """The oracle and the alternative of an entry pass in every sampled scenario, and an idle agent fails."""
    tasks = [task for program in programs_of(link) if (task := instance(program))]
    assert tasks, "no scenario offers an instance"
    for task in tasks:
        for commands in (task.oracle, task.alternative):
            trial = verify(task, sandbox, commands)
            assert trial.verdict.passed, (task.instruction, commands, trial.verdict.reasons, trial.results[-1])
        assert not verify(task, sandbox, ()).verdict.passed, (task.instruction, "doing nothing passes")


@pytest.mark.parametrize("link", ENTRIES)
def test_a_program_and_a_seed_give_the_same_task_twice(link):
    """Rendering draws on nothing but the program, the seed and the split."""
    program = programs_of(link)[0]
    first, second = instance(program), instance(program)
    assert first is None or (second is not None and encode(first) == encode(second))


@pytest.mark.parametrize("link", ENTRIES)
def test_every_split_has_words_for_an_entry_that_is_not_last(link):
    """Exam and audit find a wording in each list of an entry, so that no split silently loses a skill."""
    from edgeevo.environments.wording import pool

    entry = vocabulary.ENTRIES[link.skill, link.variant]
    for split in Split:
        for templates in filter(None, (entry.asks, entry.nouns, entry.then)):
            assert pool(templates, split)
        lists = [t for t in (entry.asks, entry.nouns if entry.gives != "tree" else ()) if t]
        usable = [t for templates in lists for i in pool(templates, split) if not (t := templates[i]).endswith("?")]
        assert usable or not lists, f"{split} can only ask {link.skill}.{link.variant} last"
