"""Enum parameters: the host knows a value by its number, so that a tiling field can depend on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attndsl.expr import Compare, Const, Expr, Symbol
from attndsl.spec.contract.contract import Contract

EnumValues = Mapping[str, tuple[Any, ...]]


def enum_parameters(operator: Contract) -> dict[str, tuple[Any, ...]]:
    """The enum parameters, with their values in the order of their numbers."""
    words = (spec for spec in operator.params if spec.type is str)
    return {spec.name: tuple(dict.fromkeys(spec.choices.values())) for spec in words}


def enums_as_numbers(value: Expr, words: EnumValues) -> Expr:
    """An expression in which comparisons with enum values are comparisons with their numbers."""

    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Compare) or not isinstance(node.left, Symbol):
            return None
        if node.left.name not in words or not isinstance(node.right, Const):
            return None
        return Compare(node.op, node.left, Const(number_of(node.right.value, words[node.left.name])))

    return value.mapped(change)


def number_of(word: object, words: tuple[Any, ...]) -> int:
    """The number of an enum value, -1 for one that is not declared."""
    return words.index(word) if word in words else -1
