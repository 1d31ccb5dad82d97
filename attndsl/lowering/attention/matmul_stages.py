"""The cube's stages: scores of a key tile, and the weighted sum of its values.

Both cut the tile into matrix multiplies of ``padded(rows) x base_n x base_k``, of values with ``value_n``
columns; keys and values stream through L1 in blocks of that size, every element once. The query rows stay in
L0A for all keys of a tile, if it holds them twice. Scores and weighted sums take the slots of one buffer in
L0C in turn.

A task of more than 128 rows has several bands of rows. A key block in L0B, and the values of a tile in L1,
serve all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Named, Symbol, as_expr, ceil_div, maximum, minimum
from attndsl.lowering.attention.continuous import first_time, item_has_keys, score_slot
from attndsl.lowering.attention.key_range import keys_of_rows, sees_by_band, tile_bounds
from attndsl.lowering.attention.scale_absorption import load_absorbed_query
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, ROW_FRACTALS, SLOT, TASK_ROWS
from attndsl.lowering.emit.workspace_rings import out_ring, prob_ring, score_ring
from attndsl.lowering.errors import DoesNotFit, NotLowered
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.match.schedule_options import BAND_ROWS
from attndsl.target import Core, MemorySpace
from attndsl.tile.buffers import Buffer, GlobalTensor, item_bytes
from attndsl.tile.instructions import Fixpipe, LoadFractals, LoadNz, Mmad
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth, padded
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq

_N0, _D0, _D1 = Symbol("n0"), Symbol("d0"), Symbol("d1")
_K0, _K1 = Symbol("k0"), Symbol("k1")
_DEPTH_FRACTALS, _COLUMN_FRACTALS = Symbol("depthFractals"), Symbol("columnFractals")
_ROW_GROUP, _DEPTH_GROUP = Symbol("rowGroup"), Symbol("depthGroup")
_PADDED_ROWS = ROW_FRACTALS * FRACTAL_SIZE
_BAND, _ROWS, _ROW_GROUPS = Symbol("band"), Symbol("bandRows"), Symbol("bandFractals")
_BAND_KEYS = Symbol("bandKeys")


@dataclass(frozen=True, slots=True)
class CubeBuffers:
    """The cube core's buffers."""

    query: Buffer
    key: Buffer
    prob: Buffer
    value: Buffer
    left: Buffer
    right: Buffer
    product: Buffer


def cube_buffers(context: Context) -> CubeBuffers:
    """The buffers that the cube's stages share."""
    dtype, product, buffer = context.cube_dtype, context.product_dtype, context.buffer
    size, base_n, base_k, rows = context.padded_head_size, context.base_n, context.base_k, context.max_rows
    _check_depths(context)
    wide, columns = _part(size, base_k), _part(context.padded_value_size, context.value_n)
    constant = context.inventory.constant
    keys = constant("keyBlock", base_n * wide, "elements of a block of keys")
    values = constant("valueBlock", base_k * columns, "elements of a block of values")
    in_l1, in_l1_is = _values_in_l1(context, values, columns)
    bands = _bands(context)
    band: Expr = rows if bands == 1 else context.rows_per_band
    few = _slots(context.schedule.value_slots, 2 if bands == 1 else 1)
    # those of the next item arrive while the last are in use
    queries = _slots(context.schedule.query_slots, 2 if context.continuous else 1)
    depth = maximum(base_k, size) if _holds_query(context) else base_k
    l1, l0a, l0b, l0c = MemorySpace.L1, MemorySpace.L0A, MemorySpace.L0B, MemorySpace.L0C
    return CubeBuffers(
        query=buffer("queryL1", l1, dtype, rows * size, "query rows of the task, Nz", queries),
        key=buffer("keyL1", l1, dtype, keys, "key block, Nz", 2),
        prob=buffer(
            "probL1",
            l1,
            dtype,
            band * (context.tile_keys if bands == 1 else _piece(context)),
            "probabilities of a key tile, Nz" if bands == 1 else "probabilities of a band of rows, Nz",
            2,
        ),
        value=buffer(
            "valueL1",
            l1,
            dtype,
            in_l1,
            in_l1_is,
            few,
        ),
        left=buffer("leftL0", l0a, dtype, band * depth, "left operand, Zz", 2),
        right=buffer("rightL0", l0b, dtype, maximum(keys, values), "right operand, Zn", 2),
        product=buffer(
            "productL0",
            l0c,
            product,
            band * maximum(base_n, columns),
            "scores of a key block or weighted sum of values, Nz",
            2,
        ),
    )


