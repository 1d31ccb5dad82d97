"""The cube's stages: scores of a key tile, and the weighted sum of its values.

Both cut the tile into matrix multiplies of ``padded(group) x base_n x base_k``; keys and values stream
through L1 in blocks of that size, every element once.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.hardware import ATLAS_A2, Core, MemorySpace
from attndsl.schedule.choices import Schedule
from attndsl.schedule.context import (
    BATCH,
    FIRST_KEY,
    FIRST_TILE,
    KEYS,
    KV_HEAD,
    LENGTH,
    SLOT,
    TILE,
    Context,
    local,
)
from attndsl.symbolic import Const, Expr, Symbol, as_expr, ceil_div, minimum
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadNz, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, padded
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq

_FRACTAL_ELEMENTS = FRACTAL_SIZE * FRACTAL_SIZE
_N0, _D0, _K0 = Symbol("n0"), Symbol("d0"), Symbol("k0")
_KEY_TILE, _VALUE_TILE = Symbol("keyTile"), Symbol("valueTile")
_DEPTH_FRACTALS, _COLUMN_FRACTALS = Symbol("depthFractals"), Symbol("columnFractals")
_ROW_GROUP, _DEPTH_GROUP, _ROW = Symbol("rowGroup"), Symbol("depthGroup"), Symbol("row")


def cube_buffers(s: Schedule, dtype: str, bucket: int) -> dict[str, Buffer]:
    """The cube core's buffers of a schedule."""
    wide = min(s.base_k, bucket)
    block = max(s.base_n * wide, s.base_k * min(s.base_n, bucket))
    l1, l0a, l0b, l0c = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
    made = (
        local("queryL1", l1, dtype, s.max_rows * bucket, "query rows of the group, Nz"),
        local("keyL1", l1, dtype, s.base_n * wide, "key block, Nz", 2),
        local("probL1", l1, dtype, s.max_rows * s.tile_k, "probabilities of a key tile, Nz", 2),
        local("valueL1", l1, dtype, s.base_k * min(s.base_n, bucket), "value block, Nz", 2),
        local("leftL0", l0a, dtype, s.max_rows * s.base_k, "left operand, Zz", 2),
        local("rightL0", l0b, dtype, block, "right operand, Zn", 2),
        local("scoreL0", l0c, "float32", s.max_rows * s.base_n, "scores of a key block, Nz", 2),
        local("outL0", l0c, "float32", s.max_rows * min(s.base_n, bucket), "weighted sum of values, Nz", 2),
    )
    return {buffer.name: buffer for buffer in made}


def tile_bounds(context: Context) -> list[Statement]:
    """Ring slot, first key and number of keys of the running tile."""
    size = context.constant("tileKeys")
    return [
        Let(symbol=SLOT, value=TILE % context.constant("ring")),
        Let(symbol=FIRST_KEY, value=(FIRST_TILE + TILE) * size),
        Let(symbol=KEYS, value=minimum(size, LENGTH - FIRST_KEY)),
    ]


def load_query(context: Context) -> Stage:
    """The rows of the group to L1, once an item."""
    query = context.attention.query
    group, dim = context.scalar("group"), context.scalar("headDim")
    stride = context.stride(query.name, "N")
    offset = BATCH * context.stride(query.name, "B") + KV_HEAD * group * stride
    load = LoadNz(
        dst=context.region("queryL1"),
        src=context.gm(query.name, offset, group, dim, stride),
        padded_rows=_padded_group(context),
        where=query.where,
    )
    doc = "Query rows of the group from global memory to L1."
    return Stage(name="LoadQuery", core=Core.AIC, doc=doc, body=seq(load), where=query.where)


def score_tile(context: Context) -> Stage:
    """``scores = query . keys^T`` of one tile, to its ring slot."""
    where = context.attention.keys.where
    size, group = context.constant("tileKeys"), context.scalar("group")
    cols = Symbol("cols")
    body = [
        *tile_bounds(context),
        Let(symbol=_KEY_TILE, value=_tile_offset(context, context.attention.keys), where=where),
        For(
            var=_N0,
            runs=True,
            end=KEYS,
            step=context.constant("baseN"),
            body=seq(
                Let(symbol=cols, value=minimum(context.constant("baseN"), KEYS - _N0)),
                Alloc(
                    buffers=(context.buffers["scoreL0"],),
                    body=seq(
                        _over_head_dim(context, lambda d0, width: _score_block(context, cols, d0, width)),
                        Fixpipe(
                            dst=context.gm("scoreRing", SLOT * group * size + _N0, group, padded(cols), size),
                            src=context.region("scoreL0"),
                            m=_padded_group(context),
                            where=where,
                        ),
                    ),
                ),
            ),
            where=where,
        ),
    ]
    doc = "Scores of one key tile, query times keys transposed, to their ring slot."
    return Stage(name="ScoreTile", core=Core.AIC, doc=doc, body=seq(*body), where=where)


