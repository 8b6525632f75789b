"""Facts about a child, measured by running commands in the sandbox and judging what they did. No verifier is an opinion.

    examine(task, proposal, parent, sandbox)  →  Evidence of each verifier, in order, up to the first that is not satisfied

Corruptions and harmless variations are made from the contract's clauses, so every clause is shown to bite and to tolerate.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from edgeevo.agent.episode import Trial, verify, verify_each
from edgeevo.domain import (
    Absent,
    Clause,
    Content,
    Direction,
    Directory,
    Environment,
    File,
    Order,
    Present,
    Printed,
    Rerun,
    Task,
    Untouched,
    derive_seed,
)
from edgeevo.environments.program import naive_command, render
from edgeevo.environments.scenarios import decoys
from edgeevo.errors import TaskError
from edgeevo.events import Evidence
from edgeevo.evolution.roles import Proposal, Rejection
from edgeevo.sandbox import Sandbox

GUESS_RENDERS = 20
GUESSABLE_CHARS = 40
MAX_GUESSES_RIGHT_SHARE = 0.05
MAX_INSTRUCTION_CHARS = 700
MAX_COMMAND_CHARS = 220
LIMIT_SHARE = 0.5

REASONS = {
    "oracle": Rejection.ORACLE,
    "alternative": Rejection.ALTERNATIVE,
    "invalid": Rejection.INVALID,
    "harder": Rejection.SURFACE_ONLY,
    "mutants": Rejection.MUTANTS,
    "leakage": Rejection.LEAKAGE,
    "quality": Rejection.QUALITY,
}
Check = Callable[[], tuple[bool, str]]


def examine(task: Task, proposal: Proposal | None, parent: Environment | None, sandbox: Sandbox) -> Iterator[Evidence]:
    """Run the verifiers, cheapest facts first; stops after the first that is not satisfied. A founder has no parent and no `harder`."""
    checks: list[tuple[str, Check]] = [
        ("quality", lambda: quality(task)),
        ("leakage", lambda: leakage(task)),
        ("oracle", lambda: oracle(task, sandbox)),
        ("alternative", lambda: alternative(task, sandbox)),
        ("invalid", lambda: invalid(task, sandbox)),
    ]
    if proposal and parent:
        checks.append(("harder", lambda: harder(task, proposal, parent, sandbox)))
    checks.append(("mutants", lambda: mutants(task, sandbox)))
    for name, check in checks:
        started = time.monotonic()
        satisfied, detail = check()
        yield Evidence(verifier=name, satisfied=satisfied, detail=detail, seconds=round(time.monotonic() - started, 4))
        if not satisfied:
            return


def quality(task: Task) -> tuple[bool, str]:
    """Every path that the contract tests is named in the instruction, and instruction and solution fit the token budgets."""
    if len(task.instruction) > MAX_INSTRUCTION_CHARS:
        return False, f"instruction of {len(task.instruction)} characters, at most {MAX_INSTRUCTION_CHARS}"
    if any(len(c) > MAX_COMMAND_CHARS for c in task.oracle):
        return False, f"solution of {max(map(len, task.oracle))} characters, at most {MAX_COMMAND_CHARS}"
    made = [c.path for c in task.contract if isinstance(c, Content | Rerun) and c.path not in task.initial.nodes]
    if made and not any(_stated(path, task) for path in made):
        return False, f"the instruction does not name {made[0]}"
    return True, "new files are named; the budgets hold"


def _stated(path: str, task: Task) -> bool:
    """Whether the instruction names the new file, or the initial files do: by a name of the same stem or, packed, inside."""
    name = posixpath.basename(path)
    stem = name.split(".")[0]
    files = [(posixpath.basename(p).split(".")[0], n.data) for p, n in task.initial.nodes.items() if isinstance(n, File)]
    return stem in task.instruction or any(stem == other or name.encode() in data for other, data in files)


def leakage(task: Task) -> tuple[bool, str]:
    """The answer can't be read off: it doesn't stand in the instruction, and no file of the initial state is the printed answer."""
    texts = {tuple(n.data.decode("utf-8", "replace").splitlines()) for n in task.initial.nodes.values() if isinstance(n, File)}
    for clause in task.contract:
        if isinstance(clause, Printed) and len(clause.lines) > 1 and clause.lines in texts:
            return False, "a file of the initial state is the printed answer"
        if isinstance(clause, Printed) and clause.lines and len(" ".join(clause.lines)) > 8 and " ".join(clause.lines) in task.instruction:
            return False, "the printed answer stands in the instruction"
    if any(re.search(rf"\b{re.escape(fact)}\b", task.instruction) for fact in _facts(task) if not fact.isdigit()):
        return False, "a value that is to be found in a file stands in the instruction"
    return True, "the answer stands neither in the instruction nor ready-made in a file"


def _facts(task: Task) -> list[str]:
    """The values that the solution reads from files of one line."""
    read = [posixpath.basename(shlex.split(path)[0]) for command in task.oracle for path in re.findall(r"\$\(cat ([^)]+)\)", command)]
    lines = [
        n.data.decode("utf-8", "replace").splitlines()
        for p, n in task.initial.nodes.items()
        if isinstance(n, File) and posixpath.basename(p) in read
    ]
    return [found[0] for found in lines if len(found) == 1]


def oracle(task: Task, sandbox: Sandbox) -> tuple[bool, str]:
    """The solution passes twice, with the same end state, within half of every limit."""
    first, second = verify_each(task, sandbox, [task.oracle, task.oracle])
    for trial in (first, second):
        if not trial.verdict.passed:
            return False, "; ".join(trial.verdict.reasons) + " " + _errors(trial)
        if any(r.limit_hit for r in trial.results):
            return False, "the solution hits a limit"
        if any(r.seconds > LIMIT_SHARE * task.limits.wall_seconds for r in trial.results):
            return False, "the solution needs more than half of the time limit"
        if any(len(r.stdout) + len(r.stderr) > LIMIT_SHARE * task.limits.output_bytes for r in trial.results):
            return False, "the solution prints more than half of what may be printed"
    same = {p: _content(n) for p, n in first.changes.nodes.items()} == {p: _content(n) for p, n in second.changes.nodes.items()}
    if not same and not any(isinstance(c, Rerun) for c in task.contract):
        return False, "two runs of the solution end in different states"
    return True, "passes twice, same end state"


def _content(node: object) -> object:
    return (node.data, node.mode) if isinstance(node, File) else node


def _errors(trial: Trial) -> str:
    return b" ".join(r.stderr for r in trial.results).decode("utf-8", "replace")[:200]


def alternative(task: Task, sandbox: Sandbox) -> tuple[bool, str]:
    """A second, differently written solution passes."""
    if task.alternative == task.oracle:
        return False, "there is no second solution"
    trial = verify(task, sandbox, task.alternative)
    return trial.verdict.passed, "passes" if trial.verdict.passed else "; ".join(trial.verdict.reasons) + " " + _errors(trial)


def invalid(task: Task, sandbox: Sandbox) -> tuple[bool, str]:
    """Doing nothing fails, and the most frequent answer of other instances passes in at most 5 % of the tries."""
    if any(trial.verdict.passed for trial in verify_each(task, sandbox, [(), ("true",)])):
        return False, "doing nothing passes"
    if not any(isinstance(c, Printed) and len(" ".join(c.lines)) <= GUESSABLE_CHARS for c in task.contract):
        return True, "doing nothing fails; the answer is too long to be guessed"
    learnt, tested = _answers(task, "guess from", GUESS_RENDERS), _answers(task, "guess at", GUESS_RENDERS)
    if not learnt or not tested:
        return True, "doing nothing fails; nothing is printed that could be guessed"
    guess, _ = Counter(learnt).most_common(1)[0]
    if verify(task, sandbox, (f"printf '%s\\n' {shlex.quote(guess)}",)).verdict.passed:
        return False, "the most frequent answer of other instances passes"
    right = tested.count(guess)
    if right > MAX_GUESSES_RIGHT_SHARE * len(tested):
        return False, f"the most frequent answer is right in {right} of {len(tested)} instances"
    return True, f"doing nothing fails; the most frequent answer is right in {right} of {len(tested)} instances"


def _answers(task: Task, purpose: str, count: int) -> list[str]:
    """What must be printed in other instances of the same program."""
    out = []
    for i in range(count):
        try:
            other = render(task.program, derive_seed(purpose, task.seed, i), task.split)
        except TaskError:
            continue
        out += ["\n".join(c.lines) for c in other.contract if isinstance(c, Printed)]
    return out


def harder(task: Task, proposal: Proposal, parent: Environment, sandbox: Sandbox) -> tuple[bool, str]:
    """The parent's links with the child's values, or the named naive solution, fail the child's verifier."""
    name, command = _naive(task, proposal, parent, sandbox)
    if command is None:
        return False, f"no naive solution ({name}) can be written"
    if verify(task, sandbox, (command,)).verdict.passed:
        return False, f"{name} passes: {command}"
    return True, f"{name} fails: {command}"


