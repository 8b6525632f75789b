"""Which sequence decodes what, when: batched generation over a cache of sequences. Knows no library; the engine is the Backend.

Up to `sequences` replies are decoded in one batch. A prompt's tokens are computed once: a sequence that finished keeps its tokens until
it is needed, and a new prompt starts from a copy of whichever sequence, busy or finished, shares the longest beginning with it. So
attempts on one prompt, conversations that go on, and prompts with the same system text all cost only what is new in them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]
Finish = Literal["stop", "length", "repetition"]
TOP_K = 40  # candidates when sampling
LONGEST_PERIOD, PERIODS, SHORTEST_RUN = 8, 3, 16  # what counts as endless repetition, in tokens
WORTH_WAITING_TOKENS = 16  # a prompt waits one round when another one of the round brings this much of it


class Backend(Protocol):
    """The cache and the network, as the decoder needs them. Sequence numbers run from 0 to `sequences`, the last one being the trunk."""

    def decode(self, items: Sequence[tuple[int, int, int, bool]]) -> list[Logits]:
        """Append (token, position, sequence, wanted) to the cache; logits (vocabulary,) of the wanted ones, in order."""

    def copy(self, source: int, target: int, tokens: int) -> None:
        """Make `target` hold the first `tokens` tokens of `source` and nothing else."""

    def trim(self, sequence: int, tokens: int) -> None:
        """Forget all but the first `tokens` tokens of a sequence."""

    def is_end(self, token: int) -> bool:
        """Whether a token ends a reply (end of turn, end of text, any other control token)."""


@dataclass(frozen=True)
class Job:
    """One prompt that waits for a reply; `seed` fixes the dice, temperature 0 is greedy."""

    prompt: tuple[int, ...]
    seed: int = 0
    temperature: float = 0.0


@dataclass(frozen=True)
class Said:
    """A reply in token ids, without the end marker; "length" also when the prompt does not fit."""

    tokens: tuple[int, ...]
    finish: Finish


@dataclass
class _Sequence:
    number: int
    tokens: list[int] = field(default_factory=list)  # what the cache holds
    job: int | None = None
    reply: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)  # to be decoded in the next round
    dice: np.random.Generator | None = None
    used: int = 0


class Decoder:
    """Generates replies; keeps what the cache holds between calls. `forget` when the network changes (another adapter)."""

    def __init__(self, backend: Backend, *, sequences: int, sequence_tokens: int, max_reply_tokens: int) -> None:
        self.backend, self.sequence_tokens, self.max_reply_tokens = backend, sequence_tokens, max_reply_tokens
        self._slots = [_Sequence(number) for number in range(sequences)]
        self._trunk = _Sequence(sequences)
        self._clock = 0

    def forget(self) -> None:
        """Empty the cache; what follows depends on nothing before, not even on which sequence was used last."""
        for sequence in (*self._slots, self._trunk):
            self._cut(sequence, 0)
            sequence.used = 0
        self._clock = 0

    def generate(self, jobs: Sequence[Job]) -> list[Said]:
        """One reply per job, in the same order."""
        said: list[Said | None] = [None] * len(jobs)
        for number, job in enumerate(jobs):
            if len(job.prompt) + self.max_reply_tokens > self.sequence_tokens or not job.prompt:
                said[number] = Said((), "length")
        waiting = deque(sorted((n for n in range(len(jobs)) if said[n] is None), key=lambda n: jobs[n].prompt))
        try:
            self._grow_trunk([jobs[n].prompt for n in waiting])
            self._rejoin(waiting, jobs)
            while waiting or any(slot.job is not None for slot in self._slots):
                self._admit(waiting, jobs)
                self._round(jobs, said)
        except BaseException:
            for slot in self._slots:
                slot.job = None
            self.forget()
            raise
        return [reply for reply in said if reply is not None]

    # --- what is shared -----------------------------------------------------------------------------------------------

    def _grow_trunk(self, prompts: Sequence[tuple[int, ...]]) -> None:
        """Decode what all prompts have in common once, into a sequence of its own that outlives them."""
        if len(prompts) < 2:
            return
        common = min(shared(prompts[0], prompts[-1]), min(map(len, prompts)) - 1)  # they are sorted: first and last differ most
        wanted = list(prompts[0][:common])
        have = shared(self._trunk.tokens, wanted)
        best = max(self._slots, key=lambda s: shared(s.tokens, wanted))
        if common - have < WORTH_WAITING_TOKENS:
            return
        if shared(best.tokens, wanted) > have:
            self._take_over(best, self._trunk, shared(best.tokens, wanted))
        else:
            self._cut(self._trunk, have)
        start = len(self._trunk.tokens)
        if start < common:
            self.backend.decode([(wanted[i], i, self._trunk.number, False) for i in range(start, common)])
            self._trunk.tokens += wanted[start:]

    def _rejoin(self, waiting: deque[int], jobs: Sequence[Job]) -> None:
        """Conversations that go on get the sequence back that holds their beginning, before anybody else takes it."""
        trunk = len(self._trunk.tokens)
        for number in [n for n in waiting if trunk + 1 < len(jobs[n].prompt)]:
            prompt = jobs[number].prompt
            free = [slot for slot in self._slots if slot.job is None and len(slot.tokens) > trunk]
            if not free:
                return
            best = max(free, key=lambda s: shared(s.tokens, prompt))
            # Only where the sequence is used up whole: a mere common beginning is better copied and left to others.
            if shared(best.tokens, prompt) >= len(best.tokens) - 1:
                self._start(best, best, number, jobs[number])
                waiting.remove(number)

    def _admit(self, waiting: deque[int], jobs: Sequence[Job]) -> None:
        fresh: list[tuple[int, ...]] = []
        for number in list(waiting):
            free = [slot for slot in self._slots if slot.job is None]
            if not free:
                return
            prompt = jobs[number].prompt
            source = max((*self._slots, self._trunk), key=lambda s: (shared(s.tokens, prompt), s.job is None))
            have = shared(source.tokens, prompt)
            if any(shared(other, prompt) >= have + WORTH_WAITING_TOKENS for other in fresh):
                continue  # next round it can copy
            target = (
                source
                if source in free and source.tokens == list(prompt[: len(source.tokens)])
                else min(free, key=lambda s: (len(s.tokens) > 0, s.used))
            )
            self._start(target, source, number, jobs[number])
            waiting.remove(number)
            fresh.append(prompt)

    def _start(self, target: _Sequence, source: _Sequence, number: int, job: Job) -> None:
        have = min(shared(source.tokens, job.prompt), len(job.prompt) - 1)  # the last token is decoded again: its logits are needed
        self._take_over(source, target, have)
        target.job, target.pending, target.reply = number, list(job.prompt[have:]), []
        target.dice = np.random.default_rng(job.seed) if job.temperature > 0 else None
        self._clock += 1
        target.used = self._clock

    def _cut(self, sequence: _Sequence, tokens: int) -> None:
        self.backend.trim(sequence.number, tokens)
        del sequence.tokens[tokens:]

    def _take_over(self, source: _Sequence, target: _Sequence, tokens: int) -> None:
        if source is target:
            self._cut(target, tokens)
        elif tokens == 0:
            self._cut(target, 0)
        else:
            self.backend.copy(source.number, target.number, tokens)
            target.tokens = source.tokens[:tokens]

    # --- one round ----------------------------------------------------------------------------------------------------

    def _round(self, jobs: Sequence[Job], said: list[Said | None]) -> None:
        active = [slot for slot in self._slots if slot.job is not None]
        items: list[tuple[int, int, int, bool]] = []
        for slot in active:
            start = len(slot.tokens)
            items += [(token, start + i, slot.number, i == len(slot.pending) - 1) for i, token in enumerate(slot.pending)]
        for slot, logits in zip(active, self.backend.decode(items), strict=True):
            slot.tokens += slot.pending
            assert slot.job is not None
            token = choose(logits, jobs[slot.job].temperature, slot.dice)
            finish = self._judge(slot, token)
            slot.pending = [token]
            if finish is not None:
                said[slot.job] = Said(tuple(slot.reply), finish)
                slot.job, slot.pending, slot.reply = None, [], []

    def _judge(self, slot: _Sequence, token: int) -> Finish | None:
        if self.backend.is_end(token):
            return "stop"
        slot.reply.append(token)
        if repeats(slot.reply):
            return "repetition"
        return "length" if len(slot.reply) >= self.max_reply_tokens else None


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences have in common at their beginning."""
    low, high = 0, min(len(left), len(right))
    left, right = tuple(left[:high]), tuple(right[:high])
    while low < high:  # slices compare at the speed of C
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def choose(logits: Logits, temperature: float, dice: np.random.Generator | None) -> int:
    """The next token: the likeliest without dice, else one of the TOP_K likeliest, drawn by their softmax at this temperature."""
    if dice is None:
        return int(logits.argmax())
    # Sorted, so that the draw depends on the values only and not on how the partition left them.
    best = np.sort(np.argpartition(logits, -TOP_K)[-TOP_K:])
    scaled = logits[best].astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return int(best[np.searchsorted(np.cumsum(weights) / weights.sum(), dice.random(), side="right").clip(max=len(best) - 1)])


def repeats(tokens: Sequence[int]) -> bool:
    """Whether the end of a reply goes round in circles: a period of at most 8 tokens, three times and at least 16 tokens long."""
    for period in range(1, LONGEST_PERIOD + 1):
        length = max(PERIODS * period, SHORTEST_RUN)
        if len(tokens) >= length and all(tokens[-i] == tokens[-i - period] for i in range(1, length - period + 1)):
            return True
    return False


def surprise(logits: Sequence[Logits], tokens: Sequence[int]) -> list[float]:
    """-log p of each token (nats), given the logits before it."""
    return [float(np.logaddexp.reduce(row.astype(np.float64)) - row[token]) for row, token in zip(logits, tokens, strict=True)]
