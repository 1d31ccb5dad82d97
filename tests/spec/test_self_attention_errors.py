"""Every violation that the contract of self_attention lists: class, argument, value, constraint, next step.

Each case changes one legal call in one way; the untouched calls are the near twins that must pass.
"""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec import errors
from tests.support.error_table_self_attention import F32, LEGAL, TABLE, fa, full, pa

sa = ops.self_attention


@pytest.mark.parametrize("name", LEGAL)
def test_legal_calls_pass(name):
    call = LEGAL[name]
    assert sa(**call).shape[0] == call["query"].shape[0]


@pytest.mark.parametrize("name", TABLE)
def test_violations_raise_their_class_and_say_what_is_wrong(name):
    call, classes, named = TABLE[name]
    with pytest.raises(UserError) as caught:
        sa(**call)
    assert all(isinstance(caught.value, each) for each in classes), type(caught.value).__mro__
    text = str(caught.value)
    assert text.startswith("self_attention") and named in text and "\n" not in text, text


def test_a_read_only_cache_cannot_be_updated():
    call = fa()
    call["cacheV"].flags.writeable = False
    with pytest.raises(errors.ReadOnlyError, match=r"cacheV: is updated in place.*copy"):
        sa(**call)


def test_the_ignored_qscale_is_a_warning():
    with pytest.warns(errors.IgnoredParameterWarning, match="qScale.*qkScale"):
        out = sa(**pa(qScale=2.0))
    assert out.shape == (7, 2, 16) and np.array_equal(out, sa(**pa(qScale=1.0)))


def test_parameters_are_checked_before_tensors():
    with pytest.raises(errors.ParameterError, match="kvcacheCfg"):
        sa(**pa(kvcacheCfg=1, query=full(7, 2, 16, dtype=F32)))


def test_the_printed_contract_has_all_modes_and_no_argument_is_without_its_table():
    text = sa.contract_text()
    for title in (
        "self_attention(query",
        "self_attention_pa_encoder(query",
        "self_attention_prefix_encoder(query",
    ):
        assert title in text
    line = "kvSeqLen: must be at least seqLen, new tokens count"
    assert f"{line} [LengthRangeError: ValueError and RuntimeError]" in text
