"""The probe shows every key: what a kernel may do wrong to one key, one tile or one head is seen.

The kernel is modelled in NumPy as kernels compute (float32 scores and softmax, probabilities rounded to the
io dtype, online over tiles), so that it can be broken in one place.
"""

import ml_dtypes
import numpy as np
import pytest

from attndsl.verify.data.probes import ALARM, Ledger, size_of_values, step
from attndsl.verify.judge.compare import compare, tolerance

KEYS, TILE = 8192, 512
DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
EDGES = [0, 1, 510, 511, 512, 513, 1023, 1024, 4095, 4096, 8190, 8191]
SAMPLED = sorted({*EDGES, *np.random.default_rng(7).integers(0, KEYS, 40).tolist()})
FACTOR = 64**-0.5


def kernel(query, key, value, counts, dtype):
    """Attention of (H, D) queries over (T, D) keys, key t counted ``counts[t]`` times, tile by tile."""
    rows = query.shape[0]
    top, total = np.full(rows, -np.inf, np.float32), np.zeros(rows, np.float32)
    result = np.zeros((rows, value.shape[1]), np.float32)
    for start in range(0, key.shape[0], TILE):
        at = slice(start, start + TILE)
        if not counts[at].any():
            continue
        scores = (query @ key[at].T) * np.float32(FACTOR)
        scores = np.where(counts[at] > 0, scores, -np.inf)
        best = np.maximum(top, scores.max(axis=1))
        decay = np.exp(top - best)
        weights = np.exp(scores - best[:, None]) * counts[at]
        total = total * decay + weights.sum(axis=1)
        rounded = weights.astype(dtype).astype(np.float32)
        result = result * decay[:, None] + rounded @ value[at]
        top = best
    return (result / total[:, None]).astype(dtype)


def golden_of(query, key, value):
    scores = query.astype(float) @ key.astype(float).T * FACTOR
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ value.astype(float) / weights.sum(axis=1, keepdims=True)


