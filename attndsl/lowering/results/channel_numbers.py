"""Operations of result rows with numbers of channels: a tensor over E and any of B, N, Q and S, or functions
of it, as the gate of ``out * attend.sigmoid(gate)``.

Rows of the tensor are loaded beside those of the result, widened, and computed with lane by lane.
"""

from __future__ import annotations

from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import STEP_ROWS
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.operation_chains import has_weighted_sum
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, takes_number
from attndsl.lowering.results.row_numbers import RowStatistics
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, Convert, LoadRows, WithScalar
from attndsl.tile.naming import camel
from attndsl.tile.statements import Alloc, Statement, seq

_FLOATS = ("float16", "bfloat16", "float32")
FORMS = (
    "a float input over E and any of B, N, Q and S, and functions of it with numbers of the call, as in "
    "out * attend.sigmoid(gate)"
)


def differs_by_channel(node: nodes.Node) -> bool:
    """Whether an operand has numbers of channels."""
    return "E" in getattr(node, "axes", ())


def with_channels(
    context: Context, node: nodes.Elementwise, source: Buffer, offset: Expr, step: RowStatistics
) -> list[Statement]:
    """``rows = rows op numbers`` for the rows of a step at ``source[offset]``.

    Raises:
        NotLowered: the numbers are made otherwise.
    """
    other = next(each for each in node.inputs if not has_weighted_sum(each))
    tensor, functions = _parts(context, other)
    name, size = camel(tensor.name), context.rows_per_step * context.padded_value_size
    dtype, slots = context.parameter(tensor.name).dtype, context.schedule.result_slots
    meaning = f"{tensor.name} of the rows"
    loaded = context.in_ub(f"{name}Rows", dtype, size, meaning, slots)
    span = STEP_ROWS * context.padded_value_size
    numbers, widened = whole(loaded, 0, span), list[Statement]()
    if dtype != "float32":
        numbers = _beside(context, f"{name}Wide", f"{meaning}, widened", span)
        widened = [Convert(dst=numbers, src=whole(loaded, 0, span), mode="CAST_NONE", where=node.where)]
    rows = whole(source, offset, span)
    left, right = (numbers, rows) if node.inputs[0] is other else (rows, numbers)
    body = seq(
        _load(context, tensor, loaded, step),
        *widened,
        *(made for each in functions for made in _function(context, each, numbers, span)),
        Binary(op=OPERATIONS[node.op].tensor, dst=rows, first=left, second=right, where=node.where),
    )
    return [Alloc(buffers=(loaded,), body=body)]


def _parts(context: Context, node: nodes.Node) -> tuple[nodes.Input, list[nodes.Elementwise]]:
    """The tensor that numbers of channels are made of, and what is computed with it, the first one first."""
    functions: list[nodes.Elementwise] = []
    while isinstance(node, nodes.Elementwise):
        functions.insert(0, node)
        varying = [each for each in node.inputs if differs_by_channel(each)]
        if len(varying) != 1 or not all(_fits(node, each) for each in node.inputs if each is not varying[0]):
            raise NotLowered(f"'{node.op}' of these numbers of channels", node.where, f"results take {FORMS}")
        node = varying[0]
    if (
        not isinstance(node, nodes.Input)
        or "K" in node.axes
        or context.parameter(node.name).dtype not in _FLOATS
    ):
        raise NotLowered("a result with such numbers of channels", node.where, f"results take {FORMS}")
    return node, functions


def _fits(node: nodes.Elementwise, other: nodes.Node) -> bool:
    """Whether an operation of numbers of channels with ``other`` is one instruction with a number."""
    turned = OPERATIONS[node.op].ordered and node.inputs[0] is other
    return isinstance(other, nodes.Scalar) and not other.axes and takes_number(node, other) and not turned


def _load(context: Context, tensor: nodes.Input, loaded: Buffer, step: RowStatistics) -> Statement:
    padded = context.padded_value_size

    def load(run: RowRun) -> Statement:
        target = loaded.region(run.row * padded, run.rows, context.value_dim, padded)
        rows = context.rows.place(context, tensor.name, run, context.value_dim)
        return LoadRows(dst=target, src=rows, where=tensor.where)

    spread = context.rows.has_nonzero_stride(context, tensor.name)
    return step.each_run(load, (loaded,), spread=spread)


def _function(context: Context, node: nodes.Elementwise, numbers: Region, span: Expr) -> list[Statement]:
    """An operation of the numbers, in place."""
    operation = OPERATIONS[node.op]
    if operation.own is not None:
        meaning = "on the way to functions of numbers of channels"
        return operation.own(
            numbers, lambda name: _beside(context, f"{name}OfRows", f"{name} {meaning}", span), node.where
        )
    number = next(each for each in node.inputs if isinstance(each, nodes.Scalar))
    taken = operation.number(number.value)
    assert operation.scalar is not None and taken is not None
    value = context.host(taken, stem="" if isinstance(taken, Symbol) else f"channels_{node.op}")
    real = Const(float(value.value)) if isinstance(value, Const) else value
    return [WithScalar(op=operation.scalar, dst=numbers, src=numbers, scalar=real, where=node.where)]


def _beside(context: Context, name: str, meaning: str, span: Expr) -> Region:
    """Scratch of a step."""
    elements = context.rows_per_step * context.padded_value_size
    return whole(context.in_ub(name, "float32", elements, meaning), 0, span)
