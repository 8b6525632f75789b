"""May a check that passed be believed? Not when it ran, or read as code, what the agent had changed: then the agent wrote its own verdict.

    code_behind(check, directory, changes, opened)  ->  the changed paths that the check ran or may have read as code

`opened` is what the sandbox saw the check open (None: it does not know). A check that is understood is one made of programs that only
read data (grep, test, sort …) and of shell scripts made of those: there, a changed file is code when it is executable and was opened, or is
run or sourced by its path. In any other check every changed file that was opened counts as code, and so does every link and every removal.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from edgeevo.domain import Changes, File, Link

READERS = frozenset(
    "awk base32 base64 basename cat cksum cmp column comm cut date df diff dirname du egrep expand expr fgrep file find fmt fold gawk "
    "getfacl getfattr grep gunzip gzip head hexdump join jq ls lsattr mawk md5sum nl od paste pr pwd readlink realpath rev sdiff sed seq "
    "sha1sum sha256sum sha512sum shuf sort stat strings sum tac tail tar tee tr tsort uniq unexpand unzip wc xxd xz xzcat zcat zgrep "
    "zipinfo".split()
)
BUILTINS = frozenset(": [ [[ break continue echo exit false printf read return set shift test true unset wait".split())
KEYWORDS = frozenset(["!", "if", "then", "elif", "else", "while", "until", "do", "{", "time"])
ENDINGS = frozenset(["fi", "done", "}"])
SHELLS = frozenset(["sh", "bash", "dash"])
SYSTEM = ("/bin/", "/usr/bin/")
OPTION_RUNNERS = {
    "find": r"-(exec|ok)(dir)?$|-fprint|-fls",
    "awk": r"-[filE]|--(file|include|load|exec)|.*(system\(|\||getline|@)",
    "gawk": r"-[filE]|--(file|include|load|exec)|.*(system\(|\||getline|@)",
    "mawk": r"-f|--file|.*(system\(|\||getline)",
    "sed": r"-[a-zA-Z]*f|--file|(.*[;0-9$/ ])?(e$|e |s(?P<by>.).*(?P=by).*(?P=by)[gpiImM0-9]*e)",
    "[[": r"-(eq|ne|lt|le|gt|ge|v)$",  # bash evaluates their operands, and what a file says would be run
    "sort": r"--compress-program",
    "tar": r"-I|-F|--(to-command|use-compress-program|checkpoint-action|info-script|new-volume-script|rsh-command|rmt-command)",
    "jq": r"-[a-zA-Z]*[fL]|--(from-file|library-path)",
    "file": r"-[a-zA-Z]*m|--magic-file",
}
LANGUAGES = frozenset(["awk", "gawk", "mawk", "sed"])  # a dollar in their arguments is their own
STEERING = re.compile(r"(PATH|IFS|ENV|BASH_ENV|SHELLOPTS|LD_\w+|\w*PATH)\+?=")
MAX_SCRIPT_BYTES, MAX_SCRIPTS = 65_536, 16
HOLE = "\0"  # stands for what a substitution gives


class _NotUnderstoodError(Exception):
    """The text does something that this module can't follow."""


def code_behind(check: str, directory: str, changes: Changes, opened: frozenset[str] | None) -> tuple[str, ...]:
    """The changed paths that `check`, run in `directory`, ran or may have read as code; sorted, empty when it may be believed."""
    if not changes.nodes:
        return ()
    reading = _Reading(directory, changes)
    try:
        if any(posixpath.basename(path).startswith("-") for path in changes.nodes):
            raise _NotUnderstoodError  # a pattern would give such a name to a program as an option
        reading.follow(check)
        found = {path for path in reading.ran if reading.changed(path)} | set(_executables(changes, opened))
    except _NotUnderstoodError:
        found = set(changes.nodes) if opened is None else set(opened) & set(changes.nodes)
        found |= {path for path, node in changes.nodes.items() if node is None or isinstance(node, Link)}
    return tuple(sorted(found))


def _executables(changes: Changes, opened: frozenset[str] | None) -> Iterator[str]:
    """Programs that were opened, and programs that are gone, so that another one may have been found."""
    for path, node in changes.nodes.items():
        if isinstance(node, File) and node.mode & 0o111 and (opened is None or path in opened):
            yield path
        if node is None and os.path.isfile(path) and os.access(path, os.X_OK):
            yield path


