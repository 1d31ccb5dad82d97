"""What index conditions say about a whole block of the score space, by interval arithmetic.

A block that a condition hides altogether is not computed, one that it leaves alone is not masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attndsl.graph.nodes import IndexCondition, Node, Replace
from attndsl.interpret.scores import Block
from attndsl.interpret.state import State
from attndsl.symbolic import Binary, Compare, Const, Expr, Logic, Select, Symbol

Range = tuple[Any, Any]
ANYTHING: Range = (-math.inf, math.inf)
INDICES = frozenset("nij")
SMALLEST_CUT = 64  # keys; a smaller cut costs more than it saves


def is_hidden(state: State, scores: Node, block: Block) -> bool:
    """Whether the outermost conditions of ``scores`` put -inf all over the block."""
    while isinstance(scores, Replace) and isinstance(scores.condition, IndexCondition):
        if np.isneginf(scores.value) and truth(state, scores.condition, block) is True:
            return True
        scores = scores.source
    return False


def visible_keys(state: State, scores: Node | None, block: Block, keys: slice, step: int) -> Iterator[slice]:
    """The parts of ``step`` keys of ``keys`` that are not hidden altogether; hidden stretches of many parts
    are left out at once. All of them without ``scores`` of a softmax."""
    count = -(-(keys.stop - keys.start) // step)
    if count <= 0 or (scores is not None and is_hidden(state, scores, replace(block, keys=keys, values={}))):
        return
    if count == 1:
        yield keys
        return
    middle = keys.start + count // 2 * step
    yield from visible_keys(state, scores, block, slice(keys.start, middle), step)
    yield from visible_keys(state, scores, block, slice(middle, keys.stop), step)


def trimmed(state: State, scores: Node, block: Block) -> Block:
    """The block without the halves, quarters, ... at either end of its keys that are hidden altogether."""
    if not isinstance(scores, Replace) or not isinstance(scores.condition, IndexCondition):
        return block
    if truth(state, scores.condition, block) is False and not isinstance(scores.source, Replace):
        return block  # nothing is hidden
    size = (block.keys.stop - block.keys.start) // 2
    while size >= SMALLEST_CUT:
        first, last = block.keys.start, block.keys.stop
        if is_hidden(state, scores, replace(block, keys=slice(last - size, last), values={})):
            block = replace(block, keys=slice(first, last - size), values={})
        elif is_hidden(state, scores, replace(block, keys=slice(first, first + size), values={})):
            block = replace(block, keys=slice(first + size, last), values={})
        size //= 2
    return block


def truth(state: State, node: IndexCondition, block: Block) -> bool | None:
    """The condition where it has one value in all of the block, else None."""
    indices = {"n": block.heads, "i": block.queries, "j": block.keys}
    spans = {name: (part.start, part.stop - 1) for name, part in indices.items()}
    low, high = bounds(node.condition, spans, {**state.env, "b": block.b})
    return bool(low) if bool(low) == bool(high) and (low, high) != ANYTHING else None


def bounds(expr: Expr, spans: Mapping[str, Range], env: Mapping[str, Any]) -> Range:
    """Bounds of the value of ``expr``, its index symbols within ``spans``; those of a truth value are
    whether it always holds and whether it ever does."""
    if isinstance(expr, Const):
        return expr.value, expr.value
    if isinstance(expr, Symbol):
        return spans[expr.name] if expr.name in spans else (env[expr.name], env[expr.name])
    if isinstance(expr, Binary | Compare | Logic) and expr.op in _BOUNDS:
        left, right = bounds(expr.left, spans, env), bounds(expr.right, spans, env)
        return _BOUNDS[expr.op](*left, *right)
    if isinstance(expr, Select):
        low, high = bounds(expr.condition, spans, env)
        if bool(low) == bool(high):
            return bounds(expr.then if low else expr.otherwise, spans, env)
        sides = [bounds(side, spans, env) for side in (expr.then, expr.otherwise)]
        return min(side[0] for side in sides), max(side[1] for side in sides)
    if not expr.symbols() & spans.keys():
        value = expr.evaluate(env)
        return value, value
    return ANYTHING


def _product(a: Any, b: Any, c: Any, d: Any) -> Range:
    corners = [a * c, a * d, b * c, b * d]
    return min(corners), max(corners)


def _quotient(a: Any, b: Any, c: Any, d: Any) -> Range:
    return (a // d, b // c) if c > 0 and a >= 0 and b < math.inf and d < math.inf else ANYTHING


_BOUNDS: dict[str, Callable[[Any, Any, Any, Any], Range]] = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "*": _product,
    "//": _quotient,
    "min": lambda a, b, c, d: (min(a, c), min(b, d)),
    "max": lambda a, b, c, d: (max(a, c), max(b, d)),
    "<": lambda a, b, c, d: (b < c, a < d),
    "<=": lambda a, b, c, d: (b <= c, a <= d),
    ">": lambda a, b, c, d: (a > d, b > c),
    ">=": lambda a, b, c, d: (a >= d, b >= c),
    "==": lambda a, b, c, d: (a == b == c == d, a <= d and c <= b),
    "!=": lambda a, b, c, d: (a > d or c > b, not a == b == c == d),
    "and": lambda a, b, c, d: (a and c, b and d),
    "or": lambda a, b, c, d: (a or c, b or d),
}
