"""Skills on zip files, and on tar archives of a selection: several files, all but one kind, a single member, no top directory."""

from __future__ import annotations

import io
import posixpath
import shlex
import zipfile

from edgeevo.domain import Directory, File
from edgeevo.environments.packing import LONG_AGO_AGE_SECONDS
from edgeevo.environments.scenarios import HOUR
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_archives import digest, expect, members_of, packed, stripping, to_pack, unpacked
from edgeevo.environments.world import World, extension

START, TREE, LINES, VALUE = Kind.START, Kind.TREE, Kind.LINES, Kind.VALUE

LONG_AGO = (2001, 1, 1, 0, 0, 0)  # what members are dated
DIRECTORY, PLAIN_FILE = 0o40755 << 16 | 0x10, 0o100644 << 16  # attributes of members

# --- zip --------------------------------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes | None]) -> bytes:
    """A zip file of `members` (name -> content, None for a directory), stored without compression."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, LONG_AGO)
            info.create_system, info.external_attr = 3, DIRECTORY if data is None else PLAIN_FILE
            archive.writestr(info, data or b"")
    return buffer.getvalue()


def _held(w: World, path: str) -> dict[str, bytes | None]:
    with zipfile.ZipFile(io.BytesIO(w.file(path).data)) as archive:
        return {name: None if name.endswith("/") else archive.read(name) for name in archive.namelist()}


def _expect_zip(w: World, p: Params) -> None:
    path, files = shlex.quote(p["out"]), w.files(p["dir"])
    strip = shlex.quote(stripping(p["dir"], p["name"]))
    command = f"unzip -Z1 {path} | grep -v '/$' | sed -E {strip} | sort; unzip -p {path} | sort | md5sum | cut -c1-32"
    names = sorted(posixpath.join(p["name"], posixpath.relpath(q, p["dir"])) for q in files)
    w.put(p["out"], File(data=b""))
    w.probes[p["out"]] = (command, (*names, digest(w, files)))


def _zip(d: Draw) -> Params:
    data = zipped(members_of(d))
    return {"archive": d.place(d.name("zip"), File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))}


def _zip_member(d: Draw) -> Params:
    p = _zip(d)
    return p | {"member": d.pick(name for name, data in _held(d.world, p["archive"]).items() if data is not None)}


def _put(w: World, members: dict[str, bytes | None], target: str) -> None:
    for name, data in members.items():
        path = posixpath.join(target, name.rstrip("/"))
        if path in w.nodes:
            raise NoInstanceError
        w.put(path, Directory() if data is None else File(data=data, age_seconds=LONG_AGO_AGE_SECONDS))


entry(
    "zip", START, TREE, draw=to_pack("zip"), reference=lambda w, x, p: _expect_zip(w, p),
    ways=("zip -qr {out} {dir}", "python3 -m zipfile -c {out} {dir}"),
    asks=("zip {dir} into {out}", "create a zip file {out} of the folder {dir}", "pack {dir} and everything in it as the zip archive {out}", "make {out}, a zip archive with all of {dir}",
          "compress the directory {dir} to {out} (zip)", "{out} should be a zip of {dir}", "zip up {dir} recursively as {out}", "put the whole tree {dir} in a zip called {out}",
          "archive {dir} with zip, name the file {out}", "i need {dir} as a zip file, {out}", "bundle {dir} with its subfolders into the zip {out}"),
)
entry(
    "zip_list", START, LINES, unordered=True, draw=_zip, reference=lambda w, x, p: list(_held(w, p["archive"])),
    ways=("unzip -Z1 {archive}", "zipinfo -1 {archive}", "python3 -c 'import sys,zipfile;print(*zipfile.ZipFile(sys.argv[1]).namelist(),sep=\"\\n\")' {archive}"),
    asks=("list the names in the zip {archive}, one per line", "what is inside the zip file {archive}? only the names", "show the [files|entries] of {archive} without unpacking it, names only",
          "which names does the zip archive {archive} contain? one a line", "{archive}: bare list of its entries", "print just the member names of the zip {archive}",
          "names of everything packed in the zip file {archive}", "look into {archive} (zip) and print the names it holds, nothing else", "i need the names stored in the zip {archive}, line by line",
          "get a plain list of what the zip archive {archive} has in it"),
    nouns=("the names in the zip {archive}", "the names of all entries in the zip file {archive}", "the member names of the zip archive {archive}", "the names of everything stored in {archive} (zip)",
           "the entries that the zip {archive} has, names only"),
)
entry(
    "zip_cat", START, LINES, draw=_zip_member, reference=lambda w, x, p: (_held(w, p["archive"])[p["member"]] or b"").decode().splitlines(),
    ways=("unzip -p {archive} {member}", "python3 -c 'import sys,zipfile;sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' {archive} {member}"),
    asks=("show the file {member} from the zip {archive}", "print {member} out of the zip archive {archive} without unpacking it", "what does {member} in the zip {archive} say?",
          "output only the content of {member}, which is in the zip file {archive}", "read {member} straight from {archive} (zip)", "{archive} is a zip with {member} in it, show me that text",
          "cat {member} from {archive}, do not extract anything to disk", "display the text of the member {member} of the zip {archive}", "i need to see {member} from inside the zip file {archive}",
          "get the lines of {member} in the zip archive {archive} on the screen"),
    nouns=("the content of {member} in the zip {archive}", "the text of the zip member {member} of {archive}", "the lines of {member} packed in the zip file {archive}", "what {member} inside the zip {archive} says",
           "the packed file {member} from the zip archive {archive}"),
)
entry(
    "unzip", START, TREE, draw=lambda d: {"dst": d.dir()} | _zip(d), reference=lambda w, x, p: _put(w, _held(w, p["archive"]), p["dst"]),
    ways=("unzip -q {archive} -d {dst}", "python3 -m zipfile -e {archive} {dst}"),
    asks=("unzip {archive} into {dst}", "extract the zip file {archive} to the directory {dst}", "unpack the zip {archive} in {dst}", "{archive}: unzip it to {dst}",
          "put the content of the zip archive {archive} into the folder {dst}", "decompress {archive} (zip) under {dst}", "open the zip {archive} inside {dst}", "everything in the zip {archive} should be unpacked to {dst}",
          "i need {archive} unzipped in {dst}", "take all files out of the zip file {archive} and place them in {dst}"),
)
entry(
    "unzip_here", START, TREE, draw=lambda d: {"dst": d.scene.cwd} | _zip(d), reference=lambda w, x, p: _put(w, _held(w, p["archive"]), p["dst"]),
    ways=("unzip -q {archive}", "python3 -m zipfile -e {archive} ."),
    asks=("unzip {archive}", "unzip {archive} here", "extract the zip file {archive} [in|into] the current directory", "unpack the zip archive {archive} in this folder", "decompress the zip {archive} right here",
          "{archive}: unzip it into the working directory", "get everything out of the zip {archive}", "open the zip file {archive} in this directory", "i need the content of the zip {archive} in the current folder",
          "put what the zip archive {archive} holds into the working directory"),
)

# --- parts of a tar archive -------------------------------------------------------------------------------------------


def _without_ext(d: Draw) -> Params:
    p = to_pack("tar.gz")(d)
    return p | {"ext": d.ext(p["dir"])}


def _two_files(d: Draw) -> Params:
    first = d.any_file()
    folder = posixpath.dirname(first)
    second = d.any_file(lambda q: q != first and posixpath.dirname(q) == folder)
    return {"file": first, "file2": second, "out": d.new("tar.gz"), "dir2": folder}


def _member(d: Draw) -> Params:
    target = d.dir()
    members, path = packed(d)
    return {"archive": path, "member": d.pick(name for name, data in members.items() if data is not None), "dst": target}


def _inner(w: World, p: Params) -> dict[str, bytes | None]:
    """Members without their first component; what has no other one is gone."""
    return {name.partition("/")[2]: data for name, data in unpacked(w, p["archive"]).items() if name.partition("/")[2]}


def _pack_rest(w: World, _x: Lines, p: Params) -> None:
    expect(w, p["out"], p["dir"], w.files(p["dir"], lambda q, _f: extension(q) != p["ext"] and not q.endswith("/." + p["ext"])), top=p["name"])


entry(
    "tar_exclude", START, TREE, draw=_without_ext, reference=_pack_rest,
    ways=("tar --exclude='*.{ext:raw}' -czf {out} {dir}", "find {dir} -type f ! -name '*.{ext:raw}' -print0 | tar --null -czf {out} -T -"),
    asks=("pack {dir} into the gzipped tar {out} without the {ext} files", "create {out}, a compressed tarball of {dir}, but leave out all {ext} files", "tar and gzip {dir} to {out}, excluding {ext} files",
          "archive {dir} as {out} (tar.gz) except for its {ext} files", "make a gzip tar {out} from {dir}, skip everything that ends in {ext}", "back up {dir} to {out} as a gzipped tarball, no {ext} files in it",
          "{out}: compressed tar of {dir} minus the {ext} files", "i need {dir} in the tar.gz {out}, the {ext} files must not be in there", "bundle everything below {dir} apart from {ext} files in a gzip-compressed tar {out}",
          "put {dir} in a gzipped tar archive named {out} and exclude the {ext} files"),
)
entry(
    "tar_files", START, TREE, draw=_two_files, reference=lambda w, x, p: expect(w, p["out"], p["dir2"], [p["file"], p["file2"]], top=""),
    ways=("tar -czf {out} {file} {file2}", "tar -cf - {file} {file2} | gzip > {out}"),
    asks=("pack the files {file} and {file2} into the gzipped tar {out}", "create a compressed tar archive {out} with {file} and {file2} in it", "tar and gzip {file} and {file2} as {out}", "put {file} together with {file2} into a tar.gz called {out}",
          "make the gzip tarball {out} from the two files {file} and {file2}", "archive {file} and {file2} in {out} (tar, gzip)", "{file} and {file2} should be in a gzipped tar {out}", "{out}: tar.gz of {file} and {file2}",
          "i need a gzipped tarball {out} that contains {file} and {file2}", "bundle {file} plus {file2} to {out}, a gzip-compressed tar"),
)
entry(
    "tar_member", START, TREE, draw=_member, reference=lambda w, x, p: _put(w, {p["member"]: unpacked(w, p["archive"])[p["member"]]}, p["dst"]),
    ways=("tar -xf {archive} -C {dst} {member}", "gzip -dc {archive} | tar -xf - -C {dst} {member}"),
    asks=("extract only {member} from {archive} into {dst}", "unpack just the file {member} of the tarball {archive} to {dst}, keep its path", "get {member} out of the tar {archive} and put it under {dst} with its path",
          "from {archive}, extract {member} and nothing else, target directory {dst}", "{archive}: unpack the single member {member} in {dst}", "pull the one file {member} out of {archive} into the folder {dst}, path included",
          "untar {member} alone from {archive} to {dst}", "restore {member} from the archive {archive} below {dst}", "i need only {member} from the tar archive {archive} extracted in {dst}",
          "extract one member, {member}, of {archive} to the directory {dst}"),
)
entry(
    "tar_strip", START, TREE, draw=lambda d: {"dst": d.dir(), "archive": packed(d)[1]}, reference=lambda w, x, p: _put(w, _inner(w, p), p["dst"]),
    ways=("tar -xf {archive} -C {dst} --strip-components=1", "gzip -dc {archive} | tar -xf - -C {dst} --strip-components 1"),
    asks=("unpack {archive} into {dst} without its top directory", "extract the tarball {archive} to {dst} and strip the first path component", "untar {archive} in {dst}, dropping the leading folder of each name",
          "{archive}: extract to {dst} but leave out the top level folder", "put what is inside the top folder of {archive} directly into {dst}", "unpack the tar {archive} straight into {dst}, no enclosing directory",
          "extract {archive} in {dst} with one leading component removed", "the content of {archive} should land in {dst} itself, not in a subfolder named like its top directory",
          "i need {archive} unpacked to {dst} minus the outermost directory", "decompress the archive {archive} into {dst}, strip 1 component"),
)
