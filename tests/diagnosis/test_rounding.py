"""A program in float64 is right where rounding alone makes a miss, and wrong where something else does."""

from dataclasses import replace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.campaign import judging
from attndsl.diagnosis.rounding import Precise, precise
from attndsl.diagnosis.smallest_miss import smallest_miss
from attndsl.reference import run as reference
from attndsl.tile_interpreter.run import run, run_precise
from attndsl.verify.cases.cases import stream_of
from attndsl.verify.judge.golden import Golden
from tests.support.disguise import posing_as


@pytest.fixture(scope="module", params=["relay_attention", "nsa_compress_attention"])
def case(request):
    """With merges of segments, and with selection, whose records hold indices as bits of numbers."""
    stream = stream_of(getattr(ops, request.param))
    calls = [each for each in stream.take(6) if each.data == "ramp"]  # many keys, of which some weigh
    exact = [each for each in calls if each.call().extents["D"] in (16, 64)]  # 1 / sqrt(D) in float32
    return min(exact, key=lambda each: each.call().extents["N"])


@pytest.fixture(scope="module")
def wanted(case):
    return judging.wanted_of(case, case.call())


def test_without_rounding_a_program_computes_what_its_spec_says(case, wanted):
    call = case.call()
    before = {name: array.copy() for name, array in call.arrays.items()}
    found = precise(call, wanted)
    assert found.is_right and found.error < 1e-9
    assert all(array.tobytes() == before[name].tobytes() for name, array in call.arrays.items())
    rounded, golden = run(case.call())[0], wanted.golden.results[0].values
    (wide, *_) = run_precise(case.call())
    assert wide.dtype == np.float64
    assert np.abs(rounded - golden).max() > 1e6 * np.abs(wide - golden).max() > 0


@pytest.mark.parametrize(
    "change", [lambda values: values * 1.01 + 0.01, lambda values: np.full_like(values, np.nan)]
)
def test_what_rounding_does_not_explain_is_no_rounding(case, wanted, change):
    first, *others = wanted.golden.results
    other = replace(first, values=change(first.values), exact=np.zeros_like(first.exact))
    found = precise(case.call(), replace(wanted, golden=Golden((other, *others), {})))
    assert not found.is_right and "rounding does not explain the miss" in found.line(False)


def test_a_miss_is_told_with_it_where_that_is_asked_for(case, monkeypatch):
    def rough(call):
        return tuple(
            each + np.asarray(0.05 * (each.dtype.kind not in "iu"), each.dtype)
            for each in reference.run(call)
        ), ()

    monkeypatch.setitem(judging._BACKENDS, "tile", posing_as("tile", rough))
    row = judging.run_case(case, ("reference", "tile"))
    assert not row.ok
    asked = smallest_miss(case, row, tries=0, precise=True)
    assert asked.precise.is_right and any("rounding explains the miss" in line for line in asked.lines())
    assert asked.to_json()["precise"]["is_right"] is True
    left = smallest_miss(case, row, tries=0)
    assert left.precise is None and left.to_json()["precise"] is None


def test_a_kernel_that_leaves_its_program_is_told_as_such():
    assert "the kernel leaves it" in Precise(1e-12).line(True)
    assert Precise(float("inf")).to_json() == {"error": "inf", "is_right": False}
