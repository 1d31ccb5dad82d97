"""The blocks of keys that one tile completes, and their scores as window sums.

A position's sums of probabilities over its heads lie in a row of ``window``, after those of the last keys
of the tile before. Blocks whose window ends in the tile are complete with it:

    score[j] = sum over i of weight_i * window[step * j + last - i]
"""

from __future__ import annotations

from attndsl.base.facts import kept
from attndsl.expr import Const, Expr, Symbol, ceil_div, maximum, minimum, round_up, select
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEY_END, REPEAT_LANES, TILE, TILES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.selection.selection_buffers import (
    END_BLOCK,
    FIRST_BLOCK,
    NEW_BLOCKS,
    POSITION,
    POSITION0,
    POSITION_LANES,
    POSITIONS,
    STEP_POSITIONS,
    TOTAL_BLOCKS,
    USED_LANES,
    before,
    in_steps_of,
    lanes_of,
    last_of,
    lead,
    pitch,
    selection_buffers,
    selection_count,
    step_of,
    top_k,
    window_sum,
)
from attndsl.lowering.selection.top_blocks import forced_first, merge_into_best, nan_lowest
from attndsl.lowering.signature.window_bounds import term_count, term_weight
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import (
    AddScaled,
    Binary,
    CopyLanes,
    Fill,
    Gather,
    LaneNumbers,
    WithScalar,
)
from attndsl.tile.statements import For, If, Let, Note, Seq, Statement, seq

_TERM, _COMPLETED = Symbol("term"), Symbol("completedBlocks")
_PER_STEP = Symbol("positionsPerStep")
_BEGUN, _ENDED, _LAST_FIRST = Symbol("begunBlocks"), Symbol("endedBlocks"), Symbol("lastTileBlock")
SELECTION_TILES = Symbol("selectionTiles")
_FP32 = 4


def number_lanes(context: Context) -> Seq:
    """A 1 for each row of a step; for each lane of a position its block, and the bytes to its first key.

    Lanes after the blocks of a tile read its last key instead; what they hold is discarded.
    """
    b, last_key = selection_buffers(context), context.tile_keys - 1
    numbers, offset = whole(b.lane_number), whole(b.lane_offset)
    return seq(
        Fill(dst=whole(b.ones), value=Const(1)),
        LaneNumbers(dst=numbers, first=Const(0)),
        WithScalar(op="Muls", dst=offset, src=numbers, scalar=step_of(context) * _FP32),
        WithScalar(op="Mins", dst=offset, src=offset, scalar=last_key * _FP32),
    )


def next_window(context: Context) -> For:
    """The last keys of the tile before to the front of each row, zeros after them."""
    b, reach, size = selection_buffers(context), before(context), context.tile_keys
    tile = POSITION * pitch(context) + lead(context)
    body = seq(
        CopyLanes(dst=whole(b.window, tile - reach, reach), src=whole(b.window, tile + size - reach, reach)),
        Fill(dst=whole(b.window, tile, size), value=Const(0)),
    )
    return For(var=POSITION, end=POSITIONS, body=body, disjoint=(b.window,))


def tile_blocks(context: Context) -> list[Statement]:
    """The blocks that a tile completes. After the last tile of an item come zeros: it completes its own."""
    end = select(TILE + 1 == TILES, maximum(_BEGUN, _ENDED), _ENDED)
    return [
        Let(symbol=FIRST_BLOCK, value=select(TILE == 0, 0, _ended(context, FIRST_KEY))),
        *_at_key(context, FIRST_BLOCK, FIRST_KEY + context.tile_keys),
        Let(symbol=END_BLOCK, value=minimum(TOTAL_BLOCKS, end)),
    ]


def rest_blocks(context: Context) -> list[Statement]:
    """The blocks of a tile without keys after the last of an item, which has completed some of the first."""
    first = select(TILE == TILES, _COMPLETED, _ended(context, FIRST_KEY))
    end = _ended(context, FIRST_KEY + context.tile_keys)
    return [Let(symbol=FIRST_BLOCK, value=first), Let(symbol=END_BLOCK, value=minimum(TOTAL_BLOCKS, end))]


def completed_blocks(context: Context) -> list[Statement]:
    """The blocks that the tiles of an item complete, and tiles until all are, the last without keys."""
    last_tile = (TILES - 1) * context.tile_keys
    first = select(TILES > 1, _ended(context, last_tile), 0)
    keys = step_of(context) * (TOTAL_BLOCKS - 1) + last_of(context) + 1
    tiles = ceil_div(maximum(1, keys), context.tile_keys)
    return [
        Let(symbol=_LAST_FIRST, value=first),
        *_at_key(context, _LAST_FIRST, TILES * context.tile_keys),
        Let(symbol=_COMPLETED, value=select(TILES > 0, maximum(_BEGUN, _ENDED), 0)),
        Let(symbol=SELECTION_TILES, value=select(_COMPLETED < TOTAL_BLOCKS, tiles, TILES)),
    ]


