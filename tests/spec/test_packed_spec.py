"""Specs over packed tokens, lists and blocks of keys, as a user may write them."""

import numpy as np
import pytest

from attndsl.spec import Operator, attend, errors


def packed_operator(name):
    """Packed queries of ``lengths`` tokens a batch row over packed keys with prefix sums."""
    op = Operator(name)
    B, T1, T2, N, KN, D = op.dims("B T1 T2 N KN D")
    Q, T = op.dims("Q T")
    op.let(T, op.longest("key_ends"))
    op.let(Q, op.longest("ends"))
    op.axes(B=B, S=T1, U=T2, N=N, K=KN, Q=Q, T=T, D=D, E=D, J=4, X=2)
    q = op.input("q", "T1 N D", dtype="float32", axes="S N D")
    k = op.input("k", "T2 KN D", dtype=q, axes="U K D")
    v = op.input("v", "T2 KN D", dtype=q, axes="U K E")
    ends = op.prefix_sums("ends", "B", total=T1)
    key_ends = op.prefix_sums("key_ends", "B", total=T2)
    return op, q, k, v, ends, key_ends


RNG = np.random.default_rng(0)
ROWS, KEYS = [3, 0, 200], [7, 2, 9]
Q = RNG.standard_normal((203, 4, 8)).astype(np.float32)
K, V = (RNG.standard_normal((18, 2, 8)).astype(np.float32) for _ in range(2))
ENDS = {"ends": [3, 3, 203], "key_ends": [7, 9, 18]}


def rows():
    """Probabilities (N, queries, keys) and the slices of each batch row."""
    for q_end, k_end, queries, keys in zip(ENDS["ends"], ENDS["key_ends"], ROWS, KEYS, strict=True):
        t, c = slice(q_end - queries, q_end), slice(k_end - keys, k_end)
        key = np.repeat(K[c], 2, axis=1).astype(float)
        s = np.einsum("tnd,cnd->ntc", Q[t].astype(float), key)
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        yield t, c, p / p.sum(axis=-1, keepdims=True)


