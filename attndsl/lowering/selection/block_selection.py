"""The selection of key blocks, lowered.

Probabilities are ``exp(score - max) / sum`` with the final maximum and sum of each row; the heads of each
position are added, and the blocks that the tile completes taken (block_scores.py).

Of an item with one tile, maximum and sum are final once its softmax has seen the tile: the exponentials that
it has in the unified buffer are taken, while the cube adds the values. Several tiles come a second time after
the last, in the same pipeline: the cube computes their scores again. Nothing as long as a row of keys is held
anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.expr import Const, Expr, minimum
from attndsl.lowering.attention.attention_loop import FurtherUse
from attndsl.lowering.attention.key_range import first_key_of_tile
from attndsl.lowering.attention.score_matmul import scores_of
from attndsl.lowering.attention.second_run import takes_one_tile_at_once
from attndsl.lowering.attention.step_scores import (
    exponentials,
    loaded_buffers,
    scored_keys,
    span_of_step,
    with_tile_operands,
)
from attndsl.lowering.attention.tile_slots import score_slot, state_row
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import (
    FIRST_KEY,
    FIRST_QUERY,
    HEADS,
    KEYS,
    R0,
    ROW_BEGIN,
    ROWS,
    STEP,
    TILE,
    TILES,
)
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.rows.batch_extents import batch_count
from attndsl.lowering.selection.block_scores import (
    SELECTION_TILES,
    blocks_to_score,
    completed_blocks,
    next_window,
    number_lanes,
    rest_blocks,
    take_blocks,
    tile_blocks,
)
from attndsl.lowering.selection.head_sums import add_heads, divide_by_sums
from attndsl.lowering.selection.selection_buffers import (
    KEPT,
    POSITION0,
    POSITIONS,
    STEP_POSITIONS,
    TOTAL_BLOCKS,
    lanes_of,
    own_positions,
    selection_buffers,
    selection_count,
    top_k,
)
from attndsl.lowering.selection.top_blocks import clear_window
from attndsl.target import Core
from attndsl.tile.instructions import SplitRecords, StoreRows, records
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq


def selects_blocks(context: Context) -> bool:
    """Whether a result names blocks of keys."""
    return context.computation.selection is not None


def prepare_selection(context: Context) -> Stage:
    """What stays the same for all items."""
    doc = "The block of each lane, for sorting the blocks of several positions at once."
    return _stage(context, "PrepareSelection", doc, number_lanes(context))


def selection(context: Context, modifiers: Modifiers, finishes_only_tiles: bool) -> FurtherUse:
    """The selection's share of the attention loop.

    ``finishes_only_tiles``: the weighted sums of only tiles leave as they are. The cube then takes
    probabilities of these tiles in place of exponentials.
    """
    node = top_k(context)
    capacity = context.host(
        context.signature.extents["J"], "blocks of the longest batch row", "longestBlocks"
    )
    blocks = blocks_to_score(context, batch_count(context, node.length, capacity))
    total = Let(symbol=TOTAL_BLOCKS, value=blocks, where=node.where)
    doc = "Probabilities of a step's rows, from their exponentials."
    divide = _stage(context, "DivideBySums", doc, seq(*divide_by_sums(context)))
    doc = "Probabilities of a step's rows, added to the sums of their positions."
    add = _stage(context, "AddHeads", doc, seq(*add_heads(context)))
    one = takes_one_tile_at_once(context)
    divides = If(condition=TILES == 1, then=seq(divide))
    adds = If(condition=TILES == 1, then=seq(add) if finishes_only_tiles else seq(divide, add))
    return FurtherUse(
        scalars=(own_positions(), total),
        begin=_stage(
            context, "StartSelection", "No probabilities are added yet.", seq(clear_window(context))
        ),
        of_weights=[divides] if finishes_only_tiles else [],
        of_rows=[adds] if one else [],
        of_tile=_select_blocks(context, (TILES == 1) | (STEP >= TILES) if one else STEP >= TILES),
        again=_select_tile(context, modifiers, (divide, add)),
        finish=(_select_rest(context), _write_selection(context)),
    )


def _stage(context: Context, name: str, doc: str, body: Seq) -> Stage:
    where = top_k(context).where
    return context.stage(
        name,
        Core.AIV,
        doc=doc,
        body=body,
        where=where,
    )


def _select_blocks(context: Context, summed: Expr) -> Stage:
    """The blocks that a tile completes, where its probabilities are ``summed``."""
    blocks = seq(*first_key_of_tile(context), *tile_blocks(context), _take_blocks(context))
    doc = "The blocks of a tile with all probabilities: an item's only one, or one that comes again."
    return _stage(context, "SelectBlocks", doc, seq(If(condition=summed, then=blocks)))


def _select_tile(context: Context, modifiers: Modifiers, add: Sequence[Stage]) -> Statement:
    """Probabilities of a tile that comes again, summed over heads; of its keys alone, so that it does not
    matter what lanes after the last one hold."""
    size, b = context.tile_keys, vector_buffers(context)
    rows_per_task = context.rows.rows_per_task(context)

    def one_step(r0: Expr, count: Expr) -> list[Statement]:
        offset = (score_slot(context) * rows_per_task + ROW_BEGIN + r0) * size
        ring = scores_of(context).region(offset, count, KEYS, size)
        body = seq(
            span_of_step(context),
            *scored_keys(context, modifiers, ring),
            *exponentials(context, b.row_max, state_row(context)),
            *add,
        )
        return [Alloc(buffers=loaded_buffers(context, modifiers), body=body)]

    over_rows = in_steps(ROWS, context.rows_of_step, one_step, context.where)
    return seq(
        Note(text="the tile again: probabilities with the final maximum and sum of each row"),
        _next_window(context),
        with_tile_operands(context, modifiers, over_rows),
    )


def _next_window(context: Context) -> Stage:
    doc = "The window moves on by a tile: its last keys to the front, zeros after them."
    return _stage(context, "NextWindow", doc, seq(next_window(context)))


def _take_blocks(context: Context) -> Stage:
    doc = "Blocks whose windows the tile from firstKey on completes, to the best of each position."
    return _stage(context, "TakeBlocks", doc, take_blocks(context))


def _select_rest(context: Context) -> Stage:
    """Blocks whose windows end after the last tile: in as many tiles without keys."""
    first = Let(symbol=FIRST_KEY, value=TILE * context.tile_keys)
    one = seq(_next_window(context), first, *rest_blocks(context), _take_blocks(context))
    rest = For(var=TILE, begin=TILES, end=SELECTION_TILES, body=one)
    body = seq(*completed_blocks(context), rest)
    doc = "Blocks whose windows end further after the last tile, as if tiles without keys followed."
    return _stage(context, "SelectRest", doc, seq(If(condition=POSITIONS > 0, then=body)))


def _write_selection(context: Context) -> Stage:
    """The numbers of the best blocks, position by position."""
    output = context.computation.selection
    assert output is not None
    b, lanes = selection_buffers(context), lanes_of(context)
    count = selection_count(context)
    per_step = lanes // KEPT
    selected = context.in_ub("selected", "int32", lanes, "numbers of the best blocks", 1)
    query = FIRST_QUERY + ROW_BEGIN // HEADS + POSITION0
    offset = context.rows.offset(context, output.name, Const(0), query)
    pitch = context.stride(output.name, context.rows.run_axis)
    taken = STEP_POSITIONS * KEPT
    body = seq(
        Let(symbol=POSITION0, value=R0 // HEADS),
        Let(symbol=STEP_POSITIONS, value=minimum(per_step, POSITIONS - POSITION0)),
        Alloc(
            buffers=(selected,),
            body=seq(
                SplitRecords(
                    dst=whole(b.score, 0, taken),
                    indices=whole(selected, 0, taken),
                    src=records(b.best, POSITION0 * KEPT, taken),
                ),
                StoreRows(
                    dst=context.gm(output.name, offset, STEP_POSITIONS, count, pitch),
                    src=selected.region(0, STEP_POSITIONS, count, KEPT),
                    where=output.where,
                ),
            ),
        ),
    )
    # Over rows, so that it is seen to run whenever the loops over tiles have loaded any.
    loop = For(var=R0, end=ROWS, step=per_step * HEADS, body=body)
    doc = "Numbers of the best blocks of each position to the result."
    return _stage(context, "WriteSelection", doc, seq(loop))
