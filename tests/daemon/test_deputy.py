"""No message makes the daemon touch a path on a caller's behalf: it has the state directory's powers, and lends them to nobody."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from edgeevo import control
from edgeevo.control import AuditAsked, FeedbackGiven, NightAsked, ProposeAsked, Recorded, Request, RunEnded, StatusAsked, StopAsked, ask
from edgeevo.domain import Message, Role
from edgeevo.errors import EdgeevoError, RefusedError
from edgeevo.sandbox import kernel
from tests.daemon.conftest import Box

EVERYTHING = 0xFFF  # accesses, changes, opens, moves and removals
KINDS = Request.__args__  # type: ignore[attr-defined]


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    made = Box(tmp_path_factory.mktemp("daemon"))
    made.start()
    yield made
    made.kill()


class Bait:
    """A directory with files of the kinds that the daemon knows; `touched` says whether anybody so much as opened one."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.files = [place / name for name in ("edgeevo.db", "adapter.gguf", "card.toml", "x.txt")]
        for file in self.files:
            file.write_bytes(b"bait")
        self._fd = kernel.inotify()
        for path in (place, *self.files):
            kernel.inotify_watch(self._fd, str(path), EVERYTHING)
        self.paths = [str(place), *map(str, self.files), *(os.path.relpath(file, "/") for file in self.files)]

    def touched(self) -> bool:
        try:
            return bool(os.read(self._fd, struct.calcsize("iIII") * 64))
        except BlockingIOError:
            return False


def messages(path: str) -> list[Request]:
    """Every request that carries text, with this path wherever it can be put."""
    up = "../" * 12 + path.lstrip("/")
    talk = ((Message(role=Role.USER, text=f"cat {path}"),),)
    return [
        *(ProposeAsked(conversations=talk, adapter=name) for name in (None, path, up, f"{path}\0")),
        RunEnded(
            instruction=path, directory=path, check_command=f"cat {path}", policy_id=path, steps=1, ending=path, verified=True, seconds=1.0
        ),
        FeedbackGiven(run=None, good=True, note=path),
        AuditAsked(adapter=path),
        AuditAsked(adapter=up),
    ]


def test_no_message_makes_the_daemon_touch_a_callers_path(box: Box, tmp_path: Path) -> None:
    """Every text of every request set to a path, absolute and relative: no file of the bait is opened, read, made or changed."""
    bait = Bait(tmp_path / "bait")
    for path in bait.paths:
        for request in messages(path):
            with contextlib.suppress(EdgeevoError):  # a refusal is as good as an answer
                box.ask(request)
    assert box.status().pid == box.process.pid  # type: ignore[union-attr]
    assert not bait.touched()
    assert [file.read_bytes() for file in bait.files] == [b"bait"] * 4
    assert bait.touched()  # the watch does see a reader


def test_every_request_with_text_is_among_the_messages() -> None:
    """A request that is added later and can carry a path has to be tried as well."""
    tried = {type(message) for message in messages("/x")} | {NightAsked}  # a night carries numbers only
    with_text = {kind for kind in KINDS if any("str" in str(field.type) for field in msgspec.structs.fields(kind)) or kind is ProposeAsked}
    assert with_text <= tried
    assert all(kind.__module__ == control.__name__ for kind in KINDS)


def test_no_request_carries_a_descriptor(box: Box, tmp_path: Path) -> None:
    """A descriptor sent along with a request is neither taken nor used."""
    import socket

    secret = tmp_path / "secret"
    secret.write_text("canary")
    with socket.socket(socket.AF_UNIX) as link, secret.open() as file:
        link.connect(str(box.loaded.socket))
        socket.send_fds(link, [b'{"type":"status"}\n'], [file.fileno()])
        assert b'"pid"' in link.recv(65_536)
        process = box.process
        assert process is not None
        held = [os.readlink(f"/proc/{process.pid}/fd/{name}") for name in os.listdir(f"/proc/{process.pid}/fd")]
    assert str(secret) not in held


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
@pytest.mark.parametrize(
    ("groups", "read", "operate"), [([], False, False), ([4100], True, False), ([4200], True, True), ([4300, 4100, 4200], True, True)]
)
def test_groups_have_the_rights_of_the_table(
    tmp_path_factory: pytest.TempPathFactory, groups: list[int], read: bool, operate: bool
) -> None:
    """A real daemon, asked by a user who is in these groups: status for readers, rollback and nights for operators only."""
    state = tmp_path_factory.mktemp("shared")
    for path in (state, state.parent, state.parent.parent):
        path.chmod(path.stat().st_mode | 0o011)
    shared = Box(state)
    shared.start("control.read_group=4100", "control.operate_group=4200")
    try:
        child = os.fork()
        if not child:
            status = 1
            try:
                os.setgroups(groups)
                os.setresgid(4001, 4001, 4001)
                os.setresuid(4001, 4001, 4001)
                path = state / "edgeevo.sock"
                for request, may in ((StatusAsked(), read), (messages("/x")[4], read), (StopAsked(), operate)):
                    if may:
                        ask(path, request)
                    else:
                        with pytest.raises(RefusedError, match="user 4001 may not ask for") as caught:
                            ask(path, request)
                        assert "control." in caught.value.hint
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        shared.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_feedback_has_the_user_that_the_kernel_names(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another user may speak about their own runs only, and is recorded as who they are."""
    state = tmp_path_factory.mktemp("shared")
    for path in (state, state.parent, state.parent.parent):
        path.chmod(path.stat().st_mode | 0o011)
    shared = Box(state)
    shared.start("control.allow_uids=[4001]")
    try:
        run = messages("/x")[4]
        assert shared.ask(run) == Recorded(run=1)
        child = os.fork()
        if not child:
            status = 1
            try:
                os.setgroups([])
                os.setresuid(4001, 4001, 4001)
                path = state / "edgeevo.sock"
                for number in (None, 1):
                    with pytest.raises(RefusedError, match="of yours"):
                        ask(path, FeedbackGiven(run=number, good=True))
                assert ask(path, run) == Recorded(run=2)
                assert ask(path, FeedbackGiven(run=None, good=False, note="no")) == Recorded(run=2)
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert shared.rows("select run, uid, good, note from feedback") == [(2, 4001, 0, "no")]
    finally:
        shared.kill()
