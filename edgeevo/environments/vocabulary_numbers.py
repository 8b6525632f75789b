"""Skills on numbers, one per line: total, ends, mean, what lies above or below a limit, the first of the ranking; and small sums without a file."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry

NUMBERS, VALUE, START = Kind.NUMBERS, Kind.VALUE, Kind.START


def _source(d: Draw) -> tuple[list[int], Params]:
    lines, p = d.source(d.numbers)
    if len(lines) < 3 or not all(line.lstrip("-").isdigit() for line in lines):
        raise NoInstanceError
    return [int(line) for line in lines], p


def _some(d: Draw) -> Params:
    return _source(d)[1]


def _limit(d: Draw) -> Params:
    """A limit that occurs among the numbers, so that "more than" and "at least" differ; never the smallest or largest."""
    numbers, p = _source(d)
    return {"limit": d.pick(sorted({str(v) for v in numbers if min(numbers) < v < max(numbers)}))} | p


def _few(d: Draw) -> Params:
    numbers, p = _source(d)
    return {"n": d.number(2, min(6, len(numbers) - 1))} | p


def _exact(d: Draw) -> Params:
    """Numbers whose mean has at most two decimals, so that no way of printing it rounds."""
    numbers, p = _source(d)
    if 100 * sum(numbers) % len(numbers):
        raise NoInstanceError
    return p


def _mean(x: Lines) -> str:
    mean = Fraction(sum(map(int, x)), len(x))
    return str(mean.numerator) if mean.denominator == 1 else f"{float(mean):.2f}".rstrip("0")


def _keep(test: Callable[[int, int], bool]) -> Callable[[object, Lines, Params], Lines]:
    return lambda _w, x, p: [v for v in x if test(int(v), int(p["limit"]))]


entry(
    "sum", NUMBERS, VALUE, draw=_some, reference=lambda w, x, p: [str(sum(map(int, x)))],
    ways=("awk '{s+=$1}END{print s}' {in}", "paste -sd+ {in} | bc", "perl -lne '$s+=$_;END{print $s}' {in}"),
    asks=("add up the numbers in {in}", "what is the [sum|total] of {in}?", "sum [up|] all [numbers|values] of {in}", "calculate the total of the numbers listed in {in}", "{in}: sum",
          "how much do the lines of {in} add up to?", "i need the grand total for {in}", "total of {in}", "what do the numbers in {in} add up to?", "get the sum of all lines of {in}",
          "print the total of the values in {in}", "work out the sum of {in}"),
    nouns=("the sum of the numbers in {in}", "the total of all values in {in}", "what the numbers of {in} add up to", "all numbers of {in} added together", "the grand total of {in}",
           "the sum of all lines of {in}", "the total over {in}"),
    then=("add up {x}", "sum {x}", "calculate the total of {x}", "tell me the sum you get from {x}", "print the sum of {x}", "total {x}", "the sum of {x}", "the total of {x}",
          "what is the sum of {x}?", "only the grand total of {x}", "what do {x} add up to?", "sum up {x}", "work out what {x} come to altogether", "add {x} together"),
)
entry(
    "max", NUMBERS, VALUE, draw=_some, reference=lambda w, x, p: [str(max(map(int, x)))],
    ways=("sort -n {in} | tail -n 1", "sort -rn {in} | head -n 1", "awk 'NR==1||$1>m{m=$1}END{print m}' {in}"),
    asks=("what is the [largest|biggest|highest] number in {in}?", "find the maximum of {in}", "print the greatest value in {in}", "{in}: max", "how high do the numbers in {in} go?",
          "get the top value from {in}", "show just the biggest of the numbers stored in {in}", "largest number of {in}", "which is the highest value in {in}?",
          "i need the biggest number of {in}", "work out the maximum of {in}"),
    nouns=("the largest number in {in}", "the maximum of {in}", "the highest value that {in} has", "the biggest of the numbers in {in}", "the greatest value of {in}"),
    then=("find the largest of {x}", "print the maximum of {x}", "tell me the highest of {x}", "give only the biggest of {x}", "pick the greatest among {x}", "report the max of {x}",
          "the largest of {x}", "the maximum of {x}", "which is the biggest of {x}?", "only the highest of {x}", "keep nothing but the largest of {x}"),
)
entry(
    "min", NUMBERS, VALUE, draw=_some, reference=lambda w, x, p: [str(min(map(int, x)))],
    ways=("sort -n {in} | head -n 1", "sort -rn {in} | tail -n 1", "awk 'NR==1||$1<m{m=$1}END{print m}' {in}"),
    asks=("what is the [smallest|lowest] number in {in}?", "find the minimum of {in}", "print the least value in {in}", "{in}: min", "how low do the numbers in {in} go?",
          "get the bottom value from {in}", "show just the smallest of the numbers stored in {in}", "lowest number of {in}", "which is the lowest value in {in}?",
          "i need the smallest number of {in}", "work out the minimum of {in}"),
    nouns=("the smallest number in {in}", "the minimum of {in}", "the lowest value that {in} has", "the least of the numbers in {in}", "the bottom value of {in}"),
    then=("find the smallest of {x}", "print the minimum of {x}", "tell me the lowest of {x}", "give only the least of {x}", "pick the smallest number among {x}", "report the min of {x}",
          "the smallest of {x}", "the minimum of {x}", "which is the lowest of {x}?", "only the lowest of {x}", "keep nothing but the smallest of {x}"),
)
entry(
    "average", NUMBERS, VALUE, draw=_exact, reference=lambda w, x, p: [_mean(x)],
    ways=("awk '{s+=$1}END{print s/NR}' {in}", "perl -lne '$s+=$_;END{print $s/$.}' {in}", "awk '{s+=$1;n++}END{print s/n}' {in}"),
    asks=("what is the average of the numbers in {in}?", "compute the mean of {in}", "average the values in {in}", "{in}: mean value", "print the arithmetic mean of all numbers in {in}",
          "how large are the numbers in {in} on average?", "average of {in}", "i need the mean of the numbers in {in}", "work out the average of {in}"),
    nouns=("the average of the numbers in {in}", "the mean of {in}", "the arithmetic mean of the values in {in}", "the average value of {in}", "the mean of all the numbers stored in {in}"),
    then=("compute the average of {x}", "average {x}", "print the mean of {x}", "tell me the arithmetic mean of {x}", "report the average of {x}", "give me the mean that results from {x}",
          "the average of {x}", "the mean of {x}", "what is the average of {x}?", "work out the mean value of {x}"),
)
entry(
    "average.two_decimals", NUMBERS, VALUE, draw=_some, reference=lambda w, x, p: [f"{sum(map(int, x)) / len(x):.2f}"],
    ways=("awk '{s+=$1}END{printf \"%.2f\\n\",s/NR}' {in}", "perl -ne '$s+=$_;END{printf \"%.2f\\n\",$s/$.}' {in}", "awk '{s+=$1;n++}END{printf(\"%.2f\\n\",s/n)}' {in}"),
    asks=("what is the average of the numbers in {in}, with two decimals?", "compute the mean of {in} [rounded|] to 2 decimals", "average the values in {in}, two digits after the point",
          "{in}: mean value, 2 decimal places", "print the arithmetic mean of all numbers in {in} formatted with two decimals",
          "how large are the numbers in {in} on average? exactly two decimal places", "average of {in} to 2 places", "i need a mean with two decimals for the numbers of {in}",
          "work out the average of {in}, two decimals"),
    nouns=("the average of the numbers in {in} with two decimals", "the mean of {in} to 2 decimal places", "the arithmetic mean of the values in {in}, two digits after the point",
           "the average value of {in}, 2 decimals", "the mean of all the numbers stored in {in}, exactly two decimals"),
    then=("compute the average of {x} with two decimals", "average {x} to 2 decimal places", "print the mean of {x}, two digits after the point",
          "tell me the arithmetic mean of {x} with 2 decimals", "report the average of {x}, exactly two decimals", "give me the mean that results from {x}, 2 decimals",
          "the average of {x} with two decimals", "the mean of {x} rounded to 2 decimals", "what is the average of {x} with two decimals?"),
)
entry(
    "numbers_above", NUMBERS, NUMBERS, draw=_limit, reference=_keep(lambda v, limit: v > limit),
    ways=("awk '$1>{limit:raw}' {in}", "perl -ne 'print if $_>{limit:raw}' {in}", "awk -v k={limit} '$1>k+0' {in}"),
    asks=("show the numbers in {in} [greater|larger|bigger] than {limit}", "which numbers of {in} are [above|over] {limit}?", "print all values in {in} exceeding {limit}",
          "{in}: everything above {limit}", "filter {in} for numbers > {limit}", "keep only lines of {in} with a value of more than {limit}", "find the numbers over {limit} in {in}",
          "i need all numbers of {in} above {limit}", "get the values from {in} that are more than {limit}"),
    nouns=("the numbers in {in} greater than {limit}", "all values of {in} above {limit}", "the numbers over {limit} in {in}", "every number of {in} that exceeds {limit}", "what is larger than {limit} in {in}"),
    then=("keep only those of {x} above {limit}", "show which of {x} are greater than {limit}", "filter {x} for values over {limit}", "from {x} print the ones larger than {limit}",
          "leave out everything up to {limit} from {x}", "leave only numbers > {limit} of {x}", "only those of {x} that exceed {limit}", "the ones among {x} greater than {limit}",
          "which of {x} are above {limit}?", "restrict {x} to values of more than {limit}"),
)
entry(
    "numbers_above.at_least", NUMBERS, NUMBERS, draw=_limit, reference=_keep(lambda v, limit: v >= limit),
    ways=("awk '$1>={limit:raw}' {in}", "perl -ne 'print if $_>={limit:raw}' {in}", "awk -v k={limit} '$1>=k+0' {in}"),
    asks=("show the numbers in {in} that are at least {limit}", "which numbers of {in} are {limit} or [more|higher|larger]?", "print all values in {in} greater than or equal to {limit}",
          "{in}: everything from {limit} upwards", "filter {in} for numbers >= {limit}", "keep only lines of {in} with a value not below {limit}",
          "find the numbers of {limit} and above in {in}", "i need all numbers of {in} from {limit} up", "get the values from {in} that are {limit} or greater"),
    nouns=("the numbers in {in} that are at least {limit}", "all values of {in} greater than or equal to {limit}", "the numbers from {limit} upwards in {in}", "every number of {in} that is {limit} or more",
           "what is not below {limit} in {in}"),
    then=("keep only those of {x} that are at least {limit}", "show which of {x} are greater than or equal to {limit}", "filter {x} for values of {limit} or more",
          "from {x} print the ones not below {limit}", "leave out everything under {limit} from {x}", "leave only numbers >= {limit} of {x}", "only those of {x} that reach {limit} or more",
          "the ones among {x} from {limit} upwards", "which of {x} are {limit} or more?", "restrict {x} to values of at least {limit}"),
)
entry(
    "numbers_below", NUMBERS, NUMBERS, draw=_limit, reference=_keep(lambda v, limit: v < limit),
    ways=("awk '$1<{limit:raw}' {in}", "perl -ne 'print if $_<{limit:raw}' {in}", "awk -v k={limit} '$1<k+0' {in}"),
    asks=("show the numbers in {in} [smaller|less|lower] than {limit}", "which numbers of {in} are [below|under] {limit}?", "print all values in {in} that stay below {limit}",
          "{in}: everything under {limit}", "filter {in} for numbers < {limit}", "keep only lines of {in} with a value of less than {limit}", "find the numbers under {limit} in {in}",
          "i need all numbers of {in} below {limit}", "get the values from {in} that are less than {limit}"),
    nouns=("the numbers in {in} smaller than {limit}", "all values of {in} below {limit}", "the numbers under {limit} in {in}", "every number of {in} that is less than {limit}", "what is lower than {limit} in {in}"),
    then=("keep only those of {x} below {limit}", "show which of {x} are smaller than {limit}", "filter {x} for values under {limit}", "from {x} print the ones lower than {limit}",
          "leave out everything from {limit} upwards in {x}", "leave only numbers < {limit} of {x}", "only those of {x} that are less than {limit}", "the ones among {x} smaller than {limit}",
          "which of {x} are under {limit}?", "restrict {x} to values of less than {limit}"),
)
entry(
    "count_above", NUMBERS, VALUE, draw=_limit, reference=lambda w, x, p: [str(sum(int(v) > int(p["limit"]) for v in x))],
    ways=("awk '$1>{limit:raw}' {in} | wc -l", "awk '$1>{limit:raw}{n++}END{print n+0}' {in}", "perl -ne '$n++ if $_>{limit:raw};END{print \"$n\\n\"}' {in}"),
    asks=("how many numbers in {in} are [greater|larger|bigger] than {limit}?", "count the numbers in {in} [above|over] {limit}", "number of values in {in} exceeding {limit}",
          "{in}: how many above {limit}?", "tell me how often a number in {in} is higher than {limit}", "give the count of lines in {in} with more than {limit}",
          "find out how many entries of {in} are > {limit}", "i need to know how many numbers of {in} are above {limit}", "get the number of values in {in} that are more than {limit}"),
    nouns=("how many numbers in {in} are greater than {limit}", "the count of values above {limit} in {in}", "the number of values in {in} over {limit}", "how many entries of {in} exceed {limit}",
           "the amount of numbers larger than {limit} in {in}"),
    then=("count those of {x} above {limit}", "tell me how many of {x} are greater than {limit}", "print how many of {x} exceed {limit}", "give the number of {x} over {limit}",
          "report the count of {x} larger than {limit}", "count how many of {x} are > {limit}", "the number of {x} above {limit}", "how many of {x} are larger than {limit}",
          "how many of {x} are higher than {limit}?"),
)
entry(
    "top_numbers", NUMBERS, NUMBERS, draw=_few, reference=lambda w, x, p: sorted(x, key=int, reverse=True)[: int(p["n"])],
    ways=("sort -rn {in} | head -n {n}", "sort -n {in} | tail -n {n} | tac", "sort -gr {in} | sed {n}q"),
    asks=("show the {n} [largest|biggest|highest] numbers in {in}, largest first", "what are the top {n} values of {in}? [highest|biggest] first",
          "print the {n} greatest numbers from {in} in descending order", "{in}: top {n}, descending", "find the {n} highest values in {in} and list them from high to low",
          "rank the numbers of {in} and keep the best {n}, highest on top", "top {n} of the numbers in {in}, sorted downwards", "i need the {n} highest numbers of {in}, highest first",
          "get the {n} largest values from {in} in descending order"),
    nouns=("the {n} largest numbers in {in}, largest first", "the top {n} values of {in} in descending order", "the {n} highest numbers of {in} from high to low", "the {n} greatest values in {in}, highest on top",
           "the best {n} of the numbers in {in}, sorted downwards"),
    then=("show the {n} largest of {x}, largest first", "print the top {n} of {x} by value, descending", "keep the {n} highest of {x}, from high to low",
          "list the {n} greatest numbers among {x}, biggest first", "rank {x} and give the first {n}, highest on top", "reduce {x} to the {n} largest, sorted downwards",
          "the {n} largest of {x} in descending order", "only the {n} highest of {x}, highest first", "which are the {n} largest of {x}, biggest first?"),
)
entry(
    "lowest_numbers", NUMBERS, NUMBERS, draw=_few, reference=lambda w, x, p: sorted(x, key=int)[: int(p["n"])],
    ways=("sort -n {in} | head -n {n}", "sort -rn {in} | tail -n {n} | tac", "sort -g {in} | sed {n}q"),
    asks=("show the {n} [smallest|lowest] numbers in {in}, smallest first", "what are the bottom {n} values of {in}? lowest first", "print the {n} least numbers from {in} in ascending order",
          "{in}: lowest {n}, ascending", "find the {n} smallest values in {in} and list them from low to high", "order the numbers of {in} and keep the {n} at the low end",
          "the {n} lowest of the numbers in {in}, sorted upwards", "i need the {n} lowest numbers of {in}, lowest first", "get the {n} smallest values from {in} in ascending order"),
    nouns=("the {n} smallest numbers in {in}, smallest first", "the bottom {n} values of {in} in ascending order", "the {n} lowest numbers of {in} from low to high", "the {n} least values in {in}, sorted upwards",
           "the low end of {in}, {n} numbers in ascending order"),
    then=("show the {n} smallest of {x}, smallest first", "print the bottom {n} of {x} by value, ascending", "keep the {n} lowest of {x}, from low to high",
          "list the {n} least numbers among {x}, lowest first", "order {x} by value and give the first {n}, lowest on top", "reduce {x} to the {n} smallest, sorted upwards",
          "the {n} smallest of {x} in ascending order", "only the {n} lowest of {x}, lowest first", "which are the {n} smallest of {x}, from low to high?"),
)
entry(
    "running_total", NUMBERS, NUMBERS, draw=_some, needs_order=True, reference=lambda w, x, p: [str(v) for v in accumulate(map(int, x))],
    ways=("awk '{print s+=$1}' {in}", "awk '{s+=$1;print s}' {in}", "perl -lne 'print $s+=$_' {in}"),
    asks=("print the running total of {in}", "show the cumulative sum of the numbers in {in}", "for each line of {in} print the sum [so far|up to there]",
          "what are the running sums of {in}?", "{in}: cumulative totals, one per line", "add the numbers of {in} up step by step and show every intermediate total",
          "accumulate {in} line by line", "i need the running sums of {in}, one per line", "get the cumulative total for every line of {in}"),
    nouns=("the running total of {in}", "the cumulative sums of the numbers in {in}", "the sum so far for each line of {in}", "every intermediate total of {in}", "the numbers of {in} accumulated line by line"),
    then=("print the running total of {x}", "show the cumulative sum of {x}, one per line", "accumulate {x} line by line", "add {x} up step by step and show each intermediate total",
          "give the sum so far for each of {x}", "turn {x} into running sums", "the running totals of {x}", "the cumulative sums of {x}, one for each",
          "list the sum up to that point for each of {x}"),
)
