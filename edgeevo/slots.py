"""Which adapter serves: active, previous, candidate and factory slots over immutable files named by their SHA-256.

What serves is the active adapter, else the factory adapter that was installed, else (none was) the base without any.

    shelf = Shelf(state_dir)                  # reads slots.json; garbage falls back to the last good generation, then to factory
    shelf.install(find(loaded))               # the factory slot; None: the base without an adapter
    shelf.stage(path, adapter)                # copy, fsync, verify: the candidate
    shelf.activate(adapter.sha256)            # hashed again; the former active becomes previous
    shelf.rollback()                          # previous (or factory) serves again
    shelf.serving                             # None: the base

A file whose bytes no longer match its name is moved aside and named in the error: a zeroed adapter never serves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from edgeevo.domain import Adapter, Value, encode
from edgeevo.durable import sync_directory, write_durably
from edgeevo.errors import ModelError, RefusedError
from edgeevo.models import sha256_of
from edgeevo.models.factory import Factory

CHUNK_BYTES = 1 << 20


class Slots(Value):
    """What slots.json holds. None in `active` means factory: the installed factory adapter, or the base when there is none."""

    generation: int = 0  # counts writes, so that the newer of two good files is known
    active: Adapter | None = None
    previous: Adapter | None = None
    candidate: Adapter | None = None


class Shelf:
    """The adapters directory and its slots; used by the daemon alone."""

    def __init__(self, state_dir: Path) -> None:
        self.directory = state_dir / "adapters"
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = state_dir / "slots.json"
        self._backup = state_dir / "slots.json.previous"
        self.slots, self.incident = self._load()
        self.factory: Factory | None = None

    def path(self, sha256: str) -> Path:
        """Where the adapter file with this hash lies (or would lie)."""
        return self.directory / f"{sha256}.gguf"

    @property
    def serving(self) -> Adapter | None:
        """What answers by day and is a night's incumbent: the active adapter, else the factory adapter; None: the base."""
        return self.slots.active or (self.factory.adapter if self.factory else None)

    @property
    def serving_path(self) -> Path | None:
        """The file to serve, or None for the base."""
        return self.path(self.serving.sha256) if self.serving else None

    @property
    def factory_name(self) -> str:
        """What the factory state is, in words."""
        return f"factory ({self.factory.name})" if self.factory else "the base model without an adapter"

    def install(self, factory: Factory | None) -> None:
        """Make this verified adapter the factory slot, its file kept beside the others; None empties it. ModelError: it can't be kept."""
        self.factory = None
        if factory is not None:
            self.keep(factory.path, factory.adapter)
            self.factory = factory

    def retire(self, base_sha256: str) -> tuple[Adapter, ...]:
        """Empty every slot whose adapter was trained on another base; what served then is factory. Returns the adapters."""
        held = {"active": self.slots.active, "previous": self.slots.previous, "candidate": self.slots.candidate}
        foreign = {slot: adapter for slot, adapter in held.items() if adapter and adapter.base_sha256 != base_sha256}
        if foreign:
            self._store(**dict.fromkeys(foreign))
        return tuple(foreign.values())

    def stage(self, source: Path, adapter: Adapter) -> Path:
        """`keep` a file and make it the candidate."""
        target = self.keep(source, adapter)
        self._store(candidate=adapter)
        return target

    def keep(self, source: Path, adapter: Adapter) -> Path:
        """Copy `source` in under its hash, durably. Raises ModelError when it is missing or has another hash."""
        target = self.path(adapter.sha256)
        try:
            if target.exists() and sha256_of(target) == adapter.sha256:
                return target
            found = _copy_durably(source, target)
        except OSError as error:
            raise ModelError(f"adapter file {source} can't be staged: {error.strerror}", hint="the next night trains it again") from error
        if found != adapter.sha256:
            target.unlink()
            raise ModelError(
                f"adapter file {source} has hash {found[:12]}, expected {adapter.sha256[:12]}", hint="the next night trains it again"
            )
        return target

    def sweep(self, keep: int) -> list[str]:
        """Remove what no slot holds, but for the `keep` files that were kept last; leftovers of copies go, too. Returns the names."""
        factory = self.factory.adapter if self.factory else None
        held = {self.path(a.sha256).name for a in (self.slots.active, self.slots.previous, self.slots.candidate, factory) if a}
        loose = sorted((p for p in self.directory.iterdir() if p.name not in held), key=lambda p: p.stat().st_mtime_ns, reverse=True)
        gone = [p for p in loose if p.suffix == ".new"] + [p for p in loose if p.suffix != ".new"][keep:]
        for path in gone:
            path.unlink()
        return [path.name for path in gone]

    def activate(self, sha256: str) -> None:
        """Let the candidate with this hash serve, after hashing its file again. ModelError: file altered; RefusedError: not staged."""
        candidate = self.slots.candidate
        if candidate is None or candidate.sha256 != sha256:
            raise RefusedError(f"adapter {sha256[:12]} is not the staged candidate", hint="`edgeevo adapters` lists what there is")
        self._verify(candidate)
        self._store(active=candidate, previous=self.slots.active, candidate=None)

    def rollback(self) -> Adapter | None:
        """Let the previous adapter serve again, or factory when there is none or its file is damaged. Returns it; None: factory."""
        if self.slots.active is None:
            raise RefusedError(f"{self.factory_name} serves already", hint="there is nothing to roll back to")
        previous = self.slots.previous
        if previous is not None:
            try:
                self._verify(previous)
            except ModelError:
                previous = None
        self._store(active=previous, previous=None)
        return previous

    def verify_active(self) -> None:
        """Hash what serves. On damage the file is quarantined, the slots roll back, and ModelError says so."""
        if self.slots.active is not None:
            try:
                self._verify(self.slots.active)
            except ModelError:
                self.rollback()
                raise

    def _verify(self, adapter: Adapter) -> None:
        path = self.path(adapter.sha256)
        found = sha256_of(path) if path.is_file() else "nothing"
        if found == adapter.sha256:
            return
        aside = path.with_suffix(".gguf.quarantined")
        with contextlib.suppress(FileNotFoundError):
            path.rename(aside)
        raise ModelError(
            f"adapter {path.name} no longer has its hash (found {found[:12]}); moved to {aside.name}",
            hint="the adapter before it serves now; suspect the disk: see `edgeevo doctor`",
        )

    def _load(self) -> tuple[Slots, str]:
        damaged = False
        for file in (self._file, self._backup):
            try:
                slots = msgspec.json.decode(file.read_bytes(), type=Slots)
            except FileNotFoundError:
                continue
            except (OSError, msgspec.DecodeError):
                damaged = True
                continue
            return slots, f"slots.json was unreadable; generation {slots.generation} restored" if damaged else ""
        return Slots(), "slots.json was unreadable; factory restored" if damaged else ""

    def _store(self, **changes: Adapter | None) -> None:
        """Keep the last good generation beside the new one; each step is durable before the next."""
        slots = msgspec.structs.replace(self.slots, generation=self.slots.generation + 1, **changes)
        if self.slots.generation > 0:
            write_durably(self._backup, encode(self.slots))
        write_durably(self._file, encode(slots))
        self.slots = slots


def _copy_durably(source: Path, target: Path) -> str:
    """Copy in chunks beside `target`, sync, rename; returns the hash of what was written."""
    temporary = target.with_name(target.name + ".new")
    digest = hashlib.sha256()
    with source.open("rb") as reader, temporary.open("wb") as writer:
        for chunk in _chunks(reader):
            digest.update(chunk)
            writer.write(chunk)
        writer.flush()
        os.fsync(writer.fileno())
    temporary.replace(target)
    sync_directory(target.parent)
    return digest.hexdigest()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
