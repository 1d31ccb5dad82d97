"""The blocks of keys that one tile completes: their scores as window sums, sorted, merged into the best.

A position's sums of probabilities over its heads lie in a row of ``window``, behind those of the last keys
of the tile before. Blocks whose window ends in the tile are complete with it:

    score[j] = sum over i of weight_i * window[step * j + last - i]

The best ``KEPT`` of each position are kept as sorted records; merging the blocks of a tile behind them gives
ties to the lower index, and whatever falls behind can never come back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from attndsl.graph import nodes
from attndsl.schedule.context import (
    FIRST_QUERY,
    HEADS,
    KEYS,
    LOWEST,
    ROW_BEGIN,
    ROWS,
    TILE,
    Context,
    whole,
)
from attndsl.schedule.row_space import positions_per_core
from attndsl.schedule.windows import WindowLimits, term_count, term_weight, window_limits
from attndsl.symbolic import Const, Expr, Symbol, ceil_div, maximum, minimum, round_up, select
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import (
    Binary,
    CompareLanes,
    CompareWithScalar,
    Convert,
    CopyLanes,
    Fill,
    Gather,
    LaneNumbers,
    LoadRows,
    MergeSorted,
    SelectOrScalar,
    SortGroups,
    WithScalar,
    records,
)
from attndsl.tile.instructions.sort import GROUP
from attndsl.tile.naming import camel
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Statement, seq

KEPT = GROUP
"""Blocks kept of each position, at least as many as are selected: one group of records."""
POSITIONS = Symbol("corePositions")
TOTAL_BLOCKS = Symbol("totalBlocks")
_FIRST_BLOCK, _END_BLOCK, _NEW_BLOCKS = Symbol("firstBlock"), Symbol("endBlock"), Symbol("newBlocks")
_POSITION, _POSITION0, _STEP_POSITIONS = Symbol("position"), Symbol("position0"), Symbol("stepPositions")
_LANES, _TERM, _PART, _GROUPS = Symbol("usedLanes"), Symbol("term"), Symbol("part"), Symbol("groups")
_RECORD = 2
_MERGED_LISTS = 4  # of one MergeSorted
_FP32 = 4


@dataclass(frozen=True, slots=True)
class SelectionBuffers:
    """The vector cores' buffers for the selection."""

    window: Buffer
    best: Buffer
    lane_block: Buffer
    lane_number: Buffer
    lane_offset: Buffer
    number: Buffer
    score: Buffer
    term: Buffer
    records: Buffer
    merged: Buffer
    bits: Buffer


