"""Skills that pack and unpack tar archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import posixpath
import shlex
import tarfile
from collections.abc import Callable

from edgeevo.domain import Directory, File
from edgeevo.environments.packing import LONG_AGO_AGE_SECONDS, gzipped, tarred
from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, base

START, TREE, LINES, VALUE, PATHS = Kind.START, Kind.TREE, Kind.LINES, Kind.VALUE, Kind.PATHS

# --- packing ----------------------------------------------------------------------------------------------------------


def digest(w: World, files: list[str]) -> str:
    """MD5 of all lines of `files`, sorted: what `… | sort | md5sum` says about their contents whatever the order of members."""
    lines = sorted(line for q in files for line in w.lines(q))
    return hashlib.md5("".join(f"{line}\n" for line in lines).encode(), usedforsecurity=False).hexdigest()


def _ere(name: str) -> str:
    return name.replace(".", "\\.")


def _leading(parts: list[str]) -> str:
    """An expression for the last few of `parts`, or none: for a and b, `a/b/`, `b/` or nothing."""
    found = ""
    for part in parts:
        found = f"({found}{_ere(part)}/)?"
    return found


def stripping(directory: str, top: str) -> str:
    """A sed script that takes from names in an archive of `directory` whatever stands before `top`."""
    parts = directory.strip("/").split("/")
    lead = f"{_leading(parts[:-1])}{_ere(top)}/" if top else _leading(parts)
    return f"s|^(\\.{{1,2}}/)*{lead}|{top and top + '/'}|"


def expect(w: World, out: str, directory: str, files: list[str], *, top: str) -> None:
    """Expect an archive at `out` with `files` of `directory`, whose names follow `top` ("" or the last component of `directory`).

    Leading parts of the absolute path, `./` and `../` are free: they depend on where the packer stood.
    """
    strip, path = stripping(directory, top), shlex.quote(out)
    command = f"tar -tf {path} | grep -v '/$' | sed -E {shlex.quote(strip)} | sort; tar -xOf {path} | sort | md5sum | cut -c1-32"
    names = sorted(posixpath.join(top, posixpath.relpath(q, directory)) for q in files)
    w.put(out, File(data=b""))
    w.probes[out] = (command, (*names, digest(w, files)))


def to_pack(suffix: str) -> Callable[[Draw], Params]:
    """A directory to pack, and an archive outside of it that ends in `suffix`."""

    def draw(d: Draw) -> Params:
        directory = d.dir(lambda p: bool(d.world.files(p)) and p != d.scene.cwd)
        outside = [f for f in (d.scene.cwd, d.scene.root, d.scene.home) if not (f + "/").startswith(directory + "/")]
        out = d.new(suffix, folder=d.pick(outside))
        return {"dir": directory, "out": out, "dir2": posixpath.dirname(directory), "name": base(directory)}

    return draw


for _variant, _suffix_of, _flag, _what in (
    ("plain", "tar.gz", "z", "[gzip|gzipped|compressed|gzip-compressed]"),
    ("uncompressed", "tar", "", "[plain|uncompressed]"),
    ("xz", "tar.xz", "J", "[xz|xz-compressed]"),
):
    entry(
        f"tar.{_variant}",
        START,
        TREE,
        draw=to_pack(_suffix_of),
        reference=lambda w, x, p: expect(w, p["out"], p["dir"], w.files(p["dir"]), top=p["name"]),
        ways=(f"tar -c{_flag}f {{out}} {{dir}}", f"tar -C {{dir2}} -c{_flag}f {{out}} {{name}}"),
        asks=(
            f"pack {{dir}} into {{out}}, a {_what} tar [file|archive]",
            f"create a {_what} tar archive {{out}} [of|from] {{dir}}",
            f"make a {_what} tarball of {{dir}} named {{out}}",
            f"archive {{dir}} as {{out}} ({_what} tar)",
            f"tar up {{dir}} to {{out}}, {_what}",
            f"back up {{dir}} to the {_what} tar file {{out}}",
            f"bundle {{dir}} in a {_what} tarball, {{out}}",
            f"{{out}} should be a {_what} tar of {{dir}}",
            f"i need {{dir}} packed as a {_what} tar archive {{out}}",
            f"put {{dir}} and everything below it in the {_what} tarball {{out}}",
        ),
    )
entry(
    "tar.contents",
    START,
    TREE,
    draw=to_pack("tar.gz"),
    reference=lambda w, x, p: expect(w, p["out"], p["dir"], w.files(p["dir"]), top=""),
    ways=("tar -C {dir} -czf {out} .", "find {dir} -type f -printf '%P\\0' | tar -C {dir} --null -T - -czf {out}"),
    asks=("pack the contents of {dir} into {out} without the directory itself (gzipped tar)", "create the gzipped tar {out} of what is in {dir}, names relative to that directory",
          "make a compressed tarball {out} of the inside of {dir}, no leading folder", "archive everything inside {dir} as {out}, gzip tar, without a top level folder",
          "tar and gzip what {dir} holds into {out}, the folder name must not be in it", "{out}: compressed tar of the contents of {dir}, not of the folder",
          "put the files from within {dir} in a tar.gz called {out}, paths starting below the folder", "i need what is inside {dir} as a gzipped tar {out}, without the folder name",
          "archive the contents of {dir} to {out} (gzip tar), member names relative to {dir}"),
)


def _pack_found(w: World, x: Lines, p: Params) -> None:
    root = posixpath.commonpath([posixpath.dirname(q) for q in x])
    expect(w, p["out"], root, x, top="")


def _found(d: Draw) -> Params:
    x = d.x or []
    if not x or not all(isinstance(d.world.nodes.get(q), File) and not d.world.opaque(q) for q in x):
        raise NoInstanceError
    # never where the search looks: it may still be running when the archive appears
    return {"out": d.new("tar.gz", folder=d.rng.choice((d.scene.home, posixpath.dirname(d.scene.root))))}


entry(
    "tar_found",
    PATHS,
    TREE,
    draw=_found,
    reference=_pack_found,
    ways=("tar -czf {out} -T -", "xargs -d '\\n' tar -czf {out}"),
    then=("pack {x} into {out}, a gzipped tar", "make a compressed tar archive {out} of {x}", "archive {x} as {out} (tar, gzip)", "put {x} in a gzip tarball called {out}",
          "tar and gzip {x} to {out}", "bundle {x} into the compressed tar {out}", "back {x} up in a tar.gz file {out}", "{x} should be packed into {out} (tar.gz)",
          "create the gzipped tarball {out} from {x}", "compress {x} into one tar.gz named {out}", "tar up {x} as {out} with gzip compression"),
)

# --- reading archives -------------------------------------------------------------------------------------------------


def members_of(d: Draw) -> dict[str, bytes | None]:
    """A small tree with one top directory, as an archive of it lists it."""
    maker = Maker(d.rng, d.split, ())
    top, sub = maker.name(), maker.name()
    members: dict[str, bytes | None] = {f"{top}/": None}
    for folder in (top, top, f"{top}/{sub}"):
        if folder != top:
            members[f"{folder}/"] = None
        for _ in range(d.rng.randint(1, 2)):
            lines = maker.lines("notes", d.rng.randint(1, 6))
            members[f"{folder}/{maker.name(d.rng.choice(('txt', 'log', 'conf', 'csv')))}"] = "".join(f"{line}\n" for line in lines).encode()
    return members


def packed(d: Draw) -> tuple[dict[str, bytes | None], str]:
    """Members of a gzipped tar archive, and its path."""
    members = members_of(d)
    data = gzipped(tarred({name.rstrip("/"): content for name, content in members.items()}))
    return members, d.place(d.name(d.rng.choice(("tar.gz", "tgz"))), File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))


def unpacked(w: World, path: str) -> dict[str, bytes | None]:
    """Members of a packed file of ours: they travel from the draw to the reference in the file itself."""
    out: dict[str, bytes | None] = {}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(w.file(path).data))) as archive:
        for member in archive.getmembers():
            held = archive.extractfile(member)
            out[member.name + ("/" if member.isdir() else "")] = held.read() if held else None
    return out


def _extract(w: World, archive: str, target: str) -> None:
    for name, data in unpacked(w, archive).items():
        node = Directory() if data is None else File(data=data, age_seconds=LONG_AGO_AGE_SECONDS)
        path = posixpath.join(target, name.rstrip("/"))
        if path in w.nodes:
            raise NoInstanceError
        w.put(path, node)


entry(
    "tar_list",
    START,
    LINES,
    unordered=True,
    draw=lambda d: {"archive": packed(d)[1]},
    reference=lambda w, x, p: list(unpacked(w, p["archive"])),
    ways=("tar -tf {archive}", "gzip -dc {archive} | tar -tf -"),
    asks=("list [the contents of|what is in] {archive}", "[what is|whats] [inside|in] {archive}?", "show the files in the archive {archive} without unpacking it",
          "which files does {archive} contain?", "list the members of {archive}", "look into the tarball {archive} and print its names", "{archive}: what does it hold?",
          "table of contents of {archive}", "i need the list of members in {archive}", "get the names of everything packed in {archive}"),
    nouns=(
        "the contents of the archive {archive}",
        "the members of {archive}",
        "the names stored in {archive}",
        "what the tarball {archive} holds",
        "the files packed in {archive}",
        "everything listed in the tar file {archive}",
    ),
)


def _member(d: Draw) -> Params:
    members, path = packed(d)
    return {"archive": path, "member": d.pick(name for name, data in members.items() if data is not None)}


entry(
    "tar_cat",
    START,
    LINES,
    draw=_member,
    reference=lambda w, x, p: (unpacked(w, p["archive"])[p["member"]] or b"").decode().splitlines(),
    ways=("tar -xOf {archive} {member}", "gzip -dc {archive} | tar -xOf - {member}"),
    asks=("show the file {member} [from|in|inside] {archive}", "print {member} out of the archive {archive} without unpacking it", "what does {member} in {archive} say?",
          "output just the member {member} of {archive}", "read {member} straight from {archive}", "{archive} contains {member}, show me its text", "cat {member} from the tarball {archive}",
          "display the content of {member}, which is packed in {archive}", "i need the content of {member} from the archive {archive}",
          "get the text of {member} out of {archive} on the screen"),
    nouns=(
        "the content of {member} in {archive}",
        "the text of the member {member} of {archive}",
        "what {member} inside {archive} says",
        "the lines of {member} packed in {archive}",
        "the packed file {member} from {archive}",
    ),
)
entry(
    "tar_extract",
    START,
    TREE,
    draw=lambda d: {"dst": d.dir(), "archive": packed(d)[1]},
    reference=lambda w, x, p: _extract(w, p["archive"], p["dst"]),
    ways=("tar -xf {archive} -C {dst}", "gzip -dc {archive} | tar -xf - -C {dst}"),
    asks=("[unpack|extract] {archive} [into|to] {dst}", "extract the archive {archive} in the directory {dst}", "untar {archive} to {dst}", "unpack everything from {archive} in {dst}",
          "put the contents of {archive} into the folder {dst}", "open up {archive} inside {dst}", "{archive}: unpack it to {dst}", "decompress the tarball {archive} into {dst}",
          "i need the content of {archive} in the directory {dst}", "untar the archive {archive} inside {dst}"),
)
entry(
    "tar_extract.new",
    START,
    TREE,
    draw=lambda d: {"out": d.new(""), "archive": packed(d)[1]},
    reference=lambda w, x, p: _extract(w, p["archive"], p["out"]),  # its directory comes with its members
    ways=("mkdir -p {out} && tar -xf {archive} -C {out}", "mkdir {out}; gzip -dc {archive} | tar -xf - -C {out}"),
    asks=("[unpack|extract] {archive} into a new [directory|folder] {out}", "create {out} and unpack {archive} there", "make the folder {out} and extract {archive} into it",
          "untar {archive} to {out}, which does not exist yet", "put the contents of {archive} in a fresh directory {out}", "extract {archive} under {out}, make that directory first",
          "{archive} goes unpacked into the new folder {out}", "i need {archive} unpacked in a new directory {out}", "untar {archive} in {out} after creating that directory"),
)
entry(
    "tar_extract.here",
    START,
    TREE,
    draw=lambda d: {"archive": packed(d)[1], "dst": d.scene.cwd},
    reference=lambda w, x, p: _extract(w, p["archive"], p["dst"]),
    ways=("tar -xf {archive}", "gzip -dc {archive} | tar -xf -"),
    asks=("[unpack|extract] {archive} here", "extract {archive} [in|into] the current directory", "untar {archive}", "unpack the archive {archive}",
          "open the tarball {archive} in this folder", "decompress and unpack {archive} right here", "get everything out of {archive}", "{archive}: extract it into the working directory",
          "i need the content of the archive {archive} here", "untar the tarball {archive} in the place i am in"),
)
