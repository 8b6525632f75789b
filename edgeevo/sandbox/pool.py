"""A pool of runners: sized to the machine, warm, recycled. A box is opened where its state lies ready, or where the fewest boxes are open.

One runner serves any number of boxes at once, since commands are processes of their own; more than one pays when episodes are so short that
the runner's own work counts.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable

from edgeevo.errors import SandboxError
from edgeevo.sandbox.connection import Connection

MAX_WORKERS = 4
MEMORY_BYTES_PER_WORKER = 1 << 30  # a runner, its cache of states, and boxes that are open on it
RECYCLED_AFTER_BOXES = 5000
REMEMBERED_STATES = 64  # as many as a runner keeps


def fitting_workers() -> int:
    """How many runners this machine has use for: one per processor that we may use, as memory allows, at most four."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory_bytes // MEMORY_BYTES_PER_WORKER, MAX_WORKERS))


class Pool:
    """Keeps `workers` runners (None: as many as fit the machine) started by `start`; a dead or worn one is replaced when it is next due.

    All are started at once, so that the first box is as fast as the others.
    """

    def __init__(self, start: Callable[[], Connection], workers: int | None) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._open: dict[Connection, int] = {}  # boxes that are open
        self._opened: dict[Connection, int] = {}  # boxes that were ever opened
        self._last: OrderedDict[str, Connection] = OrderedDict()  # which runner served a state last
        self._closed = False
        self.connections: list[Connection] = []
        if workers is not None and workers < 1:
            raise SandboxError(f"a pool of {workers} runners serves nobody", hint="ask for one worker or more")
        try:
            for _ in range(workers or fitting_workers()):
                self.connections.append(self._begin())
        except BaseException:
            self.close()
            raise

    def take(self, state_id: str) -> Connection:
        """The runner for a new box on a state; give it back when the box is closed."""
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed", hint="open a new one")
            chosen = min(self.connections, key=lambda one: (self._open[one], self._last.get(state_id) is not one))
            if not chosen.alive or (self._opened[chosen] >= RECYCLED_AFTER_BOXES and not self._open[chosen]):
                chosen = self._replace(chosen)
            self._open[chosen] += 1
            self._opened[chosen] += 1
            self._last[state_id] = chosen
            self._last.move_to_end(state_id)
            while len(self._last) > REMEMBERED_STATES:
                self._last.popitem(last=False)
            return chosen

    def give_back(self, connection: Connection) -> None:
        """A box of this runner is closed, or could not be opened."""
        with self._lock:
            if connection in self._open:  # else it was replaced meanwhile
                self._open[connection] -= 1

    def close(self) -> None:
        """End all runners."""
        with self._lock:
            self._closed = True
            for connection in self.connections:
                connection.close()

    def _begin(self) -> Connection:
        connection = self._start()
        self._open[connection] = self._opened[connection] = 0
        return connection

    def _replace(self, old: Connection) -> Connection:
        new = self._begin()
        self.connections[self.connections.index(old)] = new
        del self._open[old], self._opened[old]
        self._last = OrderedDict((state_id, one) for state_id, one in self._last.items() if one is not old)
        old.close()
        return new
