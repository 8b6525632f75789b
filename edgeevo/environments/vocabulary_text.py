"""Skills on lines of text: look at parts, count, order, change; and where the result goes."""

from __future__ import annotations

import posixpath
from collections import Counter

from edgeevo.environments.skills import Draw, Kind, Lines, Params, entry
from edgeevo.environments.world import World

TEXT, LINES, NUMBERS, VALUE, TREE, START = Kind.TEXT, Kind.LINES, Kind.NUMBERS, Kind.VALUE, Kind.TREE, Kind.START


def _length(d: Draw, p_in: str) -> int:
    return len(d.x if d.x is not None else d.world.lines(p_in))


def with_word(d: Draw) -> Params:
    """A word that some of the lines contain."""
    source = d.text() if d.x is None else ""
    return {"word": d.input_word(source or None)} | ({"in": source} if source else {})


def _with_count(d: Draw) -> Params:
    source = d.text() if d.x is None else ""
    return {"n": d.number(1, max(1, min(9, _length(d, source) - 1)))} | ({"in": source} if source else {})


def _with_range(d: Draw) -> Params:
    source = d.text() if d.x is None else ""
    length = _length(d, source)
    n = d.rng.randint(1, max(1, length - 2))
    return {"n": str(n), "m": str(min(length, n + d.rng.randint(1, 5)))} | ({"in": source} if source else {})


# --- counting ---------------------------------------------------------------------------------------------------------

