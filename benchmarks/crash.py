"""What is lost when everything is killed? The same miniature night on real weights: undisturbed, killed at every event, killed at random.

    python benchmarks/crash.py [--quick] [--json FILE]

SIGKILL hits the daemon after every event that it recorded, then, each in a night of its own, the night, the trainer and the model worker
wherever they run after an event, and last any of them at random instants. In one more night SIGTERM stops the daemon now and then, and the
time until it has ended is taken. Counted are recorded events that were lost or changed, processes and mounts left behind, and decisions
that differ from those of the undisturbed night. Needs the model in .cache/models (`make setup` puts it there).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from edgeevo.config import load
from edgeevo.control import NightAsked, StatusAsked, ask, call
from edgeevo.errors import EdgeevoError
from edgeevo.store.figures import wilson

ROOT = Path(__file__).resolve().parents[1]
NIGHT_SECONDS = 900
GONE_SECONDS = 10
FAMILY = ("edgeevo.night", "edgeevo.learning.trainer", "edgeevo.agent.serve")  # below the daemon
KILLS, KILLS_QUICK = 20, 4
STOPS, STOP_AFTER_SECONDS, STOP_SECONDS = 12, 3.0, 2.0
NIGHTS = 4  # disturbed at event boundaries: each meets those that the ones before missed
CONFIG = """
version = 1
[daemon]
state_dir = "{state}"
runtime_dir = "{state}"
tick_seconds = 0.2
[model]
models_dir = "{models}"
[idle]
enter_dwell_seconds = 86400.0
[night]
groups = ["grep", "count_lines", "head"]
lineages = 3
generations = 1
practice_groups = 2
group_attempts = 2
examples = 12
exam_pairs = 16
checkpoint_seconds = 1.0
"""


class Box:
    """A daemon on a state directory of its own."""

    def __init__(self, state: Path) -> None:
        self.state, self.file = state, state / "config.toml"
        state.mkdir()
        self.file.write_text(CONFIG.format(state=state, models=ROOT / ".cache" / "models"), encoding="utf-8")
        self.loaded = load(self.file)
        self.started_at = 0.0
        self.daemon: subprocess.Popen[bytes] | None = None
        self.left: set[int] = set()
        self.stops: list[float] = []  # seconds from SIGTERM to the end
        self._reader: sqlite3.Connection | None = None

    def start(self) -> None:
        """Start the daemon; it goes on with an unfinished night by itself."""
        boot = "from edgeevo.cli import main; main()"
        command = [sys.executable, "-c", boot, "--config", str(self.file), "daemon"]
        self.daemon = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        self.started_at = time.monotonic()
        self.until(lambda: bool(ask(self.loaded.socket, StatusAsked(), timeout_seconds=5)), 60)

    @staticmethod
    def until(holds: Callable[[], bool], seconds: float) -> None:
        """Wait for something; SystemExit when it doesn't come."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if holds():
                    return
            except EdgeevoError:
                pass
            time.sleep(0.02)
        raise SystemExit("it never came to that")

    def family(self) -> dict[str, list[int]]:
        """Process ids below the daemon by what they are."""
        if self.daemon is None or self.daemon.poll() is not None:
            return {}
        found: dict[str, list[int]] = {"daemon": [self.daemon.pid]}
        for child in psutil.Process(self.daemon.pid).children(recursive=True):
            try:
                words = " ".join(child.cmdline())
            except psutil.Error:
                continue
            for name in FAMILY:
                if name in words:
                    found.setdefault(name, []).append(child.pid)
            found.setdefault("all", []).append(child.pid)
        return found

    def kill(self, pid: int) -> None:
        """SIGKILL one of the family; remember who, of what it had started itself, outlives it for more than some seconds."""
        rest = {child.pid for child in psutil.Process(pid).children(recursive=True)}
        os.kill(pid, signal.SIGKILL)
        if self.daemon is not None and pid == self.daemon.pid:
            self.daemon.wait()
        self._outlived(rest)

    def stop(self) -> None:
        """SIGTERM the daemon, and take the time until it has ended."""
        assert self.daemon is not None
        rest = {child.pid for child in psutil.Process(self.daemon.pid).children(recursive=True)}
        asked = time.monotonic()
        self.daemon.terminate()
        self.daemon.wait(30)
        self.stops.append(time.monotonic() - asked)
        self._outlived(rest)

    def _outlived(self, rest: set[int]) -> None:
        deadline = time.monotonic() + GONE_SECONDS
        while (rest := {each for each in rest if _alive(each)}) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.left |= rest

    def recorded(self) -> list[tuple[int, str, bytes]]:
        """The events on disk, in order."""
        connection = sqlite3.connect(f"file:{self.loaded.database}?mode=ro", uri=True)
        try:
            return connection.execute("select seq, kind, body from events order by seq").fetchall()
        finally:
            connection.close()

    def count(self) -> int:
        """How many events are on disk: cheap, so that events which follow each other at once are met one by one."""
        if self._reader is None:
            self._reader = sqlite3.connect(f"file:{self.loaded.database}?mode=ro", uri=True)
        return int(self._reader.execute("select count(*) from events").fetchone()[0])

    def ask_for_a_night(self) -> None:
        """Ask and do not wait for the end."""
        for _ in call(self.loaded.socket, NightAsked()):
            return


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


