"""Symbolic scalars as Python functions: a search for cases evaluates its conditions very often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attndsl.symbolic import Binary, Compare, Const, Expr, Logic, Select, Symbol

Function = Callable[[Mapping[str, Any]], Any]
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
}


def compiled(expr: Expr) -> Function:
    """``expr.evaluate`` as one function of the environment; a KeyError where a symbol has no value."""
    parts: list[Any] = []

    def held(value: Any) -> str:
        parts.append(value)
        return f"p[{len(parts) - 1}]"

    def text(node: Expr) -> str:
        if isinstance(node, Const):
            return held(node.value)
        if isinstance(node, Symbol):
            return f"e[{node.name!r}]"
        if isinstance(node, Select):
            return f"({text(node.then)} if {text(node.condition)} else {text(node.otherwise)})"
        if isinstance(node, Binary) and node.op in _CALLS:
            return f"{held(_CALLS[node.op])}({text(node.left)}, {text(node.right)})"
        if isinstance(node, Binary | Compare | Logic):
            return f"({text(node.left)} {node.op} {text(node.right)})"
        return f"{held(node.evaluate)}(e)"

    # The text consists of operators, brackets and quoted names alone.
    function: Function = eval(f"lambda e: {text(expr)}", {"p": parts, "__builtins__": {}})
    return function
