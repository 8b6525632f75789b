"""Does the sandbox hold? Every hostile case that ships, as root and as a user without privileges: the table, and the number of escapes.

    python benchmarks/abuse.py [--quick] [--json FILE]

`--quick` leaves out the cases that wait for a clock. Ends with 1 when anything escaped. Who isn't root gets the table of one user.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _service_user import ServiceUser

from edgeevo.domain import encode
from edgeevo.sandbox.abuse import Finding

ROOT = Path(__file__).resolve().parents[1]
NOBODY = "a user without privileges"


# One text for both users: the second one runs it in a process of its own.
ATTACK = """
from edgeevo.domain import LimitHit, encode
from edgeevo.sandbox import open_sandbox
from edgeevo.sandbox.abuse import CASES, Attacker, Host

with Host() as host, open_sandbox() as sandbox:
    attacker = Attacker(sandbox, host)
    slow = (LimitHit.WALL, LimitHit.CPU) if QUICK else ()
    print(encode([attacker.attack(case) for case in CASES if case.applies and case.limit not in slow]).decode())
"""


def attack(user: str, *, quick: bool) -> list[Finding]:
    """Every case in turn, in a process of that user."""
    code = ATTACK.replace("QUICK", str(quick))
    if user != NOBODY:
        own = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
        return msgspec.json.decode(subprocess.run(own, stdout=subprocess.PIPE, check=True).stdout, type=list[Finding])
    with ServiceUser() as nobody:
        return msgspec.json.decode(nobody.run(code), type=list[Finding])


def main() -> int:
    """Attack, print the table, write the claims."""
    parser = argparse.ArgumentParser(description="Try every hostile case as root and as a user without privileges.")
    parser.add_argument("--quick", action="store_true", help="without the cases that wait for a clock")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims to FILE and the findings beside it")
    options = parser.parse_args()
    users = ("root", NOBODY) if os.getuid() == 0 else ("this user",)
    claims: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for user in users:
        started = time.monotonic()
        found = attack(user, quick=options.quick)
        escaped = [finding for finding in found if finding.escapes]
        for finding in found:
            print(f"{'ESCAPED' if finding.escapes else 'contained'}  {user}  {finding.kind}: {finding.case}  by {finding.by}")
            for escape in finding.escapes:
                print(f"           {escape}")
        print(f"{user}: {len(found)} cases, {len(escaped)} escapes, {time.monotonic() - started:.0f} s", flush=True)
        rows += [{"user": user} | json.loads(encode(finding)) for finding in found]
        claims.append(
            {
                "claim": f"escapes among the hostile cases, as {user}",
                "figure": len(escaped),
                "unit": "cases",
                "op": "<=",
                "target": 0,
                "against": "the walls that docs/safety.md names",
                "n": len(found),
                "interval": [len(escaped), len(escaped)],  # the cases are all there are, not a sample
            }
        )
    if options.json:
        raw = options.json.with_suffix(".rows.jsonl")
        raw.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        options.json.write_text(json.dumps([claim | {"rows": raw.name} for claim in claims], indent=1) + "\n", encoding="utf-8")
    return 1 if any(claim["figure"] for claim in claims) and not options.json else 0


if __name__ == "__main__":
    sys.exit(main())
