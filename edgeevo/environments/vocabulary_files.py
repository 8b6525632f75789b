"""Skills that make, copy, move and rename files and directories."""

from __future__ import annotations

import posixpath

from edgeevo.domain import Directory
from edgeevo.environments.skills import Draw, Kind, Lines, Params, entry
from edgeevo.environments.world import World, base, extension, text

START, TREE = Kind.START, Kind.TREE


def plain_files(d: Draw) -> str:
    """A visible file whose permissions a copy keeps (no write for group and others)."""
    return d.any_file(lambda p: not d.world.file(p).mode & 0o022)


def leavable(d: Draw, path: str) -> bool:
    """Whether a directory may go: the working directory isn't in it."""
    return not (d.scene.cwd + "/").startswith(path + "/")


def phrase(d: Draw) -> str:
    """A line of text as people write it into notes and settings."""
    a, b = d.stem(), d.stem()
    return d.rng.choice((f"{a} {b}", f"{a}={d.rng.randint(1, 99)}", f"{a}: {b}", f"{a} {b} {d.stem()}", f"{a}_{b}", a))


def visible(w: World, directory: str, ext: str) -> list[str]:
    """Files directly in `directory` that `*.ext` matches in the shell."""
    return w.files(directory, lambda q, _f: q.endswith("." + ext) and not base(q).startswith("."), depth=1)


# --- making -----------------------------------------------------------------------------------------------------------

entry(
    "make_dir",
    START,
    TREE,
    draw=lambda d: {"out": d.new("")},
    reference=lambda w, x, p: w.put(p["out"], Directory()),
    ways=("mkdir {out}", "install -d {out}"),
    asks=("[create|make] a [directory|folder] [named|called|] {out}", "create the [directory|folder] {out}", "make directory {out}", "add a new empty folder {out}", "mkdir {out}",
          "set up a directory at {out}", "there should be a folder {out}, create it", "{out}: create this directory", "put a new directory [at|under] {out}", "i need a new directory {out}",
          "create an empty directory at {out}"),
)
entry(
    "make_dir.nested",
    START,
    TREE,
    draw=lambda d: {"out": posixpath.join(d.new(""), *(d.name() for _ in range(d.rng.randint(1, 2))))},
    reference=lambda w, x, p: w.put(p["out"], Directory()),
    ways=("mkdir -p {out}", "install -d {out}"),
    asks=("create [the directory|the folder|] {out} [with|including] [all|its|any missing] parent directories", "make the nested folders {out}", "create the whole path {out}",
          "make a folder {out} and whatever parents it needs", "build the directory tree {out}", "mkdir {out}, parents too", "{out} does not exist yet, create it with all folders above it",
          "set up the directory chain {out}", "i need the directory {out}, its parents are missing as well", "create {out} as a directory together with every missing parent"),
)
entry(
    "make_empty",
    START,
    TREE,
    draw=lambda d: {"out": d.new(d.rng.choice(("txt", "log", "md", "conf", "flag")))},
    reference=lambda w, x, p: w.put(p["out"], text([])),
    ways=("touch {out}", ": > {out}", "install -m 644 /dev/null {out}"),
    asks=("create an empty file [named|called|] {out}", "make [a new|the] empty file {out}", "touch {out}", "create the file {out} with nothing in it", "add a blank file {out}",
          "put an empty {out} there", "{out} should exist as an empty file", "a new file {out} without content, make it", "i need an empty file {out}", "create {out} as a file of zero bytes"),
)
entry(
    "write_line",
    START,
    TREE,
    draw=lambda d: {"text": phrase(d), "out": d.new(d.rng.choice(("txt", "txt", "md", "conf", "cfg")))},
    reference=lambda w, x, p: w.write(p["out"], [p["text"]]),
    ways=("echo {text} > {out}", "printf '%s\\n' {text} | tee {out} > /dev/null"),
    asks=("write {text} [to|into] [the file|a new file|] {out}", "create [a file|] {out} [with the content|containing|with the text|that says] {text}",
          "make a file {out} holding the line {text}", "put the text {text} in a new file called {out}", "save the line {text} as {out}", "{out}: new file, its only line is {text}",
          "store {text} in a file named {out}", "echo {text} into {out}", "i need a file {out} that contains just the line {text}", "create {out} with one line in it: {text}"),
)
entry(
    "write_line.over",
    START,
    TREE,
    draw=lambda d: {"text": phrase(d), "file": d.text()},
    reference=lambda w, x, p: w.write(p["file"], [p["text"]]),
    ways=("echo {text} > {file}", "printf '%s\\n' {text} | tee {file} > /dev/null"),
    asks=("overwrite {file} with {text}", "replace everything in {file} [with|by] the line {text}", "replace the whole content of {file} with {text}",
          "{file} should only say {text}, drop what is in there", "write {text} to {file}, the old content can go", "set the content of {file} to {text}",
          "make {text} the only line of {file}", "i need {file} to contain just the line {text}", "throw away what {file} says and write {text} instead",
          "replace the content of {file}, the new and only line is {text}"),
)
entry(
    "append_line",
    START,
    TREE,
    draw=lambda d: {"text": phrase(d), "file": d.text()},
    reference=lambda w, x, p: w.write(p["file"], [*w.lines(p["file"]), p["text"]]),
    ways=("echo {text} >> {file}", "printf '%s\\n' {text} | tee -a {file} > /dev/null"),
    asks=("[add|append] the line {text} to {file}", "append {text} to [the end of|] {file}", "add {text} at the [end|bottom] of {file}", "put {text} as the last line into {file}",
          "{file} needs one more line: {text}", "write {text} to the end of {file} without overwriting it", "extend {file} by a line saying {text}", "attach a line {text} to {file}",
          "i need {text} as an additional last line in {file}", "echo {text} to the end of {file}"),
)