entry(
    "count_lines", TEXT, VALUE, on_paths=True,
    reference=lambda w, x, p: [str(len(x))],
    ways=("wc -l {<in}", "grep -c '' {in}", "awk 'END{print NR}' {in}"),
    asks=("count the lines [in|of] {in}", "how many lines [does {in} have|are in {in}|are there in {in}]?", "{in}: how many lines?", "number of lines in {in}",
          "give me the line count of {in}", "find out how [many lines|long in lines] {in} is", "tell me how many lines {in} contains", "what is the number of lines in {in}?",
          "i need the total number of lines in {in}", "get how many lines {in} has", "how long is {in}, in lines?", "print only the line count of {in}", "wc the lines of {in}"),
    nouns=("the number of lines in {in}", "the line count of {in}", "how many lines {in} has", "the amount of lines in {in}", "the total of lines in {in}", "how many lines are in {in}"),
    then=("count {x}", "count how many of {x} there are", "tell me how many there are of {x}", "give the number of {x}", "report the count of {x}", "how many of {x} are there?",
          "the number of {x}", "how many there are of {x}", "only the count of {x}", "work out how many of {x} you have in total", "the total count of {x}", "say how many of {x} exist",
          "just the number of {x}", "count up {x}"),
)
entry(
    "count_lines.matching", TEXT, VALUE, on_paths=False, draw=with_word,
    reference=lambda w, x, p: [str(sum(p["word"] in line for line in x))],
    ways=("grep -c {word} {in}", "grep {word} {in} | wc -l", "awk -v w={word} 'index($0,w){n++}END{print n+0}' {in}"),
    asks=("count the lines [in|of] {in} [that contain|containing|with|that mention] {word}", "how many lines [in|of] {in} [contain|mention|have] {word}?",
          "in {in}, how [often does a line mention|many lines have] {word}?", "count how many lines of {in} match {word}", "number of lines with {word} in {in}",
          "how many times is there a line with {word} in {in}?", "{in}: count [lines having|the lines with] {word}", "what is the number of lines in {in} that mention {word}?",
          "i need to know how many lines of {in} have {word} in them", "get the count of lines matching {word} in {in}", "print how many lines of {in} contain {word}"),
    nouns=("the number of lines in {in} that contain {word}", "how many lines of {in} mention {word}", "the count of lines with {word} in {in}", "the amount of {word} lines in {in}",
           "how many lines in {in} have {word} in them", "the number of {in} lines matching {word}"),
    then=("count those of {x} that contain {word}", "count how many of {x} mention {word}", "tell me how many of {x} have {word} in them", "give the number of {x} with {word}",
          "report how many among {x} contain {word}", "how many of {x} contain {word}?", "the number of {x} that mention {word}", "how many of {x} have {word} in them",
          "the amount of {word} ones among {x}", "the count of {x} containing {word}", "among {x}, count the ones matching {word}", "find out how many of {x} match {word}"),
)
entry(
    "count_words", TEXT, VALUE,
    reference=lambda w, x, p: [str(sum(len(line.split()) for line in x))],
    ways=("wc -w {<in}", "awk '{n+=NF}END{print n+0}' {in}", "tr -s ' ' '\\n' {<in} | grep -c ."),
    asks=("count the words in {in}", "how many words [does {in} have|are in {in}]?", "number of words of {in}", "give me the word count of {in}", "{in}: how many words?",
          "find the total number of words in {in}", "what is the word count of {in}?", "i need to know how many words {in} has", "get the number of words in {in}",
          "how long is {in} in words?", "work out how many words {in} contains"),
    nouns=("the number of words in {in}", "the word count of {in}", "how many words {in} has", "the total of words in {in}", "how many words are in {in}", "the total number of words in {in}"),
    then=("count the words in {x}", "tell me how many words there are in {x}", "give the word count of {x}", "count all words of {x}", "print the number of words in {x}",
          "how many words are in {x}?", "the number of words in {x}", "how many words {x} have altogether", "the word count of {x}", "do a word count on {x}",
          "only the total number of words in {x}"),
)
entry(
    "count_bytes", TEXT, VALUE, exact=True,
    reference=lambda w, x, p: [str(sum(len(line.encode()) + 1 for line in x))],
    ways=("wc -c {<in}", "cat {in} | wc -c", "tee /dev/null {<in} | wc --bytes"),
    asks=("count the bytes [in|of] {in}", "how many bytes [does {in} have|is {in}]?", "size of {in} in bytes", "how big is {in} in bytes?", "tell me the byte size of {in}",
          "print the size of {in} (bytes)", "what is the size of {in} in bytes?", "i need the number of bytes in {in}", "get the length of {in} in bytes", "{in}: how many bytes?",
          "work out how many bytes {in} takes"),
    nouns=("the number of bytes in {in}", "the size in bytes of {in}", "how many bytes {in} has", "the byte count of {in}", "the length of {in} in bytes", "how many bytes are in {in}"),
    then=("count the bytes of {x}", "tell me how many bytes there are in {x}", "give the size of {x} in bytes", "print the number of bytes in {x}", "measure {x} in bytes",
          "how many bytes do {x} take?", "the number of bytes in {x}", "how many bytes {x} have, line breaks included", "the total size of {x} in bytes", "work out the byte count of {x}"),
)
entry(
    "count_distinct", TEXT, VALUE, exact=True,
    reference=lambda w, x, p: [str(len(set(x)))],
    ways=("sort -u {in} | wc -l", "sort {in} | uniq | wc -l", "awk '!s[$0]++{n++}END{print n+0}' {in}"),
    asks=("count the [distinct|different|unique] lines in {in}", "how many [distinct|different|unique] lines [are in {in}|does {in} have]?", "number of unique lines in {in}",
          "{in}: how many different lines?", "how many lines of {in} are left without duplicates?", "count lines of {in}, each one only once", "what is the number of distinct lines in {in}?",
          "i need to know how many different lines {in} has", "get the count of unique lines in {in}", "work out how many lines of {in} differ from each other",
          "print how many distinct lines {in} contains"),
    nouns=("the number of different lines in {in}", "how many distinct lines {in} has", "the count of unique lines in {in}", "the amount of different lines of {in}",
           "how many different lines are in {in}", "the number of unique lines of {in}"),
    then=("count the distinct ones among {x}", "count how many different ones there are among {x}", "tell me how many of {x} are distinct", "give the number of unique ones among {x}",
          "count {x} without duplicates", "how many different ones are there among {x}?", "the number of distinct ones among {x}", "how many of {x} are different from each other",
          "the count of unique ones among {x}", "count {x}, each only once", "only the number of different ones among {x}", "say how many of {x} are left without repeats"),
)

# --- parts ------------------------------------------------------------------------------------------------------------

