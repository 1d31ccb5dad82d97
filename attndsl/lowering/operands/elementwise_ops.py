"""How the vector cores compute the elementwise operations of the graph: a table by the node's ``op``.

An operation has a form with a number, one with a second operand, or one of its own; all work on contiguous
fp32 numbers, in place, of scores as of result rows. What an operation takes beside its line here:
docs/packages/lowering.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const, Expr, Symbol
from attndsl.graph import nodes
from attndsl.tile.buffers import Region
from attndsl.tile.instructions import Binary, Unary, WithScalar
from attndsl.tile.statements import Statement

Scratch = Callable[[str], Region]
"""A buffer of a name, as long as the numbers that an operation changes."""
OwnForm = Callable[[Region, Scratch, SourceLine], list[Statement]]
NumberForm = Callable[[Expr], Expr | None]


def _same(value: Expr) -> Expr:
    return value


def _negative(value: Expr) -> Expr:
    return Const(0) - value


def _reciprocal(value: Expr) -> Expr | None:
    """Of a literal; other divisors may be 0 in some call, for which only a division is right."""
    return Const(1 / float(value.value)) if isinstance(value, Const) and value.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The forms of an operation; None where it has none.

    Attributes:
        scalar: the instruction with a number for its second operand, and ``number``, what that takes for it.
        tensor: the instruction with a second operand. ``ordered``: whether the order of operands matters.
        own: the statements of an operation of one operand.
    """

    scalar: str | None = None
    number: NumberForm = _same
    tensor: str = ""
    ordered: bool = False
    own: OwnForm | None = None


def _instruction(op: str) -> OwnForm:
    def form(x: Region, scratch: Scratch, where: SourceLine) -> list[Statement]:
        return [Unary(op=op, dst=x, src=x, where=where)]

    return form


def _negate(x: Region, scratch: Scratch, where: SourceLine) -> list[Statement]:
    return [WithScalar(op="Muls", dst=x, src=x, scalar=Const(-1.0), where=where)]


# sigmoid(x) is 1 in fp32 from 17 on, and exp(x) does not overflow below 88.
_SIGMOID_END = 64.0


def _sigmoid(x: Region, scratch: Scratch, where: SourceLine) -> list[Statement]:
    """``e / (e + 1)`` with e = exp(min(x, 64)): a few units in the last place, relative, for all x."""
    below = scratch("denominator")
    return [
        WithScalar(op="Mins", dst=x, src=x, scalar=Const(_SIGMOID_END), where=where),
        Unary(op="Exp", dst=x, src=x, where=where),
        WithScalar(op="Adds", dst=below, src=x, scalar=Const(1.0), where=where),
        Binary(op="Div", dst=x, first=x, second=below, where=where),
    ]


# tanh(x) = x P(x^2) / Q(x^2), fitted for the smallest relative error over |x| <= 8 (1.5e-7), highest power
# first; Q begins with 1. Beyond, tanh is 1 but for 2.3e-7. No difference of exponentials: that of equal ones
# would leave nothing of small x.
_TANH_END = 8.0
_TANH_OVER = (46.4718291, 11999.8259, 525598.894, 4066318.31)
_TANH_UNDER = (970.507929, 96841.7315, 1881033.74, 4066318.91)


def _tanh(x: Region, scratch: Scratch, where: SourceLine) -> list[Statement]:
    """A quotient of polynomials: 5e-7 of the value, at most, for all x, and never beyond 1."""
    squares, below = scratch("squares"), scratch("denominator")

    def number(op: str, dst: Region, src: Region, value: float) -> Statement:
        return WithScalar(op=op, dst=dst, src=src, scalar=Const(value), where=where)

    def times(dst: Region, factor: Region) -> Statement:
        return Binary(op="Mul", dst=dst, first=dst, second=factor, where=where)

    under = [number("Adds", below, squares, _TANH_UNDER[0])]
    for value in _TANH_UNDER[1:]:
        under += [times(below, squares), number("Adds", below, below, value)]
    # the quotient first, then what it is multiplied with: x / Q leaves the squares to P alone
    over = [number("Muls", below, squares, _TANH_OVER[0])]
    for value in _TANH_OVER[1:-1]:
        over += [number("Adds", below, below, value), times(below, squares)]
    return [
        number("Mins", x, x, _TANH_END),
        number("Maxs", x, x, -_TANH_END),
        Binary(op="Mul", dst=squares, first=x, second=x, where=where),
        *under,
        Binary(op="Div", dst=x, first=x, second=below, where=where),
        *over,
        number("Adds", below, below, _TANH_OVER[-1]),
        times(x, below),
    ]


OPERATIONS: dict[str, Operation] = {
    "add": Operation(scalar="Adds", tensor="Add"),
    # there is no Subs: the negative is added
    "subtract": Operation(scalar="Adds", number=_negative, tensor="Sub", ordered=True),
    "multiply": Operation(scalar="Muls", tensor="Mul"),
    "divide": Operation(scalar="Muls", number=_reciprocal, tensor="Div", ordered=True),
    "minimum": Operation(scalar="Mins", tensor="Min"),
    "maximum": Operation(scalar="Maxs", tensor="Max"),
    "negate": Operation(own=_negate),
    "abs": Operation(own=_instruction("Abs")),
    "exp": Operation(own=_instruction("Exp")),
    "log": Operation(own=_instruction("Ln")),
    "sqrt": Operation(own=_instruction("Sqrt")),
    "sigmoid": Operation(own=_sigmoid),
    "tanh": Operation(own=_tanh),
}


def takes_number(node: nodes.Elementwise, other: nodes.Node) -> bool:
    """Whether one instruction computes ``node`` with ``other``, a number or one of each row, second."""
    operation = OPERATIONS[node.op]
    number = other.value if isinstance(other, nodes.Scalar) and not other.axes else Symbol("number")
    return operation.scalar is not None and operation.number(number) is not None
