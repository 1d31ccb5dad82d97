"""Symbolic scalars as Python functions: a search for cases evaluates its conditions very often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attndsl.folds import Fold
from attndsl.symbolic import Binary, Compare, Const, Expr, Load, Logic, Select, Symbol

Function = Callable[[Mapping[str, Any]], Any]
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
}
_FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "min": lambda values: min(values, default=0),
    "max": lambda values: max(values, default=0),
    "sum": sum,
}


def _element(rows: Any, index: int) -> int:
    """An element of an integer tensor, or of the list of its elements; the nearest one for an index beyond
    it."""
    flat = rows if type(rows) is list else rows.reshape(-1)
    size = len(flat)
    if 0 <= index < size:
        return int(flat[index])
    return int(flat[0 if index < 0 else size - 1]) if size else 0


def compiled(expr: Expr) -> Function:
    """``expr.evaluate`` as one function of the environment; a KeyError where a symbol has no value."""
    parts: list[Any] = []
    bound: dict[str, str] = {}

    def held(value: Any) -> str:
        parts.append(value)
        return f"p[{len(parts) - 1}]"

    def text(node: Expr) -> str:
        if isinstance(node, Const):
            return held(node.value)
        if isinstance(node, Symbol):
            return bound.get(node.name) or f"e[{node.name!r}]"
        if isinstance(node, Select):
            return f"({text(node.then)} if {text(node.condition)} else {text(node.otherwise)})"
        if isinstance(node, Binary) and node.op in _CALLS:
            return f"{held(_CALLS[node.op])}({text(node.left)}, {text(node.right)})"
        if isinstance(node, Binary | Compare | Logic):
            return f"({text(node.left)} {node.op} {text(node.right)})"
        if isinstance(node, Load):
            return f"{held(_element)}(e[{node.source!r}], {text(node.index)})"
        if isinstance(node, Fold) and node.extent is not None:
            extent, bound[node.index] = text(node.extent), f"i{len(bound)}"
            body, index = text(node.body), bound.pop(node.index)
            return f"{held(_FOLDS[node.op])}([{body} for {index} in {held(range)}({extent})])"
        return f"{held(node.evaluate)}(e)"

    # The text consists of operators, brackets and quoted names alone.
    function: Function = eval(f"lambda e: {text(expr)}", {"p": parts, "__builtins__": {}})
    return function