def _tile_offset(context: Context, rows: nodes.Dense) -> Expr:
    """Elements from the start of a cache to the tile's first row of the item's head."""
    name = rows.tensor.name  # type: ignore[attr-defined]
    start = BATCH * context.stride(name, "B") + KV_HEAD * context.stride(name, "K")
    return start + FIRST_KEY * context.stride(name, "T")


def _over_head_dim(
    context: Context, block: Callable[[Expr, Expr], Statement], step: str = "baseK"
) -> Statement:
    """``block(d0, width)`` for every part of the head size; no loop where there is one part."""
    size = context.constant(step)
    if context.bucket <= int(size.value):
        return block(as_expr(0), context.constant("headDimBucket"))
    width = Symbol("width")
    bucket = context.constant("headDimBucket")
    bound = size if context.bucket % int(size.value) == 0 else minimum(size, bucket - _D0)
    body = seq(Let(symbol=width, value=bound), block(_D0, width))
    return For(var=_D0, end=bucket, step=size, body=body, runs=True)


def _score_block(context: Context, cols: Expr, d0: Expr, width: Expr) -> Statement:
    keys = context.attention.keys
    tensor = keys.tensor
    name = tensor.name  # type: ignore[attr-defined]
    offset = _KEY_TILE + _N0 * context.stride(name, "T") + d0
    true_width = _true_width(context, d0, width)
    load = _stream(context, "keyL1", name, offset, cols, true_width)
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(cols, FRACTAL_SIZE)),
        _left_operand(context, "queryL1", d0),
        LoadFractals(
            dst=context.region("rightL0"),
            src=context.region("keyL1"),
            repeat=_DEPTH_FRACTALS * _COLUMN_FRACTALS,
            src_stride=Const(1),
            where=keys.where,
        ),
        Mmad(
            dst=context.region("scoreL0"),
            a=context.region("leftL0"),
            b=context.region("rightL0"),
            m=_padded_group(context),
            n=cols,
            k=width,
            initial=_is_first(d0),
            where=keys.where,
        ),
    )
    return _in_l1(context, "keyL1", load, operands)


def weighted_tile(context: Context) -> Stage:
    """``partial = probabilities . values`` of one tile, to its ring slot."""
    where = context.attention.values.where
    size, group = context.constant("tileKeys"), context.scalar("group")
    load = LoadNz(
        dst=context.region("probL1"),
        src=context.gm("probRing", SLOT * group * size, group, KEYS, size),
        padded_rows=_padded_group(context),
        where=where,
    )
    columns = _over_head_dim(context, lambda d0, width: _weighted_columns(context, d0, width), "baseN")
    body = seq(
        *tile_bounds(context),
        Let(symbol=_VALUE_TILE, value=_tile_offset(context, context.attention.values), where=where),
        Alloc(buffers=(context.buffers["probL1"],), body=seq(load, columns)),
    )
    doc = "Weighted sum of one tile's values, probabilities times values, to its ring slot."
    return Stage(name="WeightedTile", core=Core.AIC, doc=doc, body=body, where=where)


def _weighted_columns(context: Context, d0: Expr, width: Expr) -> Statement:
    where, group = context.attention.values.where, context.scalar("group")
    bucket, depth = context.constant("headDimBucket"), Symbol("depth")
    over_keys = For(
        var=_K0,
        runs=True,
        end=KEYS,
        step=context.constant("baseK"),
        body=seq(
            Let(symbol=depth, value=minimum(context.constant("baseK"), KEYS - _K0)),
            _weighted_block(context, depth, d0, width),
        ),
        where=where,
    )
    out = Fixpipe(
        dst=context.gm("outRing", SLOT * group * bucket + d0, group, width, bucket),
        src=context.region("outL0"),
        m=_padded_group(context),
        where=where,
    )
    return Alloc(buffers=(context.buffers["outL0"],), body=seq(over_keys, out))


