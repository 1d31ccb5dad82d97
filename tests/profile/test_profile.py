"""Predictions of our own kernels: they account for the time, and for the bytes that calls need."""

from __future__ import annotations

import json

import pytest

from attndsl.emulator import find_compiler
from attndsl.profile.profile import profile_call
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import call_of_shape

SHAPE = {"B": 1, "num_heads": 8, "num_key_value_heads": 2, "S": 640, "D": 64}
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def operator():
    return load("incre_flash_attention")


@needs_compiler
def test_shared_keys_come_from_memory_once():
    """Of one group and of eight rows: own keys and values, and the shared ones, of two heads."""
    sizes = {"B": 8, "headNum": 8, "kvHeadNum": 2, "D": 64, "S1": 128, "S2": 512, "BS": 1}
    found = profile_call(call_of_shape(load("relay_attention"), sizes), cores=4)
    keys = (8 * 128 + 512) * 2 * 2 * 64 * 2
    assert keys <= found.bytes["hbm_read"] <= 1.1 * keys


@needs_compiler
def test_a_profile_accounts_for_the_time(operator, tmp_path):
    short = profile_call(call_of_shape(operator, SHAPE), trace=tmp_path / "t.json")
    long = profile_call(call_of_shape(operator, SHAPE | {"S": 6400}))
    few = profile_call(call_of_shape(operator, SHAPE | {"S": 6400}), cores=1)
    assert short.time < long.time < few.time
    for profile in (short, long, few):
        assert 0 < profile.attained <= 1
        assert all(0 <= share <= 1 for pipes in profile.busy.values() for share in pipes.values())
    # keys and values are read once, 2 heads of 64 half each; the workspace is small beside them
    once = 2 * 6400 * 2 * 64 * 2 / 1.49e6
    assert once <= long.bounds["memory"] <= 1.25 * once
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ends = [event["ts"] + event["dur"] for event in events if event["ph"] == "X"]
    assert max(ends) <= short.time + 1e-3
    sources = {event["args"]["source"].partition(":")[0] for event in events if event["ph"] == "X"}
    assert any(source.endswith(".h") for source in sources)


@needs_compiler
def test_a_size_of_none_is_told(operator):
    """No key at all is a legal call; sizes of tensors that are not passed are not told."""
    none = profile_call(call_of_shape(operator, SHAPE | {"S": 0}))
    some = profile_call(call_of_shape(operator, SHAPE | {"S": 1}))
    assert none.sizes == some.sizes | {"S": 0} and "num_blocks" not in none.sizes
    told = "S of 0: the call has nothing to compute"
    assert any(told in line for line in none.lines()) and not any(" of 0:" in line for line in some.lines())
