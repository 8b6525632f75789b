"""One open box inside the runner: its quota tmpfs, its overlays, and what is known about it. Teardown is an unmount."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Iterator

from edgeevo.domain import Changes, LimitHit, Limits
from edgeevo.errors import SandboxError
from edgeevo.sandbox import kernel
from edgeevo.sandbox.confine import View
from edgeevo.sandbox.laying import lay_changes
from edgeevo.sandbox.namespace import BOXES, DIRECTORY, ROOT_LINKS, SKELETON
from edgeevo.sandbox.template import Template

FULL_BYTES = 4096  # fewer free bytes than one page: the quota was hit
OWN_INODES = 16  # the directories of the box itself


class Layer:
    """One overlay of a box: `lowers` (first on top), `upper` as the box filled it, `merged` as it sees it, `prefix` its place inside."""

    def __init__(self, base: str, name: str, lowers: tuple[str, ...], prefix: str) -> None:
        self.lowers, self.prefix = lowers, prefix
        self.upper, self.work, self.merged = f"{base}/{name}-upper", f"{base}/{name}-work", f"{base}/{name}"
        for directory in (self.work, self.merged):
            os.mkdir(directory)
        os.mkdir(self.upper, stat.S_IMODE(os.stat(lowers[0]).st_mode))  # the view's own root takes its mode from here

    def mount(self) -> None:
        """Mount it; the paths are ours and contain nothing that the option syntax could mistake."""
        options = f"lowerdir={':'.join(self.lowers)},upperdir={self.upper},workdir={self.work},userxattr"
        kernel.mount("box", self.merged, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)


class OpenBox:
    """Mounts of one box and its limits; made by `open_state_box` or `open_directory_box`."""

    def __init__(self, handle: int, limits: Limits) -> None:
        self.handle, self.limits = handle, limits
        self.base = f"{BOXES}/{handle}"
        self.layers: list[Layer] = []
        self.template: Template | None = None
        self.read_only = False
        self.running = 0
        self.view = View(root="", shared_memory="")
        os.mkdir(self.base)
        options = f"size={limits.disk_bytes},nr_inodes={limits.inodes + OWN_INODES},mode=700"
        kernel.mount("quota", self.base, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        os.mkdir(f"{self.base}/shm", 0o700)

    def add_layer(self, name: str, lowers: tuple[str, ...], prefix: str) -> Layer:
        """Mount one more overlay on the box's quota."""
        layer = Layer(self.base, name, lowers, prefix)
        layer.mount()
        self.layers.append(layer)
        return layer

    def full(self) -> LimitHit | None:
        """Which quota is used up at this moment."""
        left = os.statvfs(self.base)
        if left.f_bavail * left.f_frsize < FULL_BYTES:
            return LimitHit.DISK
        return LimitHit.INODES if left.f_favail == 0 else None

    def close(self) -> None:
        """Unmount everything; hostile trees vanish without being walked."""
        kernel.unmount(self.base)  # with the overlays that are mounted in it
        os.rmdir(self.base)


@functools.cache
def system_directories() -> tuple[str, ...]:
    """/bin and friends where this machine keeps them as directories of their own."""
    return tuple(f"/{name}" for name in ROOT_LINKS if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}"))


def open_state_box(handle: int, limits: Limits, template: Template) -> OpenBox:
    """A box whose / is a copy-on-write view of a template."""
    box = OpenBox(handle, limits)
    with _undone_on_failure(box):
        layer = box.add_layer("root", template.layers, "")
        box.view = View(
            root=layer.merged,
            shared_memory=f"{box.base}/shm",
            usr=template.usr or "/usr",
            system_directories=system_directories(),
            cwd=template.state.cwd,
            home=template.state.home,
        )
    box.template = template
    template.users += 1
    return box


def open_directory_box(handle: int, limits: Limits, place: str, *, read_only: bool, changes: Changes | None) -> OpenBox:
    """A box with a copy-on-write view of the runner's real directory at its own path `place`; `changes` are laid on top first."""
    box = OpenBox(handle, limits)
    with _undone_on_failure(box):
        root = box.add_layer("root", (SKELETON,), "")
        os.makedirs(root.merged + place, exist_ok=True)
        directory = box.add_layer("directory", (DIRECTORY,), place)
        if changes is not None:
            lay_changes(changes, [(layer.prefix, layer.merged) for layer in box.layers])
        box.read_only = read_only
        box.view = View(
            root=root.merged,
            shared_memory=f"{box.base}/shm",
            binds=((directory.merged, place),),
            system_directories=system_directories(),
            cwd=place,
        )
    return box


@contextlib.contextmanager
def _undone_on_failure(box: OpenBox) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        box.close()
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise SandboxError(
            f"box can't be opened: {error}",
            hint="raise disk_bytes or inodes of the limits"
            if full
            else "run `edgeevo doctor`: overlays in user namespaces need Linux 6.6 or newer",
        ) from error
    except BaseException:
        box.close()
        raise


def reachable_directory(box: OpenBox, path: str) -> bool:
    """Whether `path` is a directory inside the box's root at this moment (links are followed as the box would, never out of it)."""
    root = os.open(box.view.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        resolve = kernel.RESOLVE_IN_ROOT | kernel.RESOLVE_NO_MAGICLINKS
        fd = kernel.open_beneath(root, os.fsencode(path), os.O_PATH | os.O_DIRECTORY, resolve=resolve)
    except OSError:
        return False
    finally:
        os.close(root)
    mode = os.fstat(fd).st_mode
    os.close(fd)
    return bool(mode & stat.S_IXUSR)
