"""Skills on comma-separated tables with a header: columns, rows, values. None of them reads a pipe: what comes out is plain lines."""

from __future__ import annotations

from collections.abc import Callable

from edgeevo.environments.skills import Draw, Kind, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, LINES, VALUE = Kind.START, Kind.LINES, Kind.VALUE

Grid = list[list[str]]


def grid(w: World, path: str) -> Grid:
    """The cells of a table, header first."""
    return [line.split(",") for line in w.lines(path)]


def drawn_table(d: Draw) -> tuple[str, Grid]:
    """A table that still looks like one: a header of letters, at least three rows, all rows as wide as the header."""
    path = d.table()
    rows = grid(d.world, path)
    if len(rows) < 4 or any(len(row) != len(rows[0]) for row in rows) or not all(cell.isalpha() for cell in rows[0]):
        raise NoInstanceError
    return path, rows


def draw_column(d: Draw, keep: Callable[[str, list[str]], bool] = lambda _h, _c: True) -> Params:
    """A table and one of its columns whose header and cells pass `keep`: file, n (from 1) and column (its header)."""
    path, rows = drawn_table(d)
    n = int(d.pick(str(i) for i, cells in enumerate(zip(*rows, strict=True)) if keep(cells[0], list(cells[1:]))))
    return {"file": path, "n": str(n + 1), "column": rows[0][n]}


def cells(w: World, p: Params) -> list[str]:
    """The cells of the drawn column, without its header."""
    return [row[int(p["n"]) - 1] for row in grid(w, p["file"])[1:]]


def textual(header: str, values: list[str]) -> bool:
    """A column of words in which values recur."""
    return all(v.isalpha() for v in values) and header != "name" and len(set(values)) < len(values)


def numeric(header: str, values: list[str]) -> bool:
    """A column of whole numbers that isn't the key."""
    return header != "id" and all(v.isdigit() for v in values)


def _cell(d: Draw) -> Params:
    p = draw_column(d, textual)
    values = sorted(set(cells(d.world, p)))
    if len(values) < 2:
        raise NoInstanceError
    return p | {"value": d.pick(values)}


def _limit(d: Draw) -> Params:
    p = draw_column(d, numeric)
    values = sorted(int(v) for v in cells(d.world, p))
    return p | {"limit": d.pick(str(v) for v in values[1:-1] if v < values[-1])}


def _two(d: Draw) -> Params:
    path, rows = drawn_table(d)
    first, second = sorted(d.rng.sample(range(1, len(rows[0]) + 1), 2))
    return {"file": path, "n": str(first), "m": str(second)}


def _rows(w: World, p: Params, keep: Callable[[str], bool]) -> list[str]:
    return [",".join(row) for row in grid(w, p["file"])[1:] if keep(row[int(p["n"]) - 1])]


LOOKUP = 'NR==1{for(i=1;i<=NF;i++)if($i=="{column:raw}")c=i;next}'  # awk: c becomes the number of the named column

