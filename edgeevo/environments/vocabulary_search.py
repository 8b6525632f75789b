"""Searches with a second condition or another test: several extensions, either case, part of a name, a place left out, size and age of one kind."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from edgeevo.domain import File, Node
from edgeevo.environments.scenarios import DAY, HOUR, MINUTE
from edgeevo.environments.skills import Draw, Kind, NoInstanceError, Params, entry
from edgeevo.environments.world import World, base, extension, text

START, PATHS, LINES = Kind.START, Kind.PATHS, Kind.LINES


def some(d: Draw, keep: Callable[[str, File], bool], directory: str) -> bool:
    """Whether `keep` holds for some of the files beneath `directory`, but not for all: a search must leave something out."""
    files = d.world.files(directory)
    return 0 < len([q for q in files if keep(q, d.world.file(q))]) < len(files)


def of_ext(p: Params) -> Callable[[str, File], bool]:
    """What `-name '*.ext'` matches."""
    return lambda q, _f: q.endswith("." + p["ext"])


def lay(d: Draw, path: str, node: Node) -> None:
    """Add `node` to the initial state at `path`, where no other link has looked: anywhere for one that stands first, else outside of the scene's root."""
    first = d.x is None and not d.recent
    if path in d.world.nodes or (not first and path.startswith(d.scene.root + "/")):
        raise NoInstanceError
    d.world.put(path, node)
    d.placed[path] = node


def site(d: Draw, keep: Callable[[str], bool]) -> str:
    """A directory of the scene to lay something in, or behind other links a new one of three to five files outside of the scene's root."""
    if d.x is None and not d.recent:
        return d.dir(keep)
    directory = posixpath.join(d.rng.choice((d.scene.home, posixpath.dirname(d.scene.root))), d.name())
    for ext in ("txt", "txt", "log", "csv", "md")[: d.rng.randint(3, 5)]:
        lay(d, posixpath.join(directory, d.name(ext)), text([d.stem(), d.stem()], age_seconds=HOUR))
    return directory


def dir_and_ext(d: Draw) -> Params:
    """A directory and an extension that some of the files beneath it have."""
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    return {"dir": directory, "ext": d.ext(directory)}


# --- by name ----------------------------------------------------------------------------------------------------------


def _part(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    stem = base(d.pick(q for q in d.world.files(directory) if not base(q).startswith("."))).partition(".")[0]
    long = [w for w in stem.replace("-", " ").replace("_", " ").split() if w.isalpha() and len(w) > 3]
    word = d.pick(long)
    word = d.rng.choice((word, word[1:], word[1:4]))
    if not some(d, lambda q, _f: word in base(q), directory):
        raise NoInstanceError
    return {"dir": directory, "word": word}


entry(
    "find_name_part", START, PATHS, unordered=True, draw=_part,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: p["word"] in base(q)),
    ways=("find {dir} -type f -name '*{word:raw}*'", "find {dir} -type f | grep '{word:raw}[^/]*$'"),
    asks=("find [all|] files [in|under|below] {dir} whose name contains {word}", "list files with {word} in their name [under|below] {dir}", "which files under {dir} have {word} [somewhere|] in their name?",
          "search {dir} for file names containing {word}", "show every file in the {dir} tree that has {word} anywhere in its name", "files below {dir} with names that include {word}",
          "locate files whose name includes {word}, starting at {dir}", "i need all files within {dir} that have {word} in the name", "look in {dir} and its subdirectories for files with {word} in the file name",
          "what files under {dir} are named something with {word}?", "recursively look for files with {word} as part of their name in {dir}", "{dir}: all files that have {word} in the file name"),
    nouns=("the files under {dir} whose name contains {word}", "all files in {dir} with {word} in their name", "the files below {dir} that have {word} as part of their name",
           "files within {dir} with a name containing {word}", "the files anywhere in {dir} with {word} somewhere in the name", "the files in the {dir} tree whose name has {word} in it"),
)


def _two_ext(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 2)
    every = sorted({e for q in d.world.files(directory) if (e := extension(q)).islower() and e.isalnum()})
    if len(every) < 3:
        raise NoInstanceError
    first, second = d.rng.sample(every, 2)
    return {"dir": directory, "ext": first, "ext2": second}


