"""The best blocks of each position, as sorted records.

The best ``KEPT`` of each position are kept; merging the blocks of a tile after them gives ties to the lower
index, and whatever falls out can never come back.
"""

from __future__ import annotations

import math

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_QUERY, HEADS, LOWEST, ROW_BEGIN
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.selection.selection_buffers import (
    FIRST_BLOCK,
    KEPT,
    MERGED_LISTS,
    NEW_BLOCKS,
    POSITION,
    POSITION0,
    POSITIONS,
    STEP_POSITIONS,
    USED_LANES,
    SelectionBuffers,
    lane_blocks,
    lanes_of,
    lead,
    pitch,
    selection_buffers,
    top_k,
)
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import (
    CompareLanes,
    CompareWithScalar,
    Convert,
    CopyLanes,
    Fill,
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

_RECORD = 2
"""Lanes of a record."""
_PART, _GROUPS = Symbol("part"), Symbol("groups")


def start_best(context: Context) -> Seq:
    """No probabilities yet, and nothing among the best: records that every block is better than."""
    b = selection_buffers(context)
    scores, numbers = whole(b.score, 0, KEPT), whole(b.number, 0, KEPT)
    copy = CopyLanes(dst=_best(b, POSITION), src=records(b.records, 0, KEPT))
    zeros = Fill(dst=whole(b.window, 0, lead(context) + POSITIONS * pitch(context)), value=Const(0))
    return seq(
        If(condition=POSITIONS > 0, then=seq(zeros)),
        Fill(dst=scores, value=Const(-math.inf)),
        Fill(dst=numbers, value=Const(-1)),
        SortGroups(dst=records(b.records, 0, KEPT), scores=scores, indices=numbers),
        For(var=POSITION, end=POSITIONS, body=seq(copy), disjoint=(b.best,)),
    )


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
    place = loaded.region(0, STEP_POSITIONS, NEW_BLOCKS, lane_blocks(context))
    score = whole(b.score)
    body = seq(
        LoadRows(dst=place, src=source, where=mask.where),
        Convert(dst=whole(half, 0, USED_LANES), src=whole(loaded, 0, USED_LANES), mode="CAST_NONE"),
        CompareWithScalar(dst=b.bits.region(), src=whole(half), scalar=Const(0), mode="EQ"),
        SelectOrScalar(dst=score, bits=b.bits.region(), src=score, scalar=Const(math.inf)),
    )
    return [Note(text=f"blocks that {mask.name} forces come first"), Alloc(buffers=(loaded,), body=body)]


def merge_into_best(context: Context) -> list[Statement]:
    """Groups of records, merged after the best of their position."""
    b = selection_buffers(context)
    numbers, scores = whole(b.number, 0, USED_LANES), whole(b.score, 0, USED_LANES)
    term, bits, lowest = whole(b.term, 0, USED_LANES), b.bits.region(), Const(-math.inf)
    sort = SortGroups(dst=records(b.records, 0, USED_LANES), scores=scores, indices=numbers)
    merged = MERGED_LISTS * KEPT
    at_once = 2 if int(lanes_of(context).value) >= 2 * merged * _RECORD else 1
    context.inventory.require(
        lanes_of(context) >= at_once * merged * _RECORD,
        "the lists of positions that are merged at once have places",
    )
    merge = For(
        var=_PART, end=_GROUPS, step=Const(MERGED_LISTS - 1), body=_merge(context, at_once, merged), runs=True
    )
    spare = seq(
        CompareWithScalar(dst=bits, src=whole(b.lane_number), scalar=NEW_BLOCKS, mode="LT"),
        SelectOrScalar(dst=whole(b.score), bits=bits, src=whole(b.score), scalar=lowest),
    )
    return [
        Note(text="lanes without a block come last; records sorted in groups"),
        If(condition=lane_blocks(context) > NEW_BLOCKS, then=spare),
        WithScalar(op="Adds", dst=term, src=whole(b.lane_number, 0, USED_LANES), scalar=FIRST_BLOCK),
        Convert(dst=numbers, src=term, mode="CAST_RINT"),
        sort,
        Let(symbol=_GROUPS, value=ceil_div(NEW_BLOCKS, GROUP)),
        For(var=POSITION, end=STEP_POSITIONS, step=Const(at_once), body=seq(merge), runs=True),
    ]


def _merge(context: Context, at_once: int, merged: int) -> Seq:
    """The best of a position and up to three further groups: the first of all of them are the best now.

    So many positions ``at_once``, which do not wait for each other, ``merged`` records of each.
    """
    found = [_of_position(context, POSITION + number, number * merged) for number in range(at_once)]

    def if_there(number: int, statement: Statement) -> Statement:
        return (
            statement
            if number == 0
            else If(condition=POSITION + number < STEP_POSITIONS, then=seq(statement))
        )

    return seq(*(if_there(number, each[step]) for step in range(2) for number, each in enumerate(found)))


def _of_position(context: Context, position: Expr, place: int) -> tuple[Statement, Statement]:
    """The merge of a position's lists to ``place``, and the copy of the best of them."""
    b = selection_buffers(context)
    first = position * lane_blocks(context)

    def group(number: int) -> tuple[Expr, Expr]:
        if number == 0:
            return first + _PART * GROUP, Const(GROUP)
        # An empty list lies where the last group does.
        lies = first + minimum(_PART + number, _GROUPS - 1) * GROUP
        return lies, minimum(GROUP, maximum(0, (_GROUPS - _PART - number) * GROUP))

    lists = [records(b.records, *group(number)) for number in range(MERGED_LISTS - 1)]
    best = _best(b, POSITION0 + position)
    merge = MergeSorted(
        dst=records(b.term, place, MERGED_LISTS * KEPT),
        first=best,
        second=lists[0],
        third=lists[1],
        fourth=lists[2],
    )
    return merge, CopyLanes(dst=best, src=records(b.term, place, KEPT))


def _best(b: SelectionBuffers, position: Expr) -> Region:
    return records(b.best, position * KEPT, KEPT)
