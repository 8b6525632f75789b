from __future__ import annotations

import platform

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.agent.episode import verify
from edgeevo.agent.judge import end_nodes, judge, same_lines
from edgeevo.domain import (
    Absent,
    Changes,
    Clause,
    CommandResult,
    Content,
    Directory,
    File,
    Link,
    Order,
    Present,
    Printed,
    Program,
    ProgramLink,
    Rerun,
    State,
    Task,
    Untouched,
)
from edgeevo.sandbox.abuse.fooling import PRELOAD

START = State(
    nodes={
        "/srv/a": Directory(),
        "/srv/a/x": File(data=b"one\ntwo\n"),
        "/srv/a/d": Directory(mode=0o750),
        "/srv/a/d/y": File(data=b"y\n", mode=0o600),
        "/srv/a/l": Link(target="x"),
    },
    cwd="/srv/a",
)
WORDS = st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=4), max_size=6)


def task(*contract: Clause, initial: State = START) -> Task:
    return Task(
        instruction="do it",
        initial=initial,
        contract=contract,
        oracle=("true",),
        alternative=("true",),
        program=Program(scenario="logs", links=(ProgramLink(skill="sort"),)),
        seed=0,
        wording="w",
    )


def unused(_state: State, command: str) -> CommandResult:
    raise AssertionError(command)


def reasons(clause: Clause, changes: dict | None = None, stdout: bytes = b"", rerun=unused) -> tuple[str, ...]:
    return judge(task(clause), Changes(nodes=changes or {}), stdout, rerun).reasons


@given(WORDS, st.randoms())
def test_sets_of_lines_are_compared_without_order(lines: list[str], dice) -> None:
    """Any permutation of the expected lines is right where order is free."""
    shuffled = list(lines)
    dice.shuffle(shuffled)
    assert same_lines(shuffled, lines, Order.SET, "/")


@given(WORDS, WORDS)
def test_lines_in_order_are_compared_exactly(found: list[str], expected: list[str]) -> None:
    """Where order counts, only the same words in the same order are right."""
    assert same_lines(found, expected, Order.LINES, "/") == (found == expected)


@given(WORDS, st.sampled_from(Order))
def test_one_line_less_is_never_right(lines: list[str], order: Order) -> None:
    """Dropping any line that is not empty is noticed, whatever the order."""
    assert all(not same_lines(lines[:i] + lines[i + 1 :], lines, order, "/") for i in range(len(lines)))


@given(WORDS)
def test_blanks_around_lines_are_free(lines: list[str]) -> None:
    """Blanks around a line and empty lines at the end change nothing."""
    assert same_lines([f"  {line}\t" for line in lines] + ["", ""], lines, Order.LINES, "/")


@pytest.mark.parametrize("spelled", ["x", "./x", "/srv/a/x", "d/../x"])
def test_paths_are_compared_as_the_shell_would_resolve_them(spelled: str) -> None:
    """Every spelling of a path that leads to it from the working directory is right."""
    assert reasons(Printed(lines=("/srv/a/x",), order=Order.PATHS), stdout=f"{spelled}\n".encode()) == ()


def test_paths_of_two_places_differ() -> None:
    """The same name in another directory is another path."""
    assert reasons(Printed(lines=("/srv/a/x",), order=Order.PATHS), stdout=b"d/x\n")


def test_output_that_is_no_text_is_no_answer() -> None:
    """Bytes that are not UTF-8 fail a printed clause instead of raising."""
    assert reasons(Printed(lines=("one",)), stdout=b"\xff\xfe")


def test_content_reads_the_end_state() -> None:
    """A content clause is about the changed file, not about the initial one."""
    assert reasons(Content(path="/srv/a/x", lines=("new",)), {"/srv/a/x": File(data=b"new")}) == ()
    assert reasons(Content(path="/srv/a/x", lines=("one", "two")), {"/srv/a/x": File(data=b"new\n")})


def test_content_is_never_read_through_a_link() -> None:
    """A link to a file with the right content is not the file."""
    assert reasons(Content(path="/srv/a/l", lines=("one", "two")))


def test_mode_counts_only_where_it_is_stated() -> None:
    """Present compares the mode exactly when the clause names one."""
    node = File(data=b"one\ntwo\n", mode=0o755)
    assert reasons(Present(path="/srv/a/x", node=node)) == ()
    assert reasons(Present(path="/srv/a/x", node=node, mode=0o755))


def test_relative_and_absolute_targets_of_a_link_are_the_same_link() -> None:
    """A link is right when it leads to the same path, however that is written."""
    assert reasons(Present(path="/srv/a/l", node=Link(target="/srv/a/x"))) == ()
    assert reasons(Present(path="/srv/a/l", node=Link(target="/srv/a/d")))


def test_removing_a_directory_removes_what_is_below() -> None:
    """A removed directory takes its whole subtree out of the end state."""
    assert set(end_nodes(START.nodes, Changes(nodes={"/srv/a/d": None}))) == {"/srv/a", "/srv/a/x", "/srv/a/l"}


