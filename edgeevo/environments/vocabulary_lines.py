"""Skills that change or cut lines: case, replacement, repeats, blank lines, characters, prefixes, words; and the same inside a file."""

from __future__ import annotations

import base64
import re

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_text import with_word
from edgeevo.environments.world import World

TEXT, LINES, VALUE, TREE, START = Kind.TEXT, Kind.LINES, Kind.VALUE, Kind.TREE, Kind.START


def _draft(d: Draw) -> Params:
    return d.source(d.draft)[1]


def _draft_file(d: Draw) -> Params:
    return {"file": d.draft()}


def _cut(d: Draw) -> Params:
    lines, p = d.source(d.text)
    if len(lines) < 2:
        raise NoInstanceError
    return {"n": d.number(3, 12)} | p


def _mark(d: Draw) -> Params:
    return {"text": d.rng.choice((f"{d.stem()}:", f"{d.stem()}-", "- ", "> ", f"[{d.stem()}] "))} | d.source(d.text)[1]


def _tail_mark(d: Draw) -> Params:
    return {"text": d.rng.choice((";", ",", f" {d.stem()}", f"-{d.stem()}", "!"))} | d.source(d.text)[1]


def _char(d: Draw) -> Params:
    lines, p = d.source(d.text)
    return {"char": d.pick(sorted({c for line in lines for c in line if c.isascii() and c.isalpha()}))} | p


def _longest(d: Draw) -> Params:
    lines, p = d.source(d.rng.choice((d.text, d.draft, d.log)))
    lengths = sorted(map(len, lines))
    if len(lengths) < 3 or lengths[-1] == lengths[-2]:
        raise NoInstanceError
    return p


def _edit(w: World, p: Params, lines: Lines) -> None:
    w.write(p["file"], lines)


def _encoded(x: Lines) -> Lines:
    return [base64.b64encode("".join(f"{line}\n" for line in x).encode()).decode()]


def _replaced(d: Draw) -> Params:
    p = with_word(d)
    return {"old": p.pop("word"), "new": d.stem()} | p


