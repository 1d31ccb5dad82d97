"""A feature counts where results would be others without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.binding.call import Call
from attndsl.verify.cases import effects, other_calls
from attndsl.verify.cases.cases import stream_of
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features
from tests.support.selection_cases import arguments

KEYS, HEAD = 40, 16


def call_of(*, batch: int = 2, heads: int = 2, keys: int = KEYS, **more: Any) -> Call:
    """Decoding attention over random keys."""
    rng = np.random.default_rng(0)
    query = rng.standard_normal((batch, heads, 1, HEAD)).astype(np.float16)
    key, value = (rng.standard_normal((batch, heads, keys, HEAD)).astype(np.float16) for _ in range(2))
    return ops.incre_flash_attention.bind(
        query, [key], [value], num_heads=heads, scale_value=0.25, input_layout="BNSD", **more
    )


def appending() -> Call:
    """Three tokens behind seven of a cache, which the call writes."""
    rng = np.random.default_rng(0)
    rows = {name: rng.standard_normal((3, 2 * HEAD)).astype(np.float16) for name in ("query", "key", "value")}
    caches = {
        name: rng.standard_normal((1, 1, 20, 2 * HEAD)).astype(np.float16) for name in ("cacheK", "cacheV")
    }
    more = {"calcType": "ENCODER", "kvcacheCfg": "K_CACHE_V_CACHE", "headNum": 2}
    return ops.self_attention.bind(**rows, **caches, tokenOffset=[10], seqLen=[3], layerId=[0], **more)


def matters(call: Call, feature: str) -> bool:
    assert feature in declared_features(call)
    return effective_features(call, [feature]) == {feature}


@pytest.mark.parametrize(
    ("lengths", "padding", "shows"),
    [([40, 40], -3, False), ([40, 40], 0, True), ([30, 30], -3, True), ([30, 30], 10, True)],
)
def test_left_padding(lengths: list[int], padding: int, shows: bool) -> None:
    """Below 0 it is none, and rows as long as the cache then start where they do without the argument; of 0,
    one more would leave them no room."""
    call = call_of(actual_seq_lengths=lengths, kv_padding_size=np.array([padding], np.int64))
    assert matters(call, "kv_padding_size") is shows


def test_a_mask_that_hides_nothing_but_would() -> None:
    hidden = np.zeros((2, KEYS), bool)
    assert matters(call_of(attn_mask=hidden), "attn_mask")


def test_lengths_of_whole_rows_matter_by_other_values() -> None:
    assert matters(call_of(actual_seq_lengths=[KEYS, KEYS]), "actual_seq_lengths")


def test_a_choice_that_changes_no_value() -> None:
    assert not matters(call_of(inner_precise=1), "inner_precise=1")


def test_a_bias_of_a_row_with_one_key_does_not_matter() -> None:
    """One key has all the weight whatever its score."""
    bias = np.ones((2, 2, 1, KEYS), np.float16)
    assert not matters(call_of(pse_shift=bias, actual_seq_lengths=[1, 1]), "pse_shift")
    assert not matters(call_of(pse_shift=bias), "pse_shift")
    bias[..., ::3] = -4.0
    assert matters(call_of(pse_shift=bias), "pse_shift")


def test_a_layout_matters_where_another_reads_something_else() -> None:
    assert matters(call_of(), "key as BNSD")
    single = call_of(batch=1, heads=1)
    assert matters(single, "key as BNSD"), "all layouts read the same: it must be read at all"


def test_a_dtype_always_matters() -> None:
    assert matters(call_of(), "dtype float16")


def sized(**extents: int) -> Any:
    return SimpleNamespace(extents=extents)


@pytest.mark.parametrize(
    ("extents", "blocks", "products"),
    [
        ({"B": 2, "N": 4, "K": 2, "Q": 1, "T": 100, "D": 16, "E": 8}, 4, 2 * 4 * 100 * 24),
        ({"B": 1, "N": 4, "K": 4, "Q": 129, "T": 10, "D": 16, "E": 16}, 8, 4 * 129 * 10 * 32),
        ({"B": 1, "N": 8, "K": 1, "Q": 17, "T": 10, "U": 30, "D": 1, "E": 1}, 2, 8 * 17 * 30 * 2),
        ({"B": 1, "N": 256, "K": 1, "Q": 3, "T": 1, "D": 1, "E": 1}, 3, 256 * 3 * 2),
    ],
)
def test_what_a_run_takes_is_known_before_it(extents: dict[str, int], blocks: int, products: int) -> None:
    """Blocks have 128 rows of all heads of a group; each counts as a million products besides."""
    assert effects._blocks(sized(**extents)) == (blocks, products + blocks * 2**20)


def test_nothing_matters_where_nothing_is_asked() -> None:
    assert effective_features(call_of(), []) == frozenset()


def test_a_quick_look_takes_some_blocks_of_a_large_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none where these tell nothing, as selections do not; a small call is looked at as a whole."""
    looked: list[int | None] = []

    def mattering(call: Call, features: frozenset[str], tasks: int | None = None) -> frozenset[str]:
        looked.append(tasks)
        return frozenset()

    monkeypatch.setattr(effects, "_mattering", mattering)
    small, large, whole = (40, 2**26), (40, 2**28), (4, 2**27)
    for work, can, quick, wanted in (
        (small, True, False, [8, None]),
        (small, True, True, [None]),
        (small, False, False, [None]),
        (large, True, False, [8, None]),
        (large, True, True, [8]),
        (large, False, True, []),
        (large, False, False, [None]),
        (whole, True, True, [None]),
        ((4, 2**29), True, True, [1]),
        ((10, 5 * 2**27), True, True, [2]),
    ):
        looked.clear()
        monkeypatch.setattr(effects, "_blocks", lambda call, work=work: work)
        monkeypatch.setattr(effects, "_can_sample", lambda call, can=can: can)
        assert effective_features(call_of(), ["mask", "dtype float16"], quick=quick) == {"dtype float16"}
        assert looked == wanted, (work, can, quick)


