"""Keys and values as a list of one tensor a batch row, each with rows of its own."""

import numpy as np
import pytest
from hypothesis import given, settings

from attndsl.api import ops
from attndsl.base.errors import UserError
from tests.support.naive_incre import naive
from tests.support.tensor_lists import BAD, BAD_SPLIT, F16, LEGAL, decoder, listed, split_caches

ifa, sa = ops.incre_flash_attention, ops.self_attention


@settings(max_examples=60, deadline=None)
@given(listed())
def test_each_tensor_of_a_list_has_its_own_length(case):
    call, single = case
    out = ifa(**call)
    for b, each in enumerate(single):
        assert np.array_equal(out[b : b + 1], ifa(**each))
        expected = naive(**(each | {"key": each["key"][0], "value": each["value"][0]}))
        error = np.abs(out[b : b + 1].astype(float) - expected) / np.maximum(1, np.abs(expected))
        assert error.max() <= (2.0**-8 if out.dtype == F16 else 2.0**-7)


@pytest.mark.parametrize("name", LEGAL)
def test_legal_lists_pass(name):
    assert (ifa(**LEGAL[name])[0] == 1).all()


@pytest.mark.parametrize("name", BAD)
def test_bad_lists_are_told_what_is_wrong(name):
    call, builtin, text = BAD[name]
    with pytest.raises(UserError) as caught:
        ifa(**call)
    assert isinstance(caught.value, builtin) and text in str(caught.value), str(caught.value)


def test_more_tensors_than_a_kernel_takes_are_refused_by_the_target_alone():
    many = [np.ones((1, 2, 16), F16)] * 257
    call = {"query": np.ones((257, 1, 16), F16), "key": many, "value": many}
    assert ifa(**call).shape == (257, 1, 16)
    with pytest.raises(ValueError, match="at most 256 tensors in a list"):
        ifa.bind(**call).check_target()
    one = np.ones((257, 2, 16), F16)
    ifa.bind(call["query"], [one], [one]).check_target()


# Caches of self_attention ----------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(split_caches())
def test_split_caches_equal_whole_ones_in_every_layout(case):
    call, whole, split = case
    assert np.array_equal(sa(**call, **split), sa(**call, **whole))


@pytest.mark.parametrize(("changes", "builtin", "text"), BAD_SPLIT)
def test_bad_split_caches_are_told_what_is_wrong(changes, builtin, text):
    sa(**decoder())
    with pytest.raises(UserError) as caught:
        sa(**decoder(**changes))
    assert isinstance(caught.value, builtin) and text in str(caught.value), str(caught.value)


def test_the_printed_contract_tells_where_lists_are_taken():
    told = "or a list of one tensor a batch row, each with rows of its own"
    assert ifa.contract_text().count(told) == 2 and sa.contract_text().count(told) == 2
    assert "actual_seq_lengths[b] <= rows(key)[b] for all b < B" in ifa.contract_text()
