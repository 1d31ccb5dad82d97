"""How the reference cuts attention into blocks: nothing of it shows in results."""

import threading

import numpy as np
import pytest

from attndsl.base.provenance import noted
from attndsl.graph.nodes import WeightedSum
from attndsl.reference import streaming
from attndsl.reference.products import scores_of, weighted_values
from attndsl.reference.run import run
from attndsl.reference.scratch import Scratch
from attndsl.reference.threads import for_each
from attndsl.reference.whole import new_state
from attndsl.spec import Operator, attend

INF = float("inf")


@pytest.mark.parametrize(("batch", "heads", "queries"), [(1, 1, 1), (1, 8, 1), (1, 8, 5000), (2, 1, 300)])
def test_blocks_are_as_large_as_the_cache_holds(batch, heads, queries):
    """Of few queries up to a length; of many so long that the scores stay in the cache."""
    op = operator(lambda op, s, shift: s)
    arrays = {
        name: np.ones((batch, n, rows, 2), np.float32)
        for name, n, rows in (("q", heads, queries), ("k", 1, 3), ("v", 1, 3))
    }
    call = op.bind(**arrays)
    state = new_state(call, np.dtype(np.float32))
    (sums,) = (node for node in call.graph.nodes if isinstance(node, WeightedSum))
    keys = streaming._keys_in_block(state, sums.weights)
    rows = heads * min(streaming.queries_in_block(state), queries)
    assert keys <= streaming.KEYS_IN_BLOCK and keys * rows <= streaming.SCORES_IN_BLOCK
    assert keys == streaming.KEYS_IN_BLOCK or (keys + 1) * rows > streaming.SCORES_IN_BLOCK


def operator(scores):
    """Attention in fp32 over ``scores(op, s, T - Q)``, which may declare inputs of its own."""
    op = Operator("blocks")
    B, N, KN, Q, T, D, E = op.dims("B N KN Q T D E")
    op.axes(B=B, N=N, K=KN, Q=Q, T=T, D=D, E=E)
    q = op.input("q", "B N Q D", dtype="float32")
    k = op.input("k", "B KN T D", dtype=q, axes="B K T D")
    v = op.input("v", "B KN T E", dtype=q, axes="B K T E")
    s = scores(op, attend.scores(q, attend.rows(k)) * 0.3, T - Q)
    op.output("out", attend.softmax(s) @ attend.rows(v), like=q)
    return op


