from __future__ import annotations

import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.domain import derive_seed
from edgeevo.errors import ModelError, WorkerError
from edgeevo.learning import trainer
from edgeevo.learning.trainer import CHECKPOINT, Example, TrainRequest, batches_of, micro_batches, order_of, rate_at
from edgeevo.worker import Worker


def example(number, length=24):
    tokens = [1, 4093, 198, *[(number * 37 + i * 11) % 20000 + 100 for i in range(length - 5)], 2, 198]
    return {"tokens": tokens, "mask": [0] * (length - 8) + [1] * 7 + [0]}


def request(**changes):
    made = {
        "weights_dir": "w",
        "examples": tuple(Example(**{k: tuple(v) for k, v in example(n).items()}) for n in range(10)),
        "out_dir": "o",
    }
    return TrainRequest(**{**made, "batch_size": 4, **changes})


@given(st.integers(1, 40), st.integers(0, 3), st.integers())
def test_an_epoch_sees_every_example_once(examples, epoch, seed):
    """The order is a permutation."""
    assert sorted(order_of(examples, epoch, seed)) == list(range(examples))


def test_order_depends_on_seed_and_epoch_and_nothing_else():
    """The same seed and epoch give the same order; another seed or epoch another one."""
    assert order_of(50, 0, 1) == order_of(50, 0, 1) and len({tuple(order_of(50, e, s)) for e in (0, 1) for s in (1, 2)}) == 4
    assert derive_seed("training order", 1, 0, 0) != derive_seed("exam", 1, 0, 0)


def test_batches_cover_all_epochs():
    """Two epochs of ten examples in fours are six batches of 4, 4, 2, 4, 4, 2."""
    assert [len(b) for b in batches_of(request(epochs=2))] == [4, 4, 2, 4, 4, 2]


def test_rate_rises_then_falls_to_zero():
    """The learning rate warms up, reaches the wish, then falls in a straight line to (nearly) nothing."""
    rates = [rate_at(step, 100, request(learning_rate=1.0)) for step in range(100)]
    peak = rates.index(max(rates))
    assert max(rates) == 1.0 and peak <= 3 and rates[:peak] == sorted(rates[:peak]) and rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] == pytest.approx(0.01, abs=0.005)


def test_micro_batches_bound_the_tokens():
    """Pieces hold at most the allowed tokens, except one example that is longer than that alone, and nothing is lost."""
    examples = [Example(tokens=(1,) * n, mask=(1,) * n) for n in (5, 30, 5, 10, 10)]
    pieces = micro_batches(examples, 20)
    assert sum(len(p.spans) for p in pieces) == 5 and sum(len(p.targets) for p in pieces) == sum(n - 1 for n in (5, 30, 5, 10, 10))


def test_recipe_ignores_where_and_how_fast():
    """Threads, directories and checkpoint times don't change the recipe; the examples, the seed and the rank do."""
    base = request()
    assert base.recipe_id == request(threads=7, out_dir="x", checkpoint_seconds=1.0, resume=True).recipe_id
    assert len({base.recipe_id, request(seed=1).recipe_id, request(rank=4).recipe_id, request(examples=base.examples[:5]).recipe_id}) == 4


@pytest.mark.parametrize(
    "bad", [Example(tokens=(1, 2), mask=(0, 0)), Example(tokens=(1, 2, 3), mask=(0, 1)), Example(tokens=(1, 2), mask=(1, 0))]
)
def test_examples_that_teach_nothing_are_refused(bad):
    """An example without a learnable token, or with a mask of another length, is an error that names its place."""
    with pytest.raises(ModelError, match="example 1"):
        trainer.Training(request(examples=(*request().examples[:1], bad)))


