"""Worker child: download one wheel without its dependencies. `{"requirement", "directory"}` -> `{"wheel": path}`; nothing is installed.

pip runs inside this process (its output goes to stderr), so that the parent's only way to start processes stays the worker.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
from pathlib import Path

from edgeevo.worker import emit, requests


def download(requirement: str, directory: Path) -> Path:
    """The wheel that pip puts into `directory`; SystemExit with pip's own status when it can't."""
    # Source distributions are refused: building one would run its code.
    arguments = [
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--progress-bar=off",
        "--quiet",
        "--dest",
        str(directory),
        requirement,
    ]
    with contextlib.redirect_stdout(sys.stderr):
        saved, sys.argv = sys.argv, arguments
        try:
            runpy.run_module("pip", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            if end.code not in (0, None):
                raise
        finally:
            sys.argv = saved
    return next(directory.glob("*.whl"))


if __name__ == "__main__":
    for request in requests():
        emit({"wheel": str(download(request["requirement"], Path(request["directory"])))})
