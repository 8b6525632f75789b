"""Run our code as a user who may do nothing: a copy of the package where others can read it, an interpreter that they can start, setpriv.

For tests and benchmarks that are run as root; a checkout below a private home can't be read by anybody else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

import msgspec

ROOT = Path(__file__).resolve().parents[1]
UID = 65_533  # owns nothing


def interpreter() -> str:
    """A Python of our own version that any user may start; RuntimeError when there is none."""
    names = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}", f"/usr/local/bin/python3.{sys.version_info.minor}")
    for name in names:
        real = Path(name).resolve()
        if real.exists() and all(parent.stat().st_mode & 1 for parent in real.parents):
            return name
    raise RuntimeError("no Python of this version that other users can start; install the distribution's python3")


class ServiceUser:
    """`run(code)` runs Python code with edgeevo importable, as user 65533 without groups, capabilities or new privileges."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(dir="/tmp", prefix="edgeevo-user-"))
        self.place.chmod(0o755)
        for package in (ROOT / "edgeevo", Path(msgspec.__file__).parent):
            shutil.copytree(package, self.place / "lib" / package.name, ignore=shutil.ignore_patterns("__pycache__"))

    def own(self, *paths: Path) -> None:
        """Give paths to the user."""
        for path in paths:
            os.chown(path, UID, UID)

    def run(self, code: str, *, timeout_seconds: float = 900.0) -> bytes:
        """Standard output of the code; RuntimeError with its errors when it fails."""
        start = f"import sys; sys.path.insert(0, {str(self.place / 'lib')!r})\n{code}"
        user = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", "--no-new-privs", interpreter(), "-I", "-c", start]
        done = subprocess.run(user, cwd="/", capture_output=True, timeout=timeout_seconds, check=False)
        if done.returncode:
            raise RuntimeError(f"ended with {done.returncode}: {done.stderr.decode('utf-8', 'backslashreplace')[-2000:]}")
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
