"""`make docs`: write docs/cli.md from what `edgeevo --help` and the help of every command say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
PROGRAM = "import sys; sys.argv[0] = 'edgeevo'; from edgeevo.cli import main; sys.exit(main())"
HEADER = """# The command line

Generated from `--help` by `make docs`; a test compares. A failure is two lines on stderr, the fact and after `hint:` what to do next; the
exit codes are at the end.
"""


def help_of(words: tuple[str, ...]) -> str:
    """What `edgeevo WORDS --help` prints, at a width of 100 columns; RuntimeError when it fails."""
    environment = {**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    command = [sys.executable, "-c", PROGRAM, *words, "--help"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"edgeevo {' '.join(words)} --help ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.rstrip()


def commands(text: str) -> list[str]:
    """Names of the sub-commands in a help text, in its order."""
    _, _, listed = text.partition("\nCommands:\n")
    return re.findall(r"^  ([a-z][\w-]*)", listed, re.MULTILINE)


def walk(words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Every command with its help text, depth first."""
    text = help_of(words)
    rows = [(words, text)]
    for name in commands(text):
        rows += walk((*words, name))
    return rows


def exit_codes() -> str:
    """The table of exit codes: the tree of errors, and the three that are no error of ours."""
    sys.path.insert(0, str(ROOT))  # this checkout, installed or not
    from edgeevo import errors  # noqa: PLC0415 - only now can it be found

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EdgeevoError)]
    rows = [
        (kind.exit_code, f"{(kind.__doc__ or '').splitlines()[0]} (`{kind.__name__}`)")
        for kind in kinds
        if "exit_code" in vars(kind) and kind.exit_code > 1
    ]
    rows += [
        (0, "Done."),
        (1, "Anything else; `doctor`: something is wrong on this machine."),
        (2, "The command line is wrong."),
        (10, "`run`: the check did not pass."),
        (130, "Interrupted."),
    ]
    return "\n".join(["## Exit codes", "", "| code | when |", "|---|---|", *(f"| {code} | {text} |" for code, text in sorted(rows))])


def page() -> str:
    """The whole page."""
    parts = [HEADER]
    for words, text in walk():
        parts.append(f"{'#' * (2 + (len(words) > 1))} `{' '.join(('edgeevo', *words))}`\n\n```text\n{text}\n```\n")
    return "\n".join([*parts, exit_codes(), ""])


if __name__ == "__main__":
    PAGE.write_text(page())
