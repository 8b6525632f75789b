"""The daemon's loop: one thread that waits for callers, for the worker's lines, for the tick, and for SIGTERM; nothing else ever writes.

    serve(loaded, host, brain)      returns when it was asked to stop

APScheduler ticks (one short job, memory store, no grace limit) by posting into this loop; a wall clock that jumps re-adds the job, because
the scheduler would enumerate every missed run. Errors of the box are caught here, recorded, and shown by `status`.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import select
import signal
from collections import deque
from collections.abc import Callable
from typing import Any

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from edgeevo.config import Loaded
from edgeevo.control import Finished, Request, Told, failed
from edgeevo.daemon.answers import answer
from edgeevo.daemon.desk import Brain, Desk
from edgeevo.daemon.door import Access, Connection, Door
from edgeevo.daemon.floor import settle
from edgeevo.daemon.keeper import Keeper
from edgeevo.domain import Readings
from edgeevo.errors import DaemonError, EdgeevoError, RefusedError
from edgeevo.host import JUMP_SECONDS, Host, notify
from edgeevo.idle import Busy, Idle, Reason, Rules, judge, parse_window
from edgeevo.slots import Shelf
from edgeevo.store.writer import Store

DAY_SECONDS = 86_400.0
PATIENCE_SECONDS = 1.0  # the loop looks around at least this often
LATE_TICKS = 3  # of these without one, the scheduler's clock was set back under it


class Service:
    """One daemon over one state directory; `run` is its life."""

    def __init__(self, loaded: Loaded, host: Host, brain: Brain, *, notify_address: str = "") -> None:
        self.loaded, self.host = loaded, host
        config = loaded.config
        loaded.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = _lock(loaded)
        self.health: dict[str, str] = {}
        self.store = Store.open(loaded.database, max_bytes=config.store.max_database_bytes, now=host.wall(), mounts=host.mounts())
        self.shelf = Shelf(loaded.state_dir)
        for name, incident in (("database", self.store.incident), ("slots", self.shelf.incident)):
            if incident:
                self.health[name] = incident
        self.keeper = Keeper(loaded, self.store, self.shelf, host, self._tell)
        self._guarded("floor", self._settle)
        self._guarded("promotion", self.keeper.carry_out)
        access = Access(uids=config.control.allow_uids, read_gid=loaded.read_gid, operate_gid=loaded.operate_gid)
        self.door = Door(loaded.socket, access, max_bytes=config.control.max_message_bytes)
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._posted: deque[Callable[[], None]] = deque()
        self.desk = Desk(
            brain, self.post, max_requests=config.control.max_requests, max_requests_per_user=config.control.max_requests_per_user
        )
        self.asked_at = host.steady()
        self.connections: list[Connection] = []
        self.followers: list[Connection] = []
        self.history: list[Readings] = []
        self.judged: Idle | Busy = Busy(
            reason=Reason.UNKNOWN, detail="the box was not looked at yet", next_try_seconds=config.daemon.tick_seconds
        )
        self.started_at = host.steady()
        self.deadline_at: float | None = None  # on the steady clock: when a commanded night has had its time
        self.rules = _rules(loaded)
        self._stopping = False
        self._tick_waits = False
        self._notify = notify_address
        self._offset = host.wall() - host.steady()
        self._next_daily = self._ticked_at = host.steady()
        self._scheduler = BackgroundScheduler(timezone=datetime.UTC, executors={"default": DebugExecutor()})

    @property
    def pid(self) -> int:
        """Our process id."""
        return os.getpid()

    # --- life ---

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Call in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        self._add_tick()
        self._scheduler.start()
        self._guarded("start", self._pick_up)
        self._post_tick()
        notify("READY=1\nSTATUS=started", self._notify)
        try:
            while not self._stopping:
                self._turn()
        finally:
            self.close()

    def stop(self) -> None:
        """End the loop soon; may be called from a signal handler or another thread."""
        self._stopping = True
        self.post(lambda: None)

    def post(self, function: Callable[[], None]) -> None:
        """Run `function` in the loop; may be called from any thread."""
        self._posted.append(function)
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._wake_write, b"x")

    def close(self) -> None:
        """End the worker, let the model go, close the store; what ran is recorded as running, so that the next start goes on with it."""
        notify("STOPPING=1", self._notify)
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        self.door.close()
        self.keeper.leave()
        self.desk.close(0.3)
        for connection in self.connections:
            connection.close()
        self.store.close()
        os.close(self._lock)

    def _turn(self) -> None:
        """Wait for anything, then serve everything that is there."""
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        poll.register(self.door.link, select.POLLIN)
        for connection in self.connections:
            poll.register(connection.link, select.POLLIN | (select.POLLOUT if connection.wants_to_write else 0))
        job = self.keeper.job
        if job is not None:
            poll.register(job.fileno(), select.POLLIN)
        ready = dict(poll.poll(PATIENCE_SECONDS * 1000))
        if self.host.steady() - self._ticked_at > LATE_TICKS * max(PATIENCE_SECONDS, self.loaded.config.daemon.tick_seconds):
            self._post_tick()  # the scheduler counts on the wall clock: set back by an hour it would let an hour pass
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        for _ in range(
            len(self._posted)
        ):  # not "while": on a slow box work may be posted as fast as it is done, and callers must not starve
            self._guarded("loop", self._posted.popleft())
        for connection in list(self.connections):
            if connection.link.fileno() in ready:
                self._serve(connection)
        if self.door.link.fileno() in ready and (new := self.door.accept()) is not None:  # after those who may have hung up
            self._welcome(new)
        if job is not None and job is self.keeper.job and job.fileno() in ready:
            self._guarded("night", self.keeper.listen)
        self._sweep()

    def _welcome(self, new: Connection) -> None:
        """Nobody takes so many connections that others find none."""
        most = self.loaded.config.control.max_connections_per_user
        if sum(each.uid == new.uid and not each.gone for each in self.connections) >= most:
            what = f"user {new.uid} has {most} connections open, as many as may (control.max_connections_per_user)"
            new.send(failed(RefusedError(what, hint="close one: each request needs its connection only until it is answered")))
        self.connections.append(new)

    def _serve(self, connection: Connection) -> None:
        connection.flush()
        try:
            request = connection.read()
            if request is not None:
                self.door.check(connection.uid, connection.gids, type(request))
                self._answer(connection, request)
        except EdgeevoError as error:
            connection.send(failed(error))

    def _answer(self, connection: Connection, request: Request) -> None:
        answer(self, connection, request)

    def _sweep(self) -> None:
        for connection in [each for each in self.connections if each.gone]:
            connection.close()
            self.connections.remove(connection)
        self.followers = [each for each in self.followers if not each.gone]

    def _tell(self, said: Told | Finished) -> None:
        for follower in self.followers:
            follower.send(said, last=isinstance(said, Finished))
        if isinstance(said, Finished):
            self.followers = []
            self.deadline_at = None

    def _guarded(self, name: str, work: Callable[[], Any]) -> None:
        """The one place where errors of the box end: shown by status until the same work succeeds, and noted where notes can be written."""
        try:
            work()
        except (EdgeevoError, OSError) as error:
            if self.health.get(name) != str(error):
                with contextlib.suppress(EdgeevoError):
                    self.store.note(name, str(error), self.host.wall())
            self.health[name] = str(error)
        else:
            self.health.pop(name, None)

    # --- the tick ---

    def _add_tick(self) -> None:
        self._scheduler.add_job(
            self._post_tick,
            "interval",
            seconds=self.loaded.config.daemon.tick_seconds,
            id="tick",
            replace_existing=True,
            coalesce=True,
            misfire_grace_time=None,
            max_instances=1,
        )

    def _pick_up(self) -> None:
        """After a start: a commanded night or audit that was running goes on at once, a night of the window when the box is idle."""
        for owner in self.store.unfinished():
            if owner.status == "running" and owner.cause != "window":
                left = None if owner.deadline_at is None else owner.deadline_at - self.host.wall()
                if left is not None and left <= 0:
                    self.store.finish(owner.id, "interrupted", reason="its time was over", now=self.host.wall())
                elif self.keeper.job is None:
                    self.deadline_at = None if left is None else self.host.steady() + left
                    self.keeper.go_on(owner, asked=True, deadline_at=owner.deadline_at)
                else:
                    self.store.finish(owner.id, "interrupted", reason="another one goes on first", now=self.host.wall())

    def _post_tick(self) -> None:
        """Called by the scheduler's thread; a tick that still waits for its turn is not posted twice."""
        if not self._tick_waits:
            self._tick_waits = True
            self.post(self.tick)

    def tick(self) -> None:
        """Look at the box and decide; short, never waits."""
        self._tick_waits, self._ticked_at = False, self.host.steady()
        self._guarded("tick", self._look)
        self._guarded("silence", self.keeper.watch)
        self._guarded("retry", self.keeper.retry)
        self._guarded("night", self._decide)
        if self.host.steady() >= self._next_daily:
            self._next_daily = self.host.steady() + DAY_SECONDS
            self._guarded("adapter", self.shelf.verify_active)
            self._guarded("floor", self._settle)
            keep = self.loaded.config.store.keep_trajectories_days * DAY_SECONDS
            self._guarded("retention", lambda: self.store.prune(self.host.wall() - keep))
            self._guarded("files", self.keeper.sweep)
        if self.desk.loaded and not self.desk.waiting and self.host.steady() - self.asked_at > self.loaded.config.model.close_after_seconds:
            self.desk.release()
        state = self.keeper.job.owner if self.keeper.job else type(self.judged).__name__.lower()
        notify(f"WATCHDOG=1\nSTATUS={state}", self._notify)

    def _settle(self) -> None:
        """A factory adapter that rotted is copied anew, one that can't be had is named, one that is whole again serves again."""
        told = settle(self.loaded, self.shelf, self.store, self.host.wall())
        for name, detail in told.items():
            if self.health.get(name) != detail:
                self.store.note(name, detail, self.host.wall())
        self.health.pop("factory", None)
        self.health |= told

    def _look(self) -> None:
        offset = self.host.wall() - self.host.steady()
        if abs(offset - self._offset) > JUMP_SECONDS:
            self.store.note("clock", f"the wall clock jumped by {offset - self._offset:.0f} s", self.host.wall())
            self._scheduler.remove_job("tick")
            self._add_tick()
        self._offset = offset
        self.history.append(self.host.read(self.loaded.state_dir, [os.getpid()]))
        keep = 2 * max(self.rules.enter_dwell_seconds, self.rules.leave_dwell_seconds, self.loaded.config.daemon.tick_seconds)
        while len(self.history) > 2 and self.history[-1].at - self.history[0].at > keep:
            del self.history[0]
        self.judged = judge(self.history, self.rules, second_of_day=self.host.second_of_day(), running=self.keeper.job is not None)

    def _decide(self) -> None:
        job, owner = self.keeper.job, self.keeper.owner
        if job is not None and owner is not None:
            if self.deadline_at is not None and self.host.steady() >= self.deadline_at:
                self.keeper.stop("its time is over")
            elif not self.keeper.asked and isinstance(self.judged, Busy):
                self.keeper.stop(f"{self.judged.reason}: {self.judged.detail}")
        elif (
            isinstance(self.judged, Idle) and not self.keeper.waiting and not self.desk.waiting and self.host.wall() >= self.keeper.retry_at
        ):
            self._begin()

    def _begin(self) -> None:
        """In an idle window: go on with what was interrupted, else one new night per window."""
        for owner in self.store.unfinished():
            if owner.kind == "night" and owner.cause != "comparison":
                self.desk.release()
                self.keeper.go_on(owner, asked=False)
                return
        opened = (self.host.second_of_day() - self.rules.window_start_minute * 60) % DAY_SECONDS
        if not self.store.last_night(self.host.wall() - opened, "window")[0]:
            self.desk.release()
            self.keeper.night("window")


def serve(loaded: Loaded, host: Host, brain: Brain, *, notify_address: str = "") -> None:
    """Run the daemon until it is asked to stop. Raises DaemonError when another one has the state directory, StoreError, ConfigError."""
    Service(loaded, host, brain, notify_address=notify_address).run()


def _lock(loaded: Loaded) -> int:
    descriptor = os.open(loaded.state_dir / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise DaemonError(
            f"another daemon runs on {loaded.state_dir}", hint="`edgeevo status` shows it; one state directory has one daemon"
        ) from error
    return descriptor


def _rules(loaded: Loaded) -> Rules:
    idle = loaded.config.idle
    start, end = parse_window(idle.window)
    return Rules(
        window_start_minute=start,
        window_end_minute=end,
        enter_load_cores=idle.enter_load_cores,
        leave_load_cores=idle.leave_load_cores,
        enter_dwell_seconds=idle.enter_dwell_seconds,
        leave_dwell_seconds=idle.leave_dwell_seconds,
        min_free_memory_bytes=idle.min_free_memory_bytes,
        min_free_disk_bytes=idle.min_free_disk_bytes,
    )
