"""Skills that find files and directories: by name, kind, size, age, mode and content."""

from __future__ import annotations

from edgeevo.domain import File
from edgeevo.environments.scenarios import DAY
from edgeevo.environments.skills import Draw, Kind, Params, entry
from edgeevo.environments.world import base, extension

START, PATHS, VALUE, LINES = Kind.START, Kind.PATHS, Kind.VALUE, Kind.LINES


def _dir_ext(d: Draw, *, depth: int | None = None) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p, depth=depth)) > 1)
    return {"dir": directory, "ext": d.ext(directory, depth=depth)}


entry(
    "find_ext", START, PATHS, unordered=True, draw=_dir_ext,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"])),
    ways=("find {dir} -type f -name '*.{ext:raw}'", "find {dir} -type f | grep '\\.{ext:raw}$'"),
    asks=("find all {ext} files [in|under|below] {dir}", "list [all|the|] {ext} files [in|under] {dir} [and its subdirectories|recursively|]", "search {dir} for {ext} files",
          "which files [under|in] {dir} [end in|have the extension] {ext}?", "locate every {ext} file below {dir}", "look for files ending with {ext} in {dir}",
          "in {dir}, find files with extension {ext}", "what {ext} files does {dir} have, at any depth?", "i need the paths of all {ext} files within {dir}",
          "display every file in the {dir} tree whose extension is {ext}", "get the {ext} files from {dir} and all its subfolders", "recursively list {ext} files, starting at {dir}",
          "{dir}: all {ext} files, recursively"),
    nouns=("the {ext} files [under|in|below] {dir}", "all files with extension {ext} in {dir}", "files ending in {ext} under {dir}", "every {ext} file below {dir}",
           "the files in {dir} that end with {ext}", "the files anywhere in {dir} whose extension is {ext}", "all {ext} files within {dir}, subfolders included"),
)
entry(
    "find_ext.flat", START, PATHS, unordered=True, draw=lambda d: _dir_ext(d, depth=1),
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"]), depth=1),
    ways=("find {dir} -maxdepth 1 -type f -name '*.{ext:raw}'", "find {dir} -maxdepth 1 -type f | grep '\\.{ext:raw}$'"),
    asks=("find the {ext} files directly in {dir}, not in its subdirectories", "list {ext} files in {dir} without descending", "which {ext} files are directly in {dir}?",
          "find {ext} files in {dir} only, not deeper", "show {ext} files of {dir}, top level only", "{ext} files right in {dir}, no subfolders",
          "which files right in {dir} end in {ext}? skip subfolders", "i need only the {ext} files at the top level of {dir}", "find files ending in {ext} in {dir}, do not recurse",
          "get {ext} files from {dir} itself and nothing below", "non-recursive search for {ext} files in {dir}", "{dir}: {ext} files at the first level only"),
    nouns=("the {ext} files directly in {dir}", "the {ext} files of {dir}, not of its subdirectories", "{ext} files right in {dir}, no deeper", "the top level {ext} files of {dir}",
           "the files at the first level of {dir} with extension {ext}", "all {ext} files that are in {dir} itself", "the {ext} files of {dir} without those of deeper folders"),
)
entry(
    "find_not_ext", START, PATHS, unordered=True, draw=_dir_ext,
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: not q.endswith("." + p["ext"])),
    ways=("find {dir} -type f ! -name '*.{ext:raw}'", "find {dir} -type f | grep -v '\\.{ext:raw}$'"),
    asks=("find all files [in|under] {dir} that are not {ext} files", "list files under {dir} [except|other than|but not] {ext} files", "which files in {dir} do not end in {ext}?",
          "everything below {dir} that isn't a {ext} file", "find files in {dir} without the extension {ext}", "show non-{ext} files under {dir}",
          "what files under {dir} do not have the ending {ext}?", "i need every file in {dir} and below except those ending in {ext}",
          "get all files within {dir} whose extension is not {ext}", "search {dir} recursively for anything that isn't a {ext} file, files only",
          "all files below {dir}, excluding {ext} files", "{dir}: every file that does not have the extension {ext}"),
    nouns=("the files under {dir} that are not {ext} files", "all files in {dir} except {ext} files", "files of {dir} not ending in {ext}", "every non-{ext} file below {dir}",
           "the files anywhere in {dir} whose extension is not {ext}", "all files within {dir} other than {ext} files", "the files below {dir} that have another ending than {ext} or none"),
)
entry(
    "find_files", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: len(d.world.files(p)) > 1)},
    reference=lambda w, x, p: w.files(p["dir"]),
    ways=("find {dir} -type f", "find {dir} -not -type d -not -type l"),
    asks=("find all files [in|under|below] {dir}", "list [every|all] regular files [in|under] {dir} [recursively|]", "which files are there [under|below] {dir}?",
          "show all files in {dir} and its subdirectories", "search {dir} for files", "list files anywhere below {dir}", "what files does {dir} hold, at any depth?",
          "i need the paths of all files within {dir}, recursively", "display every file in the {dir} tree", "get all regular files from {dir} and everything below",
          "recursively list files, starting at {dir}", "{dir}: all files, recursively, no directories"),
    nouns=("[all|the] files [under|below|in] {dir}", "every file in {dir} and its subdirectories", "the regular files under {dir}", "all files anywhere below {dir}",
           "the files anywhere in the {dir} tree", "all regular files within {dir}", "the files that {dir} and its subfolders hold"),
)
entry(
    "find_dirs", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: bool(d.world.directories(p)))},
    reference=lambda w, x, p: w.directories(p["dir"]),
    ways=("find {dir} -mindepth 1 -type d", "find {dir} -type d | tail -n +2"),
    asks=("find all [directories|folders|subdirectories] [in|under|below] {dir}", "list the subdirectories of {dir} [recursively|]", "which folders are there under {dir}?",
          "show every directory below {dir}", "search {dir} for folders", "list subfolders anywhere in {dir}", "what subdirectories does {dir} have, at any depth?",
          "i need the paths of all directories within {dir}", "display every directory in the tree below {dir}", "get all folders from inside {dir}, recursively",
          "recursively list directories below {dir}", "{dir}: all subfolders, recursively"),
    nouns=("the [directories|folders|subdirectories] [under|below|in] {dir}", "all subdirectories of {dir}", "every folder in {dir}", "the directories anywhere below {dir}",
           "the directories anywhere in the {dir} tree", "all folders within {dir}", "the directories at every level beneath {dir}"),
)
entry(
    "find_name", START, PATHS, unordered=True,
    draw=lambda d: {"dir": (q := d.dir(lambda p: bool(d.world.files(p)))), "name": base(d.pick(p for p in d.world.files(q) if not base(p).startswith(".")))},
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: base(q) == p["name"]),
    ways=("find {dir} -type f -name {name}", "find {dir} -type f | grep '/{name:raw}$'"),
    asks=("find the file [named|called|] {name} [in|under|below] {dir}", "where is [the file|] {name} [under|in] {dir}?", "locate {name} below {dir}", "search {dir} for a file named {name}",
          "look for {name} in {dir}", "in {dir}, find {name}", "is there a file {name} somewhere under {dir}? print its path", "i need the path of {name} somewhere within {dir}",
          "find every file in the {dir} tree that is called {name}", "get the location of {name} below {dir}", "recursively look for a file with the name {name}, starting at {dir}",
          "{dir}: where in there is {name}?"),
    nouns=("the file named {name} under {dir}", "files called {name} in {dir}", "the path of {name} below {dir}", "where {name} is in {dir}", "the files with the name {name} within {dir}",
           "all files in the {dir} tree that are called {name}"),
)
entry(
    "find_glob", START, PATHS, unordered=True,
    draw=lambda d: {"dir": (q := d.dir(lambda p: bool(d.world.files(p)))), "word": base(d.pick(p for p in d.world.files(q) if base(p)[:3].isalpha()))[: d.rng.choice((2, 3))]},
    reference=lambda w, x, p: w.files(p["dir"], lambda q, _f: base(q).startswith(p["word"])),
    ways=("find {dir} -type f -name '{word:raw}*'", "find {dir} -type f | grep '/{word:raw}[^/]*$'"),
    asks=("find files [in|under] {dir} whose name [starts|begins] with {word}", "list files below {dir} starting with {word}", "which files in {dir} have a name beginning with {word}?",
          "search {dir} for file names that start with {word}", "files under {dir} with the prefix {word}", "locate all files in {dir} that have {word} at the start of their name",
          "what files under {dir} have a name that begins with {word}?", "i need the files within {dir} whose name starts with {word}",
          "find every file in the {dir} tree with a name beginning with {word}", "get files from {dir} and below that start with {word} (the name)",
          "recursively look for files with {word} at the start of their name, in {dir}", "{dir}: all files with a name starting with {word}"),
    nouns=("the files in {dir} whose name starts with {word}", "files under {dir} beginning with {word}", "all files of {dir} with the prefix {word}",
           "the files below {dir} that have {word} at the start of their name", "the files anywhere in {dir} with a name starting with {word}",
           "all files within {dir} whose name begins with {word}", "the files in the {dir} tree that have a name beginning with {word}"),
)
_UNITS = {"k": (1024, ("{n}k", "{n} KiB", "{n} kilobytes", "{n} kB")), "c": (1, ("{n} bytes",))}


