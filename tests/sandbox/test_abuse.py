"""Hostile commands, each followed by the same questions: back in time, nothing running, no mount, host unchanged, next episode clean."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import time

import msgspec
import pytest

from edgeevo.domain import LimitHit, Link
from edgeevo.sandbox import open_sandbox
from tests.sandbox.conftest import STATE, TIGHT, both_tiers, descendants, only_the_spare_is_mounted, settled

pytestmark = pytest.mark.sandbox
SECRET = "canary-" + hashlib.sha256(b"edgeevo").hexdigest()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host with a state directory, a world-readable secret, a secret in the environment, and listeners."""
    state = tmp_path_factory.mktemp("state")
    state.chmod(0o755)
    (state / "credentials").write_text(SECRET)
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(str(state / "edgeevo.sock"))
    (state / "edgeevo.sock").chmod(0o777)
    unix.listen()
    abstract = socket.socket(socket.AF_UNIX)
    name = f"edgeevo-canary-{os.getpid()}"
    abstract.bind("\0" + name)
    abstract.listen()
    os.environ["EDGEEVO_CANARY"] = SECRET
    yield {"state": state, "port": tcp.getsockname()[1], "abstract": name}
    del os.environ["EDGEEVO_CANARY"]
    for listener in (tcp, unix, abstract):
        listener.close()


@pytest.fixture(scope="module")
def sandbox(host, request):
    with open_sandbox(tier=getattr(request, "param", None)) as opened:
        yield opened


@pytest.fixture
def abuse(sandbox, host):
    """Run a command and ask the questions; gives the result, and the changes where they are wanted."""

    def look():
        """What a new episode sees."""
        with sandbox.open(STATE, TIGHT) as fresh:
            seen = fresh.run("cat names current; ls -A /; ls -lA --time-style=+ . /tmp /etc /dev/shm").stdout
            assert fresh.changes().nodes == {}, "the next episode isn't clean"
        return seen

    system, clean = sorted(os.listdir("/usr/bin")), look()

    def run(command, *, limits=TIGHT, changes=False):
        box = sandbox.open(STATE, limits)
        started = time.monotonic()
        result = box.run(command)
        assert time.monotonic() - started < limits.wall_seconds + 2, "came back late"
        assert settled(lambda: not descendants(sandbox.runner_pid)), "something still runs"
        harvested = box.changes() if changes else None
        box.close()
        assert look() == clean, "the next episode isn't clean"
        assert settled(lambda: only_the_spare_is_mounted(sandbox.runner_pid)), "a mount is left"
        assert (host["state"] / "credentials").read_text() == SECRET, "the canary changed"
        assert sorted(os.listdir("/usr/bin")) == system, "the system changed"
        return (result, harvested) if changes else result

    return run


def python(code: str) -> str:
    """A command that runs Python code."""
    return "python3 -I -S - <<'PYTHON'\n" + code + "\nPYTHON"


# --- each resource has a bound, and the bound that was hit is named --------------------------------------------------------