entry(
    "head", TEXT, LINES, draw=_with_count, on_paths=True, needs_order=True,
    reference=lambda w, x, p: x[: int(p["n"])],
    ways=("head -n {n} {in}", "sed {n}q {in}", "awk 'NR<={n:raw}' {in}"),
    asks=("show [me|] the first {n} lines of {in}", "print the top {n} lines [of|from] {in}", "first {n} lines of {in}", "what are the first {n} lines of {in}?", "{in}: top {n} lines",
          "give me the {n} first lines in {in}", "output the beginning of {in}, {n} lines", "i need the first {n} lines of {in}", "head of {in}, {n} lines",
          "display the {n} lines at the top of {in}", "how does {in} begin? print {n} lines", "get {n} lines from the beginning of {in}", "from {in} show only the first {n} lines"),
    nouns=("the first {n} lines of {in}", "the top {n} lines in {in}", "the {n} first lines of {in}", "the beginning of {in} ({n} lines)", "the {n} lines at the top of {in}",
           "only the first {n} lines in {in}"),
    then=("show the first {n} of {x}", "keep only the first {n} of {x}", "print the top {n} of {x}", "limit {x} to the first {n}",
          "give me just {n} from the start of {x}", "the first {n} of {x}", "only the top {n} of {x}", "just the {n} at the start of {x}", "cut {x} off after the first {n}",
          "of {x}, keep {n} from the top", "list the leading {n} of {x}", "stop after the first {n} of {x}", "which are the first {n} of {x}?", "the {n} first ones of {x}",
          "reduce {x} to the {n} at the top", "head {x}, first {n} only"),
)
entry(
    "tail", TEXT, LINES, draw=_with_count, on_paths=True, needs_order=True,
    reference=lambda w, x, p: x[-int(p["n"]) :],
    ways=("tail -n {n} {in}", "tac {in} | head -n {n} | tac"),
    asks=("show [me|] the last {n} lines of {in}", "print the final {n} lines [of|from] {in}", "last {n} lines of {in}", "what are the last {n} lines of {in}?", "{in}: bottom {n} lines",
          "give me the {n} last lines in {in}", "output the end of {in}, {n} lines", "i need the last {n} lines of {in}", "tail of {in}, {n} lines",
          "display the {n} lines at the bottom of {in}", "how does {in} end? print {n} lines", "get {n} lines from the end of {in}", "from {in} show only the last {n} lines"),
    nouns=("the last {n} lines of {in}", "the bottom {n} lines in {in}", "the {n} last lines of {in}", "the end of {in} ({n} lines)", "the {n} lines at the bottom of {in}",
           "only the last {n} lines in {in}"),
    then=("show the last {n} of {x}", "keep only the last {n} of {x}", "print the bottom {n} of {x}", "limit {x} to the last {n}",
          "give me just {n} from the end of {x}", "the last {n} of {x}", "only the bottom {n} of {x}", "just the {n} at the very end of {x}", "drop all but the last {n} of {x}",
          "of {x}, keep {n} from the bottom", "list the final {n} of {x}", "which are the last {n} of {x}?", "the {n} last ones of {x}", "reduce {x} to the {n} at the end",
          "tail {x}, last {n} only"),
)
entry(
    "nth_line", TEXT, VALUE, draw=_with_count, on_paths=True, needs_order=True,
    reference=lambda w, x, p: x[int(p["n"]) - 1 : int(p["n"])],
    ways=("sed -n {n}p {in}", "head -n {n} {in} | tail -n 1", "awk 'NR=={n:raw}' {in}"),
    asks=("print line {n} of {in}", "show [me|] line number {n} of {in}", "what is on line {n} of {in}?", "line {n} of {in}", "only line {n} from {in}", "display just the line {n} in {in}",
          "i need the {n:th} line of {in}", "get line number {n} from {in}", "{in}: line {n}", "what does the {n:th} line of {in} say?", "from {in} show nothing but line {n}",
          "output the {n:th} line in {in}"),
    nouns=("line {n} of {in}", "line number {n} in {in}", "only line {n} from {in}", "the single line {n} of {in}", "the {n:th} line of {in}", "what line {n} of {in} says"),
    then=("print number {n} of {x}", "show only line {n} of {x}", "take line {n} of {x}", "give me just line number {n} of {x}", "pick the line {n} out of {x}", "line {n} of {x}",
          "only the {n:th} of {x}", "the {n:th} one of {x}", "which is the {n:th} of {x}?", "just number {n} among {x}", "select the {n:th} line of {x}", "the {n:th} of {x} and nothing else"),
)
entry(
    "line_range", TEXT, LINES, draw=_with_range, needs_order=True,
    reference=lambda w, x, p: x[int(p["n"]) - 1 : int(p["m"])],
    ways=("sed -n '{n:raw},{m:raw}p' {in}", "awk 'NR>={n:raw}&&NR<={m:raw}' {in}", "head -n {m} {in} | tail -n +{n}"),
    asks=("print lines {n} to {m} of {in}", "show lines {n} through {m} [from|of|in] {in}", "what is on lines {n} to {m} of {in}?", "lines {n}-{m} of {in}",
          "from {in} show line {n} up to line {m}", "display {in} from line {n} to line {m}", "i need lines {n} to {m} of {in}", "get the lines from number {n} up to number {m} from {in}",
          "{in}: lines {n} to {m}", "what do lines {n} through {m} of {in} say?"),
    nouns=("lines {n} to {m} of {in}", "the lines from {n} to {m} in {in}", "lines {n}-{m} of {in}", "{in} between line {n} and line {m}", "the lines number {n} to {m} in {in}",
           "all lines of {in} from number {n} to number {m}"),
    then=("print lines {n} to {m} of {x}", "keep lines {n} through {m} of {x}", "show {x} from number {n} to {m}", "take lines {n}-{m} of {x}", "cut {x} down to lines {n} to {m}",
          "lines {n} to {m} of {x}", "only lines {n} through {m} of {x}", "the lines from {n} up to {m} of {x}", "what are lines {n} to {m} of {x}?",
          "restrict {x} to line {n} up to and including line {m}", "just number {n} to {m} of {x}"),
)
entry(
    "skip_first", TEXT, LINES, on_paths=True, needs_order=True,
    reference=lambda w, x, p: x[1:],
    ways=("tail -n +2 {in}", "sed 1d {in}", "awk 'NR>1' {in}"),
    asks=("show {in} without [its|the] first line", "print everything in {in} except the [header|first line]", "all lines of {in} but the first",
          "skip the first line of {in} and show the rest", "{in} from the second line on", "display {in}, leave out the first line", "i need {in} without its first line",
          "get all lines of {in} from the second one on", "{in}: everything after line 1", "what does {in} contain after its first line?"),
    nouns=("all lines of {in} except the first", "{in} without its first line", "the lines of {in} after the first", "everything in {in} but the first line",
           "the lines of {in} from the second one on", "all lines of {in} without line 1"),
    then=("leave out the first of {x}", "skip the first of {x}", "show {x} without the first one", "show {x} except the first", "print {x} from the second one on", "all of {x} but the first",
          "{x} without the first one", "start at the second of {x}", "all of {x} after the first", "ignore the first one of {x}", "omit number one of {x}",
          "list what comes after the first of {x}"),
)
entry(
    "skip_last", TEXT, LINES, needs_order=True,
    reference=lambda w, x, p: x[:-1],
    ways=("head -n -1 {in}", "sed '$d' {in}"),
    asks=("show {in} without [its|the] last line", "print everything in {in} except the last line", "all lines of {in} but the last one", "drop the last line of {in} and show the rest",
          "display {in}, leave out the final line", "{in} up to the line before the last", "i need {in} without its last line", "get all lines of {in} up to the last but one",
          "{in}: everything before the last line", "what does {in} contain before its last line?"),
    nouns=("all lines of {in} except the last", "{in} without its last line", "the lines of {in} before the last", "everything in {in} but the last line",
           "the lines of {in} up to the last but one", "all lines of {in} without the final one"),
    then=("leave out the last of {x}", "skip the last of {x}", "cut off the last line of {x}", "show {x} except the last", "print {x} without the last one", "all of {x} but the last",
          "{x} without the final one", "all of {x} before the last", "ignore the last one of {x}", "stop before the last of {x}", "omit the final one of {x}"),
)

