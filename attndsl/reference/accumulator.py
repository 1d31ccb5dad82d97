"""The running statistics of an online softmax (Milakov and Gimelshein, arXiv 1805.02867).

Per row, with running maximum m, sum l and accumulator a, a block with scores s and values V updates

    m' = max(m, max s)    p = exp(s - m')    l' = l exp(m - m') + sum p    a' = a exp(m - m') + p V

and the result is a / l.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attndsl.reference.arithmetic import exp_in_place
from attndsl.reference.products import row_sums, weighted_values
from attndsl.spec.contract.layout import Array

LOWEST = {np.dtype(real): np.finfo(real).min for real in (np.float32, np.float64)}


@dataclass
class Accumulator:
    """Running statistics of some rows; ``result`` is None where only the statistics are wanted.

    ``maximum`` and ``total``, (rows,), start as -inf and 0; ``result`` and ``term``, (rows, channels), are
    memory for the result and for what a block adds to it. ``empty``: no block has been taken in yet, the
    result is still undefined.
    """

    maximum: Array
    total: Array
    result: Array | None
    term: Array | None
    empty: bool = True

    def seed(self, sink: Array) -> None:
        """Start with a logit of each row, (rows,), that no key has; -inf for none."""
        self.maximum, self.total = sink.copy(), np.where(np.isneginf(sink), 0, 1).astype(sink.dtype)

    def add(self, scores: Array, values: Array | None) -> None:
        """Take in a block of scores (rows, keys), which is overwritten, and its values (keys, channels)."""
        maximum = np.maximum(np.maximum.reduce(scores, axis=1), self.maximum)
        base = np.maximum(maximum, LOWEST[scores.dtype])  # all -inf so far: probabilities 0, not NaN
        weights = exp_in_place(np.subtract(scores, base[:, None], out=scores))
        decay = np.exp(self.maximum - base)  # 0 where nothing has been taken in
        if self.result is not None and not self.empty:
            self.result *= decay[:, None]
        self.maximum, self.total = maximum, row_sums(weights) + self.total * decay
        if values is not None:
            self.add_weighted(weights, values)
        self.empty = False

    def add_weighted(self, weights: Array, values: Array) -> None:
        """Add ``weights . values`` of a block to the result."""
        assert self.result is not None and self.term is not None
        if self.empty:
            self.weighted(weights, values, self.result)
        else:
            self.result += self.weighted(weights, values, self.term)
        self.empty = False

    def weighted(self, weights: Array, values: Array, out: Array) -> Array:
        """``weights . values`` of one block, written to ``out``."""
        return weighted_values(weights, values, out)

    def write_sum(self, out: Array) -> None:
        """Write the result to ``out``, (..., channels) with as many rows."""
        assert self.result is not None
        out[...] = 0 if self.empty else self.result.reshape(out.shape)

    def write_mean(self, out: Array) -> None:
        """Write the result as a weighted mean; rows without a key, or with all scores -inf, are zero."""
        assert self.result is not None
        if self.empty:
            out[...] = 0
            return
        nothing = self.total == 0
        total = self.total + nothing  # 1 for 0
        self.result[nothing] = 0
        np.divide(self.result.reshape(out.shape), total.reshape(*out.shape[:-1], 1), out=out)
