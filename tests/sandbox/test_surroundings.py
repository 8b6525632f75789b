"""What a state says about its box beside files: name, zone, locale, variables, read-only places, and what goes from command to command."""

from __future__ import annotations

import msgspec
import pytest

from edgeevo.domain import Changes, File, State
from edgeevo.errors import TaskError
from tests.sandbox.conftest import STATE, TIGHT, both_tiers

pytestmark = [pytest.mark.sandbox, both_tiers]


def state(**surroundings) -> State:
    return msgspec.structs.replace(STATE, **surroundings)


def test_a_box_has_the_name_of_its_state(sandbox):
    """The host name is known to the kernel, to /etc/hostname and to /etc/hosts."""
    with sandbox.open(state(hostname="gw-1")) as box:
        assert box.run("hostname; cat /etc/hostname; grep -c gw-1 /etc/hosts; uname -n").stdout == b"gw-1\ngw-1\n1\ngw-1\n"


def test_a_state_may_bring_a_hosts_file_of_its_own(sandbox):
    """Files of the state come before what follows from its name."""
    nodes = {**STATE.nodes, "/etc/hosts": File(data=b"10.0.0.1 db\n")}
    with sandbox.open(state(hostname="gw-1", nodes=nodes)) as box:
        assert box.run("cat /etc/hosts").stdout == b"10.0.0.1 db\n"


@pytest.mark.parametrize(("zone", "shown"), [("CET-1CEST", b"CET"), ("<+0530>-5:30", b"+0530"), ("UTC", b"UTC")])
def test_time_is_told_in_the_zone_of_the_state(sandbox, zone, shown):
    """Zones are understood as the C library does."""
    with sandbox.open(state(time_zone=zone)) as box:
        assert box.run("date -d 2026-01-01T00:00Z +%Z").stdout.strip() == shown


def test_the_locale_of_the_state_is_in_force(sandbox):
    """In the C locale a character is a byte."""
    with sandbox.open(state(locale="C")) as box:
        assert box.run("printf é | wc -m").stdout == b"2\n"


def test_variables_of_the_state_are_exported(sandbox):
    """Every command finds them, with any text, and they may replace what a plain box has."""
    with sandbox.open(state(variables={"A": "1 '\"$x\n", "PATH": "/usr/bin"})) as box:
        assert box.run('printf "%s|%s" "$A" "$PATH"').stdout == b"1 '\"$x\n|/usr/bin"
        assert box.run("printenv A | wc -l").stdout == b"2\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > names",
        "rm names",
        "mv names n",
        "ln -sf /tmp/x names",
        "echo x > conf/new",
        "rm -rf conf",
        "mv conf other",
        "chmod 777 conf/app.toml",
        "touch -d 2001-01-01 names",
        "mv /srv/app /srv/b; echo x > /srv/app/names",
        "mount -o remount,rw names",
    ],
)
def test_a_read_only_place_can_not_be_changed(sandbox, command):
    """What lies there stays, under any name, in this command and the next, and changes don't mention it as altered."""
    with sandbox.open(state(read_only=("/srv/app/names", "/srv/app/conf")), TIGHT) as box:
        assert box.run(command).exit_code != 0
        assert box.run("cd /srv/app 2>/dev/null || cd /srv/b; cat names conf/app.toml").stdout == b"cyan\namber\nblue\nport = 80\n"
        altered = [node for path, node in box.changes().nodes.items() if path in STATE.nodes and node is not None]
    assert altered == []


def test_beside_a_read_only_place_all_is_free(sandbox):
    """Only the place itself is closed."""
    with sandbox.open(state(read_only=("/srv/app/conf",)), TIGHT) as box:
        assert box.run("echo x > names; mkdir d; rm current").exit_code == 0
        assert set(box.changes().nodes) == {"/srv/app/names", "/srv/app/d", "/srv/app/current"}


