from __future__ import annotations

import ctypes
import json

import numpy as np
import pytest
from gguf import GGUFWriter
from safetensors.numpy import load_file, save_file

from edgeevo.errors import ModelError
from edgeevo.models.adapter_file import LINEARS, adapter_to_gguf, check_adapter
from edgeevo.models.weights import CONFIG_FILE, LAYER_NAMES, WEIGHTS_FILE, permuted, tensor_name, trainable_weights, unpermuted

HEADS, KEY_HEADS, RANK, WIDTH, LAYERS = 4, 2, 2, 16, 2
BASE = "ab" * 32


def test_the_permutations_are_inverse():
    """Rows moved to the GGUF order and back are where they were, and the order does change."""
    rows = np.arange(32, dtype=np.float32).reshape(16, 2)
    moved = permuted(rows, HEADS)
    assert np.array_equal(unpermuted(moved, HEADS), rows) and not np.array_equal(moved, rows)


@pytest.mark.parametrize("name", ["blk.0.attn_q.bias", "blk.0.ssm_a.weight", "rope_freqs.weight"])
def test_unknown_tensors_are_refused(name):
    """A tensor that the architecture doesn't have is an error, never dropped."""
    with pytest.raises(ModelError, match=name):
        tensor_name(name)


@pytest.mark.model
def test_weights_are_bit_identical_to_what_is_served(model_path, weights_dir):
    """Every tensor has the very bits that the serving library dequantises from the file."""
    import llama_cpp  # noqa: F401 - loads the library whose function is asked below
    from gguf import GGUFReader

    stored = load_file(weights_dir / "model.safetensors")
    reader = GGUFReader(model_path)
    ggml = _ggml()
    compared = 0
    for tensor in reader.tensors:
        if not tensor.name.startswith(("blk.0.", "blk.29.", "output_norm", "token_embd")):
            continue
        raw = np.ascontiguousarray(tensor.data)
        wanted = np.empty(tensor.n_elements, dtype=np.float32)
        if raw.dtype == np.float32:
            wanted[:] = raw.ravel()
        else:
            kernel = getattr(ggml, f"dequantize_row_{tensor.tensor_type.name.lower()}")
            kernel(ctypes.c_void_p(raw.ctypes.data), ctypes.c_void_p(wanted.ctypes.data), ctypes.c_int64(tensor.n_elements))
        wanted = wanted.reshape(tuple(reversed(tensor.shape.tolist())))
        if "attn_q" in tensor.name:
            wanted = unpermuted(wanted, 9)
        if "attn_k" in tensor.name:
            wanted = unpermuted(wanted, 3)
        assert np.array_equal(np.ascontiguousarray(wanted).view(np.uint32), stored[tensor_name(tensor.name)].view(np.uint32)), tensor.name
        compared += 1
    assert compared == 2 * 9 + 2


@pytest.fixture
def small_model(tmp_path):
    """A llama of no layers, as a file named by a hash."""
    path = tmp_path / f"{BASE}.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(0)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_context_length(64)
    writer.add_vocab_size(3)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_tensor("token_embd.weight", np.random.default_rng(2).normal(size=(3, WIDTH)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("name", [WEIGHTS_FILE, CONFIG_FILE])
def test_weights_that_were_altered_are_made_anew(small_model, tmp_path, name):
    """A finished directory is used as it is while its hashes are right; one whose weights or configuration were touched is replaced."""
    made = trainable_weights(small_model, tmp_path / "cache")
    before, written_at = (made / name).read_bytes(), (made / name).stat().st_mtime_ns
    assert trainable_weights(small_model, tmp_path / "cache") == made and (made / name).stat().st_mtime_ns == written_at
    (made / name).write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    trainable_weights(small_model, tmp_path / "cache")
    assert (made / name).read_bytes() == before


def _ggml():
    from pathlib import Path

    import llama_cpp

    return ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib/libggml-base.so"))


# --- adapter files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path):
    """A weights directory and a whole adapter for it, as a dictionary that tests may damage."""
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text(
        json.dumps({"num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "num_hidden_layers": LAYERS})
    )
    (weights / "manifest.json").write_text(json.dumps({"base_sha256": BASE}))
    dice = np.random.default_rng(0)
    state = {
        f"base_model.model.model.layers.{layer}.{LAYER_NAMES[linear]}.lora_{side}.weight": dice.normal(
            size=(RANK, WIDTH) if side == "A" else (WIDTH, RANK)
        ).astype(np.float32)
        for layer in range(LAYERS)
        for linear in LINEARS
        for side in "AB"
    }
    return weights, state


def written(parts, tmp_path):
    weights, state = parts
    adapter = tmp_path / "adapter"
    adapter.mkdir(exist_ok=True)
    save_file(state, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps({"lora_alpha": 4, "r": RANK}))
    return adapter_to_gguf(adapter, weights, tmp_path / "out")


def test_an_adapter_file_is_named_by_its_hash_and_repeatable(parts, tmp_path):
    """The same adapter gives the same bytes, stored under their hash, with nothing left beside them."""
    first, second = written(parts, tmp_path), written(parts, tmp_path)
    assert first == second and first[0].name == f"{first[1]}.gguf" and len(list((tmp_path / "out").iterdir())) == 1


def test_a_whole_adapter_passes_its_check(parts, tmp_path):
    """A file that was just made is accepted for its own base."""
    path, _ = written(parts, tmp_path)
    check_adapter(path, base_sha256=BASE, layers=LAYERS)


def test_m2_another_base_is_refused(parts, tmp_path):
    """An adapter that belongs to another base is an error that names both."""
    path, _ = written(parts, tmp_path)
    with pytest.raises(ModelError, match=f"expected {'cd' * 32}, found {BASE}"):
        check_adapter(path, base_sha256="cd" * 32, layers=LAYERS)


def damage_missing(state):
    del state["base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"]


def damage_unexpected(state):
    state["base_model.model.lm_head.lora_A.weight"] = np.ones((RANK, WIDTH), np.float32)


def damage_nan(state):
    state["base_model.model.model.layers.0.mlp.up_proj.lora_B.weight"][0, 0] = np.nan


def damage_zero(state):
    for name in state:
        if "lora_B" in name:
            state[name] = np.zeros_like(state[name])


@pytest.mark.parametrize(
    ("damage", "said"), [(damage_missing, "lacks"), (damage_unexpected, "lm_head"), (damage_nan, "not finite"), (damage_zero, "all zero")]
)
def test_m2_damaged_adapters_never_become_a_version(parts, tmp_path, damage, said):
    """Missing, unexpected, non-finite and all-zero tensors are refused before a file exists."""
    damage(parts[1])
    with pytest.raises(ModelError, match=said):
        written(parts, tmp_path)
    assert not (tmp_path / "out").exists()


def test_layers_may_begin_later_but_not_end_earlier(parts, tmp_path):
    """An adapter of the last layers only is whole; one that lacks the last layer isn't."""
    weights, state = parts
    last_only = {name: value for name, value in state.items() if ".layers.1." in name}
    path, _ = written((weights, last_only), tmp_path)
    check_adapter(path, base_sha256=BASE, layers=LAYERS)
    first_only = {name: value for name, value in state.items() if ".layers.0." in name}
    with pytest.raises(ModelError, match="lacks"):
        written((weights, first_only), tmp_path)