def _weighted_block(context: Context, depth: Expr, d0: Expr, width: Expr) -> Statement:
    values = context.attention.values
    name = values.tensor.name  # type: ignore[attr-defined]
    offset = _VALUE_TILE + _K0 * context.stride(name, "T") + d0
    true_width = _true_width(context, d0, width)
    load = _stream(context, "valueL1", name, offset, depth, true_width)
    transposed = For(
        var=_DEPTH_GROUP,
        runs=True,
        end=_DEPTH_FRACTALS,
        body=seq(
            LoadFractals(
                dst=context.region("rightL0", _DEPTH_GROUP * _COLUMN_FRACTALS * _FRACTAL_ELEMENTS),
                src=context.region("valueL1", _DEPTH_GROUP * _FRACTAL_ELEMENTS),
                repeat=_COLUMN_FRACTALS,
                src_stride=_DEPTH_FRACTALS,
                transpose=True,
                where=values.where,
            )
        ),
        disjoint=(context.buffers["rightL0"],),
    )
    multiply = Mmad(
        dst=context.region("outL0"),
        a=context.region("leftL0"),
        b=context.region("rightL0"),
        m=_padded_group(context),
        n=width,
        k=depth,
        initial=_is_first(_K0),
        where=values.where,
    )
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=ceil_div(depth, FRACTAL_SIZE)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        _left_operand(context, "probL1", _K0),
        transposed,
        multiply,
    )
    return _in_l1(context, "valueL1", load, operands)


def _padded_group(context: Context) -> Expr:
    return context.scalar("rowFractals") * FRACTAL_SIZE


def _true_width(context: Context, d0: Expr, width: Expr) -> Expr:
    """Columns that exist in global memory; up to ``width`` they are padded with zeros."""
    head_dim = context.scalar("headDim")
    return head_dim if isinstance(d0, Const) else minimum(width, head_dim - d0)


def _is_first(position: Expr) -> Expr:
    return Const(True) if isinstance(position, Const) else position == 0


def _in_l1(context: Context, block: str, load: Statement, operands: Seq) -> Statement:
    pair = (context.buffers["leftL0"], context.buffers["rightL0"])
    inner = Alloc(buffers=pair, body=operands)
    where_to = Note(text="to L1, row by row where one copy cannot express the pitch; then to L0A and L0B")
    return Alloc(buffers=(context.buffers[block],), body=seq(where_to, load, inner))


def _left_operand(context: Context, source: str, k0: Expr) -> For:
    """``depthFractals`` fractals from column k0 of an Nz matrix in L1 to Zz in L0A, row of fractals by row.

    Nz holds the fractals of a column of the matrix one after the other, Zz those of a row.
    """
    row_fractals = context.scalar("rowFractals")
    first = k0 // FRACTAL_SIZE * row_fractals
    load = LoadFractals(
        dst=context.region("leftL0", _ROW_GROUP * _DEPTH_FRACTALS * _FRACTAL_ELEMENTS),
        src=context.region(source, (first + _ROW_GROUP) * _FRACTAL_ELEMENTS),
        repeat=_DEPTH_FRACTALS,
        src_stride=row_fractals,
    )
    return For(
        var=_ROW_GROUP, end=row_fractals, body=seq(load), disjoint=(context.buffers["leftL0"],), runs=True
    )


def _stream(context: Context, buffer: str, tensor: str, offset: Expr, rows: Expr, width: Expr) -> Statement:
    """A block of keys or values to L1; row by row where the row pitch exceeds what one copy can express."""
    pitch, limit = context.stride(tensor, "T"), ATLAS_A2.max_nd2nz_pitch
    whole = LoadNz(
        dst=context.region(buffer),
        src=context.gm(tensor, offset, rows, width, pitch),
        padded_rows=padded(rows),
    )
    one_row = LoadNz(
        dst=context.region(buffer, _ROW * FRACTAL_SIZE),
        src=context.gm(tensor, offset + _ROW * pitch, 1, width, width),
        padded_rows=padded(rows),
    )
    by_row = For(var=_ROW, end=rows, body=seq(one_row), disjoint=(context.buffers[buffer],), runs=True)
    return If(condition=pitch <= limit, then=seq(whole), otherwise=seq(by_row))
