"""Skills on SQLite databases: tables, columns, rows that meet a condition, figures, and single changes.

The database files are put together byte by byte, one leaf page per table, so that no version of a library can change them.
"""

from __future__ import annotations

import re
import shlex
import struct
from collections import Counter

from edgeevo.domain import File
from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, LINES, VALUE, TREE, NUMBERS = Kind.START, Kind.LINES, Kind.VALUE, Kind.TREE, Kind.NUMBERS

Field = str | int | None
Rows = list[dict[str, str]]

PAGE_BYTES = 2048
TEXTS = ("site", "status", "owner", "zone", "model", "kind")
AMOUNTS = ("amount", "price", "load", "weight", "score", "stock")
RESERVED = ("table", "filter", "current", "index")  # words of SQL that are stems of ours

# --- the file format --------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    out = [value & 127]
    while value := value >> 7:
        out.append(value & 127 | 128)
    return bytes(reversed(out))


def _record(values: list[Field]) -> bytes:
    types, body = b"", b""
    for value in values:
        if value is None:
            types += b"\0"
        elif isinstance(value, int):
            types += b"\2"
            body += struct.pack(">h", value)
        else:
            types += _varint(2 * len(value.encode()) + 13)
            body += value.encode()
    return _varint(len(types) + 1) + types + body


def _leaf(rows: dict[int, list[Field]], used: int) -> bytes:
    """A page of rows by row id, behind `used` bytes that stand in front."""
    end, pointers, content = PAGE_BYTES, b"", b""
    for rowid, values in rows.items():
        record = _record(values)
        cell = _varint(len(record)) + _varint(rowid) + record
        end, content = end - len(cell), cell + content
        pointers += struct.pack(">H", end)
    head = b"\x0d" + struct.pack(">HHHB", 0, len(rows), end, 0) + pointers
    return head + bytes(end - used - len(head)) + content


def database(tables: dict[str, list[list[str]]]) -> bytes:
    """A database of tables: name -> header and rows. The first column is the key, the last one is a number."""
    master: dict[int, list[Field]] = {}
    pages = b""
    for i, (name, (header, *rows)) in enumerate(tables.items(), 1):
        middle = "".join(f", {column} TEXT" for column in header[1:-1])
        master[i] = ["table", name, name, i + 1, f"CREATE TABLE {name}({header[0]} INTEGER PRIMARY KEY{middle}, {header[-1]} INTEGER)"]
        pages += _leaf({int(row[0]): [None, *row[1:-1], int(row[-1])] for row in rows}, 0)
    count = len(tables) + 1
    head = b"SQLite format 3\0" + struct.pack(">HBBBBBBIIIIIIIIIIII", PAGE_BYTES, 1, 1, 0, 64, 32, 32, 1, count, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0)
    head += bytes(20) + struct.pack(">II", 1, 3_040_000)
    return head + _leaf(master, len(head)) + pages


def _unvarint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    while True:
        value = value << 7 | data[at] & 127
        at += 1
        if not data[at - 1] & 128:
            return value, at


def _cell(data: bytes, at: int) -> list[str]:
    _, at = _unvarint(data, at)
    rowid, at = _unvarint(data, at)
    length, place = _unvarint(data, at)
    body, out = at + length, []
    while place < at + length:
        kind, place = _unvarint(data, place)
        size = (kind - 13) // 2 if kind > 12 else kind  # of integers we only write those of two bytes
        raw = data[body : body + size]
        out.append(str(rowid) if kind == 0 else raw.decode() if kind > 12 else str(struct.unpack(">h", raw)[0]))
        body += size
    return out


def _rows_of_page(data: bytes, number: int) -> list[list[str]]:
    base, skip = (number - 1) * PAGE_BYTES, 100 if number == 1 else 0
    (count,) = struct.unpack_from(">H", data, base + skip + 3)
    return [_cell(data, base + struct.unpack_from(">H", data, base + skip + 8 + 2 * i)[0]) for i in range(count)]


def stored(w: World, path: str) -> dict[str, Rows]:
    """Tables of a database of ours: they travel from the draw to the reference in the file itself."""
    data = w.file(path).data
    out: dict[str, Rows] = {}
    for _, name, _, page, sql in _rows_of_page(data, 1):
        columns = re.findall(r"[(,] ?(\w+) ", sql)
        out[name] = [dict(zip(columns, row, strict=True)) for row in _rows_of_page(data, int(page))]
    return out


