"""edgeevo.control: one line in, lines out; strangers are refused, nonsense is answered, slow readers are dropped."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeevo.control import (
    Connection,
    Failed,
    Finished,
    NightAsked,
    ProposeAsked,
    Proposed,
    RollbackAsked,
    Said,
    Server,
    StatusAsked,
    Told,
    ask,
    call,
    failed,
)
from edgeevo.domain import Message, Role
from edgeevo.errors import DaemonError, EdgeevoError, RefusedError


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Start a server whose connections are handled by a function of (connection, request or error); gives the socket's path."""
    servers = []

    def start(handle: Callable[..., None], **options: object) -> Path:
        server = Server(tmp_path / "s", **{"allow_uids": (), "max_bytes": 1 << 20, **options})  # type: ignore[arg-type]
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
                        server.check(connection.uid, request)
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
    ("uid", "request_", "may"),
    [(0, NightAsked(), True), (4242, StatusAsked(), True), (4242, NightAsked(), False), (4243, StatusAsked(), False)],
)
def test_users_may_do_what_they_are_allowed(tmp_path: Path, uid: int, request_: object, may: bool) -> None:
    """Root everything, guests look and ask, strangers nothing."""
    server = Server(tmp_path / "s", allow_uids=(4242,), max_bytes=1 << 20)
    try:
        server.check(uid, request_)  # type: ignore[arg-type]
        assert may
    except RefusedError:
        assert not may
    finally:
        server.close()


def test_the_kernel_says_who_calls(serve: Callable[..., Path]) -> None:
    """The uid of a connection is the peer's, whatever it says."""
    seen = []

    def handle(connection: Connection, request: object) -> None:
        seen.append((connection.uid, connection.pid))
        connection.send(Finished(ok=True, text=""))

    ask(serve(handle), StatusAsked())
    assert seen == [(os.getuid(), os.getpid())]


@pytest.mark.parametrize(("allow", "mode"), [((), 0o600), ((4242,), 0o666)])
def test_the_socket_is_private_unless_guests_are_named(tmp_path: Path, allow: tuple[int, ...], mode: int) -> None:
    """File permissions are the first gate."""
    server = Server(tmp_path / "s", allow_uids=allow, max_bytes=1 << 20)
    assert (tmp_path / "s").stat().st_mode & 0o777 == mode
    server.close()
    assert not (tmp_path / "s").exists()


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
        Server(tmp_path / ("x" * 120) / "s", allow_uids=(), max_bytes=1)
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
