"""Skills that ask about one file or directory: checksum, permissions, kind, names, sizes."""

from __future__ import annotations

import hashlib
import posixpath

from edgeevo.environments.skills import Draw, Kind, Params, entry
from edgeevo.environments.world import base, extension

START, VALUE = Kind.START, Kind.VALUE


def _file(d: Draw) -> Params:
    return {"file": d.any_file()}


for _tool, _bits in (("md5", "md5"), ("sha256", "sha256"), ("sha1", "sha1")):
    entry(
        f"checksum.{_tool}",
        START,
        VALUE,
        draw=_file,
        reference=lambda w, x, p, tool=_tool: [hashlib.new(tool, w.file(p["file"]).data, usedforsecurity=False).hexdigest()],  # type: ignore[misc]
        ways=(f"{_tool}sum {{file}} | cut -d' ' -f1", f"{_tool}sum < {{file}} | awk '{{print $1}}'"),
        asks=(
            f"[print|show|compute] the {_tool} [checksum|hash|sum] of {{file}}, [only the hash|without the file name|just the value]",
            f"what is the {_tool} [checksum|hash] of {{file}}? just the value",
            f"{_tool} of {{file}}, hash only",
            f"calculate {_tool} for {{file}} and print nothing but the digest",
            f"give me the bare {_tool} digest of {{file}}",
            f"{{file}}: its {_tool} sum, no name",
            f"hash {{file}} with {_tool}, digest only",
            f"i only need the {_tool} value of {{file}}",
            f"get the {_tool} hash of {{file}} without the file name behind it",
            f"which {_tool} digest does {{file}} have? print the hash alone",
        ),
        nouns=(
            f"the {_tool} checksum of {{file}} without its name",
            f"the bare {_tool} hash of {{file}}",
            f"only the {_tool} digest of {{file}}",
            f"just the {_tool} sum of the file {{file}}",
            f"the {_tool} value for {{file}}, hash only",
            f"the hex {_tool} of {{file}} alone",
        ),
    )
entry(
    "mode",
    START,
    VALUE,
    draw=_file,
    reference=lambda w, x, p: [f"{w.file(p['file']).mode:o}"],
    ways=("stat -c %a {file}", "find {file} -printf '%m\\n'"),
    asks=("show the permissions of {file} [as a number|in octal]", "what is the octal mode of {file}?", "print the numeric permissions of {file}",
          "which permissions does {file} have, in octal?", "give the mode of {file} as digits", "{file}: permissions as octal number", "tell me the mode bits of {file} in octal notation",
          "numeric file mode of {file}", "i need the permissions of {file} in octal", "get the octal permission bits of {file}"),
    nouns=(
        "the octal mode of {file}",
        "the permissions of {file} as a number",
        "the numeric mode of {file}",
        "the file mode of {file} in octal",
        "the access bits of {file}, written in octal",
    ),
)


def _letters(mode: int) -> str:
    return "-" + "".join(letter if mode >> (8 - i) & 1 else "-" for i, letter in enumerate("rwxrwxrwx"))


