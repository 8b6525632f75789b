from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import msgspec
import pytest

from edgeevo.domain import CommandResult, Direction, Environment, Split
from edgeevo.environments import sets
from edgeevo.environments.splits import split_of
from edgeevo.errors import SandboxError
from edgeevo.events import EnvironmentAdmitted, EnvironmentRejected, Event, LineageMoved
from edgeevo.evolution import lineage
from edgeevo.evolution.harness import BUILDS, Harness
from edgeevo.evolution.lineage import Pool, novelty
from edgeevo.evolution.operators import BY_ID
from edgeevo.evolution.roles import Proposal, Rejection
from edgeevo.sandbox import Sandbox, ScriptedSandbox

FOUNDERS = sets.founders()
LINEAGES = [founder.lineage for founder in FOUNDERS]


def silent(command: str) -> CommandResult:
    """A shell in which nothing happens, so that no child can be admitted."""
    return CommandResult(command=command, exit_code=0)


def broken(_command: str) -> CommandResult:
    raise SandboxError("broke", hint="none")


def decisions(events: Iterable[Event]) -> list[tuple]:
    """What was decided, without how long it took."""
    out: list[tuple] = []
    for event in events:
        match event:
            case EnvironmentAdmitted(environment=env, place=place):
                out.append(("admitted", env.id, place))
            case EnvironmentRejected(environment=env, place=place, reason=reason, detail=detail):
                out.append(("rejected", env.id, place, reason, detail))
            case LineageMoved(lineage=name, generation=generation, action=action):
                out.append((action, name, generation))
    return out


def evolve(sandbox: Sandbox, founders: list[Environment], past: list[Event], generations: int) -> list[Event]:
    """Founders and generations as a night makes them, two children each, behind `past`; all events, those of the past included."""
    harness, events = Harness(sandbox, 7, generations=generations, children=2), list(past)
    for number in range(generations + 1):
        pool = Pool.of((), events)
        made = harness.founders(founders, pool) if number == 0 else harness.generation(number, [f.lineage for f in founders], pool)
        events += made
    return events


class Fixed:
    """A proposer with one answer, which may be anything."""

    def __init__(self, answer: Callable[[Environment, Direction], Proposal | None]) -> None:
        self.answer = answer

    def propose(self, parent: Environment, direction: Direction, rng) -> Proposal | None:
        return self.answer(parent, direction)


class Yes:
    """A plan reviewer who agrees to everything."""

    def review(self, proposal: Proposal, ancestors, pool) -> None:
        return None


def test_an_interrupted_generation_goes_on_with_the_same_decisions_from_every_event() -> None:
    """Cut anywhere, folded and continued, the events are those of the uninterrupted run, none twice."""
    pool = Pool.of(FOUNDERS, ())
    whole = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:3], pool))
    assert len(whole) >= 9
    for cut in range(len(whole) + 1):
        folded = Pool.of(FOUNDERS, whole[:cut])
        rest = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:3], folded))
        assert decisions(whole[:cut] + rest) == decisions(whole), cut


def test_what_is_recorded_is_not_measured_again() -> None:
    """A rejection stands, even if another measurement would come out differently: the next direction is tried, or the lineage ends."""
    pool = Pool.of(FOUNDERS, ())
    whole = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:1], pool))
    measured = [e for e in whole if isinstance(e, EnvironmentRejected) and e.evidence]
    assert measured and isinstance(whole[-1], LineageMoved) and whole[-1].action == lineage.END
    sandbox = ScriptedSandbox(broken)
    assert decisions(Harness(sandbox, 7).generation(1, LINEAGES[:1], Pool.of(FOUNDERS, whole[:-1]))) == decisions(whole[-1:])
    assert sandbox.boxes == []


@pytest.mark.sandbox
def test_evolution_in_the_real_sandbox_resumes_from_every_event(sandbox) -> None:
    """Founders and a generation, really measured, come out the same wherever the night was cut."""
    founders = [founder for founder in FOUNDERS if founder.program.links[0].skill in ("grep", "sort")][:1]
    whole = evolve(sandbox, founders, [], 1)
    assert any(isinstance(e, EnvironmentAdmitted) and e.environment.generation == 1 for e in whole)
    for cut in range(len(whole)):
        assert decisions(evolve(sandbox, founders, whole[:cut], 1)) == decisions(whole), cut


def test_a_finished_generation_adds_nothing() -> None:
    """Running a generation again behind its own events yields no event."""
    whole = evolve(ScriptedSandbox(silent), list(FOUNDERS[:3]), [], 1)
    assert evolve(ScriptedSandbox(silent), list(FOUNDERS[:3]), whole, 1) == whole


def test_a_lineage_ends_only_when_all_directions_failed() -> None:
    """An end stands behind one try at least in every direction that applies, and the next generation leaves the lineage alone."""
    whole = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:8], Pool.of(FOUNDERS, ())))
    ends = [e for e in whole if isinstance(e, LineageMoved)]
    assert [e.lineage for e in ends] == LINEAGES[:8] and {e.action for e in ends} == {lineage.END}
    tried = {e.environment.direction for e in whole if isinstance(e, EnvironmentRejected)}
    assert tried == set(Direction)
    assert list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:8], Pool.of(FOUNDERS, whole))) == []


