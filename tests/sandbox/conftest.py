from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import ABUSE_LIMITS as TIGHT
from edgeevo.sandbox.abuse import ABUSE_STATE as STATE

both_tiers = pytest.mark.parametrize("sandbox", [None, "copy"], ids=["chosen", "copy"], indirect=True)  # as the kernel allows, and forced


@pytest.fixture(scope="session")
def sandbox(request):
    with open_sandbox(tier=getattr(request, "param", None)) as opened:
        yield opened


@pytest.fixture
def box(sandbox):
    with sandbox.open(STATE, TIGHT) as opened:
        yield opened


def descendants(pid: int) -> list[int]:
    """All processes below `pid`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(entry.name), *descendants(int(entry.name))]
    return found


def only_the_spare_is_mounted(pid: int) -> bool:
    """Whether the runner's namespace holds no box but the empty one that it keeps prepared (a tmpfs and an overlay)."""
    places = [line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return len([place for place in places if place.startswith("/boxes/")]) <= 2


def settled(check, seconds: float = 10.0) -> bool:
    """Whether `check()` becomes true in time."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="changes its user")
