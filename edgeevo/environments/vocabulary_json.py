"""Skills on JSON files: lists of small objects with id, name, kind and size."""

from __future__ import annotations

import json
from collections import Counter

import msgspec

from edgeevo.domain import Value
from edgeevo.environments.skills import Draw, Kind, NoInstanceError, Params, entry
from edgeevo.environments.world import World

START, LINES, VALUE, NUMBERS = Kind.START, Kind.LINES, Kind.VALUE, Kind.NUMBERS

Objects = list[dict[str, str | int]]


class Item(Value):
    """What each object must look like."""

    id: int
    name: str
    kind: str
    size: int


def objects(w: World, p: Params) -> Objects:
    """The objects of the list in the file."""
    rows: Objects = json.loads(w.file(p["file"]).data)
    return rows


def _sizes(rows: Objects) -> list[int]:
    return [int(row["size"]) for row in rows]


def _file(d: Draw) -> Params:
    p = {"file": d.objects()}
    try:
        rows = msgspec.json.decode(d.world.file(p["file"]).data, type=list[Item])
    except msgspec.MsgspecError:  # an earlier link has edited it
        raise NoInstanceError from None
    if len(rows) < 3:
        raise NoInstanceError
    return p


def _kind(d: Draw) -> Params:
    p = _file(d)
    kinds = [str(row["kind"]) for row in objects(d.world, p)]
    return p | {"value": d.pick(sorted(k for k in set(kinds) if kinds.count(k) < len(kinds)))}


def _name(d: Draw) -> Params:
    p = _file(d)
    return p | {"name": d.pick(str(row["name"]) for row in objects(d.world, p))}


def _limit(d: Draw) -> Params:
    p = _file(d)
    sizes = sorted(_sizes(objects(d.world, p)))
    return p | {"limit": d.pick(str(s) for s in sizes[:-1] if s < sizes[-1])}


def _no_ties(d: Draw) -> Params:
    p = _file(d)
    sizes = _sizes(objects(d.world, p))
    if len(set(sizes)) < len(sizes):
        raise NoInstanceError
    return p


FIELDS = ("id", "name", "kind", "size")


def _key(d: Draw) -> Params:
    return _file(d) | {"key": d.rng.choice(FIELDS)}


def _json_python(expression: str) -> str:
    """A way in Python; `d` is the parsed list."""
    return f"python3 -c 'import json,sys;d=json.load(open(sys.argv[1]));{expression}' {{file}}"


