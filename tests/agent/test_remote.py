from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from edgeevo.agent import remote
from edgeevo.agent.llama import check_build
from edgeevo.agent.policy import Turn
from edgeevo.agent.prompt import BASE_PROMPT, TRAINED_PROMPT
from edgeevo.agent.remote import ModelWorker
from edgeevo.agent.serve import Server
from edgeevo.domain import Message, Role
from edgeevo.errors import ModelError, WorkerError
from edgeevo.worker import Worker

TIE = 0.25  # logits: 8-bit weights and activations move near-equal tokens past each other; without the adapter it is 1.7


def turn(text="Print the number of lines in notes.txt.", **dice):
    return Turn(conversation=(Message(role=Role.USER, text=text),), **dice)


@pytest.mark.parametrize("name", ["AMX_INT8", "AVX512", "AVX512_VNNI"])
def test_a_build_for_one_processor_is_refused(name):
    """A library built for its build machine is refused before it can die, with the command that cures it."""
    with pytest.raises(ModelError, match=name) as caught:
        check_build({"AVX2": "1", name: "1"})
    assert "GGML_NATIVE=OFF" in caught.value.hint


def test_the_portable_build_is_accepted():
    """AVX2, FMA and F16C are what every supported processor has."""
    check_build({"AVX2": "1", "FMA": "1", "F16C": "1", "AVX512": "0"})


def test_unknown_operations_are_answered():
    """The server answers nonsense with an error instead of dying."""
    server = Server()
    assert (
        "nonsense" in server.answer({"op": "nonsense"})["error"]
        and server.answer({"op": "propose", "turns": []})["error"] == "no model is loaded"
    )


def test_a_crash_by_illegal_instruction_is_explained(monkeypatch, tmp_path):
    """A worker that dies of SIGILL becomes an error about the build, not about the worker."""

    class Dying:
        pid = 1

        def __init__(self, module):
            pass

        def send(self, value):
            raise WorkerError("worker edgeevo.agent.serve ended with status -4: no message")

        def close(self):
            pass

    monkeypatch.setattr(remote, "Worker", Dying)
    with pytest.raises(ModelError, match="instructions that this processor lacks"):
        ModelWorker(tmp_path / "m.gguf").fingerprint(None)


def test_m3_an_altered_adapter_is_refused(tmp_path):
    """A file whose bytes aren't those of its name is refused before the worker even starts."""
    path = tmp_path / f"{'a' * 64}.gguf"
    path.write_bytes(bytes(100))
    with pytest.raises(ModelError, match="altered"):
        ModelWorker(tmp_path / "m.gguf").policy(path, TRAINED_PROMPT)


def test_the_id_names_base_adapter_prompt_and_sampling(tmp_path):
    """Change the base, the adapter, the prompt or the reply length and it is another policy."""
    adapter = tmp_path / "adapter.gguf"
    adapter.write_bytes(b"x")
    models = [
        ModelWorker(tmp_path / "m.gguf", "a"),
        ModelWorker(tmp_path / "m.gguf", "b"),
        ModelWorker(tmp_path / "m.gguf", "a", max_reply_tokens=8),
    ]
    ids = [m.policy(None, TRAINED_PROMPT).id for m in models]
    ids += [models[0].policy(None, BASE_PROMPT).id, models[0].policy(adapter, TRAINED_PROMPT).id]
    assert len(set(ids)) == 5 and all(m.pid is None for m in models)


# --- with the real model ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(model_path):
    with ModelWorker(model_path, sequences=8) as opened:
        yield opened


@pytest.fixture(scope="module")
def adapter(weights_dir, tmp_path_factory):
    """An adapter that has learnt one sentence by heart, with the peft directory beside it."""
    out = tmp_path_factory.mktemp("adapter")
    tokens = [1, 4093, 198, 2683, 198, 2, 198, 1, 520, 9531, 198, 2971, 2, 198]
    examples = [{"tokens": tokens, "mask": [0] * 11 + [1, 1, 0]}] * 8
    with Worker("edgeevo.learning.trainer") as worker:
        worker.send(
            {"weights_dir": str(weights_dir), "examples": examples, "out_dir": str(out), "rank": 8, "batch_size": 2, "learning_rate": 1e-3}
        )
        done = list(worker)[-1]
    return Path(done["gguf"])


@pytest.mark.model
def test_training_and_serving_see_the_same_ids(model):
    """What the tokeniser gives for training is what the fixed template gives, with the reply and its end marked."""
    (pair,) = model.tokenize([[Message(role=Role.USER, text="hi <|im_end|>"), Message(role=Role.ASSISTANT, text="ls")]], TRAINED_PROMPT)
    assert pair["tokens"].count(2) == 2, "a marker in a message is text"
    assert [t for t, m in zip(pair["tokens"], pair["mask"], strict=True) if m] == [2971, 2]


@pytest.mark.model
def test_m1_an_adapter_is_proven_in_force(model, adapter):
    """The logits with the adapter differ from the base's, and are the same each time it comes back."""
    base, tuned = model.fingerprint(None), model.fingerprint(adapter)
    assert max(abs(a - b) for a, b in zip(base, tuned, strict=True)) > remote.SAME_LOGITS
    assert (model.fingerprint(None), model.fingerprint(adapter)) == (base, tuned)


