"""`make docs`: write the table at the end of docs/results/pilot.md from the ledger beside it, a line for each cell that was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "pilot.md"
LEDGER = PAGE.with_suffix(".jsonl")
MARK = "<!-- What follows is generated from pilot.jsonl: `make docs` -->\n"
HEADER = ("run", "entries", "protocol", "examples", "batch", "rank", "learning rate", "B ×", "cell", "passed", "95 % interval")


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    recipe = cell["recipe"]
    learnt = recipe["examples"] > 0
    recipe_columns = (
        f"{recipe['examples']:,}",
        str(recipe["batch"]),
        str(recipe["rank"]),
        f"{recipe['learning_rate']:g}",
        f"{recipe.get('b_rate_ratio') or 1:g}",
    )
    low, high = cell["interval_percent"]
    return (
        cell["run"],
        str(cell["entries"]),
        recipe["protocol"],
        *(recipe_columns if learnt else ("–",) * len(recipe_columns)),
        cell["cell"],
        f"{cell['passed']} of {cell['n']}",
        f"{low:g}–{high:g}",
    )


def generated() -> str:
    """What stands below the mark: every cell of the ledger, in the order in which it was measured."""
    rows = [_row(json.loads(line)) for line in LEDGER.read_text(encoding="utf-8").splitlines()]
    lines = ["", "## Every cell", "", "| " + " | ".join(HEADER) + " |", "|---|---:|---|---:|---:|---:|---:|---:|---|---:|---:|"]
    return "\n".join([*lines, *("| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in rows), ""])


def page() -> str:
    """The whole page: what is written by hand, and what is generated."""
    return PAGE.read_text(encoding="utf-8").partition(MARK)[0] + MARK + generated()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
