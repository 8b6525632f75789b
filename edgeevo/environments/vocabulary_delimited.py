"""Skills on fields that a character separates: a column or an order by it, and what tables are asked for besides their columns and rows."""

from __future__ import annotations

from edgeevo.environments import names
from edgeevo.environments.scenarios import COLUMNS, NUMBER_COLUMNS
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_tables import cells, draw_column, drawn_table, grid, textual
from edgeevo.environments.world import World, text

START, LINES, VALUE = Kind.START, Kind.LINES, Kind.VALUE
SEPARATORS = (":", ":", ";", "|")


def _records(d: Draw) -> tuple[list[list[str]], Params]:
    """A new file like those that systems keep: records whose fields are separated by one character; the third field is a number."""
    char = d.rng.choice(SEPARATORS)
    who = d.rng.sample(names.people(d.split), d.rng.randint(5, 9))
    numbers = d.rng.sample(range(3, 2000), len(who))
    stems = names.stems(d.split)
    rows = [[person, d.rng.choice(stems), str(number), d.rng.choice(stems)] for person, number in zip(who, numbers, strict=True)]
    path = d.place(d.name(d.rng.choice(("txt", "list", "dat", "db"))), text([char.join(row) for row in rows], age_seconds=5000))
    return rows, {"file": path, "char": char}


def _record_column(d: Draw) -> Params:
    return _records(d)[1] | {"n": d.number(1, 4)}


def _cells(w: World, p: Params) -> list[list[str]]:
    return [line.split(p["char"]) for line in w.lines(p["file"])]


def _by_number(w: World, p: Params) -> Lines:
    return [p["char"].join(row) for row in sorted(_cells(w, p), key=lambda row: int(row[2]))]


def _long_table(d: Draw) -> Params:
    """A new table with so many rows that nobody guesses how many different values a column has."""
    choices = d.rng.sample(names.stems(d.split), d.rng.randint(5, 45))
    rows = [f"{100 + i},{d.rng.choice(names.people(d.split))},{d.rng.choice(choices)},{d.rng.randint(1, 99)}" for i in range(d.rng.randint(15, 80))]
    header = "id,name," + ",".join((d.rng.choice(COLUMNS), d.rng.choice(NUMBER_COLUMNS)))
    return {"file": d.place(d.name("csv"), text([header, *rows], age_seconds=5000)), "n": d.rng.choice(("2", "3", "4"))}


def _value_and_other(d: Draw) -> Params:
    """A value of a column of words that some rows have, and another column of the table."""
    p = draw_column(d, textual)
    rows = grid(d.world, p["file"])
    values = cells(d.world, p)
    if len(set(values)) < 2:
        raise NoInstanceError
    others = [str(m) for m in range(1, len(rows[0]) + 1) if str(m) != p["n"]]
    return {"file": p["file"], "n": p["n"], "value": d.pick(sorted(set(values))), "m": d.pick(others)}


def _picked(w: World, p: Params) -> Lines:
    return [row[int(p["m"]) - 1] for row in grid(w, p["file"]) if row[int(p["n"]) - 1] == p["value"]]


def _without(w: World, p: Params) -> Lines:
    n = int(p["n"])
    return [",".join(row[: n - 1] + row[n:]) for row in grid(w, p["file"])]


def _cell(d: Draw) -> Params:
    p = draw_column(d, textual)
    values = sorted(set(cells(d.world, p)))
    if len(values) < 2:
        raise NoInstanceError
    return {"file": p["file"], "n": p["n"], "value": d.pick(values)}


