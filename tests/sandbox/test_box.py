"""What a box does for those who are not hostile."""

from __future__ import annotations

import threading
import time

import pytest

from edgeevo.domain import Changes, Directory, File, LimitHit, Limits, Link, State
from edgeevo.errors import SandboxError, TaskError
from tests.sandbox.conftest import STATE, TIGHT, both_tiers, descendants, only_the_spare_is_mounted, settled

pytestmark = [pytest.mark.sandbox, both_tiers]


def test_a_command_has_its_directory_home_user_and_plain_surroundings(box):
    """Working directory, home, user, locale and time zone are those of the state, on every machine the same."""
    result = box.run("pwd; echo $HOME; whoami; id -u; hostname; date +%Z; echo é | wc -m; test -w . -a -w ~ -a -w /tmp && echo writable")
    assert result.stdout.decode().split() == ["/srv/app", "/home/user", "user", "1000", "box", "UTC", "2", "writable"]


def test_output_and_errors_are_kept_apart(box):
    """Each stream arrives on its own, with the exit code of the shell."""
    result = box.run("echo out; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code, result.limit_hit) == (b"out\n", b"err\n", 7, None)


@pytest.mark.parametrize(("command", "code"), [("kill -TERM $$", 143), ("nosuchtool", 127), ("/srv/app/names", 126), ("false", 1)])
def test_exit_codes_are_the_shells(box, command, code):
    """Signals and failures come through as a shell reports them."""
    assert box.run(command).exit_code == code


def test_both_streams_share_one_cap(sandbox):
    """Exactly `output_bytes` are kept of both streams together."""
    with sandbox.open(STATE, Limits(output_bytes=1000)) as box:
        result = box.run("head -c 600 /dev/zero; head -c 600 /dev/zero >&2; sleep 5")
    assert len(result.stdout) + len(result.stderr) == 1000 and result.truncated and result.limit_hit is LimitHit.OUTPUT


def test_commands_of_one_box_share_its_files_and_nothing_else(box):
    """Files persist from command to command; the working directory and variables start anew."""
    box.run("cd /tmp; export A=1; echo x > /srv/app/kept")
    assert box.run("cat kept; echo $A; pwd").stdout == b"x\n\n/srv/app\n"


def test_initial_files_have_content_mode_and_age(box):
    """The state is there as it was described."""
    result = box.run("cat names; stat -c '%a %U' conf/app.toml; readlink current; find . -mmin +59 -mmin -61 -type f")
    assert result.stdout == b"cyan\namber\nblue\n640 user\nconf/app.toml\n./names\n"


def test_changes_name_what_is_new_altered_and_removed(box):
    """New nodes with their content, removed ones as None; what is merely touched or rewritten equally is no change."""
    box.run(
        "rm current; echo new > n; mkdir d; ln -s x l; touch names; cp conf/app.toml t; cat t > conf/app.toml; rm t; "
        "chmod 600 conf/app.toml"
    )
    assert box.changes() == Changes(
        nodes={
            "/srv/app/current": None,
            "/srv/app/n": File(data=b"new\n"),
            "/srv/app/d": Directory(),
            "/srv/app/l": Link(target="x"),
            "/srv/app/conf/app.toml": File(data=b"port = 80\n", mode=0o600),
        }
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -r conf", {"/srv/app/conf": None, "/srv/app/conf/app.toml": None}),
        ("rm -r conf; mkdir conf", {"/srv/app/conf/app.toml": None}),
        ("rm -r conf; mkdir conf; echo x > conf/y", {"/srv/app/conf/app.toml": None, "/srv/app/conf/y": File(data=b"x\n")}),
        ("rm -r conf; echo x > conf", {"/srv/app/conf": File(data=b"x\n"), "/srv/app/conf/app.toml": None}),
        ("mv conf/app.toml a", {"/srv/app/conf/app.toml": None, "/srv/app/a": File(data=b"port = 80\n", mode=0o640)}),
        ("rm conf/app.toml; mv conf etc", {"/srv/app/conf": None, "/srv/app/conf/app.toml": None, "/srv/app/etc": Directory()}),
        ("rm names; mkdir names", {"/srv/app/names": Directory()}),
        ("ln -sfn conf/app.toml current", {}),
        ("ln -sfn names current", {"/srv/app/current": Link(target="names")}),
        ("cp names x; rm x", {}),
        ("mv names x; mv x names", {}),
        ("chmod 700 conf", {"/srv/app/conf": Directory(mode=0o700)}),
        ("echo x > /tmp/scratch", {"/tmp/scratch": File(data=b"x\n")}),
        ("ln names hard", {"/srv/app/hard": File(data=b"cyan\namber\nblue\n")}),
    ],
)  # fmt: skip
def test_changes_of_replaced_trees(box, command, expected):
    """Whatever layers the kernel makes of it, the changes say what a before-and-after comparison would."""
    assert box.run(command).exit_code == 0
    assert box.changes().nodes == expected


def test_an_absent_tool_is_not_found(sandbox):
    """A tool that the state lacks is missing under every path; others work."""
    with sandbox.open(State(nodes={}, cwd="/tmp", absent_tools=("awk", "python3"))) as box:
        assert box.run("awk 1").exit_code == 127
        assert box.run("python3 -c 1; ls /usr/bin/python3 /bin/awk").exit_code != 0
        assert box.run("echo a b | cut -d' ' -f2 | sed s/b/c/").stdout == b"c\n"


def test_a_state_may_bring_files_below_usr(sandbox):
    """Scripts in /usr/local/bin are found on the PATH, beside the system's own tools."""
    script = File(data=b"#!/bin/sh\necho gateway\n", mode=0o755)
    with sandbox.open(State(nodes={"/usr/local/bin/gwctl": script}, cwd="/")) as box:
        assert box.run("gwctl; ls /usr/bin/env").stdout == b"gateway\n/usr/bin/env\n"


