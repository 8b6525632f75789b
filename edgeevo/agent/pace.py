"""How many threads a computation should use while others want the processor: judged by the share of it that it really got. Pure.

Threads that wait for each other after every product of matrices make hardly any progress once one of them is preempted: two threads beside
two busy compilers are many times slower than one. A computation whose threads all ran has used `threads` seconds of processor time per
second; one that got clearly less goes on with fewer, and tries all of them again after a while that doubles with every failure.
"""

from __future__ import annotations

LOOK_SECONDS = 0.1  # of computing, before a judgement: a single product says nothing
ENOUGH_SHARE = 0.8  # of what `threads` threads could have used; undisturbed it is above 0.95
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 32.0  # of computing with fewer threads, before all are tried again


class Pace:
    """Tell it what each piece of work took; `threads` is what the next one should use."""

    def __init__(self, most: int) -> None:
        """`most`: threads when nothing is in the way."""
        self.most = self.threads = most
        self._wall_seconds = self._cpu_seconds = self._pause_seconds = 0.0

    def took(self, wall_seconds: float, cpu_seconds: float) -> None:
        """One more piece of work with `threads` threads: how long, and the processor time of the whole process meanwhile."""
        self._wall_seconds += wall_seconds
        self._cpu_seconds += cpu_seconds
        if self.threads < self.most:
            if self._wall_seconds >= self._pause_seconds:
                self._go_on_with(self.most)
        elif self._wall_seconds >= LOOK_SECONDS:
            got = self._cpu_seconds / self._wall_seconds
            if got >= ENOUGH_SHARE * self.most:
                self._pause_seconds = 0.0
                self._go_on_with(self.most)
            else:
                self._pause_seconds = min(LONGEST_PAUSE_SECONDS, max(FIRST_PAUSE_SECONDS, 2 * self._pause_seconds))
                self._go_on_with(max(1, min(self.most - 1, int(got))))

    def _go_on_with(self, threads: int) -> None:
        self.threads = threads
        self._wall_seconds = self._cpu_seconds = 0.0