def lanes_of(context: Context) -> int:
    """Blocks, of several positions, that are sorted at once; a multiple of every repeat and bit block."""
    return -(-max(context.schedule.tile_k, 256) // 128) * 128


def top_k(context: Context) -> nodes.TopK:
    """The selection."""
    assert context.computation.selection is not None
    return cast(nodes.TopK, context.computation.selection.source)


def window_sum(context: Context) -> nodes.WindowSum:
    """The sums that are selected by."""
    return cast(nodes.WindowSum, cast(nodes.GroupSum, top_k(context).source).source)


def limits(context: Context) -> WindowLimits:
    """What the windows read around a tile."""
    found = window_limits(window_sum(context), context.problem.ranges)
    assert found is not None, "lowerable.py has refused"
    return found


def pitch(context: Context) -> int:
    """Lanes of a position's row of ``window``."""
    around = limits(context)
    return around.before + context.schedule.tile_k + around.behind


def selection_buffers(context: Context) -> SelectionBuffers:
    """The buffers that the stages of the selection share."""
    most, lanes, ub = positions_per_core(context.schedule.max_rows), lanes_of(context), context.in_ub
    window = "probabilities of a tile summed over heads, behind the last keys of the tile before"
    return SelectionBuffers(
        window=ub("window", "float32", most * pitch(context), window),
        best=ub("best", "float32", most * KEPT * _RECORD, "best blocks of each position, sorted records"),
        lane_block=ub("laneBlock", "int32", lanes, "block of each lane within its position"),
        lane_number=ub("laneNumber", "float32", lanes, "the same, to compare"),
        lane_offset=ub("laneOffset", "int32", lanes, "bytes to the first key of each lane's block"),
        number=ub("blockNumber", "int32", lanes, "number of each lane's block"),
        score=ub("blockScore", "float32", lanes, "score of each lane's block"),
        term=ub("blockTerm", "float32", lanes, "one term of the scores"),
        records=ub("blockRecords", "float32", lanes * _RECORD, "blocks of a tile, sorted in groups"),
        merged=ub("merged", "float32", _MERGED_LISTS * KEPT * _RECORD, "best blocks and new ones"),
        bits=ub("blockBits", "uint8", max(lanes // 8, 32), "one bit a lane"),
    )


def step_of(context: Context) -> Expr:
    """Keys from the window of one block to the next, in the kernel."""
    return context.host(window_sum(context).step, "keys from a block's window to the next", "windowStep")


def last_of(context: Context) -> Expr:
    """The last key of the first block's window, in the kernel."""
    return context.host(window_sum(context).last, "last key of the first window", "windowLast")


def _lane_blocks(context: Context) -> Expr:
    """Lanes of a position: the blocks that a tile can complete, in whole groups."""
    value = round_up(ceil_div(context.schedule.tile_k, window_sum(context).step), GROUP)
    return context.host(value, "lanes for the blocks of a position that a tile completes", "laneBlocks")


def _positions_per_step(context: Context) -> Expr:
    lanes, step = lanes_of(context), window_sum(context).step
    value = lanes // round_up(ceil_div(context.schedule.tile_k, step), GROUP)
    return context.host(value, "positions whose blocks are sorted at once", "positionsPerStep")


def own_positions() -> Let:
    """The query positions of the vector core: it has all heads of each."""
    return Let(symbol=POSITIONS, value=ROWS // HEADS)


# ------------------------------------------------------------------------------------------------
# Once a kernel, once a task


def number_lanes(context: Context) -> Seq:
    """For each lane its block within its position, and the bytes to that block's first key.

    Lanes behind the blocks of a tile read its last key instead; what they hold is discarded.
    """
    b, size, lanes = selection_buffers(context), context.schedule.tile_k, _lane_blocks(context)
    place = _POSITION * lanes
    block, offset = whole(b.lane_block, place, lanes), whole(b.lane_offset, place, lanes)
    numbers, row_bytes = whole(b.number, 0, lanes), pitch(context) * _FP32

    def step(op: str, scalar: Expr, source: Buffer | None = None) -> WithScalar:
        from_numbers = source is None
        return WithScalar(op=op, dst=offset, src=numbers if from_numbers else offset, scalar=scalar)

    one_position = seq(
        WithScalar(op="Adds", dst=block, src=numbers, scalar=Const(0)),
        step("Muls", step_of(context) * _FP32),
        step("Mins", Const((size - 1) * _FP32), b.lane_offset),
        step("Adds", _POSITION * row_bytes, b.lane_offset),
    )
    return seq(
        LaneNumbers(dst=whole(b.number), first=Const(0)),
        Fill(dst=whole(b.lane_block), value=Const(0)),
        Fill(dst=whole(b.lane_offset), value=Const(0)),
        For(
            var=_POSITION,
            end=_positions_per_step(context),
            body=one_position,
            disjoint=(b.lane_block, b.lane_offset),
            runs=True,
        ),
        Convert(dst=whole(b.lane_number), src=whole(b.lane_block), mode="CAST_RINT"),
    )


def start_best(context: Context) -> Seq:
    """No probabilities yet, and nothing among the best: records that every block is better than."""
    b = selection_buffers(context)
    scores, numbers = whole(b.score, 0, KEPT), whole(b.number, 0, KEPT)
    copy = CopyLanes(dst=_best(b, _POSITION), src=records(b.records, 0, KEPT))
    return seq(
        Fill(dst=whole(b.window), value=Const(0)),
        Fill(dst=scores, value=Const(-math.inf)),
        Fill(dst=numbers, value=Const(-1)),
        SortGroups(dst=records(b.records, 0, KEPT), scores=scores, indices=numbers),
        For(var=_POSITION, end=POSITIONS, body=seq(copy), disjoint=(b.best,)),
    )


def next_window(context: Context) -> For:
    """The last keys of the tile before to the front of each row, zeros behind them."""
    b, before, size = selection_buffers(context), limits(context).before, context.schedule.tile_k
    row = _POSITION * pitch(context)
    body = seq(
        CopyLanes(dst=whole(b.window, row, before), src=whole(b.window, row + size, before)),
        Fill(dst=whole(b.window, row + before, size), value=Const(0)),
    )
    return For(var=_POSITION, end=POSITIONS, body=body, disjoint=(b.window,))


def add_row(context: Context, source: Buffer, row: Expr, position: Expr) -> Binary:
    """A row of probabilities to the sums of its position."""
    b = selection_buffers(context)
    sums = whole(b.window, position * pitch(context) + limits(context).before, KEYS)
    return Binary(op="Add", dst=sums, first=sums, second=whole(source, row * context.tile_keys, KEYS))


# ------------------------------------------------------------------------------------------------
# Blocks that a tile completes


def take_blocks(context: Context, first_key: Expr) -> Seq:
    """The blocks whose windows end in the tile from ``first_key`` on, to the best of each position."""
    step, last, size = step_of(context), last_of(context), context.tile_keys
    end = ceil_div(maximum(0, first_key + size - last), step)
    body = seq(
        Let(symbol=_STEP_POSITIONS, value=minimum(_positions_per_step(context), POSITIONS - _POSITION0)),
        Let(symbol=_LANES, value=_STEP_POSITIONS * _lane_blocks(context)),
        *_scores(context, first_key),
        *_ranked(context),
        *_forced(context),
        *_sorted(context),
    )
    over_positions = For(var=_POSITION0, end=POSITIONS, step=_positions_per_step(context), body=body)
    return seq(
        Let(symbol=_FIRST_BLOCK, value=select(TILE == 0, 0, ceil_div(first_key - last, step))),
        Let(symbol=_END_BLOCK, value=minimum(TOTAL_BLOCKS, end)),
        Let(symbol=_NEW_BLOCKS, value=_END_BLOCK - _FIRST_BLOCK),
        If(condition=_NEW_BLOCKS > 0, then=seq(over_positions)),
    )


def _scores(context: Context, first_key: Expr) -> list[Statement]:
    b, node = selection_buffers(context), window_sum(context)
    counts = tuple(
        context.host(count, "factor of a window's terms", f"windowCount{number}")
        for number, count in enumerate(node.counts)
    )
    terms = context.host(term_count(node), "keys of a window", "windowTerms")
    offset = step_of(context) * _FIRST_BLOCK + last_of(context) - first_key - _TERM
    rows = b.window.region(_POSITION0 * pitch(context), 1, _STEP_POSITIONS * pitch(context))
    term, score = whole(b.term, 0, _LANES), whole(b.score, 0, _LANES)
    weight = term_weight(counts, terms, _TERM)
    gather = Gather(
        dst=term,
        src=rows,
        offsets=whole(b.lane_offset, 0, _LANES),
        base=(offset + limits(context).before) * _FP32,
        where=node.where,
    )
    add = seq(
        gather,
        None if weight is None else WithScalar(op="Muls", dst=term, src=term, scalar=weight),
        Binary(op="Add", dst=score, first=score, second=term),
    )
    return [
        Note(text="score of each block: the weighted sum of its window"),
        Fill(dst=whole(b.score), value=Const(0)),
        For(var=_TERM, end=terms, body=add, runs=True, where=node.where),
    ]


def _ranked(context: Context) -> list[Statement]:
    """NaN below every number."""
    b = selection_buffers(context)
    score = whole(b.score)
    return [
        Note(text="NaN counts as the lowest number"),
        CompareLanes(dst=b.bits.region(), first=score, second=score, mode="EQ"),
        SelectOrScalar(dst=score, bits=b.bits.region(), src=score, scalar=LOWEST),
    ]


def _forced(context: Context) -> list[Statement]:
    """Forced blocks above every number."""
    mask = top_k(context).forced
    if not isinstance(mask, nodes.Input):
        return []
    b, name, slots = selection_buffers(context), camel(mask.name), context.schedule.slots
    lanes, along = lanes_of(context), context.stride(mask.name, "Q")
    loaded = context.in_ub(f"{name}Bytes", "uint8", lanes, f"{mask.name} of the new blocks", slots)
    half = context.in_ub(f"{name}Half", "float16", lanes, f"{mask.name} in fp16, to compare")
    query = FIRST_QUERY + ROW_BEGIN // HEADS + _POSITION0
    source = context.gm(mask.name, query * along + _FIRST_BLOCK, _STEP_POSITIONS, _NEW_BLOCKS, along)
    place = loaded.region(0, _STEP_POSITIONS, _NEW_BLOCKS, _lane_blocks(context))
    score = whole(b.score)
    body = seq(
        LoadRows(dst=place, src=source, where=mask.where),
        Convert(dst=whole(half, 0, _LANES), src=whole(loaded, 0, _LANES), mode="CAST_NONE"),
        CompareWithScalar(dst=b.bits.region(), src=whole(half), scalar=Const(0), mode="EQ"),
        SelectOrScalar(dst=score, bits=b.bits.region(), src=score, scalar=Const(math.inf)),
    )
    return [Note(text=f"blocks that {mask.name} forces come first"), Alloc(buffers=(loaded,), body=body)]


def _sorted(context: Context) -> list[Statement]:
    """Groups of records, merged behind the best of their position."""
    b = selection_buffers(context)
    numbers, score = whole(b.number, 0, _LANES), whole(b.score)
    bits, lowest = b.bits.region(), Const(-math.inf)
    sort = SortGroups(dst=records(b.records, 0, _LANES), scores=whole(b.score, 0, _LANES), indices=numbers)
    merge = For(var=_PART, end=_GROUPS, step=Const(_MERGED_LISTS - 1), body=_merge(context), runs=True)
    return [
        Note(text="lanes without a block come last; records sorted in groups"),
        CompareWithScalar(dst=bits, src=whole(b.lane_number), scalar=_NEW_BLOCKS, mode="LT"),
        SelectOrScalar(dst=score, bits=bits, src=score, scalar=lowest),
        WithScalar(op="Adds", dst=numbers, src=whole(b.lane_block, 0, _LANES), scalar=_FIRST_BLOCK),
        sort,
        Let(symbol=_GROUPS, value=ceil_div(_NEW_BLOCKS, GROUP)),
        For(var=_POSITION, end=_STEP_POSITIONS, body=seq(merge), runs=True),
    ]


def _merge(context: Context) -> Seq:
    """The best of a position and up to three further groups: the first of all of them are the best now."""
    b = selection_buffers(context)
    first = _POSITION * _lane_blocks(context)

    def group(number: int) -> tuple[Expr, Expr]:
        if number == 0:
            return first + _PART * GROUP, Const(GROUP)
        # An empty list lies where the last group does.
        place = first + minimum(_PART + number, _GROUPS - 1) * GROUP
        return place, minimum(GROUP, maximum(0, (_GROUPS - _PART - number) * GROUP))

    lists = [records(b.records, *group(number)) for number in range(_MERGED_LISTS - 1)]
    best = _best(b, _POSITION0 + _POSITION)
    merge = MergeSorted(
        dst=records(b.merged, 0, _MERGED_LISTS * KEPT),
        first=best,
        second=lists[0],
        third=lists[1],
        fourth=lists[2],
    )
    return seq(merge, CopyLanes(dst=best, src=records(b.merged, 0, KEPT)))


def _best(b: SelectionBuffers, position: Expr) -> Region:
    return records(b.best, position * KEPT, KEPT)
