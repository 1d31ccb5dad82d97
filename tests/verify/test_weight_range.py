"""What weights that are no softmax make of results: beyond the dtype of the cube they are left open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.campaign.judging import Wanted, judge, oracle
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import compare
from attndsl.verify.judge.golden import golden
from tests.support.small_specs import decode_spec

SCORES = "s = attend.scores(query, attend.rows(key))"
RESULT = 'op.output("out", {} @ attend.rows(value), like=query)'


def call(folder: Path, weights: str, dtype: Any = np.float16) -> Call:
    """Three batch rows with one query and two keys: scores of 65472 and 0, of 65536 and 0, of 2 and 1."""
    query, key = np.zeros((3, 1, 1, 16), dtype), np.zeros((3, 1, 2, 16), dtype)
    query[..., 0] = 256
    key[:, 0, :, 0] = np.array([[65472, 0], [65536, 0], [2, 1]]) / 256
    value = np.zeros_like(key)
    value[..., :8] = 0.5
    return decode_spec(folder, SCORES, RESULT.format(weights)).bind(query=query, key=key, value=value)


def test_a_row_with_a_weight_beyond_the_range_is_left_open(tmp_path: Path) -> None:
    made = call(tmp_path, "attend.relu(s)")
    (want,) = golden(made).results
    assert want.slack is not None
    np.testing.assert_array_equal(np.isnan(want.slack).all(axis=(1, 2, 3)), [False, True, False])
    assert not np.isnan(want.slack[[0, 2]]).any()
    found = judge(made, "tile", Wanted(oracle(made), benchmark.run(made), None))
    assert found.status == "pass", found.message


def test_what_is_wrong_at_a_large_weight_within_the_range_is_seen(tmp_path: Path) -> None:
    (want,) = golden(call(tmp_path, "attend.relu(s)")).results
    assert want.slack is not None and want.sizes is not None
    exact, slack, sizes = want.values[:1], want.slack[:1], want.sizes[:1]
    right = exact.astype(np.float16)
    for wrong, is_right in ((right, True), (right / 2, False), (right * np.nan, False)):
        found = compare(
            wrong.astype(np.float16), exact, right, bound=2.0**-8, level=None, slack=slack, sizes=sizes
        )
        assert found.ok is is_right


@pytest.mark.parametrize(
    ("weights", "dtype"), [("attend.relu(s)", "bfloat16"), ("attend.softmax(s)", "float16")]
)
def test_nothing_is_left_open_where_the_cube_holds_all_weights(
    tmp_path: Path, weights: str, dtype: str
) -> None:
    (want,) = golden(call(tmp_path, weights, DTYPES[dtype])).results
    assert want.slack is None
