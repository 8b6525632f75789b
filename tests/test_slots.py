"""edgeevo.slots: which adapter serves, and what happens when files rot or power fails."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from edgeevo.domain import Adapter
from edgeevo.durable import write_durably
from edgeevo.errors import ModelError, RefusedError
from edgeevo.models.factory import Factory
from edgeevo.slots import Shelf


def adapter_file(directory: Path, content: bytes) -> tuple[Path, Adapter]:
    digest = hashlib.sha256(content).hexdigest()
    path = directory / f"spool-{digest[:8]}.gguf"
    path.write_bytes(content)
    return path, Adapter(sha256=digest, base_sha256="b", examples_id="e", fingerprint=(1.0,), rank=1, alpha=1.0)


def promoted(shelf: Shelf, directory: Path, content: bytes) -> Adapter:
    path, adapter = adapter_file(directory, content)
    shelf.stage(path, adapter)
    shelf.activate(adapter.sha256)
    return adapter


def test_a_fresh_box_serves_factory(tmp_path: Path) -> None:
    """Without slots.json nothing is active and nothing is wrong."""
    shelf = Shelf(tmp_path)
    assert (shelf.serving_path, shelf.incident) == (None, "")


def test_promotion_keeps_the_former_as_previous(tmp_path: Path) -> None:
    """Two promotions leave the first as previous, also after a restart."""
    shelf = Shelf(tmp_path)
    first, second = promoted(shelf, tmp_path, b"one"), promoted(shelf, tmp_path, b"two")
    slots = Shelf(tmp_path).slots
    assert (slots.active, slots.previous, slots.candidate) == (second, first, None)


def test_rollback_goes_back_step_by_step_to_factory(tmp_path: Path) -> None:
    """Active, then previous, then the base; a further rollback is refused."""
    shelf = Shelf(tmp_path)
    first = promoted(shelf, tmp_path, b"one")
    promoted(shelf, tmp_path, b"two")
    assert (shelf.rollback(), shelf.rollback()) == (first, None)
    with pytest.raises(RefusedError):
        shelf.rollback()


def test_a_sweep_keeps_what_slots_hold_and_the_youngest_of_the_rest(tmp_path: Path) -> None:
    """However old they are, active, previous, candidate and factory stay; of the others, quarantined ones included, the youngest do."""
    shelf = Shelf(tmp_path)
    path, adapter = adapter_file(tmp_path, b"factory")
    shelf.install(Factory("small-factory", path, adapter))
    held = [adapter, *[promoted(shelf, tmp_path, content) for content in (b"one", b"two")]]
    shelf.stage(*adapter_file(tmp_path, b"three"))
    held.append(shelf.slots.candidate)
    loose = [shelf.keep(*adapter_file(tmp_path, bytes([number]))) for number in range(5)]
    loose[0].rename(loose[0].with_suffix(".gguf.quarantined"))
    for age, file in enumerate(sorted(shelf.directory.iterdir())):
        os.utime(file, (age, age))
    for age, file in enumerate(loose[1:], 100):
        os.utime(file, (age, age))
    (shelf.directory / "half.gguf.new").write_bytes(b"half")
    assert len(shelf.sweep(2)) == 4
    assert {p.name for p in shelf.directory.iterdir()} == {*(shelf.path(a.sha256).name for a in held), loose[3].name, loose[4].name}
    assert shelf.sweep(2) == []


def test_only_the_staged_candidate_can_be_activated(tmp_path: Path) -> None:
    """An unknown hash is refused and nothing changes."""
    shelf = Shelf(tmp_path)
    with pytest.raises(RefusedError):
        shelf.activate("0" * 64)


def test_a_file_with_another_hash_is_never_staged(tmp_path: Path) -> None:
    """The bytes decide, not the name."""
    path, adapter = adapter_file(tmp_path, b"one")
    path.write_bytes(b"two")
    shelf = Shelf(tmp_path)
    with pytest.raises(ModelError, match="expected"):
        shelf.stage(path, adapter)
    assert list(shelf.directory.iterdir()) == []


def test_m3_zeros_of_the_same_size_never_become_active(tmp_path: Path) -> None:
    """A candidate that rotted after staging is quarantined at activation."""
    path, adapter = adapter_file(tmp_path, b"four")
    shelf = Shelf(tmp_path)
    shelf.stage(path, adapter).write_bytes(bytes(4))
    with pytest.raises(ModelError, match="quarantined"):
        shelf.activate(adapter.sha256)
    assert shelf.slots.active is None


def test_m3_a_rotten_active_adapter_rolls_back(tmp_path: Path) -> None:
    """The scheduled check names the file and the adapter before it serves."""
    shelf = Shelf(tmp_path)
    first, second = promoted(shelf, tmp_path, b"one"), promoted(shelf, tmp_path, b"two")
    shelf.path(second.sha256).write_bytes(bytes(3))
    with pytest.raises(ModelError, match=second.sha256):
        shelf.verify_active()
    assert shelf.slots.active == first


@pytest.mark.parametrize("garbage", [b"", bytes(100), b'{"generation": "x"}'])
def test_d8_garbage_falls_back_to_the_last_good_generation(tmp_path: Path, garbage: bytes) -> None:
    """Whatever slots.json holds, the box starts with the generation before and says so."""
    shelf = Shelf(tmp_path)
    first = promoted(shelf, tmp_path, b"one")
    promoted(shelf, tmp_path, b"two")
    (tmp_path / "slots.json").write_bytes(garbage)
    again = Shelf(tmp_path)
    assert again.slots.active == first and "restored" in again.incident


def test_d8_two_bad_files_are_factory(tmp_path: Path) -> None:
    """When both generations are garbage the base serves."""
    for name in ("slots.json", "slots.json.previous"):
        (tmp_path / name).write_bytes(b"\0")
    shelf = Shelf(tmp_path)
    assert shelf.slots.active is None and "factory" in shelf.incident


def test_d9_a_crash_before_the_rename_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file is whole until the new one has been synced and renamed."""
    path = tmp_path / "state"
    write_durably(path, b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write_durably(path, b"new")
    assert path.read_bytes() == b"old"


def factory_of(directory: Path, content: bytes = b"factory") -> Factory:
    path, adapter = adapter_file(directory, content)
    return Factory("small-factory", path, adapter)


def test_an_installed_factory_serves_until_something_is_promoted(tmp_path: Path) -> None:
    """Factory first, then what was promoted, then (after a rollback) factory again."""
    shelf, factory = Shelf(tmp_path), factory_of(tmp_path)
    shelf.install(factory)
    assert shelf.serving == factory.adapter
    first = promoted(shelf, tmp_path, b"one")
    assert shelf.serving == first
    assert shelf.rollback() is None
    assert shelf.serving == factory.adapter
    assert shelf.serving_path == shelf.path(factory.adapter.sha256)


def test_there_is_nothing_below_factory(tmp_path: Path) -> None:
    """A rollback from the factory state is refused, and the refusal names what serves."""
    shelf = Shelf(tmp_path)
    shelf.install(factory_of(tmp_path))
    with pytest.raises(RefusedError, match="small-factory"):
        shelf.rollback()


def test_m3_a_rotten_copy_of_the_factory_adapter_is_copied_anew(tmp_path: Path) -> None:
    """Installing again heals the file in the adapters directory from the one that ships."""
    shelf, factory = Shelf(tmp_path), factory_of(tmp_path)
    shelf.install(factory)
    shelf.path(factory.adapter.sha256).write_bytes(b"zzzzzzz")
    shelf.install(factory)
    assert shelf.path(factory.adapter.sha256).read_bytes() == b"factory"


def test_a_factory_adapter_that_can_not_be_kept_does_not_serve(tmp_path: Path) -> None:
    """When the copy has another hash the base serves."""
    shelf, factory = Shelf(tmp_path), factory_of(tmp_path)
    factory.path.write_bytes(b"other")
    with pytest.raises(ModelError, match="expected"):
        shelf.install(factory)
    assert shelf.serving is None


def test_adapters_of_another_base_are_retired_to_factory(tmp_path: Path) -> None:
    """Active and previous leave their slots, the factory adapter serves, also after a restart; those of this base stay."""
    shelf = Shelf(tmp_path)
    shelf.install(factory_of(tmp_path))
    first, second = promoted(shelf, tmp_path, b"one"), promoted(shelf, tmp_path, b"two")
    assert shelf.retire("b") == ()
    assert shelf.retire("c") == (second, first)
    assert shelf.serving == factory_of(tmp_path).adapter
    assert (Shelf(tmp_path).slots.active, Shelf(tmp_path).slots.previous) == (None, None)
