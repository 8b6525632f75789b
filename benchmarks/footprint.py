"""What edgeevo costs while it does nothing: memory of the daemon at rest, and the time of `edgeevo status` against `python -c pass`.

    python benchmarks/footprint.py [--quick] [--json FILE]

The daemon is the real one (`python -m edgeevo.daemon`) on a fresh state directory, without a model. Status and its peer are run in
interleaved pairs, so that whatever else the machine does hits both; the ratio of each pair is one row, the claim is their median, its
interval is a bootstrap of the median.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from edgeevo.config import load  # noqa: E402 - run from a checkout, installed or not
from edgeevo.control import StatusAsked, ask  # noqa: E402
from edgeevo.errors import DaemonError  # noqa: E402
from edgeevo.worker import Worker  # noqa: E402

MODEL_LIBRARIES = ("torch", "llama", "onnxruntime", "numpy", "tokenizers")
REST_SECONDS = 3.0
MAX_RSS_MB = 60.0
MAX_RATIO = 8.0


def main() -> int:
    """Measure, print a table or JSON, exit with 1 when a claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer pairs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims to FILE, raw rows beside it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgeevo-") as name:
        claims = measure(Path(name), pairs=10 if options.quick else 40)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for claim in claims:
        print(f"{claim['claim']}: {claim['figure']:.2f} {claim['unit']} ({claim['op']} {claim['target']:g}), against {claim['against']}")
    if options.json:
        raw = options.json.with_suffix(".rows.jsonl")
        raw.write_text("".join(json.dumps({claim["claim"]: claim["rows"]}) + "\n" for claim in claims), encoding="utf-8")
        told = [{**claim, "rows": raw.name} for claim in claims]
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if all(claim["figure"] <= claim["target"] for claim in claims) else 1


def measure(state: Path, *, pairs: int) -> list[dict[str, Any]]:
    """All claims, from one daemon."""
    config = state / "config.toml"
    config.write_text(f'version = 1\n[daemon]\nstate_dir = "{state}"\nruntime_dir = "{state}"\n[model]\ncard = ""\n')
    os.environ["PYTHONPATH"] = str(ROOT)
    with Worker("edgeevo.daemon") as worker:
        worker.send({"config": str(config), "settings": []})
        wait_until_ready(config, worker)
        time.sleep(REST_SECONDS)
        samples = [rss_mb(worker.pid) for _ in range(5)]
        loaded = [library for library in MODEL_LIBRARIES if library in Path(f"/proc/{worker.pid}/maps").read_text()]
        ratios = status_ratios(config, pairs)
    return [
        claim("daemon at rest, resident memory", max(samples), "MB", MAX_RSS_MB, "nothing", samples, (min(samples), max(samples))),
        claim("model libraries mapped into the daemon", float(len(loaded)), "libraries", 0.0, "nothing", [float(len(loaded))], None),
        claim("edgeevo status, time", statistics.median(ratios), "times", MAX_RATIO, "python -c pass", ratios, bootstrap(ratios)),
    ]


def claim(
    text: str, figure: float, unit: str, target: float, against: str, rows: list[float], interval: tuple[float, float] | None
) -> dict[str, Any]:
    """One claim, all of them upper bounds, in the words of benchmarks/run.py and with its raw rows."""
    low, high = interval or (figure, figure)
    shared = {"claim": text, "figure": figure, "unit": unit, "op": "<=", "target": target, "against": against}
    return {**shared, "n": len(rows), "interval": [low, high], "rows": [round(row, 4) for row in rows]}


def wait_until_ready(config: Path, worker: Worker) -> None:
    """Wait until the daemon answers; raises DaemonError after half a minute, WorkerError when it ended."""
    socket = load(config).socket
    deadline = time.monotonic() + 30
    while True:
        try:
            ask(socket, StatusAsked(), timeout_seconds=5.0)
        except DaemonError:
            if not worker.alive:
                worker.receive()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def rss_mb(pid: int) -> float:
    """Resident memory of a process in MB (10^6 bytes)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} has no resident memory")


def status_ratios(config: Path, pairs: int) -> list[float]:
    """Time of `edgeevo status` over time of `python -c pass`, in interleaved pairs whose order alternates; the first pair only warms up."""
    ours = [sys.executable, "-c", "from edgeevo.cli import main; main()", "--config", str(config), "status", "--json"]
    peer = [sys.executable, "-c", "pass"]
    ratios = []
    for number in range(pairs + 1):
        times = {}
        for command in (ours, peer) if number % 2 else (peer, ours):
            begun = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
            times[id(command)] = time.perf_counter() - begun
        ratios.append(times[id(ours)] / times[id(peer)])
    return ratios[1:]


def bootstrap(rows: list[float], rounds: int = 2000) -> tuple[float, float]:
    """95 % interval of the median, from resampled rows; the dice are fixed."""
    dice = random.Random(20_260)
    medians = sorted(statistics.median(dice.choices(rows, k=len(rows))) for _ in range(rounds))
    return medians[round(0.025 * rounds)], medians[round(0.975 * rounds) - 1]


if __name__ == "__main__":
    sys.exit(main())