def _ended(context: Context, key: Expr) -> Expr:
    """Blocks whose windows end before ``key``."""
    return ceil_div(maximum(0, key - last_of(context)), step_of(context))


@kept
def _most_blocks(context: Context) -> Expr:
    """Blocks that a tile can complete."""
    value = ceil_div(context.tile_keys, in_steps_of(context, window_sum(context).step))
    return context.host(value, "blocks that a tile completes, at most", "tileBlocks")


def _at_key(context: Context, first: Expr, key: Expr) -> list[Statement]:
    """Blocks whose windows have begun before ``key``, as far as the lanes of a position go from ``first`` on,
    and those whose windows have ended.

    The last tile of an item completes the larger number: its windows need not end in it.
    """
    begun = minimum(first + _most_blocks(context), ceil_div(key, step_of(context)))
    return [Let(symbol=_BEGUN, value=begun), Let(symbol=_ENDED, value=_ended(context, key))]


def take_blocks(context: Context) -> Seq:
    """The blocks from ``firstBlock`` to ``endBlock`` to the best of each position.

    As many positions at once as lanes hold: each takes whole repeats of lanes, as its blocks need.
    """
    body = seq(
        Let(symbol=STEP_POSITIONS, value=minimum(_PER_STEP, POSITIONS - POSITION0)),
        Let(symbol=USED_LANES, value=STEP_POSITIONS * POSITION_LANES),
        *_scores(context),
        *nan_lowest(context),
        *forced_first(context),
        *merge_into_best(context),
    )
    over_positions = seq(
        Let(symbol=POSITION_LANES, value=round_up(NEW_BLOCKS, REPEAT_LANES)),
        Let(symbol=_PER_STEP, value=lanes_of(context) // POSITION_LANES),
        For(var=POSITION0, end=POSITIONS, step=_PER_STEP, body=body),
    )
    return seq(
        Let(symbol=NEW_BLOCKS, value=END_BLOCK - FIRST_BLOCK),
        If(condition=NEW_BLOCKS > 0, then=over_positions),
    )


def blocks_to_score(context: Context, total: Expr) -> Expr:
    """Blocks that can be among the best of a position whose keys end at ``keyEnd``, of ``total``.

    Those behind all keys have the score 0. Of equal scores the first blocks are the best, so that no more of
    them than are selected can be. Where blocks are forced, any can be.
    """
    if top_k(context).forced is not None:
        return total
    begun = ceil_div(maximum(0, KEY_END + _terms(context) - 1 - last_of(context)), step_of(context))
    return minimum(total, begun + selection_count(context))


@kept
def _terms(context: Context) -> Expr:
    value = in_steps_of(context, term_count(window_sum(context)))
    return context.host(value, "keys of a window", "windowTerms")


def _scores(context: Context) -> list[Statement]:
    """Each term is gathered while the one before it is added: they go to two places by turns."""
    b, terms, where = selection_buffers(context), _terms(context), window_sum(context).where
    here, other = b.term, b.records  # records are made of the scores
    second, third = _TERM + 1, _TERM + 2
    more = seq(_gather(context, third, here))
    with_second = seq(
        _gather(context, second, other),
        _added(context, second, other),
        If(condition=third < terms, then=more, where=where),
    )
    pair = seq(_added(context, _TERM, here), If(condition=second < terms, then=with_second, where=where))
    return [
        Note(text="score of each block: the weighted sum of its window; a term is gathered as one is added"),
        Fill(dst=whole(b.score), value=Const(0)),
        _gather(context, Const(0), here),
        For(var=_TERM, end=terms, step=Const(2), body=pair, runs=True, where=where),
    ]


def _gather(context: Context, term: Expr, place: Buffer) -> For:
    """A term of the blocks' windows to a place of its own, position by position."""
    b, node = selection_buffers(context), window_sum(context)
    offset = step_of(context) * FIRST_BLOCK + last_of(context) - FIRST_KEY - term
    # windows reach back from the lead, and read a few lanes after the tile: both are in front of the next
    row = b.window.region((POSITION0 + POSITION) * pitch(context), 1, lead(context) + pitch(context))
    of_position = Gather(
        dst=whole(place, POSITION * POSITION_LANES, POSITION_LANES),
        src=row,
        offsets=whole(b.lane_offset, 0, POSITION_LANES),
        base=(offset + lead(context)) * _FP32,
        where=node.where,
    )
    return For(var=POSITION, end=STEP_POSITIONS, body=seq(of_position), disjoint=(place,), runs=True)


def _added(context: Context, term: Expr, place: Buffer) -> Statement:
    """A term to the scores, as often as windows count it."""
    node = window_sum(context)
    counts = tuple(
        context.host(count, "factor of a window's terms", f"windowCount{number}")
        for number, count in enumerate(node.counts)
    )
    score, lanes = whole(selection_buffers(context).score, 0, USED_LANES), whole(place, 0, USED_LANES)
    weight = term_weight(counts, _terms(context), term)
    if weight is None:
        return Binary(op="Add", dst=score, first=score, second=lanes)
    return AddScaled(dst=score, src=lanes, scalar=weight)
