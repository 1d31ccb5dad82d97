"""The vector cores' buffers that their stages share; modifiers and other phases have their own."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import LANES
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.tile.buffers import Buffer

BLOCK_COPIES = 2
"""Blocks that a row statistic is spread over, in either half of the groups of banks."""


@dataclass(frozen=True, slots=True)
class VectorBuffers:
    """The vector cores' buffers, modifiers' own aside."""

    score: Buffer
    prob: Buffer
    lanes: Buffer
    tile_stat: Buffer
    new_max: Buffer
    row_blocks: Buffer
    row_max: Buffer
    row_sum: Buffer
    rescale: Buffer
    accumulator: Buffer
    partial: Buffer


def folded_lanes(schedule: Schedule) -> int:
    """Lanes of a row after each block of a score tile became one lane, whole repeats."""
    blocks = schedule.tile_k // STATISTIC_LANES
    return -(-blocks // LANES) * LANES


def vector_buffers(emit: Emitter) -> VectorBuffers:
    """The buffers that the vector cores' stages share."""
    s, ub, padded_size = emit.schedule, emit.in_ub, emit.signature.padded_value_size
    rows, tile, statistics = emit.rows_per_core, s.rows * s.tile_k, BLOCK_COPIES * s.rows * STATISTIC_LANES
    return VectorBuffers(
        score=ub("score", "float32", tile, "scores of the rows, then exp(score - max)", s.slots),
        prob=ub("prob", emit.cube_dtype, tile, "probabilities, as the cube multiplies them", 1),
        lanes=ub("lanes", "float32", s.rows * folded_lanes(s), "reduction over the tile, one repeat a row"),
        tile_stat=ub("tileStat", "float32", s.rows, "maximum or sum of each row of the tile"),
        new_max=ub("newMax", "float32", s.rows, "running maximum including the tile"),
        row_blocks=ub("rowBlocks", "float32", statistics, "a row statistic, two blocks a row"),
        row_max=ub("rowMax", "float32", s.ring * rows, "running maximum of each row, of items in flight"),
        row_sum=ub("rowSum", "float32", s.ring * rows, "running sum of each row, of items in flight"),
        rescale=ub("rescale", "float32", s.ring * rows, "exp(old max - new max) of the tiles in flight"),
        accumulator=ub("accumulator", "float32", rows * padded_size, "running weighted sum of each row"),
        partial=ub("partial", "float32", s.rows * padded_size, "weighted sum of one tile or split", s.slots),
    )
