"""Values in the score space, computed for one block of it: a function for each node type.

Values broadcast against (heads, queries, keys).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.expr import Symbol
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.graph.nodes import (
    INDEX_AXES,
    Cast,
    Elementwise,
    IndexCondition,
    Input,
    Lookup,
    Node,
    Opposite,
    PackedQueries,
    Replace,
    RowMax,
    RowSum,
    Scalar,
    Scores,
    Softmax,
    Take,
)
from attndsl.reference.arithmetic import OPERATIONS, exp_in_place
from attndsl.reference.blocks import Block, Part
from attndsl.reference.element_checks import check_columns, check_index, check_loads
from attndsl.reference.products import scores_of
from attndsl.reference.ranges import truth
from attndsl.reference.state import Labelled, State, as_real, no_rule, part_of, rounded, stored_dtype
from attndsl.spec.contract.layout import Array

BLOCK_AXES = ("N", "Q", "T")
KEYS_OF_KEPT_MASK = 256


def evaluate(state: State, node: Node, block: Block) -> Array:
    """The value of ``node`` in ``block``, broadcastable to ``block.shape``.

    Values with a key axis lie in scratch memory and hold until the same thread evaluates another block.
    """
    values = block.values
    open_ = [node]
    while id(node) not in values:  # no recursion: chains may be long
        each = open_[-1]
        missing = [operand for operand in state.once(_read_here, each) if id(operand) not in values]
        if missing:
            open_ += reversed(missing)
            continue
        open_.pop()
        if id(each) not in values:
            rule = _SCORE_RULES.get(type(each))
            if rule is None:
                raise no_rule(each, "in scores")
            values[id(each)] = rule(state, each, block)
    return values[id(node)]


def _read_here(state: State, node: Node) -> tuple[Node, ...]:
    """The operands that the rule of a node evaluates in every block, in its order."""
    if isinstance(node, Elementwise):
        scaled = node.op == "multiply" and state.once(_scaled_scores, node) is not None
        return () if scaled else node.inputs
    if isinstance(node, Replace):
        return (node.source,) if isinstance(node.condition, IndexCondition) else (node.source, node.condition)
    return node.operands() if isinstance(node, Cast | Softmax | Opposite) else ()


def _place(state: State, node: Node, shape: tuple[int, ...], *operands: tuple[Node, Array]) -> Array:
    """Memory for a value of ``node``: that of an operand which nothing else reads, or its own."""
    for operand, value in operands:
        if value.shape == shape and state.once(_is_free, operand):
            return value
    if "T" not in getattr(node, "axes", ()):
        return np.empty(shape, state.real)
    return state.scratch.array(id(node), shape, state.real)


def _is_free(state: State, node: Node) -> bool:
    """Whether the value of ``node`` lies in its own memory and one other node reads it."""
    if state.uses[id(node)] != 1 or "T" not in getattr(node, "axes", ()):
        return False
    return isinstance(node, Scores | Elementwise) or (
        isinstance(node, Replace) and _is_free(state, node.source)
    )


def _scores(state: State, node: Scores, block: Block) -> Array:
    found = _product(state, node, block, node, None)
    if state.score_dtype is not None:
        found[...] = rounded(found, state.score_dtype)
    return found


def _product(state: State, scores: Scores, block: Block, node: Node, factor: float | None) -> Array:
    """``factor * query . key^T``, the value of ``node``; its scaled queries are kept for the next keys."""
    heads, queries, keys = block.shape
    if id(node) not in block.query_rows:
        plain = query_rows(state, scores.query, block)
        block.query_rows[id(node)] = plain if factor is None else plain * state.real.type(factor)
    rows = block.readers[id(scores.keys)].read(block.keys.start, block.keys.stop)
    out = _place(state, node, block.shape)
    scores_of(block.query_rows[id(node)], rows, out=out.reshape(heads * queries, keys))
    return out


def query_rows(state: State, node: Node, block: Block) -> Array:
    """The queries of the block as (heads * queries, channels)."""
    stored = state.once(_stored_queries, node)
    if isinstance(node, PackedQueries):
        chosen = stored[block.heads, block.tokens]
    else:
        chosen = part_of(stored, [block.b, block.heads, block.queries, slice(None)])
    return as_real(chosen, state.real).reshape(-1, chosen.shape[-1])


def _stored_queries(state: State, node: Node) -> Array:
    """All queries, axes (N, S, D) where they are packed, else (B, N, Q, D)."""
    axes: tuple[str, ...] = ("B", "N", "Q", "D")
    if isinstance(node, PackedQueries):
        node, axes = node.tensor, ("N", "S", "D")
    if isinstance(node, Input):
        return Labelled(node.axes, state.call.views[node.name]).aligned(axes)
    return state.whole(node).aligned(axes)


def _input(state: State, node: Input, block: Block) -> Array:
    view = state.call.views[node.name]
    check_columns(node, view, block)
    return _in_run_dtype(cut(view, node.axes, block, "T", block.keys), state)


def cut(view: Array, axes: tuple[str, ...], block: Block, along: str, entries: slice) -> Array:
    """The part of a tensor that a block has, and some entries of one more axis; axes (N, Q, ``along``). The
    queries of packed ones are tokens."""
    picks: dict[str, Any] = {
        "B": block.b,
        "K": block.k,
        "N": block.heads,
        "Q": block.queries,
        "S": block.tokens,
        along: entries,
    }
    part = view[tuple(picks[axis] for axis in axes)]
    kept = tuple("Q" if axis == "S" else axis for axis in axes if axis not in ("B", "K"))
    return Labelled(kept, part).aligned(("N", "Q", along))


def _outside(state: State, node: Node, block: Block) -> Array:
    """A value without a key axis: computed whole, then cut."""
    value = state.whole(node)
    data = value.aligned(("B", "K", *BLOCK_AXES))
    picks = [block.b, block.k, block.heads, block.queries, slice(None)]
    return _in_run_dtype(part_of(data, picks), state)


def _in_run_dtype(part: Array, state: State) -> Array:
    return part if part.dtype.kind in "biu" else as_real(part, state.real).reshape(part.shape)


def _scalar(state: State, node: Scalar, block: Block) -> Array:
    if not node.axes:
        return np.asarray(node.value.evaluate(state.env), dtype=state.real)
    env = {**state.env, **_indices(block)}
    check_loads(state, node, env)
    return np.asarray(evaluate_arrays(node.value, env), dtype=state.real)


def _lookup(state: State, node: Lookup, block: Block) -> Array:
    """Elements of an argument; where the index is one of plain symbols, a part of it without a copy."""
    assert isinstance(node.source, Input)  # a rule of the graph
    array = state.call.arrays[node.source.name]
    slices: dict[str, Any] = {"b": block.b, "n": block.heads, "i": block.queries, "j": block.keys}
    names = [part.name if isinstance(part, Symbol) else "" for part in node.index]
    plain = all(name in slices for name in names) and len(set(names)) == len(names)
    parts = [slices[name] for name in names] if plain else []
    inside = [not isinstance(p, slice) or p.stop <= n for p, n in zip(parts, array.shape, strict=False)]
    if plain and all(inside):  # rows beyond belong to no query; the nearest ones stand for them
        picked = array[tuple(parts)]
        kept = tuple(INDEX_AXES[name] for name in names if name != "b")
        return _in_run_dtype(Labelled(kept, picked).aligned(BLOCK_AXES), state)
    env = {**state.env, **_indices(block)}
    index = []
    for part, size in zip(node.index, array.shape, strict=True):
        found = evaluate_arrays(part, env)
        check_index(part, found, size, node.source.name, node.where)
        index.append(np.clip(found, 0, size - 1))
    return _in_run_dtype(np.asarray(array[tuple(index)]), state)


def _scaled_scores(state: State, node: Elementwise) -> tuple[Scores, float] | None:
    """Scores times one number: cheaper on the queries, unless those are integers, whose scores are exact, or
    scores are rounded."""
    if state.score_dtype is not None:
        return None
    for scores, scale in (node.inputs, node.inputs[::-1]):
        if isinstance(scores, Scores) and isinstance(scale, Scalar) and not scale.axes:
            queries = scores.query
            whole_numbers = isinstance(queries, Input) and state.call.arrays[queries.name].dtype.kind in "biu"
            return None if whole_numbers else (scores, scale.value.evaluate(state.env))
    return None


def _softmax(state: State, node: Softmax, block: Block) -> Array:
    """Normalized probabilities, from row statistics that an earlier pass over all keys has found."""
    found = state.statistics[id(node)]
    top, total = (found[kind].data[block.location][..., None] for kind in (RowMax, RowSum))
    base = np.where(np.isneginf(top), 0, top)
    scores = evaluate(state, node.scores, block)
    shape = np.broadcast_shapes(scores.shape, base.shape)
    out = np.subtract(scores, base, out=_place(state, node, shape, (node.scores, scores)))
    out = exp_in_place(out)
    out /= np.where(total == 0, 1, total)
    return out


def _elementwise(state: State, node: Elementwise, block: Block) -> Array:
    if node.op == "multiply" and (pair := state.once(_scaled_scores, node)) is not None:
        return _product(state, pair[0], block, node, pair[1])
    operands = [evaluate(state, each, block) for each in node.inputs]
    floats = [each.astype(state.real, copy=False) for each in operands]
    shape = np.broadcast_shapes(*(each.shape for each in floats))
    out = _place(state, node, shape, *zip(node.inputs, floats, strict=True))
    result: Array = OPERATIONS[node.op](*floats, out=out)
    return result


def _replace(state: State, node: Replace, block: Block) -> Array:
    source = evaluate(state, node.source, block)
    if isinstance(node.condition, IndexCondition):
        if truth(state, node.condition, block) is False:
            return source
        keys, mask = _edge(state, node.condition, block)
        shape = block.shape
    else:
        keys, mask = block.keys, evaluate(state, node.condition, block)
        shape = np.broadcast_shapes(source.shape, mask.shape)
    out = _place(state, node, shape, (node.source, source))
    if out is not source:
        np.copyto(out, source)
    masked = out[..., keys.start - block.keys.start : keys.stop - block.keys.start]
    np.copyto(masked, state.real.type(node.value), where=mask.astype(bool, copy=False))
    return out


def _opposite(state: State, node: Opposite, block: Block) -> Array:
    return np.asarray(evaluate(state, node.source, block) == 0)


def _edge(state: State, node: IndexCondition, block: Block) -> tuple[slice, Array]:
    """The keys among which the condition may hold, and its values there.

    Other heads need the same values: those of a narrow edge are kept.
    """
    part = block.part
    if id(node) not in part.known:
        return block.keys, evaluate(state, node, block)
    mask = part.masks.get(id(node))
    if mask is None:
        mask = _index_condition(state, node, block.over(Part(part.masked)))
        if part.masked.stop - part.masked.start <= KEYS_OF_KEPT_MASK:
            part.masks[id(node)] = mask
    return part.masked, mask


def _index_condition(state: State, node: IndexCondition, block: Block) -> Array:
    env = {**state.env, **_indices(block)}
    check_loads(state, node, env)
    return np.asarray(evaluate_arrays(node.condition, env))


def _indices(block: Block) -> dict[str, Any]:
    """The index symbols in the block, shaped to broadcast against it."""
    return {
        "b": block.b,
        "n": np.arange(block.heads.start, block.heads.stop)[:, None, None],
        "i": np.arange(block.queries.start, block.queries.stop)[:, None],
        "j": np.arange(block.keys.start, block.keys.stop),
    }


def _cast(state: State, node: Cast, block: Block) -> Array:
    return as_real(rounded(evaluate(state, node.source, block), stored_dtype(state, node.dtype)), state.real)


_SCORE_RULES: dict[type[Node], Callable[[State, Any, Block], Array]] = {
    Scores: _scores,
    Softmax: _softmax,
    Input: _input,
    Take: _outside,
    Scalar: _scalar,
    Lookup: _lookup,
    Elementwise: _elementwise,
    Replace: _replace,
    Opposite: _opposite,
    IndexCondition: _index_condition,
    Cast: _cast,
}
