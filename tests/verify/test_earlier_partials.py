"""Cases with partials of earlier calls: what they hold, and in which precision results are judged."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from attndsl.campaign.judging import judge, wanted_of
from attndsl.codegen.samples.device_cases import DeviceCase
from attndsl.codegen.samples.direct import allowed
from attndsl.graph.nodes import EarlierPartial, LogSumExpMerge, RowMax, RowSum
from attndsl.reference.merge import merged_statistics
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import stream_of
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.judge.benchmark import precision
from attndsl.verify.judge.compare import LEVELS, compare, tolerance
from attndsl.verify.space.values import FILL, PROBE, SUNK

CASES = 12
RING = "specs/variants/ring_step.py"


@cache
def cases() -> tuple[tuple[Case, Call], ...]:
    found = ((case, case.call()) for case in stream_of(load(RING)).take(CASES))
    return tuple((case, call) for case, call in found if "prev_lse" in call.arrays)


def keys_alone(call: Call) -> np.ndarray:
    """The log-sum-exp of the call's own keys."""
    merge = next(node for node in call.graph.nodes if isinstance(node, LogSumExpMerge))
    alone = tuple(part for part in merge.parts if not isinstance(part, EarlierPartial))
    with np.errstate(all="ignore"):
        state = new_state(call, np.dtype(np.float32))
        found = merged_statistics(state, replace(merge, parts=alone))
        return found[RowMax].data + np.log(found[RowSum].data)


def test_both_sides_weigh_about_the_same() -> None:
    absent, ratios = [], []
    for case, call in cases():
        lse, own = call.views["prev_lse"], keys_alone(call)
        absent.append(np.isneginf(lse).mean())
        present = np.isfinite(lse) & np.isfinite(own)
        if case.assignment[FILL] == PROBE:  # each key is to matter
            assert (lse[present] < own[present] - 0.9).all()
        ratios += (lse[present] - own[present]).tolist()
    assert len(cases()) >= 6
    assert min(absent) < 0.2 and max(absent) == 1.0  # a first step, and later ones
    assert 0.5 < np.std(ratios) < 4 and np.abs(np.median(ratios)) < 3


def test_absent_rows_hold_what_no_result_may_show() -> None:
    held = [call.views["prev_out"][np.isneginf(call.views["prev_lse"])].reshape(-1) for _, call in cases()]
    odd = [each for each in held if each.size and not np.isfinite(each).all()]
    assert odd
    for _, call in cases():
        present = np.isfinite(call.views["prev_lse"])
        assert np.isfinite(call.views["prev_out"][present]).all()


def test_absent_rows_hold_each_kind_of_number_in_some_case() -> None:
    smallest = min((case for case, _ in cases()), key=lambda case: case.result_elements())
    held = set[float]()
    for attempt in range(60):
        call = replace(smallest, attempt=attempt).call()
        rows = call.views["prev_out"][np.isneginf(call.views["prev_lse"])]
        held |= {-1.0 if np.isnan(each) else float(each) for each in rows.reshape(-1)[:1]}
    assert held == {-1.0, np.inf, 1000.0, 0.0}


def test_earlier_partials_matter() -> None:
    wanted = ["prev_out", "prev_lse"]
    found = [effective_features(call, wanted) for _, call in cases()]
    assert sum(each == set(wanted) for each in found) * 2 >= len(found)


def _counts(call: Call) -> np.ndarray:
    """The earlier rows that weigh about as much as the call's own keys, or more."""
    lse = call.arrays["prev_lse"]
    return np.isfinite(lse) & (lse > keys_alone(call) - 1)


@pytest.mark.parametrize("broken", ["a row that is left out", "a row that is there"])
def test_a_reference_that_loses_a_row_is_a_miss(broken: str) -> None:
    """A result that forgets one earlier row, or takes an absent one for a row of zeros, is judged wrong."""
    case, call = next(
        (case, call)
        for case, call in cases()
        if 0 < np.isneginf(call.views["prev_lse"]).sum() < call.views["prev_lse"].size / 2
        and _counts(call).any()
    )
    wanted = wanted_of(case, call)
    assert judge(call, "reference", wanted).status == "pass"
    lse = call.arrays["prev_lse"].copy()
    place = np.argwhere(_counts(call) if broken == "a row that is left out" else np.isneginf(lse))[0]
    lse[tuple(place)] = -np.inf if broken == "a row that is left out" else 9.0
    out = np.nan_to_num(call.arrays["prev_out"], posinf=0.0)
    other = replace(call, arrays={**call.arrays, "prev_lse": lse, "prev_out": out})
    assert judge(other, "reference", wanted).status == "miss"


@cache
def filled(spec: str, fill: str) -> tuple[Case, Call]:
    """A case with this data, one that merges earlier rows where the operator takes such."""
    stream = stream_of(load(spec))
    merges = any(tensor.name == "prev_lse" for tensor in stream.operator.tensors)
    drawn = (stream.take(count)[-1] for count in range(1, 49))
    found = ((case, case.call()) for case in drawn if case.assignment[FILL] == fill)
    return next(
        (case, call)
        for case, call in found
        if not merges or ("prev_lse" in call.arrays and _counts(call).any())
    )


@pytest.mark.parametrize(
    ("spec", "fill", "level"),
    [
        (RING, SUNK, "L2 (means)"),
        (RING, "normal", "L2"),
        ("specs/variants/gqa_prefill_lse.py", SUNK, "L2"),
    ],
)
def test_maxima_of_merged_sunk_scores_are_not_judged(spec: str, fill: str, level: str) -> None:
    """The benchmark merges by the reference's scores: of single keys it is off by their rounding alone."""
    case, call = filled(spec, fill)
    wanted = wanted_of(case, call)
    assert wanted.level is not None and wanted.level.name == level


def test_sunk_parts_that_weigh_too_much_are_still_a_miss() -> None:
    case, call = filled(RING, SUNK)
    wanted = wanted_of(case, call)
    assert judge(call, "reference", wanted).status == "pass"
    late = replace(call, arrays={**call.arrays, "prev_lse": call.arrays["prev_lse"] + np.float32(0.1)})
    assert judge(late, "reference", wanted).status == "miss"


# Precision --------------------------------------------------------------------------------------------------


def test_fp32_results_have_the_errors_of_rounded_probabilities() -> None:
    """Results of weighted sums; log-sum-exps are made of scores in fp32."""
    for _, call in cases():
        assert precision(call, "out") == call.dtype and precision(call, "lse") == "float32"
    plain = load("specs/variants/gqa_prefill_lse.py")
    half = np.ones((1, 1, 4, 16), np.float16)
    assert precision(plain.bind(half, half, half), "out") == "float16"


def test_thresholds_are_those_of_the_precision() -> None:
    golden = np.random.default_rng(3).uniform(0.5, 1, (4, 64))
    rounded = golden.astype(np.float16).astype(np.float32)

    def judged(precision: str) -> Any:
        bound = tolerance(precision, 1)
        return compare(
            rounded, golden, golden.astype(np.float32), bound=bound, level=LEVELS[0], precision=precision
        )

    assert judged("float16").ok
    assert not judged("float32").ok


def test_saved_results_tell_their_precision() -> None:
    ones = np.ones(3, np.float32)
    case = DeviceCase("a", {}, {"out": ones, "lse": ones}, {}, {"out": "bfloat16", "lse": "float32"})
    told = case.to_json()["expected"]
    assert told["out"]["precision"] == "bfloat16" and "precision" not in told["lse"]
    assert allowed(ones, "bfloat16") == 2.0**-5 and allowed(ones, "float32") == 2.0**-12
