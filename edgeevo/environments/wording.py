"""How a request is put into words: templates with choices, how values are named, path style, quoting, politeness. Each varies on its own.

Templates are split between practice, exam and audit per entry and per list by hash of their text; a held-out template is never practised.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass
from functools import cache
from random import Random

from edgeevo.domain import Split, derive_seed

PATHS = {"dir", "dir2", "file", "file2", "src", "dst", "out", "in", "link", "archive"}
QUOTED = {"word", "word2", "column", "level", "char", "old", "new", "text", "key", "value", "name", "glob", "user", "member"}
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")
HERE = ("the current directory", "this directory", "the current folder", "this folder", "the working directory")
OPENERS = {  # each split begins its requests in its own ways: they are long enough to be recognised
    Split.PRACTICE: ("", "", "", "", "please ", "can you ", "i need you to ", "i want to "),
    Split.EXAM: ("", "", "", "could you "),
    Split.AUDIT: ("", "", "", "", "would you ", "help me "),
}
CLOSERS = ("", "", "", ".", ".", " please")
FRAGMENT = frozenset(
    "number which what how where who all the first last top bottom everything every names files lines non in on from recently are is does "
    "line size reverse {in} empty executables rows values unique largest smallest lowest highest longest most maximum minimum mean hex "
    "sorted numbers days row slow comma-separated before nobody no only full bare numeric i there days just newest oldest value "
    "everywhere".split()
)  # requests that begin so are no imperatives: no "please" or "can you" before them
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(<?\w+)(?::(\w+))?\}")


@cache
def pool(templates: tuple[str, ...], split: Split) -> tuple[int, ...]:
    """Indices of the templates that belong to a split: ordered by hash, the first for audit, the second for exam, the rest for practice.

    From six templates on, audit has two. A list of one or two belongs to practice alone and is never asked elsewhere.
    """
    order = sorted(range(len(templates)), key=lambda i: derive_seed("wording", templates[i]))
    if len(order) < 3:
        return tuple(order) if split is Split.PRACTICE else ()
    audit = 2 if len(order) >= 6 else 1
    return tuple({Split.AUDIT: order[:audit], Split.EXAM: order[audit : audit + 1], Split.PRACTICE: order[audit + 1 :]}[split])


@dataclass(frozen=True)
class Style:
    """How one task speaks: path style, quotes around names and texts, number words, directories with their noun."""

    paths: str  # absolute, relative, tilde, dot
    quote: str
    number_words: bool
    noun: bool
    dotted_ext: bool

    @staticmethod
    def draw(rng: Random) -> Style:
        """Each dimension on its own."""
        return Style(
            paths=rng.choice(("absolute", "relative", "relative", "tilde", "dot")),
            quote=rng.choice(("", "", "'", '"', "`")),
            number_words=rng.random() < 0.25,
            noun=rng.random() < 0.25,
            dotted_ext=rng.random() < 0.5,
        )


@dataclass(frozen=True)
class Speaker:
    """Says values of one task in words and in shell."""

    style: Style
    cwd: str
    home: str

    def path(self, path: str) -> str:
        """`path` in the task's style; relative only beneath the working directory, tilde only beneath home."""
        below = path == self.cwd or path.startswith(self.cwd.rstrip("/") + "/")
        if below and self.style.paths in ("relative", "dot"):
            relative = posixpath.relpath(path, self.cwd)
            return relative if relative == "." or self.style.paths == "relative" else f"./{relative}"
        if self.style.paths == "tilde" and path.startswith(self.home + "/"):
            return "~" + path[len(self.home) :]
        return path

    def shell_path(self, path: str) -> str:
        """`path` as a shell word; the tilde stays outside the quotes, a leading dash gets `./`."""
        shown = self.path(path)
        if shown.startswith("~/"):
            return "~/" + shlex.quote(shown[2:])
        return shlex.quote(f"./{shown}" if shown.startswith("-") else shown)

    def say(self, name: str, value: str, rng: Random) -> str:
        """A parameter as a person writes it."""
        quote = self.style.quote
        if name in PATHS:
            shown = self.path(value)
            if shown == ".":
                return rng.choice(HERE)
            mark = quote or ("'" if " " in shown else "")
            shown = f"{mark}{shown}{mark}"
            if name.startswith("dir") and self.style.noun:
                return rng.choice((f"the {shown} directory", f"the directory {shown}", f"the {shown} folder", f"folder {shown}"))
            return shown
        if name in QUOTED:
            mark = quote or ("'" if not value.isalnum() or rng.random() < 0.5 else "")
            return f"{mark}{value}{mark}"
        if name in ("n", "m") and value.isdigit() and int(value) < len(NUMBER_WORDS) and self.style.number_words:
            return NUMBER_WORDS[int(value)]
        if name in ("ext", "ext2"):
            return f".{value}" if self.style.dotted_ext else value
        return value

    def ordinal(self, value: str, rng: Random) -> str:
        """A place in a row as a person writes it: third, 3rd, 3."""
        number = int(value)
        if self.style.number_words and number < len(ORDINALS):
            return ORDINALS[number]
        ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        return rng.choice((f"{number}{ending}", f"{number}."))

    def fill(self, template: str, params: dict[str, str], rng: Random) -> str:
        """A wording template with its choices made and its values said; `{n:th}` is said as an ordinal."""
        chosen = template
        while _CHOICE.search(chosen):
            chosen = _CHOICE.sub(lambda m: rng.choice(m.group(1).split("|")), chosen, count=1)

        def said(match: re.Match[str]) -> str:
            name, form = match.group(1), match.group(2)
            return self.ordinal(params[name], rng) if form == "th" else self.say(name, params[name], rng)

        return " ".join(_SLOT.sub(said, chosen).split())

    def shell(self, way: str, params: dict[str, str], *, piped: bool) -> str:
        """A way with its values quoted for the shell; `piped` leaves the input file out."""

        def value(match: re.Match[str]) -> str:
            name, form = match.group(1), match.group(2)
            if name == "print":  # awk's own braces
                return match.group(0)
            if name in ("in", "<in"):
                return "" if piped else ("< " if name == "<in" else "") + self.shell_path(params["in"])
            if form == "raw":
                return params[name]
            return self.shell_path(params[name]) if name in PATHS else shlex.quote(params[name])

        return _SLOT.sub(value, way.replace(" {in}", "").replace(" {<in}", "") if piped else way)


def polish(sentence: str, rng: Random, split: Split, *, opens_with_value: bool) -> str:
    """A whole request as a person would type it: an opener, a capital or none, a full stop, a question mark or nothing.

    A request that `opens_with_value` keeps its first letter: it may be a path.
    """
    question = sentence.endswith("?")
    first, second = [*sentence.lower().split(maxsplit=2), "", ""][:2]
    fragment = first.rstrip(":,") in FRAGMENT or second == "of"
    opener = "" if question or opens_with_value or fragment else rng.choice(OPENERS[split])
    if second == "me" and opener in ("i want to ", "help me "):  # nobody wants to give themselves a list
        opener = ""
    sentence = opener + sentence
    if not opens_with_value and rng.random() < 0.6:
        sentence = sentence[0].upper() + sentence[1:]
    if question:
        return sentence if rng.random() < 0.8 else sentence[:-1]
    return sentence + ("?" if opener.startswith(("can", "could", "would")) and rng.random() < 0.7 else rng.choice(CLOSERS))
