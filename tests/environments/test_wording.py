"""edgeevo.environments.wording: how values are said, quoted and cut, and which templates belong to whom."""

from __future__ import annotations

import shlex
import subprocess
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeevo.domain import Split
from edgeevo.environments.wording import HERE, NUMBER_WORDS, OPENERS, Manner, Speaker, Style, gathered, polish, pool, varied

PLAIN = Style(paths="relative", quote="", number_words=False, noun=False, dotted_ext=False)


def speaker(
    *, paths: str = "relative", quote: str = "", number_words: bool = False, noun: bool = False, dotted_ext: bool = False
) -> Speaker:
    style = Style(paths=paths, quote=quote, number_words=number_words, noun=noun, dotted_ext=dotted_ext)
    return Speaker(style, "/srv/gate", "/home/user")


@pytest.mark.parametrize(
    ("paths", "path", "said"),
    [
        ("relative", "/srv/gate/logs/a.log", "logs/a.log"),
        ("dot", "/srv/gate/logs/a.log", "./logs/a.log"),
        ("absolute", "/srv/gate/logs/a.log", "/srv/gate/logs/a.log"),
        ("tilde", "/srv/gate/logs/a.log", "/srv/gate/logs/a.log"),
        ("relative", "/srv/gateway/a.log", "/srv/gateway/a.log"),
        ("relative", "/srv/gate", "."),
        ("dot", "/srv/gate", "."),
        ("tilde", "/home/user/a.log", "~/a.log"),
        ("tilde", "/home/user", "/home/user"),
        ("relative", "/home/user/a.log", "/home/user/a.log"),
    ],
)
def test_a_path_in_each_style(paths: str, path: str, said: str) -> None:
    """Relative only beneath the working directory, tilde only beneath home, absolute everywhere."""
    assert speaker(paths=paths).path(path) == said


@given(st.text(st.characters(codec="ascii", exclude_characters="\0/\n"), min_size=1, max_size=12).filter(lambda s: s not in (".", "..")))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_a_shell_path_is_one_word_of_the_shell(name: str) -> None:
    """Whatever the name, the shell sees one word that leads to it and no option."""
    for paths in ("relative", "absolute", "dot", "tilde"):
        word = speaker(paths=paths).shell_path(f"/srv/gate/{name}")
        (read,) = shlex.split(word)
        assert not read.startswith("-") and read.endswith(name)


def test_the_tilde_stays_outside_of_the_quotes() -> None:
    """A name with a blank beneath home is quoted behind `~/`."""
    assert speaker(paths="tilde").shell_path("/home/user/my log") == "~/'my log'"


def test_a_leading_dash_gets_a_dot() -> None:
    """A relative name that looks like an option doesn't in the shell."""
    assert speaker().shell_path("/srv/gate/-rf") == "./-rf"


def test_the_working_directory_is_said_in_words() -> None:
    """Nobody writes a lone dot in a sentence."""
    assert speaker().say("dir", "/srv/gate", Random(1)) in HERE


def test_a_path_with_a_blank_is_always_quoted() -> None:
    """Even a style without quotes marks where a path with a blank begins and ends."""
    assert speaker().say("file", "/srv/gate/my log", Random(1)) == "'my log'"


def test_a_directory_may_carry_its_noun() -> None:
    """The noun style says that it is a directory or folder."""
    said = {speaker(noun=True).say("dir", "/srv/gate/logs", Random(seed)) for seed in range(20)}
    assert len(said) > 1 and all("logs" in s and ("directory" in s or "folder" in s) for s in said)


def test_text_with_odd_characters_is_always_quoted() -> None:
    """A text that isn't one plain word is set apart from the sentence."""
    assert all(speaker().say("text", "a b", Random(seed)) == "'a b'" for seed in range(5))


def test_a_plain_word_is_quoted_now_and_then() -> None:
    """Both forms occur when the style has no quotes of its own."""
    assert {speaker().say("word", "amber", Random(seed)) for seed in range(20)} == {"amber", "'amber'"}


def test_the_quote_of_the_style_is_used() -> None:
    """Backticks stay backticks, around paths and around texts."""
    marked = speaker(quote="`")
    assert (marked.say("word", "amber", Random(1)), marked.say("file", "/srv/gate/a", Random(1))) == ("`amber`", "`a`")


