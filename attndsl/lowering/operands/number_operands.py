"""Operations of scores with a number, or with one of each row."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SPAN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, OwnForm
from attndsl.lowering.operands.key_numbers import row_lanes
from attndsl.lowering.operands.row_functions import with_row_function
from attndsl.lowering.operands.row_values import is_row_value, row_value
from attndsl.lowering.operands.score_operand import Compute, ScoreOperand
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Fill, WithScalar
from attndsl.tile.statements import If, Statement, seq


def each_row_with_scalar(
    context: Context, op: str, buffer: Buffer, value: Callable[[Context], Expr], where: SourceLine
) -> Statement:
    """``buffer[r, :] = op(buffer[r, :], value of row r)``."""

    def one(row: Expr) -> Statement:
        lanes = row_lanes(context, buffer, row)
        return WithScalar(op=op, dst=lanes, src=lanes, scalar=value(context), where=where)

    return context.rows.each_row(one, (buffer,))


def own_operation(context: Context, own: OwnForm, target: Buffer, where: SourceLine) -> list[Statement]:
    """An operation of one operand, on the numbers of a vector step."""

    def scratch(name: str) -> Region:
        return whole(context.beside_scores(name, f"{name} on the way to functions of scores"), 0, SPAN)

    return own(whole(target, 0, SPAN), scratch, where)


def with_number(
    context: Context, node: nodes.Elementwise, other: nodes.Node, stem: str, *, skips_one: bool = False
) -> Compute:
    """``target = op(target, number)`` of one number or one of each row, where :func:`takes_number` holds.

    ``stem``: how the field of a number is called that the host computes. ``skips_one``: whether a factor of
    the call takes no instruction where it is 1, as those of masks mostly are.
    """
    operation = OPERATIONS[node.op]
    assert operation.scalar is not None
    op = operation.scalar

    def number(value: Expr) -> Expr:
        found = operation.number(value)
        assert found is not None
        return found

    if not is_row_value(other):
        return lambda context, target: with_row_function(context, operation.tensor, target, other)
    if not isinstance(other, nodes.Scalar) or other.axes:
        return lambda context, target: [
            each_row_with_scalar(context, op, target, lambda c: number(row_value(c, other)), node.where)
        ]
    value = number(other.value)
    value = of_host(context, value, stem)
    if isinstance(value, Const):
        if op == "Muls" and value.value == 1:
            return lambda context, target: []
        value = Const(float(value.value))

    def of_all(context: Context, target: Buffer) -> list[Statement]:
        span = whole(target, 0, SPAN)
        step = WithScalar(op=op, dst=span, src=span, scalar=value, where=node.where)
        if skips_one and op == "Muls" and not isinstance(value, Const):
            return [If(condition=value != 1, then=seq(step))]
        return [step]

    return of_all


def spread_number(context: Context, node: nodes.Node) -> ScoreOperand:
    """A number, or one of each row, in all lanes: for operations whose instruction takes none."""

    def compute(context: Context, target: Buffer) -> list[Statement]:
        if isinstance(node, nodes.Scalar) and not node.axes:
            stem = "" if isinstance(node.value, Symbol) else "operand"
            value = context.host(node.value, stem=stem)
            return [Fill(dst=whole(target, 0, SPAN), value=value, where=node.where)]

        if not is_row_value(node):
            zero = Fill(dst=whole(target, 0, SPAN), value=Const(0.0), where=node.where)
            return [zero, *with_row_function(context, "Add", target, node)]

        def one(row: Expr) -> Statement:
            lanes = row_lanes(context, target, row)
            return Fill(dst=lanes, value=row_value(context, node), where=node.where)

        return [context.rows.each_row(one, (target,))]

    return ScoreOperand(compute=compute)


def of_host(context: Context, value: Expr, stem: str) -> Expr:
    """The field of a number that the host computes; ``stem``: what one is called that is no argument."""
    return context.host(value, stem="" if isinstance(value, Symbol) else stem)
