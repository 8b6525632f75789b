"""The weights that are trained are the very numbers that are served: a quantised GGUF, dequantised to plain tensors.

    python -m edgeevo.models.weights      worker child: {"model", "cache_dir"} -> {"weights_dir"}

Only the llama architecture is known. Its GGUF stores the rows of the query and key projections in another order (rotary pairs side by
side); here they are put back, so that the usual implementations find what they expect.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import load_file, save_file

from edgeevo.errors import ModelError
from edgeevo.models.cards import sha256_of
from edgeevo.worker import emit, requests

WEIGHTS_FILE, CONFIG_FILE, MANIFEST_FILE = "model.safetensors", "config.json", "manifest.json"
Array = npt.NDArray[np.float32]
FORMAT = 2  # of the directory; raised when what is written changes
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def unpermuted(weight: Array, heads: int) -> Array:
    """Rows of a (heads * width, …) projection, from the GGUF order (rotary pairs adjacent) to halves; inverse of `permuted`."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def permuted(weight: Array, heads: int) -> Array:
    """Rows of a (heads * width, …) projection moved from halves to the GGUF order (rotary pairs adjacent)."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, 2, half, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def tensor_name(gguf_name: str) -> str:
    """The usual name of a GGUF tensor ("blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"), or ModelError."""
    stem, _, kind = gguf_name.rpartition(".")
    if kind == "weight" and stem in OUTER_NAMES:
        return f"{OUTER_NAMES[stem]}.weight"
    match stem.split("."):
        case ["blk", number, name] if kind == "weight" and name in LAYER_NAMES:
            return f"model.layers.{number}.{LAYER_NAMES[name]}.weight"
    raise ModelError(f"tensor {gguf_name} has no place in the llama architecture", hint="use a llama model without biases")


def read_tensors(model: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """All tensors of a verified GGUF in float32 under their usual names, and the configuration that goes with them."""
    reader = GGUFReader(model)

    def field(key: str) -> Any:
        if (found := reader.get_field(key)) is None:
            raise ModelError(f"{model.name} lacks the field {key}", hint="use a model of the llama architecture")
        return found.contents()

    if (architecture := field("general.architecture")) != "llama":
        raise ModelError(f"{model.name} has architecture {architecture}, expected llama", hint="choose another model card")
    heads, key_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
    tensors: dict[str, Array] = {}
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type)
        name = tensor_name(tensor.name)
        if name.endswith("q_proj.weight"):
            weight = unpermuted(weight, heads)
        elif name.endswith("k_proj.weight"):
            weight = unpermuted(weight, key_heads)
        tensors[name] = np.ascontiguousarray(weight, dtype=np.float32)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": field("llama.embedding_length"),
        "intermediate_size": field("llama.feed_forward_length"),
        "num_hidden_layers": field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": field("llama.rope.dimension_count"),
        "rms_norm_eps": field("llama.attention.layer_norm_rms_epsilon"),
        "rope_parameters": {"rope_theta": field("llama.rope.freq_base"), "rope_type": "default"},
        "max_position_embeddings": field("llama.context_length"),
        "vocab_size": field("llama.vocab_size"),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "hidden_act": "silu",
        "dtype": "float32",
    }
    return tensors, config


def trainable_weights(model: Path, cache_dir: Path) -> Path:
    """A directory with `model.safetensors`, `config.json` and `manifest.json` made from a verified GGUF named `<sha256>.gguf`.

    Made once per file (about 9 s, 540 MB for 135 M parameters) and read back to check that every tensor has the same bits; ModelError
    when it hasn't. Later calls find the finished directory, check the hash of what is in it, and make it anew when it was altered.
    """
    base_sha256 = model.stem
    target = cache_dir / f"{base_sha256}-{FORMAT}"
    if _intact(target):
        return target
    cache_dir.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".weights-", dir=cache_dir))
    try:
        tensors, config = read_tensors(model)
        stored = scratch / WEIGHTS_FILE
        save_file(tensors, stored, metadata={"format": "pt"})
        again = load_file(stored)
        same = tensors.keys() == again.keys() and all(
            np.array_equal(w.view(np.uint32), again[n].view(np.uint32)) for n, w in tensors.items()
        )
        if not same:
            raise ModelError(f"weights written to {stored} read back differently", hint="check the disk of this machine")
        described = scratch / CONFIG_FILE
        described.write_text(json.dumps(config, indent=1))
        hashes = {"weights_sha256": sha256_of(stored), "config_sha256": sha256_of(described)}
        manifest = {"base_sha256": base_sha256, **hashes, "format": FORMAT}
        (scratch / MANIFEST_FILE).write_text(json.dumps(manifest, indent=1))
        if target.exists():
            shutil.rmtree(target)
        os.rename(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def manifest_of(weights_dir: Path) -> dict[str, Any]:
    """The manifest of a directory made by `trainable_weights`; ModelError when there is none."""
    try:
        manifest: dict[str, Any] = json.loads((weights_dir / MANIFEST_FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{weights_dir} holds no trainable weights: {error}", hint="remove it; it is made again") from error
    return manifest


def _intact(directory: Path) -> bool:
    try:
        manifest = manifest_of(directory)
        return bool(
            manifest["weights_sha256"] == sha256_of(directory / WEIGHTS_FILE)
            and manifest["config_sha256"] == sha256_of(directory / CONFIG_FILE)
        )
    except (ModelError, OSError, KeyError):
        return False


if __name__ == "__main__":
    for request in requests():
        emit({"weights_dir": str(trainable_weights(Path(request["model"]), Path(request["cache_dir"])))})
