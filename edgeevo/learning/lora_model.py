"""Loss and LoRA gradients of a frozen llama, written out by hand for a small CPU. No autograd, no padding, no work for frozen weights.

What makes it fast (shapes: N tokens of all sequences of a batch laid end to end, no padding anywhere):
- the linear layers see one (N, width) matrix; query/key/value and gate/up are one product each, LoRA adds to it in place;
- a prefix that all sequences share (system text, examples) is computed once, and every sequence attends to it;
- the last layer after its keys and values, and the vocabulary head, are computed only where a token is to be predicted;
- norm weights are folded into the frozen matrices; gradients go straight into one flat buffer, so accumulation is free.

The adapter itself (which matrices, their start values, how it is saved) is PEFT's; a test compares loss and every gradient with PEFT's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

LINEARS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
GROUPS = (LINEARS[0:3], LINEARS[3:4], LINEARS[4:6], LINEARS[6:7])  # the linears that read the same input are one product
QKV, OUT, GATE_UP, DOWN = range(4)
HEAD_ROWS = 128  # rows of logits held at once: 128 x 49,152 floats are 25 MB
MIN_SHARED_TOKENS = 4


@dataclass(frozen=True)
class Packed:
    """Sequences laid end to end after their common prefix. Rows of the network are positions in `tokens`."""

    tokens: Tensor  # (N,) int64: prefix, then the rest of each sequence
    positions: Tensor  # (N,) int64: place of each token in its own sequence
    spans: tuple[tuple[int, int], ...]  # rows [start, end) of the rest of each sequence
    prefix: int  # rows of the common prefix
    rows: Tensor  # (M,) int64: rows whose next token is trained on
    targets: Tensor  # (M,) int64: those next tokens


def pack(sequences: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Packed:
    """Lay (tokens, mask) sequences end to end; a token is trained on where its mask is 1 (never the first of a sequence)."""
    shortest = min(len(tokens) for tokens, _ in sequences)
    limit = min(next((i for i, m in enumerate(mask) if m), len(mask)) for _, mask in sequences) - 1  # what is trained on stays in the rest
    first = sequences[0][0]
    prefix = 0
    if len(sequences) > 1:
        while prefix < min(shortest - 1, limit) and all(tokens[prefix] == first[prefix] for tokens, _ in sequences):
            prefix += 1
        if prefix < MIN_SHARED_TOKENS:
            prefix = 0
    tokens_out, positions, rows, targets, spans = list(first[:prefix]), list(range(prefix)), [], [], []
    for tokens, mask in sequences:
        start = len(tokens_out)
        tokens_out.extend(tokens[prefix:])
        positions.extend(range(prefix, len(tokens)))
        spans.append((start, len(tokens_out)))
        for place in range(max(prefix, 0), len(tokens) - 1):
            if mask[place + 1]:
                rows.append(start + place - prefix)
                targets.append(tokens[place + 1])
    as_tensor = torch.tensor
    return Packed(
        as_tensor(tokens_out),
        as_tensor(positions),
        tuple(spans),
        prefix,
        as_tensor(rows, dtype=torch.int64),
        as_tensor(targets, dtype=torch.int64),
    )


@dataclass
class LayerWeights:
    """Frozen matrices of one layer (norm weights folded in) and views into the flat trainable buffer, one entry per group."""

    frozen: list[Tensor]  # per group (out, in)
    norms: list[Tensor | None]  # per group (in,): the folded norm weight, None where no norm precedes
    splits: list[list[tuple[int, int]]]  # per group: [start, end) of each linear in the output
    a: list[Tensor] = field(default_factory=list)  # per group (linears * rank, in)
    b: list[list[Tensor]] = field(default_factory=list)  # per group, per linear (out, rank)
    grad_a: list[Tensor] = field(default_factory=list)
    grad_b: list[list[Tensor]] = field(default_factory=list)


class LoraLlama:
    """The frozen model plus one flat vector of trainable values (`values`) and of their gradients (`gradients`)."""

    def __init__(self, model: Any, *, rank: int, alpha: float, first_layer: int, dtype: torch.dtype) -> None:
        """`model` is a transformers LlamaForCausalLM in float32; layers below `first_layer` stay frozen and need no backward pass."""
        config = model.config
        self.rank, self.scale, self.first_layer, self.dtype = rank, alpha / rank, first_layer, dtype
        self.heads, self.key_heads, self.width = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        self.eps = config.rms_norm_eps
        self.embedding = model.model.embed_tokens.weight.detach()
        self.head = model.lm_head.weight.detach().to(dtype)
        self.final_norm = model.model.norm.weight.detach()
        theta = config.rope_parameters["rope_theta"]
        self.frequencies = 1.0 / theta ** (torch.arange(0, self.width, 2, dtype=torch.float32) / self.width)
        self.layers = [self._frozen(layer) for layer in model.model.layers]
        shapes = [shape for _, shape in self.parameters()]
        self.values = torch.zeros(sum(rows * columns for rows, columns in shapes))
        self.gradients = torch.zeros_like(self.values)
        self._bind()

    def _frozen(self, layer: Any) -> LayerWeights:
        norms = [layer.input_layernorm.weight.detach(), None, layer.post_attention_layernorm.weight.detach(), None]
        frozen, splits = [], []
        for group, norm in zip(GROUPS, norms, strict=True):
            matrices = [layer.get_submodule(name).weight.detach() for name in group]
            matrix = torch.cat(matrices) if len(matrices) > 1 else matrices[0]
            frozen.append((matrix * norm if norm is not None else matrix).to(self.dtype).contiguous())
            ends = list(itertools.accumulate(m.shape[0] for m in matrices))
            splits.append(list(zip([0, *ends[:-1]], ends, strict=True)))
        return LayerWeights(frozen, norms, splits)

    def parameters(self) -> list[tuple[str, tuple[int, int]]]:
        """Names (PEFT's, without prefix) and shapes of the trainable matrices in the order in which they lie in `values`."""
        found = []
        for number in range(self.first_layer, len(self.layers)):
            layer = self.layers[number]
            for group, matrix, splits in zip(GROUPS, layer.frozen, layer.splits, strict=True):
                found += [(f"layers.{number}.{name}.lora_A", (self.rank, matrix.shape[1])) for name in group]
                found += [(f"layers.{number}.{name}.lora_B", (e - s, self.rank)) for name, (s, e) in zip(group, splits, strict=True)]
        return found

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector (`values` or `gradients`) by name."""
        views, place = {}, 0
        for name, (rows, columns) in self.parameters():
            views[name] = flat[place : place + rows * columns].view(rows, columns)
            place += rows * columns
        return views

    def _bind(self) -> None:
        place = 0

        def take(rows: int, columns: int) -> tuple[Tensor, Tensor]:
            nonlocal place
            piece = slice(place, place + rows * columns)
            place = piece.stop
            return self.values[piece].view(rows, columns), self.gradients[piece].view(rows, columns)

        for layer in self.layers[self.first_layer :]:
            for group, matrix, splits in zip(GROUPS, layer.frozen, layer.splits, strict=True):
                value, gradient = take(self.rank * len(group), matrix.shape[1])
                layer.a.append(value)
                layer.grad_a.append(gradient)
                pairs = [take(end - start, self.rank) for start, end in splits]
                layer.b.append([value for value, _ in pairs])
                layer.grad_b.append([gradient for _, gradient in pairs])

    @torch.no_grad()
    def accumulate(self, batch: Packed, weight: float) -> float:
        """Add `weight` times the gradient of the summed loss of `batch` to `gradients`; returns the summed loss in nats."""
        angles = batch.positions[:, None].float() * self.frequencies
        turn = (angles.cos()[:, None].to(self.dtype), angles.sin()[:, None].to(self.dtype))
        hidden = self.embedding[batch.tokens].to(self.dtype)
        tape: list[dict[str, Any]] = []
        last = len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            hidden, record = self._layer(layer, hidden, batch, turn, only=batch.rows if number == last else None)
            tape.append(record if layer.a else {})
        loss, gradient = self._head(hidden, batch.targets, weight)
        for number in range(last, self.first_layer - 1, -1):
            gradient = self._layer_backward(self.layers[number], gradient, tape.pop(), batch, turn, lowest=number == self.first_layer)
        return loss

    # --- one layer, forward and backward ------------------------------------------------------------------------------

    def _layer(
        self, layer: LayerWeights, hidden: Tensor, batch: Packed, turn: tuple[Tensor, Tensor], only: Tensor | None
    ) -> tuple[Tensor, dict[str, Any]]:
        record: dict[str, Any] = {"only": only}
        normed, inverse = self._norm(hidden)
        qkv, low = self._linear(layer, QKV, normed)
        record["qkv_in"] = (normed, inverse, low)
        rotate(qkv[:, : (self.heads + self.key_heads) * self.width].view(len(qkv), -1, self.width), *turn)
        attended = self._attention(qkv, batch)
        record["qkv"] = qkv
        if only is not None:
            attended, hidden = attended[only], hidden[only]
        record["attended"] = (attended, self._add_linear(layer, OUT, attended, hidden))
        normed, inverse = self._norm(hidden)
        gate_up, low = self._linear(layer, GATE_UP, normed)
        record["mlp_in"] = (normed, inverse, low)
        gate, up = gate_up.chunk(2, dim=1)
        inner = torch.nn.functional.silu(gate).mul_(up)
        record["gate_up"] = (gate_up, self._add_linear(layer, DOWN, inner, hidden))
        return hidden, record

    def _layer_backward(
        self, layer: LayerWeights, gradient: Tensor, record: dict[str, Any], batch: Packed, turn: tuple[Tensor, Tensor], *, lowest: bool
    ) -> Tensor:
        gate_up, low = record["gate_up"]
        gate, up = gate_up.chunk(2, dim=1)
        sigmoid = torch.sigmoid(gate)
        silu = gate * sigmoid
        d_inner = self._linear_backward(layer, DOWN, gradient, silu * up, low)
        # d silu(x) = s + silu(x)(1 - s); gate_up is not needed again, so its memory takes the result
        slope = torch.addcmul(sigmoid, silu, 1 - sigmoid)
        gate.copy_(slope.mul_(up).mul_(d_inner))
        up.copy_(silu.mul_(d_inner))
        normed, inverse, low = record["mlp_in"]
        add_norm_gradient(gradient, self._linear_backward(layer, GATE_UP, gate_up, normed, low), normed, inverse)

        attended, low = record["attended"]
        d_attended = self._linear_backward(layer, OUT, gradient, attended, low)
        only, qkv = record["only"], record["qkv"]
        if only is not None:
            d_attended = qkv.new_zeros(len(qkv), d_attended.shape[1]).index_copy_(0, only, d_attended)
            gradient = qkv.new_zeros(len(qkv), gradient.shape[1]).index_copy_(0, only, gradient)
        d_qkv = self._attention_backward(qkv, d_attended, batch)
        cosine, sine = turn
        rotate(d_qkv[:, : (self.heads + self.key_heads) * self.width].view(len(d_qkv), -1, self.width), cosine, -sine)
        normed, inverse, low = record["qkv_in"]
        d_normed = self._linear_backward(layer, QKV, d_qkv, normed, low, frozen_too=not lowest)
        if not lowest:
            add_norm_gradient(gradient, d_normed, normed, inverse)
        return gradient

    def _norm(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        wide = hidden.float()
        inverse = torch.rsqrt(wide.square().mean(dim=1, keepdim=True).add_(self.eps))
        return (wide * inverse).to(self.dtype), inverse.to(self.dtype)

    def _a(self, layer: LayerWeights, group: int) -> Tensor:
        norm = layer.norms[group]
        return (layer.a[group] * norm if norm is not None else layer.a[group]).to(self.dtype)

    def _linear(self, layer: LayerWeights, group: int, x: Tensor) -> tuple[Tensor, Tensor | None]:
        out = torch.mm(x, layer.frozen[group].t())
        return out, self._add_lora(layer, group, x, out)

    def _add_linear(self, layer: LayerWeights, group: int, x: Tensor, out: Tensor) -> Tensor | None:
        out.addmm_(x, layer.frozen[group].t())
        return self._add_lora(layer, group, x, out)

    def _add_lora(self, layer: LayerWeights, group: int, x: Tensor, out: Tensor) -> Tensor | None:
        if not layer.a:
            return None
        low = torch.mm(x, self._a(layer, group).t())
        for place, (b, (start, end)) in enumerate(zip(layer.b[group], layer.splits[group], strict=True)):
            out[:, start:end].addmm_(low[:, place * self.rank : (place + 1) * self.rank], b.t().to(self.dtype), alpha=self.scale)
        return low

    def _linear_backward(
        self, layer: LayerWeights, group: int, d_out: Tensor, x: Tensor, low: Tensor, *, frozen_too: bool = True
    ) -> Tensor:
        """Adds to the gradients of A and B; returns the gradient for the input (only LoRA's share unless `frozen_too`)."""
        d_low = torch.empty_like(low)
        for place, (b, (start, end)) in enumerate(zip(layer.b[group], layer.splits[group], strict=True)):
            piece, columns = d_out[:, start:end], slice(place * self.rank, (place + 1) * self.rank)
            torch.mm(piece, b.to(self.dtype), out=d_low[:, columns])
            add_product(layer.grad_b[group][place], piece.t(), low[:, columns], self.scale)
        d_low.mul_(self.scale)
        norm = layer.norms[group]
        if norm is None:
            add_product(layer.grad_a[group], d_low.t(), x, 1.0)
        else:
            layer.grad_a[group].addcmul_(torch.mm(d_low.t(), x).float(), norm)
        if not frozen_too:
            return d_low
        return torch.mm(d_out, layer.frozen[group]).addmm_(d_low, self._a(layer, group))

    # --- attention, one sequence at a time ----------------------------------------------------------------------------

    def _views(self, qkv: Tensor, span: tuple[int, int], prefix: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (kv heads, group * L, width), keys and values (kv heads, prefix + L, width) of one sequence."""
        start, end = span
        group, length = self.heads // self.key_heads, end - start
        split_q, split_k = self.heads * self.width, (self.heads + self.key_heads) * self.width
        queries = (
            qkv[start:end, :split_q]
            .view(length, self.key_heads, group, self.width)
            .permute(1, 2, 0, 3)
            .reshape(self.key_heads, group * length, self.width)
        )
        both = qkv[start:end, split_q:]
        if prefix and start >= prefix:
            both = torch.cat([qkv[:prefix, split_q:], both])
        keys, values = both.view(len(both), 2, self.key_heads, self.width).permute(1, 2, 0, 3)
        assert split_k - split_q == self.key_heads * self.width
        return queries, keys, values

    def _probabilities(self, queries: Tensor, keys: Tensor, length: int) -> Tensor:
        scores = torch.bmm(queries, keys.transpose(1, 2)).mul_(self.width**-0.5)
        total = keys.shape[1]
        shaped = scores.view(self.key_heads, -1, length, total)
        shaped.masked_fill_(torch.ones(length, total, dtype=torch.bool).triu_(total - length + 1), float("-inf"))
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(self.dtype)

    def _spans(self, batch: Packed) -> list[tuple[tuple[int, int], int]]:
        own = [((0, batch.prefix), 0)] if batch.prefix else []
        return own + [(span, batch.prefix) for span in batch.spans]

    def _attention(self, qkv: Tensor, batch: Packed) -> Tensor:
        out = torch.empty(len(qkv), self.heads * self.width, dtype=self.dtype)
        for span, prefix in self._spans(batch):
            length = span[1] - span[0]
            queries, keys, values = self._views(qkv, span, prefix)
            mixed = torch.bmm(self._probabilities(queries, keys, length), values)
            out[span[0] : span[1]] = mixed.view(self.heads, length, self.width).transpose(0, 1).reshape(length, -1)
        return out

    def _attention_backward(self, qkv: Tensor, d_out: Tensor, batch: Packed) -> Tensor:
        """The probabilities are computed again: cheaper than keeping (heads, L, L) of every layer."""
        d_qkv = torch.zeros_like(qkv)
        split = self.heads * self.width
        for span, prefix in self._spans(batch):
            start, end = span
            length = end - start
            queries, keys, values = self._views(qkv, span, prefix)
            p = self._probabilities(queries, keys, length)
            d_mixed = d_out[start:end].view(length, self.heads, self.width).transpose(0, 1).reshape(self.key_heads, -1, self.width)
            d_p = torch.bmm(d_mixed, values.transpose(1, 2))
            d_scores = d_p.sub_((d_p * p).sum(dim=-1, keepdim=True)).mul_(p).mul_(self.width**-0.5)
            d_values = torch.bmm(p.transpose(1, 2), d_mixed)
            d_queries = torch.bmm(d_scores, keys)
            d_keys = torch.bmm(d_scores.transpose(1, 2), queries)
            d_qkv[start:end, :split] = d_queries.view(self.heads, length, self.width).transpose(0, 1).reshape(length, split)
            d_both = torch.stack([d_keys, d_values]).permute(2, 0, 1, 3).reshape(keys.shape[1], -1)
            if prefix:
                d_qkv[:prefix, split:] += d_both[:prefix]
            d_qkv[start:end, split:] += d_both[prefix:]
        return d_qkv

    # --- vocabulary head, only where something is predicted -----------------------------------------------------------

    def _head(self, hidden: Tensor, targets: Tensor, weight: float) -> tuple[float, Tensor]:
        normed, inverse = self._norm(hidden)
        scaled = (normed * self.final_norm).to(self.dtype)
        total, d_scaled = 0.0, torch.empty_like(scaled)
        for start in range(0, len(targets), HEAD_ROWS):
            piece = slice(start, start + HEAD_ROWS)
            logits = torch.mm(scaled[piece], self.head.t()).float()
            logs = torch.log_softmax(logits, dim=1)
            wanted = targets[piece, None]
            total -= float(logs.gather(1, wanted).sum())
            slope = logs.exp_()
            slope.scatter_add_(1, wanted, torch.full(wanted.shape, -1.0)).mul_(weight)
            torch.mm(slope.to(self.dtype), self.head, out=d_scaled[piece])
        gradient = torch.zeros_like(hidden)
        add_norm_gradient(gradient, (d_scaled * self.final_norm).to(self.dtype), normed, inverse)
        return total, gradient


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> None:
    """Rotary embedding in place: x (N, heads, width), cosine and sine (N, 1, width / 2); the inverse is the same with -sine."""
    first, second = x.chunk(2, dim=-1)
    turned = (first * cosine).addcmul_(second, sine, value=-1)
    second.mul_(cosine).addcmul_(first, sine)
    first.copy_(turned)


def add_norm_gradient(gradient: Tensor, d_normed: Tensor, normed: Tensor, inverse: Tensor) -> None:
    """Add to `gradient` (N, width) what comes back through `normed = x * inverse`, inverse = rsqrt(mean(x²) + eps); spoils d_normed."""
    along = (d_normed * normed).mean(dim=1, keepdim=True)
    gradient.addcmul_(d_normed.sub_(normed * along), inverse)


def add_product(total: Tensor, left: Tensor, right: Tensor, scale: float) -> None:
    """total += scale * left @ right, where total is float32 and the factors may be narrower."""
    if left.dtype == total.dtype:
        total.addmm_(left, right, alpha=scale)
    else:
        total.add_(torch.mm(left, right), alpha=scale)
