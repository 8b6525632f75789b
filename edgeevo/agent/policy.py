"""What an agent's mind promises: it reads conversations and says what to do next. Also the scripted mind of the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from edgeevo.domain import Message, Role, Value, content_id


class Turn(Value):
    """One conversation that waits for a reply; `seed` fixes the dice, temperature 0 is greedy."""

    conversation: tuple[Message, ...]
    seed: int = 0
    temperature: float = 0.0


class Reply(Value):
    """What was said, why it stopped, and what it cost in tokens."""

    text: str
    finish: Literal["stop", "length", "repetition"] = "stop"
    prompt_tokens: int = 0
    reply_tokens: int = 0


class Policy(Protocol):
    """A mind: base + adapter + prompt + sampling, named by a content id."""

    @property
    def id(self) -> str:
        """Content id of everything that decides what it says."""
        ...

    def begin(self) -> None:
        """Start afresh: what is said from now on depends on the turns alone, to the last bit, not on what was cached before."""
        ...

    def propose(self, turns: Sequence[Turn]) -> list[Reply]:
        """One reply per turn, in the same order."""
        ...


class Scripted:
    """A mind that says a fixed list of replies for each instruction, then `submit`: the oracle and nop controls, and the fake of tests."""

    def __init__(self, lines: Mapping[str, Sequence[str]]) -> None:
        self._lines = {instruction: tuple(replies) for instruction, replies in lines.items()}

    @property
    def id(self) -> str:
        """Content id of the script."""
        return content_id(self._lines)

    def begin(self) -> None:
        """A script caches nothing."""

    def propose(self, turns: Sequence[Turn]) -> list[Reply]:
        """The next line of each script, by how often the mind has spoken already."""
        return [self._say(turn) for turn in turns]

    def _say(self, turn: Turn) -> Reply:
        spoken = sum(message.role is Role.ASSISTANT for message in turn.conversation)
        script = self._lines.get(turn.conversation[0].text, ())
        text = script[spoken] if spoken < len(script) else "submit"
        return Reply(text=text, reply_tokens=len(text.split()))
