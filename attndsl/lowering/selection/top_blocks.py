"""The best blocks of each position, as sorted records.

The best ``KEPT`` of each position are kept; merging the blocks of a tile after them gives ties to the lower
index, and whatever falls out can never come back.
"""

from __future__ import annotations

import math

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, select
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_QUERY, HEADS, LOWEST, REPEAT_LANES, ROW_BEGIN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.selection.selection_buffers import (
    FIRST_BLOCK,
    KEPT,
    MERGED_LISTS,
    NEW_BLOCKS,
    POSITION,
    POSITION0,
    POSITION_LANES,
    POSITIONS,
    STEP_POSITIONS,
    USED_LANES,
    SelectionBuffers,
    lanes_of,
    lead,
    merged_positions,
    pitch,
    selection_buffers,
    top_k,
)
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import (
    CompareLanes,
    CompareWithScalar,
    Convert,
    CopyLanes,
    Fill,
    FillLanes,
    LoadRows,
    MergeSorted,
    SelectOrScalar,
    SortGroups,
    WithScalar,
    records,
)
from attndsl.tile.instructions.sort import SORT_GROUP
from attndsl.tile.naming import camel
from attndsl.tile.statements import Alloc, For, If, Let, Note, Statement, seq

_PART, _GROUPS = Symbol("part"), Symbol("groups")
_MERGED, _MERGED_END = Symbol("firstMerged"), Symbol("endMerged")
_LANES = POSITION * POSITION_LANES
_ZERO = Const(0)


def clear_window(context: Context) -> If:
    """No probabilities yet."""
    b = selection_buffers(context)
    lanes = whole(b.window, 0, lead(context) + POSITIONS * pitch(context))
    return If(condition=POSITIONS > 0, then=seq(Fill(dst=lanes, value=Const(0))))


def nan_lowest(context: Context) -> list[Statement]:
    """NaN below every number."""
    b = selection_buffers(context)
    score = whole(b.score)
    return [
        Note(text="NaN counts as the lowest number (assumed: Compare finds NaN unequal to itself)"),
        CompareLanes(dst=b.bits.region(), first=score, second=score, mode="EQ"),
        SelectOrScalar(dst=score, bits=b.bits.region(), src=score, scalar=LOWEST),
    ]


def forced_first(context: Context) -> list[Statement]:
    """Forced blocks above every number."""
    mask = top_k(context).forced
    if not isinstance(mask, nodes.Input):
        return []
    b, name, slots = selection_buffers(context), camel(mask.name), context.schedule.slots
    lanes, along = lanes_of(context), context.stride(mask.name, "Q")
    loaded = context.in_ub(f"{name}Bytes", "uint8", lanes, f"{mask.name} of the new blocks", slots)
    half = context.in_ub(f"{name}Half", "float16", lanes, f"{mask.name} in fp16, to compare")
    query = FIRST_QUERY + ROW_BEGIN // HEADS + POSITION0
    source = context.gm(mask.name, query * along + FIRST_BLOCK, STEP_POSITIONS, NEW_BLOCKS, along)
    place = loaded.region(0, STEP_POSITIONS, NEW_BLOCKS, POSITION_LANES)
    score = whole(b.score)
    body = seq(
        LoadRows(dst=place, src=source, where=mask.where),
        Convert(dst=whole(half, 0, USED_LANES), src=whole(loaded, 0, USED_LANES), mode="CAST_NONE"),
        CompareWithScalar(dst=b.bits.region(), src=whole(half), scalar=Const(0), mode="EQ"),
        SelectOrScalar(dst=score, bits=b.bits.region(), src=score, scalar=Const(math.inf)),
    )
    return [Note(text=f"blocks that {mask.name} forces come first"), Alloc(buffers=(loaded,), body=body)]


