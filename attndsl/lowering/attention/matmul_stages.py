"""The cube's stages: scores of a key tile, and the weighted sum of its values.

Both cut the tile into matrix multiplies of ``padded(rows) x base_n x base_k``; keys and values stream
through L1 in blocks of that size, every element once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Named, Symbol, as_expr, ceil_div, minimum
from attndsl.lowering.attention.key_range import tile_bounds
from attndsl.lowering.attention.scale_absorption import load_absorbed_query
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import ITEM, KEYS, ROW_FRACTALS, SLOT, TASK_ROWS, TILES
from attndsl.lowering.emit.workspace_rings import out_ring, prob_ring, score_ring
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.key_source import KeySource
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadNz, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth, padded
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq

_N0, _D0, _K0 = Symbol("n0"), Symbol("d0"), Symbol("k0")
_DEPTH_FRACTALS, _COLUMN_FRACTALS = Symbol("depthFractals"), Symbol("columnFractals")
_ROW_GROUP, _DEPTH_GROUP = Symbol("rowGroup"), Symbol("depthGroup")
_PADDED_ROWS = ROW_FRACTALS * FRACTAL_SIZE


@dataclass(frozen=True, slots=True)
class CubeBuffers:
    """The cube core's buffers."""

    query: Buffer
    key: Buffer
    prob: Buffer
    value: Buffer
    left: Buffer
    right: Buffer
    score: Buffer
    out: Buffer


def cube_buffers(context: Context) -> CubeBuffers:
    """The buffers that the cube's stages share."""
    s, dtype, product, buffer = context.schedule, context.cube_dtype, context.product_dtype, context.buffer
    padded_size, padded_value_size = context.signature.padded_head_size, context.signature.padded_value_size
    _check_depths(context)
    wide, columns = min(s.base_k, padded_size), min(s.base_n, padded_value_size)
    block = max(s.base_n * wide, s.base_k * columns)
    queries = 2 if context.continuous else 1  # those of the next item arrive while the last ones are in use
    l1, l0a, l0b, l0c = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
    return CubeBuffers(
        query=buffer("queryL1", l1, dtype, s.max_rows * padded_size, "query rows of the task, Nz", queries),
        key=buffer("keyL1", l1, dtype, s.base_n * wide, "key block, Nz", 2),
        prob=buffer("probL1", l1, dtype, s.max_rows * s.tile_k, "probabilities of a key tile, Nz", 2),
        value=buffer("valueL1", l1, dtype, s.base_k * columns, "value block, Nz", 2),
        left=buffer("leftL0", l0a, dtype, s.max_rows * s.base_k, "left operand, Zz", 2),
        right=buffer("rightL0", l0b, dtype, block, "right operand, Zn", 2),
        score=buffer("scoreL0", l0c, product, s.max_rows * s.base_n, "scores of a key block, Nz", 2),
        out=buffer("outL0", l0c, product, s.max_rows * columns, "weighted sum of values, Nz", 2),
    )


def _check_depths(context: Context) -> None:
    """Parts of matrices begin and end with whole fractals.

    Raises:
        NotLowered: a head size or a size of one matrix multiply is no multiple of a fractal's columns.
    """
    s, signature = context.schedule, context.signature
    depth = int(fractal_depth(context.cube_dtype).value)
    sizes = {"heads of": signature.padded_head_size, "heads of values of": signature.padded_value_size}
    sizes |= {"base_n": s.base_n, "base_k": s.base_k}
    for name, size in sizes.items():
        if size % depth:
            what = f"{context.cube_dtype} with {name} {size} (multiples of {depth})"
            raise NotLowered(what, context.attention.where)


def load_query(context: Context) -> Stage:
    """The rows of the task to L1, once an item."""
    load = context.rows.load_query(context, cube_buffers(context).query)
    if context.continuous:
        load = If(condition=(TILES > 0) & (context.items > ITEM), then=seq(load))
    elif context.rows.may_be_empty():
        load = If(condition=TILES > 0, then=seq(load))
    return Stage(
        name=context.label("LoadQuery"),
        part=context.suffix,
        core=Core.AIC,
        doc="Query rows of the task from global memory to L1.",
        body=seq(load),
        where=context.rows.where,
    )