EXHAUSTING = {
    "a fork bomb of the shell": ("f() { f | f & }; f; sleep 60", LimitHit.PROCESSES),
    "a fork bomb of python": (python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"), LimitHit.PROCESSES),
    "a thread bomb": (
        python("import threading,time\nfor _ in range(99): threading.Thread(target=time.sleep,args=(60,)).start()"),
        LimitHit.PROCESSES,
    ),
    "memory by one process": (python("import time\nx=[]\nwhile True: x.append(bytearray(1<<20))"), LimitHit.MEMORY),
    "memory by many processes": (
        "for i in $(seq 12); do python3 -I -S -c 'import time; x=bytearray(9<<20); time.sleep(60)' & done; wait",
        LimitHit.MEMORY,
    ),
    "memory by a shared mapping": (
        python("import mmap,time\nm=mmap.mmap(-1,200<<20)\nfor i in range(0,200<<20,4096): m[i]=1"),
        LimitHit.MEMORY,
    ),
    "a big file": ("head -c 100M /dev/zero > big", LimitHit.FILE_SIZE),
    "a sparse file": ("truncate -s 1T sparse", LimitHit.FILE_SIZE),
    "a zip bomb": ("head -c 6M /dev/zero | gzip > bomb.gz; gzip -dc bomb.gz > out", LimitHit.FILE_SIZE),
    "inodes": ("mkdir d; cd d; for i in $(seq 500); do : > f$i; done", LimitHit.INODES),
    "endless output": ("yes", LimitHit.OUTPUT),
    "endless errors": ("yes >&2", LimitHit.OUTPUT),
    "output without a newline from /dev/zero": ("cat /dev/zero", LimitHit.OUTPUT),
    "sleeping": ("sleep 60", LimitHit.WALL),
    "ignored signals": ("trap '' TERM INT HUP QUIT XCPU PIPE; while :; do sleep 0.1; done", LimitHit.WALL),
    "a closed output": ("exec >&- 2>&-; sleep 60", LimitHit.WALL),
    "a stopped shell": ("kill -STOP $$; echo never", LimitHit.WALL),
    "spinning": ("while :; do :; done", LimitHit.CPU),
    "spinning with the signal ignored": (
        python("import signal\nsignal.signal(signal.SIGXCPU,signal.SIG_IGN)\nwhile True: pass"),
        LimitHit.CPU,
    ),
}
BRIEF = msgspec.structs.replace(TIGHT, wall_seconds=1.0)


@pytest.mark.parametrize("case", EXHAUSTING)
def test_exhausting_a_resource_ends_by_the_limit_that_is_named(abuse, case):
    """Whatever is used without end is stopped, and the result says which limit it was."""
    command, limit = EXHAUSTING[case]
    assert abuse(command, limits=BRIEF if limit is LimitHit.WALL else TIGHT).limit_hit is limit


@pytest.mark.parametrize("place", ["/srv/app", "/home/user", "/tmp", "/var/tmp", "/var/log", "/etc", "/dev/shm", "/run"])
def test_every_writable_place_is_on_the_quota(abuse, place):
    """Filling any place that can be written to hits the episode's disk quota."""
    result = abuse(f"for i in 1 2 3 4; do head -c 3M /dev/zero > {place}/fill$i; done")
    assert result.limit_hit is LimitHit.DISK


def test_no_place_outside_the_quota_can_be_written(abuse):
    """Directories that are not on the quota refuse new files."""
    result = abuse("for d in / /usr /usr/bin /usr/local /dev /dev/pts /proc /proc/self; do : > $d/x && echo $d; done 2>/dev/null")
    assert result.stdout == b""


def test_memory_files_do_not_exist(abuse):
    """memfd_create and System V shared memory, which no limit counts, are refused."""
    code = "import os,ctypes\ntry: os.memfd_create('x'); print('memfd')\nexcept PermissionError: pass\n"
    code += "print(ctypes.CDLL(None).shmget(0, 1<<20, 0o1600))"
    assert abuse("python3 -c \"$(cat <<'P'\n" + code + '\nP\n)"').stdout == b"-1\n"


def test_limits_cannot_be_raised(abuse):
    """A shell can't lift what was set from outside."""
    result = abuse("for o in -u -n -f -t -v -c -l; do ulimit $o unlimited 2>/dev/null && echo raised $o; done; ulimit -n; ulimit -c")
    assert result.stdout == b"64\n0\n"


def test_open_files_run_out(abuse):
    """The number of descriptors is bounded."""
    result = abuse(python("import os\nn=0\ntry:\n  while True: os.open('/dev/null',0); n+=1\nexcept OSError as e: print(e.errno, n<64)"))
    assert result.stdout == b"24 True\n"


def test_a_crash_leaves_no_core(abuse):
    """A segmentation fault writes no core file."""
    result, changes = abuse("ulimit -c 1000 2>/dev/null; sh -c 'kill -SEGV $$'; echo $?", changes=True)
    assert result.stdout.endswith(b"139\n") and changes.nodes == {}


def test_a_preloaded_library_does_not_lift_limits(abuse):
    """What the agent writes for the loader runs under the limits, too: they are set before any of it."""
    result = abuse("echo /srv/app/evil.so > /etc/ld.so.preload; printf x > evil.so; ulimit -n; sh -c 'ulimit -u' 2>/dev/null")
    assert result.stdout.startswith(b"64\n")


# --- processes end with their command ----------------------------------------------------------------------------------------

LINGERING = {
    "in the background": "sleep 60 & echo done",
    "with closed pipes": "sleep 60 >/dev/null 2>&1 </dev/null & echo done",
    "in a session of its own": "setsid sleep 60 & echo done",
    "forked twice": "(setsid sh -c '(sleep 60 &) &' &) ; echo done",
    "with nohup and ignored signals": "nohup sh -c 'trap \"\" 1 2 3 15; sleep 60' >/dev/null 2>&1 & echo done",
    "writing to a file for ever": "(while :; do date > tick; done) >/dev/null 2>&1 & echo done",
}


@pytest.mark.parametrize("case", LINGERING)
def test_nothing_outlives_its_command(abuse, case):
    """A process that was left behind is gone, and the command that left it is not held up by it."""
    result = abuse(LINGERING[case])
    assert result.stdout == b"done\n" and result.limit_hit is None and result.seconds < 20


def test_killing_everything_kills_only_the_box(abuse):
    """kill -9 -1 ends the shell itself and nothing outside."""
    assert abuse("kill -9 -1; sleep 1; echo alive").exit_code in {0, 137}


def test_process_one_survives_its_children(abuse):
    """Process 1 of the box ignores being killed from inside."""
    assert abuse("kill -9 1; echo alive").stdout == b"alive\n"


def test_the_command_may_overwrite_process_one(abuse):
    """Writing into the memory of process 1 hurts nobody outside."""
    abuse(
        python(
            "f=open('/proc/1/mem','r+b',buffering=0)\n"
            "for l in open('/proc/1/maps'):\n"
            "  try: f.seek(int(l.split('-')[0],16)); f.write(bytes(64))\n"
            "  except (OSError, ValueError): pass"
        )
    )


# --- nothing of the host is there --------------------------------------------------------------------------------------------


def test_the_state_directory_is_not_there(abuse, host):
    """Neither its path nor its content can be found."""
    state = host["state"]
    result = abuse(
        f"ls -d {state} /opt/* /root/* /home/* /run/* /media 2>/dev/null; cat {state}/credentials; "
        "find / -xdev -name credentials 2>/dev/null"
    )
    assert result.stdout == b"/home/user\n"


@pytest.mark.parametrize("way", ["/proc/1/root", "/proc/self/root/..", "/proc/1/cwd/../../..", "/proc/self/fd/3/..", "/../.."])
def test_no_way_through_proc_leads_out(abuse, host, way):
    """Links in /proc lead to the box's own root only."""
    assert abuse(f"cat {way}{host['state']}/credentials").stdout == b""


def test_environments_hold_no_secret(abuse):
    """The secret in the caller's environment is in no process's environment inside."""
    result = abuse("cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'canary[-]'; env | grep -ci 'edgeev[o]'")
    assert result.stdout == b"0\n0\n"


def test_no_descriptor_is_inherited(abuse):
    """A command has its three standard descriptors and no other."""
    assert (
        abuse(python("import os\nprint(sorted(os.listdir('/proc/self/fd')))")).stdout == b"['0', '1', '2', '3']\n"
    )  # 3 is the listing itself


def test_only_own_processes_are_visible(abuse):
    """The process table holds process 1, the shell and what it started."""
    assert int(abuse("ls -d /proc/[0-9]* | wc -l").stdout) <= 4


def test_the_hosts_sockets_are_out_of_reach(abuse, host):
    """Loopback, abstract and file sockets of the host refuse or don't exist; so do names and other networks."""
    code = f"""
import socket
def t(family, address):
    s = socket.socket(family); s.settimeout(1)
    try: s.connect(address); print('connected', address)
    except OSError: pass
t(socket.AF_INET, ('127.0.0.1', {host["port"]}))
t(socket.AF_INET, ('192.0.2.1', 80))
t(socket.AF_INET, ('10.0.0.1', 53))
t(socket.AF_UNIX, '\\0{host["abstract"]}')
t(socket.AF_UNIX, '{host["state"]}/edgeevo.sock')
try: print(socket.getaddrinfo('example.org', 80))
except OSError: pass
"""
    result = abuse("python3 -I - <<'P'" + code + "P\n")
    assert result.stdout == b"" and result.exit_code == 0


def test_other_socket_families_do_not_exist(abuse):
    """VSOCK, netlink, packet, crypto and raw sockets can't be made."""
    code = """
import socket
for family in range(0, 46):
    for kind in (1, 2, 3):
        try: socket.socket(family, kind).close(); print(family, kind)
        except OSError: pass
"""
    made = abuse("python3 -I - <<'P'" + code + "P\n").stdout.split(b"\n")
    assert set(made) <= {b"1 1", b"1 2", b"1 3", b"2 1", b"2 2", b"10 1", b"10 2", b""}


# --- the kernel's riskiest surface is closed ---------------------------------------------------------------------------------

FORBIDDEN_CALLS = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(*[ctypes.c_long(a) for a in arguments]) >= 0: print('possible:', name)
    elif ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS): print(name, errno.errorcode[ctypes.get_errno()])
