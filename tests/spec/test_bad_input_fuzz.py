"""Whatever a caller passes, only our own errors come out: no KeyError, no broadcasting error."""

import ml_dtypes
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError

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