# --- draws ------------------------------------------------------------------------------------------------------------


def _table(d: Draw, maker: Maker) -> list[list[str]]:
    rng = d.rng
    text, amount = rng.choice(TEXTS), rng.choice(AMOUNTS)
    values = [maker.stem() for _ in range(3)]
    names = rng.sample([maker.person() for _ in range(60)], 30)
    first = rng.randint(1, 40)
    names = list(dict.fromkeys(names))[: rng.randint(6, 14)]
    rows = [[str(first + i), name, rng.choice(values), str(rng.randint(2, 99))] for i, name in enumerate(names)]
    return [["id", "name", text, amount], *rows]


def _placed(d: Draw, count: int = 2) -> Params:
    maker = Maker(d.rng, d.split, ())
    names = [name for name in (maker.stem() for _ in range(8)) if name.isalpha() and name not in RESERVED][:count]
    data = database({name: _table(d, maker) for name in names})
    path = d.place(d.name(d.rng.choice(("db", "db", "sqlite", "sqlite3"))), File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))
    return {"file": path, "table": d.rng.choice(names)}


def rows(w: World, p: Params) -> Rows:
    """The rows of the table that is asked about, by key."""
    return stored(w, p["file"])[p["table"]]


def _columns(w: World, p: Params) -> list[str]:
    return list(rows(w, p)[0])


def _any_column(d: Draw) -> Params:
    p = _placed(d)
    return p | {"column": d.pick(_columns(d.world, p)[1:])}


def _amount(d: Draw) -> Params:
    p = _placed(d)
    return p | {"column": _columns(d.world, p)[3]}


def _where(d: Draw) -> Params:
    """A value of the text column that some rows have, but not all."""
    p = _placed(d)
    key = _columns(d.world, p)[2]
    values = [row[key] for row in rows(d.world, p)]
    return p | {"key": key, "value": d.pick(sorted(v for v in set(values) if values.count(v) < len(values)))}


def _by(d: Draw) -> Params:
    p = _placed(d)
    return p | {"column": _columns(d.world, p)[2]}


def _one(d: Draw) -> Params:
    """One row by its name, and a new value of a column."""
    p = _placed(d)
    row = d.rng.choice(rows(d.world, p))
    column = _columns(d.world, p)[2]
    value = d.stem()
    if value == row[column]:
        raise NoInstanceError
    return p | {"name": row["name"], "column": column, "value": value}


def _matching(w: World, p: Params) -> Rows:
    return [row for row in rows(w, p) if row[p["key"]] == p["value"]]


def _changed(w: World, p: Params, left: Rows) -> None:
    """Expect these rows in the table: what the file looks like is the library's affair."""
    query = shlex.quote(f"select * from {p['table']} order by id")  # noqa: S608 - a table of ours, read by the shell
    w.probes[p["file"]] = (f"sqlite3 {shlex.quote(p['file'])} {query}", tuple("|".join(row.values()) for row in left))
    w.put(p["file"], File(data=b""))


def _updated(w: World, _x: Lines, p: Params) -> None:
    _changed(w, p, [{**row, p["column"]: p["value"]} if row["name"] == p["name"] else row for row in rows(w, p)])


# --- entries ----------------------------------------------------------------------------------------------------------

