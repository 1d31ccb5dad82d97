"""The scalar expressions inside statements, and the scalars a piece of program takes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from attndsl.symbolic import Expr, Symbol
from attndsl.tile.buffers import GlobalRegion, Region
from attndsl.tile.statements import For, Let, Pipelined, Seq, Statement


def expressions(statement: Statement) -> Iterator[Expr]:
    """Every expression that the statement itself (not its children) uses."""
    for item in fields(statement):
        value = getattr(statement, item.name)
        if item.name in ("symbol", "var"):
            continue
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, Region | GlobalRegion):
            yield from (value.offset, value.rows, value.cols, value.pitch)


def used(statement: Statement) -> set[str]:
    """Names of all scalars used anywhere inside."""
    return {name for inner in statement.walk() for expr in expressions(inner) for name in expr.symbols()}


def free(statement: Statement) -> dict[str, Symbol]:
    """The scalars that the statement uses but does not define itself, in order of first use."""
    found: dict[str, Symbol] = {}
    _collect(statement, frozenset(), found)
    return found


def _collect(statement: Statement, bound: frozenset[str], found: dict[str, Symbol]) -> frozenset[str]:
    for expr in expressions(statement):
        for node in expr.walk():
            if isinstance(node, Symbol) and node.name not in bound:
                found.setdefault(node.name, node)
    if isinstance(statement, Let):
        return bound | {statement.symbol.name}
    inner = bound | {statement.var.name} if isinstance(statement, For | Pipelined) else bound
    for child in statement.children():
        after = _collect(child, inner, found)
        if isinstance(statement, Seq):
            inner = after
    return bound
