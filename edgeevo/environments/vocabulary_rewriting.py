"""Skills that rewrite text: some replacements only, lines put in or taken out of a file, blanks and line ends, another joint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from edgeevo.domain import File
from edgeevo.environments import names
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_edits import rewritten, word_swap
from edgeevo.environments.vocabulary_files import phrase
from edgeevo.environments.world import World, text

TEXT, LINES, VALUE, TREE, START = Kind.TEXT, Kind.LINES, Kind.VALUE, Kind.TREE, Kind.START
Change = Callable[[Lines, Params], Lines]


def _exactly(change: Change) -> Callable[[World, Lines, Params], None]:
    """The same where blanks or line ends matter, which the judge folds: it reads them through a command that makes them visible."""

    def reference(w: World, _x: Lines, p: Params) -> None:
        lines = change(w.file(p["file"]).data.decode().split("\n")[:-1], p)
        w.write(p["file"], lines)
        shown = tuple(line.replace("\t", "^I").replace("\r", "^M").replace(" ", "_") + "$" for line in lines)
        w.probes[p["file"]] = (f"cat -A {shlex.quote(p['file'])} | tr ' ' _", shown)

    return reference


def _twice(d: Draw) -> Params:
    """A word that some line has twice, so that the first and every occurrence differ."""
    lines, p = d.source(d.rng.choice((d.draft, d.text)))
    words = sorted({w for line in lines for w in line.split() if w.isalpha() and len(w) > 2})
    return {"old": d.pick(w for w in words if any(line.count(w) > 1 for line in lines)), "new": d.stem()} | p


def _swap_and_keep(d: Draw) -> Params:
    p = word_swap(d)
    out = p["file"] + ".bak"
    if out in d.world.nodes:
        raise NoInstanceError
    return p | {"out": out}


def _edited_and_kept(w: World, _x: Lines, p: Params) -> None:
    w.put(p["out"], w.nodes[p["file"]])
    w.write(p["file"], [line.replace(p["old"], p["new"]) for line in w.lines(p["file"])])


def _swap_any_case(d: Draw) -> Params:
    file = d.draft()
    old = d.word_in(file).lower()
    return {"file": file, "old": old, "new": d.stem()}


def _swap_where(d: Draw) -> Params:
    """A word to be replaced where another one stands; it occurs elsewhere too."""
    file = d.text()
    lines = d.world.lines(file)
    old, word = d.word_in(file), d.word_in(file)
    both = sum(old in line and word in line for line in lines)
    if old in word or word in old or not 0 < both < sum(old in line for line in lines):
        raise NoInstanceError
    return {"file": file, "old": old, "new": d.stem(), "word": word}


def _new_beside(d: Draw) -> Params:
    file = d.text()
    return {"file": file, "word": d.word_in(file), "text": phrase(d)}


def _word(d: Draw) -> Params:
    file = d.text()
    return {"file": file, "word": d.word_in(file)}


def _place(d: Draw) -> Params:
    file = d.text()
    return {"file": file, "n": d.number(2, min(9, _length(d, file))), "text": phrase(d)}


def _range(d: Draw) -> Params:
    file = d.text()
    n = d.rng.randint(1, max(1, _length(d, file) - 3))
    return {"file": file, "n": str(n), "m": str(min(_length(d, file) - 1, n + d.rng.randint(1, 5)))}


def _length(d: Draw, file: str) -> int:
    length = len(d.world.lines(file))
    if length < 4:
        raise NoInstanceError
    return length


def _beside(x: Lines, p: Params, *, after: bool) -> Lines:
    return [out for line in x for out in (([line, p["text"]] if after else [p["text"], line]) if p["word"] in line else [line])]


def _made(lines: Callable[[Draw], Lines], end: str = "\n") -> Callable[[Draw], Params]:
    """Draw a new file of such lines, each with this end."""

    def draw(d: Draw) -> Params:
        node = text(lines(d), age_seconds=5000)
        return {"file": d.place(d.name(d.rng.choice(("txt", "csv", "conf", "md"))), File(data=node.data.replace(b"\n", end.encode()), age_seconds=5000))}

    return draw


def _tabbed(d: Draw) -> Lines:
    return ["\t".join(d.rng.choices(names.stems(d.split), k=3)) for _ in range(d.rng.randint(3, 8))]


def _tabs(d: Draw) -> Params:
    n = d.rng.choice((2, 4, 8))
    return _made(_tabbed)(d) | {"n": str(n), "blanks": " " * n}


def _plain(d: Draw) -> Lines:
    return [" ".join(d.rng.choices(names.stems(d.split), k=d.rng.randint(1, 4))) for _ in range(d.rng.randint(3, 9))]


def _ragged(d: Draw) -> Lines:
    return [line + " " * d.rng.choice((0, 1, 2, 4)) for line in _plain(d)] + [d.stem() + "  "]


def _joint(d: Draw) -> Params:
    return {"char": d.rng.choice((";", ":", "|", "+", "/", "-"))} | d.source(d.text)[1]


entry(
    "replace_first", TEXT, LINES, draw=_twice, reference=lambda w, x, p: [line.replace(p["old"], p["new"], 1) for line in x],
    ways=("sed 's/{old:raw}/{new:raw}/' {in}", "awk '{sub(/{old:raw}/,\"{new:raw}\");print}' {in}", "perl -pe 's/{old:raw}/{new:raw}/' {in}"),
    asks=("print {in} with the first {old} on each line replaced by {new}", "replace only the first occurrence of {old} on every line of {in} by {new} and print the result, the file stays", "show {in} with {new} instead of {old}, but just once per line, the first time", "what does {in} look like if the first {old} of each line becomes {new}?",
          "{in} with the first {old} per line changed to {new}", "i need the text of {in} where on each line only the first {old} is turned into {new}", "substitute {new} for the first {old} of every line when printing {in}", "output {in}, on each line the first {old} swapped for {new}, later ones unchanged", "get {in} with one replacement per line at most: the first {old} becomes {new}",
          "display the lines of {in} after changing the first {old} on each of them to {new}"),
    nouns=("the lines of {in} with the first {old} on each replaced by {new}", "the text of {in} with {new} for the first {old} of every line", "{in} with only the first {old} per line changed to {new}", "the lines of {in} after turning the first {old} on each line into {new}", "the lines of {in}, in each the first {old} swapped for {new}"),
    then=("print {x} with the first {old} on each line replaced by {new}", "replace only the first {old} on each line by {new} in {x}", "show {x} with {new} for the first {old} of every line", "{x} with the first {old} per line changed to {new}", "{x} after turning the first {old} on each line into {new}", "substitute {new} for the first {old} per line in {x}",
          "output {x}, in each the first {old} swapped for {new}", "what do {x} look like if the first {old} per line becomes {new}?", "change just the first {old} on every line to {new} in {x}"),
)
entry(
    "replace_nocase", START, TREE, draw=_swap_any_case, reference=rewritten(lambda x, p: [re.sub(p["old"], p["new"], line, flags=re.IGNORECASE) for line in x]),
    ways=("sed -i 's/{old:raw}/{new:raw}/Ig' {file}", "perl -i -pe 's/{old:raw}/{new:raw}/gi' {file}"),
    asks=("replace {old} with {new} in {file}, ignoring case", "change every {old} in {file} to {new}, upper or lower case alike, and save it", "in {file}, replace all spellings of {old} (any case) by {new}", "case-insensitively substitute {new} for {old} in the file {file}", "edit {file}: {old} in any capitalisation becomes {new}",
          "{file}: swap all {old} for {new}, no matter the case, in place", "i need each {old} in {file} turned into {new} regardless of case", "do a case-insensitive replacement of {old} by {new} inside {file}", "put {new} wherever {file} says {old}, whether capitalised or not, and save the file", "modify {file} in place so that {old} is {new} everywhere, case does not matter"),
)
entry(
    "replace_on_lines", START, TREE, draw=_swap_where, reference=rewritten(lambda x, p: [line.replace(p["old"], p["new"]) if p["word"] in line else line for line in x]),
    ways=("sed -i '/{word:raw}/s/{old:raw}/{new:raw}/g' {file}", "perl -i -pe 's/{old:raw}/{new:raw}/g if /{word:raw}/' {file}"),
    asks=("replace {old} with {new} in {file}, but only on lines that contain {word}", "on the lines of {file} with {word}, change every {old} to {new} and save it", "in {file}, {old} becomes {new} wherever the line also mentions {word}", "edit {file}: on each line that has {word} in it, put {new} for {old}",
          "{file}: swap {old} for {new} on {word} lines only, in place", "i need {old} changed to {new} in {file}, just where {word} is on the same line", "only on lines matching {word}, substitute {new} for {old} in the file {file}", "for all lines of {file} that contain {word}, replace each {old} by {new} in the file", "modify {file} in place: lines mentioning {word} get {new} instead of {old}, other lines stay",
          "turn {old} into {new} in those lines of {file} where {word} occurs, leave the others as they are"),
)
entry(
    "replace_backup", START, TREE, draw=_swap_and_keep, reference=_edited_and_kept,
    ways=("sed -i.bak 's/{old:raw}/{new:raw}/g' {file}", "perl -i.bak -pe 's/{old:raw}/{new:raw}/g' {file}", "cp {file} {out} && sed -i 's/{old:raw}/{new:raw}/g' {file}"),
    asks=("replace {old} with {new} in {file} and keep the original as {out}", "change every {old} in {file} to {new}, saving the old version as {out}", "edit {file} in place, {old} becomes {new}, with the backup {out}", "in {file}, substitute {new} for all {old}; the untouched text should stay in {out}",
          "{file}: swap {old} for {new}, backup in {out}", "i need each {old} in {file} turned into {new}, and the previous content in {out}", "do an in-place replacement of {old} by {new} in {file}, backup file {out}", "put {new} for every {old} in {file}, but leave a copy of how it was in {out}",
          "back {file} up to {out} and replace {old} by {new} in {file} itself", "modify {file} with sed: all {old} to {new}, the original goes to {out}"),
)
entry(
    "erase_text", START, TREE, draw=_word, reference=rewritten(lambda x, p: [line.replace(p["word"], "") for line in x]),
    ways=("sed -i 's/{word:raw}//g' {file}", "perl -i -pe 's/{word:raw}//g' {file}"),
    asks=("delete every occurrence of {word} from {file}, but keep the rest of the lines", "remove the text {word} wherever it occurs in {file}, leave the lines otherwise as they are", "take all {word} out of the lines of {file} without deleting the lines", "erase {word} everywhere in {file} and save the file, only the word itself goes", "{file}: replace every {word} by nothing, in place",
          "i need each {word} gone from the text of {file}, the remaining words of the lines stay", "edit {file} so that {word} is cut out of every line that has it", "strip all occurrences of {word} from {file}, not the whole lines", "in {file}, delete just the word {word} from each line where it stands", "substitute nothing for {word} throughout the file {file}"),
)
entry(
    "insert_after", START, TREE, draw=_new_beside, reference=rewritten(lambda x, p: _beside(x, p, after=True)),
    ways=("sed -i '/{word:raw}/a {text:raw}' {file}", "perl -i -pe '$_ .= \"{text:raw}\\n\" if /{word:raw}/' {file}"),
    asks=("insert the line {text} after every line of {file} that contains {word}", "add a line {text} below each line with {word} in {file}", "in {file}, put {text} on a new line after each line mentioning {word}", "{file}: after all lines with {word}, insert a line {text}", "append the line {text} after each match of {word} in the file {file}",
          "i need a new line {text} following every {word} line of {file}", "edit {file}: wherever a line has {word}, the next line should be a new one saying {text}", "write {text} as a line of its own under each line of {file} that matches {word}", "every line of {file} containing {word} should be followed by an added line {text}", "place the new line {text} behind all lines with {word} inside {file} and save it"),
)
entry(
    "insert_before", START, TREE, draw=_new_beside, reference=rewritten(lambda x, p: _beside(x, p, after=False)),
    ways=("sed -i '/{word:raw}/i {text:raw}' {file}", "perl -i -pe '$_ = \"{text:raw}\\n$_\" if /{word:raw}/' {file}"),
    asks=("insert the line {text} before every line of {file} that contains {word}", "add a line {text} above each line with {word} in {file}", "in {file}, put {text} on a new line before each line mentioning {word}", "{file}: in front of all lines with {word}, insert a line {text}", "the file {file} needs the line {text} ahead of each match of {word}",
          "i need a new line {text} preceding every {word} line of {file}", "edit {file}: wherever a line has {word}, the line before it should be a new one saying {text}", "write {text} as a line of its own over each line of {file} that matches {word}", "every line of {file} containing {word} should be preceded by an added line {text}", "place the new line {text} in front of all lines with {word} inside {file} and save it"),
)
entry(
    "insert_at", START, TREE, draw=_place, reference=rewritten(lambda x, p: [*x[: int(p["n"]) - 1], p["text"], *x[int(p["n"]) - 1 :]]),
    ways=("sed -i '{n:raw}i {text:raw}' {file}", "perl -i -pe 'print \"{text:raw}\\n\" if $. == {n:raw}' {file}"),
    asks=("insert {text} as line {n} of {file}", "add a new line {text} to {file} so that it becomes line {n}", "in {file}, put the line {text} before the present line {n}", "{file}: new line {n} with the text {text}, the following lines move down", "i need {text} inserted into {file} at line {n}", "make {text} the {n:th} line of {file}, keep all the others",
          "edit {file}: insert a line {text} at position {n}", "write {text} into {file} as its new {n:th} line without losing any line", "place the line {text} at line number {n} in the file {file}, pushing the rest down", "the {n:th} line of {file} should be a new one saying {text}, what was there comes after it"),
)
entry(
    "replace_line", START, TREE, draw=_place, reference=rewritten(lambda x, p: [*x[: int(p["n"]) - 1], p["text"], *x[int(p["n"]) :]]),
    ways=("sed -i '{n:raw}c {text:raw}' {file}", "perl -i -pe '$_ = \"{text:raw}\\n\" if $. == {n:raw}' {file}"),
    asks=("replace line {n} of {file} with {text}", "change the whole line {n} in {file} to {text}", "overwrite the {n:th} line of {file} with the text {text}", "{file}: line {n} should read {text} instead", "i need line {n} of {file} to be {text}, in place of what is there", "edit {file}: line {n} becomes {text}", "put {text} in place of line number {n} in the file {file}",
          "set line {n} of {file} to {text}, the other lines stay", "swap the {n:th} line of {file} for the line {text}", "in {file}, write {text} over the present line {n}"),
)
entry(
    "delete_range", START, TREE, draw=_range, reference=rewritten(lambda x, p: x[: int(p["n"]) - 1] + x[int(p["m"]) :]),
    ways=("sed -i '{n:raw},{m:raw}d' {file}", "perl -i -ne 'print unless $. >= {n:raw} && $. <= {m:raw}' {file}"),
    asks=("delete lines {n} to {m} of {file}", "remove lines {n} through {m} from the file {file}", "drop lines {n}-{m} in {file} and save the file", "in {file}, take out everything from line {n} to line {m}", "{file}: delete its lines {n} to {m}", "i need lines {n} to {m} gone from the file {file}", "cut lines {n} up to and including {m} out of {file}, in place",
          "edit {file}: lines {n} to {m} go", "get rid of the lines number {n} to {m} in file {file}", "erase line {n} and everything down to line {m}, both included, from {file}", "edit {file} in place, deleting the lines from {n} through {m}"),
)
entry(
    "delete_last_line", START, TREE, draw=lambda d: {"file": d.text()}, reference=rewritten(lambda x, p: x[:-1]),
    ways=("sed -i '$d' {file}", "perl -i -ne 'print unless eof' {file}"),
    asks=("delete the last line of {file}", "remove the final line from the file {file}", "drop the last line in {file} and save the file", "in {file}, take out the last line", "{file}: delete its last line", "i need the last line gone from the file {file}", "cut the bottom line off {file}, in place", "edit {file}: the last line goes", "get rid of the very last line of the file {file}",
          "erase the line at the end of {file}, save the change"),
)
entry(
    "delete_first_line", START, TREE, draw=lambda d: {"file": d.text()}, reference=rewritten(lambda x, p: x[1:]),
    ways=("sed -i 1d {file}", "perl -i -ne 'print unless $. == 1' {file}"),
    asks=("delete the first line of {file}", "remove the top line from the file {file}", "drop the first line in {file} and save the file", "in {file}, take out the first line", "{file}: delete its first line", "i need the first line gone from the file {file}", "cut the topmost line off {file}, in place", "edit {file}: the first line goes", "get rid of the very first line of the file {file}",
          "erase the line at the beginning of {file}, save the change"),
)
entry(
    "keep_lines", START, TREE, draw=_word, reference=rewritten(lambda x, p: [line for line in x if p["word"] in line]),
    ways=("sed -i '/{word:raw}/!d' {file}", "v=$(grep {word} {file}); printf '%s\\n' \"$v\" > {file}"),
    asks=("keep only the lines with {word} in {file}, delete all others from the file", "delete every line of {file} that does not contain {word}", "remove all lines without {word} from the file {file}", "reduce the file {file} to its lines that mention {word}, in place", "{file}: only {word} lines should be left in the file", "i need all lines lacking {word} gone from {file}",
          "edit {file} so that nothing but lines with {word} remains", "get rid of the lines in the file {file} which don't have {word} in them", "drop whatever line of {file} has no {word} and save the file", "overwrite {file} with just those of its lines that match {word}"),
)
entry(
    "trim_line_ends", START, TREE, draw=_made(_ragged), reference=_exactly(lambda x, p: [line.rstrip() for line in x]),
    ways=("sed -i 's/[ \\t]*$//' {file}", "perl -i -pe 's/[ \\t]+$//' {file}"),
    asks=("remove trailing whitespace from {file}", "strip the blanks at the end of every line in {file} and save it", "delete trailing spaces in the file {file}", "{file}: no more spaces at line ends, edit it in place", "clean {file} of trailing blanks", "i need the whitespace at the ends of the lines in {file} gone, change the file", "trim the line ends of {file}, in place",
          "cut off all spaces that lines of {file} end in", "get rid of trailing spaces on each line of {file}", "edit {file} so that no line ends with a space"),
)
entry(
    "to_unix", START, TREE, draw=_made(_plain, "\r\n"), reference=_exactly(lambda x, p: [line.removesuffix("\r") for line in x]),
    ways=("sed -i 's/\\r$//' {file}", "perl -i -pe 's/\\r$//' {file}"),
    asks=("convert {file} to unix line endings", "change the line ends of {file} from CRLF to LF", "{file} has Windows line endings, make them Unix ones", "remove the carriage returns from {file}", "strip ^M from the end of each line of {file}, in place", "{file}: dos to unix, please", "i need {file} with LF instead of CRLF line endings", "get rid of the \\r at the line ends of {file}",
          "turn the DOS text file {file} into a Unix text file", "edit {file} so that its lines no longer end in a carriage return"),
)
entry(
    "tabs_to_blanks", START, TREE, draw=_tabs, reference=_exactly(lambda x, p: [line.replace("\t", " " * int(p["n"])) for line in x]),
    ways=("sed -i 's/\\t/{blanks:raw}/g' {file}", "perl -i -pe 's/\\t/\" \" x {n:raw}/ge' {file}"),
    asks=("replace each tab in {file} with {n} spaces", "change every tab character of {file} to {n} blanks and save it", "in {file}, turn each tab into exactly {n} spaces", "{file}: {n} spaces instead of every tab, in place", "i need the tabs in {file} replaced, {n} spaces for each", "substitute {n} spaces for each tab in the file {file}", "edit {file} so that wherever there was a tab there are {n} spaces",
          "swap all tabs of {file} for {n} blanks each", "put {n} space characters in place of each tab character in {file}", "get rid of the tabs in {file}: each one becomes {n} spaces"),
)
entry(
    "join_with", TEXT, VALUE, exact=True, draw=_joint, reference=lambda w, x, p: [p["char"].join(x)],
    ways=("paste -sd {char} {in}", "awk -v c={char} '{printf \"%s%s\",s,$0;s=c}END{print \"\"}' {in}"),
    asks=("join the lines of {in} with {char}", "print {in} as one line separated by {char}", "put all lines of {in} on one line with {char} between them", "how does {in} look as a single line joined by {char}?", "{in} on a single line, {char} between the lines", "turn the lines of {in} into one line with {char} as separator", "i need all lines of {in} in one, separated by {char}", "merge {in} into one line using {char} as the delimiter and print it",
          "get the lines of {in} glued together with {char}", "make a {char}-separated list out of the lines of {in}"),
    nouns=("the lines of {in} joined by {char}", "{in} as one line separated by {char}", "a {char}-separated list of the lines in {in}", "all lines of {in} on one line with {char} between them", "one line made of all lines of {in} with {char} as separator"),
    then=("join {x} with {char}", "put {x} on one line separated by {char}", "print {x} as one line with {char} between them", "make a {char}-separated list of {x}", "glue {x} together with {char}", "{x} on a single line with {char} between them", "all of {x} joined by {char}", "turn {x} into one line, {char} in between", "how do {x} look as a single line joined by {char}?", "merge {x} into a single line with {char} as separator"),
)