def _naive(task: Task, proposal: Proposal, parent: Environment, sandbox: Sandbox) -> tuple[str, str | None]:
    touched = proposal.touched
    if proposal.operator == "hide_fact":
        return "the solution with the file's name for what it holds", naive_command(task, unread=True)
    if proposal.direction is Direction.LENGTH:
        return "the parent's links alone", naive_command(task, drop=touched)
    if proposal.operator == "hostile_names":
        return "the solution without quotes", naive_command(task, unquoted=True)
    if proposal.operator == "decoys":
        return "the answer of the state without decoys", _undecoyed_answer(task, sandbox)
    if proposal.operator == "take_tool":
        return "the parent's solution", naive_command(task, ignore_absent=True)
    swapped = naive_command(task, swap=(touched, parent.program.links[touched]))
    return "the parent's link in its place", swapped or naive_command(task, drop=touched)


def _undecoyed_answer(task: Task, sandbox: Sandbox) -> str | None:
    """What the child's own solution prints where the decoys were never put; None when there are none, or nothing is printed."""
    lures = decoys(task.initial.nodes)
    if not lures or not any(isinstance(c, Printed) for c in task.contract):
        return None
    calm = structs.replace(task.initial, nodes={p: n for p, n in task.initial.nodes.items() if p not in lures})
    results = verify(structs.replace(task, initial=calm), sandbox, task.oracle).results
    lines = results[-1].stdout.decode("utf-8", "replace").splitlines()
    return f"printf '%s\\n' {' '.join(shlex.quote(line) for line in lines)}"


