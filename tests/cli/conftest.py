from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.conftest import Box


@pytest.fixture(scope="module")
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """One daemon for all tests of a file, with the file's REPLIES as its mind."""
    made = Box(tmp_path_factory.mktemp("daemon"), request.module.REPLIES)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A small directory to work on."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "a").write_text("one\n")
    return made
