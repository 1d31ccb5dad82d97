"""How messages and the printed contract call the symbols of constraints: ``given(x)`` is "x is passed"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attndsl.expr import Compare, Const, Expr, Load, Symbol
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, ROWS, SPLIT, argument_of, asks, kind_of


def spoken(name: str) -> str:
    """A symbol or tensor in words: ``dtype(x)`` is "dtype of x"."""
    kind, argument = asks(name)
    return f"{kind} of {argument}" if kind in (DTYPE, LAYOUT, ROWS) else name


def spoken_text(expr: Expr) -> str:
    """An expression with its symbols and tensors in words."""

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Symbol):
            return Symbol(spoken(node.name))
        if isinstance(node, Load):
            return replace(node, source=spoken(node.source), index=node.index.mapped(change))
        return None

    return str(expr.mapped(change))


def fact(name: str, value: Any) -> str:
    """What a call says: "input_layout is BSH", "block_table is absent"."""
    kind, argument = asks(name)
    if kind in _WORDS:
        return f"{argument} {_WORDS[kind][bool(value)]}"
    return f"{spoken(name)} is {value}"


def condition_words(condition: Expr) -> str:
    """A condition with the presence of arguments, and lists of them, in words."""
    return str(condition.mapped(_in_words))


def _in_words(node: Expr) -> Expr | None:
    if isinstance(node, Compare) and node.op == "==" and isinstance(node.left, Symbol):
        (kind, argument), other = asks(node.left.name), node.right
        if isinstance(other, Const) and other.value is False and kind in _WORDS:
            return Symbol(f"{argument} {_WORDS[kind][0]}")
        if kind == SPLIT and isinstance(other, Symbol) and kind_of(other.name) == SPLIT:
            return Symbol(f"{argument} is a list where {argument_of(other.name)} is")
    if isinstance(node, Symbol) and kind_of(node.name) in _WORDS:
        kind, argument = asks(node.name)
        return Symbol(f"{argument} {_WORDS[kind][1]}")
    return None


_WORDS = {
    GIVEN: ("is absent", "is passed"),
    SPLIT: ("is one tensor", "is a list of one tensor a batch row"),
}
"""What is said where a symbol is false, and where it is true."""


def alternatives(texts: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last
