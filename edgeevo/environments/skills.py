"""What a skill is: a small declarative entry, and the draws that its parameters come from.

An `Entry` is one variant of one skill. Its fields:

- `takes`: what it works on. START (the state itself), TEXT (a text file, or lines from the link before), NUMBERS, or PATHS.
- `gives`: LINES, NUMBERS, PATHS, VALUE (one line), or TREE (nothing printed, files changed).
- `draw(d) -> params`: parameters, every one a string; names say what they are (see `SPOKEN` in wording.py): `dir`, `file`, `src`, `dst`,
  `out`, `word`, `n`, `ext`, … An entry that takes TEXT or NUMBERS gets `in` (the file) for free when it stands first.
- `reference(world, x, p) -> lines | None`: decides every edge value in Python; edits `world` when files change.
- `ways`: at least two shell forms, the everyday one first. `{name}` is quoted for the shell, `{name:raw}` isn't; `{in}` is the file or, in
  a pipe, nothing; `{<in}` is `< file` or nothing. A way that begins with `>` is attached without a pipe.
- `asks`: whole requests when it stands first; `nouns`: noun phrases for its result when it stands first; `then`: requests on `{x}`.
  `[a|b|]` chooses. Where an entry takes lines, `{in}` in `asks` and `nouns` is the file.
- `unordered`: the printed order is free. `keeps_order_of_paths`: may follow a list of paths.

Contributing a skill is adding one entry to a file `vocabulary_*.py`; a test runs every way of it in a real sandbox against its reference.
"""

from __future__ import annotations

import enum
import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from edgeevo.domain import File, Node, Split
from edgeevo.environments import names
from edgeevo.environments.scenarios import Maker, Scene
from edgeevo.environments.world import World, extension

Params = dict[str, str]
Lines = list[str]


class Kind(enum.StrEnum):
    """Types of what flows between links."""

    START = "start"
    TEXT = "text"
    LINES = "lines"
    NUMBERS = "numbers"
    PATHS = "paths"
    VALUE = "value"
    TREE = "tree"


class NoInstanceError(Exception):
    """This scene offers nothing that the entry could work on; the renderer draws another."""


@dataclass(frozen=True)
class Entry:
    """One variant of one skill; see the module's docstring for the fields."""

    skill: str
    variant: str
    takes: Kind
    gives: Kind
    draw: Callable[[Draw], Params]
    reference: Callable[[World, Lines, Params], Lines | None]
    ways: tuple[str, ...]
    asks: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    unordered: bool = False
    on_paths: bool = False  # takes TEXT, and makes sense on a list of paths as well
    pads: bool = False  # prints blanks that the judge folds: nothing that counts or compares characters may follow
    exact: bool = False  # counts or compares characters
    needs_order: bool = False  # meaningless on lines whose order is free
    may_be_empty: bool = False
    names_paths: bool = False  # each line begins with the path of a file as it was given: only what suits paths may follow

    @property
    def group(self) -> str:
        """The theme of the entry: the name of the vocabulary file that its reference stands in."""
        return self.reference.__module__.rpartition("vocabulary_")[2]

    @property
    def key(self) -> tuple[str, str]:
        """(skill, variant), unique in the registry."""
        return self.skill, self.variant


ENTRIES: dict[tuple[str, str], Entry] = {}


def entry(
    name: str,
    takes: Kind,
    gives: Kind,
    *,
    draw: Callable[[Draw], Params] = lambda _d: {},
    reference: Callable[[World, Lines, Params], Lines | None],
    ways: Iterable[str],
    asks: Iterable[str] = (),
    nouns: Iterable[str] = (),
    then: Iterable[str] = (),
    **flags: bool,
) -> Entry:
    """Register one entry under `name` = "skill.variant"; a second entry of that name is a ValueError."""
    skill, _, variant = name.partition(".")
    made = Entry(skill, variant or "plain", takes, gives, draw, reference, tuple(ways), tuple(asks), tuple(nouns), tuple(then), **flags)
    if made.key in ENTRIES:
        raise ValueError(f"skill {name} is defined twice")
    ENTRIES[made.key] = made
    return made


