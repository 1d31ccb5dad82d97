"""Zeros for result rows of queries that do not exist.

Batch rows are padded to one number of positions; those after the last query of a batch row are zeros.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol, as_expr
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import HEAD, QUERY
from attndsl.lowering.emit.shorthands import in_steps, whole
from attndsl.lowering.emit.vector_buffers import has_long_rows, vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.padded_queries import pads_rows
from attndsl.lowering.results.epilogue_rules import result_rows
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Convert, Fill, StoreRows
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Seq, Stage, Statement, seq

_TOKEN = Symbol("token")


def has_padding(context: Context) -> bool:
    """Whether batch rows are padded to one number of positions."""
    return any(pads_rows(node) for node in context.computation.epilogue)


def zero_padding(context: Context) -> Stage:
    """Zeros in all rows after the last query of their batch row; the vector cores share the positions.

    Raises:
        NotLowered: batch rows are not padded: packed, or of one position each.
    """
    where, pitch = context.where, as_expr(context.padded_value_size)
    name = context.computation.output.name
    dtype = context.parameter(name).dtype
    if dtype == "int8":  # made of fp16, and rows start on a block
        block = context.architecture.block
        pitch = Const(-(-context.signature.padded_value_size // block) * block)
    size = context.rows_per_step * pitch
    zeros, wide = _zeros(context, dtype, size)
    heads = context.host(context.signature.extents["N"])
    positions = context.host(context.signature.extents["Q"])
    batch = context.host(context.signature.extents["B"])

    def one_step(head: Expr, count: Expr) -> list[Statement]:
        rows = zeros.region(0, count, context.value_dim, pitch)
        place = context.rows.place(context, name, RowRun(Const(0), count, "N"), context.value_dim)
        return [StoreRows(dst=place, src=rows, where=where)]

    steps = in_steps(heads, context.rows_per_step, one_step, where, HEAD)
    enter, existing = context.rows.enter_token(context, _TOKEN), context.rows.existing_queries(context)
    if existing is None:
        raise NotLowered("zeros for positions of batch rows that are not padded", where)
    one = seq(*enter, If(condition=existing <= QUERY, then=seq(steps)))
    loop = For(
        var=_TOKEN,
        begin=BLOCK_INDEX * VECTOR_CORES + SUB_BLOCK,
        end=batch * positions,
        step=BLOCK_COUNT * VECTOR_CORES,
        body=one,
        where=where,
    )
    body = _filled(zeros, wide, loop, shared=_shares_rows(context, dtype))
    doc = "Zeros for the positions after the last query of each batch row."
    return Stage(name="ZeroPadding", core=Core.AIV, doc=doc, body=body, where=where)


def _shares_rows(context: Context, dtype: str) -> bool:
    """Whether zeros take the place of partials and of finished rows, of which long ones leave no room."""
    return has_long_rows(context) and dtype not in ("float32", "int8")


def _zeros(context: Context, dtype: str, size: Expr) -> tuple[Buffer, Buffer | None]:
    """A buffer for zeros, and one of a dtype that vector instructions fill, where they do not fill it."""
    if dtype == "float32":
        return context.in_ub("zeroRows", dtype, size, "rows of zeros"), None
    if _shares_rows(context, dtype):
        return result_rows(context, dtype, context.padded_value_size), vector_buffers(context).partial
    wide = context.in_ub("zeroWide", "float16" if dtype == "int8" else "float32", size, "zeros")
    return context.in_ub("zeroRows", dtype, size, "rows of zeros"), wide


def _filled(zeros: Buffer, wide: Buffer | None, loop: Statement, *, shared: bool) -> Seq:
    """``loop`` with zeros in their buffer; ``shared``: for so long nothing else stands there."""
    if wide is None:
        return seq(Fill(dst=whole(zeros), value=Const(0.0)), loop)
    fill = Fill(dst=whole(wide), value=Const(0.0))
    convert = Convert(dst=whole(zeros), src=whole(wide), mode="CAST_RINT")
    if not shared:
        return seq(fill, convert, loop)
    filled = Alloc(buffers=(wide,), body=seq(fill, convert))
    return seq(Alloc(buffers=(zeros,), body=seq(filled, loop)))
