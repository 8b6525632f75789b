"""One command that finds files and does something to each: figures per file, permissions, copies, deletions; and whole directories at once."""

from __future__ import annotations

import hashlib
import posixpath

from edgeevo.domain import Directory, File
from edgeevo.environments.scenarios import DAY
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_files import matching, visible
from edgeevo.environments.vocabulary_listing import hollow, with_empty_dirs
from edgeevo.environments.vocabulary_removal import removed
from edgeevo.environments.vocabulary_search import dir_and_ext, lay, of_ext
from edgeevo.environments.world import World, base

START, TREE, LINES = Kind.START, Kind.TREE, Kind.LINES


def _found(w: World, p: Params) -> Lines:
    return w.files(p["dir"], of_ext(p))


# --- a line for each file ---------------------------------------------------------------------------------------------


def _afar(d: Draw) -> Params:
    """A tree whose paths are told and printed from the root on, whatever the style: a figure stands in front of each."""
    here = (d.scene.cwd.rstrip("/") + "/", d.scene.home + "/")
    directory = d.dir(lambda p: not f"{p}/".startswith(here) and len(d.world.files(p)) > 1)
    return {"dir": directory, "ext": d.ext(directory, least=2)}


_NAMED = "find {dir} -type f -name '*.{ext:raw}'"
_LOOP = f"{_NAMED} | while IFS= read -r f; do "