def score_tile(context: Context, ring: GlobalTensor | None = None, name: str = "ScoreTile") -> Stage:
    """``scores = query . keys^T`` of one tile, to its slot of ``ring``."""
    where, b = context.keys.where, cube_buffers(context)
    size, base_n, cols = context.tile_keys, context.base_n, Symbol("cols")
    target = ring or score_ring(context)
    place = SLOT * context.rows.rows_per_task(context) * size
    block = seq(
        _over(
            context.padded_head_size, context.base_k, lambda d0, width: _score_block(context, cols, d0, width)
        ),
        Fixpipe(
            dst=target.region(place + _N0, TASK_ROWS, padded(cols), size),
            src=b.score.region(),
            m=_PADDED_ROWS,
            where=where,
        ),
    )
    over_keys = For(
        var=_N0,
        runs=True,
        end=KEYS,
        step=base_n,
        body=seq(
            Let(symbol=cols, value=minimum(base_n, KEYS - _N0)),
            Alloc(buffers=(b.score,), body=block),
        ),
        where=where,
    )
    doc = "Scores of one key tile, query times keys transposed, to their ring slot."
    body = seq(*tile_bounds(context), *context.keys.locate(context), _with_query(context, over_keys))
    return Stage(
        name=context.label(name), part=context.suffix, core=Core.AIC, doc=doc, body=body, where=where
    )


def with_query(context: Context, body: Statement) -> Statement:
    """An item's ``body``, the query rows in L1 while it lasts; absorbed ones come with each tile."""
    if context.keys.quantization is not None:
        return body
    return Alloc(buffers=(cube_buffers(context).query,), body=seq(load_query(context), body))


def _with_query(context: Context, body: Statement) -> Statement:
    """A tile's ``body``: vector cores absorb the scale into queries in the loop over tiles, at the first."""
    if context.keys.quantization is None:
        return body
    query = cube_buffers(context).query
    return Alloc(buffers=(query,), body=seq(load_absorbed_query(context, query, _PADDED_ROWS), body))


def _over(extent: Named, step: Named, block: Callable[[Expr, Expr], Statement]) -> Statement:
    """``block(d0, width)`` for every part of a head size; no loop where there is one part."""
    if int(extent.value) <= int(step.value):
        return block(as_expr(0), extent)
    width = Symbol("width")
    divides = int(extent.value) % int(step.value) == 0
    bound = step if divides else minimum(step, extent - _D0)
    body = seq(Let(symbol=width, value=bound), block(_D0, width))
    return For(var=_D0, end=extent, step=step, body=body, runs=True)


def _score_block(context: Context, cols: Expr, d0: Expr, width: Expr) -> Statement:
    where, b = context.keys.where, cube_buffers(context)
    load = context.keys.load(context, b.key, _N0, cols, d0, _true_width(context.head_dim, d0, width))
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=ceil_div(width, fractal_depth(context.cube_dtype))),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(cols, FRACTAL_SIZE)),
        _left_operand(b.query, b.left, d0),
        LoadFractals(
            dst=b.right.region(),
            src=b.key.region(),
            repeat=_DEPTH_FRACTALS * _COLUMN_FRACTALS,
            src_stride=Const(1),
            where=where,
        ),
        Mmad(
            dst=b.score.region(),
            a=b.left.region(),
            b=b.right.region(),
            m=_PADDED_ROWS,
            n=cols,
            k=width,
            initial=_is_first(d0),
            where=where,
        ),
    )
    return _in_l1(b, b.key, load, operands)


def weighted_tile(context: Context) -> Stage:
    """``partial = probabilities . values`` of one tile, to its ring slot."""
    where, b = context.values.where, cube_buffers(context)
    size = context.tile_keys
    place = SLOT * context.rows.rows_per_task(context) * size
    load = LoadNz(
        dst=b.prob.region(),
        src=prob_ring(context).region(place, TASK_ROWS, KEYS, size),
        padded_rows=_PADDED_ROWS,
        where=where,
    )
    columns = _over(
        context.padded_value_size, context.base_n, lambda d0, width: _weighted_columns(context, d0, width)
    )
    body = seq(
        *tile_bounds(context),
        *context.values.locate(context),
        Alloc(buffers=(b.prob,), body=seq(load, columns)),
    )
    doc = "Weighted sum of one tile's values, probabilities times values, to its ring slot."
    return Stage(
        name=context.label("WeightedTile"),
        part=context.suffix,
        core=Core.AIC,
        doc=doc,
        body=body,
        where=where,
    )


