"""Skills that change a file where it is: its lines, its permissions, and links to it."""

from __future__ import annotations

from collections.abc import Callable

from edgeevo.domain import File, Link
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_files import phrase
from edgeevo.environments.world import World

START, TREE, VALUE = Kind.START, Kind.TREE, Kind.VALUE
Change = Callable[[Lines, Params], Lines]


def rewritten(change: Change) -> Callable[[World, Lines, Params], None]:
    """A reference that rewrites the lines of `file`."""
    return lambda w, _x, p: w.write(p["file"], change(w.lines(p["file"]), p))


def word_swap(d: Draw) -> Params:
    """A text file, a word of it, and what takes its place."""
    file = d.text()
    return {"file": file, "old": d.word_in(file), "new": d.stem()}


def _word(d: Draw) -> Params:
    file = d.text()
    return {"file": file, "word": d.word_in(file)}


def _line(d: Draw) -> Params:
    file = d.text()
    length = len(d.world.lines(file))
    if length < 2:
        raise NoInstanceError
    return {"file": file, "n": d.number(1, min(9, length))}


entry(
    "truncate",
    START,
    TREE,
    draw=lambda d: {"file": d.text()},
    reference=rewritten(lambda _x, _p: []),
    ways=("truncate -s 0 {file}", ": > {file}", "cp /dev/null {file}"),
    asks=("empty [the file|] {file} [but keep it|without deleting it|]", "truncate {file} [to zero|]", "clear the content of {file}", "delete all text in {file}, the file stays",
          "make {file} an empty file", "wipe what is in {file} but do not remove it", "{file} should have no content any more", "{file}: set its size to 0",
          "i need {file} emptied, not deleted", "cut {file} down to zero bytes", "remove all content from {file}, but keep the file"),
)
entry(
    "replace_in_place",
    START,
    TREE,
    draw=word_swap,
    reference=rewritten(lambda x, p: [line.replace(p["old"], p["new"]) for line in x]),
    ways=("sed -i 's/{old:raw}/{new:raw}/g' {file}", "perl -i -pe 's/{old:raw}/{new:raw}/g' {file}"),
    asks=("replace {old} [with|by] {new} in {file}", "change [every|all|] {old} to {new} in {file} and save it", "in {file}, replace each {old} by {new}",
          "edit {file}: {old} becomes {new} everywhere", "substitute {new} for {old} in the file {file}", "swap all occurrences of {old} in {file} for {new}",
          "turn every {old} in {file} into {new}, in place", "{file} says {old} where it should say {new}, fix it", "i need every {old} in {file} changed to {new}, in place",
          "modify {file}: put {new} wherever it says {old}", "edit {file} in place, replacing {old} with {new}"),
)


def _swap_all(d: Draw) -> Params:
    file = d.text()
    ext = file.rpartition(".")[2]
    directory = d.dir(lambda p: file.startswith(p + "/") and all(q == file or d.world.file(q).data for q in d.world.files(p)))
    return {"dir": directory, "ext": ext, "old": d.word_in(file), "new": d.stem()}


def _replace_all(w: World, _x: Lines, p: Params) -> None:
    for q in w.files(p["dir"], lambda q, f: q.endswith("." + p["ext"]) and p["old"].encode() in f.data):
        w.write(q, [line.replace(p["old"], p["new"]) for line in w.lines(q)])


