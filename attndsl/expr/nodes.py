"""The kinds of symbolic scalars: literals, names, operators, choices and reads of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MethodType
from typing import Any

import numpy as np

from attndsl.expr.expression import Expr, ExprLike, TakesScalars, Value, make
from attndsl.expr.operators import ATOM, OPERATORS


class Scope(Enum):
    """Where a name belongs; code generation spells it accordingly."""

    LOCAL = "local"
    """A variable of a function; in a spec, a size, a parameter or an index."""
    MEMBER = "member"
    """What a kernel holds for all its functions: the core's own numbers, arrays."""
    TILING = "tiling"
    """A tiling field."""
    GLOBAL = "global"
    """A tensor in global memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Const(Expr):
    """A literal."""

    value: Value

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return self.value

    def rendered(self) -> tuple[str, int]:
        negative = isinstance(self.value, int | float) and not self.value >= 0
        return str(self.value), OPERATORS["-"].precedence if negative else ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("const", type(self.value).__name__, self.value)


@dataclass(frozen=True, eq=False, slots=True)
class Named(Const):
    """A literal with a name, so that generated code says ``kTileKeys`` where Python knows the number.

    Arithmetic with it is not folded, and it is equal to no other constant of its value: an edit of the
    constant changes everything that depends on it, and nothing else.
    """

    name: str = ""

    def rendered(self) -> tuple[str, int]:
        return self.name, ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("named", self.name, type(self.value).__name__, self.value)


@dataclass(frozen=True, eq=False, slots=True)
class Symbol(Expr):
    """A named scalar: a dimension, a parameter, a tiling field or a loop variable."""

    name: str
    scope: Scope = Scope.LOCAL

    def _free(self) -> frozenset[str]:
        return frozenset((self.name,))

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return env[self.name]

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return as_expr(values[self.name]) if self.name in values else self

    def rendered(self) -> tuple[str, int]:
        return self.name, ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("symbol", self.name)


@dataclass(frozen=True, eq=False, slots=True)
class OneOf(Symbol):
    """A named scalar that has one of a few values, so that what holds for each of them holds for it."""

    values: tuple[Expr, ...] = ()


def alternatives(expr: Expr) -> tuple[Expr, ...]:
    """An expression with each of the values that its scalars of few values have."""
    found: tuple[Expr, ...] = (expr,)
    for symbol in dict.fromkeys(node for node in expr.walk() if isinstance(node, OneOf)):
        found = tuple(each.substitute({symbol.name: value}) for each in found for value in symbol.values)
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Pair(Expr):
    """Base of the operators with two operands, written between them."""

    op: str
    left: Expr
    right: Expr

    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return OPERATORS[self.op].python(self.left.evaluate(env), self.right.evaluate(env))

    def rendered(self) -> tuple[str, int]:
        level = OPERATORS[self.op].precedence
        (a, a_level), (b, b_level) = self.left.rendered(), self.right.rendered()
        return f"{bracketed(self, a, a_level)} {self.op} {bracketed(self, b, b_level, right=True)}", level

    def _key(self) -> tuple[Any, ...]:
        return (self.op, self.left.structure(), self.right.structure())


@dataclass(frozen=True, eq=False, slots=True)
class Binary(Pair):
    """Arithmetic: ``+ - * / // % min max ceil_div round_up floor_div floor_mod``."""

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return make.binary(self.op, *children)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return make.binary(self.op, self.left.substitute(values), self.right.substitute(values))

    def rendered(self) -> tuple[str, int]:
        if OPERATORS[self.op].is_call:
            return f"{self.op}({self.left}, {self.right})", ATOM
        return Pair.rendered(self)


@dataclass(frozen=True, eq=False, slots=True)
class Compare(Pair):
    """A comparison; as a Python bool, ``==`` and ``!=`` tell structural equality."""

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return compare(self.op, *children)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return compare(self.op, self.left.substitute(values), self.right.substitute(values))

    def holds_truth(self) -> bool:
        return True

    def __bool__(self) -> bool:
        if self.op == "==":
            return self.left.same(self.right)
        if self.op == "!=":
            return not self.left.same(self.right)
        raise TypeError(self._no_value())


