"""edgeevo.worker: what a child of ours is, wherever it is started from."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeevo.worker import Worker

ROOT = Path(__file__).resolve().parents[1]


def test_a_worker_imports_nothing_from_where_we_happen_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started in a directory that somebody has filled with modules of our names, it runs ours."""
    for name in ("edgeevo.py", "msgspec.py", "click.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'bait')!r}, 'w').close()\nraise SystemExit\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    with Worker("edgeevo.agent.serve") as worker:
        worker.send({"op": "nonsense"})
        assert worker.receive() and not (tmp_path / "bait").exists()
