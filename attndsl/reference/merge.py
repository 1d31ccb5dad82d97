"""The log-sum-exp merge of attention over segments of the keys.

With the logarithm of the sum of exponentials L_x of segment x and its attention O_x, attention over all
segments together is ``sum_x exp(L_x) O_x / sum_x exp(L_x)`` (as in RelayAttention, arXiv 2402.14808, and
flash decoding); the largest L_x is taken out first, so that nothing overflows.
"""

from __future__ import annotations

import numpy as np

from attndsl.graph.nodes import LogSumExpMerge, Softmax, WeightedSum
from attndsl.reference.state import Labelled, State
from attndsl.reference.streaming import row_statistics
from attndsl.spec.contract.layout import Array


def log_sum_exp_merge(state: State, node: LogSumExpMerge) -> Labelled:
    """The merged attention, axes (B, N, Q, E) or (S, N, E); rows without any key are zero."""
    outputs = [state.whole(part).aligned(node.axes) for part in node.parts]
    logs = [found["RowMax"] + np.log(found["RowSum"]) for found in _statistics(state, node)]
    top = np.maximum.reduce(logs)
    weights = [np.exp(each - np.where(np.isneginf(top), 0, top)) for each in logs]
    total = np.add.reduce(weights)
    merged = np.add.reduce([w[..., None] * out for w, out in zip(weights, outputs, strict=True)])
    return Labelled(node.axes, merged / np.where(total == 0, 1, total)[..., None])


def merged_statistics(state: State, node: LogSumExpMerge) -> dict[str, Labelled]:
    """The maximum and the sum of exponentials of each row over all segments, by the names of their nodes."""
    parts = _statistics(state, node)
    top = np.maximum.reduce([part["RowMax"] for part in parts])
    base = np.where(np.isneginf(top), 0, top)
    total = np.add.reduce([part["RowSum"] * np.exp(part["RowMax"] - base) for part in parts])
    return {"RowMax": Labelled(node.axes[:-1], top), "RowSum": Labelled(node.axes[:-1], total)}


def _statistics(state: State, node: LogSumExpMerge) -> list[dict[str, Array]]:
    """The row statistics of each part, aligned with the rows of the result."""
    found = []
    for part in node.parts:
        assert isinstance(part, WeightedSum) and isinstance(part.weights, Softmax)  # a rule of the graph
        each = row_statistics(state, part.weights)
        found.append({name: values.aligned(node.axes[:-1]) for name, values in each.items()})
    return found
