"""Does the agent crawl when the box has other work? Several threads against one, alone and beside one busy process per processor.

    python benchmarks/competitor.py [--quick] [--json FILE]

Two engines hold the same model, one with every processor as its threads and one with a single thread; both decode eight replies on one
prompt, in interleaved rounds, in wall-clock time. First alone (more threads must be worth having), then beside competitors that never
sleep (they must not turn into less than one thread: threads that wait for a preempted one make no progress). Competitors end by themselves.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from inference import GROUP, REPLY_TOKENS, ROOT, Endless, prompt

from edgeevo.agent.decoding import Job
from edgeevo.models import load_card, locate

COMPETITOR_SECONDS = 600
BUSY = f"import time\nend = time.monotonic() + {COMPETITOR_SECONDS}\nwhile time.monotonic() < end: sum(range(10000))"
ALONE, BESIDE = "alone", "beside one busy process per processor"
TARGETS = {ALONE: 1.2, BESIDE: 0.8}
DRAWS = 2000


@contextlib.contextmanager
def competitors(count: int) -> Iterator[None]:
    """`count` processes that compute all the time."""
    started = [subprocess.Popen([sys.executable, "-I", "-S", "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def seconds(engine: Endless, salt: int) -> float:
    """Wall-clock time of eight replies on one prompt, from an empty cache."""
    jobs = [Job(prompt(engine, f"Host {salt}. "), seed=place, temperature=0.8) for place in range(GROUP)]
    engine.forget()
    started = time.perf_counter()
    engine.propose(jobs)
    return time.perf_counter() - started


def measure(many: Endless, single: Endless, rounds: int) -> list[dict[str, float]]:
    """Seconds of both engines, round by round, in alternating order."""
    rows = []
    for number in range(rounds):
        order = [("many", many), ("single", single)]
        found = {name: seconds(engine, number) for name, engine in (order if number % 2 else reversed(order))}
        rows.append(found)
        print(", ".join(f"{name} {value:.1f} s" for name, value in found.items()), file=sys.stderr)
    return rows


def claim_of(where: str, rows: Sequence[dict[str, float]], threads: int) -> dict[str, Any]:
    """How much faster many threads were than one, median of the rounds, with a 95 % bootstrap interval."""
    ratios = [row["single"] / row["many"] for row in rows]
    dice = Random(1)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(DRAWS))
    return {
        "claim": f"{GROUP} replies with {threads} threads, {where}: speed-up against one thread in the same place",
        "figure": statistics.median(ratios),
        "unit": "×",
        "op": ">=",
        "target": TARGETS[where],
        "against": f"one thread, {statistics.median(row['single'] for row in rows):.1f} s",
        "n": len(rows),
        "interval": (medians[int(0.025 * DRAWS)], medians[int(0.975 * DRAWS)]),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what competitors do to the agent.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, same claims")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the claims to FILE, raw seconds beside it")
    options = parser.parse_args()
    model = locate(load_card(ROOT / "models/smollm2-135m-instruct.toml"), Path(os.environ.get("EDGEEVO_MODELS", ROOT / ".cache/models")))
    threads, rounds = len(os.sched_getaffinity(0)), 3 if options.quick else 9
    many, single = (
        Endless(model, threads=count, sequences=GROUP, sequence_tokens=512, max_reply_tokens=REPLY_TOKENS) for count in (threads, 1)
    )
    rows = {ALONE: measure(many, single, rounds)}
    with competitors(threads):
        rows[BESIDE] = measure(many, single, rounds)
    claims = [claim_of(where, found, threads) for where, found in rows.items()]
    for claim in claims:
        low, high = claim["interval"]
        print(f"{claim['claim']}: {claim['figure']:.2f} [{low:.2f}, {high:.2f}] ×, claimed >= {claim['target']}; n = {claim['n']}")
    if options.json:
        raw = options.json.with_name(options.json.stem + "-rows.json")
        raw.write_text(json.dumps({"threads": threads, "seconds": rows}) + "\n")
        options.json.write_text(json.dumps([{**claim, "rows": str(raw)} for claim in claims], indent=1) + "\n")


if __name__ == "__main__":
    main()
