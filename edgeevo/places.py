"""Which configuration file, what it says before it is checked, and where the daemon's directories are. Light: `status` needs no more.

    raw = Raw.read(find_config(option), settings)      # TOML with `--set` laid over it and the directories filled in
    raw.socket                                         # where the daemon answers

edgeevo.config makes a checked Config of it; here only what is needed is looked at.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeevo.errors import ConfigError

CONFIG_VERSION = 1
SYSTEM_CONFIG = Path("/etc/edgeevo/edgeevo.toml")
SOCKET_NAME = "edgeevo.sock"


class Raw:
    """Unchecked settings by section and key; `origins` says of each key that is not a default who set it."""

    def __init__(self, values: dict[str, Any], origins: dict[str, str], path: Path | None) -> None:
        self.values, self.origins, self.path = values, origins, path

    @classmethod
    def read(cls, path: Path | None, settings: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Raw:
        """Read `path` (None: nothing), lay `settings` ("section.key=TOML value") over it. ConfigError names file or setting."""
        values: dict[str, Any] = _read(path) if path else {"version": CONFIG_VERSION}
        origins = dict.fromkeys(_leaves(values), f"file {path}") if path else {}
        for setting in settings:
            origins[_apply(values, setting)] = "option --set"
        for name, value, origin in _directories(values, environ):
            values.setdefault("daemon", {})[name] = value
            origins[f"daemon.{name}"] = origin
        return cls(values, {key: origin for key, origin in origins.items() if origin != "default"}, path)

    @property
    def socket(self) -> Path:
        """The path of the daemon's unix socket; ConfigError when daemon.runtime_dir is no text."""
        section = self.values.get("daemon")
        place = section.get("runtime_dir") if isinstance(section, dict) else None
        if not isinstance(place, str):
            raise ConfigError(
                f"configuration {self.path}: daemon.runtime_dir is not a path", hint="`edgeevo config check` reads it strictly"
            )
        return Path(place) / SOCKET_NAME


def find_config(option: str | None = None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file to read: the option, else $EDGEEVO_CONFIG, else /etc/edgeevo/edgeevo.toml if it exists, else None (defaults)."""
    named = option or environ.get("EDGEEVO_CONFIG")
    if named:
        return Path(named)
    return SYSTEM_CONFIG if SYSTEM_CONFIG.exists() else None


def share(name: str) -> Path:
    """A directory that ships with edgeevo ("models", "configs"): beside the package in a checkout, inside it when installed."""
    package = Path(__file__).parent
    inside = package / "share" / name
    return inside if inside.is_dir() else package.parent / name


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        hint = "name another file with --config, or leave it out for defaults"
        raise ConfigError(f"configuration {path}: {error.strerror}", hint=hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {path} is not TOML: {error}", hint="compare with configs/edgeevo.toml") from error
    if "version" not in raw:
        raise ConfigError(f"configuration {path} states no version", hint=f"add the line `version = {CONFIG_VERSION}` at its top")
    return raw


def _leaves(raw: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in raw.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _apply(raw: dict[str, Any], setting: str) -> str:
    """Lay one "section.key=value" over `raw`; a value that is not TOML is taken as a string. Returns the key."""
    key, equals, text = setting.partition("=")
    section, dot, name = key.strip().partition(".")
    if not equals or not dot:
        raise ConfigError(f"setting {setting!r} is not SECTION.KEY=VALUE", hint="for example --set idle.window=22:00-05:00")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    place = raw.setdefault(section, {})
    if not isinstance(place, dict):
        raise ConfigError(f"setting {setting!r}: {section} is no section", hint="`edgeevo config show` lists every key")
    place[name] = value
    return f"{section}.{name}"


def _directories(raw: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """State and runtime directory where neither file nor option names them: systemd's, else by user."""
    given = raw.get("daemon", {})
    given = given if isinstance(given, dict) else {}
    home = environ.get("HOME", "/")
    root = os.geteuid() == 0
    defaults = {
        "state_dir": (
            "STATE_DIRECTORY",
            "/var/lib/edgeevo" if root else f"{environ.get('XDG_STATE_HOME') or home + '/.local/state'}/edgeevo",
        ),
        "runtime_dir": ("RUNTIME_DIRECTORY", "/run/edgeevo" if root else f"{environ.get('XDG_RUNTIME_DIR') or home + '/.cache'}/edgeevo"),
    }
    for name, (variable, default) in defaults.items():
        if given.get(name):
            continue
        if environ.get(variable):
            yield name, environ[variable].split(":")[0], f"environment {variable}"
        else:
            yield name, default, "default"
