"""A program of links becomes a task: state, request, shell solutions and contract, all from one seed, all from the same parameters.

    render(program, seed, split)  →  Task
    follows(before, after)        →  whether a link can stand behind another

The reference implementations decide what must come out; the shell solutions are only proposals that the verifiers measure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random

from edgeevo.domain import (
    Absent,
    Clause,
    Content,
    File,
    Link,
    Node,
    Order,
    Present,
    Printed,
    Program,
    ProgramLink,
    Rerun,
    Split,
    State,
    Task,
    Untouched,
    derive_seed,
)
from edgeevo.environments import vocabulary
from edgeevo.environments.scenarios import SCENARIOS, Scene, build
from edgeevo.environments.skills import Draw, Entry, Kind, Lines, NoInstanceError, Params
from edgeevo.environments.wording import PATHS, Speaker, Style, polish, pool
from edgeevo.environments.world import World
from edgeevo.errors import TaskError

MAX_DRAWS = 40
FACT = "fact"  # a link that hides one parameter of the next link in a file; its variant is that parameter's name
WITHOUT = "without:"  # a hazard that takes a tool away
READS = (Kind.TEXT, Kind.NUMBERS, Kind.PATHS)
PRONOUNS = {Kind.PATHS: ("them", "these files", "those"), Kind.VALUE: ("it", "the result", "that"), Kind.TREE: ("it",)}
FACT_PHRASES = ("the text [stored|kept|written|given] in {file}", "the content of {file}", "whatever {file} [says|contains]", "the value in {file}")


@dataclass
class _Stage:
    """One link while a task is being rendered."""

    entry: Entry
    params: Params
    starts: bool  # begins a command of its own instead of reading a pipe
    fact: tuple[str, str] | None = None  # (parameter, path of the file that holds it)


@dataclass
class _Draft:
    """Everything that one draw decided."""

    scene: Scene
    initial: World
    stages: list[_Stage] = field(default_factory=list)
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
    return {
        Kind.PATHS: nxt.takes is Kind.PATHS or (nxt.takes is Kind.TEXT and nxt.on_paths),
        Kind.LINES: nxt.takes is Kind.TEXT,
        Kind.NUMBERS: nxt.takes in (Kind.TEXT, Kind.NUMBERS),
        Kind.VALUE: nxt.takes is Kind.TEXT and nxt.gives is Kind.TREE,
    }[got.gives]


def render(program: Program, seed: int, split: Split) -> Task:
    """The task of `program` for `seed`, with names and wordings of `split`; TaskError when no draw gives an instance."""
    for attempt in range(MAX_DRAWS):
        rng = _dice(program, seed, split, attempt)
        try:
            return _finish(_draw(program, rng, split), program, seed, split, rng)
        except (NoInstanceError, PermissionError):  # nothing to work on, or an earlier link took the right to write
            continue
    names = " → ".join(f"{k.skill}.{k.variant}" for k in program.links)
    raise TaskError(f"program {names} in {program.scenario} has no instance after {MAX_DRAWS} draws, seed {seed}", hint="draw another seed or program")


def _dice(program: Program, seed: int, split: Split, attempt: int) -> Random:
    """Hazards stay out of the seed, so that a program and its hazardous twin start from the same scene."""
    return Random(derive_seed("task", program.scenario, *[f"{k.skill}.{k.variant}" for k in program.links], split.value, seed, attempt))


def naive_command(
    task: Task,
    *,
    drop: int | None = None,
    swap: tuple[int, ProgramLink] | None = None,
    unquoted: bool = False,
    ignore_absent: bool = False,
    unread: bool = False,
) -> str | None:
    """What somebody would type who misses one thing about `task`, with the task's own names and values; None when it can't be written.

    `drop` leaves out a link, `swap` uses another skill's first way in a link's place, `unquoted` forgets the quotes, `ignore_absent` uses
    tools that this state lacks, `unread` takes the name of the file that holds a fact for the fact.
    """
    for attempt in range(MAX_DRAWS):
        rng = _dice(task.program, task.seed, task.split, attempt)
        try:
            draft = _draw(task.program, rng, task.split)
            _finish(draft, task.program, task.seed, task.split, _twin(rng))
        except (NoInstanceError, PermissionError):  # nothing to work on, or an earlier link took the right to write
            continue
        stages = list(draft.stages)
        place = sum(link.skill != FACT for link in task.program.links[: drop if drop is not None else swap[0] if swap else 0])
        if drop is not None:
            del stages[place]
        if swap is not None:
            try:
                stages[place] = _instead(stages[place], entry_of(swap[1]), draft, task.split)
            except NoInstanceError:
                return None
        if not stages or not stages[0].starts:
            return None
        if unread:
            stages = [replace(s, params={**s.params, s.fact[0]: s.fact[1]}, fact=None) if s.fact else s for s in stages]
        speaker = Speaker(Style.draw(rng), draft.scene.cwd, draft.scene.home)
        absent = () if ignore_absent else task.initial.absent_tools
        try:
            command = _command(replace(draft, stages=stages), speaker, 0, absent)
        except (NoInstanceError, KeyError):
            return None
        return command.replace("'", "") if unquoted else command
    return None


def _instead(stage: _Stage, entry: Entry, draft: _Draft, split: Split) -> _Stage:
    """Another entry in a stage's place: its own parameters are drawn, and the stage's values are used wherever the names agree."""
    dice = Random(derive_seed("instead", entry.skill, entry.variant, *sorted(stage.params.values())))
    drawn = entry.draw(Draw(dice, draft.scene, draft.initial, split, None if stage.starts else []))
    return _Stage(entry, {**drawn, **{k: v for k, v in stage.params.items() if k in drawn or k == "in"}}, stage.starts)


def _twin(rng: Random) -> Random:
    """Dice in the same state as `rng`, so that trying something out does not move the stream."""
    twin = Random()
    twin.setstate(rng.getstate())
    return twin


def _draw(program: Program, rng: Random, split: Split) -> _Draft:
    hazards = tuple(h for h in program.hazards if not h.startswith(WITHOUT))
    scene = build(SCENARIOS[program.scenario], rng, split, hazards)
    world, draft = scene.world, _Draft(scene, scene.world.copy())
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
        stage = _Stage(entry, params, starts)
        if hidden:
            stage.fact = (hidden, _hide(hidden, params, draw, draft, world))
            hidden = None
        before = dict(world.nodes)
        got = entry.reference(world, list(x or []), params)
        changed = sorted(p for p in {*before, *world.nodes} if _differs(before.get(p), world.nodes.get(p)))
        _require(entry, x, got, changed)
        paths = entry.gives is Kind.PATHS or (paths and entry.on_paths and entry.gives is not Kind.NUMBERS)
        if entry.gives is Kind.TREE:
            if entry.takes is Kind.TEXT and (unordered or paths):
                draft.soft |= dict.fromkeys(changed, _order(unordered=unordered, paths=paths))
            x, unordered, paths = None, False, False
            read.clear()
        else:
            unordered = entry.unordered or (unordered and not entry.needs_order and entry.gives is not Kind.VALUE and not entry.skill.startswith("sort"))
            x = got
        recent.extend(changed)
        draft.stages.append(stage)
    draft.printed = x
    draft.order = _order(unordered=unordered, paths=paths and draft.stages[-1].entry.gives is not Kind.VALUE)
    return draft


def _differs(before: Node | None, after: Node | None) -> bool:
    """Whether two states of one path differ in more than their age."""
    if isinstance(before, File) and isinstance(after, File):
        return before.data != after.data or before.mode != after.mode
    return before != after


def _reads(stages: list[_Stage], path: str) -> bool:
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


def _require(entry: Entry, x: Lines | None, got: Lines | None, changed: list[str]) -> None:
    """An instance must show something: a result that isn't empty and isn't just the input, or a changed file."""
    if entry.gives is Kind.TREE:
        if not changed:
            raise NoInstanceError
    elif not any(line.strip() for line in got or ()) and not entry.may_be_empty:
        raise NoInstanceError
    elif entry.takes in (Kind.TEXT, Kind.NUMBERS) and got == x:
        raise NoInstanceError


def _hide(name: str, params: Params, draw: Draw, draft: _Draft, world: World) -> str:
    if name not in params:
        raise NoInstanceError
    path = draw.new("txt")
    for place in (world, draft.initial):
        place.write(path, [params[name]])
    return path


# --- shell ------------------------------------------------------------------------------------------------------------


def uses(way: str, tool: str) -> bool:
    """Whether a shell form needs `tool` (or has a word that looks like it)."""
    return bool(re.search(rf"\b{re.escape(tool)}\b", way))


def _command(draft: _Draft, speaker: Speaker, preference: int, absent: tuple[str, ...]) -> str:
    """The whole program as one command line, using each entry's way number `preference` (or the nearest that is allowed)."""
    out = ""
    for stage in draft.stages:
        ways = [w for w in stage.entry.ways if not any(uses(w, tool) for tool in absent)]
        if stage.fact:
            ways = [w for w in ways if f"{{{stage.fact[0]}}}" in w and f"{{{stage.fact[0]}:raw}}" not in w]
        if not stage.starts:
            ways = [w for w in ways if not w.startswith("!")]
        if not ways or ((absent or stage.fact) and len(ways) < 2):  # noqa: PLR2004 - a hazard or a look-up must leave two ways
            raise NoInstanceError
        way = ways[min(preference, len(ways) - 1)].removeprefix("!")
        if stage.fact:
            way = way.replace(f"{{{stage.fact[0]}}}", f'"$(cat {speaker.shell_path(stage.fact[1])})"')
        text = speaker.shell(way, stage.params, piped=not stage.starts)
        glue = "" if not out else " && " if stage.starts else " " if text.startswith(">") else " | "
        out += glue + text
    return out