def test_packed_rows_by_their_lengths_equal_those_by_prefix_sums():
    op, q, k, v, ends, key_ends = packed_operator("by_length")
    b = attend.BATCH
    one = attend.scores(attend.packed(q, ends), attend.packed(k, key_ends))
    two = attend.scores(attend.packed(q, length=ends.length(b)), attend.packed(k, length=key_ends.length(b)))
    op.output("one", attend.softmax(one) @ attend.packed(v, key_ends), like=q)
    op.output("two", attend.softmax(two) @ attend.packed(v, length=key_ends.length(b)), like=q)
    op.check()
    one, two = op(Q, K, V, **ENDS)
    assert np.array_equal(one, two)
    for t, c, p in rows():
        expected = np.einsum("ntc,cnd->tnd", p, np.repeat(V[c], 2, axis=1))
        np.testing.assert_allclose(one[t], expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_prefix_sums_may_be_arrays_as_lengths_may(dtype):
    op, q, k, v, ends, key_ends = packed_operator("of_arrays")
    s = attend.scores(attend.packed(q, ends), attend.packed(k, key_ends))
    op.output("out", attend.softmax(s) @ attend.packed(v, key_ends), like=q)
    with_zero = {name: np.array([0, *sums], dtype) for name, sums in ENDS.items()}
    arrays = op(Q, K, V, **{name: sums[1:] for name, sums in with_zero.items()})
    assert np.array_equal(arrays, op(Q, K, V, **ENDS))
    with pytest.raises(errors.DtypeError, match="ends: dtype uint8 is not supported; it must be int64"):
        op(Q, K, V, **{name: sums[1:].astype(np.uint8) for name, sums in with_zero.items()})


def test_a_bias_may_be_packed_as_the_queries_are():
    op, q, k, v, ends, key_ends = packed_operator("biased")
    bias = op.input("bias", "T1 N T", dtype="float32", axes="S N T", optional=True)
    s = attend.scores(attend.packed(q, ends), attend.packed(k, key_ends)) + bias
    op.output("out", attend.softmax(s) @ attend.packed(v, key_ends), like=q)
    op.check()
    hidden = RNG.random((203, 4, 9)) < 0.4
    hidden[..., 0] = False
    out = op(Q, K, V, **ENDS, bias=np.where(hidden, -np.inf, 0).astype(np.float32))
    for t, c, p in rows():
        left = np.where(hidden[t].transpose(1, 0, 2)[..., : p.shape[2]], 0, p)
        left /= left.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(
            out[t], np.einsum("ntc,cnd->tnd", left, np.repeat(V[c], 2, axis=1)), atol=1e-5
        )


def test_window_sums_and_selections_of_each_head_as_results():
    op, q, k, v, ends, key_ends = packed_operator("windows")
    p = attend.softmax(attend.scores(attend.packed(q, ends), attend.packed(k, key_ends)))
    sums = p.window_sum(step=2, last=2, counts=(2, 2))
    op.output("out", p @ attend.packed(v, key_ends), like=q)
    op.output("sums", sums, like=q, layouts="T1 N 4", dtype="float32")
    op.output("best", (sums * 2.0 + 1).top(2), like=q, layouts="T1 N 2", dtype="int32")
    op.output("worst", (sums.sum_over_group() * -1).top(2), like=q, layouts="T1 KN 2", dtype="int32")
    op.check()
    _, sums, best, worst = op(Q, K, V, **ENDS)
    for t, _, p in rows():
        padded = np.pad(p, ((0, 0), (0, 0), (0, 12)))
        expected = np.stack(
            [padded[..., 2 * j + 2] + 2 * padded[..., 2 * j + 1] + padded[..., 2 * j] for j in range(4)]
        )
        np.testing.assert_allclose(sums[t], expected.transpose(2, 1, 0), atol=1e-6)
        assert np.array_equal(best[t], np.argsort(-sums[t], axis=-1, kind="stable")[..., :2])
        grouped = sums[t].reshape(-1, 2, 2, 4).sum(axis=2)
        values = np.take_along_axis(grouped, worst[t].astype(int), axis=-1)
        np.testing.assert_allclose(values, np.sort(grouped, axis=-1)[..., :2], atol=1e-6)


def test_two_segments_of_packed_queries_are_merged():
    op, q, k, v, ends, key_ends = packed_operator("two_segments")

    def over(keys, values):
        return attend.softmax(attend.scores(attend.packed(q, ends), keys)) @ values

    whole = over(attend.packed(k, key_ends), attend.packed(v, key_ends))
    op.output("twice", attend.merge(whole, whole), like=q)
    op.output("once", whole, like=q)
    op.check()
    twice, once = op(Q, K, V, **ENDS)
    np.testing.assert_allclose(twice, once, atol=1e-6)


def listed_operator():
    op = Operator("listed")
    B, N, D = op.dims("B N D")
    T = op.dim("T", default=0)
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N D", dtype="float32", axes="B N Q D")
    k = op.input("k", "T N D", dtype=q, axes="B K T D", list_of=B)
    v = op.input("v", "T N D", dtype=q, axes="B K T E", list_of=B)
    lengths = op.lengths("lengths", "B", optional=True)
    p = attend.softmax(attend.scores(q, attend.listed(k, length=lengths)))
    op.output("out", p @ attend.listed(v, length=lengths), like=q)
    op.check()
    return op


@pytest.mark.parametrize("lengths", [None, [5, 0, 2], [3]])
def test_a_list_with_optional_lengths(lengths):
    op = listed_operator()
    q = RNG.standard_normal((3, 2, 4)).astype(np.float32)
    k, v = ([RNG.standard_normal((5, 2, 4)).astype(np.float32) for _ in range(3)] for _ in range(2))
    out = op(q, k, v, lengths)
    count = [5] * 3 if lengths is None else lengths * (3 // len(lengths))
    for b, n in np.ndindex(3, 2):
        s = np.exp(k[b][: count[b], n] @ q[b, n])
        expected = (s / s.sum()) @ v[b][: count[b], n] if count[b] else np.zeros(4)
        np.testing.assert_allclose(out[b, n], expected, atol=1e-5)


def test_enumerations_aliases_and_reserved_bytes():
    op = Operator("modes")
    B, N, T, D = op.dims("B N T D")
    op.axes(B=B, N=N, K=N, Q=1, T=T, D=D, E=D)
    q = op.input("q", "B N 1 D", dtype="float32", axes="B N Q D")
    k = op.input("k", "B N T D", dtype=q, axes="B K T D")
    scale = op.param("scale", float, default=1.0, alias="tor", takes_int=True)
    mode = op.enum("mode", {"NONE": 0, "HALF": 2}, prefix="MODE_")
    op.reserved("rsv", 4)
    op.require(mode == 2, "only HALF here", error=errors.ChoiceError)
    op.output("out", attend.softmax(attend.scores(q, k) * scale) @ attend.rows(op_value(k)), like=q)
    op.check()
    x, y = np.ones((1, 1, 1, 2), np.float32), np.ones((1, 1, 3, 2), np.float32)
    for spelling in (2, "HALF", "MODE_HALF"):
        assert op.bind(x, y, tor=2, mode=spelling, rsv=np.zeros(4, np.uint8)).params["mode"] == 2
    assert op.bind(x, y, tor=2, mode=2).params["scale"] == 2.0
    with pytest.raises(errors.ChoiceError, match=r"0 or 'NONE', 2 or 'HALF'.*did you mean 'HALF'"):
        op.bind(x, y, mode="HALFS")
    with pytest.raises(errors.ChoiceError, match="1 is none of"):
        op.bind(x, y, mode=1)
    with pytest.raises(TypeError, match="scale: passed by position and by name"):
        op.bind(x, y, 1.0, tor=2.0, mode=2)


def op_value(k):
    """The keys as values: their channels D read as E."""
    from attndsl.graph.nodes import Take
    from attndsl.spec import Value

    return Value(Take(source=k.node, axis="", index=0, axes=("B", "K", "T", "E")))
