"""Does the sandbox hold on this machine? Ships with edgeevo: `edgeevo doctor` runs it, and so can whoever writes another Sandbox."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

from edgeevo.domain import Changes, CommandResult, File, LimitHit, Limits, Link, State, Value
from edgeevo.errors import EdgeevoError
from edgeevo.sandbox.client import RunnerSandbox, check_installed
from edgeevo.sandbox.confine import BWRAP
from edgeevo.sandbox.layers import Abilities, Tier

OLDEST_BUBBLEWRAP = (0, 8)  # the first with --disable-userns
CHECK_LIMITS = Limits(
    wall_seconds=30.0,  # each check ends by itself or by the limit that it is about
    cpu_seconds=10,
    output_bytes=16_384,
    memory_bytes=128 << 20,
    disk_bytes=4 << 20,
    inodes=200,
    file_bytes=2 << 20,
    processes=32,
)
CHECK_STATE = State(
    nodes={
        "/srv/check/numbers": File(data=b"3\n1\n2\n", age_seconds=7200),
        "/srv/check/old/a": File(data=b"a\n"),
        "/srv/check/old/b": File(data=b"b\n", mode=0o600),
        "/srv/check/link": Link(target="numbers"),
    },
    cwd="/srv/check",
    absent_tools=("awk",),
)


class ProbeResult(Value):
    """One check: `error` says what was found instead, `cure` what to do; both are empty when it is ok. `fact` is worth knowing then."""

    name: str
    ok: bool
    fact: str = ""
    error: str = ""
    cure: str = ""


class _Check(Value):
    name: str
    command: str
    holds: Callable[[CommandResult, Changes], bool]
    cure: str = "report this as a fault of edgeevo, with `edgeevo doctor --json`"


_CHECKS = (
    _Check(
        name="commands run in the working directory, output and errors apart",
        command="sort numbers; echo oops >&2; exit 3",
        holds=lambda r, _: (r.exit_code, r.stdout, r.stderr) == (3, b"1\n2\n3\n", b"oops\n"),
        cure="bash must be at /usr/bin/bash",
    ),
    _Check(
        name="changes stay in the box and can be read back, a replaced directory included",
        command="rm -r old && mkdir old && echo c > old/c && chmod 640 numbers",
        holds=lambda r, c: (
            r.exit_code == 0
            and c.complete
            and c.nodes
            == {
                "/srv/check/old/a": None,
                "/srv/check/old/b": None,
                "/srv/check/old/c": File(data=b"c\n"),
                "/srv/check/numbers": File(data=b"3\n1\n2\n", mode=0o640),
            }
        ),
    ),
    _Check(
        name="files have their ages",
        command="find . -type f -mmin +100",
        holds=lambda r, _: r.stdout == b"./numbers\n",
        cure="check the clock of this machine",
    ),
    _Check(
        name="an absent tool is absent",
        command="awk 1 numbers",
        holds=lambda r, _: r.exit_code == 127,
    ),
    _Check(
        name="the system is read-only and the host can't be seen",
        command="touch /usr/bin/x 2>/dev/null || ls -d /sys/kernel /boot/* /home/*/.ssh 2>/dev/null || id -u",
        holds=lambda r, _: r.stdout == b"1000\n",
    ),
    _Check(
        name="there is no network and no nested namespace",
        command="tail -n +3 /proc/net/dev | grep -v ' *lo:'; unshare -U true",
        holds=lambda r, _: r.stdout == b"" and r.exit_code != 0,
    ),
    _Check(
        name="the disk quota holds and is named",
        command="for i in 1 2 3 4 5; do head -c 1900000 /dev/zero > f$i; done",
        holds=lambda r, _: r.limit_hit is LimitHit.DISK,
    ),
    _Check(
        name="the output cap holds and is named",
        command="yes",
        holds=lambda r, _: r.limit_hit is LimitHit.OUTPUT and r.truncated and len(r.stdout) == CHECK_LIMITS.output_bytes,
    ),
    _Check(
        name="the memory limit holds and is named",
        command="python3 -I -S -c 'x = []\nwhile True: x.append(bytearray(1 << 20))'",
        holds=lambda r, _: r.limit_hit is LimitHit.MEMORY,
        cure="python3 must be at /usr/bin/python3, and the kernel must offer /proc/PID/smaps_rollup (Linux 4.14)",
    ),
    _Check(
        name="the largest size of a file holds and is named",
        command="head -c 3M /dev/zero > big; echo done",
        holds=lambda r, _: r.limit_hit is LimitHit.FILE_SIZE,
    ),
    _Check(
        name="the number of open files holds and is named",
        command="for i in $(seq 300); do exec {f}</dev/null || exit; done",
        holds=lambda r, _: r.limit_hit is LimitHit.OPEN_FILES,
    ),
    _Check(
        name="nothing outlives its command",
        command="setsid sleep 60 & echo done",
        holds=lambda r, _: r.stdout == b"done\n" and r.limit_hit is None,
    ),
    _Check(
        name="a fork bomb is stopped and named",
        command="f() { f | f & }; f; sleep 60",
        holds=lambda r, _: r.limit_hit is LimitHit.PROCESSES,
        cure="the kernel must offer /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN)",
    ),
)


def self_check(sandbox: RunnerSandbox) -> list[ProbeResult]:
    """Run every check in a box of its own; never raises, a broken sandbox is a failed check."""
    results = []
    for check in _CHECKS:
        try:
            with sandbox.open(CHECK_STATE, CHECK_LIMITS) as box:
                result = box.run(check.command)
                changes = box.changes()
            if check.holds(result, changes):
                results.append(ProbeResult(name=check.name, ok=True))
            else:
                found = f"exit {result.exit_code}, limit {result.limit_hit}, stdout {result.stdout[:200]!r}, stderr {result.stderr[:200]!r}"
                found += f", changes {sorted(changes.nodes)[:8]}"
                results.append(ProbeResult(name=check.name, ok=False, error=found, cure=check.cure))
        except EdgeevoError as error:
            results.append(ProbeResult(name=check.name, ok=False, error=str(error), cure=error.hint))
    return results


def describe(abilities: Abilities) -> str:
    """The tier that is in force, and what follows from it, in one line."""
    if abilities.tier == "overlay":
        return "tier B, overlay: boxes are copy-on-write views; memory and processes are watched, not accounted"
    text = f"tier C, copy: no writable overlay ({abilities.reason}), so each box starts with a copy of its state, which takes longer; "
    text += "a directory larger than the box's disk limit is refused; memory and processes are watched, not accounted"
    return text if abilities.merges else text + "; absent tools are hidden by links, and the host's /usr shows again at /usr/.host"


def probe(*, tier: Tier | None = None) -> list[ProbeResult]:
    """Everything that `edgeevo doctor` wants to know about the sandbox; stops at the first thing without which nothing else can work.

    `tier` forces the tier, as in `open_sandbox`.
    """
    results = [_probe_bubblewrap()]
    if not results[0].ok:
        return results
    try:
        sandbox = RunnerSandbox(tier=tier)
    except EdgeevoError as error:
        return [*results, ProbeResult(name="a runner enters its namespaces", ok=False, error=str(error), cure=error.hint)]
    with sandbox:
        entered = ProbeResult(name="a runner enters its namespaces", ok=True, fact=describe(sandbox.abilities))
        return [*results, entered, *self_check(sandbox)]


def _probe_bubblewrap() -> ProbeResult:
    name = f"bubblewrap {'.'.join(map(str, OLDEST_BUBBLEWRAP))} or newer is installed"
    try:
        check_installed()
        text = subprocess.run([BWRAP, "--version"], capture_output=True, timeout=10, check=False, env={}).stdout.decode("utf-8", "replace")
    except EdgeevoError as error:
        return ProbeResult(name=name, ok=False, error=str(error), cure=error.hint)
    except (OSError, subprocess.TimeoutExpired) as error:
        return ProbeResult(name=name, ok=False, error=str(error), cure="reinstall the package bubblewrap")
    found = re.search(r"(\d+)\.(\d+)", text)
    if found is None or (int(found.group(1)), int(found.group(2))) < OLDEST_BUBBLEWRAP:
        return ProbeResult(name=name, ok=False, error=f"found {text.strip()!r}", cure="install a newer bubblewrap")
    return ProbeResult(name=name, ok=True)
