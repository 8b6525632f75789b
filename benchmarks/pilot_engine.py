"""Engine and policy of the pilot: greedy decoding by llama.cpp's low-level calls, several protocols and prompts. Throw-away grade.

The service's own engine is in edgeevo/agent; this one also knows grammars, forced first words and forbidden ones.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "100000")

import llama_cpp as c
import numpy as np

from edgeevo.agent.policy import Reply, Turn
from edgeevo.domain import Message, Role

SLOTS, SLOT_TOKENS, REPLY_TOKENS = 16, 768, 64
REPEAT = 12  # tokens that repeat with a period of 1 to 4 end a reply


def wrap(command: str, protocol: str) -> str:
    """A command as the agent writes it."""
    return {"bare": command, "fenced": f"```bash\n{command}\n```", "json": json.dumps({"command": command}, ensure_ascii=False)}[protocol]


def unwrap(text: str, protocol: str) -> str:
    """The command in a reply; JSON that can't be parsed stays as it is (and fails as a command)."""
    if protocol == "json":
        try:
            return str(json.loads(text)["command"])
        except (ValueError, KeyError, TypeError):
            return text
    if protocol == "fenced" and (found := re.search(r"```(?:bash|sh|shell)?\n(.*?)\n?```", text, re.DOTALL)):
        return found.group(1)
    return text


# --- engine: the low-level calls of llama.cpp, greedy, a slot of the cache per conversation ------------------------------


