"""Which structure belongs to practice, exam or audit: decided by hash, disjoint by construction.

A single link is identified by (skill, variant); its scenarios are ordered by hash, one goes to audit, one to exam, the rest to practice.
A longer program is identified by its links alone, so that a held-out composition is unseen in every scenario. It is practice only when no
run of two or more links inside it is held out; otherwise it belongs where that run belongs (audit before exam). Runs are looked at with and
without `fact` links: looking a value up between two links doesn't make a held-out composition of the two a new one.
"""

from __future__ import annotations

from functools import cache

from edgeevo.domain import Program, ProgramLink, Split, derive_seed
from edgeevo.environments.program import FACT
from edgeevo.environments.scenarios import SCENARIOS

EXAM_SHARE_PERCENT = 20
AUDIT_SHARE_PERCENT = 20


@cache
def split_of_single(scenario: str, link: ProgramLink) -> Split:
    """The split of one link in one scenario."""
    order = sorted(SCENARIOS, key=lambda s: derive_seed("single", link.skill, link.variant, s))
    place = order.index(scenario)
    return Split.AUDIT if place == 0 else Split.EXAM if place == 1 else Split.PRACTICE


@cache
def split_of_run(links: tuple[ProgramLink, ...]) -> Split:
    """The split of a sequence of two or more links by its own hash."""
    bucket = derive_seed("run", *[f"{k.skill}.{k.variant}" for k in links]) % 100
    if bucket < AUDIT_SHARE_PERCENT:
        return Split.AUDIT
    return Split.EXAM if bucket < AUDIT_SHARE_PERCENT + EXAM_SHARE_PERCENT else Split.PRACTICE


@cache
def split_of(program: Program) -> Split:
    """The split of a program; hazards don't change it."""
    bare = tuple(link for link in program.links if link.skill != FACT)
    found = {split_of_run(links[i:j]) for links in (program.links, bare) for i in range(len(links)) for j in range(i + 2, len(links) + 1)}
    if len(bare) == 1:
        found.add(split_of_single(program.scenario, bare[0]))
    return next(split for split in (Split.AUDIT, Split.EXAM, Split.PRACTICE) if split in found)
