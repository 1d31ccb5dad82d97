"""What the tensors of a case hold besides queries, keys and values: sizes and signs that cases lean on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl import ops
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import spaces
from attndsl.verify.data.masks import HIDING, pattern
from attndsl.verify.data.probes import (
    ALARM,
    INTEGER_STEP,
    LARGEST,
    LARGEST_WITH_SLOPES,
    size_of_values,
    step,
)
from attndsl.verify.judge.rounding_sensitivity import _at_boundary
from attndsl.verify.space import argument_roles
from attndsl.verify.space.solve import solve
from attndsl.verify.space.values import FILL, PROBE, RAMP, SLOPE, SUNK, WORKLOAD
from tests.support.fillers import filler, filler_of
from tests.support.small_specs import DECODE_SCORES, decode_file

QUANTIZED = {"quantType": 3, "outDataType": 27}


def test_results_of_integer_queries_have_the_dtype_that_they_are_cast_to() -> None:
    found = filler("self_attention_pa_encoder", **QUANTIZED)
    assert found.dtype("query") == "int8" and found.io == "bfloat16"
    plain = filler("self_attention_pa_encoder", quantType=0, **{"dtype(query)": "bfloat16"})
    assert plain.io == plain.dtype("query") == "bfloat16"


@pytest.mark.parametrize("fill", [PROBE, "normal"])
def test_slopes_of_probes_leave_all_weights_alike(fill: str) -> None:
    """Over all keys the bias of a probe is a quarter at most; other slopes are the document's."""
    found = filler("self_attention_pa_encoder", maskType=6, **{FILL: fill, "longest(seqLen)": 100})
    (name,) = found.roles.named(argument_roles.SLOPE)
    slopes = np.abs(found.made[name].astype(np.float64))
    reach = slopes * max(found.extents["T"], 1)
    if fill == PROBE:
        assert slopes.min() > 0 and reach.max() <= 0.2501
    else:
        heads = slopes.size
        wanted = 2.0 ** (-8.0 * (np.arange(heads) + 1) / heads)
        ratio = slopes.reshape(-1) / wanted
        assert np.allclose(ratio, ratio[0]) and np.isclose(ratio[0], (1.0, 0.125)).any()


def test_logits_without_a_key_are_as_far_down_as_sunk_scores() -> None:
    """Where these have a slope, in cases of kernels: another one would be all that such a row has."""
    plain = {name: filler("sinks", **values).made["sink"] for name, values in _SUNK.items()}
    assert (abs(plain["without a slope"]) < 9).all() and (abs(plain["ramp"]) < 9).all()
    assert (abs(plain["sunk"] + 160) < 9).all()


_SUNK: dict[str, dict[str, Any]] = {
    "without a slope": {FILL: SUNK},
    "sunk": {FILL: SUNK, SLOPE: 1.0},
    "ramp": {FILL: RAMP, SLOPE: 1.0},
}
_SLOPED: dict[str, Any] = {"maskType": 6, "quantType": 0, "batch": 1}
_HIDE_OR_ADD = ("actual_seq_lengths", "block_table", "attn_mask", "pse_shift")
_PLAIN: dict[str, Any] = {"dtype(key)": "float16", "layout(key)": "BNSD", "layout(value)": "BNSD", "B": 1}


_LONG_PROMPT: dict[str, Any] = {**_SLOPED, "longest(seqLen)": 1500, "longest keys(seqLen)": 1500}


@pytest.mark.parametrize(
    ("mode", "pins", "dtype", "size"),
    [
        ("self_attention_pa_encoder", _LONG_PROMPT, "float16", LARGEST_WITH_SLOPES["float16"]),
        ("self_attention_pa_encoder", _LONG_PROMPT, "bfloat16", LARGEST_WITH_SLOPES["bfloat16"]),
        (
            "incre_flash_attention",
            {**_PLAIN, "S": 1500, **{f"given({name})": False for name in _HIDE_OR_ADD}},
            "float16",
            512.0,
        ),
    ],
    ids=["slopes", "slopes bfloat16", "no slopes"],
)
def test_values_are_bounded_where_slopes_make_weights_no_powers_of_two(
    mode: str, pins: dict[str, Any], dtype: str, size: float
) -> None:
    """1500 keys have about equal weights, and values of a third of the row sum; with slopes smaller ones."""
    found = filler(mode, **{FILL: PROBE, "dtype(query)": dtype, **pins})
    assert bool(found.roles.named(argument_roles.SLOPE)) is (size == LARGEST_WITH_SLOPES[dtype])
    assert found.extents["T"] == 1500
    assert set(np.unique(np.abs(found.made["value"].astype(np.float64)))) <= {size, ALARM * size}