# --- mutants ----------------------------------------------------------------------------------------------------------


def mutants(task: Task, sandbox: Sandbox) -> tuple[bool, str]:
    """Corruptions of each clause fail and harmless variations pass."""
    solution = " ; ".join(task.oracle)
    wrong: list[tuple[str, str]] = []
    for clause in task.contract:
        found = _corruptions(clause, task, solution)
        if not found:
            return False, f"nothing can break the clause {type(clause).__name__.lower()}"
        wrong += found
    fine = list(_harmless(task, solution))
    trials = verify_each(task, sandbox, [(command,) for _, command in (*wrong, *fine)])
    for (name, command), trial in zip(wrong, trials, strict=False):
        if trial.verdict.passed:
            return False, f"a corrupted end passes ({name}): {command}"
    for (name, _), trial in zip(fine, trials[len(wrong) :], strict=True):
        if not trial.verdict.passed:
            return False, f"a harmless variation fails ({name}): {'; '.join(trial.verdict.reasons)}"
    return True, f"{len(wrong)} corruptions fail, {len(fine)} harmless variations pass"


def _corruptions(clause: Clause, task: Task, solution: str) -> Sequence[tuple[str, str]]:
    """At least two ways to break one clause, as command lines that run the solution first."""
    match clause:
        case Printed():
            # with tools that no hazard takes away: a corruption that can't run would prove nothing
            return [("a line dropped", f"{{ {solution} ; }} | tail -n +2"), ("a value changed", f"{{ printf 7 ; {solution} ; }}")]
        case Content(path=path, lines=lines):
            q = shlex.quote(path)
            emptied = [("emptied", f"{solution} ; : > {q}")] if lines else []
            return [*emptied, ("a line added", f"{solution} ; echo 7 >> {q}"), ("removed", f"{solution} ; rm -f {q}")]
        case Rerun(path=path):
            q = shlex.quote(path)
            return [("emptied", f"{solution} ; : > {q}"), ("removed", f"{solution} ; rm -f {q}")]
        case Present(path=path, node=node, mode=mode):
            q = shlex.quote(path)
            spoilt = f"chmod 0{(mode or 0) ^ 0o111:o} {q}" if mode is not None else f"rm -rf {q} ; ln -s /nowhere {q}"
            more = f"{solution} ; rm -rf {q} ; mkdir {q}" if not isinstance(node, Directory) else f"{solution} ; rm -rf {q} ; : > {q}"
            return [("mode or kind changed", f"{solution} ; {spoilt}"), ("replaced", more)]
        case Absent(path=path):
            q, parent = shlex.quote(path), shlex.quote(path.rsplit("/", 1)[0] or "/")
            return [("put back", f"{solution} ; mkdir -p {parent} ; : > {q}"), ("put back as a directory", f"{solution} ; mkdir -p {q}")]
        case Untouched(except_paths=free):
            files = [p for p, n in task.initial.nodes.items() if isinstance(n, File)]
            bystanders = [p for p in files if not any(p == f or p.startswith(f + "/") for f in free)]
            if not bystanders:
                return []
            q = shlex.quote(bystanders[len(bystanders) // 2])
            return [("a bystander changed", f"{solution} ; echo x >> {q}"), ("a bystander removed", f"{solution} ; rm -f {q}")]


def _harmless(task: Task, solution: str) -> Iterator[tuple[str, str]]:
    """Variations that the contract leaves free."""
    yield "a scratch file in /tmp", f": > /tmp/scratch ; {solution}"
    yield "a scratch file at home", f": > {shlex.quote(task.initial.home)}/scratch-note ; {solution}"
    yield "a variable set", f"SCRATCH=1 ; {solution}"
    printed = [c for c in task.contract if isinstance(c, Printed)]
    if printed:
        yield "a final empty line", f"{{ {solution} ; echo ; }}"
        if printed[0].order in (Order.SET, Order.PATHS):
            backwards = "tac" if "sort" in task.initial.absent_tools else "sort -r"
            yield "another order", f"{{ {solution} ; }} | {backwards}"
