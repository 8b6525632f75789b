"""Skills on permissions beyond one exact mode: a single right for somebody, whole trees, files and directories apart, and counts per mode."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable

import msgspec

from edgeevo.domain import Directory, File
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, TREE, LINES = Kind.START, Kind.TREE, Kind.LINES

WHO = {"the owner": "u", "the group": "g", "others": "o", "everybody": "a"}
RIGHTS = {"read": "r", "write": "w", "execute": "x"}
BITS = {"u": 0o700, "g": 0o070, "o": 0o007, "a": 0o777, "r": 0o444, "w": 0o222, "x": 0o111}


def _set(w: World, path: str, change: Callable[[int], int]) -> None:
    node = w.nodes[path]
    if isinstance(node, File | Directory):
        w.nodes[path] = msgspec.structs.replace(node, mode=change(node.mode))


def _bits(p: Params) -> int:
    return BITS[p["symbol"][0]] & BITS[p["symbol"][-1]]


def _single(*, give: bool) -> Callable[[Draw], Params]:
    """Somebody, a right, and a file whose mode that changes; the owner's right to write is never taken, other links may need it."""

    def draw(d: Draw) -> Params:
        who, right = d.rng.choice(sorted(WHO)), d.rng.choice(sorted(RIGHTS))
        if not give and who in ("the owner", "everybody") and right != "execute":
            raise NoInstanceError
        p = {"who": who, "right": right, "symbol": f"{WHO[who]}{'+' if give else '-'}{RIGHTS[right]}"}
        bits = _bits(p)
        p["bits"] = str(bits)

        def changes(q: str) -> bool:
            mode = d.world.file(q).mode
            return bits & ~mode != 0 if give else bits & mode != 0

        return p | {"file": d.any_file(changes)}

    return draw


def _tree(d: Draw) -> Params:
    return {"dir": d.dir(lambda p: len(d.world.files(p)) > 1 and bool(d.world.directories(p)))}


def _leaf(d: Draw) -> Params:
    return {"dir": d.dir(lambda p: len(d.world.files(p)) > 1)}


def _every(w: World, p: Params, kind: type, mode: str) -> None:
    for q in [p["dir"], *(q for q, _ in w.below(p["dir"]))]:
        if isinstance(w.nodes[q], kind):
            _set(w, q, lambda _m: int(mode, 8))


def _both(w: World, _x: Lines, p: Params) -> None:
    _every(w, p, Directory, p["mode2"])
    _every(w, p, File, p["mode"])


def _with_ext(d: Draw) -> Params:
    p = _leaf(d)
    return p | {"ext": d.ext(p["dir"])}


def _executable(w: World, _x: Lines, p: Params) -> None:
    for q in w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"])):
        _set(w, q, lambda m: m | 0o111)


def _drop(w: World, p: Params, bits: int) -> None:
    for q in [p["dir"], *(q for q, _ in w.below(p["dir"]))]:
        _set(w, q, lambda m: m & ~bits)


def _like(d: Draw) -> Params:
    first = d.any_file()
    return {"src": first, "dst": d.any_file(lambda q: d.world.file(q).mode != d.world.file(first).mode)}


def _modes(w: World, p: Params) -> Lines:
    return [f"{c} {mode}" for mode, c in sorted(Counter(f"{w.file(q).mode:o}" for q in w.files(p["dir"])).items())]


def _modes_differ(d: Draw) -> Params:
    return {"dir": d.dir(lambda p: len({d.world.file(q).mode for q in d.world.files(p)}) > 1)}


def _names_by_mode(w: World, p: Params) -> Lines:
    return [f"{w.file(q).mode:o} {posixpath.basename(q)}" for q in w.files(p["dir"], depth=1)]