def made_by_ledger(rng, name, head, group, spare):
    """Query (H, D), keys and values (2, T, D) of one batch row with two key/value heads."""
    ledger = Ledger(rng, 2 * group, 2, KEYS, head, step(FACTOR, name))
    query = ledger.query_rows(1, 1)[0, :, 0]
    keys, values = np.zeros((2, KEYS + spare, head)), np.full((2, KEYS + spare, head), ALARM)
    for k in range(2):
        keys[k, :KEYS] = ledger.key_rows(k, KEYS)
        values[k, :KEYS] = ledger.signs(k, np.ones(KEYS, bool), head)
    scores = np.einsum("hd,ktd->hkt", query, keys[:, :KEYS]) * FACTOR
    own = np.stack([scores[h, h // group] for h in range(2 * group)])
    largest = np.exp(own - own.max(axis=1, keepdims=True)).sum(axis=1).max()
    return query, keys, values * size_of_values(float(largest), name)


class Probed:
    """One batch row and two key/value heads of ``group`` query heads, with spare rows behind the keys."""

    def __init__(self, name, data, head=128, group=2):
        self.dtype = DTYPES[name]
        rng = np.random.default_rng(3)
        spare = 8
        if data == "probe":
            parts = made_by_ledger(rng, name, head, group, spare)
        else:
            shape = (2, KEYS + spare, head)
            query = 0.7 * rng.standard_normal((2 * group, head))  # scores about N(0, 1)
            parts = (query, rng.standard_normal(shape), rng.standard_normal(shape))
        query, self.keys, self.values = (part.astype(self.dtype).astype(np.float32) for part in parts)
        self.query, self.other = query[:group], query[group:]
        self.key, self.value = self.keys[0, :KEYS], self.values[0, :KEYS]
        self.golden = golden_of(self.query, self.key, self.value)
        self.ones = np.ones(KEYS, np.float32)
        self.bound = tolerance(name, KEYS)

    def seen(self, key=None, value=None, counts=None):
        """Whether the comparison flags the result of a kernel that reads these."""
        out = kernel(
            self.query,
            self.key if key is None else key,
            self.value if value is None else value,
            self.ones if counts is None else counts,
            self.dtype,
        )
        base = self.golden.astype(self.dtype)
        return not compare(out, self.golden, base, bound=self.bound, level=None).ok

    def counted(self, at, times):
        counts = self.ones.copy()
        counts[at] = times
        return counts


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def probed(request):
    return Probed(request.param, "probe")


def test_the_right_result_passes(probed):
    assert not probed.seen()


@pytest.mark.parametrize("times", [0, 2], ids=["lost", "doubled"])
def test_one_key_lost_or_doubled(probed, times):
    missed = [at for at in SAMPLED if not probed.seen(counts=probed.counted(at, times))]
    assert missed == []


def test_one_key_or_value_row_replaced_by_its_neighbour(probed):
    for at in SAMPLED:
        near = at + 1 if at + 1 < KEYS else at - 1
        value = probed.value.copy()
        value[at] = value[near]
        assert probed.seen(value=value), f"value row {at}"
        if np.abs(probed.query @ (probed.key[at] - probed.key[near])).max() > 0:  # of another class
            key = probed.key.copy()
            key[at] = key[near]
            assert probed.seen(key=key), f"key row {at}"


@pytest.mark.parametrize("which", ["key", "value", "both"])
@pytest.mark.parametrize("step", [1, -1])
def test_all_rows_shifted_by_one(probed, which, step):
    at = np.clip(np.arange(KEYS) + step, 0, KEYS)
    key = probed.keys[0][at] if which != "value" else probed.key
    value = probed.values[0][at] if which != "key" else probed.value
    assert probed.seen(key=key, value=value)


@pytest.mark.parametrize("tile", [0, 1, 7, 14, 15])
def test_one_tile(probed, tile):
    at = slice(tile * TILE, (tile + 1) * TILE)
    other = slice((tile ^ 1) * TILE, ((tile ^ 1) + 1) * TILE)
    assert probed.seen(counts=probed.counted(at, 0)), "lost"
    assert probed.seen(counts=probed.counted(at, 2)), "doubled"
    key, value = probed.key.copy(), probed.value.copy()
    key[at] = key[other]
    assert probed.seen(key=key), "keys of another tile"
    value[at] = value[other]
    assert probed.seen(value=value), "values of another tile"
    assert probed.seen(key=key, value=value), "keys and values of another tile"


def test_heads(probed):
    key, value = probed.keys[1, :KEYS], probed.values[1, :KEYS]
    assert probed.seen(key=key, value=value), "keys and values of the other head"
    assert probed.seen(key=key), "keys of the other head"
    assert probed.seen(value=value), "values of the other head"
    swapped = kernel(probed.query[::-1], probed.key, probed.value, probed.ones, probed.dtype)
    base = probed.golden.astype(probed.dtype)
    assert not compare(swapped, probed.golden, base, bound=probed.bound, level=None).ok, "query heads swapped"


def test_a_channel_of_the_keys(probed):
    for channel in (0, 63, 64, 127):
        key = probed.key.copy()
        key[:, channel] = 0
        assert probed.seen(key=key), f"channel {channel}"


def test_one_row_too_many(probed):
    key, value = probed.keys[0, : KEYS + 1], probed.values[0, : KEYS + 1]
    assert probed.seen(key=key, value=value, counts=np.ones(KEYS + 1, np.float32))


@pytest.mark.parametrize("head", [1, 2, 16])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_small_heads_show_every_key_too(name, head):
    probed = Probed(name, "probe", head=head)
    assert not probed.seen()
    for at in SAMPLED:
        for times in (0, 2):
            assert probed.seen(counts=probed.counted(at, times)), (at, times)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_random_inputs_would_not_show_it(name):
    probed = Probed(name, "normal")
    assert not probed.seen()
    assert not any(probed.seen(counts=probed.counted(at, 0)) for at in SAMPLED)
    assert not probed.seen(counts=probed.counted(SAMPLED[:32], 0)), "32 keys lost, unseen"
