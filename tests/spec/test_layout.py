"""Layout texts: shapes, strides, views, and the demands on shapes that follow from them."""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.expr import Const, Symbol
from attndsl.spec.contract.layout import parse_layout
from attndsl.spec.errors import LayoutTextError

EXTENTS = {
    "B": Symbol("B"),
    "N": Symbol("N"),
    "K": Symbol("kvN"),
    "Q": Const(1),
    "T": Symbol("S"),
    "D": Symbol("D"),
}
SIZES = {"B": 3, "N": 4, "kvN": 2, "S": 5, "D": 6}
ROLE_SIZES = {"B": 3, "N": 4, "K": 2, "Q": 1, "T": 5, "D": 6}


def layout(text, roles):
    return parse_layout(text, tuple(roles), EXTENTS)


@pytest.mark.parametrize(
    ("text", "roles", "shape"),
    [
        ("B 1 (N D)", "BNQD", (3, 1, 24)),
        ("B N 1 D", "BNQD", (3, 4, 1, 6)),
        ("B S (kvN D)", "BKTD", (3, 5, 12)),
        ("B kvN S D", "BKTD", (3, 2, 5, 6)),
        ("1 N 1 S", "BNQT", (1, 4, 1, 5)),
        ("B 1 1 S", "BT", (3, 1, 1, 5)),
        ("(B S) kvN D", "BKTD", (15, 2, 6)),
        ("1", "ND", (1,)),
        ("", "", ()),
    ],
)
def test_strides_views_and_their_inverse_agree(text, roles, shape):
    found = layout(text, roles)
    assert tuple(extent.evaluate(SIZES) for extent in found.shape()) == shape
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    view = found.view(array, SIZES, ROLE_SIZES)
    assert view.shape == tuple(ROLE_SIZES[role] for role in roles)
    strides = {role: stride.evaluate(SIZES) for role, stride in found.strides().items()}
    for index in np.ndindex(view.shape):
        assert view[index] == sum(i * strides[role] for i, role in zip(index, roles, strict=True))
    if view.size == array.size:
        assert np.array_equal(found.restore(view, SIZES), array)
    assert np.shares_memory(view, array) or not array.size


def test_a_broadcast_axis_has_stride_zero():
    assert str(layout("1 N 1 S", "BNQT").strides()["B"]) == "0"
    assert str(layout("B N 1 S", "BNQT").strides()["B"]) == "N * S"


@pytest.mark.parametrize("text", ["B (N D", "B N) D", "B ((N) D)", "B M D"])
def test_unreadable_texts(text):
    with pytest.raises(LayoutTextError):
        layout(text, "BND")


def test_the_shape_constraints_hold_for_legal_calls_and_catch_wrong_shapes():
    """The list that host checks are made from says the same as the solver that binds a call."""
    ifa = ops.incre_flash_attention
    query, key = np.zeros((2, 1, 64), np.float16), np.zeros((2, 10, 32), np.float16)
    mask, bias = np.zeros((2, 1, 10), bool), np.zeros((1, 4, 1, 10), np.float16)
    call = ifa.bind(query, [key], [key], mask, None, bias, num_heads=4, num_key_value_heads=2)

    def violated(**shapes):
        env = call.env()
        for name, array in call.arrays.items():
            for dim, size in enumerate(shapes.get(name, array.shape)):
                env[f"{name}.shape[{dim}]"] = size
        return {rule.argument for rule in ifa.shape_constraints if rule.violation(env)}

    assert violated() == set()
    assert violated(query=(2, 2, 64)) == violated(query=(2, 1, 65)) == {"query"}
    assert violated(key=(3, 10, 32)) == violated(key=(2, 10, 31)) == {"key"}
    assert violated(value=(2, 9, 32)) == {"value"}
    assert violated(attn_mask=(2, 1, 11)) == {"attn_mask"}
    assert violated(pse_shift=(1, 3, 1, 10)) == {"pse_shift"}


def test_the_call_shows_sizes_features_and_views():
    ifa = ops.incre_flash_attention
    query, key = np.zeros((2, 4, 1, 16), np.float16), np.zeros((2, 2, 10, 16), np.float16)
    call = ifa.bind(query, (key,), (key,), None, [7], num_heads=4, num_key_value_heads=2, input_layout="BNSD")
    wanted = {"B": 2, "N": 4, "kvN": 2, "S": 10, "D": 16, "num_blocks": 0, "max_block_num_per_seq": 0}
    assert call.dims == wanted
    assert call.present == {"query", "key", "value", "actual_seq_lengths"}
    assert call.dtype == "float16" and call.layouts["key"] == "BNSD"
    assert call.arrays["actual_seq_lengths"].tolist() == [7, 7]
    assert call.views["key"].shape == (2, 2, 10, 16) and call.views["query"].shape == (2, 4, 1, 16)
    assert call.env()["given(attn_mask)"] is False and call.env()["scale_value"] == 1.0


def test_the_printed_contract_says_everything_once():
    ifa = ops.incre_flash_attention
    text = ifa.contract_text()
    assert text.startswith(
        "incre_flash_attention(query, key, value, attn_mask=None, actual_seq_lengths=None,"
    )
    assert "num_heads=1, input_layout='BSH', scale_value=1.0" in text.splitlines()[0]
    for spec in ifa.tensors:
        assert f"\n  {spec.name}: " in text
    for rule in ifa.constraints:
        assert f"{rule.text} [" in text and rule.error.__name__ in text
    assert "block_size % 16 == 0, when block_table is passed" in text
    assert "attention_out: that of query or int8" in text


def test_limits_of_the_target_do_not_bind_the_reference():
    ifa = ops.incre_flash_attention
    query, key = np.zeros((1, 1, 528), np.float16), np.zeros((1, 3, 528), np.float16)
    assert ifa(query, [key], [key]).shape == query.shape
    with pytest.raises(
        ValueError, match="a head size of at most 512; D is 528; the nearest legal value is 512"
    ):
        ifa(query, [key], [key], backend="tile")
