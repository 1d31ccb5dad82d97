"""Values outside the score space, computed in one piece: a function for each node type.

The tables of all rules stand here, above what they name; a run takes them along in its :class:`State`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.base.provenance import note
from attndsl.expr import Expr, as_expr
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.graph.nodes import (
    INDEX_AXES,
    Cast,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    Leading,
    LogSumExpMerge,
    Lookup,
    Node,
    Opposite,
    Quantize,
    Repeat,
    Replace,
    RowMax,
    RowSum,
    Scalar,
    Softmax,
    Take,
    TopK,
    WeightedSum,
    WindowSum,
)
from attndsl.reference.arithmetic import OPERATIONS
from attndsl.reference.block_selection import top_k, window_sum
from attndsl.reference.cache import CACHES
from attndsl.reference.element_checks import check_index
from attndsl.reference.merge import log_sum_exp_merge, merged_statistics
from attndsl.reference.query_space import of_tokens, query_space
from attndsl.reference.rows import STORED_ROWS
from attndsl.reference.state import (
    Labelled,
    Rules,
    State,
    WholeRules,
    as_real,
    no_rule,
    rounded,
    stored_dtype,
)
from attndsl.reference.streaming import row_statistics, weighted_sum
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES

_INTEGER_KINDS = "biu"
INDEX_SYMBOLS = {axis: symbol for symbol, axis in INDEX_AXES.items()}


def _input(state: State, node: Input) -> Labelled:
    """Floats in the dtype of the run; integers stay integers."""
    view = state.call.views[node.name]
    return Labelled(node.axes, view if view.dtype.kind in _INTEGER_KINDS else _widened(view, state))


def _widened(view: Any, state: State) -> Any:
    base = view[tuple(slice(0, 1) if step == 0 else slice(None) for step in view.strides)]
    return np.broadcast_to(as_real(base, state.real), view.shape)


def _scalar(state: State, node: Scalar) -> Labelled:
    if node.axes:
        return _indexed(state, node.value, node.axes)
    value = node.value.evaluate(state.env)
    return Labelled((), np.asarray(value, dtype=state.real if isinstance(value, float) else None))


def _index_condition(state: State, node: IndexCondition) -> Labelled:
    return _indexed(state, node.condition, node.axes)


def _indexed(state: State, value: Expr, axes: tuple[str, ...]) -> Labelled:
    """An expression of index symbols, over all of its axes."""
    shape = [state.call.extents[axis] for axis in axes]
    return Labelled(axes, np.broadcast_to(evaluate_arrays(value, _index_grids(state, axes)), shape))


def _index_grids(state: State, axes: tuple[str, ...]) -> dict[str, Any]:
    """What an expression is evaluated with, the index symbols of ``axes`` among it."""
    sizes = (np.arange(state.call.extents[axis]) for axis in axes)
    grids = np.meshgrid(*sizes, indexing="ij", sparse=True)
    return {**state.env, **dict(zip([INDEX_SYMBOLS[axis] for axis in axes], grids, strict=True))}


def _lookup(state: State, node: Lookup) -> Labelled:
    """Elements of rows; rows beyond belong to no query, and the nearest elements stand for theirs."""
    assert isinstance(node.source, Input)  # a rule of the graph
    array, env = state.call.arrays[node.source.name], _index_grids(state, node.axes)
    index = []
    for part, size in zip(node.index, array.shape, strict=True):
        found = evaluate_arrays(part, env)
        check_index(part, found, size, node.source.name, node.where)
        index.append(np.clip(found, 0, size - 1))
    shape = [state.call.extents[axis] for axis in node.axes]
    picked = array[tuple(index)] if all(array.shape) else np.zeros((), array.dtype)
    kept = picked if array.dtype.kind in _INTEGER_KINDS else as_real(np.asarray(picked), state.real)
    return Labelled(node.axes, np.broadcast_to(kept, shape))


def _elementwise(state: State, node: Elementwise) -> Labelled:
    operands = [state.whole(each) for each in node.inputs]
    axes = node.axes
    if "S" in axes and not {"B", "Q"}.isdisjoint(axes):  # rows of packed queries: each token has one of each
        operands = [of_tokens(query_space(state, node), each) for each in operands]
        axes = tuple(axis for axis in axes if axis not in ("B", "Q"))
    return Labelled(axes, OPERATIONS[node.op](*(each.aligned(axes) for each in operands)))


def _replace(state: State, node: Replace) -> Labelled:
    condition, source = (state.whole(each).aligned(node.axes) for each in (node.condition, node.source))
    return Labelled(node.axes, np.where(condition != 0, state.real.type(node.value), source))


def _opposite(state: State, node: Opposite) -> Labelled:
    source = state.whole(node.source)
    return Labelled(source.axes, source.data == 0)


def _take(state: State, node: Take) -> Labelled:
    source = state.whole(node.source)
    index = int(as_expr(node.index).evaluate(state.env))
    data = source.data.take(index, axis=source.axes.index(node.axis)) if node.axis else source.data
    return Labelled(node.axes, data)


def _leading(state: State, node: Leading) -> Labelled:
    """Those of a scale or an offset; leading channels of rows are cut where they are read."""
    source = state.whole(node.source)
    count = int(node.count.evaluate(state.env))
    return Labelled(node.axes, source.data.take(range(count), axis=source.axes.index("D")))


def _cast(state: State, node: Cast) -> Labelled:
    source = state.whole(node.source)
    return Labelled(source.axes, as_real(rounded(source.data, stored_dtype(state, node.dtype)), state.real))


def _group_sum(state: State, node: GroupSum) -> Labelled:
    source = state.whole(node.source)
    at = source.axes.index("N")
    shape = source.data.shape
    group = state.heads_per_group
    split = source.data.reshape(*shape[:at], shape[at] // group, group, *shape[at + 1 :])
    return Labelled(tuple("K" if axis == "N" else axis for axis in source.axes), split.sum(axis=at + 1))


def _quantize(state: State, node: Quantize) -> Labelled:
    """Round half to even, then saturate; a NaN becomes 0, as a conversion to an integer has no other."""
    source = state.whole(node.source)
    scaled = source.data * state.whole(node.scale).aligned(source.axes)
    if node.offset is not None:
        scaled = scaled + state.whole(node.offset).aligned(source.axes)
    limits = np.iinfo(DTYPES[node.dtype])
    rounded = np.clip(np.rint(scaled), limits.min, limits.max)
    return Labelled(source.axes, np.nan_to_num(rounded, nan=0.0).astype(DTYPES[node.dtype]))


def _row_statistic(state: State, node: RowMax | RowSum) -> Labelled:
    if isinstance(node.softmax, LogSumExpMerge):
        found = merged_statistics(state, node.softmax)
    else:
        assert isinstance(node.softmax, Softmax)  # a rule of the graph
        found = row_statistics(state, node.softmax)
    if type(node) not in found:
        raise no_rule(node, "among the statistics of rows")
    return found[type(node)]


def _repeat(state: State, node: Repeat) -> Labelled:
    source = state.whole(node.source)
    (axis,) = (axis for axis in node.axes if axis not in getattr(node.source, "axes", ()))
    shape = (*source.data.shape, state.call.extents[axis])
    return Labelled((*source.axes, axis), np.broadcast_to(source.data[..., None], shape))


_WHOLE: WholeRules = {
    Input: _input,
    Scalar: _scalar,
    Lookup: _lookup,
    IndexCondition: _index_condition,
    Elementwise: _elementwise,
    Replace: _replace,
    Opposite: _opposite,
    Take: _take,
    Leading: _leading,
    Cast: _cast,
    GroupSum: _group_sum,
    Quantize: _quantize,
    WeightedSum: weighted_sum,
    WindowSum: window_sum,
    TopK: top_k,
    Repeat: _repeat,
    LogSumExpMerge: log_sum_exp_merge,
    RowMax: _row_statistic,
    RowSum: _row_statistic,
}

_POINTWISE = frozenset[type[Node]]({Elementwise, Replace, Opposite, Take, Cast, GroupSum, Quantize, Repeat})

RULES = Rules(whole=_WHOLE, pointwise=_POINTWISE, rows={**STORED_ROWS, **CACHES})


def new_state(
    call: Call,
    real: np.dtype[Any],
    values: dict[int, Labelled] | None = None,
    most_tasks: int | None = None,
    score_dtype: np.dtype[Any] | None = None,
) -> State:
    """A run of ``call`` in the floating dtype ``real``; ``values``: whole values that are known, by node;
    ``most_tasks``, ``score_dtype``: see :class:`State`."""
    note(f"reference in {real.name}")
    known = {} if values is None else values
    return State(call, real, RULES, values=known, most_tasks=most_tasks, score_dtype=score_dtype)
