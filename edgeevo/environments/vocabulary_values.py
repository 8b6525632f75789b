"""Small questions that need no file: runs of numbers, dates, arithmetic, bases, text."""

from __future__ import annotations

import datetime

from edgeevo.environments.skills import Draw, Kind, Params, entry

START, VALUE, NUMBERS = Kind.START, Kind.VALUE, Kind.NUMBERS

EPOCH = datetime.date(1970, 1, 1)


def _date(d: Draw) -> datetime.date:
    return datetime.date(2024, 1, 1) + datetime.timedelta(d.rng.randint(0, 1000))


def _day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def _sequence(d: Draw) -> Params:
    low = d.rng.randint(1, 50)
    return {"first": str(low), "last": str(low + d.rng.randint(3, 12))}


def _stepped(d: Draw) -> Params:
    low, step = d.rng.randint(0, 20), d.rng.randint(2, 10)
    return {"first": str(low), "step": str(step), "last": str(low + step * d.rng.randint(3, 8))}


def _factors(d: Draw) -> Params:
    return {"n": d.number(13, 400), "m": d.number(13, 90)}


def _two_dates(d: Draw) -> Params:
    first = _date(d)
    return {"date": first.isoformat(), "date2": (first + datetime.timedelta(d.rng.randint(2, 200))).isoformat()}


