"""Real tasks that go on without a terminal: what each was asked, how far it is and what came of it, in the caller's own state directory.

    STATE/jobs/N/order     what was asked                    STATE/jobs/N/progress  how far it is
    STATE/jobs/N/log       what `run` would have printed     STATE/jobs/N/result    the one object of --json
    STATE/jobs/N/kept      what applying it later needs      STATE/jobs/N/lock      held as long as it runs
    STATE/jobs/last        the last number given             STATE/jobs/lock        one new job at a time

All of it belongs to the caller, mode 0700; no daemon reads or writes it. Whether a job runs is told by its lock, which its process holds
from before it was born until the kernel lets go of it: no number of a dead process is ever mistaken for a job.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from edgeevo.domain import Changes, Value
from edgeevo.durable import write_durably
from edgeevo.errors import RefusedError
from edgeevo.hands.ledger import home, make_private, open_lock
from edgeevo.hands.place import Seen

STOP_SECONDS = 10.0  # from an interrupt to a kill
PUT_BACK_SECONDS = 600.0  # the same for one that is writing to a directory, and puts back what it had written
START_SECONDS = 20.0
LOOK_SECONDS = 0.05

T = TypeVar("T")
Phase = Literal["starting", "working", "writing", "ended"]


class Progress(Value):
    """How far a job is. After `ended`: its exit code, and what there is to say of it."""

    phase: Phase = "starting"
    pid: int = 0  # 0: not known yet
    exit_code: int = 0
    told: str = ""  # one line about how it ended
    undo: str = ""  # which run undoes what was written back; empty: nothing was
    ended_at: float = 0.0


class Kept(Value):
    """What it takes to write a job's changes back later."""

    seen: Seen
    changes: Changes
    instruction: str
    passed: bool  # there was no check, or it passed