entry(
    "find_exts", START, PATHS, unordered=True, draw=_two_ext,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: q.endswith(("." + p["ext"], "." + p["ext2"]))),
    ways=("find {dir} -type f \\( -name '*.{ext:raw}' -o -name '*.{ext2:raw}' \\)", "find {dir} -type f | grep -E '\\.({ext:raw}|{ext2:raw})$'"),
    asks=("find all {ext} and {ext2} files [in|under|below] {dir}", "list files [under|in] {dir} that end in {ext} or {ext2}", "which files below {dir} have the extension {ext} or {ext2}?",
          "search {dir} for files with extension {ext} or {ext2}", "show every file in the {dir} tree ending in either {ext} or {ext2}", "files under {dir} with one of the extensions {ext} and {ext2}",
          "locate {ext} files as well as {ext2} files below {dir}", "i need the paths of all files within {dir} whose extension is {ext} or {ext2}",
          "what files does {dir} have, at any depth, with extension {ext} or {ext2}?", "recursively list both {ext} and {ext2} files, starting at {dir}",
          "look for anything ending in {ext} or in {ext2} below {dir}, files only", "{dir}: {ext} and {ext2} files, recursively"),
    nouns=("the {ext} and {ext2} files under {dir}", "all files in {dir} that end in {ext} or {ext2}", "the files below {dir} with extension {ext} or {ext2}", "files within {dir} ending in {ext} or {ext2}",
           "the files anywhere in {dir} whose extension is {ext} or {ext2}", "both the {ext} files and the {ext2} files in the {dir} tree"),
)


def _either_case(d: Draw) -> Params:
    """A tree to which two files are added whose names end in the extension in capitals."""
    directory = site(d, lambda p: len(d.world.files(p)) > 1)
    ext = d.ext(directory)
    for ending in (ext.upper(), d.rng.choice((ext.upper(), ext.capitalize()))):
        lay(d, f"{directory}/{d.name()}.{ending}", text([d.stem()], age_seconds=HOUR))
    return {"dir": directory, "ext": ext}


entry(
    "find_ext_nocase", START, PATHS, unordered=True, draw=_either_case,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: q.lower().endswith("." + p["ext"])),
    ways=("find {dir} -type f -iname '*.{ext:raw}'", "find {dir} -type f | grep -i '\\.{ext:raw}$'"),
    asks=("find all {ext} files [in|under|below] {dir}, [ignoring case|upper or lower case|regardless of case]", "list files under {dir} ending in {ext}, case does not matter", "which files below {dir} have the extension {ext} in capital or small letters?",
          "search {dir} for files with extension {ext}, case-insensitive", "case-insensitively find {ext} files in {dir}", "every {ext} file in the {dir} tree, no matter if the extension is upper or lower case",
          "locate {ext} files below {dir} without regard to the case of the ending", "i need all files within {dir} that end in {ext}, upper case endings too",
          "what {ext} files are there under {dir}? ignore upper and lower case", "recursively list {ext} files in {dir}, including those with the extension in capitals",
          "look for files ending in {ext} in any case, starting at {dir}", "{dir}: all {ext} files, case ignored, recursively"),
    nouns=("the {ext} files under {dir} in upper or lower case", "all files in {dir} with extension {ext}, ignoring case", "the files below {dir} that end in {ext} in any case", "files within {dir} ending in {ext}, case-insensitive",
           "the files anywhere in {dir} with the extension {ext} in capital or small letters", "all {ext} files of the {dir} tree, capital endings too"),
)
entry(
    "find_hidden", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: some(d, lambda q, _f: base(q).startswith("."), p))},
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: base(q).startswith(".")),
    ways=("find {dir} -type f -name '.*'", "find {dir} -type f | grep '/\\.[^/]*$'"),
    asks=("find [all|] hidden files [in|under|below] {dir}", "list the hidden files [under|in] {dir} [recursively|and its subdirectories]", "which hidden files are there [under|below] {dir}?",
          "search {dir} for dot files", "show every hidden file in the {dir} tree", "files below {dir} whose name starts with a dot", "locate files with a leading dot in their name under {dir}",
          "i need the paths of all dot files within {dir}", "are there hidden files in {dir} or deeper? list them", "what files in {dir} and its subfolders have a name beginning with a dot?",
          "recursively look for hidden files, starting at {dir}", "{dir}: all hidden files at any depth"),
    nouns=("the hidden files under {dir}", "all dot files in {dir} and below", "the files below {dir} whose name starts with a dot", "hidden files within {dir}", "the hidden files anywhere in {dir}",
           "all files in the {dir} tree with a leading dot in the name"),
)
entry(
    "find_ext_names", START, LINES, unordered=True, draw=dir_and_ext,
    reference=lambda w, x, p: [base(q) for q in w.files(p["dir"], of_ext(p))],
    ways=("find {dir} -type f -name '*.{ext:raw}' -printf '%f\\n'", "find {dir} -type f -name '*.{ext:raw}' -exec basename {} \\;"),
    asks=("list the names of all {ext} files under {dir}, without their paths", "find {ext} files [in|below] {dir} and print only the file names, no directories", "what are the {ext} files under {dir} called? names only, no path",
          "print just the base names of the {ext} files below {dir}", "names of the {ext} files anywhere in {dir}, paths left out", "search {dir} recursively for {ext} files, show file names without folders",
          "i need the bare file names of all {ext} files within {dir}", "show {ext} files in the {dir} tree by name only, leaving out the path", "recursively list {ext} files in {dir}, file names only, not the full paths",
          "get the name without directory of every {ext} file below {dir}", "{dir}: bare names of all {ext} files, recursively"),
    nouns=("the names of the {ext} files under {dir} without paths", "the bare file names of all {ext} files below {dir}", "only the names of the {ext} files in the {dir} tree, no directories", "the base names of all {ext} files within {dir}",
           "the file names, without folders, of the {ext} files anywhere in {dir}"),
)

