"""Generated cases: legal, reproducible, and reaching what the declaration allows."""

import collections
from pathlib import Path

import numpy as np
import pytest

import attndsl.verify
from attndsl import ops
from attndsl.spec.loader import load, shipped_names
from attndsl.verify.cases import Stream, allowance
from attndsl.verify.space import MAX_ROW_ELEMENTS, CaseSpace

USER_SPEC = Path(__file__).parent.parent / "spec" / "my_window.py"
CASES = 90


@pytest.fixture(scope="module")
def stream():
    stream = Stream(ops.incre_flash_attention, seed=0)
    stream.take(CASES)
    return stream


@pytest.fixture(scope="module")
def cases(stream):
    return stream.take(CASES)


@pytest.fixture(scope="module")
def calls(cases):
    return [case.call() for case in cases]


def same(first, second):
    if isinstance(first, np.ndarray):
        return first.tobytes() == second.tobytes() and first.dtype == second.dtype
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def test_the_same_seed_gives_the_same_cases_however_many_are_asked_for(cases):
    again = Stream(ops.incre_flash_attention, seed=0).take(12)
    for case, other in zip(cases, again, strict=False):
        assert case.assignment == other.assignment
        first, second = case.arguments(), other.arguments()
        assert first.keys() == second.keys()
        assert all(same(first[name], second[name]) for name in first)


def test_another_seed_gives_others(cases):
    other = Stream(ops.incre_flash_attention, seed=1).take(12)
    assert sum(a.assignment == b.assignment for a, b in zip(cases, other, strict=False)) == 0


def test_every_case_is_a_legal_call_within_the_target(calls):
    for call in calls:  # bound by the fixture without an error
        call.check_target()
        assert max(array.size for array in call.arrays.values()) <= 2 * MAX_ROW_ELEMENTS


def test_disabled_arguments_are_found_out_from_the_constraints(stream):
    assert stream.excluded == ("dequant_scale1", "quant_scale1", "dequant_scale2")


def test_both_dtypes_and_layouts_and_every_feature_occur(cases, calls):
    assert {call.dtype for call in calls} == {"float16", "bfloat16"}
    assert {call.layouts["query"] for call in calls} == {"BSH", "BNSD"}
    seen = {name for case in cases for name in case.features}
    spec = ops.incre_flash_attention
    disabled = {"dequant_scale1", "quant_scale1", "dequant_scale2"}
    assert seen == {each.name for each in spec.tensors if each.optional} - disabled


def test_pairs_of_lowered_features_and_dtypes_are_covered(cases):
    items = (
        "given(attn_mask)",
        "given(actual_seq_lengths)",
        "given(pse_shift)",
        "dtype(query)",
        "input_layout",
    )
    for position, first in enumerate(items):
        for second in items[position + 1 :]:
            pairs = {(case.assignment[first], case.assignment[second]) for case in cases}
            assert len(pairs) == 4, (first, second)


def test_sizes_reach_boundaries(calls):
    extents = [call.extents for call in calls]
    assert {1, 16, 40, 64, 80, 100, 128, 256, 512} == {each["D"] for each in extents}
    groups = {each["N"] // each["K"] for each in extents}
    assert 1 in groups and max(groups) == 64 and len(groups) >= 8
    keys = {each["T"] for each in extents}
    tile = CaseSpace(ops.incre_flash_attention).edges[0]
    assert keys & {tile - 1, tile, tile + 1} and max(keys) >= 4095
    assert 1 in {each["B"] for each in extents} and max(each["B"] for each in extents) > 24


def test_lengths_reach_zero_full_and_differ_by_row(calls):
    lengths = [
        (call.arrays["actual_seq_lengths"], call.extents["T"])
        for call in calls
        if "actual_seq_lengths" in call.arrays
    ]
    assert any((each == 0).any() for each, _ in lengths)
    assert any((each == full).any() for each, full in lengths if full)
    assert any(len(set(each.tolist())) > 2 for each, _ in lengths)


def test_rows_that_must_not_be_read_are_spoilt(calls):
    kinds = collections.Counter()
    for call in calls:
        if (
            "actual_seq_lengths" not in call.arrays
            or "block_table" in call.arrays
            or call.arrays["key"].dtype == np.int8
        ):
            continue
        if "kv_padding_size" in call.arrays:
            continue
        values = call.views["value"].astype(float)
        for rows, length in zip(values, call.arrays["actual_seq_lengths"], strict=True):
            for head in rows:
                if (tail := head[length:]).size:
                    inside = np.abs(head[:length]).max(initial=0.05)
                    kinds["nan" if np.isnan(tail).all() else "large"] += 1
                    assert np.isnan(tail).all() or (np.abs(tail) >= 3.9 * inside).all()
    assert len(kinds) == 2


def test_kernels_grow_slower_than_cases(cases):
    def kernels(count):
        lowered = [case for case in cases[:count] if case.number % 6 != 5]
        return {
            (c.assignment["dtype(query)"], c.assignment["D"], frozenset(c.features) - {"actual_seq_lengths"})
            for c in lowered
        }

    for count in (30, 60, CASES):
        assert len(kernels(count)) <= allowance(count)


def test_a_users_own_spec_has_cases_too():
    operator = load(USER_SPEC)
    calls = [case.call() for case in Stream(operator, seed=0).take(12)]
    assert {call.dtype for call in calls} == {"float16", "float32"}
    assert {"bias" in call.arrays for call in calls} == {True, False}


def test_no_operator_and_no_argument_is_named_in_the_package():
    folder = Path(attndsl.verify.__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("*.py"))
    names = {*shipped_names()} | {spec.name for spec in ops.incre_flash_attention.parameters}
    generic = {"query", "key", "value"}
    assert [name for name in sorted(names - generic) if name in text] == []