class Job:
    """One record. Reading it needs no lock: each file is replaced in one step, or only grows."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def number(self) -> int:
        """By which it is named."""
        return int(self.place.name)

    @property
    def log(self) -> Path:
        """The file that its log is written to."""
        return self.place / "log"

    @property
    def progress(self) -> Progress:
        """How far it is; RefusedError when that can't be read."""
        return self._decoded("progress", Progress)

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        try:
            fd = os.open(self.place / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def read(self, name: str) -> bytes:
        """A part of the record; empty where there is none."""
        try:
            return (self.place / name).read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise RefusedError(f"job {self.number} can't be read: {error}", hint=f"see to {self.place}") from error

    def write(self, name: str, data: bytes) -> None:
        """Replace a part of the record; durable when this returns."""
        write_durably(self.place / name, data)

    def tell(self, progress: Progress) -> None:
        """How far it is now."""
        self.write("progress", msgspec.json.encode(progress))

    def keep(self, kept: Kept, max_bytes: int) -> bool:
        """Keep what applying needs, unless it takes more than `max_bytes`; whether it was kept."""
        data = msgspec.json.encode(kept)
        if len(data) > max_bytes:
            return False
        self.write("kept", data)
        return True

    def kept(self) -> Kept | None:
        """What applying needs, where it was kept."""
        return self._decoded("kept", Kept) if (self.place / "kept").exists() else None

    def _decoded(self, name: str, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(self.read(name) or b"{}", type=kind)
        except msgspec.DecodeError as error:
            hint = f"`edgeevo jobs --forget {self.number}` removes it"
            raise RefusedError(f"the record of job {self.number} is damaged: {error}", hint=hint) from error

    def cancel(self) -> bool:
        """Stop it as Ctrl-C would and wait until nothing of it runs; False: it had to be killed. RefusedError when it does not run."""
        deadline = time.monotonic() + START_SECONDS
        while self.alive and not self.progress.pid and time.monotonic() < deadline:  # it is being born
            time.sleep(LOOK_SECONDS)
        try:
            process = os.pidfd_open(self.progress.pid or -1)
        except (ProcessLookupError, OSError) as error:
            raise self._over() from error
        try:
            if not self.alive:  # asked after the process was opened: so it is the job's
                raise self._over()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGINT)
            return self._gone(process)
        finally:
            os.close(process)

    def _over(self) -> RefusedError:
        return RefusedError(f"job {self.number} does not run", hint="`edgeevo jobs` shows how it ended")

    def _gone(self, process: int) -> bool:
        """Wait for the end, and hurry it when it is late; whether it ended by itself."""
        poll = select.poll()
        poll.register(process, select.POLLIN)
        waited, step = 0.0, 1.0
        while not poll.poll(step * 1000):
            waited += step
            if waited >= (PUT_BACK_SECONDS if self.progress.phase == "writing" else STOP_SECONDS):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                poll.poll(STOP_SECONDS * 1000)
                return False
        return True


class Jobs:
    """The records of one user. Of those that have ended the last `max_kept` stay; at most `max_running` run at once."""

    def __init__(self, *, max_kept: int, max_running: int, place: Path | None = None) -> None:
        self.place = jobs_home() if place is None else place
        self._max_kept, self._max_running = max_kept, max_running
        make_private(self.place)

    def all(self) -> list[Job]:
        """Oldest first."""
        numbers = sorted(int(each.name) for each in self.place.iterdir() if each.name.isdecimal())
        return [Job(self.place / str(number)) for number in numbers]

    def job(self, number: int | None) -> Job:
        """The job of this number, None for the last one; RefusedError when there is none."""
        known = self.all()
        found = known[-1:] if number is None else [job for job in known if job.number == number]
        if not found:
            listed = ", ".join(str(job.number) for job in known[-8:]) or "none"
            what = "there is no job" if number is None else f"there is no job {number}"
            raise RefusedError(f"{what}; known are: {listed}", hint="`edgeevo run --detach` starts one and prints its number")
        return found[0]

    def begin(self, order: bytes) -> tuple[Job, int]:
        """A new record and its lock, held: hand the descriptor to the job's process and close it. RefusedError when too many run."""
        held = open_lock(self.place / "lock")
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            known = self.all()
            running = [job for job in known if job.alive]
            if len(running) >= self._max_running:
                named = ", ".join(str(job.number) for job in running)
                raise RefusedError(
                    f"{len(running)} jobs of yours run already ({named}), as many as may",
                    hint="wait for one, `edgeevo cancel` one, or raise jobs.max_running",
                )
            alive = {job.number for job in running}
            ended = [job for job in known if job.number not in alive]
            for job in ended[: max(0, len(ended) - self._max_kept + 1)]:
                self.forget(job)
            job = Job(self.place / str(self._next_number(known)))
            job.place.mkdir(mode=0o700)
            lock = open_lock(job.place / "lock")
            fcntl.flock(lock, fcntl.LOCK_EX)
            job.write("order", order)
            job.tell(Progress())
            write_durably(self.place / "last", b"%d" % job.number)
        except OSError as error:
            raise RefusedError(f"a job can't be recorded: {error}", hint=f"see to {self.place}") from error
        finally:
            os.close(held)
        return job, lock

    def _next_number(self, known: list[Job]) -> int:
        """A number is never given twice, also when its record is gone."""
        try:
            last = int((self.place / "last").read_bytes())
        except (FileNotFoundError, ValueError):
            last = 0
        return 1 + max([last, *(job.number for job in known)])

    def forget(self, job: Job) -> None:
        """Remove a record, and with it what could still have been applied; RefusedError while it runs."""
        if job.alive:
            raise RefusedError(f"job {job.number} runs", hint=f"`edgeevo cancel {job.number}` stops it")
        try:
            shutil.rmtree(job.place)
        except OSError as error:
            raise RefusedError(f"job {job.number} can't be removed: {error}", hint=f"see to {job.place}") from error


def jobs_home() -> Path:
    """The caller's own place for these records."""
    return home().with_name("jobs")