entry(
    "upper", TEXT, LINES,
    reference=lambda w, x, p: [line.upper() for line in x],
    ways=("tr a-z A-Z {<in}", "awk '{print toupper($0)}' {in}", "sed 's/.*/\\U&/' {in}"),
    asks=("show {in} in upper case", "convert {in} to upper case and print it", "print {in} in capital letters", "{in} all caps", "turn the text of {in} into uppercase",
          "output {in} with every letter capitalised", "i need the text of {in} in capitals", "how does {in} look in upper case?", "uppercase {in} on the screen, the file stays",
          "get {in} with all letters in upper case", "write out {in} in capital letters"),
    nouns=("the text of {in} in upper case", "{in} in capitals", "the uppercase version of {in}", "the lines of {in} in capital letters", "the lines of {in} in upper case",
           "the lines of {in} converted to capitals"),
    then=("convert {x} to upper case", "print {x} in capitals", "turn {x} into upper case", "make {x} uppercase", "show {x} in capital letters", "{x} in upper case", "{x} in all caps",
          "uppercase {x}", "write {x} in capital letters", "change all letters of {x} to capitals", "{x} converted to uppercase", "how do {x} look in capital letters?"),
)
entry(
    "lower", TEXT, LINES, draw=lambda d: d.source(d.draft)[1],
    reference=lambda w, x, p: [line.lower() for line in x],
    ways=("tr A-Z a-z {<in}", "awk '{print tolower($0)}' {in}", "sed 's/.*/\\L&/' {in}"),
    asks=("show {in} in lower case", "convert {in} to lower case and print it", "print {in} in small letters", "{in} all lowercase", "turn the text of {in} into lowercase",
          "output {in} without capital letters, all small", "i need the text of {in} in small letters", "how does {in} look in lower case?", "lowercase {in} on the screen, the file stays",
          "get {in} with all letters in lower case", "write out {in} in small letters"),
    nouns=("the text of {in} in lower case", "{in} in small letters", "the lowercase version of {in}", "the lines of {in} in small letters", "the lines of {in} in lower case",
           "the lines of {in} converted to small letters"),
    then=("convert {x} to lower case", "print {x} in small letters", "turn {x} into lower case", "make {x} lowercase", "{x} in lower case",
          "{x} with no capital letters, all small", "lowercase {x}", "write {x} in small letters", "change all capitals of {x} to small letters", "{x} converted to lowercase",
          "how do {x} look in lower case?"),
)
entry(
    "replace", TEXT, LINES, draw=_replaced,
    reference=lambda w, x, p: [line.replace(p["old"], p["new"]) for line in x],
    ways=("sed 's/{old:raw}/{new:raw}/g' {in}", "awk '{gsub(/{old:raw}/,\"{new:raw}\");print}' {in}", "perl -pe 's/{old:raw}/{new:raw}/g' {in}"),
    asks=("print {in} with {old} replaced by {new}", "show {in} with {new} instead of {old}", "replace {old} by {new} in the output of {in}, do not change the file",
          "display {in}, every {old} turned into {new}", "output {in} but write {new} wherever it says {old}", "what would {in} look like with {old} changed to {new}?",
          "i need the text of {in} with {new} wherever {old} occurs", "output the lines of {in}, substituting {new} for {old}",
          "get {in} with every {old} swapped for {new}, the file itself stays", "how does {in} read when {old} becomes {new}?",
          "print what {in} contains but put {new} in place of each {old}"),
    nouns=("{in} with {old} replaced by {new}", "the text of {in} with {new} instead of {old}", "the lines of {in}, {old} changed to {new}", "{in} after replacing {old} with {new}",
           "the lines of {in} with {new} in place of {old}", "the lines of {in} after changing {old} to {new}"),
    then=("print {x} with {old} replaced by {new}", "show {x} with {new} instead of {old}", "output {x} but with {new} wherever it says {old}",
          "replace {old} with {new} in {x}, only in the output", "{x} with {old} changed to {new}", "write {new} for every {old} when printing {x}", "{x} after replacing {old} by {new}",
          "list {x}, every {old} turned into {new}", "substitute {new} for {old} in the output of {x}", "{x} with each {old} swapped for {new}", "change {old} to {new} while printing {x}",
          "what do {x} look like with {new} in place of {old}?"),
)
entry(
    "dedupe", TEXT, LINES, needs_order=True, draw=_draft, reference=lambda w, x, p: list(dict.fromkeys(x)),
    ways=("awk '!s[$0]++' {in}", "perl -ne 'print unless $s{$_}++' {in}", "cat -n {in} | sort -k2 -u | sort -n | cut -f2-"),
    asks=("remove duplicate lines from the output of {in} but keep the order", "print {in} without repeated lines, order unchanged", "show each line of {in} only the first time it occurs",
          "{in}: drop repeats, do not sort", "which lines does {in} have, each once and in the original order?", "list the lines of {in} once each as they first appear",
          "dedupe {in} without sorting it, print the result", "i need the lines of {in} once each, in their original order", "get {in} without duplicate lines, unsorted"),
    nouns=("the lines of {in} without repeats, in the original order", "{in} with duplicate lines left out, unsorted", "each line of {in} the first time it occurs", "the distinct lines of {in} in order of appearance", "{in} deduplicated but not sorted"),
    then=("keep each of {x} once, in the original order", "show each of {x} only the first time it occurs", "leave the duplicates out of {x} without sorting",
          "deduplicate {x}, order unchanged", "print {x} once each in order of appearance", "leave out of {x} whatever came before already", "{x} without repeats in their original order",
          "the distinct ones of {x} in order of appearance", "list {x} without duplicates, do not sort"),
)
entry(
    "remove_blank", TEXT, LINES, draw=_draft, reference=lambda w, x, p: [line for line in x if line],
    ways=("grep . {in}", "sed '/^$/d' {in}", "awk NF {in}"),
    asks=("print {in} without [empty|blank] lines", "show {in}, empty lines left out", "which lines of {in} are not blank?", "{in} minus its blank lines",
          "strip the empty lines when printing {in}", "list only lines of {in} that contain something", "remove blank lines from the output of {in}, leave the file alone",
          "i need {in} without its empty lines", "get the non-blank lines of {in}", "print {in} but skip the blank lines"),
    nouns=("the lines of {in} without the blank ones", "{in} without empty lines", "the non-empty lines of {in}", "every line of {in} that contains something", "what remains of {in} without its blank lines"),
)
entry(
    "count_lines.blank", TEXT, VALUE, draw=_draft, reference=lambda w, x, p: [str(sum(not line for line in x))],
    ways=("grep -c '^$' {in}", "awk '!NF{n++}END{print n+0}' {in}", "grep '^$' {in} | wc -l"),
    asks=("count the [empty|blank] lines in {in}", "how many lines of {in} are empty?", "number of blank lines in {in}", "{in}: how many empty lines?",
          "tell me how often {in} has a line with nothing on it", "find out how many blank lines {in} contains", "give the count of lines in {in} that hold no text",
          "i need the number of empty lines in {in}", "get how many lines of {in} are blank"),
    nouns=("the number of blank lines in {in}", "how many empty lines {in} has", "the count of lines without text in {in}", "how many lines of {in} are blank", "the amount of empty lines in {in}"),
)
entry(
    "remove_blank.in_place", START, TREE, draw=_draft_file, reference=lambda w, x, p: _edit(w, p, [line for line in w.lines(p["file"]) if line]),
    ways=("sed -i '/^$/d' {file}", "perl -ni -e 'print if /./' {file}", "grep . {file} > {file}.tmp; cat {file}.tmp > {file}; rm {file}.tmp"),
    asks=("delete the [empty|blank] lines from {file}", "remove all blank lines in the file {file} itself", "clean {file} of empty lines, in place",
          "{file} should not contain blank lines any more", "edit {file} so that no empty line is left", "get rid of every blank line inside {file}, save the file",
          "take the empty lines out of {file}", "i need {file} without blank lines, change the file", "strip the empty lines from {file} and save it"),
)
entry(
    "longest_line", TEXT, VALUE, draw=_longest, reference=lambda w, x, p: [max(x, key=len)],
    ways=("awk '{print length, $0}' {in} | sort -n | tail -n 1 | cut -d' ' -f2-", "awk 'length>m{m=length;l=$0}END{print l}' {in}", "perl -ne '$l=$_ if length>length $l;END{print $l}' {in}"),
    asks=("print the longest line [of|in] {in}", "which line of {in} is the longest?", "find the line with the most characters in {in}", "{in}: longest line",
          "show me the line of {in} that has the greatest length", "get the one line in {in} that is longer than all others", "longest of the lines in {in}",
          "i need the line of {in} with the most characters", "print whichever line of {in} is the longest"),
    nouns=("the longest line of {in}", "the line with the most characters in {in}", "the line of {in} that has the greatest length", "the one line in {in} longer than all others", "the longest of all lines in {in}"),
    then=("print the longest of {x}", "find the one with the most characters among {x}", "show which of {x} is the longest", "pick the longest line of {x}",
          "give me the one of {x} with the greatest length", "keep only the longest of {x}", "the longest of {x}", "which of {x} is the longest?",
          "the one of {x} that has the most characters"),
)
entry(
    "longest_line.length", TEXT, VALUE, draw=_longest, reference=lambda w, x, p: [str(max(map(len, x)))],
    ways=("wc -L {<in}", "awk 'length>m{m=length}END{print m+0}' {in}", "awk '{print length}' {in} | sort -n | tail -n 1"),
    asks=("how long is the longest line of {in}?", "print the length of the longest line in {in}", "maximum line length of {in}", "{in}: how many characters has the longest line?",
          "tell me how wide {in} gets at most, in characters", "find the greatest number of characters on one line of {in}", "give the max line length for {in}",
          "i need the length of the longest line in {in}", "get the number of characters in the longest line of {in}"),
    nouns=("the length of the longest line in {in}", "the maximum line length of {in}", "how many characters the longest line of {in} has", "the greatest number of characters on a line of {in}", "how long the lines of {in} get at most"),
    then=("print the length of the longest of {x}", "tell me how long the longest of {x} is", "report the maximum line length of {x}", "give the greatest number of characters in one of {x}",
          "measure the longest of {x}", "find how many characters the longest of {x} has", "the length of the longest of {x}", "how many characters the longest of {x} has",
          "how long is the longest of {x}?"),
)
entry(
    "cut_chars", TEXT, LINES, draw=_cut, reference=lambda w, x, p: [line[: int(p["n"])] for line in x],
    ways=("cut -c1-{n} {in}", "cut -c-{n} {in}", "awk '{print substr($0,1,{n:raw})}' {in}"),
    asks=("print the first {n} characters of each line in {in}", "cut every line of {in} after {n} characters", "show only characters 1 to {n} of the lines in {in}",
          "{in}: first {n} chars per line", "truncate the lines of {in} to {n} characters in the output", "what are the first {n} characters on each line of {in}?",
          "from every line in {in} keep {n} characters at the start", "i need the first {n} characters of every line of {in}", "get characters 1 through {n} of each line of {in}"),
    nouns=("the first {n} characters of each line in {in}", "the lines of {in} cut after {n} characters", "characters 1 to {n} of every line in {in}", "the lines of {in} truncated to {n} characters", "the starts ({n} characters) of all lines in {in}"),
    then=("cut each of {x} after {n} characters", "keep the first {n} characters of each of {x}", "truncate {x} to {n} characters per line", "show only characters 1 to {n} of {x}",
          "shorten {x} to their first {n} characters", "print {n} characters from the start of each of {x}", "the first {n} characters of each of {x}", "{x} cut off after {n} characters",
          "only the leading {n} characters of each of {x}"),
)
entry(
    "cut_chars.from", TEXT, LINES, draw=_cut, reference=lambda w, x, p: [line[int(p["n"]) - 1 :] for line in x],
    ways=("cut -c{n}- {in}", "awk '{print substr($0,{n:raw})}' {in}", "perl -lne 'print length>={n:raw}?substr($_,{n:raw}-1):\"\"' {in}"),
    asks=("print each line of {in} from character {n} on", "show the lines of {in} starting at their character number {n}", "cut off what stands before character {n} on every line of {in}",
          "{in}: from column position {n} to the end of each line", "what remains of the lines in {in} from the character {n} onwards?",
          "from every line in {in} keep character {n} and what follows", "output {in}, each line beginning with its character {n}", "i need every line of {in} from its character {n} on",
          "get the rest of each line of {in}, starting with character {n}"),
    nouns=("each line of {in} from character {n} on", "the lines of {in} starting at character number {n}", "every line in {in} without what stands before character {n}", "the rest of each line in {in} from character {n} onwards",
           "character {n} and what follows on every line of {in}"),
    then=("print each of {x} from character {n} on", "cut off what stands before character {n} in each of {x}", "keep character {n} and what follows of each of {x}",
          "show {x} starting at character number {n}", "reduce {x} to the part from character {n} onwards", "let each of {x} begin at its character {n}", "{x} from character {n} onwards",
          "the part of each of {x} that starts at character {n}", "only character {n} and everything after it from each of {x}"),
)
entry(
    "mirror", TEXT, LINES, draw=lambda d: d.source(d.text)[1], reference=lambda w, x, p: [line[::-1] for line in x],
    ways=("rev {in}", "perl -lne 'print scalar reverse' {in}"),
    asks=("reverse the characters of each line in {in}", "print every line of {in} backwards, [letter by letter|right to left]", "mirror the lines of {in}",
          "{in} with each line written backwards", "show {in}, characters of every line in opposite order", "how do the lines of {in} read from right to left?",
          "flip each line of {in} so that its last character comes first", "i need every line of {in} spelled backwards", "get the lines of {in} with their characters in reverse order"),
    nouns=("each line of {in} written backwards", "the lines of {in} with their characters reversed", "the mirrored lines of {in}", "every line of {in} from right to left", "{in} with the characters of each line in opposite order"),
    then=("reverse the characters of each of {x}", "print each of {x} backwards, letter by letter", "mirror {x} letter by letter", "write each of {x} from right to left",
          "flip each of {x} so that its last character comes first", "show {x} with the characters of each line reversed", "{x} written backwards letter by letter",
          "{x} with each line mirrored", "spell each of {x} backwards"),
)
entry(
    "prefix", TEXT, LINES, draw=_mark, reference=lambda w, x, p: [p["text"] + line for line in x],
    ways=("sed 's/^/{text:raw}/' {in}", "awk -v t={text} '{print t $0}' {in}", "perl -pe 's/^/{text:raw}/' {in}"),
    asks=("put {text} in front of every line of {in} when printing it", "print {in} with {text} before each line", "prefix the lines of {in} with {text}",
          "show {in}, every line preceded by {text}", "{in} but with {text} at the start of all lines", "how does {in} look with {text} prepended to each line?",
          "add {text} to the beginning of each line of {in} and output that", "i need the lines of {in} with {text} before each",
          "get {in} with {text} put in front of every line, leave the file alone"),
    nouns=("the lines of {in} with {text} in front", "{in} with {text} before each line", "the lines of {in}, each prefixed with {text}", "every line of {in} preceded by {text}", "{in} with {text} prepended to all lines"),
    then=("put {text} in front of each of {x}", "prefix {x} with {text}", "print {x} with {text} before each line", "add {text} to the beginning of each of {x}",
          "let every one of {x} start with {text}", "prepend {text} to each of {x}", "{x} with {text} in front of each", "{x} each preceded by {text}",
          "start each of {x} with an extra {text}"),
)
entry(
    "suffix", TEXT, LINES, draw=_tail_mark, reference=lambda w, x, p: [line + p["text"] for line in x],
    ways=("sed 's/$/{text:raw}/' {in}", "awk -v t={text} '{print $0 t}' {in}", "perl -pe 's/$/{text:raw}/' {in}"),
    asks=("put {text} behind every line of {in} when printing it", "print {in} with {text} after each line", "append {text} to the end of each line of {in} in the output",
          "show {in}, every line followed by {text}", "{in} but with {text} at the end of all lines", "how does {in} look with {text} added at every line end?",
          "suffix the lines of {in} with {text}, only print them", "i need the lines of {in} with {text} after each", "get {in} with {text} put behind every line, leave the file alone"),
    nouns=("the lines of {in} with {text} at the end", "{in} with {text} after each line", "the lines of {in}, each suffixed with {text}", "every line of {in} followed by {text}", "{in} with {text} added at every line end"),
    then=("put {text} behind each of {x}", "suffix {x} with {text}", "print {x} with {text} after each line", "add {text} to the end of each of {x}", "let every one of {x} end with {text}",
          "attach {text} to the end of each of {x}", "{x} with {text} at the end of each", "{x} each followed by {text}", "finish each of {x} with an extra {text}"),
)
entry(
    "split_words", TEXT, LINES, needs_order=True, draw=lambda d: d.source(d.text)[1], reference=lambda w, x, p: " ".join(x).split(),
    ways=("tr -s ' ' '\\n' {<in}", "xargs -n 1 {<in}", "awk '{for(i=1;i<=NF;i++)print $i}' {in}"),
    asks=("print {in} with one word per line", "split {in} into words, each on its own line", "show all words of {in} one below the other", "{in}: one word a line",
          "put every word of {in} on a separate line", "turn the blanks of {in} into line breaks and print it", "list the words in {in}, one per line",
          "i need the words of {in}, one on each line", "get every word from {in} on its own line"),
    nouns=("the words of {in}, one per line", "{in} split into one word per line", "every word of {in} on its own line", "all words of {in} one below the other", "the words in {in} line by line"),
    then=("split {x} into words, one per line", "put each word of {x} on a line of its own", "print {x} with one word per line", "break {x} at the blanks into lines",
          "list the words in {x} one below the other", "show every word of {x} on a separate line", "the words of {x} one per line", "{x} split into one word per line",
          "all words in {x} on lines of their own"),
)
entry(
    "delete_char", TEXT, LINES, draw=_char, reference=lambda w, x, p: [line.replace(p["char"], "") for line in x],
    ways=("tr -d {char} {<in}", "sed 's/{char:raw}//g' {in}", "perl -pe 's/{char:raw}//g' {in}"),
    asks=("print {in} without the letter {char}", "delete every {char} from the output of {in}", "show {in} with all letters {char} removed", "{in} but leave out each character {char}",
          "drop the character {char} wherever it occurs in {in}, only print the result", "what does {in} look like without any {char} in it?",
          "strip the letter {char} from each line of {in}", "i need the text of {in} without the letter {char}", "get {in} with no {char} in it, leave the file alone"),
    nouns=("the text of {in} without the letter {char}", "{in} with every character {char} removed", "the lines of {in} with all letters {char} left out", "{in} minus each letter {char}", "the lines of {in} stripped of the character {char}"),
    then=("leave every letter {char} out of {x}", "omit the character {char} when printing {x}", "print {x} without the letter {char}", "strip all characters {char} out of {x}",
          "skip the letter {char} wherever it occurs in {x}", "show {x} with each {char} removed", "{x} without the letter {char}", "{x} with all letters {char} taken out",
          "output {x} minus every {char}"),
)
entry(
    "delete_char.digits", TEXT, LINES, draw=lambda d: d.source(d.rng.choice((d.log, d.contacts)))[1], reference=lambda w, x, p: [re.sub("[0-9]", "", line) for line in x],
    ways=("tr -d 0-9 {<in}", "sed 's/[0-9]//g' {in}", "perl -pe 's/[0-9]//g' {in}"),
    asks=("print {in} without any digits", "remove all digits from the output of {in}", "show {in} with the digits taken out", "{in} minus every digit",
          "delete each figure 0 to 9 from what {in} contains, print the rest", "strip digits from the lines of {in} and display them", "what remains of {in} when all digits are dropped?",
          "i need the text of {in} without digits", "get {in} with no digits in it, leave the file alone"),
    nouns=("the text of {in} without digits", "{in} with all digits removed", "the lines of {in} with the digits taken out", "{in} minus every digit", "what remains of {in} when digits are dropped"),
    then=("leave all digits out of {x}", "print {x} without any digits", "strip the digits out of {x}", "skip every figure 0 to 9 in {x}", "take the digits out of {x}",
          "show {x} with no digits in them", "{x} without digits", "{x} with all digits removed", "output {x} minus the digits"),
)
entry(
    "encode", TEXT, VALUE, needs_order=True, draw=lambda d: d.source(d.text)[1], reference=lambda w, x, p: _encoded(x),
    ways=("base64 -w0 {in}", "base64 {in} | tr -d '\\n'", "openssl base64 -A {<in}"),
    asks=("encode {in} as base64 on one line", "print the base64 form of {in}, without line breaks", "what is {in} in base64, as a single line?", "{in}: base64, one line",
          "convert {in} to unwrapped base64", "show {in} base64-encoded and not wrapped", "give me one line of base64 for the file {in}", "i need {in} as base64, all on one line",
          "get the base64 encoding of {in} with no line wrapping"),
    nouns=("the base64 form of {in} on one line", "{in} in base64 without line breaks", "the unwrapped base64 encoding of {in}", "{in} base64-encoded as a single line", "one line of base64 made from {in}"),
    then=("encode {x} as base64 on one line", "print {x} in base64 without line breaks", "convert {x} to unwrapped base64", "turn {x} into a single line of base64",
          "show {x} base64-encoded, not wrapped", "give one line of base64 for {x}", "{x} base64-encoded on a single line", "the base64 form of {x} without line breaks",
          "base64 {x} into one long line"),
)
