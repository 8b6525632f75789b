"""Hostile results: trees that are too deep, too many, too large, forbidden, or lead elsewhere. They are read within bounds, through no link."""

from __future__ import annotations

import msgspec

from edgeevo.domain import Changes, CommandResult, File, Link
from edgeevo.sandbox.abuse.case import ABUSE_LIMITS, ABUSE_STATE, Case, Holds, python

_ROOMY = msgspec.structs.replace(ABUSE_LIMITS, inodes=12_000, disk_bytes=64 << 20)
_AT = "/srv/app"
_ODD = ("a\nb", " ", "-rf", "x:y,z\\", "\\xff\\xfe", '"', "$(reboot)", "\x1b[2J", "é\u202e")


def _incomplete(most: int) -> Holds:
    return lambda result, changes: result.exit_code == 0 and not changes.complete and len(changes.nodes) <= most


def _little(result: CommandResult, changes: Changes) -> bool:
    size = sum(len(node.data) for node in changes.nodes.values() if isinstance(node, File))
    return result.exit_code == 0 and not changes.complete and size <= 16 << 20


def _modes(_: CommandResult, changes: Changes) -> bool:
    inside, names = changes.nodes.get(f"{_AT}/d/f"), changes.nodes.get(f"{_AT}/names")
    return isinstance(inside, File) and inside.data == b"x\n" and isinstance(names, File) and names.mode == 0


def _links(_: CommandResult, changes: Changes) -> bool:
    found = {path: node for path, node in changes.nodes.items() if isinstance(node, Link)}
    names = changes.nodes.get(f"{_AT}/names")
    return isinstance(names, Link) and names.target.endswith("/credentials") and len(found) == 4


def _special(_: CommandResult, changes: Changes) -> bool:
    return changes.nodes.get(f"{_AT}/names") == Link(target="") and changes.nodes.get(f"{_AT}/s") == Link(target="")


_TREES: tuple[tuple[str, str, Holds], ...] = (
    (
        "3,000 levels",
        python("import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('end','w')"),
        _incomplete(100),
    ),
    ("9,000 files", python("for i in range(9000): open(f'f{i}','w').close()"), _incomplete(8192)),
    ("sparse files", "for i in 1 2 3 4 5 6; do truncate -s 4M s$i; done; echo x > y", _little),
    ("modes 000", "mkdir d; echo x > d/f; chmod 000 d/f d names", _modes),
    (
        "odd names",
        python(
            "for n in " + repr([n for n in _ODD if "xff" not in n]) + ": open(n,'w').close()\nopen(b'\\xff\\xfe','w').close()", options="-I"
        ),
        lambda _, changes: {path.removeprefix(f"{_AT}/") for path in changes.nodes} == set(_ODD),
    ),
    (
        "names of 255 bytes and a path of 4,000",
        python("import os\nfor _ in range(15): os.mkdir('n'*255); os.chdir('n'*255)\nopen('n'*255,'w').close()"),
        lambda result, changes: result.exit_code == 0 and changes.complete and len(changes.nodes) == 16,
    ),
    ("immutable bits", "chattr +i names conf 2>/dev/null; chattr +a conf/app.toml 2>/dev/null; echo x > names; rm -r conf", lambda _, changes: changes.nodes.get(f"{_AT}/names") == File(data=b"x\n") and changes.nodes.get(f"{_AT}/conf", 0) is None),
    ("links to the host", "ln -sf @STATE@/credentials names; ln -s / root; ln -s loop loop; mkdir d; ln -s ../.. d/up", _links),
    ("a fifo and a socket as results", "rm names; mkfifo names; python3 -I -c 'import socket; socket.socket(1).bind(\"s\")'", _special),
    ("a thousand names of one file", python("import os\nfor i in range(1000): os.link('names',f'l{i}')"), lambda result, changes: result.exit_code == 0 and len(changes.nodes) == 1000),
    (
        "removing everything",
        "rm -rf --one-file-system --no-preserve-root / 2>/dev/null; echo gone > /tmp/gone",
        lambda _, changes: all(changes.nodes.get(path, 0) is None for path in ABUSE_STATE.nodes),
    ),
    ("removing the way to the loader", "chmod 755 /; rm -rf --one-file-system --no-preserve-root / 2>/dev/null", lambda _, changes: changes.complete),
    ("a working directory that leads out", "rm -rf /srv/app; ln -s /proc/1/root /srv/app", lambda _, changes: changes.nodes.get(_AT) == Link(target="/proc/1/root")),
    ("a parent that leads out", "cp -r /srv /tmp/srv; rm -rf /srv/*; ln -s /proc /srv/app; ln -s /cache /boxes 2>/dev/null; true", lambda _, changes: changes.nodes.get(_AT) == Link(target="/proc")),
)  # fmt: skip

TREES: tuple[Case, ...] = tuple(
    Case(name=name, kind="trees", command=command, wall="bounded reading, by descriptors", holds=holds, limits=_ROOMY)
    for name, command, holds in _TREES
)
