"""The figures of `edgeevo report`, each a query on the store.

Pass rates with intervals, the gate's table, what evolution did, and the proof that practice, exam and audit never mix, by content.
Rates carry Wilson 95 % intervals; gains are paired by task, their interval is Newcombe's (hybrid score) without credit for the pairing.
BROKEN attempts count nowhere.
"""

from __future__ import annotations

import math
import shlex
from itertools import combinations

import msgspec

from edgeevo.domain import Task, Value, content_id, runs
from edgeevo.events import Judgement
from edgeevo.store.reader import Reader, RunRow

Z = 1.959963984540054
PURPOSES = ("practice", "exam", "audit")


class Rate(Value):
    """A pass rate of one policy on one stratum of the audit set, with its 95 % interval."""

    policy: str  # "base" or the first 12 digits of the adapter's hash
    cause: str  # of the night that trained the adapter; empty for the base and for the factory adapter
    stratum: str
    n: int
    passed: int
    rate: float
    low: float
    high: float


class Gain(Value):
    """After minus before on the same audit tasks, in percentage points, with its 95 % interval."""

    before: str
    after: str
    cause: str
    stratum: str
    n: int
    points: float
    low: float
    high: float


class Gate(Value):
    """One judgement with its night."""

    owner: str
    cause: str
    candidate: str
    incumbent: str
    judgement: Judgement


class Evolution(Value):
    """What a night's evolution did: how many were admitted, and how many were rejected for each reason."""

    owner: str
    admitted: int
    by_direction: dict[str, int]
    rejected: dict[str, int]


class Learnt(Value):
    """What a night's training learnt from: how many examples of each source (verified reference solutions, own successes)."""

    owner: str
    count: int
    by_source: dict[str, int]


class PhaseTime(Value):
    """Seconds of one phase of a night or audit (all its parts together)."""

    owner: str
    phase: str
    seconds: float


class Overlap(Value):
    """What two of the three sets have in common: structures, commands or 8-grams. `common` must be 0."""

    what: str
    left: str
    right: str
    left_count: int
    right_count: int
    common: int
    example: str = ""  # one thing in common; empty: nothing is


class Report(Value):
    """Everything that `edgeevo report` prints."""

    rates: tuple[Rate, ...]
    gains: tuple[Gain, ...]
    gates: tuple[Gate, ...]
    evolution: tuple[Evolution, ...]
    learnt: tuple[Learnt, ...]
    phases: tuple[PhaseTime, ...]
    runs: tuple[RunRow, ...]
    overlaps: tuple[Overlap, ...]


def report(reader: Reader) -> Report:
    """All figures of this state directory."""
    return Report(
        rates=tuple(rates(reader)),
        gains=tuple(gains(reader)),
        gates=tuple(gates(reader)),
        evolution=tuple(evolution(reader)),
        learnt=tuple(learnt(reader)),
        phases=tuple(phases(reader)),
        runs=tuple(reversed(reader.runs())),
        overlaps=tuple(overlaps(reader)),
    )