def _size(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 2)
    sizes = sorted(len(d.world.file(q).data) for q in d.world.files(directory))
    middle = sizes[len(sizes) // 2]
    unit = d.rng.choice("kc")
    n = max(1, middle // 1024) if unit == "k" else max(2, middle - middle % 10 + 5)
    return {"dir": directory, "n": str(n), "unit": unit, "size": d.rng.choice(_UNITS[unit][1]).format(n=n), "bytes": str(n * _UNITS[unit][0])}


entry(
    "find_larger", START, PATHS, unordered=True, draw=_size,
    # find rounds sizes up to whole units, so +1k means 1,025 bytes and more
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: len(f.data) > int(p["bytes"])),
    ways=("find {dir} -type f -size +{n:raw}{unit:raw}", "find {dir} -type f -size +{bytes:raw}c"),
    asks=("find files [larger|bigger] than {size} [in|under] {dir}", "list [all|] files [over|above|greater than] {size} below {dir}", "which files in {dir} are [larger|bigger] than {size}?",
          "search {dir} for files of more than {size}", "in {dir}, show files exceeding {size}", "files under {dir} with a size over {size}", "what files under {dir} take more than {size}?",
          "i need all files within {dir} that are larger than {size}", "find every file in the {dir} tree whose size is above {size}",
          "get the files from {dir} and below with more than {size}", "recursively look for files over {size}, starting at {dir}", "{dir}: files bigger than {size}"),
    nouns=("the files [larger|bigger] than {size} under {dir}", "files over {size} in {dir}", "all files in {dir} above {size}", "every file below {dir} of more than {size}",
           "the files anywhere in {dir} with more than {size}", "all files within {dir} exceeding {size}", "the files in the {dir} tree whose size is over {size}"),
)
entry(
    "find_smaller", START, PATHS, unordered=True, draw=lambda d: _size(d) | {},
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: len(f.data) < int(p["bytes"])),
    ways=("find {dir} -type f -size -{bytes:raw}c", "find {dir} -type f ! -size {bytes:raw}c ! -size +{bytes:raw}c"),
    asks=("find files smaller than {bytes} bytes [in|under] {dir}", "list [all|] files [under|below] {bytes} bytes in {dir}", "which files in {dir} are smaller than {bytes} bytes?",
          "search {dir} for files of less than {bytes} bytes", "in {dir}, show files below a size of {bytes} bytes", "files under {dir} with fewer than {bytes} bytes",
          "what files under {dir} take less than {bytes} bytes?", "i need all files within {dir} that are smaller than {bytes} bytes",
          "find every file in the {dir} tree whose size is under {bytes} bytes", "get the files from {dir} and below with less than {bytes} bytes",
          "recursively look for files of fewer than {bytes} bytes, starting at {dir}", "{dir}: files smaller than {bytes} bytes"),
    nouns=("the files smaller than {bytes} bytes under {dir}", "files under {bytes} bytes in {dir}", "all files in {dir} below {bytes} bytes",
           "every file in {dir} of less than {bytes} bytes", "the files anywhere in {dir} with less than {bytes} bytes", "all files within {dir} under {bytes} bytes",
           "the files in the {dir} tree whose size is below {bytes} bytes"),
)
entry(
    "find_empty", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: any(not d.world.file(q).data for q in d.world.files(p)))},
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: not f.data),
    ways=("find {dir} -type f -empty", "find {dir} -type f -size 0"),
    asks=("find [all|] empty files [in|under] {dir}", "list files in {dir} that are empty", "which files under {dir} are empty?", "search {dir} for zero-byte files",
          "show files without content below {dir}", "are there empty files in {dir}? list them", "what files under {dir} have nothing in them?", "i need all files of size zero within {dir}",
          "find every file in the {dir} tree that has no content", "get the empty files from {dir} and below", "recursively look for empty files, starting at {dir}", "{dir}: all empty files"),
    nouns=("the empty files [under|in] {dir}", "all files in {dir} that are empty", "zero-byte files under {dir}", "files without any content in {dir}",
           "the files anywhere in {dir} that have no bytes", "all empty files within {dir}", "the files of size 0 in the {dir} tree"),
)


