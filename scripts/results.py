"""Turns what `make demo` printed into docs/results/demo.md: `make results`, or `edgeevo demo --compare | python scripts/results.py`.

What stands there below the mark is written by hand and is kept; whoever keeps a new run has to read it again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MARK = "<!-- What follows is written by hand. -->\n"
TARGET = Path(__file__).resolve().parents[1] / "docs" / "results" / "demo.md"
HEAD = """# What one night of the demo did

Printed by `make demo COMPARE=1` and kept by `make results`; every figure is a query on the store of that run. The audit set is read by no
decision. "Founders only" is the comparison: as many examples, no evolution.

```
{report}
```
"""


def report_of(printed: str) -> str:
    """The report section of a demo's output, without paths of the machine it ran on; ValueError when there is none."""
    _, found, report = printed.partition("== Report\n")
    if not found:
        raise ValueError("no report: the demo did not come to its end")
    return re.sub(r"(?<![\w.])/(?:tmp|work|home|root)/\S+", "DIR", report).strip()


def main() -> None:
    """Read a demo's output from standard input, echo it, and keep its report."""
    lines = []
    for line in sys.stdin:
        sys.stdout.write(line)
        lines.append(line)
    _, mark, notes = TARGET.read_text(encoding="utf-8").partition(MARK)
    TARGET.write_text(HEAD.format(report=report_of("".join(lines))) + "\n" + (mark or MARK) + notes, encoding="utf-8")


if __name__ == "__main__":
    main()
