"""Paragraphs of emitted Markdown are filled; code in them stays whole."""

from __future__ import annotations

from attndsl.codegen.text.line_breaks import WIDTH
from attndsl.codegen.text.markdown import filled

COMMAND = "`attndsl generate self_attention --set calcType=PA_ENCODER --dtype float16`"


def test_a_span_of_code_stands_on_one_line() -> None:
    for before in range(0, WIDTH, 7):
        lines = list(filled(["x" * before + " is made by", COMMAND, "and by nothing else."]))
        assert sum(COMMAND in line for line in lines) == 1
        assert all(len(line) <= WIDTH for line in lines)


def test_a_span_that_no_line_holds_is_broken() -> None:
    lines = list(filled([f"`{'--set a=1 ' * 20}`"]))
    assert len(lines) > 2 and all(len(line) <= WIDTH for line in lines)


def test_words_between_spans_are_filled() -> None:
    text = " ".join(["one `two three` four"] * 20)
    lines = list(filled([text]))
    assert " ".join(lines) == text and len(lines) > 3
    assert all(line.count("`") % 2 == 0 for line in lines)


def test_a_span_with_backticks_in_it_ends_where_it_ends() -> None:
    text = "word " * 19 + "``a `b c`` d"
    first, second = filled([text])
    assert (first.split()[-1], second) == ("word", "``a `b c`` d")


def test_tables_code_and_blank_lines_stay() -> None:
    lines = ["# Title", "", "| a | b |", "```", "code that stays", "```"]
    assert list(filled([*lines[:4], " " + lines[4], lines[5]])) == [*lines[:4], " " + lines[4], lines[5]]
