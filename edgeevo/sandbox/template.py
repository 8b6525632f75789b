"""Initial states as cached directories: materialised once by content id, then the read-only lower layer of any number of boxes.

A template is up to two layers: `root` lies over the skeleton as the box's /, and `usr` (files under /usr, and whiteouts for tools that
the box lacks) lies over the host's /usr in one read-only overlay, or in a tree of links where there is none (usr.py). Least recently used
templates go first when the cache is full.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import stat
import time
from collections import OrderedDict
from collections.abc import Callable

from edgeevo.domain import Directory, File, Limits, Link, Node, State
from edgeevo.errors import SandboxError, TaskError
from edgeevo.sandbox import kernel
from edgeevo.sandbox.namespace import CACHE, ETC_FILES, ROOT_LINKS, ROOT_MODE, SKELETON
from edgeevo.sandbox.usr import link_usr, merge_usr

MAX_TEMPLATES = 64
MAX_STATE_BYTES, MAX_STATE_NODES = 64 << 20, 50_000  # a quarter of what the cache holds
FRESH_SECONDS = 120  # ages of files are exact to this; an older template is touched up or made anew
MAX_VARIABLES_BYTES = 16 << 10
_HOSTNAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_ZONE = re.compile(r"(?!.*\.\.)[A-Za-z0-9<][A-Za-z0-9_+\-/:,.<>]{0,63}")
_LOCALE = re.compile(r"[A-Za-z0-9_.@-]{1,32}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = ("proc", "dev", "sys", *ROOT_LINKS)


def check_path(path: str) -> None:
    """Raise TaskError unless `path` is absolute, normalised, and of a place that a state may fill."""
    if not path.startswith("/") or path == "/" or posixpath.normpath(path) != path or path.startswith("//") or "\0" in path:
        raise TaskError(f"state path {path!r} is not an absolute normalised path", hint="write paths like /srv/app/data.csv")
    if path.split("/")[1] in RESERVED:
        raise TaskError(
            f"state path {path!r} lies in a place that belongs to the system",
            hint="/proc, /dev and /sys can't be filled; write /usr/bin instead of /bin",
        )


def check_state(state: State) -> None:
    """Raise TaskError when the state can't be materialised: bad paths, or an entry below something that is not a directory."""
    size = sum(len(node.data) for node in state.nodes.values() if isinstance(node, File))
    if size > MAX_STATE_BYTES or len(state.nodes) > MAX_STATE_NODES:
        raise TaskError(
            f"state of {len(state.nodes)} nodes and {size} bytes is more than {MAX_STATE_NODES} nodes or {MAX_STATE_BYTES} bytes",
            hint="make the initial state smaller",
        )
    for path in (state.cwd, state.home):
        if path != "/":
            check_path(path)
    for path in (*state.nodes, state.cwd, state.home):
        if path in state.nodes:
            check_path(path)
        parent = posixpath.dirname(path)
        while parent != "/":  # "/" for the working directory is its own parent
            if isinstance(state.nodes.get(parent, Directory()), File | Link):
                raise TaskError(f"state path {path!r} lies below {parent!r}, which is not a directory", hint="remove one of the two")
            parent = posixpath.dirname(parent)
    _check_surroundings(state)
    for tool in state.absent_tools:
        if "/" in tool or tool in ("", ".", ".."):
            raise TaskError(f"absent tool {tool!r} is not a plain command name", hint="write names such as awk or python3")


LEAST = Limits(
    wall_seconds=0.01,
    cpu_seconds=1,
    output_bytes=1,
    memory_bytes=4 << 20,
    disk_bytes=64 << 10,
    inodes=16,
    file_bytes=1,
    processes=4,
    open_files=16,
)


def check_limits(limits: Limits) -> None:
    """Raise TaskError when a limit is so small that the shell itself doesn't run, or that the kernel takes it for none."""
    for name in Limits.__struct_fields__:
        given, least = getattr(limits, name), getattr(LEAST, name)
        if given < least:
            raise TaskError(
                f"limit {name} of {given} is less than {least}, below which nothing runs", hint=f"set {name} to {least} or more"
            )


def _check_surroundings(state: State) -> None:
    texts = (("host name", state.hostname, _HOSTNAME), ("time zone", state.time_zone, _ZONE), ("locale", state.locale, _LOCALE))
    for what, text, pattern in texts:
        if not pattern.fullmatch(text):
            raise TaskError(f"{what} {text!r} is malformed", hint="write such as gw-1, Europe/Berlin or CET-1CEST, and C.UTF-8")
    for name, value in state.variables.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise TaskError(f"variable {name!r} can't be exported", hint="write letters, digits and _, and no NUL in the value")
    if sum(len(name) + len(value.encode("utf-8", "replace")) for name, value in state.variables.items()) > MAX_VARIABLES_BYTES:
        raise TaskError(f"variables of more than {MAX_VARIABLES_BYTES} bytes", hint="put long values into a file")
    known = {*state.nodes, state.cwd, state.home}
    for path in state.read_only:
        check_path(path)
        if isinstance(state.nodes.get(path), Link) or path.startswith("/usr/") or path == "/usr":
            raise TaskError(f"{path!r} can't be made read-only", hint="name the file or directory itself; /usr is read-only always")
        if not any(f"{other}/".startswith(f"{path}/") for other in known):
            raise TaskError(f"{path!r} is to be read-only, but the state has nothing there", hint="add it to the nodes")