def _days(d: Draw, *, older: bool) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    ages = sorted(d.world.file(q).age_seconds // DAY for q in d.world.files(directory))
    n = d.rng.choice([a for a in (1, 2, 3, 5, 7, 10, 14, 20, 30, 45) if a <= max(1, ages[-1]) or not older])
    return {"dir": directory, "n": str(n)}


entry(
    "find_recent", START, PATHS, unordered=True, draw=lambda d: _days(d, older=False),
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: f.age_seconds < int(p["n"]) * DAY),
    ways=("find {dir} -type f -mtime -{n:raw}", "find {dir} -type f -newermt '{n:raw} days ago'"),
    asks=("find files [changed|modified] [in|within|during] the last {n} days [in|under] {dir}", "which files [under|in] {dir} were modified in the last {n} days?",
          "list files below {dir} changed less than {n} days ago", "what changed in {dir} in the past {n} days?", "show files of {dir} not older than {n} days",
          "recently modified files in {dir}, {n} days or less", "what files within {dir} were changed less than {n} days ago?",
          "i need all files under {dir} with a modification time in the last {n} days", "find every file in the {dir} tree modified within {n} days",
          "get the files from {dir} and below that changed in the past {n} days", "recursively look for files modified less than {n} days ago, starting at {dir}",
          "{dir}: files modified in the last {n} days"),
    nouns=("the files changed in the last {n} days under {dir}", "files in {dir} modified within {n} days", "all files of {dir} changed less than {n} days ago",
           "what was modified under {dir} in the past {n} days", "the files anywhere in {dir} that changed in the past {n} days", "all files within {dir} modified less than {n} days ago",
           "the files in the {dir} tree with a change in the last {n} days"),
)
entry(
    "find_old", START, PATHS, unordered=True, draw=lambda d: _days(d, older=True),
    # find drops the fraction: +3 means at least four whole days
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: f.age_seconds // DAY > int(p["n"])),
    ways=("find {dir} -type f -mtime +{n:raw}", "find {dir} -type f | while IFS= read -r f; do if [ $(( ($(date +%s) - $(stat -c %Y \"$f\")) / 86400 )) -gt {n:raw} ]; then echo \"$f\"; fi; done"),
    asks=("find files [older than|not changed for more than|not modified for over] {n} days [in|under] {dir}", "which files [under|in] {dir} are older than {n} days?",
          "list files below {dir} last modified more than {n} days ago", "show old files in {dir}, over {n} days", "search {dir} for anything older than {n} days",
          "files of {dir} untouched for more than {n} days", "what files within {dir} were last changed more than {n} days ago?",
          "i need all files under {dir} that nobody modified for over {n} days", "find every file in the {dir} tree older than {n} days",
          "get the files from {dir} and below that have not changed for more than {n} days", "recursively look for files over {n} days old, starting at {dir}",
          "{dir}: files older than {n} days"),
    nouns=("the files older than {n} days under {dir}", "files in {dir} not changed for more than {n} days", "all files of {dir} over {n} days old", "what is older than {n} days in {dir}",
           "the files anywhere in {dir} untouched for over {n} days", "all files within {dir} last modified more than {n} days ago",
           "the files in the {dir} tree that are over {n} days old"),
)


