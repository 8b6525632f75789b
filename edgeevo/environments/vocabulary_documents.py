"""Skills on single JSON documents (nested objects, arrays in them), and on the layout in which JSON is printed."""

from __future__ import annotations

import json
import shlex
from typing import Any

from edgeevo.domain import File
from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.vocabulary_json import FIELDS, objects
from edgeevo.environments.world import World, text

START, LINES, VALUE, TREE = Kind.START, Kind.LINES, Kind.VALUE, Kind.TREE

Document = dict[str, Any]

SECTIONS = ("network", "server", "storage", "display", "database", "limits", "power")
ARRAYS = ("tags", "users", "sites", "modules", "features", "hosts")
NUMBERS = ("port", "size", "timeout", "retries", "level", "width")
WORDS = ("mode", "host", "zone", "theme", "driver", "role")


def _draw_document(d: Draw) -> Document:
    rng, maker = d.rng, Maker(d.rng, d.split, ())
    out: Document = {"name": maker.stem(), "owner": maker.person(), "version": rng.randint(1, 40), "enabled": rng.random() < 0.5}
    for section in rng.sample(SECTIONS, 2):
        out[section] = {key: maker.stem() for key in rng.sample(WORDS, 2)} | {key: rng.randint(2, 9000) for key in rng.sample(NUMBERS, 2)}
    for array in rng.sample(ARRAYS, 2):
        out[array] = [maker.stem() for _ in range(rng.randint(3, 7))]
    keys = list(out)
    rng.shuffle(keys)
    return {key: out[key] for key in keys}


def _placed(d: Draw, *, compact: bool | None = None) -> Params:
    document = _draw_document(d)
    if compact is None:
        compact = d.rng.random() < 0.3
    lines = [json.dumps(document, separators=(",", ":"))] if compact else json.dumps(document, indent=2).splitlines()
    return {"file": d.place(d.name("json"), text(lines, age_seconds=d.rng.randint(1, 20) * HOUR + 1800))}


def document(w: World, p: Params) -> Document:
    """The object in the file."""
    found: Document = json.loads(w.file(p["file"]).data)
    return found


def _at(w: World, p: Params) -> Any:
    found: Any = document(w, p)
    for key in p["key"].split("."):
        found = found[key]
    return found


def _leaf(d: Draw, kinds: tuple[type, ...] = (str, int)) -> Params:
    """A value inside of a section, by its path."""
    p = _placed(d)
    sections = {k: v for k, v in document(d.world, p).items() if isinstance(v, dict)}
    return p | {"key": d.pick(f"{s}.{k}" for s, held in sections.items() for k, v in held.items() if isinstance(v, kinds))}


def _array(d: Draw) -> Params:
    p = _placed(d)
    return p | {"key": d.pick(k for k, v in document(d.world, p).items() if isinstance(v, list))}


def _maybe_key(d: Draw) -> Params:
    p = _placed(d)
    there = list(document(d.world, p))
    return p | {"key": d.pick(there if d.rng.random() < 0.5 else [k for k in (*SECTIONS, *ARRAYS, *NUMBERS) if k not in there])}


def _list_file(d: Draw) -> Params:
    """The scene's list of objects, as long as no earlier link has edited it."""
    p = {"file": d.objects()}
    try:
        rows = objects(d.world, p)
    except ValueError:
        raise NoInstanceError from None
    if len(rows) < 3 or not all(set(row) == set(FIELDS) for row in rows):
        raise NoInstanceError
    return p


def _list_kind(d: Draw) -> Params:
    p = _list_file(d)
    kinds = [str(row["kind"]) for row in objects(d.world, p)]
    return p | {"value": d.pick(sorted(k for k in set(kinds) if kinds.count(k) < len(kinds)))}


def _two_keys(d: Draw) -> Params:
    first, second = d.rng.sample(FIELDS, 2)
    return _list_file(d) | {"key": first, "key2": second}


def _new_number(d: Draw) -> Params:
    p = _leaf(d, (int,))
    return p | {"number": d.pick(n for n in (d.number(1, 9999) for _ in range(3)) if n != str(_at(d.world, p)))}


