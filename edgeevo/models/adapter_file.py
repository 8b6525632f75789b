"""A LoRA adapter as the GGUF file that the engine loads, and the check that such a file is whole before anything trusts it."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf import GGUFReader, GGUFType, GGUFWriter
from safetensors.numpy import load_file

from edgeevo.errors import ModelError
from edgeevo.models.cards import sha256_of
from edgeevo.models.weights import LAYER_NAMES, Array, manifest_of, permuted

Half = npt.NDArray[np.float16]
PREFIX = "base_model.model.model.layers."
LINEARS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
GGUF_NAMES = {usual: short for short, usual in LAYER_NAMES.items() if short in LINEARS}
BASE_FIELD = "edgeevo.base.sha256"  # which model file the adapter belongs to


def adapter_to_gguf(adapter_dir: Path, weights_dir: Path, out_dir: Path) -> tuple[Path, str]:
    """Write a PEFT adapter directory as `out_dir/<sha256>.gguf`, in F16 (10 MB at rank 16), and return that path and the SHA-256.

    The same adapter gives the same bytes. ModelError when tensors are missing, unexpected, empty, not finite or all zero.
    """
    config = json.loads((adapter_dir / "adapter_config.json").read_bytes())
    model = json.loads((weights_dir / "config.json").read_bytes())
    tensors = _gguf_tensors(
        load_file(adapter_dir / "adapter_model.safetensors"), model["num_attention_heads"], model["num_key_value_heads"]
    )
    check_tensors(tensors, layers=model["num_hidden_layers"], what=str(adapter_dir))
    out_dir.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".adapter-", dir=out_dir)
    os.close(handle)
    scratch = Path(name)
    try:
        writer = GGUFWriter(scratch, "llama")
        writer.add_type(GGUFType.ADAPTER)
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", float(config["lora_alpha"]))
        writer.add_string(BASE_FIELD, manifest_of(weights_dir)["base_sha256"])
        for tensor_name in sorted(tensors):
            writer.add_tensor(tensor_name, tensors[tensor_name])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with scratch.open("rb") as stream:
            os.fsync(stream.fileno())
        sha256 = sha256_of(scratch)
        target = out_dir / f"{sha256}.gguf"
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            scratch.unlink()
    return target, sha256


def check_adapter(path: Path, *, base_sha256: str, layers: int | None = None) -> None:
    """ModelError unless a (hash-verified) adapter file belongs to this base and has every tensor, finite, not all zero.

    `layers` is how many layers the base has; left out, the adapter itself says (its highest layer), which can't notice missing last layers.
    """
    try:
        reader = GGUFReader(path)
        tensors = {tensor.name: np.array(tensor.data, dtype=np.float32) for tensor in reader.tensors}
        field = reader.get_field(BASE_FIELD)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"adapter {path.name} can't be parsed: {error}", hint="roll back: edgeevo rollback") from error
    if field is None or field.contents() != base_sha256:
        found = "none" if field is None else field.contents()
        raise ModelError(
            f"adapter {path.name} belongs to another base: expected {base_sha256}, found {found}", hint="train again on this model"
        )
    check_tensors(tensors, layers=layers, what=path.name)


def check_tensors(tensors: Mapping[str, Array | Half], *, layers: int | None, what: str) -> None:
    """ModelError unless the tensors (GGUF names) are exactly A and B of the seven linears of the adapted layers, finite and not zero.

    An adapter may leave out the first layers altogether; from its first layer on it must be complete.
    """
    numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("blk.")})
    last = (layers - 1) if layers is not None else (numbers[-1] if numbers else 0)
    first = numbers[0] if numbers else 0
    expected = {f"blk.{n}.{linear}.weight.lora_{side}" for n in range(first, last + 1) for linear in LINEARS for side in "ab"}
    hint = "it is discarded; the next night trains another"
    if missing := sorted(expected - tensors.keys()):
        raise ModelError(f"adapter {what} lacks {len(missing)} tensors, the first is {missing[0]}", hint=hint)
    if unexpected := sorted(tensors.keys() - expected):
        raise ModelError(f"adapter {what} has {len(unexpected)} unexpected tensors, the first is {unexpected[0]}", hint=hint)
    for name, tensor in tensors.items():
        if tensor.size == 0 or not np.isfinite(tensor).all():
            raise ModelError(f"adapter {what}: tensor {name} is empty or not finite", hint=hint)
    if not any(tensor.any() for name, tensor in tensors.items() if name.endswith("lora_b")):
        raise ModelError(f"adapter {what} is all zero: it would change nothing", hint=hint)


def _gguf_tensors(state: dict[str, Array], heads: int, key_heads: int) -> dict[str, Half]:
    tensors: dict[str, Half] = {}
    for key, value in state.items():
        parts = key.removeprefix(PREFIX).split(".")  # "3", "self_attn", "q_proj", "lora_A", "weight"
        if not key.startswith(PREFIX) or len(parts) != 5 or ".".join(parts[1:3]) not in GGUF_NAMES:
            raise ModelError(f"adapter tensor {key} is not one of the seven linears", hint="it is discarded; the next night trains another")
        linear, side = GGUF_NAMES[".".join(parts[1:3])], parts[3].removeprefix("lora_").lower()
        tensor = value.astype(np.float32)
        if side == "b" and linear in ("attn_q", "attn_k"):
            tensor = permuted(tensor, heads if linear == "attn_q" else key_heads)
        with np.errstate(over="ignore"):  # what doesn't fit becomes infinite, and that is refused with its name
            tensors[f"blk.{parts[0]}.{linear}.weight.lora_{side}"] = np.ascontiguousarray(tensor, dtype=np.float16)
    return tensors
