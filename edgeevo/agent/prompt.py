r"""Conversations -> the exact pieces of text that are tokenised, at serving and for training alike. Pure.

    <|im_start|>system\n{system}<|im_end|>\n          left out when the prompt has no system text
    <|im_start|>user\n{text}<|im_end|>\n
    <|im_start|>assistant\n{reply}<|im_end|>\n        the reply and its end marker are what is learnt

Every piece is tokenised on its own and only our own markers are read as special tokens, so no message can end its turn or start another,
and training sees the ids that serving sees because they come from the same pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from edgeevo.domain import Message, Role, Value, content_id

START, END = "<|im_start|>", "<|im_end|>"


class Segment(NamedTuple):
    """A piece of text; `special` when it is one of our markers, `action` when the agent said it (and training learns it)."""

    text: str
    special: bool = False
    action: bool = False


class Prompt(Value):
    """What surrounds every conversation: a system text ("" = none) and example messages before it."""

    name: str
    system: str = ""
    examples: tuple[Message, ...] = ()
    template: Literal["chatml"] = "chatml"

    @property
    def id(self) -> str:
        """Content hash of everything but the name."""
        return content_id([self.system, self.examples, self.template])

    def segments(self, conversation: Sequence[Message], *, awaiting_reply: bool) -> list[Segment]:
        """The pieces of system text, examples and conversation, in order; `awaiting_reply` opens the agent's next turn at the end.

        Examples are context, never actions: only the conversation's own replies are marked.
        """
        pieces: list[Segment] = []
        if self.system:
            pieces += [Segment(f"{START}system\n", special=True), Segment(self.system), Segment(f"{END}\n", special=True)]
        for place, message in enumerate((*self.examples, *conversation)):
            own = message.role is Role.ASSISTANT and place >= len(self.examples)
            pieces.append(Segment(f"{START}{message.role.value}\n", special=True))
            pieces.append(Segment(message.text, action=own))
            pieces.append(Segment(END, special=True, action=own))
            pieces.append(Segment("\n", special=True))
        if awaiting_reply:
            pieces.append(Segment(f"{START}assistant\n", special=True))
        return [piece for piece in pieces if piece.text]


def _example(instruction: str, command: str, observation: str) -> tuple[Message, ...]:
    return (
        Message(role=Role.USER, text=instruction),
        Message(role=Role.ASSISTANT, text=command),
        Message(role=Role.USER, text=observation),
        Message(role=Role.ASSISTANT, text="submit"),
    )


TRAINED_PROMPT = Prompt(name="trained")  # an adapter has learnt the protocol; a system text would only cost tokens
BASE_PROMPT = Prompt(
    name="base",
    system="You are a shell agent. Answer each message with one bash command and nothing else. When the task is done, answer: submit",
    examples=(
        *_example("Print the number of lines in notes.txt.", "wc -l < notes.txt", "exit 0\n12"),
        *_example("Create the directory /srv/data/old.", "mkdir -p /srv/data/old", "exit 0"),
        *_example(
            "List the files under /etc/app that contain the word timeout.", "grep -rl timeout /etc/app", "exit 0\n/etc/app/main.conf"
        ),
    ),
)