entry(
    "replace_in_ext",
    START,
    TREE,
    draw=_swap_all,
    reference=_replace_all,
    ways=(
        "find {dir} -type f -name '*.{ext:raw}' -exec sed -i 's/{old:raw}/{new:raw}/g' {} +",
        "grep -rlZ --include='*.{ext:raw}' {old} {dir} | xargs -0 sed -i 's/{old:raw}/{new:raw}/g'",
    ),
    asks=("replace {old} [with|by] {new} in all {ext} files [under|below] {dir}", "change {old} to {new} in every {ext} file in {dir} and its subdirectories",
          "in all {ext} files anywhere below {dir}, put {new} instead of {old}", "search the {ext} files of {dir} recursively for {old} and replace it with {new}",
          "edit each {ext} file under {dir}: {old} becomes {new}", "everywhere in the {ext} files beneath {dir}, {old} should read {new}",
          "{dir}: in {ext} files at any depth turn {old} into {new}", "swap {old} for {new} throughout the {ext} files under {dir}",
          "i need {old} changed to {new} in all {ext} files of the {dir} tree", "recursively replace {old} with {new} in the {ext} files of {dir}"),
)
entry(
    "delete_lines",
    START,
    TREE,
    draw=_word,
    reference=rewritten(lambda x, p: [line for line in x if p["word"] not in line]),
    ways=("sed -i '/{word:raw}/d' {file}", "v=$(grep -v {word} {file}); printf '%s\\n' \"$v\" > {file}"),
    asks=("delete [all|the|] lines [containing|with|that contain] {word} from {file}", "remove every line that mentions {word} from the file {file}",
          "drop the {word} lines from {file} and save it", "in {file}, delete each line with {word} in it", "get rid of lines with {word} in the file {file}",
          "clean {file} of all lines mentioning {word}", "{file} should not have any line with {word} any more", "edit {file}: take out whatever line has {word}",
          "i need all lines with {word} gone from the file {file}", "strip every line matching {word} from {file}, in place", "edit {file} in place, deleting lines that contain {word}"),
)
entry(
    "delete_nth_line",
    START,
    TREE,
    draw=_line,
    reference=rewritten(lambda x, p: x[: int(p["n"]) - 1] + x[int(p["n"]) :]),
    ways=("sed -i {n:raw}d {file}", "perl -i -ne 'print unless $. == {n:raw}' {file}"),
    asks=("delete line {n} of {file}", "remove line number {n} from the file {file}", "drop line {n} in {file} and save the file", "in {file}, take out line {n}",
          "edit {file}: line {n} goes", "{file}: delete its line {n}", "get rid of the line number {n} in file {file}", "cut line {n} out of {file}, in place",
          "i need line {n} gone from the file {file}", "remove the {n:th} line of {file}, in place", "edit {file} in place, deleting line {n}"),
)
entry(
    "prepend_line",
    START,
    TREE,
    draw=lambda d: {"file": d.text(), "text": phrase(d)},
    reference=rewritten(lambda x, p: [p["text"], *x] if x else []),
    ways=("sed -i '1i {text:raw}' {file}", "v=$(cat {file}); printf '%s\\n' {text} \"$v\" > {file}"),
    asks=("[add|insert|put] the line {text} at the [top|beginning|start] of {file}", "prepend {text} to {file}", "make {text} the first line of {file}, keep the rest",
          "insert {text} before the first line of {file}", "{file} should begin with a new line {text}", "put {text} in front of everything in {file}",
          "write {text} on top of the file {file} without losing its content", "{file}: new first line {text}", "i need {text} as a new first line of {file}",
          "add {text} above everything else in {file}"),
)
entry(
    "sort_in_place",
    START,
    TREE,
    draw=lambda d: {"file": d.text()},
    reference=rewritten(lambda x, _p: sorted(x)),
    ways=("sort -o {file} {file}", "v=$(sort {file}); printf '%s\\n' \"$v\" > {file}"),
    asks=("sort {file} in place", "sort the lines of {file} and save [the result|them] in the same file", "sort the file {file} itself, do not just print it",
          "rewrite {file} with its lines in alphabetical order", "put the lines in the file {file} in order and keep it that way", "bring {file} into alphabetical order, overwriting it",
          "{file}: sort it, in place", "order the lines of {file} inside the file", "i need {file} itself sorted, write it back", "sort {file} and write the result back to it"),
)
entry(
    "dedupe_in_place",
    START,
    TREE,
    draw=lambda d: {"file": d.text()},
    reference=rewritten(lambda x, _p: sorted(set(x))),
    ways=("sort -u -o {file} {file}", "v=$(sort {file} | uniq); printf '%s\\n' \"$v\" > {file}"),
    asks=("sort {file} in place and drop duplicate lines", "sort the lines of {file}, each only once, and save them in the same file", "rewrite {file} sorted and without duplicates",
          "make the file {file} sorted and unique", "overwrite {file} with its distinct lines in order", "in the file {file} itself, sort the lines and remove repeated ones",
          "{file}: sort uniquely, in place", "i need {file} itself sorted and without duplicate lines", "sort {file}, keep one of each line, and write it back to the file"),
)
entry(
    "upper_in_place",
    START,
    TREE,
    draw=lambda d: {"file": d.text()},
    reference=rewritten(lambda x, _p: [line.upper() for line in x]),
    ways=("sed -i 's/.*/\\U&/' {file}", "perl -i -pe '$_ = uc' {file}"),
    asks=("convert the file {file} to upper case in place", "make everything in {file} upper case and save it", "rewrite {file} in capital letters",
          "change the text in {file} to uppercase, in the file itself", "overwrite {file} with its upper case version", "{file}: turn all letters in the file into capitals",
          "edit {file} so that it is all caps", "capitalise every letter in the file {file}, saving the change", "i need the file {file} itself in upper case",
          "uppercase {file} and write it back"),
)

