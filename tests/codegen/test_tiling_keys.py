"""What tells the specializations of an operator apart: names, tiling keys, conditions of the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from attndsl.api import ops
from attndsl.codegen.kernel.kernel import kernel_name
from attndsl.codegen.kernel_set.tiling_keys import selectors, tiling_key
from attndsl.compiler.compile import Compiled
from attndsl.lowering.signature.specialization import Specialization

PREFIX = next(mode for mode in ops.self_attention.modes if mode.name.endswith("prefix_encoder"))
ENCODER = next(mode for mode in ops.self_attention.modes if mode.name.endswith("pa_encoder"))
BASE = Specialization(dtype="float16", padded_head_size=128)


def compiled(operator, special) -> Any:
    """Names and keys look at operator and specialization alone."""
    return Compiled(operator=operator, specialization=special, schedule=None, joint=None, program=None)


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
        assert [each.test for each in selectors(left)] != [each.test for each in selectors(right)]
        again = compiled(operator, replace(one))
        assert tiling_key(again) == tiling_key(left) and kernel_name(again) == kernel_name(left)
