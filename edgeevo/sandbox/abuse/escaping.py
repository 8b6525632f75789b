"""Looking for the host, its network and its secrets, and asking the kernel for more than a box may have."""

from __future__ import annotations

from edgeevo.sandbox.abuse.case import Case, cases, fails, prints, python

_OWN_SETTINGS = ("fs/mqueue/", "kernel/auto_msgmni", "kernel/msg", "kernel/ns_last_pid", "kernel/pid_max", "kernel/sem", "kernel/shm")
_HOST = (
    (
        "the state directory",
        (
            "ls -d @STATE@ /opt/* /root/* /home/* /run/* /media 2>/dev/null; cat @STATE@/credentials 2>/dev/null; "
            "find / -xdev -name credentials 2>/dev/null"
        ),
        b"/home/user\n",
    ),
    *(
        (f"the host by way of {way}", f"cat {way}@STATE@/credentials 2>/dev/null; ls -d {way}@STATE@ 2>/dev/null", b"")
        for way in ("/proc/1/root", "/proc/self/root/..", "/proc/1/cwd/../../..", "/proc/self/fd/3/..", "/../..", "/proc/1/task/1/root")
    ),
    ("secrets in environments", "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'canary[-]'", b"0\n"),
    ("variables of the caller", "env | grep -ci 'edgeev[o]'", b"0\n"),
    ("inherited descriptors", python("import os\nprint(sorted(os.listdir('/proc/self/fd')))"), b"['0', '1', '2', '3']\n"),  # 3: the listing
    ("processes of others", "test $(ls -d /proc/[0-9]* | wc -l) -le 5 && echo few", b"few\n"),
    (
        "writing to the system",
        (
            "cd /; (touch /usr/bin/x || rm -f /usr/bin/env || : > /usr/bin/env || mv /usr/bin /usr/b || ln -s / /usr/l || chmod 777 /usr) "
            "2>/dev/null && echo written"
        ),
        b"",
    ),
    ("what belongs to the machine", "ls -d /sys/* /boot/* /lost+found /etc/shadow /etc/ssh /var/lib/* 2>/dev/null", b""),
    (
        "devices",
        "ls /dev | grep -vxE 'core|fd|full|null|ptmx|pts|random|shm|std(in|out|err)|tty|urandom|zero|console'; ls /dev/pts | grep -v ptmx",
        b"",
    ),
    (
        "the kernel's settings",
        python(
            f"import os\nown={_OWN_SETTINGS!r}\nfor top,_,files in os.walk('/proc/sys'):\n  for f in files:\n"
            "    if (top+'/'+f).removeprefix('/proc/sys/').startswith(own): continue\n"
            "    try: os.close(os.open(top+'/'+f,os.O_WRONLY)); print(top,f)\n    except OSError: pass\n"
            "for f in ('sysrq-trigger','self/uid_map','self/gid_map','self/setgroups','self/projid_map','1/uid_map','kcore','kmsg','mtrr'):\n"
            "  try: os.write(os.open('/proc/'+f,os.O_WRONLY),b'0 0 1'); print(f)\n  except OSError: pass"
        ),
        b"",
    ),
    (
        "settings of its own namespaces",  # it may have them; what counts is that the host's stay
        "for f in /proc/sys/kernel/{shm*,msg*,sem,pid_max,ns_last_pid} /proc/sys/fs/mqueue/*; do echo 400 > $f; done 2>/dev/null; echo done",
        b"done\n",
    ),
)
_SOCKETS = """
import socket
def t(family, address):
    s = socket.socket(family); s.settimeout(1)
    try: s.connect(address); print('connected', address)
    except OSError: pass
"""
_CONNECTIONS = {
    "the host's loopback": "t(socket.AF_INET, ('127.0.0.1', @PORT@))\nt(socket.AF_INET6, ('::1', @PORT@))",
    "other networks": "t(socket.AF_INET, ('192.0.2.1', 80))\nt(socket.AF_INET, ('10.0.0.1', 53))\nt(socket.AF_INET6, ('2001:db8::1', 80))",
    "datagrams": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "try: s.sendto(b'x', ('192.0.2.1', 53)); print('sent')\nexcept OSError: pass",
    "names": "try: print(socket.getaddrinfo('example.org', 80))\nexcept OSError: pass",
    "an abstract socket of the host": "t(socket.AF_UNIX, '\\0@ABSTRACT@')",
    "a socket file of the host": "t(socket.AF_UNIX, '@STATE@/edgeevo.sock')",
}
_FAMILIES = """
import socket
allowed = {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (10, 1), (10, 2)}
for family in range(46):
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind).close()
        except OSError: continue
        if (family, kind) not in allowed and (family, kind) not in {(1, 5)}: print(family, kind)
"""
_CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(a) for a in arguments])
    print('possible' if result >= 0 else 'refused' if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS) else ctypes.get_errno())
