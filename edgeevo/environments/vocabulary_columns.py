"""Skills on columns that blanks separate: two of them, the last, all but the first; rows by a field; order by a field; rankings."""

from __future__ import annotations

import re
from collections import Counter

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry

TEXT, LINES, VALUE = Kind.TEXT, Kind.LINES, Kind.VALUE


def _tidy(d: Draw, least: int) -> tuple[list[list[str]], Params]:
    """Rows of at least `least` fields with single blanks between them, so that every tool sees the same fields."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.contacts)))
    rows = [line.split() for line in lines]
    if len(rows) < 2 or any(len(row) < least or " ".join(row) != line for row, line in zip(rows, lines, strict=True)):
        raise NoInstanceError
    return rows, p


def _width(rows: list[list[str]]) -> int:
    return min(map(len, rows))


def _pair(d: Draw, *, turned: bool) -> Params:
    rows, p = _tidy(d, 2)
    first, second = sorted(d.rng.sample(range(1, _width(rows) + 1), 2), reverse=turned)
    return {"n": str(first), "m": str(second)} | p


def _fields(x: Lines, p: Params) -> Lines:
    return [f"{row[int(p['n']) - 1]} {row[int(p['m']) - 1]}" for row in map(str.split, x)]


def _first_dropped(d: Draw) -> Params:
    return _tidy(d, 2)[1]


def _word_field(d: Draw) -> Params:
    """A field that holds words, and one of them that some rows have and others haven't."""
    rows, p = _tidy(d, 2)
    columns = list(zip(*[row[: _width(rows)] for row in rows], strict=True))
    found = [f"{n} {v}" for n, c in enumerate(columns, 1) for v in sorted(set(c)) if v.isalpha() and all(map(str.isalpha, c)) and c.count(v) < len(c)]
    n, value = d.pick(found).split()
    return {"n": n, "value": value} | p


def _other_field(d: Draw) -> Params:
    p = _word_field(d)
    lines = d.x if d.x is not None else d.world.lines(p["in"])
    return {"m": d.pick(str(m) for m in range(1, _width([line.split() for line in lines]) + 1) if str(m) != p["n"])} | p


def _where(x: Lines, p: Params) -> Lines:
    return [line for line in x if line.split()[int(p["n"]) - 1] == p["value"]]


