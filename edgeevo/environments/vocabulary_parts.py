"""Skills on parts of one text: all but some lines, every nth, the first, last and surroundings of a match; and counts of what doesn't match."""

from __future__ import annotations

from collections import Counter

from edgeevo.environments import names
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_text import with_word
from edgeevo.environments.world import text

TEXT, LINES, NUMBERS, VALUE = Kind.TEXT, Kind.LINES, Kind.NUMBERS, Kind.VALUE


def _several(d: Draw) -> Params:
    """Between two and eight lines, of more than there are."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.draft)))
    if len(lines) < 4:
        raise NoInstanceError
    n = d.rng.randint(2, min(8, len(lines) - 2))
    return {"n": str(n), "from": str(n + 1)} | p


def _step(d: Draw) -> Params:
    lines, p = d.source(d.rng.choice((d.text, d.log, d.contacts)))
    if len(lines) < 6:
        raise NoInstanceError
    return {"n": d.number(2, min(5, len(lines) // 2))} | p


def _matches(d: Draw, least: int) -> tuple[Lines, Params]:
    """A word of at least `least` lines, and not of all."""
    lines, p = d.source(d.rng.choice((d.text, d.log)))
    counts = Counter(word for line in lines for word in {w for w in line.split() if w.isalpha() and len(w) > 2})
    word = d.pick(sorted(w for w in counts if least <= sum(w in line for line in lines) < len(lines)))
    return [line for line in lines if word in line], {"word": word} | p


def _first_few(d: Draw) -> Params:
    found, p = _matches(d, 3)
    return {"n": d.number(2, min(5, len(found) - 1))} | p


def _first(x: Lines, word: str) -> int:
    return next(i for i, line in enumerate(x) if word in line)


def _around(d: Draw) -> Params:
    """A word of one line only, with as many lines around it as are asked for."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.draft)))
    n = d.rng.randint(2, 4)
    words = sorted({w for line in lines for w in line.split() if w.isalpha() and len(w) > 2})
    single = [w for w in words if sum(w in line for line in lines) == 1 and n <= _first(lines, w) < len(lines) - n]
    if len(lines) < 2 * n + 2:
        raise NoInstanceError
    return {"n": str(n), "word": d.pick(single)} | p


def _context(x: Lines, p: Params) -> Lines:
    i, n = _first(x, p["word"]), int(p["n"])
    return x[i - n : i + n + 1]


def _any_case(d: Draw) -> Params:
    """A word in another case than its lines have it, or in that of some of them."""
    lines, p = d.source(d.rng.choice((d.text, d.text, d.draft)))
    word = d.word(lines)
    return {"word": d.rng.choice((word.upper(), word.lower(), word.capitalize()))} | p


def _airy(d: Draw) -> Params:
    """Lines with empty ones among them, so many that nobody guesses how many have text."""
    if d.x is not None:
        return {}
    lines = ["" if d.rng.random() < 0.3 else " ".join(d.rng.choices(names.stems(d.split), k=3)) for _ in range(d.rng.randint(15, 90))]
    return {"in": d.place(d.name(d.rng.choice(("txt", "md", "log"))), text([*lines, "", d.stem()], age_seconds=5000))}


def _address(d: Draw) -> Params:
    """An address whose dots must be dots."""
    lines, p = d.source(d.contacts)
    found = [line.split()[-1] for line in lines if line.count(".") > 3]
    return {"text": d.pick(a for a in found if len(lines) > sum(a in line for line in lines) == found.count(a))} | p