Disturb = Callable[[Box, list[int]], None]


def decisions(events: list[tuple[int, str, bytes]]) -> list[Any]:
    """What was decided: environments, examples, outcomes and the judgement, without times and losses."""
    out: list[Any] = []
    for _, kind, body in events:
        said = json.loads(body)
        if kind in ("environment_admitted", "environment_rejected"):
            out.append((kind, said["environment"], said.get("place", 0), said.get("reason", "")))
        elif kind == "examples_selected":
            out.append((kind, said["examples_id"]))
        elif kind == "evaluated":
            out.append((kind, said["set_id"], said.get("part", 0), [(o["task_id"], o.get("passed", False)) for o in said["outcomes"]]))
        elif kind == "adapter_judged":
            out.append((kind, said["judgement"]["decision"], said["judgement"].get("wins", 0), said["judgement"].get("losses", 0)))
    return out


def run(state: Path, disturb: Disturb, kills: list[int]) -> tuple[Box, int]:
    """One night; `disturb(box, kills)` may kill and adds to `kills`. Returns the box, and how many recorded events changed or went."""
    box, lost = Box(state), 0
    box.start()
    box.ask_for_a_night()
    known: list[tuple[int, str, bytes]] = []
    deadline = time.monotonic() + NIGHT_SECONDS
    while not any(kind == "night_ended" for _, kind, _ in known):
        if time.monotonic() > deadline:
            raise SystemExit("the night does not end")
        disturb(box, kills)
        if box.daemon is not None and box.daemon.poll() is not None:
            box.start()
        if box.count() != len(known):
            now = box.recorded()
            lost += sum(a != b for a, b in zip(known, now, strict=False)) + max(0, len(known) - len(now))
            known = now
        time.sleep(0.001)
    if box.daemon is not None:
        box.daemon.terminate()
        box.daemon.wait(30)
    return box, lost


def at_every_event(victim: str) -> Disturb:
    """Kill `victim` once for each number of recorded events that wasn't met before."""

    def disturb(box: Box, kills: list[int]) -> None:
        if box.daemon is None or not box.count() or box.count() in kills:
            return
        box.daemon.send_signal(signal.SIGSTOP)  # so that no event is recorded between the count and the kill
        time.sleep(0.01)
        count, pids = box.count(), box.family().get(victim, [])
        if count not in kills and pids:
            kills.append(count)
            box.kill(pids[0])
        box.daemon.send_signal(signal.SIGCONT)

    return disturb


def at_random(total: int) -> Disturb:
    """Kill one of the family now and then, `total` times."""
    dice = random.Random(20)
    due = [time.monotonic() + dice.uniform(0.5, 6)]

    def disturb(box: Box, kills: list[int]) -> None:
        if len(kills) >= total or time.monotonic() < due[0]:
            return
        due[0] = time.monotonic() + dice.uniform(0.5, 6)
        family = box.family()
        names = [name for name in family if name != "all"]
        if names:
            kills.append(len(kills))
            try:
                box.kill(dice.choice(family[dice.choice(names)]))
            except (ProcessLookupError, psutil.Error):
                return

    return disturb


