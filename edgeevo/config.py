"""TOML -> Config. Unknown keys are refused with their path; every key has its unit in its name, a default and a meaning.

config = load(find_config(option))        # Loaded: the values, and for each key where it came from
config.config.idle.window                 # "01:00-06:00"
config.origins["idle.window"]             # "default", "file /etc/edgeevo.toml", "option --set" or "environment STATE_DIRECTORY"
"""

from __future__ import annotations

import difflib
import grp
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec

from edgeevo.domain import Value
from edgeevo.errors import ConfigError
from edgeevo.events import NightPlan
from edgeevo.places import CONFIG_VERSION, SOCKET_NAME, Raw, find_config, share

__all__ = ["Config", "Loaded", "find_config", "keys", "load", "share"]

FACTORY = "smollm2-135m-factory"  # configs/edgeevo.toml says the same
Gid = Annotated[int, msgspec.Meta(ge=0, lt=2**32 - 1)]
WINDOW = r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$"

NIGHT_NOTES = {
    "groups": 'what this box practises: groups or single skills, such as "find" or "sort"; [] means everything (`edgeevo env skills`)',
    "lineages": "lineages that evolve in one night",
    "generations": "generations per lineage and night at most",
    "children": "children of each parent: siblings widen a generation",
    "direction_weights": "how often length, scenario and skill are tried first, in proportion",
    "practice_groups": "practice tasks that are attempted",
    "group_attempts": "attempts at each practice task",
    "examples": "training examples at most",
    "singles_share": "share of the examples that come from programs of one link",
    "exam_pairs": "exam tasks that incumbent and candidate both sit",
    "rehearsal_seconds": 'how long a rehearsed night takes (daemon.night_module = "edgeevo.rehearsal"); a real night ignores it',
    "rank": "rank of the LoRA adapter",
    "alpha": "scale of the LoRA adapter (alpha / rank multiplies it)",
    "learning_rate": "peak learning rate",
    "b_rate_ratio": "the B matrices of the adapter learn this many times faster (LoRA+)",
    "batch_size": "examples per optimiser step",
    "epochs": "passes over the examples",
    "checkpoint_seconds": "the trainer saves at least this often",
    "threads": "threads of trainer and model in a night",
    "p_threshold": "one-sided p-value below which the gate may promote",
    "margin": "share by which a stratum may be worse and still count as not inferior",
    "evolution": "false: founders only, as many examples; what such a night trains may be promoted, but not that of `demo --compare`",
    "shuffle_labels": "true: the control experiment on answers of other tasks; only the gate keeps what it trains from serving",
}


def _key(description: str, **bounds: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, **bounds)


class DaemonSection(Value):
    """The service itself."""

    state_dir: Annotated[str, _key("where database, adapters and models live; empty = /var/lib/edgeevo for root, else XDG state")] = ""
    runtime_dir: Annotated[str, _key("where the socket lives; empty = /run/edgeevo for root, else XDG runtime")] = ""
    tick_seconds: Annotated[float, _key("how often the box is looked at, and systemd told that we live", ge=0.05, le=10.0)] = 5.0
    stop_seconds: Annotated[float, _key("how long workers get to stop before they are killed", ge=0.1, le=2.0)] = 1.0
    silence_seconds: Annotated[float, _key("a night or audit that says nothing for so long is ended and tried again", ge=1.0)] = 3600.0
    night_module: Annotated[str, _key("module that plays a night; edgeevo.rehearsal plays one without a model")] = "edgeevo.night"
    audit_module: Annotated[str, _key("module that plays the audit set")] = "edgeevo.audit"


class ControlSection(Value):
    """Who may talk to the daemon over its unix socket, besides root and the daemon's own user."""

    read_group: Annotated[str | Gid, _key("group (name or number) that may use status, ask and run; empty = none")] = ""
    operate_group: Annotated[str | Gid, _key("group that may also run nights and audits and roll back; empty = none")] = ""
    allow_uids: Annotated[tuple[int, ...], _key("single user ids with the rights of the read group")] = ()
    max_message_bytes: Annotated[int, _key("longest request or reply", ge=65_536, le=1 << 28)] = 32 << 20
    max_connections_per_user: Annotated[int, _key("open at once; one more is told so and closed", ge=1, le=10_000)] = 64
    max_requests: Annotated[int, _key("that may wait for the model at once; users take turns", ge=1, le=10_000)] = 64
    max_requests_per_user: Annotated[int, _key("of one user that may wait for the model at once", ge=1, le=10_000)] = 8