def _weighted_columns(context: Context, d0: Expr, width: Expr) -> Statement:
    where, b, depth = context.values.where, cube_buffers(context), Symbol("depth")
    padded_size = context.padded_value_size
    over_keys = For(
        var=_K0,
        runs=True,
        end=KEYS,
        step=context.base_k,
        body=seq(
            Let(symbol=depth, value=minimum(context.base_k, KEYS - _K0)),
            _weighted_block(context, depth, d0, width),
        ),
        where=where,
    )
    place = SLOT * context.rows.rows_per_task(context) * padded_size
    out = Fixpipe(
        dst=out_ring(context).region(place + d0, TASK_ROWS, width, padded_size),
        src=b.out.region(),
        m=_PADDED_ROWS,
        where=where,
    )
    return Alloc(buffers=(b.out,), body=seq(over_keys, out))


def _weighted_block(context: Context, depth: Expr, d0: Expr, width: Expr) -> Statement:
    values, b = context.values, cube_buffers(context)
    load = values.load(context, b.value, _K0, depth, d0, _true_width(context.value_dim, d0, width))
    multiply = Mmad(
        dst=b.out.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=_PADDED_ROWS,
        n=width,
        k=depth,
        initial=_is_first(_K0),
        where=values.where,
    )
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=ceil_div(depth, fractal_depth(context.cube_dtype))),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        _left_operand(b.prob, b.left, _K0),
        _transposed(b.value, b.right, values),
        multiply,
    )
    return _in_l1(b, b.value, load, operands)


def _transposed(source: Buffer, target: Buffer, values: KeySource) -> For:
    """A block of values, Nz in L1, as Zn right operand: every square transposed.

    A square of 16-bit data is a fractal, one of int8 two, of 16 rows each.
    """
    depth = fractal_depth(source.dtype)
    squares = _COLUMN_FRACTALS if depth.same(FRACTAL_SIZE) else _COLUMN_FRACTALS * FRACTAL_SIZE // depth
    load = LoadFractals(
        dst=target.region(_DEPTH_GROUP * _COLUMN_FRACTALS * _fractal(target)),
        src=source.region(_DEPTH_GROUP * (depth * depth)),
        repeat=squares,
        src_stride=_DEPTH_FRACTALS,
        transpose=True,
        where=values.where,
    )
    return For(var=_DEPTH_GROUP, runs=True, end=_DEPTH_FRACTALS, body=seq(load), disjoint=(target,))


def _true_width(true: Expr, d0: Expr, width: Expr) -> Expr:
    """Columns that exist in global memory; up to ``width`` they are padded with zeros."""
    return true if isinstance(d0, Const) else minimum(width, true - d0)


def _is_first(position: Expr) -> Expr:
    return Const(True) if isinstance(position, Const) else position == 0


def _in_l1(b: CubeBuffers, block: Buffer, load: Statement, operands: Seq) -> Statement:
    inner = Alloc(buffers=(b.left, b.right), body=operands)
    where_to = Note(text="to L1, row by row where one copy cannot express the pitch; then to L0A and L0B")
    return Alloc(buffers=(block,), body=seq(where_to, load, inner))


def _left_operand(source: Buffer, target: Buffer, k0: Expr) -> For:
    """``depthFractals`` fractals from column k0 of an Nz matrix in L1 to Zz in L0A, row of fractals by row.

    Nz holds the fractals of a column of the matrix one after the other, Zz those of a row.
    """
    first = k0 // fractal_depth(source.dtype) * ROW_FRACTALS
    load = LoadFractals(
        dst=target.region(_ROW_GROUP * _DEPTH_FRACTALS * _fractal(target)),
        src=source.region((first + _ROW_GROUP) * _fractal(source)),
        repeat=_DEPTH_FRACTALS,
        src_stride=ROW_FRACTALS,
    )
    return For(var=_ROW_GROUP, end=ROW_FRACTALS, body=seq(load), disjoint=(target,), runs=True)


def _fractal(buffer: Buffer) -> Expr:
    """Elements of a fractal."""
    return FRACTAL_SIZE * fractal_depth(buffer.dtype)
