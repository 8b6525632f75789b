"""What the daemon answers to each request; runs in its loop and never waits: slow answers are sent later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgeevo import __version__
from edgeevo.agent.policy import Reply
from edgeevo.control import (
    MAX_TEXT_BYTES,
    AuditAsked,
    FeedbackGiven,
    Finished,
    Health,
    NightAsked,
    ProposeAsked,
    Proposed,
    Recorded,
    Request,
    RollbackAsked,
    RunEnded,
    Said,
    Status,
    StatusAsked,
    StopAsked,
    Told,
    failed,
)
from edgeevo.daemon.door import Connection
from edgeevo.domain import Adapter
from edgeevo.errors import EdgeevoError, ModelError, RefusedError
from edgeevo.idle import Busy

MAX_NOTE_BYTES = 2000

if TYPE_CHECKING:
    from edgeevo.daemon.service import Service


def answer(service: Service, connection: Connection, request: Request) -> None:
    """Answer now, or arrange that it is answered. Raises an EdgeevoError, which becomes Failed."""
    match request:
        case StatusAsked():
            connection.send(status(service))
        case ProposeAsked():
            _propose(service, connection, request)
        case RunEnded():
            _record(service, connection, request)
        case FeedbackGiven():
            _feedback(service, connection, request)
        case NightAsked():
            _night(service, connection, request)
        case AuditAsked():
            adapter = which(service, request.adapter)
            service.keeper.audit(adapter)
            _follow(service, connection)
        case StopAsked():
            stopped = service.keeper.stop("asked to stop")
            connection.send(Finished(ok=True, text=f"{stopped} stopped" if stopped else "nothing was running", owner=stopped))
        case RollbackAsked():
            connection.send(Finished(ok=True, text=_rollback(service)))


def status(service: Service) -> Status:
    """The box at this moment."""
    keeper, judged, slots = service.keeper, service.judged, service.shelf.slots
    busy = judged if isinstance(judged, Busy) else None
    owner = keeper.owner
    name, summary = service.store.last_night()
    health = [Health(name=key, detail=detail) for key, detail in service.health.items()]
    if keeper.problem:
        health.append(Health(name="worker", detail=keeper.problem))
    progress = keeper.progress
    return Status(
        version=__version__,
        pid=service.pid,
        state=owner.kind if owner else "busy" if busy else "idle",
        reason=str(busy.reason) if busy else "",
        detail=busy.detail if busy else "",
        next_try_seconds=busy.next_try_seconds if busy and not owner else 0.0,
        up_seconds=service.host.steady() - service.started_at,
        window=service.loaded.config.idle.window,
        others_load_cores=service.history[-1].others_load_cores if service.history else None,
        working_on=owner.id if owner else "",
        phase=str(progress.phase) if progress else "",
        done=progress.done if progress else 0,
        total=progress.total if progress else 0,
        model=service.loaded.config.model.card,
        model_loaded=service.desk.loaded,
        adapter=slots.active.sha256 if slots.active else None,
        factory=service.shelf.factory.name if service.shelf.factory else "",
        previous=slots.previous.sha256 if slots.previous else None,
        last_night=f"{name}: {summary}" if name else "",
        waiting=service.desk.waiting,
        health=tuple(health),
    )


def which(service: Service, name: str | None) -> Adapter | None:
    """The adapter that a caller means: None = what serves, "base" = none, "factory", else the first digits of a hash."""
    shelf = service.shelf
    if name is None:
        return shelf.serving
    if name == "base":
        return None
    factory = shelf.factory.adapter if shelf.factory else None
    if name == "factory":
        if factory is None:
            raise ModelError("no factory adapter is installed", hint="`edgeevo status` says why; `base` is the model without an adapter")
        return factory
    found = {each.sha256: each for each in (service.store.adapter(name), factory) if each and each.sha256.startswith(name)}
    adapter = found.popitem()[1] if len(found) == 1 else None
    if adapter is None or not shelf.path(adapter.sha256).is_file():
        raise ModelError(f"no single adapter starts with {name!r}", hint="`edgeevo adapters` lists them; also: `factory`, `base`")
    return adapter


def _propose(service: Service, connection: Connection, request: ProposeAsked) -> None:
    adapter = which(service, request.adapter)
    path = service.shelf.path(adapter.sha256) if adapter else None
    service.asked_at = service.host.steady()

    def done(replies: list[Reply] | None, policy_id: str, error: EdgeevoError | None) -> None:
        service.asked_at = service.host.steady()
        said = tuple(Said(text=reply.text, finish=reply.finish) for reply in replies or ())
        connection.send(failed(error) if error else Proposed(replies=said, policy_id=policy_id))

    service.desk.ask(request.conversations, (path, adapter), done, caller=connection)


def _feedback(service: Service, connection: Connection, request: FeedbackGiven) -> None:
    """Kept with the caller's user, as the kernel tells it; about one's own runs only."""
    if len(request.note.encode()) > MAX_NOTE_BYTES:
        raise RefusedError(f"the note is longer than {MAX_NOTE_BYTES} bytes", hint="say it in fewer words")
    run = service.store.run_of(connection.uid, request.run)
    if run is None:
        what = "no real task of yours is recorded" if request.run is None else f"no run {request.run} of yours is recorded"
        raise RefusedError(what, hint="`edgeevo run` prints the number of a run that was recorded")
    service.store.add_feedback(run, connection.uid, service.host.wall(), good=request.good, note=request.note)
    connection.send(Recorded(run=run))


def _record(service: Service, connection: Connection, request: RunEnded) -> None:
    texts = msgspec.structs.asdict(request)
    for name in ("instruction", "directory", "check_command", "policy_id", "ending"):
        if len((texts[name] or "").encode()) > MAX_TEXT_BYTES:
            raise RefusedError(f"{name} is longer than {MAX_TEXT_BYTES} bytes; the task is not recorded", hint="say it in fewer words")
    connection.send(Recorded(run=service.store.add_run({**texts, "uid": connection.uid}, service.host.wall())))


def _night(service: Service, connection: Connection, request: NightAsked) -> None:
    """A night that already runs is followed; else one that was interrupted goes on; else a new one starts."""
    keeper = service.keeper
    running = keeper.owner
    wall = None if request.for_seconds is None else service.host.wall() + request.for_seconds
    if running is None or running.kind != "night" or request.comparison:
        service.desk.release()
        waiting = [owner for owner in service.store.unfinished() if owner.kind == "night" and owner.cause != "comparison"]
        if waiting and not request.comparison:
            keeper.go_on(waiting[0], asked=True, deadline_at=wall)
        else:
            keeper.night("comparison" if request.comparison else "command", deadline_at=wall)
        service.deadline_at = None if request.for_seconds is None else service.host.steady() + request.for_seconds
    _follow(service, connection)


def _follow(service: Service, connection: Connection) -> None:
    owner = service.keeper.owner
    if owner is None:
        connection.send(Told(text="waiting for the worker"), last=False)
    else:
        connection.send(Told(text=f"{owner.id} runs"), last=False)
    service.followers.append(connection)


def _rollback(service: Service) -> str:
    now_serves = service.shelf.rollback()
    sha256 = now_serves.sha256 if now_serves else None
    service.store.slot_changed("rollback", sha256, None, "asked for", service.host.wall())
    return f"adapter {sha256[:12]} serves again" if sha256 else f"{service.shelf.factory_name} serves again"
