"""A check that ran, or read as code, what the agent changed proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeevo.domain import Changes, Directory, File, Link, Node
from edgeevo.hands import code_behind

HARMLESS = [
    "test -e data",
    "grep -qx 13 data",
    "test \"$(tr -d ' \\n' < data)\" = 13",
    "sort names | cmp -s - data",
    "diff <(sort names) data",
    "test -z \"$(find . -name '*.tmp')\" && ! ls *.tmp",
    "if grep -q x data; then true; else false; fi",
    "[ $(wc -l < data) -eq 3 ] || exit 1",
    "test \"$(grep -c 'x' data)\" -ge 2 # at least",
    '[ "$(sort names | head -n 1)" = "$(head -n 1 data)" ]',
    "! grep -rq TODO . --include='*.py'",
    "cd . && test ! -e gone && cat 'data' > /dev/null 2>&1",
    "sort -t, -k2 -n data > /tmp/sorted\ncmp /tmp/sorted names",
    r"find . \( -name '*.log' -o -name b \) -type f | wc -l | grep -qx 0",
    "/usr/bin/grep -q 'end$' data && grep -q \"end$\" data",
    "sh -c 'cat data'",
    "bash ok.sh",
    "./ok.sh && cat data",
    ". ./ok.sh",
]
CODE = [
    "bash data",
    "sh -eu ./data",
    "./data",
    ". ./data",
    "source data",
    "true # comment\nbash data",
    "echo a#b; bash data",
    "cat data; python3 data",
    "make",
    'eval "$(cat data)"',
    "$(cat data)",
    "`cat data`",
    "xargs sh < data",
    "X=data; sh $X",
    "find . -exec sh {} +",
    "awk -f data names",
    "awk '{system($0)}' data",
    "sed -f data names",
    "sed 's/a/b/e' data",
    "sort --compress-program=./data names",
    "[[ $(cat data) -eq 3 ]]",
    "PATH=.:$PATH; grep x names",
    "BASH_ENV=data bash -c true",
    "f() { sh data; }; f",
    'bash <<< "$(cat data)"',
    "bash nested.sh",
    "./through-link.sh",
    "'unbalanced",
    "sort $(cat data)",
    "X=`cat data`; sort $X",
    "sed $(cat data) names",
    "awk '{ if (system (\"test -f \" $1)) exit 1 }' data",
    'awk "$(cat data)" names',
    'p=$(cat data); awk "$p" names',
    "jq -e 'include \"checks\" {search: \".\"}; ok' names",
    'sed -n "$(cat data)" names | grep -q ok',
    "sed -n '1{s/.*/&/e;p}' data | grep -q ok",
    "sed -n '\ns/.*/&/e\np' data | grep -q ok",
    "test -f names\n<names sh data",
    '[ -v "$(cat data)" ]',
    'read n < data; test -v "$n"',
    "[ -v 'a[$(sh data)]' ]",
    'printf -v "$(cat data)" x',
    "find . $(cat data)",
    "find . -ok sh {} ;",
    "fi\\\nnd . -o\\\nk sh data",
    "tar -xIf data",
    "sort --comp=./data names",
    "[ $(cat data; wc -l < names) -eq 3 ]",
    "[ $(cat data) = 3 ]",
    "[ d* = 3 ]",
    "cd sub; sh ok.sh",
    "cat data > ok.sh; sh ok.sh",
    "cat data >| ok.sh",
    "echo {data,--x}",
    "grep x names & sh data",
    "(sh data)",
    "cat a$(wc -l < names)",
    "sort a<(sh data)",
    "diff <(sh data) names",
    'echo "$(sh data)"',
    "echo \"'\" $(sh data) \"'\"",
    'grep -q "$(cat data)" names',
    "while read line; do echo $line; done < data",
    "for f in data; do sh $f; done",
    "echo $((a[$(sh data)]))",
    "coproc sh data",
    "time sh data",
    "trap 'sh data' EXIT",
    "run-parts .",
    "python3 -m unittest discover",
]  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Scripts that the agent did not touch."""
    (tmp_path / "ok.sh").write_text("#!/bin/sh\n# don't worry\nset -eu\nif test -e a; then exit 1; fi\ngrep -q x data\n")
    (tmp_path / "nested.sh").write_text("grep -q x names\n. ./data\n")
    (tmp_path / "data").write_text("x")
    (tmp_path / "through-link.sh").symlink_to("data")
    return tmp_path


def behind(directory: Path, check: str, **changes: File | Link | None) -> list[str]:
    """What is code behind a check that opened every changed file."""
    nodes = {f"{directory}/{name}": node for name, node in changes.items()}
    found = code_behind(check, str(directory), Changes(nodes=nodes), frozenset(nodes))
    return [Path(path).name for path in found]