def test_sigterm_waits_for_a_guarded_change():
    """SIGTERM during a guarded block is acted on when the block is left, not inside it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        stopping, reached = trainer.Stopping(), False
        with pytest.raises(trainer.Stopped):  # noqa: PT012, SIM117 - where it is raised is the claim
            with stopping.guarded():
                os.kill(os.getpid(), signal.SIGTERM)
                reached = True
        assert reached
    finally:
        signal.signal(signal.SIGTERM, before)


# --- with the real model, in its own process --------------------------------------------------------------------------


def run(weights_dir, out_dir, **changes):
    """All events of a small training."""
    wish = {
        "weights_dir": str(weights_dir),
        "examples": [example(n) for n in range(12)],
        "out_dir": str(out_dir),
        "rank": 4,
        "batch_size": 4,
        "learning_rate": 2e-3,
        "seed": 5,
        "number_format": "float32",
    }
    with Worker("edgeevo.learning.trainer") as worker:
        worker.send({**wish, **changes})
        return list(worker)


@pytest.fixture(scope="module")
def whole(weights_dir, tmp_path_factory):
    return run(weights_dir, tmp_path_factory.mktemp("whole"))


@pytest.mark.model
def test_training_ends_with_an_adapter(whole):
    """The last event names a file, its hash and a finite loss; the steps were counted out."""
    done = whole[-1]
    assert [e["step"] for e in whole if e["kind"] == "step"] == [1, 2, 3]
    assert done["kind"] == "done" and done["gguf"].endswith(f"{done['sha256']}.gguf") and 0 < done["loss"] < 15


@pytest.mark.model
def test_training_can_be_repeated(whole, weights_dir, tmp_path):
    """The same request gives the same adapter, bit by bit."""
    assert run(weights_dir, tmp_path)[-1]["sha256"] == whole[-1]["sha256"]


@pytest.mark.model
def test_a_resumed_training_is_the_same_training(whole, weights_dir, tmp_path):
    """Stopped after its first step and resumed, a training takes the same steps: same examples, losses within 1e-3."""
    first = run(weights_dir, tmp_path, stop_after_steps=1)
    rest = run(weights_dir, tmp_path, resume=True)
    assert first[-1]["kind"] == "stopped" and first[-1]["step"] == 1 and rest[0]["step"] == 1
    assert rest[-1]["recipe_id"] == whole[-1]["recipe_id"]
    assert rest[-1]["losses"] == pytest.approx(whole[-1]["losses"], abs=1e-3)


@pytest.mark.model
def test_a_damaged_checkpoint_costs_its_steps_and_no_more(weights_dir, tmp_path):
    """Cut short or overwritten, it is named and left, and the training begins anew."""
    run(weights_dir, tmp_path, stop_after_steps=1)
    checkpoint = tmp_path / CHECKPOINT
    for content in (checkpoint.read_bytes()[:-1000], b"\0" * 5000, b""):
        checkpoint.write_bytes(content)
        start, *_, end = run(weights_dir, tmp_path, resume=True, stop_after_steps=1)
        assert start["step"] == 0 and CHECKPOINT in start["damage"] and end["kind"] == "stopped"
    start, *_, end = run(weights_dir, tmp_path, resume=True)
    assert start["step"] == 1 and not start["damage"] and end["kind"] == "done"


@pytest.mark.model
def test_another_recipe_does_not_resume(weights_dir, tmp_path):
    """A checkpoint of another request is not taken over."""
    run(weights_dir, tmp_path, stop_after_steps=1)
    assert run(weights_dir, tmp_path, seed=6, resume=True, stop_after_steps=1)[0]["step"] == 0


@pytest.mark.model
def test_sigterm_saves_within_a_second(weights_dir, tmp_path):
    """SIGTERM in the middle of a step ends the process with the state after the last whole step saved."""
    with Worker("edgeevo.learning.trainer") as worker:
        wish = {
            "weights_dir": str(weights_dir),
            "examples": [example(n, 120) for n in range(32)],
            "out_dir": str(tmp_path),
            "batch_size": 8,
        }
        worker.send(wish)
        events = []
        for event in worker:
            events.append(event)
            if event["kind"] == "step":
                time.sleep(0.3)  # well into the second step
                os.kill(worker.pid, signal.SIGTERM)
                break
        events += list(worker)
    assert events[-1]["kind"] == "stopped" and events[-1]["step"] == 1 and os.path.exists(events[-1]["path"])


@pytest.mark.model
def test_m7_nothing_is_pickled(whole):
    """What a training leaves behind is safetensors, JSON, GGUF and PEFT's read-me."""
    out = os.path.dirname(whole[-1]["gguf"])
    names = [name for _, _, files in os.walk(out) for name in files]
    assert names and all(name.endswith((".safetensors", ".json", ".gguf", ".md")) for name in names)


def test_a_malformed_request_is_said(tmp_path):
    """An unknown key of the request ends the trainer with a message that names it."""
    with Worker("edgeevo.learning.trainer") as worker:
        worker.send({"weights_dir": "w", "examples": [], "out_dir": str(tmp_path), "lerning_rate": 1})
        assert "lerning_rate" in worker.receive()["error"]
        with pytest.raises(WorkerError):
            worker.receive()
