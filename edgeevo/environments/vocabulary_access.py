"""Skills on the access log of a web server, and on stretches and hours of an ordinary log."""

from __future__ import annotations

import re
from collections import Counter

from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, text

START, LINES, VALUE = Kind.START, Kind.LINES, Kind.VALUE

STATUSES = ("200", "200", "200", "200", "304", "301", "404", "404", "403", "500", "502")
METHODS = ("GET", "GET", "GET", "POST", "HEAD")
CLIENT, PATH, STATUS, SIZE = 0, 6, 8, 9  # field numbers of an access line, from 0


def _placed(d: Draw) -> Params:
    rng, maker = d.rng, Maker(d.rng, d.split, ())
    clients = [f"10.{rng.randint(0, 9)}.{rng.randint(0, 99)}.{rng.randint(1, 254)}" for _ in range(rng.randint(5, 8))]
    pages = [f"/{maker.stem()}/{maker.stem()}", f"/{maker.stem()}.html", f"/{maker.stem()}", "/", f"/static/{maker.stem()}.css"]
    second = rng.randint(0, 40_000)
    lines = []
    for _ in range(rng.randint(14, 45)):
        second += rng.randint(1, 900)
        stamp = f"{10 + second // 86_400}/Mar/2026:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
        client, page = clients[min(rng.randrange(len(clients)), rng.randrange(len(clients)))], rng.choice(pages)
        lines.append(f'{client} - - [{stamp}] "{rng.choice(METHODS)} {page} HTTP/1.1" {rng.choice(STATUSES)} {rng.randint(60, 9000)}')
    return {"file": d.place(d.rng.choice(("nginx.log", "httpd.log", "requests.log", d.name("log"))), text(lines, age_seconds=rng.randint(1, 20) * HOUR + 1800))}


def _field(w: World, p: Params, number: int) -> Lines:
    return [line.split()[number] for line in w.lines(p["file"])]


def _status(d: Draw) -> Params:
    p = _placed(d)
    return p | {"status": d.pick(sorted(set(_field(d.world, p, STATUS))))}


def _ranked(d: Draw) -> Params:
    """How many clients are asked for: those up to there have different counts, the next one fewer."""
    p = _placed(d)
    counts = [c for _, c in Counter(_field(d.world, p, CLIENT)).most_common()]
    return p | {"n": d.pick(str(n) for n in range(2, len(counts)) if len(set(counts[: n + 1])) == n + 1)}


def _one_page(d: Draw) -> Params:
    p = _placed(d)
    counts = Counter(_field(d.world, p, PATH)).most_common(2)
    if len(counts) < 2 or counts[0][1] == counts[1][1]:
        raise NoInstanceError
    return p


def _log(d: Draw) -> Params:
    path = d.log()
    lines = d.world.lines(path)
    if len(lines) < 4 or not all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines):
        raise NoInstanceError  # an earlier link has edited it
    return {"file": path}


def _hours(d: Draw) -> Params:
    p = _log(d)
    if len({line[:13] for line in d.world.lines(p["file"])}) < 2:
        raise NoInstanceError
    return p


def _hour(d: Draw) -> Params:
    p = _hours(d)
    return p | {"hour": d.pick(sorted({line[:13] for line in d.world.lines(p["file"])}))}


def _stretch(d: Draw) -> Params:
    """Two minutes of one day, with lines between and around them."""
    p = _log(d)
    lines = d.world.lines(p["file"])
    day = d.pick(sorted({line[:10] for line in lines}))
    minutes = sorted({line[11:16] for line in lines if line.startswith(day)})
    if len(minutes) < 4:
        raise NoInstanceError
    first = d.rng.randrange(len(minutes) - 2)
    return p | {"date": day, "time": minutes[first], "time2": minutes[d.rng.randint(first + 1, len(minutes) - 2)]}


def _between(w: World, p: Params) -> Lines:
    return [line for line in w.lines(p["file"]) if line[:10] == p["date"] and p["time"] <= line[11:16] < p["time2"]]