# --- permissions ------------------------------------------------------------------------------------------------------


def _chmod(w: World, path: str, mode: int) -> None:
    old = w.file(path)
    w.nodes[path] = File(data=old.data, mode=mode, age_seconds=old.age_seconds)


def _for_mode(change: Callable[[int], int]) -> tuple[Callable[[Draw], Params], Callable[[World, Lines, Params], None]]:
    """Draw a file whose mode `change` alters, and the reference that alters it."""

    def draw(d: Draw) -> Params:
        return {"file": d.any_file(lambda q: change(d.world.file(q).mode) != d.world.file(q).mode)}

    return draw, lambda w, _x, p: _chmod(w, p["file"], change(w.file(p["file"]).mode))


def _exact(d: Draw) -> Params:
    mode = d.rng.choice(("600", "640", "644", "700", "750", "755", "664", "400", "444"))
    return {"mode": mode, "file": d.any_file(lambda q: d.world.file(q).mode != int(mode, 8))}


entry(
    "chmod",
    START,
    TREE,
    draw=_exact,
    reference=lambda w, x, p: _chmod(w, p["file"], int(p["mode"], 8)),
    ways=("chmod {mode:raw} {file}", "chmod u=,g=,o= {file} && chmod {mode:raw} {file}"),
    asks=("set the permissions of {file} to {mode}", "chmod {file} to {mode}", "change the mode of {file} to {mode}", "give {file} [the permissions|mode] {mode}",
          "make the permissions of {file} exactly {mode}", "{file} needs mode {mode}", "{file}: permissions {mode}", "set mode {mode} on {file}", "i need the mode of {file} to be {mode}",
          "apply the permissions {mode} to {file}", "change permissions: {file} gets {mode}"),
)
_draw, _reference = _for_mode(lambda mode: mode | 0o111)
entry(
    "chmod.executable",
    START,
    TREE,
    draw=_draw,
    reference=_reference,
    ways=("chmod +x {file}", "chmod a+x {file}"),
    asks=("make {file} executable", "set the execute bit on {file}", "add execute permission to {file} for everyone", "{file} should be executable for all users",
          "chmod {file} so that it can be executed", "let everybody run {file}", "turn {file} into an executable file", "{file}: add x permission for all",
          "i need {file} to be executable by everyone", "give all users the right to execute {file}", "chmod +x for {file}"),
)
_draw, _reference = _for_mode(lambda mode: mode & ~0o111)
entry(
    "chmod.not_executable",
    START,
    TREE,
    draw=_draw,
    reference=_reference,
    ways=("chmod -x {file}", "chmod a-x {file}"),
    asks=("make {file} not executable any more", "remove the execute [bit|permission] from {file}", "take away execute permission on {file} from everyone",
          "{file} should no longer be executable", "nobody should be able to run {file}, drop its x bits", "clear the x bits of {file}", "{file}: no execute permission for anybody",
          "i need {file} not to be executable by anyone", "take the x permission off {file} for all", "chmod -x for {file}"),
)
_draw, _reference = _for_mode(lambda mode: mode & ~0o077)
entry(
    "chmod.private",
    START,
    TREE,
    draw=_draw,
    reference=_reference,
    ways=("chmod go-rwx {file}", "chmod go= {file}"),
    asks=("remove all permissions for group and others from {file}", "make {file} accessible by its owner only", "take every right on {file} away from everybody but the owner",
          "only the owner should have access to {file}", "make {file} private, no rights for group and others", "{file}: drop group and other permissions",
          "lock {file} down so that nobody except its owner can use it", "i need {file} closed to group and others, the owner keeps his rights",
          "strip every permission of group and others from {file}", "no access to {file} for group and others any more"),
)
_draw, _reference = _for_mode(lambda mode: mode & ~0o222)
entry(
    "chmod.read_only",
    START,
    TREE,
    draw=_draw,
    reference=_reference,
    ways=("chmod a-w {file}", "chmod ugo-w {file}"),
    asks=("make {file} read-only for everyone", "remove write permission on {file} from all users", "take away the write bits of {file}, owner included",
          "nobody should be able to write to {file}, not even the owner", "write-protect {file} for all", "{file} must be read only for owner, group and others",
          "{file}: clear all write permissions", "i need {file} to be read-only for all, the owner too", "drop the write permission of {file} for owner, group and others",
          "chmod a-w for {file}"),
)

