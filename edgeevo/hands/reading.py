"""Reading a shell command that is meant to judge: a small language of which each word is understood, and nothing else.

    parse(text)  ->  its simple commands, those in substitutions included; NotUnderstoodError for whatever is not listed here
    only_reads(program, arguments)  ->  whether it can do nothing but read data and judge it

The language: words of plain characters, quoted constants and patterns; `|`, `&&`, `||`, `;`, line ends and comments; redirections from
files, to /dev/null, to /tmp and between 1 and 2; `<(…)` as a word; `"$(…)"` and, when it only counts (`wc`), `$(…)` as a whole word.
There are no variables and no functions.
"""

from __future__ import annotations

import re

from edgeevo.domain import Value

PROGRAMS = frozenset(
    "[ : basename cat cksum cmp comm cut diff dirname du echo egrep exit expand false fgrep find fold grep head join ls md5sum nl od paste "
    "printf pwd readlink realpath rev seq sha1sum sha256sum sha512sum sort stat sum tac tail test tr true uniq wc".split()
)
FIND_WORDS = re.compile(
    r"[^-].*|-(name|iname|type|path|ipath|size|empty|newer|maxdepth|mindepth|print|print0|quit|perm|user|group|not|o|a|or|and|mtime|mmin|links"
    r"|L|P|H|prune|depth|printf|regex|\d+)"
)
OPTIONS = {
    "find": FIND_WORDS,
    "sort": re.compile(r"[^-].*|-|-[bdfghiMnRrVcCmsuzkt][^\s]*|--(reverse|numeric-sort|unique|check|human-numeric-sort|version-sort)"),
    "printf": re.compile(r"[^-].*"),
    "exit": re.compile(r"\d+"),
}
COMPARISONS = frozenset(["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
SCRATCH = "/tmp/"  # noqa: S108 - a check's own, in its sandbox
SUBSTITUTED, COUNTED, PROCESS = "\0", "\1", "/dev/fd/63"

_TOKENS = re.compile(
    r"""(?P<blank>[ \t]+|\\\n)
    |(?P<comment>\#[^\n]*)
    |(?P<redirect>[012]?(?:>>|>&|<|>))
    |(?P<join>&&|\|\||\||;|\n)""",
    re.VERBOSE,
)
_PIECES = re.compile(
    r"""'(?P<single>[^'\0\1]*)'
    |(?P<plain>[\w./,:=+@%^!\[\]*?-]+)
    |\\(?P<escaped>[^\n\0\1])""",
    re.VERBOSE | re.ASCII,
)
_QUOTED = re.compile(r'(?P<text>[^"\\$`\0\1]+)|\\(?P<escaped>["\\$`])|(?P<backslash>\\[^"\\$`\n\0\1])')
_LETTER = re.compile(r"[^\x00-\x7f]+")


class NotUnderstoodError(Exception):
    """The text does something that this module does not know for sure."""


class Word(Value):
    """A word as the program gets it, or as it is written when it is a `pattern`; `given` when part of it comes out of other commands."""

    text: str
    pattern: bool = False
    given: bool = False

    @property
    def constant(self) -> bool:
        """Whether the text is all that there is to it."""
        return not self.pattern and not self.given


Command = tuple[Word, ...]


def parse(text: str) -> list[Command]:
    """The simple commands of a text; redirections are checked and left out."""
    parser = _Parser(text)
    parser.commands(closing=False)
    return parser.found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.found: list[Command] = []

    def commands(self, *, closing: bool) -> tuple[list[Command], bool]:
        """Read up to the end, or to the bracket that closes a substitution; gives this level's commands, and whether they are a pipe."""
        here: list[Command] = []
        words: list[Word] = []
        target, piped = "", True
        while self._at < len(self._text) and not (closing and self._text[self._at] == ")"):
            if self._text.startswith("<(", self._at):
                if target:
                    raise NotUnderstoodError
                words.append(self._process())
                continue
            token = _TOKENS.match(self._text, self._at)
            if token is None:
                word = self._word()
                if target:
                    _check_target(target, word)
                    target = ""
                else:
                    words.append(word)
                continue
            self._at = token.end()
            if token.lastgroup in ("blank", "comment"):
                continue
            if target:
                raise NotUnderstoodError  # a redirection without its file
            if token.lastgroup == "redirect":
                target = token[0]
            else:
                here.append(tuple(words))
                words = []
                piped = piped and token[0] == "|"
        if target or (closing and self._at >= len(self._text)):
            raise NotUnderstoodError
        here.append(tuple(words))
        here = [command for command in here if command]
        self.found += here
        return here, piped

    def _inner(self) -> tuple[list[Command], bool]:
        inner = self.commands(closing=True)
        self._at += 1
        return inner

    def _process(self) -> Word:
        self._at += 2
        self._inner()
        self._whole_word()
        return Word(text=PROCESS, given=True)

    def _whole_word(self, also: str = "") -> None:
        if self._at < len(self._text) and (self._text[self._at] not in " \t\n;|&)" + also or self._text.startswith("<(", self._at)):
            raise NotUnderstoodError

    def _word(self) -> Word:
        start, text, pattern, given = self._at, "", False, False
        if self._text.startswith("$(", self._at) and not self._text.startswith("$((", self._at):
            self._at += 2
            if not _counts(*self._inner()):
                raise NotUnderstoodError  # what it gives would be split, and might become anything
            self._whole_word()
            return Word(text=COUNTED, given=True)
        while self._at < len(self._text):
            if self._text[self._at] == '"':
                piece = self._quoted()
                text, given = text + piece, given or SUBSTITUTED in piece
            elif match := _PIECES.match(self._text, self._at):
                self._at = match.end()
                text += match[match.lastgroup or 0]
                pattern = pattern or bool(re.search(r"[*?\[]", match["plain"] or ""))
            elif match := _LETTER.match(self._text, self._at):
                self._at, text = match.end(), text + match[0]
            elif self._text[self._at] == "#" and self._at > start:
                self._at, text = self._at + 1, text + "#"
            else:
                break
        if self._at == start:
            raise NotUnderstoodError
        self._whole_word("" if text.isdigit() else "<>")
        return Word(text=text, pattern=pattern and text != "[", given=given)

    def _quoted(self) -> str:
        self._at += 1
        text = ""
        while not self._text.startswith('"', self._at):
            if self._text.startswith("$(", self._at) and not self._text.startswith("$((", self._at):
                self._at += 2
                self._inner()
                text += SUBSTITUTED
            elif self._text.startswith("$", self._at) and self._text[self._at + 1 : self._at + 2] in ('"', " ", "|", ")"):
                self._at, text = self._at + 1, text + "$"  # an end of line in a pattern
            elif match := _QUOTED.match(self._text, self._at):
                self._at = match.end()
                text += match[match.lastgroup or 0]
            else:
                raise NotUnderstoodError
        self._at += 1
        return text


def _check_target(operator: str, word: Word) -> None:
    """Files may be read; written to is only what nobody runs."""
    if not word.constant:
        raise NotUnderstoodError
    if operator.endswith(">&"):
        fine = word.text in ("1", "2")
    elif operator.endswith("<"):
        fine = True
    else:
        fine = word.text in ("/dev/null", "/dev/stdout", "/dev/stderr") or (word.text.startswith(SCRATCH) and ".." not in word.text)
    if not fine:
        raise NotUnderstoodError


def _counts(commands: list[Command], piped: bool) -> bool:  # noqa: FBT001 - the two halves of one answer
    """Whether all that these can say is a number: the last is `wc` of what it is given, and the others feed it."""
    if not commands or not piped:
        return False
    last = commands[-1]
    return last[0].text == "wc" and all(re.fullmatch(r"-[lcwm]", word.text) for word in last[1:])


def only_reads(program: str, arguments: Command) -> bool:
    """Whether `program`, told this, can do nothing but read data and judge it."""
    if program not in PROGRAMS:
        return False
    if program in ("[", "test"):
        return _only_tests(program, arguments)
    if any(mark in word.text for word in arguments for mark in (SUBSTITUTED, COUNTED)):
        return program == "echo"
    return program not in OPTIONS or all(OPTIONS[program].fullmatch(word.text) for word in arguments)


def _only_tests(program: str, arguments: Command) -> bool:
    """A condition whose shape is fixed: bash evaluates what `-v` is given, and what is substituted must not become an operator."""
    if program == "[":
        if not arguments or arguments[-1] != Word(text="]"):
            return False
        arguments = arguments[:-1]
    while arguments and arguments[0] == Word(text="!"):
        arguments = arguments[1:]
    if all(word.constant for word in arguments):
        return not any(word.text in ("-v", "-R") for word in arguments)
    if any(word.pattern for word in arguments):
        return False
    if len(arguments) == 3:
        return arguments[1].constant and arguments[1].text in COMPARISONS
    return len(arguments) == 1 or (len(arguments) == 2 and arguments[0].constant and arguments[0].text in ("-n", "-z"))
