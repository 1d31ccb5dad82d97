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
from attndsl.lowering.attention.second_run import alone
from attndsl.lowering.attention.tile_slots import state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import SMALLEST
from attndsl.lowering.emit.row_operations import broadcast
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import folded_lanes, vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.log_sum_exp import is_log_sum_exp
from attndsl.lowering.operands.row_functions import block_lanes, row_function
from attndsl.lowering.rows.row_space import EachRun, RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, CompareWithScalar, SelectOrScalar, Unary, WithScalar
from attndsl.tile.statements import Note, Seq, Statement

_BITS = 32
"""Bytes of a buffer of bits, at least."""
_LOWEST_OF_ALL = Const(float("-inf"))


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """The maxima and sums of the rows of a step.

    Attributes:
        spread: the statement that leaves the maxima (RowMax) or sums (RowSum) in a buffer, a block a row
            and one after the other, whatever room it has for copies.
        clamped: whether sums may be the smallest number instead of 0, which rows are divided by.
        each_run: calls its body for every run of the rows.
        each_stored_run: the same for what stores them.
        told: whether the bits that tell rows without a key are those of these rows already.
    """

    spread: Callable[[Context, type[nodes.Node], Buffer], Statement]
    clamped: bool
    each_run: EachRun
    each_stored_run: Callable[[Callable[[RowRun], Statement]], Seq]
    told: bool = False


def statistics_of_item(context: Context, *, clamped: bool) -> RowStatistics:
    """Those of the rows of an item that has seen all its keys."""
    return RowStatistics(_of_item, clamped, context.rows.each_run, context.rows.each_stored_run)


def _of_item(context: Context, kind: type[nodes.Node], target: Buffer) -> Statement:
    state = vector_buffers(context)
    held = {nodes.RowMax: state.row_max, nodes.RowSum: state.row_sum}
    return broadcast(context, target, held[kind], state_row(context), copies=1)


def row_numbers(context: Context, node: nodes.Node, target: Buffer, rows: RowStatistics) -> list[Statement]:
    """Leaves the value of ``node``, a function of row statistics, in the blocks of ``target``.

    A row without a key has the maximum -inf and the sum 0, whatever its sum was raised to.

    Raises:
        NotLowered: an operation without a rule.
    """

    def statistic(node: nodes.Node, target: Buffer) -> list[Statement] | None:
        if is_log_sum_exp(node):
            return _log_sum_exp(context, node, target, rows)
        if not isinstance(node, nodes.RowMax | nodes.RowSum):
            return None
        spread = rows.spread(context, type(node), target)
        if isinstance(node, nodes.RowMax):
            return [spread, *_where_no_key(context, target, _LOWEST_OF_ALL, rows, node.where)]
        return [
            spread,
            *(_where_no_key(context, target, Const(0.0), rows, node.where) if rows.clamped else ()),
        ]

    return row_function(context, node, target, rows.each_run, statistic)


def _log_sum_exp(context: Context, node: nodes.Node, target: Buffer, rows: RowStatistics) -> list[Statement]:
    """``row_max + log(row_sum)``; of a row without a key -inf, as one of the two is.

    Its sum is 0, whose logarithm is -inf, and its maximum the lowest number. Where the sum may have been
    raised, the maximum is made -inf; the logarithm is a number then.
    """
    sums = vector_buffers(context).row_blocks
    lanes, logarithms = block_lanes(context, target), block_lanes(context, sums)
    empty = _where_no_key(context, target, _LOWEST_OF_ALL, rows, node.where)
    return [
        rows.spread(context, nodes.RowMax, target),
        *(empty if rows.clamped else [rows.spread(context, nodes.RowSum, sums)]),
        Unary(op="Ln", dst=logarithms, src=logarithms, where=node.where),
        Binary(op="Add", dst=lanes, first=lanes, second=logarithms, where=node.where),
    ]


def _where_no_key(
    context: Context, target: Buffer, value: Expr, rows: RowStatistics, where: SourceLine
) -> list[Statement]:
    """``value`` in the rows that have seen no key: their sum is 0, or the smallest number in its place, once
    or in each folded lane.

    Rows keep what they have where their sum differs: that comparison alone holds of NaN, the sum of a
    row of such scores. Where sums without a key are not all the same, they are raised to the largest first.
    What a device makes of NaN in maxima and comparisons is not documented (docs/emulator.md).

    Leaves the sums in ``row_blocks``, unless the bits are told.
    """
    sums, lanes = vector_buffers(context).row_blocks, block_lanes(context, target)
    told, size = block_lanes(context, sums), context.rows_per_step * STATISTIC_LANES
    meaning = "one bit a lane: 1 where a row has seen a key"
    name = "coreHasKeys" if context.of_core else "rowHasKeys"
    bits = context.in_ub(name, "uint8", maximum(size // 8, _BITS), meaning)
    kept = whole(bits, 0, size // 8)
    empty: Expr = SMALLEST if rows.clamped else Const(0.0)
    raised = list[Statement]()
    if alone(context) is not None:  # any number of folded lanes may have begun with the smallest number
        empty = SMALLEST * folded_lanes(context)
        raised = [WithScalar(op="Maxs", dst=told, src=told, scalar=empty, where=where)]
    ask = [
        rows.spread(context, nodes.RowSum, sums),
        *raised,
        CompareWithScalar(dst=kept, src=told, scalar=empty, mode="NE", where=where),
    ]
    return [
        Note(text=f"{value} in rows without a key"),
        *([] if rows.told else ask),
        SelectOrScalar(dst=lanes, bits=kept, src=lanes, scalar=value, where=where),
    ]
