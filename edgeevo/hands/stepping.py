"""What happens before each step of writing back: nothing, or, to prove that every step may be the last, the end of the process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

Before = Callable[[str], None]  # called with the name of the step that comes next


def go_on(_: str) -> None:
    """Just do the step."""


class Count:
    """Counts the steps; their names are in `names`."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        """One more."""
        self.names.append(name)


class KillAt:
    """Kills this process before its step number `number` (the first is 0), as a power cut would as far as files are concerned."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, name: str) -> None:
        """The last one, when it is time."""
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
