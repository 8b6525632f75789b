"""Skills on a text that stands in the request itself: printed, repeated, measured, taken apart, encoded, hashed; and on the bytes of a file."""

from __future__ import annotations

import base64
import hashlib
import re

from edgeevo.environments.scenarios import Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry

START, VALUE, LINES = Kind.START, Kind.VALUE, Kind.LINES

HASHES = ("md5", "sha256")
SEPARATORS = {":": "colon", ",": "comma", ";": "semicolon", "/": "slash", "-": "dash"}


def _phrase(d: Draw, low: int = 2, high: int = 4) -> str:
    return " ".join(d.stem() for _ in range(d.rng.randint(low, high)))


def _text(d: Draw) -> Params:
    return {"text": _phrase(d)}


def _list(d: Draw) -> tuple[str, list[str]]:
    separator = d.rng.choice(sorted(SEPARATORS))
    parts = list(dict.fromkeys(d.stem() for _ in range(7)))[: d.rng.randint(4, 6)]
    if len(parts) < 4:
        raise NoInstanceError
    return separator, parts


def _joined(d: Draw) -> Params:
    separator, parts = _list(d)
    return {"text": separator.join(parts), "separator": separator, "sign": SEPARATORS[separator]}


def _search_path(d: Draw) -> Params:
    maker = Maker(d.rng, d.split, ())
    folders = [f"/{top}/{maker.stem()}" for top in ("opt", "usr", "home", "srv", "usr/local")]
    d.rng.shuffle(folders)
    return {"text": ":".join(folders[: d.rng.randint(3, 5)])}


def _part(d: Draw) -> Params:
    p = _joined(d)
    return p | {"n": d.number(2, p["text"].count(p["separator"]) + 1)}


def _bytes(d: Draw) -> Params:
    path = d.any_file(lambda q: len(d.world.file(q).data) > 20)
    return {"file": path, "count": d.number(4, 16)}


def _percent_coded(d: Draw) -> Params:
    plain = f"{_phrase(d, 2, 3)}/{d.stem()}?"
    return {"text": re.sub(r"\W", lambda m: f"%{ord(m.group()):02X}", plain)}


def _split_lines(p: Params) -> Lines:
    return p["text"].split(p["separator"])


