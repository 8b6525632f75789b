"""The served model: the only module that calls llama_cpp, and only its low-level functions (the high-level class swallows mistakes).

Lives in a worker child (`agent.serve`). Traps that are handled here: the library logs to stderr unless a callback is kept alive; an
adapter that is switched leaves a stale cache behind; a build for another processor dies at its first product of matrices.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import llama_cpp as c
import numpy as np

from edgeevo.agent.decoding import Decoder, Job, Logits, Said, surprise
from edgeevo.agent.pace import Pace
from edgeevo.agent.prompt import END, START, Segment
from edgeevo.errors import ModelError

BATCH_TOKENS, PHYSICAL_BATCH_TOKENS = 2048, 512
MAX_OUTPUTS = 64  # logits rows per physical batch: 196 kB each
MAX_ADAPTERS = 3  # kept loaded: incumbent and candidate take turns in an exam
BASE_FIELD = b"edgeevo.base.sha256"
PROBE = (
    Segment(f"{START}user\n", special=True),
    Segment("Print the number of lines in /etc/passwd."),
    Segment(f"{END}\n{START}assistant\n", special=True),
)
PROBE_LOGITS = 16
REBUILD = (
    "reinstall it without pip's wheel cache: pip install --no-cache-dir --force-reinstall --no-deps llama-cpp-python==0.3.36 "
    '--config-settings="cmake.args=-DGGML_NATIVE=OFF;-DLLAVA_BUILD=OFF"'
)


def instruction_sets() -> dict[str, str]:
    """What the library says it was built for, such as {"AVX2": "1"}."""
    told = c.llama_print_system_info().decode("utf-8", "replace").replace("CPU :", "")
    return {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in told.split("|")) if value}


def check_build(told: dict[str, str]) -> None:
    """ModelError when the library was built for the processor of its build machine: such builds die with SIGILL elsewhere."""
    native = sorted(name for name, value in told.items() if value == "1" and name.startswith(("AMX", "AVX512", "AVX_VNNI")))
    if native:
        raise ModelError(f"llama.cpp was built for one processor only ({', '.join(native)}); expected the portable build", hint=REBUILD)


class Engine:
    """One model file, up to `sequences` replies at once with `sequence_tokens` of cache each, at most one adapter in force."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int,
        base_sha256: str = "",
        sequences: int = 8,
        sequence_tokens: int = 1024,
        max_reply_tokens: int = 64,
    ) -> None:
        """Load a file whose hash was verified by the caller; with `base_sha256`, adapters made for another base are refused.

        ModelError when the library refuses the file or was built for another processor.
        """
        c.llama_backend_init()
        self._quiet = c.llama_log_callback(lambda *_: None)  # kept alive: the library keeps calling it
        c.llama_log_set(self._quiet, ctypes.c_void_p(0))
        check_build(instruction_sets())
        model_parameters = c.llama_model_default_params()
        model_parameters.use_extra_bufts = False  # repacked weights would double the memory and take the AMX path
        self._model = c.llama_model_load_from_file(str(path).encode(), model_parameters)
        if not self._model:
            raise ModelError(f"model file {path.name} can't be loaded", hint="fetch it again: edgeevo model fetch")
        threads = max(1, min(threads, len(os.sched_getaffinity(0))))
        parameters = c.llama_context_default_params()
        streams = sequences + 1  # and the trunk, see Decoder
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = streams * sequence_tokens, BATCH_TOKENS, PHYSICAL_BATCH_TOKENS
        parameters.n_outputs_max = parameters.n_outputs_max_per_seq = MAX_OUTPUTS
        parameters.n_threads = parameters.n_threads_batch = threads
        # One common cache: a prompt that sequences share is read once for all of them, which is what groups of attempts live by. The
        # flash kernel computes one row at a time here: plain products are half as fast again at eight sequences.
        parameters.n_seq_max, parameters.kv_unified = streams, True
        parameters.flash_attn_type = c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self._context = c.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise ModelError(f"no memory for {streams} sequences of {sequence_tokens} tokens", hint="lower one of them or free memory")
        self.path, self.base_sha256 = path, base_sha256
        self._pace, self._threads = Pace(threads), threads
        self._vocabulary = c.llama_model_get_vocab(self._model)
        self._width = c.llama_vocab_n_tokens(self._vocabulary)
        self._memory = c.llama_get_memory(self._context)
        self._adapters: dict[Path, Any] = {}
        self.adapter: Path | None = None
        self._decoder = Decoder(self, sequences=sequences, sequence_tokens=sequence_tokens, max_reply_tokens=max_reply_tokens)
        self._tokens = lru_cache(maxsize=4096)(self._tokenise)
        self._ends = lru_cache(maxsize=None)(self._ask_end)

    # --- text and tokens ----------------------------------------------------------------------------------------------

    def _tokenise(self, text: str, special: bool) -> tuple[int, ...]:  # noqa: FBT001 - lru_cache takes them by position
        data = text.encode("utf-8", "replace")
        buffer = (c.llama_token * (len(data) + 8))()
        count = c.llama_tokenize(self._vocabulary, data, len(data), buffer, len(buffer), False, special)
        if count < 0:
            raise ModelError(f"a text of {len(data)} bytes can't be tokenised", hint="shorten the task")
        return tuple(buffer[:count])

    def tokenize(self, segments: Sequence[Segment]) -> tuple[list[int], list[int]]:
        """Token ids of the segments, each tokenised on its own, and a mask that is 1 where the segment is the agent's."""
        tokens: list[int] = []
        mask: list[int] = []
        for segment in segments:
            ids = self._tokens(segment.text, segment.special)
            tokens += ids
            mask += [int(segment.action)] * len(ids)
        return tokens, mask

    def text(self, tokens: Sequence[int]) -> str:
        """The text of token ids; special tokens give none, broken UTF-8 is replaced."""
        buffer = ctypes.create_string_buffer(256)
        pieces = []
        for token in tokens:
            size = c.llama_token_to_piece(self._vocabulary, token, buffer, len(buffer), 0, False)
            pieces.append(buffer.raw[: max(0, size)])
        return b"".join(pieces).decode("utf-8", "replace")

    # --- what the decoder needs (decoding.Backend) --------------------------------------------------------------------

    def decode(self, items: Sequence[tuple[int, int, int, bool]]) -> list[Logits]:
        """See decoding.Backend. ModelError when the library fails."""
        rows: list[Logits] = []
        for start in range(0, len(items), BATCH_TOKENS):
            rows += self._decode_part(items[start : start + BATCH_TOKENS])
        return rows

    def _decode_part(self, items: Sequence[tuple[int, int, int, bool]]) -> list[Logits]:
        batch = c.llama_batch_init(len(items), 0, 1)
        try:
            batch.n_tokens = len(items)
            for i, (token, position, sequence, wanted) in enumerate(items):
                batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
                batch.seq_id[i][0] = sequence
            status = self._at_our_pace(batch)
        finally:
            c.llama_batch_free(batch)
        if status != 0:
            raise ModelError(f"llama_decode failed with {status} on {len(items)} tokens", hint="lower the number of sequences")
        # Copied: the library's buffer is overwritten by the next call.
        return [np.array(self._logits(i)) for i, item in enumerate(items) if item[3]]

    def _at_our_pace(self, batch: Any) -> int:
        """llama_decode with as many threads as the others on this machine leave room for; the results don't depend on the number."""
        if self._threads != self._pace.threads:
            self._threads = self._pace.threads
            c.llama_set_n_threads(self._context, self._threads, self._threads)
        wall, cpu = time.perf_counter(), time.process_time()
        status: int = c.llama_decode(self._context, batch)
        self._pace.took(time.perf_counter() - wall, time.process_time() - cpu)
        return status

    def _logits(self, row: int) -> Logits:
        return np.ctypeslib.as_array(c.llama_get_logits_ith(self._context, row), shape=(self._width,))

    def copy(self, source: int, target: int, tokens: int) -> None:
        """See decoding.Backend."""
        c.llama_memory_seq_rm(self._memory, target, -1, -1)
        c.llama_memory_seq_cp(self._memory, source, target, 0, tokens)

    def trim(self, sequence: int, tokens: int) -> None:
        """See decoding.Backend."""
        c.llama_memory_seq_rm(self._memory, sequence, tokens, -1)

    def is_end(self, token: int) -> bool:
        """See decoding.Backend."""
        return self._ends(token)

    def _ask_end(self, token: int) -> bool:
        return bool(c.llama_vocab_is_eog(self._vocabulary, token) or c.llama_vocab_is_control(self._vocabulary, token))

    # --- adapters -----------------------------------------------------------------------------------------------------

    def set_adapter(self, path: Path | None) -> None:
        """Put an adapter file (verified by the caller), or none, in force and empty the cache; loading takes 10 ms, switching 0.1 ms.

        ModelError when it can't be loaded or was made for another base.
        """
        if path == self.adapter:
            return
        self.forget()
        self.adapter = None
        if c.llama_set_adapters_lora(self._context, None, 0, None) != 0:
            raise ModelError("the adapter in force can't be removed", hint="restart the model worker")
        if path is None:
            return
        handle = self._load_adapter(path)
        if c.llama_set_adapters_lora(self._context, (c.llama_adapter_lora_p_ctypes * 1)(handle), 1, (ctypes.c_float * 1)(1.0)) != 0:
            raise ModelError(f"adapter {path.name} can't be put in force", hint="roll back: edgeevo rollback")
        self.adapter = path

    def _load_adapter(self, path: Path) -> Any:
        if path in self._adapters:
            self._adapters[path] = self._adapters.pop(path)  # the most recently used is last
            return self._adapters[path]
        handle = c.llama_adapter_lora_init(self._model, str(path).encode())
        if not handle:
            raise ModelError(f"adapter {path.name} can't be loaded onto {self.path.name}", hint="roll back: edgeevo rollback")
        made_for = ctypes.create_string_buffer(256)
        found = c.llama_adapter_meta_val_str(handle, BASE_FIELD, made_for, len(made_for)) > 0
        base = made_for.value.decode("utf-8", "replace") if found else "none"
        if self.base_sha256 and base != self.base_sha256:
            c.llama_adapter_lora_free(handle)
            raise ModelError(
                f"adapter {path.name} belongs to another base: expected {self.base_sha256}, found {base}",
                hint="train again on this model, or roll back: edgeevo rollback",
            )
        while len(self._adapters) >= MAX_ADAPTERS:
            oldest = next(iter(self._adapters))
            c.llama_adapter_lora_free(self._adapters.pop(oldest))
        self._adapters[path] = handle
        return handle

    def forget(self) -> None:
        """Empty the cache."""
        self._decoder.forget()
        c.llama_memory_clear(self._memory, True)

    # --- answers ------------------------------------------------------------------------------------------------------

    def propose(self, jobs: Sequence[Job]) -> list[Said]:
        """One reply per prompt, decoded together; see Decoder."""
        return self._decoder.generate(jobs)

    def fingerprint(self) -> tuple[float, ...]:
        """16 logits after a fixed probe, of evenly spaced vocabulary entries, rounded to 1e-4: which weights really are in force."""
        self.forget()
        tokens, _ = self.tokenize(PROBE)
        (logits,) = self.decode([(token, i, 0, i == len(tokens) - 1) for i, token in enumerate(tokens)])
        self.forget()
        return tuple(round(float(logits[i]), 4) for i in range(0, self._width, self._width // PROBE_LOGITS)[:PROBE_LOGITS])

    def surprise(self, segments: Sequence[Segment]) -> list[float]:
        """-log p (nats) of every token of the action segments, given all before it, with the adapter in force."""
        self.forget()
        tokens, mask = self.tokenize(segments)
        wanted = [i + 1 < len(mask) and mask[i + 1] == 1 for i in range(len(tokens))]
        found: list[float] = []
        for start in range(0, len(tokens), MAX_OUTPUTS):  # every token of a piece may want its logits
            piece = range(start, min(start + MAX_OUTPUTS, len(tokens)))
            rows = self.decode([(tokens[i], i, 0, wanted[i]) for i in piece])
            found += surprise(rows, [tokens[i + 1] for i in piece if wanted[i]])
        self.forget()
        return found

    def close(self) -> None:
        """Free everything; the engine can't be used afterwards."""
        for handle in self._adapters.values():
            c.llama_adapter_lora_free(handle)
        self._adapters.clear()
        c.llama_free(self._context)
        c.llama_model_free(self._model)
