"""Skills that search many files at once and say where: lines with their files, counts per file and in total, files of one kind that hold a text."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, base, extension

START, LINES, PATHS, VALUE = Kind.START, Kind.LINES, Kind.PATHS, Kind.VALUE
Said = Callable[[str, int, str], str]  # path, number and text of a line -> what is printed of it


def _tree(d: Draw) -> Params:
    """A text file's directory, or one further up, and a word of the file."""
    file = d.text()
    return {"dir": d.dir(lambda p: file.startswith(p + "/") and len(d.world.files(p)) > 1), "word": d.word_in(file)}


def _tree_any_case(d: Draw) -> Params:
    p = _tree(d)
    return p | {"word": d.rng.choice((p["word"].upper(), p["word"].capitalize()))}


def _tree_ext(d: Draw) -> Params:
    """The same with the file's extension; other files have another one."""
    file = d.text()
    ext = extension(file)
    directory = d.dir(lambda p: file.startswith(p + "/") and any(extension(q) != ext for q in d.world.files(p)))
    return {"dir": directory, "ext": ext, "word": d.word_in(file)}


def _outside(p: Params, path: str) -> bool:
    return p["name"] not in posixpath.relpath(path, p["dir"]).split("/")[:-1]


def _tree_but(d: Draw) -> Params:
    """A directory of the tree to stay out of; the word is one that occurs in it as well, where there is one."""
    p = _tree(d)
    inner = [q for q in d.world.directories(p["dir"]) if base(q) != base(p["dir"]) and d.world.files(q)]
    found = [q for q in inner if any(p["word"] in line for f in d.world.files(q) for line in d.world.lines(f))]
    return p | {"name": base(d.pick(found or inner))}


def _flat_ext(d: Draw) -> Params:
    """A directory that has several visible files of one extension itself, and a word of one of them."""
    directory = d.dir(lambda p: len(d.world.files(p, depth=1)) > 2)
    ext = d.ext(directory, depth=1, least=2)
    files = _flat(d.world, {"dir": directory, "ext": ext})
    if len(files) < 2:
        raise NoInstanceError
    return {"dir": directory, "ext": ext, "word": d.word([line for q in files for line in d.world.lines(q)], share=(0.01, 0.9))}


def _flat(w: World, p: Params) -> list[str]:
    return [q for q in w.files(p["dir"], depth=1) if q.endswith("." + p["ext"]) and not base(q).startswith(".")]


def _hits(w: World, files: list[str], word: str, say: Said, *, any_case: bool = False) -> Lines:
    def has(line: str) -> bool:
        return word.lower() in line.lower() if any_case else word in line

    return [say(q, i, line) for q in files for i, line in enumerate(w.lines(q), 1) if has(line)]


def _named(path: str, _number: int, line: str) -> str:
    return f"{path}:{line}"


def _numbered(path: str, number: int, line: str) -> str:
    return f"{path}:{number}:{line}"


def _counts(w: World, files: list[str], word: str) -> Lines:
    return [f"{q}:{sum(word in line for line in w.lines(q))}" for q in files]


def _ending(w: World, p: Params) -> list[str]:
    return w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"]))