def test_a_broken_sandbox_is_no_fault_of_the_child() -> None:
    """When measuring fails, the reason is BROKEN and the event is recorded all the same."""
    events = list(Harness(ScriptedSandbox(broken), 7).founders(FOUNDERS[:3], Pool()))
    assert {e.reason for e in events if isinstance(e, EnvironmentRejected)} <= {Rejection.BROKEN, Rejection.QUALITY, Rejection.LEAKAGE}
    assert any(e.reason == Rejection.BROKEN for e in events if isinstance(e, EnvironmentRejected))


def test_a_held_out_structure_is_never_admitted() -> None:
    """Whoever proposes it and whoever agrees, exam and audit programs are refused before anything is rendered, founders too."""
    exam, audit = sets.singles(Split.EXAM)[0], sets.pairs(Split.AUDIT)[0]
    sandbox = ScriptedSandbox(silent)
    events = list(Harness(sandbox, 7).founders([sets.founder(exam), sets.founder(audit)], Pool()))

    def smuggle(_parent: Environment, direction: Direction) -> Proposal:
        return Proposal(program=audit, operator="append_link", direction=direction, touched=1)

    harness = Harness(sandbox, 7, proposer=Fixed(smuggle), reviewer=Yes())
    events += harness.generation(1, LINEAGES[:2], Pool.of(FOUNDERS, ()))
    refused = [e for e in events if isinstance(e, EnvironmentRejected)]
    assert len(refused) == 2 + 2 * BUILDS * len(Direction) and {e.reason for e in refused} == {Rejection.HELD_OUT} and sandbox.boxes == []


def test_nothing_held_out_comes_out_of_the_rules() -> None:
    """Over many lineages every proposal that reached the verifiers is a practice structure."""
    events = Harness(ScriptedSandbox(silent), 9).generation(1, LINEAGES[:8], Pool.of(FOUNDERS, ()))
    built = [e for e in events if isinstance(e, EnvironmentRejected) and e.evidence]
    assert built and all(split_of(e.environment.program) is Split.PRACTICE for e in built)


def test_a_child_knows_where_it_comes_from() -> None:
    """Lineage, generation, parent, direction and operator of a child are those of the proposal and its parent."""
    events = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:4], Pool.of(FOUNDERS, ())))
    by_lineage = {founder.lineage: founder for founder in FOUNDERS}
    for event in events:
        if isinstance(event, EnvironmentRejected):
            env = event.environment
            assert env.parent == by_lineage[env.lineage].id and env.generation == 1
            assert BY_ID[env.operator].direction is env.direction


def test_places_count_the_tries_of_a_child() -> None:
    """Within one lineage and generation every try has a place of its own, from 1 on."""
    events = list(Harness(ScriptedSandbox(silent), 7).generation(1, LINEAGES[:4], Pool.of(FOUNDERS, ())))
    for name in LINEAGES[:4]:
        places = [e.place for e in events if isinstance(e, EnvironmentRejected) and e.environment.lineage == name]
        assert places == list(range(1, len(places) + 1))


def test_a_weight_says_how_often_a_direction_comes_first() -> None:
    """With weights 8 to 1 to 1 the first direction leads four times in five, and every order still holds all three."""
    harness, rng = Harness(ScriptedSandbox(silent), 7, weights=(8.0, 1.0, 1.0)), Random(5)
    orders = [harness._order(rng) for _ in range(1000)]
    assert all(set(order) == set(Direction) for order in orders)
    assert 750 < sum(order[0] is Direction.LENGTH for order in orders) < 850


def test_a_composition_is_new_by_its_links_wherever_they_stand(sandbox) -> None:
    """No two admitted compositions of a night have the same links and hazards, siblings included."""
    events = evolve(sandbox, list(FOUNDERS[:4]), [], 1)
    found = [e.environment for e in events if isinstance(e, EnvironmentAdmitted)]
    longer = [novelty(env.program) for env in found if len(env.program.links) > 1]
    assert len(set(longer)) == len(longer)
    assert any(a.parent == b.parent and a.id != b.id for a in found for b in found if a.parent)


def test_an_old_lineage_doesnt_draw_a_new_one_past_its_bound() -> None:
    """A night adds at most `generations` to each lineage, however old the oldest one is."""
    old, young = FOUNDERS[0], FOUNDERS[1]
    grown = msgspec.structs.replace(old, generation=6)
    pool = Pool.of((old, grown, young), [])
    harness = Harness(ScriptedSandbox(silent), 7, generations=2)
    reached = {
        number: {e.environment.lineage for e in harness.generation(number, [old.lineage, young.lineage], pool) if hasattr(e, "environment")}
        for number in range(1, 10)
    }
    assert [number for number, names in reached.items() if old.lineage in names] == [7]
    assert [number for number, names in reached.items() if young.lineage in names] == [1]
    pool = pool.after(EnvironmentAdmitted(environment=msgspec.structs.replace(young, generation=1), place=1, evidence=()))
    pool = pool.after(EnvironmentAdmitted(environment=msgspec.structs.replace(young, generation=2), place=1, evidence=()))
    assert list(harness.generation(3, [young.lineage], pool)) == []
