"""Both ends of the socket: one line in, lines out; strangers are refused, nonsense is answered, slow readers are dropped."""

from __future__ import annotations

import os
import pwd
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeevo.control import (
    RULES,
    Failed,
    Finished,
    NightAsked,
    ProposeAsked,
    Proposed,
    RollbackAsked,
    Said,
    StatusAsked,
    Told,
    ask,
    call,
    failed,
    tag,
)
from edgeevo.daemon import door
from edgeevo.daemon.door import Access, Connection, Door
from edgeevo.domain import Message, Role
from edgeevo.errors import DaemonError, EdgeevoError, RefusedError

OTHER_GID = 4242


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Start a server whose connections are handled by a function of (connection, request or error); gives the socket's path."""
    servers = []

    def start(handle: Callable[..., None], **options: object) -> Path:
        server = Door(tmp_path / "s", Access(), **{"max_bytes": 1 << 20, **options})  # type: ignore[arg-type]
        servers.append(server)

        def run() -> None:
            server.link.setblocking(True)
            while True:
                try:
                    link, _ = server.link.accept()
                except OSError:
                    return
                connection = Connection(link, server._max_bytes)
                link.setblocking(True)
                try:
                    while (request := connection.read()) is None and not connection.gone:
                        pass
                    if request is not None:
                        server.check(connection.uid, connection.gids, type(request))
                        handle(connection, request)
                except EdgeevoError as error:
                    connection.send(failed(error))
                connection.close()

        threading.Thread(target=run, daemon=True).start()
        return tmp_path / "s"

    yield start
    for server in servers:
        server.close()


def test_an_answer_in_several_lines_arrives_in_order(serve: Callable[..., Path]) -> None:
    """Progress lines come first, the last one ends the conversation."""

    def handle(connection: Connection, request: object) -> None:
        connection.send(Told(text="one"), last=False)
        connection.send(Finished(ok=True, text="two"))

    assert list(call(serve(handle), NightAsked(for_seconds=1.0))) == [Told(text="one"), Finished(ok=True, text="two")]


def test_a_large_batch_goes_through_in_one_request(serve: Callable[..., Path]) -> None:
    """Hundreds of conversations are one line each way."""
    talks = tuple((Message(role=Role.USER, text=f"task {number} " + "x" * 500),) for number in range(500))

    def handle(connection: Connection, request: ProposeAsked) -> None:
        connection.send(
            Proposed(replies=tuple(Said(text=talk[0].text[:8], finish="stop") for talk in request.conversations), policy_id="p")
        )

    answer = ask(serve(handle), ProposeAsked(conversations=talks))
    assert isinstance(answer, Proposed) and len(answer.replies) == 500


def test_the_daemons_errors_arrive_as_what_they_are(serve: Callable[..., Path]) -> None:
    """Type, message and hint of an error survive the socket."""

    def handle(connection: Connection, request: object) -> None:
        raise RefusedError("no", hint="because")

    with pytest.raises(RefusedError, match="no") as caught:
        ask(serve(handle), RollbackAsked())
    assert caught.value.hint == "because"


@pytest.mark.parametrize("line", [b"hello\n", b"{}\n", b'{"type":"status","x":1}\n', b'{"type":"open the door"}\n', b"\xff\xfe\n"])
def test_nonsense_is_answered_not_obeyed(serve: Callable[..., Path], line: bytes) -> None:
    """What is no request gets an error line."""
    path = serve(lambda connection, _: connection.send(Finished(ok=True, text="done")))
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(path))
        link.sendall(line)
        assert b'"failed"' in link.recv(4096)


def test_an_endless_request_is_cut_off(serve: Callable[..., Path]) -> None:
    """More than the longest message is refused before it is complete."""
    path = serve(lambda *_: None, max_bytes=65_536)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(path))
        link.sendall(b"x" * 200_000)
        assert b"longer than" in link.recv(4096)


@pytest.mark.parametrize(
    ("uid", "gids", "rights"),
    [
        (0, (), {"read", "operate"}),
        (4242, (), {"read"}),
        (4243, (7,), {"read"}),
        (4243, (1, 8), {"read", "operate"}),
        (4243, (7, 8), {"read", "operate"}),
        (4243, (9,), set()),
        (4243, (), set()),
    ],
)
def test_users_may_do_what_the_table_says(tmp_path: Path, uid: int, gids: tuple[int, ...], rights: set[str]) -> None:
    """Of every request: root may all, the operate group too, the read group and single users may read, strangers nothing."""
    server = Door(tmp_path / "s", Access(uids=(4242,), read_gid=7, operate_gid=8), max_bytes=1 << 20)
    for kind, rule in RULES.items():
        if rule.right in rights:
            server.check(uid, frozenset(gids), kind)
        else:
            with pytest.raises(RefusedError, match=f"may not ask for {tag(kind)}") as caught:
                server.check(uid, frozenset(gids), kind)
            assert "control." in caught.value.hint
    server.close()


