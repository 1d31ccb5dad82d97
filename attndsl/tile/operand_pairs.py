"""Comparison of two programs up to a dtype: operands that are float16 in one may be bfloat16 in the other."""

from __future__ import annotations

from typing import Any

from attndsl.expr import Expr
from attndsl.tile.buffers import Buffer, GlobalTensor, ScalarArray
from attndsl.tile.comparison import Comparison, compared_fields
from attndsl.tile.statements import Statement

DTYPES = ("float16", "bfloat16")
"""The dtypes that may stand for each other."""
TWIN = dict(zip(DTYPES, reversed(DTYPES), strict=True))

Operand = Buffer | GlobalTensor
_OPERANDS = (Buffer, GlobalTensor, ScalarArray)


class OperandPairs(Comparison):
    """Compares pieces of two programs, objects shared within each pairwise.

    Attributes:
        found: operands of the first whose dtype differs, in the order in which they were met.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Operand] = []
        self._second: dict[object, object] = {}
        self._first: dict[object, object] = {}

    def second_of(self, first: Any) -> Any:
        """The object of the second program that stands for one of the first."""
        return self._second[first]

    def decided(self, first: Any, second: Any) -> bool | None:
        if first is second:
            return True
        if type(first) is not type(second):
            return False
        if isinstance(first, Expr):
            return _same_expression(first, second)
        if isinstance(first, Statement):
            return self._paired(first, second)
        return self._operands(first, second) if isinstance(first, _OPERANDS) else None

    def _paired(self, first: object, second: object) -> bool | None:
        """Whether two objects stand for each other; None where neither was met before: now they do."""
        if first in self._second or second in self._first:
            return self._second.get(first) is second and self._first.get(second) is first
        self._second[first], self._first[second] = second, first
        return None

    def _operands(self, first: Any, second: Any) -> bool:
        """Operands are compared once: from then on each stands for the other and for nothing else."""
        known = self._paired(first, second)
        if known is not None:
            return known
        if isinstance(first, ScalarArray):
            return self.same_fields(first, second)
        if first.dtype != second.dtype:
            if TWIN.get(first.dtype) != second.dtype:
                return False
            self.found.append(first)
        return self.same_fields(first, second, but=frozenset({"dtype"}))


def _same_expression(first: Expr, second: Expr) -> bool:
    """Whether two expressions are equal, with the scopes and names that no evaluation asks for."""
    mine, theirs = first.nodes(), second.nodes()
    return len(mine) == len(theirs) and all(map(_same_node, mine, theirs))


def _same_node(first: Expr, second: Expr) -> bool:
    """Whether two nodes are equal, their operands aside."""
    if type(first) is not type(second):
        return False
    kind: Any = type(first)
    for name in compared_fields(kind):
        one, other = getattr(first, name), getattr(second, name)
        operands = isinstance(one, Expr) and isinstance(other, Expr)
        if not operands and (type(one) is not type(other) or one != other):
            return False
    return True
