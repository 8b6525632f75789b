"""Read-only queries for people; works beside the daemon and when it is dead. Everything printed comes from here or from `figures`.

with Reader(path) as reader:
    for night in reader.history(): ...
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from edgeevo.domain import Adapter, Environment, Task, Value
from edgeevo.errors import StoreError
from edgeevo.events import Evidence

RowT = TypeVar("RowT", bound=Value)


class NightRow(Value):
    """A night or audit in the history. `ended_at` None: not over; `decision` empty: nothing was judged."""

    id: str
    kind: str
    cause: str
    started_at: float
    ended_at: float | None
    status: str
    reason: str
    summary: str
    admitted: int
    rejected: int
    attempts: int
    examples: int
    decision: str


class EnvironmentRow(Value):
    """One line of `env list`; `attempts` and `passed` are of practice."""

    id: str
    lineage: str
    generation: int
    admitted: bool
    scenario: str
    skills: str
    direction: str
    operator: str
    reason: str
    attempts: int
    passed: int


class EnvironmentFile(Value):
    """Everything about one environment; `tasks` are those rendered from it that were played."""

    row: EnvironmentRow
    detail: str
    environment: Environment
    evidence: tuple[Evidence, ...]
    tasks: tuple[Task, ...]


class AdapterRow(Value):
    """One line of `adapters`; `slot` is active, previous or empty; `decision` empty: never judged."""

    sha256: str
    owner: str
    at: float
    loss: float
    examples_id: str
    decision: str
    slot: str


class RunRow(Value):
    """The outcome of a real task. `verified` None: it was not checked."""

    id: int
    at: float
    instruction: str
    directory: str
    check_command: str | None
    policy_id: str
    steps: int
    ending: str
    verified: bool | None
    seconds: float


class Reader:
    """A read-only connection; raises StoreError when there is no database or it can't be read."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise StoreError(f"there is no database at {path}", hint="it appears when the daemon first starts: `edgeevo daemon`")
        try:
            self.connection = _open(path)
        except sqlite3.Error as error:
            raise StoreError(f"database {path} can't be read: {error}", hint="read it as the user that the daemon runs as") from error

    def query(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[dict[str, Any]]:
        """Rows as dictionaries; StoreError when the database is damaged or of another schema."""
        try:
            cursor = self.connection.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except sqlite3.Error as error:
            raise StoreError(
                f"the database can't be read: {error}", hint="start the daemon once, so that it migrates or replaces it"
            ) from error

    def _rows(self, kind: type[RowT], sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[RowT]:
        return [msgspec.convert(row, kind, strict=False) for row in self.query(sql, parameters)]

    def history(self, limit: int = 20) -> list[NightRow]:
        """Nights and audits, the latest first."""
        return self._rows(
            NightRow,
            """
            select o.id, o.kind, o.cause, o.started_at, o.ended_at, o.status, o.reason, o.summary,
              (select count(*) from environments e where e.owner = o.id and e.admitted = 1) as admitted,
              (select count(*) from environments e where e.owner = o.id and e.admitted = 0) as rejected,
              (select count(*) from outcomes c where c.owner = o.id) as attempts,
              coalesce((select json_extract(v.body, '$.count') from events v where v.owner = o.id and v.kind = 'examples_selected'
                order by v.seq desc limit 1), 0) as examples,
              coalesce((select j.decision from judgements j where j.owner = o.id order by j.seq desc limit 1), '') as decision
            from owners o order by o.started_at desc limit ?
            """,
            [limit],
        )

    def environments(self, *, rejected: bool = False, limit: int = 1000) -> list[EnvironmentRow]:
        """Admitted (or rejected) environments, newest first."""
        sql = f"{_ENVIRONMENTS} where e.admitted = ? order by e.rowid desc limit ?"
        return self._rows(EnvironmentRow, sql, [0 if rejected else 1, limit])

    def environment(self, prefix: str) -> EnvironmentFile:
        """One environment by the first digits of its id, with the evidence for or against it. StoreError when not exactly one matches."""
        rows = self.query(
            "select id, detail, body, evidence, admitted from environments where substr(id, 1, ?) = ? order by admitted desc, rowid desc",
            [len(prefix), prefix],
        )
        if len({row["id"] for row in rows}) != 1:
            found = f"{len({row['id'] for row in rows})} environments start with {prefix!r}"
            raise StoreError(found, hint="`edgeevo env list` shows the ids; `--rejected` those that were not admitted")
        found_row = self._rows(EnvironmentRow, f"{_ENVIRONMENTS} where e.id = ? order by e.admitted desc limit 1", [rows[0]["id"]])[0]
        tasks = self.query("select body from tasks where environment = ?", [rows[0]["id"]])
        return EnvironmentFile(
            row=found_row,
            detail=rows[0]["detail"],
            environment=msgspec.json.decode(rows[0]["body"], type=Environment),
            evidence=msgspec.json.decode(rows[0]["evidence"], type=tuple[Evidence, ...]),
            tasks=tuple(msgspec.json.decode(row["body"], type=Task) for row in tasks),
        )

    def adapters(self) -> list[AdapterRow]:
        """All adapters ever trained, newest first, with the slot they are in."""
        return self._rows(
            AdapterRow,
            """
            select a.sha256, a.owner, a.at, a.loss, a.examples_id,
              coalesce((select j.decision from judgements j where j.candidate_sha256 = a.sha256 order by j.at desc limit 1), '')
                as decision,
              case a.sha256 when (select active from slot_changes order by id desc limit 1) then 'active'
                when (select previous from slot_changes order by id desc limit 1) then 'previous' else '' end as slot
            from adapters a order by a.at desc
            """,
        )

    def adapter(self, name: str | None) -> Adapter | None:
        """As the daemon resolves it: None = what serves, "base" = none, else the first digits of a hash (StoreError unless exactly one)."""
        if name == "base":
            return None
        if name is None:
            rows = self.query("select body from adapters where sha256 = (select active from slot_changes order by id desc limit 1)")
        else:
            rows = self.query("select body from adapters where substr(sha256, 1, ?) = ?", [len(name), name])
            if len(rows) != 1:
                raise StoreError(
                    f"{len(rows)} adapters start with {name!r}", hint="`edgeevo adapters` lists them; `base` is the model without one"
                )
        return msgspec.json.decode(rows[0]["body"], type=Adapter) if rows else None

    def runs(self, limit: int = 50) -> list[RunRow]:
        """Outcomes of real tasks, the latest first."""
        columns = ", ".join(field.name for field in msgspec.structs.fields(RunRow))
        return self._rows(RunRow, f"select {columns} from runs order by id desc limit ?", [limit])

    def tasks(self, purpose: str) -> Iterator[Task]:
        """Stored tasks used for "practice", "examples", "exam" or "audit"."""
        sql = "select body from tasks where id in (select task_id from task_uses where purpose = ?) order by id"
        for row in self.query(sql, [purpose]):
            yield msgspec.json.decode(row["body"], type=Task)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_ENVIRONMENTS = """
select e.id, e.lineage, e.generation, e.admitted, e.scenario, e.reason,
  coalesce(e.direction, '') as direction, coalesce(e.operator, '') as operator,
  (select group_concat(json_extract(l.value, '$.skill'), '+') from json_each(e.body, '$.program.links') l) as skills,
  (select count(*) from outcomes o join tasks t on t.id = o.task_id where t.environment = e.id and o.split = 'practice') as attempts,
  (select coalesce(sum(o.passed), 0) from outcomes o join tasks t on t.id = o.task_id
    where t.environment = e.id and o.split = 'practice') as passed
from environments e"""


def _open(path: Path) -> sqlite3.Connection:
    """Read-only beside a living writer; a database in a directory that we may not write to is opened as the immutable file it then is."""
    try:
        return _probed(f"file:{path}?mode=ro")
    except sqlite3.OperationalError:
        return _probed(f"file:{path}?mode=ro&immutable=1")


def _probed(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=5.0)
    try:
        connection.execute("select count(*) from sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
