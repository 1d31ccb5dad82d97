"""A specialized computation: a DAG of nodes with named outputs, in topological order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from attndsl.expr import Expr
from attndsl.graph.nodes import CacheAppend, Input, Node, Output, stored

_COLUMN = 64  # widest column that others are aligned to


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
        order: dict[int, Node] = {}
        for output in self.outputs:
            for node in output.walk():
                order.setdefault(id(node), node)
        return tuple(order.values())

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
        names = {id(node): f"%{index}" for index, node in enumerate(self.nodes)}
        rows = [
            (names[id(node)], _describe(node, names, "g"), _axes(node), str(node.where))
            for node in self.nodes
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
    names = {id(node): f"%{index}" for index, node in enumerate(kept)}
    return "\n".join(f"{_describe(node, names)} {_axes(node)}" for node in kept)


def _axes(node: Node) -> str:
    axes: tuple[str, ...] = getattr(node, "axes", ())
    return f"({', '.join(axes)})"


def _describe(node: Node, names: dict[int, str], number: str = "") -> str:
    """A node with its operands by name; ``number``: how floats are formatted, exactly unless told."""
    words = []
    for item in fields(node):
        if item.name in ("where", "axes", "optional", "dtypes"):
            continue
        text = _field(getattr(node, item.name), names, number)
        if text is not None:
            words.append(f"{item.name}={text}")
    return f"{type(node).__name__}({', '.join(words)})"


def _field(value: Any, names: dict[int, str], number: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, Node):
        return names[id(value)]
    if isinstance(value, Expr):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(str(_field(each, names, number)) for each in value)}]"
    return format(value, number) if isinstance(value, float) else str(value)
