from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from edgeevo.config import Config, Loaded, load, share
from edgeevo.errors import ModelError
from edgeevo.models import load_card
from edgeevo.models.factory import MAX_BYTES, ExamFigures, FactoryCard, Passed, card_text, find, load_factory, locate_factory

DATA = b"low-rank" * 100
BASE = load_card(share("models") / "smollm2-135m-instruct.toml").sha256
CARD = FactoryCard(
    name="small-factory",
    sha256=hashlib.sha256(DATA).hexdigest(),
    size_bytes=len(DATA),
    base_sha256=BASE,
    rank=16,
    alpha=32.0,
    fingerprint=(1.25, -3.0),
    examples_id="e1",
    edgeevo="0.1.0",
    configuration="c1",
    examples={"oracle": 9, "success": 1},
    exam=ExamFigures(
        n=8, wins=6, losses=1, p_value=1.5e-22, base={"single": Passed(passed=0, total=8)}, adapter={"single": Passed(passed=5, total=8)}
    ),
    audit={"single": Passed(passed=3, total=4), "4 links": Passed(passed=1, total=4)},
)


def put(directory: Path, card: FactoryCard = CARD, data: bytes = DATA) -> Path:
    """A card and its file in a directory; returns the card's path."""
    path = directory / f"{card.name}.toml"
    path.write_text(card_text(card, "made by a test"))
    path.with_suffix(".gguf").write_bytes(data)
    return path


def configured(path: Path, *settings: str) -> Loaded:
    """A configuration whose factory adapter is the card at `path`."""
    return load(None, [f"model.factory={path}", *settings])


def test_a_card_that_was_written_reads_back_the_same(tmp_path: Path) -> None:
    """Nested figures, tiny p-values and strata with blanks in their names survive."""
    assert load_factory(put(tmp_path)) == CARD


def test_an_unknown_key_of_a_card_is_refused_by_name(tmp_path: Path) -> None:
    """A typo is never ignored, and the error has a hint."""
    path = put(tmp_path)
    path.write_text("colour = 1\n" + path.read_text())
    with pytest.raises(ModelError, match="colour") as caught:
        load_factory(path)
    assert caught.value.hint


@pytest.mark.parametrize("change", [{"sha256": "ab"}, {"base_sha256": "G" * 64}])
def test_what_is_no_hash_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    """Both hashes of a card are 64 hex digits."""
    with pytest.raises(ModelError, match="64 hex digits"):
        load_factory(put(tmp_path, msgspec.structs.replace(CARD, **change)))


def test_a_verified_factory_is_found_with_its_adapter(tmp_path: Path) -> None:
    """The adapter has everything that nights and engine need to know of it; the fingerprint of another machine is not asked for."""
    path = put(tmp_path)
    found = find(configured(path))
    assert found is not None and (found.name, found.path) == ("small-factory", path.with_suffix(".gguf"))
    assert (found.adapter.sha256, found.adapter.base_sha256, found.adapter.fingerprint) == (CARD.sha256, BASE, ())


@pytest.mark.parametrize("data", [bytes(len(DATA)), DATA + b"x", b""])
def test_m3_a_damaged_factory_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """Zeros of the same size, more or fewer bytes: the error names expected and found."""
    with pytest.raises(ModelError, match=f"expected {len(DATA)} bytes with sha256 {CARD.sha256}, found {len(data)}"):
        find(configured(put(tmp_path, data=data)))


def test_a_missing_factory_file_is_refused(tmp_path: Path) -> None:
    """A card alone is no adapter."""
    path = put(tmp_path)
    path.with_suffix(".gguf").unlink()
    with pytest.raises(ModelError, match="can't be read"):
        find(configured(path))


def test_m2_a_factory_of_another_base_is_refused(tmp_path: Path) -> None:
    """Both bases are named."""
    path = put(tmp_path, msgspec.structs.replace(CARD, base_sha256="b" * 64))
    with pytest.raises(ModelError, match=f"expected {BASE}, found {'b' * 64}"):
        find(configured(path))


def test_without_a_base_model_there_is_no_factory(tmp_path: Path) -> None:
    """A rehearsal has nothing to put an adapter on, and that is no fault."""
    assert find(configured(put(tmp_path), "model.card=")) is None


def test_no_configured_factory_means_the_bare_base() -> None:
    """An empty key is not an error."""
    assert find(load(None, ["model.factory="])) is None


def test_the_default_factory_ships() -> None:
    """What model.factory names by default is a card under models/ with its file, for the default base model, and small enough."""
    name = Config().model.factory
    cards = {path.stem for path in share("models").glob("*-factory.toml")}
    assert not name or name in cards
    for path in (share("models") / f"{each}.toml" for each in cards):
        card = load_factory(path)
        assert card.name == path.stem and card.base_sha256 == BASE and card.size_bytes <= MAX_BYTES
        assert locate_factory(path, card).is_file()