# --- copying and moving -----------------------------------------------------------------------------------------------


def _copy(d: Draw) -> Params:
    src = plain_files(d)
    return {"src": src, "out": d.new(extension(src) or "txt", folder=d.rng.choice((None, posixpath.dirname(src))))}


def _into(d: Draw, src: str) -> Params:
    return {"src": src, "dst": d.dir(lambda p: p != posixpath.dirname(src) and posixpath.join(p, base(src)) not in d.world.nodes)}


def _landed(p: Params) -> str:
    return posixpath.join(p["dst"], base(p["src"]))


entry(
    "copy_file",
    START,
    TREE,
    draw=_copy,
    reference=lambda w, x, p: w.duplicate(p["src"], p["out"]),
    ways=("cp {src} {out}", 'install -m "$(stat -c %a {src})" {src} {out}'),
    asks=("copy {src} to {out}", "[make|create] a copy of {src} [named|called|at] {out}", "duplicate {src} as {out}", "put a copy of {src} at {out}",
          "copy the file {src} and call the copy {out}", "cp {src} {out}", "{out} should become a copy of {src}", "clone {src}, name the new file {out}",
          "i need a copy of {src} under the name {out}", "create {out} by copying {src}", "copy {src}, the copy goes to {out}"),
)
entry(
    "copy_file.into",
    START,
    TREE,
    draw=lambda d: _into(d, plain_files(d)),
    reference=lambda w, x, p: w.duplicate(p["src"], _landed(p)),
    ways=("cp {src} {dst}", "cp -t {dst} {src}"),
    asks=("copy {src} into [the folder|the directory|] {dst}", "put a copy of {src} [in|into] {dst}", "copy the file {src} over to the directory {dst}",
          "make a copy of {src} in the folder {dst}", "{dst} needs a copy of {src}", "{src}: copy it into {dst}", "duplicate {src} inside {dst}, same name",
          "place a copy of {src} under {dst} and leave the original", "i need a copy of {src} in the directory {dst}", "copy {src} to the directory {dst} under the same name",
          "into {dst} copy the file {src}"),
)
entry(
    "move_file",
    START,
    TREE,
    draw=lambda d: _into(d, d.any_file()),
    reference=lambda w, x, p: w.move(p["src"], _landed(p)),
    ways=("mv {src} {dst}", "cp -p {src} {dst} && rm {src}"),
    asks=("move {src} [to|into] [the folder|the directory|] {dst}", "move the file {src} over to {dst}", "put {src} into {dst}, not as a copy", "{src} belongs in {dst}, move it",
          "mv {src} into {dst}", "relocate {src} to the directory {dst}", "{src}: move it to folder {dst}", "shift {src} to {dst}", "i need {src} moved into the directory {dst}",
          "move {src} from where it is into {dst}", "into {dst} move the file {src}"),
)