entry(
    "each_lines", START, LINES, unordered=True, draw=_afar,
    reference=lambda w, x, p: [f"{len(w.lines(q))} {q}" for q in _found(w, p)],
    ways=(f"{_NAMED} -exec wc -l {{}} \\;", f'{_LOOP}echo "$(wc -l < "$f") $f"; done'),
    asks=("count the lines of each {ext} file under {dir}, print count and path, no total", "for every {ext} file [in|below] {dir} and its subdirectories show the number of lines and its full path", "how many lines does each {ext} file under {dir} have? count first, then the path, no sum",
          "find all {ext} files below {dir} and run wc -l on each one separately", "line count of every single {ext} file in the {dir} tree, followed by its path, without a total", "i need the line counts of all {ext} files within {dir}, one per file, each with the path behind it",
          "recursively run wc -l on each {ext} file in {dir}, one at a time, so that no total is printed", "print number of lines and path for each of the {ext} files anywhere in {dir}, no total line", "list the {ext} files under {dir} by path, with the number of lines in front of each",
          "give me lines per file, count then path, for all {ext} files below {dir}, without a grand total", "{dir}: line count and path of every {ext} file at any depth, no total"),
    nouns=("the line count and path of each {ext} file under {dir}, without a total", "the number of lines of every {ext} file below {dir}, before its path", "the line counts of the {ext} files in the {dir} tree, each followed by the path", "the wc -l output for each single {ext} file within {dir}",
           "lines per file, count then path, of all {ext} files anywhere in {dir}"),
)
entry(
    "each_checksum", START, LINES, unordered=True, draw=lambda d: _afar(d) | {"tool": d.rng.choice(("md5", "sha256", "sha256", "sha1"))},
    reference=lambda w, x, p: [f"{hashlib.new(p['tool'], w.file(q).data, usedforsecurity=False).hexdigest()}  {q}" for q in _found(w, p)],
    ways=(f"{_NAMED} -exec {{tool:raw}}sum {{}} +", f"{_NAMED} -print0 | xargs -0 {{tool:raw}}sum"),
    asks=("[compute|calculate|print] the {tool} [checksum|hash|sum] of each {ext} file under {dir}, with its path", "for every {ext} file below {dir} show {tool} hash and path, as {tool}sum does", "what are the {tool} checksums of the {ext} files in {dir} and its subdirectories? hash and path per line",
          "find all {ext} files under {dir} and run {tool}sum on them", "list {tool} sums of all {ext} files in the {dir} tree, {tool}sum format", "i need {tool} hashes for the {ext} files within {dir}, each followed by the file's path", "recursively checksum the {ext} files of {dir} with {tool}sum",
          "hash each {ext} file anywhere in {dir} with {tool} and print digest and path", "get {tool} checksum lines, hash then path, for every {ext} file below {dir}", "run {tool}sum over all files ending in {ext} under {dir}", "{dir}: {tool}sum of every {ext} file, recursively"),
    nouns=("the {tool} checksums of the {ext} files under {dir}, each with its path", "the {tool}sum lines for all {ext} files below {dir}", "the {tool} hash and path of every {ext} file in the {dir} tree", "the {tool} sums of all files ending in {ext} within {dir}, with the paths",
           "the output of {tool}sum for each {ext} file anywhere in {dir}"),
)
entry(
    "each_size", START, LINES, unordered=True, draw=_afar,
    reference=lambda w, x, p: [f"{len(w.file(q).data)} {q}" for q in _found(w, p)],
    ways=(f"{_NAMED} -exec stat -c '%s %n' {{}} +", f"{_NAMED} -printf '%s %p\\n'"),
    asks=("print the size in bytes and the path of each {ext} file under {dir}", "for every {ext} file below {dir} show its bytes, then its full path", "how big is each {ext} file in {dir} and its subdirectories? bytes first, then the path", "list all {ext} files in the {dir} tree with their size in bytes in front of the path",
          "sizes in bytes of all {ext} files anywhere in {dir}, each followed by its path", "i need byte size and path, in that order, for all {ext} files within {dir}", "find the {ext} files below {dir} and give size in bytes and path for each, one file per line", "recursively show the bytes of every {ext} file in {dir} together with its path, size first",
          "get a list of byte size and path of the files ending in {ext} under {dir}", "what are the {ext} files under {dir} and how many bytes has each? size before path", "{dir}: size in bytes and path of each {ext} file, all levels"),
    nouns=("the size in bytes and path of each {ext} file under {dir}", "the byte sizes of all {ext} files below {dir}, each before its path", "the {ext} files in the {dir} tree with their bytes in front of the path", "the bytes and paths, in that order, of all {ext} files within {dir}",
           "the list of byte size and path for every {ext} file anywhere in {dir}"),
)
entry(
    "each_edge_line", START, LINES, unordered=True, draw=lambda d: dir_and_ext(d) | d.rng.choice(({"edge": "first", "tool": "head"}, {"edge": "last", "tool": "tail"})),
    reference=lambda w, x, p: [w.lines(q)[0 if p["edge"] == "first" else -1] for q in _found(w, p) if w.lines(q)],
    ways=(f"{_NAMED} -exec {{tool:raw}} -n 1 {{}} \\;", f"{_NAMED} -exec {{tool:raw}} -qn 1 {{}} +", f'{_LOOP}{{tool:raw}} -n 1 "$f"; done'),
    asks=("print the {edge} line of each {ext} file under {dir}, without file names", "for every {ext} file below {dir} show only its {edge} line, no names", "what is the {edge} line of each {ext} file in {dir} and its subdirectories? lines only", "find all {ext} files under {dir} and output the {edge} line of each one, no name headers",
          "list the {edge} lines of all {ext} files in the {dir} tree without any names", "i need just the {edge} line of every {ext} file within {dir}, names left out", "the {edge} line of each {ext} file anywhere in {dir}, no file names", "recursively output the {edge} line from every {ext} file in {dir}, only the lines",
          "get the {edge} line, and nothing else, of all files ending in {ext} under {dir}", "go through the {ext} files below {dir} and print each one's {edge} line, without its name", "{dir}: {edge} line of every {ext} file, recursively, without names"),
    nouns=("the {edge} line of each {ext} file under {dir}, without names", "the {edge} lines of all {ext} files below {dir}", "only the {edge} line of every {ext} file in the {dir} tree", "the {edge} lines from the {ext} files within {dir}, no file names",
           "the {edge} line of every file ending in {ext} anywhere in {dir}, lines only"),
)

# --- permissions ------------------------------------------------------------------------------------------------------


def _remode(w: World, files: Lines, mode: str) -> None:
    for q in files:
        node = w.nodes[q]
        w.nodes[q] = File(data=node.data, mode=int(mode, 8), age_seconds=node.age_seconds) if isinstance(node, File) else Directory(mode=int(mode, 8))


