"""Sums and differences of attentions, each with operations of its own; no log-sum-exp merge."""

from pathlib import Path

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.signature.specialization import Specialization
from attndsl.spec.operator.operator import Operator
from tests.support.small_specs import assert_computes, decode_call, decode_spec

PART = """
def part(visible):
    return attend.softmax((attend.scores(query, attend.rows(key)) * 0.2).where(visible)) @ attend.rows(value)
"""
DECLARED = """
gates = op.input("gates", "B N", dtype="float32", axes="B N")
lam = op.param("lam", float, default=0.7)
"""
SUMS = {
    "a difference": "part(j < 100) - part(j >= 30) * lam",
    "gated": "part(j < 100) * gates + attend.sigmoid(part(j % 2 == 0)) / lam",
    "three": "part(j < 100) - (part(j >= 30) - part(j >= 200) * 2)",
    "with operations on the sum": "attend.tanh(0 - (part(j < 100) + part(j >= 30))) * gates",
    "with rows that see no key": "part(j < 0) + part(j < 20)",
    "a sum of weights beside a softmax": (
        "part(j < 60) + attend.relu(attend.scores(query, attend.rows(key)) * 0.2) @ attend.rows(value) * 0.01"
    ),
}


def spec(folder: Path, result: str, schedule: str = "") -> Operator:
    output = f'op.output("out", {result}, like=query)'
    return decode_spec(folder, PART, output, declared=DECLARED, schedule=schedule)


@pytest.mark.sweep(fast=6)
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("name", SUMS)
def test_sums_are_of_normalized_rows(tmp_path: Path, name: str, splits: int) -> None:
    op = spec(tmp_path, SUMS[name], f"tile_k=128, split_kv={splits}")
    gates = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    assert_computes(op, "tile", **decode_call(), gates=gates)


def test_a_sum_on_the_emulator(tmp_path: Path) -> None:
    assert_computes(
        spec(tmp_path, SUMS["gated"]), "emulator", **decode_call(), gates=np.ones((2, 4), np.float32)
    )


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            "part(j < 9) * part(j >= 9)",
            r"several attentions .*; attentions are joined by \+, - and attend.merge",
        ),
        ("part(j < 9) + (part(j < 8) + part(j < 7)) * lam", "let it act on each attention of the inner sum"),
    ],
)
def test_other_joins_are_refused_with_those_that_lower(tmp_path: Path, result: str, words: str) -> None:
    with pytest.raises(NotLowered, match=words):
        compile_operator(spec(tmp_path, result), Specialization(dtype="float16", padded_head_size=32))
