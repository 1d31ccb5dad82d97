"""What integers of probabilities make of a result where a probability is at a rounding boundary.

:class:`BlockRequantize` rounds ``p / a`` to an integer x. Where that lies in the middle of two integers up to
the rounding errors of float32, either one is right, and a result may differ by ``a * |value|`` for each such
key, divided by the row sum as all of the row: with a step of 1/127 and one visible key, a 127th of the value,
which is as much as the tolerance of bfloat16 allows for everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.graph.nodes import BlockRequantize, Node, Output, Softmax, WeightedSum
from attndsl.reference.blocks import Block
from attndsl.reference.scores import evaluate
from attndsl.reference.state import Labelled, State
from attndsl.reference.whole import new_state
from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.whole_rows import alike, weighted_sum

_FLOAT32: np.dtype[Any] = np.dtype(np.float32)
_LARGEST, _LOWEST = 127, -128
_LEAST = 2.0**-20
_MARGIN = 4.0
_FIRST = 0.25
"""Probabilities below that many steps are 0 in any case."""


def shifted(state: State, output: Output) -> State | None:
    """A run like ``state``, but in which every probability at a boundary became the other integer and all
    these changes add up; None where no probability of ``output`` passes through integers."""
    sums = [
        node
        for node in output.walk()
        if isinstance(node, WeightedSum) and isinstance(node.weights, BlockRequantize)
    ]
    if not sums:
        return None
    found = {id(node): _moved(state, node) for node in sums}
    return new_state(state.call, state.real, values=found)


def _moved(state: State, node: WeightedSum) -> Labelled:
    plain, change = state.whole(node), changes(state, node)
    return Labelled(plain.axes, plain.data + change.aligned(plain.axes))


def changes(state: State, node: WeightedSum) -> Labelled:
    """The sum of ``a * |value|`` over the keys at a boundary, divided by the row sum.

    How far from the middle of two integers a probability may be: four times the largest relative error that
    the float32 reference has among the row's probabilities, at least 2^-20 of its own size.
    """
    assert isinstance(node.weights, BlockRequantize) and isinstance(node.weights.source, Softmax)
    requantize, scores = node.weights, node.weights.source.scores
    single = new_state(state.call, _FLOAT32)

    def attend(block: Block, table: Array) -> Array:
        exact = _flat(state, scores, block)
        float32 = _flat(single, scores, alike(single, node, State.reader, block))
        return _over_blocks(exact, float32, np.abs(table), _given(state, requantize, block), size)

    size = int(requantize.block.evaluate(state.env))
    return weighted_sum(state, node, State.reader, attend)


def _over_blocks(exact: Array, float32: Array, sizes: Array, given: Array | None, size: int) -> Array:
    """``changes`` of some rows. ``exact``, ``float32``: scores (rows, keys) of both runs; ``sizes``: of the
    values, (keys, channels); ``given``: the steps of the rows; ``size``: keys in a block."""
    rows = len(exact)
    top, other = np.full(rows, -np.inf), np.full(rows, -np.inf, np.float32)
    total, result = np.zeros(rows), np.zeros((rows, sizes.shape[1]))
    for first in range(0, exact.shape[1], size):
        part = slice(first, first + size)
        best, other = (
            np.maximum(top, exact[:, part].max(axis=1)),
            np.maximum(other, float32[:, part].max(axis=1)),
        )
        base = _finite(best)
        powers = np.exp(exact[:, part] - base[:, None])
        roughly = np.exp(float32[:, part] - _finite(other)[:, None])
        step = powers.max(axis=1) / _LARGEST if given is None else given
        step = np.where(step == 0, 1, step)
        decay = np.exp(top - base)
        turned = _at_boundary(powers, roughly, step[:, None])
        result = result * decay[:, None] + (turned * np.abs(step)[:, None]) @ sizes[part]
        total = total * decay + powers.sum(axis=1)
        top = best
    found: Array = result / np.where(total == 0, 1, total)[:, None]
    return found


def _at_boundary(powers: Array, roughly: Array, step: Array) -> Array:
    """Which probabilities of a block have two integers that are right."""
    integers = powers / step
    counted = np.abs(integers) > _FIRST
    relative = np.where(counted, np.abs(roughly - powers) / powers, 0.0).max(axis=1, keepdims=True)
    margin = np.maximum(_MARGIN * relative, _LEAST) * np.abs(integers)
    below = np.floor(integers)
    two = np.clip(below, _LOWEST, _LARGEST) != np.clip(below + 1, _LOWEST, _LARGEST)
    at: Array = counted & two & (np.abs(integers - below - 0.5) <= margin)
    return at


def _finite(maximum: Array) -> Array:
    return np.where(np.isneginf(maximum), 0, maximum)


def _flat(state: State, scores: Node, block: Block) -> Array:
    value = np.broadcast_to(evaluate(state, scores, block), block.shape)
    return value.reshape(-1, block.shape[2])


def _given(state: State, node: BlockRequantize, block: Block) -> Array | None:
    if node.scale is None:
        return None
    heads, queries, _ = block.shape
    return np.broadcast_to(evaluate(state, node.scale, block), (heads, queries, 1)).reshape(-1)
