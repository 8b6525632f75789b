"""docs/results/pilot.md: its table is the ledger's."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"


def test_the_table_of_the_pilot_is_what_the_ledger_says() -> None:
    """Every cell of the ledger has its line, with its counts, and nobody has typed one."""
    specification = importlib.util.spec_from_file_location("docs_pilot", ROOT / "scripts" / "docs_pilot.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    text = (RESULTS / "pilot.md").read_text(encoding="utf-8")
    assert text == module.page(), "run `make docs`"
    lines = text.partition("## Every cell")[2].splitlines()
    cells = [json.loads(line) for line in (RESULTS / "pilot.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(any(cell["cell"] in line and f"| {cell['passed']} of {cell['n']} |" in line for line in lines) for cell in cells)