@pytest.mark.parametrize("check", HARMLESS)
def test_reading_data_is_no_doubt(directory: Path, check: str) -> None:
    """A changed file that is only read by programs that read data may be judged by them."""
    assert behind(directory, check, data=File(data=b"x")) == []


@pytest.mark.parametrize("check", CODE)
def test_running_or_sourcing_a_changed_file_is_a_doubt(directory: Path, check: str) -> None:
    """Whether named, found, nested, piped or quoted: the changed file is named."""
    assert behind(directory, check, data=File(data=b"x")) == ["data"]


def test_an_executable_that_was_opened_is_a_doubt(directory: Path) -> None:
    """Even by a check that only reads: it may have been found as a program."""
    assert behind(directory, "grep x names", grep=File(data=b"x", mode=0o755)) == ["grep"]


@pytest.mark.parametrize(
    ("check", "name", "node"),
    [
        ("make test", "test", File(data=b"")),
        ("python3 -m unittest discover", "tests", Directory(mode=0)),
        ("run-parts parts", "parts/check", File(data=b"x", mode=0o644)),
        ("pytest -q", "conftest.py", None),
        ("jq -f prog data", "data", Link(target="names")),
    ],
)
def test_what_is_not_understood_is_spoilt_by_any_change(directory: Path, check: str, name: str, node: Node | None) -> None:
    """A name that is merely there, a mode, a removal: opened or not, it may have decided."""
    changes = Changes(nodes={f"{directory}/{name}": node})
    assert code_behind(check, str(directory), changes, frozenset()) == (f"{directory}/{name}",)


def test_a_changed_file_that_was_not_opened_is_no_doubt_where_all_is_understood(directory: Path) -> None:
    """A program that the agent made and that the check did not touch is no part of the verdict."""
    changes = Changes(nodes={f"{directory}/data": File(data=b"x", mode=0o755)})
    assert code_behind("grep -q x names", str(directory), changes, frozenset()) == ()


@pytest.mark.parametrize("check", ["sh lib.sh", ". ./lib.sh", "./lib.sh"])
def test_a_chain_of_links_to_a_script_proves_nothing(directory: Path, check: str) -> None:
    """Whichever link of it the agent turned elsewhere."""
    (directory / "cur.sh").symlink_to("ok.sh")
    (directory / "lib.sh").symlink_to("cur.sh")
    assert behind(directory, check, **{"cur.sh": Link(target="v3.sh")}) == ["cur.sh"]


@pytest.mark.parametrize("check", ["sh ok.sh", "test -z \"$(find . -name '*.tmp')\""])
def test_a_directory_that_hides_what_is_in_it_is_a_doubt(directory: Path, check: str) -> None:
    """Nothing is found where nobody may look."""
    nodes = {f"{directory}/sub": Directory(mode=0)}
    assert code_behind(check, str(directory), Changes(nodes=nodes), frozenset()) == (f"{directory}/sub",)


def test_a_change_of_the_system_is_a_doubt(directory: Path) -> None:
    """What lies outside the directory and is no scratch file may be part of any program."""
    nodes = {"/usr/local/bin/grep": Link(target="/bin/true"), "/tmp/notes": File(data=b"x")}
    assert code_behind("grep -q x data", str(directory), Changes(nodes=nodes), frozenset()) == ("/usr/local/bin/grep",)


def test_what_is_not_known_to_be_unopened_is_a_doubt(directory: Path) -> None:
    """A sandbox that can't tell makes every changed file count."""
    changes = Changes(nodes={f"{directory}/data": File(data=b"x")})
    assert code_behind("make", str(directory), changes, None) == (f"{directory}/data",)


def test_a_name_that_would_be_an_option_is_a_doubt(directory: Path) -> None:
    """A pattern hands such a name to a program, which may run another one because of it."""
    nodes = {f"{directory}/--compress-program=sh": File(data=b""), f"{directory}/data": File(data=b"x")}
    found = code_behind("sort * | grep -q x", str(directory), Changes(nodes=nodes), frozenset({f"{directory}/data"}))
    assert found == tuple(sorted(nodes))


def test_a_link_on_the_way_to_a_script_is_a_doubt(directory: Path) -> None:
    """A directory that the agent replaced by a link leads to another script of the same name."""
    assert behind(directory, "bash lib/check.sh", lib=Link(target="other")) == ["lib"]


def test_a_program_that_was_removed_is_a_doubt(directory: Path) -> None:
    """Another one of the same name may have been found in its place."""
    (directory / "tool").write_text("x")
    (directory / "tool").chmod(0o755)
    assert behind(directory, "cat names", tool=None) == ["tool"]
