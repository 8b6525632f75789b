"""Copy-on-write views of real directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgeevo.domain import Changes, File, Limits, Link
from edgeevo.errors import RefusedError, SandboxError
from tests.sandbox.conftest import both_tiers, descendants, settled

pytestmark = [pytest.mark.sandbox, both_tiers]


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    (directory / "old").mkdir(parents=True)
    (directory / "a").write_text("one\n")
    (directory / "old/b").write_text("two\n")
    (directory / "link").symlink_to("a")
    return directory


def test_a_directory_is_seen_at_its_own_path_and_never_written(sandbox, project):
    """Commands see and change the view; the real directory stays as it was."""
    with sandbox.open_directory(project) as box:
        result = box.run("pwd; cat a; echo new > a; rm -r old; touch c")
        changes = box.changes()
    assert result.stdout.decode() == f"{project}\none\n"
    assert changes.nodes == {
        f"{project}/a": File(data=b"new\n"),
        f"{project}/c": File(data=b""),
        f"{project}/old": None,
        f"{project}/old/b": None,
    }
    assert (project / "a").read_text() == "one\n" and (project / "old/b").exists() and not (project / "c").exists()


def test_nothing_beside_the_directory_is_seen(sandbox, project):
    """Siblings and parents of the directory are empty."""
    (project.parent / "secret").write_text("canary")
    with sandbox.open_directory(project) as box:
        assert box.run("ls -A ..; cat ../secret; ls /home /root /srv /opt").stdout.decode().split() == [
            "project",
            "/home:",
            "user",
            "/opt:",
            "/root:",
            "/srv:",
        ]


def test_changes_of_one_box_can_be_laid_on_the_view_of_the_next(sandbox, project):
    """A second box that is given the changes shows exactly the end of the first."""
    with sandbox.open_directory(project) as box:
        box.run(
            "rm -r old; mkdir old; echo x > old/y; chmod 500 old; rm a; mkdir a; ln -sfn old/y link; "
            "echo t > /tmp/t; echo s > s; chmod 750 s"
        )
        changes = box.changes()
        look = "find . -printf '%p %M %U %l\\n' | sort; cat link /tmp/t s"
        seen = box.run(look).stdout
    with sandbox.open_directory(project, changes=changes) as again:
        assert again.run(look).stdout == seen
        assert again.changes() == changes


def test_laying_changes_never_follows_a_link(sandbox, project, tmp_path):
    """A path that leads through a link in the directory is refused."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "out").symlink_to(outside)
    with pytest.raises(SandboxError):
        sandbox.open_directory(project, changes=Changes(nodes={f"{project}/out/x": File(data=b"x")}))
    assert list(outside.iterdir()) == []


def test_incomplete_changes_are_not_laid(sandbox, project):
    """Half of a result is no ground for a verdict."""
    with pytest.raises(SandboxError):
        sandbox.open_directory(project, changes=Changes(nodes={}, complete=False))


def test_a_read_only_view_can_only_be_read(sandbox, project):
    """With `read_only` every command leaves the view alone."""
    with sandbox.open_directory(project, read_only=True) as box:
        assert box.run("cat a; echo x > a").exit_code != 0
        assert box.changes().nodes == {}


@pytest.mark.parametrize("name", ["with space", "co:lon", "com,ma", "back\\slash", "new\nline", "-dash", "ünï", "quo'te\"", "a=b"])
def test_odd_names_of_the_directory_itself(sandbox, tmp_path, name):
    """The path of the directory may contain whatever a path may."""
    directory = tmp_path / name
    directory.mkdir()
    (directory / "f").write_text("x")
    with sandbox.open_directory(directory) as box:
        assert box.run("cat f; echo y > g").stdout == b"x"
        assert box.changes().nodes == {f"{directory}/g": File(data=b"y\n")}


