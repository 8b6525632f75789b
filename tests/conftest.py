from __future__ import annotations

import pytest

from edgeevo.sandbox import open_sandbox


@pytest.fixture(scope="session")
def sandbox():
    with open_sandbox() as opened:
        yield opened
