"""A specialized computation: a DAG of nodes with named outputs, in topological order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from attndsl.expr import Expr
from attndsl.graph.nodes import CacheAppend, Input, Node, Output, stored

_COLUMN = 64  # widest column that others are aligned to
_UNTOLD = frozenset({"where", "axes", "optional", "dtypes"})
"""Fields that are no part of what a node computes; its axes stand beside it."""


@dataclass(frozen=True, eq=False)
class Graph:
    """What one combination of passed inputs computes.

    ``present``: names of the inputs that the call passes; ``outputs``: in the order of the contract.
    """

    name: str
    present: frozenset[str]
    outputs: tuple[Output, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node once, operands before their users; the order depends on the spec alone."""
        return tuple(dict.fromkeys(node for output in self.outputs for node in output.walk()))

    def inputs(self) -> tuple[Input, ...]:
        """The tensors that the computation reads."""
        return tuple(node for node in self.nodes if isinstance(node, Input))

    def updated(self) -> tuple[str, ...]:
        """Names of the inputs that the computation updates in place."""
        caches = [stored(node.cache) for node in self.nodes if isinstance(node, CacheAppend)]
        return tuple(dict.fromkeys(cache.name for cache in caches if cache is not None))

    @cached_property
    def key(self) -> str:
        """The same text for graphs that compute the same in the same way, whatever lines they come from."""
        return structure(self.nodes)

    def print(self) -> str:
        """Legible text, one node a line, each with its spec line; a long line pushes its own columns."""
        names = {node: f"%{index}" for index, node in enumerate(self.nodes)}
        rows = [
            (names[node], _describe(node, names, "g"), _axes(node), str(node.where)) for node in self.nodes
        ]
        widths = [min(max(len(row[column]) for row in rows), _COLUMN) for column in range(3)]
        given = ", ".join(sorted(self.present)) or "nothing"
        lines = [f"graph {self.name}  given: {given}"]
        for name, text, axes, where in rows:
            lines.append(f"  {name:<{widths[0]}} = {text:<{widths[1]}}  {axes:<{widths[2]}}  # {where}")
        return "\n".join(lines)


def structure(nodes: Iterable[Node]) -> str:
    """Nodes as text without their lines, numbers with all digits; operands come before their users."""
    kept = tuple(nodes)
    names = {node: f"%{index}" for index, node in enumerate(kept)}
    return "\n".join(f"{_describe(node, names)} {_axes(node)}" for node in kept)


def same_structure(first: Node | None, second: Node | None) -> bool:
    """Whether :func:`structure` gives the same text for all below and including two nodes; no node at all
    is like no other. Roots are compared first: where two differ, most do there."""
    if first is second:
        return True
    if first is None or second is None or not _alike(first, second):
        return False
    mine, theirs = first.inside(), second.inside()
    mate = dict(zip(mine, theirs, strict=False))
    return len(mine) == len(theirs) and all(
        _alike(one, other)
        and [mate[each] for each in one.operands()] == list(other.operands())
        and _axes(one) == _axes(other)
        for one, other in mate.items()
    )


def _alike(first: Node, second: Node) -> bool:
    """Whether two nodes are the same but for their operands."""
    if type(first) is not type(second):
        return False
    names = (item.name for item in fields(first) if item.name not in _UNTOLD)
    return all(_same_field(getattr(first, name), getattr(second, name)) for name in names)


def _same_field(first: Any, second: Any) -> bool:
    """Whether two fields have the same text; nodes are only told from what is none."""
    if first is second:
        return True
    if isinstance(first, Node) or isinstance(second, Node):
        return isinstance(first, Node) and isinstance(second, Node)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_same_field, first, second))
    return _field(first, {}, "") == _field(second, {}, "")


def _axes(node: Node) -> str:
    axes: tuple[str, ...] = getattr(node, "axes", ())
    return f"({', '.join(axes)})"


def _describe(node: Node, names: dict[Node, str], number: str = "") -> str:
    """A node with its operands by name; ``number``: how floats are formatted, exactly unless told."""
    words = []
    for item in fields(node):
        if item.name in _UNTOLD:
            continue
        text = _field(getattr(node, item.name), names, number)
        if text is not None:
            words.append(f"{item.name}={text}")
    return f"{type(node).__name__}({', '.join(words)})"


def _field(value: Any, names: dict[Node, str], number: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, Node):
        return names[value]
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(str(_field(each, names, number)) for each in value)}]"
    if isinstance(value, frozenset):  # a set has another order in each process
        told = sorted(map(repr, value), key=lambda text: (len(text), text))
        return f"frozenset({{{', '.join(told)}}})"
    return format(value, number) if isinstance(value, float) else str(value)