def test_a_moved_parent_leads_no_later_command_out(sandbox):
    """A link where a read-only place was, before the next command sets up its mounts, shows nothing of the runner."""
    with sandbox.open(state(read_only=("/srv/app/conf",)), TIGHT) as box:
        box.run("mv /srv/app /srv/b; mkdir -p /srv/app; ln -s / /srv/app/conf; ln -sfn /proc /srv/app/conf")
        assert box.run("ls -d /srv/app/conf/boxes /srv/app/conf/cache /boxes /cache 2>/dev/null").stdout == b""


@pytest.mark.parametrize(
    "surroundings",
    [
        {"hostname": "a b"},
        {"hostname": "-a"},
        {"hostname": ""},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": "a\nb"},
        {"locale": "x/y"},
        {"variables": {"A=B": "x"}},
        {"variables": {"A": "x\0"}},
        {"variables": {"A": "x" * 20_000}},
        {"read_only": ("/srv/none",)},
        {"read_only": ("/srv/app/current",)},
        {"read_only": ("/usr/bin",)},
        {"read_only": ("relative",)},
    ],
    ids=str,
)
def test_malformed_surroundings_are_refused(sandbox, surroundings):
    """What can't be had is the task's fault, with a hint."""
    with pytest.raises(TaskError) as caught:
        sandbox.open(state(**surroundings))
    assert caught.value.hint


@pytest.fixture
def shell(sandbox):
    with sandbox.open(state(carries=True, variables={"A": "1"}), TIGHT) as box:
        yield lambda command: box.run(command).stdout.decode()


def test_directory_and_exported_variables_are_carried(shell):
    """`cd` and `export` hold for the next command, also when the command failed; plain variables and `unset` ones are gone."""
    shell("cd conf; export B=$'x\\ny'; C=3; unset A; exit 4")
    assert shell('pwd; echo "$A,$B,$C"; export -p | grep -c SHLVL') == "/srv/app/conf\n,x\ny,\n1\n"


def test_a_killed_command_hands_nothing_on(shell):
    """After a limit or a kill the next command starts as that one did."""
    shell("cd conf; kill -9 $$")
    assert shell("pwd") == "/srv/app\n"
    shell("cd conf; yes")
    assert shell("pwd") == "/srv/app\n"


def test_a_directory_that_is_gone_is_not_carried(shell):
    """The next command starts in the working directory of the state, or at / when that is gone as well."""
    shell("mkdir d; cd d; rmdir ../d")
    assert shell("pwd") == "/srv/app\n"
    shell("rm -rf /srv; cd /tmp; mkdir x; cd x; rmdir /tmp/x")
    assert shell("pwd") == "/\n"


def test_what_an_agent_writes_to_the_descriptor_stays_its_own(shell):
    """Text of its own there becomes its own directory and variables at most, and breaks nothing."""
    assert shell("printf '/tmp\\0X=1\\0bad name=2\\0' >&6; trap - EXIT") == ""
    assert shell("pwd; echo $X") == "/tmp\n1\n"
    assert shell("head -c 1M /dev/zero >&6; yes /tmp | head -c 99999 >&6; exec true") == ""
    assert shell("pwd; echo $X") == "/tmp\n1\n"
    assert shell("exec 6>&-; cd /") == "" and shell("pwd") == "/tmp\n"


def test_a_plain_box_carries_nothing(sandbox):
    """Without being asked for, no descriptor is there and nothing is carried."""
    with sandbox.open(STATE) as box:
        box.run("cd /tmp; export B=1")
        assert box.run("pwd; echo $B; echo x >&6").stdout == b"/srv/app\n\n"


def test_a_read_only_command_carries_nothing(sandbox):
    """A command that may change nothing does not change what is carried either."""
    with sandbox.open(state(carries=True)) as box:
        box.run("cd /tmp", read_only=True)
        assert box.run("pwd").stdout == b"/srv/app\n"
        assert box.changes() == Changes(nodes={})
