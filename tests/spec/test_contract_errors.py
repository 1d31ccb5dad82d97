"""Every violation that the contract of incre_flash_attention lists, with the class it must raise.

Each case changes one legal call in one way; the untouched calls are the near twins that must pass.
"""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from tests.support.error_table_incre import F16, TABLE, bnsd, dense, int8, paged, vector

ifa = ops.incre_flash_attention


@pytest.mark.parametrize(
    "call",
    [
        dense(),
        bnsd(),
        int8(),
        paged(),
        int8(antiquant_offset=vector(2, 32, dtype=F16)),
        dense(scale_value=np.float32(0.5)),
        dense(num_heads=np.int64(4)),
        dense(actual_seq_lengths=np.array([3, 4], np.int32)),
        dense(actual_seq_lengths=(7,)),
        dense(actual_seq_lengths=[0, 10]),
        dense(attn_mask=np.zeros((2, 1, 1, 10), np.uint8)),
        dense(pse_shift=np.zeros((1, 4, 1, 10), F16)),
        dense(quant_scale2=vector(1), quant_offset2=vector(1)),
        dense(quant_scale2=vector(64)),
        dense(kv_padding_size=np.array(-3)),
        dense(block_size=7),
        dense(inner_precise=0),
        paged(attn_mask=np.zeros((2, 32), bool)),
        paged(attn_mask=np.zeros((2, 40), bool)),
        paged(quant_scale2=vector(1)),
    ],
)
def test_legal_calls_pass(call):
    assert ifa(**call).shape == call["query"].shape


@pytest.mark.parametrize(
    ("call", "builtin", "named"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_violations_raise_their_class_and_say_what_is_wrong(call, builtin, named):
    with pytest.raises(UserError) as caught:
        ifa(**call)
    wanted = builtin if isinstance(builtin, tuple) else (builtin,)
    assert all(isinstance(caught.value, each) for each in wanted), type(caught.value).__mro__
    text = str(caught.value)
    assert text.startswith("incre_flash_attention: ") and named in text and "\n" not in text, text


@pytest.mark.parametrize(
    ("call", "builtin"),
    [
        (dense(scale_value=1, input_layout="X", num_heads=0), TypeError),
        (dense(input_layout="X", actual_seq_lengths=[1, 2, 3]), ValueError),
        (dense(num_heads=0, attn_mask=np.zeros((1, 1), bool)), RuntimeError),
        (dense(attn_mask=np.zeros((1, 1), bool), actual_seq_lengths=[99]), RuntimeError),
        (dense(num_heads=5, num_key_value_heads=1, actual_seq_lengths=[99]), ValueError),
        (paged(actual_seq_lengths=[-1], block_size=16, quant_offset2=vector(1)), ValueError),
    ],
)
def test_the_first_violation_in_the_order_of_the_contract_counts(call, builtin):
    with pytest.raises(builtin):
        ifa(**call)


def test_a_disabled_argument_is_the_last_to_be_reported():
    with pytest.raises(ValueError, match="actual_seq_lengths"):
        ifa(**dense(quant_scale1=vector(1), actual_seq_lengths=[99]))
