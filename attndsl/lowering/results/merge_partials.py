"""The log-sum-exp merge of partial rows, once all vector cores have met (write_rows.py has the formula).

Rows are taken by their flat index, a step of neighbouring heads of one token at a time, whatever tasks they
came from; statistics stay one block a row, as the workspace holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from attndsl.expr import Const, Symbol, as_expr, ceil_div, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_HEAD, HEAD, LOWEST, QUERY, SMALLEST, STEP_ROWS
from attndsl.lowering.emit.row_operations import scale_rows
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES, partial_max, partial_out, partial_sum
from attndsl.lowering.match.computation import Term
from attndsl.lowering.results.epilogue_rules import epilogue, operations
from attndsl.lowering.results.row_numbers import RowStatistics
from attndsl.lowering.results.row_statistics import store_statistics
from attndsl.lowering.results.write_rows import row_total
from attndsl.lowering.rows.row_space import RowRun
from attndsl.target import Core
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, Fill, LoadRows, Unary, WithScalar
from attndsl.tile.instructions.units import VECTOR_CORES
from attndsl.tile.program import BLOCK_COUNT, BLOCK_INDEX, SUB_BLOCK
from attndsl.tile.scalars import free
from attndsl.tile.statements import Alloc, For, If, Let, Note, Seq, Stage, Statement, seq

_UNIT, _UNITS, _STEPS = Symbol("unit"), Symbol("units"), Symbol("stepsPerToken")
_TOKEN, _PART, _ROW0, _ROW = Symbol("token"), Symbol("part"), Symbol("firstRow"), Symbol("row")
_PARTIAL_ROW, _LANES = Symbol("partialRow"), STEP_ROWS * STATISTIC_LANES


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Row statistics, one block a row: the merged ones, those of a part, and scratch."""

    merged_max: Buffer
    merged_sum: Buffer
    part_max: Buffer
    part_sum: Buffer
    new_max: Buffer
    rescale: Buffer


def merge_partials(contexts: tuple[Context, ...]) -> Statement:
    """The merge; of a single attention only where its keys are split."""
    merged = _merge_stage(contexts)
    if len(contexts) > 1:
        return merged
    return If(condition=contexts[0].splits > 1, then=seq(merged))


