"""The cube's stages of queries and keys: query rows to L1, scores of a key tile to their ring slot."""

from __future__ import annotations

from functools import reduce

from attndsl.expr import Const, Expr, Symbol, as_expr, ceil_div, minimum
from attndsl.lowering.attention.cube_buffers import bands_of_task, cube_buffers, holds_query, loads_wide_keys
from attndsl.lowering.attention.halves import load_queries, of_queries
from attndsl.lowering.attention.kept_keys import (
    KeptPart,
    handed,
    keeps_keys,
    kept_parts,
    other_channels,
)
from attndsl.lowering.attention.key_range import begins_by_band, sees_by_band, skipped_keys, tile_bounds
from attndsl.lowering.attention.matmul_operands import (
    BAND,
    FRACTALS_OF_BAND,
    KEYS_OF_BAND,
    PADDED_ROWS,
    ROWS_OF_BAND,
    fractals_of,
    in_l1,
    is_first,
    left_operand,
    over_bands,
    over_kept_columns,
    over_parts,
    true_width,
)
from attndsl.lowering.attention.scale_absorption import load_absorbed_query
from attndsl.lowering.attention.tile_slots import score_slot
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, TASK_ROWS, TILES
from attndsl.lowering.emit.workspace_rings import AWAIT_PROBABILITIES, prob_ring, score_ring
from attndsl.target import Core
from attndsl.tile.buffers import GlobalTensor, Region
from attndsl.tile.instructions import Fixpipe, LoadFractals, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, padded
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

_N0 = Symbol("n0")


def load_query(context: Context) -> Stage:
    """The rows of the task to L1, once an item, or those of a half, once a half."""
    query, what = cube_buffers(context).query, "task"
    load = context.rows.load_query(context, query)
    if context.halves:
        load, what = load_queries(context, query, load), "half, at its first tile,"
    elif context.continuous or context.rows.may_be_empty():
        load = If(condition=TILES > 0, then=seq(load))
    return context.stage(
        "LoadQuery",
        Core.AIC,
        doc=f"Query rows of the {what} from global memory to L1.",
        body=seq(load),
        where=context.rows.where,
    )


def score_tile(context: Context) -> Stage:
    """``scores = query . keys^T`` of one tile, to its ring slot."""
    where, b = context.keys.where, cube_buffers(context)
    size, base_n, cols = context.tile_keys, context.base_n, Symbol("cols")
    target = scores_of(context)
    first_row = score_slot(context) * context.rows.rows_per_task(context)
    place = first_row * size
    if bands_of_task(context) > 1:
        block: Statement = _banded_scores(context, cols, target, first_row)
    elif keeps_keys(context):
        block = _kept_scores(context, target, place)
    else:
        parts = _score_parts(context, cols)
        store = Fixpipe(
            dst=target.region(place + _N0, TASK_ROWS, padded(cols), size),
            src=b.product.region(),
            m=PADDED_ROWS,
            where=where,
        )
        block = Alloc(buffers=(b.product,), body=seq(parts, store))
    scores: Statement = block
    if not keeps_keys(context):
        keys_of_block = Let(symbol=cols, value=minimum(base_n, KEYS - _N0))
        body = seq(keys_of_block, block)
        scores = For(var=_N0, runs=True, end=KEYS, step=base_n, body=body, where=where)
    doc = "Scores of one key tile, query times keys transposed, to their ring slot."
    if holds_query(context):
        scores = Alloc(buffers=(b.left,), body=seq(_left_query(context), scores))
    body = seq(*tile_bounds(context), *context.keys.locate(context), _with_query(context, scores))
    return context.stage(
        "ScoreTile",
        Core.AIC,
        doc=doc,
        body=body,
        where=where,
    )


def scores_of(context: Context) -> GlobalTensor:
    """The ring of score tiles, one slot shorter than the others where the cube waits first."""
    return score_ring(context, slots=context.prefetch if context.waits_first else None)


def await_probabilities(context: Context) -> Stage:
    """Waits for a tile's probabilities: its scores were read then, and their slot takes new ones."""
    return context.stage(
        AWAIT_PROBABILITIES,
        Core.AIC,
        doc="Waits for the probabilities of a tile: its scores are read, new ones may take their slot.",
        body=seq(),
        awaits=(prob_ring(context),),
        where=context.where,
    )


def with_query(context: Context, body: Statement) -> Statement:
    """An item's ``body``, the query rows in L1 while it lasts; absorbed ones, and those of halves, come with
    tiles."""
    if context.keys.quantization is not None or context.halves:
        return body
    return Alloc(buffers=(cube_buffers(context).query,), body=seq(load_query(context), body))


def _with_query(context: Context, body: Statement) -> Statement:
    """A tile's ``body``: vector cores absorb the scale into queries in the loop over tiles, at the first;
    queries of a half have come with its first tile."""
    query = cube_buffers(context).query
    if context.halves:
        return of_queries(context, query, body)
    if context.keys.quantization is None:
        return body
    return Alloc(buffers=(query,), body=seq(load_absorbed_query(context, query, PADDED_ROWS), body))


def _score_parts(context: Context, cols: Expr) -> Statement:
    """The products of a block of keys, a part of the head size after the other."""
    size, base_k, key = context.padded_head_size, context.base_k, cube_buffers(context).key
    if not loads_wide_keys(context):
        return over_parts(context, size, base_k, lambda d0, width: _score_block(context, cols, d0, width))

    def product(d0: Expr, width: Expr) -> Statement:
        return _score_product(context, key.region(d0 * padded(cols)), cols, d0, width, is_first(d0))

    load = context.keys.load(context, key, _N0, cols, as_expr(0), context.head_dim)
    return in_l1(key, load, over_parts(context, size, base_k, product))