def _mode(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p)) > 1)
    return {"dir": directory, "mode": d.pick(sorted({f"{d.world.file(q).mode:o}" for q in d.world.files(directory)}))}


entry(
    "find_mode", START, PATHS, unordered=True, draw=_mode,
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: f"{f.mode:o}" == p["mode"]),
    ways=("find {dir} -type f -perm {mode:raw}", "find {dir} -type f -printf '%m %p\\n' | sed -n 's/^{mode:raw} //p'"),
    asks=("find files [in|under] {dir} with [permissions|mode|permission] {mode}", "which files in {dir} have mode {mode}?", "list files under {dir} whose permissions are {mode}",
          "search {dir} for files with mode {mode}", "show files of {dir} having exactly {mode} permissions", "files below {dir}, permission {mode}",
          "what files within {dir} have exactly the mode {mode}?", "i need all files under {dir} with permission bits {mode}", "find every file in the {dir} tree whose mode is {mode}",
          "get the files from {dir} and below that have permissions {mode}", "recursively look for files with mode exactly {mode}, starting at {dir}", "{dir}: files with permissions {mode}"),
    nouns=("the files with permissions {mode} under {dir}", "files in {dir} that have mode {mode}", "all files of {dir} with mode {mode}", "files below {dir} having permission {mode}",
           "the files anywhere in {dir} whose mode is exactly {mode}", "all files within {dir} with permissions {mode}", "the files in the {dir} tree with the mode {mode}"),
)
entry(
    "find_executable", START, PATHS, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: any(d.world.file(q).mode & 0o111 for q in d.world.files(p)))},
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: bool(f.mode & 0o111)),
    ways=("find {dir} -type f -executable", "find {dir} -type f -perm /111"),
    asks=("find [all|] executable files [in|under] {dir}", "which files in {dir} are executable?", "list files under {dir} that can be executed", "search {dir} for executables",
          "show executable files below {dir}", "files of {dir} with the execute bit set", "what files within {dir} can be executed?", "i need all executable files under {dir}",
          "find every file in the {dir} tree that may be run", "get the executables from {dir} and below", "recursively look for executable files, starting at {dir}",
          "{dir}: all executable files"),
    nouns=("the executable files [under|in] {dir}", "all files in {dir} that are executable", "executables below {dir}", "files of {dir} that can be executed",
           "the files anywhere in {dir} that may be run", "all executable files within {dir}", "the executables in the {dir} tree"),
)
entry(
    "find_containing", START, PATHS, unordered=True,
    draw=lambda d: {"dir": d.dir(lambda p: any(t.startswith(p + "/") for t in d.scene.texts)), "word": d.word_in(d.text())},
    reference=lambda w, x, p: w.files(p["dir"], lambda _q, f: p["word"].encode() in f.data),
    ways=("grep -rl {word} {dir}", "find {dir} -type f -exec grep -l {word} {{}} +".replace("{{}}", "{}")),
    asks=("which files [in|under] {dir} [contain|mention] {word}?", "find files under {dir} that contain [the text|] {word}", "list files in {dir} [mentioning|containing] {word}",
          "search all files below {dir} for {word} and print only the file names", "grep {word} recursively in {dir}, names only", "names of files in {dir} with {word} inside",
          "what files within {dir} have {word} in them?", "i need the names of all files under {dir} whose text contains {word}", "find every file in the {dir} tree with {word} inside",
          "get the paths of the files in {dir} and below that mention {word}", "recursively search {dir} for files that contain {word}, print the paths only",
          "{dir}: which files have {word} in their text?"),
    nouns=("the files in {dir} that contain {word}", "files under {dir} mentioning {word}", "the names of files below {dir} with {word} in them",
           "all files of {dir} containing the text {word}", "the files anywhere in {dir} with {word} in their text", "all files within {dir} that mention {word}",
           "the files in the {dir} tree with {word} inside"),
)
entry(
    "grep_recursive", START, LINES, unordered=True,
    draw=lambda d: {"dir": d.dir(lambda p: any(t.startswith(p + "/") for t in d.scene.texts)), "word": d.word_in(d.text())},
    reference=lambda w, x, p: [line for q in w.files(p["dir"]) for line in w.lines(q) if p["word"] in line],
    ways=("grep -rh {word} {dir}", "find {dir} -type f -exec cat {} + | grep {word}"),
    asks=("search all files [in|under] {dir} for {word} and print the lines without file names", "grep {word} everywhere below {dir}, lines only",
          "show every line with {word} in any file of {dir}, no file names", "find lines mentioning {word} anywhere under {dir}, do not print names",
          "print matching lines for {word} from all files in {dir}, without names", "all lines with {word} in the files of {dir}",
          "which lines of any file below {dir} have {word} in them? lines only, no names", "i need every line mentioning {word} from the files in {dir} and below, without names",
          "recursively grep {dir} for {word}, suppress the file names", "get the lines with {word} from all files in the {dir} tree, no names in front"),
    nouns=("the lines with {word} in all files under {dir}", "every line containing {word} in any file of {dir}", "lines mentioning {word} anywhere below {dir}",
           "all {word} lines from the files in {dir}", "the lines from any file in the {dir} tree that contain {word}", "all lines with {word} in files anywhere within {dir}"),
)
entry(
    "list_names", START, LINES, unordered=True, draw=lambda d: {"dir": d.dir()},
    reference=lambda w, x, p: [base(q) for q, _n in w.below(p["dir"], depth=1) if not base(q).startswith(".")],
    ways=("ls {dir}", "find {dir} -mindepth 1 -maxdepth 1 -not -name '.*' -printf '%f\\n'"),
    asks=("list [the contents of|what is in] {dir}", "show what is in {dir}", "what is in {dir}?", "list files and folders in {dir}", "which entries does {dir} have?",
          "show the content of {dir}", "{dir}: what is there?", "ls {dir}", "i need the names of the files and folders in {dir}", "display the entries of {dir}, one per line",
          "get a plain listing of {dir}"),
    nouns=("the names of everything in {dir}", "the contents of {dir}", "the entries of {dir}", "what is in {dir}", "the names of the files and folders in {dir}",
           "all names that ls shows for {dir}"),
)
entry(
    "list_names.all", START, LINES, unordered=True, draw=lambda d: {"dir": d.dir(lambda p: any(base(q).startswith(".") for q, _ in d.world.below(p, depth=1)))},
    reference=lambda w, x, p: [base(q) for q, _n in w.below(p["dir"], depth=1)],
    ways=("ls -A {dir}", "find {dir} -mindepth 1 -maxdepth 1 -printf '%f\\n'"),
    asks=("list everything in {dir}, hidden [files|ones] too", "show all entries of {dir} including hidden ones", "what is in {dir}, hidden files included?", "list {dir} with dot files",
          "names in {dir}, also the hidden ones", "show {dir} complete with hidden entries", "ls {dir}, hidden entries too", "i need every name in {dir}, also those that start with a dot",
          "display all entries of {dir}, the dot files as well", "get a listing of {dir} that includes hidden files"),
    nouns=("everything in {dir} including hidden files", "all names in {dir}, hidden ones too", "the entries of {dir} with dot files", "the complete contents of {dir} with hidden ones",
           "the names of all files and folders in {dir}, the hidden ones too", "all entries of {dir}, dot files too"),
)


