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
from attndsl.lowering.operands.row_functions import block_lanes, row_function
from attndsl.lowering.rows.row_space import EachRun, RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import CompareWithScalar, SelectOrScalar
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


def row_numbers(context: Context, node: nodes.Node, target: Buffer, rows: RowStatistics) -> list[Statement]:
    """Leaves the value of ``node``, a function of row statistics, in the blocks of ``target``.

    A row without a key has the maximum -inf and the sum 0, whatever its sum was raised to.

    Raises:
        NotLowered: an operation without a rule.
    """

    def statistic(node: nodes.Node, target: Buffer) -> list[Statement] | None:
        if not isinstance(node, nodes.RowMax | nodes.RowSum):
            return None
        empty = _LOWEST_OF_ALL if isinstance(node, nodes.RowMax) else Const(0.0)
        spread = rows.spread(context, type(node), target)
        return [spread, *_where_no_key(context, target, empty, rows, node.where)]

    return row_function(context, node, target, rows.each_run, statistic)


def _where_no_key(
    context: Context, target: Buffer, value: Expr, rows: RowStatistics, where: SourceLine
) -> list[Statement]:
    """``value`` in the rows that have seen no key: their sum is 0, or the smallest number in its place, once
    or in each folded lane."""
    sums, lanes = vector_buffers(context).row_blocks, block_lanes(context, target)
    size = context.rows_per_step * STATISTIC_LANES
    meaning = "one bit a lane: 1 where a row has seen a key"
    name = "coreHasKeys" if context.of_core else "rowHasKeys"
    bits = context.in_ub(name, "uint8", maximum(size // 8, _BITS), meaning)
    kept = whole(bits, 0, size // 8)
    most = SMALLEST if alone(context) is None else SMALLEST * folded_lanes(context)
    return [
        Note(text=f"{value} in rows without a key"),
        rows.spread(context, nodes.RowSum, sums),
        CompareWithScalar(dst=kept, src=block_lanes(context, sums), scalar=most, mode="GT", where=where),
        SelectOrScalar(dst=lanes, bits=kept, src=lanes, scalar=value, where=where),
    ]
