"""The cube's stage of values: probabilities times the values of a tile, to the slot of the weighted sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, minimum
from attndsl.lowering.attention.cube_buffers import (
    bands_of_task,
    cube_buffers,
    keys_of_piece,
    loads_wide_values,
)
from attndsl.lowering.attention.gathered_sums import adds_to_slot, sums_slot
from attndsl.lowering.attention.halves import shared
from attndsl.lowering.attention.kept_keys import KeptPart, handed, keeps_keys, kept_parts
from attndsl.lowering.attention.key_range import skipped_keys, tile_bounds
from attndsl.lowering.attention.matmul_operands import (
    BAND,
    D1,
    FRACTALS_OF_BAND,
    PADDED_ROWS,
    ROWS_OF_BAND,
    band_keys,
    fractal_elements,
    fractals_of,
    in_l1,
    is_first,
    left_operand,
    over_bands,
    over_kept_columns,
    over_parts,
    true_width,
)
from attndsl.lowering.attention.probabilities import load as load_probabilities
from attndsl.lowering.attention.second_run import first_time
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, TASK_ROWS, TILES
from attndsl.lowering.emit.workspace_rings import out_ring
from attndsl.lowering.keys.key_source import KeySource
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadTransposed, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth
from attndsl.tile.statements import Alloc, For, If, Let, Seq, Stage, Statement, seq

_K0 = Symbol("k0")
_K1 = Symbol("k1")
_DEPTH_FRACTALS = Symbol("depthFractals")
_COLUMN_FRACTALS = Symbol("columnFractals")
_DEPTH_GROUP = Symbol("depthGroup")


@dataclass(frozen=True, kw_only=True)
class OnlyTile:
    """What is done with an item's only tile, whose weighted sums are the result.

    Attributes:
        store: how the cube stores them: of a buffer in L0C, from a column on, so many columns.
        finish: what the vector cores do then; None for nothing.
    """

    store: Callable[[Buffer, Expr, Expr], Statement]
    finish: Statement | None


def weighted_tile(context: Context, only_tile: OnlyTile | None = None) -> Stage:
    """``partial = probabilities . values`` of one tile, to its ring slot; to the result where ``only_tile``
    says so."""
    where, b = context.values.where, cube_buffers(context)
    size = context.tile_keys
    load = load_probabilities(
        context, b.prob.region(), (Const(0), TASK_ROWS), (Const(0), KEYS), PADDED_ROWS, where
    )
    wide, banded = loads_wide_values(context), bands_of_task(context) > 1

    def part(d0: Expr, width: Expr) -> Statement:
        if wide:
            return _wide_columns(context, d0, width, only_tile)
        if banded:
            return _banded_columns(context, d0, width)
        return _weighted_columns(context, d0, width, only_tile)

    if keeps_keys(context):
        columns: Statement = _kept_columns(context, only_tile)
    else:
        step = context.value_width if wide else context.value_n
        columns = over_parts(context, context.padded_value_size, step, part)
    if bands_of_task(context) == 1:
        if _holds_probabilities(context):
            context.inventory.require(size <= context.base_k, "one matrix multiply takes all keys of a tile")
            left = left_operand(b.prob, b.left, as_expr(0), fractals_of(context, KEYS))
            columns = Alloc(buffers=(b.left,), body=seq(left, columns))
        columns = Alloc(buffers=(b.prob,), body=seq(load, columns))
    located = [] if keeps_keys(context) else context.values.locate(context)
    body = seq(*tile_bounds(context), *located, first_time(context, columns))
    to = "added to the sums of its item" if context.gathers_sums else "to its ring slot"
    doc = f"Weighted sum of one tile's values, probabilities times values, {to}."
    if only_tile is not None:
        doc = f"{doc} Those of an item's only tile are the result."
    return context.stage(
        "WeightedTile",
        Core.AIC,
        doc=doc,
        body=body,
        where=where,
    )


def _weighted_columns(context: Context, d0: Expr, width: Expr, only_tile: OnlyTile | None) -> Statement:
    depth = Symbol("depth")
    block = seq(
        Let(symbol=depth, value=minimum(context.base_k, KEYS - _K0)),
        _weighted_block(context, depth, d0, width),
    )
    return _sums(context, d0, width, block, only_tile)


def _sums(context: Context, column: Expr, width: Expr, block: Seq, only_tile: OnlyTile | None) -> Alloc:
    """``width`` columns of the weighted sums, from ``column`` on, to their ring slot, or to the result.

    ``block``: the multiply of the keys from k0 on.
    """
    where, b, size = context.values.where, cube_buffers(context), context.padded_value_size
    over_keys = For(var=_K0, runs=True, end=KEYS, step=context.base_k, body=block, where=where)
    place = sums_slot(context) * context.rows.rows_per_task(context) * size
    out: Statement = Fixpipe(
        dst=out_ring(context).region(place + column, TASK_ROWS, width, size),
        src=b.product.region(),
        m=PADDED_ROWS,
        adds=adds_to_slot(context),
        where=where,
    )
    if only_tile is not None:
        result = only_tile.store(b.product, column, width)
        out = If(condition=TILES == 1, then=seq(result), otherwise=seq(out), where=where)
    return Alloc(buffers=(b.product,), body=seq(over_keys, out))


def _multiply(context: Context, width: Expr, depth: Expr, initial: Expr, rows: Expr = PADDED_ROWS) -> Mmad:
    """Probabilities in L0A times ``width`` columns of ``depth`` values in L0B."""
    b = cube_buffers(context)
    return Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=rows,
        n=width,
        k=depth,
        initial=initial,
        where=context.values.where,
    )


def _wide_columns(context: Context, d0: Expr, width: Expr, only_tile: OnlyTile | None) -> Statement:
    """Weighted sums of columns of a tile that L1 takes at a time, the columns of a multiply after another."""
    values, b, cols = context.values, cube_buffers(context), Symbol("cols")
    context.inventory.require(context.value_width > context.value_n, "a copy brings columns of several sums")
    over_columns = For(
        var=D1,
        runs=True,
        end=width,
        step=context.value_n,
        body=seq(
            Let(symbol=cols, value=minimum(context.value_n, width - D1)),
            _sums(context, d0 + D1, cols, _wide_block(context, cols, b.value, D1), only_tile),
        ),
    )
    tile = values.load(context, b.value, as_expr(0), KEYS, d0, true_width(context.value_dim, d0, width))
    return in_l1(b.value, tile, over_columns)


def _kept_columns(context: Context, only_tile: OnlyTile | None) -> Seq:
    """Weighted sums of a tile whose values are channels of keys that have stayed in L1."""
    found = list[Statement]()
    for part in kept_parts(context):

        def sums(first: Expr, width: Expr, part: KeptPart = part) -> Statement:
            block = _wide_block(context, width, part.buffer, first)
            return _sums(context, part.first + first, width, block, only_tile)

        columns = over_kept_columns(context, part.width, context.value_n, sums)
        found.append(handed(part, seq(columns), begins=False))
    return seq(*found)


def _wide_block(context: Context, width: Expr, source: Buffer, column: Expr) -> Seq:
    """One matrix multiply: probabilities from key k0 on, values of the same keys from ``column`` on of those
    that L1 has in ``source``."""
    values, b, depth = context.values, cube_buffers(context), Symbol("depth")
    image = fractals_of(context, values.image_rows(source, KEYS))
    multiply = _multiply(context, width, depth, is_first(_K0))
    operands: Statement = Alloc(
        buffers=(b.right,), body=seq(_transposed(source, b.right, values, _K0, image, column), multiply)
    )
    if not _holds_probabilities(context):
        left = left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS)
        operands = Alloc(buffers=(b.left,), body=seq(left, operands))
    return seq(
        Let(symbol=depth, value=minimum(context.base_k, KEYS - _K0)),
        Let(symbol=_DEPTH_FRACTALS, value=fractals_of(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        operands,
    )


def _holds_probabilities(context: Context) -> bool:
    """Whether one matrix multiply takes all keys of a tile, so that L0A holds them for all columns."""
    wide = loads_wide_values(context) or keeps_keys(context)
    return wide and context.schedule.tile_k <= context.schedule.base_k


def _banded_columns(context: Context, d0: Expr, width: Expr) -> Statement:
    """Weighted sums of a tile for each band of rows, the values of the tile in L1 for all of them."""
    values, b = context.values, cube_buffers(context)
    piece, cols, padded_size = keys_of_piece(context), Symbol("pieceKeys"), context.padded_value_size
    slot = sums_slot(context) * context.rows.rows_per_task(context)
    load = load_probabilities(
        context,
        b.prob.region(),
        (BAND, ROWS_OF_BAND),
        (_K1, cols),
        FRACTALS_OF_BAND * FRACTAL_SIZE,
        values.where,
    )
    over_piece = For(
        var=_K0, runs=True, end=cols, step=context.base_k, body=_banded_block(context, cols, width)
    )
    over_keys = For(
        var=_K1,
        runs=True,
        begin=skipped_keys(context),
        end=band_keys(context),
        step=piece,
        body=seq(
            Let(symbol=cols, value=minimum(piece, band_keys(context) - _K1)),
            Alloc(buffers=(b.prob,), body=seq(load, over_piece)),
        ),
        where=values.where,
    )
    store = Fixpipe(
        dst=out_ring(context).region((slot + BAND) * padded_size + d0, ROWS_OF_BAND, width, padded_size),
        src=b.product.region(),
        m=FRACTALS_OF_BAND * FRACTAL_SIZE,
        adds=adds_to_slot(context),
        where=values.where,
    )
    bands = over_bands(context, Alloc(buffers=(b.product,), body=seq(over_keys, store)))
    tile = values.load(context, b.value, as_expr(0), KEYS, d0, true_width(context.value_dim, d0, width))
    return shared(context, b.value, tile, bands) if context.halves else in_l1(b.value, tile, bands)


def _banded_block(context: Context, keys: Expr, width: Expr) -> Seq:
    """One matrix multiply of a band: probabilities from key k0 of their piece on, values of the same keys."""
    values, b, depth = context.values, cube_buffers(context), Symbol("depth")
    image = fractals_of(context, values.image_rows(b.value, KEYS))
    band = Const(0), FRACTALS_OF_BAND
    left = left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS, band=band, rows=FRACTALS_OF_BAND)
    first, rows = _K1 + _K0, FRACTALS_OF_BAND * FRACTAL_SIZE
    multiply = _multiply(context, width, depth, first == skipped_keys(context), rows)
    right = seq(_transposed(b.value, b.right, values, first, image), multiply)
    return seq(
        Let(symbol=depth, value=minimum(context.base_k, keys - _K0)),
        Let(symbol=_DEPTH_FRACTALS, value=fractals_of(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        Alloc(buffers=(b.left,), body=seq(left, Alloc(buffers=(b.right,), body=right))),
    )


def _weighted_block(context: Context, depth: Expr, d0: Expr, width: Expr) -> Statement:
    values, b = context.values, cube_buffers(context)
    load = values.load(context, b.value, _K0, depth, d0, true_width(context.value_dim, d0, width))
    multiply = _multiply(context, width, depth, is_first(_K0))
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=fractals_of(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS),
        Alloc(buffers=(b.right,), body=seq(_transposed(b.value, b.right, values), multiply)),
    )
    return in_l1(b.value, load, Alloc(buffers=(b.left,), body=operands))


def _transposed(
    source: Buffer,
    target: Buffer,
    values: KeySource,
    k0: Expr | int = 0,
    image: Expr = _DEPTH_FRACTALS,
    column: Expr | int = 0,
) -> Statement:
    """A block of values, Nz in L1, as Zn right operand: every square transposed.

    A square of 16-bit data is a fractal, one of int8 two, of 16 rows each. The block begins at row ``k0`` and
    ``column`` of an image of ``image`` squares in a column. One instruction takes a block of 16-bit data.
    """
    depth = fractal_depth(source.dtype)
    first = column // depth * image + k0 // depth
    if depth.same(FRACTAL_SIZE):
        return LoadTransposed(
            dst=target.region(),
            src=source.region(first * (depth * depth)),
            rows=_DEPTH_FRACTALS,
            columns=_COLUMN_FRACTALS,
            image_rows=image,
            where=values.where,
        )
    squares = _COLUMN_FRACTALS * FRACTAL_SIZE // depth
    load = LoadFractals(
        dst=target.region(_DEPTH_GROUP * _COLUMN_FRACTALS * fractal_elements(target)),
        src=source.region((first + _DEPTH_GROUP) * (depth * depth)),
        repeat=squares,
        src_stride=image,
        transpose=True,
        where=values.where,
    )
    return For(var=_DEPTH_GROUP, runs=True, end=_DEPTH_FRACTALS, body=seq(load), disjoint=(target,))
