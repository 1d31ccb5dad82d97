"""Symbolic scalars: dimensions, constraints, tiling fields and addresses are all of this one kind.

An expression is written once and then evaluated in Python, printed as C++ or as text, or handed to
sympy for a proof. Values are integers (``int64`` in C++), floats or booleans. In C++ ``//`` and ``%`` round
towards zero: printed are expressions whose operands are >= 0, and ``floor_div`` and ``floor_mod`` for others.

``==`` builds a comparison, as in ``op.require(N % kvN == 0, ...)``; its truth value as a Python bool is
structural equality, so that expressions still work as dictionary keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

Value = int | float | bool | str
_Fact = TypeVar("_Fact")
ExprLike: TypeAlias = "Expr | int | float | bool | str"

_PRECEDENCE = {"or": 1, "and": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4}
_PRECEDENCE |= {"+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6}
_ATOM = 9
_CXX_SPELLING = {"//": "/", "and": "&&", "or": "||"}
# Operations that are printed as calls: text and C++ name. Generated code defines the C++ ones it uses.
CALLS = {
    "min": ("min", "MinOf"),
    "max": ("max", "MaxOf"),
    "ceil_div": ("ceil_div", "CeilDiv"),
    "round_up": ("round_up", "RoundUp"),
    "floor_div": ("floor_div", "FloorDiv"),
    "floor_mod": ("floor_mod", "FloorMod"),
}

_EVALUATE: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
    "floor_div": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b,
}


class TakesScalars:
    """What expressions are operands of, on the left as on the right: its reflected operators take an Expr."""

    __slots__ = ()


class Expr:
    """A symbolic scalar. Immutable; equal structure means equal hash.

    What follows from the structure alone is found once an expression, when it is first asked for.
    """

    __slots__ = ("_function", "_nodes", "_structure", "_symbols")
    _function: Callable[[Mapping[str, Any]], Any]
    """Kept by :func:`attndsl.expr.compiled_evaluation.evaluator`."""
    _nodes: tuple[Expr, ...]
    _structure: tuple[Any, ...]
    _symbols: frozenset[str]

    def children(self) -> tuple[Expr, ...]:
        """The operands."""
        return ()

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """The value under ``env`` (name -> number; arrays for the sources of :class:`Load`)."""
        raise NotImplementedError

    def text(self, cxx: bool = False) -> str:
        """Readable text, or a C++ expression of the same value."""
        return self._render(cxx)[0]

    def _render(self, cxx: bool) -> tuple[str, int]:
        raise NotImplementedError

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
            names = frozenset(node.name for node in self.nodes() if isinstance(node, Symbol))
            return self._keep("_symbols", names)

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
        return hash(self.structure())

    def __str__(self) -> str:
        return self.text()

    def __add__(self, other: ExprLike) -> Expr:
        return _with_scalar("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return _with_scalar("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return _with_scalar("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return _with_scalar("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("%", other, self)

    def __eq__(self, other: object) -> Compare:  # type: ignore[override]
        return compare("==", self, other)

    def __ne__(self, other: object) -> Compare:  # type: ignore[override]
        return compare("!=", self, other)

    def __lt__(self, other: ExprLike) -> Compare:
        return compare("<", self, other)

    def __le__(self, other: ExprLike) -> Compare:
        return compare("<=", self, other)

    def __gt__(self, other: ExprLike) -> Compare:
        return compare(">", self, other)

    def __ge__(self, other: ExprLike) -> Compare:
        return compare(">=", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        return Logic("and", as_expr(self), as_expr(other))

    def __or__(self, other: ExprLike) -> Expr:
        return Logic("or", as_expr(self), as_expr(other))

    def __invert__(self) -> Expr:
        raise TypeError(f"'~' of '{self}': write the opposite condition, or ({self}) == False")

    def __bool__(self) -> bool:
        raise TypeError(self._no_value())

    def _no_value(self) -> str:
        return (
            f"'{self}' has no value yet: it is symbolic until the operator is called; join conditions by & "
            "and |, also those of a < b < c, and take maximum and minimum of attndsl.spec for max and min"
        )


@dataclass(frozen=True, eq=False, slots=True)
class Const(Expr):
    """A literal."""

    value: Value

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return self.value

    def _render(self, cxx: bool) -> tuple[str, int]:
        if isinstance(self.value, bool):
            return str(self.value).lower() if cxx else str(self.value), _ATOM
        if isinstance(self.value, float):
            return _float_text(self.value, cxx), _ATOM if self.value >= 0 else _PRECEDENCE["-"]
        return str(self.value), _ATOM if not isinstance(self.value, int) or self.value >= 0 else 5

    def _key(self) -> tuple[Any, ...]:
        return ("const", type(self.value).__name__, self.value)


@dataclass(frozen=True, eq=False, slots=True)
class Named(Const):
    """A literal with a name, so that generated code says ``kTileKeys`` where Python knows the number.

    Arithmetic with it is not folded: whoever edits the constant edits everything that depends on it.
    """

    name: str = ""
    cxx_name: str = ""

    def _render(self, cxx: bool) -> tuple[str, int]:
        return (self.cxx_name or self.name) if cxx else self.name, _ATOM


@dataclass(frozen=True, eq=False, slots=True)
class Symbol(Expr):
    """A named scalar: a dimension, a parameter, a tiling field or a loop variable.

    ``cxx_name`` is its spelling in generated C++ where that differs.
    """

    name: str
    cxx_name: str = ""

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return env[self.name]

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return as_expr(values[self.name]) if self.name in values else self

    def _render(self, cxx: bool) -> tuple[str, int]:
        return (self.cxx_name or self.name) if cxx else self.name, _ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("symbol", self.name)


@dataclass(frozen=True, eq=False, slots=True)
class _Pair(Expr):
    """Base of the operators with two operands, written between them."""

    op: str
    left: Expr
    right: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return _EVALUATE[self.op](self.left.evaluate(env), self.right.evaluate(env))

    def _render(self, cxx: bool) -> tuple[str, int]:
        return _infix(self.op, self.left, self.right, cxx)

    def _key(self) -> tuple[Any, ...]:
        return (self.op, self.left._key(), self.right._key())


@dataclass(frozen=True, eq=False, slots=True)
class Binary(_Pair):
    """Arithmetic: ``+ - * / // % min max ceil_div round_up floor_div floor_mod``."""

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return binary(self.op, *children)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return binary(self.op, self.left.substitute(values), self.right.substitute(values))

    def _render(self, cxx: bool) -> tuple[str, int]:
        if self.op in CALLS:
            return f"{CALLS[self.op][cxx]}({self.left.text(cxx)}, {self.right.text(cxx)})", _ATOM
        if cxx and self.op == "/":
            quotient = f"static_cast<double>({self.left.text(True)}) / ({self.right.text(True)})"
            return quotient, _PRECEDENCE["/"]
        return _infix(self.op, self.left, self.right, cxx)