def test_nobody_gets_in_by_a_group_that_is_not_configured(tmp_path: Path) -> None:
    """Without groups and users only root and the daemon's own user have rights."""
    assert Access().rights(4243, frozenset({0, 7})) == frozenset()
    assert Access(operate_gid=8).rights(4243, frozenset({7})) == frozenset()


def test_the_kernel_says_who_calls(serve: Callable[..., Path]) -> None:
    """The uid of a connection is the peer's, whatever it says."""
    seen = []

    def handle(connection: Connection, request: object) -> None:
        seen.append((connection.uid, connection.pid))
        connection.send(Finished(ok=True, text=""))

    ask(serve(handle), StatusAsked())
    assert seen == [(os.getuid(), os.getpid())]


@pytest.mark.parametrize(
    ("access", "mode", "gid"),
    [
        (Access(), 0o600, None),
        (Access(uids=(4242,)), 0o666, None),
        (Access(read_gid=OTHER_GID), 0o660, OTHER_GID),
        (Access(operate_gid=OTHER_GID), 0o660, OTHER_GID),
        (Access(read_gid=OTHER_GID, operate_gid=OTHER_GID), 0o660, OTHER_GID),
        (Access(read_gid=OTHER_GID, operate_gid=7), 0o666, None),
        (Access(read_gid=OTHER_GID, uids=(4242,)), 0o666, None),
    ],
)
def test_the_socket_is_as_open_as_it_has_to_be(tmp_path: Path, access: Access, mode: int, gid: int | None) -> None:
    """Private while nobody is admitted, the group's where one group is, else open: permissions are the first gate, the table the second."""
    if gid is not None and not may_give_away():
        gid, mode = None, 0o666  # a daemon that is no member of the group
    server = Door(tmp_path / "s", access, max_bytes=1 << 20)
    status = (tmp_path / "s").stat()
    assert status.st_mode & 0o777 == mode and status.st_gid == (os.getegid() if gid is None else gid)
    server.close()
    assert not (tmp_path / "s").exists()


def may_give_away() -> bool:
    return os.geteuid() == 0


def test_a_daemon_outside_the_group_lets_the_table_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the socket can't be given to the group it is open, and the rights stay what they are."""

    def chown(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    server = Door(tmp_path / "s", Access(read_gid=OTHER_GID), max_bytes=1 << 20)
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o666
    with pytest.raises(RefusedError):
        server.check(4243, frozenset({7}), StatusAsked)
    server.close()


def peer(uid: int, gid: int, groups: list[int]) -> frozenset[int]:
    """The groups that we see of a caller with these."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        caller = socket.socket(socket.AF_UNIX)
        theirs.sendall(b"x")
        theirs.recv(1)
        caller.connect(f"\0edgeevo-test-{os.getppid()}")
        caller.recv(1)
        os._exit(0)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0edgeevo-test-{os.getpid()}")
        listening.listen()
        ours.recv(1)
        ours.sendall(b"x")
        link, _ = listening.accept()
        connection = Connection(link, 1 << 16)
        connection.close()
    os.waitpid(child, 0)
    ours.close()
    theirs.close()
    assert connection.uid == uid
    return connection.gids


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("groups", [[], [4100, 4200], list(range(5000, 5300))])
def test_the_kernel_says_which_groups_a_caller_is_in(groups: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The group and the other groups of the process; when there are more than fit, those that the host's database has for its user."""
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd(("somebody", "x", uid, 4003, "", "/", "")))
    monkeypatch.setattr(os, "getgrouplist", lambda _, gid: [gid, 4400])
    assert peer(4001, 4003, groups) == ({4003, *groups} if len(groups) < 256 else {4003, 4400})


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_user_whom_the_host_does_not_know_has_the_group_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No entry in the database is no error."""
    monkeypatch.setattr(door, "SO_PEERGROUPS", 9999)
    assert peer(4_000_001, 4003, [4100]) == {4003}


def test_no_daemon_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """A missing and a dead socket say the same."""
    (tmp_path / "dead").touch()
    for name in ("missing", "dead"):
        with pytest.raises(DaemonError, match="no daemon") as caught:
            ask(tmp_path / name, StatusAsked())
        assert "edgeevo daemon" in caught.value.hint


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    """The kernel's limit becomes a configuration hint."""
    with pytest.raises(DaemonError, match="longer than") as caught:
        Door(tmp_path / ("x" * 120) / "s", Access(), max_bytes=1)
    assert "runtime_dir" in caught.value.hint


def test_a_reader_that_does_not_read_is_dropped() -> None:
    """Answers to a caller that never reads are bounded; the daemon does not wait for it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    connection = Connection(ours, max_bytes=100_000)
    for _ in range(100):
        connection.send(Told(text="x" * 20_000), last=False)
    assert connection.gone
    theirs.close()
    connection.close()


def test_unknown_exit_codes_are_still_errors(serve: Callable[..., Path]) -> None:
    """A newer daemon's error is not lost."""
    path = serve(lambda connection, _: connection.send(Failed(message="odd", hint="", exit_code=99)))
    with pytest.raises(EdgeevoError, match="odd"):
        ask(path, StatusAsked())
