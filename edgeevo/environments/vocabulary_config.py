"""Skills on KEY=value settings: read, list, set, add, comment, drop. Comments begin with `#`; one key has a commented twin."""

from __future__ import annotations

from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, LINES, VALUE, TREE = Kind.START, Kind.LINES, Kind.VALUE, Kind.TREE


def active(w: World, path: str) -> Lines:
    """The lines that set something."""
    return [line for line in w.lines(path) if line and not line.startswith("#")]


def _file(d: Draw) -> Params:
    path = d.settings()
    if not active(d.world, path) or not all(line.count("=") == 1 for line in active(d.world, path)):
        raise NoInstanceError
    return {"file": path}


def _key(d: Draw) -> Params:
    """A file and a key that is set in it exactly once."""
    p = _file(d)
    keys = [line.partition("=")[0] for line in active(d.world, p["file"])]
    return p | {"key": d.pick(k for k in keys if keys.count(k) == 1)}


def _new_value(d: Draw) -> Params:
    return _key(d) | {"value": d.rng.choice((d.stem(), d.number(1, 9000)))}


def _new_key(d: Draw) -> Params:
    p = _file(d)
    key = d.stem().upper()
    if any(key in line for line in d.world.lines(p["file"])):
        raise NoInstanceError
    return p | {"key": key, "value": d.rng.choice((d.stem(), d.number(1, 9000)))}


def _twin(d: Draw) -> Params:
    """A key that stands behind a `#`."""
    p = _file(d)
    keys = [line[1:].partition("=")[0] for line in d.world.lines(p["file"]) if line.startswith("#") and "=" in line]
    return p | {"key": d.pick(k for k in keys if keys.count(k) == 1 and k.isalnum())}


def _is(line: str, p: Params) -> bool:
    return line.startswith(p["key"] + "=")


def _edit(w: World, p: Params, lines: Lines) -> None:
    w.write(p["file"], lines)


