"""The parts of the sandbox that need no box."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import msgspec
import pytest

from edgeevo.domain import Changes, CommandResult, File, LimitHit, Limits, State, encode
from edgeevo.errors import SandboxError
from edgeevo.sandbox import Box, Sandbox, ScriptedSandbox, probe, template
from edgeevo.sandbox import messages as m
from edgeevo.sandbox.carrying import MAX_CARRIED_BYTES, parse
from edgeevo.sandbox.command import RunningCommand
from edgeevo.sandbox.confine import View, bwrap_argv, environment
from edgeevo.sandbox.seccomp import build_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, EAFNOSUPPORT = 0x50001, 0x50026, 0x50061


def judge(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run a filter as the kernel would."""
    data = struct.pack(
        "<iIQ6Q",
        number - (1 << 32) if number >> 31 else number,
        arch,
        0,
        *(argument & (1 << 64) - 1 for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]),
    )
    at = accumulator = 0
    while True:
        code, yes, no, value = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += yes if holds else no


X86, ARM = 0xC000003E, 0xC00000B7


@pytest.mark.parametrize(
    ("machine", "arch", "number", "arguments", "verdict"),
    [
        ("x86_64", X86, 0, (), ALLOW),  # read
        ("x86_64", X86, 59, (), ALLOW),  # execve
        ("x86_64", X86, 101, (), EPERM),  # ptrace
        ("x86_64", 0x40000003, 20, (), KILL),  # i386
        ("x86_64", X86, 0x40000027, (), KILL),  # x32
        ("x86_64", X86, 435, (), ENOSYS),  # clone3
        ("x86_64", X86, 56, (0x01200011,), ALLOW),  # fork
        ("x86_64", X86, 56, (0x10000011,), EPERM),  # a user namespace
        ("x86_64", X86, 41, (1, 1), ALLOW),  # AF_UNIX
        ("x86_64", X86, 41, (40, 1), EAFNOSUPPORT),  # AF_VSOCK
        ("x86_64", X86, 16, (0, 0x5401), ALLOW),  # TCGETS
        ("x86_64", X86, 16, (0, 0x5412), EPERM),  # TIOCSTI
        ("x86_64", X86, 16, (0, 0x5412 | 1 << 40), EPERM),  # the same to the kernel
        ("x86_64", X86, 135, (0xFFFFFFFF,), ALLOW),  # asking for the personality
        ("x86_64", X86, 135, (0x0040000,), EPERM),
        ("x86_64", X86, 457, (), ENOSYS),  # newer than the tables
        ("aarch64", ARM, 63, (), ALLOW),  # read
        ("aarch64", ARM, 117, (), EPERM),  # ptrace
        ("aarch64", ARM, 220, (0x10000011,), EPERM),
        ("aarch64", ARM, 198, (40, 1), EAFNOSUPPORT),
        ("aarch64", 0x40000028, 63, (), KILL),  # 32-bit ARM
    ],
)
def test_the_filter_judges_each_call(machine, arch, number, arguments, verdict):
    """Every kind of rule gives the verdict that its table promises, on each machine type."""
    assert judge(build_filter(machine), arch, number, *arguments) == verdict


def test_the_filter_ends_on_every_path():
    """No number and no argument runs off the end of the program."""
    program = build_filter("x86_64")
    assert all(judge(program, X86, number, argument) for number in range(600) for argument in (0, 1, 16, 0x5412, 0x10000000))


def test_an_unknown_machine_is_refused():
    """Without a table there is no filter, and without a filter no sandbox."""
    with pytest.raises(SandboxError) as caught:
        build_filter("vax")
    assert caught.value.hint


def test_every_command_line_is_fully_confined():
    """All namespaces, no capability, no environment, filter, and the command as one last argument."""
    argv = bwrap_argv(View(root="/r", shared_memory="/s", cwd="/w"), b"echo; rm")
    namespaces = {f"--unshare-{kind}" for kind in ("user", "pid", "net", "ipc", "uts")}
    assert namespaces | {"--disable-userns", "--die-with-parent", "--new-session", "--clearenv", "--seccomp"} <= set(argv)
    assert argv[argv.index("--cap-drop") + 1] == "ALL" and argv[-1] == b"echo; rm" and "EDGEEVO" not in " ".join(environment("/h"))


def test_ages_do_not_drift_with_a_kept_template(tmp_path, monkeypatch):
    """A template kept for long is touched up before it is used again; while boxes are open on it, a new one is asked for."""
    now = 1_000_000_000.0
    monkeypatch.setattr(template, "CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(template, "SKELETON", str(tmp_path / "skeleton"))
    monkeypatch.setattr(template.time, "time", lambda: now)
    templates = template.Templates()
    made = templates.make("id", State(nodes={"/srv/a": File(data=b"", age_seconds=600)}, cwd="/srv"))
    file = Path(f"{made.path}/root/srv/a")
    assert now - file.stat().st_mtime == 600
    now += template.FRESH_SECONDS + 1
    assert templates.get("id") is made and now - file.stat().st_mtime == 600
    made.users = 1
    now += template.FRESH_SECONDS + 1
    assert templates.get("id") is None and file.exists()
    templates.release(made)
    assert not file.exists()


def test_killing_what_has_just_ended_is_no_error():
    """A limit that is hit in the moment in which the box ends by itself doesn't take the runner along."""
    child = subprocess.Popen(["/bin/true"])
    ended = os.pidfd_open(child.pid)
    child.wait()
    command = RunningCommand.__new__(RunningCommand)
    command.hit, command._killed, command._exit_status, command._child_gone, command._block = None, False, 0, ended, -1
    command.kill(LimitHit.PROCESSES)
    os.close(ended)
    assert command.hit is LimitHit.PROCESSES


def test_a_plain_state_is_the_value_that_it_was():
    """Surroundings that are not asked for change no content id, so tasks of before keep theirs."""
    assert msgspec.json.decode(encode(State(nodes={}, cwd="/"))) == {"nodes": {}, "cwd": "/"}


@pytest.mark.parametrize("data", [b"", b"/", b"/\0", b"relative\0A=1\0", b"/\0A=1", b"/\0" + b"A=" + b"x" * MAX_CARRIED_BYTES + b"\0"])
def test_cut_or_strange_text_is_not_carried(data):
    """Only a whole record within bounds counts."""
    assert parse(data) is None


def test_frames_survive_any_cut():
    """Messages come out whole however the bytes arrive."""
    messages = [m.Call(number=n, body=m.Run(box=n, command="x" * n, wall_seconds=1.0, read_only=False)) for n in range(20)]
    data, frames, got = b"".join(map(m.frame, messages)), m.Frames(), []
    for at in range(0, len(data), 7):
        got += [m.call_decoder.decode(body) for body in frames.feed(data[at : at + 7])]
    assert got == messages


def test_the_scripted_sandbox_answers_from_its_function():
    """Commands are remembered and answered, changes are those that were given, closed boxes refuse."""
    sandbox: Sandbox = ScriptedSandbox(
        lambda command: CommandResult(command=command, exit_code=len(command)), Changes(nodes={"/a": File(data=b"")})
    )
    box: Box = sandbox.open(State(nodes={}, cwd="/"), Limits())
    assert box.run("abc").exit_code == 3 and box.changes().nodes and sandbox.boxes[0].commands == ["abc"]
    sandbox.close()
    with pytest.raises(SandboxError):
        box.run("abc")


@pytest.mark.sandbox
def test_the_shipped_self_check_holds_here():
    """Everything that `edgeevo doctor` asks of the sandbox is true on this machine."""
    assert [result for result in probe() if not result.ok] == []
