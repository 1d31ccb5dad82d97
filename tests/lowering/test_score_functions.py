"""Functions of scores: each operation of the table, and how exact those are that are made of several."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.graph.elementwise import ARITY
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.operands.elementwise_ops import OPERATIONS
from attndsl.lowering.signature.specialization import Specialization
from attndsl.reference.arithmetic import OPERATIONS as MEANINGS
from tests.support.small_specs import (
    DECODE_RESULT,
    DECODE_SCORES,
    assert_computes,
    decode_call,
    decode_spec,
    halves,
)

DECLARED = {
    "cap": 'cap = op.param("cap", float, default=2.0)',
    "slope": 'slope = op.input("slope", "N", dtype="float32")',
    "bias": 'bias = op.input("bias", "B N T", dtype=query, axes="B N T")',
}
# by what is written; scores are about normal, of a standard deviation of 1
FUNCTIONS = {
    "soft-capping": "1.5 * attend.tanh(s / 1.5)",
    "soft-capping by a parameter": "attend.tanh(s / cap) * cap",
    "a parameter with them": "cap * attend.tanh((cap - s) / cap) + cap / (cap + s + 9.0)",
    "by a number of each head": "s / slope",
    "of a number": "2.0 / (s + 9.0)",
    "of a number of each head": "slope / (s + 9.0)",
    "a number less them": "1.5 - s",
    "a number of each head less them": "attend.minimum(slope - s, 0.3)",
    "by a bias": "s / (bias * 0.05 + 2.0)",
    "a bias by them": "bias / (s + 9.0)",
    "a bias less them": "attend.maximum(bias - s, 0.1)",
    "the larger of a bias and them": "attend.maximum(s, bias)",
    "by the exponential of a bias": "s / attend.exp(bias * 0.5)",
    "by a sigmoid of a bias": "s * attend.sigmoid(bias) / 0.25",
    "exp": "attend.exp(s)",
    "log": "attend.log(s + 9.0)",
    "sqrt": "attend.sqrt(s + 9.0) * 3.0",
    "abs": "abs(s)",
    "sigmoid": "4.0 * attend.sigmoid(s)",
    "the larger of two": "attend.maximum(s, -s)",
    "the smaller of two": "attend.minimum(s + 1.0, s * s)",
    "the smaller of two of the absolute": "attend.minimum(abs(s) * 2.0, attend.minimum(-s, 0.5) - bias)",
    "a product with itself": "s * s",
    "a product of two": "s * attend.sigmoid(s * 1.5)",
    "two of what they have in common": "attend.maximum(abs(s + 0.5) * 2.0, attend.exp(s + 0.5)) - 1.0",
    "a difference of differences": "((s - s * s) - (attend.exp(s) - attend.tanh(s))) * 0.25",
    "with a bias in one": "(s + bias) * attend.sigmoid(s + attend.index(j) * 0.02 - attend.index(j) * 0.01)",
    "of positions": "s * attend.exp(attend.index(j - i) * -0.01) / attend.sqrt(attend.index(j + 1))",
}


# those of which generated code is run, too: together they have each operation
IN_GENERATED_CODE = (
    "soft-capping by a parameter",
    "log",
    "with a bias in one",
    "of a number of each head",
    "the larger of a bias and them",
    "a difference of differences",
    "of positions",
    "the smaller of two of the absolute",
)


def function(folder: Path, text: str) -> tuple[Any, dict[str, Any]]:
    """An operator whose scores are a function ``text`` of dot products, and a call of it."""
    declared = "\n".join(line for name, line in DECLARED.items() if name in text)
    op = decode_spec(folder, DECODE_SCORES, f"s = {text}", DECODE_RESULT, declared=declared)
    more = {"slope": np.array([0.5, 1.25, 1.5, 0.75], np.float32), "bias": halves(2, 4, 300)}
    return op, decode_call() | {name: value for name, value in more.items() if name in text}


@pytest.mark.sweep(fast=12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_scores(tmp_path: Path, name: str) -> None:
    op, call = function(tmp_path, FUNCTIONS[name])
    assert_computes(op, "tile", **call)


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("name", IN_GENERATED_CODE)
def test_functions_of_scores_in_generated_code(tmp_path: Path, name: str) -> None:
    op, call = function(tmp_path, FUNCTIONS[name])
    assert_computes(op, "emulator", **call)


@pytest.mark.parametrize("text", ["s + (1.0 - attend.index(j))", "s * (b + i + 2.5 - bias.at(n, j))"])
def test_a_number_less_what_differs_by_key(tmp_path: Path, text: str) -> None:
    """Computed as the negative of what differs by key less the number."""
    text = text.replace("bias.at(n, j)", "bias").replace("b + i", "attend.index(b + i)")
    op, call = function(tmp_path, text)
    assert_computes(op, "tile", **call)


def test_the_operations_are_those_of_the_graph() -> None:
    assert set(OPERATIONS) == set(ARITY) == set(MEANINGS)
    for name, operation in OPERATIONS.items():
        assert (operation.own is not None) == (ARITY[name] == 1)
        assert bool(operation.tensor) == (ARITY[name] == 2)


def test_soft_capping_takes_scores_of_any_size(tmp_path: Path) -> None:
    """Neither large scores nor hidden ones overflow on the way."""
    text = "1.5 * attend.tanh(s.where(j < T - 9).replace(attend.condition(j < 5), -1e12) * 100.0)"
    op, call = function(tmp_path, text)
    assert_computes(op, "tile", **call)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "attend.maximum(s, s.where(j < 9))",
            "a mask on one of two functions of scores .*; put it in front of both",
        ),
        ("(s + bias) * attend.sigmoid(s * bias)", "read tensors .*; let one of them read none"),
        ("s + attend.index(j) / cap", "no literal .*; multiply by its reciprocal"),
        ("s + 1.0 / attend.index(j + 1)", "behind a number .*; pass the quotient as an input of its own"),
        (
            "s + attend.scores(query, attend.rows(key))",
            "of the scores, or probabilities, of two products.*joined in the caller",
        ),
    ],
)
def test_other_functions_are_refused_with_what_to_write(tmp_path: Path, text: str, words: str) -> None:
    op, _ = function(tmp_path, text)
    features = frozenset(name for name in ("bias",) if name in text)
    with pytest.raises(NotLowered, match=rf"small_decode\.py:\d+: .*{words}"):
        compile_operator(op, Specialization(dtype="float16", padded_head_size=32, features=features))