p = ctypes.addressof(ctypes.create_string_buffer(4096))
"""
X86_CALLS = {
    "ptrace": (101, 0, 0, 0, 0),
    "mount": (165, 0, 0, 0, 0, 0),
    "unshare": (272, 0x10000000),
    "unshare of nothing": (272, 0),
    "setns": (308, 0, 0),
    "clone of a user namespace": (56, 0x10000011, 0, 0, 0, 0),
    "clone of a mount namespace": (56, 0x00020011, 0, 0, 0, 0),
    "clone3": (435, "p", 64),
    "chroot": (161, "p"),
    "bpf": (321, 0, "p", 64),
    "perf_event_open": (298, "p", 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "io_uring_setup": (425, 4, "p"),
    "keyctl": (250, 0, 0),
    "add_key": (248, "p", "p", 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "open_by_handle_at": (304, -100, "p", 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "open_tree": (428, -100, "p", 1),
    "fsopen": (430, "p", 0),
    "mount_setattr": (442, -100, "p", 0, "p", 32),
    "pidfd_getfd": (438, 0, 0, 0),
    "sethostname": (170, "p", 1),
    "settimeofday": (164, "p", 0),
    "swapon": (167, "p", 0),
    "reboot": (169, 0, 0, 0, 0),
    "modify_ldt": (154, 0, 0, 0),
    "a call of the future": (500, 0),
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
def test_forbidden_system_calls_are_refused(abuse):
    """Each dangerous system call is refused by the filter itself, whatever its arguments."""
    lines = [f"call({name!r}, {', '.join(str(argument) for argument in arguments)})" for name, arguments in X86_CALLS.items()]
    result = abuse("python3 -I - <<'P'\n" + FORBIDDEN_CALLS + "\n".join(lines) + "\nprint('end')\nP\n")
    assert result.stdout == b"end\n", result.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="there is no 32-bit entry elsewhere")
@pytest.mark.parametrize("code", ["b8 14 00 00 00 cd 80 c3", "b8 27 00 00 40 0f 05 c3"])
def test_calls_by_another_numbering_kill(abuse, code):
    """32-bit and x32 system calls, which the filter's numbers don't describe, end the process."""
    program = f"import mmap,ctypes\nm=mmap.mmap(-1,4096,prot=7)\nm.write(bytes.fromhex('{code}'))\n"
    program += "print(ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))())"
    result = abuse("python3 -I - <<'P'\n" + program + "\nP\n")
    assert result.exit_code == 159 and result.stdout == b""


def test_a_terminal_cannot_be_injected_into(abuse):
    """TIOCSTI and TIOCLINUX are refused, with the high half of the request set as well."""
    code = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
a, b = os.openpty()
for request in (0x5412, 0x541c, 0x5412 | 1 << 32, 0x5412 | 1 << 63):
    ctypes.set_errno(0)
    print(libc.ioctl(b, request, b'x'), errno.errorcode[ctypes.get_errno()])
"""
    assert abuse("python3 -I - <<'P'" + code + "P\n").stdout == b"-1 EPERM\n" * 4


