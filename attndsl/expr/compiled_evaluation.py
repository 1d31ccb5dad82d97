"""Symbolic scalars as Python functions: a search for cases evaluates its conditions very often, and the tile
interpreter the addresses of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from attndsl.expr.expression import Expr
from attndsl.expr.nodes import Binary, Compare, Const, Load, Logic, Select, Symbol
from attndsl.expr.operators import OPERATORS
from attndsl.expr.reductions import Fold

Function = Callable[[Mapping[str, Any]], Any]
_CALLED = {name: each.python for name, each in OPERATORS.items() if each.is_call}
"""The operators that Python calls, by the names that they have in texts."""
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


def _elements(rows: Any, start: int, count: int) -> list[int]:
    """Elements that follow each other, as :func:`_element` gives them."""
    if type(rows) is list and start >= 0 and start + count <= len(rows):
        return rows[start : start + max(count, 0)]
    return [_element(rows, start + index) for index in range(count)]


def _start(index: Expr, name: str) -> Expr | None:
    """The first of the indices that a loop over ``name`` from 0 goes through one by one."""
    if isinstance(index, Symbol) and index.name == name:
        return Const(0)
    if isinstance(index, Binary) and index.op == "+" and name not in index.left.symbols():
        return index.left if isinstance(index.right, Symbol) and index.right.name == name else None
    return None


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
        if isinstance(node, Binary) and OPERATORS[node.op].is_call:
            return f"{held(OPERATORS[node.op].python)}({text(node.left)}, {text(node.right)})"
        if isinstance(node, Binary | Compare | Logic):
            return f"({text(node.left)} {node.op} {text(node.right)})"
        if isinstance(node, Load):
            return f"{held(_element)}(e[{node.source!r}], {text(node.index)})"
        if isinstance(node, Fold) and node.extent is not None:
            return fold(node, node.body, node.extent)
        return f"{held(node.evaluate)}(e)"

    def fold(node: Fold, body: Expr, extent: Expr) -> str:
        """A fold over ``body``; choices that are the same for all indices are made once."""
        if isinstance(body, Select) and node.index not in body.condition.symbols():
            then, otherwise = fold(node, body.then, extent), fold(node, body.otherwise, extent)
            return f"({then} if {text(body.condition)} else {otherwise})"
        if isinstance(body, Load) and (start := _start(body.index, node.index)) is not None:
            rows = f"{held(_elements)}(e[{body.source!r}], {text(start)}, {text(extent)})"
            return f"{held(_FOLDS[node.op])}({rows})"
        count, bound[node.index] = text(extent), f"i{len(bound)}"
        each, index = text(body), bound.pop(node.index)
        return f"{held(_FOLDS[node.op])}([{each} for {index} in {held(range)}({count})])"

    # The text consists of operators, brackets and quoted names alone.
    function: Function = eval(f"lambda e: {text(expr)}", {"p": parts, "__builtins__": {}})
    return function


def evaluator(expr: Expr) -> Function:
    """``expr.evaluate`` as a function that is made once an expression.

    Unlike :func:`compiled` it reads tensors as ``evaluate`` does: an index beyond one is an error.
    """
    try:
        return expr._function
    except AttributeError:
        return expr._keep("_function", _shared_evaluator(expr))


def integers(*exprs: Expr) -> Function:
    """The values of expressions as a tuple of ints, by one function."""
    known = [node.value for node in exprs if isinstance(node, Const)]
    if len(known) == len(exprs):
        values = tuple(int(value) for value in known)
        return lambda env: values
    parts: list[Any] = []
    texts = [
        str(int(node.value)) if isinstance(node, Const) else f"int({_exact(node, parts)})" for node in exprs
    ]
    text = ", ".join(texts)  # makes the parts, too
    return _function(f"({text},)", parts)


def definitions(named: tuple[tuple[str, Expr], ...]) -> Callable[[dict[str, Any]], object]:
    """One function that gives symbols of an environment their values, one after the other."""
    parts: list[Any] = []
    texts = [f"e.__setitem__({name!r}, {_exact(value, parts)})" for name, value in named]
    return _function(f"({', '.join(texts)},)", parts)


def _shared_evaluator(expr: Expr) -> Function:
    parts: list[Any] = []
    return _function(_exact(expr, parts), parts)


def _exact(node: Expr, parts: list[Any]) -> str:
    """The Python text of an expression; what has none is called, as the next of ``parts``."""
    if isinstance(node, Const) and type(node.value) in (int, bool):
        return f"({node.value})"
    if isinstance(node, Symbol):
        return f"e[{node.name!r}]"
    if isinstance(node, Select):
        condition, then, otherwise = (_exact(each, parts) for each in node.children())
        return f"({then} if {condition} else {otherwise})"
    if isinstance(node, Binary) and OPERATORS[node.op].is_call:
        return f"{node.op}({_exact(node.left, parts)}, {_exact(node.right, parts)})"
    if isinstance(node, Binary | Compare | Logic):
        return f"({_exact(node.left, parts)} {node.op} {_exact(node.right, parts)})"
    parts.append(node.evaluate)
    return f"p[{len(parts) - 1}](e)"


def _function(text: str, parts: list[Any]) -> Function:
    """The function of an environment ``e`` with this value; those of one text without parts are one."""
    return _of_text(text) if not parts else _made(text, parts)


@lru_cache(maxsize=1 << 14)
def _of_text(text: str) -> Function:
    return _made(text, [])


def _made(text: str, parts: list[Any]) -> Function:
    # The text consists of operators, brackets, integers and quoted names alone.
    names = {**_CALLED, "int": int, "p": parts, "__builtins__": {}}
    function: Function = eval(f"lambda e: {text}", names)
    return function
