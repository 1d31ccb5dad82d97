"""Finished rows: to the output, or as partials of a key split that are merged afterwards.

The merge of splits is the log-sum-exp merge of flash decoding: with maxima m_i, sums l_i and unnormalised
weighted sums o_i,  out = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m),  m = max_i m_i.
"""

from __future__ import annotations

from attndsl.hardware import ATLAS_A2, Core
from attndsl.schedule.context import (
    BATCH,
    CHUNK,
    HEAD,
    ITEM,
    KV_HEAD,
    LOWEST,
    R0,
    ROW_BEGIN,
    ROWS,
    Context,
    chunks,
)
from attndsl.schedule.vector import broadcast, normalise_and_store, scale_rows
from attndsl.symbolic import Const, Expr, Symbol, as_expr, ceil_div, minimum
from attndsl.tile.buffers import GlobalRegion
from attndsl.tile.instructions import Binary, Fill, LoadRows, StoreRows, Unary, WithScalar
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.statements import Alloc, For, If, Let, Note, Stage, Statement, seq

_UNIT = Symbol("unit")
_PART = Symbol("part")
_STEPS = Symbol("stepsPerGroup")
_FIRST = Symbol("firstItem")


def write_rows(context: Context) -> Stage:
    """An item's rows: to the output where it covered all keys, else to the workspace as a partial."""
    where = context.attention.output.where
    group, bucket = context.scalar("group"), context.constant("headDimBucket")

    def finish(r0: Expr, chunk: Expr) -> list[Statement]:
        head = Let(symbol=HEAD, value=KV_HEAD * group + ROW_BEGIN + r0)
        return [head, normalise_and_store(context, r0, _output_rows(context))]

    row = ITEM * group + ROW_BEGIN
    partial = seq(
        StoreRows(dst=context.gm("partialMax", row, 1, ROWS), src=context.region("rowMax", 0, 1, ROWS)),
        StoreRows(dst=context.gm("partialSum", row, 1, ROWS), src=context.region("rowSum", 0, 1, ROWS)),
        StoreRows(
            dst=context.gm("partialOut", row * bucket, 1, ROWS * bucket),
            src=context.region("accumulator", 0, 1, ROWS * bucket),
        ),
    )
    step = context.constant("rowsPerStep")
    body = If(
        condition=context.scalar("splits") == 1,
        then=seq(chunks(ROWS, step, finish, where)),
        otherwise=partial,
        where=where,
    )
    doc = "Rows of a finished item: normalised to the output, or kept as a partial of their key split."
    return Stage(name="WriteRows", core=Core.AIV, doc=doc, body=seq(body), where=where)


def _output_rows(context: Context) -> GlobalRegion:
    """The result's rows from query head ``head`` of ``batch`` on."""
    output = context.attention.output.name
    pitch = context.stride(output, "N")
    offset = BATCH * context.stride(output, "B") + HEAD * pitch
    return context.gm(output, offset, CHUNK, context.scalar("headDim"), pitch)


def merge_splits(context: Context) -> Stage:
    """All vector cores together: each takes steps of rows and merges their splits."""
    where = context.attention.output.where
    group, step = context.scalar("group"), context.constant("rowsPerStep")
    kv_heads, splits = context.scalar("kvHeads"), context.scalar("splits")
    vector_index = BLOCK_INDEX * ATLAS_A2.aiv_per_aic + SUB_BLOCK
    pair = _UNIT // _STEPS
    state = tuple(context.buffers[name] for name in ("rowMax", "rowSum", "accumulator"))
    target = _output_rows(context)
    one_unit = seq(
        Let(symbol=R0, value=_UNIT % _STEPS * step),
        Let(symbol=CHUNK, value=minimum(step, group - R0)),
        Let(symbol=KV_HEAD, value=pair % kv_heads),
        Let(symbol=BATCH, value=pair // kv_heads),
        Let(symbol=HEAD, value=KV_HEAD * group + R0),
        Let(symbol=_FIRST, value=pair * splits),
        Alloc(
            buffers=state,
            body=seq(
                Fill(dst=context.region("rowMax", 0, 1, CHUNK), value=LOWEST),
                Fill(dst=context.region("rowSum", 0, 1, CHUNK), value=Const(0)),
                Fill(
                    dst=context.region("accumulator", 0, 1, CHUNK * context.constant("headDimBucket")),
                    value=Const(0),
                ),
                For(
                    var=_PART,
                    end=splits,
                    body=seq(_merge_one(context, (_FIRST + _PART) * group + R0)),
                    runs=True,
                ),
                normalise_and_store(context, as_expr(0), target),
            ),
        ),
    )
    units = context.scalar("pairs") * _STEPS
    body = seq(
        Let(symbol=_STEPS, value=ceil_div(group, step)),
        For(
            var=_UNIT,
            begin=vector_index,
            end=units,
            step=BLOCK_COUNT * ATLAS_A2.aiv_per_aic,
            body=one_unit,
            where=where,
        ),
    )
    doc = "Log-sum-exp merge of the key splits of each row; all vector cores share the rows."
    return Stage(name="MergeSplits", core=Core.AIV, doc=doc, body=body, where=where)


def _merge_one(context: Context, row: Expr) -> Statement:
    bucket = context.constant("headDimBucket")
    row_max, row_sum = context.region("rowMax", 0, 1, CHUNK), context.region("rowSum", 0, 1, CHUNK)
    part_max, part_sum = context.region("partMax", 0, 1, CHUNK), context.region("partSum", 0, 1, CHUNK)
    new_max, old_scale = context.region("newMax", 0, 1, CHUNK), context.region("tileStat", 0, 1, CHUNK)
    part_scale = context.region("rescale", 0, 1, CHUNK)
    accumulator = context.region("accumulator", 0, 1, CHUNK * bucket)
    partial = context.region("partial", 0, 1, CHUNK * bucket)
    body = seq(
        LoadRows(dst=part_max, src=context.gm("partialMax", row, 1, CHUNK)),
        LoadRows(dst=part_sum, src=context.gm("partialSum", row, 1, CHUNK)),
        LoadRows(dst=partial, src=context.gm("partialOut", row * bucket, 1, CHUNK * bucket)),
        Note(text="newMax = max(rowMax, partMax); both sides are rescaled to it and added"),
        Binary(op="Max", dst=new_max, first=row_max, second=part_max),
        Binary(op="Sub", dst=old_scale, first=row_max, second=new_max),
        Binary(op="Sub", dst=part_scale, first=part_max, second=new_max),
        Unary(op="Exp", dst=old_scale, src=old_scale),
        Unary(op="Exp", dst=part_scale, src=part_scale),
        WithScalar(op="Adds", dst=row_max, src=new_max, scalar=Const(0)),
        broadcast(context, "rowBlocks", "tileStat"),
        broadcast(context, "otherBlocks", "rescale"),
        Binary(op="Mul", dst=row_sum, first=row_sum, second=old_scale),
        Binary(op="Mul", dst=part_sum, first=part_sum, second=part_scale),
        Binary(op="Add", dst=row_sum, first=row_sum, second=part_sum),
        scale_rows(context, "Mul", "accumulator", 0, "rowBlocks"),
        scale_rows(context, "Mul", "partial", 0, "otherBlocks"),
        Binary(op="Add", dst=accumulator, first=accumulator, second=partial),
    )
    statistics = (context.buffers["partMax"], context.buffers["partSum"])
    rows = Alloc(buffers=(context.buffers["partial"],), body=body)
    return Alloc(buffers=statistics, body=seq(rows))
