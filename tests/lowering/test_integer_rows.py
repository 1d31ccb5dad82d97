"""Rows of int8 beside queries of numbers are refused in every source, unless they are dequantized."""

from pathlib import Path

import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.keys.source_rules import SOURCES
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.loader import load_file

SPEC = """
from attndsl.spec import attend, Operator
op = Operator("stored_rows", summary="One query a batch row.")
B, N, K, T, D, G, P, R, U, W = op.dims("B N K T D G P R U W")
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E=D, G=G, P=P, R=R, U=U, W=W, C=2)
query = op.input("query", "B N 1 D", dtype="float16", axes="B N Q D")
key = op.input("key", "{layout}", dtype={dtype}, axes="{axes}")
value = op.input("value", "{layout}", dtype="float16", axes="{value_axes}")
scale = op.input("scale", "K D", dtype="float16", axes="K D")
table = op.input("table", "B W", dtype="int32", axes="B W")
lengths = op.lengths("lengths", "B", meaning="keys of each batch row")
told = op.input("told", "G P R T U", dtype="int32", indexed=True)
p = attend.softmax(attend.scores(query, {keys}))
op.output("out", p @ {values}, like=query)
"""
STORED = {
    "Dense": ("B K T D", "B K T D", "attend.rows({}, length=lengths)"),
    "Packed": ("U K D", "U K D", "attend.packed({}, length=lengths)"),
    "Paged": ("P K R D", "P K R D", "attend.paged({}, table, R, length=lengths)"),
    "Listed": ("G K T D", "G K T D", "attend.listed({}, index=lengths[attend.BATCH] % G)"),
    "a component": ("2 B K T D", "C B K T D", "attend.rows({}.part(0), length=lengths)"),
}
"""Sources of stored rows: the layout and the axes of their tensor, and how an author reads them."""
INTEGERS = "attend.dequantize({}, scale)"


def compiled(folder: Path, source: str, dtype: str, key: str) -> None:
    """The operator whose keys are stored in this dtype, and are what ``key`` says of them."""
    layout, axes, read = STORED[source]
    stored = "key.part(0)" if "part" in read else "key"
    text = SPEC.format(
        layout=layout,
        dtype=dtype,
        axes=axes,
        value_axes=axes.replace("D", "E"),
        keys=read.replace(".part(0)", "").format(key.format(stored)),
        values=read.format("value"),
    )
    file = folder / "stored_rows.py"
    file.write_text(text)
    compile_operator(load_file(file), Specialization(dtype="float16", padded_head_size=32))


@pytest.mark.parametrize("source", STORED)
def test_integers_as_they_are_are_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(NotLowered, match="key of dtype int8 beside queries of float16") as caught:
        compiled(tmp_path, source, '"int8"', "{}")
    assert "stored_rows.py:7: " in str(caught.value)
    assert "write attend.dequantize(key, scale)" in str(caught.value)


@pytest.mark.sweep(fast=4)
@pytest.mark.parametrize("source", STORED)
@pytest.mark.parametrize(("dtype", "key"), [("query", "{}"), ('"int8"', INTEGERS)])
def test_numbers_and_integers_that_stand_for_some_compile(
    tmp_path: Path, source: str, dtype: str, key: str
) -> None:
    compiled(tmp_path, source, dtype, key)


def test_every_source_of_stored_rows_is_tested() -> None:
    fields = {kind: set(kind.__dataclass_fields__) for kind in SOURCES}
    assert {kind.__name__ for kind in SOURCES if fields[kind] & {"tensor", "tensors"}} <= set(STORED)