# --- by place ---------------------------------------------------------------------------------------------------------


def _skipped(d: Draw) -> Params:
    """A directory and the name of one below it whose files are left out; the name is nowhere in the path above."""
    directory = d.dir(lambda p: bool(d.world.directories(p)))
    names = {base(q) for q in d.world.directories(directory)} - set(directory.split("/"))
    return {"dir": directory, "name": d.pick(sorted(n for n in names if some(d, lambda q, _f, n=n: f"/{n}/" in q, directory)))}  # type: ignore[misc]


entry(
    "find_except_dir", START, PATHS, unordered=True, draw=_skipped,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: f"/{p['name']}/" not in q),
    ways=("find {dir} -type f -not -path '*/{name:raw}/*'", "find {dir} -name {name} -prune -o -type f -print", "find {dir} -type f | grep -v '/{name:raw}/'"),
    asks=("find all files [in|under|below] {dir}, but skip the [directory|folder] {name}", "list the files under {dir} except those in [directories called|the directory] {name}", "which files are below {dir}, not counting the folder {name}?",
          "search {dir} for files, excluding the {name} directory", "show all files in the {dir} tree that are not inside a directory named {name}", "files below {dir} without those in the {name} folder",
          "all files under {dir}, leave out the {name} subdirectory", "i need the paths of all files within {dir} but none from the folder {name}",
          "what files does {dir} hold at any depth if you ignore the directory {name}?", "recursively list files in {dir}, do not descend into {name}", "locate every file below {dir} that is not under {name}",
          "{dir}: all files, recursively, directory {name} excluded"),
    nouns=("the files under {dir} except those in the directory {name}", "all files in {dir} but not in its {name} folder", "the files below {dir} that are outside of the folder {name}", "all files within {dir}, the {name} directory excluded",
           "the files anywhere in {dir} except in the directory named {name}", "the files of the {dir} tree without those in the folder {name}"),
)


def _shallow(d: Draw) -> Params:
    """A depth at which the search must stop before the deepest file; a nest of directories is added where no other link has looked."""
    directory = d.dir()
    if d.x is None and not d.recent:
        nest = directory
        for _ in range(d.rng.randint(2, 4)):
            nest = f"{nest}/{d.name()}"
            lay(d, f"{nest}/{d.name('txt')}", text([d.stem()], age_seconds=HOUR))
    every = d.world.files(directory)
    return {"dir": directory, "n": d.pick(str(n) for n in (2, 3, 4) if 0 < len(d.world.files(directory, depth=n)) < len(every))}


