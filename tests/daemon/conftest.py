"""A daemon in a process of its own, on a state directory of the test, with rehearsed nights and a scripted mind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeevo.config import Loaded, load
from edgeevo.control import Answer, Request, Status, StatusAsked, ask, call
from edgeevo.errors import DaemonError

ROOT = Path(__file__).resolve().parents[2]
BOOT = """
import json, sys
from pathlib import Path
from edgeevo.config import load
from edgeevo.daemon.desk import ScriptedBrain
from edgeevo.daemon.service import serve
from edgeevo.host import LinuxHost
serve(load(Path(sys.argv[1]), sys.argv[3:]), LinuxHost(), ScriptedBrain(json.loads(sys.argv[2])))
"""
CONFIG = """
version = 1
[daemon]
state_dir = "{state}"
runtime_dir = "{state}"
tick_seconds = 0.1
night_module = "edgeevo.rehearsal"
audit_module = "edgeevo.rehearsal"
[model]
card = ""
[idle]
window = "00:00-00:00"
enter_dwell_seconds = 86400.0
[audit]
tasks = 12
[night]
rehearsal_seconds = 0.3
"""


class Box:
    """One daemon: start it, talk to it, kill it, look into its database."""

    def __init__(self, state: Path, replies: dict[str, list[str]] | None = None) -> None:
        self.state, self.replies = state, replies or {"list the files": ["ls -la"]}
        self.file = state / "config.toml"
        self.file.write_text(CONFIG.format(state=state))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def loaded(self) -> Loaded:
        """The configuration as this process reads it."""
        return load(self.file)

    def start(self, *settings: str) -> Status:
        """Start the daemon with these settings and wait until it answers."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", BOOT, str(self.file), json.dumps(self.replies), *settings]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        return self.wait(bool)

    def status(self) -> Status:
        """Its status now."""
        answer = ask(self.loaded.socket, StatusAsked(), timeout_seconds=5)
        assert isinstance(answer, Status)
        return answer

    def wait(self, holds: Callable[[Status], bool], seconds: float = 15.0) -> Status:
        """Its status once `holds`; fails after the time or when the daemon has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                status = self.status()
                if holds(status):
                    return status
            except DaemonError:
                assert self.process is not None and self.process.poll() is None, self.process.stderr.read().decode()  # type: ignore[union-attr]
            time.sleep(0.02)
        raise AssertionError(f"it never came to that: {self.status()}")

    def ask(self, request: Request) -> Answer:
        """The first answer to a request."""
        return ask(self.loaded.socket, request)

    def follow(self, request: Request) -> list[Answer]:
        """All answers to a request."""
        return list(call(self.loaded.socket, request))

    def follow_in_background(self, request: Request) -> threading.Thread:
        """Follow a request on another connection until the daemon hangs up, however it does."""

        def run() -> None:
            with contextlib.suppress(DaemonError):
                self.follow(request)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def kill(self, number: int = signal.SIGKILL) -> float:
        """End the daemon; returns how long that took, in seconds."""
        assert self.process is not None
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(10)
        return time.monotonic() - started

    def rows(self, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        """Rows of a query on its database."""
        connection = sqlite3.connect(f"file:{self.loaded.database}?mode=ro", uri=True)
        try:
            return connection.execute(sql, parameters).fetchall()
        finally:
            connection.close()


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()
