"""What a rule of legal graphs is, and what rules ask of nodes.

Rules of stored rows are in row_rules.py, those of what is computed in verifier.py, which has the whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Axes, Input, Leading, Node, Take

INTEGERS = frozenset({"bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"})

Check = Callable[[Any, Graph], str | None]


@dataclass(frozen=True)
class Rule:
    """``check`` applies to nodes of ``types``."""

    name: str
    types: tuple[type[Node], ...]
    check: Check


class Rules(list[Rule]):
    """Rules in the order in which they are asked of a node."""

    def of(self, *types: type[Node]) -> Callable[[Check], Check]:
        """Makes a check the rule of these nodes, named as the function is."""

        def register(check: Check) -> Check:
            self.append(Rule(check.__name__.strip("_"), types, check))
            return check

        return register


def axes_of(node: Node) -> Axes:
    """The axes of a node; none of one that has no tensor."""
    axes: Axes = getattr(node, "axes", ())
    return axes


def axes_text(axes: Axes) -> str:
    """Axes as messages tell them."""
    return f"({', '.join(axes)})"


def stored_dtypes(node: Node) -> frozenset[str] | None:
    """Every dtype that the stored value may have; None for computed fp32."""
    if isinstance(node, Input):
        return frozenset(node.dtypes) or None
    if isinstance(node, Take | Leading):
        return stored_dtypes(node.source)
    return None
