"""A check that ran, or read as code, what the agent changed proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeevo.domain import Changes, File, Link
from edgeevo.hands import code_behind

HARMLESS = [
    "test -e data",
    "grep -qx 13 data",
    "test \"$(tr -d ' \\n' < data)\" = 13",
    "sort names | cmp -s - data",
    "diff <(sort names) data",
    "test -z \"$(find . -name '*.tmp')\" && ! ls *.tmp",
    "if grep -q x data; then true; else false; fi",
    "while read line; do echo $line; done < data",
    "awk -F, '{print $1}' data 2>/dev/null | grep -q x # it's fine",
    "[ `wc -l < data` -eq 3 ] || exit 1",
    "sh -c 'cat data'",
    "bash ok.sh",
    "./ok.sh && cat data",
    ". ./ok.sh",
    "tar -tf data | grep -q x",
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
]  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Scripts that the agent did not touch."""
    (tmp_path / "ok.sh").write_text("#!/bin/sh\n# don't worry\nset -eu\nfor f in a b; do test ! -e $f; done\ngrep -q x data\n")
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


def test_a_changed_file_that_was_not_opened_is_no_doubt(directory: Path) -> None:
    """What the sandbox did not see opened has not been run."""
    changes = Changes(nodes={f"{directory}/data": File(data=b"x", mode=0o755)})
    assert code_behind("make", str(directory), changes, frozenset()) == ()


def test_what_is_not_known_to_be_unopened_is_a_doubt(directory: Path) -> None:
    """A sandbox that can't tell makes every changed file count."""
    changes = Changes(nodes={f"{directory}/data": File(data=b"x")})
    assert code_behind("make", str(directory), changes, None) == (f"{directory}/data",)


def test_a_name_that_would_be_an_option_is_a_doubt(directory: Path) -> None:
    """A pattern hands such a name to a program, which may run another one because of it."""
    nodes = {f"{directory}/--compress-program=sh": File(data=b""), f"{directory}/data": File(data=b"x")}
    found = code_behind("sort * | grep -q x", str(directory), Changes(nodes=nodes), frozenset({f"{directory}/data"}))
    assert found == (f"{directory}/data",)


def test_a_link_on_the_way_to_a_script_is_a_doubt(directory: Path) -> None:
    """A directory that the agent replaced by a link leads to another script of the same name."""
    assert behind(directory, "bash lib/check.sh", lib=Link(target="other")) == ["check.sh"]


def test_a_program_that_was_removed_is_a_doubt(directory: Path) -> None:
    """Another one of the same name may have been found in its place."""
    (directory / "tool").write_text("x")
    (directory / "tool").chmod(0o755)
    assert behind(directory, "cat names", tool=None) == ["tool"]