entry(
    "mode.letters",
    START,
    VALUE,
    draw=_file,
    reference=lambda w, x, p: [_letters(w.file(p["file"]).mode)],
    ways=("stat -c %A {file}", "ls -l {file} | cut -c1-10"),
    asks=("show the permissions of {file} [in letters|in symbolic form|like ls does]", "what is the symbolic mode of {file}, as in -rw-r--r--?", "print the rwx string of {file}",
          "how does ls -l write the permissions of {file}? only that field", "give the mode of {file} in letters", "{file}: permissions in rwx form",
          "tell me the permission letters of {file}", "i need the permissions of {file} as letters like rw-r--r--, with the type in front", "get the ls style permission string of {file}"),
    nouns=(
        "the permissions of {file} in letters",
        "the symbolic mode of {file}",
        "the rwx string of {file}",
        "the mode of {file} as ls shows it",
        "the permission letters of {file}",
    ),
)
entry(
    "total_bytes",
    START,
    VALUE,
    draw=lambda d: {"dir": d.dir(lambda p: bool(d.world.files(p)))},
    reference=lambda w, x, p: [str(sum(len(w.file(q).data) for q in w.files(p["dir"])))],
    ways=("find {dir} -type f -exec cat {} + | wc -c", "find {dir} -type f -printf '%s\\n' | awk '{s+=$1}END{print s+0}'"),
    asks=("how many bytes do all files [in|under] {dir} have together?", "add up the sizes of all files below {dir} in bytes", "[print|show] the total size of the files in {dir}, in bytes",
          "sum of the file sizes under {dir} in bytes, directories not counted", "what do the files in {dir} add up to, in bytes?",
          "total the bytes of every file in {dir} and its subdirectories", "{dir}: sum of all file sizes in bytes", "tell me how big the files below {dir} are in total (bytes)",
          "i need the number of bytes that all files below {dir} have together", "get the combined size of all files in the {dir} tree in bytes"),
    nouns=(
        "the total size in bytes of the files under {dir}",
        "the sum of all file sizes in {dir}, in bytes",
        "how many bytes the files in {dir} have together",
        "the combined byte size of all files below {dir}",
        "the number of bytes in all files of {dir}",
    ),
)
entry(
    "total_bytes.ext",
    START,
    VALUE,
    draw=lambda d: {"dir": (q := d.dir(lambda p: len(d.world.files(p)) > 1)), "ext": d.ext(q)},
    reference=lambda w, x, p: [str(sum(len(w.file(q).data) for q in w.files(p["dir"], lambda q, _f: q.endswith("." + p["ext"]))))],
    ways=(
        "find {dir} -type f -name '*.{ext:raw}' -exec cat {} + | wc -c",
        "find {dir} -type f -name '*.{ext:raw}' -printf '%s\\n' | awk '{s+=$1}END{print s+0}'",
    ),
    asks=("how many bytes do the {ext} files [in|under] {dir} have together?", "add up the sizes of all {ext} files below {dir} in bytes",
          "[print|show] the total size of the {ext} files in {dir}, in bytes", "sum of the sizes of {ext} files under {dir}, bytes please",
          "what do the {ext} files in {dir} add up to, in bytes?", "total the bytes of every {ext} file anywhere in {dir}", "{dir}: combined size of its {ext} files in bytes",
          "i need the number of bytes that all {ext} files below {dir} have together", "get the combined size of the {ext} files in the {dir} tree in bytes"),
    nouns=(
        "the total size in bytes of the {ext} files under {dir}",
        "the sum of the {ext} file sizes in {dir}, in bytes",
        "how many bytes the {ext} files in {dir} have together",
        "the combined byte size of {ext} files below {dir}",
        "the number of bytes in all {ext} files of {dir}",
    ),
)

# --- paths ------------------------------------------------------------------------------------------------------------

entry(
    "realpath",
    START,
    VALUE,
    draw=_file,
    reference=lambda w, x, p: [p["file"]],
    ways=("realpath {file}", "readlink -f {file}"),
    asks=("print the [absolute|full] path of {file}", "what is the [absolute|full] path of {file}?", "give me the complete path to {file}, from the root",
          "show where {file} is as an absolute path", "resolve {file} to a full path", "{file}: absolute path", "turn the name {file} into its absolute path", "full path name of {file}",
          "i need the absolute path of {file}", "get the full path of {file}, starting at /"),
    nouns=(
        "the absolute path of {file}",
        "the full path to {file}",
        "the complete path of {file} from the root",
        "{file} as an absolute path",
        "the resolved full name of {file}",
    ),
)
entry(
    "basename",
    START,
    VALUE,
    draw=lambda d: {"file": d.any_file()},
    reference=lambda w, x, p: [base(p["file"])],
    ways=("basename {file}", "echo {file} | sed 's|.*/||'"),
    asks=("print only the file name of {file}, without directories", "what is the last part of the path {file}?", "strip the directory from {file} and print the name",
          "give the base name of {file}", "show the name at the end of {file}", "{file}: name without the path", "cut the folders off {file} and show what is left",
          "bare file name of {file}", "i need the bare name of {file} without its path", "get what comes after the last slash in {file}"),
    nouns=(
        "the base name of {file}",
        "the file name of {file} without its path",
        "the last component of {file}",
        "the bare name of {file}, no folders",
        "{file} without its directories",
    ),
)
entry(
    "basename.stem",
    START,
    VALUE,
    draw=lambda d: {"file": (q := d.any_file(lambda p: bool(extension(p)))), "ext": extension(q)},
    reference=lambda w, x, p: [base(p["file"]).removesuffix("." + p["ext"])],
    ways=("basename {file} .{ext:raw}", 'f=$(basename {file}); echo "${f%.*}"'),
    asks=("print the name of {file} without [path and extension|directory and ending]", "what is {file} called without its folder and its extension?", "give the stem of the file name {file}",
          "show the base name of {file} minus the extension", "strip both the directory and the {ext} ending from {file}", "{file}: only the name, no path, no {ext}",
          "cut {file} down to its bare name without {ext}", "i need the name of {file} with neither folder nor extension", "get the base name of {file} and cut its extension off"),
    nouns=(
        "the name of {file} without path and extension",
        "the stem of {file}",
        "the base name of {file} minus its extension",
        "the bare name of {file}, without {ext}",
        "{file} with neither folder nor ending",
    ),
)

