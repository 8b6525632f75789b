"""What a night reports, and what it is asked: the only language between the night (a child process) and the daemon (the only writer).

A night is a generator of these events. What was not yielded did not happen: the daemon records each in one transaction, and a night that is
started again with the events of its first part goes on behind them and takes the same decisions. `Progress` alone is never stored.
"""

from __future__ import annotations

import enum

from edgeevo.domain import Adapter, Ending, Environment, Episode, Split, Task, Value


class Phase(enum.StrEnum):
    """The phases of a night, in order."""

    EVOLVE = "evolve"
    PRACTISE = "practise"
    TRAIN = "train"
    EXAM = "exam"
    GATE = "gate"
    AUDIT = "audit"


class Source(enum.StrEnum):
    """Where a training example comes from; caps are per source."""

    ORACLE = "oracle"
    SUCCESS = "success"


class Evidence(Value):
    """What one verifier measured: its name, whether it was satisfied, the decisive fact, and how long it took."""

    verifier: str
    satisfied: bool
    detail: str
    seconds: float = 0.0


class Outcome(Value):
    """The small permanent row of one attempt at one task by one policy."""

    task_id: str
    structure: str
    stratum: str  # "single", "pair", "triple", or "real"
    skill: str  # the last link's skill, for per-skill counts
    passed: bool
    ending: Ending
    steps: int
    reply_tokens: int
    seconds: float


class Stratum(Value):
    """One row of the gate's paired table. `margin` is the stated non-inferiority margin as a share of n."""

    name: str
    n: int
    incumbent_passed: int
    candidate_passed: int
    wins: int
    losses: int
    margin: float
    non_inferior: bool


class Decision(enum.StrEnum):
    """The gate's three verdicts."""

    PROMOTE = "promote"
    REJECT = "reject"
    KEEP = "keep"


class Judgement(Value):
    """The gate's decision with everything it was made from: discordant pairs, exact one-sided p, and each stratum."""

    decision: Decision
    reasons: tuple[str, ...]
    n: int
    wins: int
    losses: int
    p_value: float
    strata: tuple[Stratum, ...]
    more_wanted_pairs: int = 0


# --- events ------------------------------------------------------------------------------------------------------------


class PhaseStarted(Value, tag="phase_started"):
    """A phase began."""

    phase: Phase


class PhaseEnded(Value, tag="phase_ended"):
    """A phase ended after `seconds` of this process's time."""

    phase: Phase
    seconds: float


class Progress(Value, tag="progress"):
    """For eyes only, never stored: `done` of `total` units of a phase."""

    phase: Phase
    done: int
    total: int
    note: str = ""


class EnvironmentAdmitted(Value, tag="environment_admitted"):
    """A child (or founder) passed every verifier; `place` is its position in the generation."""

    environment: Environment
    place: int
    evidence: tuple[Evidence, ...]


class EnvironmentRejected(Value, tag="environment_rejected"):
    """A proposal that was not admitted, with the reason (a `Rejection` name) and the evidence."""

    environment: Environment
    place: int
    reason: str
    detail: str
    evidence: tuple[Evidence, ...] = ()


class LineageMoved(Value, tag="lineage_moved"):
    """The scheduler's pointer of a lineage: `action` is advance, stay or reduce after attempts at an environment, else end or narrow."""

    lineage: str
    generation: int
    action: str
    passed: int
    attempts: int
    environment_id: str = ""  # what was attempted; empty when nothing was


class EpisodesPlayed(Value, tag="episodes_played"):
    """A group of attempts at one practice task (the task itself is stored with them)."""

    environment_id: str
    task: Task
    episodes: tuple[Episode, ...]


class ExamplesSelected(Value, tag="examples_selected"):
    """What the training learns from: content id of the list and how many of each source and of each skill."""

    examples_id: str
    count: int
    by_source: dict[str, int]
    by_skill: dict[str, int]
    tasks: tuple[Task, ...] = ()  # for the proof of disjointness; without their files, which program and seed give again