entry(
    "access_top", START, LINES, draw=_ranked, pads=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in Counter(_field(w, p, CLIENT)).most_common(int(p["n"]))],
    ways=("awk '{print $1}' {file} | sort | uniq -c | sort -rn | head -n {n}", "awk '{c[$1]++}END{for(k in c)print c[k],k}' {file} | sort -rn | sed {n}q"),
    asks=("show the {n} client addresses with the most requests in the access log {file}, count and address", "which {n} IPs hit the server most often according to the access log {file}? with counts, busiest first", "top {n} IP addresses in the access log {file} by number of requests, with the count in front",
          "{file}: the {n} busiest clients of this access log, count first", "count requests per IP in the access log {file} and list the {n} highest, busiest on top", "find the {n} most frequent client IPs in the access log {file} along with their counts, sorted by count descending",
          "print count and address for the {n} clients that appear most in the access log {file}, most first", "who are the top {n} visitors in the access log {file}? number of requests, then IP", "i need the {n} IP addresses with the highest number of lines in the access log {file}, counts included, highest first",
          "rank the clients (first field) of the access log {file} and give the top {n} with their counts"),
    nouns=("the {n} addresses that send most requests according to the access log {file}, count first", "the top {n} IPs of the access log {file} with their counts", "the {n} busiest clients in the access log {file}, count and address", "the {n} most frequent addresses in the access log {file}, with counts, busiest first",
           "counts and addresses of the {n} most active clients in the access log {file}"),
)
entry(
    "access_clients", START, VALUE, draw=_placed, reference=lambda w, x, p: [str(len(set(_field(w, p, CLIENT))))],
    ways=("awk '{print $1}' {file} | sort -u | wc -l", "cut -d' ' -f1 {file} | sort | uniq | wc -l"),
    asks=("how many different client addresses are in the access log {file}?", "count the unique IPs in the access log {file}", "number of distinct clients in the access log {file}", "{file}: how many different visitors (IP addresses) does this access log show?", "tell me how many separate IP addresses made requests according to the access log {file}",
          "print the number of unique client addresses found in the access log {file}", "find out how many distinct hosts the access log {file} lists in its first field", "i need the count of different IPs in the access log {file}", "give me the number of unique visitors by IP in the access log {file}", "from how many addresses did requests come, access log {file}?"),
    nouns=("the number of different client addresses in the access log {file}", "how many unique IPs the access log {file} has", "the count of the distinct clients that the access log {file} knows", "how many unique visitors, told apart by IP, the access log {file} has", "how many separate addresses made requests in the access log {file}"),
)
entry(
    "access_statuses", START, LINES, draw=_placed, unordered=True, pads=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(_field(w, p, STATUS)).items())],
    ways=("awk '{print $9}' {file} | sort | uniq -c", "awk '{c[$9]++}END{for(k in c)print c[k],k}' {file}"),
    asks=("count the requests per status code in the access log {file}", "how often does each HTTP status occur in the access log {file}? count, then status", "tally the response codes of the access log {file}, count first", "{file}: number of requests for every HTTP status code in this access log", "show each status code in the access log {file} with its count in front",
          "break the access log {file} down by HTTP response code (count and code)", "group the lines of the access log {file} by status and count them", "i need the counts of the different HTTP status codes in the access log {file}, count before code", "print count and status code for all codes in the access log {file}", "for every HTTP response code of the access log {file}, how many lines have it? count first"),
    nouns=("the number of requests per status code in the access log {file}, count first", "the counts of the HTTP status codes in the access log {file}", "a tally of the response codes in the access log {file}", "how often each HTTP status occurs in the access log {file}, count first", "count and code for every status in the access log {file}"),
)
entry(
    "access_status", START, LINES, draw=_status, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line.split()[STATUS] == p["status"]],
    ways=("awk '$9=={status:raw}' {file}", "grep '\" {status:raw} ' {file}"),
    asks=("show the requests with status {status} in the access log {file}", "which lines of the access log {file} have the HTTP status {status}?", "print all {status} responses from the access log {file}", "{file}: lines of this access log with response code {status}", "filter the access log {file} for status code {status}",
          "find the requests in the access log {file} that were answered with {status}", "list every line of the access log {file} whose HTTP status is {status}", "i need the access log lines of {file} with response code {status}", "give me the entries with HTTP code {status} from the access log {file}", "get the {status} lines out of the access log {file}, whole lines"),
    nouns=("the requests with status {status} in the access log {file}", "the lines of the access log {file} with HTTP status {status}", "all {status} responses in the access log {file}", "the entries of the access log {file} answered with code {status}", "the access log lines of {file} that have response code {status}"),
)
entry(
    "access_status_count", START, VALUE, draw=_status, reference=lambda w, x, p: [str(_field(w, p, STATUS).count(p["status"]))],
    ways=("awk '$9=={status:raw}' {file} | wc -l", "grep -c '\" {status:raw} ' {file}"),
    asks=("how many requests in the access log {file} have status {status}?", "count the lines with HTTP status {status} in the access log {file}", "number of {status} responses in the access log {file}", "{file}: how many {status} in this access log?", "tell me how often the access log {file} has the response code {status}",
          "print the number of requests that were answered with {status}, access log {file}", "count how many HTTP {status} the access log {file} records", "i need the number of lines with status code {status} in the access log {file}", "give me the count of {status} answers from the access log {file}", "find out how many times the server replied {status} according to the access log {file}"),
    nouns=("the number of requests with status {status} in the access log {file}", "how many {status} responses the access log {file} has", "the count of lines with HTTP status {status} in the access log {file}", "how often the access log {file} records the response code {status}", "the amount of {status} answers in the access log {file}"),
)
entry(
    "access_top_path", START, VALUE, draw=_one_page, reference=lambda w, x, p: [Counter(_field(w, p, PATH)).most_common(1)[0][0]],
    ways=("awk '{print $7}' {file} | sort | uniq -c | sort -rn | head -n 1 | awk '{print $2}'", "awk '{c[$7]++}END{for(k in c)if(c[k]>m){m=c[k];t=k}print t}' {file}"),
    asks=("which path is requested most often in the access log {file}?", "print the most requested path of the access log {file}, without the count", "find the most popular page in the access log {file}, path only", "{file}: top requested path of this access log", "what is the most frequent URL path in the access log {file}?",
          "tell me which page the access log {file} shows most often, just its path", "show only the path with the most hits in the access log {file}", "i need the path that was fetched most in the access log {file}", "give me the number one path by requests in the access log {file}, no count", "get the most common request path out of the access log {file}"),
    nouns=("the path requested most often in the access log {file}", "the page that is most popular by the access log {file}", "the most frequent request path of the access log {file}", "the path that has most hits by the access log {file}", "the top path by requests in the access log {file}"),
)
entry(
    "access_bytes", START, VALUE, draw=_placed, reference=lambda w, x, p: [str(sum(map(int, _field(w, p, SIZE))))],
    ways=("awk '{s+=$10}END{print s}' {file}", "awk '{print $10}' {file} | paste -sd+ | bc"),
    asks=("how many bytes were sent in total according to the access log {file}?", "add up the response sizes in the access log {file} (last field)", "total of the bytes in the access log {file}, the number at the end of each line", "{file}: sum of all response sizes in this access log, in bytes", "calculate the traffic in bytes recorded by the access log {file}",
          "sum the last field of the access log {file}, the bytes sent", "print the total number of bytes that the access log {file} says were transferred", "i need the sum of the sizes (end of line) over the whole access log {file}", "give me the overall bytes served, from the access log {file}", "how much data, in bytes, do the requests of the access log {file} come to?"),
    nouns=("the total bytes sent according to the access log {file}", "the response sizes of the access log {file} added up", "the traffic in bytes that the access log {file} records", "the sum over the last field of the access log {file}", "how many bytes the access log {file} says were served"),
)
entry(
    "log_per_hour", START, LINES, draw=_hours, unordered=True, pads=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(line[:13] for line in w.lines(p["file"])).items())],
    ways=("cut -c1-13 {file} | sort | uniq -c", "awk '{c[substr($0,1,13)]++}END{for(k in c)print c[k],k}' {file}"),
    asks=("count the lines of the log {file} per hour, as count, date and hour", "how many entries does the log {file} have in each hour? count first, then date and hour", "tally the log {file} by hour (the first 13 characters), count in front", "{file}: log lines per hour, in the form count, date, hour", "for every hour in the log {file} show the number of lines, then date and hour as in the log",
          "group the log {file} by date and hour and count the lines, count first", "number of log lines for each hour of {file}, count before date and hour", "i need the lines per hour in the log {file}: count, then the date with the hour", "break the log {file} down into hours with counts, count first and date plus hour behind it", "print how many messages the log {file} has for each date and hour, count first"),
    nouns=("the number of lines per hour in the log {file}, count first", "the counts of log lines for each date and hour in {file}", "the lines per hour of the log {file} as count, date, hour", "how many entries the log {file} has in each hour, count before date and hour", "a tally of the log {file} by date and hour"),
)
entry(
    "log_hour", START, LINES, draw=_hour, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line.startswith(p["hour"] + ":")],
    ways=("grep '^{hour:raw}:' {file}", "awk 'substr($0,1,13)==\"{hour:raw}\"' {file}"),
    asks=("show the log lines of the hour {hour} in {file}", "what was logged in {file} during the hour {hour}?", "print everything in the log {file} from the hour that begins at {hour}:00", "{file}: log entries in the hour {hour}", "filter the log {file} for date and hour {hour}", "find all lines of the log {file} stamped {hour}, any minute",
          "give me what the log {file} has for the hour {hour}", "i need the lines of the log {file} in the hour {hour}", "list the entries that {file} recorded from {hour}:00 to {hour}:59", "get the log lines with the date and hour {hour} from {file}"),
    nouns=("the lines stamped with the hour {hour}, from the log {file}", "the entries in the log {file} from date and hour {hour}", "everything logged in {file} during the hour {hour}", "the lines with any minute of the hour {hour} in the log {file}", "the log entries of {file} from {hour}:00 to {hour}:59"),
)
entry(
    "log_between", START, LINES, draw=_stretch, reference=lambda w, x, p: _between(w, p),
    ways=("awk '$1==\"{date:raw}\" && $2>=\"{time:raw}\" && $2<\"{time2:raw}\"' {file}", "perl -ane 'print if $F[0] eq \"{date:raw}\" and $F[1] ge \"{time:raw}\" and $F[1] lt \"{time2:raw}\"' {file}"),
    asks=("show the log lines in {file} on {date} from {time} up to, not including, {time2}", "what was logged on {date} from {time} until before {time2} in {file}?", "print the entries of the log {file} dated {date} with a time of {time} or later but before {time2}", "{file}: log lines of {date}, {time} <= time < {time2}",
          "filter the log {file} for {date} between {time} (inclusive) and {time2} (exclusive)", "find all lines in the log {file} on {date} at or after {time} and before {time2}", "give me the part of the log {file} on {date} that starts at {time} and stops before {time2}", "i need the log entries of {date} from {time} to just before {time2} in {file}",
          "list what the log {file} says for {date} between {time} and {time2}, the end not included", "get the lines of {file} stamped {date}, no earlier than {time} and earlier than {time2}"),
    nouns=("the lines that the log {file} has for {date} from {time} to before {time2}", "the entries of {date} in the log {file}, not before {time} and earlier than {time2}", "the lines of {file} stamped {date} between {time} (inclusive) and {time2} (exclusive)", "everything in the log {file} on {date} from {time} up to, not including, {time2}",
           "the log lines of {date} in {file}, beginning at {time} and ending before {time2}"),
)
