from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.domain import Ending
from edgeevo.events import Decision, Judgement, Outcome
from edgeevo.learning.gate import judge, lower_bound, mcnemar_p, wanted_pairs

P, MARGIN = 0.005, 0.05
COUNTS = st.integers(0, 60)
SIZES = {"single": 96, "pair": 64}  # the exam of a default night
NIGHTS = 10_000


@cache
def row(stratum: str, place: int, passed: bool) -> Outcome:
    return Outcome(
        task_id=f"{stratum}-{place:03}",
        structure="s",
        stratum=stratum,
        skill="sort",
        passed=passed,
        ending=Ending.SUBMITTED,
        steps=1,
        reply_tokens=1,
        seconds=0.0,
    )


def decide(table: dict[str, tuple[list[bool], list[bool]]]) -> Judgement:
    """The judgement on two rows of results for each stratum, incumbent first."""
    sides = []
    for side in (0, 1):
        rows = [row(name, place, bool(passed)) for name, results in table.items() for place, passed in enumerate(results[side])]
        sides.append({one.task_id: one for one in rows})
    return judge(sides[0], sides[1], p_threshold=P, margin=MARGIN)


def cells(both: int, wins: int, losses: int, neither: int) -> tuple[list[bool], list[bool]]:
    """Results of incumbent and candidate with these paired counts."""
    incumbent = [True] * both + [False] * wins + [True] * losses + [False] * neither
    candidate = [True] * both + [True] * wins + [False] * losses + [False] * neither
    return incumbent, candidate


# --- the test statistic ---------------------------------------------------------------------------------------------------


@given(COUNTS)
def test_only_wins(wins: int) -> None:
    """Without a loss the p-value is one half to the number of wins."""
    assert mcnemar_p(wins, 0) == pytest.approx(0.5**wins)


@given(COUNTS)
def test_only_losses(losses: int) -> None:
    """Without a win nothing speaks for the candidate."""
    assert mcnemar_p(0, losses) == 1.0


@given(COUNTS)
def test_a_draw(wins: int) -> None:
    """As many wins as losses give one half and half the middle term."""
    expected = Fraction(1, 2) + Fraction(math.comb(2 * wins, wins), 2 ** (2 * wins + 1))
    assert mcnemar_p(wins, wins) == pytest.approx(float(expected))


@given(COUNTS, COUNTS)
def test_both_sides_add_up(wins: int, losses: int) -> None:
    """P(X ≥ w) and P(X ≥ l) overlap in exactly one term of the symmetric distribution, or leave none."""
    n = wins + losses
    overlap = sum(Fraction(math.comb(n, k), 2**n) for k in range(min(wins, n - losses), max(wins, n - losses) + 1))
    assert mcnemar_p(wins, losses) + mcnemar_p(losses, wins) == pytest.approx(1 + float(overlap))


@given(COUNTS, COUNTS)
def test_p_is_monotonous(wins: int, losses: int) -> None:
    """One more win never raises the p-value, one more loss never lowers it."""
    assert mcnemar_p(wins + 1, losses) <= mcnemar_p(wins, losses) <= mcnemar_p(wins, losses + 1)


def test_large_tables_neither_overflow_nor_vanish() -> None:
    """Thousands of discordant pairs still give an exact value."""
    assert 0.5 < mcnemar_p(2000, 2000) < 0.51 and 0 < mcnemar_p(1200, 800) < 1e-15


@given(COUNTS, COUNTS, st.integers(1, 200))
def test_the_bound_lies_below_the_estimate(wins: int, losses: int, rest: int) -> None:
    """The lower bound of a difference is below the shrunken difference and falls with every loss."""
    n = wins + losses + rest
    assert lower_bound(wins, losses, n) < (wins - losses) / (n + 2) + 1e-12
    assert lower_bound(wins, losses + 1, n) < lower_bound(wins, losses, n)


def test_power_agrees_with_the_plan() -> None:
    """With independent outcomes +20 pp at a 30 % base asks for about 80 pairs at 5 %, +10 pp for about 300."""
    twenty = wanted_pairs(0.2, 0.3 * 0.5 + 0.5 * 0.7, 0.05)
    ten = wanted_pairs(0.1, 0.3 * 0.6 + 0.4 * 0.7, 0.05)
    assert 65 <= twenty <= 95 and 250 <= ten <= 330


# --- decisions ------------------------------------------------------------------------------------------------------------


def test_a_clear_gain_is_promoted() -> None:
    """Better in every stratum is PROMOTE, with the whole table."""
    found = decide({"single": cells(30, 30, 2, 34), "pair": cells(10, 20, 1, 33)})
    assert found.decision is Decision.PROMOTE and (found.n, found.wins, found.losses) == (160, 50, 3)
    assert [(s.name, s.n, s.incumbent_passed, s.candidate_passed) for s in found.strata] == [("pair", 64, 11, 30), ("single", 96, 32, 60)]


@given(st.integers(0, 20), st.integers(0, 6))
def test_worse_by_15_points_in_one_stratum_and_better_elsewhere_is_rejected(extra: int, wins: int) -> None:
    """No gain elsewhere makes up for a stratum that lost 15 points."""
    losses = wins + math.ceil(0.15 * SIZES["pair"])
    found = decide({"single": cells(20, 40 + extra, 0, 36 - extra), "pair": cells(20, wins, losses, 44 - wins - losses)})
    assert found.wins > found.losses and found.decision is Decision.REJECT and "pair" in found.reasons[0]


