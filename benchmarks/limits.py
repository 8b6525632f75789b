"""Is the limit that is reported the one that was hit? Every limit, hit in several ways, a hundred times, while the machine is busy.

    python benchmarks/limits.py [--quick] [--json FILE]

Load: one endless loop per processor, and as many boxes at once as processors. The last claim asks the opposite: commands that stay within
their limits, some of which fail or talk of limits, of which none may be named. `--quick` repeats each limit twenty times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgspec

from edgeevo.domain import File, LimitHit, Limits, State
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.client import RunnerSandbox
from edgeevo.store.figures import wilson

TARGET = 0.99
TIMES, TIMES_QUICK = 100, 20
LIMITS = Limits(
    wall_seconds=60.0,  # far away, except where it is the one that is asked for
    cpu_seconds=1,
    output_bytes=32_768,
    memory_bytes=48 << 20,
    disk_bytes=4 << 20,
    inodes=200,
    file_bytes=1 << 20,
    processes=16,
    open_files=64,
)
BRIEF = msgspec.structs.replace(LIMITS, wall_seconds=0.5)
PYTHON = "python3 -I -S -c "
WAYS: dict[LimitHit, tuple[str, ...]] = {
    LimitHit.MEMORY: (
        PYTHON + "'x = []\nwhile True: x.append(bytearray(1 << 20))'",
        PYTHON + "'bytearray(1 << 40)'",
        "for i in 1 2 3 4 5 6 7 8 9; do " + PYTHON + "'import time; x = bytearray(9 << 20); time.sleep(30)' & done; wait",
        "sort --buffer-size=200M /dev/zero",
    ),
    LimitHit.PROCESSES: (
        "f() { f | f & }; f; sleep 60",
        PYTHON + "'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'",
        PYTHON + "'import threading, time\nfor _ in range(99): threading.Thread(target=time.sleep, args=(60,)).start()'",
        "for i in $(seq 60); do sleep 60 & done; wait",
    ),
    LimitHit.DISK: (
        "for i in $(seq 9); do head -c 900k /dev/zero > f$i; done",
        "mkdir d; for i in $(seq 9); do head -c 900k /dev/urandom > d/$i; done; echo done",
        PYTHON + "'for i in range(9): open(str(i), \"wb\").write(bytes(1 << 20))'",
        "seq 9999999 | split -b 500k - /tmp/x",
    ),
    LimitHit.INODES: (
        "for i in $(seq 300); do : > f$i; done",
        "mkdir -p $(seq 300)",
        PYTHON + "'import os\nfor i in range(300): os.symlink(\"x\", str(i))'",
        "seq 300 | xargs touch",
    ),
    LimitHit.FILE_SIZE: (
        "head -c 9M /dev/zero > big",
        "yes > big; echo done",
        PYTHON + '\'open("big", "wb").write(bytes(3 << 20))\'',
        "truncate -s 1T sparse",
        "seq 999999 | gzip -1 > a.gz; cat a.gz a.gz a.gz a.gz > b; gzip -dc b > out",
    ),
    LimitHit.OPEN_FILES: (
        PYTHON + "'import os\nx = []\nwhile True: x.append(os.open(\"/dev/null\", 0))'",
        "for i in $(seq 99); do exec {f}</dev/null || exit; done",
        PYTHON + "'x = [open(\"names\") for _ in range(99)]'",
        PYTHON + "'import os\nx = []\ntry:\n  while True: x += os.pipe()\nexcept OSError: raise SystemExit(\"no: Too many open files\")'",
    ),
    LimitHit.WALL: ("sleep 60", "while :; do sleep 0.05; done", "exec >&- 2>&-; sleep 60", "kill -STOP $$", "mkfifo p; cat p"),
    LimitHit.OUTPUT: ("yes", "yes >&2", "cat /dev/zero", "for i in 1 2 3; do yes $i & done; wait", "head -c 32769 /dev/zero"),
    LimitHit.CPU: ("while :; do :; done", PYTHON + "'while True: pass'", "sh -c 'while :; do :; done'; echo done"),
}
INNOCENT = (
    "grep 'Too many open files' log",
    "cat log; false",
    "cat log >&2",
    "ls nothing",
    "kill -9 $$",
    "head -c 900k /dev/zero > f; rm f; false",
    "for i in $(seq 40); do exec {f}</dev/null; done; false",
    "for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait",
    "head -c 32768 /dev/zero",
)
STATE = State(
    nodes={
        "/srv/app/names": File(data=b"b\na\n"),
        "/srv/app/log": File(data=b"accept: Too many open files\nFile too large\nMemoryError\n"),
    },
    cwd="/srv/app",
)


class Load:
    """One endless loop per processor, for as long as it is entered."""

    def __enter__(self) -> None:
        loop = [sys.executable, "-I", "-S", "-c", "while True: pass"]
        self._loops = [subprocess.Popen(loop) for _ in range(os.cpu_count() or 1)]

    def __exit__(self, *_: object) -> None:
        for process in self._loops:
            process.kill()
            process.wait()


def once(sandbox: RunnerSandbox, command: str, limits: Limits) -> dict[str, Any]:
    """Run one command in a box of its own."""
    with sandbox.open(STATE, limits) as box:
        result = box.run(command)
    named = result.limit_hit.value if result.limit_hit else None
    return {"command": command, "named": named, "exit_code": result.exit_code, "seconds": result.seconds}


def measure(*, times: int) -> dict[str, list[dict[str, Any]]]:
    """Rows of every limit and of the innocent commands ("none")."""
    found: dict[str, list[dict[str, Any]]] = {}
    with Load(), open_sandbox() as sandbox, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, ways in [*((limit.value, ways) for limit, ways in WAYS.items()), ("none", INNOCENT)]:
            limits = BRIEF if name == LimitHit.WALL else LIMITS
            started = time.monotonic()
            found[name] = list(pool.map(lambda n, ways=ways, limits=limits: once(sandbox, ways[n % len(ways)], limits), range(times)))
            right = sum(row["named"] == (None if name == "none" else name) for row in found[name])
            print(f"{name}: {right} of {times} right, {time.monotonic() - started:.0f} s", flush=True)
            for row in {(row["command"], row["named"]) for row in found[name] if (row["named"] or "none") != name}:
                print(f"   wrong: {row[1]} for {row[0]!r}")
    return found


def main() -> None:
    """Measure and write the claims."""
    parser = argparse.ArgumentParser(description="Hit every limit under load and compare what is reported.")
    parser.add_argument("--quick", action="store_true", help="twenty times each instead of a hundred")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims to FILE and every command beside it")
    options = parser.parse_args()
    found = measure(times=TIMES_QUICK if options.quick else TIMES)
    if not options.json:
        return
    raw = options.json.with_suffix(".rows.jsonl")
    rows = [{"limit": name} | row for name, group in found.items() for row in group]
    raw.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    claims = []
    for name, group in found.items():
        right = sum((row["named"] or "none") == name for row in group)
        what = "commands within their limits for which none is named" if name == "none" else f"the {name} limit, named when it was hit"
        claims.append(
            {"claim": f"right reports: {what}", "figure": right / len(group), "unit": "share", "op": ">=", "target": TARGET}
            | {
                "against": "which limit the command was made to hit",
                "n": len(group),
                "interval": wilson(right, len(group)),
                "rows": raw.name,
            }
        )
    options.json.write_text(json.dumps(claims, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
