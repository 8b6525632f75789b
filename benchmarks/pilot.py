"""The pilot: what can the default model learn in one short training, and what does not generalise? Throw-away grade, but honest counts.

    python benchmarks/pilot.py base                               untrained: bare, fenced, JSON with a grammar, few-shot
    python benchmarks/pilot.py run NAME [--learning-rate 1.6e-3]  one recipe: make examples, train, evaluate

Appends one line per cell to docs/results/pilot.jsonl: configuration hash, seed, raw counts. Needs the model file (`edgeevo model fetch`),
torch, llama-cpp-python and the sandbox.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import posixpath
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from pilot_engine import SLOTS, Engine, PilotPolicy, wrap

from edgeevo.agent.episode import SUBMIT, Attempt, observe, play, verify
from edgeevo.agent.prompt import BASE_PROMPT
from edgeevo.domain import Episode, Message, Program, ProgramLink, Role, Split, Task, derive_seed
from edgeevo.environments import sets, vocabulary
from edgeevo.environments.program import FACT, follows, render
from edgeevo.environments.scenarios import SCENARIOS
from edgeevo.environments.splits import split_of
from edgeevo.errors import TaskError
from edgeevo.models import load_card, locate
from edgeevo.sandbox import Sandbox, open_sandbox

ROOT = Path(os.environ.get("PILOT_ROOT", Path(__file__).parents[1]))
RESULTS = ROOT / "docs/results/pilot.jsonl"
RULES = "You work in a Linux shell. Reply with exactly one bash command{form} and nothing else. When the task is done, reply {done}."
GRAMMAR = 'root ::= "{\\"command\\": \\"" ([^"\\\\\\n] | "\\\\" ["\\\\/bfnrt])+ "\\"}"'


@dataclass(frozen=True)
class Recipe:
    """One training; the defaults are the point from which one thing at a time is changed."""

    protocol: str = "bare"
    system: str = ""
    examples: int = 1000
    rank: int = 16
    learning_rate: float = 8e-4
    b_rate_ratio: float = 1.0
    batch: int = 16
    epochs: int = 1
    whole: float = 1.0  # share of examples that go on to observation and submit; the others end with the command
    first_layer: int = 0
    pair_share: float = 0.45
    groups: str = ""  # themes of the vocabulary, comma separated; empty: all
    seed: int = 0

    @property
    def themes(self) -> tuple[str, ...]:
        """The groups as the vocabulary's functions take them."""
        return tuple(filter(None, self.groups.split(",")))

    @property
    def id(self) -> str:
        """Hash of the configuration."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]


# --- tasks ------------------------------------------------------------------------------------------------------------


def draw_tasks(programs: Callable[[Random], Program], n: int, split: Split, purpose: str) -> list[Task]:
    """`n` tasks of drawn programs, in names and wordings of `split`; programs without an instance are passed over."""
    out: list[Task] = []
    for i in range(n * 20):
        rng = Random(derive_seed("pilot", purpose, i))
        try:
            out.append(render(programs(rng), derive_seed("pilot task", purpose, i), split))
        except TaskError:
            continue
        if len(out) == n:
            break
    return out


def balanced(programs: Sequence[Program]) -> Callable[[Random], Program]:
    """A draw that is even over the last links of `programs`."""
    groups: dict[ProgramLink, list[Program]] = {}
    for program in programs:
        groups.setdefault(program.links[-1], []).append(program)
    keys = list(groups)
    return lambda rng: rng.choice(groups[rng.choice(keys)])


def triple(split: Split, themes: tuple[str, ...]) -> Callable[[Random], Program]:
    """Three links that follow one another, in any scenario, of a split."""

    def draw(rng: Random) -> Program:
        while True:
            chain = [rng.choice(sets.openers(themes))]
            while len(chain) < 3:
                options = [link for link in sets.links(themes) if follows(chain[-1], link)]
                if not options:
                    break
                chain.append(rng.choice(options))
            program = Program(scenario=rng.choice(sorted(SCENARIOS)), links=tuple(chain))
            if len(chain) == 3 and split_of(program) is split:
                return program

    return draw


def fact(split: Split, themes: tuple[str, ...]) -> Callable[[Random], Program]:
    """One link whose `word`, `n`, `old` or `new` must be read from a file first."""
    pattern = re.compile(r"\{(word|n|old|new|name|text)\}")
    ways = {link: vocabulary.ENTRIES[link.skill, link.variant].ways[0] for link in sets.openers(themes)}
    usable = [(link, name) for link, way in ways.items() for name in pattern.findall(way)]

    def draw(rng: Random) -> Program:
        while True:
            link, name = rng.choice(usable)
            program = Program(scenario=rng.choice(sorted(SCENARIOS)), links=(ProgramLink(skill=FACT, variant=name), link))
            if split_of(Program(scenario=program.scenario, links=(link,))) is split:
                return program

    return draw


def two_turns(task: Task) -> tuple[str, ...]:
    """The oracle of a fact task with the look-up as a command of its own."""
    found = re.search(r'"\$\(cat (\S+)\)"', task.oracle[0])
    if not found:
        return task.oracle
    path = posixpath.normpath(posixpath.join(task.initial.cwd, shlex.split(found.group(1))[0].replace("~", task.initial.home, 1)))
    value = task.initial.nodes[path].data.decode().strip()  # type: ignore[union-attr]
    return f"cat {found.group(1)}", task.oracle[0].replace(found.group(0), shlex.quote(value))


def walk(task: Task, commands: Sequence[str], sandbox: Sandbox, *, whole: bool) -> tuple[Message, ...] | None:
    """The trajectory of the oracle as a conversation, run in the sandbox; None when the real judge refuses it."""
    trial = verify(task, sandbox, commands)
    if not trial.verdict.passed:
        return None
    said = [Message(role=Role.ASSISTANT, text=command) for command in (*commands, SUBMIT)]
    heard = [Message(role=Role.USER, text=text) for text in (task.instruction, *map(observe, trial.results))]
    out = [message for pair in zip(heard, said, strict=True) for message in pair]
    return tuple(out) if whole else tuple(out[:-2])


def make_examples(recipe: Recipe, sandbox: Sandbox) -> tuple[list[tuple[Message, ...]], Counter[str]]:
    """Oracle walks of practice programs: singles, and for `pair_share` pairs, triples and facts (two thirds, a sixth, a sixth)."""
    n, counts = recipe.examples, Counter[str]()
    pairs = round(n * recipe.pair_share * 2 / 3)
    triples = facts = round(n * recipe.pair_share / 6)
    wanted = (
        ("single", balanced(sets.singles(Split.PRACTICE, recipe.themes)), n - pairs - triples - facts),
        ("pair", balanced(sets.pairs(Split.PRACTICE, recipe.themes)), pairs),
        ("triple", triple(Split.PRACTICE, recipe.themes), triples),
        ("fact", fact(Split.PRACTICE, recipe.themes), facts),
    )
    out = []
    for kind, programs, count in wanted:
        for i, task in enumerate(draw_tasks(programs, count, Split.PRACTICE, f"train {kind} {recipe.seed}")):
            commands = two_turns(task) if kind == "fact" and i % 2 else task.oracle
            whole = Random(derive_seed("whole", kind, i)).random() < recipe.whole
            found = walk(task, commands, sandbox, whole=whole)
            counts[kind if found else f"refused {kind}: {task.program.links[-1].skill}"] += 1
            if found:
                out.append(found)
    Random(derive_seed("order", recipe.seed)).shuffle(out)
    return out, counts


# --- training ---------------------------------------------------------------------------------------------------------


def train(
    recipe: Recipe, examples: list[tuple[list[int], list[int]]], weights: Path, out: Path, threads: int
) -> tuple[Path, dict[str, float]]:
    """Train with the real trainer; returns the GGUF adapter and what it took."""
    from edgeevo.learning import trainer

    trainer.keep_memory()
    request = trainer.TrainRequest(
        weights_dir=str(weights),
        examples=tuple(trainer.Example(tokens=tuple(tokens), mask=tuple(mask)) for tokens, mask in examples),
        out_dir=str(out),
        rank=recipe.rank,
        alpha=2.0 * recipe.rank,
        learning_rate=recipe.learning_rate,
        b_rate_ratio=recipe.b_rate_ratio,
        batch_size=recipe.batch,
        epochs=recipe.epochs,
        seed=recipe.seed,
        threads=threads,
        first_layer=recipe.first_layer,
        checkpoint_seconds=1e9,
    )
    cpu_started, done = time.process_time(), {}
    for event in trainer.train(request, trainer.Stopping()):
        if event["kind"] == "step" and event["step"] % 8 == 1:
            cpu_seconds, seen, seconds = time.process_time() - cpu_started, event["tokens"], event["seconds"]
            speed = f"{seen / seconds:.0f} tok/s {seen / cpu_seconds:.0f} tok/cpu-s {seconds:.0f} s"
            print(f"step {event['step']}/{event['steps']} loss {event['loss']:.3f} {speed}", flush=True)
        done = event
    cpu_seconds = time.process_time() - cpu_started
    cost = {"seconds": done["seconds"], "cpu_seconds": cpu_seconds, "tokens": done["tokens"], "loss_end": done["loss"]}
    return Path(done["gguf"]), {key: round(value, 4) for key, value in cost.items()}


# --- evaluation -------------------------------------------------------------------------------------------------------


def wilson(k: int, n: int) -> tuple[float, float]:
    """95 % interval of a share, in per cent."""
    p, z = k / n, 1.96
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, round(100 * (middle - half), 1)), round(100 * (middle + half), 1)


def programs_of(command: str) -> tuple[list[str], list[str], list[str]]:
    """Program names, flags and operators, and other words of a command line."""
    names, flags, rest, fresh = [], [], [], True
    for word in re.findall(r"'[^']*'|\"[^\"]*\"|[|;&<>]+|[^\s|;&<>]+", command):
        if fresh and not re.fullmatch(r"[<>]+", word):
            names.append(word)
            fresh = False
        elif re.fullmatch(r"[|;&]+", word):
            flags.append(word)
            fresh = True
        elif word.startswith("-") or re.fullmatch(r"[<>]+", word):
            flags.append(word)
        else:
            rest.append(word.strip("'\""))
    return names, flags, rest


def slip(task: Task, commands: Sequence[str], oracle: Sequence[str]) -> str:
    """Why an attempt failed, by comparing its best command with the oracle's last one."""
    if not commands:
        return "no command"
    wanted = programs_of(oracle[-1])
    best = min(commands, key=lambda c: sum(a != b for a, b in zip(programs_of(c), wanted, strict=True)))
    names, flags, rest = programs_of(best)
    if best == oracle[-1]:
        return "right, then spoilt"
    if names != wanted[0]:
        fewer = len(names) < len(wanted[0]) and all(n in wanted[0] for n in names)
        return "link left out" if fewer else "wrong skill"
    if flags != wanted[1]:
        return "wrong option"
    missing = [w for w in wanted[2] if w not in rest]
    copied = [w for w in missing if any(len(part) > 2 and part in task.instruction for part in re.findall(r"\w+", w))]
    return "copying slip" if copied else "wrong script or value"


