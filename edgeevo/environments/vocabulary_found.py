"""Skills that do something to, or with, the files that a search found."""

from __future__ import annotations

import posixpath

from edgeevo.domain import File
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, base

PATHS, TREE, VALUE, LINES = Kind.PATHS, Kind.TREE, Kind.VALUE, Kind.LINES


def _files(d: Draw) -> Lines:
    """What the search found, if all of it are files of known text."""
    x = d.x or []
    if not x or not all(isinstance(d.world.nodes.get(q), File) and not d.world.opaque(q) for q in x):
        raise NoInstanceError
    return x


def _checked(d: Draw) -> Params:
    _files(d)
    return {}


def _target(d: Draw) -> Params:
    """A directory that none of the found files is in and that has none of their names."""
    x = _files(d)
    names = [base(q) for q in x]
    if len(set(names)) < len(names):
        raise NoInstanceError
    return {
        "dst": d.dir(
            lambda p: not any(q.startswith(p + "/") or posixpath.join(p, n) in d.world.nodes for q, n in zip(x, names, strict=True))
        )
    }


def _delete(w: World, x: Lines, _p: Params) -> None:
    for q in x:
        w.remove(q)


def _copy(w: World, x: Lines, p: Params) -> None:
    for q in x:
        w.duplicate(q, posixpath.join(p["dst"], base(q)))


def _move(w: World, x: Lines, p: Params) -> None:
    for q in x:
        w.move(q, posixpath.join(p["dst"], base(q)))


entry(
    "delete_found",
    PATHS,
    TREE,
    draw=_checked,
    reference=_delete,
    ways=("xargs -d '\\n' rm --", 'while IFS= read -r f; do rm -- "$f"; done'),
    then=("delete {x}", "get rid of {x}", "rm {x}", "erase {x} from disk", "throw {x} away", "wipe out {x}", "delete {x} for good", "{x} should be deleted",
          "delete each of {x}", "clean up by removing {x}", "{x} can go, delete each one"),
)
entry(
    "copy_found",
    PATHS,
    TREE,
    draw=_target,
    reference=_copy,
    ways=("xargs -d '\\n' cp -t {dst}", 'sort | while IFS= read -r f; do cp -- "$f" {dst}; done'),
    then=("copy {x} [to|into] {dst}", "put copies of {x} in {dst}", "copy {x} over to the folder {dst}", "cp {x} into {dst}", "duplicate {x} in {dst}", "back {x} up in the directory {dst}",
          "place a copy of {x} under {dst}", "gather copies of {x} in {dst}", "{x} should be copied to {dst}", "copy each of {x} into {dst}", "into {dst} copy {x}",
          "make copies of {x} in the directory {dst}"),
)
entry(
    "move_found",
    PATHS,
    TREE,
    draw=_target,
    reference=_move,
    ways=("xargs -d '\\n' mv -t {dst}", 'sort | while IFS= read -r f; do mv -- "$f" {dst}; done'),
    then=("move {x} [to|into] {dst}", "put {x} into {dst}, do not copy", "move {x} over to the folder {dst}", "mv {x} into {dst}", "relocate {x} to {dst}", "shift {x} to the directory {dst}",
          "transfer {x} to {dst}, no copies left behind", "{x} should be moved to {dst}", "move each of {x} into {dst}", "into {dst} move {x}", "{x} must be in {dst} afterwards, move, do not copy"),
)


def _chmod(w: World, x: Lines, p: Params) -> None:
    for q in x:
        node = w.file(q)
        w.nodes[q] = File(data=node.data, mode=int(p["mode"], 8), age_seconds=node.age_seconds)


