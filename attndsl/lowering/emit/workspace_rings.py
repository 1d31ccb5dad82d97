"""The rings of workspace slots by which the cores of a block exchange tiles, and the partials of key splits.

A slot holds one key tile of one task, rows in the task's order.
"""

from __future__ import annotations

from attndsl.expr import Expr, ExprLike, Named, select
from attndsl.lowering.emit.emitter import ROWS_PER_TASK, Emitter
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions.units import BLOCK_LANES
from attndsl.tile.program import tiling_field_ref

STATISTIC_LANES = BLOCK_LANES
"""A row statistic in the workspace is a 32-byte block of equal fp32 lanes: any row can be addressed."""

AWAIT_PROBABILITIES = "AwaitProbabilities"
"""The stage that waits for a tile's probabilities, and so for the slot of its scores."""


def score_ring(emit: Emitter, slots: Named | None = None) -> GlobalTensor:
    """Score tiles, cube to vector; ``slots``: if not those of all rings."""
    dtype = "float16" if emit.narrows_scores else emit.product_dtype
    return _ring(emit, "scoreRing", dtype, emit.tile_keys, "ring of score tiles, cube to vector", slots)


def prob_ring(emit: Emitter) -> GlobalTensor:
    """Probability tiles, vector to cube."""
    meaning = "ring of probability tiles, vector to cube"
    return _ring(emit, "probRing", emit.cube_dtype, emit.tile_keys, meaning)


def out_ring(emit: Emitter) -> GlobalTensor:
    """Weighted sums of tiles, cube to vector; those of each half of a task have slots of their own."""
    meaning = "ring of weighted sums, cube to vector"
    return _ring(emit, "outRing", emit.product_dtype, emit.padded_value_size, meaning, emit.item_slots)


def _ring(
    emit: Emitter, name: str, dtype: str, row: Named, meaning: str, slots: Expr | None = None
) -> GlobalTensor:
    rows = tiling_field_ref(emit.loop_label(ROWS_PER_TASK))
    elements = (emit.ring if slots is None else slots) * rows * row
    return emit.inventory.tensor(emit.loop_label(name), dtype, elements, "block", meaning)


def partial_max(emit: Emitter) -> GlobalTensor:
    """Row maxima of the key splits."""
    return _partial(emit, "partialMax", STATISTIC_LANES, "row maxima of key splits")


def partial_sum(emit: Emitter) -> GlobalTensor:
    """Row sums of the key splits."""
    return _partial(emit, "partialSum", STATISTIC_LANES, "row sums of key splits")


def partial_out(emit: Emitter) -> GlobalTensor:
    """Weighted sums of the key splits, unnormalized."""
    return _partial(emit, "partialOut", emit.padded_value_size, "weighted sums of key splits")


def _partial(emit: Emitter, name: str, row: ExprLike, meaning: str) -> GlobalTensor:
    """Row ``split * rowTotal + flat row index`` belongs to one result row of one key split."""
    splits = tiling_field_ref(emit.label("splits"))
    rows: Expr = splits * tiling_field_ref("rowTotal")
    if not emit.attention_name:  # the only attention
        rows = select(splits > 1, rows, 0)
    rows = emit.inventory.host_number(
        emit.label("partialRows"), rows, "rows of all key splits, 0 without any"
    )
    return emit.inventory.tensor(emit.label(name), "float32", rows * row, "device", meaning)
