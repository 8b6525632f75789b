"""One runner process and the calls under way to it; safe to use from several threads."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from edgeevo.errors import SandboxError
from edgeevo.sandbox import messages as m
from edgeevo.sandbox.layers import Tier
from edgeevo.sandbox.leftovers import kill_below, own_namespace

START_SECONDS = 20.0
STDERR_TAIL_BYTES = 2000
_BOOT = "import json,sys; a=json.loads(sys.argv[1]); sys.path[:]=a.pop('path'); from edgeevo.sandbox.runner import main; main(**a)"


class Connection:
    """One runner process and the calls under way to it."""

    def __init__(self, *, uid: int, gid: int, directory: Path | None = None, tier: Tier | None = None) -> None:
        self._condition = threading.Condition()
        self._frames = m.Frames()
        self._answers: dict[int, m.Reply] = {}
        self._waiting: set[int] = set()
        self._reading = False
        self._last_number = 0
        self._dead = False
        self._namespace = -1
        self._send_lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._socket, theirs = socket.socketpair()
        directory_fd = -1 if directory is None else os.open(directory, os.O_PATH | os.O_DIRECTORY)
        arguments = {
            "path": [entry for entry in sys.path if entry] + [str(Path(__file__).parents[2])],
            "parent_pid": os.getpid(),
            "uid": uid,
            "gid": gid,
            "from_main_thread": threading.current_thread() is threading.main_thread(),
            "place": "" if directory is None else str(directory),
            "directory_fd": directory_fd,
            "control_fd": theirs.fileno(),
            "tier": tier,
        }
        passed = [theirs.fileno()] + ([directory_fd] if directory_fd >= 0 else [])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(arguments)],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                pass_fds=passed,
                start_new_session=True,
                cwd="/",
            )
        finally:
            theirs.close()
            if directory_fd >= 0:
                os.close(directory_fd)
        self._socket.settimeout(START_SECONDS)
        self._waiting.add(0)
        try:
            ready = self._wait(0)
        except BaseException:
            self.close()
            raise
        assert isinstance(ready, m.Ready)
        self.abilities = ready.abilities
        self._namespace = own_namespace(self._process.pid)
        self._socket.settimeout(None)

    @property
    def pid(self) -> int:
        """Process id of the runner."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether calls can still be made."""
        return not self._dead and self._process.poll() is None

    def call(self, body: m.Body) -> m.Reply:
        """Send a call and wait for its answer; SandboxError when the runner reports one or has died."""
        with self._condition:
            self._last_number += 1
            number = self._last_number
            self._waiting.add(number)
        data = m.frame(m.Call(number=number, body=body))
        try:
            with self._send_lock:
                self._socket.sendall(data)
        except OSError as error:
            raise self._died() from error
        except BaseException:
            self._dead = True  # half a frame may have been sent
            raise
        return self._wait(number)

    def tell(self, body: m.Body) -> None:
        """Send a call whose answer nobody waits for; calls are handled in order, so whatever is sent next finds it done."""
        data = m.frame(m.Call(number=0, body=body))
        with contextlib.suppress(OSError), self._send_lock:
            self._socket.sendall(data)

    def _wait(self, number: int) -> m.Reply:
        """One waiting thread reads for all; the others sleep until their answer is there or the reader's place is free."""
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: number in self._answers or not self._reading)
                    if number in self._answers:
                        break
                    self._reading = True
                try:
                    self._receive()
                finally:
                    with self._condition:
                        self._reading = False
                        self._condition.notify_all()
            reply = self._answers.pop(number)
        finally:
            with self._condition:
                self._waiting.discard(number)
        if isinstance(reply, m.Failed):
            raise SandboxError(reply.message, hint=reply.hint)
        return reply

    def _receive(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except OSError as error:
            raise self._died() from error
        if not data:
            raise self._died()
        for body in self._frames.feed(data):
            answer = m.answer_decoder.decode(body)
            if answer.number in self._waiting:  # else its caller was interrupted
                self._answers[answer.number] = answer.reply

    def _died(self) -> SandboxError:
        self._dead = True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        tail = ""
        with contextlib.suppress(ValueError, OSError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - STDERR_TAIL_BYTES))
            tail = self._errors.read().decode("utf-8", "backslashreplace").strip()
        status = self._process.poll()
        self._sweep()
        return SandboxError(
            f"the sandbox runner {'does not answer' if status is None else f'ended with status {status}'}: {tail or 'no message'}",
            hint="its boxes are gone; open new ones. `edgeevo doctor` checks this machine",
        )

    def close(self) -> None:
        """Hang up; the runner ends, and with it its mounts and boxes. Kills it when it doesn't."""
        self._dead = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
        self._sweep()
        if self._namespace >= 0:
            os.close(self._namespace)
            self._namespace = -1

    def _sweep(self) -> None:
        """Once the runner is gone: a bubblewrap that was starting at that moment may have left the process that it had just made."""
        if self._namespace >= 0 and self._process.poll() is not None:
            kill_below(self._namespace)