entry(
    "chmod_found",
    PATHS,
    TREE,
    draw=lambda d: _checked(d) | {"mode": d.rng.choice(("600", "640", "644", "700", "750", "755", "444"))},
    reference=_chmod,
    ways=("xargs -d '\\n' chmod {mode:raw}", 'while IFS= read -r f; do chmod {mode:raw} "$f"; done'),
    then=("set the permissions of {x} to {mode}", "chmod {x} to {mode}", "change the mode of {x} to {mode}", "give {x} permissions {mode}", "make {x} mode {mode}", "put mode {mode} on {x}",
          "let {x} have exactly the permissions {mode}", "{x} should have mode {mode}", "set mode {mode} on each of {x}", "apply permissions {mode} to {x}", "chmod {mode} on {x}"),
)


def _empty(w: World, x: Lines, _p: Params) -> None:
    for q in x:
        w.write(q, [])


entry(
    "truncate_found",
    PATHS,
    TREE,
    draw=_checked,
    reference=_empty,
    ways=("xargs -d '\\n' truncate -s 0", 'while IFS= read -r f; do : > "$f"; done'),
    then=("empty {x} without deleting anything", "truncate {x} to nothing", "truncate {x} to zero bytes", "clear the content of {x}, keep the files", "make {x} empty but keep the files",
          "set the size of {x} to 0", "{x} should be emptied, not deleted", "wipe the content of {x}, the files stay", "leave {x} in place with no content"),
)


def _swap(d: Draw) -> Params:
    lines = [line for q in _files(d) for line in d.world.lines(q)]
    return {"old": d.word(lines, share=(0.0, 1.0)), "new": d.stem()}


def _replace(w: World, x: Lines, p: Params) -> None:
    for q in x:
        if p["old"].encode() in w.file(q).data:
            w.write(q, [line.replace(p["old"], p["new"]) for line in w.lines(q)])


entry(
    "replace_found",
    PATHS,
    TREE,
    draw=_swap,
    reference=_replace,
    ways=("xargs -d '\\n' sed -i 's/{old:raw}/{new:raw}/g'", "while IFS= read -r f; do perl -i -pe 's/{old:raw}/{new:raw}/g' \"$f\"; done"),
    then=("replace {old} [with|by] {new} inside {x}", "in the content of {x}, change every {old} to {new}", "edit {x}: {old} becomes {new}",
          "turn {old} into {new} throughout the content of {x}", "in the text of {x} put {new} where it says {old}", "substitute {new} for {old} in the contents of {x}",
          "{x} should say {new} wherever there is {old} in the text", "change {old} to {new} in {x}, in place", "rewrite {x} with {new} in place of {old}"),
)

# --- reading what was found -------------------------------------------------------------------------------------------


def _contents(w: World, x: Lines, _p: Params) -> Lines:
    return [line for q in x for line in w.lines(q)]