entry(
    "skip_lines", TEXT, LINES, on_paths=True, needs_order=True, draw=_several, reference=lambda w, x, p: x[int(p["n"]) :],
    ways=("tail -n +{from:raw} {in}", "sed 1,{n:raw}d {in}", "awk 'NR>{n:raw}' {in}"),
    asks=("show {in} without its first {n} lines", "print everything in {in} except the first {n} lines", "all lines of {in} but the first {n}", "what does {in} contain after its first {n} lines?", "{in}: everything after the first {n} lines",
          "i need {in} without the {n} lines at the top", "skip the first {n} lines of {in} and print the rest", "display {in}, but start behind line {n}", "output {in} with the top {n} lines left out", "get whatever follows the first {n} lines of {in}", "list the lines of {in} that come after line {n}"),
    nouns=("all lines of {in} except the first {n}", "the lines of {in} without the first {n}", "the lines of {in} after line {n}", "everything in {in} but the top {n} lines", "the rest of {in} behind its first {n} lines", "the lines of {in} that follow the first {n}"),
    then=("show {x} without the first {n}", "print {x} except the first {n}", "all of {x} but the first {n}", "{x} without the first {n} of them", "start behind the first {n} of {x}", "skip the first {n} of {x}", "all of {x} after the first {n}", "list what comes after the first {n} of {x}",
          "ignore the top {n} of {x}", "what comes after the first {n} of {x}?"),
)
entry(
    "skip_lines.last", TEXT, LINES, on_paths=True, needs_order=True, draw=_several, reference=lambda w, x, p: x[: -int(p["n"])],
    ways=("head -n -{n:raw} {in}", "tac {in} | tail -n +{from:raw} | tac"),
    asks=("show {in} without its last {n} lines", "print everything in {in} except the last {n} lines", "all lines of {in} but the last {n}", "what does {in} contain before its last {n} lines?", "{in}: everything before the last {n} lines", "i need {in} without the {n} lines at the bottom",
          "leave out the final {n} lines of {in} and print the rest", "display {in}, but stop {n} lines before the end", "output {in} with the bottom {n} lines left out", "get whatever precedes the last {n} lines of {in}"),
    nouns=("all lines of {in} except the last {n}", "the lines of {in} without the last {n}", "the lines of {in} before the final {n}", "everything in {in} but the bottom {n} lines", "the lines of {in} that precede the last {n}"),
    then=("show {x} without the last {n}", "print {x} except the last {n}", "all of {x} but the last {n}", "{x} without the last {n} of them", "stop {n} before the end of {x}", "all of {x} before the last {n}", "list what comes before the last {n} of {x}", "ignore the bottom {n} of {x}",
          "what comes before the last {n} of {x}?"),
)
entry(
    "from_line", TEXT, LINES, on_paths=True, needs_order=True, draw=_several, reference=lambda w, x, p: x[int(p["n"]) - 1 :],
    ways=("tail -n +{n} {in}", "sed -n '{n:raw},$p' {in}", "awk 'NR>={n:raw}' {in}"),
    asks=("print {in} from line {n} to the end", "show the lines of {in} starting with line {n}", "everything in {in} from line {n} on", "what is in {in} from line {n} onwards?", "{in}: line {n} to the last line", "i need {in} from its {n:th} line to the end",
          "display all of {in} beginning at line {n}", "output line {n} of {in} and all that follow it", "list {in} from the {n:th} line down to the last", "get line {n} and everything after it from {in}"),
    nouns=("the lines of {in} from line {n} to the end", "all lines of {in} from number {n} on", "the lines of {in} beginning with the {n:th}", "{in} from line {n} to its last line", "the {n:th} and all following lines of {in}"),
    then=("print {x} from number {n} to the end", "show {x} starting with the {n:th}", "all of {x} from the {n:th} on", "list {x} beginning at number {n}", "only the {n:th} of {x} and what follows it", "take the {n:th} and everything after it from {x}", "{x} from number {n} to the last one",
          "what are {x} from number {n} on?", "begin at line {n} of {x} and go on to the end"),
)
entry(
    "every_nth", TEXT, LINES, needs_order=True, draw=_step, reference=lambda w, x, p: x[int(p["n"]) - 1 :: int(p["n"])],
    ways=("awk 'NR%{n:raw}==0' {in}", "sed -n '0~{n:raw}p' {in}", "perl -ne 'print unless $. % {n:raw}' {in}"),
    asks=("print every {n:th} line of {in}, beginning with line {n}", "show each {n:th} line of {in} (line {n}, twice that and so on)", "every {n:th} line of {in}, the first one being line {n}", "which lines does {in} have at numbers that {n} divides? print them", "{in}: only lines whose number is a multiple of {n}",
          "i need every {n:th} line of {in}, counted from the top, so line {n} comes first", "pick each {n:th} line from {in} starting at line {n}", "list the lines of {in} whose line number is divisible by {n}", "thin {in} out to every {n:th} line, first line {n}", "output one of {n} lines of {in}: the {n:th}, then always the next {n:th}"),
    nouns=("every {n:th} line of {in}, beginning with line {n}", "the lines of {in} whose number is a multiple of {n}", "each {n:th} line of {in} (line {n}, twice that and so on)", "the lines of {in} with a line number divisible by {n}", "every {n:th} of the lines in {in}, the first being line {n}"),
    then=("print every {n:th} of {x}, beginning with number {n}", "keep those of {x} whose place in the row is a multiple of {n}", "show each {n:th} of {x} (number {n}, twice that and so on)", "pick every {n:th} one, starting at number {n}, out of {x}", "only each {n:th} of {x}, the first being number {n}",
          "thin {x} out to every {n:th}, beginning at number {n}", "which of {x} stand at a number divisible by {n}?", "list number {n}, twice {n} and so on of {x}", "the ones of {x} at places that {n} divides"),
)
entry(
    "last_match", TEXT, VALUE, needs_order=True, draw=lambda d: _matches(d, 2)[1], reference=lambda w, x, p: [[line for line in x if p["word"] in line][-1]],
    ways=("grep {word} {in} | tail -n 1", "tac {in} | grep -m1 {word}", "awk '/{word:raw}/{l=$0}END{print l}' {in}"),
    asks=("print the last line of {in} that contains {word}", "show the last line with {word} in {in}", "what is the last line of {in} mentioning {word}?", "{in}: last line with {word}", "find the final occurrence of {word} in {in} and print its line", "i need the last line in {in} that has {word} in it",
          "get only the last match for {word} in {in}", "which line with {word} comes last in {in}?", "grep {word} in {in}, but only the last hit", "display the most recent line of {in} with {word}, that is the lowest one in the file"),
    nouns=("the last line of {in} that contains {word}", "the last match of {word} in {in}", "the final line mentioning {word} in {in}", "the line with {word} that comes last in {in}", "the lowest line of {in} with {word} in it"),
    then=("print the last of {x} that contains {word}", "show only the last one with {word} among {x}", "find the final one mentioning {word} in {x}", "the last of {x} with {word} in it", "only the last match for {word} in {x}", "which is the last of {x} that has {word}?", "pick the last one with {word} out of {x}",
          "the final one among {x} that mentions {word}", "grep {word} in {x} and keep the last hit"),
)
entry(
    "first_matches", TEXT, LINES, needs_order=True, draw=_first_few, reference=lambda w, x, p: [line for line in x if p["word"] in line][: int(p["n"])],
    ways=("grep -m {n} {word} {in}", "grep {word} {in} | head -n {n}", "awk '/{word:raw}/' {in} | sed {n}q"),
    asks=("print the first {n} lines of {in} that contain {word}", "show only the first {n} matches of {word} in {in}", "search {in} for {word} and stop after {n} matching lines", "what are the first {n} lines with {word} in {in}?", "{in}: first {n} lines mentioning {word}",
          "i need the first {n} lines in {in} that have {word} in them", "grep {word} in {in}, at most {n} lines from the top", "find the {n} topmost lines of {in} with {word}", "get the first {n} hits for {word} in {in}", "list no more than the first {n} lines of {in} where {word} occurs"),
    nouns=("the first {n} lines of {in} that contain {word}", "the first {n} matches of {word} in {in}", "the {n} topmost lines of {in} with {word}", "the lines of {in} with {word}, only the first {n}", "the first {n} hits for {word} in {in}"),
    then=("print the first {n} of {x} that contain {word}", "show only the first {n} ones with {word} among {x}", "search {x} for {word} and stop after {n} matches", "the first {n} of {x} with {word} in them", "only the first {n} matches for {word} in {x}", "which are the first {n} of {x} that have {word}?",
          "pick the first {n} ones with {word} out of {x}", "the {n} topmost ones among {x} that mention {word}", "grep {word} in {x} and keep the first {n} hits"),
)
entry(
    "match_numbers", TEXT, NUMBERS, needs_order=True, draw=with_word, reference=lambda w, x, p: [str(i) for i, line in enumerate(x, 1) if p["word"] in line],
    ways=("grep -n {word} {in} | cut -d: -f1", "awk '/{word:raw}/{print NR}' {in}", "sed -n '/{word:raw}/=' {in}"),
    asks=("print only the line numbers of the lines in {in} that contain {word}", "on which lines of {in} does {word} occur? just the numbers", "line numbers of {word} in {in}", "show the numbers of the lines with {word} in {in}, without their text", "{in}: numbers of all lines mentioning {word}",
          "i need the line numbers where {word} appears in {in}, nothing else", "at which line numbers does {in} mention {word}?", "find {word} in {in} and give the line numbers only, one per line", "list the number of every line of {in} that has {word} in it", "get the line numbers matching {word} in {in}"),
    nouns=("the line numbers of {word} in {in}", "the numbers of the lines with {word} in {in}", "the line numbers where {in} mentions {word}", "the numbers of all lines in {in} that contain {word}", "the line numbers in {in} at which {word} occurs"),
)
entry(
    "match_around", TEXT, LINES, needs_order=True, draw=_around, reference=lambda w, x, p: _context(x, p),
    ways=("grep -C {n} {word} {in}", "grep -A {n} -B {n} {word} {in}"),
    asks=("show the line with {word} in {in} and {n} lines before and after it", "find {word} in {in} with {n} lines of context on both sides", "print {n} lines around the match of {word} in {in}, the match included", "what surrounds {word} in {in}? {n} lines above, the line itself, {n} lines below",
          "{in}: {word} with {n} lines of context each way", "i need the {word} line of {in} plus {n} lines above and {n} below", "grep {word} in {in} with a context of {n} lines", "display where {in} mentions {word} together with the {n} lines before and the {n} lines after", "look for {word} in {in} and include {n} lines of surrounding context in both directions",
          "get the match of {word} in {in} with the {n} preceding and the {n} following lines"),
    nouns=("the line with {word} in {in} and {n} lines before and after it", "the match of {word} in {in} with {n} lines of context on both sides", "the {word} line of {in} plus {n} lines above and {n} below", "the lines of {in} around {word}, {n} on each side, the match included", "the {n} lines on either side of {word} in {in} and the line itself"),
    then=("show the one with {word} and {n} lines before and after it in {x}", "find {word} with {n} lines of context on both sides in {x}", "print {n} lines around {word}, match included, from {x}", "the {word} line plus {n} above and {n} below in {x}", "search {x} for {word} with a context of {n} lines", "look for {word} in {x} and include {n} lines each way",
          "the match of {word} in {x} with {n} lines of context on both sides", "only the line with {word} and its {n} neighbours on each side in {x}", "which lines surround {word}, {n} on each side and the match itself, in {x}?"),
)
entry(
    "count_unlike", TEXT, VALUE, draw=with_word, reference=lambda w, x, p: [str(sum(p["word"] not in line for line in x))],
    ways=("grep -vc {word} {in}", "grep -v {word} {in} | wc -l", "awk '!/{word:raw}/{n++}END{print n+0}' {in}"),
    asks=("count the lines of {in} that do not contain {word}", "how many lines in {in} don't mention {word}?", "number of lines without {word} in {in}", "{in}: how many lines lack {word}?", "tell me how many lines of {in} have no {word} in them", "i need the count of lines in {in} not matching {word}",
          "print how many lines of {in} are free of {word}", "what is the number of lines in {in} in which {word} does not occur?", "find out how many lines {in} has besides those with {word}", "give the count of all lines of {in} except the ones containing {word}", "get the number of {in} lines that don't match {word}"),
    nouns=("the number of lines in {in} that do not contain {word}", "how many lines of {in} do not mention {word}", "the count of lines without {word} in {in}", "how many lines in {in} have no {word} in them", "the number of lines of {in} besides those with {word}"),
    then=("count those of {x} that do not contain {word}", "tell me how many of {x} don't mention {word}", "give the number of {x} without {word}", "the number of {x} that lack {word}", "how many of {x} do not have {word} in them", "count how many of {x} are free of {word}", "how many of {x} don't contain {word}?", "the count of {x} not matching {word}",
          "report how many among {x} have no {word}"),
)
entry(
    "count_nocase", TEXT, VALUE, draw=_any_case, reference=lambda w, x, p: [str(sum(p["word"].lower() in line.lower() for line in x))],
    ways=("grep -ic {word} {in}", "grep -i {word} {in} | wc -l", "awk -v w={word} 'index(tolower($0),tolower(w)){n++}END{print n+0}' {in}"),
    asks=("count the lines of {in} that contain {word}, ignoring case", "how many lines in {in} mention {word} in upper or lower case?", "number of lines with {word} in {in}, case-insensitive", "{in}: how many lines have {word} in any case?", "tell me how many lines of {in} match {word} regardless of case",
          "i need the count of lines in {in} with {word}, no matter how it is capitalised", "print how many lines of {in} contain {word}, case does not matter", "what is the number of lines in {in} in which {word} occurs, capital or small letters alike?", "do a case-insensitive count of the lines with {word} in {in}", "get the number of {in} lines matching {word} without regard to case"),
    nouns=("the number of lines in {in} that contain {word} in any case", "how many lines of {in} mention {word}, ignoring case", "the case-insensitive count of lines with {word} in {in}", "how many lines in {in} have {word} in upper or lower case", "the number of {in} lines matching {word} regardless of case"),
    then=("count those of {x} that contain {word}, ignoring case", "tell me how many of {x} mention {word} in any case", "give the number of {word} lines, upper or lower case, among {x}", "the number of lines with {word} regardless of case in {x}", "how many lines match {word} case-insensitively among {x}", "count how many have {word} in any capitalisation among {x}",
          "how many of {x} contain {word}, no matter the case?", "the case-insensitive count of {word} lines in {x}", "report how many lines have {word}, case ignored, in {x}"),
)
entry(
    "count_nonblank", TEXT, VALUE, draw=_airy, reference=lambda w, x, p: [str(sum(bool(line) for line in x))],
    ways=("grep -c . {in}", "grep -vc '^$' {in}", "sed '/^$/d' {in} | wc -l"),
    asks=("count the non-empty lines in {in}", "how many lines of {in} are not empty?", "number of non-blank lines in {in}", "{in}: how many lines that contain something?", "tell me how many lines {in} has, empty ones not counted", "i need the line count of {in} without the blank lines",
          "print how many lines of {in} have any text", "what is the number of lines in {in} if empty lines are ignored?", "count lines of {in} but do not count empty ones", "find out how many non-empty lines there are in {in}"),
    nouns=("the number of non-empty lines in {in}", "how many lines of {in} are not blank", "the count of lines with text in {in}", "the line count of {in} without empty lines", "how many lines {in} has when blank ones are not counted"),
)
entry(
    "grep_literal", TEXT, LINES, draw=_address, reference=lambda w, x, p: [line for line in x if p["text"] in line],
    ways=("grep -F {text} {in}", "awk -v t={text} 'index($0,t)' {in}", "perl -ne 'print if /\\Q{text:raw}\\E/' {in}"),
    asks=("find the lines of {in} that contain the literal text {text}", "show lines of {in} with the address {text}, taken literally", "which lines of {in} have the string {text} in them?", "search {in} for {text} as a fixed string", "{in}: lines containing {text}, dots are dots",
          "grep {in} for {text} as plain text, not as a pattern", "i need every line of {in} in which the string {text} occurs", "print the lines of {in} that mention {text} literally, no regex", "get the lines with the fixed text {text} from {in}", "look for the string {text} in {in}, without treating it as a regular expression"),
    nouns=("the lines of {in} that contain the literal text {text}", "the lines with the fixed string {text} in {in}", "all lines of {in} with the address {text} in them", "every line of {in} in which the string {text} occurs literally", "the literal matches of {text} in {in}"),
    then=("keep those of {x} that contain the literal text {text}", "search {x} for the fixed string {text}", "show the ones with the plain text {text} in them among {x}", "only those of {x} with the address {text}", "the ones among {x} that have the string {text} in them", "which of {x} contain the literal string {text}?", "filter {x} for {text} as plain text",
          "grep {text} as a fixed string in {x}", "from {x} print whatever has the text {text} in it literally"),
)
