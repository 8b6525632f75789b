"""How a request is put into words: templates with choices, how values are named, path style, quoting, politeness. Each varies on its own.

Templates are split between practice, exam and audit per entry and per list by hash of their text; a held-out template is never practised.
"""

from __future__ import annotations

import enum
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
HERE = (
    "the current directory",
    "this directory",
    "the current folder",
    "this folder",
    "the working directory",
    "the current working directory",
    "the directory i am in",
)
OPENERS = {  # each split begins its requests in its own ways: they are long enough to be recognised
    Split.PRACTICE: (
        *("",) * 9,
        *("please ", "can you ", "i need you to ", "i want to ", "i need to ", "pls ", "i'd like you to ", "kindly "),
    ),
    Split.EXAM: ("", "", "", "could you "),
    Split.AUDIT: ("", "", "", "", "would you ", "help me "),
}
OF_ONESELF = ("i want to ", "i need to ", "help me ")  # nobody wants to give themselves a list
POLITE = ("please ", "pls ", "kindly ")  # they take no second please
CLOSERS = ("", "", "", "", ".", ".", ".", " please", ", thanks")

_UNITS = "(line|number|value|character|char|word|day|byte|kilobyte|file)s"
_ONE_AFTER = re.compile(rf"\b(first|last|top|bottom|final) (?:1|one) {_UNITS}\b")
_ONE_OF = re.compile(r"\b(first|last|top|bottom|final|leading|the) 1(?= of\b| at\b| that\b|$)")
_ONE_BEFORE = re.compile(rf"(?<![\w./:-])((?:1|one)(?: first| last)?) {_UNITS}\b")

# Verbs that open a template, and what a person may say instead: varied here once, not in every list. Each way one direction only, so that
# no template becomes another one of its list (a test).
_SHOW = ("show", "print", "display", "output")
SWAPS = {
    **dict.fromkeys(_SHOW, _SHOW),
    "delete": ("delete", "delete", "remove", "erase"),
    "create": ("create", "create", "make"),
    "compute": ("compute", "calculate", "work out", "determine"),
    "calculate": ("compute", "calculate", "work out", "determine"),
    "locate": ("locate", "find"),
}
FOR_ME = ("show", "give", "get")
GATHER = ("get", "get", "take")
# Manuals speak so: "Counts the lines of …". Only for a request of one clause.
_MANUAL = frozenset(
    "find list show print display output count sort search delete remove copy move replace create make get extract locate change set add "
    "append write save compute calculate convert compress pack unpack rename reverse truncate join number order sum concatenate encode "
    "multiply filter overwrite insert prepend".split()
)
_ORDERS = re.compile(
    r"(?:[,;:.]|\band|\bbut|\bthen) (?:then |only |just )?(?:do not|don't|leave|keep|skip|drop|"
    + "|".join(sorted(_MANUAL))
    + r")\b|\b(?:me|i|my)\b"
)
FRAGMENT = frozenset(
    "number which what how where who all the first last top bottom everything every names files lines non in on from recently are is does "
    "line size reverse {in} empty executables rows values unique largest smallest lowest highest longest most maximum minimum mean hex "
    "sorted numbers days row slow comma-separated before nobody no only full bare numeric i there days just newest oldest value "
    "everywhere to into of given starting with for among step a recursive non-recursive".split()
)  # requests that begin so are no imperatives: no "please" or "can you" before them
CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(<?\w+)(?::(\w+))?\}")
_EXT_FILES = re.compile(r" \{ext\} files?\b")


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


class Manner(enum.Enum):
    """What else a request may be given: nothing, an opener, or the third person of manuals as well."""

    CURT = 0
    PLAIN = 1
    ALONE = 2