def _executable(w: World, _x: Lines, p: Params) -> None:
    for q in _found(w, p):
        _remode(w, [q], f"{w.file(q).mode | 0o111:o}")


def _file_mode(d: Draw) -> Params:
    return {"mode": d.rng.choice(("600", "640", "644", "660", "664", "700", "750", "755", "444"))}


entry(
    "chmod_ext", START, TREE, draw=lambda d: dir_and_ext(d) | _file_mode(d), reference=lambda w, x, p: _remode(w, _found(w, p), p["mode"]),
    ways=(f"{_NAMED} -exec chmod {{mode:raw}} {{}} +", f"{_NAMED} -print0 | xargs -0 chmod {{mode:raw}}"),
    asks=("set the permissions of all {ext} files under {dir} to {mode}", "chmod every {ext} file below {dir} to {mode}", "change the mode of the {ext} files in {dir} and its subdirectories to {mode}", "give all {ext} files in the {dir} tree permissions {mode}",
          "find the {ext} files under {dir} and chmod each to {mode}", "recursively chmod {mode} the {ext} files of {dir}", "make every file ending in {ext} below {dir} mode {mode}", "i need all {ext} files within {dir} to have the permissions {mode}",
          "{ext} files anywhere in {dir} should have mode {mode}", "put mode {mode} on each {ext} file under {dir}", "{dir}: permissions {mode} for every {ext} file, at all levels"),
)
entry(
    "chmod_files", START, TREE, draw=lambda d: {"dir": d.dir(lambda p: len(d.world.files(p)) > 1)} | _file_mode(d), reference=lambda w, x, p: _remode(w, w.files(p["dir"]), p["mode"]),
    ways=("find {dir} -type f -exec chmod {mode:raw} {} +", "find {dir} -type f -print0 | xargs -0 chmod {mode:raw}"),
    asks=("set the permissions of all files under {dir} to {mode}, leave the directories alone", "chmod every file below {dir} to {mode} but no directory", "change the mode of all regular files in {dir} and its subdirectories to {mode}, not of the folders", "give all files in the {dir} tree permissions {mode}, directories stay as they are",
          "find the files under {dir} and chmod each to {mode}, files only", "recursively chmod {mode} the regular files of {dir}, not its folders", "make every file below {dir} mode {mode}, without touching directories", "i need all files within {dir}, not the directories, to have the permissions {mode}",
          "files anywhere in {dir} should have mode {mode}, folders keep theirs", "put mode {mode} on each regular file under {dir}, directories excepted", "{dir}: permissions {mode} for all files at every level, none for directories"),
)
entry(
    "chmod_dirs", START, TREE,
    draw=lambda d: {"dir": d.dir(lambda p: bool(d.world.directories(p))), "mode": d.rng.choice(("700", "750", "770", "775", "711"))},
    reference=lambda w, x, p: _remode(w, [p["dir"], *w.directories(p["dir"])], p["mode"]),
    ways=("find {dir} -type d -exec chmod {mode:raw} {} +", "find {dir} -type d -print0 | xargs -0 chmod {mode:raw}"),
    asks=("set the permissions of {dir} and all directories below it to {mode}, leave the files alone", "chmod {dir} and every subdirectory to {mode} but no file", "change the mode of all directories in the {dir} tree, {dir} included, to {mode}, not of the files",
          "give {dir} itself and all its subfolders permissions {mode}, files stay as they are", "find the directories from {dir} on down and chmod each to {mode}, directories only", "recursively chmod {mode} only the directories of {dir}, the top one too",
          "make {dir} and each folder beneath it mode {mode}, without touching files", "i need {dir} and all folders inside it, not the files, to have mode {mode}", "directory {dir} and its subdirectories at all levels should have mode {mode}, files keep theirs",
          "put mode {mode} on {dir} and on each directory under it, files excepted", "{dir}: permissions {mode} for it and for all folders in it at every level, none for files"),
)
entry(
    "chmod_ext_executable", START, TREE, draw=dir_and_ext,
    reference=_executable,
    ways=(f"{_NAMED} -exec chmod +x {{}} +", f"{_NAMED} -print0 | xargs -0 chmod a+x"),
    asks=("make all {ext} files under {dir} executable", "chmod +x every {ext} file below {dir}", "give the {ext} files in {dir} and its subdirectories execute permission for everyone", "set the execute bits on all {ext} files in the {dir} tree", "find the {ext} files under {dir} and chmod +x each",
          "recursively make the {ext} files of {dir} executable", "let everybody execute the {ext} files anywhere in {dir}", "i need every {ext} file within {dir} to be executable", "all files ending in {ext} below {dir} should be executable", "add execute permission for all to each {ext} file under {dir}",
          "{dir}: make every {ext} file executable, at all levels"),
)

