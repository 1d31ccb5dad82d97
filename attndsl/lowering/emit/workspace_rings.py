"""The rings of workspace slots by which the cores of a block exchange tiles, and the partials of key splits.

A slot holds one key tile of one task, rows in the task's order.
"""

from __future__ import annotations

from attndsl.expr import Expr, select
from attndsl.lowering.emit.context import Context
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions.base import block_elements
from attndsl.tile.program import earlier

STATISTIC_LANES = block_elements("float32")
"""A row statistic in the workspace is a 32-byte block of equal fp32 lanes: any row can be addressed."""


def score_ring(context: Context, name: str = "scoreRing") -> GlobalTensor:
    """Score tiles, cube to vector."""
    dtype = context.product_dtype
    return _ring(context, name, dtype, context.schedule.tile_k, "ring of score tiles, cube to vector")


def prob_ring(context: Context) -> GlobalTensor:
    """Probability tiles, vector to cube."""
    meaning = "ring of probability tiles, vector to cube"
    return _ring(context, "probRing", context.cube_dtype, context.schedule.tile_k, meaning)


def out_ring(context: Context) -> GlobalTensor:
    """Weighted sums of tiles, cube to vector."""
    meaning = "ring of weighted sums, cube to vector"
    return _ring(context, "outRing", context.product_dtype, context.interface.value_bucket, meaning)


def _ring(context: Context, name: str, dtype: str, row: int, meaning: str) -> GlobalTensor:
    elements = context.schedule.ring * earlier(context.label("rowsPerTask")) * row
    return context.inventory.tensor(context.label(name), dtype, elements, "block", meaning)


def partial_max(context: Context) -> GlobalTensor:
    """Row maxima of the key splits."""
    return _partial(context, "partialMax", STATISTIC_LANES, "row maxima of key splits")


def partial_sum(context: Context) -> GlobalTensor:
    """Row sums of the key splits."""
    return _partial(context, "partialSum", STATISTIC_LANES, "row sums of key splits")


def partial_out(context: Context) -> GlobalTensor:
    """Weighted sums of the key splits, unnormalised."""
    return _partial(context, "partialOut", context.interface.value_bucket, "weighted sums of key splits")


def _partial(context: Context, name: str, row: int, meaning: str) -> GlobalTensor:
    """Row ``split * rowTotal + identity`` belongs to one result row of one key split."""
    splits = earlier(context.label("splits"))
    rows: Expr = splits * earlier("rowTotal")
    if len(context.computation.attentions) == 1:
        rows = select(splits > 1, rows, 0)  # none without a split
    return context.inventory.tensor(context.label(name), "float32", rows * row, "device", meaning)
