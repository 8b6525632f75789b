"""The factory adapter, which a new box serves and no night may fall below: a card (TOML) that tells what it is, beside its GGUF file.

    factory = find(loaded)       # None: no factory is configured; ModelError: it is damaged, or belongs to another base

Loads no model library: the daemon, `ask` and `doctor` use this. `make factory` (scripts/factory.py) makes both files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from edgeevo.config import Loaded
from edgeevo.domain import Adapter, Value
from edgeevo.errors import ModelError
from edgeevo.models import cards

SHIPPED = "smollm2-135m-factory"  # the name that `make factory` gives; model.factory says whether a box uses it
MAX_BYTES = 20_000_000  # of an adapter that ships with the package
HEX = frozenset("0123456789abcdef")


class Passed(Value):
    """How many of how many tasks were passed."""

    passed: int
    total: int


class ExamFigures(Value):
    """What the gate saw when it promoted the adapter over the bare base: discordant pairs, and pass rates by stratum."""

    n: int
    wins: int
    losses: int
    p_value: float
    base: dict[str, Passed]
    adapter: dict[str, Passed]


class FactoryCard(Value):
    """What a factory adapter's file must be, what it was made of, and what was measured of it. The file lies beside the card."""

    name: str
    sha256: str
    size_bytes: int
    base_sha256: str  # of the served base model; empty only for rehearsals without a model
    rank: int
    alpha: float
    fingerprint: tuple[float, ...]  # on the machine that trained it
    examples_id: str
    edgeevo: str  # version that trained it
    configuration: str  # content hash of the settings that it was trained and measured with
    examples: dict[str, int]  # how many from each source
    exam: ExamFigures
    audit: dict[str, Passed]  # by stratum

    @property
    def adapter(self) -> Adapter:
        """The adapter as everybody else knows it, without a fingerprint: that is of the arithmetic of the machine that trained it.

        A change in the seventh digit moves logits of the quantised base by more than fingerprints may differ, and another compiler or
        processor makes such changes. Here the file's hash says whose weights it holds, and logits unlike the base's that they are in force.
        """
        values = {field: getattr(self, field) for field in Adapter.__struct_fields__}
        return Adapter(**{**values, "fingerprint": ()})


class Factory(NamedTuple):
    """A verified factory adapter: its name, its file, and the adapter in it."""

    name: str
    path: Path
    adapter: Adapter


def find(loaded: Loaded) -> Factory | None:
    """The configured factory adapter, its bytes verified; None when none is configured or there is no base model to put it on.

    ModelError when card or file are missing or damaged, or belong to another base than the configured one.
    """
    if loaded.factory_path is None:
        return None
    card = load_factory(loaded.factory_path)
    if card.base_sha256 and not loaded.config.model.card:
        return None
    if card.base_sha256 != (base := base_sha256(loaded)):
        raise ModelError(
            f"factory adapter {card.name} belongs to another base: expected {base or 'no model'}, found {card.base_sha256 or 'no model'}",
            hint='name one for this base in model.factory, or set model.factory = "" to start from the bare base',
        )
    return Factory(card.name, locate_factory(loaded.factory_path, card), card.adapter)


def base_sha256(loaded: Loaded) -> str:
    """The hash that the base model's file must have; empty when no model is configured. ModelError when its card can't be read."""
    return cards.load_card(loaded.card_path).sha256 if loaded.config.model.card else ""


def load_factory(path: Path) -> FactoryCard:
    """The card in a TOML file; ModelError when it is missing or malformed (an unknown key is refused with its name)."""
    try:
        card = msgspec.toml.decode(path.read_bytes(), type=FactoryCard)
    except (OSError, msgspec.MsgspecError) as error:
        raise ModelError(f"factory card {path}: {error}", hint='`make factory` writes such cards; model.factory = "" uses none') from error
    for key, digits in (("sha256", card.sha256), ("base_sha256", card.base_sha256 or "0" * 64)):
        if len(digits) != 64 or not HEX.issuperset(digits):
            raise ModelError(f"factory card {path}: {key} must be 64 hex digits, found {digits!r}", hint="take it with sha256sum")
    return card


def locate_factory(path: Path, card: FactoryCard) -> Path:
    """The adapter file beside the card at `path`; ModelError when it is missing or its size or hash is not that of the card."""
    file = path.with_suffix(".gguf")
    hint = "restore the file from where edgeevo was installed from, or make it anew: make factory"
    try:
        size, sha256 = file.stat().st_size, cards.sha256_of(file)
    except OSError as error:
        raise ModelError(f"factory adapter {file} can't be read: {error.strerror}", hint=hint) from error
    if (size, sha256) != (card.size_bytes, card.sha256):
        raise ModelError(
            f"factory adapter {file} was altered: expected {card.size_bytes} bytes with sha256 {card.sha256}, found {size} with {sha256}",
            hint=hint,
        )
    return file


def card_text(card: FactoryCard, comment: str) -> str:
    """A card as TOML that `load_factory` reads back; every line of `comment` precedes it."""
    return "\n".join([*(f"# {line}" for line in comment.splitlines()), *_table("", msgspec.to_builtins(card))]) + "\n"


def _table(name: str, table: dict[str, Any]) -> Iterator[str]:
    """The lines of a table: its values, which JSON and TOML write alike (text, numbers, lists of numbers), then the tables in it."""
    inner = {_key(key): value for key, value in table.items() if isinstance(value, dict)}
    values = {_key(key): value for key, value in table.items() if not isinstance(value, dict)}
    if name and (values or not inner):
        yield f"\n[{name}]"
    yield from (f"{key} = {msgspec.json.encode(value).decode()}" for key, value in values.items())
    for key, value in inner.items():
        yield from _table(f"{name}.{key}" if name else key, value)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else msgspec.json.encode(name).decode()
