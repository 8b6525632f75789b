"""Where a run's journal and both states of everything that it touches are kept until it is undone or forgotten.

    STATE/undo/ID/journal    what is to be done, complete before the first change    STATE/undo/ID/old, new    contents, by step
    STATE/undo/ID/phase      applying, applied, undoing or undone                    STATE/undo/lock           one writer at a time

All of it belongs to the caller, mode 0700, and takes at most `max_bytes`. A record is made under another name, and renamed when it is
durable.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from edgeevo.domain import File, Node, Value
from edgeevo.durable import sync_directory, write_durably
from edgeevo.errors import RefusedError
from edgeevo.hands.place import Place, copy_content, digest_of, meta_of, shown
from edgeevo.hands.plan import Parent, Plan, Step
from edgeevo.hands.stepping import Before, go_on
from edgeevo.sandbox import kernel

MAX_UNDO_BYTES = 1 << 30
KEPT_UNDONE = 20  # records without contents, to look at
ENTRY_BYTES = 4096  # what the smallest file takes
ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")

Phase = Literal["applying", "applied", "undoing", "undone"]


class Journal(Value):
    """A run's work on one directory, told so that another process can finish or undo it."""

    id: str
    instruction: str
    directory: bytes
    inode: int
    steps: tuple[Step, ...]
    parents: tuple[Parent, ...]
    anchors: dict[int, tuple[bytes, tuple[int, ...]]]
    handle: bytes = b""  # what the file system calls the directory, also after a remount; empty where it has no such name


class Mark(Value):
    """How far a run is; once applied, when its directories were last changed by us; while undoing, which were changed by others since."""

    phase: Phase
    times_ns: dict[bytes, int] = msgspec.field(default_factory=dict)
    used: tuple[bytes, ...] = ()
    kept: tuple[str, ...] = ()  # where content lies that somebody else wrote meanwhile, and that no name had any more
    promised: bool = False  # the record's contents are to stay, for they are nowhere else


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The caller's own place for these records."""
    state = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME") or Path.home()) / ".local/state")
    return Path(state) / "edgeevo" / "undo"