# --- words ------------------------------------------------------------------------------------------------------------


def _choose(stage: _Stage, field_name: str, split: Split, rng: Random, *, last: bool = True) -> tuple[str, str] | None:
    """A template of one list of an entry and its id; None when this split has none there."""
    templates: tuple[str, ...] = getattr(stage.entry, field_name)
    options = [i for i in pool(templates, split) if last or not templates[i].endswith("?")]
    if not options:
        return None
    i = rng.choice(options)
    return templates[i], f"{stage.entry.skill}.{stage.entry.variant}/{field_name}/{i}"


def _words(draft: _Draft, speaker: Speaker, split: Split, rng: Random) -> tuple[str, str]:
    """The instruction and the ids of the templates in it."""
    used: list[str] = []

    def fill(stage: _Stage, template: str, x: str = "") -> str:
        params = dict(stage.params) | {"x": x}
        if stage.fact:
            name, path = stage.fact
            phrase = speaker.fill(rng.choice(FACT_PHRASES), {"file": path}, rng)
            template = template.replace(f"{{{name}}}", phrase)
        return speaker.fill(template, params, rng)

    def opening(stage: _Stage, *, last: bool) -> tuple[str, bool]:
        forms = [f for f in ("asks", "nouns") if (f == "asks" or stage.entry.gives is not Kind.TREE)]
        rng.shuffle(forms)
        for form in forms:
            found = _choose(stage, form, split, rng, last=last)
            if found:
                used.append(found[1])
                verb = rng.choice(("show ", "print ", "list ", "display ", "give me ", "output ", "get ", "tell me ")) if form == "nouns" else ""
                return verb + fill(stage, found[0]), found[0].startswith("{") and not verb
        raise NoInstanceError

    stages = draft.stages
    if len(stages) == 2 and not stages[1].starts and rng.random() < 0.6:  # noqa: PLR2004 - nested is the commoner form for two links
        noun, then = _choose(stages[0], "nouns", split, rng), _choose(stages[1], "then", split, rng)
        if noun and then:
            used += [noun[1], then[1]]
            sentence = fill(stages[1], then[0], fill(stages[0], noun[0]))
            return polish(sentence, rng, opens_with_value=then[0].startswith("{")), "+".join(used)
    sentence, fixed = opening(stages[0], last=len(stages) == 1)
    for before, stage in zip(stages, stages[1:], strict=False):
        last = stage is stages[-1]
        if stage.starts:
            clause, _ = opening(stage, last=False)
        else:
            found = _choose(stage, "then", split, rng, last=False)
            if not found:
                raise NoInstanceError
            used.append(found[1])
            clause = fill(stage, found[0], rng.choice(PRONOUNS.get(before.entry.gives, ("them", "the result", "these lines", "that"))))
        joint = rng.choice((", then ", " and then ", " and ", ", and ", "; then ", ". then "))
        sentence += (rng.choice((" and ", ", and ", ", then ")) if last and len(stages) > 2 else joint) + clause  # noqa: PLR2004
    return polish(sentence, rng, opens_with_value=fixed), "+".join(used)


