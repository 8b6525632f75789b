"""A night as the daemon reads it: lines of any length, in pieces of any size."""

from __future__ import annotations

import os
import textwrap

from edgeevo.daemon.job import Job


def test_lines_of_any_length_arrive_whole(tmp_path, monkeypatch):
    """Empty, short and very long lines come out as they were written, however the pipe cuts them, and the end is noticed."""
    lengths = [0, 1, 70_000, 5, 3_000_000, 2]
    (tmp_path / "talker.py").write_text(
        textwrap.dedent(
            f"""
            import sys
            sys.stdin.readline()
            for length in {lengths}:
                sys.stdout.write("x" * length + "\\n")
            """
        )
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    job = Job("night-1", "talker", {})
    found = []
    try:
        while not job.ended:
            found += job.lines()
    finally:
        job.close(1.0)
    assert [len(line) for line in found] == lengths and set(b"".join(found)) == set(b"x")
