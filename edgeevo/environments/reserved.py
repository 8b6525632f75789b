"""What only held-out requests may say: the runs of eight words of their templates.

Templates, names and values of the splits are disjoint, but English is not: "I need to know" in front of one entry's "how many files there
are in …" gives eight words of another entry's held-out template. A request of another split that does so is told anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from edgeevo.domain import RUN_WORDS, Split, runs
from edgeevo.environments.skills import Entry
from edgeevo.environments.telling import VERBS
from edgeevo.environments.vocabulary import ENTRIES
from edgeevo.environments.wording import CHOICE, HERE, SWAPS, pool

KEEPS_OFF = {Split.PRACTICE: (Split.EXAM, Split.AUDIT), Split.EXAM: (Split.AUDIT,), Split.AUDIT: ()}
JOINTS = ("and then", "and")  # what a clause may follow; "then" is a part of the first
_DIRECTORY = re.compile(r"\{dir2?\}")
_DIRECTORIES = (*HERE, "the directory {dir}", "the folder {dir}")


def echoes(instruction: str, split: Split) -> bool:
    """Whether a request of `split` has a run of eight words in common with a template that is held out from it."""
    return not _reserved(split).isdisjoint(runs(instruction))


@cache
def _reserved(split: Split) -> frozenset[str]:
    return frozenset(
        run for owner in KEEPS_OFF[split] for entry in ENTRIES.values() for said in _sayings(entry, owner) for run in _plain(said)
    )


def _sayings(entry: Entry, split: Split) -> Iterator[str]:
    """The templates of an entry that belong to a split, with their choices made, other verbs, and "this folder" for a directory."""
    for templates, verbs in ((entry.asks, ("",)), (entry.then, ("",)), (entry.nouns, VERBS)):
        for place in pool(templates, split):
            for chosen in _chosen(templates[place]):
                first, _, rest = chosen.partition(" ")
                for head in SWAPS.get(first, (first,)):
                    for verb in verbs:
                        yield from _placed(f"{verb}{head} {rest}")


def _placed(clause: str) -> Iterator[str]:
    named = [_DIRECTORY.sub(place, clause) for place in _DIRECTORIES] if _DIRECTORY.search(clause) else []
    yield from (f"{joint} {said}" for said in (clause, *named) for joint in JOINTS)


def _chosen(template: str) -> Iterator[str]:
    found = CHOICE.search(template)
    if not found:
        yield template
        return
    for choice in found.group(1).split("|"):
        yield from _chosen(template[: found.start()] + choice + template[found.end() :])


def _plain(said: str) -> Iterator[str]:
    """The runs that hold no value."""
    yield from (run for run in runs(said) if "{" not in run and run.count(" ") == RUN_WORDS - 1)
