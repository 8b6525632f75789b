"""The system-call filter of a box, as a classic BPF program for `bwrap --seccomp`: assembled here, so no library is needed.

A list of refusals, on top of namespaces and dropped capabilities: it takes away the kernel's riskiest surface (nested namespaces, mounts,
tracing, bpf, io_uring, keys), the socket families that network namespaces don't cover (VSOCK), injection into a terminal, memory that no
limit counts (memfd, System V segments), and every call newer than the tables below. There are two:
x86_64, and the generic one of aarch64 and riscv64.
"""

from __future__ import annotations

import errno
import platform
import struct

from edgeevo.errors import SandboxError

_LOAD, _AND, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARG = 0, 4, 16  # offsets in struct seccomp_data; arguments are 8 bytes each, low half first on these machines
_X32_BIT = 0x40000000
NEWEST_CALL = 456  # futex_requeue; numbers are common to all architectures from 424 on
_NAMESPACE_FLAGS = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D)  # TIOCSTI, TIOCLINUX, TIOCCONS
_FAMILIES = (1, 2, 10)  # UNIX, INET, INET6: only the box's own loopback is there

_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "mount": 165, "umount2": 166, "pivot_root": 155,
    "chroot": 161, "setns": 308, "unshare": 272, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "syslog": 103, "settimeofday": 164, "clock_settime": 227,
    "clock_adjtime": 305, "adjtimex": 159, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "modify_ldt": 154,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "lookup_dcookie": 212, "vhangup": 153, "mbind": 237, "migrate_pages": 256,
    "move_pages": 279, "set_mempolicy": 238, "fanotify_init": 300, "uselib": 134, "ustat": 136, "sysfs": 139, "personality": 135,
    "memfd_create": 319, "shmget": 29, "msgget": 68, "semget": 64, "vmsplice": 278, "nfsservctl": 180, "_sysctl": 156,
    "clone": 56, "socket": 41, "socketpair": 53, "ioctl": 16,
}  # fmt: skip
_GENERIC = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "mount": 40, "umount2": 39, "pivot_root": 41,
    "chroot": 51, "setns": 268, "unshare": 97, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280, "perf_event_open": 241,
    "userfaultfd": 282, "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106,
    "reboot": 142, "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "syslog": 116, "settimeofday": 170, "clock_settime": 112,
    "clock_adjtime": 266, "adjtimex": 171, "sethostname": 161, "setdomainname": 162, "open_by_handle_at": 265, "name_to_handle_at": 264,
    "lookup_dcookie": 18, "vhangup": 58, "mbind": 235, "migrate_pages": 238, "move_pages": 239, "set_mempolicy": 237, "fanotify_init": 262,
    "personality": 92, "memfd_create": 279, "shmget": 194, "msgget": 186, "semget": 190, "vmsplice": 75, "nfsservctl": 42,
    "clone": 220, "socket": 198, "socketpair": 199, "ioctl": 29,
}  # fmt: skip
_COMMON = {
    "pidfd_getfd": 438, "process_madvise": 440, "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "quotactl_fd": 443, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "memfd_secret": 447, "set_mempolicy_home_node": 450, "clone3": 435,
}  # fmt: skip
_JUDGED_BY_ARGUMENT = {"clone", "socket", "socketpair", "ioctl", "clone3", "personality"}
_MACHINES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _GENERIC), "riscv64": (0xC00000F3, _GENERIC)}


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def _only_for(call: int, body: list[bytes]) -> list[bytes]:
    """Run `body` when the loaded number is `call`, else skip it; the body must return on every path."""
    return [_instruction(_JEQ, call, 0, len(body)), *body]


def _families(error: int) -> list[bytes]:
    body = [_instruction(_LOAD, _ARG)]
    for place, family in enumerate(_FAMILIES):
        body.append(_instruction(_JEQ, family, len(_FAMILIES) - place))
    return [*body, _refuse(error), _instruction(_RETURN, _ALLOW)]


def build_filter(machine: str | None = None) -> bytes:
    """The filter for a machine (default: this one) as an array of 8-byte BPF instructions; SandboxError where no table exists."""
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        raise SandboxError(
            f"no system-call table for machine type {machine!r}; known are {', '.join(_MACHINES)}",
            hint="edgeevo runs commands only behind its filter; use one of these machine types (64-bit user space)",
        )
    arch, table = _MACHINES[machine]
    calls = {**table, **_COMMON}
    program = [
        _instruction(_LOAD, _ARCH),
        _instruction(_JEQ, arch, 1),
        _instruction(_RETURN, _KILL),  # a 32-bit call on a 64-bit kernel has another numbering
        _instruction(_LOAD, _NR),
    ]
    if machine == "x86_64":
        program += [_instruction(_JGE, _X32_BIT, 0, 1), _instruction(_RETURN, _KILL)]
    program += [_instruction(_JGE, NEWEST_CALL + 1, 0, 1), _refuse(errno.ENOSYS)]
    for name, number in sorted(calls.items()):
        if name not in _JUDGED_BY_ARGUMENT:
            program += _only_for(number, [_refuse(errno.EPERM)])
    program += _only_for(calls["clone3"], [_refuse(errno.ENOSYS)])  # its flags lie in memory; every libc falls back to clone
    program += _only_for(
        calls["clone"],
        [_instruction(_LOAD, _ARG), _instruction(_JSET, _NAMESPACE_FLAGS, 0, 1), _refuse(errno.EPERM), _instruction(_RETURN, _ALLOW)],
    )
    program += _only_for(calls["socket"], _families(errno.EAFNOSUPPORT))
    program += _only_for(calls["socketpair"], _families(errno.EAFNOSUPPORT))
    # Only the low half of the request counts for the kernel, so only that is compared: a set high bit is no way round.
    requests = [_instruction(_LOAD, _ARG + 8)]
    for request in _TERMINAL_REQUESTS:
        requests += [_instruction(_JEQ, request, 0, 1), _refuse(errno.EPERM)]
    program += _only_for(calls["ioctl"], [*requests, _instruction(_RETURN, _ALLOW)])
    # Reading the execution domain and choosing the plain one are harmless; switching address randomisation off is not needed.
    program += _only_for(
        calls["personality"],
        [
            _instruction(_LOAD, _ARG),
            _instruction(_JEQ, 0, 2),
            _instruction(_JEQ, 0xFFFFFFFF, 1),
            _refuse(errno.EPERM),
            _instruction(_RETURN, _ALLOW),
        ],
    )
    return b"".join([*program, _instruction(_RETURN, _ALLOW)])
