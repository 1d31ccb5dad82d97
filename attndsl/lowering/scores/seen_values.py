"""Operands of scores where only their values at keys that rows see count.

What a mask hides later is overwritten, whatever stood there. So a bound that holds at all keys that a
row sees needs no instruction, as in ``maximum(i - j, 0)`` under ``j <= i``.
"""

from __future__ import annotations

from dataclasses import replace

from attndsl.expr import Binary, Const, Expr
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.masks.visibility import row_ends
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.operands.key_numbers import KEY


def at_seen_keys(context: Context, node: nodes.Node) -> nodes.Node:
    """An operand with the same values at all keys that rows see.

    Functions of one operand keep theirs: they may have no value at other numbers.
    """
    if isinstance(node, nodes.Scalar):
        ends = row_ends(context)
        value = node.value.mapped(lambda each: _without_bound(each, ends))
        return node if value is node.value else replace(node, value=value)
    if not isinstance(node, nodes.Elementwise) or OPERATIONS[node.op].own is not None:
        return node
    inputs = tuple(at_seen_keys(context, each) for each in node.inputs)
    return node if inputs == node.inputs else replace(node, inputs=inputs)


def _without_bound(expr: Expr, ends: tuple[Expr, ...]) -> Expr | None:
    """``e - j`` for ``maximum(e - j, 0)`` where keys are seen up to ``e``."""
    if not isinstance(expr, Binary) or expr.op != "max":
        return None
    for value, bound in ((expr.left, expr.right), (expr.right, expr.left)):
        if not isinstance(bound, Const) or bound.value != 0 or not isinstance(value, Binary):
            continue
        below = value.op == "-" and value.right.same(KEY)
        if below and any((value.left + 1).same(end) for end in ends):
            return value
    return None
