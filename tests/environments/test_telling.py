"""edgeevo.environments.telling: noun phrases that nest, pronouns, and how clauses are joined."""

from __future__ import annotations

from random import Random

import pytest

from edgeevo.environments import vocabulary
from edgeevo.environments.telling import _ACTS, Clause, extends, is_phrase, join, leaves_out, subject

SORT, SAVE, GREP = (vocabulary.ENTRIES[key, "plain"] for key in ("sort", "save", "grep"))


@pytest.mark.parametrize(
    ("said", "out"),
    [
        ("leave out those with oak", True),
        ("filter oak out of a.txt", True),
        ("filter a.txt for oak", False),
        ("leave only those with oak", False),
    ],
)
def test_what_is_left_is_told_from_what_is_left_out(said: str, *, out: bool) -> None:
    """Behind "leave out …" the next link works on the rest."""
    assert leaves_out(said) is out


@pytest.mark.parametrize(
    ("noun", "told"),
    [
        ("all lines with {word} in {in}", "the lines with {word} in {in}"),
        ("{in} sorted alphabetically", "the lines of {in} sorted alphabetically"),
        ("the content of {in}, sorted", "the lines of {in}, sorted"),
        ("every line of {in} with {word}", None),
        ("what {in} says about {word}", None),
    ],
)
def test_what_the_next_link_works_on_is_many_things(noun: str, told: str | None) -> None:
    """Nobody counts "the content of a.txt", or takes "the first 3 of every line"."""
    assert subject(GREP, noun) == told


def test_noun_phrases_of_links_nest() -> None:
    """What begins with its input or an article is a noun phrase, but for links that print nothing."""
    assert is_phrase(SORT, "{x} in alphabetical order") and not is_phrase(SORT, "sort {x}")
    assert not is_phrase(SAVE, "{x} should end up in {out}")


def test_nothing_is_said_behind_a_comma_that_belongs_before_it() -> None:
    """A noun phrase with a comma is only extended in front."""
    assert extends(SORT, "the sorted {x}", "the lines of a, once each") and not extends(SORT, "{x} in order", "the lines of a, once each")


def test_clauses_are_numbered_and_joined() -> None:
    """Lead, middle and last stand where they belong."""
    clauses = [Clause("find it"), Clause("sort them"), Clause("count them")]
    assert join(clauses, "{i}) |, {i}) |, {i}) ", Random(1)) == "1) find it, 2) sort them, 3) count them"
    assert join(clauses[:2], "first |, then |, and finally ", Random(1)) == "first find it, then sort them"


def test_a_question_begins_a_sentence() -> None:
    """A question is never hung behind a comma."""
    said = join([Clause("find it"), Clause("how many of them are old?", apart=True)], "|, then |, and ", Random(1))
    assert said.lower() == "find it. how many of them are old?"


@pytest.mark.parametrize(
    ("said", "subject_of_it"),
    [("how many words @ have", True), ("what do @ contain?", True), ("which of @ have oak", False), ("sort @", False)],
)
def test_a_pronoun_knows_whether_it_acts(said: str, *, subject_of_it: bool) -> None:
    """It is "how many words they have", but "which of them have oak"."""
    assert bool(_ACTS.search(said)) is subject_of_it