@dataclass(frozen=True, eq=False, slots=True)
class Compare(_Pair):
    """A comparison; as a Python bool, ``==`` and ``!=`` tell structural equality."""

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return compare(self.op, *children)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return compare(self.op, self.left.substitute(values), self.right.substitute(values))

    def __bool__(self) -> bool:
        if self.op == "==":
            return self.left.same(self.right)
        if self.op == "!=":
            return not self.left.same(self.right)
        raise TypeError(self._no_value())


@dataclass(frozen=True, eq=False, slots=True)
class Logic(_Pair):
    """``and`` / ``or`` of two conditions."""

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        first = self.left.evaluate(env)
        if self.op == "and":
            return first and self.right.evaluate(env)
        return first or self.right.evaluate(env)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Logic(self.op, *children)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return Logic(self.op, self.left.substitute(values), self.right.substitute(values))


@dataclass(frozen=True, eq=False, slots=True)
class Select(Expr):
    """``then`` where ``condition`` holds, else ``otherwise``; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.condition, self.then, self.otherwise)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return select(*children)

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return (self.then if self.condition.evaluate(env) else self.otherwise).evaluate(env)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return select(*(child.substitute(values) for child in self.children()))

    def _render(self, cxx: bool) -> tuple[str, int]:
        condition, then, otherwise = (child._render(cxx) for child in self.children())
        if cxx:
            sides = [f"({text})" if level <= 1 else text for text, level in (condition, then, otherwise)]
            return f"{sides[0]} ? {sides[1]} : {sides[2]}", 0
        return f"{then[0]} if {condition[0]} else {otherwise[0]}", 0

    def _key(self) -> tuple[Any, ...]:
        return ("select", *(child._key() for child in self.children()))


@dataclass(frozen=True, eq=False, slots=True)
class Load(Expr):
    """A scalar read of a tensor in global memory, ``source[index]``; ``dtype`` is the tensor's."""

    source: str
    index: Expr
    cxx_name: str = ""
    dtype: str = "int64"

    def children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, index=children[0])

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return self.array(env).reshape(-1)[self.index.evaluate(env)].item()

    def array(self, env: Mapping[str, Any]) -> Any:
        """The tensor, which in a kernel has its C++ name, so that no scalar is taken for it."""
        return env[self.cxx_name if self.cxx_name in env else self.source]

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return replace(self, index=self.index.substitute(values))

    def _render(self, cxx: bool) -> tuple[str, int]:
        if cxx:
            value = f"{self.cxx_name or self.source}.GetValue({self.index.text(True)})"
            # Arithmetic is in int64_t: narrower and unsigned elements would wrap.
            return value if self.dtype in ("int64", "float32") else f"static_cast<int64_t>({value})", _ATOM
        return f"{self.source}[{self.index.text()}]", _ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("load", self.source, self.index._key())


