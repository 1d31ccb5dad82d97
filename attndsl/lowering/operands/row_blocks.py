"""Numbers of rows in the lanes of the vector unit: a block of equal lanes for each row of a step."""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.operands.row_values import row_value
from attndsl.lowering.rows.row_space import EachRun, RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fill
from attndsl.tile.statements import Statement, seq


def number_blocks(
    context: Context, node: nodes.Node, target: Buffer, each_run: EachRun, op: str = "number"
) -> list[Statement]:
    """Leaves a number, or a number of each row, in the blocks of ``target``; ``op``: what it is for."""
    if isinstance(node, nodes.Scalar) and not node.axes:
        lanes = whole(target, 0, context.rows_per_step * STATISTIC_LANES)
        return [Fill(dst=lanes, value=call_number(context, node.value, op), where=node.where)]

    def one(run: RowRun) -> Statement:
        block = whole(target, run.row * STATISTIC_LANES, STATISTIC_LANES)
        return seq(Fill(dst=block, value=row_value(context, node), where=node.where))

    return [each_run(one, (target,), spread=False)]


def call_number(context: Context, value: Expr, op: str) -> Expr:
    """A number of the call as vector instructions take it; ``op``: what it is for, in the field's name."""
    found = context.host(value, stem="" if isinstance(value, Symbol) else f"row_{op}")
    return Const(float(found.value)) if isinstance(found, Const) else found
