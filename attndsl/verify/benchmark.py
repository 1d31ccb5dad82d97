"""The benchmark of the double comparison: what a plain implementation in the io dtype would give.

It is the computation of a framework that has no fused attention and works in float16 or bfloat16, one
operation after the other: matrix products accumulate in float32 and are rounded to the io dtype; every
elementwise step on the scores (scale, bias, mask) computes in float32 and is rounded; softmax takes the
rounded scores, computes in float32, normalises and is rounded; dequantised rows are rounded. A score that
is replaced by a number beyond the dtype's range gets the lowest number of the dtype, which is what users
of such implementations write. Scores that overflow become infinite, as they would there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.graph.nodes import Cast, Elementwise, Node, Output, Replace, Rows, Scores, Softmax, WeightedSum
from attndsl.interpret.blocks import Block, Part
from attndsl.interpret.rows import RowReader, reader
from attndsl.interpret.scores import evaluate
from attndsl.interpret.state import Labelled, State, rounded
from attndsl.interpret.threads import for_each
from attndsl.interpret.whole import whole
from attndsl.spec.arguments import DTYPES, dtype_name
from attndsl.spec.call import Call
from attndsl.spec.layout import Array

_STORED = (Scores, Elementwise, Replace, Cast)
_FLOAT32 = np.dtype(np.float32)


def run(call: Call) -> tuple[Array, ...]:
    """The results of ``call``, each operation rounded to the io dtype of the call."""
    state = State(call, _FLOAT32)
    dtype = DTYPES[call.dtype]
    with np.errstate(all="ignore"):
        for output in call.graph.outputs:
            for node in output.walk():
                if isinstance(node, WeightedSum) and id(node) not in state.values:
                    state.values[id(node)] = _weighted_sum(state, node, dtype)
        return tuple(_result(state, output) for output in call.graph.outputs)


def unattended(call: Call) -> tuple[Array, ...]:
    """For each result, true for the elements of rows that have no key at all, in the result's layout."""
    state = State(call, _FLOAT32)
    found = []
    for output in call.graph.outputs:
        spec = next(spec for spec in call.operator.outputs if spec.name == output.name)
        layout = spec.layout(call.layouts[spec.like])
        empty = np.zeros([call.extents[role] for role in layout.roles], bool)
        sums = [node for node in output.walk() if isinstance(node, WeightedSum)]
        if {"B", "N"} <= set(layout.roles) and len(sums) == 1:
            cells = np.moveaxis(empty, [layout.roles.index(role) for role in "BN"], [0, 1])
            group = state.heads_per_group
            for b in range(call.extents["B"]):
                for k in range(call.extents.get("K", 1)):
                    if reader(state, sums[0].values, b, k).count == 0:
                        cells[b, k * group : (k + 1) * group] = True
        found.append(layout.restore(empty, call.env()))
    return tuple(found)


def _result(state: State, output: Output) -> Array:
    call = state.call
    spec = next(spec for spec in call.operator.outputs if spec.name == output.name)
    layout = spec.layout(call.layouts[spec.like])
    values = layout.restore(whole(state, output.source).aligned(layout.roles), call.env())
    return rounded(values, DTYPES.get(output.dtype, DTYPES[dtype_name(call.arrays[spec.like])]))


def _stored(values: Array, dtype: np.dtype[Any]) -> Array:
    return rounded(np.asarray(values), dtype).astype(np.float32)


def _weighted_sum(state: State, node: WeightedSum, dtype: np.dtype[Any]) -> Labelled:
    extents = state.call.extents
    group = state.heads_per_group
    out = np.zeros([extents[axis] for axis in ("B", "N", "Q", "E")], np.float32)

    def work(task: tuple[int, int]) -> None:
        b, k = task
        values = _rows(state, node.values, b, k, dtype)
        if values.count == 0:
            return
        sources = [each.keys for each in node.weights.walk() if isinstance(each, Scores)]
        readers = {id(rows): _rows(state, rows, b, k, dtype) for rows in sources}
        heads, keys = slice(k * group, (k + 1) * group), slice(values.first, values.first + values.count)
        queries = slice(0, extents["Q"])
        block = Block(b, k, heads, queries, Part(keys), readers, {}, (b, heads, queries))
        with np.errstate(all="ignore"):
            weights = _weights(state, node.weights, block, dtype)
            table = values.read(keys.start, keys.stop)
            out[b, heads] = _stored(weights.reshape(-1, weights.shape[-1]) @ table, dtype).reshape(
                group, extents["Q"], -1
            )

    for_each(work, [(b, k) for b in range(extents["B"]) for k in range(extents.get("K", 1))])
    return Labelled(("B", "N", "Q", "E"), out)


def _weights(state: State, weights: Node, block: Block, dtype: np.dtype[Any]) -> Array:
    """The weights of a block of all keys, (heads, queries, keys)."""
    scores = weights.scores if isinstance(weights, Softmax) else weights
    for node in scores.walk():
        if isinstance(node, _STORED) and "T" in node.axes:
            value = evaluate(state, node, block)
            if isinstance(node, Replace):
                lowest = np.float32(_largest(dtype))
                value = np.where(np.isinf(value), value, np.clip(value, -lowest, lowest))
            # What users of this node will find instead of its own value.
            block.values[id(node)] = _stored(value, dtype)
    values = np.broadcast_to(evaluate(state, scores, block), block.shape)
    if not isinstance(weights, Softmax):
        return values
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return _stored(powers / powers.sum(axis=-1, keepdims=True), dtype)


def _rows(state: State, rows: Rows, b: int, k: int, dtype: np.dtype[Any]) -> RowReader:
    plain = reader(state, rows, b, k)

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
