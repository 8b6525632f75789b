"""scripts/setup on machines that lack something; the good case is what `make test` itself begins with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.executable).resolve()  # not a shim, which would need a shell and more of the PATH
BASICS = ("sh", "dirname", "cat", "cksum", "tr", "grep", "env", "rm", "c++", "jq", "sqlite3", "zip", "unzip", "xxd", "file")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What setup reads, at a path with a space in it, and a PATH of our own in `bin`: everything but bubblewrap and apt-get."""
    place = tmp_path / "a checkout"
    (place / "bin").mkdir(parents=True)
    for name in ("scripts", "models"):
        shutil.copytree(ROOT / name, place / name)
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, place)
    for name in BASICS:
        found = shutil.which(name)
        stub(place, name, "exit 0") if found is None else (place / "bin" / name).symlink_to(found)
    (place / "bin" / "python3").symlink_to(PYTHON)
    return place


def stub(checkout: Path, name: str, body: str) -> None:
    """A program in `bin` that notes its arguments in a file of its name, then runs `body`."""
    program = checkout / "bin" / name
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>"{checkout}/{name}.calls"\n{body}\n')
    program.chmod(0o755)


def setup(checkout: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(checkout / "bin"), "HOME": os.environ.get("HOME", "/")}
    command = [str(checkout / "scripts" / "setup")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


def test_without_a_known_package_manager_it_says_what_to_install(checkout: Path) -> None:
    """No apt-get: it ends with 1, names what is missing, and the hint says what to do."""
    done = setup(checkout)
    assert done.returncode == 1
    assert "this machine lacks: bubblewrap\n" in done.stderr
    assert "hint: install them" in done.stderr


def test_an_unprivileged_user_without_sudo_is_told_the_command(checkout: Path) -> None:
    """Not root and no sudo: the hint is the very command for root."""
    stub(checkout, "id", "echo 1000")
    stub(checkout, "apt-get", "exit 0")
    done = setup(checkout)
    assert done.returncode == 1
    assert "as root: apt-get install bubblewrap\n" in done.stderr
    assert not (checkout / "apt-get.calls").exists()


def test_sudo_is_never_asked_for_a_password_without_a_terminal(checkout: Path) -> None:
    """Not root and no terminal: sudo is called with -n, and its refusal is two lines, not a hanging prompt."""
    stub(checkout, "id", "echo 1000")
    stub(checkout, "apt-get", "exit 0")
    stub(checkout, "sudo", "exit 1")
    done = setup(checkout)
    assert done.returncode == 1
    assert (checkout / "sudo.calls").read_text() == "-n apt-get update -qq\n"
    assert "apt-get could not install: bubblewrap\n" in done.stderr


def test_root_installs_only_what_is_missing(checkout: Path) -> None:
    """Root: apt-get is asked for the missing packages and nothing else, then setup goes on to the virtual environment."""
    stub(checkout, "id", "echo 0")
    stub(checkout, "apt-get", "exit 0")
    (checkout / "bin" / "python3").unlink()
    stub(checkout, "python3", f'case "$*" in *venv*.venv*) exit 7;; esac\nexec "{PYTHON}" "$@"')
    done = setup(checkout)
    assert (checkout / "apt-get.calls").read_text().splitlines() == ["update -qq", "install -y -qq --no-install-recommends bubblewrap"]
    assert "making .venv" in done.stdout
    assert done.returncode == 7


def test_an_old_python_is_refused_with_a_way_out(checkout: Path) -> None:
    """A Python below 3.11 ends it before anything is made."""
    stub(checkout, "bwrap", "exit 0")
    (checkout / "bin" / "python3").unlink()
    stub(checkout, "python3", 'case "$*" in *version_info*) exit 1;; *-V*) echo Python 3.9.2;; esac')
    done = setup(checkout)
    assert done.returncode == 1
    assert "Python 3.9.2, 3.11 or newer is needed" in done.stderr
    assert "hint: name another one" in done.stderr
    assert not (checkout / ".venv").exists()
