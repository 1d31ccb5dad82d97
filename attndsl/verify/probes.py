"""Inputs in which every key counts: one lost, doubled or shifted key changes the result beyond tolerance.

With random inputs it would not: of 8192 keys each adds about 1/8192 to a result whose tolerance is 2^-7,
and dozens may be lost unseen. The probe is a balanced ledger:

* Every key of a key/value head has a class, and all keys of a class have the same score for a query head;
  the classes' weights differ by powers of two, and by query head, at most 4 : 1. The channels of a key are
  random small integers that only together give the score, so each of them matters.
* Value rows are ``+v`` or ``-v`` in each channel, in random pairs of opposite sign within a class, along
  the keys: every stretch of a class sums to -v, 0 or +v. Three marker keys have signs of their own. The
  sum over all keys is therefore a few ``v``, and with ``v`` about a third of the row sum the result is of
  order one; but so is what each key alone contributes, ``v`` times its weight over the row sum.
* Rows that must not be read hold 4v.

The arithmetic is exact up to the row sum: weights are powers of two in every dtype, values have three
bits, products and sums are multiples of their unit below 2^24. So a right kernel has almost no error, and
one missing key is an error of order 0.1. With a bias the weights are not exact, but equal within a class,
and the pairs cancel most of their rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attndsl.interpret.state import rounded
from attndsl.spec.arguments import DTYPES
from attndsl.spec.layout import Array

VIEWS = 4
MARKERS = 3
ALARM = 4.0
SHARE = 0.3
"""Of a value row in the row sum: far above the tolerance, and a few of them far below overflow."""
LARGEST = {"float16": 2.0**13, "bfloat16": 2.0**40, "float32": 2.0**40}
_BIAS = np.array([0.0, -0.25, -0.5])


@dataclass(frozen=True)
class Sizes:
    """Extents of the attention axes."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    head: int
    channels: int


@dataclass(frozen=True)
class Attention:
    """Attention inputs with canonical axes in float64.

    ``query`` (B, N, Q, D), ``key`` (B, K, T, D), ``value`` (B, K, T, E), ``bias`` (N, T).
    """

    query: Array
    key: Array
    value: Array
    bias: Array


def ledger(
    rng: np.random.Generator,
    sizes: Sizes,
    readable: Array,
    visible: Array,
    factor: float,
    dtype: str,
    *,
    biased: bool = False,
    share: float = SHARE,
) -> Attention:
    """The probe.

    Args:
        rng: decides everything.
        sizes: extents.
        readable: (B, T), the rows that the lengths make valid.
        visible: (B, T), those that no mask hides; a row of a batch that has none attends to all readable.
        factor: what the raw scores are multiplied by.
        dtype: of the computation, for what it can represent.
        biased: whether there is a bias; otherwise the returned one is zero.
        share: of a value row in the row sum.
    """
    s = sizes
    views = min(VIEWS, s.head)
    classes = VIEWS if views == VIEWS else views + 1
    member = rng.integers(0, classes, (s.kv_heads, s.keys))
    code = rng.choice([-1.0, 1.0], (s.kv_heads, s.head))
    view = np.arange(s.head) % views
    weights = _weights(rng, s, views)
    unit = math.log(2) / abs(factor) if factor else 1.0
    step = float(rounded(np.array(unit), DTYPES[dtype]))
    of_head = np.arange(s.heads) // (s.heads // s.kv_heads)
    query = weights[:, :, None, view] * code[of_head][None, :, None, :] * step
    key = np.stack([_keys(rng, member, code, view, views) for _ in range(s.batch)])
    attended = np.where((readable & visible).any(axis=1, keepdims=True), readable & visible, readable)
    key[~np.broadcast_to(readable[:, None], key.shape[:3])] = 0
    level = rng.choice(_BIAS, (s.heads, classes)) * biased
    exponent = np.concatenate([weights, np.zeros((s.batch, s.heads, classes - views))], axis=2)
    power = np.exp2(exponent if factor >= 0 else -exponent) * np.exp(level)
    power /= power.max(axis=2, keepdims=True)
    group = s.heads // s.kv_heads

    def _row_sum(b: int, k: int) -> float:
        """The typical row sum of the query heads of a key/value head."""
        counts = np.bincount(member[k][attended[b]], minlength=classes)
        return float(np.median(power[b, k * group : (k + 1) * group] @ counts)) or 1.0

    value = np.empty((s.batch, s.kv_heads, s.keys, s.channels))
    for b in range(s.batch):
        for k in range(s.kv_heads):
            value[b, k] = _signs(rng, member[k], attended[b], classes, s.channels)
            scale = min(_three_bits(share * _row_sum(b, k)), LARGEST[dtype])
            value[b, k] *= scale
            value[b, k][~readable[b]] = ALARM * scale
    bias = level[np.arange(s.heads)[:, None], member[of_head]]
    return Attention(np.broadcast_to(query, (s.batch, s.heads, s.queries, s.head)), key, value, bias)


def _three_bits(value: float) -> float:
    """The next number above with three significant bits."""
    unit = 2.0 ** (math.floor(math.log2(value)) - 2)
    return math.ceil(value / unit) * unit


def _weights(rng: np.random.Generator, s: Sizes, views: int) -> Array:
    """Exponents (B, N, views) in {0, -1, -2}, different for the query heads of a group while they last."""
    group = s.heads // s.kv_heads
    choices = np.stack(np.meshgrid(*[[0.0, -1.0, -2.0]] * views, indexing="ij"), axis=-1).reshape(-1, views)
    picks = np.stack([_order(rng, len(choices), group) for _ in range(s.batch * s.kv_heads)])
    found: Array = choices[picks].reshape(s.batch, s.heads, views)
    return found


def _order(rng: np.random.Generator, count: int, wanted: int) -> Array:
    return np.resize(rng.permutation(count), wanted)


def _keys(rng: np.random.Generator, member: Array, code: Array, view: Array, views: int) -> Array:
    """Keys (K, T, D) whose coded sum over the channels of a view is 1 in the view of their class, else 0."""
    heads, keys = member.shape
    head = code.shape[1]
    found = rng.integers(-1, 2, (heads, keys, head)).astype(np.float64)
    rows = np.arange(keys)
    for each in range(views):
        channels = np.flatnonzero(view == each)
        fixed = channels[rng.integers(0, len(channels), (heads, keys))]
        for k in range(heads):
            found[k, rows, fixed[k]] = 0
            rest = found[k][:, channels] @ code[k, channels]
            found[k, rows, fixed[k]] = code[k, fixed[k]] * ((member[k] == each) - rest)
    return found


def _signs(rng: np.random.Generator, member: Array, attended: Array, classes: int, channels: int) -> Array:
    """Signs (T, E): opposite within pairs of neighbouring attended keys of a class, else random."""
    signs = rng.choice([-1.0, 1.0], (member.size, channels))
    keys = np.flatnonzero(attended)
    markers = rng.choice(keys, min(MARKERS, keys.size), replace=False) if keys.size else keys
    rest = keys[~np.isin(keys, markers)]
    for each in range(classes):
        mine = rest[member[rest] == each]
        even = mine.size // 2 * 2
        signs[mine[1:even:2]] = -signs[mine[0:even:2]]
    return signs