# --- order ------------------------------------------------------------------------------------------------------------

entry(
    "sort", TEXT, LINES, exact=True, on_paths=True,
    reference=lambda w, x, p: sorted(x),
    ways=("sort {in}", "sort {<in} | cat"),
    asks=("sort {in}", "sort the lines of {in}", "show {in} [sorted|in alphabetical order|sorted alphabetically]", "print the lines of {in} in order",
          "order the lines in {in} alphabetically", "{in}, sorted", "alphabetise {in}", "i need the lines of {in} in alphabetical order", "display {in} with its lines sorted",
          "what are the lines of {in} in sorted order?", "arrange the lines of {in} from a to z and print them", "get {in} ordered alphabetically"),
    nouns=("the sorted lines of {in}", "the lines of {in} in alphabetical order", "{in} sorted alphabetically", "the content of {in}, sorted", "the alphabetically sorted lines of {in}",
           "the lines of {in} from a to z"),
    then=("sort {x}", "sort {x} alphabetically", "put {x} in alphabetical order", "order {x} from a to z", "show {x} sorted", "arrange {x} from a to z", "{x} in alphabetical order",
          "{x} sorted alphabetically", "list {x} in sorted order", "bring {x} into alphabetical order", "print {x} ordered alphabetically", "{x}, sorted from a to z", "alphabetize {x}",
          "sort {x} in ascending alphabetical order", "what are {x} in alphabetical order?"),
)
entry(
    "sort.reverse", TEXT, LINES, exact=True, on_paths=True,
    reference=lambda w, x, p: sorted(x, reverse=True),
    ways=("sort -r {in}", "sort {in} | tac"),
    asks=("sort {in} in reverse [order|]", "sort the lines of {in} [backwards|descending|from z to a]", "show {in} in reverse alphabetical order",
          "print the lines of {in} sorted from z to a", "order {in} descending", "reverse sort of {in}", "i need the lines of {in} in reverse alphabetical order",
          "display {in} with its lines sorted in reverse", "what are the lines of {in} from z to a?", "arrange the lines of {in} from z down to a and print them",
          "get {in} ordered alphabetically, descending"),
    nouns=("the lines of {in} in reverse alphabetical order", "the reverse sorted lines of {in}", "{in} sorted from z to a", "the content of {in}, sorted descending",
           "the lines of {in} sorted in reverse", "the lines of {in} in descending alphabetical order"),
    then=("sort {x} in reverse", "sort {x} from z to a", "put {x} in reverse alphabetical order", "order {x} alphabetically, descending", "show {x} sorted backwards",
          "{x} in reverse alphabetical order", "{x} sorted from z to a", "arrange {x} alphabetically from z down to a", "list {x} in descending alphabetical order",
          "do a reverse sort of {x}", "sort {x} alphabetically, z first", "print {x} in reverse sorted order"),
)
entry(
    "sort.numeric", NUMBERS, NUMBERS,
    reference=lambda w, x, p: sorted(x, key=int),
    ways=("sort -n {in}", "sort -g {in}"),
    asks=("sort {in} numerically", "sort the numbers in {in}", "show the numbers of {in} [from small to large|in ascending order|smallest first]", "order {in} by value",
          "print {in} sorted by number, lowest first", "{in} in numeric order", "i need the numbers of {in} from the lowest to the highest",
          "display {in} with its numbers in ascending order", "what are the numbers of {in} in increasing order?", "arrange the values in {in} by size, smallest on top",
          "get {in} sorted as numbers"),
    nouns=("the numbers of {in} in ascending order", "the numerically sorted {in}", "the numbers in {in}, smallest first", "the values of {in} sorted by size",
           "the numbers of {in} sorted from low to high", "the values of {in} in increasing order"),
    then=("sort {x} numerically", "sort {x} from small to large", "put {x} in ascending order", "order {x} by value", "show {x} smallest first", "{x} in ascending numeric order",
          "{x} sorted numerically", "arrange {x} from the lowest to the highest", "list {x} by increasing value", "sort {x} as numbers", "bring {x} into numeric order",
          "{x} sorted by number, lowest first"),
)
entry(
    "sort.numeric_desc", NUMBERS, NUMBERS,
    reference=lambda w, x, p: sorted(x, key=int, reverse=True),
    ways=("sort -rn {in}", "sort -n {in} | tac"),
    asks=("sort {in} numerically, [highest|largest|biggest] first", "sort the numbers in {in} in descending order", "show the numbers of {in} from large to small",
          "order {in} by value, top down", "print {in} by number, highest first", "{in} in descending numeric order", "i need the numbers of {in} from the highest to the lowest",
          "display {in} with its numbers in descending order", "what are the numbers of {in} in decreasing order?", "arrange the values in {in} by size, largest on top",
          "get {in} sorted as numbers in reverse"),
    nouns=("the numbers of {in} in descending order", "the numbers in {in}, largest first", "the values of {in} from high to low", "{in} sorted by number, biggest first",
           "the numbers of {in} sorted from high to low", "the values of {in} in decreasing order"),
    then=("sort {x} numerically, highest first", "sort {x} from large to small", "put {x} in descending order", "order {x} by value, biggest first", "show {x} largest first",
          "{x} in descending numeric order", "{x} sorted numerically, largest first", "arrange {x} from the highest to the lowest", "list {x} by decreasing value",
          "sort {x} as numbers, in reverse", "rank {x} from high to low", "{x} sorted by number, highest first"),
)
entry(
    "sort.unique", TEXT, LINES, exact=True,
    reference=lambda w, x, p: sorted(set(x)),
    ways=("sort -u {in}", "sort {in} | uniq", "awk '!s[$0]++' {in} | sort"),
    asks=("sort {in} and remove duplicates", "show the [unique|distinct|different] lines of {in}, sorted", "print the lines of {in} sorted, each only once",
          "sort {in} without repeated lines", "list distinct lines in {in} in order", "which different lines does {in} have? sorted", "i need the distinct lines of {in} in sorted order",
          "display {in} sorted, duplicates left out", "sort the lines of {in} and keep one of each", "get the unique lines of {in} in alphabetical order",
          "deduplicate and sort the lines of {in} in the output"),
    nouns=("the sorted unique lines of {in}", "the distinct lines of {in} in order", "the different lines of {in}, sorted", "{in} sorted without duplicates",
           "the unique lines of {in} in sorted order", "the lines of {in} sorted without repeats"),
    then=("sort {x} and remove duplicates", "sort {x}, each only once", "reduce {x} to the distinct ones, sorted", "show the unique ones of {x} in order", "sort {x} uniquely",
          "the sorted distinct ones of {x}", "{x} sorted without duplicates", "list {x} in order without repeats", "order {x} and drop the repeated ones",
          "the unique ones among {x} in sorted order", "sort {x} and keep one of each", "which different ones are there among {x}, in sorted order?", "sort and deduplicate {x}"),
)
entry(
    "duplicates", TEXT, LINES, exact=True, draw=lambda d: d.source(d.draft)[1],
    reference=lambda w, x, p: sorted(k for k, c in Counter(x).items() if c > 1),
    ways=("sort {in} | uniq -d", "awk 's[$0]++==1' {in} | sort"),
    asks=("which lines occur more than once in {in}?", "show the [duplicate|repeated] lines [of|in] {in}", "print lines that appear twice or more in {in}", "find duplicated lines in {in}",
          "list every line of {in} that is repeated", "{in}: duplicates", "i need the lines that {in} has more than once", "what lines are repeated in {in}?",
          "get every line that {in} contains at least twice, once each", "display the lines of {in} that have a duplicate"),
    nouns=("the duplicate lines of {in}", "the repeated lines in {in}", "the lines that occur more than once in {in}", "lines of {in} appearing at least twice",
           "the lines that are in {in} twice or more", "all lines of {in} that have a duplicate"),
    then=("show those of {x} that occur more than once", "find the duplicates among {x}", "keep only the repeated ones of {x}", "print which of {x} appear twice or more",
          "list the duplicated ones of {x}", "which of {x} occur at least twice?", "the duplicated ones among {x}", "only those of {x} that are repeated",
          "the ones of {x} that occur several times, each once", "pick out whatever is there more than once in {x}"),
)
entry(
    "tally", TEXT, LINES, pads=True,
    reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(x).items())],
    ways=("sort {in} | uniq -c", "awk '{c[$0]++}END{for(k in c)print c[k],k}' {in} | sort -k2"),
    asks=("count how often each line occurs in {in}", "for every different line of {in} show how many times it appears", "how often does each line of {in} occur?", "tally the lines of {in}",
          "list distinct lines in {in} with their counts", "number of occurrences of each line in {in}", "i need each different line of {in} with the number of times it occurs",
          "what lines does {in} have and how often each?", "get the frequency of every line in {in}", "group equal lines of {in} and count them"),
    nouns=("how often each line occurs in {in}", "the count of each different line in {in}", "a tally of the lines in {in}", "the distinct lines of {in} with counts",
           "the different lines of {in}, each with the number of times it occurs", "the counts of all distinct lines in {in}"),
    then=("count how often each of {x} occurs", "tally {x}", "show each of {x} with its count", "count the occurrences of each of {x}", "group {x} and count each",
          "how often does each of {x} occur?", "the distinct ones of {x} with their counts", "how often each of {x} occurs", "the number of occurrences of each of {x}",
          "print every different one of {x} preceded by its count", "make a frequency table of {x}", "give the count of each different one among {x}"),
)
entry(
    "reverse_lines", TEXT, LINES, needs_order=True, on_paths=True,
    reference=lambda w, x, p: x[::-1],
    ways=("tac {in}", "sed '1!G;h;$!d' {in}"),
    asks=("show {in} [upside down|from bottom to top|in reverse line order]", "print the lines of {in} in reverse order, last first", "reverse the lines of {in}",
          "{in} backwards, last line first", "output {in} starting with the last line", "list {in} bottom up", "i need {in} with its last line first",
          "how does {in} read from the last line to the first?", "get the lines of {in} in opposite order", "print {in} from the end to the beginning, line by line"),
    nouns=("the lines of {in} in reversed order", "{in} with the last line first", "the lines of {in} from bottom to top", "{in} upside down", "the lines of {in} from the last to the first",
           "the lines of {in} in opposite order"),
    then=("reverse the order of {x}", "show {x} last first", "turn {x} upside down", "print {x} from the last to the first", "flip the order of {x}", "{x} in reversed order, last first",
          "{x} from bottom to top", "list {x} backwards, the last one on top", "output {x} in opposite order (do not sort)", "put the last of {x} first and so on"),
)

