"""Skills on lines that match: a word or its absence, whole words, anchors, several words, context, sections, parts of lines, lengths."""

from __future__ import annotations

import re
from collections import Counter

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_text import with_word

TEXT, LINES, VALUE = Kind.TEXT, Kind.LINES, Kind.VALUE


def _words(lines: Lines) -> list[str]:
    return sorted({word for line in lines for word in line.split() if word.isalpha() and len(word) > 2})


def _inside_others(d: Draw) -> Params:
    """A word that is also part of a longer word, so that whole words and mere occurrences differ (where the lines offer one)."""
    lines, p = d.source(d.draft)
    words = _words(lines)
    short = [w for w in words if any(w != other and w in other for other in words)]
    return {"word": d.pick(short or words)} | p


def _edge(d: Draw, end: int) -> Params:
    """A word that begins (0) or ends (-1) some lines and occurs elsewhere too, if possible."""
    lines, p = d.source(d.rng.choice((d.text, d.draft)))
    edges = Counter(line.split()[end] for line in lines if line.split() and line == line.strip())
    words = [w for w in sorted(edges) if w.isalpha() and len(w) > 1 and edges[w] < len(lines)]
    inner = [w for w in words if sum(w in line for line in lines) > sum(_at(line, w, end) for line in lines)]
    return {"word": d.pick(inner or words)} | p


def _at(line: str, word: str, end: int) -> bool:
    return line.endswith(word) if end else line.startswith(word)


def _two(d: Draw, *, together: bool = False) -> Params:
    """Two words of the lines, neither inside the other; `together` wants a line with both."""
    lines, p = d.source(d.text)
    words = [w for w in _words(lines) if w.islower()]
    for _ in range(30):
        first, second = d.pick(words), d.pick(words)
        both = sum(first in line and second in line for line in lines)
        apart = first not in second and second not in first
        if apart and (both or not together) and any((first in line) != (second in line) for line in lines):
            return {"word": first, "word2": second} | p
    raise NoInstanceError


