"""Makes the factory adapter: `make factory`. Ctrl-C at any time; the same command goes on where it was.

    python scripts/factory.py [--into DIRECTORY] [SECTION.KEY=VALUE ...]

One night with configs/factory.toml (and settings over it) in .cache/factory, the audit of what it promoted, then the adapter's file and its
card in models/. Every figure of the card is a query on the store of that night.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from edgeevo import __version__
from edgeevo.cli import INTERRUPTED, Settings
from edgeevo.cli.nights import follow
from edgeevo.cli.report import lines
from edgeevo.cli.text import clean, duration
from edgeevo.config import Config, Loaded, keys, share
from edgeevo.control import AuditAsked, NightAsked, Status, StatusAsked, ask
from edgeevo.demo import cache_place, overrides, served
from edgeevo.domain import content_id
from edgeevo.durable import write_durably
from edgeevo.errors import ConfigError, EdgeevoError, ModelError
from edgeevo.events import Decision, NightRequest
from edgeevo.models import factory, fetch, load_card
from edgeevo.models.factory import ExamFigures, FactoryCard, Passed
from edgeevo.store.figures import gates, rates, report
from edgeevo.store.reader import Reader

COMMENT = """Factory adapter: what a new box serves, and what no night may fall below. Written by `make factory`, never by hand.
exam: won and lost pairs against the bare base, by which it was promoted. audit: held-out tasks that no decision reads."""
GOES_ON = ("running", "interrupted", "ended")


def main(arguments: list[str]) -> int:
    """Make the adapter, or go on making it; the exit code is that of an `edgeevo` command."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description="Train, examine and export the factory adapter; the same command resumes it.")
    parser.add_argument("--into", type=Path, default=share("models"), help="where file and card go (default: models/)")
    parser.add_argument("--name", default=factory.SHIPPED, help="name of both (default: %(default)s)")
    parser.add_argument("settings", nargs="*", metavar="SECTION.KEY=VALUE", help="settings over configs/factory.toml")
    options = parser.parse_args(arguments)
    place = cache_place()
    runtime = Path(tempfile.mkdtemp(prefix="edgeevo-"))  # short: a socket's path has at most 107 bytes
    started = time.monotonic()
    try:
        wanted = (*overrides(place, place / "factory", runtime), *options.settings)
        make(Settings(str(share("configs") / "factory.toml"), wanted), options.name, options.into)
    except KeyboardInterrupt:
        print("\nstopped; nothing is left running, and the same command goes on from here")
        return INTERRUPTED
    except EdgeevoError as error:
        print(f"factory: {clean(str(error))}\nhint: {clean(error.hint)}", file=sys.stderr)
        return error.exit_code
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
    print(f"total time of this run {duration(time.monotonic() - started)}")
    return 0


def make(settings: Settings, name: str, into: Path) -> None:
    """Night, audit, export; whichever of them the state directory already holds is not done again."""
    loaded: Loaded = settings.loaded
    if loaded.config.model.card:
        fetch(load_card(loaded.card_path), loaded.models_dir, lambda line: print(clean(line)))
    print(f"state in {clean(str(loaded.state_dir))}", flush=True)
    with served(settings):
        if promoted(loaded) is None:
            follow(settings, NightAsked())
        found = promoted(loaded)
        if found is None:
            raise ModelError("the night ended without a judgement", hint=f"remove {loaded.state_dir} to begin anew")
        wait_until_free(loaded)
        follow(settings, AuditAsked(adapter=found[1]))
    with Reader(loaded.database) as reader:
        print("\n".join(lines(report(reader))))
        export(loaded, reader, found, name, into)