def _score_block(context: Context, cols: Expr, d0: Expr, width: Expr) -> Statement:
    key = cube_buffers(context).key
    load = context.keys.load(context, key, _N0, cols, d0, true_width(context.head_dim, d0, width))
    return in_l1(key, load, _score_product(context, key.region(), cols, d0, width, is_first(d0)))


def _score_product(
    context: Context, keys: Region, cols: Expr, d0: Expr, width: Expr, initial: Expr
) -> Statement:
    """Queries times ``cols`` keys, channels ``d0 .. d0 + width - 1``, which L1 has in ``keys``."""
    where, b, held = context.keys.where, cube_buffers(context), holds_query(context)
    right = _keys_to_l0b(context, fractals_of(context, width), cols, keys)
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(d0 * PADDED_ROWS if held else 0),
        b=b.right.region(),
        m=PADDED_ROWS,
        n=cols,
        k=width,
        initial=initial,
        where=where,
    )
    operands: Statement = Alloc(buffers=(b.right,), body=seq(right, multiply))
    if not held:
        left = left_operand(b.query, b.left, d0, fractals_of(context, width))
        operands = Alloc(buffers=(b.left,), body=seq(left, operands))
    return operands


def _kept_scores(context: Context, target: GlobalTensor, place: Expr) -> Statement:
    """Scores of a tile whose keys stay in L1 until they are values; other channels come first."""
    where, b, true = context.keys.where, cube_buffers(context), context.head_dim
    others, values, zero = other_channels(context), context.padded_value_size, as_expr(0)

    def other(first: Expr, width: Expr) -> Statement:
        column = values + first
        load = context.keys.load(context, b.key, zero, KEYS, column, minimum(width, true - column))
        product = _score_product(context, b.key.region(), KEYS, column, width, is_first(first))
        return in_l1(b.key, load, product)

    products = list[Statement]()
    if others is not None:
        products.append(over_parts(context, others, context.base_k, other, "the other channels"))
    for part in kept_parts(context):
        load = context.keys.load(
            context, part.buffer, zero, KEYS, part.first, minimum(part.width, true - part.first)
        )

        def product(first: Expr, width: Expr, part: KeptPart = part) -> Statement:
            keys = part.buffer.region(first * padded(KEYS))
            initial = Const(False) if products else is_first(first)
            return _score_product(context, keys, KEYS, part.first + first, width, initial)

        each = over_kept_columns(context, part.width, context.base_k, product)
        note = Note(text="to L1, where they stay until they are values")
        products.append(handed(part, seq(note, load, each), begins=True))
    store = Fixpipe(
        dst=target.region(place, TASK_ROWS, padded(KEYS), context.tile_keys),
        src=b.product.region(),
        m=PADDED_ROWS,
        where=where,
    )
    return Alloc(buffers=(b.product,), body=seq(*products, store))


def _keys_to_l0b(context: Context, depth: Expr, cols: Expr, keys: Region) -> LoadFractals:
    """A block of ``cols`` keys, ``depth`` fractals deep: Nz in L1 is Zn of the transposed keys."""
    b = cube_buffers(context)
    return LoadFractals(
        dst=b.right.region(),
        src=keys,
        repeat=depth * ceil_div(cols, FRACTAL_SIZE),
        src_stride=Const(1),
        where=context.keys.where,
    )


def _banded_scores(context: Context, cols: Expr, target: GlobalTensor, first_row: Expr) -> Statement:
    """Scores of a key block for each band of rows, the keys in L0B for all of them."""
    where, b, size = context.keys.where, cube_buffers(context), context.tile_keys
    width, head_size = context.head_dim, context.padded_head_size
    depth = fractals_of(context, head_size)
    right = _keys_to_l0b(context, depth, cols, b.key.region())
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=FRACTALS_OF_BAND * FRACTAL_SIZE,
        n=cols,
        k=head_size,
        initial=Const(True),
        where=where,
    )
    store = Fixpipe(
        dst=target.region((first_row + BAND) * size + _N0, ROWS_OF_BAND, padded(cols), size),
        src=b.product.region(),
        m=FRACTALS_OF_BAND * FRACTAL_SIZE,
        where=where,
    )
    left = left_operand(b.query, b.left, as_expr(0), depth, band=(BAND // FRACTAL_SIZE, FRACTALS_OF_BAND))
    product = Alloc(buffers=(b.product,), body=seq(multiply, store))
    one: Statement = Alloc(buffers=(b.left,), body=seq(left, product))
    seen = [_N0 < KEYS_OF_BAND] if sees_by_band(context) else []
    if begins_by_band(context):
        seen.append(skipped_keys(context) < _N0 + cols)
    if seen:
        one = If(condition=reduce(lambda a, b: a & b, seen), then=seq(one))
    load = context.keys.load(context, b.key, _N0, cols, as_expr(0), width)
    return in_l1(b.key, load, Alloc(buffers=(b.right,), body=seq(right, over_bands(context, one))))


def _left_query(context: Context) -> Statement:
    """The query rows to L0A, a part of the head size after the other."""
    b = cube_buffers(context)

    def part(d0: Expr, width: Expr) -> Statement:
        return left_operand(b.query, b.left, d0, fractals_of(context, width), d0 * PADDED_ROWS)

    return over_parts(context, context.padded_head_size, context.base_k, part)
