"""Skills on line ends, and on lists of checksums that a directory is checked against."""

from __future__ import annotations

import hashlib
import posixpath

from edgeevo.domain import File
from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, text

START, LINES, VALUE, TREE = Kind.START, Kind.LINES, Kind.VALUE, Kind.TREE

# --- line ends --------------------------------------------------------------------------------------------------------


def _crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _with_ends(d: Draw, ends: str, place: str = "") -> Params:
    maker = Maker(d.rng, d.split, ())
    lines = maker.lines(d.rng.choice(("notes", "people", "settings")), d.rng.randint(5, 20))
    data = ends.join([*lines, ""]).encode()
    return {"file": d.place(place or maker.name(d.rng.choice(("txt", "csv", "conf", "ini"))), File(data=data, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))}


def _either(d: Draw) -> Params:
    return _with_ends(d, d.rng.choice(("\n", "\r\n")))


def _expect_bytes(w: World, path: str, data: bytes) -> None:
    """Expect exactly these bytes: the judge of contents folds line ends."""
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    quoted = "'" + path.replace("'", "'\\''") + "'"
    w.probes[path] = (f"md5sum < {quoted} | cut -c1-32", (digest,))
    w.put(path, File(data=data, mode=w.file(path).mode))


entry(
    "to_dos", START, TREE, draw=lambda d: _with_ends(d, "\n"), reference=lambda w, x, p: _expect_bytes(w, p["file"], _crlf(w.file(p["file"]).data)),
    ways=("sed -i 's/$/\\r/' {file}", "perl -pi -e 's/\\n/\\r\\n/' {file}"),
    asks=("convert {file} from Unix to Windows line endings", "change the line ends of {file} from LF to CRLF", "add a carriage return at the end of every line of {file}, in place", "{file} has Unix line endings, make them DOS ones", "turn {file} into a file with Windows line endings", "{file}: LF to CRLF, in place", "give each line of {file} a CRLF ending", "make {file} ready for Windows, its lines should end in CRLF",
          "i need {file} with CRLF instead of LF line ends", "do what unix2dos does to {file}"),
)
entry(
    "has_crlf", START, VALUE, draw=_either, reference=lambda w, x, p: ["yes" if b"\r" in w.file(p["file"]).data else "no"],
    ways=("grep -q $'\\r' {file} && echo yes || echo no", "if [ \"$(tr -cd '\\r' < {file} | wc -c)\" -gt 0 ]; then echo yes; else echo no; fi"),
    asks=("does {file} have Windows line endings? print yes or no", "check whether the lines of {file} end in CRLF, yes or no", "print yes if {file} contains carriage returns, no if not", "{file}: DOS line ends or not? answer yes or no", "test {file} for CRLF line endings and say yes or no", "is {file} a file with Windows line ends? yes or no", "tell me with yes or no if there are carriage returns in {file}", "i need yes or no: does {file} use CRLF?",
          "find out if {file} was saved with DOS line endings and print yes or no", "are there ^M characters in {file}? yes or no"),
    nouns=("yes if {file} has Windows line endings, else no", "yes or no for CRLF line ends in {file}", "whether {file} contains carriage returns, as yes or no", "yes when the lines of {file} end in CRLF, otherwise no", "yes or no depending on whether {file} has DOS line endings"),
)

# --- lists of checksums -----------------------------------------------------------------------------------------------


def _sums(d: Draw) -> Params:
    """A new directory with a few files and their checksums, of which some are wrong."""
    maker = Maker(d.rng, d.split, ())
    names = [maker.name(d.rng.choice(("txt", "img", "bin", "log"))) for _ in range(d.rng.randint(4, 7))]
    files = {name: "".join(f"{line}\n" for line in maker.lines("notes", d.rng.randint(2, 6))).encode() for name in names}
    wrong = set(d.rng.sample(names, d.rng.randint(1, 3)))
    age = d.rng.randint(1, 20) * HOUR + 1800
    lines = [f"{hashlib.sha256(data + b'x' * (name in wrong)).hexdigest()}  {name}" for name, data in files.items()]
    path = d.place(posixpath.join(maker.stem(), "SHA256SUMS"), text(lines, age_seconds=age))
    for name, data in files.items():
        other = posixpath.join(posixpath.dirname(path), name)
        if other in d.world.nodes:
            raise NoInstanceError
        node = File(data=data, age_seconds=age)
        d.world.put(other, node)
        d.placed[other] = node
    return {"dir": posixpath.dirname(path)}


def _checked(w: World, p: Params, *, good: bool) -> Lines:
    rows = [line.split("  ", 1) for line in w.lines(posixpath.join(p["dir"], "SHA256SUMS"))]
    return [name for digest, name in rows if (hashlib.sha256(w.file(posixpath.join(p["dir"], name)).data).hexdigest() == digest) is good]


entry(
    "sums_failed", START, LINES, draw=_sums, reference=lambda w, x, p: _checked(w, p, good=False),
    ways=("(cd {dir} && sha256sum -c SHA256SUMS 2>/dev/null) | grep FAILED | cut -d: -f1", "cd {dir}; while read -r h f; do [ \"$(sha256sum < \"$f\" | cut -d' ' -f1)\" = \"$h\" ] || echo \"$f\"; done < SHA256SUMS"),
    asks=("which files in {dir} do not match their checksum in its SHA256SUMS? print the names as listed there", "check {dir} against its SHA256SUMS file and list the names of the files that fail", "verify the files in {dir} with the SHA256SUMS there and print only the names that are wrong", "{dir}: names of the files that fail the check against SHA256SUMS", "find the damaged files in {dir}, SHA256SUMS in it has the checksums, names as in that list",
          "show the names of all files whose sha256 differs from what SHA256SUMS in {dir} says", "run the checksum list SHA256SUMS inside {dir} and name the failures", "i need the names of the files in {dir} that fail sha256sum -c SHA256SUMS", "list the files of {dir} with a bad checksum according to SHA256SUMS there, just names", "what fails when SHA256SUMS in {dir} is checked? file names only"),
    nouns=("the names of the files in {dir} that fail the check against its SHA256SUMS", "the files in {dir} with a bad checksum according to SHA256SUMS there", "the names in SHA256SUMS of {dir} whose files do not match", "the files of {dir} that are wrong by its list SHA256SUMS", "the names that fail sha256sum -c SHA256SUMS in {dir}"),
)
