"""Values outside the score space, computed in one piece: a function for each node type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attndsl.expr import Expr
from attndsl.expr.array_evaluation import evaluate_arrays
from attndsl.graph.nodes import (
    INDEX_AXES,
    Cast,
    Elementwise,
    GroupSum,
    IndexCondition,
    Input,
    LogSumExpMerge,
    Node,
    Quantize,
    Repeat,
    Replace,
    RowMax,
    RowSum,
    Scalar,
    Take,
    TopK,
    WeightedSum,
    WindowSum,
)
from attndsl.reference.arithmetic import OPERATIONS
from attndsl.reference.state import Labelled, State, as_real, no_rule, rounded
from attndsl.spec.contract.arguments import DTYPES

_INTEGER_KINDS = "biu"
INDEX_SYMBOLS = {axis: symbol for symbol, axis in INDEX_AXES.items()}


def whole(state: State, node: Node) -> Labelled:
    """The value of ``node`` with all its axes; computed once a run."""
    if id(node) not in state.values:
        rule = _WHOLE_RULES.get(type(node))
        if rule is None:
            raise no_rule(node, "outside of scores")
        state.values[id(node)] = rule(state, node)
    return state.values[id(node)]


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
    grids = np.meshgrid(*(np.arange(size) for size in shape), indexing="ij", sparse=True)
    symbols = dict(zip([INDEX_SYMBOLS[axis] for axis in axes], grids, strict=True))
    return Labelled(axes, np.broadcast_to(evaluate_arrays(value, {**state.env, **symbols}), shape))


def _elementwise(state: State, node: Elementwise) -> Labelled:
    operands = [whole(state, each) for each in node.inputs]
    return Labelled(node.axes, OPERATIONS[node.op](*(each.aligned(node.axes) for each in operands)))


def _replace(state: State, node: Replace) -> Labelled:
    condition, source = (whole(state, each).aligned(node.axes) for each in (node.condition, node.source))
    return Labelled(node.axes, np.where(condition != 0, state.real.type(node.value), source))


def _take(state: State, node: Take) -> Labelled:
    source = whole(state, node.source)
    index = int(node.index.evaluate(state.env)) if isinstance(node.index, Expr) else node.index
    data = source.data.take(index, axis=source.axes.index(node.axis)) if node.axis else source.data
    return Labelled(node.axes, data)


def _cast(state: State, node: Cast) -> Labelled:
    source = whole(state, node.source)
    return Labelled(source.axes, as_real(rounded(source.data, stored_dtype(state, node.dtype)), state.real))


def stored_dtype(state: State, name: str) -> Any:
    """The dtype of this name, or of the argument of this name."""
    return DTYPES[name] if name in DTYPES else state.call.arrays[name].dtype


def _group_sum(state: State, node: GroupSum) -> Labelled:
    source = whole(state, node.source)
    at = source.axes.index("N")
    shape = source.data.shape
    group = state.heads_per_group
    split = source.data.reshape(*shape[:at], shape[at] // group, group, *shape[at + 1 :])
    return Labelled(tuple("K" if axis == "N" else axis for axis in source.axes), split.sum(axis=at + 1))


def _quantize(state: State, node: Quantize) -> Labelled:
    """Round half to even, then saturate; a NaN becomes 0, as a conversion to an integer has no other."""
    source = whole(state, node.source)
    scaled = source.data * whole(state, node.scale).aligned(source.axes)
    if node.offset is not None:
        scaled = scaled + whole(state, node.offset).aligned(source.axes)
    limits = np.iinfo(DTYPES[node.dtype])
    rounded = np.clip(np.rint(scaled), limits.min, limits.max)
    return Labelled(source.axes, np.nan_to_num(rounded, nan=0.0).astype(DTYPES[node.dtype]))


def _weighted_sum(state: State, node: WeightedSum) -> Labelled:
    from attndsl.reference.streaming import weighted_sum

    return weighted_sum(state, node)


def _row_statistic(state: State, node: RowMax | RowSum) -> Labelled:
    from attndsl.reference.streaming import row_statistics

    return row_statistics(state, node.softmax)["RowMax" if isinstance(node, RowMax) else "RowSum"]


def _window_sum(state: State, node: WindowSum) -> Labelled:
    from attndsl.reference.block_selection import window_sum

    return window_sum(state, node)


def _top_k(state: State, node: TopK) -> Labelled:
    from attndsl.reference.block_selection import top_k

    return top_k(state, node)


def _repeat(state: State, node: Repeat) -> Labelled:
    source = whole(state, node.source)
    (axis,) = (axis for axis in node.axes if axis not in getattr(node.source, "axes", ()))
    shape = (*source.data.shape, state.call.extents[axis])
    return Labelled((*source.axes, axis), np.broadcast_to(source.data[..., None], shape))


def _log_sum_exp_merge(state: State, node: LogSumExpMerge) -> Labelled:
    from attndsl.reference.merge import log_sum_exp_merge

    return log_sum_exp_merge(state, node)


_WHOLE_RULES: dict[type[Node], Callable[[State, Any], Labelled]] = {
    Input: _input,
    Scalar: _scalar,
    IndexCondition: _index_condition,
    Elementwise: _elementwise,
    Replace: _replace,
    Take: _take,
    Cast: _cast,
    GroupSum: _group_sum,
    Quantize: _quantize,
    WeightedSum: _weighted_sum,
    WindowSum: _window_sum,
    TopK: _top_k,
    Repeat: _repeat,
    LogSumExpMerge: _log_sum_exp_merge,
    RowMax: _row_statistic,
    RowSum: _row_statistic,
}
