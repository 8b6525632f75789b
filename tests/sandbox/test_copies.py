"""Tier C, where boxes are copies: what is particular to it. The contract itself is tested for both tiers by the other modules."""

from __future__ import annotations

import os
import socket
import subprocess

import msgspec
import pytest

from edgeevo.domain import Changes, File, LimitHit, Limits, Link, State
from edgeevo.errors import SandboxError
from edgeevo.sandbox import layers, open_sandbox, probe
from tests.sandbox.conftest import STATE, TIGHT, needs_root

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(tier="copy") as opened:
        assert opened.abilities.tier == "copy"
        yield opened


@pytest.mark.parametrize("place", ["/srv/app", "/tmp", "/dev/shm"])
def test_what_is_written_is_on_the_quota(sandbox, place):
    """The disk quota leaves exactly its size beside the copy, in every place."""
    with sandbox.open(STATE, TIGHT) as box:
        result = box.run(f"for i in 1 2 3; do head -c 3M /dev/zero > {place}/fill$i; done; cat {place}/fill* | wc -c; false")
    assert result.limit_hit is LimitHit.DISK and int(result.stdout) == TIGHT.disk_bytes


def test_inodes_run_out(sandbox):
    """The number of new entries is bounded whatever the copy holds, hard links included."""
    with sandbox.open(STATE, TIGHT) as box:
        assert box.run("mkdir d; cd d; for i in $(seq 500); do ln ../names f$i || exit 1; done").limit_hit is LimitHit.INODES
        made = box.run("rm -r d; mkdir d; cd d; i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; ls | wc -l").stdout
    assert TIGHT.inodes - 20 < int(made) <= TIGHT.inodes


def test_a_write_that_leaves_no_trace_in_times_is_found(sandbox):
    """A file that is written through a mapping, with size and times as before, is a change."""
    code = "import mmap,os\nf=open('names','r+b'); s=os.stat('names'); m=mmap.mmap(f.fileno(),0); m[0]; m[0]=88; m.close()\n"
    code += "os.utime('names',ns=(s.st_atime_ns,s.st_mtime_ns))"
    with sandbox.open(STATE, TIGHT) as box:
        assert box.run(f'python3 -c "{code}"').exit_code == 0
        assert box.changes().nodes == {"/srv/app/names": File(data=b"Xyan\namber\nblue\n")}


def test_a_device_that_looks_like_a_whiteout_removes_nothing(sandbox):
    """What an overlay would take for a removal is something special here, and no way to hide a file that was there."""
    code = "import os; os.unlink('names'); os.mknod('names', 0o020000, 0)"
    with sandbox.open(STATE, TIGHT) as box:
        made = box.run(f'python3 -c "{code}"').exit_code == 0
        assert box.changes().nodes == {"/srv/app/names": Link(target="") if made else None}


COMMANDS = (
    "mv conf c2; ln -s c2 conf; mkdir -p a/b/c; echo x > a/b/c/x; mv a/b z; chmod 700 z/c",
    "rm -r *; mkdir names conf; echo 1 > names/in; ln -s nowhere conf/app.toml; mkfifo current",
    "cp -a conf conf2; rm -r conf; mv conf2 conf; ln current hard; ln -sfn conf/app.toml current; mv hard current",
    "rm -r /srv; mkdir /srv; echo x > /srv/app; rm /etc/hosts; echo y > /etc/hosts; rm /etc/alternatives/*; mkdir /var/log/x; rmdir /mnt",
    "chmod 0 names; chmod 1777 conf; touch -d 2001-01-01 conf/app.toml; truncate -s 5 names; echo /tmp > /tmp/t; mkdir -m 0 /tmp/shut",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_changes_are_those_of_the_overlay(sandbox, command):
    """The same command on the same state gives the same changes in the tier that the kernel allows and in this one."""
    with open_sandbox() as other, other.open(STATE, TIGHT) as reference, sandbox.open(STATE, TIGHT) as box:
        assert reference.run(command).exit_code == box.run(command).exit_code
        assert box.changes() == reference.changes()


def test_the_host_below_usr_is_the_same_but_for_what_the_state_says(sandbox):
    """Added files and new trees are there, absent tools are nowhere, everything else runs, and nothing can be written."""
    nodes = {"/usr/local/bin/gw": File(data=b"#!/bin/sh\necho gw\n", mode=0o755), "/usr/share/new/x/y": File(data=b"y\n")}
    with sandbox.open(State(nodes=nodes, cwd="/", absent_tools=("ls", "sort")), TIGHT) as box:
        result = box.run(
            "gw; cat /usr/share/new/x/y; python3 -c 'print(1)'; perl -e 'print 2' | tr 2 3; touch /usr/bin/x /usr/x || echo no"
        )
        assert result.stdout == b"gw\ny\n1\n3no\n"
        assert box.run("sort").exit_code == 127 and box.run("/usr/bin/ls").exit_code == 127
        assert box.run("/usr/.host/bin/ls").exit_code == 126  # an empty file that nobody may run
        assert box.changes().nodes == {}


def test_a_directory_larger_than_the_quota_is_refused_by_name(sandbox, tmp_path):
    """What can't be copied within the disk limit is refused, with its name and what to do; one that just fits is served."""
    (tmp_path / "big").write_bytes(bytes(2 << 20))
    with pytest.raises(SandboxError, match=f"{tmp_path} is larger than .* {(2 << 20) - 1} bytes") as caught:
        sandbox.open_directory(tmp_path, Limits(disk_bytes=(2 << 20) - 1))
    assert "disk_bytes" in caught.value.hint
    with sandbox.open_directory(tmp_path, Limits(disk_bytes=2 << 20, file_bytes=8 << 20)) as box:
        assert box.run("wc -c < big; head -c 2M /dev/zero > more && wc -c < more").stdout == b"2097152\n2097152\n"


def test_a_directory_that_is_too_deep_is_refused(sandbox, tmp_path):
    """Levels beyond what changes are read from are refused at the start, not found out at the end."""
    os.makedirs(tmp_path / "/".join("d" * 60))
    with pytest.raises(SandboxError, match="levels"):
        sandbox.open_directory(tmp_path)


def test_a_copied_directory_keeps_modes_links_times_and_special_files(sandbox, tmp_path):
    """The copy looks as the directory does, and is no change by itself; links are copied as links."""
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o640)
    os.utime(tmp_path / "f", (1_000_000_000, 1_000_000_000))
    (tmp_path / "shut").mkdir(0o500)
    (tmp_path / "out").symlink_to("/etc/shadow")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
    look = "stat -c '%n %A %Y %N' f shut out fifo s"
    with sandbox.open_directory(tmp_path) as box:
        seen, changes = box.run(look).stdout, box.changes()
    assert seen == subprocess.run(["/bin/sh", "-c", look], cwd=tmp_path, capture_output=True, check=True).stdout
    assert changes == Changes(nodes={})