# --- change -----------------------------------------------------------------------------------------------------------


def _columns(d: Draw) -> Params:
    source = d.text() if d.x is None else ""
    lines = d.x if d.x is not None else d.world.lines(source)
    least = min((len(line.split()) for line in lines), default=0)
    return {"n": d.number(1, min(4, least)) if least else d.pick(())} | ({"in": source} if source else {})


entry(
    "field", TEXT, LINES, draw=_columns,
    reference=lambda w, x, p: [line.split()[int(p["n"]) - 1] for line in x],
    ways=("awk '{print ${n:raw}}' {in}", "tr -s ' ' {<in} | cut -d' ' -f{n}"),
    asks=("print [column|field] {n} of {in}", "show the [column|field] number {n} of every line in {in}", "take word {n} of each line of {in}", "extract column {n} from {in}",
          "what is in column {n} of {in}?", "{in}: field {n} only", "cut out the {n:th} field of {in} (split at blanks)", "i need the {n:th} blank-separated field of each line in {in}",
          "get only field {n} from {in}", "print just the {n:th} word of each line of {in}", "which words stand in column {n} of {in}?", "from every line of {in} output field number {n}"),
    nouns=("column {n} of {in}", "field {n} of each line in {in}", "the word number {n} of every line in {in}", "the values in column {n} of {in}", "the {n:th} words of the lines in {in}",
           "all values of column {n} in {in}", "the words in column {n} of {in}"),
    then=("take column {n} of {x}", "print field {n} of {x}", "keep only word {n} of each of {x}", "extract column {n} from {x}", "reduce {x} to field {n}",
          "the {n:th} field of each of {x}", "column {n} of {x}", "only the {n:th} word of {x}", "cut out column {n} of {x} (split at blanks)", "show nothing but the {n:th} column of {x}",
          "what is in column {n} of {x}?", "from each of {x} take the {n:th} blank-separated field", "pick field number {n} from {x}", "just field {n} of {x}"),
)
entry(
    "join_lines", TEXT, VALUE, exact=True,
    reference=lambda w, x, p: [",".join(x)],
    ways=("paste -sd, {in}", "tr '\\n' , {<in} | sed 's/,$//'", "awk '{printf \"%s%s\",s,$0;s=\",\"}END{print \"\"}' {in}"),
    asks=("join the lines of {in} with commas", "print {in} as one comma separated line", "put all lines of {in} on one line, separated by commas",
          "make one line of {in} with commas between", "{in} on a single line, comma separated", "turn the lines of {in} into a comma-separated list",
          "i need all lines of {in} in one, separated by commas", "how does {in} look as a single comma-separated line?", "get the lines of {in} glued together with commas",
          "merge {in} into one line with commas in between and print it"),
    nouns=("the lines of {in} joined by commas", "{in} as one comma separated line", "a comma-separated list of the lines in {in}", "all lines of {in} on one line with commas",
           "the lines of {in} as a single line with commas", "one line made of all lines of {in}, commas between"),
    then=("join {x} with commas", "put {x} on one line separated by commas", "print {x} as one comma separated line", "make a comma-separated list of {x}", "glue {x} together with commas",
          "{x} on a single line with commas between", "all of {x} joined by commas", "turn {x} into one line, comma in between", "merge {x} into a single comma-separated line",
          "{x} as a comma-separated list"),
)
entry(
    "number_lines", TEXT, LINES, pads=True, needs_order=True,
    reference=lambda w, x, p: [f"{i} {line}" for i, line in enumerate(x, 1)],
    ways=("cat -n {in}", "nl -ba {in}", "awk '{print NR,$0}' {in}"),
    asks=("number the lines of {in}", "show {in} with line numbers", "print {in}, each line with its number", "display line numbers for {in}", "list {in} numbered",
          "{in} with numbered lines please", "i need {in} with a number before each line", "how does {in} look with line numbers?", "get the lines of {in} numbered from 1",
          "put line numbers in front of the lines of {in} and print them"),
    nouns=("the numbered lines of {in}", "{in} with line numbers", "the lines of {in} with their numbers", "a numbered listing of {in}", "the lines of {in} numbered from 1",
           "all lines of {in}, each with its number in front"),
    then=("number {x}", "show {x} with line numbers", "print {x}, each with its number in front", "put a line number before each of {x}", "add line numbers to {x}", "{x} with line numbers",
          "{x} numbered from 1", "list {x} numbered", "prefix each of {x} with its line number", "display {x} along with their numbers"),
)

