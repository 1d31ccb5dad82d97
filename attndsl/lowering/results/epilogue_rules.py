"""The epilogue: operations on complete rows before they are stored, one entry of a table for each kind.

Rows arrive normalized, in fp32, and leave in the dtype of the result. A new kind of operation is an entry of
the table below and its test; a new elementwise operation is a line of operands/elementwise_ops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attndsl.expr import Const, Expr, Load, Scope, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import STEP_ROWS
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.vector_buffers import leaving_rows, vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.padded_queries import pads_rows
from attndsl.lowering.match.stored_inputs import stored_plain
from attndsl.lowering.results.elementwise_results import FORMS, row_operation
from attndsl.lowering.results.only_tile import finishes_only_tiles
from attndsl.lowering.results.row_numbers import RowStatistics
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Binary, Convert, LoadRows, StoreRows, WithScalar
from attndsl.tile.instructions.units import block_elements
from attndsl.tile.statements import Alloc, For, If, Note, Seq, Statement, seq

_INT8_BLOCK = block_elements("int8")
_ROW = Symbol("row")


@dataclass(frozen=True, kw_only=True)
class EpilogueRule:
    """How one kind of operation on complete rows is lowered.

    Attributes:
        lower: its statements for the rows of a step at ``source[offset]``, fp32 in place, with the statistics
            of the rows; raises NotLowered for an operation that the kind does not cover.
        keeps_zeros: whether zeros of padded positions stay zeros, so that it may come after them.
        rounds: whether rows have numbers of an integer result after it.
    """

    lower: Callable[[Context, nodes.Node, Buffer, Expr, RowStatistics], list[Statement]]
    keeps_zeros: Callable[[nodes.Node], bool] = lambda node: False
    rounds: bool = False


def epilogue(context: Context, source: Buffer, offset: Expr, rows: RowStatistics) -> Seq:
    """The normalized rows of a step at ``source[offset]``: the epilogue, then rounded and stored.

    ``rows``: the statistics of these rows, and how to go over them.

    Raises:
        NotLowered: for a node without a rule.
    """
    steps = operations(context, context.computation.epilogue, source, offset, rows)
    return seq(*steps, _rounded(context, source, offset, rows))


def operations(
    context: Context, chain: Sequence[nodes.Node], source: Buffer, offset: Expr, rows: RowStatistics
) -> list[Statement]:
    """Operations on the rows of a step at ``source[offset]``, one after the other.

    Raises:
        NotLowered: for a node without a rule.
    """
    steps: list[Statement] = []
    for node in chain:
        rule = EPILOGUE_RULES.get(type(node))
        if rule is None:
            raise NotLowered(f"{type(node).__name__} of the result", node.where, FORMS)
        steps += rule.lower(context, node, source, offset, rows)
    return steps


def _rounded(context: Context, source: Buffer, offset: Expr, step: RowStatistics) -> Statement:
    """The rows in the dtype of the result, stored."""
    name, width = context.computation.output.name, context.value_dim
    dtype = context.parameter(name).dtype
    pitch = _pitch(context, dtype)
    result = result_rows(context, dtype, pitch)

    def store(run: RowRun) -> Statement:
        target = context.rows.place(context, name, run, width)
        return StoreRows(dst=target, src=result.region(run.row * pitch, run.rows, width, pitch))

    convert = {"int8": _to_int8, "float32": _as_they_are}.get(dtype, _to_floats)
    return Alloc(
        buffers=(result,),
        body=seq(convert(context, source, offset, result, pitch), step.each_stored_run(store)),
    )


def result_rows(context: Context, dtype: str, pitch: Const) -> Buffer:
    """Where the rows of a step leave from in the dtype of the result, ``pitch`` lanes each.

    Where rows of only tiles leave from the place of probabilities, those of several tiles do, too.
    """
    meaning = "finished rows in the dtype of the result"
    if dtype == "float32":
        return leaving_rows(context, "result", meaning)
    if finishes_only_tiles(context):
        return vector_buffers(context).prob
    slots = context.schedule.result_slots
    return context.in_ub("result", dtype, context.rows_per_step * pitch, meaning, slots)


def _pitch(context: Context, dtype: str) -> Const:
    """Lanes of a row of the result: rows start on a block."""
    padded_size = context.padded_value_size
    padded = -(-int(padded_size.value) // _INT8_BLOCK) * _INT8_BLOCK
    return padded_size if dtype != "int8" or padded == padded_size.value else Const(padded)


def _to_floats(context: Context, source: Buffer, offset: Expr, result: Buffer, pitch: Const) -> Statement:
    span = STEP_ROWS * context.padded_value_size
    # running sums take several banks: their rows seldom meet the result's
    apart = context.gathers_sums
    rows, target = whole(source, offset, span), whole(result, 0, span)
    return Convert(dst=target, src=rows, mode="CAST_RINT", apart=apart, where=context.where)


def _as_they_are(context: Context, source: Buffer, offset: Expr, result: Buffer, pitch: Const) -> Statement:
    """fp32 rows leave from a buffer of their own, so that the next rows do not wait for the store."""
    span = STEP_ROWS * context.padded_value_size
    copied = whole(result, 0, span)
    return WithScalar(
        op="Adds", dst=copied, src=whole(source, offset, span), scalar=Const(0), where=context.where
    )


def _to_int8(context: Context, source: Buffer, offset: Expr, result: Buffer, pitch: Const) -> Statement:
    """Integral fp32 rows by way of fp16, which holds them exactly; row by row where rows get wider."""
    padded_size, span = context.padded_value_size, STEP_ROWS * pitch
    elements = context.rows_per_step * pitch
    half = context.in_ub("resultHalf", "float16", elements, "integer-valued results in fp16")
    row = Convert(
        dst=whole(half, _ROW * pitch, padded_size),
        src=whole(source, offset + _ROW * padded_size, padded_size),
        mode="CAST_RINT",
    )
    by_row = For(var=_ROW, end=STEP_ROWS, body=seq(row), disjoint=(half,), runs=True)
    at_once = Convert(dst=whole(half, 0, span), src=whole(source, offset, span), mode="CAST_RINT")
    return seq(
        at_once if pitch.same(padded_size) else by_row,
        Convert(dst=whole(result, 0, span), src=whole(half, 0, span), mode="CAST_RINT"),
    )


def _quantize(
    context: Context, node: nodes.Node, source: Buffer, offset: Expr, step: RowStatistics
) -> list[Statement]:
    """``clip(round_half_even(x * scale + offset))``, integral in fp32 afterwards; fp16 holds it exactly."""
    assert isinstance(node, nodes.Quantize)
    rows = whole(source, offset, STEP_ROWS * context.padded_value_size)
    steps = [_by_channel(context, node.scale, "Mul", source, offset, step)]
    if node.offset is not None:
        steps.append(_by_channel(context, node.offset, "Add", source, offset, step))
    line = context.spec_line(node.where)
    return [
        Note(text=f"result = clip(round(result * scale + offset), -128, 127)  ({line})"),
        *steps,
        Convert(dst=rows, src=rows, mode="CAST_RINT", where=node.where),
        WithScalar(op="Maxs", dst=rows, src=rows, scalar=Const(-128.0)),
        WithScalar(op="Mins", dst=rows, src=rows, scalar=Const(127.0)),
    ]


def _by_channel(
    context: Context, factor: nodes.Node, op: str, source: Buffer, offset: Expr, step: RowStatistics
) -> Statement:
    """``rows = rows op factor``, where the fp32 factor is one number or one a channel of each head."""
    tensor = stored_plain(factor)
    padded_size, name, s = context.padded_value_size, tensor.name, context.schedule
    rows = whole(source, offset, STEP_ROWS * padded_size)
    one_for_all = context.stride(name, "E")
    number = Load(name, Const(0), scope=Scope.GLOBAL)
    scalar = WithScalar(op=f"{op}s", dst=rows, src=rows, scalar=number, where=factor.where)
    if isinstance(one_for_all, Const):
        return scalar
    meaning = "a factor of the rows"
    loaded = context.in_ub(
        "factorRows", "float32", context.rows_per_step * padded_size, meaning, s.result_slots
    )

    def load(run: RowRun) -> Statement:
        target = loaded.region(run.row * padded_size, run.rows, context.value_dim, padded_size)
        return LoadRows(dst=target, src=context.rows.place(context, name, run, context.value_dim))

    combine = Binary(
        op=op, dst=rows, first=rows, second=whole(loaded, 0, STEP_ROWS * padded_size), where=factor.where
    )
    spread = context.rows.has_nonzero_stride(context, name, within="E")
    by_row = Alloc(buffers=(loaded,), body=seq(step.each_run(load, (loaded,), spread=spread), combine))
    return If(condition=one_for_all == 0, then=seq(scalar), otherwise=seq(by_row))


def _padded(
    context: Context, node: nodes.Node, source: Buffer, offset: Expr, step: RowStatistics
) -> list[Statement]:
    """Rows that do not exist are no task's; zero_padding.py gives them their zeros."""
    if not pads_rows(node):
        raise NotLowered("a mask on the result", node.where, "multiply the result by numbers 0 and 1")
    return []


def _cast(
    context: Context, node: nodes.Node, source: Buffer, offset: Expr, step: RowStatistics
) -> list[Statement]:
    """Rows are rounded when they are stored; until then they are fp32."""
    assert isinstance(node, nodes.Cast)
    stored = context.parameter(context.computation.output.name).dtype
    if node.dtype == "float32":
        return []
    if node.dtype != stored or stored not in ("float16", "bfloat16"):
        instead = "leave the cast out: rows are float32 until they are stored"
        raise NotLowered(f"a result rounded to {node.dtype} on the way", node.where, instead)
    return []


def _keeps_zeros(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Quantize) and node.offset is None


EPILOGUE_RULES: dict[type[nodes.Node], EpilogueRule] = {
    nodes.Quantize: EpilogueRule(lower=_quantize, keeps_zeros=_keeps_zeros, rounds=True),
    nodes.Elementwise: EpilogueRule(lower=row_operation),
    nodes.Replace: EpilogueRule(lower=_padded, keeps_zeros=lambda node: True),
    nodes.Cast: EpilogueRule(lower=_cast, keeps_zeros=lambda node: True, rounds=True),
}