def _renamed(d: Draw) -> Params:
    src = d.any_file()
    out = d.new(extension(src) or "txt", folder=posixpath.dirname(src))
    return {"src": src, "name": base(out), "out": out}


entry(
    "rename",
    START,
    TREE,
    draw=_renamed,
    reference=lambda w, x, p: w.move(p["src"], p["out"]),
    ways=("mv {src} {out}", "cp -p {src} {out} && rm {src}"),
    asks=("rename {src} to {name}", "rename the file {src} to {name}, same folder", "give {src} the [new|] name {name}", "change the name of {src} to {name}", "{src} should be called {name}",
          "call the file {src} {name} from now on", "{src}: rename it, new name {name}", "rename {src}, the new name is {name}", "i need {src} renamed to {name}",
          "change what {src} is called, it becomes {name}"),
)
entry(
    "move_dir",
    START,
    TREE,
    draw=lambda d: {"src": d.dir(lambda p: leavable(d, p), root=False), "out": d.new("", folder=d.scene.root)},
    reference=lambda w, x, p: w.move(p["src"], p["out"]),
    ways=("mv {src} {out}", "cp -a {src} {out} && rm -r {src}"),
    asks=("rename the [directory|folder] {src} to {out}", "move the [directory|folder] {src} to {out}", "turn folder {src} into {out}", "the directory {src} should become {out}",
          "mv directory {src} to the new place {out}", "{src} is a folder, rename it to {out}", "relocate the whole folder {src} to {out}", "move directory {src} with its contents to {out}",
          "i need the directory {src} moved to {out}", "the folder {src} should be at {out} from now on"),
)
entry(
    "copy_tree",
    START,
    TREE,
    draw=lambda d: {
        "src": (q := d.dir(lambda p: bool(d.world.files(p)) and p != d.scene.cwd, root=False)),
        "out": d.new("", folder=posixpath.dirname(q)),
    },
    reference=lambda w, x, p: w.duplicate(p["src"], p["out"]),
    ways=("cp -r {src} {out}", "mkdir {out} && cp -r {src}/. {out}"),
    asks=("copy the [whole|entire|] [directory|folder] {src} to {out}", "make a copy of the folder {src} [named|called] {out}", "copy {src} with everything in it to {out}",
          "duplicate directory {src} as {out}", "cp the folder {src} recursively to {out}", "clone the tree {src} into a new directory {out}",
          "{out} should be a full copy of the directory {src}", "back up folder {src} as {out}, subfolders included", "i need a full copy of the directory {src} at {out}",
          "recursively copy the directory {src} to {out}"),
)
entry(
    "backup_copy",
    START,
    TREE,
    draw=lambda d: {"file": d.any_file(lambda p: not d.world.file(p).mode & 0o022 and p + ".bak" not in d.world.nodes)},
    reference=lambda w, x, p: w.duplicate(p["file"], p["file"] + ".bak"),
    ways=("cp {file} {file}.bak", 'install -m "$(stat -c %a {file})" {file} {file}.bak'),
    asks=("make a backup [copy|] of {file} with the extension .bak", "back up {file} [to|as] a .bak file next to it", "copy {file} to the same name plus .bak", "save a .bak copy of {file}",
          "keep a copy of {file} with .bak at the end of its name", "{file} -> same name with .bak, as a copy", "create a .bak of {file} beside it",
          "before i edit {file}, copy it to a .bak file", "i need a copy of {file} with .bak appended to its name", "duplicate {file} beside itself, add .bak to the name of the copy"),
)


def matching(d: Draw, *, clash: bool = True) -> Params:
    """A directory, an extension of visible files right in it, and another directory that has none of their names."""
    directory = d.dir(lambda p: any(not base(q).startswith(".") and extension(q) for q in d.world.files(p, depth=1)))
    ext = d.pick(
        sorted({extension(q) for q in d.world.files(directory, depth=1) if not base(q).startswith(".") and extension(q).islower()})
    )
    names = [base(q) for q in visible(d.world, directory, ext)]
    params = {"dir": directory, "ext": ext}
    if clash:
        params["dst"] = d.dir(lambda p: p != directory and not any(posixpath.join(p, n) in d.world.nodes for n in names))
    return params