entry(
    "csv_column", START, LINES, draw=draw_column,
    reference=lambda w, x, p: [row[int(p["n"]) - 1] for row in grid(w, p["file"])],
    ways=("cut -d, -f{n} {file}", "awk -F, '{print ${n:raw}}' {file}", "perl -F, -lane 'print $F[{n:raw}-1]' {file}"),
    asks=("print column {n} of the CSV file {file}", "cut [out|] the {n:th} comma separated field [from|of] {file}", "what is in column {n} of {file} (comma separated)?",
          "extract column number {n} from {file}, [fields are split by commas|the separator is a comma]", "{file}: only CSV column {n}",
          "show just the column {n} of the table {file}, header line included", "from the comma-separated file {file} take field {n}", "i need column {n} of {file} (CSV), header and all",
          "get CSV field {n} out of each line of {file}"),
    nouns=("column {n} of the CSV file {file}", "CSV column number {n} of {file}", "the {n:th} comma separated field of every line in {file}",
           "field {n} of the table {file} (commas)", "what stands in column {n} of the comma-separated {file}"),
)
entry(
    "csv_column.data", START, LINES, draw=draw_column,
    reference=lambda w, x, p: cells(w, p),
    ways=("tail -n +2 {file} | cut -d, -f{n}", "awk -F, 'NR>1{print ${n:raw}}' {file}", "sed 1d {file} | cut -d, -f{n}"),
    asks=("print column {n} of the CSV file {file} without [the|its] header", "skip the header of {file} and show CSV column {n}", "values of column {n} in {file}, not the header line",
          "which values stand [in|below] column {n} of {file}? leave the title row out", "{file}: comma separated field {n}, no header",
          "list what column {n} of the table {file} holds, header excluded", "ignore the first row of {file} and cut the {n:th} comma-separated field from the rest",
          "i need the values of CSV column {n} of {file} without its header", "get the {n:th} comma separated field of every data row of {file}"),
    nouns=("column {n} of the CSV {file} without the header", "the values in CSV column {n} of {file}, header left out", "the data of comma separated field {n} in {file}, no title line",
           "everything below the header in column {n} of {file}", "CSV field {n} of each data row in {file}"),
)
entry(
    "csv_column.named", START, LINES, draw=draw_column,
    reference=lambda w, x, p: cells(w, p),
    ways=(f"awk -F, '{LOOKUP}{{print $c}}' {{file}}", "tail -n +2 {file} | cut -d, -f\"$(head -n 1 {file} | tr , '\\n' | grep -nx {column} | cut -d: -f1)\"",
          "perl -F, -lane 'if($.==1){($c)=grep $F[$_] eq \"{column:raw}\",0..$#F}else{print $F[$c]}' {file}"),
    asks=("print the {column} column of {file}[ without the header|, no header]", "take the values under {column} from the table {file}",
          "what are the values in the column {column} of {file}?", "{file}: all {column} values, one per line", "extract the column called {column} from {file}, header row excluded",
          "from {file} show me every {column} (CSV with a header)", "list {column} for each data row of {file}", "i need the column {column} of the CSV {file}, values only",
          "get what {file} has under the header {column}"),
    nouns=("the values of the column {column} in {file}", "the {column} of every data row in {file}", "all values under the header {column} in {file}",
           "the {column} column of the CSV {file} without its header", "what the rows of {file} have as {column}"),
)
entry(
    "csv_columns", START, LINES, draw=_two,
    reference=lambda w, x, p: [f"{row[int(p['n']) - 1]},{row[int(p['m']) - 1]}" for row in grid(w, p["file"])],
    ways=("cut -d, -f{n},{m} {file}", "awk -F, -v OFS=, '{print ${n:raw},${m:raw}}' {file}", "perl -F, -lane 'print \"$F[{n:raw}-1],$F[{m:raw}-1]\"' {file}"),
    asks=("print columns {n} and {m} of the CSV file {file}", "keep only the comma separated fields {n} and {m} of {file}", "cut columns {n} and {m} out of {file} (CSV)",
          "show the table {file} reduced to columns {n} and {m}", "from {file} i only need CSV fields number {n} and {m}", "{file}: CSV columns {n} and {m}, still separated by a comma",
          "what is in columns {n} and {m} of the comma-separated {file}?", "i need CSV columns {n} and {m} of {file}", "get comma separated fields {n} and {m} of every line of {file}"),
    nouns=("columns {n} and {m} of the CSV file {file}", "the comma separated fields {n} and {m} of {file}", "CSV columns number {n} and {m} from {file}",
           "the table {file} with nothing but columns {n} and {m}", "both column {n} and column {m} of the comma-separated {file}"),
)
entry(
    "csv_last_column", START, LINES, draw=lambda d: {"file": drawn_table(d)[0]},
    reference=lambda w, x, p: [row[-1] for row in grid(w, p["file"])],
    ways=("awk -F, '{print $NF}' {file}", "rev {file} | cut -d, -f1 | rev", "sed 's/.*,//' {file}"),
    asks=("print the last column of the CSV file {file}", "show the [final|rightmost] comma separated field of each line in {file}", "what does the last column of {file} contain?",
          "{file}: last CSV column", "take whatever follows the last comma on every line of {file}", "extract the rightmost column of the table {file}",
          "cut everything but the last comma-separated field from {file}", "i need the last CSV column of {file}", "get the last comma separated field of every line of {file}"),
    nouns=("the last column of the CSV file {file}", "the rightmost field of every row in {file}", "what follows the last comma in each line of {file}",
           "the final comma separated column of {file}", "the last CSV field per line of {file}"),
)
entry(
    "csv_rows", START, LINES, draw=_cell,
    reference=lambda w, x, p: _rows(w, p, lambda v: v == p["value"]),
    ways=("awk -F, '${n:raw}==\"{value:raw}\"' {file}", "awk -F, -v v={value} '${n:raw}==v' {file}", "perl -F, -lane 'print if $F[{n:raw}-1] eq \"{value:raw}\"' {file}"),
    asks=("show the rows of {file} where column {n} is {value}", "which rows of the CSV {file} have {value} in column {n}?",
          "print lines of {file} whose {n:th} comma separated field equals {value}", "filter {file}: column {n} must be {value}",
          "find every record in {file} with {value} as field {n} (CSV)", "rows with {value} in column {n}, table {file}",
          "keep only records of {file} having exactly {value} in CSV column {n}", "i need all rows of {file} that have {value} in CSV column {n}",
          "get the lines of {file} with {value} as comma separated field {n}"),
    nouns=("the rows of {file} with {value} in column {n}", "the CSV rows in {file} whose column {n} is {value}", "records of {file} where comma separated field {n} equals {value}",
           "every row of the table {file} that has {value} as column {n}", "the lines of {file} where CSV column {n} says {value}"),
)
entry(
    "csv_rows.named", START, LINES, draw=_cell,
    reference=lambda w, x, p: _rows(w, p, lambda v: v == p["value"]),
    ways=(f"awk -F, '{LOOKUP}$c==\"{{value:raw}}\"' {{file}}",
          "awk -F, -v v={value} 'NR==1{for(i=1;i<=NF;i++)if($i==\"{column:raw}\")c=i;next}$c==v' {file}",
          "perl -F, -lane 'if($.==1){($c)=grep $F[$_] eq \"{column:raw}\",0..$#F}elsif($F[$c] eq \"{value:raw}\"){print}' {file}"),
    asks=("show the rows of {file} where {column} is {value}", "which rows of {file} have {value} as [their|the] {column}?",
          "print all records of the CSV {file} whose {column} equals {value}", "{file}: only rows with {column} = {value}", "filter the table {file} by {column} {value}, no header",
          "find the entries in {file} with the {column} {value}", "from {file} i need every data row having {value} under {column}",
          "i need all rows of {file} that have {value} in the column {column}", "get the lines of the CSV {file} with {column} equal to {value}"),
    nouns=("the rows of {file} where {column} is {value}", "all records in {file} with {value} as {column}", "the entries of the CSV {file} whose {column} equals {value}",
           "every data row of {file} with the {column} {value}", "what {file} lists for {column} {value}"),
)
entry(
    "csv_rows.above", START, LINES, draw=_limit,
    reference=lambda w, x, p: _rows(w, p, lambda v: int(v) > int(p["limit"])),
    ways=("awk -F, 'NR>1&&${n:raw}>{limit:raw}' {file}", "perl -F, -lane 'print if $.>1&&$F[{n:raw}-1]>{limit:raw}' {file}",
          "tail -n +2 {file} | awk -F, '${n:raw}>{limit:raw}'"),
    asks=("show the rows of {file} where column {n} is [greater|more] than {limit}, without the header", "which data rows of the CSV {file} have a column {n} above {limit}?",
          "print the records of {file} whose {n:th} comma separated field exceeds {limit}", "{file}: rows with more than {limit} in column {n}, header left out",
          "filter the table {file}, keep data rows with column {n} over {limit}", "find all data lines in {file} where CSV field {n} is larger than {limit}",
          "list every record of {file} that has a number bigger than {limit} as its field {n}", "i need all rows of {file} with a number above {limit} in CSV column {n}, no header",
          "get the data rows of {file} whose column {n} is over {limit}"),
    nouns=("the data rows of {file} with column {n} above {limit}", "the rows of the CSV {file} whose column {n} exceeds {limit}", "all records in {file} with more than {limit} in column {n}, no header",
           "every data line of {file} where comma separated field {n} is greater than {limit}", "entries of the table {file} over {limit} in column {n}"),
)
entry(
    "csv_count_where", START, VALUE, draw=_cell,
    reference=lambda w, x, p: [str(cells(w, p).count(p["value"]))],
    ways=("awk -F, '${n:raw}==\"{value:raw}\"' {file} | wc -l", "cut -d, -f{n} {file} | grep -cx {value}", "awk -F, -v v={value} '${n:raw}==v{k++}END{print k+0}' {file}"),
    asks=("count the rows of {file} where column {n} is {value}", "how many rows of the CSV {file} have {value} in column {n}?", "number of records in {file} with {value} as field {n}",
          "how often is column {n} of {file} equal to {value}?", "{file}: count of rows with {value} in CSV column {n}",
          "tell me how many lines of {file} have the {n:th} comma separated field {value}", "give me only the number of rows having {value} in column {n}, table {file}",
          "i need to know how many rows of {file} have {value} in CSV column {n}", "get the number of lines of {file} with {value} as comma separated field {n}"),
    nouns=("the number of rows in {file} with {value} in column {n}", "how many records of the CSV {file} have {value} as column {n}", "how often column {n} of {file} is {value}",
           "the count of {value} in CSV column {n} of {file}", "the amount of rows in the table {file} where column {n} equals {value}"),
)
entry(
    "csv_count_rows", START, VALUE, draw=lambda d: {"file": drawn_table(d)[0]},
    reference=lambda w, x, p: [str(len(grid(w, p["file"])) - 1)],
    ways=("tail -n +2 {file} | wc -l", "awk 'END{print NR-1}' {file}", "sed 1d {file} | wc -l"),
    asks=("count the data rows of {file}[, not the header| without the header]", "how many rows does the table {file} have, header not counted?",
          "number of records in the CSV {file} (without header)", "how many data lines are in {file}? the first line is a header", "{file}: row count, title row excluded",
          "tell me how many entries the CSV {file} holds below its header", "give the count of lines after the header in {file}",
          "i need the number of data rows in {file}, the header is none", "get how many rows the CSV {file} has without its header"),
    nouns=("the number of data rows in {file}", "how many rows the table {file} has besides its header", "the count of records in the CSV {file} without the header line",
           "the number of lines below the header of {file}", "how many data lines {file} holds"),
)
entry(
    "csv_header", START, LINES, draw=lambda d: {"file": drawn_table(d)[0]},
    reference=lambda w, x, p: grid(w, p["file"])[0],
    ways=("head -n 1 {file} | tr , '\\n'", "awk -F, 'NR==1{for(i=1;i<=NF;i++)print $i;exit}' {file}", "sed -n '1{s/,/\\n/g;p}' {file}"),
    asks=("list the column names of {file}, one per line", "which columns does the CSV {file} have? one per line", "print the header fields of {file} each on [its own|a separate] line",
          "names of all columns in {file}, line by line", "{file}: header names, one per line", "split the header of the table {file} at the commas and show one name per line",
          "show me what the columns of {file} are called, one a line", "i need the column names of the CSV {file}, each on a line", "get the header of {file} split into one name per line"),
    nouns=("the column names of {file}, one per line", "the header fields of the CSV {file} line by line", "the names of the columns in {file}, each on its own line",
           "the titles in the first row of {file}, one per line", "what the columns of the table {file} are called, one per line"),
)
