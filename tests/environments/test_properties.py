"""Properties that hold for every program, not for examples: determinism, disjoint sets, what a request must say, types that fit."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from itertools import pairwise, product

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeevo.domain import Absent, Content, Present, Program, ProgramLink, Rerun, Split, Task, encode
from edgeevo.environments import names, sets, vocabulary
from edgeevo.environments.program import follows, render
from edgeevo.environments.scenarios import HAZARDS, SCENARIOS
from edgeevo.environments.splits import split_of, split_of_run
from edgeevo.environments.telling import EVERYDAY_JOINTS, JOINTS, JOINTS_OF_NOUNS
from edgeevo.environments.wording import FOR_ME, HERE, SWAPS, pool
from edgeevo.errors import TaskError

SLOT = re.compile(r"\{(<?\w+)(?::\w+)?\}")
CHOICE = re.compile(r"\[[^\[\]]*\]")
REDUNDANT = {("basename", "stem"): {"ext"}}  # said or not: the file's name tells it
FEW = settings(max_examples=60, deadline=None, derandomize=True)
SEEDS = st.integers(min_value=0, max_value=2**31)
SPLITS = st.sampled_from(sorted(Split))


@cache
def pairs_of_links() -> tuple[tuple[ProgramLink, ProgramLink], ...]:
    """Every two links of which the second may follow the first."""
    return tuple((a, b) for a in sets.openers() for b in sets.links() if follows(a, b))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """One link, or two that fit, in any scenario, with or without a hazard."""
    links = draw(st.one_of(st.sampled_from(sets.openers()).map(lambda link: (link,)), st.sampled_from(pairs_of_links())))
    hazards = draw(st.sampled_from([(), (), *[(hazard,) for hazard in sorted(HAZARDS)]]))
    return Program(scenario=draw(st.sampled_from(sorted(SCENARIOS))), links=links, hazards=hazards)


def rendered(program: Program, seed: int) -> Task:
    """The task in the split of its program; what has no instance is left to another example."""
    try:
        return render(program, seed, split_of(program))
    except TaskError:
        assume(False)
        raise


@FEW
@given(programs(), SEEDS)
def test_rendering_is_deterministic(program: Program, seed: int) -> None:
    """The same program, seed and split give the same task, byte for byte."""
    assert encode(rendered(program, seed)) == encode(rendered(program, seed))


@FEW
@given(programs(), SEEDS)
def test_a_task_survives_json(program: Program, seed: int) -> None:
    """A task read back from its JSON is the task, with the same id."""
    task = rendered(program, seed)
    again = msgspec.json.decode(encode(task), type=Task)
    assert again == task and again.id == task.id


@FEW
@given(programs(), SEEDS)
def test_a_request_names_the_places_that_its_contract_looks_at(program: Program, seed: int) -> None:
    """Each path that must appear, change or vanish is named in the request, or a directory above it is."""
    task = rendered(program, seed)
    for clause in task.contract:
        if isinstance(clause, Content | Present | Absent | Rerun):
            assert any(names_path(task, place) for place in above(clause.path)), (clause.path, task.instruction)


def above(path: str) -> list[str]:
    """The path itself, without a packer's ending too, and the directories above it."""
    own = [path, path.removesuffix(".gz"), path + ".gz"]
    while (path := posixpath.dirname(path)) not in ("", "/"):
        own.append(path)
    return own


def names_path(task: Task, path: str) -> bool:
    """Whether the request says `path`, by its last component or as the place one stands in."""
    said = task.instruction
    here = path == task.initial.cwd and any(phrase in said.lower() for phrase in (*HERE, "here"))
    return here or posixpath.basename(path).lower() in said.lower()


@FEW
@given(programs(), SEEDS)
def test_links_that_follow_each_other_render(program: Program, seed: int) -> None:
    """What `follows` allows renders, or has no instance for this seed; no other error ever comes out."""
    why = ""
    try:
        render(program, seed, split_of(program))
    except TaskError as error:
        why = str(error)
    assert not why or "no instance" in why


@FEW
@given(programs())
def test_a_pipe_is_typed(program: Program) -> None:
    """In a pair the second link reads what the first prints, or begins a command of its own behind one that prints nothing."""
    entries = [vocabulary.ENTRIES[link.skill, link.variant] for link in program.links]
    for before, after in pairwise(entries):
        assert before.gives.value == "tree" or (after.takes.value != "start" and after.then)


def test_single_structures_of_the_splits_are_disjoint() -> None:
    """No program of one link belongs to two splits, and every split has some."""
    found = [{p.structure for p in sets.singles(split)} for split in Split]
    assert all(found) and len(set().union(*found)) == sum(map(len, found))


def test_pair_structures_of_the_splits_are_disjoint() -> None:
    """No program of two links belongs to two splits, and every split has some."""
    found = [{p.structure for p in sets.pairs(split)} for split in Split]
    assert all(found) and len(set().union(*found)) == sum(map(len, found))


@FEW
@given(st.lists(st.sampled_from(sets.links()), min_size=3, max_size=4), st.sampled_from(sorted(SCENARIOS)))
def test_practice_never_contains_a_held_out_run(links: list[ProgramLink], scenario: str) -> None:
    """A program with a held-out pair anywhere inside isn't practice."""
    held_out = any(split_of_run((a, b)) is not Split.PRACTICE for a, b in pairwise(links))
    assert not (held_out and split_of(Program(scenario=scenario, links=tuple(links))) is Split.PRACTICE)


