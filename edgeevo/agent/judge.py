"""Decides whether a contract holds, from the end state, the runner's own log, and re-runs in a fresh sandbox; runs no agent code itself.

    judge(task, changes, stdout, rerun)  →  Verdict

The agent's sandbox is closed before a verdict is made; `rerun` opens another one over the recorded end state.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from edgeevo.domain import (
    Absent,
    Changes,
    Clause,
    CommandResult,
    Content,
    Directory,
    File,
    Link,
    Node,
    Order,
    Present,
    Printed,
    Rerun,
    State,
    Task,
    Untouched,
    Verdict,
)
from edgeevo.errors import TaskError

Rerunner = Callable[[State, str], CommandResult]


def end_nodes(initial: Mapping[str, Node], changes: Changes) -> dict[str, Node]:
    """The tree at the end of an episode: the initial nodes with the changes laid over them."""
    nodes = dict(initial)
    for path, node in changes.nodes.items():
        if node is None:
            for gone in [p for p in nodes if p == path or p.startswith(path + "/")]:
                del nodes[gone]
    nodes.update({path: node for path, node in changes.nodes.items() if node is not None})
    return nodes


def same_lines(found: Sequence[str], expected: Sequence[str], order: Order, cwd: str) -> bool:
    """Compare lines: runs of blanks count as one, trailing empty lines are free; see `Order` for the rest."""

    def clean(lines: Sequence[str]) -> list[str]:
        out = [" ".join(line.split()) for line in lines]
        while out and not out[-1]:
            out.pop()
        if order in (Order.PATHS, Order.PATH_LINES):
            out = [posixpath.normpath(posixpath.join(cwd, line)) for line in out]
        return out

    left, right = clean(found), clean(expected)
    return Counter(left) == Counter(right) if order in (Order.SET, Order.PATHS) else left == right


def _text(data: bytes) -> list[str] | None:
    try:
        return data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def judge(task: Task, changes: Changes, stdout: bytes, rerun: Rerunner) -> Verdict:
    """Check every clause of the contract; `stdout` is what the last command before submission printed."""
    if not changes.complete:
        return Verdict(passed=False, reasons=("the end state is larger than the judge reads",))
    nodes = end_nodes(task.initial.nodes, changes)
    reasons = [why for clause in task.contract if (why := _violation(clause, task, nodes, stdout, rerun))]
    return Verdict(passed=not reasons, reasons=tuple(reasons))


def _violation(clause: Clause, task: Task, nodes: Mapping[str, Node], stdout: bytes, rerun: Rerunner) -> str:
    """Why a clause does not hold, or an empty string."""
    cwd = task.initial.cwd
    match clause:
        case Printed(lines=lines, order=order):
            found = _text(stdout)
            return (
                ""
                if found is not None and same_lines(found, lines, order, cwd)
                else f"printed: expected {len(lines)} line(s), found others"
            )
        case Content(path=path, lines=lines, order=order):
            node = nodes.get(path)
            found = _text(node.data) if isinstance(node, File) else None
            return "" if found is not None and same_lines(found, lines, order, cwd) else f"content of {path} is not as required"
        case Present(path=path, node=expected, mode=mode):
            return _present(path, nodes.get(path), expected, mode)
        case Absent(path=path):
            return f"{path} still exists" if path in nodes else ""
        case Untouched(except_paths=free):
            return _touched(task.initial.nodes, nodes, set(free))
        case Rerun(path=path, command=command, lines=lines, order=order):
            if not isinstance(nodes.get(path), File):
                return f"{path} is not a file"
            try:
                result = rerun(State(nodes=_rerunnable(nodes, task.initial.nodes), cwd=cwd, home=task.initial.home), command)
            except TaskError as error:  # no state of ours, so what the agent left behind is at fault
                return f"{path} can't be read again: {error}"
            found = _text(result.stdout)
            good = result.exit_code == 0 and found is not None and same_lines(found, lines, order, cwd)
            return "" if good else f"{path} does not hold what it should"


def _rerunnable(nodes: Mapping[str, Node], initial: Mapping[str, Node]) -> dict[str, Node]:
    """The nodes over which something of ours is run again.

    /etc is as the task had it: a library preloaded there, a loader's cache or an alternative of a tool would answer in our command's place.
    Fifos, sockets and the like, which changes give as links to nothing, can't be laid out again.
    """
    makeable = {path: node for path, node in nodes.items() if not isinstance(node, Link) or node.target}
    ours = {path: node for path, node in initial.items() if _is_configuration(path)}
    return {path: node for path, node in makeable.items() if not _is_configuration(path)} | ours


def _is_configuration(path: str) -> bool:
    return f"{path}/".startswith("/etc/")


def _present(path: str, found: Node | None, expected: Node, mode: int | None) -> str:
    same = type(found) is type(expected)
    if isinstance(found, File) and isinstance(expected, File):
        same = found.data.rstrip(b"\n") == expected.data.rstrip(b"\n")
    if isinstance(found, Link) and isinstance(expected, Link):
        same = _target(path, found) == _target(path, expected)
    if not same:
        return f"{path} is not as required"
    if mode is not None and isinstance(found, File | Directory) and found.mode != mode:
        return f"mode of {path}: expected {mode:o}, found {found.mode:o}"
    return ""


def _target(path: str, link: Link) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link.target))


def _touched(initial: Mapping[str, Node], nodes: Mapping[str, Node], free: set[str]) -> str:
    for path, before in initial.items():
        if path in free or any(path.startswith(other + "/") for other in free if other not in nodes):
            continue
        after = nodes.get(path)
        if after is None:
            return f"{path} is gone"
        if isinstance(before, File) and isinstance(after, File):
            if before.data != after.data or before.mode != after.mode:
                return f"{path} was changed"
        elif isinstance(before, Link | Directory) and type(before) is type(after) and before != after:
            return f"{path} was changed"
        elif type(before) is not type(after):
            return f"{path} was replaced"
    return ""
