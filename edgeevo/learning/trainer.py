"""Examples -> adapter, in a child process of its own: `python -m edgeevo.learning.trainer`.

    request   one JSON object, see TrainRequest
    events    {"kind": "start", …} {"kind": "step", …} {"kind": "checkpoint", …} {"kind": "done", …} or {"kind": "stopped", …}

Everything random is derived from the seed by hashing (order of examples per epoch, start values of the adapter), so a training that was
stopped and resumed takes the same steps as one that ran through. SIGTERM stops it within one product of matrices: the unfinished step
is thrown away, the state after the last whole step is saved, and "stopped" is the last event.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from edgeevo.domain import Value, content_id, derive_seed
from edgeevo.errors import ModelError
from edgeevo.learning.lora_model import LINEARS, LoraLlama, Packed, pack
from edgeevo.models.adapter_file import adapter_to_gguf
from edgeevo.worker import emit, requests

CHECKPOINT = "checkpoint.safetensors"
ADAM_BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h


class Example(Value):
    """One conversation as the engine sees it: token ids, and 1 where the token is the agent's (and is to be learnt)."""

    tokens: tuple[int, ...]
    mask: tuple[int, ...]


class TrainRequest(Value):
    """What to train; `out_dir` holds checkpoint and result.

    `learning_rate` is reached after the warm-up and falls to 0 in a straight line.

    `b_rate_ratio` times the learning rate is the rate of the B matrices (LoRA+, arXiv 2402.12354). `first_layer` leaves the layers below
    it as they are (cheaper, less able). `micro_tokens` bounds the memory: about 0.7 MB per token.
    `stop_after_steps` ends early as SIGTERM would, after so many steps of this run (0 = never).
    """

    weights_dir: str
    examples: tuple[Example, ...]
    out_dir: str
    rank: int = 16
    alpha: float = 32.0
    learning_rate: float = 8e-4
    batch_size: int = 16
    epochs: int = 1
    seed: int = 0
    threads: int = 2
    warmup_fraction: float = 0.03
    clip_norm: float = 1.0
    b_rate_ratio: float = 1.0
    first_layer: int = 0
    micro_tokens: int = 1024
    checkpoint_seconds: float = 60.0
    resume: bool = False
    number_format: Literal["auto", "float32", "bfloat16"] = "auto"
    stop_after_steps: int = 0

    @property
    def recipe_id(self) -> str:
        """Hash of everything that the steps depend on; a checkpoint of another recipe is not resumed."""
        free = {
            "out_dir": "",
            "weights_dir": "",
            "threads": 0,
            "micro_tokens": 0,
            "checkpoint_seconds": 0.0,
            "resume": False,
            "stop_after_steps": 0,
        }
        return content_id([Path(self.weights_dir).name, msgspec.structs.replace(self, **free)])


class Progress(Value):
    """Where a training stands after a whole step; `losses` are the mean nats per action token of the steps so far."""

    recipe_id: str
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: tuple[float, ...] = ()


class Stopped(BaseException):
    """Raised inside a step by SIGTERM; a BaseException so that nothing on the way mistakes it for a failure."""


class Stopping:
    """SIGTERM raises Stopped at once, except while state is being changed (`guarded`): then as soon as that is over."""

    def __init__(self) -> None:
        self._asked = self._guarded = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if not self._guarded:
            raise Stopped

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Delay SIGTERM until the block is left."""
        self._guarded = True
        yield
        self._guarded = False
        if self._asked:
            raise Stopped


def order_of(examples: int, epoch: int, seed: int) -> list[int]:
    """The order in which `examples` indices are seen in an epoch: sorted by a hash of (seed, epoch, index)."""
    return sorted(range(examples), key=lambda index: derive_seed("training order", seed, epoch, index))


def batches_of(request: TrainRequest) -> list[list[int]]:
    """Indices of the examples of every step, all epochs; only the last batch of an epoch may be smaller."""
    plan: list[list[int]] = []
    for epoch in range(request.epochs):
        order = order_of(len(request.examples), epoch, request.seed)
        plan += [order[start : start + request.batch_size] for start in range(0, len(order), request.batch_size)]
    return plan


def micro_batches(examples: Sequence[Example], micro_tokens: int) -> list[Packed]:
    """Cut a batch into pieces of at most `micro_tokens` tokens (one example at least); they only bound memory, the step is the same."""
    pieces: list[list[tuple[Sequence[int], Sequence[int]]]] = [[]]
    filled = 0
    for example in sorted(examples, key=lambda e: len(e.tokens)):
        if pieces[-1] and filled + len(example.tokens) > micro_tokens:
            pieces.append([])
            filled = 0
        pieces[-1].append((example.tokens, example.mask))
        filled += len(example.tokens)
    return [pack(piece) for piece in pieces]


def rate_at(step: int, steps: int, request: TrainRequest) -> float:
    """Learning rate of step number `step` (from 0): up to the request's in the warm-up, then straight down to 0."""
    warmup = max(1, round(steps * request.warmup_fraction))
    if step < warmup:
        return request.learning_rate * (step + 1) / warmup
    return request.learning_rate * (steps - step) / max(1, steps - warmup)


