"""Skills on records of blank-separated fields: logs, addresses, rankings by frequency; and on two lists at once."""

from __future__ import annotations

import re
from collections import Counter

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry

TEXT, LINES, VALUE, START = Kind.TEXT, Kind.LINES, Kind.VALUE, Kind.START
LEVEL, DAY = 2, 0  # field numbers of a log line, from 0


def _log(d: Draw) -> tuple[Lines, Params]:
    path = d.log()
    lines = d.world.lines(path)
    if not lines or not all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ ", line) for line in lines):
        raise NoInstanceError  # an earlier link has edited it
    return lines, {"file": path}


def _level(d: Draw) -> Params:
    lines, p = _log(d)
    levels = {line.split()[LEVEL] for line in lines}
    return p | {"level": d.pick(sorted(levels) if len(levels) > 1 else ())}


def _day(d: Draw) -> Params:
    lines, p = _log(d)
    days = {line.split()[DAY] for line in lines}
    return p | {"date": d.pick(sorted(days) if len(days) > 1 else ())}


def _days(d: Draw) -> Params:
    lines, p = _log(d)
    days = sorted({line.split()[DAY] for line in lines})
    if len(days) < 3:
        raise NoInstanceError
    i = d.rng.randrange(len(days) - 1)
    return p | {"date": days[i], "date2": days[d.rng.randint(i + 1, min(i + 2, len(days) - 1))]}


def _slow(d: Draw) -> Params:
    lines, p = _log(d)
    took = sorted(int(line.split()[-2]) for line in lines)
    return p | {"limit": d.pick(str(v) for v in took[:-1] if v < took[-1])}