def evaluate(policy: PilotPolicy, tasks: list[Task], sandbox: Sandbox) -> list[Episode]:
    """Real episodes, SLOTS at a time, tasks of like length together."""
    order, out = sorted(range(len(tasks)), key=lambda i: len(tasks[i].instruction)), dict[int, Episode]()
    for at in range(0, len(order), SLOTS):
        chunk = order[at : at + SLOTS]
        out.update(zip(chunk, play(policy, [Attempt(task=tasks[i]) for i in chunk], sandbox), strict=True))
    return [out[i] for i in range(len(tasks))]


def cells(themes: tuple[str, ...], *, full: bool) -> Iterator[tuple[str, list[Task], dict[str, str]]]:
    """Name, tasks and policy settings of every cell; without `full` those that recipes are compared on."""
    practice, exam, audit, n = Split.PRACTICE, Split.EXAM, Split.AUDIT, 60

    def singles(split: Split) -> Callable[[Random], Program]:
        return balanced(sets.singles(split, themes))

    def pairs(split: Split) -> Callable[[Random], Program]:
        return balanced(sets.pairs(split, themes))

    yield "exam: singles", draw_tasks(singles(exam), n, exam, "exam singles"), {}
    yield "exam: pairs", draw_tasks(pairs(exam), n, exam, "exam pairs"), {}
    yield "2 audit singles, held-out structure and wording", draw_tasks(singles(audit), n, audit, "audit singles"), {}
    yield "5 audit pairs, held-out composition and wording", draw_tasks(pairs(audit), n, audit, "audit pairs"), {}
    if full:
        yield "1 practice singles, unseen instances", draw_tasks(singles(practice), n, practice, "unseen singles"), {}
        yield "3 practice pairs, unseen instances", draw_tasks(pairs(practice), n, practice, "unseen pairs"), {}
        yield "4 held-out pairs, practice wording", draw_tasks(pairs(audit), n, practice, "held-out pairs"), {}
        yield "2b practice structures, held-out wording: singles", draw_tasks(singles(practice), n, audit, "wording singles"), {}
        yield "5b practice structures, held-out wording: pairs", draw_tasks(pairs(practice), n, audit, "wording pairs"), {}
        yield "6 held-out triples, practice wording", draw_tasks(triple(audit, themes), n, practice, "triples"), {}
        yield "6b held-out triples, held-out wording", draw_tasks(triple(audit, themes), n, audit, "triples audit"), {}
        facts = draw_tasks(fact(practice, themes), n, practice, "facts")
        yield "7 facts, form left to the model", facts, {}
        yield "7a facts, one command with $(cat f)", facts, {"ban": "cat"}
        yield "7b facts, look up first (first word given)", facts, {"first": "cat"}


