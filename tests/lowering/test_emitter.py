"""The emitter: what the host knows becomes a tiling field once, the rest is computed in the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.expr import Const, Expr, Load, Symbol
from attndsl.expr.reductions import Fold
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.errors import NotLowered
from tests.support.builders import attention, context, dense, elementwise, lengths, scalar, tensor


@pytest.fixture
def emit() -> Emitter:
    """Of an attention with lengths of keys and a bias without batch rows."""
    bias = tensor("bias", ("N", "T"))
    return context(attention(keys=dense("key", length=lengths("lens")), scores=[elementwise("add", bias)]))


def fields(emit: Emitter) -> dict[str, tuple[str, str]]:
    return {field.name: (str(field.value), field.ctype) for field in emit.inventory.fields}


def test_a_constant_of_the_host_is_no_field(emit: Emitter) -> None:
    assert emit.host(3).same(Const(3)) and fields(emit) == {}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Symbol("limit"), "limit"),
        (Symbol("limit") + 1, "limitPlus1"),
        (Symbol("limit") * Symbol("step"), "limitTimesstep"),
        (Symbol("mode") == 2, "modeIs2"),
        ((Symbol("limit") + 1) // 2, "value0"),
    ],
)
def test_a_number_of_the_host_is_a_field_with_a_name_that_says_it(
    emit: Emitter, value: Expr, name: str
) -> None:
    assert emit.host(value).same(emit.host(value))
    assert list(fields(emit)) == [name]


def test_a_name_that_is_taken_gets_another(emit: Emitter) -> None:
    taken = replace(emit, signature=replace(emit.signature, taken_names=frozenset({"limit"})))
    assert str(taken.host(Symbol("limit"))) == "limitScalar"
    assert str(taken.host(Symbol("limit") + 0.5, stem="limit")) == "limitScalarScalar"


def test_numbers_that_are_no_integers_are_fields_in_fp32(emit: Emitter) -> None:
    floats = replace(emit, signature=replace(emit.signature, float_params=frozenset({"scale"})))
    floats.host(Symbol("scale"))
    floats.host(Symbol("count"))
    assert fields(floats) == {"scale": ("scale", "float32"), "count": ("count", "int64")}


def test_kernels_read_elements_and_take_the_rest_from_the_host(emit: Emitter) -> None:
    value = Load("lens", Symbol("b")) - (Symbol("B") + 2) * 3
    found = emit.in_kernel(value, {"b": Symbol("batch")})
    assert str(found).startswith("lens[batch] - ")
    assert [text for text, _ in fields(emit).values()] == ["(B + 2) * 3"]


def test_a_sum_over_batch_rows_has_an_index_of_its_own(emit: Emitter) -> None:
    value = Fold("sum", Load("lens", Symbol("b")), "b", Symbol("b"), "KeysBefore")
    assert str(emit.in_kernel(value, {"b": Symbol("batch")})) == "sum(lens[b] for b < batch)"


def test_what_only_the_device_sees_is_no_number_of_the_host(emit: Emitter) -> None:
    with pytest.raises(NotLowered, match="which the host does not see"):
        emit.host(Fold("max", Load("lens", Symbol("b")), "b", None, "longest"))


def test_a_quotient_that_may_be_negative_is_rounded_down(emit: Emitter) -> None:
    """C++ rounds towards zero."""
    quotient, index = Symbol("x") // 4, {"x": Symbol("batch")}
    negative = replace(emit, signature=replace(emit.signature, ranges={"x": (-100, 100)}))
    assert str(emit.in_kernel(quotient, index)) == "batch // 4"
    assert str(negative.in_kernel(quotient, index)) == "floor_div(batch, 4)"


def test_strides_are_fields_and_zero_along_an_axis_that_a_tensor_lacks(emit: Emitter) -> None:
    assert str(emit.stride("bias", "N")) == "biasStrideN"
    assert emit.stride("bias", "B").same(Const(0)) and not emit.has_stride("bias", "B")
    assert fields(emit) == {"biasStrideN": ("T", "int64")}


def test_one_length_for_all_batch_rows_is_read_wherever_it_stands(emit: Emitter) -> None:
    shared = replace(emit, signature=replace(emit.signature, one_for_all=frozenset({"lens"})))
    assert str(emit.entry("lens", Symbol("batch"))) == "lens[batch]"
    assert str(shared.entry("lens", Symbol("batch"))) == "lens[min(batch, lensCount - 1)]"


def test_buffers_of_one_name_are_one(emit: Emitter) -> None:
    first = emit.in_ub("rows", "float32", 64, "rows")
    assert emit.in_ub("rows", "float32", 64, "the same") is first


def test_head_sizes_are_one_field_where_they_are_one_size() -> None:
    emit = context(attention(scores=[elementwise("multiply", scalar(Symbol("scale")))]))
    assert emit.value_dim.same(emit.head_dim)
    assert emit.padded_head_size.same(emit.padded_value_size) and list(fields(emit)) == ["headDim"]
