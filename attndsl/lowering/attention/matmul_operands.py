"""Operands of the cube's matrix multiplies: parts of a head, bands of rows, fractals on their way to L0."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.expr import Const, Expr, Named, Symbol, as_expr, ceil_div, minimum
from attndsl.lowering.attention.key_range import (
    begins_by_band,
    keys_before_rows,
    keys_of_rows,
    sees_by_band,
)
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import KEYS, ROW_FRACTALS, SKIPPED_KEYS, TASK_ROWS
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import LoadFractals, LoadNz
from attndsl.tile.instructions.cube import FRACTAL_SIZE, fractal_depth
from attndsl.tile.statements import Alloc, For, Let, Note, Statement, seq

_D0 = Symbol("d0")
D1 = Symbol("d1")
_ROW_GROUP = Symbol("rowGroup")
PADDED_ROWS = ROW_FRACTALS * FRACTAL_SIZE
BAND = Symbol("band")
ROWS_OF_BAND = Symbol("bandRows")
FRACTALS_OF_BAND = Symbol("bandFractals")
KEYS_OF_BAND = Symbol("bandKeys")


def over_parts(
    context: Context,
    extent: Named,
    step: Named,
    block: Callable[[Expr, Expr], Statement],
    what: str = "a head",
    scalars: tuple[Symbol, Symbol] = (_D0, Symbol("width")),
) -> Statement:
    """``block(d0, width)`` for every part of a head size; no loop where there is one part.

    ``what``: whose parts they are, if not those of a head; ``scalars``: what d0 and width are called.
    """
    require = context.inventory.require
    if int(extent.value) <= int(step.value):
        require(extent <= step, f"one matrix multiply takes {what.replace('a ', 'a whole ', 1)}")
        return block(as_expr(0), extent)
    require(extent > step, f"several matrix multiplies take the parts of {what}")
    if _divides(step, extent):
        require((extent % step) == 0, f"the parts of {what} are alike")
    first, width = scalars
    bound = step if _divides(step, extent) else minimum(step, extent - first)
    body = seq(Let(symbol=width, value=bound), block(first, width))
    return For(var=first, end=extent, step=step, body=body, runs=True)


def over_kept_columns(
    context: Context, extent: Named, step: Named, block: Callable[[Expr, Expr], Statement]
) -> Statement:
    """``block(d1, cols)`` for the channels of a slice of the kept keys that one matrix multiply takes."""
    return over_parts(context, extent, step, block, "a slice of the kept keys", (D1, Symbol("cols")))


def _divides(step: Named, extent: Named) -> bool:
    return int(extent.value) % int(step.value) == 0


def over_bands(context: Context, body: Statement) -> Statement:
    """``body`` for each band of the task's rows, ``band`` its first."""
    size = context.rows_per_band
    rows = Let(symbol=ROWS_OF_BAND, value=minimum(size, TASK_ROWS - BAND))
    groups = Let(symbol=FRACTALS_OF_BAND, value=ceil_div(ROWS_OF_BAND, FRACTAL_SIZE))
    begin: list[Statement] = [rows, groups]
    if sees_by_band(context):
        seen = keys_of_rows(context, KEYS, BAND, BAND + ROWS_OF_BAND - 1)
        begin.append(Let(symbol=KEYS_OF_BAND, value=seen, where=context.keys.where))
    if begins_by_band(context):
        skipped = keys_before_rows(context, band_keys(context), BAND, BAND + ROWS_OF_BAND - 1)
        begin.append(Let(symbol=SKIPPED_KEYS, value=skipped, where=context.keys.where))
    return For(var=BAND, end=TASK_ROWS, step=size, body=seq(*begin, body), runs=True)


def band_keys(context: Context) -> Expr:
    """Keys of the tile that the running band of rows may see."""
    return KEYS_OF_BAND if sees_by_band(context) else KEYS


def fractals_of(context: Context, depth: Expr) -> Expr:
    """Fractals side by side that so many columns of a factor take."""
    return ceil_div(depth, fractal_depth(context.cube_dtype))


def left_operand(
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
        dst=target.region(place + _ROW_GROUP * depth * fractal_elements(target)),
        src=source.region((first + _ROW_GROUP) * fractal_elements(source)),
        repeat=depth,
        src_stride=rows,
    )
    return For(var=_ROW_GROUP, end=count, body=seq(load), disjoint=(target,), runs=True)


def in_l1(block: Buffer, load: Statement, operands: Statement) -> Statement:
    """``operands``, the block that they come from in L1 while they last."""
    if any(isinstance(item, LoadNz) for item in load.walk()):
        how = "to L1 (row by row if the pitch exceeds one copy's limit)"
    else:
        how = "to L1, whose order of fractals it has already"
    return Alloc(buffers=(block,), body=seq(Note(text=f"{how}, then to L0A and L0B"), load, operands))


def true_width(true: Expr, d0: Expr, width: Expr) -> Expr:
    """Columns that exist in global memory; up to ``width`` they are padded with zeros."""
    return true if isinstance(d0, Const) else minimum(width, true - d0)


def is_first(position: Expr) -> Expr:
    """Whether a part is the first of a sum."""
    return Const(True) if isinstance(position, Const) else position == 0


def fractal_elements(buffer: Buffer) -> Expr:
    """Elements of a fractal."""
    return FRACTAL_SIZE * fractal_depth(buffer.dtype)