# --- copies and moves -------------------------------------------------------------------------------------------------


def _gathered(d: Draw) -> Params:
    """A tree, an extension that files of several folders in it have, none of the same name, and a directory elsewhere without such names."""
    p = dir_and_ext(d)
    found = _found(d.world, p)
    if len({base(q) for q in found}) < len(found) or len({posixpath.dirname(q) for q in found}) < 2:
        raise NoInstanceError
    if p["dir"] == d.scene.root:
        dst = posixpath.join(posixpath.dirname(d.scene.root), d.name())
        lay(d, dst, Directory())
    else:
        dst = d.dir(lambda q: not f"{q}/".startswith(p["dir"] + "/") and not any(posixpath.join(q, base(f)) in d.world.nodes for f in found))
    return p | {"dst": dst}


def _copy_deep(w: World, _x: Lines, p: Params) -> None:
    for q in _found(w, p):
        w.duplicate(q, posixpath.join(p["dst"], base(q)))


entry(
    "copy_ext_deep", START, TREE, draw=_gathered, reference=_copy_deep,
    ways=(f"{_NAMED} -exec cp -t {{dst}} {{}} +", f"{_LOOP}cp \"$f\" {{dst}}; done"),
    asks=("copy all {ext} files under {dir}, from any depth, into {dst}", "find the {ext} files in {dir} and its subdirectories and copy them to {dst}, without the folders", "recursively copy every {ext} file below {dir} into the folder {dst}, all on one level", "put a copy of each {ext} file from anywhere in {dir} directly into {dst}",
          "{dst} should get copies of all {ext} files of the {dir} tree, flat", "gather copies of the {ext} files from {dir} and all its subfolders in {dst}", "cp the {ext} files found at any level of {dir} to {dst}, no subfolders there", "i need every {ext} file within {dir}, subfolders included, copied right into {dst}",
          "from {dir} and everything below it, copy whatever ends in {ext} to {dst}, flattened", "search {dir} for {ext} files, recursively, and copy each into {dst}", "{dir}: copy its {ext} files, at every depth, to {dst}"),
)


def _trees(d: Draw) -> Params:
    """A directory and another one, neither inside the other, without a name in common."""
    src = d.dir(lambda p: bool(d.world.files(p)) and p not in (d.scene.cwd, d.scene.root), root=False)
    names = {base(src), *(base(q) for q, _n in d.world.below(src, depth=1))}
    dst = d.dir(lambda p: not f"{p}/".startswith(src + "/") and p != posixpath.dirname(src) and not any(f"{p}/{n}" in d.world.nodes for n in names))
    return {"src": src, "dst": dst}


def _copy_contents(w: World, _x: Lines, p: Params) -> None:
    for q, _n in list(w.below(p["src"], depth=1)):
        w.duplicate(q, posixpath.join(p["dst"], base(q)))