def _numeric(d: Draw, *, distinct: bool) -> tuple[list[int], Params]:
    """A field of whole numbers, and its values in order."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.log)))
    rows = [line.split() for line in lines]
    width = min((len(row) for row in rows), default=0)
    columns = list(zip(*[row[:width] for row in rows], strict=True))
    found = [str(n) for n, c in enumerate(columns, 1) if all(re.fullmatch(r"-?\d+", v) for v in c) and (not distinct or len(set(map(int, c))) == len(c) > 2)]
    n = d.pick(found)
    return sorted(int(v) for v in columns[int(n) - 1]), {"n": n} | p


def _limit(d: Draw) -> Params:
    values, p = _numeric(d, distinct=False)
    return {"limit": d.pick(str(v) for v in values[1:-1] if values[0] <= v < values[-1])} | p


def _by_number(x: Lines, p: Params, *, reverse: bool) -> Lines:
    return sorted(x, key=lambda line: int(line.split()[int(p["n"]) - 1]), reverse=reverse)


def _ranking(values: list[str], d: Draw) -> int:
    """How many of the most frequent `values` may be asked for, so that their order is beyond doubt."""
    counts = [c for _, c in Counter(values).most_common()]
    clear = [n for n in range(2, min(6, len(counts))) if len(set(counts[: n + 1])) == n + 1]
    return int(d.pick(map(str, clear)))


def _top_words(d: Draw) -> Params:
    lines, p = d.source(d.rng.choice((d.text, d.draft)))
    if not lines or not lines[0].strip() or any(line.startswith(" ") for line in lines):
        raise NoInstanceError
    return {"n": str(_ranking(" ".join(lines).split(), d))} | p


def _top_values(d: Draw) -> Params:
    rows, p = _tidy(d, 2)
    n = d.rng.randint(1, _width(rows))
    return {"n": str(n), "m": str(_ranking([row[n - 1] for row in rows], d))} | p


def _ranked(values: list[str], count: str) -> Lines:
    return [f"{c} {v}" for v, c in Counter(values).most_common(int(count))]


entry(
    "column_pair", TEXT, LINES, draw=lambda d: _pair(d, turned=False), reference=lambda w, x, p: _fields(x, p),
    ways=("awk '{print ${n:raw}, ${m:raw}}' {in}", "perl -lane 'print \"$F[{n:raw}-1] $F[{m:raw}-1]\"' {in}", "tr -s ' ' {<in} | cut -d' ' -f{n},{m}"),
    asks=("print columns {n} and {m} of {in}", "show [fields|columns] {n} and {m} of every line in {in}, separated by a blank", "extract the {n:th} and the {m:th} column from {in}",
          "what is in columns {n} and {m} of {in}? (blank-separated)", "{in}: only columns {n} and {m}", "i need fields {n} and {m} of each line of {in}",
          "from every line of {in} print word {n} and word {m}", "use awk to print columns {n} and {m} of {in}", "display just the blank-separated fields {n} and {m} of {in}",
          "reduce {in} to its columns number {n} and {m} and print that", "list the {n:th} and {m:th} word of each line in {in}"),
    nouns=("columns {n} and {m} of {in}", "the fields {n} and {m} of every line in {in}", "the {n:th} and the {m:th} column of {in}", "the words number {n} and {m} of each line in {in}",
           "the values of columns {n} and {m} in {in}", "the blank-separated fields {n} and {m} of {in}"),
    then=("print columns {n} and {m} of {x}", "keep only fields {n} and {m} of {x}", "extract columns {n} and {m} from {x}", "reduce {x} to word {n} and word {m}",
          "the {n:th} and {m:th} field of each of {x}", "columns {n} and {m} of {x}", "only columns {n} and {m} of {x}", "what is in columns {n} and {m} of {x}?",
          "show nothing but the {n:th} and the {m:th} column of {x}", "from each of {x} take fields {n} and {m}", "just fields number {n} and {m} of {x}"),
)
entry(
    "column_pair.swapped", TEXT, LINES, draw=lambda d: _pair(d, turned=True), reference=lambda w, x, p: _fields(x, p),
    ways=("awk '{print ${n:raw}, ${m:raw}}' {in}", "perl -lane 'print \"$F[{n:raw}-1] $F[{m:raw}-1]\"' {in}"),
    asks=("print column {n} followed by column {m} of {in}", "for each line of {in} show field {n} first and then field {m}", "output [field|column] {n} before [field|column] {m} for every line of {in}",
          "swap the columns of {in}: first {n}, then {m}", "{in}: column {n} and behind it column {m}", "i need field {n} and then field {m} of each line of {in}",
          "from every line of {in} print word {n}, a blank, and word {m}", "list {in} with column {n} in front and column {m} after it, nothing else", "reorder {in} so that only column {n} and then column {m} are printed",
          "what do the lines of {in} say in column {n}, followed by column {m}?"),
    nouns=("column {n} followed by column {m} of {in}", "the fields {n} and then {m} of every line in {in}", "the columns of {in} in the order {n}, {m}", "the {n:th} column of {in} with the {m:th} behind it",
           "the words number {n} and then {m} of each line in {in}"),
    then=("print column {n} followed by column {m} of {x}", "put field {n} before field {m} in {x} and print just these two", "show field {n} first and then field {m} of each of {x}", "reduce {x} to column {n} and behind it column {m}",
          "column {n} followed by column {m} of {x}", "only column {n} and then column {m} of {x}", "from each of {x} take word {n} and then word {m}", "the {n:th} field and after it the {m:th} of each of {x}",
          "give field {n} and behind it field {m} of each of {x}", "list column {n} in front of column {m} for {x}"),
)
entry(
    "last_column", TEXT, LINES, draw=lambda d: d.source(d.rng.choice((d.text, d.log, d.contacts)))[1], reference=lambda w, x, p: [line.split()[-1] if line.split() else "" for line in x],
    ways=("awk '{print $NF}' {in}", "sed 's/ *$//; s/.* //' {in}", "perl -lane 'print $F[-1]' {in}"),
    asks=("print the last [column|field] of {in}", "show the last word of each line in {in}", "what is the last word on every line of {in}?", "{in}: last column only", "extract the final blank-separated field from {in}",
          "i need the last word of every line of {in}", "use awk to print the last field of each line of {in}", "list what each line of {in} ends with, one word per line",
          "the last column of {in} please", "display just the rightmost word of every line of {in}", "from each line of {in} take only the last word"),
    nouns=("the last column of {in}", "the last word of each line in {in}", "the rightmost words of the lines of {in}", "the final field of every line of {in}", "the last words of all lines in {in}", "the values in the last column of {in}"),
    then=("print the last column of {x}", "keep only the last word of each of {x}", "extract the final field from {x}", "reduce {x} to the last word", "the last field of each of {x}", "only the last column of {x}",
          "the last word of each of {x}", "show nothing but the rightmost column of {x}", "what is the last word of each of {x}?", "just the final word of each of {x}", "from each of {x} take the last word"),
)
entry(
    "drop_column", TEXT, LINES, exact=True, draw=_first_dropped, reference=lambda w, x, p: [line.partition(" ")[2] for line in x],
    ways=("cut -d' ' -f2- {in}", "sed 's/^[^ ]* //' {in}", "awk '{sub(/^[^ ]+ /,\"\");print}' {in}"),
    asks=("print {in} without the first column", "show all columns of {in} except the first", "print every line of {in} from the second word on", "what do the lines of {in} say after their first word?",
          "{in} without its first field", "i need everything but the first blank-separated field of each line of {in}", "cut the first column off {in} and print the rest", "display columns 2 and following of {in}",
          "output the lines of {in} minus their first word", "get {in} from the second column to the end of each line", "list what follows the first blank on each line of {in}"),
    nouns=("the lines of {in} without their first word", "all columns of {in} except the first", "the lines of {in} from the second word on", "everything after the first field of each line of {in}",
           "columns 2 and following of {in}", "the rest of each line of {in} behind its first word"),
    then=("print {x} without the first column", "show all columns of {x} except the first", "print each of {x} from the second word on", "keep everything but the first field of {x}", "all columns but the first of {x}",
          "{x} without their first word", "only columns 2 and following of {x}", "the rest of each of {x} behind the first word", "what follows the first word in each of {x}?", "cut each of {x} so that it begins at its second word"),
)
entry(
    "rows_with", TEXT, LINES, draw=_word_field, reference=lambda w, x, p: _where(x, p),
    ways=("awk '${n:raw}==\"{value:raw}\"' {in}", "awk -v v={value} '${n:raw}==v' {in}", "perl -ane 'print if $F[{n:raw}-1] eq \"{value:raw}\"' {in}"),
    asks=("show the lines of {in} where [field|column] {n} is {value}", "which lines of {in} have {value} in column {n}?", "print every line of {in} whose {n:th} field is {value}",
          "filter {in} for lines with {value} as field {n}", "lines of {in} that have {value} as their {n:th} word", "{in}: lines where column {n} equals {value}", "find all lines of {in} in which word {n} is {value}",
          "i need the lines of {in} whose column {n} is exactly {value}", "use awk to print the lines of {in} where the {n:th} column equals {value}", "list only those lines of {in} that have {value} in their column {n}",
          "display the rows of {in} with field {n} = {value}"),
    nouns=("the lines of {in} where column {n} is {value}", "the lines of {in} with {value} as field {n}", "all lines of {in} whose {n:th} word is {value}", "the rows of {in} that have {value} in column {n}",
           "every line of {in} in which field {n} equals {value}"),
    then=("keep those of {x} where column {n} is {value}", "filter {x} for lines with {value} as field {n}", "show the ones of {x} whose {n:th} word is {value}", "which of {x} have {value} in column {n}?",
          "only those of {x} with {value} as their {n:th} field", "from {x} print whatever has {value} in column {n}", "the ones among {x} whose field {n} equals {value}", "restrict {x} to lines with column {n} being {value}",
          "pick the ones with field {n} = {value} out of {x}"),
)
entry(
    "rows_with.above", TEXT, LINES, draw=_limit, reference=lambda w, x, p: [line for line in x if int(line.split()[int(p["n"]) - 1]) > int(p["limit"])],
    ways=("awk '${n:raw}>{limit:raw}' {in}", "perl -ane 'print if $F[{n:raw}-1]>{limit:raw}' {in}", "awk -v k={limit} '${n:raw}>k+0' {in}"),
    asks=("show the lines of {in} where [field|column] {n} is [greater|larger|more] than {limit}", "which lines of {in} have a number above {limit} in column {n}?", "print every line of {in} whose {n:th} field exceeds {limit}",
          "filter {in} for lines with field {n} over {limit}", "lines of {in} with a {n:th} word above {limit}", "{in}: lines where column {n} > {limit}", "find all lines of {in} in which the number in column {n} is bigger than {limit}",
          "i need the lines of {in} whose column {n} is higher than {limit}", "use awk to print the lines of {in} where column {n} is above {limit}", "list only those lines of {in} that have more than {limit} in their {n:th} column",
          "display the rows of {in} with a value greater than {limit} as field {n}"),
    nouns=("the lines of {in} where column {n} is greater than {limit}", "the lines of {in} with field {n} above {limit}", "all lines of {in} whose {n:th} field exceeds {limit}", "the rows of {in} with more than {limit} in column {n}",
           "every line of {in} in which the {n:th} column is over {limit}"),
    then=("keep those of {x} where column {n} is greater than {limit}", "filter {x} for lines with field {n} above {limit}", "show the ones of {x} whose {n:th} field exceeds {limit}", "which of {x} have more than {limit} in column {n}?",
          "only those of {x} with a {n:th} field over {limit}", "from {x} print whatever has a number above {limit} in column {n}", "the ones among {x} whose field {n} is larger than {limit}",
          "restrict {x} to lines with column {n} being more than {limit}", "pick the ones with field {n} > {limit} out of {x}"),
)
entry(
    "rows_with.picked", TEXT, LINES, draw=_other_field, reference=lambda w, x, p: [line.split()[int(p["m"]) - 1] for line in _where(x, p)],
    ways=("awk '${n:raw}==\"{value:raw}\"{print ${m:raw}}' {in}", "awk -v v={value} '${n:raw}==v' {in} | awk '{print ${m:raw}}'", "perl -lane 'print $F[{m:raw}-1] if $F[{n:raw}-1] eq \"{value:raw}\"' {in}"),
    asks=("print column {m} of the lines of {in} where column {n} is {value}", "for each line of {in} whose {n:th} field is {value}, show field {m}", "what is in column {m} of {in} wherever column {n} is {value}?",
          "{in}: column {m} where column {n} equals {value}", "find the lines of {in} with {value} as field {n} and print only their field {m}", "i need field {m} of every line of {in} that has {value} in column {n}",
          "use awk to print column {m} when column {n} of {in} is {value}", "list the {m:th} word of those lines in {in} whose {n:th} word is {value}", "given that field {n} is {value}, which values does field {m} of {in} take?",
          "from {in} take the rows with {value} in column {n} and output their column {m}"),
    nouns=("column {m} of the lines of {in} where column {n} is {value}", "the {m:th} fields of the lines in {in} whose {n:th} field is {value}", "field {m} of every line of {in} that has {value} in column {n}",
           "the words number {m} of the {in} lines with {value} as word {n}", "the values in column {m} of {in} wherever column {n} is {value}"),
    then=("print column {m} of those of {x} where column {n} is {value}", "show field {m} of the ones of {x} with {value} as field {n}", "take word {m} wherever word {n} is {value} in {x}", "only column {m} of those among {x} whose column {n} is {value}",
          "the {m:th} field of those of {x} with {value} as the {n:th}", "field {m} of the ones with {value} in column {n} among {x}", "what stands in column {m} where column {n} is {value} in {x}?",
          "list the column {m} of the lines with column {n} = {value} in {x}", "pick field {m} of each line whose field {n} is {value} from {x}"),
)
entry(
    "sort_column", TEXT, LINES, draw=lambda d: _numeric(d, distinct=True)[1], reference=lambda w, x, p: _by_number(x, p, reverse=False),
    ways=("sort -k{n:raw},{n:raw}n {in}", "sort -n -k{n:raw} {in}", "perl -e 'print sort {(split \" \",$a)[{n:raw}-1]<=>(split \" \",$b)[{n:raw}-1]} <>' {in}"),
    asks=("sort {in} numerically by column {n}", "sort the lines of {in} by the number in [field|column] {n}", "order {in} by its {n:th} column, smallest number first", "print {in} sorted by field {n} as numbers",
          "{in} sorted by numeric column {n}", "what are the lines of {in} in ascending order of the number in column {n}?", "i need {in} ordered by the value in column {n}, lowest first", "show {in} with its lines sorted on the {n:th} field, numerically",
          "arrange the lines of {in} from the lowest to the highest number in column {n}", "list {in} by ascending {n:th} field (a number)", "rank the lines of {in} by field {n}, low numbers on top"),
    nouns=("the lines of {in} sorted numerically by column {n}", "the lines of {in} in ascending order of the number in field {n}", "{in} sorted by the {n:th} column as numbers", "the lines of {in} ordered by the number in column {n}, smallest first",
           "the lines of {in} from the lowest to the highest column {n}"),
    then=("sort {x} numerically by column {n}", "order {x} by the number in field {n}, smallest first", "put {x} in ascending order of their {n:th} field as a number", "{x} sorted by numeric column {n}", "{x} in ascending order of the number in column {n}",
          "show {x} by field {n}, low numbers first", "arrange {x} from the lowest to the highest number in column {n}", "sort {x} on the {n:th} field as numbers", "list {x} by growing column {n}", "how do {x} look sorted by the number in column {n}?"),
)
entry(
    "sort_column.desc", TEXT, LINES, draw=lambda d: _numeric(d, distinct=True)[1], reference=lambda w, x, p: _by_number(x, p, reverse=True),
    ways=("sort -k{n:raw},{n:raw}nr {in}", "sort -rn -k{n:raw} {in}", "sort -k{n:raw},{n:raw}n {in} | tac"),
    asks=("sort {in} numerically by column {n} in descending order", "sort the lines of {in} by the number in [field|column] {n}, largest first", "order {in} by its {n:th} column, biggest number first", "print {in} reverse sorted by field {n} as numbers",
          "{in} sorted by numeric column {n}, highest first", "what are the lines of {in} in descending order of the number in column {n}?", "i need {in} ordered by the value in column {n}, highest first",
          "show {in} with its lines sorted on the {n:th} field, numerically and reversed", "arrange the lines of {in} from the highest to the lowest number in column {n}", "list {in} by descending {n:th} field (a number)", "rank the lines of {in} by field {n}, high numbers on top"),
    nouns=("the lines of {in} sorted by the number in column {n}, largest first", "the lines of {in} in descending order of the number in field {n}", "{in} reverse sorted by the {n:th} column as numbers", "the lines of {in} from the highest to the lowest column {n}",
           "the lines of {in} ranked by the number in field {n}, biggest on top"),
    then=("sort {x} by the number in column {n}, largest first", "order {x} by field {n} numerically, biggest first", "put {x} in descending order of their {n:th} field as a number", "{x} sorted by numeric column {n}, highest first",
          "{x} in descending order of the number in column {n}", "show {x} by field {n}, high numbers first", "arrange {x} from the highest to the lowest number in column {n}", "sort {x} on the {n:th} field as numbers, reversed", "list {x} by falling column {n}",
          "rank {x} by the number in field {n}, biggest on top"),
)
entry(
    "top_words", TEXT, LINES, pads=True, draw=_top_words, reference=lambda w, x, p: _ranked(" ".join(x).split(), p["n"]),
    ways=("tr -s ' ' '\\n' {<in} | sort | uniq -c | sort -rn | head -n {n}", "awk '{for(i=1;i<=NF;i++)c[$i]++}END{for(k in c)print c[k],k}' {in} | sort -rn | head -n {n}", "grep -oE '[^ ]+' {in} | sort | uniq -c | sort -k1,1nr | sed {n}q"),
    asks=("show the {n} most frequent words in {in} with their counts", "what are the {n} most common words of {in}? count first, most common on top", "top {n} words in {in} with counts", "print the {n} words that occur most often in {in} and how often",
          "{in}: {n} most frequent words, each with its count", "count the words of {in} and list the {n} most frequent ones, count in front", "which {n} words are used most in {in}? show count and word, highest first",
          "i need the {n} commonest words of {in} and their numbers of occurrences, highest first", "make a word frequency list of {in}, only the top {n}, count before the word", "find the {n} most used words in {in}, print count and word"),
    nouns=("the {n} most frequent words in {in} with their counts", "the top {n} words of {in}, each preceded by its count", "the {n} most common words of {in} and how often they occur, most common first", "a list of the {n} most used words in {in} with counts",
           "the counts of the {n} words that occur most often in {in}, highest first, with the words"),
    then=("show the {n} most frequent words in {x} with their counts", "count the words in {x} and list the {n} most common ones, count first", "print the top {n} words of {x}, each preceded by its count", "the {n} most common words of {x} with counts",
          "only the {n} most used words in {x} and how often each occurs", "which {n} words occur most often in {x}? count first", "make a frequency list of the top {n} words in {x}, count in front", "the top {n} words of {x} along with their counts",
          "find the {n} commonest words in {x}, print count and word"),
)
entry(
    "top_values", TEXT, LINES, pads=True, draw=_top_values, reference=lambda w, x, p: _ranked([line.split()[int(p["n"]) - 1] for line in x], p["m"]),
    ways=("awk '{print ${n:raw}}' {in} | sort | uniq -c | sort -rn | head -n {m}", "awk '{c[${n:raw}]++}END{for(k in c)print c[k],k}' {in} | sort -rn | head -n {m}"),
    asks=("show the {m} most frequent values of column {n} in {in} with their counts", "what are the {m} most common words in column {n} of {in}? count first, most common on top", "top {m} values of field {n} in {in} with counts",
          "print the {m} values that occur most often as field {n} of {in} and how often", "{in}: {m} most frequent values of column {n}, each with its count", "count the values in column {n} of {in} and list the {m} most frequent, count in front",
          "which {m} values turn up most in the {n:th} column of {in}? show count and value, highest first", "i need the {m} commonest entries of column {n} in {in} and their counts, highest first", "rank the values of field {n} in {in} by frequency, only the top {m}, count before the value",
          "find the {m} most used values of the {n:th} field in {in}, print count and value"),
    nouns=("the {m} most frequent values of column {n} in {in} with their counts", "the top {m} values of field {n} in {in}, each preceded by its count", "the {m} most common words in column {n} of {in} and how often they occur, most common first",
           "a ranking of the {m} most used values of column {n} in {in} with counts", "the {m} commonest entries of field {n} in {in}, count first"),
    then=("show the {m} most frequent values of column {n} in {x} with their counts", "count the values of field {n} in {x} and list the {m} most common ones, count first", "print the top {m} values in column {n} of {x}, each preceded by its count",
          "the {m} most common values of field {n} in {x} with counts", "only the top {m} values of column {n} in {x} and how often each occurs", "which {m} values of column {n} occur most often in {x}? count first", "rank the {n:th} column by frequency, top {m} with counts, for {x}",
          "the top {m} of column {n} with their counts, taken from {x}", "find the {m} commonest entries in field {n} of {x}, print count and value"),
)