entry(
    "cat_found",
    PATHS,
    LINES,
    draw=_checked,
    reference=_contents,
    unordered=True,
    ways=("xargs -d '\\n' cat", 'while IFS= read -r f; do cat -- "$f"; done'),
    then=("show the contents of {x}", "print what is in {x}", "cat {x}", "output the text of {x}", "print the lines of {x} without names", "concatenate {x} and print the result",
          "dump the content of {x}", "the contents of {x}", "the text of {x}", "what is written in {x}?", "read {x} and print the content"),
)
entry(
    "grep_found",
    PATHS,
    LINES,
    unordered=True,
    draw=lambda d: {"word": d.word([line for q in _files(d) for line in d.world.lines(q)], share=(0.0, 0.8))},
    reference=lambda w, x, p: [line for line in _contents(w, x, p) if p["word"] in line],
    ways=("xargs -d '\\n' grep -h {word}", 'while IFS= read -r f; do grep {word} "$f"; done'),
    then=("search inside {x} for {word} and print the lines only", "print the lines with {word} from the contents of {x}", "grep {word} in the contents of {x}, no file names",
          "show what the text of {x} says about {word}, lines only", "look into {x} for lines containing {word}, without file names", "from inside {x}, output each line that mentions {word}",
          "the lines with {word} in the contents of {x}", "which lines inside {x} mention {word}?", "find {word} inside {x} and show only the matching lines",
          "only the lines of text in {x} that contain {word}"),
)
entry(
    "total_lines_found",
    PATHS,
    VALUE,
    draw=_checked,
    reference=lambda w, x, p: [str(len(_contents(w, x, p)))],
    ways=("xargs -d '\\n' cat | wc -l", "while IFS= read -r f; do cat -- \"$f\"; done | grep -c ''"),
    then=("count the lines inside {x} in total", "how many lines are there in {x} all together?", "give the total number of lines in the contents of {x}", "sum up the line counts of {x}",
          "print how many lines there are inside {x} altogether", "count all lines of text in {x} together", "the total number of lines inside {x}",
          "how many lines of text {x} contain in total", "add the line counts of {x} up to one number"),
)
entry(
    "total_bytes_found",
    PATHS,
    VALUE,
    draw=_checked,
    reference=lambda w, x, p: [str(sum(len(w.file(q).data) for q in x))],
    ways=("xargs -d '\\n' cat | wc -c", "while IFS= read -r f; do stat -c %s \"$f\"; done | awk '{s+=$1}END{print s}'"),
    then=("give the total size of {x} in bytes", "add up the sizes of {x} in bytes", "sum the byte sizes of {x}",
          "print the size of {x} all together, in bytes", "total up the bytes in {x}", "the total size of {x} in bytes", "how many bytes {x} take up together",
          "the sum of the sizes of {x} in bytes", "work out how many bytes {x} have together"),
)
entry(
    "names_found",
    PATHS,
    LINES,
    reference=lambda w, x, p: [base(q) for q in x],
    ways=("xargs -d '\\n' basename -a", "sed 's|.*/||'", "awk -F/ '{print $NF}'"),
    then=("show only the names of {x}, without the path", "print the base names of {x}", "strip the directories from {x}, names only", "list {x} by name only, no directories",
          "give the plain file names of {x}", "reduce {x} to their names without folders", "the base names of {x}", "only the file names of {x} without directories",
          "what are the names of {x}, paths left out?", "just the last path component of {x}"),
)


def _ranked(d: Draw, what: str) -> Params:
    x = _files(d)
    values = [d.world.file(q).age_seconds if what == "age" else len(d.world.file(q).data) for q in x]
    if len(x) < 2 or len(set(values)) < len(values):
        raise NoInstanceError
    return {}


for _name, _flags, _what, _sign, _synonyms in (
    ("newest", "-t", "age", 1, ("newest", "most recent", "most recently changed", "latest", "last modified", "most recently modified")),
    ("oldest", "-tr", "age", -1, ("oldest", "least recently changed", "least recent", "longest unchanged", "least recently modified", "oldest")),
    ("largest", "-S", "size", -1, ("largest", "biggest", "biggest", "largest", "largest", "biggest by size")),
    ("smallest", "-Sr", "size", 1, ("smallest", "tiniest", "smallest", "smallest", "tiniest", "smallest by size")),
):
    _a, _b, _c, _e, _f, _g = _synonyms
    entry(
        f"{_name}_found",
        PATHS,
        PATHS,
        draw=lambda d, what=_what: _ranked(d, what),  # type: ignore[misc]
        reference=lambda w, x, p, what=_what, sign=_sign: [
            min(x, key=lambda q: sign * (w.file(q).age_seconds if what == "age" else len(w.file(q).data)))
        ],  # type: ignore[misc]
        ways=(
            f"xargs -d '\\n' ls {_flags} | head -n 1",
            f"xargs -d '\\n' stat -c '%{'Y' if _what == 'age' else 's'} %n' | sort -{'n' if _name in ('oldest', 'smallest') else 'rn'} | sed 1q | cut -d' ' -f2-",
        ),
        then=(
            f"show only the {_a} of {{x}}", f"print just the {_b} of {{x}}", f"pick the {_c} one among {{x}}", f"which of {{x}} is the {_a}?", f"name the {_e} of {{x}}",
            f"the {_b} of {{x}}", f"only the {_f} one of {{x}}", f"find out which of {{x}} is the {_g}", f"from {{x}} choose the {_a}", f"the single {_e} one of {{x}}",
        ),
    )
