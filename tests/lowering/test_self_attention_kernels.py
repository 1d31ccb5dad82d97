"""self_attention's kernels: every calcType on the tile program and on the emulator, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from attndsl.api import ops
from tests.support.self_attention_calls import cached, causal, paged, prompts
from tests.support.self_attention_masks import filled, hidden_by_window

sa = ops.self_attention
CACHES = ("cacheK", "cacheV")


def agrees(call: dict[str, Any], backend: str) -> None:
    """Results within rounding of the reference's; caches the same bit for bit."""
    mine, wanted = ({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in call.items()} for _ in "12")
    expected = np.asarray(sa(**wanted), np.float32)
    out = np.asarray(sa(**mine, backend=backend), np.float32)
    step = 2.5e-3 if call["query"].dtype == np.float16 else 1.2e-2
    np.testing.assert_allclose(out, expected, rtol=step, atol=step * max(1, np.abs(expected).max(initial=0)))
    for name in CACHES:
        if name in call:
            np.testing.assert_array_equal(mine[name], wanted[name])


def some(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@some(5)
@given(cached())
def test_calls_with_a_cache_on_the_tile_program(call: dict[str, Any]) -> None:
    agrees(call, "tile")


@some(5)
@given(prompts())
def test_prompts_on_the_tile_program(call: dict[str, Any]) -> None:
    agrees(call, "tile")


@some(3)
@given(paged())
def test_prefixes_on_the_tile_program(call: dict[str, Any]) -> None:
    agrees(call, "tile")


def ring_call(mode: int, queries: list[int], keys: list[int], window: int) -> dict[str, Any]:
    """Calls of two heads with a cache of ``window`` rows a sequence, which all of a call's rows enter."""
    rng = np.random.default_rng(len(queries))

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    call: dict[str, Any] = {"headNum": 2, "kvHeadNum": 2, "calcType": mode, "maskType": 7, "cacheType": 1}
    call |= {"windowSize": window, "query": normal(sum(queries), 32)}
    call |= {name: normal(sum(queries), 32) for name in ("key", "value")}
    call |= {name: normal(2, len(queries), window, 32) for name in CACHES}
    call |= {"layerId": np.array([1], np.int32), "qkScale": 0.25}
    if mode != 2:
        hidden = hidden_by_window(max(keys) + 1, window)
        call["attentionMask"] = filled(hidden, np.dtype(np.float16), False)
    return call | {"tokenOffset": np.array(keys, np.int32), "seqLen": np.array(queries, np.uint32)}


@pytest.mark.parametrize(
    ("mode", "queries", "keys"),
    [(2, [1, 1, 1], [5, 16, 41]), (1, [5, 16, 3], [5, 16, 3])],
    ids=["decode", "prompt"],
)
def test_rows_enter_a_ring(mode: int, queries: list[int], keys: list[int]) -> None:
    """In front of the ring's end, at it, and beyond it, where the oldest rows are written over."""
    call = ring_call(mode, queries, keys, 16)
    before = {name: call[name].copy() for name in CACHES}
    agrees(call, "tile")
    sa(**call)
    for name in CACHES:
        changed = (call[name] != before[name]).any(axis=-1)
        assert not changed[0].any()  # another layer
        assert changed[1].sum(axis=-1).tolist() == queries
        last = [(length - 1) % 16 for length in keys]
        assert all(changed[1, row, place] for row, place in enumerate(last))


@pytest.mark.long
@some(60)
@given(cached())
def test_calls_with_a_cache_on_the_emulator(call: dict[str, Any]) -> None:
    agrees(call, "emulator")


@pytest.mark.long
@some(60)
@given(prompts())
def test_prompts_on_the_emulator(call: dict[str, Any]) -> None:
    agrees(call, "emulator")


@pytest.mark.long
@some(30)
@given(paged())
def test_prefixes_on_the_emulator(call: dict[str, Any]) -> None:
    agrees(call, "emulator")


def test_keys_that_no_query_of_a_task_sees_are_not_read() -> None:
    """NaN keys behind the tasks' last queries stay unread where causal tiles are skipped."""
    from attndsl.compiler.prepare_launch import prepare
    from attndsl.tile_interpreter.run import interpret

    call = causal(1100)
    launch = prepare(sa.bind(**call))
    tile = launch.compiled.schedule.tile_k
    first = call | {"key": call["key"].copy(), "value": call["value"].copy()}
    first["key"][tile:], first["value"][tile:] = np.nan, np.nan
    launch = prepare(sa.bind(**first))
    interpret(launch)
    rows = launch.outputs()[0].astype(np.float32)
    positions = int(launch.tiling["queriesPerTask"])
    seen = tile // positions * positions
    expected = np.asarray(sa(**call), np.float32)
    np.testing.assert_allclose(rows[:seen], expected[:seen], rtol=3e-3, atol=3e-3)
    assert np.isnan(rows[seen + positions :]).all()


def test_calls_that_compute_the_same_share_a_kernel() -> None:
    from attndsl.compiler.prepare_launch import specialization_of

    call = causal(40)
    merged = call | {n: call[n].reshape(40, -1) for n in ("query", "key", "value")}
    window = call | {"maskType": 8, "windowSize": 9, "isTriuMask": 0}
    kinds = [specialization_of(sa.bind(**each)) for each in (call, merged, call | {"qkScale": 0.5})]
    assert len(set(kinds)) == 1
    d = np.subtract.outer(np.arange(512), np.arange(512))
    window["mask"] = np.where((d < 0) | (d >= 9), -10000.0, 0.0).astype(np.float16)
    assert specialization_of(sa.bind(**window)) not in kinds


def long_calls() -> dict[str, dict[str, Any]]:
    """Several tiles a task, rings that turn, keys split over cores."""
    rng = np.random.default_rng(5)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float16)

    window = causal(2100, dim=32) | {"maskType": 8, "windowSize": 600, "isTriuMask": 0}
    d = np.subtract.outer(np.arange(512), np.arange(512))
    hidden = (d < 0) | (d >= 2 * 128 + 600 % 128)
    window["mask"] = np.where(hidden, -10000.0, 0.0).astype(np.float16)
    decode = {"headNum": 4, "kvHeadNum": 2, "qScale": 0.5, "qkScale": 0.2, "layerId": np.array([1], np.int32)}
    decode |= {"query": normal(2, 4 * 32), "key": normal(2, 64), "value": normal(2, 64), "calcType": 2}
    decode |= {"tokenOffset": np.array([3000, 1500], np.int32), "seqLen": np.array([1, 1], np.int32)}
    ring = decode | {"maskType": 7, "windowSize": 1100, "cacheType": 1}
    prompts_in_ring = ring | {
        "calcType": 1,
        "maskType": 8,
        "windowSize": 600,
        "attentionMask": window["mask"],
    }
    prompts_in_ring |= {"seqLen": np.array([1300, 40], np.int32), "query": normal(1340, 128)}
    prompts_in_ring |= {"key": normal(1340, 64), "value": normal(1340, 64)}
    prompts_in_ring |= {"tokenOffset": np.array([1300, 900], np.int32)}
    return {
        "causal": causal(1700),
        "window": window,
        "split decode": decode | {"cacheK": normal(2, 2, 3002, 64), "cacheV": normal(2, 2, 3002, 64)},
        "decode from a ring": ring | {"cacheK": normal(2, 2, 1100, 64), "cacheV": normal(2, 2, 1100, 64)},
        "prompts into a ring": prompts_in_ring
        | {"cacheK": normal(2, 2, 600, 64), "cacheV": normal(2, 2, 600, 64)},
    }


@pytest.mark.long
@pytest.mark.parametrize("name", long_calls())
def test_long_calls_on_the_emulator(name: str) -> None:
    agrees(long_calls()[name], "emulator")