p = ctypes.addressof(ctypes.create_string_buffer(4096))
"""
X86_64_CALLS = {
    "ptrace": "101, 0, 0, 0, 0",
    "mount": "165, 0, 0, 0, 0, 0",
    "umount2": "166, p, 0",
    "pivot_root": "155, p, p",
    "unshare of a user namespace": "272, 0x10000000",
    "unshare of nothing": "272, 0",
    "setns": "308, 0, 0",
    "clone of a user namespace": "56, 0x10000011, 0, 0, 0, 0",
    "clone of a mount namespace": "56, 0x00020011, 0, 0, 0, 0",
    "clone3": "435, p, 64",
    "chroot": "161, p",
    "bpf": "321, 0, p, 64",
    "perf_event_open": "298, p, 0, -1, -1, 0",
    "userfaultfd": "323, 0",
    "io_uring_setup": "425, 4, p",
    "io_uring_enter": "426, 0, 0, 0, 0, 0",
    "io_uring_register": "427, 0, 0, 0, 0",
    "keyctl": "250, 0, 0",
    "add_key": "248, p, p, 0, 0, 0",
    "request_key": "249, p, p, 0, 0",
    "kexec_load": "246, 0, 0, 0, 0",
    "kexec_file_load": "320, 0, 0, 0, 0, 0",
    "init_module": "175, p, 0, p",
    "open_by_handle_at": "304, -100, p, 0",
    "process_vm_readv": "310, 1, 0, 0, 0, 0, 0",
    "process_vm_writev": "311, 1, 0, 0, 0, 0, 0",
    "kcmp": "312, 1, 1, 0, 0, 0",
    "open_tree": "428, -100, p, 1",
    "move_mount": "429, -100, p, -100, p, 0",
    "fsopen": "430, p, 0",
    "mount_setattr": "442, -100, p, 0, p, 32",
    "pidfd_getfd": "438, 0, 0, 0",
    "sethostname": "170, p, 1",
    "settimeofday": "164, p, 0",
    "clock_settime": "227, 0, p",
    "swapon": "167, p, 0",
    "reboot": "169, 0, 0, 0, 0",
    "iopl": "172, 3",
    "modify_ldt": "154, 0, 0, 0",
    "quotactl": "179, 0, 0, 0, 0",
    "personality without randomisation": "135, 0x0040000",
    "a call of the future": "500, 0",
}
_MACHINE_CODE = """
import mmap, ctypes
m = mmap.mmap(-1, 4096, prot=7)
m.write(bytes.fromhex('{code}'))
print(ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))())
"""
_TERMINAL = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
a, b = os.openpty()
for request in (0x5412, 0x541c, 0x541d, 0x5412 | 1 << 32, 0x5412 | 1 << 63):
    ctypes.set_errno(0)
    print(libc.ioctl(b, request, b'x'), errno.errorcode[ctypes.get_errno()])
"""
_PRIVILEGES = (
    ("a user namespace", "unshare -r true"),
    ("a mount namespace", "unshare -m true"),
    ("mounting", "mount -t tmpfs x /tmp"),
    ("remounting the system", "mount -o remount,rw /usr"),
    ("unmounting", "umount /proc"),
    ("a block device", "mknod /tmp/disk b 8 0"),
    ("a character device", "mknod /tmp/mem c 1 1"),
    ("another root", "chroot / true"),
    ("user 0 by setpriv", "setpriv --reuid 0 true"),
    ("user 0 by a call", "python3 -c 'import os; os.setuid(0)'"),
    ("user 0 by a set-id program", "su -c true root </dev/null"),
    ("other groups", "python3 -c 'import os; os.setgroups([0])'"),
    ("the namespaces of process 1", "nsenter -t 1 -m true"),
    ("the core pattern", "echo 1 > /proc/sys/kernel/core_pattern"),
    ("the request key", "echo b > /proc/sysrq-trigger"),
    ("a limit of namespaces", "echo 0 > /proc/sys/user/max_user_namespaces"),
    ("a map of users", "echo '0 0 1' > /proc/self/uid_map"),
    ("the kernel's memory", "cat /proc/kcore"),
    ("the kernel's messages", "cat /proc/kmsg"),
    ("the clock", "date -s 2030-01-01"),
    ("the host name", "hostname other"),
    ("an owner", "chown 0 names"),
    ("a higher priority", "python3 -c 'import os; os.nice(-5)'"),
    ("real-time scheduling", "python3 -c 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))'"),
)
_X86_64 = ("x86_64",)

ESCAPING: tuple[Case, ...] = (
    *(Case(name=name, kind="host", command=command, wall="own root and namespaces", holds=prints(out)) for name, command, out in _HOST),
    *(
        Case(
            name=name,
            kind="network",
            command=python(_SOCKETS + code, options="-I"),
            wall="network namespace",
            holds=lambda result, _: result.stdout == b"" and result.exit_code == 0,
        )
        for name, code in _CONNECTIONS.items()
    ),
    Case(
        name="VSOCK, netlink, packet, crypto, raw and all other families",
        kind="network",
        command=python(_FAMILIES, options="-I"),
        wall="system-call filter",
        holds=lambda result, _: result.stdout == b"" and result.exit_code == 0,
    ),
    *(
        Case(
            name=f"system call {name}",
            kind="kernel",
            command=python(f"{_CALL}call({arguments})", options="-I"),
            wall="system-call filter",
            holds=prints(b"refused\n"),
            machines=_X86_64,
        )
        for name, arguments in X86_64_CALLS.items()
    ),
    *(
        Case(
            name=f"system call by {name} numbers",
            kind="kernel",
            command=python(_MACHINE_CODE.format(code=code), options="-I"),
            wall="system-call filter",
            holds=lambda result, _: result.exit_code == 159 and result.stdout == b"",
            machines=_X86_64,
        )
        for name, code in (("32-bit", "b8 14 00 00 00 cd 80 c3"), ("x32", "b8 27 00 00 40 0f 05 c3"))
    ),
    Case(
        name="injection into a terminal",
        kind="kernel",
        command=python(_TERMINAL, options="-I"),
        wall="system-call filter",
        holds=prints(b"-1 EPERM\n" * 5),
    ),
    *cases("privileges", "no capability", _PRIVILEGES, fails),
)
