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


def log_sum_exp_merge(state: State, node: LogSumExpMerge) -> Labelled:
    """The merged attention, axes (B, N, Q, E) or (S, N, E); rows without any key are zero."""
    outputs, logs = [], []
    for part in node.parts:
        assert isinstance(part, WeightedSum) and isinstance(part.weights, Softmax)  # a rule of the graph
        outputs.append(state.whole(part).aligned(node.axes))
        rows = node.axes[:-1]
        found = {name: each.aligned(rows) for name, each in row_statistics(state, part.weights).items()}
        logs.append(found["RowMax"] + np.log(found["RowSum"]))
    top = np.maximum.reduce(logs)
    weights = [np.exp(each - np.where(np.isneginf(top), 0, top)) for each in logs]
    total = np.add.reduce(weights)
    merged = np.add.reduce([w[..., None] * out for w, out in zip(weights, outputs, strict=True)])
    return Labelled(node.axes, merged / np.where(total == 0, 1, total)[..., None])
