"""Functions of row statistics: numbers of each row that are results, or that result rows are computed with.

A row's number stands in all lanes of a block, so that vector instructions compute it for all rows of a step,
result rows meet it lane by lane, and a copy leaves with a block of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, maximum
from attndsl.graph import nodes
from attndsl.lowering.attention.continuous import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SMALLEST
from attndsl.lowering.emit.row_operations import broadcast
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.attention_pattern import has_statistics
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.operands.key_operands import takes_number
from attndsl.lowering.operands.row_blocks import call_number, number_blocks
from attndsl.lowering.rows.each_run import EachRun
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, CompareWithScalar, SelectOrScalar, WithScalar
from attndsl.tile.statements import Note, Seq, Statement

_BITS = 32
"""Bytes of a buffer of bits, at least."""
_LOWEST_OF_ALL = Const(float("-inf"))
FORMS = (
    "numbers of rows are made of p.row_max, p.row_sum and p.lse by +, -, *, /, minimum, maximum and "
    "functions of one operand, with numbers and fp32 numbers of each batch row, head and query"
)


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The maxima and sums of the rows of a step.

    Attributes:
        spread: the statement that leaves the maxima (RowMax) or sums (RowSum) in a buffer, a block a row
            and one after the other, whatever room it has for copies.
        each_run: calls its body for every run of the rows.
        each_stored_run: the same for what stores them.
    """

    spread: Callable[[Context, type[nodes.Node], Buffer], Statement]
    each_run: EachRun
    each_stored_run: Callable[[Callable[[RowRun], Statement]], Seq]


def statistics_of_item(context: Context) -> RowStatistics:
    """Those of the rows of an item that has seen all its keys."""
    return RowStatistics(_of_item, context.rows.each_run, context.rows.each_stored_run)


def _of_item(context: Context, kind: type[nodes.Node], target: Buffer) -> Statement:
    state = vector_buffers(context)
    held = {nodes.RowMax: state.row_max, nodes.RowSum: state.row_sum}
    return broadcast(context, target, held[kind], state_row(context), copies=1)


def row_numbers(
    context: Context, node: nodes.Node, target: Buffer, rows: RowStatistics, depth: int = 0
) -> list[Statement]:
    """Leaves the value of ``node``, a function of row statistics, in the blocks of ``target``.

    A row without a key has the maximum -inf and the sum 0, whatever its sum was raised to.

    Raises:
        NotLowered: an operation without a rule.
    """
    if isinstance(node, nodes.RowMax | nodes.RowSum):
        empty = _LOWEST_OF_ALL if isinstance(node, nodes.RowMax) else Const(0.0)
        spread = rows.spread(context, type(node), target)
        return [spread, *_where_no_key(context, target, empty, rows, node.where)]
    if not isinstance(node, nodes.Elementwise):
        raise NotLowered(f"{type(node).__name__} of row statistics", node.where, FORMS)
    varying = [each for each in node.inputs if has_statistics(each)]
    inner = row_numbers(context, varying[0], target, rows, depth)
    operation, lanes = OPERATIONS[node.op], _lanes(context, target)
    if operation.own is not None:
        return [
            *inner,
            *operation.own(lanes, lambda name: _lanes(context, row_blocks(context, name)), node.where),
        ]
    if len(varying) == 1:
        return [*inner, *_with_number(context, node, target, rows.each_run, depth)]
    beside = row_blocks(context, f"numbers{depth}")
    others = row_numbers(context, varying[1], beside, rows, depth + 1)
    second = _lanes(context, beside)
    combine = Binary(op=operation.tensor, dst=lanes, first=lanes, second=second, where=node.where)
    return [*inner, *others, combine]


def _with_number(
    context: Context, node: nodes.Elementwise, target: Buffer, each_run: EachRun, depth: int
) -> list[Statement]:
    """``target = op(target, number)`` or ``op(number, target)``, of a number, or one of each row."""
    other = next(each for each in node.inputs if not has_statistics(each))
    operation, lanes, in_front = OPERATIONS[node.op], _lanes(context, target), node.inputs[0] is other
    taken = takes_number(node, other) and not (operation.ordered and in_front)
    if taken and isinstance(other, nodes.Scalar) and not other.axes:
        number = operation.number(other.value)
        assert operation.scalar is not None and number is not None
        value = call_number(context, number, node.op)
        return [WithScalar(op=operation.scalar, dst=lanes, src=lanes, scalar=value, where=node.where)]
    beside = row_blocks(context, f"numbers{depth}")
    numbers = _lanes(context, beside)
    left, right = (numbers, lanes) if in_front else (lanes, numbers)
    return [
        *number_blocks(context, other, beside, each_run, node.op),
        Binary(op=operation.tensor, dst=lanes, first=left, second=right, where=node.where),
    ]


def row_blocks(context: Context, name: str) -> Buffer:
    """A buffer for a number of each row of a step, one block a row."""
    meaning = f"{name} on the way to numbers of rows, one block a row"
    size = context.rows_per_step * STATISTIC_LANES
    return context.in_ub(f"{name}OfStatistics", "float32", size, meaning)


def _where_no_key(
    context: Context, target: Buffer, value: Expr, rows: RowStatistics, where: SourceLine
) -> list[Statement]:
    """``value`` in the rows that have seen no key: their sum is 0, or the smallest number in its place."""
    sums, lanes = vector_buffers(context).row_blocks, _lanes(context, target)
    size = context.rows_per_step * STATISTIC_LANES
    meaning = "one bit a lane: 1 where a row has seen a key"
    bits = context.in_ub("rowHasKeys", "uint8", maximum(size // 8, _BITS), meaning)
    kept = whole(bits, 0, size // 8)
    return [
        Note(text=f"{value} in rows without a key"),
        rows.spread(context, nodes.RowSum, sums),
        CompareWithScalar(dst=kept, src=_lanes(context, sums), scalar=SMALLEST, mode="GT", where=where),
        SelectOrScalar(dst=lanes, bits=kept, src=lanes, scalar=value, where=where),
    ]


def _lanes(context: Context, buffer: Buffer) -> Region:
    """The blocks of all rows of a step."""
    return whole(buffer, 0, context.rows_per_step * STATISTIC_LANES)