@pytest.mark.model
def test_m1_another_fingerprint_is_refused(model, adapter):
    """An adapter whose logits aren't the stored ones doesn't get to speak."""
    stored = [value + 1 for value in model.fingerprint(adapter)]
    with pytest.raises(ModelError, match="not what was stored"):
        model.policy(adapter, TRAINED_PROMPT, fingerprint=stored).propose([turn()])


@pytest.mark.model
def test_m1_an_adapter_that_changes_nothing_is_refused(model, adapter, tmp_path):
    """When the library silently doesn't apply it (here: every B is zero), the adapter is refused."""
    from gguf import GGUFReader, GGUFType, GGUFWriter

    reader = GGUFReader(adapter)
    writer = GGUFWriter(tmp_path / "silent.gguf", "llama")
    writer.add_type(GGUFType.ADAPTER)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 32.0)
    writer.add_string("edgeevo.base.sha256", model.base_sha256)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.zeros_like(tensor.data) if tensor.name.endswith("lora_b") else tensor.data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match="not in force"):
        model.fingerprint(tmp_path / "silent.gguf")


@pytest.mark.model
def test_m2_an_adapter_of_another_base_is_refused(model_path, adapter):
    """The engine reads which base an adapter was made for, and refuses another."""
    with ModelWorker(model_path, "f" * 64) as other, pytest.raises(ModelError, match="another base"):
        other.fingerprint(adapter)


@pytest.mark.model
def test_replies_are_repeatable_and_dice_differ(model):
    """The same seed says the same; eight seeds on one prompt don't all say the same."""
    policy = model.policy(None, BASE_PROMPT)
    turns = [turn(seed=seed, temperature=1.0) for seed in range(8)]
    first = policy.propose(turns)
    assert policy.propose(turns[:1])[0].prompt_tokens == first[0].prompt_tokens
    assert len({reply.text for reply in first}) > 1 and all(reply.reply_tokens <= 64 for reply in first)


@pytest.mark.model
def test_both_engines_agree_token_by_token(model, adapter, weights_dir):
    """What the served model with its adapter says greedily is likeliest, ties aside, to transformers with PEFT on the trainable weights."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(2)
    reference = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(weights_dir, dtype=torch.float32), adapter.parent / "adapter"
    ).eval()
    asked = [turn(text) for text in ("ls", "List the files.", "Print the date.", "Show the host's name.")]
    replies = model.policy(adapter, TRAINED_PROMPT).propose(asked)
    gaps: list[float] = []
    for question, reply in zip(asked, replies, strict=True):
        said = Message(role=Role.ASSISTANT, text=reply.text)
        (pair,) = model.tokenize([[*question.conversation, said]], TRAINED_PROMPT)
        with torch.no_grad():
            logits = reference(input_ids=torch.tensor([pair["tokens"]])).logits[0]
        marked = [place for place, m in enumerate(pair["mask"]) if m][: reply.reply_tokens]
        gaps += [float(logits[place - 1].max() - logits[place - 1][pair["tokens"][place]]) for place in marked]
    assert len(gaps) >= 4 and max(gaps) <= TIE, gaps


@pytest.mark.model
def test_surprise_is_lower_for_what_was_learnt(model, adapter):
    """The adapter is less surprised by its sentence than the base; one figure per token of the reply."""
    walk = [Message(role=Role.USER, text="list"), Message(role=Role.ASSISTANT, text="ls")]
    (base,), (tuned,) = model.surprise([walk], TRAINED_PROMPT), model.surprise([walk], TRAINED_PROMPT, adapter)
    assert len(base) == len(tuned) == 2 and sum(tuned) < sum(base)


@pytest.mark.model
def test_m5_memory_is_free_when_close_returns(model_path):
    """After `close` the process is gone; the next question starts another."""
    opened = ModelWorker(model_path)
    opened.fingerprint(None)
    pid = opened.pid
    opened.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert opened.pid is None and len(opened.fingerprint(None)) == 16 and opened.pid != pid
    opened.close()


@pytest.mark.model
def test_m5_a_swollen_worker_is_replaced(model_path):
    """A worker that held more than its bound is closed after its answer; the next question starts a fresh one."""
    with ModelWorker(model_path, max_rss_bytes=1) as opened:
        assert len(opened.policy(None, TRAINED_PROMPT).propose([turn("ls")])) == 1 and opened.pid is None


@pytest.mark.model
def test_a_killed_worker_is_an_error_and_then_replaced(model_path):
    """SIGKILL of the worker is a WorkerError at the next question, and the one after that is answered."""
    with ModelWorker(model_path) as opened:
        opened.fingerprint(None)
        os.kill(opened.pid, signal.SIGKILL)
        with pytest.raises(WorkerError):
            opened.policy(None, TRAINED_PROMPT).propose([turn("ls")])
        assert opened.policy(None, TRAINED_PROMPT).propose([turn("ls")])


@pytest.mark.model
def test_m6_the_worker_cannot_write_files(model_path):
    """The process that parses model files has no new privileges."""
    with ModelWorker(model_path) as opened:
        opened.fingerprint(None)
        with open(f"/proc/{opened.pid}/status") as status:
            assert "NoNewPrivs:\t1" in status.read()
        with open(f"/proc/{opened.pid}/limits") as limits:
            assert any(line.split()[:4] == ["Max", "file", "size", "0"] for line in limits)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    """A file that the library can't load is a ModelError, and no worker stays behind."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + bytes(100))
    opened = ModelWorker(tmp_path / "m.gguf")
    with pytest.raises(ModelError, match="can't be loaded"):
        opened.fingerprint(None)
    assert opened.pid is None
