"""The graph of one call: choices by presence are made, absent optional operands collapse.

What a node becomes without an operand is a property of its type and stands in the two tables below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from attndsl.graph.nodes import (
    Choose,
    Dequantize,
    Elementwise,
    IndexCondition,
    Input,
    Node,
    Quantize,
    Replace,
    Scalar,
)
from attndsl.symbolic import Expr, Load

MAY_BE_ABSENT = frozenset({"length", "start", "offset", "index", "forced", "ends"})
"""Fields that become None where their operand is absent."""

COLLAPSES: dict[type[Node], str] = {Replace: "condition", Dequantize: "scale", Quantize: "scale"}
"""Node types that become their source where the operand in this field is absent."""


def specialize(roots: tuple[Node, ...], present: frozenset[str]) -> tuple[Node | None, ...]:
    """The nodes as a call sees them that passes the inputs ``present``; None for what it cannot compute."""
    memo: dict[int, Node | None] = {}

    def visit(node: Node) -> Node | None:
        if id(node) not in memo:
            memo[id(node)] = _specialize(node, present, visit)
        return memo[id(node)]

    return tuple(visit(root) for root in roots)


def _specialize(node: Node, present: frozenset[str], visit: Callable[[Node], Node | None]) -> Node | None:
    if isinstance(node, Input):
        return node if not node.optional or node.name in present else None
    if isinstance(node, Choose):
        chosen = next((i for i, needs in enumerate(node.needs) if needs <= present), len(node.needs))
        return visit(node.alternatives[chosen])
    if isinstance(node, Scalar) and _reads_absent(node.value, present):
        return None
    if isinstance(node, IndexCondition) and _reads_absent(node.condition, present):
        return None
    if isinstance(node, Elementwise):
        return _elementwise(node, [visit(operand) for operand in node.inputs])
    gate = COLLAPSES.get(type(node))
    if gate is not None and visit(getattr(node, gate)) is None:
        return visit(getattr(node, "source"))  # noqa: B009 - the field exists in each of the types
    return _rebuild(node, visit)


def _elementwise(node: Elementwise, operands: list[Node | None]) -> Node | None:
    kept = tuple(operand for operand in operands if operand is not None)
    if len(kept) == len(operands):
        same = all(a is b for a, b in zip(kept, node.inputs, strict=True))
        return node if same else replace(node, inputs=kept)
    first_only = node.op in ("subtract", "divide") and operands[0] is None
    return kept[0] if len(kept) == 1 and len(operands) == 2 and not first_only else None


def _rebuild(node: Node, visit: Callable[[Node], Node | None]) -> Node | None:
    changed: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            new: Any = visit(value)
            if new is None and item.name not in MAY_BE_ABSENT:
                return None
        elif isinstance(value, tuple) and any(isinstance(each, Node) for each in value):
            new = tuple(visit(each) for each in value)
            if any(each is None for each in new):
                return None
            new = value if all(a is b for a, b in zip(new, value, strict=True)) else new
        else:
            continue
        if new is not value:
            changed[item.name] = new
    return replace(node, **changed) if changed else node


def _reads_absent(expr: Expr, present: frozenset[str]) -> bool:
    return any(isinstance(part, Load) and part.source not in present for part in expr.walk())
