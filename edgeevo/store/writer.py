"""The only writer. The daemon alone imports this; one event is one short BEGIN IMMEDIATE transaction, durable when `record` returns.

store = Store.open(path, max_bytes=...)         # checks, migrates; a damaged file is moved aside and said so in `store.incident`
night = store.start("night", cause="window", seed=1, request=b"...", now=now)
store.record(night, event, now=now)             # the event and every row derived from it
store.past(night)                               # what a resumed night is given
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from edgeevo.domain import Adapter, Environment, Episode, Split, Task, encode
from edgeevo.errors import StoreError
from edgeevo.events import (
    AdapterJudged,
    AdapterTrained,
    EnvironmentAdmitted,
    EnvironmentRejected,
    EpisodesPlayed,
    Evaluated,
    Event,
    ExamplesSelected,
    LineageMoved,
    NightEnded,
    Progress,
)
from edgeevo.store.file import connect
from edgeevo.store.library import Database
from edgeevo.store.schema import MIGRATIONS, NAMES

RUNNING = ("running", "interrupted")


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A night or an audit as stored. `deadline_at` None: no end but its own; `status`: running, interrupted, ended, failed or stopped."""

    id: str
    kind: str
    cause: str
    seed: int
    request: bytes
    adapter_sha256: str | None
    started_at: float
    deadline_at: float | None
    status: str
    failures: int