def test_the_scale_of_a_probe_makes_weights_powers_of_two() -> None:
    found = filler("incre_flash_attention", **{FILL: PROBE, "dtype(query)": "float16"})
    unit = step(found.factor(), "float16") * abs(found.factor()) / math.log(2.0)
    assert unit == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("scale", [0.125, -0.5, "1/sqrt(D)"])
@pytest.mark.parametrize("segment", ["own", "shared"])
def test_weights_of_a_probe_are_powers_of_two_in_each_segment(scale: Any, segment: str) -> None:
    """At most 4 : 1, so that no key is lost in rounding."""
    (space,) = spaces(ops.relay_attention)
    rng = np.random.default_rng(2)
    pins = {FILL: PROBE, "qkScale": scale, "D": 64, "case.group": 1, "dtype(query)": "float16"}
    pins |= {"S1": 100, "S2": 100, "B": 2, "BS": 1, "headNum": 2, "kvHeadNum": 2, WORKLOAD: "any"}
    pins |= {f"fill({name})": "full" for name in ("kvSeqLen", "kvShareMap", "kvShareLen")}
    assignment = solve(space, rng, pins)
    assert assignment is not None
    integers = {"kvSeqLen": [150, 90], "kvShareMap": [0, -1], "kvShareLen": [60], "seqLen": [1, 1]}
    made = {name: np.array(values) for name, values in integers.items()}
    call = Case(space.operator, space, 0, 0, assignment, made).call()
    query = call.arrays["query"].astype(np.float64)[0].reshape(2, 64)
    keys = call.lists["key"][0][:90] if segment == "own" else call.lists["keyShare"][0][:60]
    rows = keys.reshape(len(keys), 2, 64).astype(np.float64)
    powers = np.einsum("nd,tnd->nt", query, rows) * call.params["qkScale"] / math.log(2.0)
    assert np.abs(powers - np.rint(powers)).max() < 1e-3
    assert 1 <= round(np.ptp(powers)) <= 2


@pytest.mark.parametrize(
    ("factor", "dtype", "wanted"),
    [
        (0.125, "float16", 8 * math.log(2.0)),
        (-0.125, "bfloat16", 8 * math.log(2.0)),
        (1e-9, "float16", LARGEST["float16"]),
        (0.0, "float16", 1.0),
        (1.0, "int8", INTEGER_STEP),
    ],
)
def test_entries_of_queries_are_of_the_size_that_scores_need(
    factor: float, dtype: str, wanted: float
) -> None:
    assert step(factor, dtype) == pytest.approx(wanted, rel=2.0**-8)


def test_the_largest_entries_leave_products_in_range() -> None:
    """Of a few dozen keys times values that are a third of their number, with a factor of 4 to spare."""
    assert LARGEST == {"float16": 8192.0, "bfloat16": 2.0**40, "float32": 2.0**40}
    assert INTEGER_STEP == 8.0


@pytest.mark.parametrize(("row_sum", "wanted"), [(0.2, 0.3125), (10.0, 3.0), (4096.0, 1280.0), (1e9, 8192.0)])
def test_values_are_a_third_of_the_row_sum_with_three_bits(row_sum: float, wanted: float) -> None:
    assert size_of_values(row_sum, "float16") == wanted


@pytest.mark.parametrize("kind", ["none", "all", "causal", "rows", "last"])
def test_patterns_hide_what_their_names_say(kind: str) -> None:
    hidden = pattern(np.random.default_rng(1), kind, (2, 6, 9))
    if kind in ("none", "all"):
        assert hidden.all() == hidden.any() == (kind == "all")
    elif kind == "causal":
        visible = (~hidden[0]).sum(axis=1)
        assert (np.diff(visible) == 1)[:-2].all() and 1 <= visible[0] <= 3 and (hidden == hidden[0]).all()
    elif kind == "rows":
        assert hidden.all(axis=-1).reshape(-1)[[0, 11]].all()
    else:
        assert (~hidden).sum() == 12 and not hidden[..., -1].any()


