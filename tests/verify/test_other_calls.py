"""Calls without a feature, or with another value in its place; and why some features have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.expr import Binary, Const, Select, Symbol
from attndsl.graph.nodes import Scalar
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.cases.cases import spaces
from attndsl.verify.cases.deciding_values import branch_conditions, conditions_on, deciding_values
from attndsl.verify.cases.effects import _differ, effective_features
from attndsl.verify.cases.features import declared_features
from attndsl.verify.cases.immaterial import ONLY_VALUE, UNREAD, why_immaterial
from attndsl.verify.cases.other_calls import may_matter, other_calls

HEADS, SIZE = 2, 16
RNG = np.random.default_rng(3)


def some(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float16)


def cached(*, keys: int = 40, tokens: int = 3, **more: Any) -> Call:
    """Prompt tokens behind a cache."""
    call = {
        "query": some(tokens, HEADS * SIZE),
        "cacheK": some(1, 1, keys, HEADS * SIZE),
        "cacheV": some(1, 1, keys, HEADS * SIZE),
        "tokenOffset": [keys],
        "seqLen": [tokens],
        "layerId": [0],
        "headNum": HEADS,
        "calcType": "ENCODER",
        "kvcacheCfg": "K_BYPASS_V_BYPASS",
    }
    appended = {"key": some(tokens, HEADS * SIZE), "value": some(tokens, HEADS * SIZE)}
    if more.get("kvcacheCfg") == "K_CACHE_V_CACHE":
        call |= appended
    return ops.self_attention.bind(**(call | more))


def prompt(rows: int = 9, **more: Any) -> Call:
    """Prompts over their own keys."""
    tokens = {name: some(rows, HEADS, SIZE) for name in ("query", "key", "value")}
    call = {**tokens, "seqLen": [rows], "headNum": HEADS, "calcType": "PA_ENCODER"}
    return ops.self_attention.bind(**(call | more))


def causal(size: int = 128) -> Array:
    return np.where(np.triu(np.ones((size, size)), 1) > 0, -10000.0, 0.0).astype(np.float16)


def matters(call: Call, feature: str) -> bool:
    assert feature in declared_features(call)
    return effective_features(call, [feature]) == {feature}


@pytest.mark.parametrize(("rows", "shows"), [(9, True), (1, False)])
def test_the_layout_of_a_compressed_mask_stands_for_what_it_hides(rows: int, shows: bool) -> None:
    """Nobody reads its elements; a token that sees the only key sees it without a mask, too."""
    call = prompt(rows, mask=causal(), maskType="NORM_COMPRESS")
    assert matters(call, "mask as 128") is shows


@pytest.mark.parametrize(("window", "shows"), [(16, True), (40, False)])
def test_a_ring_cache_matters_once_it_has_wrapped(window: int, shows: bool) -> None:
    call = cached(
        tokens=1,
        calcType="DECODER",
        maskType="SLIDING_WINDOW_NORM",
        windowSize=window,
        cacheType="SWA",
    )
    assert matters(call, "cacheType=SWA") is shows


@pytest.mark.parametrize("config", ["K_CACHE_V_CACHE", "K_BYPASS_V_BYPASS"])
def test_whether_tokens_are_appended_matters(config: str) -> None:
    """What the other value takes besides are some numbers; what it does not take is left out."""
    assert matters(cached(kvcacheCfg=config), f"kvcacheCfg={config}")


def test_no_token_of_a_skipped_row_is_appended() -> None:
    call = cached(
        kvcacheCfg="K_CACHE_V_CACHE",
        batchRunStatusEnable=True,
        batchStatus=[0],
        cacheK=some(1, 40, HEADS * SIZE),
        cacheV=some(1, 40, HEADS * SIZE),
    )
    assert matters(call, "batchRunStatusEnable=True")
    assert not matters(call, "kvcacheCfg=K_CACHE_V_CACHE")


@pytest.mark.parametrize(("factor", "shows"), [(None, True), (1.0, False), (2.0, True)])
def test_a_factor_of_each_query_matters_with_and_without(factor: float | None, shows: bool) -> None:
    """Without it some other numbers are taken; factors of 1 change nothing."""
    scale = "TOR" if factor is None else "LOGN"
    factors = {} if factor is None else {"logN": np.full(9, factor, np.float32)}
    call = prompt(scaleType=scale, kernelType="HIGH_PRECISION", **factors)
    assert matters(call, f"scaleType={scale}") is shows


def test_an_input_layout_reads_the_same_bytes_otherwise() -> None:
    def decoding(batch: int, heads: int, layout: str) -> Call:
        query, key, value = (
            some(batch, heads, 1, SIZE),
            some(batch, heads, 7, SIZE),
            some(batch, heads, 7, SIZE),
        )
        return ops.incre_flash_attention.bind(
            query, [key], [value], num_heads=heads, scale_value=0.25, input_layout=layout
        )

    assert matters(decoding(2, 2, "BNSD"), "input_layout=BNSD")
    assert not matters(decoding(1, 1, "BNSD"), "input_layout=BNSD")


def test_a_mask_of_ones_means_something_else_in_each_precision() -> None:
    """It hides keys where scores are float32, and is added where they are not."""
    ones = np.triu(np.ones((3, 40)), 1).astype(np.float16)
    call = cached(attentionMask=ones, maskType="NORM", kernelType="HIGH_PRECISION")
    assert matters(call, "kernelType=HIGH_PRECISION")
    assert not matters(cached(kernelType="HIGH_PRECISION"), "kernelType=HIGH_PRECISION")


def test_a_choice_far_down_the_list_is_tried() -> None:
    """Only BF16, the last of the dtypes, is another result than FLOAT16."""
    rows = np.random.default_rng(0).integers(-8, 9, (9, HEADS, 32)).astype(np.int8)
    call = prompt(
        query=rows,
        key=rows,
        value=rows,
        quantType="QKV_ONLINE",
        outDataType="FLOAT16",
        qkDescale=np.full(HEADS, 0.01, np.float32),
        vpvDescale=np.full(HEADS, 0.01, np.float32),
        qkOffset=np.zeros(1, np.int32),
        vpvOffset=np.zeros(1, np.int32),
    )
    assert matters(call, "outDataType=FLOAT16")
    assert not may_matter(call, "qkOffset")
    assert may_matter(call, "qkDescale")


def test_what_nothing_depends_on_has_no_other_calls() -> None:
    call = prompt(isTriuMask=1, mask=causal(), maskType="NORM_COMPRESS")
    assert not list(other_calls(call, "isTriuMask=1")) and not may_matter(call, "isTriuMask=1")
    assert may_matter(call, "maskType=NORM_COMPRESS")


def test_other_calls_leave_the_call_alone() -> None:
    call = cached(kvcacheCfg="K_CACHE_V_CACHE")
    before = {name: array.copy() for name, array in call.arrays.items()}
    for feature in declared_features(call):
        effective_features(call, [feature])
    assert before.keys() == call.arrays.keys()
    assert all(np.array_equal(before[name], call.arrays[name]) for name in before)


@pytest.mark.parametrize(
    ("operator", "mode", "feature", "why"),
    [
        ("relay_attention", 0, "maskType=UNDEFINED", ONLY_VALUE),
        ("self_attention", 2, "kernelType=HIGH_PRECISION", ONLY_VALUE),
        ("self_attention", 1, "qkOffset", UNREAD),
        ("self_attention", 0, "kernelType=HIGH_PRECISION", None),
        ("self_attention", 0, "cacheType=SWA", None),
        ("incre_flash_attention", 0, "inner_precise=1", UNREAD),
        ("incre_flash_attention", 0, "input_layout=BNSD", None),
        ("incre_flash_attention", 0, "block_table", None),
    ],
)
def test_why_a_feature_can_matter_in_no_case(operator: str, mode: int, feature: str, why: str | None) -> None:
    assert why_immaterial(spaces(getattr(ops, operator))[mode], feature) == why


def test_values_beside_a_choice_make_it_decide() -> None:
    """Masks of ones are hidden or added by precision: of masks of kind NORM, of float16, alike for heads."""
    space = spaces(ops.self_attention)[1]
    rng = np.random.default_rng(0)
    condition = max(conditions_on(space.operator.roots, "kernelType"), key=lambda each: len(each.symbols()))
    drawn = [deciding_values(space, {"kernelType": 0}, rng) for _ in range(20)]
    assert all(drawn)
    for each in drawn:
        assert each["dtype(query)"] == "float16" and each["calcType"] == 3
        assert each["layout(mask)"] in ("square", "per batch", "128", "512")
        assert condition.evaluate({**each, "kernelType": 1})
        assert not condition.evaluate({**each, "kernelType": 0})


def test_choices_that_no_condition_asks_for_need_no_values_beside_them() -> None:
    space, rng = spaces(ops.self_attention)[1], np.random.default_rng(0)
    assert not conditions_on(space.operator.roots, "isTriuMask")
    assert deciding_values(space, {"isTriuMask": 1}, rng) == {}
    assert deciding_values(space, {"given(mask)": True, "layout(mask)": "square"}, rng) == {}


def decoding(keys: int) -> Call:
    rows = [some(1, 1, keys, SIZE) for _ in range(2)]
    return ops.incre_flash_attention.bind(
        some(1, 1, 1, SIZE), rows[:1], rows[1:], num_heads=1, scale_value=0.25, input_layout="BNSD"
    )


@pytest.mark.parametrize(("keys", "differ"), [(40, True), (2047, True), (2048, False)])
def test_the_tolerance_of_many_keys_is_that_of_the_comparison(keys: int, differ: bool) -> None:
    own, found = (np.array([each], np.float16) for each in (1.0, 1.0 + 1.5 * 2**-8))
    assert _differ(decoding(keys), [own], [found]) is differ
    assert not _differ(decoding(keys), [own], [own])


def test_another_number_of_results_is_another() -> None:
    own = np.ones(3, np.float16)
    assert _differ(decoding(4), [own], [own, own])
    assert _differ(decoding(4), [own], [own[:2]])


def test_keys_of_groups_count_where_rows_share_them() -> None:
    entries = [[some(rows, 1, SIZE)] for rows in (3, 3, 2048, 2048)]
    call = ops.relay_attention.bind(
        some(1, SIZE),
        *entries,
        attentionMask=np.zeros(1, np.float16),
        seqLen=[1],
        kvSeqLen=[5],
        kvShareMap=[0],
        kvShareLen=[3],
        headNum=1,
    )
    own, found = (np.array([each], np.float16) for each in (1.0, 1.0 + 1.5 * 2**-8))
    assert not _differ(call, [own], [found])


def test_a_tensor_is_left_out_and_has_other_values() -> None:
    mask = causal(40)
    call = cached(maskType=1, attentionMask=mask)
    without, other = other_calls(call, "attentionMask")
    assert "attentionMask" not in without.present and "attentionMask" in other.present
    assert not np.array_equal(other.arrays["attentionMask"], call.arrays["attentionMask"])


def test_a_list_has_other_values_in_its_place() -> None:
    """One of two tensors, a batch row each."""
    rows = [np.full((1, 2, 5, 16), 1.0, np.float16), np.full((1, 2, 3, 16), 2.0, np.float16)]
    call = ops.incre_flash_attention.bind(
        np.ones((2, 2, 1, 16), np.float16), key=rows, value=rows, num_heads=2, num_key_value_heads=2,
        input_layout="BNSD", actual_seq_lengths=[5, 3],
    )  # fmt: skip
    (other,) = other_calls(call, "key as a list")
    assert [float(each.reshape(-1)[0]) for each in other.lists["key"]] == [1.75, 3.25]
    assert other.lists["value"] == call.lists["value"]


def test_conditions_that_decide_are_those_of_choices_and_of_what_a_mask_joins() -> None:
    """Once each; none that asks for keys, nor a comparison that is a number."""
    one, keys = Symbol("kind") == 1, Symbol("j") < 3
    for value, wanted in (
        (Select(one, Const(2), Const(3)), [one]),
        (one & keys, [one]),
        (Select(one, Const(2), Const(3)) + Select(one, Const(4), Const(5)), [one]),
        (Binary("*", one, Const(2)), []),
        (keys, []),
    ):
        found = branch_conditions([Scalar(value=value)])
        assert [each.structure() for each in found] == [each.structure() for each in wanted], str(value)
