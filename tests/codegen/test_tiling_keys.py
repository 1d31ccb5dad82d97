"""What tells the specializations of an operator apart: names, tiling keys, conditions of the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from attndsl.api import ops
from attndsl.codegen.host.tiling_text import key_digits
from attndsl.codegen.kernel_set.dispatch_guards import guards
from attndsl.codegen.kernel_set.kernel_names import kernel_name
from attndsl.codegen.kernel_set.kernel_request import wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.kernel_set.tiling_keys import (
    KernelsOfOneKey,
    TooManyKernels,
    check_tiling_keys,
    digits,
    key_of,
    tiling_key,
)
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec import Operator, attend
from attndsl.spec.operator.loader import load, shipped_names

PREFIX = next(mode for mode in ops.self_attention.modes if mode.name.endswith("prefix_encoder"))
ENCODER = next(mode for mode in ops.self_attention.modes if mode.name.endswith("pa_encoder"))
BASE = Specialization(dtype="float16", padded_head_size=128)


def compiled(operator, special) -> Any:
    """Names and keys look at operator and specialization alone."""
    return Compiled(
        operator=operator, specialization=special, begun=None, schedule=None, joint=None, program=None
    )


INT8 = replace(BASE, dtype="int8", features=frozenset({"value", "mask", "qkDescale", "vpvDescale"}))
QUANTIZED = (("quantType", 3), ("maskType", 2), ("layout(mask)", "full"))
SLOPES = frozenset({"slopes"})
SPLIT = (("split(key)", True), ("split(value)", True))
OTHERS = {
    "incre": (ops.incre_flash_attention, [replace(BASE, settings=SPLIT)]),
    "prefix": (
        PREFIX,
        [
            replace(BASE, settings=(("maskType", 9),)),
            *(replace(BASE, features=SLOPES, settings=(("maskType", number),)) for number in (4, 5, 6)),
        ],
    ),
    "layouts": (
        ENCODER,
        [
            replace(BASE, settings=(("clampType", 1),)),
            replace(BASE, settings=(("layout(query)", "padded"),)),
        ],
    ),
    "dtypes": (
        ENCODER,
        [
            replace(INT8, settings=(*QUANTIZED, ("outDataType", 1))),
            replace(INT8, settings=(*QUANTIZED, ("outDataType", 27))),
            replace(INT8, settings=(*QUANTIZED, ("outDataType", 27), ("dtype(mask)", "bfloat16"))),
        ],
    ),
    "values": (ops.nsa_compress_attention, [replace(BASE, padded_value_size=size) for size in (16, 64, 128)]),
}


@pytest.mark.parametrize("label", OTHERS)
def test_specializations_that_differ_in_one_thing_are_told_apart(label):
    operator, others = OTHERS[label]
    for one, other in combinations([BASE, *others], 2):
        left, right = compiled(operator, one), compiled(operator, other)
        assert tiling_key(left) != tiling_key(right)
        assert kernel_name(left) != kernel_name(right)
        assert guards(left) != guards(right)
        again = compiled(operator, replace(one))
        assert tiling_key(again) == tiling_key(left) and kernel_name(again) == kernel_name(left)


EVERY = [each for name in shipped_names() for each in (load(name), *load(name).modes)]


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.name)
def test_every_kernel_of_a_shipped_project_has_a_key_of_its_own(operator):
    specials = [
        each.special for each in wanted_specializations(operator, KernelRequest(head_sizes=(64, 128)))
    ]
    keys = {key_of(operator, each) for each in specials}
    assert len({guards(compiled(operator, each)) for each in specials}) == len(keys)
    assert all(0 < key < 1 << 63 for key in keys)


def test_a_key_is_read_digit_by_digit():
    """The digits of a key give back what the kernel is specialized on."""
    special = replace(BASE, dtype="bfloat16", features=frozenset({"attn_mask"}), settings=SPLIT)
    key = key_of(ops.incre_flash_attention, special)
    for digit in digits(ops.incre_flash_attention, special):
        key, found = divmod(key, digit.base)
        assert found == digit.value, digit.name
    assert key == 0
    found = {each.name: each.value for each in digits(ops.incre_flash_attention, special)}
    assert (found["dtype of query"], found["head size"], found["attn_mask"]) == (1, 8, 1)
    assert (found["pse_shift"], found["split(key)"], found["split(value)"]) == (0, 1, 1)


def test_the_legend_of_keys_tells_their_digits():
    """Weights and values of each digit; none where kernels have different ones."""
    first = compiled(ops.incre_flash_attention, replace(BASE, settings=SPLIT))
    second = compiled(ops.incre_flash_attention, replace(BASE, dtype="bfloat16", settings=SPLIT))
    lines = list(key_digits([first, second]))
    assert lines[0] == "dtype of query: 0 to 1, times 1" and lines[1].startswith("head size / 16: 0 to ")
    weights = [int(line.rpartition(" ")[2]) for line in lines]
    values = [digit.value for digit in digits(first.operator, first.specialization)]
    assert sum(weight * value for weight, value in zip(weights, values, strict=True)) == tiling_key(first)
    other = compiled(first.operator, replace(first.specialization, padded_value_size=64))
    assert list(key_digits([first, other])) == []


def scaled(*, tensors: int = 0, by_two: bool = False) -> Operator:
    """Whether a number is above 0, or above another number, decides the computation."""
    op = Operator("scaled", summary="A factor above 0 doubles the scores.")
    B, N, K, T, D = op.dims("B N K T D")
    op.axes(B=B, N=N, K=K, T=T, D=D, E=D)
    query = op.input("query", "B N D", dtype="float16", axes="B N D")
    key = op.input("key", "B K T D", dtype=query, axes="B K T D")
    value = op.input("value", "B K T D", dtype=query, axes="B K T E")
    names = [f"bias{number}" for number in range(tensors)]
    biases = [op.input(each, "B N T", dtype=query, axes="B N T", optional=True) for each in names]
    factor, limit = op.param("factor", int, default=0), op.param("limit", int, default=0)
    s = attend.scores(query, attend.rows(key))
    for bias in biases:
        s = s + bias
    s = attend.when(factor > (limit if by_two else 0), s * 2.0, s)
    op.output("out", attend.softmax(s) @ attend.rows(value), like=query)
    return op


def with_numbers(**numbers: int) -> Specialization:
    return replace(BASE, settings=tuple(numbers.items()))


def test_numbers_that_decide_the_same_have_the_same_key():
    op = scaled()
    assert key_of(op, with_numbers(factor=1)) == key_of(op, with_numbers(factor=300)) != key_of(op, BASE)
    assert key_of(op, with_numbers(factor=-7)) == key_of(op, BASE)


def test_numbers_that_are_compared_with_each_other_have_a_key_or_both_are_named():
    op = scaled(by_two=True)
    one, other = with_numbers(factor=9, limit=8), with_numbers(factor=8, limit=9)
    check_tiling_keys(op, (BASE, one, one))
    assert len({key_of(op, each) for each in (BASE, one)}) == 2
    with pytest.raises(KernelsOfOneKey, match=r"two kernels have the tiling key \d+: .*8.* and .*9"):
        check_tiling_keys(op, (one, replace(one, settings=(("factor", 900), ("limit", 8)))))
    assert key_of(op, other) == key_of(op, BASE)


def test_an_operator_with_more_combinations_than_keys_is_refused():
    with pytest.raises(TooManyKernels, match=r"scaled: kernels can be specialized on .*bias54.* 63 bits"):
        key_of(scaled(tensors=55), BASE)
