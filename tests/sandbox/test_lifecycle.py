"""What remains when a process ends that shouldn't, and who may use the sandbox."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks._service_user import ServiceUser
from edgeevo.domain import File, LimitHit, State
from edgeevo.errors import SandboxError
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse.trial import inside
from edgeevo.sandbox.confine import PRECEDENCE
from edgeevo.sandbox.leftovers import end_below_us, kill_below, own_namespace, processes_below
from edgeevo.sandbox.watch import children
from tests.sandbox.conftest import STATE, TIGHT, descendants, needs_root, settled

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
CAP_SYS_NICE = 23


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_the_death_of_the_runner_ends_every_box():
    """SIGKILL of the runner kills all commands at once, and their callers get an error."""
    with open_sandbox() as sandbox:
        box = sandbox.open(STATE)
        failures = []

        def work():
            try:
                box.run("sleep 60")
            except SandboxError as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        assert settled(lambda: len(descendants(sandbox.runner_pid)) >= 3)
        inside = descendants(sandbox.runner_pid)
        os.kill(sandbox.runner_pid, signal.SIGKILL)
        thread.join(10)
        assert failures and failures[0].hint
        assert settled(lambda: all(gone(pid) for pid in inside))


def test_a_new_runner_replaces_a_dead_one():
    """After the runner has died the next box is opened by a new one."""
    with open_sandbox() as sandbox:
        os.kill(sandbox.runner_pid, signal.SIGKILL)
        settled(lambda: gone(sandbox.runner_pid))
        with sandbox.open(STATE) as box:
            assert box.run("echo again").stdout == b"again\n"


def caller(thread: bool) -> str:
    """The beginning of a program that opens a sandbox, from its main thread or from one that has ended since."""
    return f"""
import sys, threading
from edgeevo.domain import State
from edgeevo.sandbox import open_sandbox
made = []
def make(): made.append(open_sandbox())
if {thread}:
    t = threading.Thread(target=make); t.start(); t.join()
else: make()
sandbox = made[0]
"""


@pytest.mark.parametrize("thread", [False, True])
def test_the_death_of_the_caller_ends_the_runner(thread):
    """SIGKILL of the process that uses the sandbox leaves neither runner nor command, from whichever thread it was opened."""
    code = """
