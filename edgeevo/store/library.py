"""The one place that imports sqlite-utils.

Where numpy is installed it would be loaded along (12 MB), only so that its types are known; the daemon stores none and must stay small, so
numpy is out of reach while the library is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _out_of_reach(name: str) -> Iterator[None]:
    """Make `import name` fail inside the block, unless it was imported before."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # what the import system takes for "there is none"
    try:
        yield
    finally:
        del sys.modules[name]


with _out_of_reach("numpy"):
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

__all__ = ["Database", "Migrations"]