entry(
    "chmod_give", START, TREE, draw=_single(give=True), reference=lambda w, x, p: _set(w, p["file"], lambda m: m | _bits(p)),
    ways=("chmod {symbol:raw} {file}", "python3 -c 'import os,sys;os.chmod(sys.argv[1],os.stat(sys.argv[1]).st_mode|{bits:raw})' {file}"),
    asks=("give {who} {right} permission on {file}", "let {who} have {right} permission for {file}, leave the other permissions alone", "add {right} permission for {who} to {file}", "grant {who} the {right} permission on {file}",
          "{file}: {right} permission for {who}, please, nothing else changes", "{who} should get {right} permission on {file}", "change the mode of {file} so that {who} gains the {right} bit", "i need {right} permission on {file} for {who}",
          "turn on the {right} bit for {who} on {file}", "allow {who} {right} access to {file}", "set the {right} permission of {file} for {who}, keep the rest"),
)
entry(
    "chmod_take", START, TREE, draw=_single(give=False), reference=lambda w, x, p: _set(w, p["file"], lambda m: m & ~_bits(p)),
    ways=("chmod {symbol:raw} {file}", "python3 -c 'import os,sys;os.chmod(sys.argv[1],os.stat(sys.argv[1]).st_mode&~{bits:raw})' {file}"),
    asks=("take {right} permission on {file} away from {who}", "remove {right} permission for {who} from {file}", "revoke the {right} permission of {who} on {file}", "deny {who} {right} access to {file}, leave the other permissions alone",
          "{file}: no {right} permission for {who} any more", "{who} should lose {right} permission on {file}", "change the mode of {file} so that {who} no longer has the {right} bit", "i need the {right} permission of {who} on {file} gone",
          "turn off the {right} bit for {who} on {file}", "clear the {right} bit that {who} may have on {file}, keep the rest", "drop {right} permission for {who} on {file}"),
)
entry(
    "chmod_tree", START, TREE, draw=lambda d: _tree(d) | dict(zip(("mode", "mode2"), d.rng.choice((("644", "755"), ("640", "750"), ("600", "700"), ("664", "775"))), strict=True)), reference=_both,
    ways=("find {dir} -type d -exec chmod {mode2:raw} {} + -o -type f -exec chmod {mode:raw} {} +", "find {dir} -type f -print0 | xargs -0 chmod {mode:raw}; find {dir} -type d -print0 | xargs -0 chmod {mode2:raw}"),
    asks=("set all directories in {dir} (itself too) to {mode2} and all files to {mode}, recursively", "set folders to {mode2} and files to {mode} from {dir} down, the top folder included", "chmod the tree {dir}: directories get {mode2}, files get {mode}",
          "make every file below {dir} mode {mode} and every directory, also the top one, mode {mode2}", "fix the permissions under {dir}: {mode2} for directories including the top, {mode} for files", "{dir}: recursively {mode} on files, {mode2} on directories, the top one too",
          "recursively give the files in {dir} permissions {mode} and its directories, itself included, {mode2}", "the whole tree {dir} should have {mode2} on directories and {mode} on files", "i need {mode} for all files and {mode2} for all directories in the tree {dir}",
          "reset modes in the tree {dir}, directories to {mode2} and files to {mode}"),
)
entry(
    "chmod_close", START, TREE, draw=_leaf, reference=lambda w, x, p: _drop(w, p, 0o022),
    ways=("chmod -R go-w {dir}", "find {dir} -exec chmod go-w {} +"),
    asks=("remove write permission for group and others from {dir} and everything in it", "recursively take write access from group and others on {dir}", "in the tree {dir} only owners should have write permission, drop it for group and others",
          "chmod -R go-w on {dir}", "{dir}: no write permission for group and others, recursively", "revoke the group's and others' write bits on everything from {dir} down", "make sure group and others can write nothing in {dir}, at any depth, other rights stay",
          "strip write permission from group and others in {dir} and all below", "i need {dir} and its content recursively without write permission for group and others", "clear the g and o write bits of {dir} and whatever it contains"),
)
entry(
    "chmod_private", START, TREE, draw=_leaf, reference=lambda w, x, p: _drop(w, p, 0o077),
    ways=("chmod -R go= {dir}", "find {dir} -exec chmod go-rwx {} +"),
    asks=("remove all permissions for group and others from {dir} and everything in it", "recursively make {dir} private, the owner keeps his rights, group and others get none", "only owners should be able to access {dir} and all it contains",
          "take every right of group and others away on {dir} and whatever is below", "{dir}: no access at all for group and others, recursively", "lock the tree {dir} down so that group and others have no permissions in it", "chmod -R go= on {dir}",
          "strip all group and other permissions from {dir} with its files and subfolders", "i need {dir} and its content closed to group and others, recursively", "clear each permission bit of group and others from {dir} downwards"),
)
entry(
    "chmod_like", START, TREE, draw=_like, reference=lambda w, x, p: _set(w, p["dst"], lambda _m: w.file(p["src"]).mode),
    ways=("chmod --reference={src} {dst}", "chmod \"$(stat -c %a {src})\" {dst}"),
    asks=("give {dst} the same permissions as {src}", "set the mode of {dst} to that of {src}", "copy the permissions of {src} to {dst}, not the content", "make the permissions of {dst} equal to those of {src}",
          "{dst} should have the mode that {src} has", "{dst}: same permissions as {src}", "apply the permission bits of {src} to {dst}", "use {src} as the reference for the mode of {dst}", "i need {dst} to have the permissions of {src}",
          "chmod {dst} like {src}"),
)
entry(
    "modes_tally", START, LINES, draw=_modes_differ, unordered=True, pads=True, reference=lambda w, x, p: _modes(w, p),
    ways=("find {dir} -type f -printf '%m\\n' | sort | uniq -c", "find {dir} -type f -exec stat -c %a {} + | awk '{c[$1]++}END{for(k in c)print c[k],k}'"),
    asks=("count the files under {dir} per octal mode, count first", "how many files below {dir} have which octal permissions? print count and mode", "tally the octal permissions of all files in the {dir} tree, count before mode", "{dir}: number of files for each octal mode, recursively",
          "for every octal mode that files under {dir} have, show how many have it, count first", "group the files in {dir} and its subdirectories by numeric mode and count them", "show count and octal mode for the regular files anywhere below {dir}",
          "which numeric modes do the files in {dir} have, recursively, and how often? count, then mode", "i need the number of files below {dir} per numeric permission, count first", "summarise the file permissions under {dir}: count and octal mode"),
    nouns=("the number of files for each octal mode below {dir}, count first", "the counts of the octal permissions of all files below {dir}", "a tally of numeric file modes in the {dir} tree, count before mode", "how many files below {dir} have each octal mode, count first",
           "count and octal mode for the files in {dir} and its subdirectories"),
)
entry(
    "modes_list", START, LINES, draw=lambda d: {"dir": d.dir(lambda p: len(d.world.files(p, depth=1)) > 1)}, unordered=True, reference=lambda w, x, p: _names_by_mode(w, p),
    ways=("find {dir} -maxdepth 1 -type f -printf '%m %f\\n'", "find {dir} -maxdepth 1 -type f -exec stat -c '%a %n' {} + | sed -E 's|^([0-7]+) .*/|\\1 |'"),
    asks=("list the octal mode and the name of each file directly in {dir}, hidden ones too", "show the numeric permissions and file name for all files in {dir} itself, hidden included, no directories", "print 'mode name' for every regular file right in {dir} (octal, hidden files as well)",
          "{dir}: octal permissions and name of its own files, hidden ones as well", "which octal permissions do the files directly in {dir} have? mode, then name, also for hidden ones",
          "for each file, hidden or not, in {dir} but not in its subfolders, output octal mode and bare name", "what are the numeric modes of the files lying directly in {dir}, hidden too? one file a line: mode, name",
          "give me mode (as a number) and name of every file, even hidden, on the top level of {dir}", "i need the octal permissions in front of the name for all files in {dir}, not recursive, hidden ones included",
          "only the top level of {dir}: octal permissions and name of each file, hidden files count too"),
    nouns=("the octal modes and names of the files directly in {dir}, hidden ones included", "the numeric permissions and names of all files in {dir} itself, hidden too", "the lines 'mode name' for every file right in {dir}, octal, hidden ones as well",
           "the files on the top level of {dir} with their octal mode in front, hidden included", "the octal permission and bare name of each file in {dir}, not recursive, also hidden"),
)
