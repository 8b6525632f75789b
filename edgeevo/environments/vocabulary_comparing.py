"""Skills that compare: two lists, two versions of a text, two directories; lines that are there once; version order; lines of several files."""

from __future__ import annotations

import posixpath
from collections import Counter

from edgeevo.domain import Directory
from edgeevo.environments import names
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, base, text

TEXT, LINES, VALUE, START = Kind.TEXT, Kind.LINES, Kind.VALUE, Kind.START


def _lists(d: Draw) -> Params:
    first, second = d.lists()
    return {"file": first, "file2": second}


def _without_repeats(d: Draw) -> Params:
    p = _lists(d)
    if any(len(set(lines)) < len(lines) for lines in (d.world.lines(p["file"]), d.world.lines(p["file2"]))):
        raise NoInstanceError  # an earlier link has added some
    return p


def _long_lists(d: Draw) -> Params:
    """Two new lists of words without repeats, so long that nobody guesses how many they share."""
    words = d.rng.sample(names.stems(d.split), 45)
    lists = [d.rng.sample(words, d.rng.randint(12, 40)) for _ in range(2)]
    file, file2 = (d.place(d.name(d.rng.choice(("txt", "lst"))), text(lines, age_seconds=5000)) for lines in lists)
    return {"file": file, "file2": file2}


def _two_texts(d: Draw) -> Params:
    file = d.text()
    return {"file": file, "file2": d.pick(t for t in d.scene.texts if t != file and t in d.world.nodes)}


def _shared(w: World, p: Params) -> Lines:
    return [line for line in w.lines(p["file2"]) if line in w.lines(p["file"])]


def _unshared(w: World, p: Params) -> Lines:
    return sorted({*w.lines(p["file"])} ^ {*w.lines(p["file2"])})


def _versions_of_a_text(d: Draw) -> Params:
    """A text and a later version of it with one line changed and, further down, one more or one less: only one script of edits is shortest."""
    file = d.text()
    lines = d.world.lines(file)
    lone = [i for i in range(1, len(lines) - 1) if lines[i] not in (lines[i - 1], lines[i + 1]) and lines.count(lines[i]) == 1]
    i = int(d.pick(map(str, lone)))
    later = [j for j in lone if j > i + 2]
    changed = [*lines[:i], f"{d.stem()} {d.stem()} {d.stem()}", *lines[i + 1 :]]
    if later and d.rng.random() < 0.7:
        j = d.rng.choice(later)
        changed[j : j + 1] = [] if d.rng.random() < 0.5 else [f"{d.stem()} {d.stem()}", changed[j]]
    return {"file": file, "file2": d.place(d.name(file.rpartition(".")[2]), text(changed, age_seconds=300))}


def _difference(w: World, p: Params) -> Lines:
    """What diff prints for two versions as they are drawn."""
    old, new = w.lines(p["file"]), w.lines(p["file2"])
    i = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    out = [f"{i + 1}c{i + 1}", f"< {old[i]}", "---", f"> {new[i]}"]
    if len(old) != len(new):
        j = next(j for j in range(i + 1, len(old)) if old[j] != (new[j] if j < len(new) else None))
        out += [f"{j + 1}d{j}", f"< {old[j]}"] if len(old) > len(new) else [f"{j}a{j + 1}", f"> {new[j]}"]
    return out


def _two_directories(d: Draw) -> Params:
    """A directory of visible files only, and a new one that lacks some of them and has one of its own."""
    directory = d.dir(lambda p: not d.world.directories(p) and len(d.world.files(p)) > 2 and not any(base(q).startswith(".") for q in d.world.files(p)))
    files = d.world.files(directory)
    twin = d.place(d.name(), Directory())
    lacking = d.rng.sample(files, d.rng.randint(1, min(5, len(files) - 1)))
    for path, node in [(base(q), d.world.file(q)) for q in files if q not in lacking] + [(d.name("txt"), text([d.stem()], age_seconds=300))]:
        d.placed[posixpath.join(twin, path)] = node
        d.world.put(posixpath.join(twin, path), node)
    return {"dir": directory, "dir2": twin}


def _names(w: World, directory: str) -> list[str]:
    return [base(q) for q, _ in w.below(directory, depth=1)]


def _versions(d: Draw) -> Params:
    """Version numbers among which plain sorting would put 1.10 before 1.9."""
    drawn = {f"{d.rng.randint(0, 3)}.{d.rng.randint(0, 25)}.{d.rng.randint(0, 12)}" for _ in range(d.rng.randint(6, 12))}
    if d.x is not None:
        raise NoInstanceError
    lines = sorted(drawn)
    d.rng.shuffle(lines)
    return {"in": d.place(d.name(d.rng.choice(("txt", "list"))), text(lines, age_seconds=5000))}


def _untidy(d: Draw) -> Params:
    return d.source(d.draft)[1]


