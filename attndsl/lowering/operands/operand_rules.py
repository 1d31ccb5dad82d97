"""Operands of scores that differ from key to key: tensors with a column a key, and arithmetic of key indices.

An operand becomes statements that leave its value for all rows of a vector step in an fp32 buffer, of the
shape of the scores. What has a rule is the table at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.graph.elementwise import sign_of
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, takes_number
from attndsl.lowering.operands.indexed_operands import indexed_operand
from attndsl.lowering.operands.number_operands import of_host, own_operation, with_number
from attndsl.lowering.operands.row_values import has_keys
from attndsl.lowering.operands.score_operand import ScoreOperand
from attndsl.lowering.operands.stored_operands import looked_up_operand, stored_operand
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Statement


def score_operand(context: Context, node: nodes.Node) -> ScoreOperand:
    """The lowering of an operand that differs from key to key.

    Raises:
        NotLowered: when no rule covers it.
    """
    rule = _OPERAND_RULES.get(type(node))
    if rule is None:
        forms = "scores take tensors over T, elements x[b, j], arithmetic of indices, and functions of these"
        raise NotLowered(f"scores and {type(node).__name__}", node.where, forms)
    return rule(context, node)


def _function_of_operand(context: Context, node: nodes.Node) -> ScoreOperand:
    """A function of one such operand, or of one and a number of the row."""
    assert isinstance(node, nodes.Elementwise)
    operation = OPERATIONS[node.op]
    varying = [each for each in node.inputs if has_keys(each)]
    if len(varying) != 1:
        what = f"'{node.op}' of {len(varying)} operands that differ by key"
        raise NotLowered(
            what, node.where, "let each act on the scores by itself, as in s + a + b for s + (a + b)"
        )
    inner = score_operand(context, varying[0])
    others = [each for each in node.inputs if each is not varying[0]]
    if others and operation.ordered and node.inputs[0] is not varying[0]:
        return score_operand(context, _turned(node, others[0], varying[0]))

    if others and not takes_number(node, others[0]):
        what = f"'{node.op}' of what differs by key, by a number that is no literal"
        raise NotLowered(what, node.where, "multiply by its reciprocal")

    def compute(context: Context, target: Buffer) -> list[Statement]:
        below = inner.compute(context, target)
        if operation.own is not None:
            return [*below, *own_operation(context, operation.own, target, node.where)]
        stem = _stem(node, varying[0])
        return [*below, *with_number(context, node, others[0], stem, skips_one=True)(context, target)]

    return replace(inner, compute=compute)


def _turned(node: nodes.Elementwise, number: nodes.Node, keys: nodes.Node) -> nodes.Node:
    """``number - keys`` as ``-(keys - number)``, so that numbers act on what differs by key.

    Raises:
        NotLowered: another operation.
    """
    if node.op != "subtract":
        raise NotLowered(
            f"'{node.op}' with what differs by key behind a number",
            node.where,
            "pass the quotient as an input of its own",
        )
    difference = replace(node, inputs=(keys, number))
    return replace(node, op="negate", inputs=(difference,))


def name_of(node: nodes.Node) -> str:
    """What an operand is called: by the tensors it is made of, else by its being computed."""
    names = [each.name for each in node.walk() if isinstance(each, nodes.Input)]
    return "_".join(dict.fromkeys(names)) if names else "operand"


def text_of(context: Context, node: nodes.Node) -> str:
    """An operand as comments write it: sums and products of a tensor and a number of the host as such, all
    else by its name."""
    if isinstance(node, nodes.Scalar) and not node.axes:
        return str(node.value)
    if isinstance(node, nodes.Elementwise) and node.op in ("add", "multiply"):
        first, second = node.inputs
        inner, other = (first, second) if has_keys(first) else (second, first)
        if has_keys(inner) and isinstance(other, nodes.Scalar) and not other.axes:
            number = of_host(context, other.value, _stem(node, inner))
            text = text_of(context, inner)
            if node.op == "multiply" and isinstance(number, Const) and number.value == 1:
                return text
            text = f"({text})" if node.op == "multiply" and " " in text else text
            return f"{text} {sign_of(node.op)} {number}"
    return name_of(node)


def _stem(node: nodes.Elementwise, inner: nodes.Node) -> str:
    """How the number of an operation on an operand is called."""
    return f"{name_of(inner)}_{'factor' if node.op == 'multiply' else node.op}"


_OPERAND_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Node], ScoreOperand]] = {
    nodes.Input: stored_operand,
    nodes.Lookup: looked_up_operand,
    nodes.Scalar: indexed_operand,
    nodes.Elementwise: _function_of_operand,
}
