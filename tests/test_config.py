"""edgeevo.config: strict, explained, and honest about where every value came from."""

from __future__ import annotations

import grp
import os
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from edgeevo.config import NIGHT_NOTES, Config, find_config, keys, load, share
from edgeevo.errors import ConfigError
from edgeevo.events import NightPlan

ROOT = Path(__file__).resolve().parents[1]
COMMENTED = ROOT / "configs" / "edgeevo.toml"
HOME = {"HOME": "/home/box"}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "c.toml"
    path.write_text(f"version = 1\n{text}")
    return path


def test_the_commented_file_is_the_defaults() -> None:
    """configs/edgeevo.toml says exactly what would hold without it."""
    assert load(COMMENTED, environ=HOME).config == load(None, environ=HOME).config


def test_every_key_is_in_the_commented_file_with_its_meaning() -> None:
    """Each line `key = value # meaning` carries the meaning that `config show` prints."""
    text = COMMENTED.read_text()
    missing = [
        key for key, _, note in keys() if not re.search(rf"^{re.escape(key.split('.')[-1])} = .* # {re.escape(note)}$", text, re.MULTILINE)
    ]
    assert missing == []


def test_every_budget_of_a_night_is_explained() -> None:
    """NightPlan and its explanations have the same keys."""
    assert set(NIGHT_NOTES) == {field.name for field in msgspec.structs.fields(NightPlan)}


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_configuration_loads(path: Path) -> None:
    """No file under configs/ has a wrong key or value."""
    assert load(path, environ=HOME).path == str(path)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[idel]\nwindow = '01:00-02:00'", "unknown key idel", "idle"),
        ("[idle]\nwindw = '01:00-02:00'", "unknown key idle.windw", "idle.window"),
        ("[night]\nlineage = 3", "unknown key night.lineage", "night.lineages"),
    ],
)
def test_f7_an_unknown_key_fails_with_its_path_and_the_nearest(tmp_path: Path, text: str, said: str, hint: str) -> None:
    """A typo is never "applied": the error names file, key, and what was probably meant."""
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        load(written(tmp_path, text))
    assert str(tmp_path) in str(caught.value) and hint in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "[idle]\nwindow = '1-2'",
        "[idle]\nwindow = '25:00-02:00'",
        "[daemon]\ntick_seconds = 0",
        "[daemon]\ntick_seconds = 'often'",
        "[model]\nthreads = 0",
        "[idle]\nenter_load_cores = 2.0\nleave_load_cores = 1.0",
        "[audit]\ntasks = 0",
    ],
)
def test_values_out_of_bounds_are_refused(tmp_path: Path, text: str) -> None:
    """Every bound holds, with a hint."""
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text))
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "version = 2", "version = 1\nversion = 1", "\0"])
def test_a_file_without_a_known_version_is_refused(tmp_path: Path, text: str) -> None:
    """No version, another version, no TOML: nothing is guessed."""
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load(path)


def test_a_missing_file_is_an_error_and_not_the_defaults(tmp_path: Path) -> None:
    """Naming a file that isn't there never falls back silently."""
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "nowhere.toml")


def test_origins_name_file_option_environment_and_default(tmp_path: Path) -> None:
    """`config show` can say of every value who set it."""
    path = written(tmp_path, "[idle]\nwindow = '22:00-05:00'")
    loaded = load(path, ["model.threads=1"], {**HOME, "STATE_DIRECTORY": "/srv/state"})
    told = [loaded.origin(key) for key in ("idle.window", "model.threads", "daemon.state_dir", "audit.tasks")]
    assert told == [f"file {path}", "option --set", "environment STATE_DIRECTORY", "default"]
    assert set(loaded.origins) <= {key for key, _, _ in keys()}


def test_settings_may_be_bare_words_or_toml(tmp_path: Path) -> None:
    """--set takes 22:00-05:00 as well as [1, 2]."""
    loaded = load(None, ["idle.window=22:00-05:00", "control.allow_uids=[1000]", "model.card="], HOME)
    assert (loaded.config.idle.window, loaded.config.control.allow_uids, loaded.config.model.card) == ("22:00-05:00", (1000,), "")


def test_groups_are_names_or_numbers() -> None:
    """A name is looked up on this machine, a number is taken as it is, empty is none."""
    group = grp.getgrgid(os.getgid())
    loaded = load(None, [f"control.read_group={group.gr_name}", "control.operate_group=424242"], HOME)
    assert (loaded.read_gid, loaded.operate_gid, load(None, (), HOME).read_gid) == (group.gr_gid, 424242, None)


@pytest.mark.parametrize("key", ["control.read_group", "control.operate_group"])
def test_a_group_that_is_not_there_is_an_error_with_a_hint(key: str) -> None:
    """A typo in a name neither admits somebody else nor goes unnoticed: key, name, the nearest and the cure are told."""
    name = grp.getgrgid(os.getgid()).gr_name
    with pytest.raises(ConfigError, match=f"{key}: there is no group '{name}x'") as caught:
        load(None, [f"{key}={name}x"], HOME)
    assert f"did you mean {name}?" in caught.value.hint and f"groupadd {name}x" in caught.value.hint


@pytest.mark.parametrize("value", ["-1", "4294967295", "true", "1.5", "[1]"])
def test_what_is_no_group_is_refused(value: str) -> None:
    """Numbers that mean "leave as it is" to the kernel, and other types."""
    with pytest.raises(ConfigError):
        load(None, [f"control.read_group={value}"], HOME)
    assert load(None, ["control.read_group=0"], HOME).read_gid == 0


@pytest.mark.parametrize("setting", ["x", "x=1", "idle.windo=1"])
def test_wrong_settings_are_refused(setting: str) -> None:
    """--set is as strict as a file."""
    with pytest.raises(ConfigError):
        load(None, [setting], HOME)


def test_the_demo_and_the_factory_start_from_the_bare_model() -> None:
    """Both say so themselves, whatever the default is."""
    for name in ("demo", "factory"):
        loaded = load(ROOT / "configs" / f"{name}.toml", environ=HOME)
        assert loaded.factory_path is None and loaded.origin("model.factory").startswith("file")


def test_a_factory_adapter_is_named_or_is_a_file() -> None:
    """A bare name is a card that ships; a path is taken as it is."""
    paths = [load(None, [f"model.factory={name}"], HOME).factory_path for name in ("x-factory", "/srv/y.toml")]
    assert paths == [share("models") / "x-factory.toml", Path("/srv/y.toml")]


def test_the_option_wins_over_the_environment() -> None:
    """--config, then $EDGEEVO_CONFIG."""
    environ = {"EDGEEVO_CONFIG": "/a.toml"}
    assert [find_config("/b.toml", environ), find_config(None, environ)] == [Path("/b.toml"), Path("/a.toml")]


def test_cards_are_named_or_given_by_path(tmp_path: Path) -> None:
    """A bare name is one of the shipped cards; a path is itself."""
    assert load(None, [], HOME).card_path == share("models") / "smollm2-135m-instruct.toml"
    assert load(None, ["model.card=/x/y.toml"], HOME).card_path == Path("/x/y.toml")


def test_the_commented_file_is_toml_of_the_same_shape() -> None:
    """It has each section of Config and nothing else."""
    raw = tomllib.loads(COMMENTED.read_text())
    assert list(raw) == [field.name for field in msgspec.structs.fields(Config)]
