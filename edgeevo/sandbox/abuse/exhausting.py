"""Using a resource without end, and leaving processes behind: each has a bound, and the result names the bound that was hit."""

from __future__ import annotations

import msgspec

from edgeevo.domain import LimitHit
from edgeevo.sandbox.abuse.case import ABUSE_LIMITS, Case, anything, cases, prints, python

_BRIEF = msgspec.structs.replace(ABUSE_LIMITS, wall_seconds=1.0)
_WRITABLE = ("/srv/app", "/home/user", "/tmp", "/var/tmp", "/var/log", "/var/cache", "/etc", "/root", "/opt", "/mnt", "/dev/shm", "/run")

# name -> (command, the limit that must be named)
_ENDLESS: dict[str, tuple[str, LimitHit]] = {
    "fork bomb, shell": ("f() { f | f & }; f; sleep 60", LimitHit.PROCESSES),
    "fork bomb, python": (python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"), LimitHit.PROCESSES),
    "thread bomb": (
        python("import threading,time\nfor _ in range(99): threading.Thread(target=time.sleep,args=(60,)).start()"),
        LimitHit.PROCESSES,
    ),
    "memory, one process": (python("import time\nx=[]\nwhile True: x.append(bytearray(1<<20))"), LimitHit.MEMORY),
    "memory, many processes": (
        "for i in $(seq 12); do python3 -I -S -c 'import time; x=bytearray(9<<20); time.sleep(60)' & done; wait",
        LimitHit.MEMORY,
    ),
    "memory, shared mapping": (
        python("import mmap,time\nm=mmap.mmap(-1,200<<20)\nfor i in range(0,200<<20,4096): m[i]=1\ntime.sleep(60)"),
        LimitHit.MEMORY,
    ),
    "memory, more than there is address space": (python("bytearray(1<<40)"), LimitHit.MEMORY),
    "memory by a tmpfs": ("for i in 1 2 3 4; do head -c 3M /dev/zero > /dev/shm/f$i; done", LimitHit.DISK),
    "disk, wherever one may write": (
        (
            "for d in $(find / -path /proc -prune -o -path /usr -prune -o -type d -writable -print); do "
            "for i in 1 2 3 4; do head -c 3M /dev/zero > $d/fill$i; done; done"
        ),
        LimitHit.DISK,
    ),
    "disk, filled and cleared again": (
        python(
            "import os,time\ntry:\n  for i in range(9): open(f'f{i}','wb').write(bytes(3<<20))\n"
            "except OSError:\n  for i in range(9):\n    if os.path.exists(f'f{i}'): os.remove(f'f{i}')\n  raise"
        ),
        LimitHit.DISK,
    ),
    "big file": ("head -c 100M /dev/zero > big", LimitHit.FILE_SIZE),
    "big file, then another command": ("head -c 100M /dev/zero > big; echo done", LimitHit.FILE_SIZE),
    "big file by a program that ignores the signal": (python("open('big','wb').write(bytes(9<<20))"), LimitHit.FILE_SIZE),
    "sparse file": ("truncate -s 1T sparse", LimitHit.FILE_SIZE),
    "zip bomb": ("head -c 6M /dev/zero | gzip > bomb.gz; gzip -dc bomb.gz > out", LimitHit.FILE_SIZE),
    "inodes": ("mkdir d; cd d; for i in $(seq 500); do : > f$i; done", LimitHit.INODES),
    "inodes by links": ("mkdir d; cd d; for i in $(seq 500); do ln -s x l$i; done", LimitHit.INODES),
    "open files": (python("import os\nx=[]\nwhile True: x.append(os.open('/dev/null',0))"), LimitHit.OPEN_FILES),
    "open files, shell": ("for i in $(seq 99); do exec {f}</dev/null || exit; done", LimitHit.OPEN_FILES),
    "open files, sockets held": (
        python(
            "import socket,time\nx=[]\ntry:\n  while True: x.append(socket.socket())\nexcept OSError: time.sleep(1); raise SystemExit(1)"
        ),
        LimitHit.OPEN_FILES,
    ),
    "endless output": ("yes", LimitHit.OUTPUT),
    "endless errors": ("yes >&2", LimitHit.OUTPUT),
    "output without a newline": ("cat /dev/zero", LimitHit.OUTPUT),
    "output of a crowd": ("for i in 1 2 3 4 5; do yes $i & done; wait", LimitHit.OUTPUT),
    "sleep": ("sleep 60", LimitHit.WALL),
    "ignored signals": ("trap '' TERM INT HUP QUIT XCPU PIPE; while :; do sleep 0.1; done", LimitHit.WALL),
    "closed output": ("exec >&- 2>&-; sleep 60", LimitHit.WALL),
    "stopped shell": ("kill -STOP $$; echo never", LimitHit.WALL),
    "a fifo that nobody writes": ("mkfifo /tmp/f; cat /tmp/f", LimitHit.WALL),
    "spinning": ("while :; do :; done", LimitHit.CPU),
    "spinning, then another command": ("sh -c 'while :; do :; done'; echo done", LimitHit.CPU),
    "spinning, the signal ignored": (python("import signal\nsignal.signal(signal.SIGXCPU,signal.SIG_IGN)\nwhile True: pass"), LimitHit.CPU),
}


def _lingering(double_fork: str) -> str:
    """Python that leaves a process behind: forks twice with a session between, `double_fork` runs in the grandchild."""
    return python(
        "import os,time\nif os.fork()==0:\n  os.setsid()\n  if os.fork()==0:\n"
        f"    {double_fork}\n    time.sleep(60)\n  os._exit(0)\nos.wait()\nprint('done')"
    )


_LINGERING = (
    ("in the background", "sleep 60 & echo done"),
    ("with closed pipes", "sleep 60 >/dev/null 2>&1 </dev/null & echo done"),
    ("stopped", "sleep 60 & kill -STOP $!; echo done"),
    ("in a session of its own", "setsid sleep 60 & echo done"),
    ("forked twice, shell", "(setsid sh -c '(sleep 60 &) &' &) ; echo done"),
    ("forked twice, pipes inherited", _lingering("pass")),
    ("forked twice, pipes closed", _lingering("os.close(0); os.close(1); os.close(2)")),
    ("forked twice, pipes kept under other numbers", _lingering("os.dup2(1,50); os.dup2(2,51); os.close(1); os.close(2)")),
    ("with nohup and ignored signals", "nohup sh -c 'trap \"\" 1 2 3 15; sleep 60' >/dev/null 2>&1 & echo done"),
    ("writing to a file for ever", "(while :; do date > tick; done) >/dev/null 2>&1 & echo done"),
    (
        "a chain in which each starts the next and ends",
        "python3 -I -S -c 'import os,time\nwhile True:\n  if os.fork(): os._exit(0)\n  time.sleep(0.001)' >/dev/null 2>&1 & echo done",
    ),
)

EXHAUSTING: tuple[Case, ...] = (
    *(
        Case(
            name=name,
            kind="resources",
            command=command,
            wall=f"limit {limit.value}",
            holds=anything,
            limit=limit,
            limits=_BRIEF if limit is LimitHit.WALL else ABUSE_LIMITS,
        )
        for name, (command, limit) in _ENDLESS.items()
    ),
    *(
        Case(
            name=f"disk, in {place}",
            kind="resources",
            command=f"for i in 1 2 3 4; do head -c 3M /dev/zero > {place}/fill$i; done",
            wall="limit disk",
            holds=anything,
            limit=LimitHit.DISK,
        )
        for place in _WRITABLE
    ),
    Case(
        name="writing where no quota counts",
        kind="resources",
        command=python(
            "import os\ncounted={os.stat('/').st_dev,os.stat('/dev/shm').st_dev}\n"
            "for top,below,_ in os.walk('/'):\n"
            "  if top in ('/proc','/usr'): below.clear()\n"
            "  try: open(top+'/x','w').close()\n  except OSError: continue\n"
            "  if os.stat(top).st_dev not in counted: print(top)\n  os.remove(top+'/x')"
        ),
        wall="nothing else can be written",
        holds=prints(b""),
    ),
    Case(
        name="memory files and shared segments",
        kind="resources",
        command=python(
            "import os,ctypes\ntry: os.memfd_create('x'); print('memfd')\nexcept PermissionError: pass\n"
            "print(ctypes.CDLL(None).shmget(0, 1<<20, 0o1600))",
            options="-I",
        ),
        wall="system-call filter",
        holds=prints(b"-1\n"),
    ),
    Case(
        name="raising limits",
        kind="resources",
        command="for o in -u -n -f -t -v -c -l; do ulimit $o unlimited 2>/dev/null && echo raised $o; done; "
        "prlimit --pid $$ --nofile=999:999 2>/dev/null && echo raised; ulimit -n; ulimit -c",
        wall="hard limits, set from outside",
        holds=prints(b"64\n0\n"),
    ),
    Case(
        name="a library preloaded before the limits",
        kind="resources",
        command="echo /srv/app/evil.so > /etc/ld.so.preload; printf x > evil.so; ulimit -n; sh -c 'ulimit -u' 2>/dev/null",
        wall="hard limits, set from outside",
        holds=lambda result, _: result.stdout.startswith(b"64\n"),
    ),
    Case(
        name="core dump",
        kind="resources",
        command="ulimit -c 1000 2>/dev/null; sh -c 'kill -SEGV $$'; echo $?",
        wall="no core files",
        holds=lambda result, changes: result.stdout.endswith(b"139\n") and changes.nodes == {},
    ),
    Case(
        name="hiding from the out-of-memory killer",
        kind="resources",
        command="echo -1000 > /proc/self/oom_score_adj",
        wall="no capability",
        holds=lambda result, _: result.exit_code != 0,
    ),
    *(
        Case(
            name=f"left behind {name}",
            kind="processes",
            command=command,
            wall="end of the process namespace",
            holds=lambda result, _: result.stdout == b"done\n" and result.limit_hit is None and result.seconds < 20,
        )
        for name, command in _LINGERING
    ),
    Case(
        name="kill -9 -1",
        kind="processes",
        command="kill -9 -1; sleep 1; echo alive",
        wall="process namespace",
        holds=lambda result, _: result.exit_code in {0, 137},
    ),
    Case(
        name="killing process 1",
        kind="processes",
        command="kill -9 1; kill -TERM 1; echo alive",
        wall="process namespace",
        holds=prints(b"alive\n"),
    ),
    Case(
        name="killing the runner and its caller",
        kind="processes",
        command="kill -9 @RUNNER@ @CALLER@ 2>/dev/null; echo alive",
        wall="process namespace",
        holds=prints(b"alive\n"),
    ),
    *cases(
        "processes",
        "process namespace",
        (
            (
                "overwriting the memory of process 1",
                python(
                    "f=open('/proc/1/mem','r+b',buffering=0)\n"
                    "for l in open('/proc/1/maps'):\n"
                    "  try: f.seek(int(l.split('-')[0],16)); f.write(bytes(64))\n"
                    "  except (OSError, ValueError): pass"
                ),
            ),
            ("stopping process 1", "kill -STOP 1; echo done"),
        ),
        anything,
    ),
    Case(
        name="tracing process 1",
        kind="processes",
        command=python("import ctypes\nc=ctypes.CDLL(None)\nprint(c.ptrace(16,1,0,0), c.ptrace(0,0,0,0))", options="-I"),
        wall="system-call filter",
        holds=prints(b"-1 -1\n"),
    ),
)
