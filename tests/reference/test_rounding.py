"""Results are rounded once, half to even."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.reference import scores
from attndsl.reference.state import as_real, rounded

BF16 = np.dtype(ml_dtypes.bfloat16)


def test_just_above_a_tie_rounds_up_and_a_tie_to_even():
    ties = np.array([1 + 2**-8 + 2**-40, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8 - 2**-50, 1 + 2**-8 - 2**-40])
    expected = [1 + 2**-7, 1, 1 + 2**-6, -1 - 2**-7, 1]
    assert rounded(ties, BF16).astype(float).tolist() == expected


def test_special_values():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300])
    found = rounded(special.copy(), BF16).astype(float)
    assert np.isnan(found[0]) and found[1:5].tolist() == [np.inf, -np.inf, 0, 0] and np.signbit(found[4])
    assert found[5:].tolist() == [np.inf, -np.inf]


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-3e38, max_value=3e38))
def test_bfloat16_is_the_nearest_one(x):
    found = float(rounded(np.array([x]), BF16)[0])
    bits = np.array([found], BF16).view(np.uint16)
    for step in (-1, 1):
        with np.errstate(all="ignore"):
            other = float((bits + np.uint16(step % 2**16)).view(BF16)[0])
        if np.isfinite(other) and np.isfinite(found):
            assert abs(found - x) <= abs(other - x)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_widening_is_exact_for_every_value(dtype):
    everything = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(dtype)
    wide = as_real(everything, np.dtype(np.float32))
    with np.errstate(all="ignore"):
        assert np.array_equal(wide, everything.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8"])
def test_a_run_computes_in_its_own_dtype(real, dtype):
    """A float64 run that went on in float32 would be no oracle of one in float32."""
    values = np.array([[1.0, -3.0, 0.5], [96.0, 0.0, -7.0]]).astype(
        np.dtype(dtype) if dtype != "bfloat16" else BF16
    )
    for array in (values, values.T):
        found = as_real(array, np.dtype(real))
        assert found.dtype == real and found.flags.c_contiguous
        assert found.tolist() == array.astype(float).tolist()
    state = SimpleNamespace(real=np.dtype(real))
    part = scores._in_run_dtype(values, state)
    assert (
        part.dtype == (np.int8 if dtype == "int8" else real)
        and part.tolist() == values.astype(float).tolist()
    )
