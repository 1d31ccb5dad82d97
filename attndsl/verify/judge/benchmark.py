"""The benchmark of the double comparison: what a plain implementation in the io dtype would give.

It is the computation of a framework that has no fused attention and works in float16 or bfloat16, one
operation after the other: matrix products accumulate in float32 and are rounded to the io dtype; every
elementwise step on the scores (scale, bias, mask) computes in float32 and is rounded; softmax takes the
rounded scores, computes in float32, normalizes and is rounded; dequantized rows are rounded. A score that
is replaced by a number beyond the dtype's range gets the lowest number of the dtype, which is what users
of such implementations write. Scores that overflow become infinite, as they would there. Scores of int8
queries are exact integers, and their probabilities pass through int8 as the spec says.

Row maxima and sums, in float32, are those of the float32 reference; indices have no benchmark, and
that of a quantized result is its value before rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attndsl.graph.nodes import (
    BlockRequantize,
    Cast,
    Elementwise,
    Node,
    Output,
    Quantize,
    Replace,
    RowMax,
    Rows,
    RowSum,
    Scores,
    Softmax,
    TopK,
    WeightedSum,
)
from attndsl.reference.blocks import Block
from attndsl.reference.row_reader import RowReader
from attndsl.reference.scores import evaluate
from attndsl.reference.state import Labelled, State, rounded
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES, dtype_name
from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.golden import before_rounding
from attndsl.verify.judge.whole_rows import weighted_sum

_STORED = (Scores, Elementwise, Replace, Cast)
_FLOAT32 = np.dtype(np.float32)
_BEYOND = 1e30


def run(call: Call) -> tuple[Array | None, ...]:
    """The results of ``call``, each operation rounded to the io dtype of the call; of quantized results what
    they are rounded from, of indices None."""
    state = new_state(call, _FLOAT32)
    dtype = io_dtype(call)
    with np.errstate(all="ignore"):
        for output in call.graph.outputs:
            for node in output.walk():
                if isinstance(node, WeightedSum) and id(node) not in state.values:
                    state.values[id(node)] = _weighted_sum(state, node, dtype)
        return tuple(_result(state, output) for output in call.graph.outputs)


def io_dtype(call: Call) -> np.dtype[Any]:
    """The floating dtype that a call computes in: that of its results where its inputs are integers."""
    own = DTYPES[call.dtype]
    named = [output.dtype for output in call.graph.outputs if output.dtype in ("float16", "bfloat16")]
    return DTYPES[named[0]] if own.kind in "iu" and named else own


def precision(call: Call, name: str) -> str:
    """The dtype whose rounding errors a result has: its own, or that of the call where it is float32 and made
    of weighted sums, whose probabilities are rounded before they meet the values."""
    output = next(each for each in call.graph.outputs if each.name == name)
    spec = next(each for each in call.operator.outputs if each.name == name)
    own = output.dtype if output.dtype in DTYPES else dtype_name(call.arrays[spec.like])
    sums = any(isinstance(node, WeightedSum) for node in _outside_of_statistics(output))
    return io_dtype(call).name if own == "float32" and sums else own


def _outside_of_statistics(root: Node) -> Iterator[Node]:
    """The nodes that a value is made of, but for what its row statistics are made of."""
    open_, seen = [root], set[Node]()
    while open_:
        node = open_.pop()
        if node not in seen:
            seen.add(node)
            yield node
            open_ += () if isinstance(node, RowMax | RowSum) else node.operands()


def _result(state: State, output: Output) -> Array | None:
    call = state.call
    if isinstance(output.source, TopK):
        return None
    spec = next(spec for spec in call.operator.outputs if spec.name == output.name)
    layout = spec.layout(call.layouts[spec.like])
    if isinstance(output.source, Quantize):
        return layout.restore(before_rounding(state, output.source).aligned(layout.roles), call.env())
    values = layout.restore(state.whole(output.source).aligned(layout.roles), call.env())
    return rounded(values, DTYPES.get(output.dtype, DTYPES[dtype_name(call.arrays[spec.like])]))


def _stored(values: Array, dtype: np.dtype[Any]) -> Array:
    return rounded(np.asarray(values), dtype).astype(np.float32)


def _weighted_sum(state: State, node: WeightedSum, dtype: np.dtype[Any]) -> Labelled:
    def read(state: State, rows: Rows, b: int, k: int) -> RowReader:
        return _rows(state, rows, b, k, dtype)

    def attend(block: Block, table: Array) -> Array:
        return _stored(_attended(state, node.weights, block, table, dtype), dtype)

    return weighted_sum(state, node, read, attend)


def _attended(state: State, weights: Node, block: Block, table: Array, dtype: np.dtype[Any]) -> Array:
    """``weights @ table`` for a block of all keys, (heads * queries, channels)."""
    inner = weights.source if isinstance(weights, BlockRequantize) else weights
    values = _scores(state, inner.scores if isinstance(inner, Softmax) else inner, block, dtype)
    flat = values.reshape(-1, values.shape[-1])
    if isinstance(weights, BlockRequantize):
        return _requantized(state, weights, block, flat, table)
    if not isinstance(inner, Softmax):
        return flat @ table
    found: Array = _probabilities(state, inner, block, flat, dtype) @ table
    return found


def _probabilities(state: State, node: Softmax, block: Block, scores: Array, dtype: np.dtype[Any]) -> Array:
    """The softmax of the rounded scores of all keys, (rows, keys), rounded."""
    top = scores.max(axis=-1, keepdims=True)
    sink = _sink(state, node, block, scores.shape[0])
    if sink is not None:
        top = np.maximum(top, sink)
    powers = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = powers.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - np.where(np.isneginf(top), 0, top))
    return _stored(powers / np.where(total == 0, 1, total), dtype)


def _sink(state: State, node: Softmax, block: Block, rows: int) -> Array | None:
    """The sink of each row, (rows, 1)."""
    if node.sink is None:
        return None
    heads, queries, _ = block.shape
    sink = np.broadcast_to(evaluate(state, node.sink, block), (heads, queries, 1))
    return sink.reshape(rows, 1).astype(np.float32)


def _requantized(state: State, node: BlockRequantize, block: Block, scores: Array, table: Array) -> Array:
    rows, size = scores.shape[0], int(node.block.evaluate(state.env))
    steps = None
    if node.scale is not None:
        heads, queries, _ = block.shape
        steps = np.broadcast_to(evaluate(state, node.scale, block), (heads, queries, 1)).reshape(-1)
    top, total = np.full(rows, -np.inf, np.float32), np.zeros(rows, np.float32)
    result = np.zeros((rows, table.shape[1]), np.float32)
    for first in range(0, scores.shape[1], size):
        block_scores = scores[:, first : first + size]
        best = np.maximum(top, block_scores.max(axis=1))
        base = np.where(np.isneginf(best), 0, best)
        powers = np.exp(block_scores - base[:, None])
        step = powers.max(axis=1) / 127 if steps is None else steps.astype(np.float32)
        safe = np.where(step == 0, 1, step)[:, None]
        integers = np.clip(np.rint(powers / safe), -128, 127)
        decay = np.exp(top - base)
        result = result * decay[:, None] + (integers @ table[first : first + size]) * safe
        total = total * decay + powers.sum(axis=1)
        top = best
    found: Array = result / np.where(total == 0, 1, total)[:, None]
    return found


def _scores(state: State, scores: Node, block: Block, dtype: np.dtype[Any]) -> Array:
    """The scores of a block of all keys, (heads, queries, keys), rounded step by step."""
    lowest = np.float32(_largest(dtype))
    for node in scores.walk():
        if isinstance(node, Softmax):  # probabilities that are computed with
            flat = np.broadcast_to(evaluate(state, node.scores, block), block.shape)
            found = _probabilities(state, node, block, flat.reshape(-1, block.shape[2]), dtype)
            block.values[id(node)] = found.reshape(block.shape)
        whole_numbers = isinstance(node, Scores) and DTYPES[state.call.dtype].kind == "i"
        if isinstance(node, _STORED) and "T" in node.axes and not whole_numbers:
            value = evaluate(state, node, block)
            largest = lowest if isinstance(node, Replace) else np.float32(_BEYOND)
            if not np.abs(value).max(initial=0) <= largest:  # NaN is not
                beyond = np.isfinite(value) & (np.abs(value) > largest)
                value = np.where(beyond, np.clip(value, -lowest, lowest), value)
            # What users of this node will find instead of its own value.
            block.values[id(node)] = _stored(value, dtype)
    return np.broadcast_to(evaluate(state, scores, block), block.shape)


def _rows(state: State, rows: Rows, b: int, k: int, dtype: np.dtype[Any]) -> RowReader:
    plain = state.reader(rows, b, k)

    def fetch(start: int, stop: int) -> Array:
        return _stored(plain.fetch(start, stop), dtype)

    return RowReader(plain.first, plain.count, fetch, piece=plain.count)


def _largest(dtype: np.dtype[Any]) -> float:
    """The largest finite number of a float dtype."""
    bits = {
        "float16": (np.uint16, 0x7BFF),
        "bfloat16": (np.uint16, 0x7F7F),
        "float32": (np.uint32, 0x7F7FFFFF),
    }
    word, pattern = bits[dtype.name]
    return float(np.array([pattern], word).view(dtype)[0])