@dataclass(frozen=True, eq=False, slots=True)
class Logic(Pair):
    """``and`` / ``or`` of two conditions."""

    def holds_truth(self) -> bool:
        return True

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
        return make.select(*children)

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return (self.then if self.condition.evaluate(env) else self.otherwise).evaluate(env)

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return make.select(*(child.substitute(values) for child in self.children()))

    def rendered(self) -> tuple[str, int]:
        return f"{self.then} if {self.condition} else {self.otherwise}", 0

    def _key(self) -> tuple[Any, ...]:
        return ("select", *(child.structure() for child in self.children()))


@dataclass(frozen=True, eq=False, slots=True)
class Load(Expr):
    """A scalar read of a tensor in global memory, ``source[index]``; ``dtype`` is the tensor's.

    ``scope`` is :attr:`Scope.GLOBAL` in kernels, which have a name space of their own for tensors.
    """

    source: str
    index: Expr
    dtype: str = "int64"
    scope: Scope = Scope.LOCAL

    def children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, index=children[0])

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return self.array(env).reshape(-1)[self.index.evaluate(env)].item()

    def holds_truth(self) -> bool:
        return True

    def array(self, env: Mapping[str, Any]) -> Any:
        """The tensor; in a kernel, the one in global memory, so that no scalar is taken for it."""
        key = global_key(self.source) if self.scope is Scope.GLOBAL else self.source
        return env[key if key in env else self.source]

    def substitute(self, values: Mapping[str, ExprLike]) -> Expr:
        return replace(self, index=self.index.substitute(values))

    def rendered(self) -> tuple[str, int]:
        return f"{self.source}[{self.index}]", ATOM

    def _key(self) -> tuple[Any, ...]:
        return ("load", self.source, self.index.structure())


@dataclass(frozen=True, eq=False, slots=True)
class Element(Load):
    """A read of an array of scalars that the core itself holds, ``source[index]``."""

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        return int(env[self.source][self.index.evaluate(env)])


def global_key(tensor: str) -> str:
    """Where the scalars of a running kernel hold a tensor in global memory; no scalar can be named so."""
    return f"gm({tensor})"


_WHOLE_NUMBERS = {number: Const(number) for number in range(-1, 1025)}
"""Most numbers of indices are one of these; what is known of one is found once."""


def as_expr(value: object) -> Expr:
    """An expression for a number, string or expression.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is int and value in _WHOLE_NUMBERS:
        return _WHOLE_NUMBERS[value]
    if isinstance(value, int | float | str):
        return Const(value)
    if isinstance(value, TakesScalars):
        raise TypeError(
            "a number or a symbolic expression is needed here, got a whole tensor or value: x[b, j] is an "
            "element of a tensor, and attend.minimum and attend.maximum take values"
        )
    shown = f"the function {value.__qualname__}; call it" if isinstance(value, MethodType) else repr(value)
    raise TypeError(f"a number or a symbolic expression is needed here, got {shown}")


def compare(op: str, left: object, right: object) -> Compare:
    """A comparison; kept symbolic even between constants, so that it can be printed."""
    sides = as_expr(left), as_expr(right)
    if op not in ("==", "!=") and any(
        isinstance(each, Const) and isinstance(each.value, str) for each in sides
    ):
        raise TypeError(f"'{sides[0]} {op} {sides[1]}' orders a text: texts are equal or not, by == and !=")
    return Compare(op, *sides)


def bracketed(pair: Pair, text: str, level: int, *, right: bool = False) -> str:
    """An operand of ``pair`` with brackets where its precedence ``level`` asks for them.

    A comparison on the left has brackets beside another one: ``a == b == c`` is two comparisons in Python.
    """
    own = OPERATORS[pair.op].precedence
    if right:
        loose = level < own or (level == own and pair.op != "+")
    else:
        loose = level < own or (level == own and isinstance(pair.left, Compare))
    return f"({text})" if loose else text
