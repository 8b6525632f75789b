from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import dequantize, quantize

from edgeevo.errors import ModelError
from edgeevo.models import Card, LocalFile, MadeFrom, fetch, load_card, requantise

ROWS, WIDTH = 4, 64


@pytest.fixture
def source(tmp_path):
    """A small file as model files are: fields of several kinds, a plain tensor and one in Q4_1."""
    path = tmp_path / "source.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b\n", "ü"])
    writer.add_file_type(3)
    dice = np.random.default_rng(1)
    writer.add_tensor("output_norm.weight", dice.normal(size=WIDTH).astype(np.float32))
    kind = GGMLQuantizationType.Q4_1
    writer.add_tensor("token_embd.weight", quantize(dice.normal(size=(ROWS, WIDTH)).astype(np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def card_of(source, made):
    return Card(
        name="small",
        licence="Apache-2.0",
        architecture="llama",
        quantisation="Q8_0",
        context_tokens=64,
        template="chatml",
        sha256=hashlib.sha256(made.read_bytes()).hexdigest(),
        size_bytes=made.stat().st_size,
        source=LocalFile(path=str(source)),
        made_from=MadeFrom(sha256=hashlib.sha256(source.read_bytes()).hexdigest(), size_bytes=source.stat().st_size, quantisation="Q4_1"),
    )


def test_what_is_made_has_the_same_fields_and_nearly_the_same_weights(source, tmp_path):
    """Fields and plain tensors are those of the source; a quantised one is within half a step of 1/127 of its block's largest value."""
    requantise.to_q8_0(source, tmp_path / "made.gguf")
    old, new = GGUFReader(source), GGUFReader(tmp_path / "made.gguf")
    for key in ("general.architecture", "llama.block_count", "tokenizer.ggml.tokens"):
        assert old.get_field(key).contents() == new.get_field(key).contents()
    assert new.get_field("general.file_type").contents() == 7
    (norm, table), (new_norm, new_table) = old.tensors, new.tensors
    assert np.array_equal(norm.data, new_norm.data) and new_table.tensor_type is GGMLQuantizationType.Q8_0
    want, got = dequantize(table.data, table.tensor_type), dequantize(new_table.data, new_table.tensor_type)
    step = np.abs(want.reshape(ROWS, -1, 32)).max(axis=2, keepdims=True) / 127
    assert (np.abs((want - got).reshape(ROWS, -1, 32)) <= 0.51 * step).all()


def test_a_file_is_made_on_the_box_and_named_by_its_own_hash(source, tmp_path):
    """A card with `made_from` is fetched by making: twice the same bytes, and the source isn't kept."""
    requantise.to_q8_0(source, tmp_path / "made.gguf")
    card = card_of(source, tmp_path / "made.gguf")
    path = fetch(card, tmp_path / "models")
    assert path.read_bytes() == (tmp_path / "made.gguf").read_bytes() and list(path.parent.iterdir()) == [path]


def test_m6_a_file_made_otherwise_is_refused(source, tmp_path):
    """When what was made has another hash than the card says, nothing appears under the name."""
    requantise.to_q8_0(source, tmp_path / "made.gguf")
    card = msgspec.structs.replace(card_of(source, tmp_path / "made.gguf"), sha256="0" * 64)
    with pytest.raises(ModelError, match="expected sha256 0000"):
        fetch(card, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_source_is_verified_before_it_is_parsed(source, tmp_path):
    """Bytes that aren't those of `made_from` never reach the maker."""
    requantise.to_q8_0(source, tmp_path / "made.gguf")
    card = card_of(source, tmp_path / "made.gguf")
    source.write_bytes(bytes(source.stat().st_size))
    with pytest.raises(ModelError, match=f"expected sha256 {card.made_from.sha256}"):
        fetch(card, tmp_path / "models")


def test_a_quantisation_that_cant_be_made_is_refused(tmp_path):
    """A card that wants another quantisation made than Q8_0 is refused with a hint."""
    path = tmp_path / "card.toml"
    shipped = (Path(__file__).resolve().parents[2] / "models/smollm2-135m-instruct.toml").read_text()
    path.write_text(shipped.replace('quantisation = "Q8_0"', 'quantisation = "Q5_K"'))
    with pytest.raises(ModelError, match="Q8_0 only, found 'Q5_K'"):
        load_card(path)