def test_selections_are_not_sampled() -> None:
    """They may come from several blocks."""
    assert effects._can_sample(call_of())
    assert not effects._can_sample(ops.nsa_compress_attention.bind(**arguments([3], [20], count=2)))


@pytest.mark.parametrize(
    ("keys", "off", "differs"),
    [(100, 2.0**-8.5, False), (100, 2.0**-7.5, True), (2048, 2.0**-7.5, False), (2048, 2.0**-6.5, True)],
)
def test_results_differ_beyond_the_tolerance_of_the_comparison(keys: int, off: float, differs: bool) -> None:
    call = call_of(keys=keys)
    own = np.full((3, 2, 16), 0.5, np.float16)
    assert effects._differ(call, [own], [own + np.float16(off)]) is differs
    assert effects._differ(call, [own + np.float16(off)], [own]) is differs
    assert not effects._differ(call, [own], [own.copy()]) and effects._differ(call, [own], [])


def test_another_shape_or_element_anywhere_is_another_result() -> None:
    call = call_of()
    own = np.zeros((3, 2, 16), np.float16)
    other = own.copy()
    other[-1, -1, -1] = 1
    assert effects._differ(call, [own], [other]) and effects._differ(call, [own], [own[:2]])
    assert not effects._differ(call, [own[:0]], [own]), "of no elements nothing is compared"
    cache = np.zeros(5, np.float16)
    assert effects._differ(call, [own, cache], [own, cache + np.float16(1)]), "updated arguments count, too"
    assert effects._differ(call, [own, cache.astype(np.int8)], [own, cache.astype(np.int8) + np.int8(1)])
    assert not effects._differ(call, [own, cache], [own, cache])


def test_runs_of_other_calls_leave_the_arrays_of_a_call_as_they_are() -> None:
    call = appending()
    before = {name: array.copy() for name, array in call.arrays.items()}
    found = effects._results(call, call, None)
    names = sorted(call.graph.updated())
    assert names == ["cacheK", "cacheV"] and len(found.arrays) == 3 and not found.left_out
    assert all((call.arrays[name] == before[name]).all() for name in before)
    for name, updated in zip(names, found.arrays[1:], strict=True):
        assert (updated != before[name]).any()


def test_another_call_that_updates_arguments_leaves_them_to_the_call() -> None:
    """Without tokens to append, the call updates none: its caches stay as they are."""
    call, plain = appending(), SimpleNamespace(graph=SimpleNamespace(updated=tuple))
    before = {name: array.copy() for name, array in call.arrays.items()}
    assert len(effects._results(call, plain, None).arrays) == 1  # type: ignore[arg-type]
    assert all((call.arrays[name] == before[name]).all() for name in before)


def test_what_is_asked_for_early_matters() -> None:
    """Left padding is in many of the first cases; in some of them it has an effect."""
    cases = stream_of(ops.incre_flash_attention).take(26)
    calls = [case.call() for case in cases if "kv_padding_size" in case.features]
    found = [effective_features(call, ["kv_padding_size"]) for call in calls]
    assert len(found) > 4 and any(found)


@pytest.mark.parametrize("name", ["relay_attention", "incre_flash_attention"])
def test_blocks_that_are_computed_first_tell_what_all_tell(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With one block, most is decided by the second run, of all; with eight by the first."""
    cases = sorted(stream_of(getattr(ops, name)).take(4), key=lambda case: case.result_elements())[1:3]
    calls = [case.call() for case in cases]
    asked = [declared_features(call) for call in calls]
    found = [effective_features(call, each) for call, each in zip(calls, asked, strict=True)]
    monkeypatch.setattr(effects, "_can_sample", lambda call: False)
    assert found == [effective_features(call, each) for call, each in zip(calls, asked, strict=True)]


def test_a_parameter_that_the_results_are_computed_from_is_tried() -> None:
    """The scale is read by an expression, the layout by none: each is seen as what it is."""
    call = call_of()
    assert {"scale_value"} <= other_calls._symbols_read(call)
    assert "inner_precise" not in other_calls._symbols_read(call)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_floats_are_others_beyond_their_bound_and_integers_at_once(dtype: Any) -> None:
    own = np.array([1.0, 2.0, np.nan]).astype(dtype)
    assert not effects._is_another(own, (own.astype(np.float64) + 0.25).astype(dtype), 0.25)
    assert effects._is_another(own, (own.astype(np.float64) + 0.5).astype(dtype), 0.2)
    whole = np.array([1, 2], np.int32)
    assert effects._is_another(whole, whole + 1, 0.0) and not effects._is_another(whole, whole.copy(), 0.0)
