"""Every violation that the contract of relay_attention lists, with the class it must raise.

Each case changes one legal call in one way; the untouched calls are the near twins that must pass.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError
from tests.support.error_table_relay import BF16, F16, F32, I8, I32, I64, LEGAL, TABLE, call

relay = ops.relay_attention


@pytest.mark.parametrize("name", LEGAL)
def test_legal_calls_pass(name):
    assert relay(**LEGAL[name]).shape == LEGAL[name]["query"].shape


@pytest.mark.parametrize(
    ("arguments", "builtin", "named"), [row[2:] for row in TABLE], ids=[f"{row[0]} {row[1]}" for row in TABLE]
)
def test_violations_raise_their_class_and_say_what_is_wrong(arguments, builtin, named):
    with pytest.raises(UserError) as caught:
        relay(**arguments)
    wanted = builtin if isinstance(builtin, tuple) else (builtin,)
    assert all(isinstance(caught.value, each) for each in wanted), type(caught.value).__mro__
    text = str(caught.value)
    assert text.startswith("relay_attention: ") and named in text and "\n" not in text, text


def test_every_row_of_the_table_is_covered():
    """Row 1 is the check of the chip, row 6 is no error here: no limit on headNum where kvHeadNum is 0."""
    assert {row[0] for row in TABLE} == set(range(2, 26)) - {6}


names = [spec.name for spec in relay.parameters]
arrays = st.builds(
    lambda shape, dtype: np.zeros(shape, dtype),
    st.lists(st.sampled_from([0, 1, 2, 3, 4, 8]), max_size=4),
    st.sampled_from([F16, BF16, F32, I8, I32, I64, bool, "U3", object, ">f2"]),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=3), st.just(b"x")
)
anything = st.one_of(
    arrays, scalars, st.lists(scalars, max_size=4), st.lists(arrays, max_size=4), st.just(object())
)


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(st.sampled_from(names), anything, max_size=3))
def test_only_user_errors_escape(changes):
    arguments = call(**changes)
    try:
        out = relay(**arguments)
    except UserError as error:
        assert str(error)
    else:
        assert out.shape == arguments["query"].shape
