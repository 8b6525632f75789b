"""Worker child: a quantised GGUF in another quantisation, the same bytes on every machine. `{"source", "target"}` -> `{"target"}`.

    python -m edgeevo.models.requantise

Why: Q8_0 has a tiled kernel on every processor that llama.cpp knows and Q4_1 has not; eight attempts in one batch then take about half
the time (`benchmarks/inference.py`). All arithmetic is numpy's, value by value in float32, so the card can state the hash of the result.
"""

from __future__ import annotations

from pathlib import Path

from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType
from gguf.quants import dequantize, quantize

from edgeevo.worker import emit, requests

PLAIN = (GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.BF16)


def to_q8_0(source: Path, target: Path) -> None:
    """Write `target`: fields and unquantised tensors of a verified `source` as they are, every quantised tensor as Q8_0."""
    reader = GGUFReader(source)
    architecture = reader.get_field("general.architecture")
    writer = GGUFWriter(target, architecture.contents() if architecture else "llama")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue  # the writer's own
        value = LlamaFileType.MOSTLY_Q8_0.value if key == "general.file_type" else field.contents()
        kind = field.types[0]
        writer.add_key_value(key, value, kind, sub_type=field.types[-1] if kind is GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        if tensor.tensor_type in PLAIN:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            q8 = quantize(dequantize(tensor.data, tensor.tensor_type), GGMLQuantizationType.Q8_0)
            writer.add_tensor(tensor.name, q8, raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    for request in requests():
        to_q8_0(Path(request["source"]), Path(request["target"]))
        emit({"target": request["target"]})