entry(
    "copy_tree_into", START, TREE, draw=_trees, reference=lambda w, x, p: w.duplicate(p["src"], posixpath.join(p["dst"], base(p["src"]))),
    ways=("cp -r {src} {dst}", "cp -r -t {dst} {src}"),
    asks=("copy the [whole|entire|] [directory|folder] {src} into the existing directory {dst}", "put a copy of the folder {src}, with everything in it, inside {dst}", "copy folder {src} into {dst}, so that {dst} has it as a subfolder", "cp the directory {src} recursively into {dst}, which exists already",
          "place a full copy of directory {src} in {dst}, under its own name", "{dst} should get the directory {src} with all its contents as a subdirectory, by copying", "duplicate the directory {src} inside {dst}, same name", "i need the folder {src} copied into {dst} as a whole",
          "back up the directory {src} by copying it into {dst}, under the same name", "recursively copy {src}, the directory itself and what is in it, into {dst}", "into {dst} copy the directory {src} as it is"),
)
entry(
    "copy_contents", START, TREE, draw=_trees, reference=_copy_contents,
    ways=("cp -r {src}/. {dst}", "cp -rT {src} {dst}", "tar -C {src} -cf - . | tar -C {dst} -xf -"),
    asks=("copy the contents of {src}, hidden files too, into {dst}, not the directory itself", "copy everything that is in {src}, hidden ones included, directly into {dst}", "put copies of all files and folders inside {src}, also hidden ones, right into {dst}, without a subfolder for {src}", "cp -r what is inside {src}, dot files too, to {dst}, but not the folder as such",
          "{dst} should get a copy of all that {src} contains, hidden or not, without the enclosing folder", "duplicate the complete contents of the folder {src} straight into {dst}, with dot files", "i need everything from inside {src}, hidden entries too, copied into {dst}, not {src} itself",
          "recursively copy only the contents of {src} to {dst}, dot files included, so that no new subfolder with the name of {src} appears there", "take all entries of {src}, visible and hidden, and copy them right into {dst}", "into {dst} copy the whole contents of {src}, hidden ones too, but not {src} as a directory"),
)

# --- making several ---------------------------------------------------------------------------------------------------


def _two_new(d: Draw) -> Params:
    directory = d.dir()
    first, second = d.name(), d.name()
    if first == second or any(f"{directory}/{n}" in d.world.nodes for n in (first, second)):
        raise NoInstanceError
    return {"dir": directory, "name": first, "member": second}


def _make_two(w: World, _x: Lines, p: Params) -> None:
    for name in (p["name"], p["member"]):
        w.put(posixpath.join(p["dir"], name), Directory())


entry(
    "make_dirs", START, TREE, draw=_two_new, reference=_make_two,
    ways=("mkdir {dir}/{name} {dir}/{member}", "install -d {dir}/{name} {dir}/{member}"),
    asks=("[create|make] the [directories|folders] {name} and {member} in {dir}", "create two directories in {dir}: {name} and {member}", "make two new folders inside {dir}, called {name} and {member}", "add the empty subdirectories {name} and {member} to {dir}", "mkdir {name} and {member} under {dir}",
          "set up folders {name} and {member} within {dir}", "{dir} should have two new subfolders, {name} and {member}", "i need the directories {name} and {member} created in {dir}", "in {dir}, create a folder {name} and a folder {member}", "put two empty directories named {name} and {member} into {dir}",
          "{dir}: new subdirectories {name} and {member}"),
)

# --- deletions --------------------------------------------------------------------------------------------------------