def stopped(box: Box, stops: list[int]) -> None:
    """SIGTERM now and then, some seconds after the last start, `STOPS` times."""
    if len(stops) < STOPS and box.daemon is not None and time.monotonic() - box.started_at > STOP_AFTER_SECONDS * (1 + len(stops) % 3):
        stops.append(len(stops))
        box.stop()


def main() -> None:
    """Measure and write the claims."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    mounts = Path("/proc/mounts").read_text(encoding="utf-8")
    rows, stops = [], list[float]()
    wanted_kills = KILLS_QUICK if options.quick else KILLS
    with tempfile.TemporaryDirectory() as folder:
        calm, _ = run(Path(folder) / "calm", lambda _box, _kills: None, [])
        wanted, total = decisions(calm.recorded()), len(calm.recorded())
        met: list[int] = []  # numbers of recorded events at which a kill hit
        plans: list[tuple[str, Disturb, list[int]]] = [("at random", at_random(wanted_kills), [])]
        if not options.quick:
            again = [(f"daemon at every event, night {n + 1}", at_every_event("daemon"), met) for n in range(NIGHTS)]
            others = [(f"{name} at every event", at_every_event(name), []) for name in FAMILY]
            plans = [*again, *others, ("SIGTERM now and then", stopped, []), *plans]
        for number, (name, disturb, kills) in enumerate(plans):
            if kills is met and len(met) >= total - 1:
                continue  # behind the last one nothing is left to do
            started, before = time.monotonic(), len(kills)
            box, lost = run(Path(folder) / str(number), disturb, kills)
            same = decisions(box.recorded()) == wanted
            row = {
                "plan": name,
                "kills": 0 if disturb is stopped else len(kills) - before,
                "events": total,
                "lost": lost,
                "left": len(box.left),
                "differs": not same,
            }
            row |= {"stops_seconds": [round(each, 3) for each in box.stops]} if disturb is stopped else {}
            stops += box.stops if disturb is stopped else []
            rows.append(row | {"seconds": round(time.monotonic() - started, 1)})
            print(rows[-1], flush=True)
    mounts_left = Path("/proc/mounts").read_text(encoding="utf-8") != mounts
    hits = sum(int(row["kills"]) for row in rows)
    figures = {
        "random instants of which no SIGKILL came": wanted_kills - len(plans[-1][2]),
        "recorded events lost or changed by SIGKILL": sum(int(row["lost"]) for row in rows),
        "processes left behind by SIGKILL": sum(int(row["left"]) for row in rows),
        "mounts left behind by SIGKILL": int(mounts_left),
        "disturbed nights whose decisions differ": sum(bool(row["differs"]) for row in rows),
    }
    if not options.quick:
        figures["event boundaries of the night at which no SIGKILL hit the daemon"] = total - 1 - len(met)
        figures["kinds of worker that no SIGKILL hit at an event boundary"] = sum(not each for _, _, each in plans if each is not met)
    for claim, figure in figures.items():
        print(f"{claim}: {figure} ({hits} kills)")
    print(f"from SIGTERM to the end: {', '.join(f'{each:.2f}' for each in stops)} s")
    if options.json:
        raw = options.json.with_suffix(".rows.jsonl")
        raw.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        peer = "an undisturbed night of the same seed"
        claims: list[dict[str, Any]] = [
            {"claim": claim, "figure": figure, "unit": "count", "op": "<=", "target": 0, "against": peer, "n": hits}
            | {"interval": [figure, figure or hits * wilson(0, max(1, hits))[1]], "rows": raw.name}
            for claim, figure in figures.items()
        ]
        if stops:
            claims.append(
                {"claim": "the longest way from SIGTERM, somewhere in a night, to the end of the daemon", "figure": round(max(stops), 3)}
                | {"unit": "s", "op": "<=", "target": STOP_SECONDS, "against": "the promise", "n": len(stops)}
                | {"interval": [round(min(stops), 3), round(max(stops), 3)], "rows": raw.name}
            )
        options.json.write_text(json.dumps(claims, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
