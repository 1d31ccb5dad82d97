"""The blocks of keys that one tile completes, and their scores as window sums.

A position's sums of probabilities over its heads lie in a row of ``window``, after those of the last keys
of the tile before. Blocks whose window ends in the tile are complete with it:

    score[j] = sum over i of weight_i * window[step * j + last - i]
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, select
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, TILE
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.selection.selection_buffers import (
    FIRST_BLOCK,
    NEW_BLOCKS,
    POSITION,
    POSITION0,
    POSITIONS,
    STEP_POSITIONS,
    TOTAL_BLOCKS,
    USED_LANES,
    before,
    lane_blocks,
    last_of,
    pitch,
    positions_per_step,
    selection_buffers,
    step_of,
    window_sum,
)
from attndsl.lowering.selection.top_blocks import forced_first, merge_into_best, nan_lowest
from attndsl.lowering.signature.window_bounds import term_count, term_weight
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, Convert, CopyLanes, Fill, Gather, LaneNumbers, WithScalar
from attndsl.tile.statements import For, If, Let, Note, Seq, Statement, seq

_END_BLOCK, _TERM = Symbol("endBlock"), Symbol("term")
_FP32 = 4


def number_lanes(context: Context) -> Seq:
    """For each lane its block within its position, and the bytes to that block's first key.

    Lanes after the blocks of a tile read its last key instead; what they hold is discarded.
    """
    b, size, lanes = selection_buffers(context), context.tile_keys, lane_blocks(context)
    place = POSITION * lanes
    block, offset = whole(b.lane_block, place, lanes), whole(b.lane_offset, place, lanes)
    numbers, row_bytes = whole(b.number, 0, lanes), pitch(context) * _FP32

    def step(op: str, scalar: Expr, source: Buffer | None = None) -> WithScalar:
        from_numbers = source is None
        return WithScalar(op=op, dst=offset, src=numbers if from_numbers else offset, scalar=scalar)

    one_position = seq(
        WithScalar(op="Adds", dst=block, src=numbers, scalar=Const(0)),
        step("Muls", step_of(context) * _FP32),
        step("Mins", (size - 1) * _FP32, b.lane_offset),
        step("Adds", POSITION * row_bytes, b.lane_offset),
    )
    return seq(
        LaneNumbers(dst=whole(b.number), first=Const(0)),
        Fill(dst=whole(b.lane_block), value=Const(0)),
        Fill(dst=whole(b.lane_offset), value=Const(0)),
        For(
            var=POSITION,
            end=positions_per_step(context),
            body=one_position,
            disjoint=(b.lane_block, b.lane_offset),
            runs=True,
        ),
        Convert(dst=whole(b.lane_number), src=whole(b.lane_block), mode="CAST_RINT"),
    )


def next_window(context: Context) -> For:
    """The last keys of the tile before to the front of each row, zeros after them."""
    b, reach, size = selection_buffers(context), before(context), context.tile_keys
    row = POSITION * pitch(context)
    body = seq(
        CopyLanes(dst=whole(b.window, row, reach), src=whole(b.window, row + size, reach)),
        Fill(dst=whole(b.window, row + reach, size), value=Const(0)),
    )
    return For(var=POSITION, end=POSITIONS, body=body, disjoint=(b.window,))


def add_row(context: Context, source: Buffer, row: Expr, position: Expr) -> Binary:
    """A row of probabilities to the sums of its position."""
    b = selection_buffers(context)
    sums = whole(b.window, position * pitch(context) + before(context), KEYS)
    return Binary(op="Add", dst=sums, first=sums, second=whole(source, row * context.tile_keys, KEYS))


def take_blocks(context: Context) -> Seq:
    """The blocks whose windows end in the tile from ``firstKey`` on, to the best of each position."""
    step, last, size = step_of(context), last_of(context), context.tile_keys
    end = ceil_div(maximum(0, FIRST_KEY + size - last), step)
    body = seq(
        Let(symbol=STEP_POSITIONS, value=minimum(positions_per_step(context), POSITIONS - POSITION0)),
        Let(symbol=USED_LANES, value=STEP_POSITIONS * lane_blocks(context)),
        *_scores(context),
        *nan_lowest(context),
        *forced_first(context),
        *merge_into_best(context),
    )
    over_positions = For(var=POSITION0, end=POSITIONS, step=positions_per_step(context), body=body)
    return seq(
        Let(symbol=FIRST_BLOCK, value=select(TILE == 0, 0, ceil_div(FIRST_KEY - last, step))),
        Let(symbol=_END_BLOCK, value=minimum(TOTAL_BLOCKS, end)),
        Let(symbol=NEW_BLOCKS, value=_END_BLOCK - FIRST_BLOCK),
        If(condition=NEW_BLOCKS > 0, then=seq(over_positions)),
    )


def _scores(context: Context) -> list[Statement]:
    b, node = selection_buffers(context), window_sum(context)
    counts = tuple(
        context.host(count, "factor of a window's terms", f"windowCount{number}")
        for number, count in enumerate(node.counts)
    )
    terms = context.host(term_count(node), "keys of a window", "windowTerms")
    offset = step_of(context) * FIRST_BLOCK + last_of(context) - FIRST_KEY - _TERM
    rows = b.window.region(POSITION0 * pitch(context), 1, STEP_POSITIONS * pitch(context))
    term, score = whole(b.term, 0, USED_LANES), whole(b.score, 0, USED_LANES)
    weight = term_weight(counts, terms, _TERM)
    gather = Gather(
        dst=term,
        src=rows,
        offsets=whole(b.lane_offset, 0, USED_LANES),
        base=(offset + before(context)) * _FP32,
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
