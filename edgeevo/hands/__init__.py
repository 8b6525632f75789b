"""Hands: write an agent's changes back to a real directory, and take them back again, whatever happens in between.

    with before(directory) as seen:                     # what is there before the agent is shown a view of it
        changes = ...                                   # what the agent did to its view
        apply(seen, changes, ledger)  ->  Journal       # RefusedError names each thing that can't be written back; then nothing was
    undo(ledger, run) / resume(ledger, run)             # from any process of the same user

All of this runs in the caller's process, as the caller. Nothing follows a link; every name goes from old to new in one step of the kernel;
the journal with both states is durable before the first of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from edgeevo.domain import Changes
from edgeevo.errors import EdgeevoError, RefusedError
from edgeevo.hands.comparing import is_the_one
from edgeevo.hands.evidence import code_behind
from edgeevo.hands.jobs import Job, Jobs, Kept, Progress, jobs_home
from edgeevo.hands.ledger import MAX_UNDO_BYTES, Journal, Ledger, Mark, home
from edgeevo.hands.place import Place, Seen, look_around, shown
from edgeevo.hands.plan import inside, outside, plan
from edgeevo.hands.refusing import concerns, refuse_directory
from edgeevo.hands.stepping import Before, Count, KillAt, go_on
from edgeevo.hands.transfer import Transfer

__all__ = [
    "MAX_UNDO_BYTES", "Before", "Count", "Job", "Jobs", "Journal", "Kept", "KillAt", "Ledger", "Progress", "Seen", "apply", "before",
    "code_behind", "concerns", "go_on", "home", "jobs_home", "outside", "refuse_directory", "resume", "undo",
]  # fmt: skip
MAX_NAMED = 8


def before(directory: str) -> Seen:
    """Everything in a directory before the agent works on it. RefusedError for what can't be worked on."""
    place = Place(os.fsencode(directory))
    try:
        return look_around(place)
    finally:
        place.close()


def apply(seen: Seen, changes: Changes, ledger: Ledger, *, instruction: str = "", step: Before = go_on) -> Journal | None:
    """Write the changes back; gives the journal, or None when there was nothing to write.

    RefusedError when something can't be written back: then nothing was, or what was has been put back. A process that is killed leaves a
    journal for `undo` and `resume`.
    """
    place = Place(seen.directory)
    try:
        with ledger.locked():
            _refuse_unfinished(ledger, place)
            planned = plan(place, seen, changes)
            if not planned.steps and all(parent.mode_before == parent.mode_after for parent in planned.parents):
                return None
            journal = ledger.record(place, planned, inside(changes, place.directory), instruction)
            transfer = Transfer(ledger, journal, step)
            try:
                _forwards(ledger, journal, transfer)
            finally:
                transfer.close()
            return journal
    finally:
        place.close()


def resume(ledger: Ledger, run: str | None = None, *, step: Before = go_on) -> Journal:
    """Finish an application that was broken off; RefusedError when there is none, or the directory was changed meanwhile."""
    with ledger.locked():
        journal = ledger.journal(run, ("applying",))
        phase = ledger.mark(journal.id).phase
        if phase != "applying":
            raise RefusedError(f"run {journal.id} is {phase}: there is nothing to finish", hint="`edgeevo undo` finishes an undoing")
        with _broken_off(f"finishing run {journal.id}", f"when that is cured, `edgeevo resume-apply {journal.id}` goes on"):
            transfer = Transfer(ledger, journal, step)
            try:
                _refuse_misfits(transfer.misfits(forwards=True, begun=True))
                transfer.changed |= {step.path for step in journal.steps}  # for all that we know
                _forwards(ledger, journal, transfer)
            finally:
                transfer.close()
        return journal


def undo(ledger: Ledger, run: str | None = None, *, step: Before = go_on, leave_changed: list[str] | None = None) -> Journal:
    """Give a directory back its original, bit for bit; RefusedError when what was written is not there any more as it was.

    With `leave_changed` what was changed since is left as it is and added to that list; its old content stays with the record.
    """
    with ledger.locked():
        journal = ledger.journal(run)
        mark = ledger.mark(journal.id)
        if mark.phase == "undone":
            raise RefusedError(f"run {journal.id} is undone already", hint="`edgeevo undo` without a run takes the last one that isn't")
        with _broken_off(f"undoing run {journal.id}", f"when that is cured, `edgeevo undo {journal.id}` goes on"):
            transfer = Transfer(ledger, journal, step)
            try:
                misfits = transfer.misfits(forwards=False, begun=mark.phase != "applied")
                if leave_changed is None:
                    _refuse_misfits(misfits)
                used = mark.used or tuple(path for path, at in transfer.times_ns().items() if mark.times_ns.get(path, at) != at)
                ledger.set_mark(journal.id, Mark(phase="undoing", used=used))
                left = transfer.carry_out(forwards=False, lenient=leave_changed is not None, keep_times=frozenset(used))
                if leave_changed is not None:
                    leave_changed += map(shown, left)
                _undone(ledger, journal, promised=bool(left), kept=tuple(transfer.kept))
            finally:
                transfer.close()
        return journal


