"""What the stages of a selection share: scalars, sizes, buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from attndsl.base.facts import kept
from attndsl.expr import Expr, Named, Symbol, maximum, round_up
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import HEADS, ROWS
from attndsl.lowering.emit.vector_buffers import folded_lanes
from attndsl.lowering.rows.positioned_rows import positions_per_core
from attndsl.lowering.signature.window_bounds import WindowLimits, window_limits
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions.sort import GROUP, RECORD, RECORD_LANES, SORT_GROUP
from attndsl.tile.instructions.units import block_elements
from attndsl.tile.program import tiling_field_ref
from attndsl.tile.statements import Let

KEPT = SORT_GROUP
"""Blocks kept of each position, at least as many as are selected: one group of records."""
POSITIONS = Symbol("corePositions")
TOTAL_BLOCKS = Symbol("totalBlocks")
FIRST_BLOCK = Symbol("firstBlock")
END_BLOCK = Symbol("endBlock")
NEW_BLOCKS = Symbol("newBlocks")
POSITION = Symbol("position")
POSITION0 = Symbol("position0")
STEP_POSITIONS = Symbol("stepPositions")
POSITION_LANES = Symbol("positionLanes")
USED_LANES = Symbol("usedLanes")
MERGED_LISTS = 4  # of one MergeSorted
_FP32 = 4
_LONG_TILE = 256


@dataclass(frozen=True, slots=True)
class SelectionBuffers:
    """The vector cores' buffers for the selection."""

    window: Buffer
    best: Buffer
    lane_number: Buffer
    lane_offset: Buffer
    number: Buffer
    score: Buffer
    term: Buffer
    records: Buffer
    bits: Buffer
    ones: Buffer


def _add_sort_units(context: Context) -> None:
    """What Sort32 sorts together, as constants of the kernel."""
    constant = context.inventory.constant
    constant(SORT_GROUP.name, GROUP, "lanes that Sort32 sorts together")
    constant(RECORD_LANES.name, RECORD, "lanes of a record of Sort32: score, index")


def merged_positions(context: Context) -> Named:
    """Positions whose lists are merged at once: as many as the place of folded lanes holds lists of four
    groups."""
    steps = context.rows_of_scores * (2 if context.doubles_rows else 1)
    lanes = steps * folded_lanes(context) // (MERGED_LISTS * KEPT * RECORD_LANES)
    meaning = "positions whose lists are merged at once"
    return context.inventory.constant("mergedPositions", lanes, meaning)


@kept
def lanes_of(context: Context) -> Named:
    """Blocks, of several positions, that are sorted at once; a multiple of every repeat and bit block."""
    lanes = round_up(maximum(context.tile_keys, 256), 128)
    return context.inventory.constant(
        "blockScoreLanes", lanes, "blocks, of several positions, sorted at once"
    )


def top_k(context: Context) -> nodes.TopK:
    """The selection."""
    assert context.computation.selection is not None
    return cast(nodes.TopK, context.computation.selection.source)


def window_sum(context: Context) -> nodes.WindowSum:
    """The sums that are selected by."""
    return cast(nodes.WindowSum, cast(nodes.GroupSum, top_k(context).source).source)


@kept
def limits(context: Context) -> WindowLimits:
    """What the windows read around a tile."""
    found = window_limits(window_sum(context), context.signature.ranges)
    assert found is not None, "preconditions.py has refused"
    return found


@kept
def before(context: Context) -> Named:
    """Lanes of a position's row of ``window`` in front of the tile's."""
    meaning = "keys of the previous tile that windows reach back to"
    return context.inventory.constant("windowBefore", limits(context).before, meaning)


@kept
def lead(context: Context) -> Named:
    """Lanes in front of the first position's tile: those that windows reach back to, whole rows of banks."""
    lanes = round_up(before(context), _aligned(context))
    return context.inventory.constant("windowLead", lanes, "lanes in front of the first position's tile")


@kept
def pitch(context: Context) -> Named:
    """Lanes of a position's row of ``window``: its tile, what is read after it, and the next one's before."""
    lanes = round_up(context.tile_keys + limits(context).after + before(context), _aligned(context))
    return context.inventory.constant("windowRow", lanes, "lanes of a position: a tile and its surroundings")


def _aligned(context: Context) -> int:
    """What the tiles of positions begin at multiples of, in lanes.

    At whole rows of banks none meets the banks of the probabilities that are added to it. Short tiles do
    without: the room between them would be a good part of the buffer.
    """
    banks = context.architecture.bank_row // _FP32
    aligned = context.schedule.tile_k >= _LONG_TILE
    least = context.tile_keys >= _LONG_TILE if aligned else context.tile_keys < _LONG_TILE
    context.inventory.require(least, "tiles of positions begin at rows of banks where they are long")
    return banks if aligned else block_elements("float32")


@kept
def selection_buffers(context: Context) -> SelectionBuffers:
    """The buffers that the stages of the selection share."""
    _add_sort_units(context)
    most, lanes, ub = positions_per_core(context.rows_per_vector), lanes_of(context), context.in_ub
    window = "probabilities of a tile summed over heads, after the last keys of the previous tile"
    return SelectionBuffers(
        window=ub("window", "float32", lead(context) + most * pitch(context), window),
        best=ub(
            "best", "float32", most * (KEPT * RECORD_LANES), "best blocks of each position, sorted records"
        ),
        lane_number=ub("laneNumber", "int32", lanes, "block of each lane of a position"),
        lane_offset=ub("laneOffset", "int32", lanes, "bytes to the first key of each lane's block"),
        number=ub("blockNumber", "int32", lanes, "number of each lane's block"),
        score=ub("blockScore", "float32", lanes, "score of each lane's block"),
        term=ub("blockTerm", "float32", lanes, "one term of the scores"),
        records=ub("blockRecords", "float32", lanes * RECORD_LANES, "blocks of a tile, sorted in groups"),
        bits=ub("blockBits", "uint8", maximum(lanes // 8, 32), "one bit a lane"),
        ones=ub("ones", "float32", context.most_rows, "1 for each row of a step, to invert its sum"),
    )


@kept
def step_of(context: Context) -> Expr:
    """Keys from the window of one block to the next, in the kernel."""
    return context.host(window_sum(context).step, "keys from a block's window to the next", "windowStep")


@kept
def last_of(context: Context) -> Expr:
    """The last key of the first block's window, in the kernel."""
    value = in_steps_of(context, window_sum(context).last)
    return context.host(value, "last key of the first window", "windowLast")


def in_steps_of(context: Context, value: Expr) -> Expr:
    """A number of the host, which names the step of windows where it computes with it."""
    step = step_of(context)
    if not isinstance(step, Symbol):
        return value
    if context.settled(value).same(context.settled(window_sum(context).step)):
        return tiling_field_ref(step.name)
    children = tuple(in_steps_of(context, each) for each in value.children())
    return value.with_children(children) if children else value


def selection_count(context: Context) -> Expr:
    """Blocks that are selected, in the kernel."""
    return context.host(top_k(context).count, "blocks that are selected", "selectionCount")


def own_positions() -> Let:
    """The query positions of the vector core: it has all heads of each."""
    return Let(symbol=POSITIONS, value=ROWS // HEADS)
