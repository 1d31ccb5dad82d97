"""Every violation that the contract of nsa_compress_attention lists, with the class it must raise.

Each case changes one legal call in one way; the untouched calls are the near twins that must pass.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attndsl.api import ops
from attndsl.base.errors import UserError
from tests.support.error_table_nsa import BF16, F16, F32, I8, I32, LEGAL, TABLE, call, t

nsa = ops.nsa_compress_attention


@pytest.mark.parametrize("name", LEGAL)
def test_legal_calls_pass(name):
    out, indices, top, total = nsa(**LEGAL[name])
    assert out.shape[:2] == (5, 4) and indices.shape == (5, 2, 1) and top.shape == total.shape == (5, 4, 8)


@pytest.mark.parametrize(
    ("arguments", "builtin", "named"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
@pytest.mark.filterwarnings("ignore")
def test_violations_raise_their_class_and_say_what_is_wrong(arguments, builtin, named):
    with pytest.raises(UserError) as caught:
        nsa(**arguments)
    assert isinstance(caught.value, builtin), type(caught.value).__mro__
    text = str(caught.value)
    assert text.startswith("nsa_compress_attention: ") and named in text and "\n" not in text, text


def test_limits_of_the_target_bind_kernels_alone():
    """128 % (N1 / N2) and the other limits of shipped kernels."""
    heads = call(query=t(5, 6, 32), head_num=6)
    assert nsa(**heads)[0].shape == (5, 6, 16)
    with pytest.raises(ValueError, match="query heads a key/value head divide 128"):
        nsa(**heads, backend="tile")
    alone = {"query": t(5, 3, 32), "key": t(13, 3, 32), "value": t(13, 3, 16), "head_num": 3}
    nsa.bind(**call(**alone)).check_target()  # three heads, each with keys of its own


@pytest.mark.parametrize(("keys", "legal"), [(14000, True), (14001, False)])
@pytest.mark.filterwarnings("ignore")
def test_a_batch_row_has_14000_compressed_keys_at_most(keys, legal):
    total = keys + 4
    bound = nsa.bind(
        **call(
            key=t(total, 2, 32),
            value=t(total, 2, 16),
            topk_mask=None,
            atten_mask=None,
            actual_cmp_seq_kvlen=[keys, total],
            actual_sel_seq_kvlen=[-(-keys // 4), -(-keys // 4) + 1],
        )
    )
    if legal:
        bound.check_target()
    else:
        with pytest.raises(ValueError, match="at most 14000 compressed keys a batch row"):
            bound.check_target()


def test_a_scale_is_a_number():
    for scale in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="scale_value"):
            nsa(**call(scale_value=scale))


def test_the_document_s_order_of_positional_arguments():
    arguments = list(call().values())
    assert len(arguments) == 14
    for one, two in zip(nsa(*arguments), nsa(**call()), strict=True):
        assert np.array_equal(one, two)
    with pytest.raises(TypeError, match="15 positional arguments, the signature has 14"):
        nsa(*arguments, "op")


def test_the_signature_shows_what_is_to_be_named():
    text = nsa.contract_text().splitlines()[0]
    assert "select_block_count, *, topk_mask=None, atten_mask=None, actual_seq_qlen, actual_cmp" in text


names = [spec.name for spec in nsa.parameters]
arrays = st.builds(
    lambda shape, dtype: np.zeros(shape, dtype),
    st.lists(st.sampled_from([0, 1, 2, 3, 5, 13, 16]), max_size=4),
    st.sampled_from([F16, BF16, F32, I8, I32, bool, "uint8", "U3", object, ">f2"]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 140),
    st.floats(),
    st.text(max_size=3),
)
anything = st.one_of(
    arrays,
    scalars,
    st.lists(scalars, max_size=3),
    st.lists(st.integers(0, 14), max_size=3),
    st.just(object()),
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(names), anything, max_size=3))
@pytest.mark.filterwarnings("ignore")
def test_only_user_errors_escape(changes):
    arguments = call(**changes)
    try:
        out, *_ = nsa(**arguments)
    except UserError as error:
        assert str(error)
    else:
        assert out.shape[:2] == arguments["query"].shape[:2]
