"""Whatever a caller passes, only our own errors come out: no KeyError, no broadcasting error."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec.errors import RangeError
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_call, decode_spec

ifa = ops.incre_flash_attention
DTYPES = [
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.int8,
    np.int32,
    np.int64,
    bool,
    np.uint8,
    "U3",
    object,
    ">f2",
]

shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 10, 16, 32, 64]), max_size=5)
arrays = st.builds(lambda shape, dtype: np.zeros(shape, dtype), shapes, st.sampled_from(DTYPES))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.just(np.float16(2)),
)
anything = st.one_of(
    arrays,
    scalars,
    st.lists(scalars, max_size=3),
    st.lists(arrays, max_size=2),
    st.just({}),
    st.just(object()),
)
names = [spec.name for spec in ifa.parameters]
BASE = {
    "query": np.zeros((2, 1, 64), np.float16),
    "key": [np.zeros((2, 10, 32), np.float16)],
    "value": [np.zeros((2, 10, 32), np.float16)],
    "num_heads": 4,
    "num_key_value_heads": 2,
}


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(names), anything, max_size=3), st.booleans())
@example({"block_table": np.zeros((2, 1), np.int32), "block_size": 2**70}, True)
@example({"query": np.zeros((2, 1, 0), np.float16), "key": [np.zeros((2, 10, 0), np.float16)]}, True)
def test_only_user_errors_escape(changes, legal_otherwise):
    call = (BASE if legal_otherwise else {}) | changes
    try:
        out = ifa(**call)
    except UserError as error:
        assert str(error)
    else:
        assert out.shape == call["query"].shape


@settings(max_examples=100, deadline=None)
@given(st.lists(anything, max_size=24))
def test_positional_rubbish(arguments):
    try:
        ifa(*arguments)
    except UserError as error:
        assert str(error)


def test_big_endian_arrays_mean_their_values():
    rng = np.random.default_rng(0)
    query, key = (rng.standard_normal(shape).astype(np.float16) for shape in [(2, 1, 64), (2, 10, 32)])
    expected = ifa(query, [key], [key], num_heads=4, num_key_value_heads=2)
    out = ifa(
        query.astype(">f2"), [key.astype(">f2")], [key.astype(">f2")], num_heads=4, num_key_value_heads=2
    )
    assert np.array_equal(out, expected) and out.dtype == np.float16
    strided = np.asfortranarray(key)
    assert np.array_equal(ifa(query, [strided], [strided], num_heads=4, num_key_value_heads=2), expected)


def test_integers_are_those_that_a_host_has(tmp_path: Path) -> None:
    """The type's own range, and no bound on numbers that are floats in the call."""
    declared = 'most = op.param("most", int, default=1)\nscale = op.param("scale", float, takes_int=True)'
    op = decode_spec(tmp_path, DECODE_SCORES, DECODE_RESULT, declared=declared)
    call = decode_call(t=4)
    for value in (2**63 - 1, -(2**63)):
        assert op.bind(**call, most=value, scale=2**70).params == {"most": value, "scale": 2.0**70}
    for wrong in ({"most": 2**63}, {"most": -(2**63) - 1}):
        with pytest.raises(RangeError, match="most: must fit int64"):
            op.bind(**call, scale=1.0, **wrong)
