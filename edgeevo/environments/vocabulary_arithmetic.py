"""Sums that people leave to the shell: remainders, decimals, percent, sizes, bases, runs of numbers; and the middle and ends of a list."""

from __future__ import annotations

import statistics

from edgeevo.environments.skills import Draw, Kind, NoInstanceError, Params, entry

START, VALUE, NUMBERS, LINES = Kind.START, Kind.VALUE, Kind.NUMBERS, Kind.LINES

POWERS = {"KiB": 1, "MiB": 2, "GiB": 3}


def _two(d: Draw) -> Params:
    return {"a": d.number(100, 9999), "b": d.number(3, 97)}


def _rounded(d: Draw) -> Params:
    """A quotient whose third decimal is no tie, so that no way of rounding has to be guessed."""
    a, b = d.rng.randint(10, 999), d.rng.randint(3, 97)
    if a % b == 0 or (a * 1000) % b == 0:
        raise NoInstanceError
    return {"a": str(a), "b": str(b)}


def _percent(d: Draw) -> Params:
    part, whole = d.rng.randint(3, 90), d.rng.randint(91, 400)
    if (part * 10_000) % whole == 0:
        raise NoInstanceError
    return {"a": str(part), "b": str(whole)}


def _size(d: Draw) -> Params:
    unit = d.rng.choice(sorted(POWERS))
    return {"count": d.number(2, 64), "unit": unit, "factor": "1024" if POWERS[unit] == 1 else f"1024**{POWERS[unit]}"}


def _down(d: Draw) -> Params:
    low = d.rng.randint(0, 5)
    return {"first": str(low + d.rng.randint(4, 15)), "last": str(low)}


def _padded(d: Draw) -> Params:
    low, width = d.rng.randint(1, 9), d.rng.randint(2, 4)
    return {"first": str(low), "last": str(low + d.rng.randint(4, 11)), "width": str(width)}


def _varied(d: Draw) -> Params:
    x, p = d.source(d.numbers)
    if len(set(x)) < 3:
        raise NoInstanceError
    return p


def _median(x: list[str]) -> str:
    return f"{statistics.median(map(int, x)):g}"


