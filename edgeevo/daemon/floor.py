"""The factory state of a box: the adapter below which no night may fall, installed at start and looked at again every day."""

from __future__ import annotations

from edgeevo.config import Loaded
from edgeevo.errors import ModelError
from edgeevo.models import factory
from edgeevo.slots import Shelf
from edgeevo.store.writer import Store


def settle(loaded: Loaded, shelf: Shelf, store: Store, now: float) -> dict[str, str]:
    """Install the configured factory adapter, verified anew, and retire adapters of another base.

    Returns what must be told, by name: "factory" when it was refused (the base serves in its place), "base" when something was retired.
    """
    told: dict[str, str] = {}
    try:
        base = factory.base_sha256(loaded)
    except ModelError as error:  # without its card nobody can say what belongs to the base
        shelf.install(None)
        told["factory"] = f"{error}; no factory adapter serves"
    else:
        try:
            shelf.install(factory.find(loaded))
        except ModelError as error:
            shelf.install(None)
            told["factory"] = f"{error}; the base model serves in its place"
        if gone := shelf.retire(base):
            told["base"] = f"the base model is another one now ({base[:12] or 'none'}): {shelf.factory_name} serves, retired " + ", ".join(
                f"adapter {adapter.sha256[:12]} of base {adapter.base_sha256[:12] or 'none'}" for adapter in gone
            )
            slots = shelf.slots
            active, previous = (adapter.sha256 if adapter else None for adapter in (slots.active, slots.previous))
            store.slot_changed("retire", active, previous, told["base"], now)
    return told