def choose_format(wish: str) -> torch.dtype:
    """bfloat16 only where the processor multiplies it itself; elsewhere it is emulated and slower than float32."""
    if wish != "auto":
        return torch.bfloat16 if wish == "bfloat16" else torch.float32
    able = torch.cpu.get_capabilities()
    return torch.bfloat16 if able.get("avx512_bf16") or able.get("amx_bf16") else torch.float32


class Training:
    """One run: the model, the adapter, Adam's state, and how far it has come."""

    def __init__(self, request: TrainRequest) -> None:
        """Load the frozen weights, let PEFT define the adapter, and take over a checkpoint when asked to and there is one."""
        self.request = request
        for number, example in enumerate(request.examples):
            if len(example.tokens) != len(example.mask) or not any(example.mask[1:]):
                raise ModelError(
                    f"example {number} has nothing to learn", hint="its mask must be as long as its tokens and hold a 1 after the first"
                )
        if not request.examples:
            raise ModelError("nothing to train on: 0 examples", hint="wait until practice has verified successes")
        torch.set_num_threads(request.threads)
        self.peft = _peft_model(request)
        self.model = LoraLlama(
            self.peft.base_model.model,
            rank=request.rank,
            alpha=request.alpha,
            first_layer=request.first_layer,
            dtype=choose_format(request.number_format),
        )
        self._exchange(into_peft=False)
        self.rates = torch.ones_like(self.model.values)
        for name, view in self.model.named(self.rates).items():
            view.fill_(request.b_rate_ratio if name.endswith("lora_B") else 1.0)
        self.mean, self.square = torch.zeros_like(self.model.values), torch.zeros_like(self.model.values)
        self.progress = Progress(recipe_id=request.recipe_id)
        self.out_dir = Path(request.out_dir)
        self.out_dir.mkdir(parents=True, exist_ok=True)
        self.damage = ""  # why a checkpoint that is there was not taken over
        if request.resume:
            self._restore()

    def _exchange(self, *, into_peft: bool) -> None:
        ours = self.model.named(self.model.values)
        found = 0
        with torch.no_grad():
            for name, parameter in self.peft.named_parameters():
                key = name.removeprefix("base_model.model.model.").removesuffix(".default.weight")
                if key in ours:
                    source, target = (ours[key], parameter) if into_peft else (parameter, ours[key])
                    target.copy_(source)
                    found += 1
        if found != len(ours):
            raise ModelError(
                f"PEFT made {found} adapter matrices, expected {len(ours)}", hint="use the locked versions of peft and transformers"
            )

    def step(self, batch: Sequence[Example], rate: float, stopping: Stopping) -> float:
        """One optimiser step on the mean loss over all action tokens of `batch`; returns that loss in nats."""
        trained_tokens = sum(sum(1 for m in example.mask[1:] if m) for example in batch)
        self.model.gradients.zero_()
        loss = 0.0
        for piece in micro_batches(batch, self.request.micro_tokens):
            loss += self.model.accumulate(piece, 1.0 / trained_tokens)
        loss /= trained_tokens
        gradient = self.model.gradients
        norm = float(torch.linalg.vector_norm(gradient))
        if not norm < float("inf"):  # also true for nan
            raise ModelError(f"the gradient of step {self.progress.step} is not finite", hint="lower learning_rate")
        gradient.mul_(min(1.0, self.request.clip_norm / (norm + 1e-6)))
        with stopping.guarded():
            count = self.progress.step + 1
            self.mean.lerp_(gradient, 1 - ADAM_BETAS[0])
            self.square.mul_(ADAM_BETAS[1]).addcmul_(gradient, gradient, value=1 - ADAM_BETAS[1])
            spread = (self.square / (1 - ADAM_BETAS[1] ** count)).sqrt_().add_(ADAM_EPSILON)
            self.model.values.addcdiv_(self.mean * self.rates, spread, value=-rate / (1 - ADAM_BETAS[0] ** count))
            self.progress = msgspec.structs.replace(
                self.progress,
                step=count,
                tokens=self.progress.tokens + sum(len(example.tokens) for example in batch),
                losses=(*self.progress.losses, round(loss, 6)),
            )
        return loss

    def save(self, seconds: float) -> Path:
        """Write adapter, optimiser and progress as one file, atomically; returns its path."""
        self.progress = msgspec.structs.replace(self.progress, seconds=seconds)
        target = self.out_dir / CHECKPOINT
        scratch = target.with_suffix(".partial")
        tensors = {"values": self.model.values, "mean": self.mean, "square": self.square}
        save_file(tensors, scratch, metadata={"progress": msgspec.json.encode(self.progress).decode()})
        with scratch.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(scratch, target)
        return target

    def _restore(self) -> None:
        path = self.out_dir / CHECKPOINT
        if not path.exists():
            return
        try:
            with safe_open(path, framework="pt") as stored:
                progress = msgspec.json.decode(stored.metadata()["progress"], type=Progress)
                found = [stored.get_tensor(name) for name in ("values", "mean", "square")]
        except (SafetensorError, msgspec.DecodeError, KeyError, TypeError, OSError) as error:
            self.damage = f"{path.name} can't be read and is not taken over: {error}"
            return
        ours = (self.model.values, self.mean, self.square)
        if progress.recipe_id != self.progress.recipe_id:
            return  # of another training; it is overwritten
        if [tensor.shape for tensor in found] != [tensor.shape for tensor in ours]:
            self.damage = f"{path.name} holds other shapes than this training and is not taken over"
            return
        for mine, stored_tensor in zip(ours, found, strict=True):
            mine.copy_(stored_tensor)
        self.progress = progress

    def finish(self) -> dict[str, Any]:
        """Save the adapter by PEFT and as GGUF; what was made, for the last event."""
        self._exchange(into_peft=True)
        adapter_dir = self.out_dir / "adapter"
        self.peft.save_pretrained(adapter_dir, save_embedding_layers=False)
        path, sha256 = adapter_to_gguf(adapter_dir, Path(self.request.weights_dir), self.out_dir)
        return {"gguf": str(path), "sha256": sha256}