entry(
    "json_field", START, LINES, draw=_key, reference=lambda w, x, p: [str(row[p["key"]]) for row in objects(w, p)],
    ways=("jq -r '.[].{key:raw}' {file}", _json_python('[print(o["{key:raw}"]) for o in d]'), "jq -r 'map(.{key:raw})[]' {file}"),
    asks=("print the {key} of every object in the JSON file {file}", "list all {key} values in {file}, one per line", "what does each entry in {file} have as {key}?",
          "{file}: {key} of each element", "extract the field {key} from each item of {file}", "go through the JSON list in {file} and show only {key}",
          "get every {key} out of {file} (JSON) without quotes", "i need the {key} of all objects in {file}", "what are the {key} values in the JSON file {file}, one per line?"),
    nouns=("the {key} of every object in {file}", "all {key} values in the JSON file {file}", "the field {key} of each element of {file}", "every {key} in the JSON list {file}", "what the entries of {file} have as {key}"),
)
entry(
    "json_count", START, VALUE, draw=_file, reference=lambda w, x, p: [str(len(objects(w, p)))],
    ways=("jq length {file}", _json_python("print(len(d))"), "jq '.[].id' {file} | wc -l"),
    asks=("how many objects are in the JSON file {file}?", "count the elements of the list in {file}", "number of entries in {file} (JSON)", "{file}: length of the JSON list",
          "tell me how long the array in {file} is", "count the items that {file} holds", "give me the amount of JSON objects stored in {file}",
          "i need the number of objects in the JSON list {file}", "get how many elements the JSON file {file} has"),
    nouns=("the number of objects in the JSON file {file}", "the length of the list in {file}", "how many elements the array in {file} has", "the count of JSON entries in {file}", "how many items {file} holds"),
)
entry(
    "json_where", START, LINES, draw=_kind, reference=lambda w, x, p: [str(row["name"]) for row in objects(w, p) if row["kind"] == p["value"]],
    ways=("jq -r '.[]|select(.kind==\"{value:raw}\").name' {file}", _json_python('[print(o["name"]) for o in d if o["kind"]=="{value:raw}"]'), "jq -r --arg k {value} '.[]|select(.kind==$k)|.name' {file}"),
    asks=("print the names of the objects in {file} whose kind is {value}", "which names in the JSON {file} have the kind {value}?",
          "list the name of every entry of {file} with kind {value}", "{file}: names where kind equals {value}", "filter {file} by kind {value} and show just the names",
          "find all {value} items in {file} (see the field kind) and give me their names", "from the JSON list {file}, the name of each element of kind {value}",
          "i need the names of all objects of kind {value} in {file}", "get the name of each object in {file} that has {value} as its kind"),
    nouns=("the names of the objects of kind {value} in {file}", "the name of every entry in {file} whose kind is {value}", "all names in the JSON {file} with kind {value}", "the names belonging to kind {value} in {file}",
           "what the {value} elements (field kind) of {file} are called by name"),
)
entry(
    "json_count_where", START, VALUE, draw=_kind, reference=lambda w, x, p: [str(sum(row["kind"] == p["value"] for row in objects(w, p)))],
    ways=("jq '[.[]|select(.kind==\"{value:raw}\")]|length' {file}", "jq -r '.[].kind' {file} | grep -cx {value}", _json_python('print(sum(o["kind"]=="{value:raw}" for o in d))')),
    asks=("how many objects in {file} have the kind {value}?", "count the entries of {file} whose kind is {value}", "number of {value} items in the JSON {file} (field kind)",
          "{file}: how many of kind {value}?", "tell me how often kind equals {value} in {file}", "count elements of the JSON list {file} with kind {value}",
          "give only the number of objects of kind {value} that {file} has", "i need the number of objects of kind {value} in {file}",
          "get how many objects of {file} have {value} as their kind"),
    nouns=("the number of objects of kind {value} in {file}", "how many entries in the JSON {file} have kind {value}", "the count of elements in {file} whose kind is {value}", "how often kind is {value} in {file}",
           "the amount of {value} items in {file} (field kind)"),
)
entry(
    "json_above", START, LINES, draw=_limit, reference=lambda w, x, p: [str(row["name"]) for row in objects(w, p) if int(row["size"]) > int(p["limit"])],
    ways=("jq -r '.[]|select(.size>{limit:raw}).name' {file}", _json_python('[print(o["name"]) for o in d if o["size"]>{limit:raw}]'), "jq -r --argjson k {limit} '.[]|select(.size>$k)|.name' {file}"),
    asks=("print the names of the objects in {file} whose size is [above|over] {limit}", "which names in the JSON {file} have a size greater than {limit}?",
          "list the name of every entry of {file} with more than {limit} as size", "{file}: names where size > {limit}",
          "filter {file} for a size larger than {limit} and show just the names", "find the elements in {file} exceeding size {limit} and name them",
          "from the JSON list {file}, each name with a size bigger than {limit}", "i need the names of all objects in {file} with a size over {limit}",
          "get the name of each object in {file} whose size is more than {limit}"),
    nouns=("the names of the objects with a size above {limit} in {file}", "the name of every entry in {file} whose size exceeds {limit}", "all names in the JSON {file} with size > {limit}", "the names of the elements larger than {limit} in {file}",
           "what the objects of {file} over size {limit} are called"),
)
entry(
    "json_value", START, VALUE, draw=lambda d: _name(d) | {"key": d.rng.choice(("id", "kind", "size"))}, reference=lambda w, x, p: [str(row[p["key"]]) for row in objects(w, p) if row["name"] == p["name"]],
    ways=("jq -r '.[]|select(.name==\"{name:raw}\").{key:raw}' {file}", "jq -r --arg k {name} '.[]|select(.name==$k)|.{key:raw}' {file}", _json_python('[print(o["{key:raw}"]) for o in d if o["name"]=="{name:raw}"]')),
    asks=("what is the {key} of {name} in {file}?", "print the {key} of the object named {name} in the JSON file {file}", "look up {name} in {file} and show its {key}",
          "{file}: {key} of the entry called {name}", "find the element with the name {name} in {file} and give me only its {key}", "which {key} does {name} have in {file} (JSON)?",
          "get field {key} from the object of {file} whose name is {name}", "i need the {key} of the object called {name} in {file}",
          "get the {key} that belongs to {name} in the JSON file {file}"),
    nouns=("the {key} of {name} in {file}", "the {key} of the object named {name} in the JSON {file}", "the field {key} of the entry called {name} in {file}", "what {file} has as {key} for the name {name}",
           "the {key} belonging to {name} in {file}"),
)
entry(
    "json_kinds", START, LINES, draw=_file, reference=lambda w, x, p: sorted({str(row["kind"]) for row in objects(w, p)}),
    ways=("jq -r '.[].kind' {file} | sort -u", "jq -r 'map(.kind)|unique[]' {file}", _json_python('print(*sorted({o["kind"] for o in d}),sep="\\n")')),
    asks=("list the different kinds in the JSON file {file}, sorted", "which kinds occur in {file}? each once, in order", "print the distinct values of the field kind in {file}, sorted",
          "{file}: sorted unique kinds", "show every kind that the objects of {file} have, without repeats, alphabetically",
          "unique values of kind over all entries of {file}, in alphabetical order", "get the kinds out of {file} (JSON), sort them and drop duplicates",
          "i need the different kinds of {file}, sorted", "get every kind in the JSON file {file} once, sorted"),
    nouns=("the distinct kinds in {file}, sorted", "the different kinds of the objects in {file} in order", "the sorted unique values of kind in the JSON {file}", "every kind that occurs in {file}, once each and sorted",
           "the alphabetical list of kinds in {file} without repeats"),
)
entry(
    "json_tally", START, LINES, draw=_file, unordered=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(str(row["kind"]) for row in objects(w, p)).items())],
    ways=("jq -r '.[].kind' {file} | sort | uniq -c", "jq -r 'group_by(.kind)[]|\"\\(length) \\(.[0].kind)\"' {file}", "jq -r '.[].kind' {file} | awk '{c[$0]++}END{for(k in c)print c[k],k}'"),
    asks=("count the objects of each kind in {file}", "how many entries of every kind are in the JSON {file}? print count and kind", "tally the field kind over {file}",
          "{file}: count per kind", "for each kind in {file} show how often it occurs, count first", "group the elements of the JSON list {file} by kind and count them",
          "show count and kind for the objects in {file}", "i need each kind of {file} with the number of its objects, count first", "get the number of objects for every kind in {file}"),
    nouns=("the number of objects per kind in {file}", "count and kind for all kinds in the JSON {file}", "how often each kind occurs in {file}", "a tally of the kinds in {file}", "the counts of the kinds that {file} contains"),
)
entry(
    "json_sum", START, VALUE, draw=_file, reference=lambda w, x, p: [str(sum(_sizes(objects(w, p))))],
    ways=("jq 'map(.size)|add' {file}", "jq '.[].size' {file} | awk '{s+=$1}END{print s}'", _json_python('print(sum(o["size"] for o in d))')),
    asks=("add up the sizes of all objects in {file}", "what is the total size in the JSON file {file}?", "sum the field size over {file}", "{file}: total of size",
          "how much do the sizes of the entries in {file} add up to?", "calculate the sum of size for every element in the JSON list {file}", "get one number: all sizes in {file} together",
          "i need the total of all sizes in {file}", "get the sum over the field size in the JSON file {file}"),
    nouns=("the sum of the sizes in {file}", "the total size of all objects in the JSON {file}", "what the sizes in {file} add up to", "all values of the field size in {file} added up", "the total over the field size of {file}"),
)
entry(
    "json_largest", START, VALUE, draw=_no_ties, reference=lambda w, x, p: [str(max(objects(w, p), key=lambda row: int(row["size"]))["name"])],
    ways=("jq -r 'max_by(.size).name' {file}", "jq -r 'sort_by(.size)[-1].name' {file}", _json_python('print(max(d,key=lambda o:o["size"])["name"])')),
    asks=("which object in {file} has the largest size? print its name", "print the name of the entry with the [biggest|highest] size in the JSON {file}",
          "what is the largest element of {file} (by size) called?", "{file}: name of the object with maximal size", "find the biggest size in {file} and tell the name that goes with it",
          "name of the top item by size in the JSON list {file}", "look for the object with the most size in {file}, give me the name only",
          "i need the name of the largest object in {file} (by size)", "get the name of the object in {file} with the greatest size"),
    nouns=("the name of the object with the largest size in {file}", "the name belonging to the biggest size in the JSON {file}", "what the largest entry of {file} (by size) is called", "the name of the top element by size in {file}",
           "the name with the highest size in {file}"),
)
entry(
    "json_sorted", START, LINES, draw=_no_ties, reference=lambda w, x, p: [str(row["name"]) for row in sorted(objects(w, p), key=lambda row: int(row["size"]))],
    ways=("jq -r 'sort_by(.size)[].name' {file}", "jq -r '.[]|\"\\(.size) \\(.name)\"' {file} | sort -n | cut -d' ' -f2", _json_python('[print(o["name"]) for o in sorted(d,key=lambda o:o["size"])]')),
    asks=("list the names in {file} sorted by size, smallest first", "print the name of every object in the JSON {file} in ascending order of size", "sort {file} by size and show the names",
          "{file}: names ordered by growing size", "what are the names in {file} from the smallest size to the largest?",
          "order the elements of the JSON list {file} by their size and give just the names", "names by size (ascending) from {file}",
          "i need the names in {file}, ordered from the smallest size to the largest", "get all names from the JSON file {file} sorted by ascending size"),
    nouns=("the names in {file} sorted by size", "the names of the objects in the JSON {file}, smallest size first", "the names in {file} by growing size", "every name of {file} in ascending order of size",
           "the names of the elements of {file}, ordered by their size"),
)
entry(
    "json_pairs", START, LINES, draw=_file, reference=lambda w, x, p: [f"{row['id']},{row['name']}" for row in objects(w, p)],
    ways=("jq -r '.[]|\"\\(.id),\\(.name)\"' {file}", "jq -r '.[]|[.id,.name]|map(tostring)|join(\",\")' {file}", _json_python('[print(o["id"],o["name"],sep=",") for o in d]')),
    asks=("print id and name of every object in {file}, separated by a comma", "turn the JSON list {file} into CSV lines with id and name, no header",
          "for each entry of {file} show 'id,name'", "{file}: id,name per line", "convert {file} to comma separated id and name, without quotes or header",
          "what are the ids and names in the JSON {file}? one pair per line with a comma between", "write out the fields id and name of each element in {file}, comma between them",
          "i need id and name of each object in {file} with a comma between", "get the ids and names in the JSON file {file} as comma separated pairs"),
    nouns=("id and name of every object in {file}, separated by commas", "the pairs id,name from the JSON {file}", "id,name for each entry of {file}", "the ids and names in {file} as CSV lines without header",
           "comma separated id and name of all elements in {file}"),
)
