"""Partials of earlier calls: rows, and log-sum-exps that weigh about as much as the keys of the call itself.

An equal share of both sides shows in every result; a few absent rows, or all of them, hold numbers that no
result may show.
"""

from __future__ import annotations

import numpy as np

from attndsl.graph.nodes import EarlierPartial, Input, LogSumExpMerge, RowMax, RowSum, Softmax, WeightedSum
from attndsl.reference.state import Labelled, State, rounded
from attndsl.reference.streaming import row_statistics
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array
from attndsl.verify.data.draws import Draws

_ABSENT = (0.0, 0.1, 0.1, 0.1, 1.0)
"""Shares of absent rows that are drawn from."""
_SPREAD = 1.5
_BELOW = (-4.0, -1.0)
"""Logarithms of a partial's weight as a share of that of the keys: normal of this deviation, or in a probe,
whose keys are to matter each, within these bounds."""
_FLOAT32 = np.dtype(np.float32)


def fill_earlier(draws: Draws, call: Call, size: float) -> None:
    """Give the filler the tensors of the earlier partials of ``call``, all of whose other tensors are made.

    ``size``: of the values, the root of their mean square.
    """
    state = new_state(call, _FLOAT32)
    merges = (node for node in call.graph.nodes if isinstance(node, LogSumExpMerge))
    for merge in merges:
        for part in merge.parts:
            if isinstance(part, EarlierPartial):
                _fill(draws, call, part, _log_sum_exp(state, merge), size)


def _fill(draws: Draws, call: Call, part: EarlierPartial, own: Labelled, size: float) -> None:
    rng, shape = draws.rng, own.data.shape
    share = rng.uniform(*_BELOW, shape) if draws.probe else _SPREAD * rng.standard_normal(shape)
    lse = np.where(np.isfinite(own.data), own.data, 0.0) + share
    absent = rng.random(shape) < rng.choice(_ABSENT)
    rows = size * rng.standard_normal((*shape, call.extents["E"]))
    rows[absent] = rng.choice([np.nan, np.inf, 1000.0, 0.0])
    _store(draws, call, part.lse, Labelled(own.axes, np.where(absent, -np.inf, lse)))
    _store(draws, call, part.out, Labelled((*own.axes, "E"), rows))


def _store(draws: Draws, call: Call, node: object, values: Labelled) -> None:
    """Values of a tensor in its layout and dtype; nothing of what is computed from tensors."""
    if isinstance(node, Input):
        layout = draws.layout(node.name)
        stored = layout.restore(values.aligned(layout.roles), call.env())
        draws.made[node.name] = rounded(stored, DTYPES[draws.dtype(node.name)])


def _log_sum_exp(state: State, merge: LogSumExpMerge) -> Labelled:
    """Of the keys of the call, over all attentions that are merged; -inf in rows without any."""
    axes, found = merge.axes[:-1], list[Array]()
    with np.errstate(divide="ignore", invalid="ignore"):
        for part in merge.parts:
            if isinstance(part, WeightedSum):
                assert isinstance(part.weights, Softmax)  # a rule of the graph
                each = row_statistics(state, part.weights)
                found.append(each[RowMax].aligned(axes) + np.log(each[RowSum].aligned(axes)))
        return Labelled(axes, np.logaddexp.reduce(found))
