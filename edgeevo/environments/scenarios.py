"""The states that practice starts in: declarative scenarios, one generator, and hazards that make a state less expected.

A scenario is a row of `SCENARIOS`; the generator fills it with directories, logs, tables, numbers and settings whose names and contents
come from the pool of one split. A hazard (`HAZARDS`) changes how the generator names or litters; it never changes what is asked.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from edgeevo.domain import Directory, File, Node, Split
from edgeevo.environments import names
from edgeevo.environments.world import World, text

MINUTE, HOUR, DAY = 60, 3600, 86_400
LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG")
COLUMNS = ("site", "status", "owner", "zone", "model", "kind", "unit", "group")
NUMBER_COLUMNS = ("amount", "count", "temp", "price", "load", "level", "weight", "score")


@dataclass(frozen=True)
class Scenario:
    """One kind of place: `{a}` and `{b}` in paths are drawn names; `extensions` are what lies around there, most frequent first."""

    id: str
    roots: str
    folders: str
    extensions: str
    text_extension: str
    lines: str  # which maker of text lines


@dataclass
class Scene:
    """A generated state with the slots that skills draw from; all paths absolute."""

    world: World
    root: str
    cwd: str
    home: str
    texts: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    contacts: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)


SCENARIOS = {
    s.id: s
    for s in (
        Scenario("logs", "/var/log/{a} /srv/{a} /home/user/{a}", "logs old {b} {b}/archive", "log txt gz err conf", "log", "log"),
        Scenario("sensors", "/data/{a} /srv/{a} /home/user/{a}", "raw readings {b} {b}/daily", "csv dat txt json tmp", "dat", "readings"),
        Scenario("configs", "/opt/{a} /srv/{a} /home/user/{a}", "conf.d sites {b} {b}/backup", "conf ini env yaml bak", "conf", "settings"),
        Scenario("sources", "/home/user/{a} /opt/{a} /srv/{a}", "src lib {b} {b}/tests", "py sh md c txt", "txt", "notes"),
        Scenario("inbox", "/home/user/{a} /data/{a} /srv/share/{a}", "inbox docs {b} {b}/new", "txt pdf jpg csv md", "txt", "notes"),
        Scenario("backups", "/data/{a} /srv/{a} /home/user/{a}", "daily weekly {b} {b}/full", "bak sql txt log dump", "list", "people"),
    )
}

HAZARDS: dict[str, str] = {
    "spaces": "names of files and directories contain a blank",
    "decoys": "near misses lie around: other case, an extra suffix, hidden twins",
}


class Maker:
    """Draws names and contents of one split from one stream of dice."""

    def __init__(self, rng: Random, split: Split, hazards: tuple[str, ...]) -> None:
        self.rng, self.split, self.hazards = rng, split, hazards
        self._taken: set[str] = set()

    def stem(self) -> str:
        """A neutral noun of this split, not used before in this scene (numbered when the pool is used up)."""
        pool = names.stems(self.split)
        word = self.rng.choice(pool)
        while word in self._taken:
            word = self.rng.choice(pool) + (str(len(self._taken)) if len(self._taken) >= len(pool) // 2 else "")
        self._taken.add(word)
        return word

    def person(self) -> str:
        """A given name of this split."""
        return self.rng.choice(names.people(self.split))

    def name(self, extension: str = "") -> str:
        """A file or directory name; two words with a blank under the hazard `spaces`."""
        stem = self.stem()
        shape = self.rng.random()
        if "spaces" in self.hazards and shape < 0.7:
            stem = f"{stem} {self.stem()}"
        elif shape < 0.15:
            stem = f"{stem}{self.rng.choice('-_')}{self.rng.randint(1, 20)}"
        elif shape < 0.3:
            stem = f"{stem}{self.rng.choice('-_')}{self.stem()}"
        return f"{stem}.{extension}" if extension else stem

    def lines(self, kind: str, count: int) -> list[str]:
        """`count` lines of a kind named in `Scenario.lines`; words recur, so that searching and counting mean something."""
        rng = self.rng
        words = [rng.choice(names.stems(self.split)) for _ in range(rng.randint(5, 14))]
        who = [self.person() for _ in range(rng.randint(3, 9))]
        stamp = rng.randint(0, 20 * 60)

        def log() -> str:
            nonlocal stamp
            stamp += rng.randint(1, 20)
            hour, minute = stamp // 60, stamp % 60
            clock = f"2026-0{1 + hour // 24 % 9}-{10 + hour % 18} {hour % 24:02}:{minute:02}:{rng.randint(0, 59):02}"
            return f"{clock} {rng.choice(LEVELS)} {rng.choice(words)} {rng.choice(who)} took {rng.randint(1, 900)} ms"

        makers: dict[str, Callable[[], str]] = {
            "log": log,
            "readings": lambda: f"{rng.choice(words)} {rng.randint(-20, 90)} {rng.choice(('ok', 'low', 'high'))}",
            "settings": lambda: f"{rng.choice(words)} {rng.choice(('on', 'off', 'auto'))}",
            "notes": lambda: " ".join(rng.choices(words, k=rng.randint(2, 4))),
            "people": lambda: f"{rng.choice(who)} {rng.choice(words)}",
        }
        return [makers[kind]() for _ in range(count)]

    def table(self, rows: int) -> list[str]:
        """CSV lines with a header: id, name, two text columns and two number columns; no quoted fields."""
        rng = self.rng
        texts, numbers = rng.sample(COLUMNS, 2), rng.sample(NUMBER_COLUMNS, 2)
        choices = {c: [rng.choice(names.stems(self.split)) for _ in range(3)] for c in texts}
        columns = ["id", "name", *texts, *numbers]
        tail = columns[2:]
        rng.shuffle(tail)
        columns[2:] = tail
        out = [",".join(columns)]
        for i in range(rows):
            row = {"id": str(100 + i), "name": self.person()} | {c: rng.choice(choices[c]) for c in texts}
            row |= {c: str(rng.randint(1, 99)) for c in numbers}
            out.append(",".join(row[c] for c in columns))
        return out

    def settings(self) -> list[str]:
        """KEY=value lines with a comment and a commented twin."""
        keys = [self.stem().upper() for _ in range(self.rng.randint(4, 7))]
        out = [f"# {self.stem()} settings", ""]
        for i, key in enumerate(keys):
            value = self.rng.choice((str(self.rng.randint(1, 9000)), self.rng.choice(names.stems(self.split))))
            if i == 1:
                out.append(f"#{key}={value}x")
            out.append(f"{key}={value}")
        return out

    def draft(self) -> list[str]:
        """Prose with what untidy text has: blank lines, capitals, plurals, repeated lines, double and trailing blanks."""
        rng = self.rng
        words = rng.sample(names.stems(self.split), 6)
        forms = [*words, words[0] + "s", words[1] + "s"]
        lines = [" ".join(rng.choices(forms, k=rng.randint(2, 6))) for _ in range(rng.randint(6, 11))]
        lines = [line.capitalize() if rng.random() < 0.4 else line for line in lines]
        lines += rng.sample(lines, 2)
        lines[1] = lines[1].replace(" ", "  ", 1)
        lines[3] += "  "
        for _ in range(rng.randint(1, 3)):
            lines.insert(rng.randint(1, len(lines) - 1), "")
        return lines

    def contacts(self) -> list[str]:
        """Lines with a mail address and an IPv4 address each; some people come twice."""
        rng, who = self.rng, [self.person() for _ in range(6)]
        homes = rng.sample(names.stems(self.split), 3)

        def line() -> str:
            person = rng.choice(who)
            return f"{person} {person}@{rng.choice(homes)}.example 10.{rng.randint(0, 9)}.{rng.randint(0, 99)}.{rng.randint(1, 254)}"

        return [line() for _ in range(rng.randint(6, 12))]

    def pair(self) -> tuple[list[str], list[str]]:
        """Two lists of words, each without repeats, that share some."""
        words = self.rng.sample(names.stems(self.split), 10)
        first, second = words[:7], words[self.rng.randint(3, 5) :]
        self.rng.shuffle(second)
        return first, second

    def objects(self) -> list[str]:
        """A JSON list of small objects, one per line."""
        rng = self.rng
        kinds = [rng.choice(names.stems(self.split)) for _ in range(3)]
        rows = [
            f'{{"id": {10 + i}, "name": "{self.stem()}", "kind": "{rng.choice(kinds)}", "size": {rng.randint(1, 99)}}}'
            for i in range(rng.randint(4, 7))
        ]
        return ["[", *[f"  {row}," for row in rows[:-1]], f"  {rows[-1]}", "]"]


def build(scenario: Scenario, rng: Random, split: Split, hazards: tuple[str, ...] = ()) -> Scene:
    """Generate a scene: 12-22 files in 4-5 directories with sizes, ages and modes, and at least one file for every kind of slot."""
    litter = Random(rng.getrandbits(62))  # a stream of its own: the scene without decoys is the same scene
    make = Maker(rng, split, hazards)
    extensions = scenario.extensions.split()
    root = rng.choice(scenario.roots.split()).format(a=make.name())
    world = World({root: Directory(), "/home/user": Directory()})
    middle = make.name()
    folders = [root] + [posixpath.join(root, f.format(b=middle)) for f in scenario.folders.split()]
    for folder in folders:
        world.put(folder, Directory())
    scene = Scene(world, root, cwd=rng.choice((root, root, posixpath.dirname(root), "/home/user")), home="/home/user")

    def place(extension: str, lines: list[str], slot: list[str]) -> None:
        path = posixpath.join(rng.choice((root, root, *folders)), make.name(extension))
        world.put(path, text(lines, age_seconds=_age(rng)))
        slot.append(path)

    for _ in range(3):
        place(scenario.text_extension, make.lines(scenario.lines, rng.randint(10, 60)), scene.texts)
    place("txt", [str(rng.randint(1, 500)) for _ in range(rng.randint(6, 15))], scene.numbers)
    place("csv", make.table(rng.randint(6, 12)), scene.tables)
    place(rng.choice(("env", "conf")), make.settings(), scene.settings)
    place("json", make.objects(), scene.objects)
    place("log", make.lines("log", rng.randint(10, 20)), scene.logs)
    place("txt", make.draft(), scene.drafts)
    place(rng.choice(("txt", "list")), make.contacts(), scene.contacts)
    for lines in make.pair():
        place(rng.choice(("txt", "txt", "lst")), lines, scene.lists)
    for folder in folders:
        for _ in range(rng.randint(1, 3)):
            weights = [5, 4, 3, 2, 1]
            extension = rng.choices(extensions, weights)[0]
            count = rng.choice((0, 1, 3, 6, 40, 120))
            lines = (make.lines("notes", min(count, 8)) * 15)[:count]  # filler: only its size matters
            node = text(lines, mode=rng.choice((0o644, 0o644, 0o600, 0o664, 0o755, 0o666)), age_seconds=_age(rng))
            world.put(posixpath.join(folder, make.name(extension)), node)
    crowd, extension, stem = rng.choice(folders), rng.choice(extensions), make.stem()
    for i in range(rng.randint(2, 40)):  # many small files of one kind, so that counts can't be guessed
        world.put(posixpath.join(crowd, f"{stem}-{i:02}.{extension}"), text(make.lines("notes", 1), age_seconds=_age(rng)))
    for folder in (root, rng.choice(folders)):  # so that "hidden ones too" says something
        hidden = "." + make.name(rng.choice(("", *extensions[:2])))
        world.put(posixpath.join(folder, hidden), text(make.lines("notes", 2), age_seconds=_age(rng)))
    if "decoys" in hazards:
        _litter(world, litter, scene)
    return scene


def _age(rng: Random) -> int:
    """Ages spread over minutes, hours and days, never near a whole unit, so that no answer hangs on the second it is asked."""
    return rng.choice((rng.randint(0, 50) * MINUTE + 20, rng.randint(1, 23) * HOUR + 1800, rng.randint(1, 60) * DAY + 12 * HOUR))


def _twins(name: str) -> tuple[str, ...]:
    return f".{name}", f"{name}.orig", f"{name}~", name.upper()


def decoys(nodes: Mapping[str, Node]) -> set[str]:
    """The paths of `nodes` that are near misses of another: same content, and a name as the hazard `decoys` makes them."""
    twins = {(posixpath.join(posixpath.dirname(path), twin), path) for path in nodes for twin in _twins(posixpath.basename(path))}
    return {twin for twin, path in twins if twin != path and nodes.get(twin) == nodes[path]}


def _litter(world: World, rng: Random, scene: Scene) -> None:
    """Near misses beside real files: a hidden twin, an extra suffix, an upper-case extension."""
    real = [p for p, n in world.below(scene.root) if isinstance(n, File)]
    for path in rng.sample(real, min(5, len(real))):
        folder, name = posixpath.split(path)
        twin = rng.choice(_twins(name))
        if posixpath.join(folder, twin) not in world.nodes:
            world.put(posixpath.join(folder, twin), world.nodes[path])