def record(name: str, recipe: Recipe, cell: str, tasks: list[Task], episodes: list[Episode], **extra: object) -> int:
    """Append one cell to the ledger, print it, keep the failures where they can be read; returns how many passed."""
    counted = [(t, e) for t, e in zip(tasks, episodes, strict=True) if e.verdict]
    failures = [(t, e, slip(t, [s.result.command for s in e.steps], t.oracle)) for t, e in counted if not e.passed]
    passed = len(counted) - len(failures)
    kinds = Counter(kind for _, _, kind in failures)
    links = Counter("+".join(f"{k.skill}.{k.variant}" for k in t.program.links) for t, _, _ in failures)
    row = {
        "run": name,
        "config": recipe.id,
        "recipe": asdict(recipe),
        "seed": recipe.seed,
        "entries": len(sets.links(recipe.themes)),
        "cell": cell,
        "passed": passed,
        "n": len(counted),
        "broken": len(episodes) - len(counted),
        "interval_percent": wilson(passed, len(counted)),
        "endings": Counter(e.ending.value for _, e in counted),
        "failures": kinds,
        "failed_links": dict(links.most_common(20)),
        **extra,
    }
    with RESULTS.open("a") as ledger:
        ledger.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(cell, passed, len(counted), row["interval_percent"], dict(kinds), row["endings"], flush=True)
    if samples := os.environ.get("PILOT_SAMPLES"):
        with Path(samples).open("a") as file:
            for task, episode, kind in failures:
                said = [s.result.command for s in episode.steps]
                sample = [name, cell, kind, task.wording, task.instruction, task.oracle, said, episode.ending.value]
                file.write(json.dumps(sample, ensure_ascii=False) + "\n")
    return passed