entry(
    "config_get", START, VALUE, draw=_key, reference=lambda w, x, p: [line.partition("=")[2] for line in w.lines(p["file"]) if _is(line, p)],
    ways=("grep '^{key:raw}=' {file} | cut -d= -f2", "sed -n 's/^{key:raw}=//p' {file}", "awk -F= -v k={key} '$1==k{print $2}' {file}"),
    asks=("get the value of {key} from {file}", "what is {key} set to in {file}?", "print the value of the setting {key} in {file}, [only the value|without the key]",
          "{file}: value of {key}", "look up {key} in {file}", "which value does {file} give to {key}?", "read the {key} setting out of {file} and show just what it is set to",
          "value for key {key}, {file}", "i need the value of {key} in {file}", "what value does {key} have in {file}?", "get just what {key} is set to in {file}"),
    nouns=("the value of {key} in {file}", "what {key} is set to in {file}", "the {key} setting of {file}, value only", "the value that {file} gives to {key}", "just the value of the key {key} from {file}"),
)
entry(
    "config_get.line", START, VALUE, draw=_key, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if _is(line, p)],
    ways=("grep '^{key:raw}=' {file}", "sed -n '/^{key:raw}=/p' {file}", "awk -F= -v k={key} '$1==k' {file}"),
    asks=("show the line of {file} that sets {key}", "print the whole {key} line from {file}, not the commented one", "which line in {file} sets {key}? comments don't count",
          "{file}: the active line for {key}", "find where {file} assigns {key} and print that line", "grep the setting {key} in {file}, key and value, no comments",
          "display the complete assignment of {key} in {file}", "i need the line in {file} that sets {key}", "get the active {key} line out of {file}, whole"),
    nouns=("the line that sets {key} in {file}", "the whole active {key} line of {file}", "key and value of {key} in {file}", "the assignment of {key} in {file}", "the line for {key} from {file}, no comments"),
)
entry(
    "config_set", START, TREE, draw=_new_value, reference=lambda w, x, p: _edit(w, p, [f"{p['key']}={p['value']}" if _is(line, p) else line for line in w.lines(p["file"])]),
    ways=("sed -i 's/^{key:raw}=.*/{key:raw}={value:raw}/' {file}", "sed -i 's/^{key:raw}=.*/{key:raw}='{value}/ {file}", "perl -pi -e 's/^{key:raw}=.*/{key:raw}={value:raw}/' {file}"),
    asks=("set {key} to {value} in {file}", "change the value of {key} in {file} to {value}", "in {file}, [make|let] {key} be {value}", "edit {file} so that {key} equals {value}",
          "{file}: {key} should be {value}", "give the setting {key} of {file} the new value {value}, leave the rest alone", "update {key} to {value} ({file})",
          "put {value} as the value of {key} into {file}", "i need {key} in {file} set to {value}", "modify {file}: the value of {key} becomes {value}"),
)
entry(
    "config_add", START, TREE, draw=_new_key, reference=lambda w, x, p: _edit(w, p, [*w.lines(p["file"]), f"{p['key']}={p['value']}"]),
    ways=("echo {key:raw}={value} >> {file}", "printf '%s\\n' {key:raw}={value} >> {file}", "sed -i '$a {key:raw}={value:raw}' {file}"),
    asks=("add the setting {key} with the value {value} at the end of {file}", "append a line to {file} that sets {key} to {value}",
          "put a new key {key} with value {value} [at the bottom of|as last line into] {file}", "{file} needs a new last line that sets {key} to {value}",
          "extend {file} by a line setting {key} to {value}", "define {key} as {value} in {file}, it isn't there yet so add it at the end",
          "insert key {key}, value {value}, after the last line of {file}", "i need a new setting {key} with value {value} at the end of {file}",
          "write a line setting {key} to {value} below the last line of {file}"),
)
entry(
    "config_keys", START, LINES, draw=_file, reference=lambda w, x, p: [line.partition("=")[0] for line in active(w, p["file"])],
    ways=("grep -v '^#' {file} | grep = | cut -d= -f1", "sed -n 's/^\\([^#=]*\\)=.*/\\1/p' {file}", "awk -F= '/=/&&!/^#/{print $1}' {file}"),
    asks=("list the keys that are set in {file}", "which keys does {file} set? [no comments|ignore comments]", "print only the names of the settings in {file}, not the commented ones",
          "{file}: all active keys", "show the part before the equals sign for every setting of {file}, skip comments", "names of the keys in {file}, without values and comments",
          "give me just the setting names from {file} (commented lines don't count)", "i need the names of all keys set in {file}",
          "get the keys of {file} without values, commented ones excluded"),
    nouns=("the keys that are set in {file}", "the names of all active settings in {file}", "all keys of {file} without their values, no comments", "the setting names in {file}, commented ones left out",
           "what stands before the equals sign on the active lines of {file}"),
)
entry(
    "config_values", START, LINES, draw=_file, reference=lambda w, x, p: [line.partition("=")[2] for line in active(w, p["file"])],
    ways=("grep -v '^#' {file} | grep = | cut -d= -f2", "sed -n 's/^[^#=]*=//p' {file}", "awk -F= '/=/&&!/^#/{print $2}' {file}"),
    asks=("list the values that are set in {file}, without the keys", "which values occur in the settings of {file}? [no comments|ignore comments]",
          "print only what follows the equals sign on the active lines of {file}", "{file}: all active values, no keys",
          "show the values of all settings in {file}, leave out keys and comments", "just the right hand sides of the assignments in {file}, commented lines don't count",
          "give me every value from {file} but not the names", "i need all values set in {file}, without their keys", "get what stands behind the equals signs in {file}, comments excluded"),
    nouns=("the values that are set in {file}", "the values of all active settings in {file}", "all values of {file} without their keys, no comments", "what follows the equals sign on the active lines of {file}",
           "the right hand sides of the settings in {file}"),
)
entry(
    "config_active", START, LINES, draw=_file, reference=lambda w, x, p: active(w, p["file"]),
    ways=("grep -Ev '^(#|$)' {file}", "sed '/^#/d;/^$/d' {file}", "awk '/./&&!/^#/' {file}"),
    asks=("show {file} without comments and blank lines", "print the active lines of {file}", "what does {file} really set? leave out comments and empty lines",
          "{file}: only effective lines, no comments, no blanks", "strip comments and empty lines from the output of {file}",
          "display the settings in {file} but neither comment lines nor blank ones", "list every line of {file} that is not empty and not a comment",
          "i need the lines of {file} that are neither comments nor blank", "get {file} stripped of comments and empty lines, print only"),
    nouns=("the active lines of {file}", "{file} without comments and blank lines", "the effective settings in {file}", "all lines of {file} that are neither empty nor comments", "what {file} sets, comments and empty lines left out"),
)
entry(
    "config_comments", START, LINES, draw=_file, reference=lambda w, x, p: [line for line in w.lines(p["file"]) if line.startswith("#")],
    ways=("grep '^#' {file}", "sed -n '/^#/p' {file}", "awk '/^#/' {file}"),
    asks=("show [only|just] the comment lines of {file}", "which lines of {file} are comments?", "print the lines in {file} that start with a hash", "{file}: comments only",
          "list everything that is commented out or a remark in {file}", "find the comments in {file}", "lines beginning with # in {file}", "i need the comment lines of {file}",
          "get every line of {file} that begins with #"),
    nouns=("the comment lines of {file}", "the comments in {file}", "all lines of {file} that begin with a hash", "everything commented in {file}", "the lines starting with # in {file}"),
)
entry(
    "config_count", START, VALUE, draw=_file, reference=lambda w, x, p: [str(len(active(w, p["file"])))],
    ways=("grep -vc '^\\(#\\|$\\)' {file}", "grep -Ev '^(#|$)' {file} | wc -l", "awk '/./&&!/^#/{n++}END{print n+0}' {file}"),
    asks=("how many settings are active in {file}? comments and blank lines don't count", "count the lines of {file} that are neither comments nor empty", "number of keys set in {file}",
          "{file}: how many active lines?", "count the effective settings in {file}", "tell me how many values {file} sets, ignoring comments",
          "give the number of non-comment, non-blank lines in {file}", "i need the number of settings in {file}, comments and blanks not counted",
          "get how many lines of {file} set something"),
    nouns=("the number of active settings in {file}", "how many keys {file} sets", "the count of lines in {file} that are neither empty nor comments", "how many effective lines {file} has", "the amount of settings in {file}, comments not counted"),
)
entry(
    "config_comment", START, TREE, draw=_key, reference=lambda w, x, p: _edit(w, p, [f"#{line}" if _is(line, p) else line for line in w.lines(p["file"])]),
    ways=("sed -i 's/^{key:raw}=/#&/' {file}", "sed -i '/^{key:raw}=/s/^/#/' {file}", "perl -pi -e 's/^(?={key:raw}=)/#/' {file}"),
    asks=("comment out {key} in {file}", "put a # in front of the {key} line in {file}", "disable the setting {key} in {file} by commenting it out",
          "in {file}, turn the line that sets {key} into a comment", "{file}: {key} should be commented out", "deactivate {key} in {file} with a leading hash, don't delete it",
          "make the {key} line of {file} a comment", "i need the line of {file} that sets {key} commented out", "put a hash before the setting {key} in {file}"),
)
entry(
    "config_uncomment", START, TREE, draw=_twin, reference=lambda w, x, p: _edit(w, p, [line[1:] if line.startswith(f"#{p['key']}=") else line for line in w.lines(p["file"])]),
    ways=("sed -i 's/^#{key:raw}=/{key:raw}=/' {file}", "sed -i '/^#{key:raw}=/s/^#//' {file}", "perl -pi -e 's/^#(?={key:raw}=)//' {file}"),
    asks=("uncomment {key} in {file}", "remove the # in front of {key} in {file}", "activate the commented {key} line in {file}",
          "in {file}, turn the commented-out {key} back into a setting", "{file}: take the hash away from the {key} line", "enable the line of {file} that sets {key} but is commented",
          "strip the leading comment sign from {key} in {file}", "i need the commented line for {key} in {file} active again", "strip the hash before {key} in {file}"),
)
entry(
    "config_delete", START, TREE, draw=_key, reference=lambda w, x, p: _edit(w, p, [line for line in w.lines(p["file"]) if not _is(line, p)]),
    ways=("sed -i '/^{key:raw}=/d' {file}", "perl -ni -e 'print unless /^{key:raw}=/' {file}", "grep -v '^{key:raw}=' {file} > {file}.tmp; cat {file}.tmp > {file}; rm {file}.tmp"),
    asks=("delete the line that sets {key} from {file}", "remove {key} from {file}[, but not the commented one| (comments stay)]", "drop the setting {key} in {file} altogether",
          "in {file}, get rid of the line that sets {key}", "{file} should no longer set {key}: delete that line", "erase the assignment of {key} from {file}, keep everything else",
          "take the key {key} out of {file}", "i need the setting {key} gone from {file}, whatever is commented stays", "erase the active {key} line in {file}"),
)