class _Reading:
    """What a check runs by path, found by reading it and the scripts that it runs."""

    def __init__(self, directory: str, changes: Changes) -> None:
        self._directory, self._changes = directory, changes
        self.ran: set[str] = set()

    def changed(self, path: str) -> bool:
        """Whether a path, or a link or removal on the way to it, is of the agent's making."""
        nodes = self._changes.nodes
        if path in nodes:
            return True
        above = posixpath.dirname(path)
        while above not in ("/", ""):
            if above in nodes and (nodes[above] is None or isinstance(nodes[above], Link)):
                return True
            above = posixpath.dirname(above)
        return False

    def follow(self, text: str) -> None:
        """Note what `text` runs; _NotUnderstoodError when that can't be told."""
        for part in _parts(text):
            for words in _commands(part):
                self._command(words)

    def _command(self, words: list[str]) -> None:
        while words and (words[0] in KEYWORDS or re.match(r"\w+\+?=", words[0])):
            words = words[1:]
        if not words or words[0] in ENDINGS:
            return
        name, arguments = words[0], words[1:]
        if name == "for":
            return
        if name in (".", "source"):
            self._script(arguments[0] if arguments else HOLE)
            return
        if name.startswith(SYSTEM):
            name = posixpath.basename(name)
        if "/" in name:
            self._script(name)
        elif name in SHELLS:
            self._shell(arguments)
        elif name not in READERS | BUILTINS or _runs_what_it_reads(name, arguments):
            raise _NotUnderstoodError

    def _shell(self, arguments: list[str]) -> None:
        while arguments and re.fullmatch(r"-[euxvn]+", arguments[0]):
            arguments = arguments[1:]
        if len(arguments) > 1 and re.fullmatch(r"-[eux]*c", arguments[0]):
            self.follow(arguments[1])
        elif arguments and not arguments[0].startswith("-"):
            self._script(arguments[0])
        else:
            raise _NotUnderstoodError

    def _script(self, word: str) -> None:
        """A file that is run or sourced: as the agent left it it is noted, as it was it is read on."""
        if re.search(r"[\0$*?\[~{]", word) or len(self.ran) >= MAX_SCRIPTS:
            raise _NotUnderstoodError
        path = posixpath.normpath(posixpath.join(self._directory, word))
        real = os.path.realpath(path)
        if path in self.ran:
            return
        self.ran |= {path, real}
        if self.changed(path) or self.changed(real):
            return
        try:
            text = Path(real).read_bytes()[: MAX_SCRIPT_BYTES + 1].decode()
        except (OSError, UnicodeDecodeError) as error:
            raise _NotUnderstoodError from error
        first = text.partition("\n")[0]
        if len(text) > MAX_SCRIPT_BYTES or (first.startswith("#!") and not re.search(r"[/ ](ba|da)?sh( -[eux]+)?$", first.rstrip())):
            raise _NotUnderstoodError
        self.follow(text)


def _runs_what_it_reads(name: str, arguments: list[str]) -> bool:
    """Whether a program that only reads is told here to run something, or could be by what a file says."""
    options = OPTION_RUNNERS.get(name)
    if options is None:
        return False
    unknown = rf"{HOLE}|^\$" if name in LANGUAGES else rf"{HOLE}|\$[A-Za-z_{{@*]"
    given = name != "[["  # a condition takes no options from what it is given
    return any(re.match(options, word, re.DOTALL) or (given and re.search(unknown, word)) for word in arguments)


def _parts(text: str) -> Iterator[str]:
    """The text with every substitution cut out, then what is substituted, each on its own."""
    waiting = [text]
    while waiting:
        outer, inner = _cut(waiting.pop())
        yield outer
        waiting += inner


def _cut(text: str) -> tuple[str, list[str]]:
    """Cut out $(…), <(…), >(…) and `…`, leaving HOLE; single quotes and comments protect."""
    kept, inner, at, quoted = [], [], 0, False
    while at < len(text):
        here = text[at]
        if here == "\\":
            kept.append(text[at : at + 2])
            at += 2
        elif here == "#" and not quoted and (at == 0 or text[at - 1] in " \t\n;&|()"):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text[at : at + 2] in ("$'", '$"') and not quoted:
            raise _NotUnderstoodError  # quoting of other kinds
        elif here == "'" and not quoted:
            end = _find(text, "'", at + 1)
            kept.append(text[at : end + 1])
            at = end + 1
        elif here == "`":
            end = _find(text, "`", at + 1)
            inner.append(text[at + 1 : end])
            kept.append(HOLE)
            at = end + 1
        elif text[at : at + 2] in ("$(", "<(", ">("):
            end = _closing(text, at + 2)
            inner.append(text[at + 2 : end])
            kept.append(HOLE)
            at = end + 1
        else:
            quoted ^= here == '"'
            kept.append(here)
            at += 1
    return "".join(kept), inner


def _find(text: str, what: str, start: int) -> int:
    end = text.find(what, start)
    if end < 0:
        raise _NotUnderstoodError
    return end


def _closing(text: str, at: int) -> int:
    """Where the bracket that was opened before `at` closes."""
    level = 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "'":
            at = _find(text, "'", at + 1)
        elif text[at] == "(":
            level += 1
        elif text[at] == ")":
            level -= 1
            if not level:
                return at
        at += 1
    raise _NotUnderstoodError


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a text without substitutions, redirections left out."""
    if "<<" in text or STEERING.search(text) or re.search(r"\bcase\b|\bfunction\b|\(\s*\)|\balias\b", text):
        raise _NotUnderstoodError
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    skip = False
    try:
        tokens = list(lexer)
    except ValueError as error:
        raise _NotUnderstoodError from error
    for token in tokens:
        if token and set(token) <= set("();<>|&\n"):
            if set(token) & set("<>") and "(" not in token:
                skip = True
                if words and words[-1].isdigit():
                    words.pop()
                continue
            yield words
            words = []
        elif skip:
            skip = False
        else:
            words.append(token)
    yield words
