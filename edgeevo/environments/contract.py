"""What must hold at the end of a drawn program: the difference that its references made to the state."""

from __future__ import annotations

from edgeevo.domain import Absent, Clause, Content, File, Link, Order, Present, Printed, Rerun, Untouched
from edgeevo.environments.draft import Draft, differs


def contract(draft: Draft) -> tuple[Clause, ...]:
    """What must hold at the end: the difference that the references made, the printed result, and that nothing else was touched."""
    clauses: list[Clause] = []
    old, new = draft.initial.nodes, draft.scene.world.nodes
    touched = sorted(p for p in {*old, *new} if differs(old.get(p), new.get(p)))
    for path in touched:
        before, after = old.get(path), new.get(path)
        if after is None:
            clauses.append(Absent(path=path))
        elif path in draft.scene.world.probes:
            command, lines = draft.scene.world.probes[path]
            clauses.append(Rerun(path=path, command=command, lines=lines))
        elif isinstance(after, File):
            mode = after.mode if isinstance(before, File) and before.mode != after.mode else None
            same = isinstance(before, File) and before.data == after.data
            if mode is not None or same:
                clauses.append(Present(path=path, node=after, mode=mode))
            else:
                clauses.append(Content(path=path, lines=tuple(after.data.decode().splitlines()), order=draft.soft.get(path, Order.LINES)))
        else:
            mode = after.mode if not isinstance(after, Link) and before is not None else None
            clauses.append(Present(path=path, node=after, mode=mode))
    if draft.printed is not None:
        clauses.append(Printed(lines=tuple(draft.printed), order=draft.order))
    return (*clauses, Untouched(except_paths=tuple(touched)))