# --- contract ---------------------------------------------------------------------------------------------------------


def _contract(draft: _Draft) -> tuple[Clause, ...]:
    """What must hold at the end: the difference that the references made, the printed result, and that nothing else was touched."""
    clauses: list[Clause] = []
    old, new = draft.initial.nodes, draft.scene.world.nodes
    touched = sorted(p for p in {*old, *new} if _differs(old.get(p), new.get(p)))
    for path in touched:
        before, after = old.get(path), new.get(path)
        if after is None:
            clauses.append(Absent(path=path))
        elif path in draft.scene.world.probes:
            command, lines = draft.scene.world.probes[path]
            clauses.append(Rerun(path=path, command=command, lines=lines))
        elif isinstance(after, File):
            mode = after.mode if isinstance(before, File) and before.mode != after.mode else None
            same = isinstance(before, File) and before.data == after.data
            if mode is not None or same:
                clauses.append(Present(path=path, node=after, mode=mode))
            else:
                clauses.append(Content(path=path, lines=tuple(after.data.decode().splitlines()), order=draft.soft.get(path, Order.LINES)))
        else:
            mode = after.mode if not isinstance(after, Link) and before is not None else None
            clauses.append(Present(path=path, node=after, mode=mode))
    if draft.printed is not None:
        clauses.append(Printed(lines=tuple(draft.printed), order=draft.order))
    return (*clauses, Untouched(except_paths=tuple(touched)))


def _finish(draft: _Draft, program: Program, seed: int, split: Split, rng: Random) -> Task:
    scene, style = draft.scene, Style.draw(rng)
    speaker = Speaker(style, scene.cwd, scene.home)
    absent = tuple(h.removeprefix(WITHOUT) for h in program.hazards if h.startswith(WITHOUT))
    oracle = _command(draft, speaker, 0, absent)
    alternative = _command(draft, Speaker(Style("absolute", "", number_words=False, noun=False, dotted_ext=False), scene.cwd, scene.home), 1, absent)
    instruction, wording = _words(draft, speaker, split, rng)
    if absent:
        instruction += f" ({', '.join(absent)} is not installed)"
    initial = State(nodes=dict(sorted(draft.initial.nodes.items())), cwd=scene.cwd, home=scene.home, absent_tools=absent)
    return Task(
        instruction=instruction,
        initial=initial,
        contract=_contract(draft),
        oracle=(oracle,),
        alternative=(alternative,),
        program=program,
        seed=seed,
        wording=wording,
        split=split,
    )
