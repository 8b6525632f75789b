"""Listings in an order, cut to a number, of one kind only, and counts: what a person asks about the entries of a directory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from edgeevo.domain import Directory, File, Link
from edgeevo.environments.skills import Draw, Kind, Lines, Params, entry
from edgeevo.environments.vocabulary_search import lay, site
from edgeevo.environments.world import World, base, extension

START, PATHS, LINES, VALUE = Kind.START, Kind.PATHS, Kind.LINES, Kind.VALUE
Rank = Callable[[File], int]

# --- of one kind ------------------------------------------------------------------------------------------------------

entry(
    "list_hidden", START, LINES, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: any(base(q).startswith(".") for q, _n in d.world.below(p, depth=1)))},
    reference=lambda w, x, p: [base(q) for q, _n in w.below(p["dir"], depth=1) if base(q).startswith(".")],
    ways=("ls -A {dir} | grep '^\\.'", "find {dir} -mindepth 1 -maxdepth 1 -name '.*' -printf '%f\\n'"),
    asks=("list only the hidden [files|entries] of {dir}", "show just the hidden files directly in {dir}, names only", "which hidden files does {dir} have right in it? names only", "names of the dot files in {dir}, not those of subfolders",
          "print the names in {dir} that start with a dot", "display nothing but the hidden entries of {dir}", "what is hidden in {dir}? only the names that begin with a dot", "i need the names of the hidden files at the top level of {dir}",
          "only hidden entries of {dir}, not . and ..", "get the dot files of {dir} by name, without descending", "{dir}: names of its hidden files, nothing else"),
    nouns=("the names of the hidden files directly in {dir}", "the hidden entries of {dir}", "only the dot files of {dir} by name", "the names in {dir} that begin with a dot", "the names of the dot files at the top level of {dir}"),
)
entry(
    "find_dirs_flat", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: bool(d.world.directories(p)))},
    reference=lambda w, x, p: w.directories(p["dir"], depth=1),
    ways=("find {dir} -mindepth 1 -maxdepth 1 -type d", "ls -d {dir}/*/"),
    asks=("list only the [directories|folders] directly in {dir}", "find the immediate subdirectories of {dir}", "which folders are directly inside {dir}?", "show the first-level subdirectories of {dir}", "directories right in {dir}, not deeper ones",
          "search {dir} for directories without descending into them", "what subfolders does {dir} itself have? not the nested ones", "i need the paths of the folders directly below {dir}", "display the directories in {dir}, one level only, no files",
          "only the top level folders of {dir}", "get the direct subdirectories of {dir}, no recursion", "{dir}: direct subfolders only"),
    nouns=("the directories directly in {dir}", "the immediate subdirectories of {dir}", "the folders right in {dir}, no deeper ones", "all first-level subdirectories of {dir}", "the direct subfolders of {dir}", "the top level folders of {dir}"),
)
entry(
    "find_files_flat", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: 1 < len(d.world.files(p, depth=1)) < len(list(d.world.below(p))))},
    reference=lambda w, x, p: w.files(p["dir"], depth=1),
    ways=("find {dir} -maxdepth 1 -type f", "find {dir} -type f -printf '%d %p\\n' | grep '^1 ' | cut -d' ' -f2-"),
    asks=("find the files directly in {dir}, not in its subdirectories, hidden ones too", "list all files in {dir} without descending, hidden ones included", "which files, hidden or not, are directly in {dir}? no directories", "show files of {dir}, top level only, with hidden files, no folders",
          "files right in {dir}, also hidden ones, nothing from subfolders", "search {dir} itself for regular files, dot files as well, do not recurse", "what regular files, hidden ones too, does {dir} have at its first level?",
          "i need the paths of all files, also hidden ones, that are directly in {dir}", "get the regular files of {dir}, including dot files, but nothing below its subfolders", "non-recursive list of all files in {dir}, hidden files too, directories left out",
          "only files, hidden ones too, from {dir} itself and none from deeper levels", "{dir}: all files at the top level, dot files included, no directories"),
    nouns=("the files directly in {dir}, hidden ones too", "all files at the top level of {dir}, dot files included", "the regular files right in {dir}, also the hidden ones, nothing deeper", "the files of {dir} itself, hidden or not, none from subfolders",
           "the first-level files of {dir}, hidden files included"),
)
entry(
    "find_dirs_named", START, PATHS, unordered=True,
    draw=lambda d: {"dir": (q := d.dir(lambda p: bool(d.world.directories(p)))), "name": base(d.pick(d.world.directories(q)))},
    reference=lambda w, x, p: [q for q in w.directories(p["dir"]) if base(q) == p["name"]],
    ways=("find {dir} -type d -name {name}", "find {dir} -type d | grep '/{name:raw}$'"),
    asks=("find the [directory|folder] [named|called] {name} [in|under|below] {dir}", "where is the [directory|folder] {name} [under|in] {dir}?", "locate the folder {name} below {dir}", "search {dir} for a directory named {name}", "look for a folder with the name {name} in {dir}",
          "list directories under {dir} that are called {name}", "is there a directory {name} somewhere under {dir}? print its path", "i need the path of the folder {name} somewhere within {dir}", "find every directory in the {dir} tree with the name {name}, no files",
          "get the location of the subdirectory {name} below {dir}", "recursively look for a directory called {name}, starting at {dir}", "{dir}: where in there is the folder {name}?"),
    nouns=("the directory named {name} under {dir}", "the folders called {name} in {dir}", "the path of the directory {name} below {dir}", "the directories with the name {name} within {dir}", "all folders in the {dir} tree that are called {name}"),
)


def with_empty_dirs(d: Draw) -> Params:
    """A tree to which one to three empty directories are added."""
    directory = site(d, lambda p: bool(d.world.files(p, depth=1)))
    for _ in range(d.rng.randint(1, 3)):
        parent = d.pick(p for p in (directory, *d.world.directories(directory)) if d.world.files(p, depth=1))
        lay(d, f"{parent}/{d.name()}", Directory())
    return {"dir": directory}


def hollow(w: World, directory: str) -> list[str]:
    """The empty directories beneath `directory`."""
    return [q for q in w.directories(directory) if not list(w.below(q))]


entry(
    "find_dirs_empty", START, PATHS, unordered=True, draw=with_empty_dirs, reference=lambda w, x, p: hollow(w, p["dir"]),
    ways=("find {dir} -type d -empty", 'find {dir} -type d | while IFS= read -r f; do if [ -z "$(ls -A "$f")" ]; then echo "$f"; fi; done'),
    asks=("find [all|] empty [directories|folders] [in|under|below] {dir}", "list the directories under {dir} that are empty", "which folders below {dir} have nothing in them?", "search {dir} for directories without any content", "are there empty folders in {dir}? list them",
          "show every directory in the {dir} tree that holds nothing", "directories of {dir} with no entries at all", "i need the paths of all empty subdirectories within {dir}", "what subfolders of {dir} are empty, at any depth?",
          "recursively look for empty folders, starting at {dir}", "locate empty directories, not files, below {dir}", "{dir}: all empty subdirectories"),
    nouns=("the empty directories under {dir}", "all folders in {dir} that have nothing in them", "the directories below {dir} without any content", "all empty subdirectories within {dir}", "the empty folders anywhere in {dir}", "the subdirectories of the {dir} tree that hold nothing"),
)


def _linked(d: Draw) -> Params:
    """A tree to which a few symbolic links to files are added."""
    directory = site(d, lambda p: len(d.world.files(p)) > 1)
    folders, targets = (directory, *d.world.directories(directory)), d.world.files(d.scene.root)
    for _ in range(d.rng.randint(1, 4)):
        lay(d, f"{d.rng.choice(folders)}/{d.name()}", Link(target=d.rng.choice(targets or d.world.files(directory))))
    return {"dir": directory}


entry(
    "find_links", START, PATHS, unordered=True, draw=_linked, reference=lambda w, x, p: w.links(p["dir"]),
    ways=("find {dir} -type l", "find {dir} -printf '%y %p\\n' | grep '^l ' | cut -d' ' -f2-"),
    asks=("find [all|] [symbolic links|symlinks|soft links] [in|under|below] {dir}", "list the symlinks under {dir} [recursively|and its subdirectories]", "which [symbolic links|symlinks] are there below {dir}?", "search {dir} for symbolic links", "show every soft link in the {dir} tree",
          "are there symlinks in {dir} or deeper? list them", "what entries under {dir} are symbolic links?", "i need the paths of all symlinks within {dir}", "locate everything below {dir} that is a symbolic link",
          "recursively look for symlinks, starting at {dir}", "only the symbolic links in {dir} and below", "{dir}: all symlinks at any depth"),
    nouns=("the symbolic links under {dir}", "all symlinks in {dir} and below", "the soft links below {dir}", "the symlinks anywhere in {dir}", "all symbolic links in the {dir} tree"),
)

# --- in an order ------------------------------------------------------------------------------------------------------


def _young(f: File) -> int:
    return f.age_seconds


def _small(f: File) -> int:
    return len(f.data)


@dataclass(frozen=True)
class _Order:
    """One way to order files: how people call what comes first, `ls` flags, what `find` prints of it, how that is sorted."""

    said: tuple[str, ...]
    flags: str
    key: str
    sort: str
    rank: Rank
    sign: int

    def of(self, w: World, files: Lines) -> Lines:
        """`files` in this order."""
        return sorted(files, key=lambda q: self.sign * self.rank(w.file(q)))


_ORDERS = (
    _Order(("newest", "newest", "latest", "most recent", "most recently modified"), "-t", "%T@", "-rn", _young, 1),
    _Order(("oldest", "oldest", "least recently modified"), "-tr", "%T@", "-n", _young, -1),
    _Order(("largest", "largest", "biggest"), "-S", "%s", "-rn", _small, -1),
    _Order(("smallest",), "-Sr", "%s", "-n", _small, 1),
)
_BY = {o.flags: o for o in _ORDERS}


def _order(d: Draw) -> tuple[_Order, Params]:
    o = d.rng.choice((*_ORDERS[:3], *_ORDERS))  # hardly anybody asks for the smallest
    return o, {"most": d.rng.choice(o.said), "flags": o.flags, "key": o.key, "sort": o.sort}


def _flat(d: Draw) -> Params:
    """An order, and a directory of at least three visible files and nothing else, no two of which rank the same."""
    o, p = _order(d)

    def fits(directory: str) -> bool:
        every = list(d.world.below(directory, depth=1))
        values = {o.rank(n) for q, n in every if isinstance(n, File) and not base(q).startswith(".")}
        return 2 < len(values) == len(every)

    return p | {"dir": d.dir(fits)}


def _few_of_flat(d: Draw) -> Params:
    p = _flat(d)
    return p | {"n": d.number(2, min(12, len(d.world.files(p["dir"])) - 1))}


def clear_numbers(d: Draw, directory: str, o: _Order) -> list[str]:
    """Numbers such that there is no tie among the first so many files of a tree, nor with the one behind them."""
    values = [o.rank(d.world.file(q)) for q in o.of(d.world, d.world.files(directory))]
    return [str(n) for n in range(2, min(13, len(values))) if len(set(values[: n + 1])) == n + 1]


def _few_of_tree(d: Draw) -> Params:
    o, p = _order(d)
    directory = d.dir(lambda q: bool(clear_numbers(d, q, o)))
    return p | {"dir": directory, "n": d.pick(clear_numbers(d, directory, o))}


def _largest(d: Draw) -> Params:
    directory = d.dir(lambda q: bool(clear_numbers(d, q, _BY["-S"])))
    return {"dir": directory, "n": d.pick(clear_numbers(d, directory, _BY["-S"]))}


def _names(w: World, p: Params) -> Lines:
    return [base(q) for q in _BY[p["flags"]].of(w, w.files(p["dir"], depth=1))]


entry(
    "list_ordered", START, LINES, draw=_flat, reference=lambda w, x, p: _names(w, p),
    ways=("ls {flags:raw} {dir}", "find {dir} -maxdepth 1 -type f -printf '{key:raw} %f\\n' | sort {sort:raw} | cut -d' ' -f2-"),
    asks=("list the files in {dir}, {most} first", "show the names of the files in {dir}, the {most} one first", "sort the files of {dir} so that the {most} comes first, names only", "which files are in {dir}? the {most} at the top, please", "names in {dir}, {most} on top",
          "i need a listing of {dir}, {most} first, just the names", "order the file names in {dir} with the {most} file at the top", "ls {dir}, {most} first, only names", "what files does {dir} have, from the {most} on?", "give the names of all files in {dir} in order, beginning with the {most}",
          "print what is in {dir}, sorted with the {most} file first, no details", "{dir}: file names, {most} first"),
    nouns=("the names of the files in {dir}, {most} first", "the file names of {dir} sorted with the {most} first", "the names of what is in {dir}, the {most} at the top", "the names in {dir}, {most} on top", "the names of all files in {dir}, beginning with the {most}"),
)
entry(
    "list_ordered_few", START, LINES, draw=_few_of_flat, reference=lambda w, x, p: _names(w, p)[: int(p["n"])],
    ways=("ls {flags:raw} {dir} | head -n {n:raw}", "find {dir} -maxdepth 1 -type f -printf '{key:raw} %f\\n' | sort {sort:raw} | sed {n:raw}q | cut -d' ' -f2-"),
    asks=("list the names of the {n} {most} files in {dir}, {most} first", "display nothing but the names of the {n} {most} files in {dir}, beginning with the {most}", "what are the {n} {most} files of {dir} called? the {most} first", "names of the {n} {most} files in {dir}, the {most} on top",
          "i need the file names of the {n} {most} files in {dir}, starting with the {most}", "give me just the names of the {n} {most} files in {dir}, the {most} at the top", "which {n} files in {dir} are the {most}? names only, {most} first", "sort the files in {dir}, {most} first, and print only the first {n} names",
          "ls the {n} {most} files of {dir}, names only, from the {most} on", "only the {n} {most} file names of {dir}, {most} one first", "{dir}: names of the {n} {most} files, {most} first"),
    nouns=("the names of the {n} {most} files in {dir}, {most} first", "the file names of the {n} {most} files in {dir}, the {most} on top", "the first {n} names of {dir} when sorted with the {most} first", "the names of the {n} {most} files of {dir}, beginning with the {most}",
           "just the names of the {n} {most} files in {dir}, the {most} at the top"),
)
entry(
    "find_ordered_few", START, PATHS, draw=_few_of_tree, reference=lambda w, x, p: _BY[p["flags"]].of(w, w.files(p["dir"]))[: int(p["n"])],
    ways=("find {dir} -type f -printf '{key:raw} %p\\n' | sort {sort:raw} | head -n {n:raw} | cut -d' ' -f2-", "find {dir} -type f -print0 | xargs -0 ls {flags:raw} | head -n {n:raw}"),
    asks=("find the {n} {most} files [under|below] {dir}, {most} first", "list the paths of the {n} {most} files in {dir} and its subdirectories, {most} first", "which are the {n} {most} files anywhere below {dir}? {most} first, please", "search {dir} recursively for the {n} {most} files and print their paths, starting with the {most}",
          "show the paths of the {n} {most} files in the {dir} tree, the {most} at the top", "i need the {n} {most} of all files under {dir}, beginning with the {most}", "the {n} {most} files anywhere under {dir}, {most} on top, paths only", "locate the {n} {most} files below {dir}, the {most} one first",
          "recursively sort the files of {dir}, {most} first, and keep only the first {n} paths", "what are the {n} {most} files under {dir}, subfolders included, from the {most} on?", "{dir}: paths of the {n} {most} files at any depth, {most} first"),
    nouns=("the {n} {most} files under {dir}, {most} first", "the {n} {most} files anywhere in {dir}, the {most} on top", "the {n} {most} files below {dir}, beginning with the {most}", "the {n} {most} of all files within {dir}, {most} first", "the {n} {most} files of the {dir} tree, the {most} at the top"),
)
entry(
    "list_largest_sizes", START, LINES, draw=_largest,
    reference=lambda w, x, p: [f"{len(w.file(q).data)} {base(q)}" for q in _BY["-S"].of(w, w.files(p["dir"]))[: int(p["n"])]],
    ways=("find {dir} -type f -printf '%s %f\\n' | sort -rn | head -n {n:raw}", "find {dir} -type f -exec stat -c '%s %n' {} + | sort -rn | sed -n '1,{n:raw}s|^\\([0-9]*\\) .*/|\\1 |p'"),
    asks=("show size in bytes and name, without path, of the {n} [largest|biggest] files under {dir}, largest first", "list the {n} largest files below {dir} with their sizes in bytes: size, then the bare file name, biggest first",
          "print the {n} biggest files in the {dir} tree as lines of byte size and name (no path), largest first", "what are the {n} largest files under {dir}, and how many bytes do they have? size first, then the name without path, descending",
          "top {n} files by size anywhere in {dir}: bytes and file name without folder, largest first", "i need byte size and base name of each of the {n} biggest files within {dir}, in descending order of size",
          "sort all files below {dir} by size, descending, and print size in bytes and bare name of the first {n}", "give the {n} largest files of {dir} and its subdirectories, each with its bytes in front of its name, no paths, biggest first",
          "recursively find the {n} biggest files in {dir}; output bytes and file name only, largest at the top", "{dir}: byte sizes and bare names of the {n} largest files at any depth, largest first"),
    nouns=("the sizes in bytes and bare names of the {n} largest files under {dir}, largest first", "byte size and name, no path, of the {n} biggest files below {dir}, in descending order", "the {n} largest files in the {dir} tree as lines of bytes and base name, biggest first",
           "the byte sizes with the file names, paths left out, of the {n} biggest files within {dir}, largest first", "size in bytes and file name without folder for the {n} largest files anywhere in {dir}, descending"),
)

# --- figures ----------------------------------------------------------------------------------------------------------

entry(
    "count_entries", START, VALUE, draw=lambda d: {"dir": d.dir(lambda p: len(list(d.world.below(p, depth=1))) > 2)},
    reference=lambda w, x, p: [str(len([q for q, _n in w.below(p["dir"], depth=1) if not base(q).startswith(".")]))],
    ways=("ls {dir} | wc -l", "find {dir} -mindepth 1 -maxdepth 1 -not -name '.*' -printf x | wc -c"),
    asks=("how many [entries|items] does {dir} have, [hidden ones not counted|not counting hidden ones]?", "count the visible files and folders directly in {dir}", "number of visible entries of {dir}, subfolders not opened", "count what ls shows for {dir}",
          "how many files and directories are right in {dir}, without hidden ones?", "give the number of non-hidden items directly in {dir}", "i need to know how many names ls lists for {dir}", "tell me how many things are in {dir} at the top level, hidden files aside",
          "work out how many non-hidden entries are directly in {dir}", "what is the count of visible items in {dir} itself?", "{dir}: number of visible entries, files and folders together, top level only"),
    nouns=("the number of visible entries directly in {dir}", "how many non-hidden files and folders are right in {dir}", "the number of names that ls shows for {dir}", "the count of visible items in {dir}, not deeper", "how many entries {dir} has without hidden ones"),
)
entry(
    "count_dirs", START, VALUE, draw=lambda d: {"dir": d.dir(lambda p: len(d.world.directories(p)) > 1)},
    reference=lambda w, x, p: [str(len(w.directories(p["dir"])))],
    ways=("find {dir} -mindepth 1 -type d | wc -l", "find {dir} -mindepth 1 -type d -printf x | wc -c"),
    asks=("count [all|the|] [directories|folders|subdirectories] [under|below|inside] {dir} [recursively|at any depth|]", "how many [subdirectories|folders] are there below {dir}, nested ones included?", "number of subdirectories of {dir} at all levels", "how many folders does {dir} contain in total, not counting itself?",
          "give the count of directories below {dir}, {dir} itself excluded", "what is the number of folders anywhere inside {dir}?", "i need to know how many subdirectories there are within {dir}, recursively", "get the total number of folders below {dir}, at every level",
          "work out how many directories lie below {dir}", "recursive subdirectory count for {dir}", "{dir}: how many subfolders, all levels?"),
    nouns=("the number of directories below {dir}", "how many subdirectories {dir} has at all levels", "the count of folders inside {dir}, nested ones too", "the total number of subfolders of {dir}, recursively", "how many directories lie beneath {dir}"),
)


def _with_ext(d: Draw) -> Params:
    return {"dir": d.dir(lambda p: len(d.world.files(p)) > 3 and all(extension(q) for q in d.world.files(p)))}


entry(
    "count_by_ext", START, LINES, unordered=True, pads=True, draw=_with_ext,
    reference=lambda w, x, p: [f"{n} {e}" for e, n in Counter(extension(q) for q in w.files(p["dir"])).items()],
    ways=("find {dir} -type f | sed 's/.*\\.//' | sort | uniq -c", "find {dir} -type f | awk -F. '{n[$NF]++}END{for(e in n)print n[e],e}'"),
    asks=("count the files under {dir} by extension, print count and extension", "how many files of each extension are there below {dir}? the count first, then the extension without its dot", "for every file extension in the {dir} tree, show how many files have it: number, then extension",
          "group all files below {dir} by extension and count each group, as lines of count and extension", "number of files per extension anywhere in {dir}, count in front", "i need a tally of the file extensions within {dir}: how often, then which extension",
          "which extensions do the files under {dir} have, and how often does each occur? count first", "list each extension found below {dir} after its number of files", "break the files of {dir} and its subdirectories down by extension, with the count before each extension",
          "recursively tally file extensions in {dir}, count then extension", "{dir}: file counts per extension, all levels, count first"),
    nouns=("the number of files per extension under {dir}, count first", "the file extensions below {dir}, each with its count in front", "the tally of file extensions in the {dir} tree, count then extension", "how many files of each extension are within {dir}, as count and extension",
           "the counts of files by extension anywhere in {dir}, each before its extension"),
)


def _full(d: Draw) -> Params:
    """A directory whose subdirectories all have files, so that no nought has to be printed or left out."""
    return {"dir": d.dir(lambda p: bool(q := d.world.directories(p, depth=1)) and all(d.world.files(f) for f in q))}


entry(
    "count_per_dir", START, LINES, unordered=True, pads=True, draw=_full,
    reference=lambda w, x, p: [f"{len(w.files(q))} {base(q)}" for q in w.directories(p["dir"], depth=1)],
    ways=("find {dir} -mindepth 2 -type f -printf '%P\\n' | cut -d/ -f1 | sort | uniq -c", 'for f in {dir}/*/; do echo "$(find "$f" -type f | wc -l) $(basename "$f")"; done'),
    asks=("count the files in each [subdirectory|subfolder] of {dir} recursively, print count and name of the subdirectory", "how many files does each folder directly in {dir} hold, deeper levels included? count first, then its name", "for every immediate subdirectory of {dir}, show the number of files anywhere in it and its name",
          "number of files per subfolder of {dir}, count in front of the folder name, nested files counted too", "list the direct subdirectories of {dir} by name, each after the number of all files below it", "i need the recursive file count of each direct subfolder of {dir}, followed by the name of the folder",
          "tally the files below {dir} by first-level subdirectory: count, then directory name", "which folders are directly in {dir}, and how many files are in each at any depth? number first, then the bare name",
          "per immediate subdirectory of {dir}: number of files at all levels, then its name", "recursively count files for each folder right in {dir} and print lines of count and folder name", "{dir}: file counts of its direct subfolders, recursive, count before the name"),
    nouns=("the recursive file count and name of each direct subdirectory of {dir}", "the number of files in each immediate subfolder of {dir}, nested ones counted, before its name", "how many files each folder right in {dir} holds at any depth, as count and name",
           "the file counts per first-level subdirectory of {dir}, all levels, count then name", "the counts of all files below each direct subfolder of {dir}, each in front of the folder name"),
)


def _human(size: int) -> str:
    """A size as `ls -h` writes it: rounded up, one decimal below ten units."""
    if size < 1024:
        return str(size)
    tenths = math.ceil(size * 10 / 1024)
    return f"{tenths // 10}.{tenths % 10}K" if tenths < 100 else f"{math.ceil(size / 1024)}K"


entry(
    "file_size_human", START, VALUE, draw=lambda d: {"file": d.any_file(lambda p: 1024 < len(d.world.file(p).data) < 1_000_000)},
    reference=lambda w, x, p: [_human(len(w.file(p["file"]).data))],
    ways=("ls -lh {file} | awk '{print $5}'", "du -h --apparent-size {file} | cut -f1"),
    asks=("show the size of {file} in human-readable form, [as ls -h does|like ls -lh], only the size", "how big is {file} in human readable units, as ls -lh shows it? just the size", "print the human-readable size that ls -lh gives for {file}, nothing else", "size of {file} as ls -lh writes it, the size only",
          "what does ls -lh say for the size of {file}? print that field alone", "give the size of {file} in K, M or G as in ls -lh, without anything else", "i need the size of the file {file} with its unit, like in ls -lh, only that", "tell me how large {file} is in human-readable notation (ls -h), size only",
          "get the file size of {file} the way ls -lh prints it, not the whole line", "{file}: human-readable size as in ls -lh, nothing more"),
    nouns=("the human-readable size of {file} as in ls -lh", "the size of {file} the way ls -lh prints it", "the size of {file} in human-readable units as ls -h gives it", "only the size field of ls -lh for {file}", "the file size of {file} with its unit, like ls -lh"),
)
