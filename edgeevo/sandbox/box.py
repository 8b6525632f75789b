"""One open box inside the runner: its quota tmpfs, its layers, and what is known about it. Teardown is an unmount."""

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
from edgeevo.sandbox.carrying import Carried
from edgeevo.sandbox.confine import View, environment
from edgeevo.sandbox.layers import CopiedLayer, Layer, OverlayLayer, Tier
from edgeevo.sandbox.laying import lay_changes
from edgeevo.sandbox.namespace import BOXES, CACHE_BYTES, CACHE_INODES, DIRECTORY, ROOT_LINKS, SKELETON
from edgeevo.sandbox.opens import Opens
from edgeevo.sandbox.template import Template

FULL_BYTES = 4096  # fewer free bytes than one page: the quota was hit
OWN_INODES = 16  # the directories of the box itself


class OpenBox:
    """Mounts of one box and its limits; made by `open_state_box` or `open_directory_box`."""

    def __init__(self, handle: int, limits: Limits, tier: Tier) -> None:
        self.handle, self.limits, self._tier = handle, limits, tier
        self.base = f"{BOXES}/{handle}"
        self.layers: list[Layer] = []
        self.template: Template | None = None
        self.opens: Opens | None = None
        self.read_only = False
        self.running = 0
        self.carried: Carried | None = None  # from the command before, where the state wants that
        self.view = View(root="", shared_memory="")
        os.mkdir(self.base)
        room = (0, 0) if tier == "overlay" else (limits.disk_bytes + CACHE_BYTES, CACHE_INODES)  # for the copy, until it is there
        options = f"size={limits.disk_bytes + room[0]},nr_inodes={limits.inodes + OWN_INODES + room[1]},mode=700"
        kernel.mount("quota", self.base, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
        os.mkdir(f"{self.base}/shm", 0o700)

    def add_layer(self, name: str, lowers: tuple[str, ...], prefix: str, *, what: str, max_bytes: int) -> Layer:
        """One more writable tree on the box's quota; where it has to be copied, `what` must not be larger than `max_bytes`."""
        layer: Layer
        if self._tier == "overlay":
            layer = OverlayLayer(self.base, name, lowers, prefix)
        else:
            layer = CopiedLayer(self.base, name, lowers, prefix, what=what, max_bytes=max_bytes)
        self.layers.append(layer)
        return layer

    def forbid_changes(self, path: str) -> None:
        """Make a place below the first layer read-only for every command; only before anything of an agent's has run.

        The mount belongs to the file or directory and not to its name: moving a parent takes it along, and replacing it is refused.
        """
        target = self.layers[0].merged + path
        kernel.mount(target, target, None, kernel.MS_BIND)
        flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount(target, target, None, flags)

    def settle_quota(self) -> None:
        """Once the layers are there: leave as much free as the limits say, because the quota counts what the episode writes."""
        if self._tier == "copy":
            now = os.statvfs(self.base)
            size = (now.f_blocks - now.f_bfree) * now.f_frsize + self.limits.disk_bytes
            inodes = now.f_files - now.f_ffree + self.limits.inodes
            flags = kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV
            kernel.mount("quota", self.base, "tmpfs", flags, f"size={size},nr_inodes={inodes}")

    def full(self) -> LimitHit | None:
        """Which quota is used up at this moment."""
        left = os.statvfs(self.base)
        if left.f_bavail * left.f_frsize < FULL_BYTES:
            return LimitHit.DISK
        return LimitHit.INODES if left.f_favail == 0 else None

    def close(self) -> None:
        """Unmount everything; hostile trees vanish without being walked."""
        if self.opens is not None:
            self.opens.close()
        kernel.unmount(self.base)  # with any overlays that are mounted in it
        os.rmdir(self.base)


@functools.cache
def system_directories() -> tuple[str, ...]:
    """/bin and friends where this machine keeps them as directories of their own."""
    return tuple(f"/{name}" for name in ROOT_LINKS if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}"))


def open_state_box(handle: int, limits: Limits, tier: Tier, template: Template) -> OpenBox:
    """A box whose / is a copy-on-write view, or a copy, of a template."""
    box = OpenBox(handle, limits, tier)
    with _undone_on_failure(box):
        layer = box.add_layer("root", template.layers, "", what="the initial state", max_bytes=CACHE_BYTES)
        box.settle_quota()
        state = template.state
        for path in state.read_only:
            box.forbid_changes(path)
        box.view = View(
            root=layer.merged,
            shared_memory=f"{box.base}/shm",
            usr=template.usr or "/usr",
            usr_binds=template.usr_binds,
            system_directories=system_directories(),
            cwd=state.cwd,
            hostname=state.hostname,
            environment=environment(state.home, time_zone=state.time_zone, locale=state.locale, variables=state.variables),
        )
    box.template = template
    template.users += 1
    return box


def open_directory_box(handle: int, limits: Limits, tier: Tier, place: str, *, read_only: bool, changes: Changes | None) -> OpenBox:
    """A box with a view (or copy) of the runner's real directory at its own path `place`; `changes` are laid on top first."""
    box = OpenBox(handle, limits, tier)
    with _undone_on_failure(box):
        root = box.add_layer("root", (SKELETON,), "", what="the skeleton", max_bytes=CACHE_BYTES)
        os.makedirs(root.merged + place, exist_ok=True)
        directory = box.add_layer("directory", (DIRECTORY,), place, what=f"directory {place}", max_bytes=limits.disk_bytes)
        box.settle_quota()
        if changes is not None:
            places = [(layer.prefix, layer.merged) for layer in box.layers]
            lay_changes(changes, places)
            box.opens = Opens(changes, places)
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
            hint="raise disk_bytes or inodes of the limits" if full else "run `edgeevo doctor`",
        ) from error
    except BaseException:
        box.close()
        raise


def reachable_directory(box: OpenBox, path: str | bytes) -> bool:
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