def test_what_others_do_to_the_directory_meanwhile_is_no_change(sandbox, tmp_path):
    """Changes are counted from what was copied: a file that is edited, made or removed outside while the box is open isn't among them."""
    for name in ("edited", "removed", "kept"):
        (tmp_path / name).write_text("before\n")
    with sandbox.open_directory(tmp_path) as box:
        (tmp_path / "edited").write_text("after!\n")
        (tmp_path / "removed").unlink()
        (tmp_path / "new").write_text("x")
        box.run("echo mine > kept")
        assert box.changes().nodes == {f"{tmp_path}/kept": File(data=b"mine\n")}


@needs_root
def test_what_may_not_be_read_has_a_stand_in(sandbox, tmp_path):
    """Files and directories of others that the directory's owner can't read are there, can't be read, and are no change until replaced."""
    os.chown(tmp_path, 65_533, 65_533)
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "closed").mkdir(0o700)
    (tmp_path / "closed/inner").write_text("canary")
    with sandbox.open_directory(tmp_path) as box:
        assert box.run("cat secret; ls closed").stdout == b""
        assert box.changes() == Changes(nodes={})
        box.run("rm -f secret; echo mine > secret; rmdir closed")
        assert box.changes().nodes == {f"{tmp_path}/secret": File(data=b"mine\n"), f"{tmp_path}/closed": None}


@needs_root
def test_mounts_below_a_directory_are_not_copied(sandbox, tmp_path):
    """Another file system that is mounted in the directory is an empty directory in the view."""
    (tmp_path / "mounted").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "x", tmp_path / "mounted"], check=True)
    try:
        (tmp_path / "mounted/f").write_text("other")
        with sandbox.open_directory(tmp_path) as box:
            assert box.run("ls mounted").stdout == b"" and box.changes().nodes == {}
            box.run("rmdir mounted")
            assert box.changes().nodes == {f"{tmp_path}/mounted": None}
    finally:
        subprocess.run(["umount", tmp_path / "mounted"], check=True)


def test_a_mount_that_succeeds_is_not_believed(tmp_path, monkeypatch):
    """An overlay that mounts but can't replace a directory leads to copies, and the reason is kept; forcing overlays is then an error."""
    monkeypatch.setattr(layers, "CACHE", str(tmp_path))
    monkeypatch.setattr(layers.kernel, "mount", lambda _source, target, *_: os.makedirs(f"{target}/old/inner"))
    monkeypatch.setattr(layers.kernel, "unmount", lambda _target: None)
    found = layers.find_abilities(None, None)
    assert found.tier == "copy" and not found.merges and "replaced" in found.reason
    with pytest.raises(SandboxError, match="replaced") as caught:
        layers.find_abilities("overlay", None)
    assert "Linux 6.6" in caught.value.hint


def test_a_refused_mount_leads_to_copies(tmp_path, monkeypatch):
    """Where overlays can't be mounted the kernel's own words are the reason."""

    def refuse(*_):
        raise OSError(19, "mount of overlay: No such device")

    monkeypatch.setattr(layers, "CACHE", str(tmp_path))
    monkeypatch.setattr(layers.kernel, "mount", refuse)
    assert layers.find_abilities(None, None) == layers.Abilities(
        tier="copy", merges=False, reason="[Errno 19] mount of overlay: No such device"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_self_check_holds_and_names_the_tier():
    """`edgeevo doctor` finds nothing wrong in this tier, and says that it is in force and what follows."""
    results = probe(tier="copy")
    assert [result for result in results if not result.ok] == []
    assert any("tier C" in result.fact and "refused" in result.fact for result in results)


def test_the_tier_of_a_sandbox_can_be_asked_for(sandbox):
    """Who opened a sandbox can see which tier serves it and why."""
    assert msgspec.structs.asdict(sandbox.abilities) == {"tier": "copy", "merges": False, "reason": "asked for"}
