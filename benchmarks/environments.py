"""Do admitted environments still hold when somebody else re-runs them? Evolves a pool, stores it, and re-runs it from the store.

    python benchmarks/environments.py [--quick] [--json FILE]

The re-run happens in another process, under another user id (as root), another time zone and locale, with both cores busy, on instances
drawn from other seeds. An environment holds when its oracle passes and doing nothing fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeevo.agent.episode import verify
from edgeevo.domain import Split, derive_seed
from edgeevo.environments import sets
from edgeevo.environments.program import render
from edgeevo.errors import TaskError
from edgeevo.events import EnvironmentAdmitted
from edgeevo.evolution.harness import Harness
from edgeevo.evolution.lineage import Pool
from edgeevo.sandbox import open_sandbox
from edgeevo.store.figures import wilson
from edgeevo.store.reader import Reader
from edgeevo.store.writer import Store

NOBODY = 65_534
MAX_STORE_BYTES = 1 << 30
LINEAGES, LINEAGES_QUICK, GENERATIONS = 80, 10, 2
BUSY = "import time\nend = time.monotonic() + 900\nwhile time.monotonic() < end: sum(range(10000))"


def grow(path: Path, lineages: int) -> int:
    """Evolve `lineages` founders for two generations into the store at `path`; returns how many environments were admitted."""
    store = Store.open(path, max_bytes=MAX_STORE_BYTES, now=time.time())
    owner = store.start("night", cause="benchmark", seed=0, request=b"{}", now=time.time())
    founders = sets.founders()[:lineages]
    pool, admitted = Pool(), 0
    sandbox = open_sandbox()
    try:
        harness = Harness(sandbox, 0)
        for number in range(GENERATIONS + 1):
            names = [founder.lineage for founder in founders]
            events = harness.generation(number, names, pool) if number else harness.founders(founders, pool)
            for event in events:
                store.record(owner, event, now=time.time())
                pool = pool.after(event)
                admitted += isinstance(event, EnvironmentAdmitted)
    finally:
        sandbox.close()
        store.close()
    return admitted


def again(path: Path) -> list[dict[str, object]]:
    """Re-run every admitted environment of the store on an instance of another seed; one row each."""
    rows = []
    sandbox = open_sandbox()
    try:
        with Reader(path) as reader:
            for known in reader.environments(limit=100_000):
                environment = reader.environment(known.id).environment
                try:
                    task = render(environment.program, derive_seed("again", known.id), Split.PRACTICE)
                except TaskError as error:  # counted like an oracle that fails
                    rows.append({"id": known.id, "oracle": False, "nop": False, "uid": os.getuid(), "why": [str(error)]})
                    continue
                oracle, nop = verify(task, sandbox, task.oracle).verdict, verify(task, sandbox, ()).verdict
                rows.append({"id": known.id, "oracle": oracle.passed, "nop": nop.passed, "uid": os.getuid(), "why": list(oracle.reasons)})
    finally:
        sandbox.close()
    return rows


@contextmanager
def load() -> Iterator[None]:
    """Keep both cores busy meanwhile; the busy processes end by themselves after 15 minutes whatever happens."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _interpreter(become: list[str]) -> str:
    """A Python that the other user may run: ours, or the system's of the same version where ours lies in a private home."""
    wanted = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for candidate in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}", "/usr/bin/python3"):
        real = str(Path(candidate).resolve())
        tries = ([*become, "test", "-x", real], [*become, candidate, "-c", wanted])
        if all(subprocess.run(command, check=False).returncode == 0 for command in tries):
            return candidate
    raise SystemExit("no Python of this version that another user may run; install one below /usr")


def elsewhere(path: Path) -> list[dict[str, object]]:
    """`again` in another process, as another user where we may become one, elsewhere in the world, under load."""
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 and shutil.which("setpriv") else []
    packages = os.pathsep.join([str(Path(__file__).parents[1]), *(p for p in sys.path if p.endswith("site-packages"))])
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(path.parent), "TZ": "Pacific/Apia", "LC_ALL": "C", "PYTHONPATH": packages}
    command = [*become, _interpreter(become), __file__, "--again", str(path)]
    with load():
        done = subprocess.run(command, env=environment, cwd=path.parent, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Measure and write the claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.again:
        for row in again(options.again):
            print(json.dumps(row), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "edgeevo.db"
        admitted = grow(path, LINEAGES_QUICK if options.quick else LINEAGES)
        for part in Path(folder).iterdir():
            part.chmod(0o644)
        if os.getuid() == 0:
            for part in (Path(folder), *Path(folder).iterdir()):
                os.chown(part, NOBODY, NOBODY)
        rows = elsewhere(path)
    held = sum(bool(row["oracle"]) and not row["nop"] for row in rows)
    low, high = wilson(held, len(rows))
    print(f"{admitted} admitted, {len(rows)} re-run, {held} hold [{low:.3f}, {high:.3f}]")
    for row in rows:
        if not row["oracle"] or row["nop"]:
            print(f"  {row['id']}: oracle {row['oracle']}, nop {row['nop']}, {row['why']}")
    if options.json:
        raw = options.json.with_suffix(".rows.jsonl")
        raw.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        claim = {
            "claim": "admitted environments that hold when re-run by another process, user, time zone and locale, under load",
            "figure": held / len(rows),
            "unit": "share",
            "op": ">=",
            "target": 0.98,
            "against": "the verdict at admission",
            "n": len(rows),
            "interval": [low, high],
            "rows": raw.name,
        }
        options.json.write_text(json.dumps([claim], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