def _move_all(w: World, _x: Lines, p: Params) -> None:
    for q in visible(w, p["dir"], p["ext"]):
        w.move(q, posixpath.join(p["dst"], base(q)))


def _copy_all(w: World, _x: Lines, p: Params) -> None:
    for q in visible(w, p["dir"], p["ext"]):
        w.duplicate(q, posixpath.join(p["dst"], base(q)))


entry(
    "move_ext",
    START,
    TREE,
    draw=matching,
    reference=_move_all,
    ways=("mv {dir}/*.{ext:raw} {dst}", "find {dir} -maxdepth 1 -type f -name '[!.]*.{ext:raw}' -exec mv -t {dst} {} +"),
    asks=("move all {ext} files [from|in] {dir} [to|into] {dst}", "move every {ext} file of {dir} over to the folder {dst}", "put all {ext} files from {dir} into {dst}, do not copy them",
          "the {ext} files in {dir} belong in {dst}, move them", "mv the {ext} files out of {dir} into {dst}", "collect the {ext} files of {dir} in {dst} by moving them",
          "from {dir}, move whatever ends in {ext} to {dst}", "relocate {ext} files: from {dir} to {dst}", "i need every {ext} file that is directly in {dir} moved to {dst}",
          "transfer the {ext} files of {dir} to {dst}, leave none behind"),
)
entry(
    "copy_ext",
    START,
    TREE,
    draw=matching,
    reference=_copy_all,
    ways=("cp {dir}/*.{ext:raw} {dst}", "find {dir} -maxdepth 1 -type f -name '[!.]*.{ext:raw}' -exec cp -t {dst} {} +"),
    asks=("copy all {ext} files [from|in] {dir} [to|into] {dst}", "copy every {ext} file of {dir} over to the folder {dst}", "put copies of all {ext} files from {dir} into {dst}",
          "{dst} should get a copy of each {ext} file in {dir}", "cp the {ext} files of {dir} into {dst}", "duplicate the {ext} files of {dir} in {dst}, the originals stay",
          "from {dir}, copy whatever ends in {ext} to {dst}", "back up the {ext} files of {dir} to {dst}", "i need copies of the {ext} files of {dir} in {dst}",
          "copy the {ext} files that are directly in {dir} to {dst}"),
)


def _new_ext(d: Draw) -> Params:
    params = matching(d, clash=False)
    files = visible(d.world, params["dir"], params["ext"])
    free = [
        e
        for e in ("txt", "bak", "old", "dat", "text", "md", "out")
        if not any(q.removesuffix(params["ext"]) + e in d.world.nodes for q in files)
    ]
    return params | {"ext2": d.pick(e for e in free if e != params["ext"])}


def _rename_all(w: World, _x: Lines, p: Params) -> None:
    for q in visible(w, p["dir"], p["ext"]):
        w.move(q, q.removesuffix(p["ext"]) + p["ext2"])


entry(
    "rename_ext",
    START,
    TREE,
    draw=_new_ext,
    reference=_rename_all,
    ways=(
        'for f in {dir}/*.{ext:raw}; do mv "$f" "${f%.*}.{ext2:raw}"; done',
        "find {dir} -maxdepth 1 -type f -name '[!.]*.{ext:raw}' -exec sh -c 'for f; do mv \"$f\" \"${f%.*}.{ext2:raw}\"; done' sh {} +",
    ),
    asks=("rename all {ext} files [in|of] {dir} to {ext2}", "change the extension of [all|the] {ext} files in {dir} to {ext2}", "give every {ext} file in {dir} the extension {ext2}",
          "turn the {ext} endings in {dir} into {ext2}", "in {dir}, make each {ext} file end in {ext2} instead", "swap the extension {ext} for {ext2} on the files in {dir}",
          "files in {dir} called something {ext} should be called something {ext2}", "{dir}: change file extensions from {ext} to {ext2}",
          "i need the {ext} files of {dir} renamed so that they end in {ext2}", "replace the extension {ext} by {ext2} in the names of the files in {dir}"),
)