entry(
    "delimited_column", START, LINES, draw=_record_column, reference=lambda w, x, p: [row[int(p["n"]) - 1] for row in _cells(w, p)],
    ways=("cut -d{char} -f{n} {file}", "awk -F{char} '{print ${n:raw}}' {file}"),
    asks=("print field {n} of {file}, the fields are separated by {char}", "show column {n} of {file} using {char} as the delimiter", "cut the {n:th} {char}-separated field out of every line of {file}",
          "what is in column {n} of {file}? the separator is {char}", "{file}: field {n} of each line, delimiter {char}", "extract the {n:th} column from {file} (split at {char})", "i need column {n} of {file}, where {char} divides the columns",
          "from each line of {file} take field number {n}, with {char} between the fields", "split the lines of {file} at {char} and print the {n:th} part of each", "list only the {n:th} field of the {char}-delimited file {file}"),
    nouns=("column {n} of {file}, where {char} separates the columns", "the {n:th} {char}-separated field of every line in {file}", "the values of field {n} in the {char}-delimited file {file}", "the {n:th} parts of the lines of {file} split at {char}",
           "all entries in column {n} of {file} with {char} as delimiter"),
)
entry(
    "delimited_sort", START, LINES, draw=lambda d: _records(d)[1] | {"n": "3"}, reference=lambda w, x, p: _by_number(w, p),
    ways=("sort -t{char} -k{n:raw},{n:raw}n {file}", "sort -n -t {char} -k {n} {file}"),
    asks=("sort {file} numerically by field {n}, fields are separated by {char}", "sort the lines of {file} by the number in column {n} using {char} as delimiter", "order {file} by its {n:th} {char}-separated field, smallest number first",
          "{file} sorted by numeric column {n}, the separator is {char}", "what are the lines of {file} in ascending order of the number in field {n}? delimiter {char}", "i need {file} ordered by the value in column {n} ({char} between columns), lowest first",
          "show {file} with its lines sorted on the {n:th} field as a number, where {char} divides the fields", "arrange the lines of the {char}-delimited file {file} from the lowest to the highest number in column {n}",
          "print the records of {file} by ascending number in field {n}, split at {char}", "list {file} by growing {n:th} column, a number; columns are separated by {char}"),
    nouns=("the lines of {file} sorted numerically by the {n:th} {char}-separated field", "the records of {file} in ascending order of the number in column {n}, delimiter {char}", "the lines of the {char}-delimited {file}, smallest number in field {n} first",
           "the lines of {file} ordered by the number in column {n}, where {char} separates the columns", "the {char}-separated records of {file} from the lowest to the highest number in field {n}"),
)
entry(
    "csv_without", START, LINES, draw=lambda d: {k: v for k, v in draw_column(d).items() if k != "column"}, reference=lambda w, x, p: _without(w, p),
    ways=("cut -d, -f{n} --complement {file}", "perl -F, -lane 'splice @F,{n:raw}-1,1;print join \",\",@F' {file}"),
    asks=("print the CSV file {file} without column {n}", "show all columns of {file} except the {n:th} (comma separated)", "display the table {file} with column {n} left out", "what does the CSV {file} look like without its {n:th} column?",
          "{file}: every CSV column but number {n}", "i need the comma-separated {file} minus field {n}", "remove column {n} from the output of the CSV {file}, the file itself stays", "cut field {n} away from each line of the CSV {file} and print the rest",
          "output every comma separated field of {file} other than field {n}", "get the CSV {file} with its {n:th} column dropped"),
    nouns=("the CSV file {file} without column {n}", "all columns of the CSV {file} except the {n:th}", "the lines of the table {file} with column {n} left out", "every comma separated field of {file} but field {n}", "the comma-separated {file} minus its {n:th} column"),
)
entry(
    "csv_pick", START, LINES, draw=_value_and_other, reference=lambda w, x, p: _picked(w, p),
    ways=("awk -F, '${n:raw}==\"{value:raw}\"{print ${m:raw}}' {file}", "awk -F, -v v={value} '${n:raw}==v' {file} | cut -d, -f{m}", "perl -F, -lane 'print $F[{m:raw}-1] if $F[{n:raw}-1] eq \"{value:raw}\"' {file}"),
    asks=("print column {m} of the rows of the CSV {file} where column {n} is {value}", "for each row of {file} with {value} as CSV field {n}, show field {m}", "what is in column {m} of the CSV {file} wherever column {n} is {value}?",
          "{file}: CSV column {m} where column {n} equals {value}", "find the rows with {value} in column {n} of the CSV {file} and print only their column {m}", "i need the comma separated field {m} of every line of {file} that has {value} as field {n}",
          "use awk to print CSV column {m} when column {n} of {file} is {value}", "list the {m:th} comma separated field of those lines in {file} whose {n:th} is {value}", "from the table {file} get column {m} of all records having {value} in column {n} (CSV)",
          "which values does column {m} of the CSV {file} have in the rows with column {n} = {value}?"),
    nouns=("column {m} of the rows of the CSV {file} where column {n} is {value}", "the values in CSV column {m} of {file} for which column {n} is {value}", "the {m:th} comma separated field of the lines of {file} whose {n:th} is {value}",
           "field {m} of each record in the CSV {file} that has {value} as field {n}", "what column {m} holds in the rows of the CSV {file} with {value} in column {n}"),
)
entry(
    "csv_rows_kept", START, LINES, draw=_cell, reference=lambda w, x, p: [",".join(row) for i, row in enumerate(grid(w, p["file"])) if not i or row[int(p["n"]) - 1] == p["value"]],
    ways=("awk -F, 'NR==1||${n:raw}==\"{value:raw}\"' {file}", "(head -n 1 {file}; awk -F, -v v={value} 'NR>1&&${n:raw}==v' {file})", "perl -F, -lane 'print if $.==1||$F[{n:raw}-1] eq \"{value:raw}\"' {file}"),
    asks=("show the header of {file} and the rows where column {n} is {value} (CSV)", "print the rows of the CSV {file} with {value} in column {n}, header line included", "filter the table {file} to rows having {value} as column {n} but keep the header",
          "which rows of the CSV {file} have {value} in column {n}? show them below the header", "{file}: header plus all rows with CSV column {n} = {value}", "i need the header and every record of {file} whose {n:th} comma separated field is {value}",
          "list the title row of the CSV {file} and below it the rows in which column {n} equals {value}", "get the CSV {file} reduced to column {n} being {value}, with its first line on top as it is", "keep the first line of {file}, and of the others only those with {value} as CSV field {n}",
          "find the records with {value} in column {n} of the CSV {file} and print them together with the header"),
    nouns=("the header and the rows of {file} where CSV column {n} is {value}", "the rows of the CSV {file} with {value} in column {n}, header included", "the title row of the CSV {file} and all records with {value} as field {n}",
           "the lines of the table {file} with column {n} equal to {value}, below its header", "header plus rows with {value} in column {n} of the CSV {file}"),
)
entry(
    "csv_count_distinct", START, VALUE, draw=_long_table, reference=lambda w, x, p: [str(len(set(cells(w, p))))],
    ways=("tail -n +2 {file} | cut -d, -f{n} | sort -u | wc -l", "awk -F, 'NR>1&&!s[${n:raw}]++{k++}END{print k+0}' {file}"),
    asks=("how many different values are in column {n} of the CSV {file}, the header not counted?", "count the distinct values of CSV column {n} in {file} without the header", "number of unique values in column {n} of the CSV {file} (the first line is a header)",
          "{file}: how many distinct values below the header of CSV column {n}?", "tell me how many unique entries column {n} of the table {file} has, title row excluded", "i need the count of different values in the {n:th} comma separated field of {file}, header left out",
          "count unique values in column {n} of the CSV {file}, not the header", "find out how many distinct values the data rows of {file} have as CSV field {n}", "print how many different entries there are in CSV column {n} of {file}, ignoring the header",
          "get the number of distinct values in column {n} of the comma-separated {file}, header excluded"),
    nouns=("the number of different values in column {n} of the CSV {file} without its header", "how many distinct values CSV column {n} of {file} has, header not counted", "the count of unique values in CSV column {n} of {file}, header excluded",
           "the number of distinct entries below the header in column {n} of the CSV {file}", "how many different values the data rows of {file} have as CSV field {n}"),
)
entry(
    "csv_separator", START, LINES, draw=lambda d: {"file": drawn_table(d)[0], "char": d.rng.choice((";", ";", "|", ":"))}, reference=lambda w, x, p: [p["char"].join(row) for row in grid(w, p["file"])],
    ways=("tr , {char} < {file}", "sed 's/,/{char:raw}/g' {file}", "awk -F, -v OFS={char} '{$1=$1;print}' {file}"),
    asks=("print {file} with {char} instead of commas", "convert the commas of {file} to {char} and print the result", "show the CSV file {file} with {char} as its separator", "replace every comma by {char} when printing {file}, leave the file alone",
          "{file} with {char} in place of each comma", "what does the CSV {file} look like with {char} as delimiter?", "i need the table {file} separated by {char} instead of a comma", "turn the comma-separated {file} into {char}-separated text on the screen",
          "output {file}, all commas changed to {char}", "translate , to {char} in the output of {file}", "get {file} with its commas swapped for {char}"),
    nouns=("the lines of {file} with {char} instead of commas", "the CSV {file} with {char} as its separator", "the table {file} separated by {char} instead of a comma", "the lines of {file} with all commas changed to {char}",
           "the rows of {file} with {char} in place of each comma"),
)