def test_no_difference_keeps() -> None:
    """Without discordant pairs there is nothing to decide on."""
    assert decide({"single": cells(40, 0, 0, 56), "pair": cells(0, 0, 0, 64)}).decision is Decision.KEEP


def test_an_empty_exam_keeps() -> None:
    """Where all episodes were BROKEN, the incumbent stays."""
    found = decide({})
    assert found.decision is Decision.KEEP and found.p_value == 1.0


def test_worse_overall_is_rejected() -> None:
    """The mirror image of a promotion is a rejection."""
    assert decide({"single": cells(30, 2, 30, 34), "pair": cells(10, 1, 20, 33)}).decision is Decision.REJECT


def test_keep_says_how_many_pairs_more_are_wanted() -> None:
    """A gain that isn't shown yet names the number of pairs that would show it."""
    found = decide({"single": cells(40, 10, 4, 42)})
    assert found.decision is Decision.KEEP and found.more_wanted_pairs == wanted_pairs(6 / 96, 14 / 96, P) - 96 > 0


def test_a_gain_with_an_unsure_stratum_is_kept() -> None:
    """A stratum that is neither shown to be no worse nor measured to be worse holds the promotion back."""
    found = decide({"single": cells(10, 40, 0, 46), "pair": cells(40, 9, 10, 5)})
    assert found.p_value <= P and found.decision is Decision.KEEP and "pair" in found.reasons[0]


def test_only_tasks_that_both_sat_count() -> None:
    """A task without a partner says nothing."""
    incumbent = {f"single-{i:03}": row("single", i, passed=False) for i in range(30)}
    candidate = {f"single-{i:03}": row("single", i, passed=True) for i in range(20, 60)}
    assert judge(incumbent, candidate, p_threshold=P, margin=MARGIN).n == 10


@given(st.randoms())
def test_the_order_of_the_rows_does_not_matter(dice) -> None:
    """The same outcomes in any order are judged the same."""
    rows = [row("single", i, passed=i % 3 == 0) for i in range(60)]
    better = [msgspec.structs.replace(one, passed=one.passed or i % 2 == 0) for i, one in enumerate(rows)]
    straight = judge({r.task_id: r for r in rows}, {r.task_id: r for r in better}, p_threshold=P, margin=MARGIN)
    dice.shuffle(rows)
    dice.shuffle(better)
    assert judge({r.task_id: r for r in rows}, {r.task_id: r for r in better}, p_threshold=P, margin=MARGIN) == straight


# --- ten thousand nights --------------------------------------------------------------------------------------------------


def rates(name: str) -> np.ndarray:
    """How often each task of a stratum is passed: most never or always, some in between, as logged outcomes are."""
    dice = np.random.default_rng(len(name))
    return np.clip(dice.beta(0.4, 0.7, SIZES[name]), 0.02, 0.98)


def nights(shift: float, count: int, sizes: dict[str, int] = SIZES) -> list[Judgement]:
    """Judgements on resampled tables: tasks drawn with replacement, both sides sit them, the candidate's rates shifted."""
    dice = np.random.default_rng(11)
    counts = []
    for name, size in sizes.items():
        drawn = rates(name)[dice.integers(0, SIZES[name], (count, size))]
        incumbent = dice.random((count, size)) < drawn
        candidate = dice.random((count, size)) < np.clip(drawn + shift, 0, 1)
        wins, losses = (candidate & ~incumbent).sum(axis=1), (incumbent & ~candidate).sum(axis=1)
        both = (candidate & incumbent).sum(axis=1)
        counts.append(np.stack([both, wins, losses, size - both - wins - losses], axis=1))
    seen: dict[tuple, Judgement] = {}
    out = []
    for night in range(count):
        # which pair is which doesn't matter, so concordant pairs are folded: equal counts are judged once
        key = tuple(tuple(int(n) for n in (rows[night][0] + rows[night][3], rows[night][1], rows[night][2])) for rows in counts)
        if key not in seen:
            seen[key] = decide({name: cells(both, wins, losses, 0) for name, (both, wins, losses) in zip(sizes, key, strict=True)})
        out.append(seen[key])
    return out


@pytest.mark.parametrize("shift", [0.0, -0.05], ids=["null", "minus five points"])
def test_a_false_promotion_is_as_rare_as_promised(shift: float) -> None:
    """Of 10,000 nights on which the candidate is no better at most 0.5 % end in PROMOTE."""
    promoted = sum(found.decision is Decision.PROMOTE for found in nights(shift, NIGHTS))
    assert promoted <= 0.005 * NIGHTS


def test_a_gain_of_twenty_points_is_seen_with_eighty_pairs() -> None:
    """At the usual 5 % level, four nights of five show +20 points on 80 pairs; correlated outcomes make it easier still."""
    found = nights(0.2, 400, {"single": 80})
    assert sum(f.p_value <= 0.05 for f in found) >= 0.8 * len(found)


def test_a_gain_of_forty_points_is_promoted_nearly_always() -> None:
    """What a night is built for passes the gate on the default exam."""
    found = nights(0.4, 300)
    assert sum(f.decision is Decision.PROMOTE for f in found) >= 0.95 * len(found)
