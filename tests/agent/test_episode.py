from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeevo.agent.episode import MAX_OBSERVATION_CHARS, Attempt, command_of, max_steps, observe, opening, play, verify
from edgeevo.agent.policy import Reply, Scripted, Turn
from edgeevo.domain import (
    CommandResult,
    Content,
    Ending,
    File,
    LimitHit,
    Limits,
    Printed,
    Program,
    ProgramLink,
    Role,
    State,
    Task,
)
from edgeevo.errors import SandboxError
from edgeevo.sandbox import ScriptedBox, ScriptedSandbox


def task(words: str = "say yes", links: int = 1, lines: tuple[str, ...] = ("yes",)) -> Task:
    return Task(
        instruction=words,
        initial=State(nodes={"/srv/x": File(data=b"yes\n")}, cwd="/srv"),
        contract=(Printed(lines=lines),),
        oracle=("cat x",),
        alternative=("cat < x",),
        program=Program(scenario="logs", links=(ProgramLink(skill="sort"),) * links),
        seed=0,
        wording="w",
    )


def echo(command: str) -> CommandResult:
    """A shell that prints every command."""
    return CommandResult(command=command, exit_code=0, stdout=command.encode() + b"\n")


def says(*lines: str) -> Scripted:
    return Scripted({"say yes": lines})


class Talker:
    """A mind that answers each turn with `reply(turn)` and remembers what it was asked."""

    id = "talker"

    def __init__(self, reply: Callable[[Turn], Reply]) -> None:
        self.reply, self.asked, self.begun = reply, [], 0

    def begin(self):
        self.begun += 1

    def propose(self, turns):
        self.asked.append(list(turns))
        return [self.reply(turn) for turn in turns]


class Breaking(ScriptedSandbox):
    """A scripted sandbox that can't open its n-th box."""

    def __init__(self, broken: int) -> None:
        super().__init__(echo)
        self.broken = broken

    def open(self, state: State, limits: Limits = Limits()) -> ScriptedBox:  # noqa: B008 - Limits is frozen
        if len(self.boxes) == self.broken:
            self.broken = -1
            raise SandboxError("no box", hint="none")
        return super().open(state, limits)


def test_the_last_command_before_submission_is_judged() -> None:
    """What an earlier command printed doesn't count."""
    assert play(says("no", "yes"), [Attempt(task=task())], ScriptedSandbox(echo))[0].passed
    assert not play(says("yes", "no"), [Attempt(task=task())], ScriptedSandbox(echo))[0].passed


def test_submission_is_no_command() -> None:
    """`submit` ends the attempt and never reaches the shell."""
    sandbox = ScriptedSandbox(echo)
    episode = play(says("yes"), [Attempt(task=task())], sandbox)[0]
    assert episode.ending is Ending.SUBMITTED and sandbox.boxes[0].commands == ["yes"]


def test_submitting_at_once_fails() -> None:
    """Doing nothing is judged, and an empty answer is not the right one."""
    episode = play(says(), [Attempt(task=task())], ScriptedSandbox(echo))[0]
    assert episode.verdict is not None and not episode.passed


@pytest.mark.parametrize("links", [1, 2, 3])
def test_steps_are_bounded_by_the_length_of_the_program(links: int) -> None:
    """An attempt that never submits ends after two commands per link and two more."""
    wordy = Talker(lambda turn: Reply(text=f"echo {len(turn.conversation)}"))
    episode = play(wordy, [Attempt(task=task(links=links))], ScriptedSandbox(echo))[0]
    assert episode.ending is Ending.STEPS and len(episode.steps) == max_steps(task(links=links)) == 2 * links + 2


def test_the_same_command_with_the_same_result_ends_the_attempt() -> None:
    """Going round in circles is repetition."""
    episode = play(says("a", "a", "a"), [Attempt(task=task())], ScriptedSandbox(echo))[0]
    assert episode.ending is Ending.REPETITION and len(episode.steps) == 2


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        (Reply(text="yes", finish="repetition"), Ending.REPETITION),
        (Reply(text="yes", finish="length"), Ending.TOKENS),
        (Reply(text=" \n"), Ending.TOKENS),
    ],
)
def test_a_reply_that_is_cut_or_empty_is_never_run(reply: Reply, ending: Ending) -> None:
    """Half a command may be dangerous; none is pointless."""
    sandbox = ScriptedSandbox(echo)
    assert play(Talker(lambda _turn: reply), [Attempt(task=task())], sandbox)[0].ending is ending
    assert sandbox.boxes[0].commands == []


def test_attempts_are_asked_together() -> None:
    """All attempts that still run are one batch of turns, each with dice of its own, and finished ones are asked no more."""
    mind = Talker(lambda turn: Reply(text="submit" if turn.conversation[0].text == "stop" or len(turn.conversation) > 1 else "yes"))
    attempts = [Attempt(task=task(words), seed=seed) for seed, words in enumerate(("stop", "go", "go"))]
    play(mind, attempts, ScriptedSandbox(echo))
    assert [len(turns) for turns in mind.asked] == [3, 2] and mind.begun == 1
    assert len({turn.seed for turns in mind.asked for turn in turns}) == 5


