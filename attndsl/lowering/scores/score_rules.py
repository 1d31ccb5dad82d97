"""Score modifiers: one entry of a table for each kind of graph node.

A rule turns a node into a :class:`Modifier`. A new modifier is a rule in a module here, a line in the table
below, and its test; a new elementwise operation is a line in operands/elementwise_ops.py.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.graph.elementwise import of_one, sign_of
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifier
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.mask_rules import lower_mask
from attndsl.lowering.match.operation_chains import has_scores, other_operand, running_score
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.operands.operand_rules import text_of
from attndsl.lowering.scores.expressions import expression
from attndsl.lowering.scores.key_biases import key_bias


def lower_modifier(context: Context, node: nodes.Node) -> Modifier:
    """The lowered modifier.

    Raises:
        NotLowered: when no rule covers the node.
    """
    rule = _MODIFIER_RULES.get(type(node))
    if rule is None:
        forms = f"scores take masks and {', '.join(OPERATIONS)}; they are float32 in kernels, without a cast"
        raise NotLowered(f"{type(node).__name__} of scores", node.where, forms)
    return rule(context, node)


def _elementwise(context: Context, node: nodes.Node) -> Modifier:
    """An operation of scores, with whatever stands between them and what its operands have in common."""
    assert isinstance(node, nodes.Elementwise)
    bias = key_bias(context, node)
    if bias is not None:
        return bias
    operand = expression(context, node, running_score(node))
    return Modifier(
        title=f"score {_title(context, node)}  ({context.spec_line(node.where)})",
        source=operand.source,
        row_loads=operand.loads,
        scratch=operand.scratch,
        load_rows=operand.load,
        prepare_tile=operand.prepare,
        apply=lambda context: operand.compute(context, vector_buffers(context).score),
    )


def _title(context: Context, node: nodes.Elementwise) -> str:
    operation = OPERATIONS[node.op]
    if operation.own is not None:
        return f"= {of_one(node.op, 'score')}"
    other = other_operand(node)
    if other is None or sum(map(has_scores, node.inputs)) > 1:
        return f"= {node.op} of two functions of it"
    what = text_of(context, other)
    if " " in what and sign_of(node.op) != "+":
        what = f"({what})"
    if operation.ordered and node.inputs[0] is other:
        return f"= {what} {sign_of(node.op)} score"
    return f"{sign_of(node.op)} {what}"


_MODIFIER_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Node], Modifier]] = {
    nodes.Elementwise: _elementwise,
    nodes.Replace: lower_mask,
}