def shots() -> tuple[Message, ...]:
    """Three fixed examples for the few-shot prompt, whole trajectories."""
    said = (
        ("Count the lines of notes/todo.txt", "wc -l < notes/todo.txt", "exit 0\n12", SUBMIT),
        ("find all .log files under /srv/data", "find /srv/data -type f -name '*.log'", "exit 0\n/srv/data/a.log", SUBMIT),
        ("print the lines of app.conf that contain port", "grep port app.conf", "exit 0\nport=80", SUBMIT),
    )
    roles = (Role.USER, Role.ASSISTANT)
    return tuple(Message(role=roles[i % 2], text=text) for talk in said for i, text in enumerate(talk))


def base(engine: Engine, sandbox: Sandbox, recipe: Recipe) -> None:
    """The untrained model with each prompt, on exam singles; then the best of them on audit singles and pairs."""
    forms = {"bare": "", "fenced": " in a ```bash block", "json": ' as JSON {"command": "..."}'}
    rules = {p: RULES.format(form=form, done=wrap(SUBMIT, p)) for p, form in forms.items()}
    kinds = {f"zero-shot {p}": PilotPolicy(engine, p, text, grammar=GRAMMAR if p == "json" else "") for p, text in rules.items()}
    kinds["few-shot bare, no rules"] = PilotPolicy(engine, shots=shots())
    kinds["few-shot bare, rules"] = PilotPolicy(engine, system=rules["bare"], shots=shots())
    kinds["as served"] = PilotPolicy(engine, system=BASE_PROMPT.system, shots=BASE_PROMPT.examples)
    kinds["few-shot bare, no rules, first line"] = PilotPolicy(engine, shots=shots(), line=True)
    exam = draw_tasks(balanced(sets.singles(Split.EXAM, recipe.themes)), 40, Split.EXAM, "exam singles")
    with RESULTS.open("a+") as ledger:  # cells that are in the ledger already aren't run again
        ledger.seek(0)
        rows = [row for row in map(json.loads, ledger) if row["run"] == "base" and row["recipe"]["groups"] == recipe.groups]
        known = {row["cell"]: row["passed"] for row in rows}
    scores = {}
    for name, policy in kinds.items():
        cell, used = f"{name}: exam singles", replace(recipe, protocol=policy.protocol, examples=0, system=policy.system)
        scores[name] = known[cell] if cell in known else record("base", used, cell, exam, evaluate(policy, exam, sandbox))
    best = max(scores, key=lambda name: scores[name])
    used = replace(recipe, protocol=kinds[best].protocol, system=kinds[best].system, examples=0)
    for cell, tasks, _ in cells(recipe.themes, full=False):
        if "audit" in cell:
            record("base", used, f"{best}: {cell}", tasks, evaluate(kinds[best], tasks, sandbox))


