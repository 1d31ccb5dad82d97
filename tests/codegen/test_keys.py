"""What tells the specialisations of an operator apart: names, tiling keys, conditions of the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from attndsl import ops
from attndsl.codegen.kernel import kernel_name
from attndsl.codegen.keys import selectors, tiling_key
from attndsl.schedule.compile import Compiled
from attndsl.schedule.specialisation import Specialisation

PREFIX = next(mode for mode in ops.self_attention.modes if mode.name.endswith("prefix_encoder"))
ENCODER = next(mode for mode in ops.self_attention.modes if mode.name.endswith("pa_encoder"))
BASE = Specialisation(dtype="float16", bucket=128)


def compiled(operator, special) -> Any:
    """Names and keys look at operator and specialisation alone."""
    return Compiled(operator=operator, specialisation=special, schedule=None, joint=None, program=None)


SPLIT = (("split(key)", True), ("split(value)", True))
OTHERS = {
    "incre": (ops.incre_flash_attention, [replace(BASE, settings=SPLIT)]),
    "prefix": (PREFIX, [replace(BASE, settings=(("maskType", number),)) for number in (1, 2, 9)]),
    "words": (
        ENCODER,
        [
            replace(BASE, settings=(("outDataType", 0),)),
            replace(BASE, settings=(("outDataType", 1),)),
            replace(BASE, settings=(("layout(query)", list(ENCODER.tensor("query").layouts)[1]),)),
        ],
    ),
    "values": (ops.nsa_compress_attention, [replace(BASE, value_bucket=size) for size in (16, 64, 128)]),
}


@pytest.mark.parametrize("label", OTHERS)
def test_specialisations_that_differ_in_one_thing_are_told_apart(label):
    operator, others = OTHERS[label]
    for one, other in combinations([BASE, *others], 2):
        left, right = compiled(operator, one), compiled(operator, other)
        assert tiling_key(left) != tiling_key(right)
        assert kernel_name(left) != kernel_name(right)
        assert [each.test for each in selectors(left)] != [each.test for each in selectors(right)]
        again = compiled(operator, replace(one))
        assert tiling_key(again) == tiling_key(left) and kernel_name(again) == kernel_name(left)