def test_absent_means_nothing_of_any_kind_is_there() -> None:
    """A dangling link in the place of a removed file still exists."""
    assert reasons(Absent(path="/srv/a/x"), {"/srv/a/x": None}) == ()
    assert reasons(Absent(path="/srv/a/x"), {"/srv/a/x": Link(target="nowhere")})


@pytest.mark.parametrize(
    "change",
    [
        {"/srv/a/x": File(data=b"one\n")},
        {"/srv/a/x": File(data=b"one\ntwo\n", mode=0o600)},
        {"/srv/a/x": None},
        {"/srv/a/x": Link(target="d/y")},
        {"/srv/a/l": Link(target="d/y")},
        {"/srv/a/d": Directory(mode=0o777)},
        {"/srv/a/d": None, "/srv/a/d/y": None},
    ],
    ids=["bytes", "mode", "gone", "kind", "target", "directory mode", "tree"],
)
def test_untouched_bites(change: dict) -> None:
    """Bytes, mode, kind, target and existence of every initial node are guarded."""
    assert reasons(Untouched(), change)
    assert reasons(Untouched(except_paths=tuple(change)), change) == ()


def test_new_files_leave_the_rest_untouched() -> None:
    """Scratch files are free."""
    assert reasons(Untouched(), {"/srv/a/scratch": File(data=b"x"), "/tmp/y": File(data=b"")}) == ()


def test_a_part_of_an_end_state_is_no_end_state() -> None:
    """Changes that hit a bound fail even a contract that would hold."""
    assert not judge(task(), Changes(nodes={}, complete=False), b"", unused).passed


def answer(stdout: bytes, exit_code: int = 0):
    return lambda _state, command: CommandResult(command=command, exit_code=exit_code, stdout=stdout)


def test_a_rerun_must_print_and_succeed() -> None:
    """The artefact is read by us: both the lines and the exit code count."""
    clause = Rerun(path="/srv/a/x", command="cat x", lines=("one",))
    assert reasons(clause, rerun=answer(b"one\n")) == ()
    assert reasons(clause, rerun=answer(b"two\n"))
    assert reasons(clause, rerun=answer(b"one\n", exit_code=1))


def test_nothing_is_rerun_on_what_is_no_file() -> None:
    """A missing artefact or a link in its place fails without a command being run."""
    assert reasons(Rerun(path="/srv/a/l", command="cat l", lines=("one",)))
    assert reasons(Rerun(path="/srv/a/no", command="cat no", lines=("one",)))


@given(
    st.binary(max_size=40),
    st.dictionaries(st.sampled_from([*START.nodes, "/srv/a/new"]), st.none() | st.builds(File, data=st.binary(max_size=9))),
)
@settings(max_examples=60)
def test_every_end_gets_a_verdict(stdout: bytes, changed: dict) -> None:
    """Whatever an agent prints and leaves behind, judging it raises nothing, and reasons are given exactly for a failure."""
    contract = (Printed(lines=("a",)), Content(path="/srv/a/x", lines=("a",), order=Order.SET), Absent(path="/srv/a/d/y"), Untouched())
    verdict = judge(task(*contract), Changes(nodes=changed), stdout, unused)
    assert verdict.passed == (not verdict.reasons)


@pytest.mark.sandbox
@pytest.mark.parametrize("left", ["mkfifo f", "mkdir -p /etc/z /run/z; : > /tmp/z", "rm -rf /home; ln -s /srv /home", "touch $'\\xff\\n'"])
def test_no_litter_of_the_agent_breaks_a_rerun(sandbox, left: str) -> None:
    """Fifos, odd names, links and system places left behind neither break the second sandbox nor spoil a right answer."""
    clause = Rerun(path="/srv/a/x", command="cat /srv/a/x", lines=("one", "two"))
    verdict = verify(task(clause), sandbox, (left,)).verdict
    assert verdict.passed, verdict.reasons


@pytest.mark.sandbox
def test_a_rerun_of_the_agents_script_changes_nothing(sandbox) -> None:
    """The end state is read-only while the artefact is run."""
    clause = Rerun(path="/srv/a/run.sh", command="sh run.sh; cat x", lines=("one", "two"))
    assert verify(task(clause), sandbox, ("echo ': > x' > run.sh",)).verdict.passed


@pytest.mark.sandbox
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the library is made for it")
@pytest.mark.parametrize(
    "trick",
    [
        f"{PRELOAD}; echo /srv/app/yes.so > /etc/ld.so.preload",
        "rm /etc/alternatives/awk; printf '#!/bin/sh\n' > /srv/a/yes; chmod 755 /srv/a/yes; ln -s /srv/a/yes /etc/alternatives/awk",
        "cp -r /etc e; printf '#!/bin/sh\\n' > e/y; chmod 755 e/y; ln -sf ../y e/alternatives/awk; rm -rf /etc; ln -s /srv/a/e /etc",
    ],
)
def test_a_rerun_is_not_answered_by_what_the_agent_put_into_the_system(sandbox, trick: str) -> None:
    """A preloaded library, an alternative or another /etc does not end our command with success in its place."""
    clause = Rerun(path="/srv/a/x", command="awk 'END { exit 1 }' x", lines=())
    assert not verify(task(clause), sandbox, (f"mkdir -p /srv/app; {trick}",)).verdict.passed
