"""The keys that positions see, from the bytes of a mask: where they end, and the first hidden one.

Vector cores take turns at positions.

Of each position two rows of lanes: the largest number of a shown key, counted from 1, and the largest
``2 * keys - j`` of a hidden key j, over all keys of the mask, so that one chain of maxima finds both. Keys
are taken tile by tile, by way of the buffers that scores and their masks have later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attndsl.expr import Const, Named, Symbol, ceil_div, minimum, round_up
from attndsl.graph import nodes
from attndsl.lowering.attention.few_keys import rows_of_all_keys
from attndsl.lowering.attention.step_scores import fill_tail, loaded_buffers
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.context.modifiers import Modifiers
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, REPEAT_LANES, STEP_ROWS
from attndsl.lowering.emit.row_operations import reduce_tile
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.masks.hidden_lanes import score_lanes
from attndsl.lowering.masks.mask_bits import BITS_BLOCK, ByteBuffers, bytes_of_positions, to_bits
from attndsl.lowering.masks.told_ends import TOLD, key_ends_tensor, telling_mask
from attndsl.lowering.selection.selection_buffers import selection_buffers
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import (
    Binary,
    Convert,
    Fill,
    LoadRows,
    SelectLanes,
    SelectOrScalar,
    StoreRows,
    WithScalar,
)
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, Let, Note, Seq, Stage, Statement, seq

_FIRST, _COUNT, _POSITION = Symbol("firstPosition"), Symbol("positionCount"), Symbol("position")
_TILE = Symbol("keyTile")


def tells_ends(context: Context) -> bool:
    """Whether a mask in bytes tells where the keys of tasks end."""
    return telling_mask(context) is not None


def find_ends(context: Context, modifiers: Modifiers) -> Stage:
    """The end of the keys that each position sees, and its first hidden one, to the workspace."""
    telling = telling_mask(context)
    assert telling is not None
    node, mask = telling
    b, work = vector_buffers(context), bytes_of_positions(context, mask)
    at_once, cores = _at_once(context), VECTOR_CORES
    positions = context.host(context.signature.extents["Q"])
    loop = For(
        var=_FIRST,
        begin=(BLOCK_INDEX * cores + SUB_BLOCK) * at_once,
        end=positions,
        step=BLOCK_COUNT * (at_once * cores),
        body=seq(
            Let(symbol=_COUNT, value=minimum(at_once, positions - _FIRST)),
            Let(symbol=STEP_ROWS, value=_COUNT * TOLD),
            Fill(dst=whole(b.new_max, 0, at_once * TOLD), value=Const(0)),
            _over_tiles(context, modifiers, _of_tile(context, node, mask, work)),
            *_all_where_none(context),
            _stored(context),
        ),
    )
    return Stage(
        name="FindKeyEnds",
        core=Core.AIV,
        doc="End of the keys that each position sees and first hidden key, from the mask's bytes, to the "
        "workspace.",
        body=seq(
            *rows_of_all_keys(context),
            Fill(dst=whole(work.wide), value=Const(0)),
            Fill(dst=whole(b.row_blocks), value=Const(0)),
            Fill(dst=_nothing(context), value=Const(0)),
            loop,
        ),
        where=node.where,
    )


def _at_once(context: Context) -> Named:
    """Positions that a step of rows takes: each has ``TOLD`` rows."""
    positions = minimum(context.rows.positions_of_step(context), context.rows_per_step // TOLD)
    meaning = "positions whose masks tell at once which keys they see"
    return context.inventory.constant("toldPositions", positions, meaning)


def _nothing(context: Context) -> Region:
    """Lanes of zeros: what a shown key counts among the hidden ones."""
    return whole(selection_buffers(context).records, context.tile_keys, context.tile_keys)


def _over_tiles(context: Context, modifiers: Modifiers, of_tile: Seq) -> For:
    """All tiles of keys, in lanes with their numbers, counted from 1, and with what they count if hidden."""
    lanes, keys = selection_buffers(context), context.host(context.signature.extents["T"])
    number, hidden = (whole(each, 0, context.tile_keys) for each in (lanes.term, lanes.records))
    return For(
        var=_TILE,
        end=ceil_div(keys, context.tile_keys),
        body=seq(
            Let(symbol=FIRST_KEY, value=_TILE * context.tile_keys),
            Let(symbol=KEYS, value=minimum(context.tile_keys, keys - FIRST_KEY)),
            Convert(dst=number, src=whole(lanes.lane_number, 0, context.tile_keys), mode="CAST_RINT"),
            WithScalar(op="Muls", dst=hidden, src=number, scalar=Const(-1)),
            WithScalar(op="Adds", dst=number, src=number, scalar=FIRST_KEY + 1),
            WithScalar(op="Adds", dst=hidden, src=hidden, scalar=TOLD * keys - FIRST_KEY),
            Alloc(buffers=loaded_buffers(context, modifiers), body=of_tile),
        ),
    )


def _of_tile(context: Context, node: nodes.Replace, mask: nodes.Input, work: ByteBuffers) -> Seq:
    """The largest numbers of one tile, joined with those of the tiles before."""
    b, lanes, pitch = vector_buffers(context), selection_buffers(context), context.tile_lanes(BITS_BLOCK)
    along, used = context.stride(mask.name, "Q"), round_up(KEYS, REPEAT_LANES)
    found, part = _found(context)
    bits = work.keep.region(_POSITION * (pitch // 8), 1, pitch // 8)
    numbers, hidden = whole(lanes.term, 0, used), whole(lanes.records, 0, used)
    shown = SelectOrScalar(
        dst=score_lanes(context, _POSITION * TOLD), bits=bits, src=numbers, scalar=Const(0)
    )
    others = SelectLanes(
        dst=score_lanes(context, _POSITION * TOLD + 1),
        bits=bits,
        first=replace(_nothing(context), cols=used),
        second=hidden,
    )
    source = context.gm(mask.name, _FIRST * along + FIRST_KEY, _COUNT, KEYS, along)
    return seq(
        LoadRows(dst=work.loaded.region(0, _COUNT, KEYS, pitch), src=source, where=node.where),
        _each_position(work.keep, to_bits(node, work, _POSITION * pitch, bits)),
        _each_position(b.score, shown),
        _each_position(b.score, others),
        fill_tail(context, Const(0)),
        *reduce_tile(context, "Max", Const(0)),
        Binary(op="Max", dst=found, first=found, second=part),
    )


def _each_position(touched: Buffer, one: Statement) -> For:
    return For(var=_POSITION, end=_COUNT, body=seq(one), disjoint=(touched,), runs=True)


def _all_where_none(context: Context) -> Iterator[Statement]:
    keys = context.host(context.signature.extents["T"])
    found, part = _found(context)
    yield Note(text="a position that sees no key has all: end = end + keys * (1 - min(end, 1))")
    yield Note(text="so has, of the numbers of hidden keys, a position without one")
    yield WithScalar(op="Mins", dst=part, src=found, scalar=Const(1))
    yield WithScalar(op="Muls", dst=part, src=part, scalar=-keys)
    yield WithScalar(op="Adds", dst=part, src=part, scalar=keys)
    yield Binary(op="Add", dst=found, first=found, second=part)


def _stored(context: Context) -> Alloc:
    told, (found, _) = _at_once(context) * TOLD, _found(context)
    ends = context.in_ub("keyEndsOut", "int32", told, "what is told of the keys that positions see")
    rows = whole(ends, 0, STEP_ROWS)
    return Alloc(
        buffers=(ends,),
        body=seq(
            Convert(dst=rows, src=found, mode="CAST_RINT"),
            StoreRows(dst=key_ends_tensor(context).region(_FIRST * TOLD, 1, STEP_ROWS), src=rows),
        ),
    )


def _found(context: Context) -> tuple[Region, Region]:
    """What all tiles so far tell, and what the present one does."""
    b = vector_buffers(context)
    return whole(b.new_max, 0, STEP_ROWS), whole(b.tile_stat, 0, STEP_ROWS)
