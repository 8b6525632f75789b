"""Take the runner out of the host: other uid (when root), own user and mount namespace, and a root that holds only what boxes need.

After `enter` the host's file system is gone from this process: left are /usr (and its links), /proc, six device nodes, a small /etc and,
for a runner that was started for one real directory, that directory. The state directory, credentials and sockets can't be named any more.

The runner's root:  /usr /proc /dev   from the host       /skeleton   lowest layer of every box: links, /etc, /tmp …
                    /cache            templates (tmpfs)   /boxes      one quota tmpfs per open box
                    /directory        the real directory, if any
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import stat
from pathlib import Path

from edgeevo.sandbox import kernel

ROOT_BYTES, CACHE_BYTES, CACHE_INODES = 16 << 20, 256 << 20, 200_000
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SYSTEM_PLACES = frozenset((b"usr", b"proc", b"dev", b"sys"))  # mount points in a box's root: whatever lies below is never seen by it
ROOT_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ROOT_MODE = 0o555  # as for any user who isn't root: a careless `rm -rf /` doesn't take the links to the loader along
SKELETON, CACHE, BOXES, DIRECTORY, FILTER = "/skeleton", "/cache", "/boxes", "/directory", "/filter.bpf"
SKELETON_DIRECTORIES = (
    "boot", "dev", "etc", "home/user", "mnt", "opt", "proc", "root", "run", "srv", "usr", "var/cache", "var/lib", "var/log", "var/spool",
)  # fmt: skip
ETC_FILES = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n",
    "group": "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1\tlocalhost\n127.0.1.1\tbox\n::1\tlocalhost\n",
    "hostname": "box\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "",
    "shells": "/bin/sh\n/bin/bash\n",
}
ETC_FROM_HOST = ("ld.so.cache", "ld.so.conf", "services", "protocols", "magic", "mime.types", "debian_version", "os-release")
MAX_ETC_FILE_BYTES = 1 << 20


def drop_to(uid: int, gid: int) -> None:
    """Become another user for good (only root can); the process stays dumpable, else its own /proc files would belong to root."""
    if os.getuid() != uid:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def watch_parent(parent_pid: int, *, from_main_thread: bool) -> int:
    """Tie our life to the parent's: returns a pidfd that becomes readable when it ends; ends at once when it is gone already.

    The kernel's own death signal is asked for only where a main thread started us, because it fires at the end of the *thread*. It is one
    that can be handled: whoever dies of SIGKILL leaves behind what a bubblewrap was making at that moment.
    """
    fd = os.pidfd_open(parent_pid)
    if from_main_thread:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid or select.select([fd], [], [], 0)[0]:
        os._exit(1)
    return fd


def enter(filter_program: bytes, *, with_directory: bool = False) -> None:
    """Enter own namespaces and pivot into the small root. Raises OSError naming the step that failed.

    The directory to keep is the working directory: that is what the kernel carries over into the new mount namespace; a descriptor would
    still mean the old one, and its path may lead through places that our new user can't enter.
    """
    uid, gid = os.getuid(), os.getgid()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")  # the kernel should rather take a box than the daemon
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    os.umask(0o022)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    where = next(path for path in ("/tmp", "/run", "/mnt") if os.path.isdir(path))  # covered only in our own namespace
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    host = f"/proc/self/fd/{here}"
    kernel.mount("root", where, "tmpfs", kernel.MS_NOSUID, f"size={ROOT_BYTES},mode=755")
    _bind(f"{host}/usr", f"{where}/usr")
    _bind(f"{host}/proc", f"{where}/proc")
    for name in DEVICES:
        if os.path.exists(f"/dev/{name}"):
            _bind(f"{host}/dev/{name}", f"{where}/dev/{name}")
    make_skeleton(Path(where + SKELETON))
    for name in ROOT_LINKS:
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{where}/{name}")
        elif os.path.isdir(f"/{name}"):
            _bind(f"{host}/{name}", f"{where}/{name}")
    os.symlink(SKELETON[1:] + "/etc", f"{where}/etc")
    if with_directory:
        _bind(".", where + DIRECTORY)
    Path(where + FILTER).write_bytes(filter_program)
    os.mkdir(where + "/tmp", 0o700)  # bubblewrap mounts its own staging tmpfs there
    os.mkdir(where + BOXES, 0o700)
    os.mkdir(where + CACHE, 0o700)
    kernel.mount(
        "cache", where + CACHE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size={CACHE_BYTES},nr_inodes={CACHE_INODES},mode=700"
    )
    os.close(here)
    os.chdir(where)
    kernel.pivot_root_here()


def _bind(source: str, target: str) -> None:
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        Path(target).touch()
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)


def make_skeleton(skeleton: Path) -> None:
    """Create the lowest layer of every box: directories, links to the system's own, a small /etc."""
    for name in SKELETON_DIRECTORIES:
        (skeleton / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (skeleton / name).mkdir()
        (skeleton / name).chmod(0o1777)
    for name in ROOT_LINKS:
        if os.path.islink(f"/{name}"):
            (skeleton / name).symlink_to(os.readlink(f"/{name}"))
        elif os.path.isdir(f"/{name}"):
            (skeleton / name).mkdir()
    for name, text in ETC_FILES.items():
        (skeleton / "etc" / name).write_text(text)
    for name in ETC_FROM_HOST:
        source, target = Path("/etc") / name, skeleton / "etc" / name
        with contextlib.suppress(OSError):
            if source.stat().st_size <= MAX_ETC_FILE_BYTES:
                shutil.copyfile(source, target)
    # Many everyday tools (awk, editors, pagers) are links into /etc/alternatives; manual pages are not needed.
    (skeleton / "etc/alternatives").mkdir()
    with contextlib.suppress(OSError), os.scandir("/etc/alternatives") as entries:
        for entry in entries:
            if entry.is_symlink() and not entry.name.endswith(".gz"):
                (skeleton / "etc/alternatives" / entry.name).symlink_to(os.readlink(entry.path))
    skeleton.chmod(ROOT_MODE)