entry(
    "search_tree", START, LINES, unordered=True, names_paths=True, draw=_tree, reference=lambda w, x, p: _hits(w, w.files(p["dir"]), p["word"], _named),
    ways=("grep -r {word} {dir}", "find {dir} -type f -exec grep -H {word} {} +"),
    asks=("search for {word} in all files under {dir} and show the file name with each line", "grep {word} recursively in {dir}", "recursively search {dir} for {word}, print file names and matching lines", "find every line with {word} in the files of {dir} and its subdirectories, with the name of the file",
          "which lines in which files under {dir} contain {word}?", "show all occurrences of {word} below {dir}, each line with its file in front", "look for {word} in every file of the {dir} tree, show file and line", "{dir}: grep -r for {word}",
          "i need all lines mentioning {word} in any file under {dir}, along with the file names", "do a recursive grep for {word} in {dir}", "where is {word} mentioned below {dir}? print the file and the line"),
    nouns=("the lines with {word} in all files under {dir}, each with its file name", "the matches of {word} below {dir} with file names", "every line with {word} in the {dir} tree together with the name of its file",
           "the lines in files of {dir} and its subdirectories that mention {word}, file name in front", "all lines containing {word} anywhere under {dir}, preceded by the file they are in"),
)
entry(
    "search_tree.numbered", START, LINES, unordered=True, names_paths=True, draw=_tree, reference=lambda w, x, p: _hits(w, w.files(p["dir"]), p["word"], _numbered),
    ways=("grep -rn {word} {dir}", "find {dir} -type f -exec grep -Hn {word} {} +"),
    asks=("search for {word} in all files under {dir}, show file names and line numbers", "grep {word} recursively in {dir} with line numbers", "recursively search {dir} for {word} and print file, line number and line", "find every line with {word} in the files of {dir} and below, with file name and line number",
          "in which files and on which lines under {dir} does {word} occur? show the lines as well", "show all occurrences of {word} below {dir} with their file and line number", "look for {word} in every file of the {dir} tree, give file:line:text", "{dir}: grep -rn for {word}",
          "i need all lines mentioning {word} in any file under {dir}, along with file names and line numbers", "do a recursive grep for {word} in {dir} showing line numbers", "where exactly is {word} mentioned below {dir}? print the file, the line number and the line"),
    nouns=("the lines with {word} in all files under {dir}, with file names and line numbers", "the matches of {word} below {dir} as file, line number and line", "every line with {word} in the {dir} tree together with its file name and line number",
           "the lines in files of {dir} and its subdirectories that mention {word}, file and line number in front", "all lines containing {word} anywhere under {dir}, preceded by their file and line number"),
)
entry(
    "search_tree.nocase", START, LINES, unordered=True, names_paths=True, draw=_tree_any_case, reference=lambda w, x, p: _hits(w, w.files(p["dir"]), p["word"], _numbered, any_case=True),
    ways=("grep -rni {word} {dir}", "find {dir} -type f -exec grep -Hni {word} {} +"),
    asks=("search for {word} in all files under {dir} ignoring case, show file names and line numbers", "grep {word} recursively and case-insensitively in {dir} with line numbers", "recursively search {dir} for {word} in any case and print file, line number and line",
          "find every line with {word}, upper or lower case, in the files of {dir} and below, with file name and line number", "in which files and on which lines under {dir} does {word} occur, regardless of case? show the lines as well", "show all occurrences of {word} in any capitalisation below {dir} with their file and line number",
          "look for {word} (case does not matter) in every file of the {dir} tree, give file:line:text", "{dir}: grep -rni for {word}", "i need all lines mentioning {word}, ignoring case, in any file under {dir}, along with file names and line numbers", "do a case-insensitive recursive grep for {word} in {dir} showing line numbers"),
    nouns=("the lines with {word} in any case in all files under {dir}, with file names and line numbers", "the case-insensitive matches of {word} below {dir} as file, line number and line", "every line with {word}, upper or lower case, in the {dir} tree together with its file name and line number",
           "the lines in files of {dir} and its subdirectories that mention {word} (ignoring case), file and line number in front", "all lines containing {word} regardless of case anywhere under {dir}, preceded by their file and line number"),
)
entry(
    "search_tree.ext", START, LINES, unordered=True, names_paths=True, draw=_tree_ext, reference=lambda w, x, p: _hits(w, _ending(w, p), p["word"], _numbered),
    ways=("grep -rn --include='*.{ext:raw}' {word} {dir}", "find {dir} -type f -name '*.{ext:raw}' -exec grep -Hn {word} {} +"),
    asks=("search for {word} in all {ext} files under {dir}, show file names and line numbers", "grep {word} recursively in the {ext} files of {dir} with line numbers", "recursively search only {ext} files in {dir} for {word} and print file, line number and line",
          "find every line with {word} in the {ext} files of {dir} and below, with file name and line number", "in which {ext} files and on which lines under {dir} does {word} occur? show the lines as well", "show all occurrences of {word} in {ext} files below {dir} with their file and line number",
          "look for {word} in every {ext} file of the {dir} tree, give file:line:text", "{dir}: grep -rn for {word}, {ext} files only", "i need all lines mentioning {word} in any {ext} file under {dir}, along with file names and line numbers",
          "do a recursive grep for {word} in {dir}, restricted to {ext} files, showing line numbers"),
    nouns=("the lines with {word} in all {ext} files under {dir}, with file names and line numbers", "the matches of {word} in {ext} files below {dir} as file, line number and line", "every line with {word} in the {ext} files of the {dir} tree together with its file name and line number",
           "the lines in {ext} files of {dir} and its subdirectories that mention {word}, file and line number in front", "all lines containing {word} in {ext} files anywhere under {dir}, preceded by their file and line number"),
)
entry(
    "search_tree.excluding", START, LINES, unordered=True, names_paths=True, draw=_tree_but, reference=lambda w, x, p: _hits(w, w.files(p["dir"], lambda q, _f: _outside(p, q)), p["word"], _numbered),
    ways=("grep -rn --exclude-dir={name} {word} {dir}", "find {dir} -type d -name {name} -prune -o -type f -exec grep -Hn {word} {} +"),
    asks=("search for {word} in all files under {dir} except in directories named {name}, show file names and line numbers", "grep {word} recursively in {dir} with line numbers, skip the directory {name}", "recursively search {dir} for {word} without descending into {name}, print file, line number and line",
          "find every line with {word} under {dir} but not in a folder called {name}, with file name and line number", "in which files and on which lines under {dir} does {word} occur, not counting folders named {name}? show the lines as well", "show all occurrences of {word} below {dir} with file and line number, {name} folders excluded",
          "look for {word} in every file of the {dir} tree other than those beneath {name} directories, give file:line:text", "{dir}: grep -rn for {word}, excluding any directory {name}", "i need all lines mentioning {word} under {dir} except for directories called {name}, along with file names and line numbers",
          "do a recursive grep for {word} in {dir} that leaves out {name} directories and shows line numbers"),
    nouns=("the lines with {word} under {dir} except in directories named {name}, with file names and line numbers", "the matches of {word} below {dir} outside of {name} directories as file, line number and line", "every line with {word} in the {dir} tree but not in a folder called {name}, with its file name and line number",
           "the lines mentioning {word} in files of {dir} and its subdirectories other than {name}, file and line number in front", "all lines containing {word} anywhere under {dir}, {name} folders excluded, preceded by their file and line number"),
)
entry(
    "search_tree.counts", START, LINES, unordered=True, names_paths=True, draw=_tree, reference=lambda w, x, p: _counts(w, w.files(p["dir"]), p["word"]),
    ways=("grep -rc {word} {dir}", "find {dir} -type f -exec grep -Hc {word} {} +"),
    asks=("for every file under {dir} print its name and the number of lines that contain {word}", "count the lines with {word} in each file under {dir}, show file:count for all files", "how many lines with {word} does each file in {dir} and below have? list all files with their counts, zeros too", "grep -c {word} for every file in the {dir} tree",
          "show per file how many lines mention {word}, for all files below {dir}", "{dir}: count of {word} lines in each file, recursively, also files without any", "list all files under {dir} with the number of their lines containing {word}", "i need the count of lines with {word} file by file for everything under {dir}, zero counts included",
          "recursively count matching lines for {word} in {dir}, one file:count line per file", "get the name of each file below {dir} followed by how many of its lines have {word}"),
    nouns=("the number of lines with {word} for each file under {dir}", "the counts of {word} lines per file below {dir}, zeros included", "each file in the {dir} tree with its count of lines containing {word}", "the file names under {dir} together with the number of lines that mention {word}",
           "how many lines of every single file below {dir} contain {word}"),
)
entry(
    "search_here", START, LINES, unordered=True, names_paths=True, draw=_flat_ext, reference=lambda w, x, p: _hits(w, _flat(w, p), p["word"], _numbered),
    ways=("grep -n {word} {dir}/*.{ext:raw}", "find {dir} -maxdepth 1 -name '*.{ext:raw}' ! -name '.*' -type f -exec grep -Hn {word} {} +"),
    asks=("search for {word} in the {ext} files directly in {dir}, show file names and line numbers", "grep -n {word} in all {ext} files right in {dir}, not in subfolders", "find every line with {word} in the {ext} files of {dir} itself, with file name and line number, no recursion", "which lines of the {ext} files directly in {dir} contain {word}? print file, line number and line",
          "show all occurrences of {word} in the {ext} files at the top level of {dir} with file and line number", "look for {word} in every {ext} file lying directly in {dir}, give file:line:text", "{dir}: lines with {word} in its own {ext} files (not deeper), as file:number:line",
          "i need all lines mentioning {word} in {ext} files directly in {dir}, along with file names and line numbers", "non-recursive search for {word} in the {ext} files of {dir}, with names and line numbers", "list file, line number and line wherever a {ext} file directly in {dir} mentions {word}"),
    nouns=("the lines with {word} in the {ext} files directly in {dir}, with file names and line numbers", "the matches of {word} in the {ext} files right in {dir} as file, line number and line", "every line with {word} in the {ext} files of {dir} itself together with its file name and line number",
           "the lines that mention {word} in {ext} files at the top level of {dir}, file and line number in front", "all lines containing {word} in {ext} files directly in {dir}, preceded by their file and line number"),
)
entry(
    "search_total", START, VALUE, draw=_tree, reference=lambda w, x, p: [str(len(_hits(w, w.files(p["dir"]), p["word"], _named)))],
    ways=("grep -rh {word} {dir} | wc -l", "find {dir} -type f -exec cat {} + | grep -c {word}"),
    asks=("how many lines in all files under {dir} contain {word}? one number", "count the lines with {word} in all files below {dir} together", "the total number of lines mentioning {word} in the {dir} tree", "what is the total count of lines with {word} across all files in {dir} and its subdirectories?",
          "{dir}: total of all lines containing {word}, every file counted together", "tell me how many lines anywhere under {dir} have {word} in them, in total", "i need the overall number of lines with {word} in the files under {dir}", "recursively count lines matching {word} in {dir}, just the total",
          "print the sum of matching lines for {word} over all files below {dir}", "find out how many lines mention {word} in all the files of {dir} taken together"),
    nouns=("the total number of lines with {word} in all files under {dir}", "how many lines in the files below {dir} contain {word} altogether", "the overall count of lines mentioning {word} in the {dir} tree", "the sum of lines with {word} over all files of {dir} and its subdirectories",
           "how many lines anywhere under {dir} have {word} in them"),
)
entry(
    "files_with", START, PATHS, unordered=True, draw=_tree_ext, reference=lambda w, x, p: [q for q in _ending(w, p) if p["word"].encode() in w.file(q).data],
    ways=("grep -rl --include='*.{ext:raw}' {word} {dir}", "find {dir} -type f -name '*.{ext:raw}' -exec grep -l {word} {} +"),
    asks=("which {ext} files under {dir} contain {word}?", "list all {ext} files in {dir} and below that mention {word}", "find {ext} files under {dir} with the text {word} in them", "print the names of the {ext} files below {dir} that have {word} in their text",
          "{dir}: {ext} files that contain {word}, recursively", "grep -l {word} over all {ext} files of the {dir} tree", "i need every {ext} file under {dir} in which {word} occurs", "show all {ext} files within {dir} whose content includes {word}", "search the {ext} files in {dir} recursively for {word}, print only the names of the files",
          "get the paths of the {ext} files below {dir} that say {word} somewhere", "what {ext} files in the {dir} tree have a line with {word}?"),
    nouns=("the {ext} files under {dir} that contain {word}", "all {ext} files in {dir} and below with {word} in their text", "the {ext} files below {dir} that mention {word}", "the {ext} files in the {dir} tree in which {word} occurs", "the {ext} files within {dir} whose content includes {word}",
           "the {ext} files anywhere under {dir} that have {word} in them"),
)
