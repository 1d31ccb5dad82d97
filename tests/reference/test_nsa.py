"""nsa_compress_attention: the reference against an independent oracle, and identities between calls."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl import packing
from attndsl.api import ops
from attndsl.reference import run as reference
from tests.support.naive_nsa import naive

nsa = ops.nsa_compress_attention
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WINDOWS = [(16, 16, 16), (32, 16, 64), (64, 32, 64), (80, 48, 96), (128, 16, 128), (48, 16, 48)]
LOWEST = float(np.finfo(np.float32).min)


def ends(lengths):
    return [int(each) for each in np.cumsum(lengths)]


@st.composite
def problems(draw, masks=True, relaxed=True):
    """Arguments of a legal call, as :func:`call` and the oracle take them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    batch = draw(st.integers(1, 3))
    kv_heads, group = draw(st.sampled_from([(1, 1), (2, 1), (1, 4), (2, 3)]))
    size, stride, select = draw(st.sampled_from(WINDOWS))
    per_block = select // stride
    queries = rng.integers(0, 5, batch)
    queries[rng.integers(batch)] += 1
    keys = rng.integers(1, 40, batch)
    blocks = -(-keys // per_block) + (rng.integers(0, 4, batch) if draw(st.booleans()) else 0)
    head = draw(st.sampled_from([16, 32] if not relaxed else [16, 8, 5]))
    value_head = draw(st.sampled_from([head, 16] if not relaxed and head > 16 else [head]))
    dtype = DTYPES[draw(st.sampled_from(sorted(DTYPES)))]

    def normal(*shape):
        return rng.standard_normal(shape).astype(dtype)

    problem = {
        "query": normal(queries.sum(), kv_heads * group, head),
        "key": normal(keys.sum(), kv_heads, head),
        "value": normal(keys.sum(), kv_heads, value_head),
        "scale": draw(st.sampled_from([1.0, 0.25, 3.0])),
        "l": size,
        "d": stride,
        "l_sel": select,
        "count": int(rng.integers(1, min(blocks.min(), 32) + 1)),
        "q_ends": ends(queries),
        "k_ends": ends(keys),
        "j_ends": ends(blocks),
        "reading": draw(st.sampled_from(["op", "paper", "literal0"])),
    }
    extra = draw(st.sampled_from([0, 2]))
    if masks and draw(st.booleans()):
        problem["atten_mask"] = rng.random((queries.max() + extra, keys.max() + extra)) < draw(
            st.sampled_from([0.3, 0.9, 1.0])
        )
    if masks and draw(st.booleans()):
        problem["topk_mask"] = (rng.random((queries.max() + extra, blocks.max() + extra)) < 0.2).astype(
            np.uint8
        )
    return problem


def call(problem, **changes):
    """The arguments of the operator."""
    p = {"atten_mask": None, "topk_mask": None, "reading": "op", **problem}
    found = {
        "query": p["query"],
        "key": p["key"],
        "value": p["value"],
        "scale_value": p["scale"],
        "head_num": p["query"].shape[1],
        "compress_block_size": p["l"],
        "compress_stride": p["d"],
        "select_block_size": p["l_sel"],
        "select_block_count": p["count"],
        "topk_mask": p["topk_mask"],
        "atten_mask": p["atten_mask"],
        "actual_seq_qlen": p["q_ends"],
        "actual_cmp_seq_kvlen": p["k_ends"],
        "actual_sel_seq_kvlen": p["j_ends"],
        "index_reading": p["reading"],
        "relaxed": True,
    }
    return {**found, **changes}


def run(problem, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nsa(**call(problem, **changes))


def check_indices(found, problem, importance, forced):
    """Index by index where the scores tell the order, else as good a block as the oracle's."""
    start, blocks_before = 0, 0
    for row, (end, blocks_end) in enumerate(zip(problem["q_ends"], problem["j_ends"], strict=True)):
        blocks = blocks_end - blocks_before
        for i, t in enumerate(range(start, end)):
            for n2 in range(found.shape[1]):
                score = importance[row][i, n2].copy()
                if forced is not None:
                    score[forced[i, :blocks] != 0] = np.inf
                mine = found[t, n2]
                assert len(set(mine.tolist())) == len(mine) and (mine >= 0).all() and (mine < blocks).all()
                best = np.sort(score)[::-1][: len(mine)]
                with np.errstate(invalid="ignore"):
                    gap = np.where(score[mine] == best, 0, np.abs(score[mine] - best))
                assert (gap <= 1e-5 * max(1.0, importance[row][i, n2].max())).all()
                for one, two in itertools.pairwise(mine):
                    if (np.isinf(score[one]) and np.isinf(score[two])) or score[one] == score[two] == 0:
                        assert one < two
        start, blocks_before = end, blocks_end


@settings(max_examples=80, deadline=None)
@given(problems())
def test_random_calls_match_the_oracle(problem):
    out, indices, top, total = run(problem)
    expected, _, want_top, want_total, importance = naive(**problem)
    assert out.shape == expected.shape and out.dtype == problem["query"].dtype
    assert indices.dtype == np.int32 and top.dtype == total.dtype == np.float32
    step = 2.0**-11 if out.dtype == np.float16 else 2.0**-8
    assert (np.abs(out.astype(float) - expected) <= 1.5 * step * np.maximum(1, np.abs(expected))).all()
    assert top.shape == total.shape == (*want_top.shape, 8)
    np.testing.assert_allclose(top, np.repeat(want_top[..., None], 8, axis=2), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(total, np.repeat(want_total[..., None], 8, axis=2), rtol=1e-4)
    check_indices(indices, problem, importance, problem.get("topk_mask"))


@settings(max_examples=30, deadline=None)
@given(problems())
def test_float64_run_is_exact_to_float64_and_picks_the_same_blocks(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound = nsa.bind(**call(problem))
    out, indices, top, total = reference.run(bound, precision="float64", cast=False)
    expected, _, want_top, want_total, importance = naive(**problem)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(top[..., 0], want_top, rtol=1e-12)
    np.testing.assert_allclose(total[..., 7], want_total, rtol=1e-12)
    check_indices(indices, problem, importance, problem.get("topk_mask"))


@settings(max_examples=30, deadline=None)
@given(problems())
def test_packed_equals_each_batch_row_on_its_own(problem):
    together = run(problem)
    starts = [[0, *problem[name][:-1]] for name in ("q_ends", "k_ends", "j_ends")]
    for row, (q, k, j) in enumerate(zip(*starts, strict=True)):
        q_end, k_end, j_end = (problem[name][row] for name in ("q_ends", "k_ends", "j_ends"))
        alone = {
            **problem,
            "query": problem["query"][q:q_end],
            "key": problem["key"][k:k_end],
            "value": problem["value"][k:k_end],
            "q_ends": [q_end - q],
            "k_ends": [k_end - k],
            "j_ends": [j_end - j],
        }
        for mine, whole in zip(run(alone), together, strict=True):
            assert np.array_equal(mine, whole[q:q_end])


@settings(max_examples=30, deadline=None)
@given(problems(masks=False))
def test_without_masks_and_with_all_blocks_it_is_plain_attention(problem):
    """k = all blocks: every block is selected once, and the rest is attention of each batch row."""
    blocks = np.diff([0, *problem["j_ends"]])
    problem = {**problem, "count": int(blocks.min())}
    if problem["count"] > 32:
        return
    out, indices, _, _ = run(problem)
    rows = zip([0, *problem["q_ends"]], problem["q_ends"], blocks, strict=False)
    for start, end, count in rows:
        if count == problem["count"]:
            assert (np.sort(indices[start:end], axis=-1) == np.arange(count)).all()
    ifa = ops.incre_flash_attention
    for row, (start, end) in enumerate(zip([0, *problem["q_ends"]], problem["q_ends"], strict=False)):
        keys = slice([0, *problem["k_ends"]][row], problem["k_ends"][row])
        if problem["value"].shape[2] != problem["key"].shape[2]:
            return
        for t in range(start, end):
            plain = ifa(
                problem["query"][t][None, :, None],
                [problem["key"][keys].transpose(1, 0, 2)[None]],
                [problem["value"][keys].transpose(1, 0, 2)[None]],
                num_heads=problem["query"].shape[1],
                num_key_value_heads=problem["key"].shape[1],
                input_layout="BNSD",
                scale_value=problem["scale"],
            )
            step = 2.0**-10 if out.dtype == np.float16 else 2.0**-7
            np.testing.assert_allclose(
                out[t].astype(float), plain[0, :, 0].astype(float), rtol=step, atol=step
            )


@settings(max_examples=20, deadline=None)
@given(problems())
def test_masks_may_be_larger_and_of_either_dtype(problem):
    expected = run(problem)
    wider = {
        name: np.pad(problem[name], ((0, 3), (0, 5)), constant_values=1).astype(np.uint8)
        for name in ("atten_mask", "topk_mask")
        if name in problem
    }
    narrow = {name: mask.astype(bool) for name, mask in wider.items()}
    for other in (wider, narrow):
        for one, two in zip(run({**problem, **other}), expected, strict=True):
            assert np.array_equal(one, two)


def single(rows=1, keys=10, blocks=3, **changes):
    """One head, one batch row, and probabilities that the values of keys tell: P_c is proportional to 2^c."""
    key = np.zeros((keys, 1, 16), np.float16)
    key[:, 0, 0] = np.arange(keys)
    query = np.zeros((rows, 1, 16), np.float16)
    query[:, 0, 0] = 1
    found = {
        "query": query,
        "key": key,
        "value": key,
        "scale": float(np.log(2)),
        "l": 32,
        "d": 16,
        "l_sel": 64,
        "count": blocks,
        "q_ends": [rows],
        "k_ends": [keys],
        "j_ends": [blocks],
    }
    return {**found, **changes}


@pytest.mark.parametrize(
    ("reading", "weights"),
    [
        ("op", [[1, 2, 2, 2, 1], [0, 0, 0, 0, 1, 2, 2, 2, 1], [0] * 8 + [1, 2]]),
        ("paper", [[2, 2, 2, 1], [0, 0, 0, 1, 2, 2, 2, 1], [0] * 7 + [1, 2, 2]]),
        ("literal0", [[1], [1, 2, 2, 2, 1], [0, 0, 0, 0, 1, 2, 2, 2, 1]]),
    ],
)
def test_the_worked_example_of_each_reading(reading, weights):
    """C = 10, M = 4, R = 2: which probabilities a block adds, each seen alone by masking all other keys."""
    for c in range(10):
        mask = np.arange(10)[None] != c
        shares = [row[c] if c < len(row) else 0 for row in weights]
        _, indices, _, _ = run(single(atten_mask=mask, reading=reading))
        assert indices[0, 0].tolist() == sorted(range(3), key=lambda j: (-shares[j], j))


def test_ties_go_to_the_lower_index_and_forced_blocks_come_first_in_their_order():
    hidden = np.ones((1, 48), bool)  # uniform probabilities: all inner blocks have one score
    plain = single(keys=48, blocks=12, atten_mask=hidden)
    assert run(plain)[1][0, 0].tolist() == list(range(12))
    forced = np.zeros((1, 12), bool)
    forced[0, [7, 3, 11]] = True
    assert run({**plain, "topk_mask": forced})[1][0, 0].tolist() == [3, 7, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10]
    assert run({**plain, "topk_mask": forced, "count": 2})[1][0, 0].tolist() == [3, 7]


def test_zero_blocks_follow_in_ascending_order_without_padding():
    hidden = np.arange(48)[None] != 22
    indices = run(single(keys=48, blocks=16, atten_mask=hidden))[1][0, 0]
    assert indices.tolist() == [5, *(j for j in range(16) if j != 5)]


def test_a_fully_masked_row_is_the_mean_of_its_values():
    problem = single(rows=2, atten_mask=np.array([[True] * 10, [False] * 10]))
    out, _, top, total = run(problem)
    np.testing.assert_allclose(out[0, 0], problem["value"][:, 0].mean(axis=0), rtol=1e-3)
    assert (top[0] == np.float32(LOWEST)).all() and (total[0] == 10).all()
    assert np.isfinite(out).all() and (top[1] > 0).all()


def test_masks_are_indexed_from_the_top_left_of_each_batch_row():
    """Two batch rows of different size share one mask; the second uses its top-left part."""
    rng = np.random.default_rng(1)
    problem = single()
    query, key = (rng.standard_normal((n, 1, 16)).astype(np.float16) for n in (5, 17))
    problem |= {
        "query": query,
        "key": key,
        "value": key,
        "q_ends": [3, 5],
        "k_ends": [10, 17],
        "j_ends": [3, 5],
    }
    mask = rng.random((3, 10)) < 0.5
    forced = rng.random((3, 3)) < 0.5
    out = run({**problem, "count": 2, "atten_mask": mask, "topk_mask": forced})
    second = {**problem, "query": query[3:], "key": key[10:], "value": key[10:], "q_ends": [2], "k_ends": [7]}
    second |= {"j_ends": [2], "count": 2, "atten_mask": mask[:2, :7], "topk_mask": forced[:2, :2]}
    for one, two in zip(out, run(second), strict=True):
        assert np.array_equal(one[3:], two)


def test_scores_that_are_not_numbers_come_last():
    problem = single()
    problem["key"] = problem["key"].copy()
    problem["key"][0, 0, 0] = np.nan
    out, indices, _, _ = run(problem)
    assert np.isnan(out.astype(float)).all() and indices[0, 0].tolist() == [0, 1, 2]


def test_the_stored_order_of_the_statistics():
    rng = np.random.default_rng(2)
    values, sums = rng.standard_normal((5, 3, 8)).astype(np.float32), [2, 2, 5]
    stored = packing.to_stored_order(values, sums)
    assert stored.shape == values.shape
    flat = [
        values[t, h, c] for rows in (range(2), range(2, 5)) for h in range(3) for t in rows for c in range(8)
    ]
    assert stored.reshape(-1).tolist() == flat
    assert np.array_equal(packing.from_stored_order(stored, sums), values)
    for wrong in ([2, 4], [3, 2, 5], []):
        with pytest.raises(ValueError, match="ends"):
            packing.to_stored_order(values, wrong)


def test_more_blocks_than_keys_fill_is_a_warning_and_their_score_is_zero():
    problem = single(blocks=3, j_ends=[9], count=9)
    with pytest.warns(
        UserWarning, match=r"actual_sel_seq_kvlen\[0\] is 9.*the nearest legal value is 3"
    ) as found:
        indices = nsa(**call(problem))[1][0, 0]
    assert found[0].filename == __file__  # the caller's line, not one of the package
    assert sorted(indices[:3].tolist()) == [0, 1, 2] and indices[3:].tolist() == [3, 4, 5, 6, 7, 8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nsa(**call(single()))


def test_a_long_packed_batch_fits_in_memory():
    """16,384 scores a query and 4096 blocks: only the selected indices are held for all queries."""
    rng = np.random.default_rng(3)
    key = rng.standard_normal((16384, 1, 16), dtype=np.float32).astype(np.float16)
    query = rng.standard_normal((200, 2, 16), dtype=np.float32).astype(np.float16)
    problem = single() | {"query": query, "key": key, "value": key, "count": 16, "scale": 0.25}
    problem |= {"q_ends": [200], "k_ends": [16384], "j_ends": [4096]}
    out, indices, _, _ = run(problem)
    scores = np.einsum("td,cd->tc", query[7].astype(float), key[:, 0].astype(float)) * 0.25
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out[7], p @ key[:, 0].astype(float), atol=2e-3)
    padded = np.concatenate([p.sum(axis=0), np.zeros(4)])
    blocks = sum(w * padded[i : i + 16384 : 4] for i, w in enumerate([1, 2, 2, 2, 1]))
    assert set(indices[7, 0].tolist()) <= set(np.argsort(-blocks)[:18].tolist())
