from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.agent.decoding import Decoder, Job, choose, repeats, shared, surprise

VOCABULARY, END = 50, 0


class ToyBackend:
    """A cache and a tiny deterministic network: the next token is a hash of everything before it. Counts decoded tokens."""

    def __init__(self, room: int, sequences: int) -> None:
        self.room = room
        self.held: dict[int, list[int]] = {n: [] for n in range(sequences + 1)}
        self.decoded = 0
        self.batches: list[int] = []

    def decode(self, items):
        """Append, check, and answer from the whole sequence."""
        rows = []
        for token, position, sequence, wanted in items:
            held = self.held[sequence]
            assert position == len(held), "positions follow one another"
            held.append(token)
            assert len(held) <= self.room, "a sequence overflows"
            if wanted:
                rows.append(toy_logits(held))
        self.decoded += len(items)
        self.batches.append(len(items))
        return rows

    def copy(self, source, target, tokens):
        """Replace."""
        assert len(self.held[source]) >= tokens and source != target
        self.held[target] = self.held[source][:tokens]

    def trim(self, sequence, tokens):
        """Forget."""
        del self.held[sequence][tokens:]

    def is_end(self, token):
        """One entry ends a reply."""
        return token == END


def toy_logits(tokens):
    state = 7
    for token in tokens:
        state = (state * 31 + token + 1) % 1_000_003
    return np.random.default_rng(state).normal(size=VOCABULARY).astype(np.float32) * 3


def alone(job, limit):
    """What a reply must be: computed without any cache."""
    dice = np.random.default_rng(job.seed) if job.temperature > 0 else None
    reply = []
    while True:
        token = choose(toy_logits([*job.prompt, *reply]), job.temperature, dice)
        if token == END:
            return tuple(reply), "stop"
        reply.append(token)
        if repeats(reply):
            return tuple(reply), "repetition"
        if len(reply) >= limit:
            return tuple(reply), "length"


def decoder(room=100, sequences=4, limit=10):
    backend = ToyBackend(room, sequences)
    return backend, Decoder(backend, sequences=sequences, sequence_tokens=room, max_reply_tokens=limit)


PROMPTS = st.lists(st.integers(1, 3), min_size=1, max_size=60).map(tuple)
JOBS = st.lists(st.builds(Job, PROMPTS, st.integers(0, 5), st.sampled_from([0.0, 0.8])), max_size=9)


@settings(max_examples=150, deadline=None)
@given(st.lists(JOBS, min_size=1, max_size=4), st.integers(1, 6))
def test_sharing_never_changes_a_reply(calls, sequences):
    """Whatever is shared, kept or evicted, over several calls, every reply is what an empty cache gives, and no sequence overflows."""
    _, made = decoder(sequences=sequences)
    for jobs in calls:
        assert [(s.tokens, s.finish) for s in made.generate(jobs)] == [alone(job, 10) for job in jobs]


def test_a_group_computes_its_prompt_once():
    """Eight attempts on one prompt decode its tokens once, and the last one once per attempt."""
    backend, made = decoder(sequences=8)
    prompt = tuple(range(1, 41))
    said = made.generate([Job(prompt, seed, 0.8) for seed in range(8)])
    assert backend.decoded <= len(prompt) - 1 + 8 + sum(len(s.tokens) for s in said)


def test_common_beginning_outlives_a_call():
    """A system text that all prompts share isn't computed again by the next call."""
    backend, made = decoder()
    system = tuple(range(1, 31))
    made.generate([Job((*system, n)) for n in (31, 32, 33)])
    before = backend.decoded
    said = made.generate([Job((*system, n)) for n in (34, 35, 36)])
    assert backend.decoded - before <= 3 + sum(len(s.tokens) for s in said)


def test_a_conversation_that_goes_on_pays_for_what_is_new():
    """The second turn of a conversation decodes only what the first one didn't hold."""
    backend, made = decoder()
    prompt = tuple(range(1, 41))
    (first,) = made.generate([Job(prompt)])
    before = backend.decoded
    (second,) = made.generate([Job((*prompt, *first.tokens, 5, 6))])
    assert backend.decoded - before <= 4 + len(second.tokens)