def _once(d: Draw, *, after: bool) -> Params:
    """A word that stands in one line only, which isn't the last (or the first) one."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.draft)))
    counts = Counter(w for line in lines for w in _words([line]))
    body = lines[:-1] if after else lines[1:]
    words = [w for w in _words(body) if counts[w] == 1 and sum(w in line for line in lines) == 1]
    return {"word": d.pick(words)} | p


def _context(x: Lines, p: Params, *, before: int, after: int) -> Lines:
    i = next(i for i, line in enumerate(x) if p["word"] in line)
    return x[max(0, i - before) : i + after + 1]


def _section(d: Draw) -> Params:
    """Two words, each in one line only, the first above the second."""
    lines, p = d.source(d.rng.choice((d.text, d.log, d.draft)))
    where = {w: [i for i, line in enumerate(lines) if w in line] for w in _words(lines) if w.islower()}
    single = {w: i[0] for w, i in where.items() if len(i) == 1}
    pairs = [f"{a} {b}" for a, i in single.items() for b, j in single.items() if i < j]
    first, second = d.pick(pairs).split()
    return {"word": first, "word2": second} | p


def _between(x: Lines, p: Params) -> Lines:
    i, j = (next(i for i, line in enumerate(x) if p[w] in line) for w in ("word", "word2"))
    return x[i : j + 1]


def _several(d: Draw) -> Params:
    """A word that some line has twice, so that occurrences and lines differ (where the lines offer one)."""
    lines, p = d.source(d.draft)
    words = _words(lines)
    twice = [w for w in words if any(line.count(w) > 1 for line in lines)]
    return {"word": d.pick(twice or words)} | p


def _length(d: Draw) -> Params:
    lines, p = d.source(d.text)
    lengths = sorted({len(line) for line in lines})
    return {"n": str(d.pick(str(v) for v in lengths[1:-1]))} | p


entry(
    "grep", TEXT, LINES, draw=with_word,
    reference=lambda w, x, p: [line for line in x if p["word"] in line],
    ways=("grep {word} {in}", "awk -v w={word} 'index($0,w)' {in}", "sed -n '/{word:raw}/p' {in}"),
    asks=("find {word} in {in}", "search {in} for {word}", "which lines of {in} [mention|contain] {word}?", "show [all|the] lines [in|of] {in} [that contain|containing|with] {word}",
          "grep {word} in {in}", "look for {word} in {in}", "print every line of {in} where {word} occurs", "{in}: lines with {word}", "i need the lines of {in} that mention {word}",
          "get all lines matching {word} from {in}", "is there anything about {word} in {in}? print those lines", "display the lines in {in} which have {word} in them",
          "where does {in} say {word}? show those lines"),
    nouns=("the lines of {in} that [contain|mention] {word}", "all lines with {word} in {in}", "every line in {in} containing {word}", "lines matching {word} in {in}",
           "what {in} says about {word}", "the lines in {in} with {word} in them", "the lines of {in} where {word} occurs", "all lines of {in} that match {word}"),
    then=("keep only those of {x} that contain {word}", "show the ones with {word} among {x}", "filter {x} for {word}", "from {x} print those mentioning {word}", "search {x} for {word}",
          "which of {x} contain {word}?", "grep {word} in {x}", "only those of {x} with {word}", "the ones among {x} that mention {word}", "look for {word} in {x}",
          "pick the ones with {word} out of {x}", "restrict {x} to the ones that mention {word}", "{x} filtered for {word}", "just those of {x} in which {word} occurs",
          "narrow {x} down to what has {word} in it", "select from {x} whatever matches {word}"),
)
entry(
    "grep.not", TEXT, LINES, draw=with_word,
    reference=lambda w, x, p: [line for line in x if p["word"] not in line],
    ways=("grep -v {word} {in}", "awk -v w={word} '!index($0,w)' {in}", "sed '/{word:raw}/d' {in}"),
    asks=("show the lines of {in} [without|that do not contain|not containing|that don't mention] {word}", "which lines of {in} [do not contain|have no] {word}?",
          "print {in} without the lines that [mention|contain] {word}", "everything in {in} except lines with {word}", "leave out {word} lines from {in}", "list lines in {in} lacking {word}",
          "{in}: all lines but those with {word}", "i need the lines of {in} that do not mention {word}", "get all lines not matching {word} from {in}",
          "filter {word} out of what {in} says and print the rest", "display the lines in {in} which do not have {word} in them",
          "what is left of {in} when the lines with {word} are skipped?"),
    nouns=("the lines of {in} without {word}", "all lines in {in} that do not contain {word}", "every line of {in} not mentioning {word}", "{in} minus the lines with {word}",
           "the lines in {in} that do not mention {word}", "the lines of {in} in which {word} does not occur", "all lines of {in} except those with {word}"),
    then=("leave out those of {x} that contain {word}", "skip the ones with {word} among {x}", "keep those of {x} without {word}", "filter out whatever mentions {word} from {x}",
          "show {x} except the ones containing {word}", "which of {x} do not contain {word}?", "grep {x} for everything but {word}", "only those of {x} that lack {word}",
          "the ones among {x} that do not mention {word}", "exclude {word} from {x}", "{x} minus the ones with {word}", "all of {x} but the ones with {word}",
          "ignore every one of {x} that has {word} in it", "print whichever of {x} are free of {word}"),
)
entry(
    "grep.nocase", TEXT, LINES, draw=lambda d: (p := with_word(d)) | {"word": d.rng.choice((p["word"].upper(), p["word"].capitalize()))},
    reference=lambda w, x, p: [line for line in x if p["word"].lower() in line.lower()],
    ways=("grep -i {word} {in}", "awk -v w={word} 'index(tolower($0),tolower(w))' {in}", "sed -n '/{word:raw}/Ip' {in}"),
    asks=("find {word} in {in} [ignoring case|regardless of case|case insensitive]", "search {in} for {word}, upper or lower case", "show lines of {in} with {word}, case does not matter",
          "grep {in} for {word} case-insensitively", "which lines of {in} contain {word} in any case?", "lines in {in} mentioning {word} (ignore case)",
          "i need the lines of {in} with {word} in any capitalisation", "get all lines matching {word} from {in}, case-insensitive", "look for {word} in {in}, big and small letters alike",
          "display the lines in {in} which have {word} in them, ignoring case", "where does {in} say {word}, no matter the case? show those lines"),
    nouns=("the lines of {in} that contain {word} in any case", "lines with {word} in {in}, ignoring case", "all lines of {in} matching {word} case-insensitively",
           "every line in {in} with {word}, upper or lower case", "the lines in {in} that mention {word}, case ignored", "the lines of {in} where {word} occurs in upper or lower case"),
    then=("keep those of {x} that contain {word}, ignoring case", "filter {x} for {word} in any case", "from {x} print those mentioning {word}, case insensitive",
          "search {x} for {word} regardless of case", "show the ones with {word} among {x}, case does not matter", "which of {x} contain {word}, no matter the case?",
          "only those of {x} with {word} in any case", "the ones among {x} that mention {word}, case-insensitively", "grep {word} in {x} without regard to case",
          "look for {word} in {x}, big or small letters", "pick the ones with {word} (ignore case) out of {x}"),
)
entry(
    "grep.numbered", TEXT, LINES, draw=with_word,
    reference=lambda w, x, p: [f"{i}:{line}" for i, line in enumerate(x, 1) if p["word"] in line],
    ways=("grep -n {word} {in}", "awk -v w={word} 'index($0,w){print NR\":\"$0}' {in}"),
    asks=("find {word} in {in} with line numbers", "show lines of {in} containing {word} and their line numbers", "search {in} for {word}, show line numbers",
          "on which lines does {word} occur in {in}? print number and line", "grep {word} in {in} and number the hits", "list line numbers and lines with {word} in {in}",
          "i need the lines of {in} that mention {word}, with their line numbers", "get all lines matching {word} from {in}, each preceded by its number",
          "look for {word} in {in} and put the line number before each hit", "display the numbered lines of {in} that have {word} in them"),
    nouns=("the lines with {word} in {in} with their line numbers", "the numbered matches of {word} in {in}", "lines of {in} containing {word}, with line numbers",
           "line number and text of each {word} line in {in}", "the lines of {in} that mention {word}, each with its line number", "all lines with {word} in {in} and their line numbers"),
)
entry(
    "grep_word", TEXT, LINES, draw=_inside_others, reference=lambda w, x, p: [line for line in x if re.search(rf"\b{p['word']}\b", line)],
    ways=("grep -w {word} {in}", "grep '\\b{word:raw}\\b' {in}", "perl -ne 'print if /\\b{word:raw}\\b/' {in}"),
    asks=("find {word} in {in} as a whole word", "show lines of {in} with the exact word {word}, not as part of a longer word", "which lines of {in} contain the whole word {word}?",
          "search {in} for the word {word}, whole words only", "grep {in} for {word} but only where it stands alone as a word", "lines in {in} having {word} as a complete word",
          "{in}: whole-word matches of {word}", "i need the lines of {in} in which {word} is a complete word", "get whole-word matches of {word} from {in}",
          "where does {in} have {word} as a word on its own?"),
    nouns=("the lines of {in} with the whole word {word}", "lines in {in} where {word} is a word of its own", "the whole-word matches of {word} in {in}", "every line of {in} with the complete word {word}",
           "what {in} has on the exact word {word}"),
    then=("keep those of {x} with the whole word {word}", "filter {x} for the complete word {word}", "from {x} print lines where {word} is a word of its own",
          "search {x} for {word}, whole words only", "show the ones of {x} that have exactly the word {word}", "leave only whole-word matches of {word} in {x}",
          "only those of {x} with {word} as a whole word", "the ones of {x} in which {word} stands as a complete word", "which of {x} have {word} as a word of its own?",
          "grep {word} as a whole word in {x}"),
)
entry(
    "grep_starts", TEXT, LINES, draw=lambda d: _edge(d, 0), reference=lambda w, x, p: [line for line in x if line.startswith(p["word"])],
    ways=("grep '^{word:raw}' {in}", "awk -v w={word} 'index($0,w)==1' {in}", "sed -n '/^{word:raw}/p' {in}"),
    asks=("show lines of {in} that [start|begin] with {word}", "which lines in {in} begin with {word}?", "find every line starting with {word} in {in}", "{in}: lines beginning with {word}",
          "print what in {in} has {word} at the start of the line", "search {in} for {word} at the beginning of lines only", "list the lines of {in} that open with {word}",
          "i need the lines of {in} that begin with {word}", "get every line from {in} that has {word} at its start", "where does {in} have a line starting with {word}?"),
    nouns=("the lines of {in} that start with {word}", "every line beginning with {word} in {in}", "lines in {in} with {word} at the very start", "what {in} has with {word} at the start of a line", "all lines of {in} whose first characters are {word}"),
    then=("keep only those of {x} that start with {word}", "show which of {x} begin with {word}", "filter {x} for a leading {word}", "from {x} print whatever starts with {word}",
          "leave out all of {x} not beginning with {word}", "restrict {x} to the ones opening with {word}", "only those of {x} starting with {word}",
          "the ones among {x} that begin with {word}", "which of {x} start with {word}?", "pick whatever has {word} at its beginning from {x}"),
)
entry(
    "grep_ends", TEXT, LINES, draw=lambda d: _edge(d, -1), reference=lambda w, x, p: [line for line in x if line.endswith(p["word"])],
    ways=("grep '{word:raw}$' {in}", "sed -n '/{word:raw}$/p' {in}", "perl -ne 'print if /{word:raw}$/' {in}"),
    asks=("show lines of {in} that end [in|with] {word}", "which lines in {in} end with {word}?", "find every line ending in {word} in {in}", "{in}: lines with {word} at the end",
          "print what in {in} has {word} as the last thing on the line", "search {in} for {word} at line ends only", "list the lines of {in} that finish with {word}",
          "i need the lines of {in} that end with {word}", "get every line from {in} that has {word} at its end", "where does {in} have a line ending in {word}?"),
    nouns=("the lines of {in} that end with {word}", "every line ending in {word} in {in}", "lines in {in} with {word} at the very end", "the lines of {in} closing with {word}", "all lines of {in} whose last characters are {word}"),
    then=("keep only those of {x} that end with {word}", "show which of {x} end in {word}", "filter {x} for a trailing {word}", "from {x} print whatever ends with {word}",
          "leave out all of {x} not ending in {word}", "restrict {x} to the ones that finish with {word}", "only those of {x} ending with {word}", "the ones among {x} that end in {word}",
          "which of {x} end with {word}?", "pick whatever has {word} at its end from {x}"),
)
entry(
    "grep_either", TEXT, LINES, draw=_two, reference=lambda w, x, p: [line for line in x if p["word"] in line or p["word2"] in line],
    ways=("grep -E '{word:raw}|{word2:raw}' {in}", "grep -e {word} -e {word2} {in}", "awk '/{word:raw}/||/{word2:raw}/' {in}"),
    asks=("show lines of {in} with {word} or {word2}", "which lines in {in} mention [either|] {word} or {word2}?", "find {word} as well as {word2} in {in}, any of the two is enough",
          "search {in} for {word} or {word2}", "{in}: lines containing at least one of {word} and {word2}", "print every line of {in} in which one of the words {word}, {word2} occurs",
          "grep {in} for two words at once, {word} or {word2}", "i need the lines of {in} that have {word} or {word2} in them", "get every line from {in} matching {word} or {word2}",
          "where does {in} mention {word} or {word2}?"),
    nouns=("the lines of {in} with {word} or {word2}", "lines in {in} that mention {word} or {word2}", "every line of {in} containing at least one of {word} and {word2}", "the matches of either {word} or {word2} in {in}",
           "what {in} says about {word} or {word2}"),
    then=("keep those of {x} with {word} or {word2}", "filter {x} for {word} or {word2}", "from {x} print lines that mention either {word} or {word2}",
          "show the ones of {x} that have at least one of {word} and {word2}", "search {x} for {word} or {word2}", "skip whatever has neither {word} nor {word2} in {x}",
          "only those of {x} containing {word} or {word2}", "the ones among {x} with {word} or with {word2}", "which of {x} mention {word} or {word2}?",
          "grep {x} for any of the two words {word} and {word2}"),
)
entry(
    "grep_both", TEXT, LINES, draw=lambda d: _two(d, together=True), reference=lambda w, x, p: [line for line in x if p["word"] in line and p["word2"] in line],
    ways=("grep {word} {in} | grep {word2}", "awk '/{word:raw}/&&/{word2:raw}/' {in}", "sed -n '/{word:raw}/{/{word2:raw}/p}' {in}"),
    asks=("show lines of {in} with both {word} and {word2}", "which lines in {in} mention {word} and also {word2}?", "find lines in {in} where {word} and {word2} occur together",
          "search {in} for lines that contain {word} as well as {word2}", "{in}: lines having {word} and {word2}, both", "print a line of {in} only if both {word} and {word2} are in it",
          "grep {in} for {word}, and among those for {word2}", "i need the lines of {in} that have both {word} and {word2} in them",
          "get every line from {in} matching {word} as well as {word2}", "where does {in} mention {word} and {word2} in one line?"),
    nouns=("the lines of {in} with both {word} and {word2}", "lines in {in} that mention {word} and also {word2}", "every line of {in} containing {word} together with {word2}", "the lines where {word} and {word2} meet in {in}",
           "what {in} has on {word} and {word2} at the same time"),
    then=("keep those of {x} with both {word} and {word2}", "filter {x} for lines having {word} and {word2}", "from {x} print lines that mention {word} and also {word2}",
          "show the ones of {x} where {word} and {word2} occur together", "search {x} for {word} plus {word2} on the same line", "skip whatever lacks {word} or lacks {word2} in {x}",
          "only those of {x} containing both {word} and {word2}", "the ones among {x} with {word} as well as {word2}", "which of {x} mention {word} and {word2} at once?",
          "grep {x} for lines in which {word} and {word2} are both found"),
)
entry(
    "grep_neither", TEXT, LINES, draw=_two, reference=lambda w, x, p: [line for line in x if p["word"] not in line and p["word2"] not in line],
    ways=("grep -Ev '{word:raw}|{word2:raw}' {in}", "grep -v -e {word} -e {word2} {in}", "grep -v {word} {in} | grep -v {word2}"),
    asks=("show lines of {in} with neither {word} nor {word2}", "which lines in {in} mention none of {word} and {word2}?", "print {in} without lines that have {word} or {word2}",
          "leave out every line of {in} containing {word} or {word2}", "{in}: lines free of both {word} and {word2}", "everything in {in} except lines with {word} or with {word2}",
          "drop {word} lines and {word2} lines from {in}, show what is left", "i need the lines of {in} that have neither {word} nor {word2} in them",
          "get every line from {in} that matches neither {word} nor {word2}", "where does {in} mention neither {word} nor {word2}?"),
    nouns=("the lines of {in} with neither {word} nor {word2}", "lines in {in} without {word} and without {word2}", "{in} except the lines with {word} or {word2}", "every line of {in} free of {word} and {word2}",
           "what is left of {in} without {word} and {word2} lines"),
    then=("leave out those of {x} with {word} or {word2}", "keep what has neither {word} nor {word2} from {x}", "skip the ones with {word} or {word2} among {x}",
          "show {x} except lines that mention {word} or {word2}", "filter {word} and {word2} out of {x}", "ignore whatever contains {word} or {word2} in {x}",
          "only those of {x} with neither {word} nor {word2}", "the ones among {x} free of both {word} and {word2}", "which of {x} mention neither {word} nor {word2}?",
          "exclude from {x} each line with {word} or {word2} in it"),
)
entry(
    "grep_after", TEXT, LINES, needs_order=True, draw=lambda d: _once(d, after=True), reference=lambda w, x, p: _context(x, p, before=0, after=1),
    ways=("grep -A1 {word} {in}", "sed -n '/{word:raw}/{p;n;p}' {in}", "awk '/{word:raw}/{n=2}n-->0' {in}"),
    asks=("show the line with {word} in {in} and the one after it", "find {word} in {in}, print that line and the next", "what comes right after the {word} line in {in}? show both lines",
          "{in}: {word} plus one line of context after it", "print the {word} line of {in} together with the line below", "grep {word} in {in} with one following line",
          "display where {in} mentions {word} and the line that follows", "i need the {word} line of {in} and the next line",
          "get the line matching {word} from {in} along with the one that follows"),
    nouns=("the line with {word} in {in} and the one after it", "the {word} line of {in} with the line below", "the match of {word} in {in} plus one following line", "{word} in {in} with one line of context after it",
           "the lines of {in} from the one with {word} to the next"),
    then=("show the one with {word} among {x} and the one after it", "find {word} in {x}, print that line and the next", "print the {word} line of {x} together with the line below",
          "search {x} for {word} with one following line", "give the line of {x} that has {word} and its successor", "from {x} take the line with {word} plus the next one",
          "the one with {word} among {x} and the one right after it", "only the {word} line of {x} and the line that follows", "look for {word} in {x} with one line of context after it"),
)
entry(
    "grep_before", TEXT, LINES, needs_order=True, draw=lambda d: _once(d, after=False), reference=lambda w, x, p: _context(x, p, before=1, after=0),
    ways=("grep -B1 {word} {in}", "awk '/{word:raw}/{print q;print}{q=$0}' {in}", "tac {in} | grep -A1 {word} | tac"),
    asks=("show the line with {word} in {in} and the one before it", "find {word} in {in}, print the previous line and that line",
          "what comes right before the {word} line in {in}? show both lines", "{in}: {word} plus one line of context before it", "print the {word} line of {in} together with the line above",
          "grep {word} in {in} with one preceding line", "display where {in} mentions {word} and the line that precedes it", "i need the {word} line of {in} and the line above it",
          "get the line matching {word} from {in} along with the one that precedes it"),
    nouns=("the line with {word} in {in} and the one before it", "the {word} line of {in} with the line above", "the match of {word} in {in} plus one preceding line", "{word} in {in} with one line of context before it",
           "the lines of {in} from the one above {word} to the one with {word}"),
    then=("show the one with {word} among {x} and the one before it", "find {word} in {x}, print the previous line and that line", "print the {word} line of {x} together with the line above",
          "search {x} for {word} with one preceding line", "give the line of {x} that has {word} and its predecessor", "from {x} take the line with {word} plus the one above",
          "the one with {word} among {x} and the one right before it", "only the {word} line of {x} and the line that precedes it",
          "look for {word} in {x} with one line of context before it"),
)
entry(
    "between", TEXT, LINES, needs_order=True, draw=_section, reference=lambda w, x, p: _between(x, p),
    ways=("sed -n '/{word:raw}/,/{word2:raw}/p' {in}", "awk '/{word:raw}/,/{word2:raw}/' {in}", "perl -ne 'print if /{word:raw}/../{word2:raw}/' {in}"),
    asks=("print {in} from the line with {word} to the line with {word2}", "show the part of {in} between {word} and {word2}, both lines included",
          "which lines of {in} lie from {word} through {word2}?", "{in}: everything from {word} up to and including {word2}",
          "display the section of {in} that starts at {word} and ends at {word2}", "cut out of {in} what stands from the {word} line down to the {word2} line",
          "lines {word} to {word2} of {in}, inclusive", "i need the lines of {in} from the one with {word} down to the one with {word2}",
          "get the section from {word} to {word2} out of {in}, both lines included"),
    nouns=("the lines of {in} from {word} to {word2}", "the part of {in} between {word} and {word2}, both included", "the section of {in} that begins at {word} and ends at {word2}", "everything in {in} from the {word} line through the {word2} line",
           "{in} from {word} up to and including {word2}"),
    then=("print {x} from the one with {word} to the one with {word2}", "keep the part of {x} between {word} and {word2}, both included",
          "show only what stands from {word} through {word2} in {x}", "cut {x} down to the section from {word} to {word2}",
          "take from {x} everything from the {word} line to the {word2} line", "limit {x} to the lines {word} through {word2}", "only the part of {x} from {word} up to and including {word2}",
          "the section of {x} that begins with {word} and ends with {word2}", "{x} from the {word} line down to the {word2} line"),
)
entry(
    "count_occurrences", TEXT, VALUE, draw=_several, reference=lambda w, x, p: [str(sum(line.count(p["word"]) for line in x))],
    ways=("grep -o {word} {in} | wc -l", "awk '{n+=gsub(/{word:raw}/,\"\")}END{print n+0}' {in}", "perl -ne '$n+=()=/{word:raw}/g;END{print \"$n\\n\"}' {in}"),
    asks=("count every occurrence of {word} in {in}, also several on one line", "how many times does {word} occur in {in} [altogether|in total]?",
          "number of times {in} says {word}, not number of lines", "{in}: total occurrences of {word}", "count {word} in {in}, each appearance counts",
          "how often is {word} written in {in}, counting repeats within a line?", "tell me the number of all {word} matches in {in}",
          "i need the number of times {word} occurs in {in}, repeats on a line included", "get the total number of occurrences of {word} in {in}"),
    nouns=("the number of occurrences of {word} in {in}", "how many times {word} occurs in {in} altogether", "the total of all {word} matches in {in}", "how often {in} says {word}, counting every appearance",
           "the count of all appearances of {word} in {in}"),
    then=("count every occurrence of {word} in {x}", "tell me how many times {word} occurs in {x} altogether", "print the total of all {word} matches in {x}",
          "report how often {word} is said in {x}, counting each appearance", "give the number of occurrences of {word} within {x}",
          "count all appearances of {word} in {x}, several per line too", "how many times does {word} occur in {x}, repeats on a line included?", "the number of times {word} occurs in {x}",
          "how often {word} appears in {x} altogether"),
)
entry(
    "longer_than", TEXT, LINES, draw=_length, reference=lambda w, x, p: [line for line in x if len(line) > int(p["n"])],
    ways=("awk 'length>{n:raw}' {in}", "grep -E '^.{{n:raw}}.' {in}", "perl -lne 'print if length>{n:raw}' {in}"),
    asks=("show lines of {in} longer than {n} characters", "which lines in {in} have more than {n} characters?", "find every line over {n} characters in {in}",
          "{in}: lines with more than {n} chars", "print the lines of {in} whose length exceeds {n}", "list overlong lines of {in}, anything above {n} characters",
          "filter {in} for lines of more than {n} characters", "i need the lines of {in} with more than {n} characters", "get every line from {in} that is longer than {n} characters"),
    nouns=("the lines of {in} longer than {n} characters", "every line in {in} with more than {n} characters", "the lines in {in} whose length exceeds {n}", "lines over {n} characters in {in}", "what is longer than {n} characters in {in}"),
    then=("keep those of {x} longer than {n} characters", "show which of {x} have more than {n} characters", "filter {x} for lines over {n} characters",
          "from {x} print whatever exceeds {n} characters", "leave out all of {x} with {n} characters or less", "keep only lines of more than {n} characters from {x}",
          "only those of {x} with more than {n} characters", "the ones among {x} longer than {n} characters", "which of {x} are longer than {n} characters?"),
)
entry(
    "shorter_than", TEXT, LINES, draw=_length, reference=lambda w, x, p: [line for line in x if len(line) < int(p["n"])],
    ways=("awk 'length<{n:raw}' {in}", "grep -vE '^.{{n:raw}}' {in}", "perl -lne 'print if length()<{n:raw}' {in}"),
    asks=("show lines of {in} shorter than {n} characters", "which lines in {in} have [less|fewer] than {n} characters?", "find every line under {n} characters in {in}",
          "{in}: lines with less than {n} chars", "print the lines of {in} whose length stays below {n}", "list short lines of {in}, anything below {n} characters",
          "filter {in} for lines of fewer than {n} characters", "i need the lines of {in} with fewer than {n} characters", "get every line from {in} that is shorter than {n} characters"),
    nouns=("the lines of {in} shorter than {n} characters", "every line in {in} with fewer than {n} characters", "the lines in {in} whose length is below {n}", "lines under {n} characters in {in}", "what is shorter than {n} characters in {in}"),
    then=("keep those of {x} shorter than {n} characters", "show which of {x} have fewer than {n} characters", "filter {x} for lines under {n} characters",
          "from {x} print whatever stays below {n} characters", "leave out all of {x} with {n} characters or more", "keep only lines of less than {n} characters from {x}",
          "only those of {x} with fewer than {n} characters", "the ones among {x} shorter than {n} characters", "which of {x} are shorter than {n} characters?"),
)
