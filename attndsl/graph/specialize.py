"""The graph of one call: choices by presence are made, absent optional operands collapse.

What a node becomes without an operand is a property of its type and stands in the two tables below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from attndsl.expr import Expr, Load
from attndsl.expr.argument_facts import GIVEN, kind_of, presence
from attndsl.graph.nodes import (
    AXIS_ORDER,
    Axes,
    Choose,
    Conditional,
    Dequantize,
    EarlierPartial,
    Elementwise,
    IndexCondition,
    Input,
    LogSumExpMerge,
    Node,
    Quantize,
    Replace,
    Scalar,
)

MAY_BE_ABSENT = frozenset({"length", "start", "offset", "index", "forced", "ends", "scale", "sink"})
"""Fields that become None where their operand is absent."""

SHRINKS: dict[type[Node], tuple[str, type[Node]]] = {LogSumExpMerge: ("parts", EarlierPartial)}
"""Node types with a field of several operands, which does without those of a type that are absent."""

COLLAPSES: dict[type[Node], str] = {Replace: "condition", Dequantize: "scale", Quantize: "scale"}
"""Node types that become their source where the operand in this field is absent."""


@dataclass(frozen=True)
class Situation:
    """What a call settles: which inputs it passes, and the values that conditions of the graph ask for."""

    present: frozenset[str]
    settings: Mapping[str, Any]

    def settled(self, expr: Expr) -> Expr:
        """``expr`` with the presence of inputs filled in, so that choices by presence are made."""
        known = presence(expr.symbols(), self.present)
        return expr.substitute(known) if known else expr

    def holds(self, condition: Expr) -> bool:
        """Whether a condition is true; an argument that is not passed has no dtype or layout."""
        settled = self.settled(condition)
        return bool(settled.evaluate({**dict.fromkeys(settled.symbols()), **self.settings}))


def asked_conditions(roots: tuple[Node, ...]) -> tuple[Expr, ...]:
    """The conditions on which the shape of the graph depends."""
    found = dict.fromkeys(node for root in roots for node in root.walk() if isinstance(node, Conditional))
    return tuple(node.condition for node in found)


def conditions(roots: tuple[Node, ...]) -> frozenset[str]:
    """The symbols, presence aside, on which the shape of the graph depends."""
    names = {name for condition in asked_conditions(roots) for name in condition.symbols()}
    return frozenset(name for name in names if kind_of(name) != GIVEN)


def specialize(
    roots: tuple[Node, ...], present: frozenset[str], settings: Mapping[str, Any] | None = None
) -> tuple[Node | None, ...]:
    """The nodes as a call sees them that passes the inputs ``present``; None for what it cannot compute."""
    situation = Situation(present, settings or {})
    visitor: Visitor[Node | None] = Visitor(lambda node, visit: specialized(node, situation, visit))
    return tuple(map(visitor, roots))


Visit = Callable[[Node], Node | None]


T = TypeVar("T")
_DEEPEST = 32
"""Rules that are applied inside each other, each some frames of Python's stack."""


class Visitor(Generic[T]):
    """Applies a rule to the nodes of a graph, to each once; the rule visits operands itself.

    Graphs may be deeper than Python's stack: a rule that visits an operand of which nothing is known yet,
    :data:`_DEEPEST` rules inside each other, is left, and starts again when it is known. So a rule has no
    effect but its result.
    """

    def __init__(self, rule: Callable[[Node, Callable[[Node], T]], T]) -> None:
        self._rule = rule
        self._memo: dict[Node, T] = {}
        self._depth = 0

    def __call__(self, node: Node) -> T:
        """What becomes of ``node``."""
        open_ = [node]
        while open_:
            try:
                if open_[-1] not in self._memo:
                    self._memo[open_[-1]] = self._rule(open_[-1], self._known)
                open_.pop()
            except _Unknown as operand:
                open_.append(operand.node)
        return self._memo[node]

    def _known(self, node: Node) -> T:
        if node in self._memo:
            return self._memo[node]
        if self._depth == _DEEPEST:
            raise _Unknown(node)
        self._depth += 1
        try:
            found = self._memo[node] = self._rule(node, self._known)
        finally:
            self._depth -= 1
        return found


class _Unknown(Exception):
    """A rule visits a node before the visitor has."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


def specialized(node: Node, situation: Situation, visit: Visit) -> Node | None:
    """What becomes of one node; ``visit`` tells what becomes of its operands."""
    present = situation.present
    if isinstance(node, Conditional):
        return visit(node.then if situation.holds(node.condition) else node.otherwise)
    if isinstance(node, Input):
        return node if not node.optional or node.name in present else None
    if isinstance(node, Choose):
        chosen = next((i for i, needs in enumerate(node.needs) if needs <= present), len(node.needs))
        return visit(node.alternatives[chosen])
    if isinstance(node, Scalar):
        value = situation.settled(node.value)
        if _reads_absent(value, present):
            return None
        return node if value is node.value else replace(node, value=value)
    if isinstance(node, IndexCondition):
        condition = situation.settled(node.condition)
        if _reads_absent(condition, present):
            return None
        return node if condition is node.condition else replace(node, condition=condition)
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
        return node if same else replace(node, inputs=kept, axes=_union(kept))
    first_only = node.op in ("subtract", "divide") and operands[0] is None
    return kept[0] if len(kept) == 1 and len(operands) == 2 and not first_only else None


def _rebuild(node: Node, visit: Visit) -> Node | None:
    changed: dict[str, Any] = {}
    for name in _field_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            new: Any = visit(value)
            if new is None and name not in MAY_BE_ABSENT:
                return None
        elif isinstance(value, tuple) and any(isinstance(each, Node) for each in value):
            new = _kept(node, name, tuple(visit(each) for each in value))
            if any(each is None for each in new):
                return None
            same = len(new) == len(value) and all(a is b for a, b in zip(new, value, strict=True))
            new = value if same else new
        else:
            continue
        if new is not value:
            changed[name] = new
    if isinstance(node, Replace) and changed:
        changed["axes"] = _union(
            tuple(changed.get(each, getattr(node, each)) for each in ("source", "condition"))
        )
    return replace(node, **changed) if changed else node


_fields_of: dict[type[Node], tuple[str, ...]] = {}


def _field_names(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a type of nodes."""
    if kind not in _fields_of:
        _fields_of[kind] = tuple(each.name for each in fields(kind))
    return _fields_of[kind]


def _kept(node: Node, name: str, operands: tuple[Node | None, ...]) -> tuple[Node | None, ...]:
    """The operands in a field of ``node``, without those that it does without where they are absent."""
    field, kind = SHRINKS.get(type(node), ("", Node))
    if field != name:
        return operands
    before = getattr(node, name)
    pairs = zip(operands, before, strict=True)
    return tuple(each for each, old in pairs if each is not None or not isinstance(old, kind))


def _union(operands: tuple[Node, ...]) -> Axes:
    """All axes of the operands: a choice among operands with different ones may have been made."""
    found = {axis for operand in operands for axis in getattr(operand, "axes", ())}
    return tuple(axis for axis in AXIS_ORDER if axis in found)


def _reads_absent(expr: Expr, present: frozenset[str]) -> bool:
    return any(isinstance(part, Load) and part.source not in present for part in expr.walk())
