"""Skills on a date, a month or a duration that stands in the request: other layouts, epoch seconds, parts of the calendar."""

from __future__ import annotations

import calendar
import datetime

from edgeevo.environments.skills import Draw, Kind, Params, entry

START, VALUE = Kind.START, Kind.VALUE

LAYOUTS = {
    "DD.MM.YYYY": "%d.%m.%Y", "MM/DD/YYYY": "%m/%d/%Y", "DD/MM/YYYY": "%d/%m/%Y", "YYYYMMDD": "%Y%m%d", "YYYY/MM/DD": "%Y/%m/%d", "DD-MM-YYYY": "%d-%m-%Y",
}  # fmt: skip
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _day(d: Draw) -> datetime.date:
    return datetime.date(2021, 1, 1) + datetime.timedelta(d.rng.randint(0, 2200))


def _date(d: Draw) -> Params:
    return {"date": _day(d).isoformat()}


def _layout(d: Draw) -> Params:
    layout = d.rng.choice(sorted(LAYOUTS))
    return _date(d) | {"layout": layout, "format": LAYOUTS[layout]}


def _parsed(p: Params) -> datetime.date:
    return datetime.date.fromisoformat(p["date"])


def _seconds(p: Params) -> datetime.datetime:
    return EPOCH + datetime.timedelta(seconds=int(p["epoch"]))


def _epoch(d: Draw) -> Params:
    return {"epoch": str((_day(d) - EPOCH.date()).days * 86_400 + d.rng.randint(1, 86_399))}


def _months(d: Draw) -> Params:
    """A day that every month has, so that no month end has to be guessed."""
    return {"date": _day(d).replace(day=d.rng.randint(1, 28)).isoformat(), "n": d.number(2, 11)}


