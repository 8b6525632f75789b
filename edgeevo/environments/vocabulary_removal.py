"""Skills that delete files and directories."""

from __future__ import annotations

from edgeevo.domain import File
from edgeevo.environments.scenarios import DAY
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_files import leavable, matching, visible
from edgeevo.environments.world import World

START, TREE = Kind.START, Kind.TREE

entry(
    "delete_file",
    START,
    TREE,
    draw=lambda d: {"file": d.any_file()},
    reference=lambda w, x, p: w.remove(p["file"]),
    ways=("rm {file}", "unlink {file}"),
    asks=("delete [the file|] {file}", "discard {file}", "get rid of {file}", "rm {file}", "erase {file} from disk", "{file} is no longer needed, delete it",
          "throw away the file {file}", "{file}: remove this file", "i need {file} gone", "unlink {file}", "remove the single file {file}"),
)
entry(
    "delete_tree",
    START,
    TREE,
    draw=lambda d: {"dir": d.dir(lambda p: leavable(d, p) and bool(d.world.files(p)), root=False)},
    reference=lambda w, x, p: w.remove(p["dir"]),
    ways=("rm -r {dir}", "find {dir} -delete"),
    asks=("delete {dir} and everything in it", "remove {dir} with all its contents", "get rid of {dir}, subfolders included", "rm {dir} recursively", "delete the whole of {dir}",
          "wipe {dir} completely, the folder itself too", "{dir} can go with all that is in there", "erase {dir} including every file below it", "i need {dir} gone with everything below it",
          "recursively delete {dir}", "remove the whole tree {dir}"),
)


def _clear(w: World, _x: Lines, p: Params) -> None:
    for q in [q for q, _n in w.below(p["dir"])]:
        w.remove(q)


entry(
    "empty_dir",
    START,
    TREE,
    draw=lambda d: {"dir": d.dir(lambda p: bool(d.world.files(p)) and (p == d.scene.cwd or leavable(d, p)))},
    reference=_clear,
    ways=("find {dir} -mindepth 1 -delete", 'ls -A {dir} | while IFS= read -r f; do rm -r -- {dir}/"$f"; done'),
    asks=("empty {dir} but keep the directory itself", "delete everything inside {dir}, leave the folder", "remove all contents of {dir} without removing the directory",
          "clear out {dir}, the folder must stay", "{dir} should be empty afterwards, but still exist", "wipe what is in {dir} and keep the empty folder",
          "delete all files and subfolders of {dir}, not {dir} itself", "i need {dir} emptied, the directory itself stays", "delete whatever is in {dir}, hidden files too, but not {dir}"),
)


def _purge(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    return {"dir": directory, "ext": d.ext(directory)}


def removed(w: World, paths: list[str]) -> None:
    """Take files out of the world."""
    for q in paths:
        w.remove(q)


entry(
    "delete_ext",
    START,
    TREE,
    draw=_purge,
    reference=lambda w, x, p: removed(w, w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"]))),
    ways=("find {dir} -type f -name '*.{ext:raw}' -delete", "find {dir} -type f -name '*.{ext:raw}' -exec rm {} +"),
    asks=("delete all {ext} files [under|below] {dir}", "remove [all|the] {ext} files in {dir} and its subdirectories", "get rid of every {ext} file anywhere under {dir}",
          "rm all {ext} files below {dir} recursively", "clean {dir} of {ext} files, subfolders included", "no {ext} files should be left anywhere in {dir}",
          "{dir}: delete the {ext} files at every level", "search {dir} for {ext} files and delete them", "i need all {ext} files below {dir} gone",
          "recursively delete {ext} files, starting at {dir}", "find every {ext} file under {dir} and remove it"),
)
entry(
    "delete_ext.flat",
    START,
    TREE,
    draw=lambda d: matching(d, clash=False),
    reference=lambda w, x, p: removed(w, visible(w, p["dir"], p["ext"])),
    ways=("rm {dir}/*.{ext:raw}", "find {dir} -maxdepth 1 -type f -name '[!.]*.{ext:raw}' -delete"),
    asks=("delete the {ext} files directly in {dir}", "remove all {ext} files in {dir}, not in its subfolders", "rm the {ext} files of {dir}, top level only",
          "get rid of {ext} files right in {dir}, do not descend", "{dir}: delete {ext} files, leave subdirectories alone", "erase every {ext} file in {dir} but none in deeper folders",
          "clear the {ext} files out of {dir} itself, subfolders stay as they are", "i need the {ext} files that are directly in {dir} gone, not deeper ones",
          "remove {ext} files from the top level of {dir} only"),
)
entry(
    "delete_empty",
    START,
    TREE,
    draw=lambda d: {"dir": d.dir(lambda p: any(not d.world.file(q).data for q in d.world.files(p)))},
    reference=lambda w, x, p: removed(w, w.files(p["dir"], lambda _q, f: not f.data)),
    ways=("find {dir} -type f -empty -delete", "find {dir} -type f -size 0 -exec rm {} +"),
    asks=("delete [all|the|] empty files [in|under|below] {dir}", "remove files without content from {dir}", "get rid of zero-byte files under {dir}", "rm every empty file below {dir}",
          "clean up empty files in {dir}", "{dir}: delete the files that are empty", "files of size 0 under {dir} should go", "find the empty files in {dir} and delete them",
          "i need all empty files below {dir} gone", "recursively delete files of zero bytes, starting at {dir}"),
)


def _stale(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    oldest = max(d.world.file(q).age_seconds // DAY for q in d.world.files(directory))
    options = [a for a in (1, 2, 3, 5, 7, 10, 14, 20, 30, 45) if a < oldest]
    if not options:
        raise NoInstanceError
    return {"dir": directory, "n": str(d.rng.choice(options))}


def _expired(p: Params, file: File) -> bool:
    return file.age_seconds // DAY > int(p["n"])  # find drops the fraction: +3 means at least four whole days


entry(
    "delete_old",
    START,
    TREE,
    draw=_stale,
    reference=lambda w, x, p: removed(w, w.files(p["dir"], lambda _q, f: _expired(p, f))),
    ways=("find {dir} -type f -mtime +{n:raw} -delete", "find {dir} -type f -mtime +{n:raw} -exec rm {} +"),
    asks=("delete [all|] files older than {n} days [in|under] {dir}", "remove files [in|under] {dir} not modified for more than {n} days",
          "get rid of everything in {dir} older than {n} days, files only", "clean up {dir}: files of more than {n} days go", "rm files below {dir} last changed over {n} days ago",
          "files under {dir} untouched for more than {n} days should be deleted", "{dir}: delete old files (over {n} days)", "expire files in {dir} after {n} days",
          "i need all files below {dir} gone that are older than {n} days", "recursively delete files older than {n} days, starting at {dir}"),
)