class Template:
    """One materialised state; `users` counts open boxes."""

    def __init__(self, path: str, state: State) -> None:
        self.path, self.state = path, state
        self.usr: str | None = None
        self.usr_binds: tuple[tuple[str, str], ...] = ()
        self.users = 0
        self.made_at = time.time()

    @property
    def layers(self) -> tuple[str, ...]:
        """Directories whose union, first one on top, is the initial root of a box."""
        return (f"{self.path}/root", SKELETON)


class Templates:
    """The cache; all its directories belong to us alone and no agent ever runs with one of them writable."""

    def __init__(self, *, merges: bool = True) -> None:
        self._merges = merges  # whether read-only overlays can be had
        self._held: OrderedDict[str, Template] = OrderedDict()
        self._retired: list[Template] = []
        self._made = 0

    def get(self, state_id: str, spare: Template | None = None) -> Template | None:
        """The template of this id with ages exact to FRESH_SECONDS, or None when the state has to be sent.

        A template whose only user is a prepared box (`spare`) that nobody has seen yet counts as unused.
        """
        template = self._held.get(state_id)
        if template is None:
            return None
        self._held.move_to_end(state_id)
        if time.time() - template.made_at > FRESH_SECONDS:
            if template.users > (template is spare):
                self._retired.append(self._held.pop(state_id))
                return None
            template.made_at = time.time()
            _set_ages(template)
        return template

    def make(self, state_id: str, state: State) -> Template:
        """Materialise a state; TaskError when it is malformed, SandboxError when it doesn't fit even into an empty cache."""
        check_state(state)
        while len(self._held) >= MAX_TEMPLATES and self._drop_oldest():
            continue
        while True:
            self._made += 1
            template = Template(f"{CACHE}/{self._made}", state)
            try:
                _materialise(template, merges=self._merges)
                break
            except OSError as error:
                self._remove(template)
                if not self._drop_oldest():
                    raise SandboxError(
                        f"initial state of {len(state.nodes)} files can't be materialised: {error}",
                        hint="make the state smaller, or give the machine more memory",
                    ) from error
        self._held[state_id] = template
        return template

    def release(self, template: Template) -> None:
        """One box less; a retired template goes with its last user."""
        template.users -= 1
        if not template.users and template in self._retired:
            self._retired.remove(template)
            self._remove(template)

    def _drop_oldest(self) -> bool:
        for state_id, template in self._held.items():
            if not template.users:
                del self._held[state_id]
                self._remove(template)
                return True
        return False

    def _remove(self, template: Template) -> None:
        if template.usr and self._merges:
            kernel.unmount(template.usr)
        shutil.rmtree(template.path, ignore_errors=True)


def _materialise(template: Template, *, merges: bool) -> None:
    state, root = template.state, f"{template.path}/root"
    os.makedirs(root)
    for path in (state.cwd, state.home):
        if path != "/" and not path.startswith("/usr/") and not isinstance(state.nodes.get(path), Link):
            _make_directories(root, path)
    nodes = dict(state.nodes)
    if state.home != "/home/user" and "/etc/passwd" not in nodes:
        text = f"root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:{state.home}:/bin/bash\n"
        nodes["/etc/passwd"] = File(data=text.encode(), age_seconds=86_400)
    if state.hostname != "box":
        hosts = ETC_FILES["hosts"].replace("box", state.hostname)
        for path, text in (("/etc/hostname", f"{state.hostname}\n"), ("/etc/hosts", hosts)):
            nodes.setdefault(path, File(data=text.encode(), age_seconds=86_400))
    for path, node in nodes.items():
        _make_directories(root, posixpath.dirname(path))
        put_node(root + path, node)
    for path, node in sorted(nodes.items(), reverse=True):  # children first: a mode may forbid entering
        if isinstance(node, Directory):
            os.chmod(root + path, node.mode & 0o1777)
    os.chmod(root, ROOT_MODE)
    _set_ages(template)
    if state.absent_tools or os.path.isdir(f"{root}/usr"):
        if merges:
            template.usr = merge_usr(template.path, state.absent_tools)
        else:
            template.usr, template.usr_binds = link_usr(template.path, state.absent_tools)


def put_node(path: str, node: Node, opener: Callable[[str, int], int] | None = None) -> None:
    """Create one node at a path whose parents exist; an existing directory is kept."""
    match node:
        case File():
            with open(path, "xb", opener=opener) as file:
                file.write(node.data)
                os.fchmod(file.fileno(), node.mode & 0o777)
        case Directory():
            if not os.path.isdir(path):
                os.mkdir(path)
        case Link():
            os.symlink(node.target, path)


def _make_directories(root: str, path: str) -> None:
    """Make `path` and its parents below `root`, with the mode that the skeleton gives to the same directory (/tmp is 1777)."""
    if os.path.isdir(root + path):
        return
    _make_directories(root, posixpath.dirname(path))
    os.mkdir(root + path)
    try:
        os.chmod(root + path, stat.S_IMODE(os.lstat(SKELETON + path).st_mode))
    except OSError:
        os.chmod(root + path, 0o755)


def _set_ages(template: Template) -> None:
    for path, node in template.state.nodes.items():
        if isinstance(node, File):
            changed = template.made_at - node.age_seconds
            os.utime(f"{template.path}/root{path}", (changed, changed))
