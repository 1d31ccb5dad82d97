"""Numbers of a host's problem have the names of the words that they stand for."""

from __future__ import annotations

import pytest

from attndsl import ops
from attndsl.codegen.host.problem_words import Words, problem_words, with_words
from attndsl.codegen.names.arguments import DTYPE_ROWS
from attndsl.codegen.text.cxx_expressions import cxx_text
from attndsl.codegen.text.render import runtime
from attndsl.expr import Expr, Symbol

MASK = Words("maskType", "MaskType", (("kUndefined", 0), ("kNorm", 1)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Symbol("maskType") == 1, "maskType == values::MaskType::kNorm"),
        (Symbol("maskType") != 0, "maskType != values::MaskType::kUndefined"),
        (Symbol("maskType") == 7, "maskType == 7"),
        (Symbol("window") == 1, "window == 1"),
    ],
)
def test_comparisons_with_words_have_their_names(value: Expr, text: str) -> None:
    found = with_words(value, {"maskType": MASK})
    assert cxx_text(found, MASK.spelled) == text
    for number in (0, 1, 7):
        env = {"maskType": number, "window": number}
        assert found.evaluate(env) == value.evaluate(env)


def test_words_of_an_operator() -> None:
    words = problem_words(ops.self_attention)
    constant = words["maskType"].constant(1)
    assert constant is not None and constant.value == 1
    assert words["maskType"].spelled[constant.name] == "values::MaskType::kNorm"
    assert words["layout(cacheK)"] == words["host.cacheKLayout"]
    assert dict(words["layout(cacheK)"].constants)["kLayers"] == 0
    assert dict(words["dtype(query)"].constants) == {"kFloat16": 0, "kBfloat16": 1}
    for each in words.values():
        names, numbers = zip(*each.constants, strict=True)
        assert len(set(names)) == len(names) and len(set(numbers)) == len(numbers)


def test_dtypes_of_the_runtime_are_those_of_contracts() -> None:
    """``contract.h`` is a file of its own, so that nothing prints its list."""
    text = runtime("op_host/contract.h")
    members = [row.member for row in DTYPE_ROWS]
    assert text.split("enum class DataType {")[1].split("}")[0].replace(" ", "").replace("\n", "") == (
        ",".join(["kNone", *members]) + ","
    )
    names = text.split("kNames[] = {")[1].split("}")[0].replace("\n", " ").split(",")
    assert [name.strip().strip('"') for name in names] == ["None", *(row.name for row in DTYPE_ROWS)]
    for row in DTYPE_ROWS:
        call = runtime("op_host/cann_call.h")
        assert f"case ge::{row.ge}:" in call and f"case DataType::{row.member}:" in call
