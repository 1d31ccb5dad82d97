"""Weights that are no softmax: functions of the scores, summed over the keys without a normalization."""

import math
from pathlib import Path

import numpy as np
import pytest

from attndsl.compiler.compile import compile_operator
from attndsl.expr import Const
from attndsl.graph import nodes
from attndsl.lowering.errors import NotLowered
from attndsl.lowering.masks.hidden_values import value_after
from attndsl.lowering.signature.specialization import Specialization
from attndsl.verify.judge.golden import golden
from tests.support.builders import tensor
from tests.support.small_specs import DECODE_SCORES, assert_computes, decode_call, decode_spec, packed_call
from tests.support.small_specs import packed_spec as packed

DECODE = 'op.output("out", weights @ attend.rows(value) * 0.05, like=query)'
PACKED = 'op.output("out", weights @ attend.packed(value, keys) * 0.1, like=query)'
CAUSAL = "s = s.where(j <= i)"
WEIGHTS = {
    "sigmoid": "weights = attend.sigmoid(s - 2)",
    "relu": "weights = attend.relu(s)",
    "squared relu": "r = attend.relu(s)\nweights = r * r * 0.1",
    "the scores themselves": "weights = s * 0.1",
    "half of a tanh": "weights = (attend.tanh(s) + 1) * 0.5",
}


@pytest.mark.parametrize("splits", ["1", "3", '"auto"'])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_of_all_keys(tmp_path: Path, weights: str, splits: str) -> None:
    schedule = f"tile_k=128, split_kv={splits}"
    op = decode_spec(tmp_path, DECODE_SCORES, WEIGHTS[weights], DECODE, schedule=schedule)
    assert_computes(op, "tile", tolerance=6e-3, **decode_call(t=500))


@pytest.mark.sweep(fast=3)
@pytest.mark.parametrize("weights", ["sigmoid", "relu", "squared relu"])
@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_hidden_keys_add_nothing(tmp_path: Path, weights: str, backend: str) -> None:
    """Batch rows without keys, and rows that see one; keys beyond the diagonal are not loaded."""
    op = packed(tmp_path, CAUSAL, WEIGHTS[weights], PACKED)
    call = packed_call([200, 3, 40], [200, 0, 300])
    assert_computes(op, backend, tolerance=1e-2, **call)
    assert (op(**call, backend=backend)[200:203] == 0).all()


def test_sums_by_hand(tmp_path: Path) -> None:
    call = decode_call(b=1, n=1, k=1, t=60)
    op = decode_spec(tmp_path, DECODE_SCORES, "weights = attend.sigmoid(s.where(j < 50))", DECODE)
    query, key, value = (np.asarray(call[name], np.float64)[0, 0] for name in ("query", "key", "value"))
    want = (1 / (1 + np.exp(-0.2 * query @ key.T)))[:, :50] @ value[:50] * 0.05
    for backend in ("reference", "tile", "emulator"):
        np.testing.assert_allclose(op(**call, backend=backend)[0, 0].astype(float), want, rtol=0, atol=2e-3)


@pytest.mark.parametrize("backend", ["tile", "emulator"])
def test_weights_are_rounded_as_their_author_is_told(tmp_path: Path, backend: str) -> None:
    """Beyond 65504 they are infinite in float16; with scores scaled down and the result up they are not."""
    call = decode_call(b=1, n=1, k=1, t=4)
    call["query"][...], call["key"][...], call["value"][...] = 8.0, 8.0, 1.0  # scores of 2048 and more
    for weights, results in (("r = attend.relu(s)", 0.005), ("r = attend.relu(s / 64)", 0.005 * 4096)):
        body = (weights, "weights = r * r", DECODE.replace("0.05", f"{results / 4096}"))
        op = decode_spec(tmp_path, DECODE_SCORES, *body)
        assert np.isfinite(op(**call)).all()
        finite = np.isfinite(op(**call, backend=backend)).all()
        assert finite == ("64" in weights)


def test_errors_are_measured_in_the_sum_of_all_terms(tmp_path: Path) -> None:
    """Weights that sum up to more than 1 have larger terms, of which cancelling sums show nothing."""
    op, call = decode_spec(tmp_path, DECODE_SCORES, WEIGHTS["relu"], DECODE), decode_call(t=300)
    (result,) = golden(op.bind(**call)).results
    terms = op(**{**call, "value": np.abs(call["value"])}, precision="float64").astype(float)
    assert result.sizes is not None
    np.testing.assert_allclose(result.sizes, np.maximum(1, terms), rtol=1e-3)
    assert (terms > np.abs(result.values) + 1).any()


def test_an_offset_of_values_needs_the_sum_of_probabilities(tmp_path: Path) -> None:
    declared = """
op.axes(C=2)
stored = op.input("stored", "B K T D", dtype="int8", axes="B K T E")
scale = op.input("scale", "2 K D", dtype=query, axes="C K D")
offset = op.input("offset", "2 K D", dtype=query, axes="C K D")
rows = attend.rows(attend.dequantize(stored, scale.part(1), offset.part(1)))
"""
    body = (DECODE_SCORES, WEIGHTS["relu"], DECODE.replace("attend.rows(value)", "rows"))
    special = Specialization(dtype="float16", padded_head_size=32)
    with pytest.raises(NotLowered, match="values with an offset under weights that are no softmax"):
        compile_operator(decode_spec(tmp_path, *body, declared=declared), special)


def of_score(op: str, *others: float) -> nodes.Elementwise:
    score = nodes.Scores(query=nodes.Input(name="q", axes=("B",)), keys=nodes.Rows(axes=("B",)))
    numbers = [nodes.Scalar(value=Const(each)) for each in others]
    return nodes.Elementwise(op=op, inputs=(score, *numbers), axes=("B", "N", "Q", "T"))


@pytest.mark.parametrize(
    ("chain", "vanishes"),
    [
        ((of_score("sigmoid"),), True),
        ((of_score("add", -5.0), of_score("multiply", 2.0), of_score("exp")), True),
        ((of_score("maximum", 0.0),), True),
        ((of_score("maximum", 0.5),), False),
        ((of_score("multiply", -1.0), of_score("sigmoid")), False),
        ((of_score("tanh"),), False),
        ((of_score("sigmoid"), of_score("add", 1.0)), False),
        ((of_score("sigmoid"), of_score("multiply", -3.0)), True),
        ((), False),
    ],
)
def test_which_functions_vanish_where_a_mask_hides(
    chain: tuple[nodes.Elementwise, ...], vanishes: bool
) -> None:
    assert (value_after(chain, float("-inf")) == 0) is vanishes


def test_nothing_is_known_behind_a_modifier_that_is_not_known() -> None:
    """A mask in its place replaces other scores, and leaves these as they are."""
    zero = of_score("sigmoid")
    other = nodes.Cast(source=zero, dtype="float16", axes=zero.axes)
    mask = nodes.Replace(source=zero, condition=tensor("mask", zero.axes), value=1.0, axes=zero.axes)
    assert math.isnan(value_after((zero, other), -math.inf))
    assert value_after((zero, mask), -math.inf) == 0