@dataclass(frozen=True)
class Style:
    """How one task speaks: path style, quotes around names and texts, number words, directories with their noun."""

    paths: str  # absolute, relative, tilde, dot
    quote: str
    number_words: bool
    noun: bool
    dotted_ext: bool
    slash: bool = False  # directories end in one
    glob_ext: bool = False  # "*.log files"

    @staticmethod
    def draw(rng: Random) -> Style:
        """Each dimension on its own."""
        return Style(
            paths=rng.choice(("absolute", "relative", "relative", "tilde", "dot")),
            quote=rng.choice(("", "", "'", '"', "`")),
            number_words=rng.random() < 0.25,
            noun=rng.random() < 0.25,
            dotted_ext=rng.random() < 0.5,
            slash=rng.random() < 0.15,
            glob_ext=rng.random() < 0.15,
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
            if name.startswith("dir") and self.style.slash:
                shown += "/"
            shown = f"{mark}{shown}{mark}"
            if name.startswith("dir") and self.style.noun:
                return rng.choice(
                    (
                        f"the {shown} directory",
                        f"the directory {shown}",
                        f"the {shown} folder",
                        f"folder {shown}",
                        f"directory {shown}",
                        f"the folder {shown}",
                    )
                )
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
        while CHOICE.search(chosen):
            chosen = CHOICE.sub(lambda m: rng.choice(m.group(1).split("|")), chosen, count=1)

        def said(match: re.Match[str]) -> str:
            name, form = match.group(1), match.group(2)
            if name == "ext" and self.style.glob_ext and _EXT_FILES.match(chosen, match.start() - 1):
                return f"*.{params[name]}"
            return self.ordinal(params[name], rng) if form == "th" else self.say(name, params[name], rng)

        sentence = " ".join(_SLOT.sub(said, chosen).split())
        return _singular(re.sub(r"\bthe (?=(?:the|this) )", "", sentence))  # "the {dir} tree", where {dir} has an article of its own

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


def _singular(sentence: str) -> str:
    """`the last 1 lines` as a person says it."""
    sentence = _ONE_AFTER.sub(lambda m: f"{m.group(1)} {m.group(2)}", sentence)
    sentence = _ONE_OF.sub(r"\1 one", sentence)
    return _ONE_BEFORE.sub(lambda m: f"{m.group(1)} {m.group(2)}", sentence)


def varied(template: str, rng: Random) -> str:
    """A template with another verb at its head, where one fits."""
    first, _, rest = template.partition(" ")
    if first in FOR_ME and rest.startswith("me "):
        return f"{rng.choice(FOR_ME)} {rest}"
    if first in SWAPS and rng.random() < 0.5:
        return f"{rng.choice(SWAPS[first])} {rest}"
    return template


def gathered(template: str, rng: Random) -> str:
    """A template whose result is only worked on: it asks for nothing to be printed."""
    first, _, rest = template.partition(" ")
    if first not in (*_SHOW, "give"):
        return template
    rest = rest.removeprefix("me ")
    asks = rest.startswith(("which ", "what ", "how "))
    return f"{'find out' if asks else rng.choice(GATHER)} {rest}"


def _as_a_manual(sentence: str) -> str | None:
    """The request in the third person; None when it isn't one plain order."""
    verb, _, rest = sentence.partition(" ")
    if verb not in _MANUAL or _ORDERS.search(rest):
        return None
    if verb.endswith(("py", "ly")):
        verb = verb[:-1] + "ie"
    return f"{verb}{'es' if verb.endswith(('s', 'x', 'ch', 'sh')) else 's'} {rest}"


def polish(sentence: str, rng: Random, split: Split, *, opens_with_value: bool, manner: Manner = Manner.PLAIN) -> str:
    """A whole request as a person would type it: an opener, a capital or none, a full stop, a question mark or nothing.

    A request that `opens_with_value` keeps its first letter: it may be a path. One clause that stands alone may be told as manuals do.
    """
    manual = _as_a_manual(sentence) if manner is Manner.ALONE and rng.random() < 0.1 else None
    if manual:
        return manual[0].upper() + manual[1:] + rng.choice(("", "."))
    question = sentence.endswith("?")
    first, second = [*sentence.lower().split(maxsplit=2), "", ""][:2]
    fragment = first.rstrip(":,") in FRAGMENT or second == "of"
    bare = question or opens_with_value or fragment or manner is Manner.CURT
    opener = "" if bare else rng.choice(OPENERS[split])
    if second == "me" and opener in OF_ONESELF:
        opener = ""
    sentence = opener + sentence
    if not opens_with_value and rng.random() < 0.6:
        sentence = sentence[0].upper() + sentence[1:]
    if question:
        return sentence if rng.random() < 0.8 else sentence[:-1]
    asked = opener.startswith(("can", "could", "would")) and ". " not in sentence and rng.random() < 0.7
    polite = opener in POLITE
    return sentence + ("?" if asked else rng.choice(CLOSERS[: -2 if polite else None]))
