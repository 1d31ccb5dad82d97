"""Score modifiers: the statements of each kind of operand and operation, on the scores of a step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attndsl.expr import Const, Expr, Symbol, maximum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier, share_loads_across_attentions
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.scores.score_rules import lower_modifier
from tests.support.builders import (
    DECODING,
    PADDED,
    attention,
    context,
    elementwise,
    lines,
    masked,
    scalar,
    tensor,
)

i, j, n = Symbol("i"), Symbol("j"), Symbol("n")
SPAN = "score[span]"
NUMBER = scalar(Symbol("c"))


def modified(
    *scores: Callable[[nodes.Node], nodes.Node], query: tuple[str, ...] = DECODING
) -> tuple[Context, Modifier]:
    """The context of an attention and its last modifier."""
    positions = None if query is DECODING else Symbol("Q")
    c = context(attention(query, scores=scores), positions=positions)
    return c, lower_modifier(c, c.attention.modifiers[-1])


def clamped(change: Callable[[nodes.Node], nodes.Node]) -> tuple[Context, Modifier]:
    """The same of a modifier in front of one to which it matters what all scores of a row share."""
    scores = (change, elementwise("minimum", NUMBER))
    c = context(attention(PADDED, scores=scores), positions=Symbol("Q"))
    return c, lower_modifier(c, c.attention.modifiers[0])


@pytest.mark.parametrize(
    ("op", "number", "title", "statement"),
    [
        ("add", NUMBER, "+ c", "Adds(score[span], c)"),
        ("multiply", scalar(Const(0.5)), "* 0.5", "Muls(score[span], 0.5)"),
        ("divide", scalar(Const(4)), "/ 4", "Muls(score[span], 0.25)"),
        ("subtract", scalar(Const(2)), "- 2", "Adds(score[span], -2.0)"),
        ("minimum", NUMBER, "min c", "Mins(score[span], c)"),
        ("maximum", NUMBER, "max c", "Maxs(score[span], c)"),
    ],
)
def test_operations_with_a_number_are_one_instruction(
    op: str, number: nodes.Node, title: str, statement: str
) -> None:
    c, made = modified(elementwise(op, number))
    assert lines(made.apply(c)) == [f"V     {SPAN} = {statement}"]
    assert made.title.startswith(f"score {title}  (")
    assert (made.row_loads, made.tile_loads, made.scratch) == ((), (), ())


def test_what_the_host_subtracts_is_its_negative() -> None:
    c, made = modified(elementwise("subtract", NUMBER))
    assert lines(made.apply(c)) == [f"V     {SPAN} = Adds({SPAN}, scoreSubtract)"]
    assert str(next(f.value for f in c.inventory.fields if f.name == "scoreSubtract")) == "0 - c"


def test_a_divisor_that_may_be_zero_is_divided_by() -> None:
    c, made = modified(elementwise("divide", NUMBER))
    assert lines(made.apply(c)) == [
        "V     operandWide[span] = Duplicate(c)",
        f"V     {SPAN} = Div({SPAN}, operandWide[span])",
    ]


@pytest.mark.parametrize("op", [name for name, each in OPERATIONS.items() if each.own is not None])
def test_operations_of_one_operand_change_the_scores_in_place(op: str) -> None:
    c, made = modified(elementwise(op))
    found = lines(made.apply(c))
    assert found[-1].startswith(f"V     {SPAN} = ")
    title = "score = -score" if op == "negate" else f"score = {op}(score)"
    assert made.title.startswith(f"{title}  (")


@pytest.mark.parametrize(("op", "instruction"), [("exp", "Exp"), ("log", "Ln"), ("abs", "Abs")])
def test_functions_of_the_vector_unit_are_one_instruction(op: str, instruction: str) -> None:
    c, made = modified(elementwise(op))
    assert lines(made.apply(c)) == [f"V     {SPAN} = {instruction}({SPAN})"]


def test_a_tensor_with_a_row_a_query_row_is_loaded_and_widened() -> None:
    c, made = modified(elementwise("add", tensor("bias", ("B", "N", "T"))))
    assert (made.source, [each.name for each in made.row_loads]) == ("bias", ["biasRows"])
    place = "bias[batch * biasStrideB + head * biasStrideN + firstKey + stepRows x keys pitch biasStrideN]"
    assert lines(made.load_rows(c)) == [f"MTE2  biasRows[stepRows x keys pitch tileKeys] <- {place}"]
    assert lines(made.apply(c)) == [
        "V     biasWide[span] = Cast(biasRows[span]) float32 CAST_NONE",
        f"V     {SPAN} = Add({SPAN}, biasWide[span])",
    ]


def test_a_tensor_of_positions_is_loaded_run_by_run() -> None:
    c, made = modified(elementwise("add", tensor("bias", ("B", "N", "Q", "T"))), query=PADDED)
    found = lines(made.load_rows(c))
    assert found[0] == "if heads == 1:" and "pitch biasStrideQ" in found[3]
    assert found[4:6] == ["else:", "for row in 0..stepRows:"]


@pytest.mark.parametrize("axes", ["B T", "T", "B K T", "K T"])
def test_a_tensor_without_heads_is_loaded_row_by_row(axes: str) -> None:
    c, made = modified(elementwise("add", tensor("bias", axes.split())))
    found = lines(made.load_rows(c))
    assert found[0] == "for row in 0..stepRows:" and "biasRows" in found[-1] and "StrideN" not in found[-1]


def test_a_tensor_of_positions_alone_is_loaded_once_for_neighbouring_positions() -> None:
    c, made = modified(elementwise("add", tensor("bias", ("Q", "T"))), query=PADDED)
    (found,) = lines(made.load_rows(c))
    assert found.startswith("MTE2  biasRows[") and "// heads + 1 x keys pitch biasStrideQ" in found


def test_a_number_of_each_head_is_read_row_by_row() -> None:
    slopes = nodes.Lookup(source=tensor("slopes", ("N",), "float32"), index=(n,), axes=("N",))
    c, made = modified(elementwise("multiply", slopes))
    found = lines(made.apply(c))
    assert found[:2] == ["for row in 0..stepRows:", "head := firstHead + rowBegin + r0 + row"]
    assert found[2].endswith("slopes[head])") and "Muls(score[row * tileKeys" in found[2]


def distance(value: Expr) -> nodes.Scalar:
    return scalar(value, "Q", "T")


def test_arithmetic_of_the_key_index_starts_from_the_numbers_of_the_lanes() -> None:
    c, made = clamped(elementwise("add", distance(j - i)))
    assert lines(made.prepare_tile(c)) == ["V     keyNumbers[tileKeys] = firstKey + lane numbers"]
    found = lines(made.apply(c))
    assert "Adds(keyNumbers[round_up(keys, repeatLanes)], 0 - queryIndex)" in found[3]
    assert found[-1] == f"V     {SPAN} = Add({SPAN}, operandWide[span])"


def test_steps_of_key_arithmetic_are_loops_of_their_own_or_one_instruction() -> None:
    """No row waits for another; a step by what all rows have takes them all at once."""
    c, made = modified(elementwise("add", distance(maximum(i - j, 0))), query=PADDED)
    steps = [line for line in lines(made.apply(c)) if line.startswith(("for row", "V "))]
    assert [line.split(" = ")[-1].split("(")[0] for line in steps] == [
        "for row in 0..stepRows:", "Adds", "Maxs", "Add",
    ]  # fmt: skip
    assert lines(made.prepare_tile(c))[1:] == [
        "V     keyNumbersBelow[tileKeys] = Muls(keyNumbers[tileKeys], -1)"
    ]
    assert "V     operandWide[span] = Maxs(operandWide[span], 0)" in steps


def test_a_bias_by_position_is_a_row_that_all_rows_of_a_head_add() -> None:
    slopes = nodes.Lookup(source=tensor("slopes", ("N",), "float32"), index=(n,), axes=("N",))
    for factor, branch in ((slopes, []), (tensor("slopes", ("N",), "float32"), ["if heads == 1:"])):
        far = nodes.Elementwise(op="multiply", inputs=(distance(i - j), factor), axes=("N", "Q", "T"))
        c, made = modified(elementwise("add", far), query=PADDED)
        numbered, applied = lines(made.prepare_tile(c)), lines(made.apply(c))
        first = "V     keyBias[tileKeys] = Adds(laneNumbers[tileKeys], firstKey - firstQuery)"
        assert numbered[0] == first and [each for each in numbered if each.startswith("if")] == branch
        assert [each for each in applied if each.startswith("if")] == branch
        assert "Axpy(keyBias" in applied[-1] and applied[-1].endswith("0 - slopes[head])") == (not branch)
    assert any("Add(score[row * tileKeys" in each and "keyBias[" in each for each in applied)


@pytest.mark.parametrize(
    "other", [scalar(j * i, "Q", "T"), scalar(maximum(i - j, 0), "Q", "T"), scalar(n + j, "N", "T")]
)
def test_a_bias_that_no_row_of_numbers_is_stays_with_its_rows(other: nodes.Scalar) -> None:
    c, made = modified(elementwise("add", other), query=PADDED)
    assert "keyNumbers[" in lines(made.prepare_tile(c))[0]


def test_a_sum_with_what_each_row_scales_is_one_instruction() -> None:
    slopes = nodes.Lookup(source=tensor("slopes", ("N",), "float32"), index=(n,), axes=("N",))
    far = nodes.Elementwise(op="multiply", inputs=(distance(i - j), slopes), axes=("N", "Q", "T"))
    c, made = clamped(elementwise("add", far))
    found = lines(made.apply(c))
    assert found[-1].startswith("V     score[row * tileKeys") and "Axpy(slopesWide" in found[-1]
    assert not any("Muls" in each or " Add(" in each for each in found)
    # a product is none of it, and neither is the difference
    _, product = modified(elementwise("subtract", far), query=PADDED)
    assert "Sub(" in lines(product.apply(c))[-1]


@pytest.mark.parametrize(
    ("value", "hidden", "bounded"),
    [
        (maximum(i - j, 0), j > i, False),
        (maximum(0, i - j), j > i, False),
        (maximum(i - j, 0), j > i + 1, True),
        (maximum(i - j, 1), j > i, True),
        (maximum(i - j, 0), j < i, True),
        (maximum(i - j, 0), None, True),
    ],
)
def test_a_bound_that_holds_at_all_keys_that_are_seen_takes_no_instruction(
    value: Expr, hidden: Expr | None, bounded: bool
) -> None:
    changes = [elementwise("add", distance(value)), *([] if hidden is None else [masked(hidden)])]
    c = context(attention(PADDED, scores=tuple(changes)), positions=Symbol("Q"))
    found = lines(lower_modifier(c, c.attention.modifiers[0]).apply(c))
    assert any("Maxs" in each for each in found) is bounded


def test_a_function_of_a_bounded_distance_keeps_its_bound() -> None:
    """The root of what lies below 0 is none, even where nobody looks at it."""
    root = nodes.Elementwise(op="sqrt", inputs=(distance(maximum(i - j, 0)),), axes=("Q", "T"))
    changes = (elementwise("add", root), masked(j > i))
    c = context(attention(PADDED, scores=changes), positions=Symbol("Q"))
    assert any("Maxs" in each for each in lines(lower_modifier(c, c.attention.modifiers[0]).apply(c)))


def test_a_factor_of_the_call_takes_no_instruction_where_it_is_1() -> None:
    mask = tensor("mask", ("B", "N", "T"))
    scaled = nodes.Elementwise(op="multiply", inputs=(mask, NUMBER), axes=mask.axes)
    c, made = modified(elementwise("add", scaled))
    found = lines(made.apply(c))
    assert found[1:3] == ["if c != 1:", "V     maskWide[span] = Muls(maskWide[span], c)"]
    c, made = modified(elementwise("multiply", NUMBER))  # scores themselves are seldom scaled by 1
    assert len(lines(made.apply(c))) == 1


@pytest.mark.parametrize("value", [j * j, j // 2])
def test_what_no_instruction_computes_from_key_indices_is_refused(value: Expr) -> None:
    c, made = modified(elementwise("add", distance(value)))
    with pytest.raises(NotLowered, match="of key indices"):
        made.apply(c)


def test_two_functions_of_the_scores_are_made_beside_each_other() -> None:
    """x * sigmoid(x): the second function in a buffer of its own, before the scores are overwritten."""

    def gated(score: nodes.Node) -> nodes.Node:
        gate = nodes.Elementwise(op="sigmoid", inputs=(score,), axes=nodes.SCORE_AXES)
        return nodes.Elementwise(op="multiply", inputs=(score, gate), axes=nodes.SCORE_AXES)

    c, made = modified(gated)
    found = lines(made.apply(c))
    assert found[0] == f"V     function0[span] = Adds({SPAN}, 0)"
    assert found[-1] == f"V     {SPAN} = Mul({SPAN}, function0[span])"
    assert "function0" in [each.name for each in made.scratch]


def test_a_mask_on_one_of_two_functions_is_refused() -> None:
    def half_masked(score: nodes.Node) -> nodes.Node:
        hidden = masked(j > 3)(score)
        return nodes.Elementwise(op="add", inputs=(score, hidden), axes=nodes.SCORE_AXES)

    with pytest.raises(NotLowered, match="a mask on one of two functions of scores"):
        modified(half_masked)


def test_a_node_without_a_rule_is_refused() -> None:
    c, _ = modified(elementwise("exp"))
    with pytest.raises(NotLowered, match=r"Softmax of scores has no lowering rule yet; scores take"):
        lower_modifier(c, nodes.Softmax(scores=tensor("x", ("T",))))


def test_one_tensor_with_other_elements_is_not_loaded_into_one_buffer() -> None:
    stored = tensor("bias", ("N", "T"))
    both = [
        elementwise("add", nodes.Lookup(source=stored, index=(head, j), axes=("N", "T")))
        for head in (n, n + 1)
    ]
    c, _ = modified(*both)
    made = tuple(lower_modifier(c, node) for node in c.attention.modifiers)
    with pytest.raises(NotLowered, match="beside other elements of the same tensor"):
        share_loads_across_attentions([made], c.where)


@pytest.mark.parametrize("op", ["multiply", "divide"])
def test_one_multiplies_and_divides_nothing(op: str) -> None:
    c, made = modified(elementwise(op, scalar(Const(1.0))))
    assert lines(made.apply(c)) == []
