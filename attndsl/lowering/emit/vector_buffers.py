"""The vector cores' buffers that their stages share; modifiers and other phases have their own."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.expr import Expr, Named, maximum, round_up
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.emit.loop_scalars import REPEAT_LANES
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.match.schedule_options import BAND_ROWS, LONG_ROW
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions.cube import fractal_depth

BLOCK_COPIES = 2
"""Blocks that a row statistic is spread over, in either half of the groups of banks."""


_SCORES = "scores of the rows, then exp(score - max)"


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


def has_long_rows(emit: Emitter) -> bool:
    """Whether the running sums of a task's rows take most of the unified buffer."""
    channels = emit.signature.padded_value_size
    return channels > LONG_ROW or (channels == LONG_ROW and emit.schedule.max_rows >= BAND_ROWS)


def leaving_rows(emit: Emitter, name: str, meaning: str) -> Buffer:
    """Where the fp32 rows of a step leave from: a buffer of this name.

    With several bands of rows, or very long ones, whose sums take most of the unified buffer, it is the place
    of partials that arrive. That takes events of its own, of which other kernels have too few.
    """
    if not emit.gathers_sums and (emit.schedule.several_bands or has_long_rows(emit)):
        return vector_buffers(emit).partial
    size = emit.rows_per_step * emit.padded_value_size
    return emit.in_ub(name, "float32", size, meaning, emit.schedule.result_slots)


def row_inverses(emit: Emitter) -> Buffer:
    """One by the sum of each row of a step, where blocks are selected."""
    return emit.in_ub("rowInverse", "float32", emit.most_rows, "1 / rowSum of each row of a step")


def folded_lanes(emit: Emitter) -> Named:
    """Lanes of a row after each block of a score tile became one lane, whole repeats."""
    lanes = round_up(emit.tile_keys // STATISTIC_LANES, REPEAT_LANES)
    return emit.inventory.constant("foldedLanes", lanes, "lanes of a row, one for 8 keys, whole repeats")


def group_pitch(emit: Emitter) -> Named:
    """Elements from one column group of a step's probabilities to the next that the same repeat writes.

    Groups of the same place in all repeats follow each other, then comes a block that nobody writes: so those
    of one repeat differ in their banks.
    """
    blocks = emit.tile_keys // REPEAT_LANES * emit.rows_of_scores + 1
    meaning = "elements between the column groups of probabilities that a repeat fills"
    return emit.inventory.constant("groupPitch", blocks * fractal_depth(emit.cube_dtype), meaning)


def groups_of_repeat(emit: Emitter) -> Expr:
    """Column groups of probabilities that one repeat fills."""
    return REPEAT_LANES // fractal_depth(emit.cube_dtype)


def _probabilities(emit: Emitter, tile: Expr) -> Buffer:
    elements, meaning = tile, "probabilities, as the cube multiplies them"
    if emit.probabilities_as_fractals:
        elements = groups_of_repeat(emit) * group_pitch(emit)
        meaning += ", by column groups"
    return emit.in_ub("prob", emit.cube_dtype, elements, meaning)


@kept
def vector_buffers(emit: Emitter) -> VectorBuffers:
    """The buffers that the vector cores' stages share."""
    slots, ub, padded_size = emit.schedule.slots, emit.in_ub, emit.padded_value_size
    step, results, rows = emit.rows_of_scores, emit.rows_of_results, emit.rows_per_vector
    tile, flight = step * emit.tile_keys, emit.item_slots * rows
    steps = step * 2 if emit.doubles_rows else step
    most, statistics = maximum(steps, results), emit.most_rows * (BLOCK_COPIES * STATISTIC_LANES)
    blocks, meaning = "resultBlocks" if emit.of_results else "rowBlocks", "a row statistic, two blocks a row"
    summed = results if emit.gathers_sums else rows  # those of merged partials alone
    summed_is = "weighted sums of merged rows" if emit.gathers_sums else "running weighted sum of each row"
    widened = emit.narrows_scores  # these arrive in a place of their own
    gaps = steps * emit.row_gap
    score = ub("score", "float32", tile + gaps, _SCORES, 1 if widened else slots)
    prob = _probabilities(emit, tile)
    lanes = ub("lanes", "float32", steps * folded_lanes(emit), "reduction over the tile, one repeat a row")
    return VectorBuffers(
        score=score,
        prob=prob,
        lanes=lanes,
        tile_stat=ub("tileStat", "float32", most, "maximum or sum of each row of the tile"),
        new_max=ub("newMax", "float32", most, "running maximum including the tile"),
        row_blocks=lanes if emit.of_core else ub(blocks, "float32", statistics, meaning),
        row_max=ub("rowMax", "float32", flight, "running maximum of each row, of items in flight"),
        row_sum=ub("rowSum", "float32", flight, "running sum of each row, of items in flight"),
        rescale=ub("rescale", "float32", emit.ring * rows, "exp(old max - new max) of the tiles in flight"),
        accumulator=ub("accumulator", "float32", summed * padded_size, summed_is),
        partial=ub(
            "partial",
            "float32",
            results * padded_size,
            "weighted sums of an item so far, or of a split"
            if emit.gathers_sums
            else "weighted sum of one tile or split",
            emit.schedule.result_slots,
        ),
    )
