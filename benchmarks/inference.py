"""What batching is worth: a group of eight attempts on one prompt, against the same eight one by one.

    python benchmarks/inference.py [--quick] [--json [FILE]] [--threads N]

Three ways to get eight replies of the same fixed length after a prompt of 400 tokens, by the same engine: in one batch (the prompt
computed once); one by one with the prompt kept in the cache; one by one with nothing kept. Rounds are interleaved, in alternating order,
and measured in processor time, so that whatever else the machine does meets all three; the figure is the median of the ratios within a
round, with a 95 % bootstrap interval. A further claim is about eight different prompts, together and one by one. `--json` prints one
object; with FILE the claims go there and the raw seconds beside it. Whether a claim holds is computed by whoever reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

os.environ.update({"GOMP_SPINCOUNT": "100000"})  # as in every child of ours; before the library is loaded
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgeevo.agent.decoding import Job
from edgeevo.agent.llama import Engine
from edgeevo.agent.prompt import Segment
from edgeevo.models import load_card, locate

ROOT = Path(__file__).resolve().parents[1]
GROUP, PROMPT_TOKENS, REPLY_TOKENS = 8, 400, 48
RULE = "Rule: be careful with the files of the user and look before you change anything. "


class Endless(Engine):
    """The engine with replies of full length: no token ends one, so that every way decodes the same number of tokens."""

    def is_end(self, token: int) -> bool:
        """Never."""
        return False


def prompt(engine: Engine, beginning: str) -> tuple[int, ...]:
    """PROMPT_TOKENS token ids that begin as told."""
    tokens, _ = engine.tokenize([Segment(beginning + RULE * 60)])
    return tuple(tokens[:PROMPT_TOKENS])


def seconds(work: Callable[[], object]) -> float:
    """Processor time that `work` takes: on one thread it is the time on an idle machine, and other load doesn't count."""
    started = time.process_time()
    work()
    return time.process_time() - started


def ways(engine: Engine, salt: int) -> dict[str, Callable[[], object]]:
    """The ways by name; each starts from an empty cache."""
    same = [Job(prompt(engine, f"Host {salt}. "), seed=place, temperature=0.8) for place in range(GROUP)]
    different = [Job(prompt(engine, f"{salt} {place} is the number of this host. "), seed=place, temperature=0.8) for place in range(GROUP)]

    def one_by_one(jobs: Sequence[Job], *, keep: bool) -> None:
        engine.forget()
        for job in jobs:
            if not keep:
                engine.forget()
            engine.propose([job])

    def together(jobs: Sequence[Job]) -> None:
        engine.forget()
        engine.propose(jobs)

    return {
        "batch": lambda: together(same),
        "cached": lambda: one_by_one(same, keep=True),
        "uncached": lambda: one_by_one(same, keep=False),
        "different_batch": lambda: together(different),
        "different_one_by_one": lambda: one_by_one(different, keep=False),
    }


def measure(engine: Engine, rounds: int) -> list[dict[str, float]]:
    """Seconds of every way, round by round."""
    rows = []
    for number in range(rounds):
        found = {}
        named = list(ways(engine, number).items())
        for name, work in named if number % 2 else reversed(named):
            found[name] = seconds(work)
        rows.append(found)
        print(f"round {number + 1} of {rounds}: " + ", ".join(f"{name} {value:.1f} s" for name, value in found.items()), file=sys.stderr)
    return rows


def median(rows: Sequence[dict[str, float]], way: str) -> float:
    """Median seconds of one way."""
    return statistics.median(row[way] for row in rows)


def ratio(rows: Sequence[dict[str, float]], slow: str, fast: str) -> float:
    """Median over the rounds of how often `fast` fits into `slow`."""
    return statistics.median(row[slow] / row[fast] for row in rows)


def interval(rows: Sequence[dict[str, float]], slow: str, fast: str, draws: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of `ratio` over rounds."""
    dice = Random(1)
    values = sorted(ratio(dice.choices(rows, k=len(rows)), slow, fast) for _ in range(draws))
    return values[int(0.025 * draws)], values[int(0.975 * draws)]


def claims_of(rows: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """What we claim, with the figures of these rounds."""
    wanted = (
        ("uncached", "batch", 4.0, f"{GROUP} attempts on one prompt in one batch", "one by one, nothing kept in the cache"),
        ("cached", "batch", 1.5, f"{GROUP} attempts on one prompt in one batch", "one by one, the prompt kept in the cache"),
        ("different_one_by_one", "different_batch", 1.0, f"{GROUP} different prompts in one batch", "one by one"),
    )
    return [
        {
            "claim": f"{claim}, speed-up against {against}",
            "figure": ratio(rows, slow, fast),
            "unit": "×",
            "op": ">=",
            "target": target,
            "against": f"{against}, {median(rows, slow):.1f} s; in one batch {median(rows, fast):.1f} s",
            "n": len(rows),
            "interval": interval(rows, slow, fast),
        }
        for slow, fast, target, claim, against in wanted
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what decoding in one batch is worth.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, same claims")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="print one JSON object, or write the claims to FILE")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    models = Path(os.environ.get("EDGEEVO_MODELS", ROOT / ".cache/models"))
    model = locate(load_card(ROOT / "models/smollm2-135m-instruct.toml"), models)
    engine = Endless(
        model,
        threads=options.threads,
        sequences=GROUP,
        sequence_tokens=512,
        max_reply_tokens=REPLY_TOKENS,
    )
    rows = measure(engine, 3 if options.quick else 10)
    claims = claims_of(rows)
    if options.json == "-":
        shown = [
            {
                "claim": c["claim"],
                "value": c["figure"],
                "unit": c["unit"],
                "at_least": c["target"],
                "low": c["interval"][0],
                "high": c["interval"][1],
            }
            for c in claims
        ]
        print(json.dumps({"claims": shown, "rows": rows}))
        return
    for claim in claims:
        low, high = claim["interval"]
        claimed = f"claimed {claim['op']} {claim['target']}; n = {claim['n']}"
        print(f"{claim['claim']}: {claim['figure']:.2f} [{low:.2f}, {high:.2f}] {claim['unit']}, {claimed}")
    if options.json:
        target = Path(options.json)
        raw = target.with_name(target.stem + "-rows.json")
        raw.write_text(json.dumps({"threads": options.threads, "seconds": rows}) + "\n")
        target.write_text(json.dumps([{**claim, "rows": str(raw)} for claim in claims], indent=1) + "\n")


if __name__ == "__main__":
    main()