def _set(w: World, _x: Lines, p: Params) -> None:
    """Expect the changed document, in whatever layout: sorted keys make it comparable."""
    changed = document(w, p)
    section, key = p["key"].split(".")
    changed[section][key] = int(p["number"])
    line = json.dumps(changed, separators=(",", ":"), sort_keys=True)
    w.probes[p["file"]] = (f"jq -cS . {shlex.quote(p['file'])}", (line,))
    w.put(p["file"], File(data=f"{line}\n".encode()))


entry(
    "json_path", START, VALUE, draw=_leaf, reference=lambda w, x, p: [str(_at(w, p))],
    ways=("jq -r .{key:raw} {file}", "jq -r 'getpath(\"{key:raw}\"|split(\".\"))' {file}", "python3 -c 'import functools,json,sys;print(functools.reduce(lambda d,k:d[k],\"{key:raw}\".split(\".\"),json.load(open(sys.argv[1]))))' {file}"),
    asks=("what is the value of {key} in the JSON file {file}?", "print {key} from {file} (JSON), [without quotes|raw]", "get the nested value {key} out of the JSON document {file}", "read {key} in {file} with jq and show just the value",
          "{file}: value at {key} (JSON)", "look up {key} in the JSON {file}", "which value does {file} have at the JSON path {key}?", "extract the field {key} from the JSON file {file}, raw value only",
          "i need what the JSON document {file} says for {key}", "value of {key}, JSON file {file}", "tell me what {key} is set to in the JSON config {file}"),
    nouns=("the value that the JSON file {file} has for {key}", "what {key} is in the JSON document {file}", "the nested field {key} of {file} (JSON), value only", "the value at the path {key} in the JSON {file}",
           "just the value that {file} has under {key} (JSON)"),
)
entry(
    "json_keys", START, LINES, draw=_placed, unordered=True, reference=lambda w, x, p: sorted(document(w, p)),
    ways=("jq -r 'keys[]' {file}", "jq -r 'to_entries[].key' {file}", "python3 -c 'import json,sys;print(*json.load(open(sys.argv[1])),sep=\"\\n\")' {file}"),
    asks=("list the top level keys of the JSON file {file}, one per line", "which keys does the JSON object in {file} have at the top?", "print the names of all top-level fields of {file} (JSON), each on its own line",
          "{file}: top level keys of the JSON, a line each", "show what keys the JSON document {file} has on its first level", "names of the outermost keys in the JSON {file}, one per line and without quotes",
          "use jq to get the top level keys of {file}, plain text", "i need the keys on the top level of the JSON file {file}", "what are the fields of the outer object in {file} (JSON) called? names only, line by line",
          "read the JSON object in {file} and name its own keys, not the nested ones"),
    nouns=("the keys that the JSON file {file} has at top level", "the names of the top-level fields in {file} (JSON)", "the keys on the first level of the JSON document {file}", "the outermost keys of the JSON object in {file}",
           "the own keys of the object in the JSON {file}, nested ones left out"),
)
entry(
    "json_items", START, LINES, draw=_array, reference=lambda w, x, p: list(map(str, _at(w, p))),
    ways=("jq -r '.{key:raw}[]' {file}", "jq -r '.{key:raw}|join(\"\\n\")' {file}", "python3 -c 'import json,sys;print(*json.load(open(sys.argv[1]))[\"{key:raw}\"],sep=\"\\n\")' {file}"),
    asks=("list the elements of the array {key} in the JSON file {file}, one per line", "what does the JSON array {key} in {file} contain? one item per line", "print each entry of {key} from {file} (JSON) on its own line",
          "{file}: items of the JSON list {key}, without quotes", "show all {key} in the JSON document {file}, line by line", "get every element out of the list {key} in {file} (JSON)",
          "unpack the JSON array {key} of {file} into lines", "the members of {key} in the JSON {file}, one a line please", "i need the values in the array {key} of the JSON file {file}, a line each",
          "go through the list {key} in {file} with jq and print its strings raw"),
    nouns=("the elements that the JSON file {file} has in its array {key}", "the items of the JSON list {key} in {file}", "the entries of {key} in the JSON document {file}, one per line", "the values in the JSON array {key} of {file}",
           "the members of the list {key} from {file} (JSON)"),
)
entry(
    "json_array_length", START, VALUE, draw=_array, reference=lambda w, x, p: [str(len(_at(w, p)))],
    ways=("jq '.{key:raw}|length' {file}", "jq -r '.{key:raw}[]' {file} | wc -l", "python3 -c 'import json,sys;print(len(json.load(open(sys.argv[1]))[\"{key:raw}\"]))' {file}"),
    asks=("how many elements does the array {key} in the JSON file {file} have?", "count the items of {key} in {file} (JSON)", "number of entries in the JSON list {key} of {file}", "{file}: length of the JSON array {key}",
          "tell me how long the list {key} in the JSON document {file} is", "print the length of {key}, JSON file {file}", "use jq to count what is in the array {key} of {file}", "i need the number of elements in {key} of the JSON {file}",
          "what is the length of the array {key} in {file} (JSON)?", "find out how many {key} the JSON file {file} lists"),
    nouns=("the number of elements in the array {key} of the JSON file {file}", "the length of the JSON list {key} in {file}", "how many items {key} has in the JSON document {file}", "the count of entries in the JSON array {key} of {file}",
           "how many {key} are listed in the JSON file {file}"),
)
entry(
    "json_has", START, VALUE, draw=_maybe_key, reference=lambda w, x, p: ["true" if p["key"] in document(w, p) else "false"],
    ways=("jq 'has(\"{key:raw}\")' {file}", "jq 'any(keys[]; .==\"{key:raw}\")' {file}", "jq '.{key:raw}!=null' {file}"),
    asks=("does the JSON object in {file} have a key {key}? print true or false", "check whether {key} is a top level key of {file} (JSON), true or false", "print true if the JSON file {file} has {key} on its top level, false if not",
          "{file}: is there a top-level JSON key {key}? (true/false)", "test if the JSON document {file} contains the top level field {key} and say true or false", "is {key} among the outermost keys of the JSON {file}? answer true or false",
          "tell me with true or false if the object in {file} (JSON) has the key {key}", "i need true or false: the JSON file {file} has a top level key {key}",
          "find out if {key} is defined at the top of the JSON document {file}, true or false", "has the JSON in {file} a key called {key}? true or false"),
    nouns=("true if the JSON file {file} has the top level key {key}, else false", "true or false for the top-level key {key} in the JSON {file}", "whether the JSON object in {file} has a key {key}, as true or false",
           "true when {key} is a top level field of the JSON document {file}, otherwise false", "true or false depending on whether the JSON {file} defines {key} at the top"),
)
entry(
    "json_pretty", START, LINES, draw=lambda d: _placed(d, compact=True), reference=lambda w, x, p: json.dumps(document(w, p), indent=2).splitlines(),
    ways=("jq . {file}", "python3 -m json.tool --indent 2 {file}"),
    asks=("pretty print the JSON file {file}", "show {file} as indented JSON", "print the JSON in {file} nicely formatted", "{file}: pretty-printed JSON please", "format {file} (JSON) so that a person can read it, and print it",
          "display the JSON document {file} with line breaks and indentation", "the JSON of {file} is all on one line, print it indented", "i need to see {file} pretty printed, it is JSON",
          "use jq to output {file} in readable form", "reformat the one-line JSON {file} to indented JSON on the screen"),
    nouns=("the pretty-printed lines of the JSON file {file}", "the JSON of {file}, indented", "{file} as indented JSON", "the lines of the JSON document {file} when nicely formatted", "the readable form of the JSON in {file}"),
)
entry(
    "json_compact", START, VALUE, draw=lambda d: _placed(d, compact=False), reference=lambda w, x, p: [json.dumps(document(w, p), separators=(",", ":"))],
    ways=("jq -c . {file}", "python3 -c 'import json,sys;print(json.dumps(json.load(open(sys.argv[1])),separators=(\",\",\":\")))' {file}"),
    asks=("print the JSON file {file} in compact form on one line", "show {file} as a single line of compact JSON", "minify the JSON in {file} and print it", "{file}: compact JSON, one line, no blanks between the parts",
          "squeeze the JSON document {file} into one line without extra whitespace, to the screen", "output {file} (JSON) minified", "use jq to display {file} compactly", "i need the JSON of {file} on one line, without any white space in it",
          "turn the indented JSON {file} into a one-liner and print that, no spaces", "how does {file} look as compact JSON?"),
    nouns=("the compact form of the JSON file {file}", "{file} as one line of compact JSON", "the minified JSON of {file}", "the JSON document {file} on one line without whitespace", "the one-line compact version of the JSON in {file}"),
)
entry(
    "json_objects", START, LINES, draw=_list_kind, reference=lambda w, x, p: [json.dumps(row, separators=(",", ":")) for row in objects(w, p) if row["kind"] == p["value"]],
    ways=("jq -c '.[]|select(.kind==\"{value:raw}\")' {file}", "jq -c --arg k {value} '.[]|select(.kind==$k)' {file}"),
    asks=("show the whole objects of kind {value} in the JSON file {file}, one per line and compact", "print every object in {file} (JSON list) whose kind is {value}, as compact JSON, one a line",
          "filter the JSON list {file} for kind {value}, output compact objects line by line", "{file}: complete entries with kind {value}, compact JSON, one per line", "which objects of the JSON {file} have the kind {value}? print each in full on one line, compact",
          "use jq to select the elements of {file} with kind {value}, compact output", "list the full records of {file} that have {value} as kind, each as one line of compact JSON",
          "i need all objects with the kind {value} from {file}, every one on a line of its own in compact form", "find the {value} elements (field kind) in the JSON {file} and give them as compact JSON lines",
          "pick from the list in {file} what has kind {value}, whole objects, compact, a line each"),
    nouns=("the JSON objects of {file} that have kind {value}, one compact line each", "the complete entries with kind {value} in {file} as compact JSON lines", "the elements of the JSON list {file} whose kind is {value}, compact and one per line",
           "the full {value} objects (field kind) of {file} as compact JSON, one per line", "the records of kind {value} from the JSON {file}, in compact form line by line"),
)
entry(
    "json_two_fields", START, LINES, draw=_two_keys, reference=lambda w, x, p: [f"{row[p['key']]} {row[p['key2']]}" for row in objects(w, p)],
    ways=("jq -r '.[]|\"\\(.{key:raw}) \\(.{key2:raw})\"' {file}", "jq -r '.[]|[.{key:raw},.{key2:raw}]|join(\" \")' {file}"),
    asks=("print {key} and {key2} of every object in the JSON file {file}, separated by a space", "show the fields {key} and {key2} of each element in {file} (JSON), a blank between them", "turn the JSON list {file} into lines with {key} and {key2}, a space in between, no header",
          "{file}: {key} and {key2} per object of this JSON list, with a space between", "for every entry of the JSON {file} output {key}, a space and {key2}", "make plain text lines '{key:raw} {key2:raw}' from the objects in {file} (JSON)",
          "what are {key} and {key2} of the objects in the JSON {file}? one object a line, a space between the two", "i need a two column list, {key} then {key2}, separated by a blank, out of the JSON {file}",
          "use jq to get {key} and {key2} from each object of {file}, joined by a space", "list {key} next to {key2} for all elements of the JSON file {file}, with one blank in between"),
    nouns=("{key} and {key2} of every object in the JSON file {file}, separated by a space", "the fields {key} and {key2} of the objects in {file} (JSON), a blank between", "the lines of {key} and {key2} from the JSON list {file}, space separated",
           "the pairs of {key} and {key2} in the JSON {file}, with a space between the two", "{key}, a space and {key2} for each object of the JSON {file}"),
)
entry(
    "json_set", START, TREE, draw=_new_number, reference=_set,
    ways=("jq '.{key:raw} = {number:raw}' {file} > tmp.json && mv tmp.json {file}", "t=$(jq --argjson v {number} '.{key:raw}=$v' {file}) && printf '%s\\n' \"$t\" > {file}"),
    asks=("set {key} to {number} in the JSON file {file}", "change the number at {key} in {file} (JSON) to {number}", "in the JSON document {file}, let {key} be {number}", "update the JSON {file}: {key} gets the value {number}",
          "{file}: {key} should be {number}, it is JSON", "edit {file} with jq so that {key} is {number}", "give {key} the new value {number} in the JSON config {file} and save it", "i need {key} in the JSON file {file} changed to {number}",
          "write {number} as the new value of {key} into the JSON {file}", "modify the JSON file {file} in place, {key} = {number}"),
)