def _later(p: Params) -> str:
    day = _parsed(p)
    months = day.year * 12 + day.month - 1 + int(p["n"])
    return day.replace(year=months // 12, month=months % 12 + 1).isoformat()


def _month(d: Draw) -> Params:
    return {"month": f"{_day(d):%Y-%m}"}


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _of_clock(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


entry(
    "date_format", START, VALUE, draw=_layout, reference=lambda w, x, p: [f"{_parsed(p):{p['format']}}"],
    ways=("date -d {date} +{format:raw}", "printf '%({format:raw})T\\n' \"$(date -d {date} +%s)\"", "python3 -c 'import datetime;print(datetime.date.fromisoformat(\"{date:raw}\").strftime(\"{format:raw}\"))'"),
    asks=("print the date {date} in the format {layout}", "convert {date} to {layout}", "how is {date} written as {layout}?", "{date} as {layout}", "show {date} in {layout} form", "reformat the date {date} to {layout} and print it", "write the date {date} the {layout} way", "i need {date} in the layout {layout}", "turn {date} into a date like {layout}", "give me {date} formatted as {layout}"),
    nouns=("the date {date} in the format {layout}", "{date} as {layout}", "the {layout} form of {date}", "the date {date} written the {layout} way", "{date} formatted like {layout}"),
)
entry(
    "date_epoch", START, VALUE, draw=_date, reference=lambda w, x, p: [str((_parsed(p) - EPOCH.date()).days * 86_400)],
    ways=("date -u -d {date} +%s", "date -d '{date:raw} 00:00:00 UTC' +%s", "jq -rn '\"{date:raw}T00:00:00Z\"|fromdate'"),
    asks=("what is the unix timestamp of {date} at midnight UTC?", "convert {date} 00:00 UTC to epoch seconds", "print the seconds since 1970 for the start of {date} in UTC", "{date} as a unix timestamp (midnight, UTC)", "how many seconds after the epoch does {date} begin, UTC?", "give the epoch time of {date}, midnight UTC", "turn the date {date} into unix time, taking 00:00:00 UTC",
          "i need the unix time at which {date} starts in UTC", "show {date} (UTC, 0 o'clock) in epoch seconds", "work out the timestamp for midnight UTC on {date}"),
    nouns=("the unix timestamp of {date} at midnight UTC", "the epoch seconds at the start of {date} in UTC", "{date} 00:00 UTC as epoch seconds", "the seconds since 1970 for {date}, midnight UTC", "the unix time at which {date} begins in UTC"),
)
entry(
    "epoch_time", START, VALUE, draw=_epoch, reference=lambda w, x, p: [f"{_seconds(p):%Y-%m-%d %H:%M:%S}"],
    ways=("date -u -d @{epoch} '+%F %T'", "TZ=UTC printf '%(%F %T)T\\n' {epoch}", "jq -rn '{epoch:raw}|strftime(\"%Y-%m-%d %H:%M:%S\")'"),
    asks=("convert the unix timestamp {epoch} to a date and time in UTC, as YYYY-MM-DD HH:MM:SS", "what date and time is epoch {epoch}? UTC, YYYY-MM-DD HH:MM:SS", "print the unix time {epoch} in the form YYYY-MM-DD HH:MM:SS (UTC)", "{epoch} as UTC date and time, YYYY-MM-DD HH:MM:SS", "show the epoch seconds {epoch} as a readable UTC time like 2024-05-31 08:15:00",
          "turn timestamp {epoch} into YYYY-MM-DD HH:MM:SS, time zone UTC", "at what date and time (UTC) was {epoch} seconds since 1970? write it YYYY-MM-DD HH:MM:SS", "i need the full UTC time of the timestamp {epoch}, YYYY-MM-DD HH:MM:SS", "give me epoch {epoch} as UTC with date and clock time, 2024-05-31 08:15:00 style", "work out the moment {epoch} (unix time) in UTC and print it as YYYY-MM-DD HH:MM:SS"),
    nouns=("the unix timestamp {epoch} written in UTC as YYYY-MM-DD HH:MM:SS", "the UTC time of epoch {epoch} in the form YYYY-MM-DD HH:MM:SS", "the moment {epoch} (unix time) in UTC, YYYY-MM-DD HH:MM:SS", "epoch seconds {epoch} as a UTC time like 2024-05-31 08:15:00", "the date and time in UTC for timestamp {epoch}, YYYY-MM-DD HH:MM:SS"),
)
entry(
    "date_add_months", START, VALUE, draw=_months, reference=lambda w, x, p: [_later(p)],
    ways=("date -d '{date:raw} +{n:raw} months' +%F", "sqlite3 :memory: \"select date('{date:raw}','+{n:raw} months')\""),
    asks=("what date is {n} months after {date}? as YYYY-MM-DD", "print the date {n} months after {date}, YYYY-MM-DD", "add {n} months to {date} and show the date in the same format", "{date} plus {n} months, as YYYY-MM-DD", "which day comes {n} months later than {date}? YYYY-MM-DD please", "calculate the ISO date {n} months past {date}", "starting from {date}, go {n} months forward and give the ISO date",
          "i need the date {n} months after {date} in the form YYYY-MM-DD", "work out the date {n} months from {date}, YYYY-MM-DD", "give me {date} moved {n} months into the future, ISO format"),
    nouns=("the date {n} months after {date} as YYYY-MM-DD", "{date} plus {n} months in ISO format", "the ISO date that lies {n} months past {date}", "the day {n} months later than {date}, YYYY-MM-DD", "the date reached {n} months from {date}, written YYYY-MM-DD"),
)
entry(
    "days_in_month", START, VALUE, draw=_month, reference=lambda w, x, p: [str(calendar.monthrange(*map(int, p["month"].split("-")))[1])],
    ways=("date -d '{month:raw}-01 +1 month -1 day' +%d", "python3 -c 'import calendar;print(calendar.monthrange(*map(int,\"{month:raw}\".split(\"-\")))[1])'"),
    asks=("how many days does the month {month} have?", "print the number of days in {month} (year-month)", "number of days in the month {month}", "count the days of the month {month}", "what is the last day of the month {month}? only the number", "{month}: how many days are in that month?", "tell me how long the month {month} is in days", "i need the number of days that {month} has (YYYY-MM)", "find out whether the month {month} has 28, 29, 30 or 31 days and print that number", "give me the day count of the month {month}"),
    nouns=("the number of days in the month {month}", "how many days the month {month} has", "the day count of the month {month}", "the last day of the month {month} as a number", "the length of the month {month} in days"),
)
entry(
    "day_of_year", START, VALUE, draw=_date, reference=lambda w, x, p: [f"{_parsed(p):%j}"],
    ways=("date -d {date} +%j", "python3 -c 'import datetime;print(datetime.date.fromisoformat(\"{date:raw}\").strftime(\"%j\"))'"),
    asks=("which day of the year is {date}? three digits", "print the day number within the year for {date}, as three digits", "day of the year of {date}, three digits with leading zeros", "{date}: day of year, 001 to 366", "what number has {date} when the days of its year are counted? three digits", "show the ordinal day of {date} in its year, padded to 3 digits", "give the three digit day of year for {date}", "i need the day of the year for {date} in the form 001-366",
          "work out how manieth day of its year {date} is, with three digits", "tell me the julian day number within the year of {date} (three digits)"),
    nouns=("the day number that {date} has in its year, three digits", "the three digit day number of {date} within its year", "the ordinal day of {date} in its year, padded to 3 digits", "the day of year for {date}, 001 to 366", "the number of the day {date} in its year with three digits"),
)
entry(
    "week_number", START, VALUE, draw=_date, reference=lambda w, x, p: [f"{_parsed(p).isocalendar().week:02}"],
    ways=("date -d {date} +%V", "python3 -c 'import datetime;print(datetime.date.fromisoformat(\"{date:raw}\").strftime(\"%V\"))'"),
    asks=("which ISO week is {date} in? two digits", "print the ISO week number of {date}, two digits", "ISO calendar week of {date} with two digits", "{date}: number of the ISO week, 01 to 53", "what is the ISO week of the date {date}? write two digits", "show in which ISO week {date} lies, two digits", "give the two digit ISO week number for {date}", "i need the ISO calendar week that {date} falls into, as 01-53", "work out the ISO 8601 week of {date}, two digits", "tell me the week number of {date} by ISO counting, padded to 2 digits"),
    nouns=("the ISO week number of {date}, two digits", "the two digit ISO week of {date}", "the ISO calendar week of {date}, from 01 to 53", "the number of the ISO week with {date} in it, two digits", "the ISO 8601 week of {date} with two digits"),
)
entry(
    "seconds_clock", START, VALUE, draw=lambda d: {"seconds": d.number(61, 86_000)}, reference=lambda w, x, p: [_clock(int(p["seconds"]))],
    ways=("date -u -d @{seconds} +%T", "printf '%02d:%02d:%02d\\n' $(({seconds:raw}/3600)) $(({seconds:raw}%3600/60)) $(({seconds:raw}%60))"),
    asks=("convert {seconds} seconds to hours, minutes and seconds as HH:MM:SS", "print {seconds} seconds in the form HH:MM:SS", "how long is {seconds} seconds in HH:MM:SS?", "{seconds} seconds as HH:MM:SS", "show a duration of {seconds} seconds as hours:minutes:seconds, two digits each", "turn {seconds} s into HH:MM:SS", "write {seconds} seconds like a clock, HH:MM:SS", "i need {seconds} seconds written as hh:mm:ss with two digits each",
          "give me the HH:MM:SS form of {seconds} seconds", "format the number of seconds {seconds} as HH:MM:SS"),
    nouns=("{seconds} seconds as HH:MM:SS", "the HH:MM:SS form of {seconds} seconds", "the duration of {seconds} seconds in hours:minutes:seconds, two digits each", "a length of {seconds} seconds written HH:MM:SS", "the clock form HH:MM:SS of {seconds} seconds"),
)
entry(
    "clock_seconds", START, VALUE, draw=lambda d: {"clock": _clock(d.rng.randint(61, 86_000))}, reference=lambda w, x, p: [str(_of_clock(p["clock"]))],
    ways=("echo {clock} | awk -F: '{print $1*3600+$2*60+$3}'", "date -u -d '1970-01-01 {clock:raw}' +%s"),
    asks=("how many seconds are {clock} (HH:MM:SS)?", "convert the duration {clock} to seconds", "print {clock} (hours:minutes:seconds) in seconds", "{clock} in seconds", "turn {clock} h:m:s into a number of seconds", "calculate the seconds in {clock}, given as HH:MM:SS", "what is the duration {clock} in seconds only?", "i need the length {clock} (hh:mm:ss) as seconds", "give me {clock} as a plain count of seconds", "add up hours, minutes and seconds of {clock} to seconds"),
    nouns=("the duration {clock} in seconds", "{clock} (HH:MM:SS) as a number of seconds", "the number of seconds in {clock}", "the length {clock} as seconds", "how many seconds {clock} is"),
)