class Store:
    """The open database; use from one thread. Every method raises StoreError when the database can't be written."""

    def __init__(self, connection: sqlite3.Connection, path: Path, incident: str) -> None:
        self._db = Database(connection, execute_plugins=False)
        self._connection = connection
        self.path = path
        self.incident = incident  # empty: opened clean; else what was found wrong and where the old file went

    @classmethod
    def open(cls, path: Path, *, max_bytes: int, now: float, mounts: str = "") -> Store:
        """Open or create the database at `path`. `mounts`: the text of /proc/mounts, to refuse network file systems. StoreError."""
        connection, incident = connect(path, max_bytes=max_bytes, now=now, mounts=mounts)
        store = cls(connection, path, incident)
        store._migrate()
        if incident:
            store.note("database", incident, now)
        return store

    def _migrate(self) -> None:
        newer = [migration.name for migration in MIGRATIONS.applied(self._db) if migration.name not in NAMES]
        if newer:
            raise StoreError(
                f"database {self.path} has the newer schema {newer[-1]}", hint="install the version of edgeevo that wrote it, or newer"
            )
        try:
            MIGRATIONS.apply(self._db)
        except sqlite3.Error as error:
            raise StoreError(
                f"database {self.path} can't be migrated: {error}", hint="nothing was changed; see docs/operating.md"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[Database]:
        """IMMEDIATE: a deferred transaction that reads and then writes fails at once when somebody else wrote in between."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OverflowError) as error:
            raise self._unusable(error) from error

    def _read(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query, as StoreError when it fails: a bad page or a number beyond 64 bits ends one request, not the daemon."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StoreError:
        hint = "free disk space, or look at `edgeevo doctor`; nothing half-written was kept"
        return StoreError(f"database {self.path}: {error}", hint=hint)

    def _decoded(self, body: bytes, kind: Any) -> Any:
        """A stored value; StoreError, with msgspec's as its cause, when another version wrote it."""
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError as error:
            what = f"database {self.path} holds what can't be read: {error}"
            raise StoreError(what, hint="another version of edgeevo wrote it: install that one, or begin anew") from error

    # --- nights and audits ---

    def start(
        self,
        kind: str,
        *,
        cause: str,
        seed: int,
        request: bytes,
        now: float,
        deadline_at: float | None = None,
        adapter_sha256: str | None = None,
    ) -> str:
        """Register a night or an audit; returns its id ("night-7")."""
        with self._transaction() as db:
            number = db.execute("select count(*) from owners where kind = ?", [kind]).fetchone()[0] + 1
            owner = f"{kind}-{number}"
            row = {"id": owner, "kind": kind, "cause": cause, "seed": seed, "request": request, "adapter_sha256": adapter_sha256}
            db.table("owners").insert({**row, "started_at": now, "deadline_at": deadline_at, "status": "running"})
        return owner

    def finish(self, owner: str, status: str, *, reason: str, now: float, failures: int = 0) -> None:
        """Say how it stands: ended, failed, stopped (will not go on), interrupted (will, in a window) or running (at once, after a start).

        `failures`: in a row, without progress.
        """
        ended = None if status in RUNNING else now
        with self._transaction() as db:
            db.execute(
                "update owners set status = ?, reason = ?, ended_at = ?, failures = ? where id = ?",
                [status, reason, ended, failures, owner],
            )

    def resumed(self, owner: str, deadline_at: float | None) -> None:
        """A night or audit runs again, until `deadline_at` at most."""
        with self._transaction() as db:
            db.execute(
                "update owners set status = 'running', reason = '', ended_at = null, deadline_at = ? where id = ?", [deadline_at, owner]
            )

    def unfinished(self) -> list[Owner]:
        """Nights and audits that were running or interrupted, oldest first: after a start, these go on."""
        columns = [field.name for field in msgspec.structs.fields(Owner)]
        rows = self._read(f"select {', '.join(columns)} from owners where status in (?, ?) order by started_at", RUNNING)
        return [Owner(**dict(zip(columns, row, strict=True))) for row in rows]

    def count(self, kind: str) -> int:
        """How many nights or audits there have been."""
        return int(self._read("select count(*) from owners where kind = ?", [kind])[0][0])

    def past(self, owner: str) -> tuple[Event, ...]:
        """The stored events of a night or audit, in order."""
        rows = self._read("select body from events where owner = ? and body is not null order by seq", [owner])
        return tuple(self._decoded(row[0], Event) for row in rows)

    def audits_of(self, adapter_sha256: str | None) -> tuple[Event, ...]:
        """All stored parts of audits of one adapter (None: the base), so that nothing is measured twice."""
        rows = self._read(
            "select body from events join owners on owners.id = events.owner where owners.kind = 'audit' "
            "and events.kind = 'evaluated' and owners.adapter_sha256 is ? order by owners.started_at, seq",
            [adapter_sha256],
        )
        return tuple(self._decoded(row[0], Event) for row in rows)

    def lineages(self) -> tuple[Environment, ...]:
        """Admitted environments of all nights in the order of their admission; those of comparisons, which grow nothing, left out."""
        rows = self._read(
            "select body from environments join owners on owners.id = environments.owner "
            "where admitted = 1 and owners.cause != 'comparison' order by owners.started_at, owners.rowid, environments.seq"
        )
        return tuple(self._decoded(row[0], Environment) for row in rows)

    def moves(self, each: int) -> tuple[LineageMoved, ...]:
        """How pointers moved after attempts, at most the last `each` moves of a lineage, oldest first; those of comparisons left out."""
        rows = self._read(
            "select body from events join owners on owners.id = events.owner where events.kind = 'lineage_moved' "
            "and owners.kind = 'night' and owners.cause != 'comparison' order by owners.started_at desc, owners.rowid desc, seq desc"
        )
        kept: list[LineageMoved] = []
        counts: Counter[str] = Counter()
        for move in (self._decoded(row[0], LineageMoved) for row in rows):
            if move.environment_id and counts[move.lineage] < each:
                counts[move.lineage] += 1
                kept.append(move)
        return tuple(reversed(kept))

    def record(self, owner: str, event: Event, *, now: float) -> int:
        """One event and every row derived from it, in one durable transaction. Returns its number; `Progress` has none (0)."""
        if isinstance(event, Progress):
            return 0
        with self._transaction() as db:
            seq = db.execute("select coalesce(max(seq), 0) + 1 from events where owner = ?", [owner]).fetchone()[0]
            kind = type(event).__struct_config__.tag
            db.table("events").insert({"owner": owner, "seq": seq, "at": now, "kind": kind, "body": encode(event)})
            _derive(db, owner, seq, event, now)
        return int(seq)

    # --- everything else that lasts ---

    def add_run(self, row: dict[str, Any], now: float) -> int:
        """The outcome of a real task (columns of `runs` but id and at); returns its number."""
        with self._transaction() as db:
            cursor = db.execute(
                "insert into runs (at, uid, instruction, directory, check_command, policy_id, steps, ending, verified, seconds) values "
                "(:at, :uid, :instruction, :directory, :check_command, :policy_id, :steps, :ending, :verified, :seconds)",
                {**row, "at": now},
            )
            return int(cursor.lastrowid or 0)

    def run_of(self, uid: int, run: int | None) -> int | None:
        """The number of a user's run, if it is theirs: this one, or None for their last."""
        found = self._read("select max(id) from runs where uid = ?1 and (?2 is null or id = ?2)", [uid, run])
        return None if found[0][0] is None else int(found[0][0])

    def add_feedback(self, run: int, uid: int, now: float, *, good: bool, note: str) -> None:
        """What a person thought of a run; it is an opinion, and nothing that decides reads it."""
        with self._transaction() as db:
            db.table("feedback").insert({"run": run, "at": now, "uid": uid, "good": int(good), "note": note})

    def slot_changed(
        self, action: str, active: str | None, previous: str | None, reason: str, now: float, *, judgement: tuple[str, int] | None = None
    ) -> None:
        """The slots were flipped: activate, rollback or quarantine; `judgement` (owner, number of the event) is what it carries out."""
        owner, seq = judgement or (None, None)
        with self._transaction() as db:
            row = {"at": now, "action": action, "active": active, "previous": previous, "reason": reason}
            db.table("slot_changes").insert({**row, "owner": owner, "seq": seq})

    def promotions_left(self) -> list[tuple[str, int, str | None, Adapter]]:
        """Promotions that were recorded but not carried out: owner, number of the event, whom it won against, adapter."""
        rows = self._read(
            "select j.owner, j.seq, j.incumbent_sha256, a.body from judgements j "
            "join adapters a on a.sha256 = j.candidate_sha256 join owners o on o.id = j.owner "
            "where j.decision = 'promote' and o.cause != 'comparison' "
            "and not exists (select 1 from slot_changes s where s.owner = j.owner and s.seq = j.seq) order by j.at"
        )
        return [(owner, seq, incumbent, self._decoded(body, Adapter)) for owner, seq, incumbent, body in rows]

    def adapter(self, prefix: str) -> Adapter | None:
        """The one adapter whose hash starts with `prefix`; None when there is none, or more than one."""
        rows = self._read("select body from adapters where substr(sha256, 1, ?) = ? limit 2", [len(prefix), prefix])
        return self._decoded(rows[0][0], Adapter) if len(rows) == 1 else None

    def last_night(self, since: float = 0.0, cause: str | None = None) -> tuple[str, str]:
        """Id and summary of the latest finished night since then (of that cause), or two empty strings."""
        found = self._read(
            "select id, case when summary = '' then status || ' ' || reason else summary end from owners where kind = 'night' "
            "and ended_at is not null and started_at >= ?1 and (?2 is null or cause = ?2) order by started_at desc limit 1",
            [since, cause],
        )
        return (found[0][0], found[0][1]) if found else ("", "")

    def examples_of_last_night(self) -> int | None:
        """How many examples the latest evolving night trained on; None when there was none."""
        found = self._read(
            "select json_extract(e.body, '$.count') from events e join owners o on o.id = e.owner "
            "where e.kind = 'examples_selected' and o.cause != 'comparison' order by e.at desc limit 1"
        )
        return int(found[0][0]) if found else None

    def note(self, kind: str, detail: str, now: float) -> None:
        """An incident: something that went wrong with the box, for `status` and `history`."""
        with self._transaction() as db:
            db.table("incidents").insert({"at": now, "kind": kind, "detail": detail[:4000]})

    def prune(self, older_than: float) -> int:
        """Drop transcripts (bodies of played groups) from before `older_than`; outcomes stay. Returns how many."""
        with self._transaction() as db:
            return int(
                db.execute(
                    "update events set body = null where kind = 'episodes_played' and body is not null and at < ?", [older_than]
                ).rowcount
            )

    def close(self) -> None:
        """Checkpoint and close; safe to call twice."""
        self._connection.close()


def _derive(db: Database, owner: str, seq: int, event: Event, now: float) -> None:
    """The rows that follow from one event."""
    match event:
        case EnvironmentAdmitted() | EnvironmentRejected():
            _environment(db, owner, seq, event)
        case EpisodesPlayed():
            _task(db, owner, event.task, "practice", event.environment_id)
            _attempts(db, owner, event, now)
        case ExamplesSelected():
            for task in event.tasks:
                _task(db, owner, task, "examples", None)
        case Evaluated():
            for task in event.tasks:
                _task(db, owner, task, str(event.split), None)
            shared = {"owner": owner, "split": event.split, "set_id": event.set_id, "policy_id": event.policy_id, "attempt": 0, "at": now}
            db.table("outcomes").insert_all(({**msgspec.to_builtins(outcome), **shared} for outcome in event.outcomes), replace=True)
        case AdapterTrained():
            row = {key: getattr(event.adapter, key) for key in ("sha256", "base_sha256", "examples_id", "rank", "alpha")}
            more = {
                "owner": owner,
                "loss": event.loss,
                "tokens": event.tokens,
                "seconds": event.seconds,
                "at": now,
                "body": encode(event.adapter),
            }
            db.table("adapters").insert({**row, **more}, replace=True)
        case AdapterJudged():
            row = {
                key: getattr(event, key)
                for key in ("candidate_sha256", "incumbent_sha256", "candidate_policy", "incumbent_policy", "set_id")
            }
            row |= {key: getattr(event.judgement, key) for key in ("decision", "n", "wins", "losses", "p_value")}
            db.table("judgements").insert({**row, "owner": owner, "seq": seq, "at": now, "body": encode(event.judgement)})
        case NightEnded():
            db.execute("update owners set status = 'ended', ended_at = ?, summary = ? where id = ?", [now, event.summary, owner])


def _environment(db: Database, owner: str, seq: int, event: EnvironmentAdmitted | EnvironmentRejected) -> None:
    environment = event.environment
    row = {key: getattr(environment, key) for key in ("id", "lineage", "generation", "parent", "direction", "operator")}
    row |= {"scenario": environment.program.scenario, "structure": environment.program.structure, "place": event.place}
    row |= {"owner": owner, "seq": seq, "body": encode(environment), "evidence": encode(event.evidence)}
    row["admitted"] = int(isinstance(event, EnvironmentAdmitted))
    if isinstance(event, EnvironmentRejected):
        row |= {"reason": event.reason, "detail": event.detail}
    db.table("environments").insert(row)


def _task(db: Database, owner: str, task: Task, purpose: str, environment: str | None) -> None:
    row = {"id": task.id, "split": task.split, "structure": task.program.structure, "instruction": task.instruction}
    db.table("tasks").insert({**row, "oracle": encode(task.oracle), "environment": environment, "body": encode(task)}, ignore=True)
    db.table("task_uses").insert({"task_id": task.id, "owner": owner, "purpose": purpose}, ignore=True)


def _attempts(db: Database, owner: str, event: EpisodesPlayed, now: float) -> None:
    task, links = event.task, len(event.task.program.links)
    shared = {"owner": owner, "split": Split.PRACTICE, "set_id": owner, "task_id": task.id, "structure": task.program.structure, "at": now}
    shared |= {"stratum": {1: "single", 2: "pair", 3: "triple"}.get(links, f"{links} links"), "skill": task.program.links[-1].skill}
    db.table("outcomes").insert_all(({**shared, **_attempt(place, episode)} for place, episode in enumerate(event.episodes)), replace=True)


def _attempt(place: int, episode: Episode) -> dict[str, Any]:
    tokens = sum(step.reply_tokens for step in episode.steps)
    return {"policy_id": episode.policy_id, "attempt": place, "passed": int(episode.passed), "ending": episode.ending,
            "steps": len(episode.steps), "reply_tokens": tokens, "seconds": episode.seconds}  # fmt: skip
