"""scripts/factory.py: one night, its audit, and the files that ship; rehearsed, without a model."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from edgeevo.config import load
from edgeevo.models.factory import Passed, find, load_factory

ROOT = Path(__file__).resolve().parents[2]
REHEARSED = ("model.card=", "daemon.night_module=edgeevo.rehearsal", "daemon.audit_module=edgeevo.rehearsal", "audit.tasks=12")


def command(place: Path, *settings: str) -> list[str]:
    """The command line that makes a rehearsed factory adapter in `place`."""
    where = (f"daemon.state_dir={place / 'state'}", *REHEARSED)
    return [sys.executable, "-u", str(ROOT / "scripts" / "factory.py"), "--into", str(place / "models"), *where, *settings]


def made(place: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(place, *settings), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def interrupted(place: Path, marker: str, *settings: str) -> str:
    """Begin, press Ctrl-C when a line with `marker` was printed; returns the rest of the output."""
    process = subprocess.Popen(command(place, *settings), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any(marker in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(15) == 130
    return rest


def test_one_command_trains_examines_audits_and_exports(tmp_path: Path) -> None:
    """What it leaves is a factory adapter that a box accepts, and its card has the figures of exam, audit and examples."""
    done = made(tmp_path, "night.rehearsal_seconds=0.3")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "models" / "smollm2-135m-factory.toml"
    card = load_factory(path)
    assert find(load(None, ["model.card=", f"model.factory={path}"])) is not None
    assert (card.exam.n, card.exam.wins, card.exam.losses, card.exam.adapter) == (8, 6, 0, {"single": Passed(passed=6, total=8)})
    assert (card.audit, card.examples) == ({"single": Passed(passed=8, total=12)}, {"oracle": 2})
    assert "Audit pass rate" in done.stdout


def test_after_ctrl_c_the_same_command_goes_on_with_the_same_night(tmp_path: Path) -> None:
    """Interrupted in its night it says so and leaves no files; run again it ends that night and exports."""
    assert "goes on" in interrupted(tmp_path, "evolve: done", "night.rehearsal_seconds=3")
    assert not (tmp_path / "models").exists()
    done = made(tmp_path, "night.rehearsal_seconds=3")
    assert done.returncode == 0, done.stderr
    assert "evolve: started" not in done.stdout and "night-1 ended" in done.stdout and "night-2" not in done.stdout
    assert sorted(path.suffix for path in (tmp_path / "models").iterdir()) == [".gguf", ".toml"]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    """A second run plays no night, and exports the same card."""
    assert made(tmp_path, "night.rehearsal_seconds=0.3").returncode == 0
    (card,) = (tmp_path / "models").glob("*.toml")
    before = card.read_bytes()
    again = made(tmp_path, "night.rehearsal_seconds=0.3")
    assert again.returncode == 0 and "night-1 runs" not in again.stdout and card.read_bytes() == before


@pytest.mark.parametrize("changed", ["night.examples=77", "night.epochs=2"])
def test_a_night_begun_with_other_settings_is_not_gone_on_with(tmp_path: Path, changed: str) -> None:
    """The card's configuration is that of the whole night: exit code 2, and the hint says how to begin anew."""
    assert made(tmp_path, "night.rehearsal_seconds=0.3").returncode == 0
    done = made(tmp_path, "night.rehearsal_seconds=0.3", changed)
    assert done.returncode == 2
    assert "other settings" in done.stderr and "begin anew" in done.stderr
