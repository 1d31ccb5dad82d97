"""Kinds of data are what their names say: a case of a kind that made none of it would check less."""

from dataclasses import replace

import numpy as np
import pytest

from attndsl.verify.cases.cases import Stream
from attndsl.verify.space.values import FILL, FILLS, PROBE, SATURATED, SUNK
from tests.support.small_specs import DECODE_RESULT, DECODE_SCORES, decode_spec


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Small cases with several keys and channels."""
    operator = decode_spec(tmp_path_factory.mktemp("fills"), DECODE_SCORES, DECODE_RESULT)
    found = ((each, each.outline()) for each in Stream(operator).take(24))
    size = {
        each: call.arrays["key"].size
        for each, call in found
        if call.extents["T"] > 20 and call.extents["D"] > 8
    }
    return sorted(size, key=lambda each: size[each])[:3]


def scores_and_values(case, kind):
    """Scores (B, N, T) and values of a case filled in this way, in float64."""
    call = replace(case, assignment={**case.assignment, FILL: kind}).call()
    query, key, value = (call.arrays[name].astype(np.float64) for name in ("query", "key", "value"))
    key = np.repeat(key, query.shape[1] // key.shape[1], axis=1)
    return np.einsum("bnqd,bntd->bnt", query, key), value


def test_all_kinds_are_looked_at():
    assert set(FILLS) == {PROBE, "normal", SATURATED, "ramp", SUNK, "tiny"}


def test_one_key_of_a_saturated_row_takes_the_weight(cases):
    """And none of a normal one."""
    assert len(cases) == 3
    for case in cases:
        for kind, wanted in ((SATURATED, True), ("normal", False)):
            scores, _ = scores_and_values(case, kind)
            top = np.sort(scores, axis=-1)
            gap = top[..., -1] - top[..., -2]
            assert bool(np.median(gap) > 50) is wanted, (kind, case.number, np.median(gap))


def test_scores_of_a_ramp_rise_or_fall_and_those_of_sunk_rows_are_far_below_zero(cases):
    for case in cases:
        scores, _ = scores_and_values(case, "ramp")
        places = np.arange(scores.shape[-1])
        along = [abs(np.corrcoef(row, places)[0, 1]) for row in scores.reshape(-1, len(places))]
        assert np.median(along) > 0.9, case.number
        sunk, _ = scores_and_values(case, SUNK)
        assert np.median(sunk.max(axis=-1)) < -50 and np.median(sunk.max(axis=-1)) < scores.max()


def test_tiny_values_are_tiny(cases):
    for case in cases:
        _, tiny = scores_and_values(case, "tiny")
        _, plain = scores_and_values(case, "normal")
        assert 0 < np.nanmax(np.abs(tiny)) < 2.0**-8 < 0.5 < np.nanmax(np.abs(plain))
