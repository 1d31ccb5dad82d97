"""Probabilities at a rounding boundary of their integers: either integer is right there, and nowhere else."""

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.campaign import judging
from attndsl.campaign.results import MISS, PASS
from attndsl.reference import run as reference
from attndsl.verify.judge import benchmark
from attndsl.verify.judge.compare import LEVELS
from attndsl.verify.judge.golden import golden
from tests.support.disguise import posing_as

VALUE, DESCALE = 100, 1 / 40
TIE = 5.5
"""Of its reciprocal in float32, a step, a probability of 1 is 5.4999998 in float64 and 5.5 in float32."""


def prompt(steps=None, scale=0.0):
    """Quantized attention of two tokens that see each other. Their scores are 0 and ``-scale``; without
    ``steps``, which are those of the two heads, steps come from the probabilities."""
    rows, heads, offline = 2, 2, steps is not None
    ones, zeros = np.ones(heads, np.float32), np.zeros(heads, np.int32)
    key = np.zeros((rows, heads, 32), np.int8)
    key[1, :, 0] = -1
    arguments = {
        "query": np.ones_like(key),
        "key": key,
        "value": np.full_like(key, VALUE),
        "seqLen": np.array([rows], np.int32),
        "calcType": 3,
        "headNum": heads,
        "quantType": 2 if offline else 3,
        "outDataType": 1,
        "qkDescale": ones,
        "qkOffset": zeros,
        "vpvDescale": ones * np.float32(DESCALE),
        "vpvOffset": zeros,
        "qkScale": scale,
    }
    if offline:
        arguments["pScale"] = np.asarray(steps, np.float32)
    return ops.self_attention.bind(**arguments)


def verdict(monkeypatch, call, change):
    """The verdict on the golden result plus ``change`` of head 0."""
    found = golden(call)

    def run(call):
        wrong = found.results[0].values.copy()
        wrong.reshape(len(wrong), 2, -1)[:, 0] += change
        return (wrong.astype(np.float16),), []

    monkeypatch.setitem(judging._BACKENDS, "tile", posing_as("tile", run))
    wanted = judging.Wanted(found, benchmark.run(call), LEVELS[0].of_squares())
    return judging.judge(call, "tile", wanted)


def test_the_other_integer_is_right_at_a_boundary(monkeypatch):
    """Of each of two keys one step of value / 5.5, halved by the row sum of 2; a tenth more is wrong."""
    call = prompt([1 / TIE, 1 / TIE])
    flip = VALUE * DESCALE / TIE
    assert golden(call).results[0].slack == pytest.approx(np.full((2, 2, 32), flip))
    for change, status in (
        (0, PASS),
        (flip, PASS),
        (flip / 2, PASS),
        (1.1 * flip, MISS),
        (-1.1 * flip, MISS),
    ):
        assert verdict(monkeypatch, call, change).status == status, change
    (actual,) = reference.run(call)
    assert np.abs(actual - golden(call).results[0].values).max() == pytest.approx(flip, rel=1e-2)


def test_the_other_integer_is_wrong_elsewhere(monkeypatch):
    call = prompt([1 / (TIE - 0.01), 1 / TIE])
    slack = golden(call).results[0].slack
    assert not slack[:, 0].any() and slack[:, 1].all()
    assert verdict(monkeypatch, call, 0).status == PASS
    assert verdict(monkeypatch, call, VALUE * DESCALE / TIE).status == MISS


def test_steps_from_the_probabilities_have_boundaries_too():
    """The largest probability is 127 steps, and half of it 63.5."""
    slack = golden(prompt(scale=np.log(2))).results[0].slack
    assert slack == pytest.approx(np.full((2, 2, 32), VALUE * DESCALE / 127 / 1.5))
    for scale in (0.0, 1.001 * np.log(2)):
        assert not golden(prompt(scale=scale)).results[0].slack.any()


def test_what_cannot_be_represented_has_no_other_integer():
    """128.5 steps are 127 either way."""
    assert not golden(prompt([1 / 128.5, 1 / 127.5])).results[0].slack.any()


def test_attention_without_integers_has_no_slack():
    query = np.ones((2, 2, 16), np.float16)
    call = ops.self_attention.bind(
        query=query, key=query, value=query, seqLen=[2], calcType=3, headNum=2, qkScale=0.1
    )
    assert golden(call).results[0].slack is None