@dataclass
class Draw:
    """Where an entry's parameters come from: one stream of dice, the scene as the links before left it, and the pool of one split."""

    rng: Random
    scene: Scene
    world: World
    split: Split
    x: Lines | None = None  # what the link before printed, if anything
    recent: list[str] = field(default_factory=list)  # paths that links before made or changed: later links prefer them
    read: list[str] = field(default_factory=list)  # files and directories that the links of the same pipe read
    placed: dict[str, Node] = field(default_factory=dict)  # what this entry added to the initial state

    def pick(self, options: Iterable[str]) -> str:
        """One of `options`; NoInstanceError when there is none."""
        options = list(options)
        if not options:
            raise NoInstanceError
        return self.rng.choice(options)

    def _slot(self, paths: list[str]) -> str:
        here = [p for p in paths if p in self.world.nodes]
        fresh = [p for p in here if p in self.recent]
        return self.pick(fresh or here)

    def text(self) -> str:
        """A text file of the scene (one that an earlier link wrote, if any)."""
        written = [p for p in self.recent if isinstance(self.world.nodes.get(p), File) and p not in self.world.probes]
        return self._slot(written or self.scene.texts)

    def numbers(self) -> str:
        """A file of integers, one per line."""
        return self._slot(self.scene.numbers)

    def table(self) -> str:
        """A CSV file with a header and no quoted fields."""
        return self._slot(self.scene.tables)

    def settings(self) -> str:
        """A file of KEY=value lines."""
        return self._slot(self.scene.settings)

    def objects(self) -> str:
        """A JSON file: a list of objects with id, name, kind and size."""
        return self._slot(self.scene.objects)

    def log(self) -> str:
        """A log: date, time, level, word, person, `took N ms`."""
        return self._slot(self.scene.logs)

    def draft(self) -> str:
        """Untidy prose: blank lines, capitals, repeated lines, double and trailing blanks."""
        return self._slot(self.scene.drafts)

    def contacts(self) -> str:
        """Lines with a mail address and an IPv4 address each."""
        return self._slot(self.scene.contacts)

    def lists(self) -> tuple[str, str]:
        """Two lists of words that share some; either may come first."""
        here = [p for p in self.scene.lists if p in self.world.nodes]
        if len(here) < 2:
            raise NoInstanceError
        first, second = self.rng.sample(here, 2)
        return first, second

    def source(self, pick: Callable[[], str]) -> tuple[Lines, Params]:
        """The lines that this link works on, and `{"in": path}` with a path from `pick` when it stands first."""
        if self.x is not None:
            return self.x, {}
        path = pick()
        return self.world.lines(path), {"in": path}

    def any_file(self, keep: Callable[[str], bool] = lambda _p: True) -> str:
        """Any regular file with a visible name and known content for which `keep(path)` holds."""
        files = self.world.files(self.scene.root)
        return self._slot([p for p in files if keep(p) and not posixpath.basename(p).startswith(".") and not self.world.opaque(p)])

    def dir(self, keep: Callable[[str], bool] = lambda _p: True, *, root: bool = True) -> str:
        """A directory of the scene for which `keep(path)` holds; `root` says whether the scene's root may be drawn.

        Trees with packed files or links in them are never drawn: what finds and searches say about those isn't worth a task.
        """
        every = [self.scene.root, *self.world.directories(self.scene.root)]
        opaque = [p for p in self.world.nodes if self.world.opaque(p)]
        found = [p for p in every if keep(p) and (root or p != self.scene.root) and not any(q.startswith(p + "/") for q in opaque)]
        fresh = [p for p in found if p in self.recent]
        return self.pick(fresh or found)

    def ext(self, directory: str, *, least: int = 1, depth: int | None = None) -> str:
        """An extension that at least `least` files beneath `directory` have, but not all of them."""
        every = [extension(p) for p in self.world.files(directory, depth=depth)]
        return self.pick(sorted({e for e in every if e and e.islower() and every.count(e) >= least and len(set(every)) > 1}))

    def word(self, lines: Lines, *, share: tuple[float, float] = (0.05, 0.7)) -> str:
        """A word (letters only) that occurs in a share of `lines` between the two bounds."""
        counts: dict[str, int] = {}
        for line in lines:
            for word in {w for w in line.replace(",", " ").replace('"', " ").split() if w.isalpha() and len(w) > 2}:
                counts[word] = counts.get(word, 0) + 1
        low, high = share[0] * len(lines), share[1] * len(lines)
        return self.pick(sorted(w for w, c in counts.items() if low <= c <= high))

    def word_in(self, path: str) -> str:
        """A word that occurs in some lines of the text file at `path`."""
        return self.word(self.world.lines(path))

    def input_word(self, p_in: str | None = None) -> str:
        """A word that occurs in some of the lines this link works on (from the link before, or from the file `p_in`)."""
        return self.word(self.x if self.x is not None else self.world.lines(p_in or self.text()))

    def stem(self) -> str:
        """A free word of this split."""
        return self.rng.choice(names.stems(self.split))

    def number(self, low: int, high: int) -> str:
        """An integer between two bounds, both included."""
        return str(self.rng.randint(low, high))

    def new(self, extension: str = "txt", *, folder: str | None = None) -> str:
        """A path that does not exist yet, in `folder`, or in the working directory or the scene's root."""
        folder = folder or self.rng.choice((self.scene.cwd, self.scene.root))
        for _ in range(20):
            path = posixpath.join(folder, self.name(extension))
            if path not in self.world.nodes:
                return path
        raise NoInstanceError

    def unread(self, path: str) -> bool:
        """Whether no link of this pipe reads `path` or a directory around it, so that the pipe may write there."""
        return not any(path == q or path.startswith(q + "/") for q in self.read)

    def place(self, name: str, node: Node) -> str:
        """Add `node` under `name` to the initial state, for entries that need what no scene has; the path.

        Anywhere in the scene when no link came before, else outside of its root, where no link before can have looked.
        """
        first = self.x is None and not self.recent
        folders = [self.scene.root, self.scene.cwd, self.dir()] if first else [self.scene.home, posixpath.dirname(self.scene.root)]
        path = posixpath.join(self.rng.choice(folders), name)
        if path in self.world.nodes:
            raise NoInstanceError
        self.world.put(path, node)
        self.placed[path] = node
        return path

    def name(self, extension: str = "") -> str:
        """A name for something new, without its folder."""
        return Maker(self.rng, self.split, ()).name(extension)