def _ranked(by: str) -> object:
    def choose(w: object, _x: object, p: Params) -> list[str]:
        files = [q for q, n in w.below(p["dir"], depth=1) if isinstance(n, File) and not base(q).startswith(".")]  # type: ignore[attr-defined]
        key = {"newest": lambda q: w.file(q).age_seconds, "oldest": lambda q: -w.file(q).age_seconds, "largest": lambda q: -len(w.file(q).data)}[by]  # type: ignore[attr-defined]
        return [base(min(files, key=key))]

    return choose


def _clear_winner(d: Draw, what: str) -> Params:
    def distinct(p: str) -> bool:
        entries = list(d.world.below(p, depth=1))
        files = [n for q, n in entries if isinstance(n, File) and not base(q).startswith(".")]
        values = sorted((n.age_seconds if what == "age" else len(n.data)) for n in files)
        flat = len(files) > 2 and len(files) == len([1 for q, _ in entries if not base(q).startswith(".")])
        return flat and values[0] != values[1] and values[-1] != values[-2]

    return {"dir": d.dir(distinct)}


for _word, _flags, _what, _synonyms in (
    ("newest", "-t", "age", "[newest|most recent|latest]"),
    ("oldest", "-tr", "age", "[oldest|least recently changed]"),
    ("largest", "-S", "size", "[largest|biggest]"),
):
    entry(
        f"{_word}_file", START, VALUE, draw=lambda d, w=_what: _clear_winner(d, w), reference=_ranked(_word),  # type: ignore[arg-type, misc]
        ways=(f"ls {_flags} {{dir}} | head -n 1", f"ls -1 {_flags} {{dir}} | sed 1q"),
        asks=(f"which is the {_synonyms} file in {{dir}}?", f"what is the name of the {_synonyms} file in {{dir}}?", f"find the {_synonyms} file in {{dir}}", f"show the name of the {_word} file in {{dir}}",
              f"in {{dir}}, name the {_word} file", f"{_word} file in {{dir}}",
              f"i need to know which file in {{dir}} is the {_synonyms}", f"get the name of the {_synonyms} of all files in {{dir}}", f"{{dir}}: name of the {_word} file", f"print which file of {{dir}} is the {_synonyms}"),
        nouns=(f"the name of the {_synonyms} file in {{dir}}", f"the {_word} file of {{dir}}", f"which file in {{dir}} is the {_word}", f"the {_word} of the files in {{dir}}"),
    )

