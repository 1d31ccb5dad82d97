"""From a graph to attentions, terms and an epilogue: the example drawn in attention_pattern.py and others."""

from dataclasses import replace

import pytest

from attndsl.expr import Symbol
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.attention_pattern import recognize
from attndsl.lowering.match.computation import Computation
from attndsl.lowering.match.operation_chains import chain_to_scores, other_operand, running_score
from tests.support.builders import DECODING, dense, elementwise, masked, scalar, tensor

AXES = ("B", "N", "Q", "E")
QUERY = tensor("query", DECODING)
SCALE, LAM = scalar(Symbol("scale")), scalar(Symbol("lam"))
QUERY_INDEX, KEY_INDEX = Symbol("i"), Symbol("j")


def scores(keys: str = "key") -> nodes.Node:
    return nodes.Scores(query=QUERY, keys=dense(keys))


def weighted(weights: nodes.Node, values: str = "value") -> nodes.WeightedSum:
    return nodes.WeightedSum(weights=weights, values=dense(values, "E"), axes=AXES)


def softmaxed(modified: nodes.Node, values: str = "value") -> nodes.WeightedSum:
    return weighted(nodes.Softmax(scores=modified), values)


def recognized(source: nodes.Node) -> Computation:
    return recognize((nodes.Output(name="out", source=source, dtype="query", axes=AXES),))


def named(operations: tuple[nodes.Node, ...]) -> list[str]:
    return [each.op if isinstance(each, nodes.Elementwise) else type(each).__name__ for each in operations]


def test_the_drawn_example() -> None:
    first = softmaxed(masked(KEY_INDEX <= QUERY_INDEX)(elementwise("multiply", SCALE)(scores())))
    second = weighted(elementwise("relu")(scores("memory")), "past")
    found = recognized(
        elementwise("tanh")(elementwise("subtract", elementwise("multiply", LAM)(second))(first))
    )
    one, two = found.attentions
    assert named(one.modifiers) == ["multiply", "Replace"] and named(two.modifiers) == ["relu"]
    assert isinstance(one.softmax, nodes.Softmax) and two.softmax is None
    assert one.values is first.values and two.values is second.values
    assert [(named(each.operations), each.negative) for each in found.terms] == [
        ([], False),
        (["multiply"], True),
    ]
    assert named(found.epilogue) == ["tanh"]


def test_one_attention_has_no_terms() -> None:
    found = recognized(elementwise("add", tensor("gates", ("B", "N")))(softmaxed(scores())))
    assert len(found.attentions) == 1 and found.terms == () and named(found.epilogue) == ["add"]


def test_a_difference_of_a_difference_adds() -> None:
    """``a - (b - c)``."""
    a, b, c = (softmaxed(scores(name)) for name in ("key", "memory", "other"))
    found = recognized(elementwise("subtract", elementwise("subtract", c)(b))(a))
    assert [each.negative for each in found.terms] == [False, True, False]


def test_two_functions_of_one_attention_are_no_sum() -> None:
    """``r + tanh(r)`` is an epilogue of one attention."""
    result = softmaxed(scores())
    found = recognized(elementwise("add", elementwise("tanh")(result))(result))
    assert len(found.attentions) == 1 and found.terms == () and named(found.epilogue) == ["add"]


def test_what_lies_beside_a_chain_is_not_in_it() -> None:
    """``s * sigmoid(s + 1)`` goes on at ``s``, which both operands are functions of."""
    raw = scores()
    gate = elementwise("sigmoid")(elementwise("add", SCALE)(raw))
    gated = elementwise("multiply", gate)(raw)
    assert chain_to_scores(gated) == ((gated,), raw)
    assert running_score(gated) is raw and running_score(raw) is raw
    assert isinstance(gated, nodes.Elementwise) and other_operand(gated) is gate


def test_chains_end_in_one_place() -> None:
    with pytest.raises(NotLowered, match="of the scores, or probabilities, of two products"):
        chain_to_scores(elementwise("add", scores("memory"))(scores()))
    with pytest.raises(NotLowered, match=r"without Scores below it.*attend\.scores\(query, keys\)"):
        chain_to_scores(elementwise("tanh")(tensor("bias", ("B", "N", "Q", "T"))))
    once = softmaxed(scores())
    with pytest.raises(NotLowered, match="one attention twice"):
        recognized(elementwise("add", replace(once))(once))
    product = elementwise("multiply", softmaxed(scores("memory")))(softmaxed(scores()))
    with pytest.raises(NotLowered, match="'multiply' of several attentions"):
        recognized(product)
