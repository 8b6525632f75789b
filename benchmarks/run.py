"""`make bench`: run every benchmark, collect its claims, compute which hold here and now; ends with 1 when one does not.

A benchmark is a script in this directory that takes `--quick` (fewer repetitions, same claims) and `--json`. With `--json` it prints one
JSON object whose `claims` is a list of

    {"claim": "8 attempts in one batch, speed-up", "value": 5.1, "unit": "×", "at_least": 4.0, "low": 4.8, "high": 5.4}

`at_least` / `at_most` is the bound that we claim; `low` and `high` (both optional) are the interval of the value. A claim holds when the
value keeps the bound; where the interval reaches across it, that is said. The verdict is computed here, whatever the script says.
Scripts that measure something without claiming a bound are named in STUDIES with the reason; any other script is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TIMEOUT_SECONDS = 1800
STUDIES = {
    "pilot.py": "a study: its table is docs/results/pilot.md",
}


def benchmarks() -> list[Path]:
    """Every script beside this one, in alphabetical order."""
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name and not path.name.startswith("_"))


def last_object(text: str) -> dict[str, Any]:
    """The JSON object that a benchmark printed: its whole output, or its last line. ValueError when there is none."""
    for candidate in (text, *reversed(text.strip().splitlines()[-1:])):
        try:
            found = json.loads(candidate)
        except json.JSONDecodeError:
            continue
        if isinstance(found, dict):
            return found
    raise ValueError("printed no JSON object")


def verdict(claim: dict[str, Any]) -> tuple[bool, str]:
    """Whether a claim holds, and the line that says so. A claim without value or bound does not hold."""
    value = claim.get("value")
    bounds = [(sign, float(claim[key])) for key, sign in (("at_least", 1), ("at_most", -1)) if claim.get(key) is not None]
    unit = str(claim.get("unit", ""))
    text = str(claim.get("claim", "a claim without words"))
    if not isinstance(value, int | float) or isinstance(value, bool) or not bounds:
        return False, f"{text}: no value or no bound was given"
    holds = all(sign * value >= sign * bound for sign, bound in bounds)
    interval = [float(claim[key]) for key in ("low", "high") if claim.get(key) is not None]
    unsure = any(sign * end < sign * bound for end in interval for sign, bound in bounds)
    wanted = " and ".join(f"{'at least' if sign > 0 else 'at most'} {bound:g}" for sign, bound in bounds)
    spread = f" [{min(interval):.4g}, {max(interval):.4g}]" if interval else ""
    note = " (the interval reaches across the bound)" if holds and unsure else ""
    return holds, f"{text}: {value:.4g}{spread} {unit}, claimed {wanted}{note}"


def run(path: Path, *, quick: bool) -> tuple[list[dict[str, Any]], str]:
    """The claims of one benchmark and an error ("" when it ran)."""
    command = [sys.executable, str(path), "--json", *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [], f"did not end within {TIMEOUT_SECONDS} s"
    try:
        claims = last_object(done.stdout).get("claims")
    except ValueError as error:
        return [], f"{error} (exit status {done.returncode})"
    if not isinstance(claims, list) or not claims:
        return [], "made no claims"
    return claims, ""


def main() -> int:
    """Run all, print all, return 0 only when everything ran and everything holds."""
    parser = argparse.ArgumentParser(description="Run every benchmark and check what it claims.")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("only", nargs="*", help="names of benchmarks, such as sandbox; all when left out")
    options = parser.parse_args()
    chosen = [path for path in benchmarks() if not options.only or path.stem in options.only]
    missing = set(options.only) - {path.stem for path in chosen}
    if missing:
        parser.error(f"no such benchmark: {', '.join(sorted(missing))}")
    table: list[dict[str, Any]] = []
    failed: list[str] = []
    for path in chosen:
        if path.name in STUDIES and not options.only:
            print(f"{path.stem}: not run, {STUDIES[path.name]}", file=sys.stderr)
            continue
        started = time.perf_counter()
        claims, error = run(path, quick=options.quick)
        print(f"{path.stem}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
        if error:
            failed.append(f"{path.stem}: {error}")
        for claim in claims:
            holds, line = verdict(claim)
            table.append({**claim, "benchmark": path.stem, "holds": holds})
            if not holds:
                failed.append(f"{path.stem}: {line}")
            if not options.json:
                print(f"  {'holds' if holds else 'DOES NOT HOLD'}  {line}")
    if options.json:
        print(json.dumps({"claims": table, "failed": failed}))
    else:
        print(f"{sum(row['holds'] for row in table)} of {len(table)} claims hold")
        for line in failed:
            print(f"does not hold: {line}")
    return 1 if failed or not table else 0


if __name__ == "__main__":
    sys.exit(main())
