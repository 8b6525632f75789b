"""Skills on comma-separated tables with a header: what they hold, counted, summed, ranked and grouped."""

from __future__ import annotations

from collections import Counter

from edgeevo.environments.skills import Draw, Kind, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_tables import LOOKUP, cells, draw_column, drawn_table, grid, numeric, textual
from edgeevo.environments.world import World

START, LINES, VALUE = Kind.START, Kind.LINES, Kind.VALUE


def _numbers(d: Draw) -> Params:
    return draw_column(d, numeric)


def _no_ties(d: Draw) -> Params:
    """A column of different numbers, so that no order among equals has to be guessed."""
    return draw_column(d, lambda h, c: numeric(h, c) and len(set(c)) == len(c))


def _clear_end(d: Draw) -> Params:
    """A column whose largest number stands in one row only."""
    return draw_column(d, lambda h, c: numeric(h, c) and list(map(int, c)).count(max(map(int, c))) == 1)


def _ranked(w: World, p: Params) -> list[str]:
    """Data rows by the drawn column, smallest number first."""
    return [",".join(row) for row in sorted(grid(w, p["file"])[1:], key=lambda row: int(row[int(p["n"]) - 1]))]


def _group(d: Draw) -> Params:
    path, rows = drawn_table(d)
    columns = list(enumerate(zip(*rows, strict=True), 1))
    keys = [n for n, c in columns if textual(c[0], list(c[1:]))]
    sums = [n for n, c in columns if numeric(c[0], list(c[1:]))]
    if not keys or not sums:
        raise NoInstanceError
    return {"file": path, "n": str(d.rng.choice(keys)), "m": str(d.rng.choice(sums))}


def _group_sums(w: World, p: Params) -> list[str]:
    sums: Counter[str] = Counter()
    for row in grid(w, p["file"])[1:]:
        sums[row[int(p["n"]) - 1]] += int(row[int(p["m"]) - 1])
    return [f"{k} {v}" for k, v in sorted(sums.items())]