def test_small_numbers_may_be_words() -> None:
    """Up to twelve; beyond that digits."""
    spoken = speaker(number_words=True)
    assert [spoken.say("n", n, Random(1)) for n in ("3", "12", "13")] == ["three", "twelve", "13"]


@pytest.mark.parametrize(
    ("number", "said"), [("1", {"1st", "1."}), ("2", {"2nd", "2."}), ("3", {"3rd", "3."}), ("11", {"11th", "11."}), ("21", {"21st", "21."})]
)
def test_an_ordinal_has_the_right_ending(number: str, said: set[str]) -> None:
    """1st, 2nd, 3rd, 11th and 21st, or the number with a dot."""
    assert {speaker().ordinal(number, Random(seed)) for seed in range(10)} == said


def test_an_ordinal_may_be_a_word() -> None:
    """`{n:th}` is a word where numbers are."""
    assert speaker(number_words=True).fill("the {n:th} line", {"n": "3"}, Random(1)) == "the third line"


def test_an_extension_with_and_without_its_dot() -> None:
    """Both are said, by style."""
    assert (speaker().say("ext", "log", Random(1)), speaker(dotted_ext=True).say("ext", "log", Random(1))) == ("log", ".log")


def test_choices_are_made_and_leave_no_double_blanks() -> None:
    """An empty alternative leaves one blank, and every alternative is taken sometimes."""
    said = {speaker().fill("show [all|] lines [of|in] {in}", {"in": "/srv/gate/a"}, Random(seed)) for seed in range(40)}
    assert said == {"show all lines of a", "show all lines in a", "show lines of a", "show lines in a"}


def test_the_same_dice_say_the_same() -> None:
    """A sentence depends on nothing but its template, its values and its dice."""
    said = [speaker().fill("[find|look for] {word} in {in}", {"word": "amber", "in": "/srv/gate/a"}, Random(7)) for _ in range(2)]
    assert said[0] == said[1]


def test_a_way_in_a_pipe_reads_no_file() -> None:
    """`{in}` and `{<in}` vanish behind a pipe and are a file or a redirection in front."""
    params = {"in": "/srv/gate/a", "n": "3"}
    assert [speaker().shell(way, params, piped=piped) for way in ("head -n {n} {in}", "wc -l {<in}") for piped in (False, True)] == [
        "head -n 3 a",
        "head -n 3",
        "wc -l < a",
        "wc -l",
    ]


def test_braces_of_awk_survive() -> None:
    """`{print}` is no slot."""
    assert speaker().shell("awk '{print}' {in}", {"in": "/srv/gate/a"}, piped=False) == "awk '{print}' a"


@given(st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=15))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_a_value_reaches_the_command_unchanged(value: str) -> None:
    """A quoted slot is one argument, whatever stands in it."""
    command = speaker().shell("printf %s {word}", {"word": value}, piped=False)
    assert subprocess.run(["/bin/bash", "-c", command], capture_output=True, check=True).stdout.decode() == value


def test_a_raw_slot_is_not_quoted() -> None:
    """`{word:raw}` goes into a pattern as it is."""
    assert speaker().shell("grep '^{word:raw}' {in}", {"word": "amber", "in": "/srv/gate/a"}, piped=False) == "grep '^amber' a"


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, (1, 0, 0)), (2, (2, 0, 0)), (3, (1, 1, 1)), (5, (3, 1, 1)), (6, (3, 1, 2)), (9, (6, 1, 2))]
)
def test_how_many_templates_each_split_gets(count: int, sizes: tuple[int, int, int]) -> None:
    """One for exam, one for audit (two of six and more), the rest for practice; one or two belong to practice alone."""
    templates = tuple(f"template {i}" for i in range(count))
    assert tuple(len(pool(templates, split)) for split in (Split.PRACTICE, Split.EXAM, Split.AUDIT)) == sizes


def test_the_order_of_templates_does_not_move_them() -> None:
    """A template keeps its split when the list is written in another order."""
    templates = tuple(f"template {i}" for i in range(8))
    turned = templates[::-1]
    for split in Split:
        assert {templates[i] for i in pool(templates, split)} == {turned[i] for i in pool(turned, split)}