class Engine:
    """Decodes up to SLOTS conversations in one batch; a conversation that goes on finds its cache again."""

    def __init__(self, path: Path, adapter: Path | None = None, threads: int = 2) -> None:
        c.llama_backend_init()
        self._quiet = c.llama_log_callback(lambda *_: None)
        c.llama_log_set(self._quiet, ctypes.c_void_p(0))
        params = c.llama_model_default_params()
        params.use_extra_bufts = False
        self.model = c.llama_model_load_from_file(str(path).encode(), params)
        self.vocab = c.llama_model_get_vocab(self.model)
        self.size = c.llama_vocab_n_tokens(self.vocab)
        context = c.llama_context_default_params()
        context.n_ctx, context.n_batch, context.n_ubatch = SLOTS * SLOT_TOKENS, SLOTS * SLOT_TOKENS, 512
        context.n_threads = context.n_threads_batch = threads
        context.n_seq_max, context.kv_unified = SLOTS, False
        self.context = c.llama_init_from_model(self.model, context)
        self.memory = c.llama_get_memory(self.context)
        if adapter:
            self.adapter = c.llama_adapter_lora_init(self.model, str(adapter).encode())
            c.llama_set_adapters_lora(self.context, (c.llama_adapter_lora_p_ctypes * 1)(self.adapter), 1, (ctypes.c_float * 1)(1.0))
        self.cached: list[list[int]] = [[] for _ in range(SLOTS)]
        self.end = self.tokens("<|im_end|>", special=True)[0]
        self.newline = self.tokens("\n")[0]

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of a text; markers are read as such only where `special`."""
        data = text.encode()
        buffer = (c.llama_token * (len(data) + 8))()
        n = c.llama_tokenize(self.vocab, data, len(data), buffer, len(data) + 8, False, special)
        return list(buffer[:n])

    def text(self, ids: Sequence[int]) -> str:
        """The text of token ids."""
        out = b""
        for one in ids:
            buffer = ctypes.create_string_buffer(256)
            size = c.llama_token_to_piece(self.vocab, one, buffer, 256, 0, True)
            out += buffer.raw[:size]
        return out.decode("utf-8", "replace")

    def _decode(self, items: list[tuple[int, int, int, bool]]) -> list[int]:
        batch = c.llama_batch_init(len(items), 0, 1)
        batch.n_tokens = len(items)
        for i, (token, place, slot, wanted) in enumerate(items):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, place, 1, wanted
            batch.seq_id[i][0] = slot
        code = c.llama_decode(self.context, batch)
        c.llama_batch_free(batch)
        if code:
            raise RuntimeError(f"llama_decode returned {code}")
        return [i for i, item in enumerate(items) if item[3]]

    def _slot(self, prompt: list[int], taken: set[int]) -> tuple[int, int]:
        def shared(slot: int) -> int:
            pairs = zip(self.cached[slot], prompt, strict=False)
            return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(self.cached[slot]), len(prompt)))

        slot = max((s for s in range(SLOTS) if s not in taken), key=lambda s: (shared(s), -len(self.cached[s])))
        return slot, min(shared(slot), len(prompt) - 1)

    def generate(
        self, prompts: list[list[int]], *, ban: int | None = None, grammar: str = "", line: bool = False
    ) -> list[tuple[list[int], str]]:
        """Greedy replies, (ids, finish) each; `ban` is a token that may not come first, `line` ends a reply after its first line."""
        slots: list[int] = []
        items: list[tuple[int, int, int, bool]] = []
        for prompt in prompts:
            slot, keep = self._slot(prompt, set(slots))
            c.llama_memory_seq_rm(self.memory, slot, keep, -1)
            slots.append(slot)
            self.cached[slot] = list(prompt)
            items += [(prompt[i], i, slot, i == len(prompt) - 1) for i in range(keep, len(prompt))]
        replies: list[list[int]] = [[] for _ in prompts]
        finish = ["" for _ in prompts]
        samplers = [c.llama_sampler_init_grammar(self.vocab, grammar.encode(), b"root") for _ in prompts] if grammar else []
        order = list(range(len(prompts)))
        for step in range(REPLY_TOKENS + 1):
            rows = {order[k]: row for k, row in enumerate(self._decode(items))}
            items, order = [], []
            for k, row in rows.items():
                logits = np.ctypeslib.as_array(c.llama_get_logits_ith(self.context, row), shape=(self.size,))
                if ban is not None and step == 0:
                    logits[ban] = -1e9
                token = self._allowed(samplers[k], logits) if samplers else int(logits.argmax())
                tail = [*replies[k][-REPEAT:], token]
                if token == self.end or c.llama_vocab_is_eog(self.vocab, token) or (line and replies[k] and token == self.newline):
                    finish[k] = "stop"
                elif len(replies[k]) >= REPLY_TOKENS:
                    finish[k] = "length"
                elif len(tail) > REPEAT and any(tail[-p:] * (REPEAT // p) == tail[-REPEAT:] for p in (1, 2, 3, 4)):
                    finish[k] = "repetition"
                else:
                    replies[k].append(token)
                    items.append((token, len(self.cached[slots[k]]), slots[k], True))
                    self.cached[slots[k]].append(token)
                    order.append(k)
            if not items:
                break
        for sampler in samplers:
            c.llama_sampler_free(sampler)
        return list(zip(replies, finish, strict=True))

    def _allowed(self, grammar: Any, logits: Any) -> int:
        """The best token that the grammar allows; it is asked about the 64 best only, and about all when none of them will do."""
        for count in (64, self.size):
            best = np.argpartition(logits, -count)[-count:] if count < self.size else np.arange(count)
            data = (c.llama_token_data * count)(*[c.llama_token_data(int(i), float(logits[i]), 0.0) for i in best])
            c.llama_sampler_apply(grammar, ctypes.byref(c.llama_token_data_array(data, count, -1, False)))
            token = max(data, key=lambda one: one.logit)
            if token.logit > -math.inf:
                break
        c.llama_sampler_accept(grammar, token.id)
        return int(token.id)


@dataclass
class PilotPolicy:
    """Model, protocol and prompt as a Policy of the real episode loop."""

    engine: Engine
    protocol: str = "bare"
    system: str = ""
    shots: tuple[Message, ...] = ()
    first: str = ""  # forced beginning of the first reply
    ban: str = ""  # a token the first reply may not begin with
    grammar: str = ""
    line: bool = False  # only the first line of a reply counts: help for a model that goes on talking
    id: str = "pilot"

    def ids(self, conversation: Sequence[Message], *, open_end: bool = True) -> tuple[list[int], list[int]]:
        """Token ids and loss mask (1 on replies and the marker that ends them)."""
        tokens: list[int] = []
        mask: list[int] = []

        def add(text: str, *, special: bool, learnt: int = 0) -> None:
            new = self.engine.tokens(text, special=special)
            tokens.extend(new)
            mask.extend([learnt] * len(new))

        if self.system:
            add("<|im_start|>system\n", special=True)
            add(self.system, special=False)
            add("<|im_end|>\n", special=True)
        for message in (*self.shots, *conversation):
            mine = message.role is Role.ASSISTANT
            add(f"<|im_start|>{message.role.value}\n", special=True)
            add(wrap(message.text, self.protocol) if mine else message.text, special=False, learnt=int(mine))
            add("<|im_end|>", special=True, learnt=int(mine))
            add("\n", special=False)
        if open_end:
            add("<|im_start|>assistant\n", special=True)
        return tokens, mask

    def begin(self) -> None:
        """Part of Policy; the pilot's figures need no bit-identical repetition, so its cache is kept."""

    def propose(self, turns: Sequence[Turn]) -> list[Reply]:
        """One greedy reply per turn."""
        opening = len(turns[0].conversation) == 1
        forced = self.engine.tokens(self.first) if opening and self.first else []
        ban = self.engine.tokens(self.ban)[0] if opening and self.ban else None
        prompts = [self.ids(turn.conversation)[0] + forced for turn in turns]
        out = []
        replies = self.engine.generate(prompts, ban=ban, grammar=self.grammar, line=self.line)
        for prompt, (ids, finish) in zip(prompts, replies, strict=True):
            text = unwrap(self.engine.text(forced + ids).strip(), self.protocol)
            out.append(Reply(text=text, finish=finish, prompt_tokens=len(prompt), reply_tokens=len(ids)))  # type: ignore[arg-type]
        return out