@contextlib.contextmanager
def _broken_off(what: str, hint: str) -> Iterator[None]:
    """Whatever the system says no to, in the middle of the work, is told as ours, with the way to go on."""
    try:
        yield
    except OSError as error:
        raise RefusedError(f"{what} broke off: {error}", hint=hint) from error


def _forwards(ledger: Ledger, journal: Journal, transfer: Transfer) -> None:
    try:
        ledger.set_mark(journal.id, Mark(phase="applying"))
        transfer.carry_out(forwards=True)
        ledger.set_mark(journal.id, Mark(phase="applied", times_ns=transfer.times_ns(), kept=tuple(transfer.kept)))
    except (KeyboardInterrupt, OSError, EdgeevoError) as error:
        what = "writing back was stopped" if isinstance(error, KeyboardInterrupt) else f"writing back broke off ({error})"
        try:
            owed = _back(ledger, journal, transfer)
        except KeyboardInterrupt:
            raise RefusedError(
                f"{what}, and putting back what had been written was stopped as well: each file is either old or new",
                hint=f"`edgeevo undo {journal.id}` finishes putting it back",
            ) from error
        except (OSError, EdgeevoError) as second:
            raise RefusedError(
                f"{what}, and what was written could not be put back ({second})",
                hint=f"when that is cured, `edgeevo undo {journal.id}` puts it back",
            ) from error
        if owed:
            raise RefusedError(
                f"{what}, and not all of it could be put back{owed}",
                hint=f"`edgeevo undo --leave-changed {journal.id}` lets these be and keeps their originals with the record",
            ) from error
        if isinstance(error, KeyboardInterrupt):
            raise
        hint = error.hint if isinstance(error, EdgeevoError) else "the diff shows what would have been done"
        raise RefusedError(f"nothing was written back: {error}{_told_kept(transfer)}", hint=hint) from error


def _back(ledger: Ledger, journal: Journal, transfer: Transfer) -> str:
    """Put back what was written; what could not be is told, and its record stays, for it is the only place where the original is."""
    left = [path for path in transfer.carry_out(forwards=False, lenient=True) if path in transfer.changed]
    if not left:
        _undone(ledger, journal, kept=tuple(transfer.kept))
        return ""
    ledger.set_mark(journal.id, Mark(phase="undoing", kept=tuple(transfer.kept)))
    named = ", ".join(map(shown, left[:MAX_NAMED])) + (f" and {len(left) - MAX_NAMED} more" if len(left) > MAX_NAMED else "")
    return f": {named} {'was' if len(left) == 1 else 'were'} changed since{_told_kept(transfer)}"


def _told_kept(transfer: Transfer) -> str:
    return f"; what was displaced is in {', '.join(transfer.kept)}" if transfer.kept else ""


def _undone(ledger: Ledger, journal: Journal, *, promised: bool = False, kept: tuple[str, ...] = ()) -> None:
    ledger.set_mark(journal.id, Mark(phase="undone", promised=promised, kept=kept))
    if not promised:
        ledger.drop_contents(journal.id)


def _refuse_misfits(found: Sequence[str]) -> None:
    if found:
        more = f"; and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise RefusedError(
            f"nothing was done: {'; '.join(found[:MAX_NAMED])}{more}", hint="`edgeevo undo --leave-changed` undoes all but what is newer"
        )


def _refuse_unfinished(ledger: Ledger, place: Place) -> None:
    for run in ledger.ids():
        phase = ledger.mark(run).phase
        if phase in ("applying", "undoing"):
            journal = ledger.journal(run)
            if is_the_one(place, journal):
                word = "`edgeevo resume-apply` or `edgeevo undo`" if phase == "applying" else "`edgeevo undo`"
                raise RefusedError(f"run {run} on the same directory was broken off", hint=f"{word} finishes it")