class Ledger:
    """The records below one directory; RefusedError when it isn't private to us."""

    def __init__(self, place: Path, *, max_bytes: int = MAX_UNDO_BYTES, step: Before = go_on) -> None:
        self.place, self._max_bytes, self._step = place, max_bytes, step
        make_private(place)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """While this is held nobody else applies or undoes with the same records."""
        fd = open_lock(self.place / "lock")
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                self._prune()
            except OSError as error:
                raise _unusable(self.place, error) from error
            yield
        finally:
            os.close(fd)

    def _prune(self) -> None:
        """Remove what was begun and never named, and the oldest of what is undone."""
        begun = [self.place / run for run in self.ids() if not (self.place / run / "phase").exists()]
        marks = {run: self.mark(run) for run in self.ids()}
        begun += [self.place / run for run, mark in marks.items() if mark.phase == "undone" and not mark.promised][:-KEPT_UNDONE]
        for half in {*self.place.glob("*.part"), *begun}:  # whoever made it is dead, for we hold the lock, and has changed nothing
            shutil.rmtree(half)

    def ids(self) -> list[str]:
        """All runs, oldest first."""
        return sorted(each.name for each in self.place.iterdir() if ID.fullmatch(each.name))

    def journal(self, run: str | None, phases: tuple[Phase, ...] = ("applying", "applied", "undoing")) -> Journal:
        """The record of a run: by its id or the first characters of it, None for the last one in one of `phases`. RefusedError if none."""
        known = [each for each in self.ids() if self.mark(each).phase in phases] if run is None else self.ids()
        found = known[-1:] if run is None else [each for each in known if each.startswith(run)]
        if len(found) != 1:
            listed = ", ".join(f"{each} ({self.mark(each).phase})" for each in self.ids()[-5:]) or "none"
            what = f"there is no run that is {' or '.join(phases)}" if run is None else f"no single run starts with {run!r}"
            raise RefusedError(f"{what}; known are: {listed}", hint="`edgeevo run --apply` prints the run's id")
        try:
            return msgspec.json.decode((self.place / found[0] / "journal").read_bytes(), type=Journal)
        except (OSError, msgspec.MsgspecError) as error:
            raise _unusable(self.place / found[0], error) from error

    def mark(self, run: str) -> Mark:
        """How far a run is; a record without a mark has not touched anything."""
        try:
            return msgspec.json.decode((self.place / run / "phase").read_bytes(), type=Mark)
        except FileNotFoundError:
            return Mark(phase="undone")
        except (OSError, msgspec.MsgspecError) as error:
            raise _unusable(self.place / run, error) from error

    def set_mark(self, run: str, mark: Mark) -> None:
        """Durable when this returns."""
        self._step(f"mark {mark.phase}")
        write_durably(self.place / run / "phase", msgspec.json.encode(mark))

    def content(self, run: str, which: str, index: int) -> int:
        """A descriptor of a stored content, to be read."""
        return os.open(self.place / run / which / str(index), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def forget(self, run: str) -> None:
        """Remove a record; the directory stays as it is."""
        try:
            shutil.rmtree(self.place / run)
        except OSError as error:
            raise _unusable(self.place / run, error) from error

    def drop_contents(self, run: str) -> None:
        """What is undone needs its contents no more."""
        for which in ("old", "new"):
            shutil.rmtree(self.place / run / which, ignore_errors=True)

    def record(self, place: Place, plan: Plan, nodes: Mapping[bytes, Node | None], instruction: str) -> Journal:
        """Store both states of every step and the journal, durably. RefusedError when that takes more than the bound, or a file changed."""
        self._refuse_too_much(plan)
        now = time.time_ns()  # ids are in the order of time, also within a second
        run = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now // 10**9))}-{now // 1000 % 10**6:06}{secrets.token_hex(1)}"
        half = self.place / f"{run}.part"
        self._step("begin the record")
        half.mkdir(mode=0o700)
        try:
            for which in ("old", "new"):
                (half / which).mkdir(mode=0o700)
            steps = tuple(_store(place, half, index, step, nodes.get(step.path)) for index, step in enumerate(plan.steps))
            status = os.fstat(place.fd)
            journal = Journal(
                id=run,
                instruction=instruction,
                directory=place.directory,
                inode=status.st_ino,
                handle=place.handle(),
                steps=steps,
                parents=plan.parents,
                anchors=plan.anchors,
            )
            self._step("write the journal")
            (half / "journal").write_bytes(msgspec.json.encode(journal))
            fd = os.open(half, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                kernel.sync_filesystem(fd)
            finally:
                os.close(fd)
            self._step("name the record")
            os.rename(half, self.place / run)
            sync_directory(self.place)
        except OSError as error:
            shutil.rmtree(half, ignore_errors=True)
            raise RefusedError(f"the record for undoing can't be written: {error}", hint="make room in your state directory") from error
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        return journal

    def _refuse_too_much(self, plan: Plan) -> None:
        held = sum(status.st_blocks * 512 for path in self.place.rglob("*") if stat.S_ISREG((status := path.lstat()).st_mode))
        sizes = {step.path: sum(ENTRY_BYTES + _stored_bytes(step, which) for which in ("before", "after")) for step in plan.steps}
        if held + sum(sizes.values()) > self._max_bytes:
            largest = max(sizes, key=lambda path: sizes[path], default=b"the marks of the run")
            raise RefusedError(
                f"undoing would need {sum(sizes.values())} bytes beside the {held} in {self.place}, more than {self._max_bytes} "
                f"(the largest: {shown(largest)})",
                hint="raise --max-undo-bytes, or let older runs go with `edgeevo undo --forget RUN`",
            )


def _stored_bytes(step: Step, which: str) -> int:
    entry = step.before if which == "before" else step.after
    if entry is None or entry.kind != "file":
        return 0
    return entry.allocated_bytes if entry.sparse and which == "before" else entry.size


def _store(place: Place, half: Path, index: int, step: Step, node: Node | None) -> Step:
    """Store the contents of one step; gives the step with their hashes."""
    before, after = step.before, step.after
    if before is not None and before.kind == "file":
        source = place.open(step.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            with (half / "old" / str(index)).open("xb") as target:
                digest = copy_content(source, target.fileno(), sparse=before.sparse)
            if meta_of(os.fstat(source)).identity != before.identity:
                raise RefusedError(f"nothing was written back: {shown(step.path)} was changed meanwhile", hint="run the task again")
        finally:
            os.close(source)
        before = msgspec.structs.replace(before, digest=digest)
    if after is not None and isinstance(node, File):
        with (half / "new" / str(index)).open("x+b") as target:
            target.write(node.data)
            target.flush()
            after = msgspec.structs.replace(after, digest=digest_of(target.fileno()))
    return Step(path=step.path, before=before, after=after)


def make_private(place: Path) -> None:
    """A directory that only we can enter, made if it isn't there; RefusedError when it can't be that."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = place.lstat()
    except OSError as error:
        raise _unusable(place, error) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise RefusedError(
            f"{place} is not a directory that only you can enter", hint=f"move it away, or `chmod 700` it if it is yours: {place}"
        )


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, made if it isn't there."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(place: Path, error: Exception) -> RefusedError:
    return RefusedError(f"the record in {place} can't be used: {error}", hint="see to its disk and permissions, or move it away")