@pytest.mark.parametrize("place", ["/", "/usr", "/usr/share", "/etc", "/proc/self", "/dev"])
def test_places_of_the_system_are_refused(sandbox, place):
    """A view of the system's own directories is never made."""
    with pytest.raises(RefusedError):
        sandbox.open_directory(Path(place))


def test_a_missing_directory_is_an_error_with_a_hint(sandbox, tmp_path):
    """The message names the directory."""
    with pytest.raises(SandboxError, match="nowhere") as caught:
        sandbox.open_directory(tmp_path / "nowhere")
    assert caught.value.hint


def test_links_to_the_host_lead_nowhere(sandbox, project, tmp_path):
    """A link in the real directory to a file outside it is dangling inside."""
    (tmp_path / "secret").write_text("canary")
    (project / "out").symlink_to(tmp_path / "secret")
    with sandbox.open_directory(project) as box:
        assert box.run("cat out").stdout == b""
        box.run("rm out; ln -s /etc/shadow out")
        assert box.changes().nodes == {f"{project}/out": Link(target="/etc/shadow")}


def test_the_quota_holds_for_directories(sandbox, project):
    """Writing into the view fills the box's quota, not the disk."""
    with sandbox.open_directory(project, Limits(disk_bytes=2 << 20)) as box:
        assert box.run("head -c 5M /dev/zero > big").limit_hit == "disk"


def test_a_runner_for_a_directory_ends_with_its_box(sandbox, project):
    """Closing the box ends the process that was started for it."""
    before = set(descendants(os.getpid()))
    box = sandbox.open_directory(project)
    assert set(descendants(os.getpid())) - before
    box.close()
    assert settled(lambda: not set(descendants(os.getpid())) - before)


def test_names_of_one_file_are_told(sandbox, project):
    """A hard link that the agent made is in the result as such, also to a file that did not change."""
    with sandbox.open_directory(project) as box:
        box.run("ln a again; echo x > new; ln new other")
        assert box.changes().same == ((f"{project}/a", f"{project}/again"), (f"{project}/new", f"{project}/other"))


def test_names_that_are_no_utf8_keep_their_bytes(sandbox, project):
    """The bytes of such a path are in the result, and the next view has a file of exactly that name."""
    with sandbox.open_directory(project) as box:
        box.run("echo x > $(printf 'q\\377')")
        changes = box.changes()
    assert changes.raw == {f"{project}/q\\xff": os.fsencode(project) + b"/q\xff"}
    with sandbox.open_directory(project, changes=changes) as again:
        assert again.run("cat q$(printf '\\377')").stdout == b"x\n"


def test_directories_made_anew_inside_each_other_lose_what_was_in_them(sandbox, project):
    """What lay deep in a tree that was removed and made again is told as removed, also below the topmost new directory."""
    (project / "old/deep/deeper").mkdir(parents=True)
    (project / "old/deep/deeper/x").write_text("x")
    with sandbox.open_directory(project) as box:
        box.run("rm -r old; mkdir -p old/deep/deeper")
        assert box.changes().nodes == {f"{project}/old/b": None, f"{project}/old/deep/deeper/x": None}


def test_what_is_too_large_to_be_read_is_named(sandbox, project):
    """A file beyond the bound makes the result incomplete and is left out by name."""
    with sandbox.open_directory(project) as box:
        box.run("head -c 17M /dev/zero > big")
        changes = box.changes()
    assert (changes.complete, changes.left_out) == (False, (f"{project}/big",))


def test_a_view_knows_which_laid_files_were_opened(sandbox, project):
    """Run, sourced and read files are told; files that were only looked at are not."""
    with sandbox.open_directory(project) as box:
        box.run("echo : > sourced; printf '#!/bin/sh\n' > run; chmod 755 run; echo x > read; echo x > seen")
        changes = box.changes()
    with sandbox.open_directory(project, read_only=True, changes=changes) as again:
        again.run(". ./sourced; ./run; cat read; test -e seen; ls")
        assert again.opened() == {f"{project}/{name}" for name in ("sourced", "run", "read")}