@pytest.mark.parametrize(
    "command",
    [
        "unshare -r true",
        "unshare -m true",
        "mount -t tmpfs x /tmp",
        "mount -o remount,rw /usr",
        "umount /proc",
        "mknod /tmp/disk b 8 0",
        "chroot / true",
        "setpriv --reuid 0 true",
        "python3 -c 'import os; os.setuid(0)'",
        "nsenter -t 1 -m true",
        "echo 1 > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "echo 0 > /proc/sys/user/max_user_namespaces",
        "echo '0 0 1' > /proc/self/uid_map",
        "cat /proc/kcore",
        "cat /proc/kmsg",
        "date -s 2030-01-01",
        "chown 0 names",
        "nice -n -5 true 2>&1 | grep -v cannot",
    ],
)
def test_privileges_cannot_be_gained(abuse, command):
    """What needs a privilege fails."""
    assert abuse(command).exit_code != 0


# --- hostile trees ---------------------------------------------------------------------------------------------------------


@both_tiers
def test_a_deep_tree_is_read_within_bounds(abuse):
    """A tree of thousands of levels is cut, said to be incomplete, and goes with an unmount."""
    limits = msgspec.structs.replace(TIGHT, inodes=8000, disk_bytes=64 << 20)
    code = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('end','w')"
    result, changes = abuse(python(code), limits=limits, changes=True)
    assert result.exit_code == 0 and not changes.complete and len(changes.nodes) < 100


@both_tiers
def test_many_files_are_read_within_bounds(abuse, monkeypatch):
    """More entries than the bound are cut and said to be incomplete."""
    limits = msgspec.structs.replace(TIGHT, inodes=12_000)
    result, changes = abuse(python("for i in range(9000): open(f'f{i}','w').close()"), limits=limits, changes=True)
    assert result.exit_code == 0 and not changes.complete and len(changes.nodes) <= 8192


