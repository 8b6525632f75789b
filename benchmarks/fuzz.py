"""Does anything break the sandbox that nobody thought of? Commands and trees drawn from dice, for minutes, with every question after each.

    python benchmarks/fuzz.py [--minutes 10] [--quick] [--json FILE]

Every third one runs in a shell that stays. After each: back in time, no process left, no mount left, host unchanged, secret not told, next
episode clean, changes well-formed.
With `--json` every command is a row beside FILE; the same line again goes on behind the last row until the minutes are full, unless the
sandbox's sources have changed since: then it begins anew. Ends with 1 when something was found (without `--json`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import Attacker, Host
from edgeevo.sandbox.abuse.fuzz import FUZZ_LIMITS, sample, strange
from edgeevo.sandbox.pool import RECYCLED_AFTER_BOXES

ROOT = Path(__file__).resolve().parents[1]
MINUTES, QUICK_MINUTES = 10.0, 0.5
DESCRIPTORS_OF_A_SPARE = 4
BOXES_PER_COMMAND = 2  # its own, and the next episode


def sources() -> str:
    """Hash of everything that decides what a box is and what is drawn."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "edgeevo/sandbox").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def fuzz(first_seed: int, seconds: float) -> Iterator[dict[str, Any]]:
    """One row per command until the time is used up."""
    ends = time.monotonic() + seconds
    with Host() as host, open_sandbox() as sandbox:
        attackers = (Attacker(sandbox, host), Attacker(sandbox, host), Attacker(sandbox, host, in_shells=True))
        runner, kept = sandbox.runner_pid, descriptors(sandbox.runner_pid)
        seed, boxes = first_seed, len(attackers)
        while time.monotonic() < ends:
            started, drawn = time.monotonic(), sample(seed)
            result, changes, wrong = attackers[seed % len(attackers)].run(host.dress(drawn.command, runner), FUZZ_LIMITS)
            wrong += strange(changes)
            boxes += BOXES_PER_COMMAND
            if sandbox.runner_pid != runner:
                if boxes < RECYCLED_AFTER_BOXES:
                    wrong.append("the runner had to be replaced")
                boxes = 0
                runner, kept = sandbox.runner_pid, descriptors(sandbox.runner_pid)
            if descriptors(runner) > kept + DESCRIPTORS_OF_A_SPARE:
                wrong.append("the runner keeps descriptors")
            limit = str(result.limit_hit) if result is not None and result.limit_hit else ""
            yield {"seed": seed, "kind": drawn.kind, "limit": limit, "seconds": round(time.monotonic() - started, 3), "wrong": wrong}
            seed += 1


def descriptors(pid: int) -> int:
    """How many descriptors a process has open; 0 when it is gone."""
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0


def earlier(path: Path | None) -> list[dict[str, Any]]:
    """Rows of an unfinished run of the same sources; an old or broken file counts as none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path else []
        rows = [json.loads(line) for line in lines]
    except (OSError, json.JSONDecodeError):
        return []
    return rows[1:] if rows and rows[0] == {"sources": sources()} else []


def main() -> int:
    """Fuzz, print, write the claims."""
    parser = argparse.ArgumentParser(description="Draw hostile commands and trees and look whether anything gives way.")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long, with what an earlier run did")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_MINUTES} minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims to FILE and every command beside it")
    options = parser.parse_args()
    raw = options.json.with_suffix(".rows.jsonl") if options.json else None
    rows = earlier(raw)
    wanted = 60 * (QUICK_MINUTES if options.quick else options.minutes)
    left = wanted - sum(row["seconds"] for row in rows)
    out = raw.open("a" if rows else "w", encoding="utf-8") if raw else None
    if out and not rows:
        print(json.dumps({"sources": sources()}), file=out, flush=True)
    for row in fuzz(rows[-1]["seed"] + 1 if rows else 0, left) if left > 0 else ():
        rows.append(row)
        if out:
            print(json.dumps(row), file=out, flush=True)
        if row["wrong"]:
            print(f"seed {row['seed']} ({row['kind']}): {'; '.join(row['wrong'])}", flush=True)
    wrong = Counter(kind_of(text) for row in rows for text in row["wrong"])
    print(
        f"{len(rows)} commands in {sum(row['seconds'] for row in rows) / 60:.1f} minutes: "
        + (str(dict(wrong)) if wrong else "nothing found")
    )
    print("by maker: " + ", ".join(f"{kind} {n}" for kind, n in sorted(Counter(row["kind"] for row in rows).items())))
    print("limits named: " + ", ".join(f"{limit or 'none'} {n}" for limit, n in Counter(row["limit"] for row in rows).most_common()))
    if options.json and raw:
        options.json.write_text(json.dumps([claim(name, wrong[name], rows, raw) for name in KINDS], indent=1) + "\n", encoding="utf-8")
    return 1 if wrong and not options.json else 0


KINDS = ("changes of the host or its secret told", "processes or mounts left", "late returns", "other faults")


def kind_of(text: str) -> str:
    """Which claim a wrong answer belongs to."""
    if text.endswith(" changed") or "secret" in text:
        return KINDS[0]
    if text.startswith(("still runs", "a mount", "the runner keeps")):
        return KINDS[1]
    return KINDS[2] if text.startswith("came back") else KINDS[3]


def claim(name: str, figure: int, rows: list[dict[str, Any]], raw: Path) -> dict[str, Any]:
    """One claim."""
    return {
        "claim": f"fuzz: {name}",
        "figure": figure,
        "unit": "commands",
        "op": "<=",
        "target": 0,
        "against": f"{len(rows)} drawn commands, seeds from 0, sources {sources()}",
        "n": len(rows),
        "interval": [figure, figure],
        "rows": raw.name,
    }


if __name__ == "__main__":
    sys.exit(main())