class ModelSection(Value):
    """The language model and its worker process."""

    card: Annotated[str, _key("model card: a name under models/ or the path of a TOML file; empty = no model")] = "smollm2-135m-instruct"
    factory: Annotated[
        str, _key("factory adapter that a new box starts from: a name under models/ or the path of a TOML file; empty = the bare base")
    ] = FACTORY
    models_dir: Annotated[str, _key("where verified weights are kept; empty = models/ in the state directory")] = ""
    threads: Annotated[int, _key("threads of the model worker", ge=1, le=256)] = 2
    close_after_seconds: Annotated[float, _key("an unused model worker is stopped after this", ge=1.0)] = 120.0


class JobsSection(Value):
    """Real tasks that go on without a terminal (`edgeevo run --detach`), recorded in the caller's own state directory."""

    max_running: Annotated[int, _key("of one user at once", ge=1, le=64)] = 4
    max_kept: Annotated[int, _key("records of ended jobs of one user; the oldest go first, applied or not", ge=1, le=10_000)] = 20
    max_log_bytes: Annotated[int, _key("of one job's log; what comes later is left out, and that is told", ge=10_000)] = 1_000_000
    max_record_bytes: Annotated[
        int, _key("of one job's result, and of what `edgeevo apply` needs of it; what is larger is left out, and that is told", ge=10_000)
    ] = 32 << 20


class IdleSection(Value):
    """When a night may run. Load is that of others: ours is subtracted; 1.0 means one busy core."""

    window: Annotated[str, _key("local time of day in which nights may run, HH:MM-HH:MM, may cross midnight", pattern=WINDOW)] = (
        "01:00-06:00"
    )
    enter_load_cores: Annotated[float, _key("start only while others use less than this", ge=0.0)] = 0.3
    leave_load_cores: Annotated[float, _key("stop a night of the window when others use more than this", ge=0.0)] = 0.8
    enter_dwell_seconds: Annotated[float, _key("quiet for this long before starting", ge=0.0)] = 120.0
    leave_dwell_seconds: Annotated[float, _key("busy for this long before stopping", ge=0.0)] = 20.0
    min_free_memory_bytes: Annotated[
        int, _key("no night of the window, and an end to it at once, below this much available memory", ge=0)
    ] = 400_000_000
    min_free_disk_bytes: Annotated[
        int, _key("no night of the window, and an end to it at once, below this much free disk; answering goes on", ge=0)
    ] = 500_000_000


class StoreSection(Value):
    """The database, and what is kept beside it."""

    max_database_bytes: Annotated[int, _key("quota of the database file", ge=1 << 20)] = 2_000_000_000
    keep_trajectories_days: Annotated[int, _key("transcripts older than this are pruned; outcomes stay for ever", ge=1)] = 30
    keep_adapters: Annotated[
        int, _key("files of adapters kept besides those in slots, the youngest; what is known of the others stays", ge=1)
    ] = 30


class AuditSection(Value):
    """The held-out measurement that no decision reads."""

    tasks: Annotated[int, _key("tasks of the audit set", ge=1)] = 300
    seed: Annotated[int, _key("number that fixes the audit set", ge=0)] = 1
    cache_dir: Annotated[str, _key("evaluations of fixed policies are shared between state directories here; empty = not shared")] = ""


class Config(Value):
    """All settings. `version` is the version of this schema and must be stated in every file."""

    version: Annotated[int, _key("version of this file's schema", ge=CONFIG_VERSION, le=CONFIG_VERSION)] = CONFIG_VERSION
    daemon: DaemonSection = DaemonSection()
    control: ControlSection = ControlSection()
    model: ModelSection = ModelSection()
    jobs: JobsSection = JobsSection()
    idle: IdleSection = IdleSection()
    store: StoreSection = StoreSection()
    audit: AuditSection = AuditSection()
    night: NightPlan = NightPlan()


