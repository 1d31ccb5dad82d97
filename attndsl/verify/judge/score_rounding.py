"""What the rounding of fp32 scores makes of the row statistics that are results.

A score is a sum of D products. Each of its additions rounds, and the errors of n of them are about the root
of n times one of them: with u = 2^-24 a sum is off by no more than ``8 sqrt(D) u sum_d |q_d k_d|``, but for a
chance of 2 exp(-32) (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci.
Comput. 41(5), 2019, theorem 3.1 with lambda = 8), and by no more than D u times the same in any case. The
maximum and the log-sum-exp of scores are off by what the worst of the scores is, at most. So of 512 channels
whose products nearly cancel, a log-sum-exp near 1 may be off by more than the 2^-14 that suffices of 64.
"""

from __future__ import annotations

import math

import numpy as np

from attndsl.graph.nodes import Node, Output, Scores, Softmax, WeightedSum
from attndsl.graph.scores_factor import scores_factor
from attndsl.reference.blocks import Block
from attndsl.reference.scores import query_rows
from attndsl.reference.state import Labelled, State
from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.whole_rows import weighted_sum

_UNIT, _DEVIATIONS = 2.0**-24, 8.0


def score_errors(state: State, output: Output) -> Labelled | None:
    """How far rounding may move the scores of each row of ``output``, axes (B, N, Q) or (N, S).

    None where weighted sums are part of it, whose probabilities are rounded more coarsely, and where it is no
    row statistic of scores.
    """
    parts = list(output.walk())
    softmaxes = [each for each in parts if isinstance(each, Softmax)]
    if not softmaxes or _made_of_sums(output.source):
        return None
    found: Labelled | None = None
    for each in softmaxes:
        rows = _of_softmax(state, each)
        if rows is not None:
            data = rows.data if found is None else np.maximum(found.aligned(rows.axes), rows.data)
            found = Labelled(rows.axes, data)
    return found


def rounding_units(channels: int) -> float:
    """How far a sum of ``channels`` products may be off, in units of the sum of their magnitudes."""
    return min(channels, _DEVIATIONS * math.sqrt(channels)) * _UNIT


def sizes_of_products(state: State, node: Scores, block: Block) -> Array:
    """The sums of the magnitudes of the products that the scores of a block are sums of, (rows, keys)."""
    keys = block.readers[id(node.keys)].read(block.keys.start, block.keys.stop)
    found: Array = np.abs(query_rows(state, node.query, block)) @ np.abs(keys).T
    return found


def _made_of_sums(node: Node) -> bool:
    """Whether a result has weighted sums in it beside those of which it takes statistics alone."""
    axes: tuple[str, ...] = getattr(node, "axes", ())
    return "E" in axes


def _of_softmax(state: State, softmax: Softmax) -> Labelled | None:
    nodes = [node for root in state.call.graph.outputs for node in root.walk()]
    sums = (each for each in nodes if isinstance(each, WeightedSum))
    node = next((each for each in sums if softmax in each.weights.walk()), None)
    scores = [each for each in softmax.scores.walk() if isinstance(each, Scores)]
    if node is None or not scores:
        return None
    factor = rounding_units(state.call.extents["D"]) * abs(scores_factor(state.call.graph, state.env))

    def attend(block: Block, values: Array) -> Array:
        rows: Array = np.zeros(block.shape[0] * block.shape[1])
        for each in scores:
            rows = np.maximum(rows, sizes_of_products(state, each, block).max(axis=1, initial=0.0))
        return np.broadcast_to(factor * rows[:, None], (len(rows), values.shape[1]))

    found = weighted_sum(state, node, State.reader, attend)
    return Labelled(found.axes[:-1], found.data[..., 0])
