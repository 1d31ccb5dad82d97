"""Lowering rules of score modifiers: one entry of a table for each kind of graph node.

A rule turns a node into a :class:`ScoreStep`. Adding a modifier is adding a rule here.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.schedule.context import SPAN, Context, whole
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.mask_rules import replace_rule
from attndsl.schedule.operands import WITH_SCALAR, each_row_with_scalar, key_operand
from attndsl.schedule.pattern import other_operand
from attndsl.schedule.row_values import has_keys, row_value
from attndsl.schedule.score_step import ScoreStep
from attndsl.schedule.vector_buffers import vector_buffers
from attndsl.symbolic import Const, Expr, Symbol
from attndsl.tile.instructions import Binary, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import Statement


def lower_modifier(context: Context, node: nodes.Node) -> ScoreStep:
    """The step of a modifier.

    Raises:
        NotLowered: when no rule covers the node.
    """
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotLowered(type(node).__name__, node.where)
    return rule(context, node)


def _elementwise(context: Context, node: nodes.Node) -> ScoreStep:
    assert isinstance(node, nodes.Elementwise)
    other = other_operand(node)
    if node.op == "negate":
        return _by_number("Muls", Const(-1.0), f"score = -score  ({node.where})", node)
    if other is not None and has_keys(other) and node.op in _TENSOR_OPS:
        return _with_keys(context, node, other)
    if other is not None and not has_keys(other) and node.op in _SCALAR_OPS:
        if isinstance(other, nodes.Scalar) and not other.axes:
            return _with_scalar(context, node, other)
        return _with_row_value(node, other)
    with_what = f" and {type(other).__name__}" if other is not None else ""
    raise NotLowered(f"'{node.op}' of scores{with_what}", node.where)


_SIGNS = {"multiply": "*", "add": "+", "subtract": "-", "minimum": "min", "maximum": "max"}
_SCALAR_OPS = WITH_SCALAR | {"subtract": "Adds"}  # there is no Subs: the negative is added
_TENSOR_OPS = {"add": "Add", "subtract": "Sub", "multiply": "Mul"}


def _with_scalar(context: Context, node: nodes.Elementwise, scalar: nodes.Scalar) -> ScoreStep:
    """A number known now, or one that the host computes for each call."""
    value = _addend(node, scalar.value)
    operand = context.host(value, stem="" if isinstance(value, Symbol) else f"score_{node.op}")
    if isinstance(operand, Const):
        operand = Const(float(operand.value))
    title = f"score {_SIGNS[node.op]} {scalar.value}  ({node.where})"
    return _by_number(_SCALAR_OPS[node.op], operand, title, node)


def _by_number(op: str, operand: Expr, title: str, node: nodes.Elementwise) -> ScoreStep:
    """One instruction over all scores of the step."""

    def apply(context: Context) -> list[Statement]:
        score = whole(vector_buffers(context).score, 0, SPAN)
        return [WithScalar(op=op, dst=score, src=score, scalar=operand, where=node.where)]

    return ScoreStep(title=title, apply=apply)


def _addend(node: nodes.Elementwise, value: Expr) -> Expr:
    """What the instruction of ``node`` takes for its operand: the negative of what is subtracted."""
    return Const(0) - value if node.op == "subtract" else value


def _with_row_value(node: nodes.Elementwise, other: nodes.Node) -> ScoreStep:
    """A number of the row, such as a scale of its head."""

    def apply(context: Context) -> list[Statement]:
        score, op = vector_buffers(context).score, _SCALAR_OPS[node.op]
        return [
            each_row_with_scalar(context, op, score, lambda c: _addend(node, row_value(c, other)), node.where)
        ]

    return ScoreStep(title=f"score {_SIGNS[node.op]} {_name(other)}  ({node.where})", apply=apply)


def _with_keys(context: Context, node: nodes.Elementwise, other: nodes.Node) -> ScoreStep:
    """An operand with a value for each key: made beside the scores, then combined."""
    operand, name = key_operand(context, other), _name(other)
    s = context.schedule
    wide = context.in_ub(f"{camel(name)}Wide", "float32", s.rows * s.tile_k, f"{name} of the rows, in fp32")

    def apply(context: Context) -> list[Statement]:
        score, widened = whole(vector_buffers(context).score, 0, SPAN), whole(wide, 0, SPAN)
        return [
            *operand.compute(context, wide),
            Binary(op=_TENSOR_OPS[node.op], dst=score, first=score, second=widened, where=node.where),
        ]

    return ScoreStep(
        title=f"score {_SIGNS[node.op]} {name}  ({node.where})",
        source=operand.source,
        row_loads=operand.loads,
        scratch=(wide, *operand.scratch),
        load_rows=operand.load,
        prepare_tile=operand.prepare,
        apply=apply,
    )


def _name(node: nodes.Node) -> str:
    """What an operand is called: by the tensors it is made of, else by its being computed."""
    names = [each.name for each in node.walk() if isinstance(each, nodes.Input)]
    return "_".join(dict.fromkeys(names)) if names else "bias"


_RULES: dict[type[nodes.Node], Callable[[Context, nodes.Node], ScoreStep]] = {
    nodes.Elementwise: _elementwise,
    nodes.Replace: replace_rule,
}