def promoted(loaded: Loaded) -> tuple[str, str] | None:
    """The night that promoted an adapter, and the adapter's hash; None: the night is not over, or there is none yet.

    ConfigError when the night was begun with other settings; ModelError when it is over and promoted nothing.
    """
    with Reader(loaded.database) as reader:
        nights = reader.query("select id, status, summary, request from owners where kind = 'night' order by started_at desc limit 1")
        judged = {gate.owner: gate.judgement.decision for gate in gates(reader)}
        rows = reader.query("select owner, candidate_sha256 from judgements")
    if not nights or nights[0]["status"] not in GOES_ON:
        return None
    night = nights[0]
    anew = f"remove {loaded.state_dir} to begin anew"
    try:
        request = msgspec.json.decode(night["request"], type=NightRequest)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{night['id']} was begun by another version of edgeevo: {error}", hint=anew) from error
    same = {"other settings": request.plan == loaded.config.night, "another base": request.model.sha256 == factory.base_sha256(loaded)}
    for what in (what for what, holds in same.items() if not holds):
        raise ConfigError(f"{night['id']} was begun with {what} than configs/factory.toml and the options say now", hint=anew)
    if night["status"] != "ended":
        return None
    if judged.get(night["id"]) is not Decision.PROMOTE:
        raise ModelError(f"{night['id']} promoted nothing: {night['summary']}", hint=anew)
    return night["id"], next(row["candidate_sha256"] for row in rows if row["owner"] == night["id"])


def wait_until_free(loaded: Loaded) -> None:
    """An audit that was killed goes on by itself when the daemon starts: let it end."""
    while isinstance(status := ask(loaded.socket, StatusAsked()), Status) and status.working_on:
        print(f"{status.working_on} runs: {status.done} of {status.total}", flush=True)
        time.sleep(5.0)


def export(loaded: Loaded, reader: Reader, found: tuple[str, str], name: str, into: Path) -> None:
    """Put the adapter's file and its card into `into`, the file first: a card never stands beside a file that is not yet there."""
    owner, sha256 = found
    source = loaded.state_dir / "adapters" / f"{sha256}.gguf"
    size = source.stat().st_size
    if size > factory.MAX_BYTES:
        raise ModelError(f"adapter {sha256[:12]} has {size} bytes, at most {factory.MAX_BYTES} ship", hint="lower night.rank")
    card = card_of(loaded, reader, owner, sha256, name, size)
    into.mkdir(parents=True, exist_ok=True)
    target = into / f"{name}.toml"
    write_durably(target.with_suffix(".gguf"), source.read_bytes())
    write_durably(target, factory.card_text(card, COMMENT).encode())
    factory.locate_factory(target, factory.load_factory(target))
    print(f"\n{target}: {size / 1e6:.1f} MB, sha256 {sha256}")
    print(f'a box uses it by its name: model.factory = "{name}"')


def card_of(loaded: Loaded, reader: Reader, owner: str, sha256: str, name: str, size: int) -> FactoryCard:
    """The card of what `owner` promoted, every figure from the store."""
    adapter = reader.adapter(sha256)
    assert adapter is not None
    judged = next(gate.judgement for gate in gates(reader) if gate.owner == owner)
    sources = reader.query(
        "select json_extract(body, '$.by_source') as n from events where owner = ? and kind = 'examples_selected'",
        [owner],
    )
    return FactoryCard(
        name=name,
        size_bytes=size,
        **{field: getattr(adapter, field) for field in adapter.__struct_fields__},
        edgeevo=__version__,
        configuration=configuration_id(loaded.config),
        examples=msgspec.json.decode(sources[-1]["n"]),
        exam=ExamFigures(
            n=judged.n,
            wins=judged.wins,
            losses=judged.losses,
            p_value=judged.p_value,
            base={each.name: Passed(passed=each.incumbent_passed, total=each.n) for each in judged.strata},
            adapter={each.name: Passed(passed=each.candidate_passed, total=each.n) for each in judged.strata},
        ),
        audit={
            each.stratum: Passed(passed=each.passed, total=each.n)
            for each in rates(reader)
            if each.policy == sha256[:12] and each.stratum != "all"
        },
    )


def configuration_id(config: Config) -> str:
    """Content hash of the settings that decide what is trained and measured; where things lie is none of them."""
    decide = {"model.card", "audit.tasks", "audit.seed"}
    return content_id({key: value for key, value, _ in keys(config) if key in decide or key.startswith("night.")})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
