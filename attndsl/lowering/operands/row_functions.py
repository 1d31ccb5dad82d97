"""Functions of numbers of rows, such as a gate's sigmoid: made in vector lanes, a block for each row.

The scalar unit reads the numbers, and adds and multiplies them; functions and quotients are those of scores,
computed for all rows of a step at once.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.row_operations import by_row
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.emit.workspace_rings import STATISTIC_LANES
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.elementwise_ops import OPERATIONS, takes_number
from attndsl.lowering.operands.row_blocks import call_number, number_blocks
from attndsl.lowering.operands.row_values import is_row_value
from attndsl.lowering.rows.row_space import EachRun
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import Binary, WithScalar
from attndsl.tile.statements import Statement

FORMS = (
    "numbers of rows are made of p.row_max, p.row_sum and p.lse by +, -, *, /, minimum, maximum and "
    "functions of one operand, with numbers and fp32 numbers of each batch row, head and query"
)
Leaf = Callable[[nodes.Node, Buffer], list[Statement] | None]
"""The statements that leave a value of another kind in the blocks of a buffer; None of all else."""


def row_function(
    context: Context,
    node: nodes.Node,
    target: Buffer,
    each_run: EachRun,
    leaf: Leaf = lambda node, target: None,
    depth: int = 0,
) -> list[Statement]:
    """Leaves the value of ``node``, a number of each row, in the blocks of ``target``.

    Args:
        context: the attention.
        node: the value, without an axis of keys or channels.
        target: a buffer of :func:`row_blocks`.
        each_run: calls its body for every run of the rows of a step.
        leaf: values that are no numbers of the call or of rows.
        depth: how many buffers hold other numbers meanwhile.

    Raises:
        NotLowered: an operation without a rule.
    """
    found = leaf(node, target)
    if found is not None:
        return found
    if is_row_value(node):
        return number_blocks(context, node, target, each_run)
    if not isinstance(node, nodes.Elementwise):
        raise NotLowered(f"{type(node).__name__} for each row", node.where, FORMS)
    varying = [each for each in node.inputs if not is_row_value(each)] or [node.inputs[0]]
    inner = row_function(context, varying[0], target, each_run, leaf, depth)
    operation, lanes = OPERATIONS[node.op], block_lanes(context, target)
    if operation.own is not None:

        def scratch(name: str) -> Region:
            return block_lanes(context, row_blocks(context, name))

        return [*inner, *operation.own(lanes, scratch, node.where)]
    if len(varying) == 1:
        return [*inner, *_with_number(context, node, varying[0], target, each_run, depth)]
    beside = row_blocks(context, f"numbers{depth}")
    others = row_function(context, varying[1], beside, each_run, leaf, depth + 1)
    second = block_lanes(context, beside)
    combine = Binary(op=operation.tensor, dst=lanes, first=lanes, second=second, where=node.where)
    return [*inner, *others, combine]


def _with_number(
    context: Context,
    node: nodes.Elementwise,
    inner: nodes.Node,
    target: Buffer,
    each_run: EachRun,
    depth: int,
) -> list[Statement]:
    """``target = op(target, number)`` or ``op(number, target)``, of a number, or one of each row."""
    in_front = node.inputs[0] is not inner
    other = node.inputs[0] if in_front else node.inputs[1]
    operation, lanes = OPERATIONS[node.op], block_lanes(context, target)
    taken = takes_number(node, other) and not (operation.ordered and in_front)
    if taken and isinstance(other, nodes.Scalar) and not other.axes:
        number = operation.number(other.value)
        assert operation.scalar is not None and number is not None
        value = call_number(context, number, node.op)
        return [WithScalar(op=operation.scalar, dst=lanes, src=lanes, scalar=value, where=node.where)]
    beside = row_blocks(context, f"numbers{depth}")
    numbers = block_lanes(context, beside)
    left, right = (numbers, lanes) if in_front else (lanes, numbers)
    return [
        *number_blocks(context, other, beside, each_run, node.op),
        Binary(op=operation.tensor, dst=lanes, first=left, second=right, where=node.where),
    ]


def row_blocks(context: Context, name: str) -> Buffer:
    """A buffer for a number of each row of a step, one block a row."""
    meaning = f"{name} on the way to numbers of rows, one block a row"
    size = context.rows_per_step * STATISTIC_LANES
    return context.in_ub(f"{name}OfStatistics", "float32", size, meaning)


def block_lanes(context: Context, buffer: Buffer) -> Region:
    """The blocks of all rows of a step."""
    return whole(buffer, 0, context.rows_per_step * STATISTIC_LANES)


def with_row_function(context: Context, op: str, target: Buffer, node: nodes.Node) -> list[Statement]:
    """``target[r, :] = target[r, :] op value of row r`` over the keys of a tile, for each row of a step."""
    blocks = row_blocks(context, "factors")
    made = row_function(context, node, blocks, context.rows.each_run)
    return [*made, by_row(context, op, target, blocks)]
