"""Keeps the one night or audit that may run: starts, records, resumes and stops it, and carries out what the gate decided.

What was recorded happened, what was not did not: after any interruption the worker is started again with its stored events. A promotion
that was recorded but not carried out (we were killed in between) is carried out at the next start.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from edgeevo.config import Loaded
from edgeevo.control import Finished, Told
from edgeevo.daemon.audits import Audits
from edgeevo.daemon.job import Job, decode
from edgeevo.daemon.telling import tell
from edgeevo.domain import Adapter, derive_seed, encode
from edgeevo.errors import EdgeevoError, ModelError, RefusedError, StoreError, WorkerError
from edgeevo.events import (
    NIGHTS_AT_ZERO,
    AdapterJudged,
    AdapterTrained,
    AuditRequest,
    Decision,
    Event,
    ModelFiles,
    NightEnded,
    NightRequest,
    Progress,
)
from edgeevo.host import JUMP_SECONDS, Host
from edgeevo.models import cards
from edgeevo.slots import Shelf
from edgeevo.store.writer import Owner, Store

WEIGHTS_MODULE = "edgeevo.models.weights"
MAX_FAILURES = 5
RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 600.0
STORE_RETRY_SECONDS = 30.0


class Keeper:
    """Use from the daemon's loop only. `say` passes Told and Finished to whoever follows."""

    def __init__(self, loaded: Loaded, store: Store, shelf: Shelf, host: Host, say: Callable[[Told | Finished], None]) -> None:
        self._loaded, self._store, self._shelf, self._wall, self._say = loaded, store, shelf, host.wall, say
        self._steady, self._watched_at = host.steady, host.steady()
        self._spoke_at = 0.0  # when the worker was started, or said something
        self._audits = Audits(loaded.config.audit.cache_dir, loaded.config.daemon.audit_module)
        self.job: Job | None = None
        self.owner: Owner | None = None
        self.progress: Progress | None = None
        self.asked = (
            False  # somebody commanded what runs, so that it isn't stopped for a busy box; else the window began it or goes on with it
        )
        self.problem = ""  # what the last failure was; empty: none since the last success
        self.retry_at = 0.0
        self._again = ""  # id of a commanded night or audit that waits for its next try
        self._heard = 0  # events recorded since the worker was started
        self._trained: str | None = None
        self._complete = False

    def carry_out(self) -> None:
        """Promotions that were recorded when we were killed; call once, after the start."""
        for owner, seq, incumbent, adapter in self._store.promotions_left():
            self._activate(adapter, incumbent, (owner, seq))

    # --- starting ---

    def night(self, cause: str, *, deadline_at: float | None = None) -> None:
        """Start a new night for `cause` (window, command or comparison). Raises ModelError when there is no verified model."""
        config, comparison = self._loaded.config, cause == "comparison"
        plan, active = config.night, None if comparison else self._shelf.serving
        if comparison:
            plan = msgspec.structs.replace(plan, evolution=False, examples=self._store.examples_of_last_night() or plan.examples)
        request = NightRequest(
            night_id="",
            seed=derive_seed("night", cause, self._store.count("night")),
            plan=plan,
            model=self._model(),
            spool_dir="",
            incumbent=active,
            incumbent_path=str(self._shelf.path(active.sha256)) if active else None,
            lineages=() if comparison else self._store.lineages(),
            moves=() if comparison else self._store.moves(NIGHTS_AT_ZERO),
        )
        self._start("night", cause, request.seed, encode(request), deadline_at, None)

    def audit(self, adapter: Adapter | None) -> None:
        """Start the audit of one adapter (None: the base). What was measured before, here or in the shared cache, is not measured again."""
        config = self._loaded.config
        request = AuditRequest(
            seed=config.audit.seed,
            tasks=config.audit.tasks,
            model=self._model(),
            threads=config.night.threads,
            groups=config.night.groups,
            adapter=adapter,
            adapter_path=str(self._shelf.path(adapter.sha256)) if adapter else None,
        )
        sha256 = adapter.sha256 if adapter else None
        known = self._store.audits_of(sha256) or self._audits.find(request)
        self._start("audit", "command", request.seed, encode(request), None, sha256, known)

    def _start(
        self, kind: str, cause: str, seed: int, request: bytes, deadline_at: float | None, sha256: str | None, known: tuple[Event, ...] = ()
    ) -> None:
        self._refuse_second()  # before anything is registered: what was refused must not begin some other time
        now = self._wall()
        name = self._store.start(kind, cause=cause, seed=seed, request=request, now=now, deadline_at=deadline_at, adapter_sha256=sha256)
        for event in known:
            self._store.record(name, event, now=now)
        started = next(owner for owner in self._store.unfinished() if owner.id == name)
        self.go_on(started, asked=cause != "window", deadline_at=deadline_at)

    def go_on(self, owner: Owner, *, asked: bool, deadline_at: float | None = None) -> None:
        """Start or resume the worker of `owner` behind its stored events, `asked` for or not; the model is verified anew."""
        self._refuse_second()
        model = self._model()
        self._store.resumed(owner.id, deadline_at)
        self.asked = asked
        self.owner, self.progress, self._trained, self._complete = owner, None, None, False
        self._heard, self._spoke_at = 0, self._steady()
        needs_weights = owner.kind == "night" and bool(model.gguf)
        try:
            if needs_weights:
                self.job = Job(owner.id, WEIGHTS_MODULE, {"model": model.gguf, "cache_dir": str(self._loaded.weights_dir)})
            else:
                self.job = self._play(owner, model)
        except WorkerError as error:
            self._failed(error)
        except StoreError as error:  # what can't be read will not be read the next time either: that counts as a failure of the work
            unreadable = isinstance(error.__cause__, msgspec.DecodeError)
            self._failed(WorkerError(str(error), hint=error.hint) if unreadable else error)
        except msgspec.DecodeError as error:
            self._failed(WorkerError(f"{owner.id} was asked for by another version of edgeevo: {error}", hint="start a new one"))
        except OSError as error:
            self._failed(self._unusable(error))

    def _refuse_second(self) -> None:
        if self.job is not None or self._again:
            raise RefusedError(
                f"{self.job.owner if self.job else self._again} is running", hint="wait for it, or stop it with Ctrl-C where it is followed"
            )

    def _unusable(self, error: OSError) -> StoreError:
        hint = "free disk space and see to its permissions; the work waits until then"
        return StoreError(f"state directory {self._loaded.state_dir} can't be used: {error}", hint=hint)

    def _play(self, owner: Owner, model: ModelFiles) -> Job:
        past = self._store.past(owner.id)
        if owner.kind == "audit":
            request = msgspec.json.decode(owner.request, type=AuditRequest)
            return Job(owner.id, self._loaded.config.daemon.audit_module, msgspec.structs.replace(request, model=model, past=past))
        night = msgspec.json.decode(owner.request, type=NightRequest)
        spool = self._loaded.state_dir / "spool" / owner.id
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        night = msgspec.structs.replace(night, night_id=owner.id, model=model, spool_dir=str(spool), past=past)
        return Job(owner.id, self._loaded.config.daemon.night_module, night)

    def _model(self) -> ModelFiles:
        """The verified base model. Without a card (a rehearsal) all fields are empty."""
        name = self._loaded.config.model.card
        if not name:
            return ModelFiles(gguf="", sha256="", card="", weights_dir="")
        path = self._loaded.card_path
        card = cards.load_card(path)
        return ModelFiles(gguf=str(cards.locate(card, self._loaded.models_dir)), sha256=card.sha256, card=str(path), weights_dir="")

    # --- listening ---

    def listen(self) -> None:
        """Read what the worker has said; call when `job` is readable. A failed worker is recorded, never raised."""
        assert self.job is not None
        self._spoke_at = self._steady()
        try:
            for line in self.job.lines():
                if self.job.module == WEIGHTS_MODULE:
                    self._weights_ready(decode(line, dict[str, str])["weights_dir"])
                    return
                self._hear(decode(line, Event))
            if self.job.ended:
                self._end()
        except EdgeevoError as error:
            self._failed(error)
        except OSError as error:
            self._failed(self._unusable(error))

    def watch(self) -> None:
        """Give up a worker that has said nothing for too long, as one that failed; call now and then. A box that slept is no silence."""
        limit, before, self._watched_at = self._loaded.config.daemon.silence_seconds, self._watched_at, self._steady()
        if self._watched_at - before > JUMP_SECONDS:
            self._spoke_at += self._watched_at - before
        if self.job is not None and self._steady() - self._spoke_at > limit:
            self._failed(
                WorkerError(f"{self.job.owner} has said nothing for {limit:.0f} s", hint="on a slow box raise daemon.silence_seconds")
            )

    def _weights_ready(self, weights_dir: str) -> None:
        assert self.job is not None and self.owner is not None
        self.job.close(0.0)
        self.job = None
        self.job = self._play(self.owner, msgspec.structs.replace(self._model(), weights_dir=weights_dir))

    def _hear(self, event: Event) -> None:
        assert self.owner is not None
        if isinstance(event, AdapterTrained):
            self._shelf.keep(Path(event.path), event.adapter)  # before it is recorded: a record without its file could not be carried out
        seq = self._store.record(self.owner.id, event, now=self._wall())
        self._heard += bool(seq)
        self.problem = "" if seq else self.problem
        match event:
            case Progress():
                self.progress = event
            case AdapterTrained():
                self._trained = event.adapter.sha256
                if self.owner.cause != "comparison":
                    self._shelf.stage(Path(event.path), event.adapter)
            case AdapterJudged() if event.judgement.decision is Decision.PROMOTE and self.owner.cause != "comparison":
                adapter = self._store.adapter(event.candidate_sha256)
                if adapter is None:
                    raise ModelError(
                        f"adapter {event.candidate_sha256[:12]} was judged but never trained", hint="the next night starts anew"
                    )
                self._activate(adapter, event.incumbent_sha256, (self.owner.id, seq))
            case NightEnded():
                self._complete = True
        if isinstance(event, Progress):
            self._say(Told(text=tell(event), phase=event.phase, done=event.done, total=event.total))
        else:
            self._say(Told(text=tell(event)))

    def _activate(self, adapter: Adapter, incumbent_sha256: str | None, judgement: tuple[str, int]) -> None:
        """Flip the slot and note that it was done; doing it twice does it once. Whom it won against must be what serves."""
        slots, serving = self._shelf.slots, self._shelf.serving
        if (serving.sha256 if serving else None) not in (incumbent_sha256, adapter.sha256):
            now, than = (sha256[:12] if sha256 else "the base" for sha256 in (serving.sha256 if serving else None, incumbent_sha256))
            self._note_slots("superseded", f"{judgement[0]} examined against {than}, but {now} serves", judgement)
            return
        if slots.active is None or slots.active.sha256 != adapter.sha256:
            try:
                if slots.candidate is None or slots.candidate.sha256 != adapter.sha256:
                    self._shelf.stage(self._shelf.path(adapter.sha256), adapter)
                self._shelf.activate(adapter.sha256)
            except ModelError as error:
                self._store.note("adapter", str(error), self._wall())
                self._note_slots("quarantine", str(error), judgement)
                return
        self._note_slots("activate", f"promoted by {judgement[0]}", judgement)

    def _note_slots(self, action: str, reason: str, judgement: tuple[str, int]) -> None:
        """What was done about a promotion, beside what really serves now."""
        active, previous = (slot.sha256 if slot else None for slot in (self._shelf.slots.active, self._shelf.slots.previous))
        self._store.slot_changed(action, active, previous, reason, self._wall(), judgement=judgement)

    def _end(self) -> None:
        """The worker ended by itself: the night is complete, or it stopped early and goes on another time."""
        assert self.job is not None and self.owner is not None
        owner, trained = self.owner, self._trained
        complete = self._complete or owner.kind == "audit"
        self._store.finish(owner.id, "ended" if complete else "interrupted", reason="" if complete else "ended early", now=self._wall())
        self._drop(0.0)
        if complete:
            self._tidy(owner)
        self._say(
            Finished(
                ok=complete, text=f"{owner.id} {'ended' if complete else 'ended early; it goes on later'}", owner=owner.id, adapter=trained
            )
        )

    def _tidy(self, owner: Owner) -> None:
        if owner.kind == "night":
            shutil.rmtree(self._loaded.state_dir / "spool" / owner.id, ignore_errors=True)
            return
        request = msgspec.json.decode(owner.request, type=AuditRequest)
        self._audits.keep(request, self._store.past(owner.id))

    def sweep(self) -> None:
        """Remove files that nothing needs any more: spools of what has ended, adapters beyond the number to keep."""
        if self.job is not None or self._again:
            return
        unfinished = {owner.id for owner in self._store.unfinished()}
        for spool in (self._loaded.state_dir / "spool").glob("*"):
            if spool.name not in unfinished:
                shutil.rmtree(spool, ignore_errors=True)
        if not unfinished:  # an audit that goes on later may be of any adapter
            self._shelf.sweep(self._loaded.config.store.keep_adapters)

    def _failed(self, error: EdgeevoError) -> None:
        """A failed worker is tried again, later each time, and given up after MAX_FAILURES in a row without a new event.

        When it was the store that failed, the work is not to blame: it waits until the store works again.
        """
        assert self.owner is not None
        owner, stored = self.owner, isinstance(error, StoreError)
        failures = owner.failures if stored else (0 if self._heard else owner.failures) + 1
        self._drop(self._loaded.config.daemon.stop_seconds)
        given_up = failures >= MAX_FAILURES
        self.problem = f"{owner.id}: {brief(error)}"
        wait = STORE_RETRY_SECONDS if stored else min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** (failures - 1))
        self.retry_at = self._wall() + wait
        again = not given_up and self.asked
        if again:
            self._again = owner.id
        with contextlib.suppress(StoreError):
            # What is tried again by itself counts as running: a daemon that is killed meanwhile goes on with it when it starts.
            status = "failed" if given_up else "running" if again else "interrupted"
            self._store.finish(owner.id, status, reason=brief(error), now=self._wall(), failures=failures)
            self._store.note("store" if stored else "worker", f"{owner.id}: {error}", self._wall())
        if given_up:
            self._say(Finished(ok=False, text=f"{owner.id} failed {failures} times: {brief(error)}", owner=owner.id))
        else:
            self._say(Told(text=f"{owner.id}: {brief(error)}; tried again in {wait:.0f} s"))

    def retry(self) -> None:
        """Go on with a commanded night or audit whose worker failed, once its waiting time is over; call at every tick."""
        if self._again and self.job is None and self._wall() >= self.retry_at:
            name, self._again = self._again, ""
            for owner in self._store.unfinished():
                if owner.id == name:
                    self.go_on(owner, asked=True, deadline_at=owner.deadline_at)

    @property
    def waiting(self) -> bool:
        """True while a commanded night or audit waits for its next try."""
        return bool(self._again)

    # --- stopping ---

    def stop(self, reason: str, *, for_good: bool = False) -> str:
        """Stop what runs; a night goes on in a later window unless `for_good` or it is a comparison. Returns its id, empty: nothing ran."""
        waiting, self._again = self._again, ""
        owner = self.owner or next((each for each in self._store.unfinished() if each.id == waiting), None)
        if owner is None:
            return ""
        self._drop(self._loaded.config.daemon.stop_seconds)
        over = for_good or owner.kind == "audit" or owner.cause == "comparison"
        self._store.finish(owner.id, "stopped" if over else "interrupted", reason=reason, now=self._wall())
        self._say(Finished(ok=False, text=f"{owner.id} stopped: {reason}" + ("" if over else "; it goes on later"), owner=owner.id))
        return owner.id

    def leave(self) -> None:
        """The daemon stops: end the worker, leave the record as running, so that the next start goes on with it."""
        if self.job is not None:
            self._drop(self._loaded.config.daemon.stop_seconds)

    def _drop(self, grace_seconds: float) -> None:
        if self.job is not None:
            self.job.close(grace_seconds)
        self.job = self.owner = self.progress = None


def brief(error: EdgeevoError) -> str:
    """An error on one line: where a worker's stderr is part of it, only its last line counts; the whole text is kept with the incident."""
    first, *more = str(error).strip().splitlines() or [""]
    return f"{first.partition(': Traceback')[0]}: {more[-1].strip()}"[:500] if more else first[:500]
