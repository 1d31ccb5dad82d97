"""The running statistics of an online softmax (Milakov and Gimelshein, arXiv 1805.02867).

Per row, with running maximum m, sum l and accumulator a, a block with scores s and values V updates

    m' = max(m, max s)    p = exp(s - m')    l' = l exp(m - m') + sum p    a' = a exp(m - m') + p V

and the result is a / l.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attndsl.interpret.arithmetic import exp_in_place
from attndsl.interpret.products import weighted_values
from attndsl.spec.layout import Array


@dataclass
class Accumulator:
    """Running statistics of some rows; ``result`` is None where only the statistics are wanted.

    ``maximum`` and ``total``, (rows,), start as -inf and 0, ``result``, (rows, channels), as 0; ``term`` is
    memory like that of ``result``, ``empty`` whether the result is still 0.
    """

    maximum: Array
    total: Array
    result: Array | None
    term: Array | None
    empty: bool = True

    def add(self, scores: Array, values: Array | None) -> None:
        """Take in a block of scores (rows, keys), which is overwritten, and its values (keys, channels)."""
        maximum = np.maximum(self.maximum, np.maximum.reduce(scores, axis=1))
        base = np.where(maximum == -np.inf, 0, maximum)  # all -inf so far: probabilities 0, not NaN
        weights = exp_in_place(np.subtract(scores, base[:, None], out=scores))
        decay = exp_in_place(self.maximum - base)
        self.total = self.total * decay + np.add.reduce(weights, axis=1)
        self.maximum = maximum
        if self.result is not None and values is not None:
            if not self.empty:
                self.result *= decay[:, None]
            self.add_weighted(weights, values)

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

    def normalise(self) -> None:
        """Make the result a weighted mean; rows without a key, or with all scores -inf, are zero."""
        if self.result is not None:
            empty = self.total == 0
            self.result /= np.where(empty, 1, self.total)[:, None]
            self.result[empty] = 0