entry(
    "csv_count_columns", START, VALUE, draw=lambda d: {"file": drawn_table(d)[0]},
    reference=lambda w, x, p: [str(len(grid(w, p["file"])[0]))],
    ways=("head -n 1 {file} | tr , '\\n' | wc -l", "awk -F, '{print NF;exit}' {file}", "awk -F, 'NR==1{print NF}' {file}"),
    asks=("how many columns does {file} have?", "count the columns of the CSV {file}", "number of comma separated fields in {file}", "{file}: how many columns?",
          "tell me how wide the table {file} is, in columns", "find out how many fields the header of {file} has", "give the column count of the comma-separated {file}",
          "i need the number of columns in the CSV {file}", "get how many comma separated columns {file} has"),
    nouns=("the number of columns in {file}", "how many columns the CSV {file} has", "the column count of the table {file}", "how many comma separated fields {file} has per line",
           "the amount of header fields in {file}"),
)
entry(
    "csv_distinct", START, LINES, draw=lambda d: draw_column(d, textual),
    reference=lambda w, x, p: sorted(set(cells(w, p))),
    ways=("tail -n +2 {file} | cut -d, -f{n} | sort -u", "awk -F, 'NR>1&&!s[${n:raw}]++{print ${n:raw}}' {file} | sort", "sed 1d {file} | cut -d, -f{n} | sort | uniq"),
    asks=("list the [distinct|different|unique] values in column {n} of {file}, sorted, without the header", "which different values occur in CSV column {n} of {file}? sorted, no header",
          "show each value of column {n} of the table {file} once, in order, not the header", "unique values of comma separated field {n} in {file}, header left out, sorted",
          "{file}: sorted distinct column {n}, title row excluded", "what values does column {n} of {file} take? each only once, alphabetically, skipping the header",
          "skip the header of {file} and print column {n} sorted without duplicates", "i need the sorted distinct values of CSV column {n} in {file}, header excluded",
          "get the different values below the header in column {n} of {file}, sorted"),
    nouns=("the sorted distinct values of column {n} in {file} without the header", "the different values below the header in CSV column {n} of {file}, in order",
           "each value of column {n} of {file} once, sorted, no header", "the unique data values of comma separated field {n} in {file}, sorted",
           "the sorted set of values that column {n} of the table {file} has under its header"),
)
entry(
    "csv_tally", START, LINES, draw=lambda d: draw_column(d, textual),
    reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(cells(w, p)).items())],
    ways=("tail -n +2 {file} | cut -d, -f{n} | sort | uniq -c", "awk -F, 'NR>1{c[${n:raw}]++}END{for(k in c)print c[k],k}' {file} | sort -k2", "sed 1d {file} | cut -d, -f{n} | sort | uniq -c"),
    asks=("count the rows per value of column {n} in {file}, without the header", "how often does each value occur in CSV column {n} of {file}? not counting the header",
          "for every different value in column {n} of {file} show [its count|how many rows have it], header excluded", "tally column {n} of the table {file}, skip the header",
          "{file}: group by column {n} and count, no header", "number of data rows for each value of comma separated field {n} in {file}",
          "group the data rows of {file} by their {n:th} CSV field and print count and value", "i need each value of CSV column {n} in {file} with its count, header excluded",
          "get the number of data rows for every value in column {n} of {file}"),
    nouns=("the number of data rows per value of column {n} in {file}", "how often each value occurs in CSV column {n} of {file}, header excluded",
           "the counts of the different values in column {n} of {file}, without header", "a tally of comma separated field {n} over the data rows of {file}",
           "count and value for everything in column {n} of the table {file}, no header"),
)
entry(
    "csv_sum", START, VALUE, draw=_numbers,
    reference=lambda w, x, p: [str(sum(map(int, cells(w, p))))],
    ways=("awk -F, 'NR>1{s+=${n:raw}}END{print s}' {file}", "tail -n +2 {file} | cut -d, -f{n} | paste -sd+ | bc", "sed 1d {file} | awk -F, '{s+=${n:raw}}END{print s}'"),
    asks=("add up column {n} of the CSV {file}", "what is the [sum|total] of column {n} in {file}?",
          "sum the numbers in the {n:th} comma separated field of {file} [(first line is a header)|, header skipped]", "{file}: total of CSV column {n}",
          "calculate how much the values in column {n} of the table {file} add up to", "sum up CSV field {n} over all rows of {file}", "i want one number, the sum over column {n} of {file}",
          "i need the sum of the values in CSV column {n} of {file}", "get the total over column {n} of the CSV {file}"),
    nouns=("the sum of column {n} in the CSV {file}", "the total of the numbers in column {n} of {file}", "what column {n} of the table {file} adds up to",
           "the sum over comma separated field {n} of {file}", "column {n} of {file} added up"),
)
entry(
    "csv_sum.named", START, VALUE, draw=_numbers,
    reference=lambda w, x, p: [str(sum(map(int, cells(w, p))))],
    ways=(f"awk -F, '{LOOKUP}{{s+=$c}}END{{print s}}' {{file}}",
          "tail -n +2 {file} | cut -d, -f\"$(head -n 1 {file} | tr , '\\n' | grep -nx {column} | cut -d: -f1)\" | paste -sd+ | bc",
          "perl -F, -lane 'if($.==1){($c)=grep $F[$_] eq \"{column:raw}\",0..$#F}else{$s+=$F[$c]}END{print $s}' {file}"),
    asks=("add up the {column} column of {file}", "what is the total {column} in {file}?", "sum {column} over all rows of the CSV {file}", "{file}: total of {column}",
          "how much {column} do the rows of {file} have altogether?", "calculate the sum of everything under {column} in the table {file}",
          "give me the overall {column} of {file}, just the number", "i need the sum of the values under {column} in {file}", "get the total over the column {column} of {file}"),
    nouns=("the sum of the {column} column in {file}", "the total {column} of all rows in {file}", "all the {column} values of the CSV {file} added up", "what {column} adds up to in {file}",
           "the overall {column} in the table {file}"),
)
entry(
    "csv_average", START, VALUE, draw=_numbers,
    reference=lambda w, x, p: [f"{sum(map(int, cells(w, p))) / len(cells(w, p)):.2f}"],
    ways=("awk -F, 'NR>1{s+=${n:raw};n++}END{printf \"%.2f\\n\",s/n}' {file}", "tail -n +2 {file} | cut -d, -f{n} | awk '{s+=$1}END{printf \"%.2f\\n\",s/NR}'",
          "perl -F, -lane 'if($.>1){$s+=$F[{n:raw}-1];$k++}END{printf \"%.2f\\n\",$s/$k}' {file}"),
    asks=("what is the average of column {n} in {file}, with two decimals?", "print the mean of CSV column {n} of {file} [rounded|] to 2 decimals",
          "average the {n:th} comma separated field of {file}, two decimal places", "{file}: mean of column {n} (2 decimals, header skipped)",
          "compute the average over all data rows of {file} for column {n}, format it with two decimals",
          "give me the arithmetic mean of field {n} in the table {file}, exactly two digits after the point", "mean value in column {n} of the CSV {file}, 2 places",
          "i need the mean of the values in CSV column {n} of {file} with two decimals", "get the average over column {n} of the CSV {file}, two decimals"),
    nouns=("the average of column {n} in {file} with two decimals", "the mean of CSV column {n} of {file}, 2 decimals", "the average over the data rows of {file} in column {n}, to two places",
           "the mean value of comma separated field {n} in {file} with 2 decimals", "column {n} of the table {file} averaged, two digits after the point"),
)
entry(
    "csv_max", START, VALUE, draw=_numbers,
    reference=lambda w, x, p: [str(max(map(int, cells(w, p))))],
    ways=("tail -n +2 {file} | cut -d, -f{n} | sort -n | tail -n 1", "awk -F, 'NR>1&&(NR==2||${n:raw}>m){m=${n:raw}}END{print m}' {file}", "sed 1d {file} | cut -d, -f{n} | sort -rn | head -n 1"),
    asks=("what is the [largest|highest|biggest] value in column {n} of {file}?", "print the maximum of CSV column {n} in {file}",
          "find the highest number among the {n:th} comma separated fields of {file}", "{file}: max of column {n}", "how high does column {n} of the table {file} go?",
          "get the top value of field {n} from the CSV {file}, only that number", "maximum in column {n}, {file}", "i need the highest value in CSV column {n} of {file}",
          "get the maximum over column {n} of the CSV {file}"),
    nouns=("the largest value in column {n} of {file}", "the maximum of CSV column {n} in {file}", "the highest number that column {n} of the table {file} has", "the biggest comma separated field {n} in {file}",
           "the top value of column {n} of {file}"),
)
entry(
    "csv_min", START, VALUE, draw=_numbers,
    reference=lambda w, x, p: [str(min(map(int, cells(w, p))))],
    ways=("tail -n +2 {file} | cut -d, -f{n} | sort -n | head -n 1", "awk -F, 'NR>1&&(NR==2||${n:raw}<m){m=${n:raw}}END{print m}' {file}", "sed 1d {file} | cut -d, -f{n} | sort -rn | tail -n 1"),
    asks=("what is the [smallest|lowest] value in column {n} of {file}?", "print the minimum of CSV column {n} in {file}",
          "find the lowest number among the {n:th} comma separated fields of {file}", "{file}: min of column {n}", "how low does column {n} of the table {file} go?",
          "get the smallest value of field {n} from the CSV {file}, only that number", "minimum in column {n}, {file}", "i need the lowest value in CSV column {n} of {file}",
          "get the minimum over column {n} of the CSV {file}"),
    nouns=("the smallest value in column {n} of {file}", "the minimum of CSV column {n} in {file}", "the lowest number that column {n} of the table {file} has", "the least comma separated field {n} in {file}",
           "the bottom value of column {n} of {file}"),
)
entry(
    "csv_sort", START, LINES, draw=_no_ties, reference=lambda w, x, p: _ranked(w, p),
    ways=("tail -n +2 {file} | sort -t, -k{n:raw},{n:raw}n", "sed 1d {file} | sort -t, -n -k{n:raw},{n:raw}", "awk 'NR>1' {file} | sort -t, -k{n:raw},{n:raw}g"),
    asks=("sort the data rows of {file} [by number|numerically] by column {n}, without the header", "order the rows of the CSV {file} by column {n}, smallest first, header left out",
          "what are the rows of {file} from lowest to highest column {n}? no header", "{file} sorted by its {n:th} comma separated field, numeric ascending, header removed",
          "show the records of the table {file} in ascending order of field {n}, leave the title row away", "skip the header of {file} and sort what remains by CSV column {n} as numbers",
          "list all data lines of {file} by growing column {n}", "i need the data rows of {file} ordered by the number in CSV column {n}, without the header",
          "get the rows of {file} sorted by column {n} as numbers, no header"),
    nouns=("the data rows of {file} sorted by the numbers in column {n}", "the rows of the CSV {file} without header, smallest column {n} first", "the records of {file} in ascending order of column {n}, no header",
           "the table {file} without its title row, sorted numerically by field {n}", "all data lines of {file} by growing CSV column {n}"),
)
entry(
    "csv_sort.desc", START, LINES, draw=_no_ties, reference=lambda w, x, p: _ranked(w, p)[::-1],
    ways=("tail -n +2 {file} | sort -t, -k{n:raw},{n:raw}nr", "sed 1d {file} | sort -t, -rn -k{n:raw},{n:raw}", "awk 'NR>1' {file} | sort -t, -k{n:raw},{n:raw}n | tac"),
    asks=("sort the data rows of {file} by column {n}, [largest|highest|biggest] first, without the header", "order the rows of the CSV {file} by descending column {n}, header left out",
          "what are the rows of {file} from highest to lowest column {n}? no header", "{file} sorted by its {n:th} comma separated field, numeric descending, header removed",
          "rank the records of the table {file} by field {n}, top value on top, drop the title row", "skip the header of {file} and reverse sort the rest by the number in CSV column {n}",
          "list all data lines of {file} by falling column {n}", "i need the data rows of {file} ordered by CSV column {n}, highest number first, without the header",
          "get the rows of {file} sorted by column {n}, largest first, no header"),
    nouns=("the data rows of {file} sorted by column {n}, highest first", "the rows of the CSV {file} without header, largest column {n} first", "the records of {file} in descending order of column {n}, no header",
           "the table {file} without its title row, reverse sorted by the number in field {n}", "all data lines of {file} by falling CSV column {n}"),
)
entry(
    "csv_sort.header", START, LINES, draw=_no_ties, reference=lambda w, x, p: [*w.lines(p["file"])[:1], *_ranked(w, p)],
    ways=("(head -n 1 {file}; tail -n +2 {file} | sort -t, -k{n:raw},{n:raw}n)", "{ head -n 1 {file}; sed 1d {file} | sort -t, -n -k{n:raw},{n:raw}; }",
          "awk 'NR==1{print;fflush()}NR>1{print|\"sort -t, -k{n:raw},{n:raw}n\"}' {file}"),
    asks=("sort {file} numerically by column {n} but keep the header on top", "order the CSV {file} by the number in column {n}, header stays first",
          "show the table {file} sorted by field {n} (ascending), header line first", "how does {file} look sorted by numeric column {n} with its header still at the top?",
          "{file} by column {n}, smallest number first, keeping the title row where it is", "keep the first line of {file} and sort the others by their {n:th} comma separated number",
          "sort rows of the CSV {file} on column {n} ascending without moving the header", "i need {file} ordered by the number in CSV column {n}, header on top",
          "get {file} sorted by column {n} as numbers with the header line first"),
    nouns=("the table {file} sorted numerically by column {n} with the header on top", "the CSV {file} in ascending order of column {n}, header first", "{file} sorted by the number in field {n}, its header kept at the top",
           "the rows of {file} by growing column {n} below the unchanged header", "header and then the rows of {file} ordered by CSV column {n}"),
)
entry(
    "csv_max_row", START, VALUE, draw=_clear_end, reference=lambda w, x, p: _ranked(w, p)[-1:],
    ways=("tail -n +2 {file} | sort -t, -k{n:raw},{n:raw}n | tail -n 1", "sed 1d {file} | sort -t, -k{n:raw},{n:raw}nr | head -n 1", "awk -F, 'NR>1&&(NR==2||${n:raw}>m){m=${n:raw};r=$0}END{print r}' {file}"),
    asks=("which row of {file} has the [largest|highest|biggest] value in column {n}?", "print the whole row of the CSV {file} with the maximum in column {n}",
          "show the record of {file} whose {n:th} comma separated number is the highest", "{file}: complete row with the top column {n}",
          "find the line in the table {file} that has the biggest field {n}", "get the full data row where column {n} of {file} peaks", "row with the most in column {n}, CSV {file}",
          "i need the complete row of {file} with the highest number in CSV column {n}", "get the row of {file} that has the maximum in column {n}"),
    nouns=("the row of {file} with the largest value in column {n}", "the whole row that has the maximum of column {n} in the CSV {file}", "the record of {file} with the highest field {n}",
           "the line in the table {file} with the biggest column {n}", "the complete data row of {file} where column {n} is at its top"),
)
entry(
    "csv_group_sum", START, LINES, draw=_group, unordered=True, reference=lambda w, x, p: _group_sums(w, p),
    ways=("awk -F, 'NR>1{s[${n:raw}]+=${m:raw}}END{for(k in s)print k,s[k]}' {file}", "perl -F, -lane '$s{$F[{n:raw}-1]}+=$F[{m:raw}-1] if $.>1;END{print \"$_ $s{$_}\" for keys %s}' {file}",
          "sed 1d {file} | awk -F, '{s[${n:raw}]+=${m:raw}}END{for(k in s)print k,s[k]}'"),
    asks=("sum column {m} of {file} for each value of column {n}, print value and sum",
          "for every different column {n} in the CSV {file}, what is the total of column {m}? one 'value total' per line", "group the data rows of {file} by column {n} and add up column {m}",
          "{file}: totals of CSV column {m} per column {n}, separated by a blank", "show value and total: column {m} of the table {file} summed by field {n}",
          "how much does comma separated field {m} of {file} add up to per field {n}? print group and sum", "add column {m} up separately for each column {n} of {file}, header skipped",
          "i need the sums of column {m} in the CSV {file} per value of column {n}, value first", "get the totals of column {m} for every value in column {n} of {file}, value first"),
    nouns=("the totals of column {m} per value of column {n} in {file}", "value and sum of column {m} for each different column {n} of the CSV {file}", "the sums of field {m} grouped by field {n} in {file}",
           "what column {m} of the table {file} adds up to for each column {n}", "the per-group totals (group by column {n}, sum column {m}) of {file}"),
)