class TrainingCheckpoint(Value, tag="training_checkpoint"):
    """The trainer wrote a checkpoint into the spool."""

    path: str
    step: int
    steps: int
    loss: float


class AdapterTrained(Value, tag="adapter_trained"):
    """A candidate adapter lies at `path` (GGUF, hash-named)."""

    adapter: Adapter
    path: str
    loss: float
    tokens: int
    seconds: float


class Evaluated(Value, tag="evaluated"):
    """A part of an evaluation: these outcomes of `policy_id` on the named set. `tasks` are stored so that disjointness can be shown."""

    set_id: str
    split: Split
    policy_id: str
    part: int
    outcomes: tuple[Outcome, ...]
    tasks: tuple[Task, ...] = ()


class AdapterJudged(Value, tag="adapter_judged"):
    """The gate decided; on PROMOTE the daemon stages the file and flips the slot."""

    candidate_sha256: str
    incumbent_sha256: str | None
    candidate_policy: str
    incumbent_policy: str
    set_id: str
    judgement: Judgement


class NightEnded(Value, tag="night_ended"):
    """The night is complete; `summary` is one line for `status`."""

    summary: str


Event = (
    PhaseStarted
    | PhaseEnded
    | Progress
    | EnvironmentAdmitted
    | EnvironmentRejected
    | LineageMoved
    | EpisodesPlayed
    | ExamplesSelected
    | TrainingCheckpoint
    | AdapterTrained
    | Evaluated
    | AdapterJudged
    | NightEnded
)


# --- what a night is asked ----------------------------------------------------------------------------------------------


class NightPlan(Value):
    """Every budget of a night, with its unit. Defaults are those of `configs/edgeevo.toml`."""

    groups: tuple[str, ...] = ()
    lineages: int = 240
    generations: int = 2
    children: int = 2
    direction_weights: tuple[float, float, float] = (2.0, 1.0, 1.0)
    practice_groups: int = 32
    group_attempts: int = 8
    examples: int = 6000
    singles_share: float = 0.5
    exam_pairs: int = 240
    rehearsal_seconds: float = 2.0
    rank: int = 16
    alpha: float = 32.0
    learning_rate: float = 3e-4
    b_rate_ratio: float = 8.0
    batch_size: int = 4
    epochs: int = 1
    checkpoint_seconds: float = 60.0
    threads: int = 2
    p_threshold: float = 0.005
    margin: float = 0.05
    evolution: bool = True  # False: founders only, same number of examples (the comparison of the demo)
    shuffle_labels: bool = False  # the control experiment: same steps on answers of other tasks; must never be promoted


class ModelFiles(Value):
    """The base model as the daemon has verified it."""

    gguf: str
    sha256: str
    card: str
    weights_dir: str


NIGHTS_AT_ZERO = 3  # in a row without one success, and a lineage is reduced; so much of its past does a night need


class NightRequest(Value):
    """One line on the night's stdin. `past` holds the stored events of the same night when it is resumed."""

    night_id: str
    seed: int
    plan: NightPlan
    model: ModelFiles
    spool_dir: str
    incumbent_path: str | None = None
    incumbent: Adapter | None = None
    lineages: tuple[Environment, ...] = ()  # admitted in earlier nights, in order of admission
    moves: tuple[LineageMoved, ...] = ()  # of the scheduler's pointers in earlier nights, the last of each lineage, oldest first
    past: tuple[Event, ...] = ()


class AuditRequest(Value):
    """One line on the auditor's stdin (`python -m edgeevo.audit`): play the audit set with one policy; yields `Evaluated` parts."""

    seed: int
    tasks: int
    model: ModelFiles
    threads: int
    groups: tuple[str, ...] = ()
    adapter_path: str | None = None
    adapter: Adapter | None = None
    past: tuple[Event, ...] = ()
