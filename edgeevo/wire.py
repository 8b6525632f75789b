"""Lines over the daemon's unix socket, whatever they mean. Light, because `status` needs no more; edgeevo.control adds the words."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from edgeevo.errors import DaemonError, NobodyAnswersError


def exchange(path: Path, line: bytes, *, timeout_seconds: float) -> Iterator[bytes]:
    """Send one line, yield the lines that come back until the daemon hangs up. DaemonError when it isn't there or breaks off."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as link:
        link.settimeout(timeout_seconds)
        try:
            link.connect(str(path))
            with suppress(BrokenPipeError, ConnectionResetError):  # a daemon that hung up at once has said why
                link.sendall(line + b"\n")
            with link.makefile("rb") as lines:
                yield from lines
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NobodyAnswersError(f"no daemon answers at {path}", hint="start it with `edgeevo daemon`, or name its --config") from error
        except PermissionError as error:
            raise NobodyAnswersError(
                f"the socket {path} is not open to you",
                hint="ask to be admitted by control.read_group or control.operate_group; a new group counts from the next login",
            ) from error
        except OSError as error:
            raise DaemonError(f"the daemon at {path} broke off: {error}", hint="`edgeevo status` shows whether it still runs") from error
