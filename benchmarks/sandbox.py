"""What isolation costs: five commands in a box against five bare bubblewraps, a fresh copy of 2,000 files, episodes per second.

    python benchmarks/sandbox.py [--quick] [--json [FILE]]

Pairs are interleaved, in alternating order, so that whatever else the machine does meets both. The bare peer is the very same bubblewrap
command line (all namespaces, no capability, the same filter), spawned directly on an ordinary directory, without limits, quota, overlay or
watching. `--json` prints one object; with FILE the claims go there and the raw measurements beside it. Whether a claim holds is computed
by whoever reads it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edgeevo.domain import File, Limits, State
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.client import RunnerBox, RunnerSandbox
from edgeevo.sandbox.confine import View, bwrap_argv
from edgeevo.sandbox.namespace import make_skeleton
from edgeevo.sandbox.seccomp import build_filter

COMMANDS = ("pwd", "ls -A", "cat names", "sort names > sorted", "wc -l sorted")
MAX_COMMAND_RATIO, MAX_COPY_MS, MIN_WORKERS_RATIO, MAX_SHELL_MS = 1.15, 0.5, 1.2, 20.0
FILES = 2000


def milliseconds(work: Callable[[], object]) -> float:
    """How long `work` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def interval(rows: list[Any], statistic: Callable[[list[Any]], float], rounds: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of a statistic of independent rows."""
    rng = Random(1)
    values = sorted(statistic(rng.choices(rows, k=len(rows))) for _ in range(rounds))
    return values[int(0.025 * rounds)], values[int(0.975 * rounds)]


class Bare:
    """The peer: a directory and the same command line, spawned by subprocess."""

    def __init__(self, place: Path) -> None:
        make_skeleton(place / "root")
        (place / "root").chmod(0o755)
        (place / "root/srv/app").mkdir(parents=True)
        (place / "root/srv/app/names").write_bytes(b"cyan\namber\n")
        (place / "shm").mkdir()
        (place / "filter").write_bytes(build_filter())
        self._filter = place / "filter"
        self._view = View(root=str(place / "root"), shared_memory=str(place / "shm"), cwd="/srv/app")

    def run(self, command: str) -> bytes:
        """Run one command, capture both streams."""
        fd = os.open(self._filter, os.O_RDONLY)
        argv = bwrap_argv(self._view, command.encode())
        argv[argv.index("--seccomp") + 1] = str(fd)
        status = argv.index("--json-status-fd")
        del argv[status : status + 4]  # it and --block-fd serve the runner
        try:
            return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, pass_fds=[fd], env={}, check=True).stdout
        finally:
            os.close(fd)


def five_commands(box: RunnerBox, bare: Bare, pairs: int) -> list[tuple[float, float]]:
    """(ours, bare) in milliseconds for the five commands, pair by pair."""
    rows = []
    for number in range(-2, pairs):  # two to warm up
        order = [("ours", box.run), ("bare", bare.run)]
        found = {}
        for name, run in order if number % 2 else reversed(order):
            found[name] = milliseconds(lambda run=run: [run(command) for command in COMMANDS])
        if number >= 0:
            rows.append((found["ours"], found["bare"]))
    return rows


def cpu_milliseconds(*pids: int) -> float:
    """Processor time that processes have used, by the scheduler's own clock."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e6


def fresh_copies(sandbox: RunnerSandbox, times: int, place: Path) -> tuple[list[float], list[float], float]:
    """Milliseconds of opening and closing a box on a state of FILES files, and of `cp -a` and `rm -r` of the same files.

    Third, what one opening and closing costs in processor time of caller and runner together, unmounting and preparing the next included:
    a figure that doesn't depend on who else is busy.
    """
    nodes = {f"/srv/app/d{n % 40}/f{n}": File(data=f"line {n}\n".encode() * 20) for n in range(FILES)}
    state = State(nodes=nodes, cwd="/srv/app")
    source = place / "source"
    for path, node in nodes.items():
        file = source / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(node.data)
    sandbox.open(state).close()
    ours, copies = [], []

    def copy() -> None:
        subprocess.run(["cp", "-a", source, place / "copy"], check=True)
        shutil.rmtree(place / "copy")

    used = 0.0
    for number in range(times):
        before = cpu_milliseconds(os.getpid(), sandbox.runner_pid)
        ours.append(milliseconds(lambda: sandbox.open(state).close()))
        time.sleep(0.002)  # an episode lies between two openings
        used += cpu_milliseconds(os.getpid(), sandbox.runner_pid) - before
        if number % 20 == 0:
            copies.append(milliseconds(copy))
    return ours, copies, used / times


def in_a_shell(box: RunnerBox, times: int) -> list[float]:
    """Milliseconds for the five commands in a shell that stays."""
    with box.shell() as shell:
        shell.run("true")
        return [milliseconds(lambda: [shell.run(command) for command in COMMANDS]) for _ in range(times)]


def episode(sandbox: RunnerSandbox, state: State) -> None:
    """One short episode: a fresh box, five commands, what they changed."""
    with sandbox.open(state) as box:
        for command in COMMANDS:
            box.run(command)
        box.changes()


def episodes(state: State, rounds: int, seconds: float) -> list[tuple[float, float]]:
    """(one worker, two workers) in episodes per second, round by round, with as many callers as workers."""
    rows = []
    with open_sandbox(workers=1) as one, open_sandbox(workers=2) as two:
        for number in range(rounds):
            order = [(1, one), (2, two)]
            found = {}
            for workers, sandbox in order if number % 2 else reversed(order):
                found[workers] = per_second(sandbox, state, workers, seconds)
            rows.append((found[1], found[2]))
    return rows


def per_second(sandbox: RunnerSandbox, state: State, callers: int, seconds: float) -> float:
    """Episodes per second that so many threads get done together."""
    ends = time.perf_counter() + seconds

    def call() -> int:
        done = 0
        while time.perf_counter() < ends:
            episode(sandbox, state)
            done += 1
        return done

    started = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        total = sum(pool.map(lambda _: call(), range(callers)))
    return total / (time.perf_counter() - started)


def ratio(rows: list[tuple[float, float]]) -> float:
    """Median of ours over median of bare."""
    return statistics.median(row[0] for row in rows) / statistics.median(row[1] for row in rows)


def measure(*, quick: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The claims and the raw rows behind them."""
    pairs, times = (25, 100) if quick else (100, 400)
    with tempfile.TemporaryDirectory() as place, open_sandbox() as sandbox:
        state = State(nodes={"/srv/app/names": File(data=b"cyan\namber\n")}, cwd="/srv/app")
        with sandbox.open(state, Limits()) as box:
            commands = five_commands(box, Bare(Path(place) / "bare"), pairs)
            shell = in_a_shell(box, pairs)
        copies, peer, used = fresh_copies(sandbox, times, Path(place))
    workers = episodes(state, 6 if quick else 20, 1.0)
    claims = [
        {
            "claim": "five isolated commands against five bare bubblewraps",
            "figure": ratio(commands),
            "unit": "×",
            "op": "<=",
            "target": MAX_COMMAND_RATIO,
            "against": f"the same command line spawned directly, {statistics.median(row[1] for row in commands):.1f} ms for five",
            "n": len(commands),
            "interval": interval(commands, ratio),
        },
        {
            "claim": f"a fresh copy of a state with {FILES} files, opened and closed",
            "figure": statistics.median(copies),
            "unit": "ms",
            "op": "<=",
            "target": MAX_COPY_MS,
            "against": f"cp -a and rm -r of the same files, {statistics.median(peer):.0f} ms",
            "n": len(copies),
            "interval": interval(copies, statistics.median),
        },
        {
            "claim": "five commands in a shell that stays",
            "figure": statistics.median(shell),
            "unit": "ms",
            "op": "<=",
            "target": MAX_SHELL_MS,
            "against": f"each in a bubblewrap of its own, {statistics.median(row[0] for row in commands):.1f} ms",
            "n": len(shell),
            "interval": interval(shell, statistics.median),
        },
        {
            "claim": f"episodes of five commands with two workers, {statistics.median(row[1] for row in workers):.0f} per second",
            "figure": 1 / ratio(workers),
            "unit": "×",
            "op": ">=",
            "target": MIN_WORKERS_RATIO,
            "against": f"one worker and one caller, {statistics.median(row[0] for row in workers):.0f} per second",
            "n": len(workers),
            "interval": interval(workers, lambda rows: 1 / ratio(rows)),
        },
    ]
    rows = {
        "load_average": os.getloadavg()[0],
        "five_commands_ms": {"columns": ["ours", "bare"], "rows": commands},
        "fresh_copy_ms": copies,
        "fresh_copy_cpu_ms": used,
        "cp_and_rm_ms": peer,
        "five_commands_in_a_shell_ms": shell,
        "episodes_per_second": {"columns": ["one worker", "two workers"], "rows": workers},
    }
    return claims, rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what isolation costs.")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, same claims")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="print one JSON object, or write the claims to FILE")
    options = parser.parse_args()
    claims, rows = measure(quick=options.quick)
    print(
        f"load average {rows['load_average']:.1f} on {os.cpu_count()} processors; "
        f"a fresh copy costs {rows['fresh_copy_cpu_ms']:.3f} ms of processor time in all",
        file=sys.stderr,
    )
    if options.json == "-":
        shown = [
            {
                "claim": c["claim"],
                "value": c["figure"],
                "unit": c["unit"],
                "at_most" if c["op"] == "<=" else "at_least": c["target"],
                "low": c["interval"][0],
                "high": c["interval"][1],
            }
            for c in claims
        ]
        print(json.dumps({"claims": shown, "rows": rows}))
        return
    for claim in claims:
        low, high = claim["interval"]
        print(
            f"{claim['claim']}: {claim['figure']:.3f} [{low:.3f}, {high:.3f}] {claim['unit']}, claimed {claim['op']} {claim['target']}; "
            f"against {claim['against']}; n = {claim['n']}"
        )
    if options.json:
        target = Path(options.json)
        raw = target.with_name(target.stem + "-rows.json")
        raw.write_text(json.dumps(rows) + "\n")
        target.write_text(json.dumps([{**claim, "rows": str(raw)} for claim in claims], indent=1) + "\n")


if __name__ == "__main__":
    main()
