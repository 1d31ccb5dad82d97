"""The log-sum-exp merge of attention over segments of the keys.

With the logarithm of the sum of exponentials L_x of segment x and its attention O_x, attention over all
segments together is ``sum_x exp(L_x) O_x / sum_x exp(L_x)`` (as in RelayAttention, arXiv 2402.14808, and
flash decoding); the largest L_x is taken out first, so that nothing overflows.
"""

from __future__ import annotations

import numpy as np

from attndsl.graph.nodes import (
    Axes,
    EarlierPartial,
    LogSumExpMerge,
    Node,
    RowMax,
    RowSum,
    Softmax,
    WeightedSum,
)
from attndsl.reference.state import Labelled, RowStatistics, State
from attndsl.reference.streaming import row_statistics
from attndsl.spec.contract.layout import Array


def log_sum_exp_merge(state: State, node: LogSumExpMerge) -> Labelled:
    """The merged attention, axes (B, N, Q, E) or (S, N, E); rows without any key are zero."""
    outputs = [_rows(state, part, node.axes) for part in node.parts]
    logs = [found[RowMax] + np.log(found[RowSum]) for found in _statistics(state, node)]
    top = np.maximum.reduce(logs)
    weights = [np.exp(each - np.where(np.isneginf(top), 0, top)) for each in logs]
    total = np.add.reduce(weights)
    merged = np.add.reduce([w[..., None] * out for w, out in zip(weights, outputs, strict=True)])
    return Labelled(node.axes, merged / np.where(total == 0, 1, total)[..., None])


def _rows(state: State, part: Node, axes: Axes) -> Array:
    """The rows of a part; those of an earlier partial that are absent are zero, whatever is stored there."""
    if not isinstance(part, EarlierPartial):
        return state.whole(part).aligned(axes)
    absent = np.isneginf(_log_sum_exp(state, part, axes[:-1]))
    rows = state.whole(part.out).aligned(axes)
    return np.where(absent[..., None], state.real.type(0), rows)


def _log_sum_exp(state: State, part: EarlierPartial, axes: Axes) -> Array:
    return state.whole(part.lse).aligned(axes)


def merged_statistics(state: State, node: LogSumExpMerge) -> RowStatistics:
    """The maximum and the sum of exponentials of each row over all segments, by type of their nodes."""
    parts = _statistics(state, node)
    top = np.maximum.reduce([part[RowMax] for part in parts])
    base = np.where(np.isneginf(top), 0, top)
    total = np.add.reduce([part[RowSum] * np.exp(part[RowMax] - base) for part in parts])
    return {RowMax: Labelled(node.axes[:-1], top), RowSum: Labelled(node.axes[:-1], total)}


def _statistics(state: State, node: LogSumExpMerge) -> list[dict[type[Node], Array]]:
    """The row statistics of each part, aligned with the rows of the result."""
    found = list[dict[type[Node], Array]]()
    for part in node.parts:
        if isinstance(part, EarlierPartial):
            lse = _log_sum_exp(state, part, node.axes[:-1])
            found.append({RowMax: lse, RowSum: np.where(np.isneginf(lse), 0, 1).astype(state.real)})
            continue
        assert isinstance(part, WeightedSum) and isinstance(part.weights, Softmax)  # a rule of the graph
        each = row_statistics(state, part.weights)
        found.append({kind: values.aligned(node.axes[:-1]) for kind, values in each.items()})
    return found
