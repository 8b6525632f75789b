"""Skills that compress and decompress single files with gzip."""

from __future__ import annotations

import gzip
import shlex

from edgeevo.domain import File
from edgeevo.environments.packing import gzipped
from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, TREE, LINES = Kind.START, Kind.TREE, Kind.LINES


def _zip(w: World, path: str, *, keep: bool) -> None:
    w.probes[path + ".gz"] = (f"gzip -dc {shlex.quote(path + '.gz')}", tuple(w.lines(path)))
    w.put(path + ".gz", File(data=b""))
    if not keep:
        w.remove(path)


def _zippable(d: Draw) -> Params:
    return {"file": d.any_file(lambda q: bool(d.world.file(q).data) and not q.endswith(".gz") and q + ".gz" not in d.world.nodes)}


entry(
    "gzip",
    START,
    TREE,
    draw=_zippable,
    reference=lambda w, x, p: _zip(w, p["file"], keep=False),
    ways=("gzip {file}", "gzip -c {file} > {file}.gz && rm {file}"),
    asks=("[compress|gzip] {file}", "compress the file {file} with gzip", "gzip {file} in place", "turn {file} into a gz file", "make {file} smaller with gzip, the uncompressed file can go",
          "replace {file} by its gzip-compressed version", "{file}: compress it (gzip)", "pack the single file {file} with gzip", "i need {file} gzipped",
          "compress {file} to a .gz in its place"),
)
entry(
    "gzip.keep",
    START,
    TREE,
    draw=_zippable,
    reference=lambda w, x, p: _zip(w, p["file"], keep=True),
    ways=("gzip -k {file}", "gzip -c {file} > {file}.gz"),
    asks=("[compress|gzip] {file} [and|but] keep the original", "create a gzip-compressed copy of {file} next to it", "gzip {file} without deleting it",
          "make a gz copy of {file}, leaving the file", "compress {file} with gzip, the original must stay", "{file} should get a gzipped twin beside it",
          "keep {file} and also have it compressed as gz", "i need a gzipped version of {file} beside it, the file stays", "gzip {file} and keep it too"),
)


def _gz(d: Draw) -> Params:
    maker = Maker(d.rng, d.split, ())
    lines = maker.lines(d.rng.choice(("log", "notes", "people")), d.rng.randint(4, 15))
    data = gzipped("".join(f"{line}\n" for line in lines).encode())
    path = d.place(
        maker.name(d.rng.choice(("log", "txt", "csv", "sql"))) + ".gz", File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800)
    )
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
    "gunzip",
    START,
    TREE,
    draw=_gz,
    reference=lambda w, x, p: _unzip(w, p, keep=False),
    ways=("gunzip {archive}", "gzip -d {archive}"),
    asks=("[decompress|uncompress|gunzip] {archive}", "decompress the file {archive} in place", "unpack the gzip file {archive}", "turn {archive} back into the uncompressed file",
          "replace {archive} by its uncompressed version", "undo the gzip compression of {archive}", "{archive}: uncompress it", "expand {archive}, the gz file can go",
          "i need {archive} decompressed", "expand {archive}, only the plain file should be left"),
)
entry(
    "gunzip.keep",
    START,
    TREE,
    draw=_gz,
    reference=lambda w, x, p: _unzip(w, p, keep=True),
    ways=("gunzip -k {archive}", "gzip -dk {archive}"),
    asks=("[decompress|uncompress|gunzip] {archive} [and|but] keep the compressed file", "unpack {archive} next to itself without deleting it", "gunzip {archive}, the gz must stay",
          "create the uncompressed version of {archive} beside it", "expand {archive} but do not remove it", "{archive} should stay and also be there uncompressed",
          "get the plain file out of {archive}, leaving the gz alone", "i need {archive} decompressed beside it, the compressed one stays", "gunzip {archive} and keep it too"),
)
entry(
    "gunzip.to",
    START,
    TREE,
    draw=lambda d: _gz(d) | {"out": d.new("txt")},
    reference=lambda w, x, p: w.write(p["out"], _plain(w, p["archive"])),
    ways=("zcat {archive} > {out}", "gzip -dc < {archive} > {out}"),
    asks=("[decompress|uncompress|unpack] {archive} [to|into] {out}", "write the uncompressed content of {archive} to {out}", "gunzip {archive} and save it as {out}, keep the gz",
          "put what {archive} holds uncompressed in the file {out}", "{out} should hold the decompressed {archive}", "save the plain text of {archive} as {out}",
          "extract the gzip file {archive} into a file named {out}", "i need the decompressed content of {archive} in the file {out}", "zcat {archive} into {out}"),
)
entry(
    "zcat",
    START,
    LINES,
    draw=_gz,
    reference=lambda w, x, p: _plain(w, p["archive"]),
    ways=("zcat {archive}", "gzip -dc {archive}"),
    asks=("show the content of [the compressed file|] {archive}", "print {archive} uncompressed", "what does the gzip file {archive} say?",
          "display the text in {archive} without unpacking it on disk", "zcat {archive}", "read the compressed file {archive}", "output {archive} decompressed, do not write any file",
          "{archive}: show what is compressed in there", "i need the text inside the gzip file {archive}"),
    nouns=(
        "the text in the gzip file {archive}",
        "the uncompressed content of {archive}",
        "the lines in the compressed file {archive}",
        "what {archive} says when decompressed",
        "the decompressed {archive}",
        "the plain text of {archive}",
    ),
)


def _word_in_gz(d: Draw) -> Params:
    params = _gz(d)
    return params | {"word": d.word(_plain(d.world, params["archive"]))}


entry(
    "zgrep",
    START,
    LINES,
    draw=_word_in_gz,
    reference=lambda w, x, p: [line for line in _plain(w, p["archive"]) if p["word"] in line],
    ways=("zgrep {word} {archive}", "zcat {archive} | grep {word}"),
    asks=("find {word} in [the compressed file|the gzip file] {archive}", "search {archive} for {word} without unpacking it", "which lines in the compressed {archive} mention {word}?",
          "print the lines with {word} from the gzipped {archive}", "grep {word} inside {archive}, it is compressed", "look for {word} in the gz file {archive}",
          "{archive} is gzipped: show its lines containing {word}", "i need the lines inside the gzip file {archive} that mention {word}", "zgrep {word} in {archive}"),
    nouns=(
        "the lines with {word} in the gzip file {archive}",
        "the lines of the compressed {archive} that mention {word}",
        "what the gzipped {archive} says about {word}",
        "every line with {word} inside the compressed file {archive}",
        "matches of {word} in the gz file {archive}",
    ),
)
