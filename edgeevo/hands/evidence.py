"""May a check that passed be believed? Not when it ran, or read as code, what the agent had changed: then the agent wrote its own verdict.

    code_behind(check, directory, changes, opened)  ->  the changed paths that spoil the verdict, none when it may be believed

Only a check that is understood for sure is believed (`edgeevo.hands.reading`): programs that read data and can't be told by it to run
anything, joined by pipes, `&&`, `||`, redirections and `if`, with constant words; and unchanged shell scripts of the directory made of
those. In such a check a changed file is code when it is executable and was opened (`opened` is what the sandbox saw, None when it doesn't
know), or is run by its path. In any other each change counts, opened or not: a name, a mode or a link steers a program as code does.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from edgeevo.domain import Changes, Directory, File
from edgeevo.hands.reading import Command, NotUnderstoodError, Word, only_reads, parse

SHELLS = frozenset(["sh", "bash", "dash"])
KEYWORDS = frozenset(["!", "if", "then", "elif", "else"])  # what follows is a command
SYSTEM = re.compile(r"/(usr/)?bin/[^/]+")
OUTSIDE = ("/tmp/", "/var/tmp/", "/home/", "/root/")  # noqa: S108 - where no program of the system looks
SHELL_OPTIONS = re.compile(r"-[eux]+|-[eux]*o|pipefail|errexit|nounset")
MAX_SCRIPT_BYTES, MAX_SCRIPTS = 65_536, 16
ENTERED = 0o500  # what a directory must allow its owner, or what is in it is hidden


def code_behind(check: str, directory: str, changes: Changes, opened: frozenset[str] | None) -> tuple[str, ...]:
    """The changed paths that spoil the verdict of `check`, run in `directory`; sorted, empty when it may be believed."""
    if not changes.nodes:
        return ()
    reading = _Reading(directory, changes)
    try:
        if any(posixpath.basename(path).startswith("-") for path in changes.nodes):
            raise NotUnderstoodError  # a pattern would give such a name to a program as an option
        reading.follow(check)
    except NotUnderstoodError:
        return tuple(sorted(changes.nodes))
    return tuple(sorted(reading.ran | set(_found_or_hidden(directory, changes, opened))))


def _found_or_hidden(directory: str, changes: Changes, opened: frozenset[str] | None) -> Iterator[str]:
    """Programs that may have been found in place of another one, and directories that nobody can look into any more."""
    for path, node in changes.nodes.items():
        started = isinstance(node, File) and node.mode & 0o111 and (opened is None or path in opened)
        missed = node is None and os.path.isfile(path) and os.access(path, os.X_OK)
        hiding = isinstance(node, Directory) and node.mode & ENTERED != ENTERED
        if started or missed or hiding or not path.startswith((directory + "/", *OUTSIDE)):
            yield path


class _Reading:
    """Follows a check and the scripts that it runs by path; `ran` are those that are of the agent's making."""

    def __init__(self, directory: str, changes: Changes) -> None:
        self._directory, self._changes = directory, changes
        self._scripts: set[str] = set()
        self._moved = False
        self.ran: set[str] = set()

    def follow(self, text: str) -> None:
        """Note what `text` runs; NotUnderstoodError when that can't be told for sure."""
        for command in parse(text):
            self._command(command)

    def _command(self, words: Command) -> None:
        while words and words[0].text in KEYWORDS:
            words = words[1:]
        if not words or (words[0].text == "fi" and len(words) == 1):
            return
        if not words[0].constant:
            raise NotUnderstoodError
        name, arguments = words[0].text, words[1:]
        if SYSTEM.fullmatch(name):
            name = posixpath.basename(name)
        if name in (".", "source") and len(arguments) == 1:
            self._script(arguments[0])
        elif "/" in name and not arguments:
            self._script(words[0])
        elif name in SHELLS:
            self._shell(arguments)
        elif name == "cd" and len(arguments) == 1 and arguments[0].constant and not arguments[0].text.startswith("-"):
            self._moved = True
        elif name == "set" and all(word.constant and SHELL_OPTIONS.fullmatch(word.text) for word in arguments):
            return
        elif not only_reads(name, arguments):
            raise NotUnderstoodError

    def _shell(self, arguments: Command) -> None:
        while arguments and arguments[0].constant and re.fullmatch(r"-[eux]+", arguments[0].text):
            arguments = arguments[1:]
        if len(arguments) == 2 and arguments[1].constant and re.fullmatch(r"-[eux]*c", arguments[0].text):
            self.follow(arguments[1].text)
        elif len(arguments) == 1 and not arguments[0].text.startswith("-"):
            self._script(arguments[0])
        else:
            raise NotUnderstoodError

    def _script(self, word: Word) -> None:
        """A file that is run or sourced: as the agent left it it is noted, as it was it is read on. No link may be on the way to it."""
        path = posixpath.normpath(posixpath.join(self._directory, word.text))
        if not word.constant or self._moved or not path.startswith(self._directory + "/") or len(self._scripts) >= MAX_SCRIPTS:
            raise NotUnderstoodError
        if path in self._scripts:
            return
        self._scripts.add(path)
        changed = {each for each in self._way(path) if each in self._changes.nodes}
        if changed:
            self.ran |= changed
            return
        if "/" not in word.text and not os.path.exists(path):  # looked for in PATH then
            raise NotUnderstoodError
        try:
            if os.path.realpath(path) != os.path.realpath(self._directory) + path[len(self._directory) :]:
                raise NotUnderstoodError
            text = Path(path).read_bytes()[: MAX_SCRIPT_BYTES + 1].decode()
        except (OSError, UnicodeDecodeError) as error:
            raise NotUnderstoodError from error
        first = text.partition("\n")[0]
        if len(text) > MAX_SCRIPT_BYTES or (first.startswith("#!") and not re.fullmatch(r"#! ?/(usr/)?bin/(ba|da)?sh( -[eux]+)?", first)):
            raise NotUnderstoodError
        self.follow(text)

    def _way(self, path: str) -> Iterator[str]:
        """The path and the directories on the way to it."""
        while path.startswith(self._directory + "/"):
            yield path
            path = posixpath.dirname(path)
