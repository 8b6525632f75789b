"""What the benchmarks of the sandbox say of their rows; that the sandbox holds is tested in tests/sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import fuzz
from tests.benchmarks.test_run import load


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("the canary changed", "host"),
        ("connections to the host changed", "host"),
        ("the host's secret came out", "host"),
        ("still runs: [7]", "left"),
        ("a mount is left", "left"),
        ("the runner keeps descriptors", "left"),
        ("came back 3.1 s after its time", "late"),
        ("the sandbox broke: no", "other"),
        ("the next episode is not clean", "other"),
        ("'/../x' is no place of a box", "other"),
    ],
)
def test_every_wrong_answer_counts_for_one_claim(text: str, claim: str) -> None:
    """What was found is never dropped, and is counted where its name says."""
    assert claim in fuzz.kind_of(text)


def test_a_claim_of_the_fuzz_holds_without_findings_only(tmp_path: Path) -> None:
    """The verdict of `make bench` on a claim follows its figure."""
    rows = [{"seed": 0, "kind": "tree", "limit": "", "seconds": 1.0, "wrong": []}]
    verdict = load(tmp_path).verdict
    assert verdict(fuzz.claim(fuzz.KINDS[0], 0, rows, tmp_path / "r"))[0]
    assert not verdict(fuzz.claim(fuzz.KINDS[0], 1, rows, tmp_path / "r"))[0]


def test_fuzzing_goes_on_only_behind_rows_of_the_same_sources(tmp_path: Path) -> None:
    """Rows that another sandbox earned, and half a row, count for nothing."""
    kept, row = tmp_path / "rows", {"seed": 3, "kind": "tree", "limit": "", "seconds": 1.0, "wrong": []}
    kept.write_text(json.dumps({"sources": fuzz.sources()}) + "\n" + json.dumps(row) + "\n")
    assert fuzz.earlier(kept) == [row]
    kept.write_text(json.dumps({"sources": "others"}) + "\n" + json.dumps(row) + "\n")
    assert fuzz.earlier(kept) == []
    kept.write_text(json.dumps({"sources": fuzz.sources()}) + "\n" + '{"seed"')
    assert fuzz.earlier(kept) == [] and fuzz.earlier(None) == [] and fuzz.earlier(tmp_path / "none") == []