def _values_in_l1(context: Context, block: Named, columns: Named) -> tuple[Expr, str]:
    """Elements of values in L1, in one slot, and what they are."""
    if loads_wide_values(context):
        wide = _part(context.padded_value_size, context.value_width)
        return context.tile_keys * wide, "columns of the values of a key tile, Nz"
    if _bands(context) == 1:
        return block, "value block, Nz"
    return context.tile_keys * columns, "values of a key tile, Nz"


def loads_wide_values(context: Context) -> bool:
    """Whether one copy brings the value columns of several matrix multiplies to L1.

    A copy to Nz takes a number of cycles a row, however short its pieces.
    """
    s = context.schedule
    if isinstance(s.value_width, str) or _bands(context) > 1:
        return False
    return min(s.value_width, context.signature.padded_value_size) > s.columns


def _slots(stated: int | str, otherwise: int) -> int:
    """The slots that a schedule states, where it does."""
    return otherwise if isinstance(stated, str) else stated


def _part(extent: Named, step: Named) -> Named:
    """What one matrix multiply takes of a head size; :func:`_over` requires that it stays so."""
    return extent if int(extent.value) <= int(step.value) else step


def _bands(context: Context) -> int:
    """Bands of rows that a task has at most.

    Raises:
        DoesNotFit: parts of the head size would be added up in L0C for all bands at once.
    """
    s, memory = context.schedule, context.architecture.memory(MemorySpace.L0C)
    bands = -(-s.max_rows // BAND_ROWS)
    needed = 2 * 4 * s.max_rows * s.base_n
    if bands > 1 and context.signature.padded_head_size > s.base_k:
        text = f"the products of {s.max_rows} rows with {2 * 4 * s.base_n} bytes"
        raise DoesNotFit(memory.space.value, needed, memory.usable, text, "choose a smaller max_rows")
    require, rows = context.inventory.require, context.max_rows
    if bands == 1:
        require(rows <= BAND_ROWS, "a task is one band of rows")
    else:
        require(rows > context.rows_per_band, "a task has several bands of rows")
        require(context.padded_head_size <= context.base_k, "one matrix multiply takes a whole head")
    return bands


def _holds_query(context: Context) -> bool:
    """Whether both slots of the left operand in L0A can hold all query rows of a task at once."""
    if _bands(context) > 1:
        return False
    item, usable = item_bytes(context.cube_dtype), context.architecture.memory(MemorySpace.L0A).usable
    rows = context.schedule.max_rows * context.signature.padded_head_size * item
    if 2 * rows > usable:
        return False
    needed = 2 * context.max_rows * context.padded_head_size * item
    context.inventory.require(needed <= usable, "L0A holds the query rows of a task twice")
    return True


def _check_depths(context: Context) -> None:
    """Parts of matrices begin and end with whole fractals.

    Raises:
        NotLowered: a head size or a size of one matrix multiply is no multiple of a fractal's columns.
    """
    s, signature = context.schedule, context.signature
    depth = int(fractal_depth(context.cube_dtype).value)
    sizes = {"heads of": signature.padded_head_size, "heads of values of": signature.padded_value_size}
    sizes |= {"base_n": s.base_n, "value_n": s.columns, "base_k": s.base_k}
    for name, size in sizes.items():
        if size % depth:
            what = f"{context.cube_dtype} with {name} {size} (multiples of {depth})"
            raise NotLowered(what, context.attention.where)


def load_query(context: Context) -> Stage:
    """The rows of the task to L1, once an item."""
    load = context.rows.load_query(context, cube_buffers(context).query)
    if context.continuous or context.rows.may_be_empty():
        load = If(condition=item_has_keys(context), then=seq(load))
    return Stage(
        name=context.label("LoadQuery"),
        part=context.suffix,
        core=Core.AIC,
        doc="Query rows of the task from global memory to L1.",
        body=seq(load),
        where=context.rows.where,
    )


def score_tile(context: Context) -> Stage:
    """``scores = query . keys^T`` of one tile, to its ring slot."""
    where, b = context.keys.where, cube_buffers(context)
    size, base_n, cols = context.tile_keys, context.base_n, Symbol("cols")
    target = scores_of(context)
    place = score_slot(context) * context.rows.rows_per_task(context) * size
    if _bands(context) > 1:
        block: Statement = _banded_scores(context, cols, target, place)
    else:
        parts = _over(
            context,
            context.padded_head_size,
            context.base_k,
            lambda d0, width: _score_block(context, cols, d0, width),
        )
        store = Fixpipe(
            dst=target.region(place + _N0, TASK_ROWS, padded(cols), size),
            src=b.product.region(),
            m=_PADDED_ROWS,
            where=where,
        )
        block = Alloc(buffers=(b.product,), body=seq(parts, store))
    over_keys = For(
        var=_N0,
        runs=True,
        end=KEYS,
        step=base_n,
        body=seq(
            Let(symbol=cols, value=minimum(base_n, KEYS - _N0)),
            block,
        ),
        where=where,
    )
    doc = "Scores of one key tile, query times keys transposed, to their ring slot."
    scores: Statement = over_keys
    if _holds_query(context):
        scores = Alloc(buffers=(b.left,), body=seq(_left_query(context), over_keys))
    body = seq(*tile_bounds(context), *context.keys.locate(context), _with_query(context, scores))
    return Stage(
        name=context.label("ScoreTile"), part=context.suffix, core=Core.AIC, doc=doc, body=body, where=where
    )


def scores_of(context: Context) -> GlobalTensor:
    """The ring of score tiles, one slot shorter than the others where the cube waits first."""
    return score_ring(context, slots=context.prefetch if context.waits_first else None)


def await_probabilities(context: Context) -> Stage:
    """Waits for a tile's probabilities: its scores were read then, and their slot takes new ones."""
    return Stage(
        name=context.label("AwaitProbabilities"),
        part=context.suffix,
        core=Core.AIC,
        doc="Waits for the probabilities of a tile: its scores are read, new ones may take their slot.",
        body=seq(),
        awaits=(prob_ring(context),),
        where=context.where,
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


def _over(
    context: Context, extent: Named, step: Named, block: Callable[[Expr, Expr], Statement]
) -> Statement:
    """``block(d0, width)`` for every part of a head size; no loop where there is one part."""
    require = context.inventory.require
    if int(extent.value) <= int(step.value):
        require(extent <= step, "one matrix multiply takes a whole head")
        return block(as_expr(0), extent)
    require(extent > step, "several matrix multiplies take the parts of a head")
    width = Symbol("width")
    divides = int(extent.value) % int(step.value) == 0
    if divides:
        require((extent % step) == 0, "the parts of a head are alike")
    bound = step if divides else minimum(step, extent - _D0)
    body = seq(Let(symbol=width, value=bound), block(_D0, width))
    return For(var=_D0, end=extent, step=step, body=body, runs=True)


def _score_block(context: Context, cols: Expr, d0: Expr, width: Expr) -> Statement:
    where, b = context.keys.where, cube_buffers(context)
    load = context.keys.load(context, b.key, _N0, cols, d0, _true_width(context.head_dim, d0, width))
    held = _holds_query(context)
    right = _keys_to_l0b(context, _fractals(context, width), cols)
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(d0 * _PADDED_ROWS if held else 0),
        b=b.right.region(),
        m=_PADDED_ROWS,
        n=cols,
        k=width,
        initial=_is_first(d0),
        where=where,
    )
    operands: Statement = Alloc(buffers=(b.right,), body=seq(right, multiply))
    if not held:
        left = _left_operand(b.query, b.left, d0, _fractals(context, width))
        operands = Alloc(buffers=(b.left,), body=seq(left, operands))
    return _in_l1(b.key, load, operands)


def _keys_to_l0b(context: Context, depth: Expr, cols: Expr) -> LoadFractals:
    """A block of ``cols`` keys, ``depth`` fractals deep: Nz in L1 is Zn of the transposed keys."""
    b = cube_buffers(context)
    return LoadFractals(
        dst=b.right.region(),
        src=b.key.region(),
        repeat=depth * ceil_div(cols, FRACTAL_SIZE),
        src_stride=Const(1),
        where=context.keys.where,
    )


def _over_bands(context: Context, body: Statement) -> Statement:
    """``body`` for each band of the task's rows, ``band`` its first."""
    size = context.rows_per_band
    rows = Let(symbol=_ROWS, value=minimum(size, TASK_ROWS - _BAND))
    groups = Let(symbol=_ROW_GROUPS, value=ceil_div(_ROWS, FRACTAL_SIZE))
    begin: list[Statement] = [rows, groups]
    if sees_by_band(context):
        seen = keys_of_rows(context, KEYS, _BAND, _BAND + _ROWS - 1)
        begin.append(Let(symbol=_BAND_KEYS, value=seen, where=context.keys.where))
    return For(var=_BAND, end=TASK_ROWS, step=size, body=seq(*begin, body), runs=True)


def _band_keys(context: Context) -> Expr:
    """Keys of the tile that the running band of rows may see."""
    return _BAND_KEYS if sees_by_band(context) else KEYS


def _banded_scores(context: Context, cols: Expr, target: GlobalTensor, place: Expr) -> Statement:
    """Scores of a key block for each band of rows, the keys in L0B for all of them."""
    where, b, size = context.keys.where, cube_buffers(context), context.tile_keys
    width, head_size = context.head_dim, context.padded_head_size
    depth = _fractals(context, head_size)
    right = _keys_to_l0b(context, depth, cols)
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=_ROW_GROUPS * FRACTAL_SIZE,
        n=cols,
        k=head_size,
        initial=Const(True),
        where=where,
    )
    store = Fixpipe(
        dst=target.region(place + _BAND * size + _N0, _ROWS, padded(cols), size),
        src=b.product.region(),
        m=_ROW_GROUPS * FRACTAL_SIZE,
        where=where,
    )
    left = _left_operand(b.query, b.left, as_expr(0), depth, band=(_BAND // FRACTAL_SIZE, _ROW_GROUPS))
    product = Alloc(buffers=(b.product,), body=seq(multiply, store))
    one: Statement = Alloc(buffers=(b.left,), body=seq(left, product))
    if sees_by_band(context):
        one = If(condition=_N0 < _BAND_KEYS, then=seq(one))
    load = context.keys.load(context, b.key, _N0, cols, as_expr(0), width)
    return _in_l1(b.key, load, Alloc(buffers=(b.right,), body=seq(right, _over_bands(context, one))))


def _left_query(context: Context) -> Statement:
    """The query rows to L0A, a part of the head size after the other."""
    b = cube_buffers(context)

    def part(d0: Expr, width: Expr) -> Statement:
        return _left_operand(b.query, b.left, d0, _fractals(context, width), d0 * _PADDED_ROWS)

    return _over(context, context.padded_head_size, context.base_k, part)


def _fractals(context: Context, depth: Expr) -> Expr:
    """Fractals side by side that so many columns of a factor take."""
    return ceil_div(depth, fractal_depth(context.cube_dtype))


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
    part, step = _weighted_columns if _bands(context) == 1 else _banded_columns, context.value_n
    if loads_wide_values(context):
        part, step = _wide_columns, context.value_width
    columns = _over(
        context,
        context.padded_value_size,
        step,
        lambda d0, width: part(context, d0, width),
    )
    if _bands(context) == 1:
        if _holds_probabilities(context):
            context.inventory.require(size <= context.base_k, "one matrix multiply takes all keys of a tile")
            left = _left_operand(b.prob, b.left, as_expr(0), _fractals(context, KEYS))
            columns = Alloc(buffers=(b.left,), body=seq(left, columns))
        columns = Alloc(buffers=(b.prob,), body=seq(load, columns))
    body = seq(*tile_bounds(context), *context.values.locate(context), first_time(context, columns))
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
        src=b.product.region(),
        m=_PADDED_ROWS,
        where=where,
    )
    return Alloc(buffers=(b.product,), body=seq(over_keys, out))


def _wide_columns(context: Context, d0: Expr, width: Expr) -> Statement:
    """Weighted sums of columns of a tile that L1 takes at a time, the columns of a multiply after another."""
    values, b, cols = context.values, cube_buffers(context), Symbol("cols")
    context.inventory.require(context.value_width > context.value_n, "a copy brings columns of several sums")
    padded_size = context.padded_value_size
    over_keys = For(
        var=_K0,
        runs=True,
        end=KEYS,
        step=context.base_k,
        body=_wide_block(context, cols),
        where=values.where,
    )
    place = SLOT * context.rows.rows_per_task(context) * padded_size
    out = Fixpipe(
        dst=out_ring(context).region(place + d0 + _D1, TASK_ROWS, cols, padded_size),
        src=b.product.region(),
        m=_PADDED_ROWS,
        where=values.where,
    )
    over_columns = For(
        var=_D1,
        runs=True,
        end=width,
        step=context.value_n,
        body=seq(
            Let(symbol=cols, value=minimum(context.value_n, width - _D1)),
            Alloc(buffers=(b.product,), body=seq(over_keys, out)),
        ),
    )
    tile = values.load(context, b.value, as_expr(0), KEYS, d0, _true_width(context.value_dim, d0, width))
    return _in_l1(b.value, tile, over_columns)


def _wide_block(context: Context, width: Expr) -> Seq:
    """One matrix multiply: probabilities from key k0 on, values of the same keys from column d1 on."""
    values, b, depth = context.values, cube_buffers(context), Symbol("depth")
    image = _fractals(context, values.image_rows(b.value, KEYS))
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=_PADDED_ROWS,
        n=width,
        k=depth,
        initial=_is_first(_K0),
        where=values.where,
    )
    operands: Statement = Alloc(
        buffers=(b.right,), body=seq(_transposed(b.value, b.right, values, _K0, image, _D1), multiply)
    )
    if not _holds_probabilities(context):
        left = _left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS)
        operands = Alloc(buffers=(b.left,), body=seq(left, operands))
    return seq(
        Let(symbol=depth, value=minimum(context.base_k, KEYS - _K0)),
        Let(symbol=_DEPTH_FRACTALS, value=_fractals(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        operands,
    )


def _holds_probabilities(context: Context) -> bool:
    """Whether one matrix multiply takes all keys of a tile, so that L0A holds them for all columns."""
    return loads_wide_values(context) and context.schedule.tile_k <= context.schedule.base_k


def _banded_columns(context: Context, d0: Expr, width: Expr) -> Statement:
    """Weighted sums of a tile for each band of rows, the values of the tile in L1 for all of them."""
    values, b, size = context.values, cube_buffers(context), context.tile_keys
    piece, cols, padded_size = _piece(context), Symbol("pieceKeys"), context.padded_value_size
    slot = SLOT * context.rows.rows_per_task(context)
    load = LoadNz(
        dst=b.prob.region(),
        src=prob_ring(context).region((slot + _BAND) * size + _K1, _ROWS, cols, size),
        padded_rows=_ROW_GROUPS * FRACTAL_SIZE,
        where=values.where,
    )
    over_piece = For(
        var=_K0, runs=True, end=cols, step=context.base_k, body=_banded_block(context, cols, width)
    )
    over_keys = For(
        var=_K1,
        runs=True,
        end=_band_keys(context),
        step=piece,
        body=seq(
            Let(symbol=cols, value=minimum(piece, _band_keys(context) - _K1)),
            Alloc(buffers=(b.prob,), body=seq(load, over_piece)),
        ),
        where=values.where,
    )
    store = Fixpipe(
        dst=out_ring(context).region((slot + _BAND) * padded_size + d0, _ROWS, width, padded_size),
        src=b.product.region(),
        m=_ROW_GROUPS * FRACTAL_SIZE,
        where=values.where,
    )
    bands = _over_bands(context, Alloc(buffers=(b.product,), body=seq(over_keys, store)))
    tile = values.load(context, b.value, as_expr(0), KEYS, d0, _true_width(context.value_dim, d0, width))
    return _in_l1(b.value, tile, bands)


def _piece(context: Context) -> Named:
    """Keys of the probabilities that L1 holds of a band in one slot."""
    keys = minimum(context.tile_keys, 2 * context.base_k)
    return context.inventory.constant("probPiece", keys, "keys of the probabilities of a band in L1, a slot")


def _banded_block(context: Context, keys: Expr, width: Expr) -> Seq:
    """One matrix multiply of a band: probabilities from key k0 of their piece on, values of the same keys."""
    values, b, depth = context.values, cube_buffers(context), Symbol("depth")
    image = _fractals(context, values.image_rows(b.value, KEYS))
    left = _left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS, band=(Const(0), _ROW_GROUPS), rows=_ROW_GROUPS)
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=_ROW_GROUPS * FRACTAL_SIZE,
        n=width,
        k=depth,
        initial=(_K1 + _K0) == 0,
        where=values.where,
    )
    right = seq(_transposed(b.value, b.right, values, _K1 + _K0, image), multiply)
    return seq(
        Let(symbol=depth, value=minimum(context.base_k, keys - _K0)),
        Let(symbol=_DEPTH_FRACTALS, value=_fractals(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        Alloc(buffers=(b.left,), body=seq(left, Alloc(buffers=(b.right,), body=right))),
    )


def _weighted_block(context: Context, depth: Expr, d0: Expr, width: Expr) -> Statement:
    values, b = context.values, cube_buffers(context)
    load = values.load(context, b.value, _K0, depth, d0, _true_width(context.value_dim, d0, width))
    multiply = Mmad(
        dst=b.product.region(),
        a=b.left.region(),
        b=b.right.region(),
        m=_PADDED_ROWS,
        n=width,
        k=depth,
        initial=_is_first(_K0),
        where=values.where,
    )
    operands = seq(
        Let(symbol=_DEPTH_FRACTALS, value=_fractals(context, depth)),
        Let(symbol=_COLUMN_FRACTALS, value=ceil_div(width, FRACTAL_SIZE)),
        _left_operand(b.prob, b.left, _K0, _DEPTH_FRACTALS),
        Alloc(buffers=(b.right,), body=seq(_transposed(b.value, b.right, values), multiply)),
    )
    return _in_l1(b.value, load, Alloc(buffers=(b.left,), body=operands))


def _transposed(
    source: Buffer,
    target: Buffer,
    values: KeySource,
    k0: Expr | int = 0,
    image: Expr = _DEPTH_FRACTALS,
    column: Expr | int = 0,
) -> For:
    """A block of values, Nz in L1, as Zn right operand: every square transposed.

    A square of 16-bit data is a fractal, one of int8 two, of 16 rows each. The block begins at row ``k0`` and
    ``column`` of an image of ``image`` squares in a column.
    """
    depth = fractal_depth(source.dtype)
    first = column // depth * image + k0 // depth
    squares = _COLUMN_FRACTALS if depth.same(FRACTAL_SIZE) else _COLUMN_FRACTALS * FRACTAL_SIZE // depth
    load = LoadFractals(
        dst=target.region(_DEPTH_GROUP * _COLUMN_FRACTALS * _fractal(target)),
        src=source.region((first + _DEPTH_GROUP) * (depth * depth)),
        repeat=squares,
        src_stride=image,
        transpose=True,
        where=values.where,
    )
    return For(var=_DEPTH_GROUP, runs=True, end=_DEPTH_FRACTALS, body=seq(load), disjoint=(target,))


def _true_width(true: Expr, d0: Expr, width: Expr) -> Expr:
    """Columns that exist in global memory; up to ``width`` they are padded with zeros."""
    return true if isinstance(d0, Const) else minimum(width, true - d0)


def _is_first(position: Expr) -> Expr:
    return Const(True) if isinstance(position, Const) else position == 0


def _in_l1(block: Buffer, load: Statement, operands: Statement) -> Statement:
    where_to = Note(text="to L1 (row by row if the pitch exceeds one copy's limit), then to L0A and L0B")
    return Alloc(buffers=(block,), body=seq(where_to, load, operands))


def _left_operand(
    source: Buffer,
    target: Buffer,
    k0: Expr,
    depth: Expr,
    place: Expr | int = 0,
    band: tuple[Expr, Expr] = (Const(0), ROW_FRACTALS),
    rows: Expr = ROW_FRACTALS,
) -> For:
    """``depth`` fractals from column k0 of an Nz matrix in L1 to Zz in L0A, row of fractals by row.

    Nz holds the fractals of a column of the matrix one after the other, Zz those of a row. ``place``:
    elements of the target before them. ``band``: the first row of fractals and their number, of ``rows``.
    """
    begin, count = band
    first = k0 // fractal_depth(source.dtype) * rows + begin
    load = LoadFractals(
        dst=target.region(place + _ROW_GROUP * depth * _fractal(target)),
        src=source.region((first + _ROW_GROUP) * _fractal(source)),
        repeat=depth,
        src_stride=rows,
    )
    return For(var=_ROW_GROUP, end=count, body=seq(load), disjoint=(target,), runs=True)


def _fractal(buffer: Buffer) -> Expr:
    """Elements of a fractal."""
    return FRACTAL_SIZE * fractal_depth(buffer.dtype)