def test_the_last_valid_key_stays_visible_where_lengths_end_earlier() -> None:
    readable = np.arange(9) < np.array([4, 9])[:, None, None]
    hidden = pattern(np.random.default_rng(1), "last", (2, 3, 9), readable)
    assert (~hidden).sum() == 6
    assert not hidden[0, :, 3].any() and not hidden[1, :, 8].any()


def test_empty_masks_hide_nothing() -> None:
    assert pattern(np.random.default_rng(0), "all", (0, 4)).shape == (0, 4)


def test_what_hides_is_what_documents_hide_with() -> None:
    """1 where masks are multiplied, -10000 and the lowest float16 where they are added, and -inf."""
    assert set(HIDING) == {1.0, -10000.0, -65504.0, -math.inf}


@pytest.mark.parametrize(
    ("integer", "rough", "turned"),
    [
        (5.5, 0.0, True),  # a tie
        (5.5 + 1e-6, 0.0, True),  # within 2^-20 of its own size
        (5.5 + 1e-5, 0.0, False),
        (5.5 + 1e-4, 1e-5, True),  # within four times the error of float32
        (5.5 + 1e-3, 1e-5, False),
        (0.2, 0.0, False),  # 0 in any case
        (127.5, 0.0, False),  # both are the largest
        (-128.5, 0.0, False),  # both are the lowest
        (126.5, 0.0, True),
        (-127.5, 0.0, True),
    ],
)
def test_which_probabilities_have_two_right_integers(integer: float, rough: float, turned: bool) -> None:
    """``rough``: the relative error of the float32 run."""
    powers = np.array([[abs(integer)]])
    step = np.array([[math.copysign(1.0, integer)]])
    found = _at_boundary(powers, powers * (1 + rough), step)
    assert found.shape == (1, 1) and bool(found[0, 0]) is turned


def test_the_error_of_a_row_is_that_of_its_worst_probability() -> None:
    """Of those that are no 0 in any case."""
    powers, step = np.array([[5.5 + 1e-4, 100.0, 0.1]]), np.ones((1, 1))
    worse, tiny = powers * [[1, 1 + 1e-5, 1]], powers * [[1, 1, 2]]
    assert _at_boundary(powers, worse, step)[0].tolist() == [True, False, False]
    assert _at_boundary(powers, tiny, step)[0].tolist() == [False, False, False]


FACTORS = """
lam = op.input("lam", "N", dtype="float32", axes="N")
gain = op.input("gain", "N", dtype="float32", axes="N")
heat = op.input("heat", "N", dtype="float32", axes="N")
op.require(gain.lowest > 0.0, "must be positive")
"""
SCALED = """
r = attend.softmax(s / heat) @ attend.rows(value)
op.output("out", r * gain - (r + 1.0) * lam.at(n), like=query)
"""


@pytest.mark.parametrize("fill", [PROBE, "normal"])
def test_factors_of_results_have_both_signs_and_sizes_around_one(tmp_path: Path, fill: str) -> None:
    """Those that constraints look at are positive; divisors of scores lie to both sides of 1."""
    (space,) = spaces(load(str(decode_file(tmp_path, FACTORS, DECODE_SCORES, SCALED))))
    made = [filler_of(space, seed=seed, **{FILL: fill, "K": 8}).made for seed in range(6)]
    lam, gain, heat = (np.concatenate([each[name] for each in made]) for name in ("lam", "gain", "heat"))
    assert (lam < 0).any() and (lam > 0).any() and (gain > 0).all() and (heat > 0).all()
    for sizes in (np.abs(lam), gain, heat):
        assert (sizes < 1).any() and (sizes > 1).any() and sizes.max() <= 2 and sizes.min() >= 0.5
    inexact = lam.astype(np.float16) != lam
    assert inexact.any() and not inexact.all()
