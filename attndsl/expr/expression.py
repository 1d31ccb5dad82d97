"""The base of all symbolic scalars: what every expression can be asked, and Python's operators on it.

``==`` builds a comparison, as in ``op.require(N % kvN == 0, ...)``; its truth value as a Python bool is
structural equality, so that expressions still work as dictionary keys.

The operators build nodes, which derive from this base: :mod:`attndsl.expr.fold` hands over how.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import repeat
from typing import Any, TypeAlias, TypeVar

from attndsl.expr.operators import ATOM

Value = int | float | bool | str
_Fact = TypeVar("_Fact")
ExprLike: TypeAlias = "Expr | int | float | bool | str"
_Factor = TypeVar("_Factor")

MOST_FACTORS = 4
"""The highest power that is written out as a product."""
BITS_AS_BYTES = (
    "a mask in bits is passed as bytes, x[b, i, j], or x[b, i, j - first] in a part over the keys from "
    "first on"
)
"""What is written in place of bits: nothing of a call is taken apart by them."""


def power(base: _Factor, exponent: object) -> _Factor | None:
    """``base ** exponent`` written out as a product; None of powers that are not."""
    if type(exponent) is not int or not 1 <= exponent <= MOST_FACTORS:
        return None
    return reduce(operator.mul, repeat(base, exponent))


class TakesScalars:
    """What expressions are operands of, on the left as on the right: its reflected operators take an Expr."""

    __slots__ = ()


class Expr:
    """A symbolic scalar. Immutable; equal structure means equal hash.

    What follows from the structure alone is found once an expression, when it is first asked for.
    """

    __slots__ = ("_function", "_hash", "_nodes", "_structure", "_symbols")
    _function: Callable[[Mapping[str, Any]], Any]
    """Kept by :func:`attndsl.expr.compiled_evaluation.evaluator`."""
    _hash: int
    _nodes: tuple[Expr, ...]
    _structure: tuple[Any, ...]
    _symbols: frozenset[str]

    def children(self) -> tuple[Expr, ...]:
        """The operands."""
        return ()

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """The value under ``env`` (name -> number; arrays for the sources of :class:`Load`)."""
        raise NotImplementedError

    def text(self) -> str:
        """Text for readers, in Python's notation."""
        return self.rendered()[0]

    def rendered(self) -> tuple[str, int]:
        """The text and the precedence of its outermost operator."""
        raise NotImplementedError

    def _as_operand(self) -> str:
        """The text as it stands beside an operator that binds tighter than those of expressions."""
        text, level = self.rendered()
        return text if level >= ATOM else f"({text})"

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def walk(self) -> Iterator[Expr]:
        """This expression and everything below it."""
        return iter(self.nodes())

    def nodes(self) -> tuple[Expr, ...]:
        """This expression and everything below it, each in front of its operands."""
        try:
            return self._nodes
        except AttributeError:
            found: list[Expr] = []
            self._add_nodes(found)
            return self._keep("_nodes", tuple(found))

    def _add_nodes(self, found: list[Expr]) -> None:
        found.append(self)
        for child in self.children():
            child._add_nodes(found)

    def symbols(self) -> frozenset[str]:
        """Names of the free symbols."""
        try:
            return self._symbols
        except AttributeError:
            return self._keep("_symbols", self._free())

    def _free(self) -> frozenset[str]:
        return frozenset[str]().union(*(child.symbols() for child in self.children()))

    def structure(self) -> tuple[Any, ...]:
        """What is equal for expressions of equal structure, and hashable."""
        try:
            return self._structure
        except AttributeError:
            return self._keep("_structure", self._key())

    def _keep(self, name: str, value: _Fact) -> _Fact:
        object.__setattr__(self, name, value)
        return value

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        """The expression with symbols replaced, constants folded."""
        return self

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same operation on other operands, constants folded."""
        return self

    def mapped(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """Rebuilt from the top: where ``change`` gives an expression it stands, else the operands go on."""
        changed = change(self)
        if changed is not None:
            return changed
        return self.with_children(tuple(child.mapped(change) for child in self.children()))

    def same(self, other: object) -> bool:
        """Structural equality."""
        if self is other:
            return True
        return isinstance(other, Expr) and self.structure() == other.structure()

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:  # a tuple's hash is found anew each time
            return self._keep("_hash", hash(self.structure()))

    def __str__(self) -> str:
        return self.text()

    def __add__(self, other: ExprLike) -> Expr:
        return _with_scalar("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return make.binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return _with_scalar("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return make.binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return _with_scalar("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return make.binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return _with_scalar("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return make.binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return make.binary("//", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return make.binary("//", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return make.binary("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return make.binary("%", other, self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return make.compare("==", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return make.compare("!=", self, other)

    def __lt__(self, other: ExprLike) -> Expr:
        return make.compare("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return make.compare("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return make.compare(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return make.compare(">=", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        if type(other) is int:  # its truth would be taken, not its bits
            joined = f"'{self._as_operand()} & {other}'"
            raise TypeError(f"{joined}: '&' joins conditions, each in parentheses; {BITS_AS_BYTES}")
        return NotImplemented if isinstance(other, TakesScalars) else make.logic("and", self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return NotImplemented if isinstance(other, TakesScalars) else make.logic("or", self, other)

    def __neg__(self) -> Expr:
        return make.binary("-", 0, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return make.binary("max", self, -self)

    def __pow__(self, exponent: object) -> Expr:
        found = power(self, exponent)
        if found is None:
            asked = f"'{self._as_operand()} ** {exponent}'"
            raise TypeError(
                f"{asked}: numbers of a call have + - * / // % and whole powers up to "
                f'{MOST_FACTORS}; pass a scale as a parameter, as in scale = op.param("scale", float), or '
                "divide scores by attend.sqrt(attend.index(D))"
            )
        return found

    def __rpow__(self, base: object) -> Expr:
        raise TypeError(
            f"'{base} ** {self._as_operand()}': numbers of a call have + - * / // % and no such powers; "
            f"{BITS_AS_BYTES}"
        )

    def __rshift__(self, count: object) -> Expr:
        raise _no_bits(self, ">>", count)

    def __rrshift__(self, number: object) -> Expr:
        raise _no_bits(number, ">>", self)

    def __lshift__(self, count: object) -> Expr:
        raise _no_bits(self, "<<", count)

    def __rlshift__(self, number: object) -> Expr:
        raise _no_bits(number, "<<", self)

    def __xor__(self, other: object) -> Expr:
        raise _no_bits(self, "^", other)

    def __invert__(self) -> Expr:
        if self.holds_truth():
            return make.compare("==", self, False)
        raise TypeError(f"'~' is of a condition, and '{self}' is a number; compare it, as in {self} == 0")

    def holds_truth(self) -> bool:
        """Whether the value is a truth value: a condition, or an element of a mask."""
        return False

    def __bool__(self) -> bool:
        raise TypeError(self._no_value())

    def _no_value(self) -> str:
        return (
            f"'{self}' has no value yet: it is symbolic until the operator is called; join conditions by & "
            "and |, each in parentheses, also those of a < b < c, and take maximum and minimum of "
            "attndsl.spec for max and min"
        )


def extent(expr: Expr) -> tuple[int, int]:
    """The operations inside each other in an expression, and the nodes that its text shows.

    Found without recursion and once for each node, however often it is an operand: for what may be deep.
    """
    found: dict[int, tuple[int, int]] = {}
    open_ = [expr]
    while open_:
        children = open_[-1].children()
        missing = [child for child in children if id(child) not in found]
        if missing:
            open_ += missing
            continue
        sizes = [found[id(child)] for child in children]
        depth = max((each for each, _ in sizes), default=-1) + 1
        found[id(open_.pop())] = depth, 1 + sum(each for _, each in sizes)
    return found[id(expr)]


class Builders:
    """How nodes are made, constants folded; :mod:`attndsl.expr.fold` sets all of them.

    Nodes are expressions and expressions make nodes: this is what keeps the modules free of a circle.
    """

    binary: Callable[[str, object, object], Expr]
    compare: Callable[[str, object, object], Expr]
    logic: Callable[[str, object, object], Expr]
    select: Callable[[object, object, object], Expr]


make = Builders()


def _no_bits(left: object, op: str, right: object) -> TypeError:
    """The refusal of an operator on bits."""
    sides = (each._as_operand() if isinstance(each, Expr) else str(each) for each in (left, right))
    return TypeError(f"'{f' {op} '.join(sides)}': numbers of a call have + - * / // %; {BITS_AS_BYTES}")


def _with_scalar(op: str, left: Expr, right: object) -> Expr:
    return NotImplemented if isinstance(right, TakesScalars) else make.binary(op, left, right)
