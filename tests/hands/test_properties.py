"""Arbitrary trees, arbitrary changes: what is written back is what was asked for, and undoing gives the original bit for bit."""

from __future__ import annotations

import base64
import os
import shlex
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.hands import Ledger, apply, before, undo
from edgeevo.sandbox import Sandbox
from tests.hands.conftest import photograph

names = st.sampled_from(["a", "b", "c d", "é", "n\nl", "-x", "\\xff"])
leaves = st.one_of(
    st.builds(File, data=st.binary(max_size=40), mode=st.sampled_from([0o644, 0o600, 0o444, 0o755])),
    st.builds(Link, target=st.sampled_from(["a", "/etc/passwd", "../..", "nowhere"])),
)
trees = st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=12)
tops = st.dictionaries(names, trees, max_size=4)
Shape = Node | dict


def flat(tree: Shape, path: str) -> dict[str, Node]:
    """A nested tree as nodes by path."""
    if not isinstance(tree, dict):
        return {path: tree}
    found: dict[str, Node] = {path: Directory(mode=0o755)} if path else {}
    for name, inner in tree.items():
        found |= flat(inner, f"{path}/{name}" if path else name)
    return found


def make(here: Path, nodes: dict[str, Node]) -> None:
    """The tree on disk."""
    for path, node in nodes.items():
        place = here / path
        match node:
            case Directory():
                place.mkdir()
            case Link(target=target):
                place.symlink_to(target)
            case File():
                place.write_bytes(node.data)
                place.chmod(node.mode)


def told(here: Path) -> dict[str, Node]:
    """The tree from disk."""
    found: dict[str, Node] = {}
    for path, shot in photograph(here).items():
        if path:
            place = here / os.fsdecode(path)
            kind = Link(target=os.fsdecode(shot.content)) if place.is_symlink() else None
            found[os.fsdecode(path)] = kind or (Directory(mode=shot.mode) if place.is_dir() else File(data=shot.content, mode=shot.mode))
    return found


@settings(max_examples=80)
@given(tops, tops)
def test_any_tree_becomes_any_other_and_comes_back(old: dict[str, Shape], new: dict[str, Shape]) -> None:
    """Files, links and directories in every combination of kinds and places."""
    first, second = flat(old, ""), flat(new, "")
    with tempfile.TemporaryDirectory() as name:
        here = Path(name) / "project"
        here.mkdir()
        make(here, first)
        original, seen = photograph(here), before(str(here))
        nodes: dict[str, Node | None] = {f"{here}/{path}": None for path in first if path not in second}
        nodes |= {f"{here}/{path}": node for path, node in second.items() if first.get(path) != node}
        ledger = Ledger(Path(name) / "undo")
        done = apply(seen, Changes(nodes=nodes), ledger)
        assert told(here) == second
        if done is not None:
            undo(ledger)
        assert photograph(here) == original


def commands(nodes: dict[str, Node]) -> str:
    """A shell command that leaves exactly this tree in the working directory."""
    lines = ["find . -mindepth 1 -delete"]
    for path, node in nodes.items():
        name = shlex.quote(f"./{path}")
        match node:
            case Directory(mode=mode):
                lines.append(f"mkdir {name}; chmod {mode:o} {name}")
            case Link(target=target):
                lines.append(f"ln -sn -- {shlex.quote(target)} {name}")
            case File(data=data, mode=mode):
                lines.append(f"echo {base64.b64encode(data).decode()} | base64 -d > {name}; chmod {mode:o} {name}")
    return "\n".join(lines)


@pytest.mark.sandbox
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(tops, tops)
def test_what_an_agent_makes_of_any_tree_is_written_back_and_undone(sandbox: Sandbox, old: dict[str, Shape], new: dict[str, Shape]) -> None:
    """Run in the real sandbox, diff, write back, undo: the agent's tree, then the original bit for bit."""
    first, second = flat(old, ""), flat(new, "")
    with tempfile.TemporaryDirectory() as name:
        here = (Path(name) / "project").resolve()
        here.mkdir()
        make(here, first)
        original, seen = photograph(here), before(str(here))
        box = sandbox.open_directory(here)
        try:
            assert box.run(commands(second)).stderr == b""
            changes = box.changes()
        finally:
            box.close()
        ledger = Ledger(Path(name) / "undo")
        done = apply(seen, changes, ledger)
        assert told(here) == second
        if done is not None:
            undo(ledger)
        assert photograph(here) == original
