from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.agent.prompt import BASE_PROMPT, END, START, TRAINED_PROMPT, Prompt
from edgeevo.domain import Message, Role

ASK = Message(role=Role.USER, text="Count the lines of a.txt")
DO = Message(role=Role.ASSISTANT, text="wc -l a.txt")


def test_text_is_chatml():
    """The segments put together are the chat template, character by character."""
    text = "".join(s.text for s in Prompt(name="p", system="Be brief.").segments([ASK, DO], awaiting_reply=False))
    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nCount the lines of a.txt<|im_end|>\n"
        "<|im_start|>assistant\nwc -l a.txt<|im_end|>\n"
    )


def test_no_system_text_leaves_the_part_out():
    """A prompt without system text begins with the first message."""
    assert TRAINED_PROMPT.segments([ASK], awaiting_reply=True)[0].text == f"{START}user\n"


def test_reply_and_its_end_are_the_action():
    """What is learnt is the reply and the marker that ends it, nothing else."""
    segments = TRAINED_PROMPT.segments([ASK, DO, ASK], awaiting_reply=False)
    assert [s.text for s in segments if s.action] == [DO.text, END]


def test_examples_are_never_actions():
    """Replies in the prompt's own examples are context."""
    assert not any(s.action for s in BASE_PROMPT.segments([ASK], awaiting_reply=True))


def test_serving_is_a_beginning_of_training():
    """The segments that wait for a reply are the first ones of the conversation with that reply."""
    asked = TRAINED_PROMPT.segments([ASK], awaiting_reply=True)
    assert TRAINED_PROMPT.segments([ASK, DO], awaiting_reply=False)[: len(asked)] == asked


@given(st.text())
def test_message_text_is_never_special(text):
    """Whatever a message says stands in segments that aren't parsed for markers."""
    conversation = [Message(role=Role.USER, text=text), Message(role=Role.ASSISTANT, text=text)]
    special = "".join(s.text for s in TRAINED_PROMPT.segments(conversation, awaiting_reply=False) if s.special)
    assert special == f"{START}user\n{END}\n{START}assistant\n{END}\n"


@pytest.mark.parametrize("other", [Prompt(name="p", system="x"), Prompt(name="p", examples=(ASK, DO))])
def test_id_depends_on_what_surrounds(other):
    """System text and examples change the id, the name doesn't."""
    assert other.id != Prompt(name="p").id == Prompt(name="q").id
