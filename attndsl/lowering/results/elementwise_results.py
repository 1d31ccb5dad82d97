"""Elementwise operations on result rows: those of scores, alone or with a number of the call or of each row.

Operations are those of operands/elementwise_ops.py; which instruction takes a number, and which needs it in
all lanes, its table says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.graph.elementwise import of_one, sign_of
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import STEP_ROWS
from attndsl.lowering.emit.row_operations import scale_rows
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.match.operation_chains import has_weighted_sum
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, NumberForm, Operation, takes_number
from attndsl.lowering.operands.row_functions import row_blocks
from attndsl.lowering.operands.row_values import is_row_value, row_value
from attndsl.lowering.results.channel_numbers import differs_by_channel, with_channels
from attndsl.lowering.results.partials import may_split
from attndsl.lowering.results.row_numbers import RowStatistics, row_numbers
from attndsl.lowering.rows.row_space import RowRun
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, Fill, WithScalar
from attndsl.tile.statements import Note, Statement, seq

_ROW_AXES = {"B", "N", "Q", "S"}
FORMS = (
    "results take functions of one operand, and +, -, *, /, minimum and maximum with a number, with an "
    "fp32 number of each batch row, head and query or a function of p.lse, p.row_max and p.row_sum, or with "
    "a float input over E and any of B, N, Q and S or a function of it"
)


def row_operation(
    context: Context, node: nodes.Node, source: Buffer, offset: Expr, step: RowStatistics
) -> list[Statement]:
    """An operation on the rows of a step at ``source[offset]``, fp32 in place.

    Raises:
        NotLowered: the other operand is no number of a row.
    """
    assert isinstance(node, nodes.Elementwise)
    operation = OPERATIONS[node.op]
    rows = whole(source, offset, STEP_ROWS * context.padded_value_size)
    if operation.own is not None:
        title = Note(text=f"result = {of_one(node.op, 'result')}  ({context.spec_line(node.where)})")
        return [title, *operation.own(rows, lambda name: _beside(context, name, rows), node.where)]
    _check_tokens_know(context, node)
    if any(differs_by_channel(each) for each in _others(node)):
        _check_not_rounded(context, node)
        sides = ("numbers", "result") if not has_weighted_sum(node.inputs[0]) else ("result", "numbers")
        what = f"{sides[0]} {sign_of(node.op)} {sides[1]} of its channels"
        title = Note(text=f"result = {what}  ({context.spec_line(node.where)})")
        return [title, *with_channels(context, node, source, offset, step)]
    other = _number(node)
    _check_not_rounded(context, node)
    title = Note(text=_title(context, node, operation, other))
    if not is_row_value(other):
        return [title, *_with_statistics(context, node, other, source, offset, step)]
    if isinstance(other, nodes.Scalar) and not other.axes:
        of_call = partial(_of_call, context, node, other.value)
        return [title, *_with_number(context, node, other, rows, of_call)]

    def one(run: RowRun) -> Statement:
        row = whole(source, offset + run.row * context.padded_value_size, context.padded_value_size)
        return seq(*_with_number(context, node, other, row, lambda form: form(row_value(context, other))))

    return [title, step.each_run(one, (source,), spread=False)]


def _with_statistics(
    context: Context,
    node: nodes.Elementwise,
    other: nodes.Node,
    source: Buffer,
    offset: Expr,
    step: RowStatistics,
) -> list[Statement]:
    """``rows = rows op number``, where the number of each row is a function of its statistics, or of other
    numbers of rows."""
    blocks = row_blocks(context, "factors")
    made = row_numbers(context, other, blocks, step)
    turned: list[Statement] = []
    if OPERATIONS[node.op].ordered and node.inputs[0] is other:
        if node.op != "subtract":
            what = f"'{node.op}' of a function of numbers of rows by the result"
            raise NotLowered(what, node.where, "write result * (1 / number), or exp(-number)")
        rows = whole(source, offset, STEP_ROWS * context.padded_value_size)
        turned = [WithScalar(op="Muls", dst=rows, src=rows, scalar=Const(-1.0), where=node.where)]
    op = "Add" if turned else OPERATIONS[node.op].tensor
    return [*made, *turned, scale_rows(context, op, source, offset, blocks)]


def _of_call(context: Context, node: nodes.Elementwise, value: Expr, form: NumberForm) -> Expr:
    """What the host makes of a number by ``form``."""
    taken = form(value)
    assert taken is not None
    return context.host(taken, stem="" if isinstance(taken, Symbol) else f"result_{node.op}")


def _with_number(
    context: Context,
    node: nodes.Elementwise,
    other: nodes.Node,
    rows: Region,
    number: Callable[[NumberForm], Expr | None],
) -> list[Statement]:
    """``rows = rows op number``; ``number``: the number of these rows, in a form of it."""
    operation, first = OPERATIONS[node.op], node.inputs[0] is other
    if takes_number(node, other) and not (operation.ordered and first):
        assert operation.scalar is not None
        value = _real(number(operation.number))
        return [WithScalar(op=operation.scalar, dst=rows, src=rows, scalar=value, where=node.where)]
    numbers = _beside(context, "numbers", rows)
    left, right = (numbers, rows) if first else (rows, numbers)
    return [
        Fill(dst=numbers, value=_real(number(lambda value: value)), where=node.where),
        Binary(op=operation.tensor, dst=rows, first=left, second=right, where=node.where),
    ]


def _real(value: Expr | None) -> Expr:
    assert value is not None
    return Const(float(value.value)) if isinstance(value, Const) else value


def _beside(context: Context, name: str, rows: Region) -> Region:
    """Scratch as long as ``rows``."""
    elements = context.rows_per_step * context.padded_value_size
    buffer = context.in_ub(f"{name}OfRows", "float32", elements, f"{name} on the way to functions of results")
    return whole(buffer, 0, rows.cols)


def _others(node: nodes.Elementwise) -> list[nodes.Node]:
    """The operands that no attention result is part of."""
    return [each for each in node.inputs if not has_weighted_sum(each)]


def _number(node: nodes.Elementwise) -> nodes.Node:
    """The operand that is a number of the call or of each row."""
    others = _others(node)
    if not others:
        raise NotLowered(f"'{node.op}' of the result by a function of itself", node.where, FORMS)
    differs = sorted(set(getattr(others[0], "axes", ())) - _ROW_AXES)
    if differs:
        along = " and ".join(differs)
        raise NotLowered(f"'{node.op}' of the result by what differs along {along}", node.where, FORMS)
    return others[0]


def _check_tokens_know(context: Context, node: nodes.Elementwise) -> None:
    """That rows of packed queries need no batch row or position where partials are merged: the merge takes
    tokens by their number and knows neither.

    Raises:
        NotLowered: a number of them differs along B or Q.
    """
    open_ = _others(node) if context.rows.run_axis == "S" and may_split(context) else []
    while open_:
        each = open_.pop()
        if isinstance(each, nodes.Elementwise):
            open_ += each.inputs
        elif found := [axis for axis in getattr(each, "axes", ()) if axis in ("B", "Q")]:
            what = f"'{node.op}' of packed rows by what differs along {' and '.join(found)}"
            instead = 'pass a number of each token: an input with the axes "S", or "S N"'
            raise NotLowered(what, each.where, instead)


def _check_not_rounded(context: Context, node: nodes.Elementwise) -> None:
    """Integers are scaled at most: what else is done to them would have to be rounded again."""
    epilogue = context.computation.epilogue
    before = epilogue[: next((at for at, each in enumerate(epilogue) if each is node), 0)]
    if node.op != "multiply" and any(isinstance(each, nodes.Quantize) for each in before):
        instead = "let it come before attend.quantize"
        raise NotLowered(f"'{node.op}' of quantized results", node.where, instead)


def _title(context: Context, node: nodes.Elementwise, operation: Operation, other: nodes.Node) -> str:
    role = "factor" if node.op == "multiply" else "number"
    what = f"a {role} of its head" if set(_axes(other)) <= {"N"} else f"a {role} of its row"
    if isinstance(other, nodes.Scalar) and not other.axes:
        what = str(other.value)
    sides = (what, "result") if operation.ordered and node.inputs[0] is other else ("result", what)
    return f"result = {sides[0]} {sign_of(node.op)} {sides[1]}  ({context.spec_line(node.where)})"


def _axes(node: nodes.Node) -> tuple[str, ...]:
    """The axes along which anything in a value differs."""
    return tuple(axis for each in node.walk() for axis in getattr(each, "axes", ()))
