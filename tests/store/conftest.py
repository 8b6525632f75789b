"""A store with one rehearsed night and two audits in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeevo.domain import Adapter
from edgeevo.events import AuditRequest, ModelFiles, NightPlan, NightRequest
from edgeevo.rehearsal import audit, night
from edgeevo.store.reader import Reader
from edgeevo.store.writer import Store

MODEL = ModelFiles(gguf="", sha256="base", card="", weights_dir="")


def fill(store: Store, spool: Path) -> None:
    """A night that promoted, then audits of the base and of what it trained."""
    request = NightRequest(night_id="night-1", seed=1, plan=NightPlan(), model=MODEL, spool_dir=str(spool))
    owner = store.start("night", cause="command", seed=1, request=b"{}", now=100.0)
    adapter = None
    for second, event in enumerate(night(request)):
        store.record(owner, event, now=101.0 + second)
        adapter = getattr(event, "adapter", adapter)
    assert isinstance(adapter, Adapter)
    for place, sat in enumerate((None, adapter)):
        owner = store.start("audit", cause="command", seed=1, request=b"{}", now=200.0 + place, adapter_sha256=sat.sha256 if sat else None)
        for event in audit(AuditRequest(seed=1, tasks=12, model=MODEL, threads=1, adapter=sat)):
            store.record(owner, event, now=210.0 + place)
        store.finish(owner, "ended", reason="", now=220.0 + place)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "edgeevo.db", max_bytes=1 << 28, now=1.0)
    yield opened
    opened.close()


@pytest.fixture
def reader(store: Store, tmp_path: Path) -> Iterator[Reader]:
    fill(store, tmp_path)
    with Reader(store.path) as opened:
        yield opened