@FEW
@given(programs(), st.sampled_from(sorted(HAZARDS)))
def test_a_hazard_does_not_move_a_program(program: Program, hazard: str) -> None:
    """A program and its hazardous twin are in the same split."""
    assert split_of(program) is split_of(msgspec.structs.replace(program, hazards=(hazard,)))


@given(st.lists(st.text(min_size=1), unique=True, max_size=12).map(tuple))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_wording_pools_are_a_partition(templates: tuple[str, ...]) -> None:
    """Whatever the templates are, each belongs to exactly one split."""
    assert sorted(i for split in Split for i in pool(templates, split)) == list(range(len(templates)))


@pytest.mark.parametrize("field", ["asks", "nouns", "then"])
def test_every_list_of_templates_serves_all_splits(field: str) -> None:
    """No list of any entry leaves practice, exam or audit without a wording."""
    lists = {key: getattr(entry, field) for key, entry in vocabulary.ENTRIES.items() if getattr(entry, field)}
    assert not [key for key, templates in lists.items() if not all(pool(templates, split) for split in Split)]


def expansions(template: str) -> set[str]:
    """A template with its choices made in every way."""
    parts = re.split(r"\[([^\[\]]*)\]", template)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return {" ".join("".join(chosen).split()) for chosen in product(*choices)}


def same_verb(template: str) -> str:
    """A template with one verb for all that may be exchanged at its head."""
    first, _, rest = template.partition(" ")
    families = [{*SWAPS["show"], "get", "take"}, *(set(SWAPS[verb]) for verb in ("delete", "create", "compute", "locate"))]
    if first in FOR_ME and rest.startswith("me "):
        return f"show {rest}"
    for family in families:
        if first in {verb.split()[0] for verb in family}:
            return f"{min(family)} {rest.removeprefix('out ') if first == 'work' else rest}"
    return template


@pytest.mark.parametrize("field", ["asks", "nouns", "then"])
def test_no_choice_of_words_makes_one_template_another(field: str) -> None:
    """Choices and exchanged verbs never lead from a template to another of its list, which may belong to another split."""
    met = {}
    for key, entry in vocabulary.ENTRIES.items():
        owner: dict[str, str] = {}
        for template in getattr(entry, field):
            for said in {same_verb(expansion) for expansion in expansions(template)}:
                if owner.setdefault(said, template) != template:
                    met[key] = (owner[said], template)
    assert not met


def test_every_split_can_say_a_link_in_the_middle() -> None:
    """Among the `then` of each split is one that isn't a question."""
    stuck = [
        (key, split)
        for key, entry in vocabulary.ENTRIES.items()
        for split in Split
        if entry.then and all(entry.then[i].endswith("?") for i in pool(entry.then, split))
    ]
    assert not stuck


@pytest.mark.parametrize("shapes", [JOINTS, JOINTS_OF_NOUNS])
def test_every_way_of_joining_has_three_parts_and_each_split_has_some(shapes: tuple[str, ...]) -> None:
    """Lead, middle and last; no way of joining is everyday and held out at once."""
    assert all(shape.count("|") == 2 for shape in (*shapes, *EVERYDAY_JOINTS))
    assert all(pool(shapes, split) for split in Split) and not set(shapes) & set(EVERYDAY_JOINTS)


@pytest.mark.parametrize("words", [names.stems, names.people])
def test_names_of_the_splits_never_meet(words) -> None:
    """Free strings of one split don't occur in another, and every split has enough of them."""
    found = [set(words(split)) for split in Split]
    assert min(map(len, found)) >= 10 and len(set().union(*found)) == sum(map(len, found))


def test_all_wordings_of_an_entry_say_the_same() -> None:
    """Each template of an entry, in every choice, names the same parameters: none forgets what another one asks for."""
    odd = {}
    for key, entry in vocabulary.ENTRIES.items():
        said = {
            template: set(SLOT.findall(CHOICE.sub("", template))) - {"in", "x"} - REDUNDANT.get(key, set())
            for field in ("asks", "nouns", "then")
            for template in getattr(entry, field)
        }
        if len({frozenset(slots) for slots in said.values()}) > 1:
            odd[key] = said
    assert not odd


def test_what_a_way_needs_is_drawn_and_said() -> None:
    """Every template that may stand first names the file where the entry reads one."""
    silent = [
        (key, template)
        for key, entry in vocabulary.ENTRIES.items()
        if entry.takes.value in ("text", "numbers")
        for template in (*entry.asks, *entry.nouns)
        if "{in}" not in template
    ]
    assert not silent


def test_requests_behind_a_link_refer_to_it() -> None:
    """Every template that may stand behind another link says {x} exactly once."""
    assert not [(key, t) for key, entry in vocabulary.ENTRIES.items() for t in entry.then if CHOICE.sub("", t).count("{x}") != 1]


@FEW
@given(programs(), SEEDS, SPLITS)
def test_names_of_a_task_come_from_its_split(program: Program, seed: int, split: Split) -> None:
    """No path of a task contains a stem that only another split may use."""
    try:
        task = render(program, seed, split)
    except TaskError:
        assume(False)
        raise
    foreign = {word for other in Split if other is not split for word in names.stems(other)} - FIXED
    words = {word for path in task.initial.nodes for word in re.findall("[a-z]+", path)}
    assert not words & foreign


FIXED = {word for s in SCENARIOS.values() for part in (s.folders, s.roots, s.extensions) for word in re.findall("[a-z]+", part)}
