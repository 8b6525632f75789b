"""The runner process: single-threaded, out of the host's file system, an event loop over one socket and the commands under way.

Started by the client as `python -I -c …` with an empty environment; it ends when its parent ends, and the kernel then unmounts
everything that it had mounted and kills every box.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import socket
import sys
import time

from edgeevo.domain import Limits, State
from edgeevo.errors import EdgeevoError
from edgeevo.sandbox import messages as m
from edgeevo.sandbox.box import OpenBox, open_directory_box, open_state_box
from edgeevo.sandbox.command import MAX_COMMAND_BYTES, TOO_LONG, RunningCommand
from edgeevo.sandbox.confine import take_precedence
from edgeevo.sandbox.harvest import harvest
from edgeevo.sandbox.layers import Abilities, Tier, find_abilities
from edgeevo.sandbox.leftovers import end_below_us
from edgeevo.sandbox.namespace import DIRECTORY, drop_to, enter, watch_parent
from edgeevo.sandbox.seccomp import build_filter
from edgeevo.sandbox.shell import RunningShell
from edgeevo.sandbox.template import Template, Templates

LOW_FDS = 16  # kept occupied, so that descriptors given to children never collide with their targets
RECEIVE_BYTES = 1 << 16


class Runner:
    """Boxes, templates and commands under way, driven by `serve`."""

    def __init__(self, control: socket.socket, parent: int, place: str, abilities: Abilities) -> None:
        self._control, self._parent, self._place, self._tier = control, parent, place, abilities.tier
        # Not epoll: a descriptor that is closed while a command is being spawned lives on in the child until its exec is over, and so
        # does what epoll remembers of it; its last event would be taken for one of the next descriptor of that number.
        self._selector = selectors.PollSelector()
        self._frames = m.Frames()
        self._templates = Templates(merges=abilities.merges)
        self._boxes: dict[int, OpenBox] = {}
        self._running: dict[int, tuple[RunningCommand, set[int]]] = {}  # by the number of the call
        self._ended_shells: dict[int, RunningShell] = {}  # how they ended is told to whoever asks next
        self._last_handle = 0
        self._spare: OpenBox | None = None
        self._spare_wanted: tuple[Template, Limits] | None = None
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(parent, selectors.EVENT_READ)

    def serve(self) -> None:
        """Answer calls until the client hangs up or its process ends."""
        while True:
            ready = self._selector.select(0 if self._spare_wanted else self._patience())
            if not ready and self._spare_wanted:
                self._prepare_spare()
            for key, _ in ready:
                if key.fd == self._parent:
                    return
                if key.fileobj is self._control:
                    data = self._control.recv(RECEIVE_BYTES)
                    if not data:
                        return
                    for body in self._frames.feed(data):
                        self._handle(m.call_decoder.decode(body))
                elif self._selector.get_map().get(key.fd) is key:  # else it was closed since, and its number may be another descriptor's
                    self._running[key.data][0].on_ready(key.fd)
                    self._settle(key.data)
            now = time.monotonic()
            for number in list(self._running):
                self._running[number][0].tick(now)
                self._settle(number)

    @property
    def busy(self) -> bool:
        """Whether a command is under way, or a shell open."""
        return bool(self._running)

    def _patience(self) -> float | None:
        if not self._running:
            return None
        return max(0.0, min(command.next_tick() for command, _ in self._running.values()) - time.monotonic())

    def _answer(self, number: int, reply: m.Reply) -> None:
        self._control.sendall(m.frame(m.Answer(number=number, reply=reply)))

    def _handle(self, call: m.Call) -> None:
        try:
            reply = self._perform(call)
        except EdgeevoError as error:
            reply = m.Failed(message=str(error), hint=error.hint)
        except OSError as error:
            reply = m.Failed(message=f"{type(call.body).__name__} failed in the runner: {error}", hint="run `edgeevo doctor`")
        if reply is not None and call.number:  # 0: nobody waits
            self._answer(call.number, reply)

    def _perform(self, call: m.Call) -> m.Reply | None:
        """The answer, or None when it comes later."""
        match call.body:
            case m.Open() | m.OpenState() as wanted:
                state = wanted.state if isinstance(wanted, m.OpenState) else None
                return self._open_state(wanted.state_id, state, wanted.limits)
            case m.OpenDirectory(limits=limits, read_only=read_only, changes=changes):
                handle = self._handle_number()
                return self._opened(open_directory_box(handle, limits, self._tier, self._place, read_only=read_only, changes=changes))
            case m.Run() as run:
                return self._run(call.number, run)
            case m.OpenShell() | m.Tell() | m.CloseShell() as asked:
                return self._perform_in_shell(call.number, asked)
            case m.Harvest(box=handle):
                box = self._box(handle)
                if box.running:
                    return m.Failed(
                        message="changes can't be read while a command or shell runs in the box",
                        hint="wait for the command, close the shell",
                    )
                return m.Harvested(changes=harvest(box.layers))
            case m.AskOpened(box=handle):
                opens = self._box(handle).opens
                return m.WereOpened(paths=opens.paths() if opens else ())
            case m.Close(box=handle):
                self._close(handle)
                return m.Closed()

    def _open_state(self, state_id: str, state: State | None, limits: Limits) -> m.Reply:
        spare, self._spare = self._spare, None
        if spare is not None and (spare.template is not self._templates.get(state_id, spare.template) or spare.limits != limits):
            self._discard(spare)
            spare = None
        template = spare.template if spare is not None else self._templates.get(state_id)
        if template is None:
            if state is None:
                return m.Unknown()
            template = self._templates.make(state_id, state)
        self._spare_wanted = (template, limits)
        return self._opened(spare or open_state_box(self._handle_number(), limits, self._tier, template))

    def _prepare_spare(self) -> None:
        """Attempts come in groups: a state that was opened is likely to be opened again, so its next box is made while we are idle."""
        assert self._spare_wanted is not None
        (template, limits), self._spare_wanted = self._spare_wanted, None
        with contextlib.suppress(EdgeevoError, OSError):  # then the next call to open says what is wrong
            self._spare = open_state_box(self._handle_number(), limits, self._tier, template)

    def _discard(self, box: OpenBox) -> None:
        box.close()
        if box.template is not None:
            self._templates.release(box.template)

    def _handle_number(self) -> int:
        self._last_handle += 1
        return self._last_handle

    def _opened(self, box: OpenBox) -> m.Opened:
        self._boxes[box.handle] = box
        return m.Opened(box=box.handle)

    def _box(self, handle: int) -> OpenBox:
        if handle not in self._boxes:
            raise EdgeevoError(f"no open box {handle}", hint="a closed box can't be used again")
        return self._boxes[handle]

    def _run(self, number: int, run: m.Run) -> m.Reply | None:
        box = self._box(run.box)
        if len(run.command.encode("utf-8", "replace")) > MAX_COMMAND_BYTES:
            return m.Ran(result=TOO_LONG)
        self._running[number] = (RunningCommand(box, run.command, run.wall_seconds, read_only=run.read_only), set())
        box.running += 1
        self._follow(number)
        return None

    def _perform_in_shell(self, number: int, asked: m.OpenShell | m.Tell | m.CloseShell) -> m.Reply | None:
        match asked:
            case m.OpenShell(box=handle):
                return self._open_shell(self._box(handle))
            case m.Tell():
                return self._tell(number, asked)
            case m.CloseShell(shell=handle):
                return self._close_shell(handle)

    def _open_shell(self, box: OpenBox) -> m.Reply:
        """Shells are followed like commands, under negative numbers, which no call has."""
        handle = self._handle_number()
        self._running[-handle] = (RunningShell(box), set())
        box.running += 1
        self._follow(-handle)
        return m.Opened(box=handle)

    def _shell(self, handle: int) -> RunningShell:
        shell = self._ended_shells.get(handle) or self._running.get(-handle, (None,))[0]
        if not isinstance(shell, RunningShell):
            raise EdgeevoError(f"no shell {handle}", hint="a closed shell can't be used again")
        return shell

    def _tell(self, number: int, told: m.Tell) -> m.Reply | None:
        shell = self._shell(told.shell)
        if shell.asked:
            return m.Failed(message="a command runs in the shell", hint="wait for it, or open another shell")
        if len(told.command.encode("utf-8", "replace")) > MAX_COMMAND_BYTES:
            return m.Ran(result=TOO_LONG)
        shell.tell(number, told.command, told.wall_seconds)
        if told.shell in self._ended_shells:
            self._answer_for(shell)
        else:
            self._settle(-told.shell)
        return None

    def _answer_for(self, shell: RunningShell) -> None:
        """Answer the call that waits for a shell, if it can be."""
        try:
            result = shell.take()
        except EdgeevoError as error:
            self._answer(shell.asked, m.Failed(message=str(error), hint=error.hint))
        else:
            if result is None:
                return
            self._answer(shell.asked, m.Ran(result=result))
        shell.asked = 0

    def _close_shell(self, handle: int) -> m.Reply:
        shell = self._shell(handle)
        self._ended_shells.pop(handle, None)
        if -handle in self._running:
            self._end(-handle)
        if shell.asked:
            self._answer(shell.asked, m.Failed(message="the shell was closed while a command ran"))
        return m.Closed()

    def _end(self, number: int) -> None:
        """Kill what is under way and wait for its end."""
        command, registered = self._running.pop(number)
        for fd in registered:
            self._selector.unregister(fd)
        command.dispose()
        command.box.running -= 1

    def _follow(self, number: int) -> None:
        """Bring the selector in line with what the command waits on."""
        command, registered = self._running[number]
        wanted = set() if command.finished else set(command.descriptors)
        for fd in wanted - registered:
            self._selector.register(fd, selectors.EVENT_READ, number)
        registered.clear()
        registered |= wanted

    def _settle(self, number: int) -> None:
        """Answer when the command has finished, else wait on."""
        command, registered = self._running[number]
        gone = registered - set(command.descriptors)
        for fd in gone:
            self._selector.unregister(fd)  # it is closed: epoll has forgotten it already, the selector has not
        registered -= gone
        if command.finished and command.restart_at_root():
            registered.clear()
        if isinstance(command, RunningShell):
            self._answer_for(command)  # may read, and so close, some of its descriptors
            gone = registered - set(command.descriptors)
            for fd in gone:
                self._selector.unregister(fd)
            registered -= gone
        if not command.finished:
            self._follow(number)
            return
        for fd in registered:
            self._selector.unregister(fd)
        del self._running[number]
        command.box.running -= 1
        if isinstance(command, RunningShell):
            self._ended_shells[-number] = command
            return
        try:
            self._answer(number, m.Ran(result=command.result()))
        except EdgeevoError as error:
            self._answer(number, m.Failed(message=str(error), hint=error.hint))

    def _close(self, handle: int) -> None:
        box = self._boxes.pop(handle, None)
        if box is None:
            return
        for number, (command, _) in list(self._running.items()):
            if command.box is box:
                self._end(number)
                waiting = command.asked if isinstance(command, RunningShell) else number
                if waiting:
                    self._answer(waiting, m.Failed(message="the box was closed while the command ran"))
        self._ended_shells = {handle: shell for handle, shell in self._ended_shells.items() if shell.box is not box}
        self._discard(box)


def main(
    *, parent_pid: int, uid: int, gid: int, from_main_thread: bool, place: str, directory_fd: int, control_fd: int, tier: Tier | None
) -> None:
    """Entry point of the runner process; `directory_fd` is -1 for boxes on states, `tier` None when the kernel's abilities settle it."""
    control = _claim_descriptors(control_fd, directory_fd)
    try:
        if uid == 0:
            take_precedence()
        drop_to(uid, gid)
        parent = watch_parent(parent_pid, from_main_thread=from_main_thread)
        enter(build_filter(), with_directory=directory_fd >= 0)
        signal.signal(signal.SIGTERM, _die)
        abilities = find_abilities(tier, DIRECTORY if directory_fd >= 0 else None)
    except (OSError, EdgeevoError) as error:
        hint = getattr(error, "hint", "") or (
            "unprivileged user namespaces must be allowed: sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0"
        )
        control.sendall(m.frame(m.Answer(number=0, reply=m.Failed(message=f"the sandbox can't enter its namespaces: {error}", hint=hint))))
        sys.exit(1)
    control.sendall(m.frame(m.Answer(number=0, reply=m.Ready(abilities=abilities))))
    runner = Runner(control, parent, place, abilities)
    runner.serve()
    if runner.busy:
        end_below_us()


def _die(*_: object) -> None:
    end_below_us()
    os._exit(128 + signal.SIGTERM)


def _claim_descriptors(control_fd: int, directory_fd: int) -> socket.socket:
    """Keep what we were given above LOW_FDS or as working directory, fill everything below, and let no command inherit anything."""
    control = socket.socket(fileno=fcntl.fcntl(control_fd, fcntl.F_DUPFD_CLOEXEC, LOW_FDS))
    os.close(control_fd)
    if directory_fd >= 0:
        os.fchdir(directory_fd)
        os.close(directory_fd)
    while (fd := os.open("/dev/null", os.O_RDONLY)) < LOW_FDS:
        continue
    os.close(fd)
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            os.set_inheritable(int(name), False)
    return control
