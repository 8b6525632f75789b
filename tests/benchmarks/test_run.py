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


CLAIM = {"claim": "x", "figure": 5, "unit": "x", "op": ">=", "target": 4, "against": "a peer"}
CLAIM |= {"n": 3, "interval": [4.5, 5.5], "rows": "raw.jsonl"}


def script(directory: Path, name: str, *claims: dict[str, object]) -> None:
    (directory / name).write_text(
        "import json, pathlib, sys\n"
        "target = pathlib.Path(sys.argv[sys.argv.index('--json') + 1])\n"
        "(target.parent / 'raw.jsonl').write_text('{}')\n"
        f"target.write_text(json.dumps({list(claims)!r}))\n"
    )


def test_a_kept_target_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A figure on the right side of its target ends with 0 and is printed with its interval and its peer."""
    script(tmp_path, "fast.py", CLAIM)
    assert bench(tmp_path, monkeypatch, "--quick", "--into", str(tmp_path / "out")) == 0
    assert "x: 5 [4.5, 5.5] x, claimed >= 4 against a peer, n = 3" in capsys.readouterr().out


def test_a_broken_target_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that says `holds` about a figure beyond its target is contradicted, and the exit status is 1."""
    script(tmp_path, "slow.py", CLAIM | {"claim": "y", "figure": 70, "op": "<=", "target": 60, "holds": True})
    assert bench(tmp_path, monkeypatch, "--into", str(tmp_path / "out")) == 1
    assert "does not hold: slow: y: 70" in capsys.readouterr().out


def test_rows_are_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim whose raw data stands in it instead of in a file beside it does not hold, and those after it are still judged."""
    script(tmp_path, "inline.py", CLAIM | {"rows": [1, 2]}, CLAIM)
    assert bench(tmp_path, monkeypatch, "--into", str(tmp_path / "out")) == 1
    assert "1 of 2 claims hold" in capsys.readouterr().out


def test_a_benchmark_that_fails_is_not_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that crashes, claims nothing, or claims without saying against what, is a failure with its name."""
    (tmp_path / "crash.py").write_text("raise SystemExit(3)\n")
    script(tmp_path, "empty.py")
    script(tmp_path, "vague.py", {k: v for k, v in CLAIM.items() if k != "against"})
    assert bench(tmp_path, monkeypatch, "--into", str(tmp_path / "out")) == 1
    out = capsys.readouterr().out
    assert "crash: wrote no claims (exit status 3)" in out
    assert "empty: made no claims" in out
    assert "incomplete claim (against)" in out


def test_an_interval_across_the_target_is_said(tmp_path: Path) -> None:
    """A figure that keeps its target with an interval that does not is marked."""
    holds, line = load(tmp_path).verdict(CLAIM | {"figure": 4.2, "interval": [3.8, 4.6]})
    assert holds
    assert "reaches across the target" in line
