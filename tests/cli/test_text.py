"""edgeevo.cli.text: nothing that a model or a file says can steer the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.cli.changes import show_changes
from edgeevo.cli.text import clean, duration, table
from edgeevo.domain import Changes, Directory, File, Link

ATTACKS = {
    "colour": "\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;http://x\x1b\\y",
    "clear": "\x1b[2J\x1b[H",
    "c1": "\x9b31m",
    "carriage return": "real\rfake",
    "backspace": "ab\b\bcd",
    "bidi": "user\u202ednammoc\u202c",
    "isolate": "\u2066x\u2069",
    "zero width": "a\u200bb",
    "surrogate": "\udcff",
    "nul": "a\0b",
    "line feed": "a\nb",
    "line separator": "a\u2028b",
}


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
def test_what_steers_a_terminal_is_spelt_out(text: str) -> None:
    """Escape sequences, overrides and control characters become visible text."""
    assert clean(text).isprintable() and clean(text) != text


@given(st.one_of(st.text(st.characters()), st.binary()))
def test_anything_becomes_printable(text: str | bytes) -> None:
    """Whatever comes in, what goes out is printable and can be encoded."""
    shown = clean(text)
    assert shown.isprintable()
    shown.encode()


def test_ordinary_text_stays() -> None:
    """Letters of all scripts, accents and symbols are left alone; line feeds stay where they are wanted."""
    assert clean("grün 日本 → ☃") == "grün 日本 → ☃"
    assert clean("a\nb\tc", newlines=True) == "a\nb    c"


def test_invalid_utf8_is_spelt_out() -> None:
    """Bytes that are no text show as escapes."""
    assert clean(b"a\xffb") == "a\\xffb"


def test_tables_clean_their_cells() -> None:
    """A cell can't break out of its row."""
    assert table([("x\ny", "z")], ("a", "b")).count("\n") == 1


@pytest.mark.parametrize(("seconds", "text"), [(8.4, "8 s"), (250, "4 min 10 s"), (11_100, "3 h 5 min")])
def test_durations_are_for_people(seconds: float, text: str) -> None:
    """Two units at most."""
    assert duration(seconds) == text


def test_changes_are_shown_as_a_diff(tmp_path: Path) -> None:
    """Added, changed, removed, linked and re-moded paths are named; text is diffed."""
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "gone").write_text("x")
    (tmp_path / "script").write_text("hello\n")
    (tmp_path / "script").chmod(0o644)
    nodes = {
        f"{tmp_path}/a": File(data=b"one\n2\x1b[31m\n"),
        f"{tmp_path}/gone": None,
        f"{tmp_path}/new": Directory(),
        f"{tmp_path}/new/link": Link(target="../a"),
        f"{tmp_path}/script": File(data=b"hello\n", mode=0o755),
        f"{tmp_path}/blob": File(data=b"\0\1"),
    }
    shown = "\n".join(show_changes(Changes(nodes=nodes)))
    for part in (
        "changed file",
        "-two",
        "+2\\x1b[31m",
        "removed",
        "added directory",
        "-> ../a",
        "mode 0644 -> 0755",
        "(2 bytes, not text)",
    ):
        assert part in shown


def test_many_changes_are_folded() -> None:
    """Hundreds of paths and long diffs are cut, and it is said that there is more."""
    nodes = {f"/nowhere/{number}": File(data=b"line\n" * 200) for number in range(100)}
    shown = list(show_changes(Changes(nodes=nodes, complete=False)))
    assert len(shown) < 2500
    assert (
        any("more lines" in line for line in shown)
        and any("and 50 more" in line for line in shown)
        and "more than could be read" in shown[-1]
    )


def test_nothing_changed_says_so() -> None:
    """No silence where there is nothing to show."""
    assert list(show_changes(Changes(nodes={}))) == ["nothing changed"]
