"""The layouts that a tensor may have in the calls of a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from attndsl.expr import Const
from attndsl.lowering.signature.host_scalars import dimension, layout_choice
from attndsl.lowering.signature.tensor_layouts import (
    legal_layouts,
    list_layout,
    measured,
    stride_value,
    tensor_layout,
)
from attndsl.spec import Operator
from attndsl.spec.contract.arguments import TensorSpec

SIZES = {"B": 2, "N": 3, "T": 5, "D": 7}


def spec_of(layouts: Any, *, axes: str = "B N T D", **more: Any) -> TensorSpec:
    """An input with these layouts, beside an optional tensor ``mask``."""
    op = Operator("layouts", summary="One tensor.")
    B, N, T, D, S = op.dims("B N T D S")
    op.axes(B=B, N=N, T=T, D=D, S=S)
    op.input("mask", "B T", dtype="bool", axes="B T", optional=True)
    mode = op.param("mode", int, default=0)
    if isinstance(layouts, dict):
        when = {"masked": op.given("mask"), "packed": mode == 1, "padded": mode == 0, "wide": mode == 2}
        layouts = {key: (text, when[key]) if key in when else text for key, text in layouts.items()}
    op.input("x", layouts, dtype="float16", **({"axes": axes} if axes else {}), **more)
    return op.tensor("x")


def evaluated(value: Any) -> Any:
    return value.evaluate(SIZES)


TWO = {"BNTD": "B N T D", "BTH": "B T (N D)"}


def test_strides_are_those_of_each_layout() -> None:
    spec = spec_of(TWO)
    found = tensor_layout("x", legal_layouts(spec, frozenset()), spec)
    assert found.keys == ("BNTD", "BTH") and found.numbers == (0, 1)
    strides = [{axis: evaluated(step) for axis, step in each.items()} for each in found.strides]
    assert strides == [{"B": 105, "N": 35, "T": 7, "D": 1}, {"B": 105, "T": 21, "N": 7, "D": 1}]
    assert [tuple(map(evaluated, shape)) for shape in found.shapes] == [(2, 3, 5, 7), (2, 5, 21)]


def test_the_stride_of_a_call_follows_the_number_of_its_layout() -> None:
    spec = spec_of(TWO)
    found = tensor_layout("x", legal_layouts(spec, frozenset()), spec)
    choice = layout_choice("x")
    assert found.choice.same(choice) and found.holds(1).same(choice == 1)
    steps = [stride_value(found, "N").evaluate({**SIZES, choice.name: number}) for number in (0, 1)]
    assert steps == [35, 7]
    assert stride_value(found, "Q").evaluate({**SIZES, choice.name: 0}) == 0


def test_numbers_are_places_among_all_declared_layouts() -> None:
    spec = spec_of({"BNTD": "B N T D", "masked": "B T N D", "BTH": "B T (N D)"})
    without, passed = (legal_layouts(spec, frozenset(present)) for present in ((), ("mask",)))
    assert [each.key for each in without] == ["BNTD", "BTH"]
    assert [each.key for each in passed] == ["masked"]
    assert tensor_layout("x", without, spec).numbers == (0, 2)
    assert tensor_layout("x", passed, spec).numbers == (1,)


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [
        ("padded", ("padded", "wide")),
        ("wide", ("padded", "wide")),
        ("packed", ("packed",)),
        (None, ("padded", "wide", "packed")),
    ],
)
def test_a_layout_that_is_chosen_stands_for_those_of_the_same_axes(
    chosen: str | None, keys: tuple[str, ...]
) -> None:
    spec = spec_of({"padded": "B N T D", "wide": "B T N D", "packed": "S (N D)"}, axes="")
    settings = {} if chosen is None else {"layout(x)": chosen}
    assert tuple(each.key for each in legal_layouts(spec, frozenset(), settings)) == keys


def test_a_tensor_that_may_be_larger_has_the_strides_of_its_own_shape() -> None:
    spec = spec_of("B N T D")
    (layout,) = legal_layouts(spec, frozenset())
    sizes = {dimension("x", number).name: 10 + number for number in range(4)}
    strides = {axis: step.evaluate(sizes) for axis, step in measured(spec, layout).strides().items()}
    assert strides == {"B": 11 * 12 * 13, "N": 12 * 13, "T": 13, "D": 1}
    joined = spec_of("B T (N D)")
    (other,) = legal_layouts(joined, frozenset())
    assert measured(joined, other) is other


def test_each_tensor_of_a_list_has_rows_of_its_own() -> None:
    spec = spec_of("B N T D", split=True)
    found = list_layout("x", legal_layouts(spec, frozenset()), spec)
    assert found.rows is not None and found.rows_from_end == (2,)
    strides = {axis: step.evaluate({**SIZES, found.rows.name: 11}) for axis, step in found.strides[0].items()}
    assert strides == {"N": 77, "T": 7, "D": 1}
    assert all(not step.same(Const(0)) for step in found.strides[0].values())
