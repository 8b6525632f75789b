"""edgeevo.store.reader and figures: every printed number is a query; these check the queries against a night whose numbers are known."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.cli.report import lines
from edgeevo.domain import Split, runs
from edgeevo.errors import StoreError
from edgeevo.events import Ending, Evaluated
from edgeevo.rehearsal import outcome, task
from edgeevo.store.figures import commands_key, difference, overlaps, report, wilson
from edgeevo.store.reader import Reader
from edgeevo.store.writer import Store
from tests.store.conftest import fill


def test_audit_rates_per_policy_and_stratum(reader: Reader) -> None:
    """The base passed 0 of 12, the adapter 8 of 12, each by stratum and in all."""
    found = [(rate.policy == "base", rate.stratum, rate.passed, rate.n) for rate in report(reader).rates]
    assert found == [(True, "single", 0, 12), (True, "all", 0, 12), (False, "single", 8, 12), (False, "all", 8, 12)]


def test_gains_are_paired_with_the_base(reader: Reader) -> None:
    """The gain is 8 of 12 in percentage points, with an interval around it."""
    gain = report(reader).gains[-1]
    assert (gain.stratum, gain.n) == ("all", 12)
    assert gain.points == pytest.approx(100 * 8 / 12)
    assert gain.low < gain.points < gain.high


def test_broken_attempts_count_nowhere(store: Store, tmp_path: Path) -> None:
    """An attempt that our own failure ended is in no rate."""
    fill(store, tmp_path)
    one = task(Split.AUDIT, 99)
    broken = msgspec.structs.replace(outcome(one, passed=False), ending=Ending.BROKEN)
    event = Evaluated(set_id="audit-1", split=Split.AUDIT, policy_id="base", part=9, outcomes=(broken,), tasks=(one,))
    store.record("audit-1", event, now=230.0)
    with Reader(store.path) as reader:
        assert report(reader).rates[0].n == 12


def test_the_gate_is_shown_as_it_was_judged(reader: Reader) -> None:
    """The paired table comes back with its p-value."""
    (gate,) = report(reader).gates
    assert (gate.judgement.wins, gate.judgement.losses, gate.judgement.p_value) == (6, 0, 1 / 64)


def test_evolution_counts_reasons(reader: Reader) -> None:
    """One founder admitted, one child rejected for its reason."""
    (night,) = report(reader).evolution
    assert (night.admitted, night.by_direction, night.rejected) == (1, {"founder": 1}, {"SURFACE_ONLY": 1})


def test_examples_are_counted_by_source(reader: Reader) -> None:
    """Two examples, both verified reference solutions, and the report says so."""
    (night,) = report(reader).learnt
    assert (night.count, night.by_source) == (2, {"oracle": 2})
    assert "  night-1: 2 (2 verified reference solutions)" in list(lines(report(reader)))


def test_time_per_phase(reader: Reader) -> None:
    """The phases of the night in order, and the audits by their own clock."""
    found = [(each.phase, each.seconds) for each in report(reader).phases]
    assert found == [("evolve", 1.0), ("practise", 2.0), ("train", 3.0), ("exam", 4.0), ("audit", 20.0), ("audit", 20.0)]


def test_the_three_sets_have_nothing_in_common(reader: Reader) -> None:
    """Structures, commands and 8-grams of practice, exam and audit are disjoint, and all three sets are there."""
    found = overlaps(reader)
    assert len(found) == 9
    assert all(each.common == 0 and each.left_count and each.right_count for each in found)


@pytest.mark.parametrize("what", ["structure", "commands", "8-grams"])
def test_a_leak_is_found_by_content(store: Store, tmp_path: Path, what: str) -> None:
    """A practice task with the structure, the commands or the wording of an audit task shows up, whatever its split says."""
    fill(store, tmp_path)
    held, free = task(Split.AUDIT, 1), task(Split.PRACTICE, 50)
    leak = {
        "structure": msgspec.structs.replace(free, program=held.program),
        "commands": msgspec.structs.replace(free, oracle=(held.oracle[0].replace(" ", "  "),)),
        "8-grams": msgspec.structs.replace(free, instruction=f"Please {held.instruction.upper()}, quickly."),
    }[what]
    event = Evaluated(set_id="x", split=Split.EXAM, policy_id="p", part=0, outcomes=(), tasks=(leak,))
    store.record("night-1", event, now=230.0)
    with Reader(store.path) as reader:
        assert {each.what for each in overlaps(reader) if each.common and "audit" in (each.left, each.right)} == {what}


def test_quoting_and_spacing_do_not_hide_a_command() -> None:
    """Two spellings of the same command are the same."""
    one = msgspec.structs.replace(task(Split.AUDIT, 1), oracle=("grep  -c 'ERROR'  /a | sort",))
    two = msgspec.structs.replace(one, oracle=('grep -c "ERROR" /a|sort',))
    assert commands_key(one) == commands_key(two)


def test_short_instructions_are_one_gram() -> None:
    """Fewer than eight words still count, as a whole."""
    assert runs("Show  it NOW") == {"show it now"}


@given(st.integers(0, 500), st.integers(1, 500))
def test_wilson_contains_the_rate(passed: int, n: int) -> None:
    """The interval lies in [0, 1] and holds the rate."""
    passed = min(passed, n)
    low, high = wilson(passed, n)
    assert 0 <= low <= passed / n + 1e-12 and passed / n - 1e-12 <= high <= 1


def test_wilson_is_the_published_one() -> None:
    """A known value: 8 of 10 gives 0.490 to 0.943."""
    assert [round(end, 3) for end in wilson(8, 10)] == [0.490, 0.943]


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_difference_lies_in_its_interval(before: int, after: int) -> None:
    """Newcombe's interval holds the difference and shrinks to nothing nowhere."""
    share, low, high = difference(before, after, 200)
    assert low <= share <= high and low < high
    assert math.isclose(share, (after - before) / 200)


def test_history_counts_what_a_night_did(reader: Reader) -> None:
    """The night's row has its environments, attempts, examples and the gate's decision."""
    row = reader.history()[-1]
    assert (row.id, row.status, row.admitted, row.rejected, row.attempts, row.examples, row.decision) == (
        "night-1",
        "ended",
        1,
        1,
        20,
        2,
        "promote",
    )


def test_environments_are_found_by_the_first_digits(reader: Reader) -> None:
    """`env show` gives the evidence and the tasks; an unknown id is an error with a hint."""
    (row,) = reader.environments()
    file = reader.environment(row.id[:6])
    assert (file.row.passed, file.row.attempts, len(file.tasks)) == (2, 4, 2)
    assert [each.verifier for each in file.evidence] == ["oracle"]
    assert reader.environments(rejected=True)[0].reason == "SURFACE_ONLY"
    with pytest.raises(StoreError):
        reader.environment("zzz")


def test_the_report_is_text_from_the_figures(reader: Reader) -> None:
    """The printed report names rates, the gate's p-value and the disjointness."""
    text = "\n".join(lines(report(reader)))
    assert "8/12" in text and "p = 0.016" in text and "PROMOTE" in text and "SURFACE_ONLY" in text


def test_the_reader_never_writes(reader: Reader) -> None:
    """A write through the reader's connection fails."""
    with pytest.raises(StoreError):
        reader.query("delete from events returning seq")


def test_no_database_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """Before the daemon's first start there is nothing to read."""
    with pytest.raises(StoreError, match="no database"):
        Reader(tmp_path / "edgeevo.db")
