"""The tables, as migrations: each runs once, in one transaction, in this order. A database newer than this code is refused.

`events` is the truth: every other table is filled from an event in the same transaction, so that figures are plain queries.
`owner` is the id of the night or audit that an event belongs to.
"""

from __future__ import annotations

import re

from edgeevo.store.library import Database, Migrations

MIGRATIONS = Migrations("edgeevo")

_FIRST = """
create table owners (
    id text primary key, kind text not null, cause text not null, seed integer not null, request text not null,
    adapter_sha256 text, started_at real not null, deadline_at real, ended_at real,
    status text not null, reason text not null default '', summary text not null default '', failures integer not null default 0
);
create table events (
    owner text not null references owners(id), seq integer not null, at real not null, kind text not null, body blob,
    primary key (owner, seq)
);
create table environments (
    owner text not null, seq integer not null, id text not null, admitted integer not null, lineage text not null,
    generation integer not null, place integer not null,
    parent text, direction text, operator text, scenario text not null, structure text not null,
    reason text not null default '', detail text not null default '', body blob not null, evidence blob not null,
    primary key (owner, seq)
);
create index environments_id on environments(id);
create index environments_lineage on environments(lineage, generation);
create table tasks (
    id text primary key, split text not null, structure text not null, instruction text not null, oracle blob not null,
    environment text, body blob not null
);
create table task_uses (task_id text not null, owner text not null, purpose text not null, primary key (task_id, owner, purpose));
create table outcomes (
    owner text not null, split text not null, set_id text not null, policy_id text not null,
    task_id text not null, attempt integer not null,
    structure text not null, stratum text not null, skill text not null, passed integer not null, ending text not null,
    steps integer not null, reply_tokens integer not null, seconds real not null, at real not null,
    primary key (split, set_id, policy_id, task_id, attempt)
);
create table adapters (
    sha256 text primary key, base_sha256 text not null, examples_id text not null, rank integer not null, alpha real not null,
    owner text not null, loss real not null, tokens integer not null, seconds real not null, at real not null, body blob not null
);
create table judgements (
    owner text not null, seq integer not null, candidate_sha256 text not null, incumbent_sha256 text, candidate_policy text not null,
    incumbent_policy text not null, set_id text not null, decision text not null,
    n integer not null, wins integer not null, losses integer not null,
    p_value real not null, at real not null, body blob not null,
    primary key (owner, seq)
);
create table slot_changes (id integer primary key, at real not null, action text not null, active text, previous text, reason text not null,
    owner text, seq integer  -- the judgement that this carries out, if any
);
create table runs (
    id integer primary key, at real not null, uid integer not null, instruction text not null, directory text not null, check_command text,
    policy_id text not null, steps integer not null, ending text not null, verified integer, seconds real not null
);
create table incidents (id integer primary key, at real not null, kind text not null, detail text not null);
"""


@MIGRATIONS(name="0001_first")
def _first(db: Database) -> None:
    for statement in re.sub("--.*", "", _FIRST).split(";"):
        if statement.strip():
            db.execute(statement)


_FEEDBACK = """
create table feedback (
    id integer primary key, run integer not null references runs(id), at real not null, uid integer not null, good integer not null,
    note text not null
)
"""


@MIGRATIONS(name="0002_feedback")
def _feedback(db: Database) -> None:
    db.execute(_FEEDBACK)


NAMES = tuple(migration.name for migration in MIGRATIONS.pending(Database(memory=True)))