entry(
    "sequence", START, NUMBERS, draw=_sequence, reference=lambda w, x, p: [str(v) for v in range(int(p["first"]), int(p["last"]) + 1)],
    ways=("seq {first} {last}", "printf '%s\\n' {{first:raw}..{last:raw}}", "for ((i={first:raw};i<={last:raw};i++)); do echo $i; done"),
    asks=("print the numbers from {first} to {last}, one per line", "count from {first} up to {last}", "list all integers {first} through {last}, each on its own line",
          "show every whole number between {first} and {last}, both included", "numbers {first} to {last} please, a line each", "generate the sequence {first}..{last}",
          "write out {first}, the next number and so on until {last}, line by line", "i need every integer between {first} and {last}, ends included, one a line",
          "get the integers {first} to {last} line by line"),
    nouns=("the numbers from {first} to {last}, one per line", "all integers {first} through {last}", "every whole number between {first} and {last} inclusive", "the sequence {first}..{last} line by line", "the count from {first} up to {last}"),
)
entry(
    "sequence.step", START, NUMBERS, draw=_stepped, reference=lambda w, x, p: [str(v) for v in range(int(p["first"]), int(p["last"]) + 1, int(p["step"]))],
    ways=("seq {first} {step} {last}", "printf '%s\\n' {{first:raw}..{last:raw}..{step:raw}}", "for ((i={first:raw};i<={last:raw};i+={step:raw})); do echo $i; done"),
    asks=("print the numbers from {first} to {last} in steps of {step}, one per line", "count from {first} up to {last} by {step}",
          "list {first}, then always {step} more, until {last}, each on its own line", "show every number between {first} and {last} with a distance of {step}, ends included",
          "numbers {first} to {last}, step {step}, a line each", "generate the sequence {first}..{last} with increment {step}",
          "starting at {first}, add {step} again and again up to {last} and print each value", "i need every number from {first} up to {last}, step {step}, one a line",
          "get the numbers {first} to {last}, always {step} apart, line by line"),
    nouns=("the numbers from {first} to {last} in steps of {step}", "every number from {first} up to {last} by {step}", "the sequence {first}..{last} with increment {step}", "the count from {first} to {last}, step {step}", "{first} and always {step} more until {last}, line by line"),
)
entry(
    "date_add", START, VALUE, draw=lambda d: {"date": _date(d).isoformat(), "n": d.number(2, 60)}, reference=lambda w, x, p: [(_day(p["date"]) + datetime.timedelta(int(p["n"]))).isoformat()],
    ways=("date -d '{date:raw} +{n:raw} days' +%F", "date -d \"$(date -d {date} +%F) + {n:raw} day\" +%Y-%m-%d"),
    asks=("what date is {n} days after {date}? as YYYY-MM-DD", "print the date {n} days after {date} [in the same format|as YYYY-MM-DD]",
          "add {n} days to {date} and show the resulting date (YYYY-MM-DD)", "{date} plus {n} days, as YYYY-MM-DD", "which day comes {n} days later than {date}? YYYY-MM-DD please",
          "calculate the ISO date that lies {n} days past {date}", "starting from {date}, go {n} days forward and give the ISO date",
          "i need the date {n} days after {date} in the form YYYY-MM-DD", "work out the date {n} days from {date}, YYYY-MM-DD"),
    nouns=("the date {n} days after {date} as YYYY-MM-DD", "{date} plus {n} days in ISO format", "the ISO date that lies {n} days past {date}", "the day {n} days later than {date}, YYYY-MM-DD", "the date reached {n} days from {date}, written YYYY-MM-DD"),
)
entry(
    "date_add.back", START, VALUE, draw=lambda d: {"date": _date(d).isoformat(), "n": d.number(2, 60)}, reference=lambda w, x, p: [(_day(p["date"]) - datetime.timedelta(int(p["n"]))).isoformat()],
    ways=("date -d '{date:raw} -{n:raw} days' +%F", "date -d '{date:raw} {n:raw} days ago' +%Y-%m-%d"),
    asks=("what date was {n} days before {date}? as YYYY-MM-DD", "print the date {n} days before {date} [in the same format|as YYYY-MM-DD]",
          "subtract {n} days from {date} and show the resulting date (YYYY-MM-DD)", "{date} minus {n} days, as YYYY-MM-DD", "which day is {n} days earlier than {date}? YYYY-MM-DD please",
          "calculate the ISO date that lies {n} days ahead of {date}, in the past", "starting from {date}, go {n} days back and give the ISO date",
          "i need the date {n} days before {date} in the form YYYY-MM-DD", "work out which date lies {n} days before {date}, YYYY-MM-DD"),
    nouns=("the date {n} days before {date} as YYYY-MM-DD", "{date} minus {n} days in ISO format", "the ISO date {n} days earlier than {date}", "the day {n} days ahead of {date} in the past, YYYY-MM-DD", "the date reached by going {n} days back from {date}, written YYYY-MM-DD"),
)
entry(
    "date_diff", START, VALUE, draw=_two_dates, reference=lambda w, x, p: [str((_day(p["date2"]) - _day(p["date"])).days)],
    ways=("echo $(( ($(date -d {date2} +%s) - $(date -d {date} +%s)) / 86400 ))", "expr \\( $(date -d {date2} +%s) - $(date -d {date} +%s) \\) / 86400"),
    asks=("how many days are there from {date} to {date2}?", "count the days between {date} and {date2}", "number of days from {date} until {date2}", "{date} to {date2}: how many days?",
          "print the difference in days of {date2} and {date}", "calculate how many days {date2} comes after {date}", "days that pass between {date} and {date2}, just the number",
          "i need the number of days from {date} to {date2}", "work out how many days lie between {date} and {date2}"),
    nouns=("the number of days from {date} to {date2}", "how many days lie between {date} and {date2}", "the difference in days between {date} and {date2}", "the days that pass from {date} until {date2}", "how many days {date2} comes after {date}"),
)
entry(
    "weekday", START, VALUE, draw=lambda d: {"date": _date(d).isoformat()}, reference=lambda w, x, p: [f"{_day(p['date']):%A}"],
    ways=("date -d {date} +%A", "LC_ALL=C date --date={date:raw} '+%A'"),
    asks=("which weekday is {date}? the full name", "print the [name of the|] day of the week for {date}", "on what day of the week does {date} fall?", "{date}: weekday name",
          "tell me whether {date} is a Monday, a Tuesday and so on, full name", "give the weekday of {date}", "find out the day name that belongs to {date}",
          "i need the name of the weekday of {date}", "work out on which weekday {date} falls, full name"),
    nouns=("the weekday of {date}", "the day of the week for {date}", "the name of the weekday on which {date} falls", "the full day name of {date}", "which day of the week {date} is"),
)
entry(
    "epoch_date", START, VALUE, draw=lambda d: {"epoch": str((_date(d) - EPOCH).days * 86_400 + d.rng.randint(3600, 80_000))},
    reference=lambda w, x, p: [(EPOCH + datetime.timedelta(seconds=int(p["epoch"]) // 86_400 * 86_400)).isoformat()],
    ways=("date -u -d @{epoch} +%F", "TZ=UTC printf '%(%Y-%m-%d)T\\n' {epoch}", "jq -rn '{epoch:raw}|todate|.[:10]'"),
    asks=("which date is the unix time {epoch}? YYYY-MM-DD, UTC", "convert the epoch seconds {epoch} to a UTC date (YYYY-MM-DD)", "print the day of timestamp {epoch} as YYYY-MM-DD in UTC",
          "{epoch} seconds since 1970 as an ISO date (UTC)", "turn the timestamp {epoch} into a UTC date like 2024-05-31", "on what day, UTC, was epoch {epoch}? format YYYY-MM-DD",
          "give the ISO date in UTC that belongs to unix timestamp {epoch}", "i need the UTC date of the unix time {epoch} as YYYY-MM-DD",
          "work out the UTC day that epoch {epoch} falls on, YYYY-MM-DD"),
    nouns=("the UTC date of unix time {epoch} as YYYY-MM-DD", "the ISO date in UTC for epoch {epoch}", "the day of timestamp {epoch} in UTC, YYYY-MM-DD", "epoch seconds {epoch} as a UTC date like 2024-05-31", "{epoch} seconds since 1970 as an ISO date, UTC"),
)
entry(
    "multiply", START, VALUE, draw=_factors, reference=lambda w, x, p: [str(int(p["n"]) * int(p["m"]))],
    ways=("echo $(({n:raw} * {m:raw}))", "expr {n} '*' {m}", "echo '{n:raw}*{m:raw}' | bc"),
    asks=("what is {n} times {m}?", "multiply {n} by {m}", "calculate {n} * {m}", "print the product of {n} and {m}", "{n} x {m} = ?", "compute how much {m} pieces of {n} are together",
          "give me the result of {n} multiplied with {m}", "i need the product of {n} and {m}", "work out {n} times {m}"),
    nouns=("the product of {n} and {m}", "{n} times {m}", "the result of {n} multiplied by {m}", "what {n} * {m} is", "how much {m} pieces of {n} are together"),
)
entry(
    "to_hex", START, VALUE, draw=lambda d: {"n": d.number(17, 4000)}, reference=lambda w, x, p: [f"{int(p['n']):x}"],
    ways=("printf '%x\\n' {n}", "echo 'obase=16; {n:raw}' | bc | tr A-F a-f", "perl -e 'printf \"%x\\n\",{n:raw}'"),
    asks=("print {n} in hexadecimal, lower case and without prefix", "what is {n} in hex? small letters, no 0x", "convert the decimal number {n} to hex (lowercase, no prefix)",
          "{n} as lowercase hex without 0x", "write the number {n} to base 16 using small letters, without prefix", "show how {n} looks in hexadecimal notation, plain lower case digits",
          "hex form of {n}, lower case, no 0x in front", "i need {n} in hex, lowercase and without 0x", "work out the hexadecimal form of {n}, small letters, no prefix"),
    nouns=("{n} in lowercase hexadecimal without prefix", "the hex form of {n}, small letters, no 0x", "the number {n} written to base 16 in lower case, no prefix", "decimal {n} as plain lowercase hex", "the hexadecimal notation of {n} (lower case, without 0x)"),
)
entry(
    "from_hex", START, VALUE, draw=lambda d: {"hex": f"{d.rng.randint(17, 4000):x}"}, reference=lambda w, x, p: [str(int(p["hex"], 16))],
    ways=("echo $((16#{hex:raw}))", "printf '%d\\n' 0x{hex:raw}", "perl -e 'print hex(\"{hex:raw}\"),\"\\n\"'"),
    asks=("what is hexadecimal {hex} in decimal?", "convert the hex number {hex} to decimal", "print hex {hex} as a decimal number", "hex {hex} to base 10",
          "write 0x{hex:raw} as an ordinary decimal number", "which decimal value does the hexadecimal {hex} have?", "decode hex {hex} and show the plain decimal number",
          "i need hex {hex} as a decimal number", "work out the decimal value of hex {hex}"),
    nouns=("the decimal value of hex {hex}", "hexadecimal {hex} as a decimal number", "the hex number {hex} in base 10", "0x{hex:raw} written in decimal", "what hex {hex} is in ordinary decimal notation"),
)
