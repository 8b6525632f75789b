"""What goes from one command of a box to the next where its state asks for that: the working directory and the exported variables.

A trap of the shell writes both to a descriptor when the command ends; the next command is started with them. Whatever an agent writes there
itself is read within bounds and can only become the directory and environment of its own next command. A command that was killed, that
replaced the trap or that ended by `exec` hands nothing on: what was carried before stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from edgeevo.domain import Value
from edgeevo.sandbox.confine import CARRY_FD

MAX_CARRIED_BYTES, MAX_VARIABLES = 32 << 10, 256
# On the line of the command itself, so that the numbers of lines in messages of the shell stay right.
PRELUDE = f'trap \'{{ builtin printf "%s\\0" "${{PWD-}}"; /usr/bin/env -0; }} >&{CARRY_FD} 2>/dev/null\' EXIT; '
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_OF_THE_SHELL = frozenset((b"_", b"SHLVL", b"PWD", b"OLDPWD"))


class Carried(Value):
    """Where a command ended, and what it had exported."""

    cwd: bytes
    environment: Mapping[bytes, bytes]


def parse(data: bytes) -> Carried | None:
    """What the trap wrote; None when that is cut, too much, or no directory."""
    cwd, *pairs = data.split(b"\0")
    if len(data) > MAX_CARRIED_BYTES or len(pairs) < 2 or pairs.pop() or not cwd.startswith(b"/"):
        return None
    found = {}
    for pair in pairs:
        name, separator, value = pair.partition(b"=")
        if separator and _NAME.fullmatch(name) and name not in _OF_THE_SHELL:
            found[name] = value
    return Carried(cwd=cwd, environment=found) if len(found) <= MAX_VARIABLES else None