def naive(q, k, v, scores):
    """The same in fp64 at once; ``scores(s, n, i, j)``."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    s = np.einsum("bnqd,bntd->bnqt", q, k.repeat(group, 1)) * 0.3
    s = scores(s, *np.ogrid[: s.shape[1], : s.shape[2], : s.shape[3]])
    top = s.max(axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isneginf(top), 0, top))
    total = p.sum(axis=-1, keepdims=True)
    return np.einsum("bnqt,bnte->bnqe", p / np.where(total == 0, 1, total), v.repeat(group, 1))


def arrays(*shape, seed=0):
    b, n, kn, q, t, d, e = shape
    rng = np.random.default_rng(seed)
    shapes = [(b, n, q, d), (b, kn, t, d), (b, kn, t, e)]
    return [rng.standard_normal(each).astype(np.float32) for each in shapes]


def hide(s, condition, value=-INF):
    return s.replace(attend.condition(condition), value)


i, j, n = attend.QUERY, attend.KEY, attend.HEAD
CASES = {
    "plain": (lambda op, s, late: s, lambda s, n, i, j: s),
    "causal": (
        lambda op, s, late: hide(s, j > i + late),
        lambda s, n, i, j: np.where(j > i + s.shape[3] - s.shape[2], -INF, s),
    ),
    "window": (
        lambda op, s, late: hide(hide(s, j > i), j < i - 200),
        lambda s, n, i, j: np.where((j > i) | (j < i - 200), -INF, s),
    ),
    "by head": (
        lambda op, s, late: hide(s, j > i + 100 * n),
        lambda s, n, i, j: np.where(j > i + 100 * n, -INF, s),
    ),
    "shown again": (  # what one condition hides a later one may replace, partly or altogether
        lambda op, s, late: hide(hide(s, j >= 520), j + i >= 900, 0.5),
        lambda s, n, i, j: np.where(j + i >= 900, 0.5, np.where(j >= 520, -INF, s)),
    ),
    "no key": (lambda op, s, late: hide(s, j >= i - 700), lambda s, n, i, j: np.where(j >= i - 700, -INF, s)),
    "read twice": (
        lambda op, s, late: hide(s * s * 0.1 - s, j > i) + hide(s, j > i + 64, 0.0),
        lambda s, n, i, j: np.where(j > i, -INF, s * s * 0.1 - s) + np.where(j > i + 64, 0, s),
    ),
    "a chain": (
        lambda op, s, late: hide(attend.tanh((s + 1.0) / 2.0) * 3.0 - attend.sigmoid(s), j > i),
        lambda s, n, i, j: np.where(j > i, -INF, np.tanh((s + 1) / 2) * 3 - 1 / (1 + np.exp(-s))),
    ),
}


@pytest.mark.sweep(fast=8)
@pytest.mark.parametrize("precision, tolerance", [("float32", 3e-6), ("float64", 1e-13)])
@pytest.mark.parametrize("name", CASES)
def test_blocks_do_not_show(name, precision, tolerance):
    scores, reference = CASES[name]
    for shape in [(1, 2, 2, 800, 1100, 16, 16), (2, 6, 2, 150, 1300, 8, 8), (1, 1, 1, 1000, 1000, 8, 8)]:
        q, k, v = arrays(*shape)
        (out,) = run(operator(scores).bind(q, k, v), precision, cast=False)
        np.testing.assert_allclose(out, naive(q, k, v, reference), atol=tolerance, rtol=tolerance)


def test_arguments_are_never_written():
    def biased(op, s, late):
        bias = op.input("bias", "N Q T", dtype="float32", axes="N Q T")
        return hide(s + hide(bias, j > i), j > i + 5)

    q, k, v = arrays(1, 2, 1, 300, 700, 8, 8)
    bias = np.random.default_rng(1).standard_normal((2, 300, 700)).astype(np.float32)
    before = [x.copy() for x in (q, k, v, bias)]
    out = operator(biased)(q, k, v, bias)
    for array, copy in zip((q, k, v, bias), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    expected = naive(q, k, v, lambda s, n, i, j: np.where(j > i, -INF, s + bias))
    np.testing.assert_allclose(out, expected, atol=3e-6)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 32, 33, 200])
@pytest.mark.parametrize("keys", [0, 1, 31, 1024, 2500])
def test_products_of_any_size(rows, keys):
    rng = np.random.default_rng(rows * keys)
    q, k, w = (rng.standard_normal(shape) for shape in [(rows, 24), (keys, 24), (rows, keys)])
    memory = np.full((rows, keys + 3), np.nan)
    scores_of(q, k, memory[:, :keys])
    np.testing.assert_allclose(memory[:, :keys], q @ k.T, rtol=1e-12, atol=1e-12)
    assert np.isnan(memory[:, keys:]).all()
    np.testing.assert_allclose(weighted_values(w, k, np.empty((rows, 24))), w @ k, rtol=1e-11, atol=1e-11)


def test_scratch_memory_stays_with_its_owner_and_thread():
    scratch, real = Scratch(), np.dtype(np.float32)
    first = scratch.array("a", (4, 6), real)
    assert np.shares_memory(first, scratch.array("a", (2, 5), real))
    assert not np.shares_memory(first, scratch.array("b", (4, 6), real))
    assert scratch.array("a", (2,), np.dtype(np.float64)).dtype == np.float64
    larger = scratch.array("a", (40, 6), real)
    assert np.shares_memory(larger, scratch.array("a", (4, 6), real)), "what was smaller is forgotten"
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(scratch.array("b", (4, 6), real)))
    thread.start()
    thread.join()
    assert not np.shares_memory(elsewhere[0], scratch.array("b", (4, 6), real))


def test_every_task_runs_once_and_exceptions_come_out():
    done: list[int] = []
    for_each(done.append, range(500))
    assert sorted(done) == list(range(500))

    def fail(task):
        if task % 100 == 70:
            raise KeyError(task)

    with pytest.raises(KeyError):
        for_each(fail, range(500))


def test_values_of_inputs_are_not_overwritten():
    """Memory of a score is used again; that of what a call passes is not, whatever is computed with it."""

    def scores(op, s, late):
        bias = op.input("bias", "B N Q T", dtype="float32", axes="B N Q T")
        return (bias - s) * s + bias * 0.5

    q, k, v = arrays(1, 1, 1, 3, 8, 4, 4)
    bias = np.random.default_rng(1).standard_normal((1, 1, 3, 8)).astype(np.float32)
    before = [each.copy() for each in (q, k, v, bias)]
    (found,) = run(operator(scores).bind(q, k, v, bias))
    assert all((one == other).all() for one, other in zip((q, k, v, bias), before, strict=True))
    wanted = naive(q, k, v, lambda s, n, i, j: (bias - s) * s + bias * 0.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("real", ["float32", "float64"])
def test_a_run_says_who_computes_and_takes_what_is_known(real):
    values = {7: object()}
    with noted() as engines:
        state = new_state(None, np.dtype(real), values)
    assert engines == [f"reference in {real}"] and state.values is values
    assert new_state(None, np.dtype(real)).values == {}