entry(
    "count_files", START, VALUE, draw=lambda d: {"dir": d.dir(lambda p: len(d.world.files(p)) > 9)},
    reference=lambda w, x, p: [str(len(w.files(p["dir"])))],
    ways=("find {dir} -type f | wc -l", "find {dir} -type f -printf x | wc -c"),
    asks=("count [all|the|] files [in|under|below] {dir} [recursively|and its subdirectories|]", "how many files are [there|] [under|in] {dir} [and below|in total|]?",
          "number of files under {dir}", "how many files does {dir} hold?", "give me the count of files below {dir}", "{dir}: how many files?", "what is the number of files below {dir}?",
          "i need to know how many files there are within {dir}, recursively", "get the total number of files in the {dir} tree",
          "work out how many regular files {dir} and its subdirectories hold", "recursive file count for {dir}", "{dir}: number of files at any depth"),
    nouns=("the number of files under {dir}", "how many files there are in {dir}", "the file count of {dir}", "the amount of files below {dir}", "the total number of files within {dir}",
           "how many files the {dir} tree has"),
)
entry(
    "count_ext", START, VALUE, draw=_dir_ext,
    reference=lambda w, x, p: [str(len(w.files(p["dir"], lambda q, _f: extension(q) == p["ext"] or q.endswith("." + p["ext"]))))],
    ways=("find {dir} -type f -name '*.{ext:raw}' | wc -l", "find {dir} -type f -name '*.{ext:raw}' -printf x | wc -c"),
    asks=("count the {ext} files [in|under|below] {dir}", "how many {ext} files are [there|] [under|in] {dir}?", "number of {ext} files under {dir}", "how many files in {dir} end in {ext}?",
          "give me the count of {ext} files below {dir}", "{dir}: how many {ext} files?", "what is the number of {ext} files below {dir}?",
          "i need to know how many {ext} files there are within {dir}, recursively", "get the total number of {ext} files in the {dir} tree",
          "work out how many {ext} files {dir} and its subdirectories hold", "recursive count of the {ext} files in {dir}", "{dir}: number of {ext} files at any depth"),
    nouns=("the number of {ext} files under {dir}", "how many {ext} files there are in {dir}", "the count of {ext} files below {dir}", "the amount of {ext} files in {dir}",
           "the total number of {ext} files within {dir}", "how many {ext} files the {dir} tree has"),
)