# --- links ------------------------------------------------------------------------------------------------------------

entry(
    "symlink",
    START,
    TREE,
    draw=lambda d: {
        "src": d.any_file() if d.rng.random() < 0.6 else d.dir(lambda p: p != d.scene.cwd, root=False),
        "link": d.new("", folder=d.scene.cwd),
    },
    reference=lambda w, x, p: w.put(p["link"], Link(target=p["src"])),
    ways=("ln -s {src} {link}", "ln -sr {src} {link}"),
    asks=("create a [symbolic link|symlink|soft link] {link} [pointing|that points] to {src}", "link {link} to {src} [symbolically|with a symlink]", "make {link} a symlink to {src}",
          "symlink {src} as {link}", "add a soft link called {link} for {src}", "{link} should be a symbolic link, its target is {src}", "ln -s with target {src} and name {link}",
          "let {link} point at {src} (symbolic)", "i need a symlink {link} that leads to {src}", "make a soft link from {link} to {src}"),
)


def _linked(d: Draw) -> Params:
    target = d.any_file()
    return {"link": d.place(d.name(d.rng.choice(("", "", "lnk"))), Link(target=target)), "target": target}


entry(
    "read_symlink",
    START,
    VALUE,
    draw=_linked,
    reference=lambda w, x, p: [p["target"]],
    ways=("readlink {link}", "find {link} -printf '%l\\n'"),
    asks=("where does the [symlink|link] {link} point [to|]?", "what is the target of {link}?", "show the target of the symbolic link {link}", "print what {link} points to",
          "read the link {link}", "{link} is a symlink, tell me its target", "which file is behind the link {link}?", "resolve the symlink {link}", "i need the target of the link {link}",
          "follow the link {link} one step and print where it goes"),
    nouns=(
        "the target of {link}",
        "what the link {link} points to",
        "where {link} points",
        "the file behind the symlink {link}",
        "the path that symbolic link {link} leads to",
    ),
)
