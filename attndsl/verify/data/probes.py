"""Inputs in which every key counts: one lost, doubled or shifted key changes the result beyond tolerance.

With random inputs it would not: of 8192 keys each adds about 1/8192 to a result whose tolerance is 2^-7,
and dozens may be lost unseen. The probe is a balanced ledger:

* Every key of a key/value head has a class, and all keys of a class have the same score for a query row;
  the classes' weights differ by powers of two, and by query row, at most 4 : 1. The channels of a key are
  random small integers that only together give the score, so each of them matters.
* Value rows are ``+v`` or ``-v`` in each channel, in random pairs of opposite sign within a class, along
  the keys: every stretch of a class sums to -v, 0 or +v. Three marker keys have signs of their own. The
  sum over all keys is therefore a few ``v``, and with ``v`` about a third of the largest row sum the result
  of such a row is of order one; but so is what each key alone contributes, ``v`` times its weight over the
  row sum. Rows that see fewer keys have larger results, in which one key counts as much in relation.
* Rows that must not be read hold 4v.

The arithmetic is exact up to the row sum: weights are powers of two in every dtype, values have three
bits, products and sums are multiples of their unit below 2^24. So a right kernel has almost no error, and
one missing key is an error of order 0.1. With a bias, or factors of their own for queries, the weights are
not exact, but equal within a class, and the pairs cancel most of their rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attndsl.reference.state import rounded
from attndsl.spec.contract.arguments import DTYPES
from attndsl.spec.contract.layout import Array

VIEWS = 4
MARKERS = 3
ALARM = 4.0
SHARE = 0.3
"""Of a value row in the row sum: far above the tolerance, and a few of them far below overflow."""
LARGEST = {"float16": 2.0**13, "bfloat16": 2.0**40, "float32": 2.0**40}
LARGEST_WITH_SLOPES = {"float16": 64.0, "bfloat16": 16.0, "float32": 64.0}
"""Of values where slopes make weights that are no powers of two: a probability rounded to float16 is off by
2^-12 of itself, and a row of few keys multiplies that by the whole value. Half of 448 is then off by 0.055
where 0.03 is allowed; computed without rounding, such results are right to 1e-10. Of bfloat16 it is 2^-9,
with twice the tolerance: ten keys of 56 were off by 0.078 where 0.0625 is allowed."""
INTEGER_STEP = 8.0
"""Of integer queries, whose scores are scaled afterwards."""
_BIAS = np.array([0.0, -0.25, -0.5])


@dataclass
class Ledger:
    """The probe of one call.

    Attributes:
        rng: decides everything.
        heads, kv_heads, keys, head: extents of N, K, T (of the longest row) and D.
        step: what a query entry is multiplied with, so that scores are whole multiples of log 2.
        carrying: channels of queries and keys that carry scores, for storage in which the others are values.
    """

    rng: np.random.Generator
    heads: int
    kv_heads: int
    keys: int
    head: int
    step: float
    carrying: Array | None = None

    def __post_init__(self) -> None:
        channels = np.arange(self.head) if self.carrying is None else np.flatnonzero(self.carrying)
        self.views = min(VIEWS, len(channels))
        self.classes = VIEWS if self.views == VIEWS else self.views + 1
        self.member = self.rng.integers(0, self.classes, (self.kv_heads, self.keys))
        self.code = np.zeros((self.kv_heads, self.head))
        self.code[:, channels] = self.rng.choice([-1.0, 1.0], (self.kv_heads, len(channels)))
        self.view = np.full(self.head, -1)
        self.view[channels] = np.arange(len(channels)) % self.views

    def query_rows(self, batch: int, queries: int) -> Array:
        """Queries (B, N, Q, D), with exponents in {0, -1, -2} for each view that differ between the rows of
        a key/value head while they last; the first row has no 0 among them."""
        group = self.heads // self.kv_heads
        grid = np.meshgrid(*[[0.0, -1.0, -2.0]] * self.views, indexing="ij")
        choices = np.stack(grid, axis=-1).reshape(-1, self.views)
        every = np.flatnonzero(choices.all(axis=1))  # these look at every view, and so at every channel
        orders = [
            np.concatenate([self.rng.choice(every, 1), self._order(len(choices), queries * group - 1)])
            for _ in range(batch * self.kv_heads * (queries > 0))
        ]
        picks = np.stack(orders) if orders else np.zeros((0, queries * group), np.int64)
        weights = choices[picks].reshape(batch, self.kv_heads, queries, group, self.views)
        weights = weights.transpose(0, 1, 3, 2, 4).reshape(batch, self.heads, queries, self.views)
        code = np.repeat(self.code, group, axis=0)[None, :, None, :]
        found: Array = weights[..., np.maximum(self.view, 0)] * code * self.step
        return found

    def _order(self, count: int, wanted: int) -> Array:
        return np.resize(self.rng.permutation(count), max(wanted, 0))

    def key_rows(self, k: int, count: int) -> Array:
        """Keys (T, D) of a key/value head whose coded sum over the channels of a view is 1 in the view of
        their class, else 0."""
        found = self.rng.integers(-1, 2, (count, self.head)).astype(np.float64)
        rows, member = np.arange(count), self.member[k, :count]
        for each in range(self.views):
            channels = np.flatnonzero(self.view == each)
            fixed = channels[self.rng.integers(0, len(channels), count)]
            found[rows, fixed] = 0
            rest = found[:, channels] @ self.code[k, channels]
            found[rows, fixed] = self.code[k, fixed] * ((member == each) - rest)
        return found

    def signs(self, k: int, paired: Array, channels: int) -> Array:
        """Signs (T, E): opposite within pairs of neighbouring keys of a class among ``paired`` (T,), else
        random."""
        signs = self.rng.choice([-1.0, 1.0], (paired.size, channels))
        keys = np.flatnonzero(paired)
        few = min(MARKERS, keys.size)
        markers = self.rng.choice(keys, few, replace=False) if keys.size else keys
        rest = keys[~np.isin(keys, markers)]
        member = self.member[k]
        for each in range(self.classes):
            mine = rest[member[rest] == each]
            even = mine.size // 2 * 2
            signs[mine[1:even:2]] = -signs[mine[0:even:2]]
        return signs

    def bias(self) -> Array:
        """A bias (N, T), the same for all keys of a class."""
        level = self.rng.choice(_BIAS, (self.heads, self.classes))
        of_head = np.arange(self.heads) // (self.heads // self.kv_heads)
        found: Array = level[np.arange(self.heads)[:, None], self.member[of_head]]
        return found


def step(factor: float, dtype: str, base: float = 2.0) -> float:
    """The entries of queries for which scores, multiplied by ``factor``, are multiples of log ``base``."""
    unit = math.log(base) / abs(factor) if factor else 1.0
    if dtype not in LARGEST:
        return INTEGER_STEP
    return float(rounded(np.array(min(unit, LARGEST[dtype])), DTYPES[dtype]))


def size_of_values(row_sum: float, dtype: str) -> float:
    """v for the largest row sum: three significant bits."""
    value = min(SHARE * max(row_sum, 1.0), LARGEST[dtype])
    unit = 2.0 ** (math.floor(math.log2(value)) - 2)
    return math.ceil(value / unit) * unit
