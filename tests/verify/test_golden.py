"""What the golden results tell besides values: where they are exact, how large elements are, what a call
updates, what a selection chooses from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.operator.loader import load
from attndsl.verify.judge.golden import Importance, Result, golden, with_own_arrays
from tests.support.selection_cases import arguments
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec

RNG = np.random.default_rng(2)
LENGTHS = 'length = op.lengths("length", "B", one_for_all=False)'
OF_LENGTH = "attend.rows({}, length=length)"
SCORES = f"s = attend.scores(query, {OF_LENGTH.format('key')}) * 0.2"


def halves(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float16)


def results(folder: Path, *body: str, declared: str = "", **more: Any) -> dict[str, Result]:
    call = decode_spec(folder, *body, declared=declared).bind(**{**decode_call(t=20, d=16), **more})
    return {each.name: each for each in golden(call).results}


def test_values_are_those_of_float64_and_not_rounded(tmp_path: Path) -> None:
    arrays = decode_call(t=20, d=16)
    found = results(tmp_path, DECODE_SCORES, DECODE_RESULT, **arrays)["out"]
    query, key, value = (arrays[name].astype(np.float64) for name in ("query", "key", "value"))
    key, value = (np.repeat(each, 2, axis=1) for each in (key, value))
    scores = query @ key.transpose(0, 1, 3, 2) * 0.2
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights @ value / weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
    assert found.values.dtype == np.float64 and not found.exact.any()
    assert (found.slack, found.unrounded, found.step, found.importance) == (None, None, None, None)
    assert found.sizes is not None and found.row_sizes is not None
    np.testing.assert_array_equal(found.sizes, np.maximum(1, np.abs(found.values)))


def test_rows_are_exact_where_nothing_is_attended_to(tmp_path: Path) -> None:
    result = f'op.output("out", attend.softmax(s) @ {OF_LENGTH.format("value")}, like=query)'
    found = results(tmp_path, SCORES, result, declared=LENGTHS, length=[0, 20])["out"]
    assert found.exact[0].all() and not found.exact[1].any() and found.exact.shape == found.values.shape
    plain = results(tmp_path, SCORES, result.replace("softmax", "sigmoid"), declared=LENGTHS, length=[0, 20])[
        "out"
    ]
    assert not plain.exact.any(), "weights that are no softmax have no row sum"


def test_rows_are_exact_where_a_condition_puts_a_constant(tmp_path: Path) -> None:
    """Of results, not of scores."""
    flags = 'flag = op.input("flag", "B", dtype="int32", axes="B")'
    body = (
        "r = attend.softmax(s) @ attend.rows(value)",
        'op.output("out", r.replace(flag, 0.0), like=query)',
    )
    found = results(tmp_path, DECODE_SCORES, *body, declared=flags, flag=np.array([5, 0], np.int32))["out"]
    assert found.exact[0].all() and not found.exact[1].any()
    masked = results(tmp_path, f"{DECODE_SCORES}; s = s.replace(j > 3, -5.0)", DECODE_RESULT)["out"]
    assert not masked.exact.any()


def ring_step(lse: list[float], length: int) -> Any:
    rows = {"query": halves(1, 1, 3, 16), "key": halves(1, 1, 5, 16), "value": halves(1, 1, 5, 16)}
    earlier = {"prev_out": np.ones((1, 1, 3, 16), np.float32), "prev_lse": np.array([[lse]], np.float32)}
    return load("specs/variants/ring_step.py").bind(**rows, **earlier, length=[length], behind=9)


@pytest.mark.parametrize(("length", "exact"), [(0, [True, False, False]), (5, [False, False, False])])
def test_rows_of_a_merge_are_exact_where_no_part_has_any(length: int, exact: list[bool]) -> None:
    """An earlier partial is absent where its log-sum-exp is -inf."""
    out = golden(ring_step([-np.inf, 1.0, 2.0], length)).results[0]
    assert out.exact[0, 0, :, 0].tolist() == exact


def test_sums_of_weights_that_are_no_softmax_are_as_large_as_their_terms(tmp_path: Path) -> None:
    """They may cancel, where probabilities add up to 1."""
    arrays = {**decode_call(t=20, d=16), "value": np.tile(np.float16([[100], [-100]]), (2, 2, 10, 16))}
    arrays["key"] = np.zeros_like(arrays["key"])
    weights = 'op.output("out", attend.{}(s) @ attend.rows(value), like=query)'
    for kind, size in (("sigmoid", 0.5 * 20 * 100), ("softmax", 1.0)):
        found = results(tmp_path, DECODE_SCORES, weights.format(kind), **arrays)["out"]
        assert found.sizes is not None
        np.testing.assert_allclose(found.values, 0, atol=1e-9)
        np.testing.assert_allclose(found.sizes, size)


def test_elements_are_as_large_as_their_row_if_that_is_larger(tmp_path: Path) -> None:
    """The root mean square of its channels; 1 at least."""
    arrays = decode_call(t=1, d=16)
    arrays["value"] = np.zeros((2, 2, 1, 16), np.float16)
    arrays["value"][0, 0, 0, 3] = 80.0
    found = results(tmp_path, DECODE_SCORES, DECODE_RESULT, **arrays)["out"]
    assert found.row_sizes is not None and found.sizes is not None
    assert found.row_sizes[0, 0, 0].tolist() == [20.0] * 3 + [80.0] + [20.0] * 12
    assert (found.row_sizes[1] == 1).all() and found.sizes[0, 0, 0].tolist().count(1.0) == 15


def test_what_is_not_finite_counts_as_nothing_in_its_row(tmp_path: Path) -> None:
    arrays = decode_call(t=1, d=16)
    arrays["value"] = np.full((2, 2, 1, 16), 8.0, np.float16)
    arrays["value"][0, 0, 0, 3] = np.inf
    found = results(tmp_path, DECODE_SCORES, DECODE_RESULT, **arrays)["out"]
    assert found.row_sizes is not None
    assert found.row_sizes[0, 0, 0, 0] == 8.0 and np.isinf(found.values[0, 0, 0, 3])


def test_quantized_results_come_with_what_they_are_rounded_from() -> None:
    rows, query = [halves(1, 2, 20, 16)], halves(1, 2, 1, 16)
    more = {"num_heads": 2, "num_key_value_heads": 2, "input_layout": "BNSD"}
    (plain,) = golden(ops.incre_flash_attention.bind(query, key=rows, value=rows, **more)).results
    scale, offset = np.array([-7.5], np.float32), np.array([2.0], np.float32)
    call = ops.incre_flash_attention.bind(
        query, key=rows, value=rows, quant_scale2=scale, quant_offset2=offset, **more
    )
    (found,) = golden(call).results
    assert found.unrounded is not None and found.step is not None
    np.testing.assert_allclose(found.unrounded, plain.values * -7.5 + 2.0, rtol=1e-12)
    np.testing.assert_array_equal(found.values, np.rint(found.unrounded))
    assert (found.step == 7.5).all() and found.step.shape == found.values.shape


def test_a_call_updates_its_caches_in_the_golden_results_alone() -> None:
    tokens, cached = 3, 40
    rows = {name: halves(tokens, 32) for name in ("query", "key", "value")}
    caches = {name: halves(1, 1, cached, 32) for name in ("cacheK", "cacheV")}
    before = {name: each.copy() for name, each in caches.items()}
    call = ops.self_attention.bind(
        **rows, **caches, tokenOffset=[10], seqLen=[tokens], layerId=[0], headNum=2, calcType="ENCODER",
        kvcacheCfg="K_CACHE_V_CACHE",
    )  # fmt: skip
    updated = golden(call).updated
    assert set(updated) == {"cacheK", "cacheV"}
    for name, new in (("cacheK", "key"), ("cacheV", "value")):
        wanted = before[name].copy()
        wanted[0, 0, 10 - tokens : 10] = rows[new]
        assert (updated[name] == wanted).all() and (call.arrays[name] == before[name]).all()


def test_a_backend_has_arrays_of_its_own(tmp_path: Path) -> None:
    call = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT).bind(**decode_call(t=5, d=16))
    own = with_own_arrays(call)
    own.arrays["key"][...] = 7
    assert not (call.arrays["key"] == 7).any() and own.extents == call.extents
    listed = ops.incre_flash_attention.bind(
        halves(2, 2, 1, 16), key=[halves(1, 2, n, 16) for n in (5, 9)],
        value=[halves(1, 2, n, 16) for n in (5, 9)], num_heads=2, num_key_value_heads=2, input_layout="BNSD",
    )  # fmt: skip
    lists = with_own_arrays(listed).lists
    lists["key"][0][...] = 7
    assert not (listed.lists["key"][0] == 7).any() and set(lists) == set(listed.lists)


# Selections -------------------------------------------------------------------------------------------------


def importance(**more: Any) -> tuple[dict[str, Any], Importance]:
    given = arguments([3, 2], [40, 24], count=2, **more)
    found = golden(ops.nsa_compress_attention.bind(**given)).results
    (one,) = (each.importance for each in found if each.importance is not None)
    return given, one


def test_rows_of_a_selection_have_the_entries_of_their_batch_row() -> None:
    """10 and 6 blocks; no tokens are forced without a mask."""
    given, one = importance()
    assert given["actual_sel_seq_kvlen"] == [10, 16]
    assert one.entries.reshape(-1).tolist() == [10, 10, 10, 6, 6] and one.forced is None
    assert one.values.shape == (*one.entries.shape, 10) and one.values.dtype == np.float64


def test_what_is_forced_is_told_by_position_in_the_batch_row() -> None:
    given, one = importance(forced=0.4)
    mask = given["topk_mask"] != 0
    assert one.forced is not None
    rows = one.forced.reshape(5, 10)
    for token, position in enumerate((0, 1, 2, 0, 1)):
        assert (rows[token] == mask[position]).all()
    assert mask.any() and not mask.all()


def test_values_are_uncertain_by_what_float32_makes_of_them() -> None:
    """Four times the largest error of the float32 reference in the row, a millionth of the value at least."""
    _, one = importance()
    relative = one.rounding / np.maximum(np.abs(one.values), 1e-300)
    assert (relative[one.values > 0] >= 2.0**-20 * (1 - 1e-9)).all()
    assert np.median(relative[one.values > 0]) < 2.0**-18
    assert (one.rounding > 0)[one.values > 0].all() and one.rounding.shape == one.values.shape
