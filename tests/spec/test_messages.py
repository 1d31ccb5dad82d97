"""What messages advise: the nearest value that breaks no other rule, and the layout that is meant."""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.base.errors import UserError
from attndsl.spec import Operator, attend, errors

F16, F32, I8 = np.float16, np.float32, np.int8
ifa = ops.incre_flash_attention


def dense(**changes):
    """B 2, N 4, kvN 2, S 10, D 16."""
    call = {"query": np.ones((2, 1, 64), F16), "key": [np.ones((2, 10, 32), F16)]}
    call |= {"value": call["key"], "num_heads": 4, "num_key_value_heads": 2}
    return call | changes


def paged(**changes):
    cache = [np.ones((5, 16, 32), F16)]
    call = dense(key=cache, value=cache, block_table=np.zeros((2, 2), np.int32), block_size=16)
    return call | {"actual_seq_lengths": [20, 16]} | changes


def pages(rows, dtype=F16):
    cache = [np.ones((5, rows, 32), dtype)]
    scale = {"antiquant_scale": np.ones((2, 32), F16)} if dtype is I8 else {}
    return {"key": cache, "value": cache} | scale


def message(operator, call):
    with pytest.raises(UserError) as caught:
        operator(**call)
    return str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            paged(block_size=0),
            "block_size: must be positive with block_table; block_size is 0; the nearest legal value is 16",
        ),
        (
            paged(block_size=-16),
            "block_size: must be positive with block_table; block_size is -16; the nearest legal value is 16",
        ),
        (paged(block_size=8, **pages(8)), "block_size is 8; the nearest legal value is 16"),
        (paged(block_size=24, **pages(24)), "the nearest legal values are 16 and 32"),
        (paged(block_size=16, **pages(16, I8)), "for int8; block_size is 16; the nearest legal value is 32"),
        (paged(block_size=500, **pages(500)), "the nearest legal values are 496 and 512"),
        (paged(block_size=500, **pages(500, I8)), "the nearest legal values are 480 and 512"),
        (
            paged(block_size=513, **pages(513)),
            "at most 512; block_size is 513; the nearest legal value is 512",
        ),
        (paged(attn_mask=np.zeros((2, 31), bool)), "the nearest legal value of S is 32"),
        (dense(inner_precise=2), "2 is none of 0, 1; the nearest legal value is 1"),
        (dense(inner_precise=-3), "the nearest legal value is 0"),
        (dense(num_heads=4.0), "write 4"),
        (dense(scale_value=2), "write 2.0"),
        (dense(actual_seq_lengths=3), "write [3]"),
        (
            dense(quant_scale2=np.ones(1, F32), attn_mask=np.zeros((2, 9), bool)),
            "dimension 1 is 9, must be S = 10",
        ),
    ],
)
def test_advice_breaks_no_other_rule(call, said):
    assert said in message(ifa, call)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 4, 1, 9), "should be (1, N, 1, S): dimension 3 is 9, must be S = 10"),
        ((2, 4, 1, 9), "should be (B, N, 1, S): dimension 3 is 9, must be S = 10"),
        ((3, 4, 1, 10), "dimension 0 is 3, must be 1 or B = 2"),
        ((1, 3, 1, 10), "should be (1, N, 1, S): dimension 1 is 3, must be N = 4"),
    ],
)
def test_the_layout_with_the_fewest_contradictions_is_meant(shape, said):
    assert said in message(ifa, dense(pse_shift=np.zeros(shape, F16)))


def test_all_layouts_that_come_equally_close_are_offered():
    said = message(ifa, dense(quant_scale2=np.ones(2, F32)))
    assert "should be (1) or (N * D): dimension 0 is 2, must be 1 or N * D = 64" in said


def test_a_fixed_size_is_told_once():
    assert "dimension 1 is 3, must be 1, as" in message(ifa, dense(query=np.ones((2, 3, 64), F16)))


def test_what_a_call_says_explains_the_layout():
    said = message(ifa, dense(key=[np.ones((2, 10), F16)]))
    assert said.endswith("as block_table is absent and input_layout is BSH")


SCALES = {
    "incre_flash_attention": ("scale_value",),
    "relay_attention": ("qkScale",),
    "nsa_compress_attention": ("scale_value",),
    "self_attention": ("qkScale", "qScale"),
}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.float32("inf")])
@pytest.mark.parametrize(("operator", "name"), [(op, name) for op in SCALES for name in SCALES[op]])
def test_scales_are_finite(operator, name, value):
    op = getattr(ops, operator)
    for each in (op, *op.modes):
        assert next(spec for spec in each.params if spec.name == name).finite
    if operator == "incre_flash_attention":
        assert f"{name}: must be finite, got" in message(ifa, dense(**{name: value}))


def clamped(**limits):
    tokens = np.ones((2, 1, 16), F16)
    call = {"query": tokens, "key": tokens, "value": tokens, "seqLen": [2], "headNum": 1, "calcType": 3}
    return call | {"clampType": "MIN_MAX"} | limits


@pytest.mark.parametrize("name", ["clampMin", "clampMax"])
def test_a_clamp_may_be_open_but_no_nan(name):
    limit = -np.inf if name == "clampMin" else np.inf
    assert (ops.self_attention(**clamped(**{"clampMin": -1.0, "clampMax": 1.0, name: limit})) == 1).all()
    assert f"{name}: must be a number, got nan" in message(
        ops.self_attention, clamped(**{name: float("nan")})
    )


def sized(**rules):
    """An operator with one size S and rules on it: name -> (condition of S, text)."""
    op = Operator("sized")
    B, N, S, D = op.dims("B N S D")
    op.axes(B=B, N=N, K=N, Q=S, T=S, D=D, E=D)
    q = op.input("q", "B N S D", dtype="float32")
    k = op.input("k", "B N S D", dtype=q, axes="B K T D")
    for text, rule in rules.items():
        op.require(rule(S), text)
    op.output(
        "out",
        attend.softmax(attend.scores(q, k)) @ attend.rows(op.input("v", "B N S D", dtype=q, axes="B K T E")),
        like=q,
    )
    return op


def called(op, rows):
    x = np.ones((1, 1, rows, 2), np.float32)
    return message(op, {"q": x, "k": x, "v": x})


def test_advice_without_a_legal_neighbour_keeps_to_its_own_rule():
    both = sized(even=lambda s: s % 2 == 0, odd=lambda s: s % 2 == 1)
    assert "the nearest legal values are 2 and 4" in called(both, 3)


def test_a_size_of_zero_is_no_advice():
    assert "the nearest legal value is 8" in called(sized(eights=lambda s: s % 8 == 0), 3)


def test_a_number_has_no_nearest_value():
    assert called(sized(divides=lambda s: 128 % s == 0), 3) == "sized: S: divides; S is 3"


def test_either_of_two_ranges_gives_no_wrong_advice():
    op = sized(ranges=lambda s: (s < 2) | (s > 5))
    assert called(op, 3) == "sized: S: ranges; S is 3"
    assert op.rules == op.constraints


def test_a_failing_part_of_a_condition_is_what_is_advised():
    op = sized(between=lambda s: (s >= 4) & (s <= 9))
    assert "the nearest legal value is 9" in called(op, 12) and "value is 4" in called(op, 1)


def test_an_unclassified_rule_still_has_both_classes():
    with pytest.raises(errors.UnclassifiedError) as caught:
        x = np.ones((1, 1, 3, 2), np.float32)
        sized(eights=lambda s: s % 8 == 0)(x, x, x)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, RuntimeError)
