"""The ends of the keys that positions see, from the bytes of a mask; vector cores take turns at positions.

Of each position the largest number of a shown key, counted from 1, over all keys of the mask: keys are taken
tile by tile, by way of the buffers that scores and their masks have later.
"""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr import Const, Symbol, ceil_div, minimum, round_up
from attndsl.graph import nodes
from attndsl.lowering.attention.step_scores import fill_tail, loaded_buffers
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, REPEAT_LANES, STEP_ROWS
from attndsl.lowering.emit.row_operations import reduce_tile
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.hidden_lanes import score_lanes
from attndsl.lowering.masks.mask_bits import BITS_BLOCK, ByteBuffers, bytes_of_positions, to_bits
from attndsl.lowering.masks.told_ends import key_ends_tensor, telling_mask
from attndsl.lowering.selection.selection_buffers import selection_buffers
from attndsl.target import Core
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import Binary, Convert, Fill, LoadRows, SelectOrScalar, StoreRows, WithScalar
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, Let, Note, Seq, Stage, Statement, seq

_FIRST, _TILE, _ROW = Symbol("firstPosition"), Symbol("keyTile"), Symbol("row")


def tells_ends(context: Context) -> bool:
    """Whether a mask in bytes tells where the keys of tasks end."""
    return telling_mask(context) is not None


def find_ends(context: Context, modifiers: Modifiers) -> Stage:
    """The end of the keys that each position sees, to the workspace."""
    telling = telling_mask(context)
    assert telling is not None
    node, mask = telling
    b, work = vector_buffers(context), bytes_of_positions(context, mask)
    at_once, cores = context.rows.positions_of_step(context), VECTOR_CORES
    positions = context.host(context.signature.extents["Q"])
    loop = For(
        var=_FIRST,
        begin=(BLOCK_INDEX * cores + SUB_BLOCK) * at_once,
        end=positions,
        step=BLOCK_COUNT * (at_once * cores),
        body=seq(
            Let(symbol=STEP_ROWS, value=minimum(at_once, positions - _FIRST)),
            Fill(dst=whole(b.new_max, 0, at_once), value=Const(0)),
            _over_tiles(context, modifiers, _of_tile(context, node, mask, work)),
            *_all_where_none(context),
            _stored(context),
        ),
    )
    return Stage(
        name="FindKeyEnds",
        core=Core.AIV,
        doc="The end of the keys that each position sees, from the mask's bytes, to the workspace.",
        body=seq(
            Fill(dst=whole(work.wide), value=Const(0)), Fill(dst=whole(b.row_blocks), value=Const(0)), loop
        ),
        where=node.where,
    )


def _over_tiles(context: Context, modifiers: Modifiers, of_tile: Seq) -> For:
    """All tiles of keys, with their numbers, counted from 1, in lanes."""
    lanes, keys = selection_buffers(context), context.host(context.signature.extents["T"])
    number = whole(lanes.term, 0, context.tile_keys)
    return For(
        var=_TILE,
        end=ceil_div(keys, context.tile_keys),
        body=seq(
            Let(symbol=FIRST_KEY, value=_TILE * context.tile_keys),
            Let(symbol=KEYS, value=minimum(context.tile_keys, keys - FIRST_KEY)),
            Convert(dst=number, src=whole(lanes.lane_number, 0, context.tile_keys), mode="CAST_RINT"),
            WithScalar(op="Adds", dst=number, src=number, scalar=FIRST_KEY + 1),
            Alloc(buffers=loaded_buffers(context, modifiers), body=of_tile),
        ),
    )


def _of_tile(context: Context, node: nodes.Replace, mask: nodes.Input, work: ByteBuffers) -> Seq:
    """The largest number of a shown key of one tile, joined with that of the tiles before."""
    b, pitch = vector_buffers(context), context.tile_lanes(BITS_BLOCK)
    along = context.stride(mask.name, "Q")
    found, part = _found(context)
    bits = work.keep.region(_ROW * (pitch // 8), 1, pitch // 8)
    numbers = whole(selection_buffers(context).term, 0, round_up(KEYS, REPEAT_LANES))
    to_bits_of_row = to_bits(node, work, _ROW * pitch, bits)
    shown = SelectOrScalar(dst=score_lanes(context, _ROW), bits=bits, src=numbers, scalar=Const(0))
    source = context.gm(mask.name, _FIRST * along + FIRST_KEY, STEP_ROWS, KEYS, along)
    return seq(
        LoadRows(dst=work.loaded.region(0, STEP_ROWS, KEYS, pitch), src=source, where=node.where),
        For(var=_ROW, end=STEP_ROWS, body=seq(to_bits_of_row), disjoint=(work.keep,), runs=True),
        For(var=_ROW, end=STEP_ROWS, body=seq(shown), disjoint=(b.score,), runs=True),
        fill_tail(context, Const(0)),
        *reduce_tile(context, "Max", Const(0)),
        Binary(op="Max", dst=found, first=found, second=part),
    )


def _all_where_none(context: Context) -> Iterator[Statement]:
    keys = context.host(context.signature.extents["T"])
    found, part = _found(context)
    yield Note(text="a position that sees no key has all: end = end + keys * (1 - min(end, 1))")
    yield WithScalar(op="Mins", dst=part, src=found, scalar=Const(1))
    yield WithScalar(op="Muls", dst=part, src=part, scalar=-keys)
    yield WithScalar(op="Adds", dst=part, src=part, scalar=keys)
    yield Binary(op="Add", dst=found, first=found, second=part)


def _stored(context: Context) -> Alloc:
    at_once, (found, _) = context.rows.positions_of_step(context), _found(context)
    ends = context.in_ub("keyEndsOut", "int32", at_once, "ends of the keys that positions see")
    rows = whole(ends, 0, STEP_ROWS)
    return Alloc(
        buffers=(ends,),
        body=seq(
            Convert(dst=rows, src=found, mode="CAST_RINT"),
            StoreRows(dst=key_ends_tensor(context).region(_FIRST, 1, STEP_ROWS), src=rows),
        ),
    )


def _found(context: Context) -> tuple[Region, Region]:
    """The ends of all tiles so far, and those of the present one."""
    b = vector_buffers(context)
    return whole(b.new_max, 0, STEP_ROWS), whole(b.tile_stat, 0, STEP_ROWS)
