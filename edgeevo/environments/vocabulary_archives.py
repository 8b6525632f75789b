"""Skills that pack and unpack: tar archives and gzip files."""

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


def _digest(w: World, files: list[str]) -> str:
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


def _probe(w: World, out: str, directory: str, files: list[str], *, top: str) -> None:
    """Expect an archive at `out` with `files` of `directory`, whose names follow `top` ("" or the last component of `directory`).

    Leading parts of the absolute path, `./` and `../` are free: they depend on where the packer stood.
    """
    parts = directory.strip("/").split("/")
    if top:
        strip = f"s|^(\\.{{1,2}}/)*{_leading(parts[:-1])}{_ere(top)}/|{top}/|"
    else:
        strip = f"s|^(\\.{{1,2}}/)*{_leading(parts)}||"
    path = shlex.quote(out)
    command = f"tar -tf {path} | grep -v '/$' | sed -E {shlex.quote(strip)} | sort; tar -xOf {path} | sort | md5sum | cut -c1-32"
    names = sorted(posixpath.join(top, posixpath.relpath(q, directory)) for q in files)
    w.put(out, File(data=b""))
    w.probes[out] = (command, (*names, _digest(w, files)))


def _to_pack(suffix: str) -> Callable[[Draw], Params]:
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
        f"tar.{_variant}", START, TREE, draw=_to_pack(_suffix_of),
        reference=lambda w, x, p: _probe(w, p["out"], p["dir"], w.files(p["dir"]), top=p["name"]),
        ways=(f"tar -c{_flag}f {{out}} {{dir}}", f"tar -C {{dir2}} -c{_flag}f {{out}} {{name}}"),
        asks=(f"pack {{dir}} into {{out}}, a {_what} tar [file|archive]", f"create a {_what} tar archive {{out}} [of|from] {{dir}}", f"make a {_what} tarball of {{dir}} named {{out}}", f"archive {{dir}} as {{out}} ({_what} tar)",
              f"tar up {{dir}} to {{out}}, {_what}", f"back up {{dir}} to the {_what} tar file {{out}}", f"bundle {{dir}} in a {_what} tarball, {{out}}", f"{{out}} should be a {_what} tar of {{dir}}"),
    )
entry(
    "tar.contents", START, TREE, draw=_to_pack("tar.gz"),
    reference=lambda w, x, p: _probe(w, p["out"], p["dir"], w.files(p["dir"]), top=""),
    ways=("tar -C {dir} -czf {out} .", "find {dir} -type f -printf '%P\\0' | tar -C {dir} --null -T - -czf {out}"),
    asks=("pack the contents of {dir} into {out} without the directory itself (gzipped tar)", "create the gzipped tar {out} of what is in {dir}, names relative to that directory", "make a compressed tarball {out} of the inside of {dir}, no leading folder",
          "archive everything inside {dir} as {out}, gzip tar, without a top level folder", "tar and gzip what {dir} holds into {out}, the folder name must not be in it", "{out}: compressed tar of the contents of {dir}, not of the folder",
          "put the files from within {dir} in a tar.gz called {out}, paths starting below the folder"),
)


def _pack_found(w: World, x: Lines, p: Params) -> None:
    root = posixpath.commonpath([posixpath.dirname(q) for q in x])
    _probe(w, p["out"], root, x, top="")


def _found(d: Draw) -> Params:
    x = d.x or []
    if not x or not all(isinstance(d.world.nodes.get(q), File) and not d.world.opaque(q) for q in x):
        raise NoInstanceError
    # never where the search looks: it may still be running when the archive appears
    return {"out": d.new("tar.gz", folder=d.rng.choice((d.scene.home, posixpath.dirname(d.scene.root))))}