def test_a_question_gets_no_opener() -> None:
    """Nobody says "please how many"."""
    assert all(
        polish("how many lines?", Random(seed), Split.PRACTICE, opens_with_value=False).lower().startswith("how many lines")
        for seed in range(40)
    )


def test_a_noun_fragment_gets_no_opener() -> None:
    """Nobody says "can you average of a", but "average of a" is how people type."""
    for fragment in ("average of a", "number of lines in a", "most frequent line of a"):
        assert all(
            polish(fragment, Random(seed), Split.PRACTICE, opens_with_value=False).lower().startswith(fragment) for seed in range(40)
        )


def test_an_imperative_is_sometimes_asked_politely() -> None:
    """All openers occur in front of a verb."""
    said = {polish("sort a", Random(seed), Split.PRACTICE, opens_with_value=False).lower().partition("sort")[0] for seed in range(400)}
    assert said == set(OPENERS[Split.PRACTICE])


def test_a_value_in_front_keeps_its_first_letter() -> None:
    """A path that opens a request is never capitalised."""
    assert all(
        polish("logs/a: how many lines?", Random(seed), Split.PRACTICE, opens_with_value=True).startswith("logs/a") for seed in range(40)
    )


def test_number_words_count_from_zero() -> None:
    """The word at place n says n."""
    assert (NUMBER_WORDS[0], NUMBER_WORDS[10]) == ("zero", "ten")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("show the first {n} lines of {in}", "show the first line of a"),
        ("the last {n} of {in}", "the last one of a"),
        ("files older than {n} days in {in}", "files older than 1 day in a"),
        ("line {n} of {in}", "line 1 of a"),
    ],
)
def test_one_thing_is_no_plural(template: str, said: str) -> None:
    """Nobody says "the first 1 lines"."""
    assert speaker().fill(template, {"n": "1", "in": "/srv/gate/a"}, Random(1)) == said


def test_a_directory_may_end_in_a_slash() -> None:
    """The slash stands inside the quotes, and files have none."""
    marked = Speaker(Style("relative", "'", number_words=False, noun=False, dotted_ext=False, slash=True), "/srv/gate", "/home/user")
    assert (marked.say("dir", "/srv/gate/logs", Random(1)), marked.say("file", "/srv/gate/a", Random(1))) == ("'logs/'", "'a'")


def test_an_extension_may_be_a_pattern_in_front_of_files() -> None:
    """`*.log files` is said, `ending in *.log` is not."""
    style = Style("relative", "", number_words=False, noun=False, dotted_ext=False, glob_ext=True)
    said = Speaker(style, "/srv/gate", "/home/user").fill("find {ext} files, they end in {ext}", {"ext": "log"}, Random(1))
    assert said == "find *.log files, they end in log"


def test_only_one_plain_order_is_told_as_manuals_do() -> None:
    """The third person is for one clause with one verb, and has no opener."""
    orders = {polish("sort a", Random(seed), Split.PRACTICE, opens_with_value=False, manner=Manner.ALONE) for seed in range(200)}
    assert {"Sorts a", "Sorts a."} <= orders
    two = [polish("sort a and print it", Random(seed), Split.PRACTICE, opens_with_value=False, manner=Manner.ALONE) for seed in range(200)]
    assert not [said for said in two if said.startswith("Sorts")]


def test_a_curt_request_has_no_opener() -> None:
    """Nobody says "please 1) sort a, 2) count it"."""
    said = [polish("sort a -> count it", Random(seed), Split.PRACTICE, opens_with_value=False, manner=Manner.CURT) for seed in range(40)]
    assert all(sentence.lower().startswith("sort") for sentence in said)


def test_the_verb_of_a_template_varies() -> None:
    """What shows may print, and the other way round; what stands behind the verb stays."""
    said = {varied("show line {n}", Random(seed)) for seed in range(60)}
    assert said == {f"{verb} line {{n}}" for verb in ("show", "print", "display", "output")}


def test_what_is_worked_on_is_not_asked_to_be_printed() -> None:
    """A link in the middle gathers; a verb that prints nothing stays."""
    assert {gathered("print which of {x} are old", Random(seed)) for seed in range(9)} == {"find out which of {x} are old"}
    assert {gathered("show me line {n}", Random(seed)) for seed in range(30)} == {"get line {n}", "take line {n}"}
    assert gathered("sort {x}", Random(1)) == "sort {x}"