entry(
    "find_depth", START, PATHS, unordered=True, draw=_shallow,
    reference=lambda w, x, p: w.files(p["dir"], depth=int(p["n"])),
    ways=("find {dir} -maxdepth {n:raw} -type f", "find {dir} -type f -printf '%d %p\\n' | awk '$1<={n:raw}' | cut -d' ' -f2-"),
    asks=("find all files [in|under] {dir}, [at most|no more than] {n} levels deep", "list files under {dir} down to depth {n}", "which files are there below {dir} with a maximum depth of {n}?",
          "search {dir} for files but go no deeper than {n} levels", "show the files in {dir} up to a depth of {n}", "files under {dir}, maximum depth {n}", "locate files below {dir} with the search limited to {n} levels",
          "i need the paths of the files in {dir}, max depth {n}", "what files does {dir} hold down to a depth of {n}, not deeper?", "recursively list files in {dir}, but stop at depth {n}",
          "display every file in {dir} that is at depth {n} or less", "{dir}: files, depth limited to {n}"),
    nouns=("the files under {dir} down to depth {n}", "all files in {dir} at most {n} levels deep", "the files below {dir} up to a depth of {n}", "files within {dir} that are no deeper than {n} levels",
           "the files of {dir} with the depth limited to {n}", "all files at depth {n} or less in the {dir} tree"),
)

# --- by time and size -------------------------------------------------------------------------------------------------


def _newer(d: Draw) -> Params:
    """A file that some files of a directory are newer than; no other of its very age, so that nothing hangs on fractions of a second."""
    files = d.world.files(d.scene.root)
    ages = [d.world.file(q).age_seconds for q in files]
    file = d.pick(q for q, a in zip(files, ages, strict=True) if a > min(ages) and ages.count(a) == 1 and not base(q).startswith("."))
    return {"file": file, "dir": d.dir(lambda p: some(d, lambda _q, f: f.age_seconds < d.world.file(file).age_seconds, p))}


entry(
    "find_newer", START, PATHS, unordered=True, draw=_newer,
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: f.age_seconds < w.file(p["file"]).age_seconds),
    ways=("find {dir} -type f -newer {file}", "find {dir} -type f -exec test {} -nt {file} \\; -print"),
    asks=("find [all|] files [in|under|below] {dir} [newer|more recent] than {file}", "list files under {dir} that were modified [after|more recently than] {file}", "which files below {dir} are newer than the file {file}?",
          "search {dir} for files changed after {file} was last changed", "show every file in the {dir} tree that is newer than {file}", "files under {dir} with a later modification time than {file}",
          "what has changed in {dir} since {file} was modified? list the files", "i need all files within {dir} that were changed later than {file}", "locate files in {dir} and below that are newer than {file}",
          "recursively look for files more recently modified than {file}, starting at {dir}", "compare modification times: which files in {dir} are newer than {file}?", "{dir}: all files newer than {file}"),
    nouns=("the files under {dir} that are newer than {file}", "all files in {dir} modified after {file}", "the files below {dir} changed more recently than {file}", "files within {dir} newer than {file}",
           "the files anywhere in {dir} with a later modification time than {file}", "the files of the {dir} tree that changed after {file} did"),
)


