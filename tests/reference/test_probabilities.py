"""Probabilities that are computed with: the reference computes what has no kernel, and cases judge it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from attndsl.campaign import verify
from attndsl.campaign.results import PASS
from attndsl.spec.operator.loader import load
from attndsl.verify.judge import benchmark
from tests.support.small_specs import DECODE_SCORES, decode_call, decode_file, decode_spec

KEPT = 'weight = op.input("weight", "B T", dtype="float32", axes="B T")'
RESULT = 'op.output("out", (attend.softmax(s) * weight) @ attend.rows(value), like=query)'
PLAIN = 'op.output("out", attend.softmax(s) @ attend.rows(value), like=query)'


def test_the_benchmark_computes_with_probabilities(tmp_path: Path) -> None:
    """Weights of 1 change none; others do, as in the reference."""
    op = decode_spec(tmp_path, DECODE_SCORES, RESULT, declared=KEPT)
    call, rng = decode_call(t=40), np.random.default_rng(0)
    plain = decode_spec(tmp_path, DECODE_SCORES, PLAIN).bind(**call)
    ones = op.bind(**call, weight=np.ones((2, 40), np.float32))
    np.testing.assert_array_equal(benchmark.run(ones)[0], benchmark.run(plain)[0])
    weight = rng.uniform(0, 2, (2, 40)).astype(np.float32)
    wanted = op(**call, weight=weight, precision="float64")
    found = benchmark.run(op.bind(**call, weight=weight))[0]
    assert found is not None
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=0, atol=4e-3)


def test_cases_of_what_the_reference_alone_computes_pass(tmp_path: Path) -> None:
    op = load(str(decode_file(tmp_path, KEPT, DECODE_SCORES, RESULT)))
    found = verify(op, cases=3, backends=())
    assert [result.status for row in found.rows for result in row.results] == [PASS] * 3
