"""`edgeevo report`: the figures of the store as text. Formatting only: every number comes from edgeevo.store.figures."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from edgeevo.cli import Settings
from edgeevo.cli.text import clean, duration, table
from edgeevo.store.figures import Gate, Report
from edgeevo.store.figures import report as figures
from edgeevo.store.reader import Reader


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.pass_obj
def report(settings: Settings, *, as_json: bool) -> None:
    """Audit pass rates with intervals, the gate's table, time per phase, real tasks, and what the sets have in common."""
    with Reader(settings.loaded.database) as reader:
        found = figures(reader)
    click.echo(msgspec.json.encode(found).decode() if as_json else "\n".join(lines(found)))


def lines(found: Report) -> Iterator[str]:
    """The whole report; a section without data says so."""
    yield from _section("Audit pass rate (held out, read by no decision; Wilson 95 %)", _rates(found), "no audit yet: `edgeevo audit`")
    yield from _section(
        "Gain over the base on the same audit tasks (percentage points; Newcombe 95 %)",
        _gains(found),
        "needs an audit of the base and of an adapter",
    )
    yield from _section("Gate (exam; exact one-sided McNemar on discordant pairs)", _gates(found.gates), "nothing was judged yet")
    yield from _section("Evolution", _evolution(found), "no environments yet")
    yield from _section("Examples that were learnt from, by source", _learnt(found), "no training yet")
    yield from _section("Time per phase", _phases(found), "no night yet")
    yield from _section("Real tasks", _runs(found), "none yet: `edgeevo run`")
    yield from _section("What practice, exam and audit have in common (must be 0)", _overlaps(found), "no tasks yet")


def _section(title: str, body: list[str], empty: str) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in (body or [empty]))


def _rates(found: Report) -> list[str]:
    rows = [
        (
            _policy(each.policy, each.cause),
            each.stratum,
            f"{each.passed}/{each.n}",
            f"{each.rate:.1%}",
            f"{each.low:.1%} to {each.high:.1%}",
        )
        for each in found.rates
    ]
    return table(rows, ("policy", "stratum", "passed", "rate", "interval")).splitlines() if rows else []


def _gains(found: Report) -> list[str]:
    rows = [
        (_policy(each.after, each.cause), each.stratum, str(each.n), f"{each.points:+.1f}", f"{each.low:+.1f} to {each.high:+.1f}")
        for each in found.gains
    ]
    return table(rows, ("policy", "stratum", "pairs", "gain", "interval")).splitlines() if rows else []


def _policy(policy: str, cause: str) -> str:
    note = {"comparison": " (founders only)", "": " (factory)"}  # an adapter that no night of this box trained is the factory's
    return policy if policy == "base" else f"adapter {policy}{note.get(cause, '')}"


def _gates(gates: tuple[Gate, ...]) -> list[str]:
    shown = []
    for gate in gates:
        judged = gate.judgement
        serves = " (comparison: never promoted)" if gate.cause == "comparison" else ""
        shown.append(f"{gate.owner}: candidate {gate.candidate} against {gate.incumbent}: {judged.decision.upper()}{serves}")
        shown.append(
            f"  won {judged.wins}, lost {judged.losses} of {judged.n} pairs, p = {judged.p_value:.2g}" + _wanted(judged.more_wanted_pairs)
        )
        rows = [
            (
                each.name,
                str(each.n),
                str(each.incumbent_passed),
                str(each.candidate_passed),
                str(each.wins),
                str(each.losses),
                f"{'yes' if each.non_inferior else 'NO'} (margin {each.margin:.0%})",
            )
            for each in judged.strata
        ]
        header = ("stratum", "pairs", "incumbent", "candidate", "won", "lost", "not inferior")
        shown += [f"  {line}" for line in table(rows, header).splitlines()]
        shown += [f"  {clean(reason)}" for reason in judged.reasons]
    return shown


def _wanted(pairs: int) -> str:
    return f", {pairs} more pairs wanted" if pairs else ""


def _evolution(found: Report) -> list[str]:
    shown = []
    for night in found.evolution:
        kinds = ", ".join(f"{count} {name}" for name, count in night.by_direction.items())
        shown.append(f"{night.owner}: {night.admitted} admitted" + (f" ({clean(kinds)})" if kinds else ""))
        rejected = ", ".join(f"{count} {name}" for name, count in night.rejected.items())
        shown.append(f"  {sum(night.rejected.values())} rejected" + (f": {clean(rejected)}" if rejected else ""))
    return shown


def _learnt(found: Report) -> list[str]:
    names = {"oracle": "verified reference solutions", "success": "own verified successes"}
    return [
        f"{night.owner}: {night.count} ({', '.join(f'{n} {names.get(source, clean(source))}' for source, n in night.by_source.items())})"
        for night in found.learnt
    ]


def _phases(found: Report) -> list[str]:
    by_owner: dict[str, list[str]] = {}
    for each in found.phases:
        by_owner.setdefault(each.owner, []).append(f"{each.phase} {duration(each.seconds)}")
    return [f"{owner}: {', '.join(parts)}" for owner, parts in by_owner.items()]


def _runs(found: Report) -> list[str]:
    outcome = {None: "not checked", True: "passed", False: "failed"}
    rows = [
        (str(each.id), outcome[each.verified], each.ending, str(each.steps), f"{each.seconds:.1f} s", each.instruction[:70])
        for each in found.runs
    ]
    return table(rows, ("run", "check", "ending", "commands", "time", "instruction")).splitlines() if rows else []


def _overlaps(found: Report) -> list[str]:
    if not any(each.left_count or each.right_count for each in found.overlaps):
        return []
    rows = [
        (each.what, f"{each.left} ({each.left_count})", f"{each.right} ({each.right_count})", str(each.common), each.example[:60])
        for each in found.overlaps
    ]
    return table(rows, ("what", "of", "and", "common", "for example")).splitlines()