class Loaded(Value):
    """A configuration and where its values came from."""

    config: Config
    origins: dict[str, str]  # by key ("section.key"); a key that is not here has its default
    path: str  # empty: no file, defaults only

    def origin(self, key: str) -> str:
        """Who set this key: "default", "file /etc/edgeevo.toml", "option --set" or "environment STATE_DIRECTORY"."""
        return self.origins.get(key, "default")

    @property
    def state_dir(self) -> Path:
        """The state directory, defaults resolved."""
        return Path(self.config.daemon.state_dir)

    @property
    def runtime_dir(self) -> Path:
        """The runtime directory, defaults resolved."""
        return Path(self.config.daemon.runtime_dir)

    @property
    def models_dir(self) -> Path:
        """Where verified weights are kept."""
        return Path(self.config.model.models_dir or self.state_dir / "models")

    @property
    def weights_dir(self) -> Path:
        """Where trainable weights are cached (made from the served file, some hundred MB): beside the models."""
        return self.models_dir.parent / "weights"

    @property
    def card_path(self) -> Path:
        """The model card's file; a bare name is looked up among the cards that ship with edgeevo."""
        card = self.config.model.card
        return Path(card) if card.endswith(".toml") else share("models") / f"{card}.toml"

    @property
    def factory_path(self) -> Path | None:
        """The factory adapter's card, looked up like the model's; None: the bare base is the factory state."""
        factory = self.config.model.factory
        if not factory:
            return None
        return Path(factory) if factory.endswith(".toml") else share("models") / f"{factory}.toml"

    @property
    def database(self) -> Path:
        """Path of the database file."""
        return self.state_dir / "edgeevo.db"

    @property
    def read_gid(self) -> int | None:
        """The number of control.read_group; None: there is none."""
        return _gid(self.config.control.read_group)

    @property
    def operate_gid(self) -> int | None:
        """The number of control.operate_group; None: there is none."""
        return _gid(self.config.control.operate_group)

    @property
    def socket(self) -> Path:
        """Path of the daemon's unix socket."""
        return self.runtime_dir / SOCKET_NAME


def load(path: Path | None, settings: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Loaded:
    """Read `path` (None: defaults), then apply `settings` ("section.key=TOML value"). Raises ConfigError naming file and key."""
    raw = Raw.read(path, settings, environ)
    config = _convert(raw.values, str(path) if path else "the defaults")
    return Loaded(config=config, origins=raw.origins, path=str(path or ""))


def keys(config: Config | None = None) -> Iterator[tuple[str, Any, str]]:
    """Every key of `config` in order: ("section.key", value, one line of explanation); sections have no row of their own."""
    config = config or Config()
    notes = get_type_hints(Config, include_extras=True)
    for field in msgspec.structs.fields(Config):
        value = getattr(config, field.name)
        if not isinstance(value, msgspec.Struct):
            yield field.name, value, _description(notes[field.name])
            continue
        inner = get_type_hints(type(value), include_extras=True)
        for key in msgspec.structs.fields(type(value)):
            note = NIGHT_NOTES[key.name] if isinstance(value, NightPlan) else _description(inner[key.name])
            yield f"{field.name}.{key.name}", getattr(value, key.name), note


def _description(annotation: Any) -> str:
    return next((item.description or "" for item in getattr(annotation, "__metadata__", ()) if isinstance(item, msgspec.Meta)), "")


def _convert(raw: Mapping[str, Any], where: str) -> Config:
    try:
        config = msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise _explain(error, where) from error
    if config.idle.leave_load_cores < config.idle.enter_load_cores:
        raise ConfigError(
            f"configuration {where}: idle.leave_load_cores ({config.idle.leave_load_cores}) must not be below idle.enter_load_cores",
            hint="the load at which a night stops must not be below the load at which it may start",
        )
    for name in ("read_group", "operate_group"):
        try:
            _gid(named := getattr(config.control, name))
        except KeyError as error:
            near = difflib.get_close_matches(str(named), [group.gr_name for group in grp.getgrall()], 1)
            raise ConfigError(
                f"configuration {where}: control.{name}: there is no group {named!r} on this machine",
                hint=(f"did you mean {near[0]}? " if near else "") + f"`groupadd {named}` makes one; a number is taken as it is",
            ) from error
    return config


def _gid(named: str | int) -> int | None:
    """The number of a group, None for the empty name; KeyError when there is no such group."""
    if isinstance(named, int):
        return named
    return grp.getgrnam(named).gr_gid if named else None


def _explain(error: msgspec.ValidationError, where: str) -> ConfigError:
    """msgspec's "Object contains unknown field `x` - at `$.night`" as a fact about a key, with the nearest known key as hint."""
    fact, _, at = str(error).partition(" - at ")
    section = at.strip("`").removeprefix("$").removeprefix(".")
    unknown = re.search(r"unknown field `(.*)`", fact)
    if not unknown:
        return ConfigError(
            f"configuration {where}: {section or 'top level'}: {fact}", hint="`edgeevo config show` lists every key with its meaning"
        )
    key = f"{section}.{unknown[1]}" if section else unknown[1]
    known = [name for name, _, _ in keys()] + [field.name for field in msgspec.structs.fields(Config)]
    near = difflib.get_close_matches(key, known, 1)
    return ConfigError(
        f"configuration {where}: unknown key {key}",
        hint=f"did you mean {near[0]}?" if near else "`edgeevo config show` lists every key",
    )