@dataclass(frozen=True, eq=False, slots=True)
class Element(Load):
    """A read of an array of scalars that the core itself holds, ``source[index]``."""

    def _render(self, cxx: bool) -> tuple[str, int]:
        return f"{(self.cxx_name or self.source) if cxx else self.source}[{self.index.text(cxx)}]", _ATOM


def as_expr(value: object) -> Expr:
    """An expression for a number, string or expression.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float | str):
        return Const(value)
    raise TypeError(f"a number or a symbolic expression is needed here, got {value!r}")


def _with_scalar(op: str, left: Expr, right: object) -> Expr:
    return NotImplemented if isinstance(right, TakesScalars) else binary(op, left, right)


def binary(op: str, left: object, right: object) -> Expr:
    """Arithmetic with constants folded and neutral operands dropped."""
    a, b = as_expr(left), as_expr(right)
    if _is_literal(a) and _is_literal(b):
        assert isinstance(a, Const) and isinstance(b, Const)
        return Const(_EVALUATE[op](a.value, b.value))
    if isinstance(b, Const) and _is_literal(b):
        if (shifted := _shifted(op, a, b.value)) is not None:
            return shifted
        if (op in ("+", "-") and b.value == 0) or (
            op in ("*", "//", "/", "ceil_div", "round_up") and b.value == 1
        ):
            return a
        if (op == "*" and b.value == 0) or (op == "%" and b.value == 1):
            return Const(0)
    if isinstance(a, Const) and _is_literal(a):
        if (op == "+" and a.value == 0) or (op == "*" and a.value == 1):
            return b
        if a.value == 0 and op in ("*", "//", "%", "ceil_div", "round_up"):
            return Const(0)
    if op in ("min", "max") and a.same(b):
        return a
    return Binary(op, a, b)


def _shifted(op: str, value: Expr, by: Value) -> Expr | None:
    """``x - 1 + 1`` and the like with one integer, or none at all."""
    signs = {"+": 1, "-": -1}
    if op not in signs or not isinstance(value, Binary) or value.op not in signs:
        return None
    inner = value.right
    if not isinstance(inner, Const) or not _is_literal(inner):
        return None
    if type(inner.value) is not int or type(by) is not int:
        return None  # floating point rounds at each step
    total = signs[value.op] * inner.value + signs[op] * by
    return binary("+", value.left, total) if total >= 0 else binary("-", value.left, -total)


def compare(op: str, left: object, right: object) -> Compare:
    """A comparison; kept symbolic even between constants, so that it can be printed."""
    return Compare(op, as_expr(left), as_expr(right))


def negation(condition: object) -> Compare:
    """Whether ``condition`` does not hold."""
    return compare("==", condition, Const(False))


def select(condition: object, then: object, otherwise: object) -> Expr:
    """``then if condition else otherwise``, folded where the condition is constant."""
    test, a, b = as_expr(condition), as_expr(then), as_expr(otherwise)
    if a.same(b):
        return a
    if not any(isinstance(node, Symbol | Load) for node in test.nodes()):
        return a if test.evaluate({}) else b
    return Select(test, _where(test, True, a), _where(test, False, b))


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def _where(test: Expr, holds: bool, value: Expr) -> Expr:
    """``value`` where ``test`` is known: a choice by the same test, or by the opposite one, is made."""
    if not isinstance(value, Select):
        return value
    if value.condition.same(test):
        return value.then if holds else value.otherwise
    if isinstance(test, Compare) and not _may_be_nan(test):
        opposite = Compare(_OPPOSITE[test.op], test.left, test.right)
        if value.condition.same(opposite):
            return value.otherwise if holds else value.then
    return value


def _may_be_nan(test: Compare) -> bool:
    """Whether neither it nor its opposite may hold: an element is a float. (No parameter is NaN.)"""
    sides = (node for side in (test.left, test.right) for node in side.walk())
    return any(isinstance(node, Load) and node.dtype.startswith("float") for node in sides)


def one_of(value: Expr, *choices: ExprLike) -> Expr:
    """Whether ``value`` equals one of ``choices``."""
    first, *others = choices
    found: Expr = compare("==", value, first)
    for choice in others:
        found = found | compare("==", value, choice)
    return found


def minimum(left: object, right: object) -> Expr:
    """The smaller of two scalars."""
    return binary("min", left, right)


def maximum(left: object, right: object) -> Expr:
    """The larger of two scalars."""
    return binary("max", left, right)


def ceil_div(value: object, divisor: object) -> Expr:
    """``ceil(value / divisor)`` for value >= 0, divisor > 0."""
    return binary("ceil_div", value, divisor)


def round_up(value: object, multiple: object) -> Expr:
    """The next multiple, ``ceil_div(value, multiple) * multiple``."""
    return binary("round_up", value, multiple)


def constant_value(expr: Expr) -> Value | None:
    """The value of an expression without symbols; None for any other."""
    if any(isinstance(node, Symbol | Load) for node in expr.walk()):
        return None
    value: Value = expr.evaluate({})
    return value


def _is_literal(expr: Expr) -> bool:
    return isinstance(expr, Const) and not isinstance(expr, Named)


def _float_text(value: float, cxx: bool) -> str:
    if not cxx:
        return repr(value)
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"  # kernels have no <cmath>
    return "NAN" if math.isnan(value) else f"{value!r}f"


def product(values: Iterator[Expr] | tuple[Expr, ...] | list[Expr]) -> Expr:
    """The product of all values; 1 for none."""
    return math.prod(values, start=Const(1))


def to_sympy(expr: Expr) -> Any:
    """The expression in sympy, symbols as non-negative integers, for proofs and simplification."""
    import sympy

    if isinstance(expr, Const):
        return sympy.sympify(expr.value)
    if isinstance(expr, Symbol):
        return sympy.Symbol(expr.name, integer=True, nonnegative=True)
    if isinstance(expr, Load):
        return sympy.Symbol(expr.text().replace(" ", ""), integer=True, nonnegative=True)
    parts = [to_sympy(child) for child in expr.children()]
    if isinstance(expr, Select):
        return sympy.Piecewise((parts[1], parts[0]), (parts[2], True))
    assert isinstance(expr, Binary | Compare | Logic)
    return _SYMPY[expr.op](sympy, *parts)


_SYMPY: dict[str, Callable[..., Any]] = {
    "+": lambda sp, a, b: a + b,
    "-": lambda sp, a, b: a - b,
    "*": lambda sp, a, b: a * b,
    "/": lambda sp, a, b: a / b,
    "//": lambda sp, a, b: sp.floor(a / b),
    "%": lambda sp, a, b: sp.Mod(a, b),
    "ceil_div": lambda sp, a, b: sp.ceiling(a / b),
    "round_up": lambda sp, a, b: sp.ceiling(a / b) * b,
    "floor_div": lambda sp, a, b: sp.floor(a / b),
    "floor_mod": lambda sp, a, b: sp.Mod(a, b),
    "min": lambda sp, a, b: sp.Min(a, b),
    "max": lambda sp, a, b: sp.Max(a, b),
    "==": lambda sp, a, b: sp.Eq(a, b),
    "!=": lambda sp, a, b: sp.Ne(a, b),
    "<": lambda sp, a, b: sp.Lt(a, b),
    "<=": lambda sp, a, b: sp.Le(a, b),
    ">": lambda sp, a, b: sp.Gt(a, b),
    ">=": lambda sp, a, b: sp.Ge(a, b),
    "and": lambda sp, a, b: sp.And(a, b),
    "or": lambda sp, a, b: sp.Or(a, b),
}


def _infix(op: str, left: Expr, right: Expr, cxx: bool) -> tuple[str, int]:
    level = _PRECEDENCE[op]
    (a, a_level), (b, b_level) = left._render(cxx), right._render(cxx)
    chained = isinstance(left, Compare) and level == a_level  # a == b == c means two comparisons in Python
    a = f"({a})" if a_level < level or chained else a
    b = f"({b})" if b_level <= level and not (op == "+" and b_level == level) else b
    return f"{a} {_CXX_SPELLING.get(op, op) if cxx else op} {b}", level
