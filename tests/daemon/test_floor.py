"""The factory adapter in a daemon: what a new box serves, what nights are judged against, and what happens when it is damaged."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from edgeevo.config import load, share
from edgeevo.control import AuditAsked, NightAsked, ProposeAsked, RollbackAsked
from edgeevo.daemon.answers import which
from edgeevo.daemon.desk import ScriptedBrain
from edgeevo.daemon.service import Service
from edgeevo.domain import Message, Role
from edgeevo.errors import ModelError
from edgeevo.events import NightRequest
from edgeevo.host import FakeHost
from edgeevo.models.factory import ExamFigures, FactoryCard, card_text

DATA = b"made in a rehearsal"
SHA256 = hashlib.sha256(DATA).hexdigest()
CARD = FactoryCard(
    name="small-factory",
    sha256=SHA256,
    size_bytes=len(DATA),
    base_sha256="",  # as in every rehearsal: there is no model
    rank=1,
    alpha=1.0,
    fingerprint=(0.0,),
    examples_id="e",
    edgeevo="0",
    configuration="c",
    examples={},
    exam=ExamFigures(n=0, wins=0, losses=0, p_value=1.0, base={}, adapter={}),
    audit={},
)
TALK = (Message(role=Role.USER, text="list the files"),)


@pytest.fixture
def factory(tmp_path: Path) -> str:
    """The setting that names a factory adapter for a rehearsed box; its file lies beside the card."""
    directory = tmp_path / "ships"
    directory.mkdir()
    (directory / "small-factory.toml").write_text(card_text(CARD, "a test"))
    (directory / "small-factory.gguf").write_bytes(DATA)
    return f"model.factory={directory / 'small-factory.toml'}"


def file_of(factory: str) -> Path:
    return Path(factory.partition("=")[2]).with_suffix(".gguf")


def asked(box) -> list[NightRequest]:
    """What the nights so far were asked."""
    return [msgspec.json.decode(row[0], type=NightRequest) for row in box.rows("select request from owners where kind = 'night'")]


def problems(status) -> dict[str, str]:
    return {each.name: each.detail for each in status.health}


def test_a_new_box_starts_from_the_factory_adapter(box, factory) -> None:
    """Nothing was promoted, nothing is wrong, and status names what serves."""
    status = box.start(factory)
    assert (status.adapter, status.factory, status.health) == (None, "small-factory", ())


def test_the_factory_adapter_is_the_incumbent_of_the_first_night(box, factory) -> None:
    """The gate compares with it, by its own verified copy in the state directory."""
    box.start(factory)
    box.follow(NightAsked())
    (request,) = asked(box)
    assert request.incumbent == CARD.adapter
    assert Path(str(request.incumbent_path)).read_bytes() == DATA
    assert box.rows("select incumbent_sha256 from judgements") == [(SHA256,)]


def test_a_promoted_adapter_is_the_incumbent_of_the_next_night(box, factory) -> None:
    """The floor rises with every promotion."""
    box.start(factory)
    trained = [box.follow(NightAsked())[-1].adapter for _ in range(2)]
    assert [request.incumbent.sha256 for request in asked(box)] == [SHA256, trained[0]]


def test_the_comparison_stays_against_the_bare_base(box, factory) -> None:
    """What evolution brings is measured from the same start as ever."""
    box.start(factory)
    box.follow(NightAsked(comparison=True))
    assert asked(box)[0].incumbent is None


def test_a_rollback_of_the_first_promotion_returns_to_the_factory_adapter(box, factory) -> None:
    """The answer names it, and it serves."""
    box.start(factory)
    box.follow(NightAsked())
    assert "small-factory" in box.ask(RollbackAsked()).text
    assert (box.status().adapter, box.status().factory) == (None, "small-factory")


def test_the_factory_adapter_is_audited_under_its_hash(box, factory) -> None:
    """An audit of "factory" is one of that very adapter."""
    box.start(factory)
    assert box.follow(AuditAsked(adapter="factory"))[-1].ok
    assert box.rows("select adapter_sha256 from owners where kind = 'audit'") == [(SHA256,)]


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(bytes(len(DATA))), lambda file: file.unlink()])
def test_m3_a_damaged_factory_adapter_is_named_and_the_base_serves(box, factory, damage) -> None:
    """The daemon starts, status says what is wrong, an incident is kept, and the night's incumbent is the base."""
    damage(file_of(factory))
    status = box.start(factory)
    assert status.factory == "" and "the base model serves" in problems(status)["factory"]
    assert box.rows("select count(*) from incidents where kind = 'factory'") == [(1,)]
    box.follow(NightAsked())
    assert asked(box)[0].incumbent is None


def test_m2_a_factory_adapter_of_another_base_is_named_and_the_base_serves(box, factory) -> None:
    """A card for no model on a box with one: both are said."""
    status = box.start(factory, f"model.card={share('models') / 'smollm2-135m-instruct.toml'}")
    assert status.factory == "" and "belongs to another base" in problems(status)["factory"]


def test_a_base_that_changed_retires_what_was_trained_on_the_former(box) -> None:
    """The box returns to factory, says so, and the record of the slots follows."""
    box.start()
    box.follow(NightAsked())
    assert box.status().adapter
    box.kill()
    status = box.start(f"model.card={share('models') / 'smollm2-135m-instruct.toml'}")
    assert status.adapter is None and "retired adapter" in problems(status)["base"]
    assert box.rows("select action, active from slot_changes order by id desc limit 1") == [("retire", None)]


def test_asking_the_factory_where_there_is_none_is_an_error(box) -> None:
    """The base never answers under another name."""
    box.start()
    with pytest.raises(ModelError, match="no factory adapter"):
        box.ask(ProposeAsked(conversations=(TALK,), adapter="factory"))


@pytest.fixture
def service(tmp_path: Path, factory: str) -> Iterator[Service]:
    directories = (f"daemon.state_dir={tmp_path}", f"daemon.runtime_dir={tmp_path}")
    made = Service(load(None, ("model.card=", factory, *directories)), FakeHost(), ScriptedBrain({}))
    yield made
    made.close()


def test_whoever_asks_chooses_between_factory_and_base(service: Service) -> None:
    """By default and by name the factory adapter answers, by its digits too; "base" is the bare model."""
    assert [which(service, name) for name in (None, "factory", SHA256[:10], "base")] == [CARD.adapter, CARD.adapter, CARD.adapter, None]


def test_m3_a_factory_adapter_that_rots_later_is_noticed_the_same_day(service: Service, factory: str) -> None:
    """The daily look refuses it and says so; once the file is whole again it serves again and nothing is wrong."""
    kept = file_of(factory).with_suffix(".kept")
    shutil.copy(file_of(factory), kept)
    file_of(factory).write_bytes(b"x")
    service.tick()
    assert service.shelf.serving is None and "altered" in service.health["factory"]
    shutil.copy(kept, file_of(factory))
    service.host.step(90_000)  # type: ignore[attr-defined]
    service.tick()
    assert service.shelf.serving == CARD.adapter and "factory" not in service.health