entry(
    "tar_found", PATHS, TREE, draw=_found, reference=_pack_found,
    ways=("tar -czf {out} -T -", "xargs -d '\\n' tar -czf {out}"),
    then=("pack {x} into {out}, a gzipped tar", "make a compressed tar archive {out} of {x}", "archive {x} as {out} (tar, gzip)", "put {x} in a gzip tarball called {out}", "tar and gzip {x} to {out}", "bundle {x} into the compressed tar {out}",
          "back {x} up in a tar.gz file {out}"),
)

# --- reading archives -------------------------------------------------------------------------------------------------


def _members(d: Draw) -> dict[str, bytes | None]:
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


def _packed(d: Draw) -> tuple[dict[str, bytes | None], str]:
    members = _members(d)
    data = gzipped(tarred({name.rstrip("/"): content for name, content in members.items()}))
    return members, d.place(d.name(d.rng.choice(("tar.gz", "tgz"))), File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))


def _unpacked(w: World, path: str) -> dict[str, bytes | None]:
    """Members of a packed file of ours: they travel from the draw to the reference in the file itself."""
    out: dict[str, bytes | None] = {}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(w.file(path).data))) as archive:
        for member in archive.getmembers():
            held = archive.extractfile(member)
            out[member.name + ("/" if member.isdir() else "")] = held.read() if held else None
    return out


def _extract(w: World, archive: str, target: str) -> None:
    for name, data in _unpacked(w, archive).items():
        node = Directory() if data is None else File(data=data, age_seconds=LONG_AGO_AGE_SECONDS)
        path = posixpath.join(target, name.rstrip("/"))
        if path in w.nodes:
            raise NoInstanceError
        w.put(path, node)


entry(
    "tar_list", START, LINES, unordered=True, draw=lambda d: {"archive": _packed(d)[1]}, reference=lambda w, x, p: list(_unpacked(w, p["archive"])),
    ways=("tar -tf {archive}", "gzip -dc {archive} | tar -tf -"),
    asks=("list [the contents of|what is in] {archive}", "[what is|whats] [inside|in] {archive}?", "show the files in the archive {archive} without unpacking it", "which files does {archive} contain?", "list the members of {archive}",
          "look into the tarball {archive} and print its names", "{archive}: what does it hold?", "table of contents of {archive}"),
    nouns=("the contents of the archive {archive}", "the members of {archive}", "the names stored in {archive}", "what the tarball {archive} holds", "the files packed in {archive}", "everything listed in the tar file {archive}"),
)


def _member(d: Draw) -> Params:
    members, path = _packed(d)
    return {"archive": path, "member": d.pick(name for name, data in members.items() if data is not None)}


