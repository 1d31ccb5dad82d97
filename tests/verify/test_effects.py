"""A feature counts where results would be others without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.binding.call import Call
from attndsl.verify.cases import effects, other_calls
from attndsl.verify.cases.cases import stream_of
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features

KEYS, HEAD = 40, 16


def call_of(*, batch: int = 2, heads: int = 2, **more: Any) -> Call:
    """Decoding attention over random keys."""
    rng = np.random.default_rng(0)
    query = rng.standard_normal((batch, heads, 1, HEAD)).astype(np.float16)
    key, value = (rng.standard_normal((batch, heads, KEYS, HEAD)).astype(np.float16) for _ in range(2))
    return ops.incre_flash_attention.bind(
        query, [key], [value], num_heads=heads, scale_value=0.25, input_layout="BNSD", **more
    )


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