def _field(d: Draw) -> Params:
    """A field of blank-separated lines in which values recur."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.contacts)))
    rows = [line.split() for line in lines]
    width = min((len(row) for row in rows), default=0)
    return {"n": d.pick(str(i + 1) for i in range(width) if 1 < len({row[i] for row in rows}) < len(rows))} | p


def _top(d: Draw) -> Params:
    p = _field(d)
    lines = d.x if d.x is not None else d.world.lines(p["in"])
    counts = Counter(_cut(lines, p)).most_common(2)
    if counts[0][1] == counts[1][1]:
        raise NoInstanceError
    return p


def _cut(lines: Lines, p: Params) -> Lines:
    return [line.split()[int(p["n"]) - 1] for line in lines]


def _top_line(d: Draw) -> Params:
    lines, p = d.source(d.rng.choice((d.text, d.draft)))
    counts = Counter(lines).most_common(2)
    if len(counts) < 2 or counts[0][1] == counts[1][1] or not counts[0][0].strip():
        raise NoInstanceError
    return p


def _top_word(d: Draw) -> Params:
    lines, p = d.source(d.rng.choice((d.text, d.draft, d.contacts)))
    counts = Counter(" ".join(lines).split()).most_common(2)
    if len(counts) < 2 or counts[0][1] == counts[1][1]:
        raise NoInstanceError
    return p


def _contacts(d: Draw) -> Params:
    lines, p = d.source(d.contacts)
    if not any("@" in line for line in lines):
        raise NoInstanceError
    return p


def _lists(d: Draw) -> Params:
    first, second = d.lists()
    return {"file": first, "file2": second}


def _pasted(first: Lines, second: Lines) -> Lines:
    longest = max(len(first), len(second))
    left, right = (lines + [""] * (longest - len(lines)) for lines in (first, second))
    return [f"{a},{b}" for a, b in zip(left, right, strict=True)]


entry(
    "log_level", START, LINES, draw=_level, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line.split()[LEVEL] == p["level"]],
    ways=("grep {level} {file}", "awk -v k={level} '$3==k' {file}", "sed -n '/ {level:raw} /p' {file}"),
    asks=("show the {level} lines of the log {file}", "which entries in {file} have level {level}?", "print all {level} messages from {file}", "{file}: level {level} only",
          "filter the log {file} by level {level}", "find everything that was logged as {level} in {file}", "give me the log entries at {level} in {file}",
          "i need the {level} entries of {file}", "get all lines of level {level} from the log {file}"),
    nouns=("the {level} lines of the log {file}", "all {level} messages in {file}", "the entries of {file} with level {level}", "everything logged as {level} in {file}", "the log lines at level {level} from {file}"),
)
entry(
    "log_level.count", START, VALUE, draw=_level, reference=lambda w, x, p: [str(sum(line.split()[LEVEL] == p["level"] for line in w.lines(p["file"])))],
    ways=("grep -c {level} {file}", "grep {level} {file} | wc -l", "awk -v k={level} '$3==k{n++}END{print n+0}' {file}"),
    asks=("how many {level} lines are in the log {file}?", "count the entries with level {level} in {file}", "number of {level} messages in {file}", "{file}: how many times {level}?",
          "tell me how often something was logged as {level} in {file}", "count {level} in the log {file}", "give only the amount of log entries at {level} in {file}",
          "i need the number of {level} entries in {file}", "get how many lines of the log {file} have level {level}"),
    nouns=("the number of {level} lines in the log {file}", "how many {level} messages {file} has", "the count of entries with level {level} in {file}", "how often {file} logs {level}", "the amount of log lines at level {level} in {file}"),
)
entry(
    "log_levels", START, LINES, draw=lambda d: _log(d)[1], unordered=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(line.split()[LEVEL] for line in w.lines(p["file"])).items())],
    ways=("awk '{print $3}' {file} | sort | uniq -c", "awk '{c[$3]++}END{for(k in c)print c[k],k}' {file}", "cut -d' ' -f3 {file} | sort | uniq -c | sort -rn"),
    asks=("count the lines of the log {file} per level (third field)", "how many entries of each level does the log {file} have? the level is the 3rd word",
          "tally the log levels in {file}, field 3, count first", "{file}: lines per level, which is field three", "for every level in the third column of {file} show how often it occurs",
          "break {file} down by log level (word 3): count and level", "group the log {file} by its third field and count", "i need each level of {file} with its count",
          "get the number of lines per level in the log {file}"),
    nouns=("the number of log lines per level (third field) in {file}", "how often each level occurs in {file}, the level being word 3", "a tally of field 3, the log level, in {file}", "the counts of the levels in the third column of {file}",
           "count and level for the log {file} (level = field 3)"),
)
entry(
    "log_day", START, LINES, draw=_day, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line.startswith(p["date"])],
    ways=("grep '^{date:raw}' {file}", "awk -v k={date} '$1==k' {file}", "sed -n '/^{date:raw}/p' {file}"),
    asks=("show the log lines of {date} in {file}", "what was logged on {date} in {file}?", "print everything in {file} dated {date}", "{file}: entries from {date}",
          "filter the log {file} for the day {date}", "find the lines of {file} whose date is {date}", "give me all that {file} recorded on {date}",
          "i need the log lines of {date} from {file}", "get all entries that {file} has for {date}", "which lines of {file} are from {date}?"),
    nouns=("the log lines of {date} in {file}", "the entries of {file} dated {date}", "everything logged on {date} in {file}", "what {file} recorded on {date}", "the lines of the log {file} for the day {date}"),
)
entry(
    "log_days", START, LINES, draw=_days, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if p["date"] <= line.split()[DAY] <= p["date2"]],
    ways=("awk '$1>=\"{date:raw}\"&&$1<=\"{date2:raw}\"' {file}", "awk -v a={date} -v b={date2} '$1>=a&&$1<=b' {file}", "perl -ane 'print if $F[0] ge \"{date:raw}\" and $F[0] le \"{date2:raw}\"' {file}"),
    asks=("show the log lines in {file} from {date} to {date2}, both days included", "what was logged between {date} and {date2} (inclusive) in {file}?",
          "print entries of {file} dated {date} through {date2}", "{file}: everything from {date} up to and including {date2}",
          "filter the log {file} for dates of {date} or later and {date2} or earlier", "find all lines of {file} whose date lies in {date}..{date2}, ends included",
          "give me what {file} recorded in the days {date} to {date2}", "i need the log lines of {file} from {date} to {date2}, both included",
          "get all entries that {file} has for {date} until {date2} inclusive"),
    nouns=("the log lines of {file} from {date} to {date2} inclusive", "the entries of {file} dated {date} through {date2}", "everything logged between {date} and {date2} (both included) in {file}", "what {file} recorded in the days {date} to {date2}",
           "the lines of the log {file} with a date in {date}..{date2}"),
)
entry(
    "log_slow", START, LINES, draw=_slow, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if int(line.split()[-2]) > int(p["limit"])],
    ways=("awk '$(NF-1)>{limit:raw}' {file}", "perl -ane 'print if $F[-2]>{limit:raw}' {file}", "awk -v k={limit} '$(NF-1)>k+0' {file}"),
    asks=("show lines of the log {file} that took more than {limit} ms, the number before the last word", "which entries in {file} have a next to last field above {limit}?",
          "print all lines in {file} whose second last field is greater than {limit}", "{file}: lines with over {limit} in the field before the last",
          "find requests in {file} slower than {limit} ms (milliseconds are the last but one word)", "filter {file}: last but one field must exceed {limit}",
          "slow entries of {file}, where the number in front of the final word is larger than {limit}", "i need the lines of {file} whose second last field is above {limit}",
          "get the log lines of {file} that took over {limit} ms, see the field before the last"),
    nouns=("the lines of {file} whose next to last field is above {limit}", "the entries in {file} with a second last field greater than {limit}", "the lines of the log {file} slower than {limit} ms (last but one word)",
           "every line in {file} that has more than {limit} before its last word", "what took over {limit} ms in {file}, going by the last but one field"),
)
entry(
    "field_distinct", TEXT, LINES, draw=_field, reference=lambda w, x, p: sorted(set(_cut(x, p))),
    ways=("awk '{print ${n:raw}}' {in} | sort -u", "awk '!s[${n:raw}]++{print ${n:raw}}' {in} | sort", "tr -s ' ' {<in} | cut -d' ' -f{n} | sort | uniq"),
    asks=("list the [distinct|different|unique] values of field {n} in {in}, sorted", "which different words stand in column {n} of {in}? in order",
          "show each value of the {n:th} blank-separated field of {in} once, sorted", "{in}: unique entries of column {n}, sorted",
          "take word {n} of every line in {in}, sort and drop duplicates", "what values does column {n} of {in} have, without repeats and alphabetically?", "sorted unique column {n} of {in}",
          "i need the different values of column {n} in {in}, sorted", "get the sorted unique words in column {n} of {in}"),
    nouns=("the distinct values of field {n} in {in}, sorted", "the different words in column {n} of {in} in order", "the sorted unique values of column {n} of {in}", "each value of word {n} in {in} once, alphabetically",
           "what field {n} of {in} can be, sorted and without repeats"),
    then=("list the distinct values of field {n} of {x}, sorted", "take column {n} of {x}, sort it and drop duplicates", "show each value of word {n} in {x} once, sorted", "reduce {x} to the sorted unique values of column {n}",
          "print the different entries in column {n} of {x}, in order", "give the unique field {n} of {x} alphabetically",
          "the sorted distinct values of field {n} of {x}", "only the different values of column {n} of {x} in order", "which values does field {n} of {x} take? sorted, each once"),
)
entry(
    "field_tally", TEXT, LINES, draw=_field, unordered=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(_cut(x, p)).items())],
    ways=("awk '{print ${n:raw}}' {in} | sort | uniq -c", "awk '{c[${n:raw}]++}END{for(k in c)print c[k],k}' {in}", "tr -s ' ' {<in} | cut -d' ' -f{n} | sort | uniq -c"),
    asks=("count the occurrences of each value in field {n} of {in}", "for every different word in column {n} of {in} show its count", "tally column {n} of {in}",
          "{in}: lines per value of field {n}", "how many lines of {in} are there for each word {n}? count first", "group {in} by its {n:th} blank-separated field and count",
          "count and value for all entries in column {n} of {in}", "i need every value of column {n} in {in} with its count", "get the counts of the values in field {n} of {in}"),
    nouns=("how often the different values of field {n} come up in {in}", "the counts of the different words in column {n} of {in}", "a tally of column {n} in {in}", "the number of lines in {in} per value of field {n}",
           "count and value for column {n} of {in}"),
    then=("count how often each value of field {n} occurs in {x}", "tally column {n} of {x}", "group {x} by word {n} and count", "show each value of column {n} in {x} with its count",
          "for every field {n} of {x} print how many lines have it", "give count and value for column {n} of {x}", "the different values of field {n} of {x}, each with its count",
          "the count of each different value in column {n} of {x}", "how often does each value of field {n} occur in {x}?"),
)
entry(
    "field_top", TEXT, VALUE, draw=_top, reference=lambda w, x, p: [Counter(_cut(x, p)).most_common(1)[0][0]],
    ways=("awk '{print ${n:raw}}' {in} | sort | uniq -c | sort -rn | head -n 1 | awk '{print $2}'", "awk '{c[${n:raw}]++}END{for(k in c)if(c[k]>m){m=c[k];t=k}print t}' {in}",
          "perl -lane '$c{$F[{n:raw}-1]}++;END{print((sort{$c{$b}<=>$c{$a}}keys %c)[0])}' {in}"),
    asks=("what is the most frequent value of field {n} in {in}?", "print the word that occurs most often in column {n} of {in}, without its count",
          "find the commonest entry of the {n:th} blank-separated column in {in}", "{in}: top value of field {n}, value only", "who or what comes up most in column {n} of {in}?",
          "get only the most common word {n} over all lines of {in}", "most frequent column {n} value in {in}", "i need the value that column {n} of {in} has most often",
          "get the most common value of field {n} in {in}, without a count"),
    nouns=("the most frequent value of field {n} in {in}", "the word that occurs most often in column {n} of {in}", "the commonest entry of column {n} in {in}", "the top value of field {n} over all lines of {in}", "what column {n} of {in} says most often"),
    then=("print the most frequent value of field {n} of {x}", "find the word that occurs most often in column {n} of {x}", "tell me the commonest entry of column {n} in {x}",
          "give only the top value of field {n} of {x}", "report what column {n} of {x} says most often", "pick the most common word {n} of {x}",
          "the value that field {n} of {x} has most often", "only the commonest word in column {n} of {x}", "which value of field {n} is the most frequent one of {x}?"),
)
entry(
    "top_line", TEXT, VALUE, draw=_top_line, reference=lambda w, x, p: [f"{c} {k}" for k, c in Counter(x).most_common(1)],
    ways=("sort {in} | uniq -c | sort -rn | head -n 1", "awk '{c[$0]++}END{for(k in c)if(c[k]>m){m=c[k];t=k}print m,t}' {in}", "sort {in} | uniq -c | sort -n | tail -n 1"),
    asks=("which line occurs most often in {in}? show count and line", "print the most frequent line of {in} with its count",
          "find the commonest line in {in} and how often it is there, count first", "{in}: most repeated line, with count",
          "show how many times the most common line of {in} appears, followed by the line", "count the lines of {in} and give the top one",
          "most frequent line plus its number of occurrences, {in}", "i need the line that {in} has most often, with its count in front", "get the most frequent line of {in}, count first"),
    nouns=("the most frequent line of {in} with its count", "count and text of the commonest line in {in}", "the line that occurs most often in {in}, count first", "the top line of {in} by frequency, with count", "the most repeated line in {in} and its count"),
    then=("show the most frequent of {x} with its count", "find the commonest of {x}, count first", "print which of {x} occurs most often and how many times, count first",
          "count {x} and give the top one with its count", "report the most repeated of {x} with the count", "pick the one that comes up most often in {x}, together with its count",
          "the most frequent of {x} with its count", "only the commonest of {x} and its count", "which of {x} occurs most often and how many times?"),
)
entry(
    "top_word", TEXT, VALUE, draw=_top_word, reference=lambda w, x, p: [f"{c} {k}" for k, c in Counter(" ".join(x).split()).most_common(1)],
    ways=("tr -s ' ' '\\n' {<in} | sort | uniq -c | sort -rn | head -n 1", "awk '{for(i=1;i<=NF;i++)c[$i]++}END{for(k in c)if(c[k]>m){m=c[k];t=k}print m,t}' {in}", "grep -oE '[^ ]+' {in} | sort | uniq -c | sort -n | tail -n 1"),
    asks=("which word occurs most often in {in}? show count and word", "print the most frequent word of {in} with its count", "find the commonest word in {in}, count first",
          "{in}: most used word, with count", "show how many times the most common word of {in} appears, then the word", "count all words of {in} and give me the top one",
          "what word is used most in {in} and how often?", "i need the word that {in} uses most often, with its count in front", "get the most frequent word of {in}, count first"),
    nouns=("the most frequent word of {in} with its count", "count and word for the commonest word in {in}", "the word used most often in {in}, count first", "the top word of {in} by frequency, with count", "the most used word in {in} and its count"),
    then=("show the most frequent word of {x} with its count", "find the commonest word in {x}, count first", "print which word comes up most often in {x} and how many times",
          "count all words of {x} and give the top one with its count", "report the most used word in {x} with the count", "pick the word that occurs most in {x}, together with its count",
          "the most frequent word of {x} with its count", "only the commonest word in {x} and its count", "which word occurs most often in {x} and how many times?"),
)
entry(
    "emails", TEXT, LINES, draw=_contacts, reference=lambda w, x, p: re.findall(r"[\w.-]+@[\w.-]+", "\n".join(x)),
    ways=("grep -oE '[[:alnum:]._-]+@[[:alnum:].-]+' {in}", "perl -nle 'print $& while /[\\w.-]+@[\\w.-]+/g' {in}", "tr ' ' '\\n' {<in} | grep @"),
    asks=("extract the e-mail addresses from {in}", "which mail addresses are in {in}?", "pull all emails out of {in}, one per line", "{in}: email addresses only",
          "print just the email addresses that {in} contains", "find every address with an @ in {in} and show nothing else", "list e-mails found in {in}",
          "i need all email addresses from {in}", "get every e-mail address out of {in}, one per line", "what email addresses does {in} contain?"),
    nouns=("the e-mail addresses in {in}", "all emails found in {in}", "every mail address that {in} contains", "just the email addresses of {in}", "the addresses with an @ from {in}"),
)
entry(
    "ips", TEXT, LINES, draw=_contacts, reference=lambda w, x, p: re.findall(r"\d+\.\d+\.\d+\.\d+", "\n".join(x)),
    ways=("grep -oE '[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+' {in}", "perl -nle 'print $& while /\\d+\\.\\d+\\.\\d+\\.\\d+/g' {in}"),
    asks=("extract the IP addresses from {in}", "which ip addresses occur in {in}?", "pull all IPs out of {in}, one per line", "{in}: IP addresses only",
          "print just the IPv4 addresses that {in} contains", "find every dotted address like 10.0.0.1 in {in} and show nothing else", "list ips found in {in}",
          "i need all IP addresses from {in}", "get every IPv4 address out of {in}, one per line", "what IP addresses does {in} contain?"),
    nouns=("the IP addresses in {in}", "all IPs found in {in}", "every IPv4 address that {in} contains", "just the ip addresses of {in}", "the dotted addresses from {in}"),
)
entry(
    "common_lines", START, LINES, draw=_lists, unordered=True, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line in w.lines(p["file2"])],
    ways=("grep -Fxf {file} {file2}", "comm -12 <(sort {file}) <(sort {file2})", "sort {file} {file2} | uniq -d"),
    asks=("which lines do {file} and {file2} have in common?", "show lines that occur in both {file} and {file2}", "print what is in {file} as well as in {file2}",
          "compare {file} with {file2} and list the lines they share", "lines common to {file} and {file2}", "find the overlap of {file} and {file2}, line by line",
          "give me every line of {file} that {file2} contains too", "i need the lines that both {file} and {file2} contain", "what do {file} and {file2} have in common, line by line?"),
    nouns=("the lines that {file} and {file2} have in common", "the lines occurring in both {file} and {file2}", "what {file} and {file2} share", "the overlap of {file} and {file2}", "every line of {file} that is in {file2} too"),
)
entry(
    "only_first", START, LINES, draw=_lists, unordered=True, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line not in w.lines(p["file2"])],
    ways=("grep -vxFf {file2} {file}", "comm -23 <(sort {file}) <(sort {file2})", "awk 'NR==FNR{s[$0]=1;next}!($0 in s)' {file2} {file}"),
    asks=("which lines are in {file} but not in {file2}?", "show lines of {file} that are missing from {file2}", "print what {file} has and {file2} lacks",
          "compare {file} with {file2} and list what is only in the first", "lines only in {file}, not in {file2}", "take the lines of {file} and leave out all that {file2} has",
          "give me every line of {file} that {file2} does not contain", "i need the lines of {file} that {file2} does not have", "what does {file} contain that {file2} doesn't?"),
    nouns=("the lines of {file} that are not in {file2}", "the lines only in {file}, compared with {file2}", "what {file} has and {file2} lacks", "the lines of {file} missing from {file2}", "every line of {file} that {file2} does not contain"),
)
entry(
    "union_lines", START, LINES, draw=_lists, reference=lambda w, x, p: sorted({*w.lines(p["file"]), *w.lines(p["file2"])}),
    ways=("sort -u {file} {file2}", "cat {file} {file2} | sort -u", "sort {file} {file2} | uniq"),
    asks=("merge {file} and {file2} into one sorted list without duplicates", "print all lines of {file} and {file2} together, sorted, each only once",
          "what lines do {file} and {file2} have between them? sorted, no repeats", "combine {file} with {file2}, sort and drop duplicates", "sorted union of {file} and {file2}",
          "show every line that is in {file} or {file2}, in order and once", "take both {file} and {file2}, order their lines and remove repeats",
          "i need the lines of {file} and {file2} in one sorted list, each once", "get all distinct lines of {file} and {file2}, sorted"),
    nouns=("the sorted lines of {file} and {file2} together, each once", "the sorted union of {file} and {file2}", "all lines from {file} or {file2} in order without repeats", "{file} merged with {file2}, sorted and without duplicates",
           "every line that {file} or {file2} has, sorted and once"),
)
entry(
    "concatenate", START, LINES, draw=_lists, reference=lambda w, x, p: w.lines(p["file"]) + w.lines(p["file2"]),
    ways=("cat {file} {file2}", "awk 1 {file} {file2}", "sed '' {file} {file2}"),
    asks=("print {file} followed by {file2}", "show first {file} and then {file2}", "concatenate {file} and {file2} [on the screen|]",
          "output the two files {file} and {file2} one after the other", "{file} and {file2} in a row, please", "what do {file} and {file2} contain? print them in this order",
          "put {file2} after {file} and display both", "cat {file} and then {file2}", "i need the content of {file} and, after it, that of {file2}"),
    nouns=("the lines of {file} followed by those of {file2}", "{file} and then {file2}", "the two files {file} and {file2} one after the other", "{file} concatenated with {file2}", "everything from {file} and after it everything from {file2}"),
)
entry(
    "side_by_side", START, LINES, draw=_lists, reference=lambda w, x, p: _pasted(w.lines(p["file"]), w.lines(p["file2"])),
    ways=("paste -d, {file} {file2}", "paste {file} {file2} | tr '\\t' ,", "pr -mts, {file} {file2}"),
    asks=("paste {file} and {file2} together line by line with a comma between", "put the lines of {file} and {file2} side by side, separated by a comma",
          "join line 1 of {file} with line 1 of {file2} and so on, comma in the middle", "{file} and {file2} as two comma-separated columns",
          "combine {file} and {file2} into two columns with a comma", "how do {file} and {file2} look next to each other, joined by commas?",
          "make CSV lines from {file} (first column) and {file2} (second column)", "i need the lines of {file} next to those of {file2}, with a comma in between",
          "get {file} and {file2} as two columns separated by a comma"),
    nouns=("the lines of {file} and {file2} side by side with a comma between", "{file} and {file2} as two comma-separated columns", "{file} pasted to {file2} line by line with commas", "two columns made of {file} and {file2}, comma between them",
           "CSV lines with {file} as first and {file2} as second column"),
)