def _stale(d: Draw) -> Params:
    p = dir_and_ext(d)
    ages = [d.world.file(q).age_seconds // DAY for q in _found(d.world, p)]
    return p | {"n": d.pick(str(n) for n in (1, 2, 3, 5, 7, 10, 14, 20, 30, 45) if any(a > n for a in ages))}


entry(
    "delete_ext_old", START, TREE, draw=_stale,
    # find drops the fraction: +3 means at least four whole days
    reference=lambda w, x, p: removed(w, [q for q in _found(w, p) if w.file(q).age_seconds // DAY > int(p["n"])]),
    ways=(f"{_NAMED} -mtime +{{n:raw}} -delete", f"{_NAMED} -mtime +{{n:raw}} -exec rm {{}} +"),
    asks=("delete [all|] {ext} files older than {n} days [in|under] {dir}", "remove the {ext} files under {dir} that were not modified for more than {n} days", "get rid of {ext} files in {dir} and its subdirectories over {n} days old", "clean up {dir}: {ext} files of more than {n} days go", "rm {ext} files below {dir} last changed more than {n} days ago",
          "{ext} files anywhere in {dir} untouched for more than {n} days should be deleted", "expire the {ext} files of {dir} after {n} days", "i need all {ext} files within {dir} gone that are older than {n} days", "find {ext} files under {dir} that are more than {n} days old and delete them",
          "recursively delete {ext} files older than {n} days, starting at {dir}", "{dir}: delete old {ext} files (over {n} days), at all levels"),
)
entry(
    "delete_except", START, TREE, draw=dir_and_ext, reference=lambda w, x, p: removed(w, w.files(p["dir"], lambda q, f: not of_ext(p)(q, f))),
    ways=("find {dir} -type f ! -name '*.{ext:raw}' -delete", "find {dir} -type f ! -name '*.{ext:raw}' -exec rm {} +"),
    asks=("delete all files under {dir} except [the|] {ext} files", "remove every file below {dir} that is not a {ext} file, directories stay", "get rid of all files in {dir} and its subdirectories but the {ext} ones", "keep only the {ext} files in the {dir} tree, delete all other files", "rm everything below {dir} that does not end in {ext}, files only",
          "files anywhere in {dir} other than {ext} files should be deleted", "clear {dir} and its subfolders of all files except those ending in {ext}", "i need all files within {dir} gone but the {ext} files", "find the files under {dir} without the extension {ext} and delete them", "recursively delete non-{ext} files, starting at {dir}",
          "{dir}: delete all files that are not {ext} files, at every level"),
)


def _surplus(d: Draw) -> Params:
    p = matching(d, clash=False)
    ages = [d.world.file(q).age_seconds for q in visible(d.world, p["dir"], p["ext"])]
    if len(ages) < 3 or len(set(ages)) < len(ages):
        raise NoInstanceError
    n = d.rng.randint(2, min(5, len(ages) - 1))
    return p | {"n": str(n), "m": str(n + 1)}


def _prune(w: World, _x: Lines, p: Params) -> None:
    ranked = sorted(visible(w, p["dir"], p["ext"]), key=lambda q: w.file(q).age_seconds)
    removed(w, ranked[int(p["n"]) :])


entry(
    "keep_newest", START, TREE, draw=_surplus, reference=_prune,
    ways=("ls -t {dir}/*.{ext:raw} | tail -n +{m:raw} | xargs -d '\\n' rm", "find {dir} -maxdepth 1 -type f -name '[!.]*.{ext:raw}' -printf '%T@ %p\\n' | sort -rn | tail -n +{m:raw} | cut -d' ' -f2- | xargs -d '\\n' rm"),
    asks=("keep only the {n} [newest|latest] {ext} files directly in {dir} and delete the other {ext} files there", "delete all but the {n} most recent {ext} files in {dir}, not in its subdirectories", "remove the older {ext} files right in {dir} so that the newest {n} of them remain", "of the {ext} files in {dir} itself, leave the {n} newest and erase the rest",
          "get rid of all {ext} files at the top level of {dir} except the {n} most recently modified", "rotate the {ext} files of {dir}, top level only: the latest {n} stay, older ones go", "there should only be the {n} newest {ext} files left in {dir}, subfolders not touched: delete the others",
          "i need all {ext} files that are directly in {dir} gone apart from the {n} latest", "sort the {ext} files right in {dir} by modification time, keep the newest {n}, rm the rest", "drop every {ext} file at the top of {dir} but the {n} most recent ones",
          "{dir}: keep the {n} newest {ext} files of its top level, delete the other {ext} files there"),
)


entry(
    "delete_dirs_empty", START, TREE, draw=with_empty_dirs, reference=lambda w, x, p: removed(w, hollow(w, p["dir"])),
    ways=("find {dir} -type d -empty -delete", "find {dir} -depth -type d -empty -exec rmdir {} \\;"),
    asks=("delete [all|the|] empty [directories|folders] [in|under|below] {dir}", "remove the subdirectories of {dir} that are empty, at any depth", "get rid of folders with nothing in them under {dir}", "rmdir every empty directory below {dir}", "clean up the empty folders in {dir}, leave files alone", "directories under {dir} without any entries should go",
          "find the empty directories in the {dir} tree and delete them", "i need all empty subfolders within {dir} gone", "recursively delete empty directories, starting at {dir}", "clear {dir} of subdirectories that hold nothing", "{dir}: delete subfolders that are empty, at all levels"),
)
