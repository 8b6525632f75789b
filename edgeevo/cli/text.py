"""Text for a terminal: whatever models, files or people wrote is escaped first; tables and durations are plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def clean(text: str | bytes, *, newlines: bool = False) -> str:
    """`text` with everything that could steer a terminal made visible.

    Control characters, escape sequences, bidirectional overrides, lone surrogates and invalid UTF-8 are spelt out; line feeds stay
    only when `newlines`; tabs become spaces.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return "".join(_visible(character, newlines=newlines) for character in text)


def _visible(character: str, *, newlines: bool) -> str:
    if character.isprintable() or (newlines and character == "\n"):
        return character
    if character == "\t":
        return "    "
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{{{number:x}}}"


def table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """Columns padded with blanks; the cells are cleaned here."""
    cells = [[clean(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def duration(seconds: float) -> str:
    """Seconds for people: "8 s", "4 min 10 s", "3 h 5 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