entry(
    "echo", START, VALUE, draw=_text, reference=lambda w, x, p: [p["text"]],
    ways=("echo {text}", "printf '%s\\n' {text}"),
    asks=("print the text {text}", "echo {text}", "write {text} to the terminal", "output the words {text} on the screen", "say {text} on standard output", "print this line: {text}", "i want the text {text} printed", "{text}: just print that", "send the string {text} to stdout", "make the shell print {text}"),
    nouns=("the text {text}", "the line {text}", "the string {text} as it is", "the words {text}", "just the text {text}"),
)
entry(
    "repeat", START, LINES, draw=lambda d: {"text": _phrase(d, 1, 2), "count": d.number(3, 12)}, reference=lambda w, x, p: [p["text"]] * int(p["count"]),
    ways=("for i in {1..{count:raw}}; do echo {text}; done", "yes {text} | head -n {count}", "perl -e 'print \"$ARGV[0]\\n\" x {count:raw}' {text}"),
    asks=("print {text} {count} times, each on its own line", "repeat the line {text} {count} times", "write {text} {count} times, one per line", "show the text {text} on {count} lines", "{count} lines that all say {text}, please", "output {count} copies of the line {text}",
          "use a loop to echo {text} {count} times", "i need {text} printed {count} times, a line each", "say {text} over and over, {count} times, line by line", "fill {count} lines with {text}, once per line"),
    nouns=("the line {text} {count} times", "the text {text} on {count} lines", "the {count} copies of the line {text}", "{text} repeated {count} times, a line each", "the words {text} printed {count} times, one per line"),
)
entry(
    "numbered_names", START, LINES, draw=lambda d: {"word": d.stem(), "count": d.number(3, 12)}, reference=lambda w, x, p: [f"{p['word']}{i}" for i in range(1, int(p["count"]) + 1)],
    ways=("for i in {1..{count:raw}}; do echo {word}$i; done", "seq -f {word}%g {count}", "printf '%s\\n' {word:raw}{1..{count:raw}}"),
    asks=("print {word} with each of the numbers 1 to {count} attached, one per line, nothing in between", "list {count} names: {word} directly followed by 1, then by 2 and so on, a line each", "show {word} with each number from 1 to {count} attached, line by line", "generate {count} names, {word} plus a counter that starts at 1, one per line, no blank in between",
          "loop from 1 to {count} and echo {word} with the number right behind it", "use a loop over 1 to {count} that prints {word} and the number as one word per line", "write {word} and directly behind it a number, for all numbers from 1 to {count}, each on its own line", "i need {word} numbered from 1 to {count}, one a line, without blanks",
          "output {word} {count} times with a running number stuck to it, beginning with 1, a line each", "give me {count} numbered copies of {word}, the first with 1 right behind it, one per line"),
    nouns=("the word {word} with the numbers 1 to {count} attached in turn, one per line", "the {count} names made of {word} and a counter from 1 on, without a blank", "the names that {word} gives with the numbers 1 to {count} right behind it", "the word {word} numbered from 1 to {count}, one per line, no blanks", "the lines made of {word} and a number from 1 to {count} directly behind it"),
)
entry(
    "string_length", START, VALUE, draw=_text, reference=lambda w, x, p: [str(len(p["text"]))],
    ways=("printf %s {text} | wc -c", "s={text}; echo ${#s}", "expr length {text}"),
    asks=("how many characters does the text {text} have?", "count the characters in the string {text}", "print the length of {text}, blanks counted", "length of the string {text}", "how long is the text {text}, in characters?", "{text}: number of characters, blanks included",
          "tell me how many letters and blanks the text {text} is made of", "i need the number of characters in {text}, spaces too", "compute the length of the string {text}", "give me the character count of the text {text}"),
    nouns=("the number of characters in the text {text}", "the length of the string {text}", "how many characters {text} has, blanks included", "the character count of the text {text}", "how long the text {text} is in characters"),
)
entry(
    "string_upper", START, VALUE, draw=_text, reference=lambda w, x, p: [p["text"].upper()],
    ways=("echo {text} | tr a-z A-Z", "s={text}; echo \"${s^^}\"", "echo {text} | awk '{print toupper($0)}'"),
    asks=("print the text {text} in upper case", "convert the string {text} to capital letters", "show {text} in all caps", "what is {text} in upper case letters?", "{text} in capitals, please", "uppercase the text {text} and print it", "echo {text} with every letter capital", "write the words {text} in big letters only",
          "i need the text {text} in upper case", "turn all letters of the string {text} into capitals"),
    nouns=("the text {text} in upper case", "the string {text} in capital letters", "{text} in all caps", "the words {text}, uppercased", "the upper case form of {text}"),
)
entry(
    "string_reverse", START, VALUE, draw=lambda d: {"text": _phrase(d, 1, 2)}, reference=lambda w, x, p: [p["text"][::-1]],
    ways=("echo {text} | rev", "perl -e 'print scalar reverse($ARGV[0]),\"\\n\"' {text}"),
    asks=("reverse the text {text}", "print the string {text} backwards", "show {text} with its characters in reverse order", "what is {text} written backwards?", "{text} from right to left, please", "turn the text {text} around, last character first", "echo {text} reversed, character by character",
          "write the word or words {text} back to front", "i need the string {text} reversed", "spell the text {text} backwards"),
    nouns=("the text {text} written backwards", "the string {text} in reverse", "{text} reversed, character by character", "the reverse of the text {text}", "the characters of {text} from last to first"),
)
entry(
    "split_list", START, LINES, draw=_joined, reference=lambda w, x, p: _split_lines(p),
    ways=("echo {text} | tr {separator} '\\n'", "echo {text} | awk -F{separator} '{for(i=1;i<=NF;i++)print $i}'", "echo {text} | sed 's|[{separator:raw}]|\\n|g'"),
    asks=("print the parts of {text} one per line, they are separated by a {sign}", "split {text} at every {sign} and show each part on its own line", "break the list {text} into lines at the {sign}", "turn the {sign} separated text {text} into one item per line", "{text}: one line for each part between the {sign} signs",
          "list the pieces of {text} that the {sign} separates, a line each", "replace each {sign} in the string {text} by a line break and print it", "what are the items of {text}? they are {sign} separated, print one a line", "i need every {sign} separated part of {text} on a line of its own",
          "cut {text} up at each {sign} and print the pieces line by line"),
    nouns=("the parts of {text} between the {sign} signs, one per line", "the {sign} separated items of {text}, a line each", "the pieces of the text {text} split at every {sign}", "the items in the {sign} separated list {text}", "the parts that the {sign} separates in {text}, line by line"),
)
entry(
    "split_path", START, LINES, draw=_search_path, reference=lambda w, x, p: p["text"].split(":"),
    ways=("echo {text} | tr : '\\n'", "echo {text} | awk -F: '{for(i=1;i<=NF;i++)print $i}'", "echo {text} | sed 's/:/\\n/g'"),
    asks=("show each directory of the search path {text} on its own line", "print the entries of the PATH {text} one per line", "split the colon separated path list {text} into lines", "list the directories in the PATH value {text}, a line each", "{text} is a PATH, print its directories one a line",
          "which directories does the search path {text} consist of? one per line", "break up the path list {text} at the colons", "i need the directories of the PATH string {text} below each other", "turn the search path {text} into a list with one directory per line",
          "display the PATH {text} with every directory on a separate line"),
    nouns=("the directories of the search path {text}, one per line", "the entries of the PATH {text}, a line each", "the directories in the colon separated list {text}", "the parts of the path list {text}, one on each line", "the directories that the PATH value {text} names"),
)
entry(
    "string_part", START, VALUE, draw=_part, reference=lambda w, x, p: [_split_lines(p)[int(p["n"]) - 1]],
    ways=("echo {text} | cut -d{separator} -f{n}", "echo {text} | awk -F{separator} '{print ${n:raw}}'"),
    asks=("print part {n} of {text}, parts are separated by a {sign}", "what is the {n:th} item of the {sign} separated text {text}?", "cut {text} at the {sign} and show field {n}", "take the {n:th} piece of {text}, split at each {sign}, and print it", "{text}: the {n:th} part, {sign} separated",
          "get only item {n} out of the list {text} ({sign} separated)", "show field number {n} of the string {text}, the delimiter is a {sign}", "with a {sign} as delimiter, which is the {n:th} field of {text}?", "i need the {n:th} of the parts that a {sign} separates in {text}",
          "extract the {n:th} {sign} separated field from the text {text}"),
    nouns=("part {n} of {text}, split at the {sign}", "the {n:th} item of the {sign} separated text {text}", "field {n} of the string {text} with a {sign} as delimiter", "the {n:th} piece of {text} between the {sign} signs", "item {n} in the {sign} separated list {text}"),
)
entry(
    "base64_text", START, VALUE, draw=_text, reference=lambda w, x, p: [base64.b64encode(p["text"].encode()).decode()],
    ways=("printf %s {text} | base64", "printf %s {text} | openssl base64 -A"),
    asks=("encode the text {text} as base64, without a trailing newline in it", "what is the string {text} in base64? encode it without a newline", "print the base64 code of the text {text} (only these characters, no line end)", "base64 of the string {text}, without a newline at its end",
          "convert exactly the text {text} to base64, no newline added", "{text} in base64 please, don't encode a newline", "base64-encode the words {text} and nothing more, not even a newline", "i need the base64 form of the string {text}, newline not included",
          "turn the text {text} into base64, the line break of echo must not be encoded", "show how {text} looks base64 encoded, without a final newline"),
    nouns=("the base64 code of the text {text}, no newline included", "the string {text} in base64, without a newline", "the text {text} base64-encoded, no line end in it", "the base64 form of exactly the text {text}", "{text} as base64 without a final newline"),
)
entry(
    "base64_decode", START, VALUE, draw=lambda d: {"text": base64.b64encode(f"{_phrase(d)}\n".encode()).decode()}, reference=lambda w, x, p: base64.b64decode(p["text"]).decode().splitlines(),
    ways=("echo {text} | base64 -d", "echo {text} | openssl base64 -d -A", "perl -MMIME::Base64 -e 'print decode_base64($ARGV[0])' {text}"),
    asks=("decode the base64 string {text}", "what does the base64 text {text} say?", "print the plain text of {text}, which is base64", "base64-decode {text}", "{text} is base64, what is in it?", "turn the base64 code {text} back into text", "show the text hidden in base64 {text}", "i need {text} decoded from base64",
          "read the base64 {text} and output the decoded text", "undo the base64 encoding of {text}"),
    nouns=("the decoded base64 string {text}", "the plain text of the base64 code {text}", "what the base64 text {text} says", "the text behind the base64 {text}", "{text} decoded from base64"),
)
for _tool in HASHES:
    entry(
        f"hash_text.{_tool}", START, VALUE, draw=_text, reference=lambda w, x, p, tool=_tool: [hashlib.new(tool, p["text"].encode(), usedforsecurity=False).hexdigest()],  # type: ignore[misc]
        ways=(f"printf %s {{text}} | {_tool}sum | cut -d' ' -f1", f"printf %s {{text}} | openssl dgst -{_tool} -r | awk '{{print $1}}'"),
        asks=(f"print the {_tool} hash of the text {{text}}, no newline included, only the hash", f"what is the {_tool} of the string {{text}} (without a trailing newline)? just the hex digest", f"compute {_tool} for the text {{text}}, digest only, don't hash a newline",
              f"{_tool} of the string {{text}}, newline not included, bare hash", f"hash the text {{text}} with {_tool}, without a line end, and show nothing but the digest", f"i need only the {_tool} digest of exactly the string {{text}}, no newline",
              f"give me the bare {_tool} checksum of the words {{text}} without a newline at the end", f"{{text}}: {_tool} of that text, no newline, only the hex digits", f"calculate the {_tool} sum of the string {{text}}, not counting a newline, without the dash behind it",
              f"take the {_tool} of exactly the text {{text}}, no final newline, hash alone"),
        nouns=(f"the {_tool} hash of the text {{text}} without a newline, hash only", f"the bare {_tool} digest of the string {{text}}, no newline included", f"only the {_tool} checksum of exactly the text {{text}}", f"the {_tool} of the words {{text}}, newline not included, digest only",
               f"just the {_tool} sum of the text {{text}} without a line end"),
    )