box = sandbox.open(State(nodes={}, cwd="/"))
box.run("true")
print("ready", flush=True)
box.run("sleep 60", wall_seconds=60)
"""
    child = subprocess.Popen([sys.executable, "-c", caller(thread) + code], stdout=subprocess.PIPE, cwd=ROOT)
    assert child.stdout.readline() == b"ready\n"
    assert settled(lambda: len(descendants(child.pid)) >= 4)
    below = descendants(child.pid)
    child.kill()
    child.wait()
    child.stdout.close()
    assert settled(lambda: all(gone(pid) for pid in below))


def test_closing_the_sandbox_leaves_no_process():
    """After close nothing that it started is there."""
    sandbox = open_sandbox()
    box = sandbox.open(STATE)
    box.run("true")
    pid = sandbox.runner_pid
    sandbox.close()
    assert gone(pid)
    with pytest.raises(SandboxError):
        sandbox.open(STATE)
    box.close()


def test_the_runner_sees_nothing_of_the_host(sandbox):
    """The runner's own root holds only what boxes need; it inherited neither environment nor descriptors."""
    root = Path(f"/proc/{sandbox.runner_pid}/root")
    assert sorted(os.listdir(root)) == sorted(
        {"boxes", "cache", "dev", "etc", "filter.bpf", "proc", "skeleton", "tmp", "usr"}
        | {name for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32") if os.path.lexists(f"/{name}")}
    )
    assert set(Path(f"/proc/{sandbox.runner_pid}/environ").read_bytes().split(b"\0")) <= {b"PATH=/usr/bin:/bin", b"LC_ALL=C.UTF-8", b""}
    opened = {os.readlink(f"/proc/{sandbox.runner_pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{sandbox.runner_pid}/fd")}
    assert opened <= {"/dev/null", "socket", "anon_inode", "pipe"} | {path for path in opened if "(deleted)" in path}


@needs_root
def test_root_becomes_an_unused_user(sandbox):
    """A runner of root has no process or file owned by root in its hands."""
    status = Path(f"/proc/{sandbox.runner_pid}/status").read_text()
    assert ("Uid:\t0" not in status and "Groups:\t \n" in status) or "Groups:\t\n" in status


@needs_root
def test_a_directory_of_root_is_served_as_root(sandbox, tmp_path):
    """Where the directory belongs to root its boxes do, too; the number of processes is bounded all the same."""
    with sandbox.open_directory(tmp_path, TIGHT) as box:
        assert box.run("f() { f | f & }; f; sleep 60").limit_hit is LimitHit.PROCESSES
        assert box.run("echo ok; echo 1 > /proc/sys/kernel/core_pattern").stdout == b"ok\n"


@needs_root
def test_where_no_limit_counts_processes_the_watch_goes_first(sandbox, tmp_path):
    """A runner that serves root takes precedence over ordinary processes, so no fork bomb starves it; commands are ordinary and stay so."""
    may = int(re.search(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text()).group(1), 16) >> CAP_SYS_NICE & 1
    with sandbox.open_directory(tmp_path, TIGHT) as box:
        niceness = {os.getpriority(os.PRIO_PROCESS, pid) for pid in children(os.getpid())}
        assert (PRECEDENCE in niceness) == bool(may)
        assert box.run("nice; nice -n -1 nice").stdout == b"0\n0\n"


@needs_root
def test_an_unprivileged_user_has_the_same_sandbox():
    """Without any privilege the shipped self-check holds, in states and in a directory of one's own."""
    with ServiceUser() as user:
        mine = user.place / "mine"
        mine.mkdir()
        (mine / "f").write_text("x\n")
        user.own(mine, mine / "f")
        code = f"""
from pathlib import Path
from edgeevo.sandbox import open_sandbox, probe
print([r for r in probe() if not r.ok])
with open_sandbox() as s, s.open_directory(Path({str(mine)!r})) as box:
    print(box.run("cat f; echo y > f; cat f; rm f; ls -A").stdout, box.changes().nodes)
"""
        assert user.run(code).decode() == f"[]\nb'x\\ny\\n' {{'{mine}/f': None}}\n"
        assert (mine / "f").read_text() == "x\n"


def test_without_bubblewrap_there_is_no_sandbox(monkeypatch):
    """Commands are never run bare: without bubblewrap the sandbox refuses, and says what to install."""
    monkeypatch.setattr("edgeevo.sandbox.client.BWRAP", "/nonexistent/bwrap")
    with pytest.raises(SandboxError) as caught:
        open_sandbox()
    assert "bubblewrap" in caught.value.hint


def test_without_user_namespaces_the_hint_names_the_switch():
    """Where namespaces are forbidden the error says which settings allow them."""
    code = """
import ctypes, os, subprocess, sys
from edgeevo.errors import SandboxError
from edgeevo.sandbox import kernel, open_sandbox
kernel.unshare(kernel.CLONE_NEWUSER)
open('/proc/sys/user/max_user_namespaces', 'w').write('0')
try: open_sandbox()
except SandboxError as error: print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "user.max_user_namespaces" in done.stdout, done.stderr


def test_a_runner_that_is_interrupted_mid_answer_stays_usable(sandbox):
    """A caller that gives up waiting (Ctrl-C) leaves a sandbox that others can go on using."""
    box = sandbox.open(STATE)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        box.run("sleep 1; echo late")
    box.close()
    with sandbox.open(STATE) as other:
        assert other.run("echo next").stdout == b"next\n"


def test_commands_that_start_over_side_by_side_all_come_back():
    """A command whose directory can't be entered is started again; with several at once, no descriptor is taken for its predecessor."""
    shut = State(nodes={"/srv/shut/note": File(data=b"x\n")}, cwd="/srv/shut")
    answers = []

    def work():
        for _ in range(15):
            box = sandbox.open(shut)
            box.run("chmod 000 /srv/shut")
            answers.append(box.run("pwd").stdout)
            box.close()

    with open_sandbox() as sandbox:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            assert settled(lambda: len(answers) == 60, seconds=60)
        finally:
            os.kill(sandbox.runner_pid, signal.SIGKILL)  # or a thread that waits for ever would keep the test from ending
    assert set(answers) == {b"/\n"}


def test_a_box_that_is_closed_while_its_command_starts_leaves_no_process(sandbox):
    """At whatever moment of its start bubblewrap is killed, the process that it has just made goes with it."""
    with sandbox.open(STATE) as box:
        for number in range(40):
            shell = box.shell()
            time.sleep(number / 10_000)  # up to 4 ms: a start takes about as long
            shell.close()
    assert settled(lambda: not inside(sandbox.runner_pid))


def test_a_command_with_no_time_at_all_leaves_no_process(sandbox):
    """A wall clock that runs out during the start is a result like any other."""
    with sandbox.open(STATE) as box:
        hits = {box.run("sleep 60", wall_seconds=number / 5000).limit_hit for number in range(1, 30)}
    assert hits == {LimitHit.WALL} and settled(lambda: not inside(sandbox.runner_pid))


def ends_with_an_error(box):
    with pytest.raises(SandboxError):
        box.run("sleep 60")


def test_a_runner_that_dies_while_commands_start_leaves_no_process():
    """What bubblewrap had just made when everything above it was killed is swept away by the caller."""
    for number in range(12):
        sandbox = open_sandbox()
        namespace = own_namespace(sandbox.runner_pid)
        boxes = [sandbox.open(STATE) for _ in range(4)]
        threads = [threading.Thread(target=ends_with_an_error, args=(box,)) for box in boxes]
        for thread in threads:
            thread.start()
        time.sleep(number / 2000)
        os.kill(sandbox.runner_pid, signal.SIGKILL)
        for thread in threads:
            thread.join(20)
        sandbox.close()
        assert settled(lambda: not processes_below(namespace))  # noqa: B023 - called at once
        os.close(namespace)


@pytest.mark.parametrize("thread", [False, True])
def test_a_caller_that_dies_while_commands_start_leaves_no_process(thread):
    """Nobody is left to sweep: the runner itself ends what bubblewrap had just made, before it ends."""
    code = """
boxes = [sandbox.open(State(nodes={}, cwd="/")) for _ in range(4)]
print(sandbox.runner_pid, flush=True)
sys.stdin.read(1)
for box in boxes: threading.Thread(target=box.run, args=("sleep 60",)).start()
"""
    for number in range(12):
        child = subprocess.Popen([sys.executable, "-c", caller(thread) + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        namespace = own_namespace(int(child.stdout.readline()))
        child.stdin.write(b"x")
        child.stdin.flush()
        time.sleep(number / 1500)
        child.kill()
        child.communicate()
        assert settled(lambda: not processes_below(namespace))  # noqa: B023 - called at once
        os.close(namespace)


def test_no_namespace_that_we_live_in_is_ever_swept(monkeypatch):
    """A process that shares our namespace gives none, and ours, given by mistake, is left alone."""
    killed = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))  # if it were wrong, this machine would be gone
    assert own_namespace(os.getpid()) == -1
    with Path("/proc/self/ns/user").open() as ours:
        kill_below(ours.fileno())
    end_below_us()
    assert killed == []
