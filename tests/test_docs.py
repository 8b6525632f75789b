"""The documentation is held to account: commands run, settings and options are all told, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from edgeevo.config import keys, load

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
THE_TWO_COMMANDS = ["make demo", "make test"]
README_SECONDS = 300
CHECK_FAILED = 10  # `edgeevo run`: an untrained model may fail at the task; that is an answer, not an error


def shell_lines(page: Path) -> list[str]:
    """The commands of a page's shell blocks, comments removed."""
    blocks = re.findall(r"^```(?:sh|bash|shell|console)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"(^|\s)#.*$", "", line).rstrip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody who tries the README on a machine of their own: nothing of this one is read or changed."""
    shims = tmp_path / "bin"
    shims.mkdir()
    (shims / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (shims / "edgeevo").write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from edgeevo.cli import main; main()' \"$@\"\n")
    for shim in shims.iterdir():
        shim.chmod(0o755)
    runtime = tempfile.mkdtemp(prefix="edgeevo-")  # short: a socket's path has at most 107 bytes
    settings = tmp_path / "edgeevo.toml"
    settings.write_text(
        f"version = 1\n[model]\nmodels_dir = {str(ROOT / '.cache' / 'models')!r}\n"
        '[daemon]\nnight_module = "edgeevo.rehearsal"\n[night]\nrehearsal_seconds = 2.0\n'
    )
    yield {
        "PATH": f"{shims}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "EDGEEVO_CONFIG": str(settings),
        "STATE_DIRECTORY": str(tmp_path / "state"),
        "RUNTIME_DIRECTORY": runtime,
        "DESTDIR": str(tmp_path / "root"),
    }
    shutil.rmtree(runtime)


def test_the_readme_begins_with_the_two_commands() -> None:
    """The first shell block of the README is `make demo` and `make test`, and both are targets of the Makefile."""
    assert shell_lines(ROOT / "README.md")[:2] == THE_TWO_COMMANDS
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)


@pytest.mark.model
@pytest.mark.sandbox
def test_every_other_command_of_the_readme_runs(newcomer: dict[str, str]) -> None:
    """All commands of the README but the two make targets run, in order, in one shell, with a daemon and the real model."""
    wait = "while kill -0 $! && ! edgeevo status >/dev/null 2>&1; do sleep 0.2; done"
    script = ["set -eu", "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT", 'mkdir -p "$HOME"']
    for line in shell_lines(ROOT / "README.md")[2:]:
        script.append(f"echo {shlex.quote('$ ' + line)}")
        if line.startswith("export PATH="):
            continue  # the fixture's PATH leads to this very checkout
        script.append(f"{line} || [ $? -eq {CHECK_FAILED} ]" if line.startswith("edgeevo run") else line)
        if line.endswith("&"):
            script.append(wait)
    script.append("echo all ran")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=ROOT,
        env=newcomer,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=README_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith("all ran"), done.stdout
    unit = Path(newcomer["DESTDIR"], "etc/systemd/system/edgeevo.service").read_text()
    assert f'ExecStart="{ROOT}/.venv/bin/edgeevo" --config /etc/edgeevo/edgeevo.toml daemon\n' in unit


def leaves(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    """A nested table as "section.key" -> value."""
    found: dict[str, object] = {}
    for key, value in table.items():
        found |= leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def test_every_setting_is_in_the_commented_file_with_its_default() -> None:
    """configs/edgeevo.toml has exactly the keys of Config, each with its default value."""
    told = leaves(tomllib.loads((ROOT / "configs" / "edgeevo.toml").read_text()))
    defaults = {key: list(value) if isinstance(value, tuple) else value for key, value, _ in keys()}
    assert told == defaults


def test_every_setting_is_explained() -> None:
    """Every key and section of configs/edgeevo.toml has a comment on its line."""
    lines = [line for line in (ROOT / "configs" / "edgeevo.toml").read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.search(r"\s# \S", line)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_configuration_is_accepted(path: Path) -> None:
    """Each file in configs/ that is a configuration loads without an unknown key."""
    assert load(path).path == str(path)


def docs_cli() -> ModuleType:
    """scripts/docs_cli.py as a module."""
    specification = importlib.util.spec_from_file_location("docs_cli", ROOT / "scripts" / "docs_cli.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_command_and_option_is_in_the_manual() -> None:
    """docs/cli.md is what `make docs` writes from the `--help` of every command."""
    assert (ROOT / "docs" / "cli.md").read_text() == docs_cli().page(), "run `make docs`"


def test_every_command_that_a_page_mentions_exists() -> None:
    """Wherever a page says `edgeevo WORD`, WORD is a command."""
    known = set(re.findall(r"^#+ `edgeevo ([a-z]+)", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE))
    wrong = {
        f"{page.relative_to(ROOT)}: {word}"
        for page in PAGES
        for word in re.findall(r"`(?:\.venv/bin/)?edgeevo ([a-z]+)", page.read_text())
        if word not in known
    }
    assert wrong == set()


def test_every_relative_link_leads_somewhere() -> None:
    """Every link of every page that is not an address on the web names a file or directory of the repository."""
    broken = {
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text())
        if not (page.parent / target).exists()
    }
    assert broken == set()


def test_the_operating_guide_has_the_exit_codes_of_the_command_line() -> None:
    """Each code of docs/cli.md, which is made from the program, has its row, and no other has."""
    rows = [set(re.findall(r"^\| (\d+) \|", (ROOT / "docs" / name).read_text(), re.MULTILINE)) for name in ("cli.md", "operating.md")]
    assert rows[0] == rows[1] and "10" in rows[0]