def _peft_model(request: TrainRequest) -> Any:
    # Here and not above: it takes seconds, and a wrong request should fail first.
    import transformers  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(request.weights_dir, dtype=torch.float32)
    config = LoraConfig(
        r=request.rank,
        lora_alpha=request.alpha,
        lora_dropout=0.0,
        bias="none",
        task_type="CAUSAL_LM",
        target_modules=[name.rpartition(".")[2] for name in LINEARS],
        layers_to_transform=list(range(request.first_layer, model.config.num_hidden_layers)) if request.first_layer else None,
    )
    torch.manual_seed(derive_seed("adapter start", request.seed) >> 1)
    return get_peft_model(model, config)


def keep_memory() -> None:
    """Tell malloc to keep freed memory: every step needs the same again, and fresh pages cost time. Raises nothing."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def train(request: TrainRequest, stopping: Stopping) -> Iterator[dict[str, Any]]:
    """The events of one training, see the module's head; raises ModelError for examples or weights that can't be used."""
    try:
        training = Training(request)
        plan = batches_of(request)
        before = training.progress.seconds
        begun = saved = time.monotonic()
        first = training.progress.step
        tokens = sum(len(example.tokens) for example in request.examples) * request.epochs
        told = {"step": first, "steps": len(plan), "tokens": tokens, "recipe_id": request.recipe_id, "damage": training.damage}
        yield {"kind": "start", **told}
    except Stopped:
        yield {"kind": "stopped", "step": 0, "path": None}
        return

    def elapsed() -> float:
        return before + time.monotonic() - begun

    try:
        for number in range(first, len(plan)):
            loss = training.step([request.examples[i] for i in plan[number]], rate_at(number, len(plan), request), stopping)
            yield {
                "kind": "step",
                "step": number + 1,
                "steps": len(plan),
                "loss": loss,
                "tokens": training.progress.tokens,
                "seconds": elapsed(),
            }
            if request.stop_after_steps and number + 1 - first >= request.stop_after_steps:
                raise Stopped
            if time.monotonic() - saved >= request.checkpoint_seconds:
                with stopping.guarded():
                    path = training.save(elapsed())
                saved = time.monotonic()
                yield {"kind": "checkpoint", "step": number + 1, "steps": len(plan), "loss": loss, "path": str(path)}
        with stopping.guarded():
            made = training.finish()
    except Stopped:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not cut the saving short; the parent's KILL still does
        yield {"kind": "stopped", "step": training.progress.step, "path": str(training.save(elapsed()))}
        return
    losses = training.progress.losses
    tail = losses[-max(1, len(losses) // 10) :]
    yield {
        "kind": "done",
        **made,
        "steps": len(plan),
        "loss": sum(tail) / len(tail),
        "losses": losses,
        "tokens": training.progress.tokens,
        "seconds": elapsed(),
        "recipe_id": request.recipe_id,
        "rank": request.rank,
        "alpha": request.alpha,
    }


def main() -> None:
    """Serve one request from stdin; an error of ours becomes {"kind": "error", "error", "hint"} and exit status 1."""
    stopping = Stopping()
    keep_memory()
    try:
        for value in requests():
            for event in train(msgspec.convert(value, TrainRequest), stopping):
                emit(event)
            return
    except ModelError as error:
        emit({"kind": "error", "error": str(error), "hint": error.hint})
        raise SystemExit(1) from error
    except msgspec.ValidationError as error:
        emit({"kind": "error", "error": f"training request: {error}", "hint": "see TrainRequest"})
        raise SystemExit(1) from error
    except (Stopped, BrokenPipeError):
        return  # stopped before it began, or nobody listens any more; the checkpoint, if any, is written


if __name__ == "__main__":
    main()
