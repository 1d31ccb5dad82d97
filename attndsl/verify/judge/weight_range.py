"""Weights that are no softmax, beyond the dtype in which the cube multiplies them.

Kernels compute weights in float32 and round them for the cube. Probabilities are at most 1, but ``relu(s)``
or ``exp(s)`` are as large as scores make them: beyond the largest number of that dtype a weight is infinite,
and infinity times a value of 0 is NaN. What such a weight makes of a result is left open
(docs/writing/functions.md); results of rows without one are judged as ever.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attndsl.graph.nodes import BlockRequantize, Dequantize, Node, Softmax, WeightedSum
from attndsl.reference.blocks import Block
from attndsl.reference.scores import evaluate
from attndsl.reference.state import Labelled, State
from attndsl.reference.whole import new_state
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.whole_rows import weighted_sum


def sums_of_any_weights(node: Node) -> Iterator[WeightedSum]:
    """The weighted sums that a result is made of whose weights are no softmax, and may be any number."""
    for each in node.walk():
        if isinstance(each, WeightedSum) and not _normalized(each.weights):
            yield each


def _normalized(weights: Node) -> bool:
    return isinstance(weights.source if isinstance(weights, BlockRequantize) else weights, Softmax)


def left_open(state: State, node: Node) -> Labelled | None:
    """NaN where a weight beyond the dtype of the cube is in ``node``, else 0; None where there is no such
    weight."""
    sums = (each for each in sums_of_any_weights(node) if not isinstance(each.weights, BlockRequantize))
    values = {id(each): _with_nan(state, each) for each in sums}
    if not any(np.isnan(each.data).any() for each in values.values()):
        return None
    data = new_state(state.call, state.real, values=values).whole(node)
    plain = state.whole(node).aligned(data.axes)
    return Labelled(data.axes, np.where(np.isnan(data.data) & ~np.isnan(plain), np.nan, 0.0))


def _with_nan(state: State, node: WeightedSum) -> Labelled:
    """The sums, NaN in rows with a weight beyond the range."""
    largest = _largest(state, node)

    def attend(block: Block, table: Array) -> Array:
        weights = np.broadcast_to(evaluate(state, node.weights, block), block.shape).reshape(
            -1, block.shape[2]
        )
        beyond = (np.abs(weights) > largest).any(axis=1, keepdims=True)
        return np.broadcast_to(np.where(beyond, np.nan, 0.0), (len(weights), table.shape[1]))

    beyond, sums = weighted_sum(state, node, State.reader, attend), state.whole(node)
    return Labelled(sums.axes, sums.data + beyond.aligned(sums.axes))


def _largest(state: State, node: WeightedSum) -> float:
    """The largest number of the dtype that the cube multiplies."""
    own, quantized = DTYPES[state.call.dtype], any(isinstance(each, Dequantize) for each in node.walk())
    number = np.float16 if quantized or own.kind in "iu" else own.type
    return float(np.nextafter(number(np.inf), number(0)))
