"""Hostile text and hostile trees drawn from dice: the same seed gives the same command. For `benchmarks/fuzz.py` and a bounded test.

    sample(seed)  →  a Sample: a command for a box with FUZZ_LIMITS

`strange(changes)` says what is wrong with changes that a runner read from whatever such a command left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from edgeevo.domain import Changes, File, Limits, Value, derive_seed
from edgeevo.sandbox.abuse.case import python
from edgeevo.sandbox.harvest import MAX_BYTES, MAX_NODES

FUZZ_LIMITS = Limits(
    wall_seconds=2.0,
    cpu_seconds=1,
    output_bytes=16_384,
    memory_bytes=48 << 20,
    disk_bytes=4 << 20,
    inodes=300,
    file_bytes=1 << 20,
    processes=16,
    open_files=48,
)
_CONTROL = [chr(n) for n in range(32)] + ["\x7f", "\x80", "\x9b", "\u202e", "\ufeff", "\u2028", "\ud800", "\udfff", "\U0010ffff", "é", "\0"]
_QUOTES = [
    "'",
    '"',
    "`",
    "$(",
    ")",
    "${",
    "}",
    "$((",
    "))",
    "\\",
    "\\\n",
    "<<E\n",
    "\nE\n",
    "<(",
    ">(",
    "[[",
    "]]",
    "((",
    "{",
    "}",
    "$'",
    "#",
    ";;",
]
_GLUE = ["; ", " | ", " && ", " || ", " & ", "\n", " |& ", " <<< ", "; wait; ", " 2>&1 ", " >&2; "]
_FRAGMENTS = (
    "true", "false", "exit 3", "exit 300", "kill -9 $$", "kill -STOP $$", "kill -9 -1", "kill -9 1", "exec cat /dev/zero", "exec 1>&-", "exec <&-",
    ":(){ :|:& };:", "f() { f; }; f", "f() { f | f & }; f", "while :; do :; done", "yes", "yes >&2", "cat /dev/urandom", "sleep 60", "sleep 60 &",
    "setsid sleep 60 &", "nohup sleep 60 >/dev/null 2>&1 &", "coproc cat", "read x", "trap '' TERM INT HUP XCPU XFSZ", "trap 'sleep 60' EXIT",
    "ulimit -n 3", "ulimit -v 9999", "ulimit -u 0", "ulimit -f 0", "echo {1..999999}", "printf '%*s' 99999999 x", "echo ${x:=$(yes)}",
    "eval 'eval \"eval true\"'", "echo $((1<<63)) $((0/0))", "x=$(head -c 9M /dev/zero)", "head -c 9M /dev/zero > big", "truncate -s 1T s",
    "for i in $(seq 999); do : > f$i; done", "mkdir -p a/b/c/d/e/f", "ln -s / r", "ln -sf /proc/self/root names", "mkfifo p", "cat p", "mv names /tmp",
    "rm -rf /", "rm -rf --no-preserve-root / 2>/dev/null", "chmod -R 000 /", "chmod 755 /; rm /bin /lib /lib64", "rm -rf /etc", "rm -rf .", "cd /proc",
    "chmod 000 .", "mv . ..", "cp -r /proc/self . 2>/dev/null", "dd if=/dev/zero of=/dev/shm/x bs=1M", "cat /proc/*/mem", "echo x > /proc/1/mem",
    "echo x > /proc/self/oom_score_adj", "echo 1 > /proc/sys/kernel/sysrq", "ls -R / >/dev/null 2>&1", "find / -exec true {} +", "cat @STATE@/credentials",
    "echo hi > /dev/tcp/127.0.0.1/@PORT@", "echo hi > /dev/udp/192.0.2.1/53", "exec 200<>/dev/null", "echo x >&99", "echo x >&5", "echo x >&4", "cat <&3",
    "ls -l /proc/self/fd", "env -i bash -c 'ulimit -a'", "exec -a '' bash", "bash -i", "script /dev/null", "su -", "mount -t proc x /mnt", "unshare -Ur",
    "python3 -c 'import os; os.abort()'", "python3 -c 'x=[0]*10**9'", "python3 -c 'import os\nwhile 1: os.fork()'", "awk 'BEGIN{while(1)print}'",
    "perl -e 'fork while 1'", "sh -c 'kill -SEGV $$'", "sh -c 'kill -SYS $$'", "tail -f /dev/null", "xargs -P 99 -n1 sleep < <(seq 99)", "LD_PRELOAD=x true",
    "export PATH=", "unset PATH HOME", "alias ls=rm", "enable -n cd", "set -euxo pipefail", "set -n", "shopt -s extdebug", "declare -p", "history", "fg", "jobs",
    "echo '{\"child-pid\": 1}' >&4", "echo '{\"exit-code\": 0}' >&4", "printf '\\33]52;c;eA==\\7'", "printf '\\377\\0\\1'", "stty raw", "reset", "tput clear",
)  # fmt: skip
_NAMES = (
    b"a", b"b", b"a b", b"-rf", b"...", b"\xff\xfe", b"\n", b"\x1b[2J", b"'", b'"', b"\\", b"\\xff\\xfe", b"n" * 255, "é".encode(), "e\u0301".encode(),
    b"names", b"conf", b"current", b".wh.a", b".wh..wh..opq", b"$(id)", b"*", b"CON", b"con", b" ", b"%s", b"\xe2\x80\xae", b"..a",
)  # fmt: skip
_PLACES = (b".", b"/tmp", b"/etc", b"/home/user", b"/dev/shm", b"/srv", b"conf", b"a", b"b/a", b"/var/tmp", b"/")
_TARGETS = (
    b"/",
    b"..",
    b"names",
    b"/proc/self/root",
    b"/etc/passwd",
    b"loop",
    b"\xff",
    b"/proc/1/fd/3",
    b"x" * 4000,
    b"conf/app.toml",
    b"/cache",
)


class Sample(Value):
    """One drawn command and which maker it came from."""

    kind: str
    command: str


def sample(seed: int) -> Sample:
    """The command of this seed."""
    rng = Random(derive_seed("fuzz", seed))
    kind = rng.choices(list(_MAKERS), weights=[3, 3, 2, 6, 1, 5])[0]
    return Sample(kind=kind, command=_MAKERS[kind](rng))


def _binary(rng: Random) -> str:
    return rng.randbytes(rng.choice((1, 9, 200, 5000))).decode(rng.choice(("latin-1", "cp437")))


def _controls(rng: Random) -> str:
    return "".join(rng.choice((rng.choice(_CONTROL), rng.choice("abc $|;&<>/"))) for _ in range(rng.randint(1, 120)))


def _quotes(rng: Random) -> str:
    parts = [rng.choice((rng.choice(_QUOTES), rng.choice(_QUOTES), rng.choice(_FRAGMENTS), " ")) for _ in range(rng.randint(2, 60))]
    depth = rng.choice((0, 0, 5, 200))
    return "$(" * depth + "".join(parts) + ")" * depth


def _fragments(rng: Random) -> str:
    return "".join(rng.choice(_FRAGMENTS) + rng.choice(_GLUE) for _ in range(rng.randint(1, 9))) + rng.choice(_FRAGMENTS)


def _huge(rng: Random) -> str:
    return rng.choice(("x", "$x", "'", "(", "\n", ";", "a=b ", "{1..9}", "é", "${x}")) * rng.choice((9_000, 60_000, 130_000))


def tree(rng: Random, *, whiteouts: bool = True) -> str:
    """Python that makes, links, forbids, moves and removes at random; what the kernel refuses is skipped.

    Without `whiteouts` (devices 0:0, which a copy lets anybody make and an overlay refuses) both tiers do the same.
    """

    def path() -> bytes:
        return b"/".join([rng.choice(_PLACES), *rng.choices(_NAMES, k=rng.choice((0, 1, 1, 1, 2, 3)))])

    makers: dict[str, Callable[[], str]] = {
        "mkdir": lambda: f"os.makedirs({path()!r})",
        "write": lambda: f"w({path()!r},{rng.randbytes(rng.choice((0, 1, 99, 4097)))!r})",
        "sparse": lambda: f"os.truncate({path()!r},{rng.choice((0, 1, 70_000, 1 << 20))})",
        "link": lambda: f"os.symlink({rng.choice(_TARGETS)!r},{path()!r})",
        "name": lambda: f"os.link({path()!r},{path()!r},follow_symlinks=False)",
        "special": lambda: f"os.mknod({path()!r},{rng.choice((0o10644, 0o140644, 0o20644, 0o100000))},{0 if whiteouts else 0x103})",
        "mode": lambda: f"os.chmod({path()!r},{rng.choice((0, 0o111, 0o400, 0o644, 0o755, 0o1777, 0o4755, 0o7777))})",
        "move": lambda: f"os.rename({path()!r},{path()!r})",
        "remove": lambda: f"r({path()!r})",
        "attribute": lambda: f"os.setxattr({path()!r},{rng.choice(('user.overlay.opaque', 'user.overlay.whiteout', 'user.x'))!r},b'y')",
        "enter": lambda: f"os.chdir({path()!r})",
    }
    lines = [makers[rng.choice(list(makers))]() for _ in range(rng.randint(3, 60))]
    body = "\n".join(f"try: {line}\nexcept (OSError, ValueError): pass" for line in lines)
    helpers = "import os,shutil\ndef w(p,d):\n  with open(p,'wb') as f: f.write(d)\n"
    helpers += "def r(p): (shutil.rmtree if os.path.isdir(p) and not os.path.islink(p) and p.strip(b'/') else os.unlink)(p)\n"
    return python(helpers + body, options="-I -S")


_MAKERS: dict[str, Callable[[Random], str]] = {
    "binary": _binary,
    "controls": _controls,
    "quotes": _quotes,
    "fragments": _fragments,
    "huge": _huge,
    "tree": tree,
}


def strange(changes: Changes) -> list[str]:
    """What can't be true of changes, whatever the tree was."""
    found = []
    if len(changes.nodes) > MAX_NODES or sum(len(node.data) for node in changes.nodes.values() if isinstance(node, File)) > MAX_BYTES:
        found.append("more was read than the bounds allow")
    found += [
        f"{path!r} is no place of a box" for path in changes.nodes if not path.startswith("/") or "/../" in f"{path}/" or "//" in path
    ]
    found += [
        f"{path!r} hides other bytes"
        for path, raw in changes.raw.items()
        if raw.decode("utf-8", "backslashreplace") != path or path not in changes.nodes
    ]
    return found
