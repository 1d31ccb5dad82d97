"""The skewed loop over an item's key tiles: scores, online softmax, weighted sums."""

from __future__ import annotations

from attndsl.lowering.attention.matmul_stages import score_tile, weighted_tile
from attndsl.lowering.attention.online_softmax import softmax_tile, update_tile
from attndsl.lowering.attention.widen_rows import widen_rows
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import TILE, TILES
from attndsl.tile.statements import Pipelined


def attention_loop(context: Context, modifiers: Modifiers) -> Pipelined:
    """The stages of a tile. The scores run ``prefetch_distance`` tiles ahead of the weighted sums."""
    prefetch_distance = context.schedule.prefetch_distance
    stages = (
        (widen_rows(context, context.keys), 0),
        (score_tile(context), 0),
        (softmax_tile(context, modifiers), 0),
        (widen_rows(context, context.values), 0),
        (weighted_tile(context), prefetch_distance),
        (update_tile(context), prefetch_distance),
    )
    present = [(stage, lag) for stage, lag in stages if stage is not None]
    return Pipelined(
        var=TILE,
        extent=TILES,
        stages=tuple(stage for stage, _ in present),
        lags=tuple(lag for _, lag in present),
        prefetch=context.prefetch,
        ring=context.ring,
        where=context.where,
    )