entry(
    "add", START, VALUE, draw=_two, reference=lambda w, x, p: [str(int(p["a"]) + int(p["b"]))],
    ways=("echo $(({a:raw} + {b:raw}))", "expr {a} + {b}", "echo '{a:raw}+{b:raw}' | bc"),
    asks=("what is {a} plus {b}?", "add {b} to {a}", "calculate {a} + {b}", "print the sum of the two numbers {a} and {b}", "{a} + {b} = ?", "put {a} and {b} together and show the total", "how much are {a} and {b} together?",
          "i need the result of {a} plus {b}", "add the numbers {a} and {b} up", "give me the total of {a} and {b}"),
    nouns=("the sum of {a} and {b}", "{a} plus {b}", "the result of {a} + {b}", "what {a} and {b} add up to", "the total of the two numbers {a} and {b}"),
)
entry(
    "divide", START, VALUE, draw=_two, reference=lambda w, x, p: [str(int(p["a"]) // int(p["b"]))],
    ways=("echo $(({a:raw} / {b:raw}))", "expr {a} / {b}", "echo '{a:raw}/{b:raw}' | bc"),
    asks=("what is {a} divided by {b}, as a whole number? drop the remainder", "divide {a} by {b} with integer division", "print the integer quotient of {a} and {b}", "how many times does {b} fit into {a}? whole number only",
          "{a} / {b} without decimals, cut off", "calculate {a} over {b} and throw the fraction away", "compute how many full groups of {b} there are in {a}", "i need {a} divided by {b}, rounded down",
          "give me the whole part of {a} / {b}", "show {a} divided by {b}, integer part only"),
    nouns=("the integer quotient of {a} and {b}", "{a} divided by {b}, rounded down", "the whole part of {a} / {b}", "how many times {b} fits into {a}", "the result of the integer division of {a} by {b}"),
)
entry(
    "remainder", START, VALUE, draw=_two, reference=lambda w, x, p: [str(int(p["a"]) % int(p["b"]))],
    ways=("echo $(({a:raw} % {b:raw}))", "expr {a} % {b}", "echo '{a:raw}%{b:raw}' | bc"),
    asks=("what is the remainder of {a} divided by {b}?", "print {a} modulo {b}", "calculate {a} mod {b}", "{a} % {b} = ?", "divide {a} by {b} and show only the remainder", "how much is left over when {a} is split into groups of {b}?",
          "remainder of {a} / {b}", "i need the rest of dividing {a} by {b}", "compute what remains of {a} after taking out {b} as often as possible", "give me {a} modulus {b}"),
    nouns=("the remainder of {a} divided by {b}", "{a} modulo {b}", "the rest of dividing {a} by {b}", "what is left over when {a} is divided by {b}", "the result of {a} mod {b}"),
)
entry(
    "divide_decimals", START, VALUE, draw=_rounded, reference=lambda w, x, p: [f"{int(p['a']) / int(p['b']):.2f}"],
    ways=("awk 'BEGIN{printf \"%.2f\\n\", {a:raw}/{b:raw}}'", "perl -e 'printf \"%.2f\\n\",{a:raw}/{b:raw}'", "printf '%.2f\\n' \"$(echo 'scale=6;{a:raw}/{b:raw}' | bc)\""),
    asks=("what is {a} divided by {b}, rounded to two decimals?", "divide {a} by {b} and print the result with 2 decimal places, rounded", "calculate {a} / {b} to two decimals (rounded)", "{a} / {b}, two digits after the point, rounded",
          "show {a} over {b} as a decimal number rounded to 2 places", "compute the quotient of {a} and {b}, rounded to two decimal places", "how much is {a} / {b}? round to 2 decimals", "i need {a} divided by {b} with two rounded decimals",
          "give me {a}/{b} rounded to hundredths", "print the decimal value of {a} divided by {b}, rounded to 2 digits"),
    nouns=("{a} divided by {b}, rounded to two decimals", "the quotient of {a} and {b} to 2 decimal places, rounded", "the value of {a} / {b} rounded to hundredths", "{a} over {b} with two rounded decimals", "the decimal result of {a}/{b}, rounded to 2 places"),
)
entry(
    "percent", START, VALUE, draw=_percent, reference=lambda w, x, p: [f"{int(p['a']) * 100 / int(p['b']):.1f}"],
    ways=("awk 'BEGIN{printf \"%.1f\\n\", {a:raw}*100/{b:raw}}'", "perl -e 'printf \"%.1f\\n\",{a:raw}*100/{b:raw}'", "printf '%.1f\\n' \"$(echo 'scale=6;{a:raw}*100/{b:raw}' | bc)\""),
    asks=("what percent of {b} is {a}? one decimal, rounded, no sign", "print how many percent {a} is of {b}, rounded to one decimal, just the number", "calculate {a} as a percentage of {b} with one rounded decimal, no % sign", "{a} of {b} in percent, 1 decimal (rounded), number only",
          "compute the share of {a} in {b} in percent, rounded to 1 decimal place, without the sign", "give me {a} out of {b} as percent to one decimal, only the rounded number", "which percentage of {b} does {a} make? one decimal place, rounded, no sign",
          "i need the percentage that {a} is of {b}, rounded to one decimal, no sign", "show {a}/{b} in percent with one decimal, rounded and without a % sign", "work out what percentage {a} out of {b} is, one rounded decimal, bare number"),
    nouns=("the percentage of {b} that {a} makes, one rounded decimal, no sign", "the percentage that {a} is of {b} with one rounded decimal, number only", "how many percent of {b} {a} is, to 1 decimal, rounded", "the share that {a} has in {b}, in percent with one rounded decimal, no sign",
           "what percent {a} out of {b} is, rounded to one decimal place"),
)
entry(
    "size_bytes", START, VALUE, draw=_size, reference=lambda w, x, p: [str(int(p["count"]) * 1024 ** POWERS[p["unit"]])],
    ways=("echo $(({count:raw} * {factor:raw}))", "numfmt --from=iec-i {count:raw}$(echo {unit:raw} | tr -d B)"),
    asks=("how many bytes are {count} {unit}?", "convert {count} {unit} to bytes", "print {count} {unit} in bytes, only the number", "{count} {unit} in bytes", "calculate the number of bytes in {count} {unit}", "what is {count} {unit} as a plain byte count?",
          "turn the size {count} {unit} into bytes", "i need {count} {unit} expressed in bytes", "give me the byte count of {count} {unit}", "express {count} {unit} in bytes (1 KiB is 1024 bytes)"),
    nouns=("the number of bytes in {count} {unit}", "{count} {unit} in bytes", "the size {count} {unit} as a plain byte count", "how many bytes {count} {unit} are", "the byte count of {count} {unit}"),
)
entry(
    "to_binary", START, VALUE, draw=lambda d: {"number": d.number(5, 1000)}, reference=lambda w, x, p: [f"{int(p['number']):b}"],
    ways=("echo 'obase=2; {number:raw}' | bc", "perl -e 'printf \"%b\\n\",{number:raw}'"),
    asks=("what is {number} in binary?", "convert the decimal number {number} to binary", "print {number} in base 2, without prefix or padding", "{number} as a binary number", "write the number {number} with ones and zeros only, no leading zeros",
          "show the binary form of {number}", "give me {number} to the base 2", "i need the decimal {number} in binary digits", "how does {number} look in the binary system?", "work out the bits of {number}, most significant first"),
    nouns=("{number} in binary", "the binary form of {number}", "the decimal number {number} in base 2", "{number} written in binary digits", "the bits of {number}, most significant first"),
)
entry(
    "countdown", START, NUMBERS, draw=_down, reference=lambda w, x, p: [str(v) for v in range(int(p["first"]), int(p["last"]) - 1, -1)],
    ways=("seq {first} -1 {last}", "printf '%s\\n' {{first:raw}..{last:raw}}", "for ((i={first:raw};i>={last:raw};i--)); do echo $i; done"),
    asks=("count down from {first} to {last}, one number per line", "print the numbers from {first} down to {last}, each on its own line", "list the integers {first} to {last} in descending order, a line each", "countdown {first}..{last}, one per line",
          "show every whole number from {first} backwards to {last}, line by line", "start at {first} and go down by one until {last}, a number a line", "i need the numbers {first} down to {last}, both included, one a line",
          "numbers from {first} falling to {last}, one on each line", "write {first}, the number before it and so on down to {last}, one per line", "give me a countdown that begins with {first} and ends with {last}, line by line"),
    nouns=("the numbers from {first} down to {last}, one per line", "the countdown from {first} to {last}", "the integers {first} to {last} in descending order", "the whole numbers from {first} backwards to {last}", "the descending numbers {first} through {last}, a line each"),
)
entry(
    "sequence_padded", START, LINES, draw=_padded, reference=lambda w, x, p: [f"{v:0{p['width']}}" for v in range(int(p["first"]), int(p["last"]) + 1)],
    ways=("printf '%0{width:raw}d\\n' $(seq {first} {last})", "seq -f %0{width:raw}g {first} {last}", "for ((i={first:raw};i<={last:raw};i++)); do printf '%0{width:raw}d\\n' $i; done"),
    asks=("print the numbers from {first} to {last} padded with zeros to {width} digits, one per line", "list {first} to {last} with leading zeros, {width} digits each, line by line", "count from {first} up to {last}, every number zero-padded to width {width}, one per line",
          "numbers {first} to {last}, {width} digits wide with leading zeros, a line each", "show the integers {first} through {last} on a line each, filled up with zeros to {width} places", "generate {first}..{last} zero padded to {width} digits, one on each line",
          "i need the numbers {first} to {last} written with {width} digits (leading zeros), one a line", "write out {first} up to {last} line by line in the format of {width} digits with zeros in front",
          "give me the sequence from {first} to {last}, zero-filled to {width} characters, one number per line", "get a run of numbers, {first} to {last}, each padded by zeros to {width} digits, one per line"),
    nouns=("the numbers {first} to {last}, each padded with zeros to {width} digits", "the integers {first} through {last} with leading zeros, {width} digits each", "the zero-padded numbers {first} to {last}, width {width}", "the numbers {first} to {last} written with {width} digits, one per line",
           "the numbers from {first} up to {last}, filled with zeros to {width} places"),
)
entry(
    "sum_range", START, VALUE, draw=lambda d: {"first": (low := d.number(1, 30)), "last": str(int(low) + d.rng.randint(10, 300))}, reference=lambda w, x, p: [str(sum(range(int(p["first"]), int(p["last"]) + 1)))],
    ways=("seq {first} {last} | paste -sd+ | bc", "echo $((({first:raw} + {last:raw}) * ({last:raw} - {first:raw} + 1) / 2))", "seq {first} {last} | awk '{s+=$1}END{print s}'"),
    asks=("what is the sum of all numbers from {first} to {last}?", "add up the integers {first} through {last}", "calculate {first} + ... + {last}, every whole number in between included", "sum of {first} to {last}", "print the total of the whole numbers from {first} up to {last}, ends included",
          "compute the sum over {first}..{last}", "how much do all the numbers between {first} and {last} (both included) add up to?", "i need the numbers {first} to {last} summed up", "give me one number: {first} to {last} all added together", "show what the integers from {first} to {last} come to in total"),
    nouns=("the sum that the numbers {first} to {last} have", "the total of the integers {first} through {last}", "what {first} + ... + {last} is", "the sum over the whole numbers {first} to {last}", "the integers from {first} up to {last} added together"),
)
entry(
    "median", NUMBERS, VALUE, draw=_varied, reference=lambda w, x, p: [_median(x)],
    ways=("sort -n {in} | awk '{a[NR]=$1}END{print (a[int((NR+1)/2)]+a[int((NR+2)/2)])/2}'", "sort -n {in} | perl -ne 'push @a,$_;END{print(($a[$#a/2]+$a[@a/2])/2,\"\\n\")}'"),
    asks=("what is the median of the numbers in {in}?", "compute the median of {in}", "print the median value of the numbers stored in {in}", "{in}: median", "median of {in}", "find the median in {in}, the mean of the two middle values if there are two", "how large is the median number in {in}?",
          "i need the median of all values in {in}", "give me just the median of the numbers in {in}", "sort the numbers of {in} and tell me their median"),
    nouns=("the median of the numbers in {in}", "the median of {in}", "the median value of the numbers stored in {in}", "the median over all values in {in}", "what the median of the numbers in {in} is"),
    then=("compute the median of {x}", "print the median of {x}", "find the median among {x}", "tell me the median value of {x}", "give only the median of {x}", "report the median that {x} have", "the median of {x}", "the median value among {x}", "what is the median of {x}?", "determine the median over {x}"),
)
entry(
    "min_max", NUMBERS, NUMBERS, draw=_varied, reference=lambda w, x, p: [min(x, key=int), max(x, key=int)],
    ways=("sort -n {in} | sed -n '1p;$p'", "awk 'NR==1{a=b=$1}$1<a{a=$1}$1>b{b=$1}END{print a;print b}' {in}"),
    asks=("print the smallest and the largest number in {in}, one per line", "what are the minimum and the maximum of {in}? two lines", "show the lowest and then the highest value of {in}, each on its own line", "{in}: min and max, on two lines", "find both ends of the numbers in {in}, smallest first, one per line",
          "give me min and max of {in} on separate lines", "range of the numbers in {in}: lowest on the first line, highest on the second", "i need the least and the greatest number of {in}, a line each", "display the extremes of {in}, first the minimum, below it the maximum",
          "get the smallest number of {in} and, on the next line, the biggest"),
    nouns=("the smallest and the largest of the numbers in {in}, a line each", "the minimum and the maximum of {in}, the minimum on the first line", "the lowest and the highest of the values in {in}, on two lines", "the extremes of the numbers in {in}, minimum first", "min and max of {in}, a line each"),
    then=("print the smallest and the largest of {x}, one per line", "show minimum and maximum of {x} on two lines", "keep the lowest and the highest of {x}, lowest first", "reduce {x} to the least and the greatest, a line each", "find both extremes of {x}, minimum first, one per line",
          "give the min and the max of {x}, each on its own line", "the smallest and the largest of {x}, one per line", "only the minimum and the maximum of {x}, on two lines", "what are the lowest and the highest of {x}? one per line", "report the two ends of {x}, smallest first, line by line"),
)
