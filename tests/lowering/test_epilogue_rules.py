"""The epilogue: operations on complete rows, rounding and storing them, and zeros for padded positions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attndsl.expr import Const, Symbol
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.vector_buffers import vector_buffers
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.results.epilogue_rules import EPILOGUE_RULES, epilogue
from attndsl.lowering.results.zero_padding import has_padding, zero_padding

from .builders import DECODING, PACKED, PADDED, attention, context, elementwise, lines, masked, scalar, tensor

ROWS = "accumulator[chunk * headDimBucket]"
STORE = "MTE3  out[batch * outStrideB + head * outStrideN + chunk x headDim pitch outStrideN] <- result"
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
    return lines(epilogue(c, vector_buffers(c).accumulator, Const(0), c.rows.each_run))


def test_rows_are_rounded_and_stored() -> None:
    assert printed(made()) == [
        "with result (UB x2):",
        f"V     result[chunk * headDimBucket] = Cast({ROWS}) float16 CAST_RINT",
        f"{STORE}[chunk x headDim pitch headDimBucket]",
    ]


def test_a_factor_of_each_head_is_read_row_by_row() -> None:
    found = printed(made(elementwise("multiply", tensor("headScale", ("N",), "float32"))))
    assert found[1:3] == ["for row in 0..chunk:", "head := firstHead + rowBegin + r0 + row"]
    row = "accumulator[row * headDimBucket + headDimBucket]"
    assert found[3] == f"V     {row} = Muls({row}, headScale[head * headScaleStrideN])"


def test_quantization_scales_adds_rounds_and_clips_in_fp32() -> None:
    found = printed(made(quantized("scale", "offset"), dtype="int8"))
    whole = [line for line in found if line.startswith(f"V     {ROWS} =")]
    assert whole == [
        f"V     {ROWS} = Muls({ROWS}, scale[0])",
        f"V     {ROWS} = Mul({ROWS}, factorRows[chunk * headDimBucket])",
        f"V     {ROWS} = Adds({ROWS}, offset[0])",
        f"V     {ROWS} = Add({ROWS}, factorRows[chunk * headDimBucket])",
        f"V     {ROWS} = Cast({ROWS}) float32 CAST_RINT",
        f"V     {ROWS} = Maxs({ROWS}, -128.0)",
        f"V     {ROWS} = Mins({ROWS}, 127.0)",
    ]
    assert [line for line in found if line.startswith("if ")] == [
        "if scaleStrideE == 0:",
        "if offsetStrideE == 0:",
    ]
    assert (
        "V     result[chunk * headDimBucket] = Cast(resultHalf[chunk * headDimBucket]) int8 CAST_RINT"
        in found
    )


def test_without_an_offset_nothing_is_added() -> None:
    assert not [line for line in printed(made(quantized("scale"), dtype="int8")) if "Add" in line]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (elementwise("add", scalar(Const(1.0))), "'add' of the result"),
        (elementwise("multiply", tensor("x", ("N", "E"), "float32")), "'multiply' of the result"),
        (masked(Symbol("i") > Symbol("limit"), 0.0), "Replace of the result"),
        (masked(Symbol("i") >= Symbol("limit"), 1.0), "Replace of the result"),
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
    assert found[-1].startswith(f"MTE3  out[{place} + chunk x headDim pitch outStrideN] <- zeroRows")


@pytest.mark.parametrize("query", [DECODING, PACKED])
def test_only_padded_batch_rows_have_positions_to_fill(query: tuple[str, ...]) -> None:
    with pytest.raises(NotLowered, match="batch rows that are not padded"):
        zero_padding(made(EXISTING, query=query))