def main() -> None:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("base", "run"))
    parser.add_argument("name", nargs="?", default="default")
    parser.add_argument("--full", action="store_true", help="all cells")
    parser.add_argument("--cells", default="", help="only cells whose name begins like this, such as 6 or 7")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--adapter", type=Path, help="evaluate this GGUF adapter instead of training one")
    for key, value in asdict(Recipe()).items():
        parser.add_argument("--" + key.replace("_", "-"), type=type(value), default=value)
    args = parser.parse_args()
    recipe = replace(Recipe(), **{k: getattr(args, k) for k in asdict(Recipe())})
    model = locate(load_card(ROOT / "models/smollm2-135m-instruct.toml"), ROOT / ".cache/models")
    weights = ROOT / ".cache/weights"
    sandbox = open_sandbox()
    engine = Engine(model, threads=args.threads)
    if args.what == "base":
        base(engine, sandbox, recipe)
        return
    policy, told = PilotPolicy(engine, recipe.protocol, recipe.system, grammar=GRAMMAR if recipe.protocol == "json" else ""), {}
    if (adapter := args.adapter) is None:
        conversations, counts = make_examples(recipe, sandbox)
        examples = [policy.ids(conversation, open_end=False) for conversation in conversations]
        adapter, cost = train(recipe, examples, next(weights.glob(f"{model.stem}-*")), ROOT / ".cache/pilot" / args.name, args.threads)
        told = {"training": cost, "kept": dict(counts)}
        print(told, flush=True)
    policy.engine = Engine(model, adapter, args.threads)
    for cell, tasks, settings in cells(recipe.themes, full=args.full):
        if cell.startswith(args.cells):
            record(args.name, recipe, cell, tasks, evaluate(replace(policy, **settings), tasks, sandbox), **told)


if __name__ == "__main__":
    main()
