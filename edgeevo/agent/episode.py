"""Plays episodes: the agent says one shell command per turn, sees what came of it, and says `submit` when it is done.

    play(policy, attempts, sandbox)  →  one Episode per attempt, played in lockstep so that the model decodes them in one batch
    verify(task, sandbox, commands)  →  the Verdict on a fixed list of commands (oracle, alternative, mutants, nop)
    verify_each(task, sandbox, lists)  →  the same for several lists, a few of them side by side

The verdict is made after the agent's sandbox is closed. A sandbox that breaks makes the episode BROKEN, which counts for nobody.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from edgeevo.agent.judge import judge
from edgeevo.agent.policy import Policy, Turn
from edgeevo.domain import (
    Changes,
    CommandResult,
    Ending,
    Episode,
    Message,
    Role,
    State,
    Step,
    Task,
    Value,
    Verdict,
    derive_seed,
)
from edgeevo.errors import SandboxError
from edgeevo.sandbox import Box, Sandbox

T = TypeVar("T")
R = TypeVar("R")

SUBMIT = "submit"
MAX_OBSERVATION_CHARS = 200
BOXES_AT_ONCE = 2  # the smallest box has two cores, and most of a trial is waiting for the sandbox
_FENCED = re.compile(r"```(?:(?:bash|sh|shell)[ \t]*\n)?((?:(?!```).)+)```", re.DOTALL)


class Attempt(Value):
    """One episode to play: which task, with which dice and temperature (0 = greedy)."""

    task: Task
    seed: int = 0
    temperature: float = 0.0


def max_steps(task: Task) -> int:
    """Commands allowed: two per link and two more."""
    return 2 * len(task.program.links) + 2


def observe(result: CommandResult, max_chars: int = MAX_OBSERVATION_CHARS) -> str:
    """What the agent is shown of a command: exit code, head and tail of its output, printable characters only."""
    text = (result.stdout + result.stderr).decode("utf-8", "replace").strip()
    text = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
    if len(text) > max_chars:
        text = f"{text[: max_chars // 2]}\n…\n{text[-max_chars // 2 :]}"
    limit = f" ({result.limit_hit} limit)" if result.limit_hit else ""
    return f"exit {result.exit_code}{limit}\n{text}".rstrip()


def opening(task: Task) -> tuple[Message, ...]:
    """The conversation at the start of an episode: the instruction alone."""
    return (Message(role=Role.USER, text=task.instruction),)


def command_of(reply: str) -> str:
    """The command in a reply: the reply itself without surrounding blanks and without a lone pair of code fences."""
    text = reply.strip()
    fenced = _FENCED.fullmatch(text)
    return fenced.group(1).strip() if fenced else text


class _Running:
    """The state of one attempt while it is played."""

    def __init__(self, attempt: Attempt, sandbox: Sandbox) -> None:
        self.attempt = attempt
        self.box: Box | None = None
        self.conversation = opening(attempt.task)
        self.steps: list[Step] = []
        self.ending: Ending | None = None
        self.started = time.monotonic()
        try:
            self.box = sandbox.open(attempt.task.initial, attempt.task.limits)
        except SandboxError:
            self.ending = Ending.BROKEN

    def take(self, text: str, finish: str, tokens: int) -> None:
        """Act on one reply: submit, end, or run the command."""
        command = command_of(text)
        if finish == "repetition":
            self.ending = Ending.REPETITION
        elif finish == "length" or not command:
            self.ending = Ending.TOKENS
        elif command == SUBMIT:
            self.ending = Ending.SUBMITTED
        else:
            self._run(command, tokens)

    def _run(self, command: str, tokens: int) -> None:
        assert self.box is not None
        result = self.box.run(command)
        again = bool(self.steps) and self.steps[-1].result.command == command and self.steps[-1].result.stdout == result.stdout
        self.steps.append(Step(result=result, reply_tokens=tokens))
        self.conversation += (Message(role=Role.ASSISTANT, text=command), Message(role=Role.USER, text=observe(result)))
        if again:
            self.ending = Ending.REPETITION
        elif len(self.steps) >= max_steps(self.attempt.task):
            self.ending = Ending.STEPS

    def turn(self) -> Turn:
        """What to ask the policy next; every turn has dice of its own."""
        seed = derive_seed("turn", self.attempt.seed, len(self.steps))
        return Turn(conversation=self.conversation, seed=seed, temperature=self.attempt.temperature)


def play(policy: Policy, attempts: Sequence[Attempt], sandbox: Sandbox) -> list[Episode]:
    """Play all attempts at once, one turn of each per round; the episodes come back in the order of the attempts.

    The policy begins afresh, so that a night that was stopped between two calls plays the second one as if it had not been.
    """
    runs: list[_Running] = []
    policy.begin()
    try:
        for attempt in attempts:
            runs.append(_Running(attempt, sandbox))
        while active := [r for r in runs if r.ending is None]:
            for run, reply in zip(active, policy.propose([r.turn() for r in active]), strict=True):
                try:
                    run.take(reply.text, reply.finish, reply.reply_tokens)
                except SandboxError:
                    run.ending = Ending.BROKEN
        return [_conclude(run, policy.id, sandbox) for run in runs]
    finally:
        for run in runs:
            if run.box is not None:
                run.box.close()


def _conclude(run: _Running, policy_id: str, sandbox: Sandbox) -> Episode:
    task, verdict, ending = run.attempt.task, None, run.ending or Ending.BROKEN
    if ending is not Ending.BROKEN and run.box is not None:
        try:
            changes = run.box.changes()
            run.box.close()
            stdout = run.steps[-1].result.stdout if run.steps else b""
            verdict = judge(task, changes, stdout, lambda state, command: _fresh(sandbox, state, command))
        except SandboxError:
            ending = Ending.BROKEN
    return Episode(
        task_id=task.id,
        policy_id=policy_id,
        seed=run.attempt.seed,
        steps=tuple(run.steps),
        ending=ending,
        verdict=verdict,
        seconds=time.monotonic() - run.started,
    )


def _fresh(sandbox: Sandbox, state: State, command: str) -> CommandResult:
    box = sandbox.open(state)
    try:
        return box.run(command, read_only=True)
    finally:
        box.close()


class Trial(Value):
    """What a fixed list of commands did: the verdict, the results, and the end state."""

    verdict: Verdict
    results: tuple[CommandResult, ...]
    changes: Changes


def verify(task: Task, sandbox: Sandbox, commands: Sequence[str]) -> Trial:
    """Run `commands` as if an agent had said them and judge the end; raises SandboxError when the sandbox breaks."""
    box = sandbox.open(task.initial, task.limits)
    try:
        results = tuple(box.run(command) for command in commands)
        changes = box.changes()
    finally:
        box.close()
    stdout = results[-1].stdout if results else b""
    verdict = judge(task, changes, stdout, lambda state, command: _fresh(sandbox, state, command))
    return Trial(verdict=verdict, results=results, changes=changes)


def verify_each(task: Task, sandbox: Sandbox, tries: Sequence[Sequence[str]]) -> list[Trial]:
    """`verify` for each of `tries`, in their order; all of them run, whatever the first ones give."""
    return side_by_side(lambda commands: verify(task, sandbox, commands), tries)


def side_by_side(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`work` on every item, BOXES_AT_ONCE of them at a time, results in the order of the items; raises what the first failure raises."""
    with ThreadPoolExecutor(BOXES_AT_ONCE) as pool:
        return list(pool.map(work, items))
