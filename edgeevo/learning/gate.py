"""The gate: two evaluations of the same tasks in, one judgement with its reasons out. Pure.

Only pairs on which the two policies disagree say anything (McNemar 1947): with w wins and l losses of the candidate, the exact one-sided
p-value is P(X ≥ w) for X ~ Binomial(w + l, ½). PROMOTE needs p at or below the threshold over all pairs, and on every stratum that the
difference is not shown, nor measured, to be below −margin. The number of pairs is fixed before the night, so looking once is valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from edgeevo.events import Decision, Judgement, Outcome, Stratum

Z_ONE_SIDED_95 = 1.6449
Z_POWER_80 = 0.8416


def mcnemar_p(wins: int, losses: int) -> float:
    """Exact one-sided p-value that the candidate is no better, given its wins and losses among discordant pairs."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n if n else 1.0


def lower_bound(wins: int, losses: int, n: int) -> float:
    """One-sided 95 % lower bound of the paired difference (wins − losses) / n; Agresti & Min (2005): half a pair added to each cell."""
    w, lost, total = wins + 0.5, losses + 0.5, n + 2
    difference = (w - lost) / total
    return difference - Z_ONE_SIDED_95 * math.sqrt(max(0.0, (w + lost) / total - difference**2) / total)


def wanted_pairs(difference: float, discordant_share: float, p_threshold: float) -> int:
    """Pairs for 80 % power to see `difference` at `p_threshold` with this share of discordant pairs (normal approximation, Connor 1987)."""
    if difference <= 0:
        return 0
    z = _z(p_threshold)
    spread = math.sqrt(max(0.0, discordant_share - difference**2))
    return math.ceil(((z * math.sqrt(discordant_share) + Z_POWER_80 * spread) / difference) ** 2)


def _z(p: float) -> float:
    """The upper `p` quantile of the normal distribution, by bisection of erfc."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) / 2 > p else (low, middle)
    return low


def _stratum(name: str, pairs: Sequence[tuple[Outcome, Outcome]], margin: float) -> Stratum:
    wins = sum(c.passed and not i.passed for i, c in pairs)
    losses = sum(i.passed and not c.passed for i, c in pairs)
    return Stratum(
        name=name,
        n=len(pairs),
        incumbent_passed=sum(i.passed for i, _ in pairs),
        candidate_passed=sum(c.passed for _, c in pairs),
        wins=wins,
        losses=losses,
        margin=margin,
        non_inferior=losses == 0 or lower_bound(wins, losses, len(pairs)) >= -margin,
    )


def judge(incumbent: Mapping[str, Outcome], candidate: Mapping[str, Outcome], *, p_threshold: float, margin: float) -> Judgement:
    """Decide on the tasks that both sat (keys are task ids); pairs with a BROKEN episode must have been left out by the caller."""
    both = sorted(incumbent.keys() & candidate.keys())
    pairs = [(incumbent[k], candidate[k]) for k in both]
    by_stratum: dict[str, list[tuple[Outcome, Outcome]]] = {}
    for pair in pairs:
        by_stratum.setdefault(pair[0].stratum, []).append(pair)
    strata = tuple(_stratum(name, by_stratum[name], margin) for name in sorted(by_stratum))
    wins, losses = sum(s.wins for s in strata), sum(s.losses for s in strata)
    p = mcnemar_p(wins, losses)
    decision, reasons = _decide(strata, wins, losses, p, p_threshold)
    more = 0
    if decision is Decision.KEEP and pairs:
        more = max(0, wanted_pairs((wins - losses) / len(pairs), (wins + losses) / len(pairs), p_threshold) - len(pairs))
    return Judgement(
        decision=decision, reasons=reasons, n=len(pairs), wins=wins, losses=losses, p_value=p, strata=strata, more_wanted_pairs=more
    )


def _decide(strata: Sequence[Stratum], wins: int, losses: int, p: float, p_threshold: float) -> tuple[Decision, tuple[str, ...]]:
    worse = [s for s in strata if not s.non_inferior and s.wins - s.losses < -s.margin * s.n]
    if worse:
        return Decision.REJECT, tuple(f"worse on {s.name}: {s.incumbent_passed} → {s.candidate_passed} of {s.n}" for s in worse)
    if mcnemar_p(losses, wins) <= p_threshold:
        return Decision.REJECT, (f"worse overall: {wins} wins, {losses} losses",)
    unsure = [s for s in strata if not s.non_inferior]
    if p > p_threshold:
        return Decision.KEEP, (f"not enough evidence: {wins} wins, {losses} losses, p = {p:.3g}, wanted ≤ {p_threshold:g}",)
    if unsure:
        return Decision.KEEP, tuple(f"not shown to be no worse on {s.name}: {s.wins} wins, {s.losses} losses of {s.n}" for s in unsure)
    return Decision.PROMOTE, (f"better overall: {wins} wins, {losses} losses, p = {p:.3g}; no stratum is worse by more than its margin",)
