"""What results may be off by where scores pass in float16: what rounding makes of them, and no more."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from attndsl.base.package_files import specs_dir
from attndsl.campaign.judging import Wanted, judge, oracle
from attndsl.campaign.results import NARROW_SCORES
from attndsl.campaign.runner import verify
from attndsl.graph.nodes import RowMax, Softmax, WeightedSum
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.verify.judge import benchmark, narrow_scores
from attndsl.verify.judge.compare import compare
from attndsl.verify.judge.golden import Result, golden

Array = Any
NARROW = load(str(specs_dir() / "variants" / "narrow_scores.py"))
TIE = 2049.0
"""A product in the middle of two numbers of float16."""


def call(products: Array, scale: float) -> Call:
    """One query whose products with keys are these; values are their numbers."""
    count = len(products)
    query, key = np.zeros((1, 1, count, 16), np.float16), np.zeros((1, 1, count, 16), np.float16)
    query[..., 0], query[..., 1] = 256, 1
    key[0, 0, :, 0] = products // 256
    key[0, 0, :, 1] = products - products // 256 * 256
    value = np.zeros_like(key)
    value[0, 0, :, 0] = np.linspace(-4, 4, count)
    return NARROW.bind(query=query, key=key, value=value, scale=scale)


def with_scores(products: Array, scale: float, dtype: Any) -> Array:
    """The result with products rounded to a dtype."""
    scores = products.astype(dtype).astype(np.float64) * scale
    weights = np.exp(scores - scores.max())
    out = np.zeros((1, 1, len(products), 16))
    out[..., 0] = weights @ np.linspace(-4, 4, len(products)) / weights.sum()
    return out.astype(np.float16)


def is_right(actual: Array, want: Result) -> bool:
    base = want.values.astype(np.float16)
    assert want.slack is not None
    return compare(actual, want.values, base, bound=2.0**-8, level=None, slack=want.slack).ok


def test_rounding_to_float16_is_right_and_more_is_not() -> None:
    products = np.random.default_rng(0).integers(0, 30, 40) * 2.0 + 4097  # off by one in float16, and no ties
    (want,) = golden(call(products, 0.125)).results
    rounded = with_scores(products, 0.125, np.float16)
    assert np.abs(rounded - want.values).max() > 2.0**-6  # rounding is seen, and right
    assert is_right(rounded, want) and is_right(with_scores(products, 0.125, np.float64), want)
    assert not is_right(with_scores(products, 0.125, ml_dtypes.bfloat16), want)
    shifted = np.roll(products, 1)
    assert not is_right(with_scores(shifted, 0.125, np.float16), want)


def test_a_product_in_the_middle_may_become_either() -> None:
    others = [2048.0, 2050.0]
    (want,) = golden(call(np.array([TIE, *others]), 2.0**-4)).results
    for either, right in ((2048.0, True), (2050.0, True), (2060.0, False)):
        found = with_scores(np.array([either, *others]), 2.0**-4, np.float64)
        assert is_right(found, want) is right


def test_what_a_product_beyond_the_range_makes_is_left_open() -> None:
    for product, is_open in ((65519.0, False), (65520.0, True)):
        (want,) = golden(call(np.array([product, 0.0]), 0.0)).results
        assert want.slack is not None and np.isnan(want.slack).any() == is_open
        made = call(np.array([product, 0.0]), 0.0)
        found = judge(made, "tile", Wanted(oracle(made), benchmark.run(made), None))
        assert found.status == "pass", found.message


def test_a_verification_says_that_no_accuracy_class_is_asked() -> None:
    found = verify(NARROW, cases=2, backends=())
    assert found.to_json()["accuracy"] == {NARROW_SCORES: 2}
    told = io.StringIO()
    found.print(Console(file=told, width=200))
    assert "scores pass in float16: 2 cases are judged" in told.getvalue()
    beyond = replace(found, rows=tuple(replace(row, unjudged=3) for row in found.rows))
    told = io.StringIO()
    beyond.print(Console(file=told, width=200))
    assert "leaves open: in 2 of them" in told.getvalue()
    usual = verify(load("relay_attention"), cases=1, backends=())
    assert set(usual.to_json()["accuracy"]) <= {"L2", "L2 (means)", "L0 (RMSE)"}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_no_other_spec_has_slack(dtype: Any) -> None:
    tokens = np.ones((1, 1, 8, 16), dtype)
    wide = load(str(specs_dir() / "variants" / "gqa_prefill_lse.py"))
    assert all(
        each.slack is None for each in golden(wide.bind(query=tokens, key=tokens, value=tokens)).results
    )


def test_statistics_that_are_known_are_not_computed_again() -> None:
    """Of other attentions of the call, whose scores are the nearest float16 in each run."""
    state = new_state(call(np.arange(8.0), 0.125), np.dtype(np.float64))
    runs = narrow_scores.narrow_runs(state)
    assert len(runs.turned) == 1, "of each softmax one"
    (node,) = (each for each in state.call.graph.nodes if isinstance(each, WeightedSum))
    softmax = next(each for each in node.weights.walk() if isinstance(each, Softmax))
    others: Any = {RowMax: "known"}
    runs.near.statistics[-1] = others
    known = {id(node): runs.near.whole(node)}
    run = narrow_scores._turned(state, runs.near, known, node, softmax)
    assert run.statistics[-1] is others and run.statistics.keys() == runs.near.statistics.keys()
    assert run.statistics[id(softmax)] is not runs.near.statistics[id(softmax)]
