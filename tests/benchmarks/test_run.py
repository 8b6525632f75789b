"""`make bench`: the verdict about a claim is computed, never believed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(directory: Path) -> ModuleType:
    """benchmarks/run.py as a module that looks for benchmarks in `directory`."""
    specification = importlib.util.spec_from_file_location("bench_run", ROOT / "benchmarks" / "run.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.HERE = directory
    return module


def bench(directory: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    module = load(directory)
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    return int(module.main())


def script(directory: Path, name: str, claims: str) -> None:
    (directory / name).write_text(
        f"import json, sys\nassert '--json' in sys.argv\nprint('warming up')\nprint(json.dumps({{'claims': {claims}}}))\n"
    )


def test_a_kept_bound_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A value on the right side of its bound ends with 0 and is printed with its interval."""
    script(tmp_path, "fast.py", "[{'claim': 'x', 'value': 5, 'at_least': 4, 'low': 4.5, 'high': 5.5}]")
    assert bench(tmp_path, monkeypatch, "--quick") == 0
    assert "x: 5 [4.5, 5.5]" in capsys.readouterr().out


def test_a_broken_bound_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that says `holds` about a value beyond its bound is contradicted, and the exit status is 1."""
    script(tmp_path, "slow.py", "[{'claim': 'y', 'value': 70, 'at_most': 60, 'holds': True}]")
    assert bench(tmp_path, monkeypatch) == 1
    assert "does not hold: slow: y: 70" in capsys.readouterr().out


def test_a_benchmark_that_fails_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that crashes, or claims nothing, is a failure with its name."""
    (tmp_path / "crash.py").write_text("raise SystemExit(3)\n")
    script(tmp_path, "empty.py", "[]")
    assert bench(tmp_path, monkeypatch) == 1
    out = capsys.readouterr().out
    assert "crash: printed no JSON object (exit status 3)" in out
    assert "empty: made no claims" in out


def test_an_interval_across_the_bound_is_said(tmp_path: Path) -> None:
    """A value that keeps its bound with an interval that does not is marked."""
    holds, line = load(tmp_path).verdict({"claim": "z", "value": 4.2, "at_least": 4.0, "low": 3.8, "high": 4.6})
    assert holds
    assert "reaches across the bound" in line
