"""Key indices in the lanes of the vector unit, and arithmetic with them.

The indices of a tile's keys are fp32 numbers, exact below 2**24, that are made once a tile.
"""

from __future__ import annotations

from collections.abc import Callable

from attndsl.base.source_location import SourceLine
from attndsl.expr import Binary, Const, Expr, Load, Symbol, round_up
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, KEYS, REPEAT_LANES
from attndsl.lowering.emit.shorthands import whole
from attndsl.lowering.errors import NotLowered
from attndsl.tile.buffers import Buffer, Region
from attndsl.tile.instructions import LaneNumbers, WithScalar
from attndsl.tile.statements import Statement

KEY = Symbol("j")
FORMS = (
    "numbers of keys are j, or an element x[b, j] of an integer tensor, in + - * and minimum and maximum "
    "with numbers without j; functions are of attend.index(...), as in abs(attend.index(i - j))"
)


def affine(expr: Expr) -> tuple[int, Expr] | None:
    """``expr`` as ``slope * j + rest`` with a constant slope, of sums and differences alone."""
    if KEY.name not in expr.symbols():
        return 0, expr
    if expr.same(KEY):
        return 1, Const(0)
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        left, right = affine(expr.left), affine(expr.right)
        if left is None or right is None:
            return None
        sign = 1 if expr.op == "+" else -1
        rest = left[1] + right[1] if sign == 1 else difference(left[1], right[1])
        return left[0] + sign * right[0], rest
    return None


def difference(left: Expr, right: Expr) -> Expr:
    """``left - right``, without the difference of 0 and a difference."""
    if isinstance(right, Binary) and right.op == "-":
        return (
            difference(left + right.right, right.left)
            if right.left.same(Const(0))
            else (difference(right.right, right.left) if left.same(Const(0)) else left - right)
        )
    return left - right


def key_numbers(context: Context) -> Buffer:
    """The buffer of the indices of the tile's keys."""
    return context.in_ub("keyNumbers", "float32", context.tile_keys, "indices of the tile's keys")


def number_keys(numbers: Buffer, where: SourceLine) -> Statement:
    """Fills :func:`key_numbers` at the start of a tile."""
    return LaneNumbers(dst=whole(numbers), first=FIRST_KEY, where=where)


def negated_numbers(context: Context) -> Buffer:
    """The buffer of the negated indices of the tile's keys, for what is a number less a key's index."""
    meaning = "negated indices of the tile's keys"
    return context.in_ub("keyNumbersBelow", "float32", context.tile_keys, meaning)


def negate_keys(numbers: Buffer, negated: Buffer, where: SourceLine) -> Statement:
    """Fills :func:`negated_numbers`, once the indices are there."""
    return WithScalar(op="Muls", dst=whole(negated), src=whole(numbers), scalar=Const(-1), where=where)


def subtracts_key(value: Expr) -> bool:
    """Whether an expression has a key's index taken from what is the same for all keys."""
    differences = (node for node in value.walk() if isinstance(node, Binary) and node.op == "-")
    return any(each.right.same(KEY) and KEY.name not in each.left.symbols() for each in differences)


def numbered_keys(numbers: Buffer) -> Region:
    """The indices of the tile's keys, whole repeats."""
    return whole(numbers, 0, round_up(KEYS, REPEAT_LANES))


def row_lanes(context: Context, buffer: Buffer, row: Expr) -> Region:
    """The lanes of the tile's keys in one row of a buffer, whole repeats."""
    return whole(buffer, row * context.tile_keys, round_up(KEYS, REPEAT_LANES))


def key_arithmetic(
    context: Context,
    value: Expr,
    lanes: Region,
    keys: Region,
    where: SourceLine,
    element: Callable[[Load, Region], list[Statement]],
    negated: Region | None = None,
) -> list[Statement]:
    """``lanes = value`` with the key indices ``keys`` for j; other parts of the value are scalars of the row.

    ``element``: the statements that leave the elements that keys read in lanes. ``negated``: the negated
    indices, where :func:`subtracts_key` asks for them.

    Raises:
        NotLowered: an operation other than a sum, a product, a minimum or a maximum with what has no j.
    """

    def scalar(expr: Expr) -> Expr:
        return context.in_kernel(expr, context.rows.indices())

    def step(op: str, source: Region, operand: Expr) -> WithScalar:
        return WithScalar(op=op, dst=lanes, src=source, scalar=operand, where=where)

    if value.same(KEY):
        return [step("Adds", keys, Const(0))]
    if isinstance(value, Load):
        return element(value, lanes)
    if isinstance(value, Binary) and value.op in ("+", "-", "*", "min", "max"):
        left, right = ("j" in side.symbols() for side in (value.left, value.right))
        if left and right:
            raise NotLowered(f"'{value}' of key indices", where, FORMS)
        inner, other = (value.left, value.right) if left else (value.right, value.left)
        below = key_arithmetic(context, inner, lanes, keys, where, element, negated)
        if inner.same(KEY):  # the first operation reads the indices themselves
            below, source = [], keys
        else:
            source = lanes
        if value.op == "-" and not left and inner.same(KEY) and negated is not None:
            return [step("Adds", negated, scalar(other))]
        if value.op == "-" and not left:
            return [*below, step("Muls", source, Const(-1)), step("Adds", lanes, scalar(other))]
        if value.op == "-":
            return [*below, step("Adds", source, Const(0) - scalar(other))]
        op = {"+": "Adds", "*": "Muls", "min": "Mins", "max": "Maxs"}[value.op]
        return [*below, step(op, source, scalar(other))]
    raise NotLowered(f"'{value}' of key indices", where, FORMS)
