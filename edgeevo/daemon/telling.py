"""Events as one line each, for the eyes of whoever follows a night."""

from __future__ import annotations

from edgeevo.events import (
    AdapterJudged,
    AdapterTrained,
    EnvironmentAdmitted,
    EnvironmentRejected,
    EpisodesPlayed,
    Evaluated,
    Event,
    ExamplesSelected,
    LineageMoved,
    NightEnded,
    PhaseEnded,
    PhaseStarted,
    Progress,
    TrainingCheckpoint,
)


def tell(event: Event) -> str:
    """One line of plain text, not escaped."""
    return _phases(event) or _evolution(event) or _learning(event) or _judging(event)


def _phases(event: Event) -> str:
    match event:
        case PhaseStarted():
            return f"{event.phase}: started"
        case PhaseEnded():
            return f"{event.phase}: done in {event.seconds:.0f} s"
        case Progress():
            return f"{event.phase}: {event.done} of {event.total}" + (f", {event.note}" if event.note else "")
        case NightEnded():
            return event.summary or "the night is complete"
    return ""


def _evolution(event: Event) -> str:
    match event:
        case EnvironmentAdmitted():
            return f"evolve: admitted {_program(event)}"
        case EnvironmentRejected():
            return f"evolve: rejected {_program(event)}: {event.reason}"
        case LineageMoved():
            return f"evolve: lineage {event.lineage} {event.action}, {event.passed} of {event.attempts} passed"
    return ""


def _learning(event: Event) -> str:
    match event:
        case EpisodesPlayed():
            passed = sum(episode.passed for episode in event.episodes)
            return f"practise: {passed} of {len(event.episodes)} passed: {event.task.instruction[:80]}"
        case ExamplesSelected():
            sources = ", ".join(f"{count} {source}" for source, count in sorted(event.by_source.items()))
            return f"train: {event.count} examples ({sources})"
        case TrainingCheckpoint():
            return f"train: checkpoint at step {event.step} of {event.steps}, loss {event.loss:.3f}"
        case AdapterTrained():
            return f"train: adapter {event.adapter.sha256[:12]}, loss {event.loss:.3f}, {event.tokens} tokens in {event.seconds:.0f} s"
    return ""


def _judging(event: Event) -> str:
    match event:
        case Evaluated():
            passed = sum(outcome.passed for outcome in event.outcomes)
            return f"{event.split}: part {event.part}: {passed} of {len(event.outcomes)} passed by {event.policy_id[:12]}"
        case AdapterJudged():
            judged = event.judgement
            return f"gate: {judged.decision}: {judged.wins} won, {judged.losses} lost of {judged.n}, p = {judged.p_value:.2g}"
    return ""


def _program(event: EnvironmentAdmitted | EnvironmentRejected) -> str:
    program = event.environment.program
    return f"{'+'.join(link.skill for link in program.links)} in {program.scenario} (generation {event.environment.generation})"
