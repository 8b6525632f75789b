"""`make bench`: run every benchmark, collect its claims, compute which hold here and now; ends with 1 when one does not.

A benchmark is a script in this directory that takes `--quick` (fewer repetitions, same claims) and `--json FILE`, into which it writes
a list of

    {"claim": "…", "figure": 5.1, "unit": "x", "op": ">=", "target": 4.0, "against": "one by one, no cache", "n": 12,
     "interval": [4.8, 5.4], "rows": "inference.rows.jsonl"}

`rows` is the raw data, written beside FILE. A claim holds when its figure keeps the target; where the interval reaches across it, that is
said. The verdict is computed here, whatever the script says. Studies without a bound are named in STUDIES with the reason.
"""

from __future__ import annotations

import argparse
import json
import operator
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TIMEOUT_SECONDS = 1800
OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
FIELDS = ("claim", "figure", "unit", "op", "target", "against", "n", "interval", "rows")
STUDIES = {
    "pilot.py": "a study: its table is docs/results/pilot.md",
    "pilot_engine.py": "a part of pilot.py",
}


def benchmarks() -> list[Path]:
    """Every script beside this one, in alphabetical order."""
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name and not path.name.startswith("_"))


def verdict(claim: dict[str, Any]) -> tuple[bool, str]:
    """Whether a claim holds, and the line that says so. A claim that lacks a field does not hold."""
    missing = [name for name in FIELDS if claim.get(name) is None]
    text = str(claim.get("claim", "a claim without words"))
    if missing or claim["op"] not in OPERATORS or not isinstance(claim["figure"], int | float) or not isinstance(claim["rows"], str):
        return False, f"{text}: incomplete claim ({', '.join(missing) or 'op, figure or rows'})"
    keeps = OPERATORS[claim["op"]]
    low, high = claim["interval"]
    holds = bool(keeps(claim["figure"], claim["target"]))
    unsure = holds and not (keeps(low, claim["target"]) and keeps(high, claim["target"]))
    note = " (the interval reaches across the target)" if unsure else ""
    spread = f"[{low:.4g}, {high:.4g}]"
    against = f"against {claim['against']}, n = {claim['n']}"
    return holds, f"{text}: {claim['figure']:.4g} {spread} {claim['unit']}, claimed {claim['op']} {claim['target']:g} {against}{note}"


def run(path: Path, folder: Path, *, quick: bool) -> tuple[list[dict[str, Any]], str]:
    """The claims of one benchmark and an error ("" when it ran); its claims and raw rows stay in `folder`."""
    target = folder / f"{path.stem}.json"
    target.unlink(missing_ok=True)
    command = [sys.executable, str(path), "--json", str(target), *(["--quick"] if quick else [])]
    try:
        status = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        return [], f"did not end within {TIMEOUT_SECONDS} s"
    if status != 0 or not target.exists():
        return [], f"wrote no claims (exit status {status})"
    try:
        claims = json.loads(target.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        return [], f"wrote no JSON: {error}"
    if not isinstance(claims, list) or not claims:
        return [], "made no claims"
    named = [claim["rows"] for claim in claims if isinstance(claim.get("rows"), str)]
    lost = [name for name in named if not (folder / name).exists()]
    return claims, f"raw rows are missing: {', '.join(lost)}" if lost else ""


def main() -> int:
    """Run all, print all, return 0 only when everything ran and everything holds."""
    parser = argparse.ArgumentParser(description="Run every benchmark and check what it claims.")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--into", type=Path, default=HERE.parent / "build" / "bench", help="where claims and raw rows are kept")
    parser.add_argument("only", nargs="*", help="names of benchmarks, such as sandbox; all when left out")
    options = parser.parse_args()
    chosen = [path for path in benchmarks() if not options.only or path.stem in options.only]
    missing = set(options.only) - {path.stem for path in chosen}
    if missing:
        parser.error(f"no such benchmark: {', '.join(sorted(missing))}")
    options.into.mkdir(parents=True, exist_ok=True)
    held, total, failed = 0, 0, []
    for path in chosen:
        if path.name in STUDIES and not options.only:
            print(f"{path.stem}: not run, {STUDIES[path.name]}")
            continue
        started = time.perf_counter()
        claims, error = run(path, options.into, quick=options.quick)
        print(f"{path.stem}: {time.perf_counter() - started:.0f} s", flush=True)
        if error:
            failed.append(f"{path.stem}: {error}")
        for claim in claims:
            holds, line = verdict(claim)
            held, total = held + holds, total + 1
            print(f"  {'holds' if holds else 'DOES NOT HOLD'}  {line}", flush=True)
            if not holds:
                failed.append(f"{path.stem}: {line}")
    print(f"{held} of {total} claims hold")
    for line in failed:
        print(f"does not hold: {line}")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
