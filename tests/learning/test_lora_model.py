from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from edgeevo.learning.lora_model import LINEARS, LoraLlama, pack

RANK = 4


def tiny():
    """A PEFT model of two small layers with values that aren't zero."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        vocab_size=64,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).float()
    for name, parameter in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(parameter, 0.5, 1.5)
    made = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=8, target_modules=[n.rpartition(".")[2] for n in LINEARS]))
    for name, parameter in made.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return made


@pytest.fixture(scope="module")
def peft_model():
    return tiny()


def ours_of(peft_model, *, first_layer=0, dtype=torch.float32):
    made = LoraLlama(peft_model.base_model.model, rank=RANK, alpha=8, first_layer=first_layer, dtype=dtype)
    views = made.named(made.values)
    for key, parameter in adapters(peft_model).items():
        if key in views:
            views[key].copy_(parameter.detach())
    return made


def adapters(peft_model):
    return {
        name.removeprefix("base_model.model.model.").removesuffix(".default.weight"): parameter
        for name, parameter in peft_model.named_parameters()
        if "lora_" in name
    }


def reference(peft_model, sequences):
    """Summed loss over the marked tokens by transformers and PEFT, with gradients."""
    peft_model.zero_grad()
    total = torch.zeros(())
    for tokens, mask in sequences:
        logs = peft_model(input_ids=torch.tensor([tokens])).logits[0, :-1].log_softmax(-1)
        picked = logs.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        total = total - picked[torch.tensor(mask[1:]).bool()].sum()
    total.backward()
    return float(total.detach()), {key: parameter.grad for key, parameter in adapters(peft_model).items()}


def sequences(seed, count=4, shared=0):
    dice = torch.Generator().manual_seed(seed)
    made = []
    for number in range(count):
        length = 12 + 5 * number
        tokens = torch.randint(0, 64, (length,), generator=dice).tolist()
        tokens[:shared] = list(range(1, shared + 1))
        made.append((tokens, [0] * (length - 4) + [1, 0, 1, 1]))
    return made


@pytest.mark.parametrize("shared", [0, 6])
def test_loss_and_gradients_are_those_of_peft(peft_model, shared):
    """Loss and every gradient equal what PEFT and autograd compute, with and without a common prefix."""
    batch = sequences(1, shared=shared)
    packed, ours = pack(batch), ours_of(peft_model)
    assert packed.prefix == shared
    loss = ours.accumulate(packed, 1.0)
    wanted_loss, wanted = reference(peft_model, batch)
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    for key, gradient in ours.named(ours.gradients).items():
        assert torch.allclose(gradient, wanted[key], rtol=1e-3, atol=1e-5), key


def test_lower_layers_may_stay_frozen(peft_model):
    """With `first_layer`, the layers above get the gradients that they would get anyway where the ones below have no adapter."""
    silent = tiny()
    with torch.no_grad():
        for key, parameter in adapters(silent).items():
            if key.startswith("layers.0."):
                parameter.zero_()
    ours, batch = ours_of(silent, first_layer=1), sequences(2)
    ours.accumulate(pack(batch), 1.0)
    _, wanted = reference(silent, batch)
    found = ours.named(ours.gradients)
    assert found and all(torch.allclose(g, wanted[key], rtol=1e-3, atol=1e-5) for key, g in found.items())


def test_pieces_add_up(peft_model):
    """Two halves of a batch accumulate to the gradient of the whole."""
    batch = sequences(3, count=6)
    whole, halves = ours_of(peft_model), ours_of(peft_model)
    loss = whole.accumulate(pack(batch), 0.5)
    parts = halves.accumulate(pack(batch[:2]), 0.5) + halves.accumulate(pack(batch[2:]), 0.5)
    assert parts == pytest.approx(loss, rel=1e-5) and torch.allclose(whole.gradients, halves.gradients, rtol=1e-3, atol=1e-6)


def test_bfloat16_is_close(peft_model):
    """In bfloat16 the loss is within a percent and the gradient points the same way."""
    batch = sequences(4)
    exact, narrow = ours_of(peft_model), ours_of(peft_model, dtype=torch.bfloat16)
    loss, rough = exact.accumulate(pack(batch), 1.0), narrow.accumulate(pack(batch), 1.0)
    assert rough == pytest.approx(loss, rel=0.01)
    assert torch.nn.functional.cosine_similarity(exact.gradients, narrow.gradients, dim=0) > 0.99


EXAMPLES = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=2, max_size=20).map(
        lambda pairs: ([t for t, _ in pairs], [m for _, m in pairs])
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(EXAMPLES)
def test_packing_loses_nothing(examples):
    """Prefix and rest give every sequence back, and every marked token but a first one is a target once."""
    packed = pack(examples)
    for (tokens, _), (start, end) in zip(examples, packed.spans, strict=True):
        assert packed.tokens[: packed.prefix].tolist() + packed.tokens[start:end].tolist() == tokens
    assert sorted(packed.targets.tolist()) == sorted(
        t for tokens, mask in examples for t, m in list(zip(tokens, mask, strict=True))[1:] if m
    )