entry(
    "tar_cat", START, LINES, draw=_member, reference=lambda w, x, p: (_unpacked(w, p["archive"])[p["member"]] or b"").decode().splitlines(),
    ways=("tar -xOf {archive} {member}", "gzip -dc {archive} | tar -xOf - {member}"),
    asks=("show the file {member} [from|in|inside] {archive}", "print {member} out of the archive {archive} without unpacking it", "what does {member} in {archive} say?", "output just the member {member} of {archive}", "read {member} straight from {archive}",
          "{archive} contains {member}, show me its text", "cat {member} from the tarball {archive}", "display the content of {member}, which is packed in {archive}"),
    nouns=("the content of {member} in {archive}", "the text of the member {member} of {archive}", "what {member} inside {archive} says", "the lines of {member} packed in {archive}", "the packed file {member} from {archive}"),
)
entry(
    "tar_extract", START, TREE, draw=lambda d: {"dst": d.dir(), "archive": _packed(d)[1]}, reference=lambda w, x, p: _extract(w, p["archive"], p["dst"]),
    ways=("tar -xf {archive} -C {dst}", "gzip -dc {archive} | tar -xf - -C {dst}"),
    asks=("[unpack|extract] {archive} [into|to] {dst}", "extract the archive {archive} in the directory {dst}", "untar {archive} to {dst}", "unpack everything from {archive} in {dst}", "put the contents of {archive} into the folder {dst}", "open up {archive} inside {dst}",
          "{archive}: unpack it to {dst}", "decompress the tarball {archive} into {dst}"),
)
entry(
    "tar_extract.new", START, TREE, draw=lambda d: {"out": d.new(""), "archive": _packed(d)[1]},
    reference=lambda w, x, p: (w.put(p["out"], Directory()), _extract(w, p["archive"], p["out"]))[1],
    ways=("mkdir -p {out} && tar -xf {archive} -C {out}", "mkdir {out}; gzip -dc {archive} | tar -xf - -C {out}"),
    asks=("[unpack|extract] {archive} into a new [directory|folder] {out}", "create {out} and unpack {archive} there", "make the folder {out} and extract {archive} into it", "untar {archive} to {out}, which does not exist yet",
          "put the contents of {archive} in a fresh directory {out}", "extract {archive} under {out}, make that directory first", "{archive} goes unpacked into the new folder {out}"),
)
entry(
    "tar_extract.here", START, TREE, draw=lambda d: {"archive": _packed(d)[1], "dst": d.scene.cwd}, reference=lambda w, x, p: _extract(w, p["archive"], p["dst"]),
    ways=("tar -xf {archive}", "gzip -dc {archive} | tar -xf -"),
    asks=("[unpack|extract] {archive} here", "extract {archive} [in|into] the current directory", "untar {archive}", "unpack the archive {archive}", "open the tarball {archive} in this folder", "decompress and unpack {archive} right here", "get everything out of {archive}",
          "{archive}: extract it into the working directory"),
)

# --- gzip -------------------------------------------------------------------------------------------------------------


def _zip(w: World, path: str, *, keep: bool) -> None:
    w.probes[path + ".gz"] = (f"gzip -dc {shlex.quote(path + '.gz')}", tuple(w.lines(path)))
    w.put(path + ".gz", File(data=b""))
    if not keep:
        w.remove(path)


def _zippable(d: Draw) -> Params:
    return {"file": d.any_file(lambda q: bool(d.world.file(q).data) and not q.endswith(".gz") and q + ".gz" not in d.world.nodes)}


entry(
    "gzip", START, TREE, draw=_zippable, reference=lambda w, x, p: _zip(w, p["file"], keep=False),
    ways=("gzip {file}", "gzip -c {file} > {file}.gz && rm {file}"),
    asks=("[compress|gzip] {file}", "compress the file {file} with gzip", "gzip {file} in place", "turn {file} into a gz file", "make {file} smaller with gzip, the uncompressed file can go", "replace {file} by its gzip-compressed version",
          "{file}: compress it (gzip)", "pack the single file {file} with gzip"),
)
entry(
    "gzip.keep", START, TREE, draw=_zippable, reference=lambda w, x, p: _zip(w, p["file"], keep=True),
    ways=("gzip -k {file}", "gzip -c {file} > {file}.gz"),
    asks=("[compress|gzip] {file} [and|but] keep the original", "create a gzip-compressed copy of {file} next to it", "gzip {file} without deleting it", "make a gz copy of {file}, leaving the file", "compress {file} with gzip, the original must stay",
          "{file} should get a gzipped twin beside it", "keep {file} and also have it compressed as gz"),
)


def _gz(d: Draw) -> Params:
    maker = Maker(d.rng, d.split, ())
    lines = maker.lines(d.rng.choice(("log", "notes", "people")), d.rng.randint(4, 15))
    data = gzipped("".join(f"{line}\n" for line in lines).encode())
    path = d.place(maker.name(d.rng.choice(("log", "txt", "csv", "sql"))) + ".gz", File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))
    if path.removesuffix(".gz") in d.world.nodes:
        raise NoInstanceError
    return {"archive": path, "out": path.removesuffix(".gz")}


def _plain(w: World, path: str) -> Lines:
    return gzip.decompress(w.file(path).data).decode().splitlines()