def test_a_state_may_bring_files_below_etc_and_tmp(sandbox):
    """/etc and /tmp can be filled, and /tmp stays open to all."""
    state = State(nodes={"/etc/gw.conf": File(data=b"a=1\n"), "/tmp/x": File(data=b"x")}, cwd="/", home="/home/ops")
    with sandbox.open(state) as box:
        assert box.run("cat /etc/gw.conf; stat -c %a /tmp; echo ~user").stdout == b"a=1\n1777\n/home/ops\n"


def test_a_read_only_command_changes_nothing(box):
    """With `read_only` nothing but a private /tmp can be written."""
    result = box.run("echo x > names; rm conf/app.toml; echo y > /tmp/y && cat /tmp/y; touch /etc/x /dev/shm/x", read_only=True)
    assert result.stdout == b"y\n" and result.exit_code != 0
    assert [path for path in box.changes().nodes if path != "/dev/shm/x"] == []


def test_wall_seconds_of_a_command_override_the_limit(box):
    """A single command may be given less time."""
    result = box.run("echo begun; sleep 60", wall_seconds=1.0)
    assert result.limit_hit is LimitHit.WALL and result.stdout == b"begun\n" and result.seconds < 20


@pytest.mark.parametrize(
    "state",
    [
        State(nodes={"relative": File(data=b"")}, cwd="/"),
        State(nodes={"/a/../b": File(data=b"")}, cwd="/"),
        State(nodes={"/proc/x": File(data=b"")}, cwd="/"),
        State(nodes={"/bin/x": File(data=b"")}, cwd="/"),
        State(nodes={"/a": File(data=b""), "/a/b": File(data=b"")}, cwd="/"),
        State(nodes={"/a": Link(target="/usr"), "/a/b": File(data=b"")}, cwd="/"),
        State(nodes={"/a": Link(target="/usr")}, cwd="/a/b"),
        State(nodes={}, cwd="here"),
        State(nodes={"/a\0b": File(data=b"")}, cwd="/"),
        State(nodes={}, cwd="/", absent_tools=("../awk",)),
        State(nodes={f"/srv/{n}": File(data=bytes(16 << 20)) for n in range(5)}, cwd="/"),
    ],
)
def test_a_malformed_state_is_refused(sandbox, state):
    """States that can't be materialised safely are the task's fault, with a hint."""
    with pytest.raises(TaskError) as caught:
        sandbox.open(state)
    assert caught.value.hint


def test_a_state_beyond_the_quota_of_its_own_episode_still_opens(sandbox):
    """The quota counts what the episode writes, not what it starts with."""
    state = State(nodes={"/srv/big": File(data=b"x" * (2 << 20))}, cwd="/srv")
    with sandbox.open(state, Limits(disk_bytes=1 << 20)) as box:
        assert box.run("wc -c < big; echo small > s; cat s").stdout == b"2097152\nsmall\n"


def test_many_boxes_are_open_at_once_and_apart(sandbox):
    """Boxes on one state don't see each other's files."""
    boxes = [sandbox.open(STATE, TIGHT) for _ in range(8)]
    for number, box in enumerate(boxes):
        box.run(f"echo {number} > mine")
    assert [box.run("cat mine").stdout for box in boxes] == [f"{number}\n".encode() for number in range(8)]
    for box in boxes:
        box.close()


def test_a_prepared_box_is_as_fresh_as_any(sandbox):
    """The box that is kept ready for the next attempt has the right limits and nothing of the attempt before."""
    for size in (1 << 20, 1 << 20, 3 << 20, 3 << 20):
        with sandbox.open(STATE, Limits(disk_bytes=size)) as box:
            assert box.run("ls; df -B1 --output=avail /tmp | tail -1; echo x > left; rm names").stdout.decode().split() == [
                "conf",
                "current",
                "names",
                str(size),
            ]


def test_commands_of_several_threads_overlap(sandbox):
    """Four boxes sleeping two seconds each take far less than eight together."""
    boxes = [sandbox.open(STATE) for _ in range(4)]
    codes = []
    threads = [threading.Thread(target=lambda box=box: codes.append(box.run("sleep 2; exit 5").exit_code)) for box in boxes]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [5] * 4 and time.monotonic() - started < 6
    for box in boxes:
        box.close()


def test_closing_a_box_kills_its_command(sandbox):
    """A box that is closed from another thread ends its command, which reports an error."""
    box = sandbox.open(STATE)
    caught = []

    def work():
        try:
            box.run("sleep 60")
        except SandboxError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert settled(lambda: len(descendants(sandbox.runner_pid)) >= 2)
    box.close()
    thread.join(10)
    assert caught and not thread.is_alive()
    assert settled(lambda: not descendants(sandbox.runner_pid) and only_the_spare_is_mounted(sandbox.runner_pid))


def test_a_closed_box_is_refused(sandbox):
    """Using a box after close is an error; closing it again is not."""
    box = sandbox.open(STATE)
    box.close()
    box.close()
    with pytest.raises(SandboxError):
        box.run("true")


def test_templates_are_dropped_when_there_are_many(sandbox):
    """More states than the cache holds can be opened one after the other, and the first one again."""
    states = [State(nodes={"/srv/n": File(data=str(number).encode())}, cwd="/srv") for number in range(70)]
    for state in (*states, states[0]):
        with sandbox.open(state):
            continue
    with sandbox.open(states[0]) as box:
        assert box.run("cat n").stdout == b"0"