def merge_into_best(context: Context) -> list[Statement]:
    """Groups of records, merged after the best of their position.

    The first group of an item begins the best of its position: there is nothing to merge it with.
    """
    b = selection_buffers(context)
    sorted_lanes = _GROUPS * SORT_GROUP
    last_repeat = whole(b.score, _LANES + NEW_BLOCKS // REPEAT_LANES * REPEAT_LANES, REPEAT_LANES)
    spare = FillLanes(dst=last_repeat, first_lane=NEW_BLOCKS % REPEAT_LANES, value=Const(-math.inf))
    sort = SortGroups(
        dst=records(b.records, _LANES, sorted_lanes),
        scores=whole(b.score, _LANES, sorted_lanes),
        indices=whole(b.number, 0, sorted_lanes),
    )
    begin = CopyLanes(dst=_best(b, POSITION0 + POSITION), src=records(b.records, _LANES, KEPT))
    return [
        Note(text="lanes without a block come last; records sorted in groups"),
        If(condition=NEW_BLOCKS % REPEAT_LANES != 0, then=seq(_each_position(b.score, spare))),
        WithScalar(
            op="Adds",
            dst=whole(b.number, 0, POSITION_LANES),
            src=whole(b.lane_number, 0, POSITION_LANES),
            scalar=FIRST_BLOCK,
        ),
        Let(symbol=_GROUPS, value=ceil_div(NEW_BLOCKS, SORT_GROUP)),
        _each_position(b.records, sort),
        Note(text="an item's first group is its best so far; others are merged, three at a time"),
        If(condition=FIRST_BLOCK == 0, then=seq(_each_position(b.best, begin))),
        _merges(context),
    ]


def _merges(context: Context) -> For:
    """All positions of a step at once, where there is a place for their merged lists; else some at a time."""
    merged, most = merged_positions(context), lanes_of(context) // REPEAT_LANES
    at_once = int(merged.value) >= int(most.evaluate({}))
    fits = merged >= most if at_once else merged < most
    context.inventory.require(fits, "the place of folded lanes has the merged lists of a step, or of a part")
    if at_once:
        return _merge(context, Const(0), STEP_POSITIONS)
    some = Let(symbol=_MERGED_END, value=minimum(_MERGED + merged, STEP_POSITIONS))
    body = seq(some, _merge(context, _MERGED, _MERGED_END))
    return For(var=_MERGED, end=STEP_POSITIONS, step=merged, body=body, runs=True)


def _each_position(touched: Buffer, *body: Statement, begin: Expr = _ZERO, end: Expr = STEP_POSITIONS) -> For:
    """``body`` for each position of a step, which do not wait for each other."""
    return For(var=POSITION, begin=begin, end=end, body=seq(*body), disjoint=(touched,), runs=True)


def _merge(context: Context, begin: Expr, end: Expr) -> For:
    """The best of positions ``begin .. end - 1`` and up to three further groups: the first of all are the
    best now. Softmax has left the place of the merged lists."""
    b, merged = selection_buffers(context), vector_buffers(context).lanes
    place = (POSITION - begin) * (MERGED_LISTS * KEPT)

    def group(number: int) -> Region:
        if number == 0:
            return records(b.records, _LANES + _PART * SORT_GROUP, SORT_GROUP)
        # An empty list lies where the last group does.
        lies = _LANES + minimum(_PART + number, _GROUPS - 1) * SORT_GROUP
        left = maximum(0, (_GROUPS - _PART - number) * SORT_GROUP)
        return records(b.records, lies, minimum(SORT_GROUP, left))

    best = _best(b, POSITION0 + POSITION)
    merge = MergeSorted(
        dst=records(merged, place, MERGED_LISTS * KEPT),
        first=best,
        second=group(0),
        third=group(1),
        fourth=group(2),
    )
    copy = CopyLanes(dst=best, src=records(merged, place, KEPT))
    return For(
        var=_PART,
        begin=select(FIRST_BLOCK == 0, 1, 0),
        end=_GROUPS,
        step=Const(MERGED_LISTS - 1),
        body=seq(
            _each_position(merged, merge, begin=begin, end=end),
            _each_position(b.best, copy, begin=begin, end=end),
        ),
    )


def _best(b: SelectionBuffers, position: Expr) -> Region:
    return records(b.best, position * KEPT, KEPT)
