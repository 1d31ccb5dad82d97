"""The epilogue: operations on complete rows, rounding and storing them, and zeros for padded positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attndsl.expr import Const, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.results.epilogue_rules import EPILOGUE_RULES, EpilogueRule, epilogue
from attndsl.lowering.results.row_numbers import statistics_of_item
from attndsl.lowering.results.zero_padding import has_padding, zero_padding
from attndsl.tile.statements import Note
from tests.support.builders import (
    DECODING,
    PACKED,
    PADDED,
    attention,
    context,
    elementwise,
    lines,
    masked,
    scalar,
    tensor,
)
from tests.support.small_specs import assert_computes, packed_call, packed_spec

ROWS = "accumulator[stepRows * paddedHeadSize]"
STORE = "MTE3  out[batch * outStrideB + head * outStrideN + stepRows x headDim pitch outStrideN] <- result"
EXISTING = masked(Symbol("i") >= Symbol("limit"), 0.0)


def quantized(*names: str) -> Callable[[nodes.Node], nodes.Node]:
    """Scale and, of two names, offset of each channel."""
    scale, *offset = (tensor(name, ("E",), "float32") for name in names)
    return lambda source: nodes.Quantize(
        source=source, scale=scale, offset=offset[0] if offset else None, axes=("B", "N", "Q", "E")
    )


def made(
    *changes: Callable[[nodes.Node], nodes.Node], query: tuple[str, ...] = DECODING, dtype: str = "float16"
) -> Context:
    positions = None if query is DECODING else Symbol("Q")
    return context(attention(query, epilogue=changes), positions=positions, dtype=dtype)


def printed(c: Context) -> list[str]:
    return lines(epilogue(c, vector_buffers(c).accumulator, Const(0), statistics_of_item(c, clamped=True)))


def test_rows_are_rounded_and_stored() -> None:
    assert printed(made()) == [
        "with result (UB x2):",
        f"V     result[stepRows * paddedHeadSize] = Cast({ROWS}) float16 CAST_RINT",
        f"{STORE}[stepRows x headDim pitch paddedHeadSize]",
    ]


@pytest.mark.parametrize(("max_rows", "place"), [(128, "result"), (256, "partial")])
def test_fp32_rows_leave_as_they_are(max_rows: int, place: str) -> None:
    """Two bands of rows leave no room for a buffer of their own."""
    output = replace(attention(PADDED), dtype="float32")
    found = printed(context(output, positions=Symbol("Q"), max_rows=max_rows))
    assert found[:2] == [
        f"with {place} (UB x2):",
        f"V     {place}[stepRows * paddedHeadSize] = Adds({ROWS}, 0)",
    ]
    stores = [line for line in found if line.startswith("MTE3")]
    assert stores and all(f"<- {place}[" in line for line in stores)


def test_padded_positions_of_fp32_results_are_filled_without_a_conversion() -> None:
    output = replace(attention(PADDED, epilogue=(EXISTING,)), dtype="float32")
    found = lines(zero_padding(context(output, positions=Symbol("Q"))))
    assert found[1].startswith("V     zeroRows[") and "Duplicate" in found[1]
    assert not [line for line in found if "Cast" in line or "zeroWide" in line]


def test_a_factor_of_each_head_is_read_row_by_row() -> None:
    found = printed(made(elementwise("multiply", tensor("headScale", ("N",), "float32"))))
    assert found[1:3] == ["for row in 0..stepRows:", "head := firstHead + rowBegin + r0 + row"]
    row = "accumulator[row * paddedHeadSize + paddedHeadSize]"
    assert found[3] == f"V     {row} = Muls({row}, headScale[head * headScaleStrideN])"


def test_quantization_scales_adds_rounds_and_clips_in_fp32() -> None:
    found = printed(made(quantized("scale", "offset"), dtype="int8"))
    whole = [line for line in found if line.startswith(f"V     {ROWS} =")]
    assert whole == [
        f"V     {ROWS} = Muls({ROWS}, scale[0])",
        f"V     {ROWS} = Mul({ROWS}, factorRows[stepRows * paddedHeadSize])",
        f"V     {ROWS} = Adds({ROWS}, offset[0])",
        f"V     {ROWS} = Add({ROWS}, factorRows[stepRows * paddedHeadSize])",
        f"V     {ROWS} = Cast({ROWS}) float32 CAST_RINT",
        f"V     {ROWS} = Maxs({ROWS}, -128.0)",
        f"V     {ROWS} = Mins({ROWS}, 127.0)",
    ]
    assert [line for line in found if line.startswith("if ")] == [
        "if scaleStrideE == 0:",
        "if offsetStrideE == 0:",
    ]
    assert (
        "V     result[stepRows * paddedHeadSize] = Cast(resultHalf[stepRows * paddedHeadSize]) int8 CAST_RINT"
        in found
    )


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_cast_to_what_is_stored_is_the_rounding_of_the_store(dtype: str) -> None:
    """And one to fp32 is what rows are until then."""

    def cast(source: nodes.Node) -> nodes.Node:
        return nodes.Cast(source=source, dtype=dtype, axes=("B", "N", "Q", "E"))

    assert printed(made(cast)) == printed(made())


def test_without_an_offset_nothing_is_added() -> None:
    assert not [line for line in printed(made(quantized("scale"), dtype="int8")) if "Add" in line]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (elementwise("multiply", tensor("x", ("N", "E"), "int32")), "a result with such numbers of channels"),
        (masked(Symbol("i") > Symbol("limit"), 0.0), "a mask on the result"),
        (masked(Symbol("i") >= Symbol("limit"), 1.0), "a mask on the result"),
        (lambda s: nodes.Cast(source=s, dtype="int8", axes=s.axes), "a result rounded to int8 on the way"),
        (lambda s: nodes.Repeat(source=s, axes=s.axes), "Repeat of the result"),
    ],
)
def test_operations_without_a_rule_are_refused(
    change: Callable[[nodes.Node], nodes.Node], message: str
) -> None:
    with pytest.raises(NotLowered, match=message):
        printed(made(change, query=PADDED))


def test_rules_say_what_zeros_become_and_what_rounds() -> None:
    scaled, shifted = (quantized(*names)(tensor("x", ("E",))) for names in (("a",), ("a", "b")))
    rule = EPILOGUE_RULES[nodes.Quantize]
    assert rule.keeps_zeros(scaled) and not rule.keeps_zeros(shifted)
    assert {kind for kind, each in EPILOGUE_RULES.items() if each.rounds} == {nodes.Quantize, nodes.Cast}
    assert not EPILOGUE_RULES[nodes.Elementwise].keeps_zeros(scaled)


def test_padded_positions_get_zeros_in_a_stage_of_their_own() -> None:
    c = made(EXISTING, query=PADDED)
    assert has_padding(c) and not has_padding(made())
    plain = made(query=PADDED)
    assert printed(c) == printed(plain)  # rows of tasks exist
    found = lines(zero_padding(c))
    assert "if limit <= queryIndex:" in found
    place = "batch * outStrideB + head * outStrideN + queryIndex * outStrideQ"
    assert found[-1].startswith(f"MTE3  out[{place} + stepRows x headDim pitch outStrideN] <- zeroRows")


@pytest.mark.parametrize("query", [DECODING, PACKED])
def test_only_padded_batch_rows_have_positions_to_fill(query: tuple[str, ...]) -> None:
    with pytest.raises(NotLowered, match="batch rows that are not padded"):
        zero_padding(made(EXISTING, query=query))


# Elementwise operations -------------------------------------------------------------------------------------

C = scalar(Symbol("c"))
SLOPE = tensor("slope", ("N",), "float32")


@pytest.mark.parametrize(
    ("change", "title", "statements"),
    [
        (elementwise("add", scalar(Const(1.0))), "result + 1.0", [f"Adds({ROWS}, 1.0)"]),
        (elementwise("subtract", C), "result - c", [f"Adds({ROWS}, resultSubtract)"]),
        (elementwise("divide", scalar(Const(4))), "result / 4", [f"Muls({ROWS}, 0.25)"]),
        (
            elementwise("divide", C),
            "result / c",
            ["Duplicate(c)", f"Div({ROWS}, numbersOfRows[stepRows * paddedHeadSize])"],
        ),
        (
            elementwise("subtract", C, before=True),
            "c - result",
            ["Duplicate(c)", f"Sub(numbersOfRows[stepRows * paddedHeadSize], {ROWS})"],
        ),
        (elementwise("maximum", scalar(Const(0))), "result max 0", [f"Maxs({ROWS}, 0.0)"]),
        (elementwise("exp"), "exp(result)", [f"Exp({ROWS})"]),
        (elementwise("negate"), "-result", [f"Muls({ROWS}, -1.0)"]),
    ],
)
def test_operations_with_a_number_of_the_call(
    change: Callable[[nodes.Node], nodes.Node], title: str, statements: list[str]
) -> None:
    found = printed(made(change))
    assert found[0].removeprefix("# ").startswith(f"result = {title}  (")
    assert [line.split(" = ")[1] for line in found[1 : 1 + len(statements)]] == statements


@pytest.mark.parametrize("op", ["sigmoid", "tanh"])
def test_functions_of_several_instructions_have_scratch_of_their_own(op: str) -> None:
    found = printed(made(elementwise(op)))
    assert all("stepRows * paddedHeadSize" in line for line in found if line.startswith("V     denominator"))
    assert [line for line in found if line.startswith("V     denominatorOfRows[")]


def test_a_divisor_of_each_head_is_spread_over_its_row() -> None:
    found = printed(made(elementwise("divide", SLOPE)))
    row, numbers = (f"{name}[paddedHeadSize]" for name in ("accumulator", "numbersOfRows"))
    assert found[3] == f"V     {numbers} = Duplicate(slope[head * slopeStrideN])"
    place = row.replace("[", "[row * paddedHeadSize + ")
    assert found[4] == f"V     {place} = Div({place}, {numbers})"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            elementwise("add", tensor("x", ("K", "E"), "float32")),
            "with such numbers of channels .*results take a float input over E",
        ),
        (
            elementwise("add", tensor("x", ("L",), "float32")),
            r"differs along L .*results take functions",
        ),
        (
            elementwise("add", tensor("x", ("N",), "float16")),
            "x of dtype float16, which has a number for each head",
        ),
        (lambda s: elementwise("multiply", s)(s), "'multiply' of the result by a function of itself"),
        (
            lambda s: elementwise("add", C)(quantized("scale")(s)),
            "'add' of quantized results.*let it come before",
        ),
    ],
)
def test_operations_that_are_none_of_rows_are_refused(
    change: Callable[[nodes.Node], nodes.Node], message: str
) -> None:
    with pytest.raises(NotLowered, match=message):
        printed(made(change, query=PADDED))


OUT = "out = attend.softmax(s) @ attend.packed(value, keys)"
DECLARED = """
slope = op.input("slope", "N", dtype="float32")
gate = op.input("gate", "T1 N", dtype="float32", axes="S N")
c = op.param("c", float, default=1.75)
"""
OPERATIONS_OF_ROWS = {
    "a sum": "out + 0.5",
    "a difference": "c - out * 2.0",
    "a quotient": "out / c",
    "a quotient by each head": "out / slope",
    "a quotient of each head": "slope / attend.exp(out)",
    "a number of each query and head": "out * gate + gate",
    "tanh": "attend.tanh(out * slope) * c",
    "sigmoid": "attend.sigmoid(out) - slope",
    "limits": "attend.minimum(attend.maximum(-out, -0.25), c / 8)",
}


@pytest.mark.sweep(fast=8)
@pytest.mark.parametrize("split", [1, 3])
@pytest.mark.parametrize("name", OPERATIONS_OF_ROWS)
def test_elementwise_results_on_the_tile_program(tmp_path: Path, name: str, split: int) -> None:
    """Of rows that one task finishes, and of those that are merged; one batch row has no keys."""
    check_rows(tmp_path, name, "tile", f"tile_k=128, split_kv={split}")


@pytest.mark.parametrize("name", ["tanh", "a quotient of each head", "a number of each query and head"])
def test_elementwise_results_in_the_emulator(tmp_path: Path, name: str) -> None:
    check_rows(tmp_path, name, "emulator", "tile_k=128")


def check_rows(folder: Path, name: str, backend: str, schedule: str) -> None:
    result = f'op.output("out", {OPERATIONS_OF_ROWS[name]}, like=query)'
    used = [line for line in DECLARED.split("\n") if line.split(" =")[0] in OPERATIONS_OF_ROWS[name]]
    op = packed_spec(folder, OUT, result, declared="\n".join(used), schedule=schedule)
    rng = np.random.default_rng(3)
    operands = {
        "slope": np.array([0.5, -0.25, 1.5, 3.0], np.float32),
        "gate": rng.standard_normal((44, 4)).astype(np.float32),
    }
    known = {each: value for each, value in operands.items() if f"{each} =" in "\n".join(used)}
    assert_computes(op, backend, tolerance=8e-3, **packed_call([37, 5, 2], [300, 133, 0]), **known)


def test_a_kind_of_operations_is_a_rule_and_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    note = Note(text="repeated")
    planted = EpilogueRule(lower=lambda context, node, source, offset, each_run: [note])
    change = made(lambda s: nodes.Repeat(source=s, axes=s.axes))
    with pytest.raises(NotLowered, match="Repeat of the result"):
        printed(change)
    monkeypatch.setitem(EPILOGUE_RULES, nodes.Repeat, planted)
    assert printed(change)[0] == "# repeated"


@pytest.mark.parametrize("op", OPERATIONS)
def test_an_elementwise_operation_is_a_line_of_the_table(op: str) -> None:
    """Every operation of scores is one of result rows: alone, or with a number."""
    operation = OPERATIONS[op]
    others = () if operation.own else (SLOPE,)
    found = printed(made(elementwise(op, *others)))
    assert [line for line in found if line.startswith("V     accumulator[")]