entry(
    "url_decode", START, VALUE, draw=_percent_coded, reference=lambda w, x, p: [re.sub("%(..)", lambda m: chr(int(m.group(1), 16)), p["text"])],
    ways=("echo {text} | perl -pe 's/%(..)/chr hex $1/ge'", "printf '%b\\n' \"$(echo {text} | sed 's/%/\\\\x/g')\"", "python3 -c 'import sys,urllib.parse as u;print(u.unquote(sys.argv[1]))' {text}"),
    asks=("url-decode {text}", "decode the percent-encoded string {text}", "what does {text} say when it is url decoded?", "print {text} with the percent codes turned back into characters", "{text}: decode that, it comes from a URL", "convert the url-encoded text {text} to plain text", "undo the percent encoding in {text}",
          "i need {text} url decoded", "show the plain text of the url-encoded {text}", "replace all %XX codes in {text} by the characters they stand for"),
    nouns=("the url-decoded form of {text}", "the plain text of the percent-encoded {text}", "{text} with its percent codes decoded", "what the url-encoded string {text} says", "the decoded text of {text}, which is url encoded"),
)
entry(
    "hex_bytes", START, VALUE, draw=_bytes, reference=lambda w, x, p: [w.file(p["file"]).data[: int(p["count"])].hex()],
    ways=("head -c {count} {file} | xxd -p", "xxd -p -l {count} {file}", "od -An -v -tx1 -N {count} {file} | tr -d ' \\n'"),
    asks=("print the first {count} bytes of {file} in hex, without blanks or offsets", "show the first {count} bytes of {file} as a plain hex string", "what are the first {count} bytes of {file} in hexadecimal? one run of lower case digits", "{file}: leading {count} bytes as plain hex",
          "dump {count} bytes from the start of {file} as hex digits only, no spaces", "hex string of the first {count} bytes in {file}, lower case, no separators", "give me the first {count} bytes of {file} as bare hex digits", "i need the opening {count} bytes of {file} in hex, plain style",
          "read {count} bytes from the beginning of {file} and write them as continuous hex", "get a plain hexdump of only the first {count} bytes of {file}, nothing but digits"),
    nouns=("the first {count} bytes of {file}, written as plain hex", "the leading {count} bytes of {file} in bare hex digits", "the hex digits of the first {count} bytes of {file}", "the opening {count} bytes of {file} in hex without blanks", "a plain hexdump of the first {count} bytes of {file}"),
)