# --- where it goes ----------------------------------------------------------------------------------------------------


def _new_file(d: Draw) -> Params:
    """Never where the pipe reads: a search would find its own output, or not, depending on when it looks."""
    folder = d.pick(f for f in (d.scene.cwd, d.scene.cwd, d.scene.root, d.scene.home) if d.unread(posixpath.join(f, "new")))
    return {"out": d.new(d.rng.choice(("txt", "txt", "log", "out", "list")), folder=folder)}


def _save(w: World, x: Lines, p: Params) -> None:
    w.write(p["out"], x)


def _append(w: World, x: Lines, p: Params) -> None:
    w.write(p["out"], w.lines(p["out"]) + x)


entry(
    "save", TEXT, TREE, on_paths=True, draw=_new_file, reference=_save,
    ways=("> {out}", "tee {out} > /dev/null", "cat > {out}"),
    then=("[save|store] {x} [in|to|into] {out}", "write {x} [to|into] {out}", "put {x} into {out}", "redirect {x} to {out}", "[create|make] {out} with {x}", "save {x} to a file called {out}",
          "dump {x} to {out}", "{x} should end up in {out}", "save to {out} {x}", "create a new file {out} holding {x}", "send {x} to the file {out}", "into {out} write {x}",
          "keep {x} in a file named {out}", "{x} should go into the new file {out}", "store as {out} {x}", "record {x} in {out}", "export {x} as {out}"),
)
entry(
    "append", TEXT, TREE, on_paths=True,
    draw=lambda d: {"out": d.pick(t for t in d.scene.texts if t in d.world.nodes and d.unread(t))}, reference=_append,
    ways=(">> {out}", "tee -a {out} > /dev/null", "cat >> {out}"),
    then=("append {x} to {out}", "add {x} to the end of {out}", "append {x} at the end of {out}, keep what is there", "put {x} at the bottom of {out} without overwriting it",
          "attach {x} to the existing {out}", "extend {out} by {x}", "{x} should be added at the end of {out}", "append to {out} {x}", "add {x} below what {out} already has",
          "write {x} after the last line of {out}", "tack {x} onto the end of {out}", "let {x} follow the current content of {out}", "to the end of {out} add {x}"),
)
