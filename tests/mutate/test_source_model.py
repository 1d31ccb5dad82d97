"""Statements, calls and places of a text of C++."""

from __future__ import annotations

from attndsl.mutate.source_model import SourceModel, Span

TEXT = """\
// Add(a, b);
void Stage(int rows)
{
    const int stepRows = MinOf(rows, 16);  // MinOf(a, b)
    Add(x[stepRows * 2], y, Params<int, 4>(1, (stepRows + 1) * 4, 0), stepRows);
    SetFlag<HardEvent::V_MTE3>(kFree + slot);
    if (stepRows % 8 != 0) {
        Use(x);
    }
}
"""


def test_statements_with_their_functions_and_places() -> None:
    source = SourceModel(TEXT)
    assert [source.line(each.span.start) for each in source.statements] == [4, 5, 6, 7, 8]
    assert {each.function for each in source.statements} == {"Stage"}
    assert [each.is_head for each in source.statements] == [False, False, False, True, False]
    assert source.at(source.statements[3].span) == "if (stepRows % 8 != 0)"


def test_a_call_with_its_template_and_arguments() -> None:
    source = SourceModel(TEXT)
    call = source.leading_call(source.statements[1])
    assert call is not None and call.name == "Add"
    assert [source.at(each) for each in call.arguments] == [
        "x[stepRows * 2]",
        "y",
        "Params<int, 4>(1, (stepRows + 1) * 4, 0)",
        "stepRows",
    ]
    inner = [each for each in source.calls(source.statements[1].span) if each.name == "Params"]
    assert [source.at(each) for each in inner[0].arguments] == ["1", "(stepRows + 1) * 4", "0"]
    event = source.leading_call(source.statements[2])
    assert event is not None and event.template == "HardEvent::V_MTE3"


def test_what_is_no_call() -> None:
    """A declaration is not, nor a branch, nor what comments say."""
    source = SourceModel(TEXT)
    assert source.leading_call(source.statements[0]) is None
    assert source.leading_call(source.statements[3]) is None
    assert [each.name for each in source.calls(Span(0, TEXT.index("void")))] == []


def test_neighbours_stand_in_one_block() -> None:
    source = SourceModel(TEXT)
    found = [(one.number, other.number) for one, other in source.neighbours()]
    assert found == [(0, 1), (1, 2)]


def test_the_statement_around_a_place() -> None:
    source = SourceModel(TEXT)
    found = source.statement_at(TEXT.index("stepRows + 1"))
    assert found is not None and found.number == 1
    assert source.statement_at(0) is None and source.statement_at(len(TEXT) - 1) is None


BRANCHES = """\
void Stage(int rows)
{
    for (int r0 = 0; r0 < rows; r0 += 8) {
        if (r0 > 0) {
            One(r0);
        } else {
            Other(r0);
        }
        Last(r0);
    }
}
"""


def test_what_stands_in_an_else_has_that_word_around_it() -> None:
    source = SourceModel(BRANCHES)
    around = {
        call.name: source.heads_around(each)
        for each in source.statements
        if (call := source.leading_call(each)) is not None
    }
    loop, one, other = "for (int r0 = 0; r0 < rows; r0 += 8)", "if (r0 > 0)", "else"
    assert {name: [source.at(each.span) for each in heads] for name, heads in around.items()} == {
        "One": [loop, one],
        "Other": [loop, other],
        "Last": [loop],
    }
    block = source.block(around["Other"][-1])
    assert block is not None and source.one_line(block) == "Other(r0);"