# --- yes or no --------------------------------------------------------------------------------------------------------


def _maybe(d: Draw) -> Params:
    path = d.any_file()
    return {"file": path if d.rng.random() < 0.5 else d.new(extension(path) or "txt", folder=posixpath.dirname(path))}


entry(
    "exists",
    START,
    VALUE,
    draw=_maybe,
    reference=lambda w, x, p: ["yes" if p["file"] in w.nodes else "no"],
    ways=("[ -e {file} ] && echo yes || echo no", "if test -f {file}; then echo yes; else echo no; fi"),
    asks=("does [the file|] {file} exist? [print|answer|say] yes or no", "check whether {file} exists and print yes or no", "is there a file {file}? yes or no",
          "print yes if {file} is there, no if it is not", "say yes when {file} exists and no otherwise", "{file}: is it there? answer yes or no", "test if {file} is present (yes/no)",
          "tell me with yes or no whether {file} can be found", "i need yes or no: is there a file {file}?", "find out if {file} is there and print yes or no"),
    nouns=(
        "yes if {file} exists and no otherwise",
        "yes or no depending on whether {file} exists",
        "whether {file} exists, as yes or no",
        "yes when there is a {file}, else no",
        "yes or no for the existence of {file}",
    ),
)
entry(
    "is_executable",
    START,
    VALUE,
    draw=_file,
    reference=lambda w, x, p: ["yes" if w.file(p["file"]).mode & 0o100 else "no"],
    ways=("[ -x {file} ] && echo yes || echo no", "if test -x {file}; then echo yes; else echo no; fi"),
    asks=("is {file} executable? [print|answer|say] yes or no", "check whether {file} can be executed and print yes or no", "print yes if {file} is executable, no if it is not",
          "say yes when {file} may be run and no otherwise", "{file}: can i run it? answer yes or no", "test the execute permission of {file} (yes/no)",
          "tell me with yes or no if {file} has its x bit set", "i need yes or no: may {file} be executed?", "find out if {file} is executable and print yes or no"),
    nouns=(
        "yes if {file} is executable and no otherwise",
        "yes or no depending on whether {file} can be executed",
        "whether {file} is executable, as yes or no",
        "yes when {file} can be run, else no",
        "yes or no for the execute permission of {file}",
    ),
)
entry(
    "is_empty",
    START,
    VALUE,
    draw=_file,
    reference=lambda w, x, p: ["no" if w.file(p["file"]).data else "yes"],
    ways=("[ -s {file} ] && echo no || echo yes", "if test -s {file}; then echo no; else echo yes; fi"),
    asks=("is {file} empty? [print|answer|say] yes or no", "check whether {file} is empty and print yes or no", "print yes if {file} has no content, no if it has",
          "say yes when {file} is zero bytes long and no otherwise", "{file}: nothing in it? answer yes or no", "test if the file {file} is empty (yes/no)",
          "tell me with yes or no whether {file} has no bytes in it", "i need yes or no: is {file} empty?", "find out if {file} is an empty file and print yes or no"),
    nouns=(
        "yes if {file} is empty and no otherwise",
        "yes or no depending on whether {file} is empty",
        "whether {file} is empty, as yes or no",
        "yes when {file} has no content, else no",
        "yes or no for the emptiness of {file}",
    ),
)


def _two(d: Draw) -> Params:
    first = d.any_file()
    if d.rng.random() < 0.5:
        return {"file": first, "file2": d.place(d.name(extension(first) or "txt"), d.world.file(first))}
    return {"file": first, "file2": d.any_file(lambda q: q != first)}


entry(
    "same_content",
    START,
    VALUE,
    draw=_two,
    reference=lambda w, x, p: ["same" if w.file(p["file"]).data == w.file(p["file2"]).data else "different"],
    ways=(
        "cmp -s {file} {file2} && echo same || echo different",
        "if diff -q {file} {file2} > /dev/null; then echo same; else echo different; fi",
    ),
    asks=("are {file} and {file2} identical? print same or different", "compare {file} with {file2} and print same or different",
          "do {file} and {file2} have the same content? say same or different", "print same if {file} equals {file2} byte for byte, else different",
          "check {file} against {file2}: same or different", "tell me whether {file} is the same as {file2}, in one word: same or different", "{file} and {file2}: same or different content?",
          "i need one word, same or different, for {file} compared with {file2}", "find out if {file} and {file2} have equal content and print same or different"),
    nouns=(
        "same or different, comparing {file} with {file2}",
        "same if {file} and {file2} are identical, else different",
        "whether {file} is the same as {file2}, as same or different",
        "the word same or different for {file} against {file2}",
        "same or different for the contents of {file} and {file2}",
    ),
)