def _merge_stage(contexts: tuple[Context, ...]) -> Stage:
    """All vector cores together: each takes steps of rows and merges their partials."""
    context = contexts[0]
    where, step = context.where, context.rows_per_step
    accumulator = vector_buffers(context).accumulator
    heads = context.host(context.signature.extents["N"])
    terms = context.computation.terms
    rows = _sum_of_attentions(context) if terms else accumulator
    first_head = Let(symbol=HEAD, value=FIRST_HEAD)
    leave = Stage(
        name="WriteMerged",
        core=Core.AIV,
        doc="The merged rows of a step to the output.",
        body=seq(first_head, epilogue(context, rows, as_expr(0), _MERGED)),
        where=where,
    )
    merged = seq(*(_added(contexts, terms) if terms else _merged(contexts)))
    body = seq(first_head if HEAD.name in free(merged) else None, merged, leave)
    one_unit = seq(
        Let(symbol=_TOKEN, value=_UNIT // _STEPS),
        Let(symbol=FIRST_HEAD, value=_UNIT % _STEPS * step),
        Let(symbol=STEP_ROWS, value=minimum(step, heads - FIRST_HEAD)),
        Let(symbol=_ROW0, value=_TOKEN * heads + FIRST_HEAD),
        *context.rows.enter_token(context, _TOKEN),
        _if_it_exists(context, body),
    )
    loop = For(
        var=_UNIT,
        begin=BLOCK_INDEX * VECTOR_CORES + SUB_BLOCK,
        end=_UNITS,
        step=BLOCK_COUNT * VECTOR_CORES,
        body=one_unit,
        where=where,
    )
    counts = (
        Let(symbol=_STEPS, value=ceil_div(heads, step)),
        Let(symbol=_UNITS, value=row_total(context) // heads * _STEPS),
    )
    doc = "Log-sum-exp merge of the partials of each row; all vector cores share the rows."
    return Stage(name="MergePartials", core=Core.AIV, doc=doc, body=seq(*counts, loop), where=where)


def _merged(contexts: Sequence[Context]) -> list[Statement]:
    """The rows of some attentions, merged and normalized, in the accumulator."""
    context = contexts[0]
    b, accumulator = _blocks(context), vector_buffers(context).accumulator
    merged_sum = _lanes(b.merged_sum)
    return [
        Fill(dst=_lanes(b.merged_max), value=LOWEST),
        Fill(dst=merged_sum, value=Const(0)),
        Fill(dst=whole(accumulator, 0, STEP_ROWS * context.padded_value_size), value=Const(0)),
        *(_parts_of(each) for each in contexts),
        *store_statistics(context, _BEFORE_CLAMP),
        Note(text="result = accumulator / sum; a row without keys has sum 0 and gives zeros"),
        WithScalar(op="Maxs", dst=merged_sum, src=merged_sum, scalar=SMALLEST),
        scale_rows(context, "Div", accumulator, 0, b.merged_sum),
    ]


def _added(contexts: Sequence[Context], terms: Sequence[Term]) -> list[Statement]:
    """The sum of what becomes of the rows of each attention."""
    context = contexts[0]
    accumulator, span = vector_buffers(context).accumulator, STEP_ROWS * context.padded_value_size
    total, rows = whole(_sum_of_attentions(context), 0, span), whole(accumulator, 0, span)
    found: list[Statement] = [Fill(dst=total, value=Const(0))]
    for each, term in zip(contexts, terms, strict=True):
        op = "Sub" if term.negative else "Add"
        found += [
            *_merged([each]),
            *operations(context, term.operations, accumulator, as_expr(0), _MERGED),
            Binary(op=op, dst=total, first=total, second=rows, where=each.where),
        ]
    return found


def _sum_of_attentions(context: Context) -> Buffer:
    """The sum of several attentions."""
    size = context.rows_per_step * context.padded_value_size
    return context.in_ub("combined", "float32", size, "sum of the rows of several attentions")


def _if_it_exists(context: Context, row: Statement) -> Statement:
    """Padded positions have no partials."""
    existing = context.rows.existing_queries(context)
    return row if existing is None else If(condition=existing > QUERY, then=seq(row))


def _each_run(
    body: Callable[[RowRun], Statement], touched: tuple[Buffer, ...] = (), *, spread: bool = True
) -> Seq:
    """The heads of a step: neighbours of one token."""
    if spread:
        return seq(body(RowRun(Const(0), STEP_ROWS, "N")))
    one = seq(Let(symbol=HEAD, value=FIRST_HEAD + _ROW), body(RowRun(_ROW, Const(1), "N")))
    return seq(For(var=_ROW, end=STEP_ROWS, body=one, disjoint=touched, runs=True))


def _spread(context: Context, kind: type[nodes.Node], target: Buffer) -> Statement:
    """The merged maxima or sums of the step's rows, copied."""
    b = _blocks(context)
    held = {nodes.RowMax: b.merged_max, nodes.RowSum: b.merged_sum}
    return WithScalar(op="Adds", dst=_lanes(target), src=_lanes(held[kind]), scalar=Const(0))


_MERGED = RowStatistics(_spread, True, _each_run, _each_run)
_BEFORE_CLAMP = replace(_MERGED, clamped=False)


def _parts_of(context: Context) -> Statement:
    """The partials that the key splits of one attention left of these rows."""
    loop = For(var=_PART, end=context.splits, body=_merge_one(context), runs=True)
    stage = context.stage(
        "MergeParts",
        Core.AIV,
        doc=(
            "The partials that key splits left of the rows of a step, merged into the rows: both sides are "
            "rescaled to the larger maximum and added."
        ),
        body=seq(loop),
        where=context.where,
    )
    present = context.keys.has_rows(context)
    return stage if present is None else If(condition=present, then=seq(stage))


def _merge_one(context: Context) -> Seq:
    b, state = _blocks(context), vector_buffers(context)
    padded_size = context.padded_value_size
    accumulator, partial = (
        whole(buffer, 0, STEP_ROWS * padded_size) for buffer in (state.accumulator, state.partial)
    )
    merged_max, merged_sum, part_max, part_sum, new_max, rescale = (
        _lanes(buffer)
        for buffer in (b.merged_max, b.merged_sum, b.part_max, b.part_sum, b.new_max, b.rescale)
    )
    place = _PARTIAL_ROW * STATISTIC_LANES
    rows = partial_out(context).region(_PARTIAL_ROW * padded_size, 1, STEP_ROWS * padded_size)
    body = seq(
        LoadRows(dst=part_max, src=partial_max(context).region(place, 1, _LANES)),
        LoadRows(dst=part_sum, src=partial_sum(context).region(place, 1, _LANES)),
        LoadRows(dst=partial, src=rows),
        Binary(op="Max", dst=new_max, first=merged_max, second=part_max),
        Binary(op="Sub", dst=rescale, first=merged_max, second=new_max),
        Binary(op="Sub", dst=part_max, first=part_max, second=new_max),
        Unary(op="Exp", dst=rescale, src=rescale),
        Unary(op="Exp", dst=part_max, src=part_max),
        WithScalar(op="Adds", dst=merged_max, src=new_max, scalar=Const(0)),
        Binary(op="Mul", dst=merged_sum, first=merged_sum, second=rescale),
        Binary(op="Mul", dst=part_sum, first=part_sum, second=part_max),
        Binary(op="Add", dst=merged_sum, first=merged_sum, second=part_sum),
        scale_rows(context, "Mul", state.accumulator, 0, b.rescale),
        scale_rows(context, "Mul", state.partial, 0, b.part_max),
        Binary(op="Add", dst=accumulator, first=accumulator, second=partial),
    )
    # what the place of the rows waits for orders the statistics, too, which have no other use
    merged = Alloc(buffers=(state.partial,), body=seq(Alloc(buffers=(b.part_max, b.part_sum), body=body)))
    return seq(Let(symbol=_PARTIAL_ROW, value=_PART * row_total(context) + _ROW0), merged)


def _blocks(context: Context) -> _Blocks:
    s = context.schedule

    def made(name: str, meaning: str, slots: int = 1) -> Buffer:
        return context.in_ub(name, "float32", context.rows_per_step * STATISTIC_LANES, meaning, slots)

    return _Blocks(
        merged_max=made("mergedMax", "maximum of the merged rows"),
        merged_sum=made("mergedSum", "sum of the merged rows"),
        part_max=made("partMax", "row maximum of one partial, then exp(it - new max)", s.result_slots),
        part_sum=made("partSum", "row sum of one partial", s.result_slots),
        new_max=made("newMaxBlocks", "maximum including the partial"),
        rescale=made("mergedRescale", "exp(old max - new max) of merged rows"),
    )


def _lanes(buffer: Buffer) -> Region:
    """The statistics of the step's rows, one block a row."""
    return whole(buffer, 0, _LANES)