def test_episodes_come_back_in_the_order_of_the_attempts() -> None:
    """An attempt that ends late keeps its place."""
    mind = Scripted({"slow": ("a", "b", "yes"), "fast": ("yes",)})
    episodes = play(mind, [Attempt(task=task("slow", links=2)), Attempt(task=task("fast"))], ScriptedSandbox(echo))
    assert [len(episode.steps) for episode in episodes] == [3, 1] and all(episode.passed for episode in episodes)


def test_a_box_that_can_not_be_had_breaks_one_episode_only() -> None:
    """BROKEN counts for nobody: it has no verdict, and the other attempts go on."""
    episodes = play(says("yes"), [Attempt(task=task())] * 3, Breaking(1))
    assert [episode.ending for episode in episodes] == [Ending.SUBMITTED, Ending.BROKEN, Ending.SUBMITTED]
    assert episodes[1].verdict is None and not episodes[1].passed


def test_a_box_that_breaks_on_the_way_breaks_one_episode_only() -> None:
    """A sandbox error in the middle of an attempt is no failure of the agent."""

    def fragile(command: str) -> CommandResult:
        if command == "break":
            raise SandboxError("broke", hint="none")
        return echo(command)

    mind = Scripted({"say yes": ("yes",), "broken": ("break",)})
    episodes = play(mind, [Attempt(task=task("broken")), Attempt(task=task())], ScriptedSandbox(fragile))
    assert [episode.ending for episode in episodes] == [Ending.BROKEN, Ending.SUBMITTED] and episodes[1].passed


def test_every_box_is_closed_even_when_the_mind_fails() -> None:
    """An exception of the policy leaves no box behind."""

    def fail(_turn: Turn) -> Reply:
        raise RuntimeError

    sandbox = ScriptedSandbox(echo)
    with pytest.raises(RuntimeError):
        play(Talker(fail), [Attempt(task=task())] * 2, sandbox)
    assert len(sandbox.boxes) == 2 and all(box.closed for box in sandbox.boxes)


def test_the_conversation_holds_commands_and_what_came_of_them() -> None:
    """The agent sees the instruction, then its own command and the shell's answer, in turns."""
    mind = Talker(lambda turn: Reply(text="submit" if len(turn.conversation) > 1 else "yes"))
    play(mind, [Attempt(task=task())], ScriptedSandbox(echo))
    last = mind.asked[-1][0].conversation
    assert [message.role for message in last] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert last[0] == opening(task())[0] and last[2].text == "exit 0\nyes"


@given(st.binary(max_size=2000), st.integers(0, 255), st.none() | st.sampled_from(LimitHit))
def test_observations_are_short_and_printable(output: bytes, code: int, limit: LimitHit | None) -> None:
    """Whatever a command prints, the agent is shown a bounded text without control characters that begins with the exit code."""
    shown = observe(CommandResult(command="c", exit_code=code, stdout=output, limit_hit=limit))
    assert shown.startswith(f"exit {code}") and len(shown) <= MAX_OBSERVATION_CHARS + 40
    assert all(c.isprintable() or c in "\n\t" for c in shown)


def test_long_output_keeps_head_and_tail() -> None:
    """The middle is what is left out."""
    shown = observe(CommandResult(command="c", exit_code=0, stdout=b"HEAD" + b"x" * 5000 + b"TAIL"))
    assert "HEAD" in shown and shown.endswith("TAIL") and "…" in shown


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("  ls -l \n", "ls -l"),
        ("```\nls\n```", "ls"),
        ("```bash\nls\nwc\n```", "ls\nwc"),
        ("```sh\nls```", "ls"),
        ("```shuf -n1 x```", "shuf -n1 x"),
        ("```sha1sum x```", "sha1sum x"),
        ("```a``` and ```b```", "```a``` and ```b```"),
        ("``````", "``````"),
    ],
)
def test_a_lone_pair_of_fences_is_taken_off(reply: str, command: str) -> None:
    """Fences and the name of a shell on the fence's own line go; a command that begins with the letters of one stays whole."""
    assert command_of(reply) == command


@given(st.text(st.characters(exclude_characters="`"), min_size=1))
def test_a_bare_command_is_taken_as_it_is(text: str) -> None:
    """Without fences only the surrounding blanks go."""
    assert command_of(text) == text.strip()


@pytest.mark.sandbox
def test_oracle_passes_and_nop_fails_in_the_real_sandbox(sandbox) -> None:
    """The scripted oracle and the silent mind are the two controls of every set."""
    episodes = play(says("cat x"), [Attempt(task=task())], sandbox) + play(says(), [Attempt(task=task())], sandbox)
    assert [episode.passed for episode in episodes] == [True, False]


@pytest.mark.sandbox
def test_the_verdict_is_made_of_the_agents_files(sandbox) -> None:
    """What the commands of an attempt leave in its box is what the contract is checked against."""
    made = Task(
        instruction="say yes",
        initial=task().initial,
        contract=(Content(path="/srv/y", lines=("yes",)),),
        oracle=("cp x y",),
        alternative=("cat x > y",),
        program=task().program,
        seed=0,
        wording="w",
    )
    assert play(says("cp x y"), [Attempt(task=made)], sandbox)[0].passed
    trial = verify(made, sandbox, ("cat x > y",))
    assert trial.verdict.passed and set(trial.changes.nodes) == {"/srv/y"}
    assert not verify(made, sandbox, ()).verdict.passed
