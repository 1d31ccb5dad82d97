"""Probes of keys and values with one scale: both are multiples of its unit, and every key still counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from attndsl.campaign.judging import judge, wanted_of
from attndsl.spec.operator.loader import load_file
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.cases import Stream
from attndsl.verify.space.values import FILL, PROBE

SPEC = """
from attndsl.spec import Operator, attend
op = Operator("shared", summary="int8 keys and values.")
B, N, K, T, D = op.dims("B N K T D")
{sized}
op.axes(B=B, N=N, K=K, Q=1, T=T, D=D, E={channels})
query = op.input("query", "B N D", dtype="float16", axes="B N D")
key = op.input("key", "B K T D", dtype="int8", axes="B K T D")
{declared}
scale = op.input("scale", "K", dtype="float32", axes="K")
attended = attend.softmax(attend.scores(query, attend.rows(attend.dequantize(key, scale))) * 0.125)
op.output("out", attended @ attend.rows(attend.dequantize({values})), like=query, layouts="B N {channels}")
"""
SIZED = '(E,) = op.dims("E")'
VALUE = 'value = op.input("value", "B K T E", dtype="int8", axes="B K T E")\n'
FORMS = {
    "one scale": {"channels": "E", "sized": SIZED, "declared": VALUE, "values": "value, scale"},
    "its own": {
        "channels": "E",
        "sized": SIZED,
        "declared": VALUE + 'other = op.input("other", "K", dtype="float32", axes="K")',
        "values": "value, other",
    },
    "channels of the keys": {
        "channels": "32",
        "sized": "",
        "declared": 'op.require(D > 32, "holds more than values")',
        "values": "attend.leading(key, 32), scale",
    },
}


@pytest.fixture(scope="module", params=FORMS)
def probes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """The first two cases of a form with many keys, as probes."""
    file = tmp_path_factory.mktemp("shared") / "shared.py"
    file.write_text(SPEC.format(**FORMS[request.param]))
    stream = Stream(load_file(file))
    drawn = (stream.take(count)[-1] for count in range(1, 25))
    long = (case for case in drawn if case.outline().extents["T"] > 400)
    filled = (replace(case, assignment={**case.assignment, FILL: PROBE}) for case in long)
    return list(islice(filled, 2))


def test_weights_are_powers_of_two_and_keys_differ(probes: list[Case]) -> None:
    assert len(probes) == 2
    for call in (case.call() for case in probes):
        query, key = (call.arrays[name].astype(float) for name in ("query", "key"))
        key = key * call.arrays["scale"][None, :, None, None]
        group = query.shape[1] // key.shape[1]
        scores = np.einsum("bnd,bntd->bnt", query, np.repeat(key, group, axis=1)) * 0.125 / np.log(2)
        assert np.abs(scores - np.rint(scores)).max() < 0.01
        assert 0.5 < np.ptp(scores) < 2.5


def test_a_lost_key_is_a_miss(probes: list[Case]) -> None:
    case = probes[0]
    call = case.call()
    wanted = wanted_of(case, call)
    assert judge(call, "reference", wanted).status == "pass"
    call.arrays["key"][0, 0, 200] = call.arrays["key"][0, 0, 201]
    broken = call.arrays.get("value", call.arrays["key"])
    broken[0, 0, 200] = 0
    assert judge(call, "reference", wanted).status == "miss"