entry(
    "sqlite_table", START, VALUE, draw=lambda d: {"file": _placed(d, 1)["file"]}, reference=lambda w, x, p: list(stored(w, p["file"])),
    ways=("sqlite3 {file} .tables", "sqlite3 {file} \"select name from sqlite_master where type='table'\""),
    asks=("list the tables in the sqlite database {file}", "which tables does {file} have? it is an sqlite database", "show [all|] table names of the SQLite file {file}",
          "what tables are in the sqlite db {file}?", "{file}: tables in this sqlite database", "names of the tables inside the sqlite file {file}",
          "find out what tables the SQLite database {file} holds and print their names", "use sqlite3 to see the tables of {file}", "i need the table names from the database {file} (sqlite)",
          "tell me which table is stored in the sqlite3 database {file}"),
    nouns=("the tables in the sqlite database {file}", "the table names of the SQLite file {file}", "the names of all tables in the sqlite db {file}", "what tables the sqlite database {file} has",
           "the list of tables stored in {file} (sqlite)"),
)
entry(
    "sqlite_rows", START, LINES, draw=_placed, reference=lambda w, x, p: ["|".join(row.values()) for row in rows(w, p)],
    ways=("sqlite3 {file} 'select * from {table:raw}'", "sqlite3 -list {file} 'select * from {table:raw} order by id'", "sqlite3 -separator '|' {file} 'select * from {table:raw}'"),
    asks=("show all rows of the table {table} in the sqlite database {file}", "print everything in table {table} of {file} (sqlite)", "what is in the table {table} of the SQLite file {file}?",
          "select all from {table}, database {file}", "{file}: the whole sqlite table {table}", "dump every record of {table} from the sqlite db {file}, fields separated by |",
          "query {file} with sqlite3 for the full content of {table}", "list the records that {table} holds in the sqlite database {file}", "i need the complete table {table} out of {file} (sqlite)",
          "all rows of {table} from the database {file}, please", "use sqlite3 to output the content of the table {table} in {file}"),
    nouns=("all rows of the table {table} in the sqlite database {file}", "the rows of {table} in {file} (sqlite)", "the records of table {table} from the SQLite file {file}",
           "everything in the sqlite table {table} of {file}", "the complete content of {table} in the sqlite db {file}"),
)
entry(
    "sqlite_column", START, LINES, draw=_any_column, unordered=True, reference=lambda w, x, p: [row[p["column"]] for row in rows(w, p)],
    ways=("sqlite3 {file} 'select {column:raw} from {table:raw}'", "sqlite3 {file} 'select {column:raw} from {table:raw} order by id'"),
    asks=("show the {column} of every row in the table {table} of the sqlite database {file}", "print the column {column} of {table} from {file} (sqlite)", "what {column} does each row of table {table} in the SQLite file {file} have?",
          "select {column} from {table} in {file}", "{file}: column {column} of the sqlite table {table}", "list all values of {column} in {table}, sqlite database {file}",
          "query the database {file} with sqlite3 for every {column} in the table {table}", "i need the {column} column of {table} out of the sqlite db {file}",
          "values in the column {column} of {table}, one per row, from the sqlite file {file}", "use sqlite3 to get only {column} for all rows of {table} in {file}"),
    nouns=("the values that {column} has in table {table} of the sqlite database {file}", "the column {column} that {table} has in {file} (sqlite)", "the {column} of every row in table {table} of the SQLite file {file}",
           "all {column} values in the sqlite table {table} of {file}", "the {column} fields of all rows of {table} in the sqlite db {file}"),
)
entry(
    "sqlite_where", START, LINES, draw=_where, unordered=True, reference=lambda w, x, p: [row["name"] for row in _matching(w, p)],
    ways=("sqlite3 {file} \"select name from {table:raw} where {key:raw}='{value:raw}'\"", "sqlite3 {file} 'select name,{key:raw} from {table:raw}' | awk -F'|' '$2==\"{value:raw}\"{print $1}'"),
    asks=("show the name of every row in table {table} of the sqlite database {file} where {key} is {value}", "print the names from {table} in {file} (sqlite) that have {value} as {key}",
          "which names in the sqlite table {table} of {file} have the {key} {value}?", "select name from {table} where {key} equals {value}, database {file}",
          "{file}: names in the sqlite table {table} with {key} = {value}", "query {file} with sqlite3: the names of all {table} rows whose {key} is {value}",
          "list only the names of the records in {table} with {key} {value}, sqlite file {file}", "find the rows of {table} in the sqlite db {file} that have {key} {value} and give me their names",
          "i need the names in {table} for which {key} is {value}, from the sqlite database {file}", "names of those rows of {table} in the SQLite file {file} that have {key} set to {value}"),
    nouns=("the names of those in table {table} with {key} {value}, sqlite database {file}", "the names of the {table} rows with {key} {value} in {file} (sqlite)",
           "the names that have {value} as {key} in the sqlite table {table} of {file}", "the names of all records in {table} of the SQLite file {file} whose {key} is {value}",
           "the names from the sqlite db {file}, table {table}, with {key} = {value}"),
)
entry(
    "sqlite_count", START, VALUE, draw=_placed, reference=lambda w, x, p: [str(len(rows(w, p)))],
    ways=("sqlite3 {file} 'select count(*) from {table:raw}'", "sqlite3 {file} 'select 1 from {table:raw}' | wc -l"),
    asks=("how many rows does the table {table} in the sqlite database {file} have?", "count the rows of {table} in {file} (sqlite)", "number of records in table {table} of the SQLite file {file}",
          "{file}: row count of the sqlite table {table}", "tell me how many entries {table} has in the sqlite db {file}", "use sqlite3 to count what is in table {table} of {file}",
          "print only the number of rows in {table}, database {file}", "query the sqlite database {file} for the size of {table} in rows", "i need the row count of {table} from {file} (sqlite)",
          "what is the number of rows in {table}, sqlite file {file}?"),
    nouns=("the number of rows in table {table} of the sqlite database {file}", "how many rows {table} in {file} (sqlite) has", "the row count of the sqlite table {table} in {file}",
           "the count of records in {table} of the SQLite file {file}", "the amount of entries that {table} has in the sqlite db {file}"),
)
entry(
    "sqlite_count_where", START, VALUE, draw=_where, reference=lambda w, x, p: [str(len(_matching(w, p)))],
    ways=("sqlite3 {file} \"select count(*) from {table:raw} where {key:raw}='{value:raw}'\"", "sqlite3 {file} 'select {key:raw} from {table:raw}' | grep -cx {value}"),
    asks=("how many rows of table {table} in the sqlite database {file} have {value} as {key}?", "count the rows in {table} of {file} (sqlite) where {key} is {value}",
          "number of records with {key} {value} in table {table} of the SQLite file {file}", "{file}: how many {table} rows with {key} = {value}? (sqlite)",
          "tell me how often {key} is {value} in the sqlite table {table} of {file}", "use sqlite3 to count the entries of {table} in {file} whose {key} equals {value}",
          "print the number of rows with the {key} {value} in {table}, database {file}", "query {file} (sqlite) and count in {table} what has {key} {value}",
          "i need the count of {table} rows that have {key} {value} in the sqlite db {file}", "what is the number of rows in {table} of the sqlite file {file} whose {key} is {value}?"),
    nouns=("the number of rows in table {table} of the sqlite database {file} where {key} is {value}", "how many {table} rows in {file} (sqlite) have {key} {value}", "the count of records with {key} {value} in the sqlite table {table} of {file}",
           "how often {key} is {value} in {table} of the SQLite file {file}", "the amount of rows in {table} of the sqlite db {file} with {value} as {key}"),
)
entry(
    "sqlite_sum", START, VALUE, draw=_amount, reference=lambda w, x, p: [str(sum(int(row[p["column"]]) for row in rows(w, p)))],
    ways=("sqlite3 {file} 'select sum({column:raw}) from {table:raw}'", "sqlite3 {file} 'select {column:raw} from {table:raw}' | awk '{s+=$1}END{print s}'"),
    asks=("what is the sum of {column} in the table {table} of the sqlite database {file}?", "add up the column {column} of {table} in {file} (sqlite)", "total {column} over all rows of table {table} in the SQLite file {file}",
          "{file}: total of {column} in the sqlite table {table}", "calculate the sum over {column} for {table}, sqlite database {file}", "use sqlite3 to sum {column} in {table} of {file}",
          "how much does {column} come to over the whole sqlite table {table} in {file}?", "print one number: all {column} values of {table} in the sqlite db {file} together",
          "i need the total {column} of table {table} in {file} (sqlite)", "query the database {file} for the sum of {column} in {table}"),
    nouns=("the sum of {column} in table {table} of the sqlite database {file}", "the total {column} over all rows of {table} in {file} (sqlite)", "what {column} adds up to in the sqlite table {table} of {file}",
           "the sum over the column {column} of {table} in the SQLite file {file}", "all values of {column} from {table} in the sqlite db {file} added up"),
)
entry(
    "sqlite_group", START, LINES, draw=_by, unordered=True, reference=lambda w, x, p: [f"{k}|{c}" for k, c in sorted(Counter(row[p["column"]] for row in rows(w, p)).items())],
    ways=("sqlite3 {file} 'select {column:raw}, count(*) from {table:raw} group by {column:raw}'", "sqlite3 {file} 'select {column:raw} from {table:raw}' | sort | uniq -c | awk '{print $2 \"|\" $1}'"),
    asks=("count the rows per {column} in the table {table} of the sqlite database {file}, as value|count", "how many rows of {table} in {file} (sqlite) are there for each {column}? print value|count",
          "group table {table} of the SQLite file {file} by {column} and count, value and count joined by |", "{file}: row count for every {column} of the sqlite table {table}, value|count",
          "for each {column} in {table}, sqlite database {file}, show the value, a | and the number of rows", "use sqlite3 to tally {column} in {table} of {file}, output value|count",
          "query {file} with sqlite3: each {column} of {table} with its number of rows, separated by |", "number of records in {table} per {column}, sqlite db {file}, in the form value|count",
          "i need the counts per {column} for table {table} in {file} (sqlite), value first, then |, then the count", "print every different {column} of {table} in the sqlite file {file} together with how often it occurs, as value|count"),
    nouns=("the number of rows per {column} in table {table} of the sqlite database {file}, as value|count", "the row counts for each {column} of {table} in {file} (sqlite), value|count",
           "the counts of rows grouped by {column} in the sqlite table {table} of {file}, written value|count", "how many rows {table} in the SQLite file {file} has per {column}, as value|count",
           "the values of {column} in {table} of the sqlite db {file} with their counts, joined by |"),
)
entry(
    "sqlite_csv", START, LINES, draw=_placed, reference=lambda w, x, p: [",".join(_columns(w, p)), *[",".join(row.values()) for row in rows(w, p)]],
    ways=("sqlite3 -header -separator , {file} 'select * from {table:raw}'", "sqlite3 -header -csv {file} 'select * from {table:raw}' | tr -d '\\r'"),
    asks=("print the table {table} of the sqlite database {file} as CSV with a header line", "show {table} from {file} (sqlite) comma separated, column names first", "export table {table} of the SQLite file {file} to the screen as CSV, header included",
          "{file}: the sqlite table {table} as CSV with column names", "dump {table} out of the sqlite db {file} in CSV form, with headers", "use sqlite3 to write table {table} of {file} to standard output as comma separated values plus header",
          "convert the sqlite table {table} in {file} to CSV (first line: the column names) and print it", "turn {table} from the database {file} into CSV with a header row",
          "i need {table} of the sqlite database {file} as CSV, the first line being the header", "all rows of {table} in {file} (sqlite) with commas between the fields and the column names on top"),
    nouns=("the table {table} of the sqlite database {file} as CSV with header", "the CSV lines of {table} in {file} (sqlite), header included", "the sqlite table {table} of {file} as comma separated values with column names on top",
           "the rows of {table} from the SQLite file {file} in CSV form, column names first", "a CSV export with header of {table} in the sqlite db {file}"),
)
entry(
    "sqlite_update", START, TREE, draw=_one, reference=_updated,
    ways=("sqlite3 {file} \"update {table:raw} set {column:raw}='{value:raw}' where name='{name:raw}'\"", "echo \"update {table:raw} set {column:raw}='{value:raw}' where name='{name:raw}';\" | sqlite3 {file}"),
    asks=("set {column} to {value} for {name} in the table {table} of the sqlite database {file}", "change the {column} of the row named {name} in {table} to {value}, database {file} (sqlite)",
          "update {table} in {file} with sqlite3: {name} gets the {column} {value}", "in the sqlite database {file}, table {table}, the {column} of {name} should become {value}",
          "{file}: make {value} the {column} of {name} in the sqlite table {table}", "give the row with the name {name} in {table} of the SQLite file {file} the new {column} {value}",
          "use sqlite3 to put {value} into {column} where the name is {name}, table {table} in {file}", "edit the sqlite db {file} so that {name} has {column} {value} in {table}",
          "i need the {column} of {name} changed to {value} in table {table} of {file} (sqlite)", "modify the record of {name} in {table}: {column} becomes {value}; the sqlite file is {file}"),
)