def _files_of_ext(d: Draw) -> Params:
    directory = d.dir(lambda p: len(d.world.files(p, depth=1)) > 2)
    return {"dir": directory, "ext": d.ext(directory, depth=1, least=2)}


def _lines_together(w: World, p: Params) -> Lines:
    files = [q for q in w.files(p["dir"], depth=1) if q.endswith("." + p["ext"]) and not base(q).startswith(".")]
    if len(files) < 2:
        raise NoInstanceError
    return [str(sum(len(w.lines(q)) for q in files))]


entry(
    "only_one", START, LINES, unordered=True, draw=_without_repeats, reference=lambda w, x, p: _unshared(w, p),
    ways=("sort {file} {file2} | uniq -u", "comm -3 <(sort {file}) <(sort {file2}) | tr -d '\\t'"),
    asks=("which lines are in only one of {file} and {file2}?", "show the lines that {file} and {file2} do not share", "print every line that occurs in just one of the two files {file} and {file2}", "compare {file} with {file2} and list the lines that one of them lacks", "lines that are either in {file} or in {file2}, but not in both",
          "i need all lines of {file} and {file2} except those that both have", "find the lines by which {file} and {file2} differ, as a plain list from both sides", "list what is not common to {file} and {file2}, line by line without markers", "get the lines that appear in {file} or {file2} but never in both", "what is there in one of {file} and {file2} that the other doesn't have?"),
    nouns=("the lines that are in only one of {file} and {file2}", "the lines that {file} and {file2} do not share", "the lines in either {file} or {file2} but not in both", "all lines of {file} and {file2} except those that both have", "the lines not common to {file} and {file2}"),
)
entry(
    "count_shared", START, VALUE, draw=_long_lists, reference=lambda w, x, p: [str(len(_shared(w, p)))],
    ways=("grep -cFxf {file} {file2}", "comm -12 <(sort {file}) <(sort {file2}) | wc -l"),
    asks=("how many lines do {file} and {file2} have in common?", "count the lines that occur in both {file} and {file2}", "number of lines shared by {file} and {file2}", "{file} and {file2}: how many common lines?", "tell me how many lines of {file} are in {file2} as well", "i need the number of lines that both {file} and {file2} contain",
          "compare {file} with {file2} and print how many lines they share", "find out how large the overlap of {file} and {file2} is, in lines", "what is the count of lines common to {file} and {file2}?", "get the number of lines {file} and {file2} agree in"),
    nouns=("the number of lines that {file} and {file2} have in common", "how many lines occur in both {file} and {file2}", "the count of lines shared by {file} and {file2}", "the number of common lines of {file} and {file2}", "how many lines of {file} are in {file2} as well"),
)
entry(
    "diff", START, LINES, draw=_versions_of_a_text, reference=lambda w, x, p: _difference(w, p),
    ways=("diff {file} {file2}", "diff --normal {file} {file2} | cat"),
    asks=("show the differences between {file} and {file2} (plain diff)", "diff {file} and {file2}", "compare {file} with {file2} line by line and print the output of diff", "what is different between {file} and {file2}? use diff in its default format", "run diff on {file} and {file2}", "{file} vs {file2}: print the diff, normal format",
          "i need the plain diff output from {file} to {file2}", "find out with diff what changed from {file} to {file2} and print it, default output", "display how {file2} differs from {file}, as diff prints it without options", "get the line-by-line diff of {file} and {file2}, no context lines"),
    nouns=("the differences between {file} and {file2} as plain diff output", "the diff of {file} and {file2} in the normal format", "the output of diff for {file} and {file2}", "the line-by-line diff from {file} to {file2}, default format", "what diff says about {file} and {file2}"),
)
entry(
    "missing_names", START, LINES, unordered=True, draw=_two_directories, reference=lambda w, x, p: sorted({*_names(w, p["dir"])} - {*_names(w, p["dir2"])}),
    ways=("comm -23 <(ls {dir}) <(ls {dir2})", "diff <(ls {dir}) <(ls {dir2}) | sed -n 's/^< //p'"),
    asks=("which files of {dir} are missing in {dir2}? names only", "list the names that are in {dir} but not in {dir2}", "compare {dir} with {dir2} and print the names of the files that only {dir} has", "show what {dir2} lacks compared with {dir}, by file name", "names of the files in {dir} that do not exist in {dir2}",
          "i need the names of all files that {dir} has and {dir2} hasn't", "what files does {dir} contain that are not there in {dir2}? just their names", "find the files present in {dir} but absent from {dir2}, print their bare names", "check {dir} against {dir2}: which file names are only in {dir}?", "get the file names found in {dir} and not found in {dir2}"),
    nouns=("the names of the files in {dir} that are missing in {dir2}", "the names that are in {dir} but not in {dir2}", "the file names only {dir} has, compared with {dir2}", "the names of the files that {dir2} lacks compared with {dir}", "the bare names of files present in {dir} and absent from {dir2}"),
)
entry(
    "single_lines", TEXT, LINES, exact=True, draw=_untidy, reference=lambda w, x, p: sorted(k for k, c in Counter(x).items() if c == 1),
    ways=("sort {in} | uniq -u", "awk '{c[$0]++}END{for(k in c)if(c[k]==1)print k}' {in} | sort"),
    asks=("which lines occur exactly once in {in}? sorted", "show the lines of {in} that are not repeated, in sorted order", "print only those lines of {in} that have no duplicate, sorted", "list every line that {in} contains just one time, sorted", "{in}: lines that occur only once, sorted", "i need the lines of {in} that are there exactly once, in alphabetical order",
          "find the non-repeated lines of {in} and print them sorted", "what lines does {in} have a single time? sorted", "get the lines of {in} without a second copy, sorted", "sort {in} and print only the lines that appear once"),
    nouns=("the lines that occur exactly once in {in}, sorted", "the lines of {in} that have no duplicate, in sorted order", "the sorted lines of {in} that are not repeated", "the lines {in} contains just one time, sorted", "the sorted lines of {in} that appear only once"),
    then=("show those that occur exactly once among {x}, sorted", "pick out the ones without a duplicate, in sorted order, from {x}", "keep the ones that are there only once, sorted, of {x}", "the sorted ones that are not repeated among {x}", "only those that occur just one time, in sorted order, of {x}", "which ones occur only once, in sorted order, among {x}?",
          "list the ones having no second copy, sorted, among {x}", "sort {x} and print only what appears once", "the ones with a single occurrence, sorted, among {x}"),
)
entry(
    "sort_versions", TEXT, LINES, draw=_versions, reference=lambda w, x, p: sorted(x, key=lambda v: tuple(map(int, v.split(".")))),
    ways=("sort -V {in}", "sort -t. -k1,1n -k2,2n -k3,3n {in}"),
    asks=("sort the version numbers in {in}, oldest first", "sort {in} by version", "put the versions in {in} into ascending version order", "print the version strings of {in} in order, lowest version first", "{in} in version order (1.9 before 1.10)", "what are the versions in {in} from the lowest to the highest?", "i need the versions of {in} sorted as versions, not alphabetically", "do a version sort of {in}",
          "order the releases listed in {in} by version number, newest last", "list {in} sorted by version number, ascending"),
    nouns=("the versions in {in} in ascending order", "the version numbers of {in}, lowest first", "the lines of {in} in version order", "the version strings in {in} from the lowest to the highest", "the releases listed in {in} by version number, newest last"),
)
entry(
    "lines_together", START, VALUE, draw=_two_texts, reference=lambda w, x, p: [str(len(w.lines(p["file"])) + len(w.lines(p["file2"])))],
    ways=("cat {file} {file2} | wc -l", "awk 'END{print NR}' {file} {file2}"),
    asks=("how many lines do {file} and {file2} have together?", "count the lines of {file} and {file2} in total, one number", "the total number of lines in {file} plus {file2}", "{file} and {file2}: lines altogether?", "add up the line counts of {file} and {file2}", "i need the combined line count of {file} and {file2}", "print the sum of the numbers of lines in {file} and {file2}",
          "tell me how many lines both {file} and {file2} contain in total", "what is the joint number of lines of {file} and {file2}?", "get the total line count of the two files {file} and {file2}"),
    nouns=("the number of lines that {file} and {file2} have together", "the combined line count of {file} and {file2}", "the total number of lines in {file} plus {file2}", "how many lines {file} and {file2} have in total", "the sum of the line counts of {file} and {file2}"),
)
entry(
    "lines_together.ext", START, VALUE, draw=_files_of_ext, reference=lambda w, x, p: _lines_together(w, p),
    ways=("cat {dir}/*.{ext:raw} | wc -l", "awk 'END{print NR}' {dir}/*.{ext:raw}"),
    asks=("how many lines do all {ext} files directly in {dir} have together?", "count the lines of all {ext} files in {dir} itself, one total", "the total number of lines in the {ext} files right in {dir}, subfolders not included", "{dir}: lines in all its {ext} files together, no recursion", "add up the line counts of the {ext} files directly in {dir}, print only the sum",
          "i need the combined line count of all {ext} files at the top level of {dir}", "print the total line count of every {ext} file in {dir}, not deeper", "tell me how many lines the {ext} files lying directly in {dir} contain in total", "what is the joint number of lines of the {ext} files in {dir}, without its subdirectories?", "get the sum of lines over all {ext} files directly in {dir}"),
    nouns=("the number of lines that all {ext} files directly in {dir} have together", "the combined line count of the {ext} files right in {dir}", "the total number of lines in the {ext} files of {dir} itself", "how many lines the {ext} files directly in {dir} have in total", "the sum of the line counts of all {ext} files at the top level of {dir}"),
)
