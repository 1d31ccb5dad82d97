"""What a result may be off by where scores pass through the workspace in float16 (``score_dtype``).

A product s of queries and keys becomes the nearest float16: off by ``2^-11 |s|`` at most, by ``2^-25`` below
2^-14. Where all that is done to scores moves the weight exp(s_j) by a factor exp(e_j), a result moves by

    sum_j w_j (exp(e_j) - 1) (v_j - out) / sum_j w_j exp(e_j)        with w_j the weights, which sum up to 1

which is what users are told a bound of (docs/writing/schedule.md). It is not taken with the largest e_j here,
which would hide a lost key among many, but as rounding makes it of the very scores of a call: the result with
rounded scores is computed in float64, and how far it is from the golden one is no error. A product that lies
in the middle of two float16 numbers, up to the rounding errors of float32, may become either: what these keys
can move comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.graph.nodes import BlockRequantize, RowMax, Scores, Softmax, WeightedSum
from attndsl.reference.blocks import Block
from attndsl.reference.scores import evaluate
from attndsl.reference.state import Labelled, State, rounded
from attndsl.reference.streaming import row_statistics
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.score_rounding import rounding_units, sizes_of_products
from attndsl.verify.judge.whole_rows import alike, weighted_sum

FLOAT16: np.dtype[Any] = np.dtype(np.float16)


def narrows_scores(call: Call) -> bool:
    """Whether the author has scores of the kernels of a call pass in float16."""
    return call.operator.schedule_choices.get("score_dtype") == FLOAT16.name


@dataclass(frozen=True)
class NarrowRuns:
    """Runs of a call whose scores are rounded.

    Attributes:
        plain: the run without. ``near``: each score is the nearest float16.
        turned: one for each softmax, in which what its scores that may be another float16 move adds up.
    """

    plain: State
    near: State
    turned: tuple[State, ...]

    def slack(self, read: Callable[[State], Labelled]) -> Labelled:
        """How far a result may be from the golden one; NaN where one of its scores is beyond float16.

        ``read``: the result in a run.
        """
        golden, near = read(self.plain), read(self.near)
        moved = _apart(near, golden)
        for run in self.turned:
            moved = moved + _apart(read(run), near)
        return Labelled(golden.axes, np.where(np.isfinite(moved) | ~np.isfinite(golden.data), moved, np.nan))


def _apart(one: Labelled, other: Labelled) -> Array:
    data = one.aligned(other.axes)
    same = (data == other.data) | (np.isnan(data) & np.isnan(other.data))
    found: Array = np.where(same, 0.0, np.abs(data - other.data))
    return found


def narrow_runs(state: State) -> NarrowRuns:
    """The runs of a call whose kernels narrow scores."""
    near = new_state(state.call, state.real, score_dtype=FLOAT16)
    walked = (node for output in state.call.graph.outputs for node in output.walk())
    sums = [node for node in dict.fromkeys(walked) if isinstance(node, WeightedSum)]
    known = {id(node): near.whole(node) for node in sums}
    # no kernel narrows the scores of probabilities that pass through integers
    judged = [node for node in sums if not isinstance(node.weights, BlockRequantize)]
    pairs = [(node, each) for node in judged for each in node.weights.walk() if isinstance(each, Softmax)]
    return NarrowRuns(state, near, tuple(_turned(state, near, known, *each) for each in pairs))


def _turned(
    plain: State, near: State, known: Mapping[int, Labelled], node: WeightedSum, softmax: Softmax
) -> State:
    """A run in which the scores of one softmax are another float16 where they may be."""
    statistics = row_statistics(near, softmax)
    top = statistics[RowMax]
    off = np.zeros(top.data.shape)

    def attend(block: Block, table: Array) -> Array:
        error = _turns(plain, near, node, softmax, block)
        off[block.location] = error.max(axis=1, initial=0.0).reshape(block.shape[:2])
        shape = (-1, block.shape[2])
        probabilities = evaluate(near, softmax, block).reshape(shape).copy()
        weights = np.broadcast_to(evaluate(near, node.weights, block), block.shape).reshape(shape)
        return _moved(probabilities, weights, error, table)

    change, value = weighted_sum(near, node, State.reader, attend), known[id(node)]
    moved = Labelled(value.axes, value.data + change.aligned(value.axes))
    run = new_state(plain.call, plain.real, values={**known, id(node): moved}, score_dtype=FLOAT16)
    run.statistics.update(near.statistics)
    run.statistics[id(softmax)] = {**statistics, RowMax: Labelled(top.axes, top.data + off)}
    return run


def _moved(probabilities: Array, weights: Array, error: Array, table: Array) -> Array:
    """How far errors of scores, (rows, keys), move ``weights @ table``, (rows, channels), at most.

    ``weights``: the probabilities, or products with them.
    """
    grown = np.expm1(error)
    terms = (np.abs(weights) * grown) @ np.abs(table)
    own = (probabilities * grown).sum(axis=1, keepdims=True) * np.abs(weights @ table)
    least = 1.0 + (probabilities * np.expm1(-error)).sum(axis=1, keepdims=True)
    found: Array = (terms + own) / least
    return found


def _turns(plain: State, near: State, node: WeightedSum, softmax: Softmax, block: Block) -> Array:
    """By how much the scores of all keys, (rows, keys), differ that may be another float16."""
    other = alike(near, node, State.reader, block)
    for each in softmax.scores.walk():
        if isinstance(each, Scores):
            exact = evaluate(plain, each, alike(plain, node, State.reader, block)).copy()
            other.values[id(each)] = _turned_products(exact, _rounding(plain, each, block))
    turned = np.broadcast_to(evaluate(near, softmax.scores, other), block.shape).copy()
    scores = np.broadcast_to(evaluate(near, softmax.scores, block), block.shape)
    with np.errstate(all="ignore"):
        return np.where(scores == turned, 0.0, np.abs(scores - turned)).reshape(-1, block.shape[2])


def _turned_products(exact: Array, margin: Array) -> Array:
    """Each product in float16: where it may become either of two, that which is not the nearest."""
    nearest, below, above = (rounded(each, FLOAT16) for each in (exact, exact - margin, exact + margin))
    found: Array = np.where(below != nearest, below, above).astype(exact.dtype)
    return found


def _rounding(state: State, node: Scores, block: Block) -> Array:
    """How far float32 may be from the products of a block."""
    units, sizes = rounding_units(state.call.extents["D"]), sizes_of_products(state, node, block)
    found: Array = units * sizes.reshape(block.shape)
    return found
