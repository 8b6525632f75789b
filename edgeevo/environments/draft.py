"""One draw of a program: every link gets an entry, parameters and what its reference made of the state so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from edgeevo.domain import File, Node, Order, Program, ProgramLink, Split
from edgeevo.environments import vocabulary
from edgeevo.environments.scenarios import SCENARIOS, Scene, build
from edgeevo.environments.skills import Draw, Entry, Kind, Lines, NoInstanceError, Params
from edgeevo.environments.wording import PATHS
from edgeevo.environments.world import World
from edgeevo.errors import TaskError

FACT = "fact"  # a link that hides one parameter of the next link in a file; its variant is that parameter's name
WITHOUT = "without:"  # a hazard that takes a tool away
MIN_UNORDERED_LINES = 4  # so that luck puts them in order in at most 1 of 24 cases
READS = (Kind.TEXT, Kind.NUMBERS, Kind.PATHS)


@dataclass
class Stage:
    """One link while a task is being rendered."""

    entry: Entry
    params: Params
    starts: bool  # begins a command of its own instead of reading a pipe
    fact: tuple[str, str] | None = None  # (parameter, path of the file that holds it)


@dataclass
class Draft:
    """Everything that one draw decided."""

    scene: Scene
    initial: World
    stages: list[Stage] = field(default_factory=list)
    printed: Lines | None = None
    order: Order = Order.LINES
    soft: dict[str, Order] = field(default_factory=dict)  # files whose line order is free


def entry_of(link: ProgramLink) -> Entry:
    """The entry that a link names; TaskError when the vocabulary has none."""
    try:
        return vocabulary.ENTRIES[link.skill, link.variant]
    except KeyError:
        raise TaskError(f"no skill {link.skill}.{link.variant} in the vocabulary", hint="`edgeevo env list` shows the skills") from None


def follows(before: ProgramLink | None, after: ProgramLink) -> bool:
    """Whether `after` may stand behind `before` (None = first), by types and order."""
    if FACT in (after.skill, before.skill if before else ""):
        return after.skill != FACT or before is None or before.skill != FACT
    nxt = entry_of(after)
    if before is None:
        return nxt.takes is not Kind.PATHS and bool(nxt.asks or nxt.nouns)
    got = entry_of(before)
    if got.gives is Kind.TREE:
        return nxt.takes is not Kind.PATHS and bool(nxt.asks)
    if nxt.takes is Kind.START or not nxt.then or (nxt.needs_order and got.unordered) or (nxt.exact and got.pads):
        return False
    if got.names_paths and not nxt.on_paths:
        return False
    return {
        Kind.PATHS: nxt.takes is Kind.PATHS or (nxt.takes is Kind.TEXT and nxt.on_paths),
        Kind.LINES: nxt.takes is Kind.TEXT,
        Kind.NUMBERS: nxt.takes in (Kind.TEXT, Kind.NUMBERS),
        Kind.VALUE: nxt.takes is Kind.TEXT and nxt.gives is Kind.TREE,
    }[got.gives]


def draw_once(program: Program, rng: Random, split: Split) -> Draft:
    """Build the scene, then draw and apply link after link. NoInstanceError or PermissionError when this draw has nothing to show."""
    hazards = tuple(h for h in program.hazards if not h.startswith(WITHOUT))
    scene = build(SCENARIOS[program.scenario], rng, split, hazards)
    world, draft = scene.world, Draft(scene, scene.world.copy())
    x: Lines | None = None
    recent: list[str] = []
    read: list[str] = []
    hidden: str | None = None
    unordered = paths = False
    for link in program.links:
        if link.skill == FACT:
            hidden = link.variant
            continue
        entry = entry_of(link)
        starts = x is None
        draw = Draw(rng, scene, world, split, x, recent, read)
        params = dict(entry.draw(draw))
        for path, node in draw.placed.items():
            draft.initial.put(path, node)
        if starts and entry.takes in READS:
            params.setdefault("in", draw.numbers() if entry.takes is Kind.NUMBERS else draw.text())
            x = world.lines(params["in"])
        read.extend(path for path in params.values() if path in world.nodes)
        if entry.needs_order and (unordered or draft.soft.get(params.get("in", "")) in (Order.SET, Order.PATHS)):
            raise NoInstanceError
        if not starts and "out" in params and _reads(draft.stages, params["out"]):
            raise NoInstanceError
        stage = Stage(entry, params, starts)
        if hidden:
            stage.fact = (hidden, _hide(hidden, params, draw, draft, world))
            hidden = None
        before = dict(world.nodes)
        got = entry.reference(world, list(x or []), params)
        changed = sorted(p for p in {*before, *world.nodes} if differs(before.get(p), world.nodes.get(p)))
        _require(entry, x, got, changed, unordered=unordered)
        paths = entry.gives is Kind.PATHS or entry.names_paths or (paths and entry.on_paths and entry.gives is not Kind.NUMBERS)
        if entry.gives is Kind.TREE:
            if entry.takes is Kind.TEXT and (unordered or paths):
                draft.soft |= dict.fromkeys(changed, _order(unordered=unordered, paths=paths))
            x, unordered, paths = None, False, False
            read.clear()
        else:
            unordered = entry.unordered or (
                unordered and not entry.needs_order and entry.gives is not Kind.VALUE and not entry.skill.startswith("sort")
            )
            x = got
        recent.extend(changed)
        draft.stages.append(stage)
    draft.printed = x
    draft.order = _order(unordered=unordered, paths=paths and draft.stages[-1].entry.gives is not Kind.VALUE)
    return draft


def differs(before: Node | None, after: Node | None) -> bool:
    """Whether two states of one path differ in more than their age."""
    if isinstance(before, File) and isinstance(after, File):
        return before.data != after.data or before.mode != after.mode
    return before != after


def _reads(stages: list[Stage], path: str) -> bool:
    """Whether the pipeline that ends here reads `path` or a directory above it: it would read what it is writing."""
    for stage in reversed(stages):
        read = [value for name, value in stage.params.items() if name in PATHS]
        if any(path == place or path.startswith(place.rstrip("/") + "/") for place in read):
            return True
        if stage.starts:
            return False
    return False


def _order(*, unordered: bool, paths: bool) -> Order:
    if paths:
        return Order.PATHS if unordered else Order.PATH_LINES
    return Order.SET if unordered else Order.LINES


def _require(entry: Entry, x: Lines | None, got: Lines | None, changed: list[str], *, unordered: bool) -> None:
    """An instance must show something: a result that isn't empty and isn't just the input, or a changed file.

    Lines that come in any order may come in the right one by luck, so there must be enough of them to put in order.
    """
    if entry.gives is Kind.TREE:
        if not changed:
            raise NoInstanceError
        return
    empty = not any(line.strip() for line in got or ())
    if unordered and entry.skill.startswith("sort"):
        shows = len(set(x or ())) >= MIN_UNORDERED_LINES
    else:
        shows = entry.takes not in (Kind.TEXT, Kind.NUMBERS) or got != x
    if (empty and not entry.may_be_empty) or not shows:
        raise NoInstanceError


def _hide(name: str, params: Params, draw: Draw, draft: Draft, world: World) -> str:
    if name not in params:
        raise NoInstanceError
    path = draw.new("txt")
    for place in (world, draft.initial):
        place.write(path, [params[name]])
    return path