@both_tiers
def test_sparse_files_do_not_fill_our_memory(abuse):
    """Files whose sizes add up beyond the bound are left out and the changes are incomplete."""
    result, changes = abuse("for i in 1 2 3 4 5 6; do truncate -s 4M s$i; done; echo x > y", changes=True)
    assert result.exit_code == 0 and not changes.complete
    assert sum(len(getattr(node, "data", b"")) for node in changes.nodes.values()) <= 16 << 20


@both_tiers
def test_forbidding_modes_hide_nothing(abuse):
    """Files and directories with mode 000 are read all the same, with their mode."""
    _, changes = abuse("mkdir d; echo x > d/f; chmod 000 d/f d names", changes=True)
    assert (
        changes.nodes["/srv/app/d/f"].data == b"x\n" and changes.nodes["/srv/app/d"].mode == 0 and changes.nodes["/srv/app/names"].mode == 0
    )


@both_tiers
def test_odd_names_survive(abuse):
    """Names of spaces, newlines, dashes, quotes, colons and bytes that are no text come through, the latter escaped."""
    _, changes = abuse("touch -- $'a\\nb' ' ' '-rf' 'x:y,z\\' $'\\xff\\xfe' '\"'", changes=True)
    names = {path.removeprefix("/srv/app/") for path in changes.nodes}
    assert names == {"a\nb", " ", "-rf", "x:y,z\\", "\\xff\\xfe", '"'}


@both_tiers
def test_a_link_to_the_host_is_read_as_a_link(abuse, host):
    """A link where a result is expected is reported as such and never followed."""
    path = f"{host['state']}/credentials"
    _, changes = abuse(f"ln -sf {path} names; ln -s / root; ln -s loop loop; mkdir d; ln -s ../.. d/up", changes=True)
    assert changes.nodes["/srv/app/names"] == Link(target=path)
    assert all(SECRET.encode() not in getattr(node, "data", b"") for node in changes.nodes.values())


@both_tiers
def test_a_fifo_as_result_does_not_hang(abuse):
    """A fifo or socket in the place of a file is reported as something special, at once."""
    _, changes = abuse("rm names; mkfifo names; python3 -I -c 'import socket; socket.socket(1).bind(\"s\")'", changes=True)
    assert changes.nodes["/srv/app/names"] == Link(target="") and changes.nodes["/srv/app/s"] == Link(target="")


@both_tiers
def test_destroying_everything_harms_only_the_episode(abuse):
    """rm -rf / leaves a box in which commands still start, and every file of the state is reported as removed."""
    result, changes = abuse("rm -rf --one-file-system --no-preserve-root / 2>/dev/null; echo gone > /tmp/gone", changes=True)
    assert result.exit_code == 0
    assert all(changes.nodes[path] is None for path in STATE.nodes)


@both_tiers
def test_the_working_directory_may_be_anything(sandbox):
    """A working directory that was removed, made a link out, or forbidden does not stop the next command."""
    for command in (
        "rm -rf /srv/app",
        "rm -rf /srv/app; ln -s /proc/1/root /srv/app",
        "chmod 000 /srv",
        "rm -rf /srv/app; mkfifo /srv/app",
    ):
        with sandbox.open(STATE, TIGHT) as box:
            box.run(command)
            assert box.run("echo here").stdout == b"here\n"


@both_tiers
def test_a_box_without_a_shell_answers_with_a_result(sandbox):
    """When the agent has destroyed the loader's links on purpose, later commands fail; the sandbox does not."""
    with sandbox.open(STATE, TIGHT) as box:
        box.run("chmod 755 /; rm -rf --one-file-system --no-preserve-root / 2>/dev/null")
        assert box.run("echo here").exit_code != 0
        assert box.changes().complete


@both_tiers
def test_a_full_box_still_runs_commands(sandbox):
    """With disk and inodes used up, commands run and the box can be read and closed."""
    with sandbox.open(STATE, TIGHT) as box:
        box.run("cat /dev/zero > a; cat /dev/zero > b; cat /dev/zero > c; i=0; while : > i$i; do i=$((i+1)); done")
        assert box.run("cat names").stdout == b"cyan\namber\nblue\n"
        assert box.run("rm a b c i*; echo ok > d; cat d").stdout == b"ok\n"


@pytest.mark.parametrize(
    "command", ["", "\0", "echo \0 x", "\ud800", "'", "if", "exit 300", "x" * 200_000, "printf '\\377\\0'", "\n\n", "#"]
)
def test_no_text_of_a_command_breaks_us(abuse, command):
    """Whatever text comes as a command, the answer is a result."""
    assert abuse(command).limit_hit is None