def test_different_prompts_are_decoded_together():
    """Four different prompts need no more rounds than the longest of their replies."""
    backend, made = decoder()
    said = made.generate([Job((n, n + 1, n + 2)) for n in (1, 11, 21, 31)])
    assert len(backend.batches) <= max(len(s.tokens) for s in said) + 1


def test_forget_empties_the_cache():
    """After `forget` nothing is left in any sequence."""
    backend, made = decoder()
    made.generate([Job((1, 2, 3)), Job((1, 2, 4))])
    made.forget()
    assert not any(backend.held.values())


def test_after_forgetting_everything_is_as_new():
    """A decoder that forgot asks its network for exactly what a new one asks, sequence by sequence: real networks round by order."""

    def asked(decoder, backend):
        seen = []
        plain = backend.decode
        backend.decode = lambda items: (seen.append(list(items)), plain(items))[1]
        decoder.generate([Job((9, 8, 7, n), seed=n) for n in range(5)])
        backend.decode = plain
        return seen

    def new():
        backend = ToyBackend(60, 3)
        return Decoder(backend, sequences=3, sequence_tokens=60, max_reply_tokens=8), backend

    used, backend = new()
    for number in range(1, 5):
        used.generate([Job((3, number), seed=1)])
    used.forget()
    assert asked(used, backend) == asked(*new())


def test_a_prompt_that_does_not_fit_is_a_failed_attempt():
    """A prompt longer than the cache ends with "length"; the others are answered."""
    _, made = decoder(room=60)
    long, short = made.generate([Job(tuple(range(1, 50)) * 2), Job((1, 2))])
    assert (long.finish, long.tokens) == ("length", ()) and (short.tokens, short.finish) == alone(Job((1, 2)), 10)


def test_an_empty_prompt_is_a_failed_attempt():
    """Nothing to go on gives no reply."""
    _, made = decoder()
    assert made.generate([Job(())])[0].finish == "length"


def test_a_failing_backend_leaves_no_half_filled_cache():
    """When decoding raises, the cache is emptied and the next call is answered as if nothing had been."""
    backend, made = decoder()
    works = backend.decode
    backend.decode = lambda _items: 1 / 0
    with pytest.raises(ZeroDivisionError):
        made.generate([Job((1, 2, 3))])
    backend.decode = works
    assert made.generate([Job((1, 2, 3))])[0].tokens == alone(Job((1, 2, 3)), 10)[0]


@pytest.mark.parametrize("tail", [[5] * 16, [1, 2, 3] * 6, list(range(8)) * 3])
def test_circles_are_repetition(tail):
    """One token sixteen times, or a phrase of up to eight tokens three times, is repetition wherever it ends."""
    assert repeats([9, 9, 4, *tail])


@pytest.mark.parametrize("tail", [[5] * 12, list(range(8)) * 2, list(range(40)), []])
def test_short_runs_are_not_repetition(tail):
    """What an honest command may hold isn't taken for a circle."""
    assert not repeats(tail)


def test_dice_decide_by_seed():
    """The same seed draws the same tokens, other seeds draw others, cold dice are greedy."""
    logits = toy_logits([1])
    draws = [choose(logits, 1.0, np.random.default_rng(seed)) for seed in range(30)]
    assert draws == [choose(logits, 1.0, np.random.default_rng(seed)) for seed in range(30)]
    assert len(set(draws)) > 1 and choose(logits, 0.0, None) == int(logits.argmax())


def test_draws_follow_the_probabilities():
    """A token with three times the weight is drawn about three times as often."""
    logits = np.full(VOCABULARY, -50.0, dtype=np.float32)
    logits[3], logits[4] = np.log(3.0), 0.0
    dice = np.random.default_rng(1)
    drawn = [choose(logits, 1.0, dice) for _ in range(2000)]
    assert set(drawn) == {3, 4} and 0.7 < drawn.count(3) / 2000 < 0.8


def test_surprise_is_negative_log_probability():
    """Even odds over 50 entries surprise by log 50 nats."""
    assert surprise([np.zeros(VOCABULARY, dtype=np.float32)], [7]) == pytest.approx([np.log(VOCABULARY)])


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)))
def test_shared_is_the_common_beginning(left, right):
    """`shared` counts equal tokens up to the first that differs."""
    expected = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    assert shared(left, right) == expected