def _unzip(w: World, p: Params, *, keep: bool) -> None:
    packed = w.file(p["archive"])
    w.write(p["out"], _plain(w, p["archive"]))
    w.put(p["out"], File(data=w.file(p["out"]).data, mode=packed.mode, age_seconds=packed.age_seconds))
    if not keep:
        w.remove(p["archive"])


entry(
    "gunzip", START, TREE, draw=_gz, reference=lambda w, x, p: _unzip(w, p, keep=False),
    ways=("gunzip {archive}", "gzip -d {archive}"),
    asks=("[decompress|uncompress|gunzip] {archive}", "decompress the file {archive} in place", "unpack the gzip file {archive}", "turn {archive} back into the uncompressed file", "replace {archive} by its uncompressed version", "undo the gzip compression of {archive}",
          "{archive}: uncompress it", "expand {archive}, the gz file can go"),
)
entry(
    "gunzip.keep", START, TREE, draw=_gz, reference=lambda w, x, p: _unzip(w, p, keep=True),
    ways=("gunzip -k {archive}", "gzip -dk {archive}"),
    asks=("[decompress|uncompress|gunzip] {archive} [and|but] keep the compressed file", "unpack {archive} next to itself without deleting it", "gunzip {archive}, the gz must stay", "create the uncompressed version of {archive} beside it",
          "expand {archive} but do not remove it", "{archive} should stay and also be there uncompressed", "get the plain file out of {archive}, leaving the gz alone"),
)
entry(
    "gunzip.to", START, TREE, draw=lambda d: _gz(d) | {"out": d.new("txt")},
    reference=lambda w, x, p: w.write(p["out"], _plain(w, p["archive"])),
    ways=("zcat {archive} > {out}", "gzip -dc < {archive} > {out}"),
    asks=("[decompress|uncompress|unpack] {archive} [to|into] {out}", "write the uncompressed content of {archive} to {out}", "gunzip {archive} and save it as {out}, keep the gz", "put what {archive} holds uncompressed in the file {out}",
          "{out} should hold the decompressed {archive}", "save the plain text of {archive} as {out}", "extract the gzip file {archive} into a file named {out}"),
)
entry(
    "zcat", START, LINES, draw=_gz, reference=lambda w, x, p: _plain(w, p["archive"]),
    ways=("zcat {archive}", "gzip -dc {archive}"),
    asks=("show the content of [the compressed file|] {archive}", "print {archive} uncompressed", "what does the gzip file {archive} say?", "display the text in {archive} without unpacking it on disk", "zcat {archive}", "read the compressed file {archive}",
          "output {archive} decompressed, do not write any file", "{archive}: show what is compressed in there"),
    nouns=("the text in the gzip file {archive}", "the uncompressed content of {archive}", "the lines in the compressed file {archive}", "what {archive} says when decompressed", "the decompressed {archive}", "the plain text of {archive}"),
)


def _word_in_gz(d: Draw) -> Params:
    params = _gz(d)
    return params | {"word": d.word(_plain(d.world, params["archive"]))}


entry(
    "zgrep", START, LINES, draw=_word_in_gz, reference=lambda w, x, p: [line for line in _plain(w, p["archive"]) if p["word"] in line],
    ways=("zgrep {word} {archive}", "zcat {archive} | grep {word}"),
    asks=("find {word} in [the compressed file|the gzip file] {archive}", "search {archive} for {word} without unpacking it", "which lines in the compressed {archive} mention {word}?", "print the lines with {word} from the gzipped {archive}",
          "grep {word} inside {archive}, it is compressed", "look for {word} in the gz file {archive}", "{archive} is gzipped: show its lines containing {word}"),
    nouns=("the lines with {word} in the gzip file {archive}", "the lines of the compressed {archive} that mention {word}", "what the gzipped {archive} says about {word}", "every line with {word} inside the compressed file {archive}",
           "matches of {word} in the gz file {archive}"),
)