def _recently(d: Draw) -> Params:
    unit, name, numbers = d.rng.choice(((MINUTE, "minutes", (5, 10, 15, 20, 30, 45, 60, 90)), (HOUR, "hours", (2, 3, 4, 6, 8, 12, 18, 24))))
    n = d.rng.choice(numbers)
    directory = d.dir(lambda p: some(d, lambda _q, f: f.age_seconds < n * unit, p))
    return {"dir": directory, "span": f"{n} {name}", "m": str(n * unit // MINUTE)}


entry(
    "find_recent_time", START, PATHS, unordered=True, draw=_recently,
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: f.age_seconds < int(p["m"]) * MINUTE),
    ways=("find {dir} -type f -mmin -{m:raw}", "find {dir} -type f -newermt '{m:raw} minutes ago'"),
    asks=("find files [changed|modified] [in|within|during] the last {span} [in|under] {dir}", "which files [under|in] {dir} were modified in the last {span}?", "list files below {dir} changed less than {span} ago",
          "show what was modified in {dir} within the past {span}, files only", "search {dir} for files touched in the last {span}", "files of {dir} modified {span} ago or less", "what files within {dir} changed during the past {span}?",
          "i need all files under {dir} with a modification time in the last {span}", "locate every file in the {dir} tree that was modified within the last {span}", "recursively look for files changed in the past {span}, starting at {dir}",
          "{dir}: files modified in the last {span}"),
    nouns=("the files changed in the last {span} under {dir}", "all files in {dir} modified within {span}", "the files of {dir} changed less than {span} ago", "files below {dir} modified in the past {span}",
           "the files anywhere in {dir} that changed in the last {span}", "the files in the {dir} tree modified during the past {span}"),
)


def _between(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 3)
    sizes = sorted({len(d.world.file(q).data) for q in d.world.files(directory)})
    if len(sizes) < 4:
        raise NoInstanceError
    low, high = sorted(d.rng.sample(range(1, len(sizes) + 1), 2))
    n = max(5, sizes[low - 1] // 10 * 10 - 5)
    m = (sizes[high - 1] // 100 + 1) * 100
    if not some(d, lambda _q, f: n < len(f.data) < m, directory):
        raise NoInstanceError
    return {"dir": directory, "n": str(n), "m": str(m)}


entry(
    "find_size_between", START, PATHS, unordered=True, draw=_between,
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: int(p["n"]) < len(f.data) < int(p["m"])),
    ways=("find {dir} -type f -size +{n:raw}c -size -{m:raw}c", "find {dir} -type f -printf '%s %p\\n' | awk '$1>{n:raw}&&$1<{m:raw}' | cut -d' ' -f2-"),
    asks=("find files [in|under] {dir} [larger|bigger] than {n} bytes and smaller than {m} bytes", "list files below {dir} with more than {n} but less than {m} bytes", "which files in {dir} are larger than {n} bytes but smaller than {m} bytes?",
          "search {dir} for files of more than {n} and fewer than {m} bytes", "show every file in the {dir} tree that is over {n} and under {m} bytes in size", "files under {dir} that exceed {n} bytes and stay below {m} bytes",
          "what files under {dir} have a size above {n} and below {m} bytes?", "i need all files within {dir} that are bigger than {n} bytes and smaller than {m} bytes",
          "locate files in {dir} and below with a size greater than {n} bytes and less than {m} bytes", "recursively look for files over {n} bytes but under {m} bytes, starting at {dir}",
          "{dir}: files bigger than {n} bytes and smaller than {m} bytes"),
    nouns=("the files under {dir} larger than {n} bytes and smaller than {m} bytes", "all files in {dir} over {n} and under {m} bytes", "the files below {dir} with more than {n} but less than {m} bytes",
           "files within {dir} that are bigger than {n} but smaller than {m} bytes", "the files anywhere in {dir} with a size above {n} and below {m} bytes"),
)


def _ext_age(d: Draw, *, older: bool) -> Params:
    p = dir_and_ext(d)
    ages = [d.world.file(q).age_seconds for q in d.world.files(p["dir"], of_ext(p))]
    n = d.pick(str(n) for n in (1, 2, 3, 5, 7, 10, 14, 20, 30) if any((a // DAY > n) if older else (a < n * DAY) for a in ages))
    return p | {"n": n}


entry(
    "find_ext_recent", START, PATHS, unordered=True, draw=lambda d: _ext_age(d, older=False),
    reference=lambda w, x, p: w.files(p["dir"], lambda q, f: of_ext(p)(q, f) and f.age_seconds < int(p["n"]) * DAY),
    ways=("find {dir} -type f -name '*.{ext:raw}' -mtime -{n:raw}", "find {dir} -type f -name '*.{ext:raw}' -newermt '{n:raw} days ago'"),
    asks=("find all {ext} files [in|under] {dir} [changed|modified] [in|within] the last {n} days", "which {ext} files under {dir} were modified in the last {n} days?", "list {ext} files below {dir} changed less than {n} days ago",
          "show the {ext} files of {dir} modified within the past {n} days", "search {dir} for {ext} files changed during the last {n} days", "{ext} files in {dir} that are less than {n} days old",
          "what {ext} files in the {dir} tree changed in the past {n} days?", "i need every {ext} file under {dir} with a modification time in the last {n} days", "locate files ending in {ext} below {dir} that were modified within {n} days",
          "recursively list {ext} files modified less than {n} days ago, starting at {dir}", "{dir}: {ext} files modified in the last {n} days"),
    nouns=("the {ext} files under {dir} modified in the last {n} days", "all {ext} files in {dir} changed within {n} days", "the {ext} files below {dir} that changed in the past {n} days", "all files ending in {ext} within {dir} modified less than {n} days ago",
           "the {ext} files in the {dir} tree with a change in the last {n} days"),
)
entry(
    "find_ext_old", START, PATHS, unordered=True, draw=lambda d: _ext_age(d, older=True),
    # find drops the fraction: +3 means at least four whole days
    reference=lambda w, x, p: w.files(p["dir"], lambda q, f: of_ext(p)(q, f) and f.age_seconds // DAY > int(p["n"])),
    ways=("find {dir} -type f -name '*.{ext:raw}' -mtime +{n:raw}", "find {dir} -mtime +{n:raw} -type f | grep '\\.{ext:raw}$'"),
    asks=("find all {ext} files [in|under] {dir} [older than|not changed for more than] {n} days", "which {ext} files under {dir} are older than {n} days?", "list {ext} files below {dir} last modified more than {n} days ago",
          "show the {ext} files of {dir} not modified for over {n} days", "search {dir} for {ext} files older than {n} days", "{ext} files in {dir} untouched for more than {n} days",
          "what {ext} files in the {dir} tree were last changed more than {n} days ago?", "i need every {ext} file under {dir} that is over {n} days old", "locate files ending in {ext} below {dir} that have not changed for more than {n} days",
          "recursively list {ext} files over {n} days old, starting at {dir}", "{dir}: {ext} files older than {n} days"),
    nouns=("the {ext} files under {dir} older than {n} days", "all {ext} files in {dir} not changed for more than {n} days", "the {ext} files below {dir} that are over {n} days old", "all files ending in {ext} within {dir} last modified more than {n} days ago",
           "the {ext} files in the {dir} tree untouched for over {n} days"),
)

# --- by permission and content ----------------------------------------------------------------------------------------

entry(
    "find_world_writable", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: some(d, lambda _q, f: bool(f.mode & 0o002), p))},
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: bool(f.mode & 0o002)),
    ways=("find {dir} -type f -perm -o=w", "find {dir} -type f -perm -002", "find {dir} -type f -printf '%M %p\\n' | grep '^.\\{8\\}w' | cut -d' ' -f2-"),
    asks=("find [all|] world-writable files [in|under|below] {dir}", "list files under {dir} that [anybody|anyone|everybody] can write to", "which files below {dir} are writable by others?", "search {dir} for files with write permission for others",
          "show every file in the {dir} tree that is writable by everyone", "files under {dir} that all users may write", "locate files in {dir} with the write bit set for others", "i need all world-writable files within {dir}",
          "what files under {dir} can any user modify?", "recursively look for files that others may write to, starting at {dir}", "are there files in {dir} or deeper that the whole world can write? list them", "{dir}: all world-writable files"),
    nouns=("the world-writable files under {dir}", "all files in {dir} that others may write to", "the files below {dir} with write permission for others", "files within {dir} writable by everyone",
           "the files anywhere in {dir} that any user can write", "the files of the {dir} tree with the write bit set for others"),
)


def _lacking(d: Draw) -> Params:
    word = d.word_in(d.pick(q for q in d.scene.texts if q in d.world.nodes))
    return {"dir": d.dir(lambda p: some(d, lambda _q, f: word.encode() in f.data, p)), "word": word}


def _without(w: World, p: Params) -> list[str]:
    return w.files(p["dir"], lambda _q, f: p["word"].encode() not in f.data)


entry(
    "find_not_containing", START, PATHS, unordered=True, draw=_lacking, reference=lambda w, x, p: _without(w, p),
    ways=("grep -rL {word} {dir}", "find {dir} -type f ! -exec grep -q {word} {} \\; -print"),
    asks=("which files [in|under] {dir} do not [contain|mention] {word}?", "find files under {dir} that don't contain [the text|] {word}", "list files in {dir} not [mentioning|containing] {word}", "search all files below {dir} and print the names of those without {word} in their text",
          "names of the files in {dir} that lack the text {word}", "what files within {dir} have no line with {word}?", "i need the paths of all files under {dir} in which {word} does not occur",
          "locate every file in the {dir} tree whose text lacks {word}", "recursively list files in {dir} that never mention {word}", "show the files of {dir} and its subfolders without {word} in the content",
          "{dir}: which files have no {word} in their text?"),
    nouns=("the files in {dir} that do not contain {word}", "all files under {dir} not mentioning {word}", "the files below {dir} without {word} in their text", "the files of {dir} lacking the text {word}",
           "the files anywhere in {dir} in which {word} does not occur", "all files in the {dir} tree with no line that has {word}"),
)