def wilson(passed: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a rate; (0, 1) when there is nothing."""
    if n == 0:
        return 0.0, 1.0
    share, spread = passed / n, Z * Z / n
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def difference(before: int, after: int, n: int) -> tuple[float, float, float]:
    """After minus before as shares of n, with Newcombe's interval from the two Wilson intervals."""
    p, q = before / n, after / n
    (p_low, p_high), (q_low, q_high) = wilson(before, n), wilson(after, n)
    low = (q - p) - math.hypot(q - q_low, p_high - p)
    high = (q - p) + math.hypot(q_high - q, p - p_low)
    return q - p, low, high


_AUDITED = """
with audited as (
  select coalesce(substr(w.adapter_sha256, 1, 12), 'base') as policy, coalesce(m.cause, '') as cause, w.started_at,
    c.set_id, c.task_id, c.stratum, c.passed
  from outcomes c join owners w on w.id = c.owner
  left join adapters a on a.sha256 = w.adapter_sha256 left join owners m on m.id = a.owner
  where c.split = 'audit' and c.ending <> 'broken')
"""


def rates(reader: Reader) -> list[Rate]:
    """Audit pass rates, per policy (in the order they were audited) and stratum, "all" last."""
    rows = reader.query(
        _AUDITED
        + """
        select policy, cause, stratum, count(*) as n, sum(passed) as passed, min(started_at) as first, 0 as last
        from audited group by policy, stratum
        union all
        select policy, cause, 'all', count(*), sum(passed), min(started_at), 1 from audited group by policy
        order by first, policy, last, stratum
        """
    )
    found = []
    for row in rows:
        low, high = wilson(row["passed"], row["n"])
        kept = {key: row[key] for key in ("policy", "cause", "stratum", "n", "passed")}
        found.append(Rate(**kept, rate=row["passed"] / row["n"], low=low, high=high))
    return found


def gains(reader: Reader) -> list[Gain]:
    """For every audited adapter its gain over the base, on the tasks that both sat."""
    rows = reader.query(
        _AUDITED
        + """
        , pairs as (select y.policy as after, y.cause, y.stratum, x.passed as b, y.passed as a, y.started_at
          from audited x join audited y on x.task_id = y.task_id and x.set_id = y.set_id where x.policy = 'base' and y.policy <> 'base')
        select after, cause, stratum, count(*) as n, sum(b) as b, sum(a) as a, min(started_at) as first, 0 as last
        from pairs group by after, stratum
        union all
        select after, cause, 'all', count(*), sum(b), sum(a), min(started_at), 1 from pairs group by after
        order by first, after, last, stratum
        """
    )
    found = []
    for row in rows:
        share, low, high = difference(row["b"], row["a"], row["n"])
        kept = {key: row[key] for key in ("after", "cause", "stratum", "n")}
        found.append(Gain(before="base", **kept, points=100 * share, low=100 * low, high=100 * high))
    return found


def gates(reader: Reader) -> list[Gate]:
    """All judgements, oldest first."""
    rows = reader.query(
        "select j.owner, o.cause, j.candidate_sha256, j.incumbent_sha256, j.body, a.sha256 is null as untrained from judgements j "
        "join owners o on o.id = j.owner left join adapters a on a.sha256 = j.incumbent_sha256 order by j.at"
    )
    return [
        Gate(
            owner=row["owner"],
            cause=row["cause"],
            candidate=row["candidate_sha256"][:12],
            incumbent=_incumbent(row["incumbent_sha256"], untrained=row["untrained"]),
            judgement=msgspec.json.decode(row["body"], type=Judgement),
        )
        for row in rows
    ]


def _incumbent(sha256: str | None, *, untrained: bool) -> str:
    """What no night of this box trained, and yet was an incumbent, is the factory adapter."""
    return "base" if sha256 is None else f"{'factory ' if untrained else ''}{sha256[:12]}"


def evolution(reader: Reader) -> list[Evolution]:
    """Per night: environments admitted by direction, and rejected by reason, the most frequent first."""
    rows = reader.query(
        "select owner, admitted, case admitted when 1 then coalesce(direction, 'founder') else reason end as name, count(*) as n "
        "from environments group by 1, 2, 3 order by owner, n desc, name"
    )
    found: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for row in rows:
        found.setdefault(row["owner"], ({}, {}))[0 if row["admitted"] else 1][row["name"]] = row["n"]
    return [Evolution(owner=owner, admitted=sum(yes.values()), by_direction=yes, rejected=no) for owner, (yes, no) in found.items()]


def learnt(reader: Reader) -> list[Learnt]:
    """Per night: the examples that were chosen last, by source, the most frequent first."""
    rows = reader.query(
        "select owner, by.key as source, by.value as n from events, json_each(body, '$.by_source') as by where kind = 'examples_selected' "
        "and seq = (select max(seq) from events e where e.owner = events.owner and e.kind = 'examples_selected') order by at, owner, n desc"
    )
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["owner"], {})[row["source"]] = row["n"]
    return [Learnt(owner=owner, count=sum(by_source.values()), by_source=by_source) for owner, by_source in found.items()]


def phases(reader: Reader) -> list[PhaseTime]:
    """Seconds per phase, in the order in which they ended first; audits by their own clock."""
    rows = reader.query(
        "select owner, json_extract(body, '$.phase') as phase, sum(json_extract(body, '$.seconds')) as seconds, "
        "min(at) as first, min(seq) as seq "
        "from events where kind = 'phase_ended' group by owner, phase "
        "union all select id, 'audit', ended_at - started_at, started_at, 0 from owners where kind = 'audit' and ended_at is not null "
        "and id not in (select owner from events where kind = 'phase_ended') order by first, seq"
    )
    return [PhaseTime(owner=row["owner"], phase=row["phase"], seconds=row["seconds"]) for row in rows]


# --- disjointness by content -------------------------------------------------------------------------------------------


def overlaps(reader: Reader) -> list[Overlap]:
    """What practice (played or learnt from), exam and audit have in common: structures, normalised oracles, instruction 8-grams."""
    sets: dict[str, dict[str, set[str]]] = {purpose: {"structure": set(), "commands": set(), "8-grams": set()} for purpose in PURPOSES}
    for purpose in PURPOSES:
        for source in (purpose, "examples") if purpose == "practice" else (purpose,):
            for task in reader.tasks(source):
                sets[purpose]["structure"].add(structure_key(task))
                sets[purpose]["commands"].add(commands_key(task))
                sets[purpose]["8-grams"] |= runs(task.instruction)
    found = []
    for what in ("structure", "commands", "8-grams"):
        for left, right in combinations(PURPOSES, 2):
            a, b = sets[left][what], sets[right][what]
            common = sorted(a & b)
            example = common[0] if common else ""
            found.append(
                Overlap(what=what, left=left, right=right, left_count=len(a), right_count=len(b), common=len(common), example=example)
            )
    return found


def structure_key(task: Task) -> str:
    """What must not recur: of a single link its skill and variant in its scenario, of a longer program its links in whatever scenario."""
    links = task.program.links
    return task.program.structure if len(links) == 1 else content_id([[link.skill, link.variant] for link in links])


def commands_key(task: Task) -> str:
    """The oracle's commands with quoting and spacing normalised, so that only what they do counts."""
    return " ; ".join(_normalised(command) for command in task.oracle)


def _normalised(command: str) -> str:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return " ".join(lexer)
    except ValueError:  # a here-document or an odd quote: spacing alone is normalised
        return " ".join(command.split())
