"""Long calls: a part is simulated, the rest follows from its rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator import Knobs, find_compiler
from attndsl.execute.execute import execute
from attndsl.profile.extrapolation import (
    Extrapolation,
    extrapolated,
    items_of_blocks,
    whole_because,
    whole_counters,
)
from attndsl.profile.profile import profile_call
from attndsl.spec.operator.loader import load
from attndsl.verify.cases.shaped_call import call_of_shape
from tests.support.devices import DEVICE

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
SIZE = 128
CAUSAL = {
    "mask": np.triu(np.full((128, 128), -65504, np.float16), 1),
    "maskType": "NORM_COMPRESS",
    "isTriuMask": 1,
}


def prompt(tokens=4096, heads=4, **arguments):
    """One prompt of which each token sees all, or what ``arguments`` say."""
    tensors = {name: np.zeros((tokens, heads, SIZE), np.float16) for name in ("query", "key", "value")}
    sizes = {"seqLen": np.array([tokens], np.int32), "headNum": heads, "kvHeadNum": heads, "qkScale": 0.1}
    return load("self_attention").mode_named("PA_ENCODER").bind(**tensors, **sizes, **arguments)


def run(items, *, until, start=0.0, a=1.0, b=0.0, count=32):
    """What a run notes of a block that takes ``a`` for a cycle of products and ``b`` for an item."""
    busy = np.concatenate([[0.0], np.cumsum(items)])
    when = start + a * busy + b * np.arange(len(busy))
    return [
        [each, float(np.interp(each, when, busy))] for each in np.linspace(0, until, count + 1)[1:].tolist()
    ]


def of(*blocks, items, ended=()):
    """What follows from the notes of blocks."""
    notes = [list(each) for each in zip(*blocks, strict=True)]
    counters = {"progress": notes, "halfway": {}, "block_ends": ended or [note[0] for note in notes[-1]]}
    return extrapolated(counters, [np.array(each, float) for each in items])


def test_what_is_left_takes_what_products_and_items_took():
    """Items get shorter, and each takes 30 cycles besides its products: these alone would mislead."""
    items = [400, 350, 300, 250, 200, 150, 100, 50, 25, 25]
    found = of(run(items, until=1000, a=1.5, b=30), items=[items])
    assert found.cycles == pytest.approx(1.5 * sum(items) + 30 * len(items))
    assert found.spread == pytest.approx(0.0, abs=1e-6)
    assert found.share == pytest.approx(run(items, until=1000, a=1.5, b=30)[-1][1] / sum(items))


def test_blocks_share_their_pace_and_end_apart():
    long, short = [100] * 12, [100] * 9
    found = of(run(long, until=600, a=1.2), run(short, until=600, a=1.2, start=50), items=[long, short])
    assert found.ends == pytest.approx((1440, 1080 + 50))


def test_the_first_eighth_is_no_guide():
    """Caches are cold for 100 of 1600 cycles."""
    items = [100] * 20
    found = of(run(items, until=1600, start=100, a=1.1), items=[items])
    assert found.cycles == pytest.approx(100 + 2200) and found.spread == pytest.approx(0.0, abs=1e-6)


def test_a_pace_that_changes_is_told():
    """Products take twice as long in the latter half."""
    fast, slow = run([1000], until=800), run([1000], until=800, a=2.0)
    notes = [*fast[:16], *([400 + at, 400 + busy] for at, busy in slow[:16])]
    assert of(notes, items=[[1000]]).spread > 0.1


@pytest.mark.parametrize("busy", [[0.0] * 32, [*range(16), *[15.0] * 16]], ids=["none", "none any more"])
def test_without_products_there_is_no_pace(busy):
    assert (
        of([[float(at), each] for at, each in enumerate(busy)], items=[[1000]])
        == "no product is in the last part that was simulated"
    )


def test_more_than_was_counted_tells_that_the_count_is_wrong():
    done = run([400], until=395)
    assert not isinstance(of(done, items=[[400]]), str)
    assert of(done, items=[[390]]) == "it has more products than were counted"
    assert of(done, done, items=[[400], []]) == "a block has no products"
    assert of(done[:1], items=[[400]]) == "too little of it is simulated to tell its pace"


def test_a_block_that_is_done_ends_when_it_did():
    found = of(run([400], until=500), run([800], until=500), items=[[400], [800]], ended=[480.0, 500.0])
    assert found.ends == pytest.approx((480, 800))


def test_counts_go_on_as_in_the_second_half():
    """A fifth of the products is done, a tenth was at half of the notes: what came since comes eight times
    more. Zeros are written once, queries and keys have been read in part, values whole, and a cache that is
    larger than L2 twice."""
    large = 1 << 30
    half = {
        "busy_by_core": {"AIC": {"M": 5.0}, "AIV": {"MTE3": 40.0}},
        "memory_read_by_tensor": {"query": 50, "key": 300, "value": 1000, "cache": large},
        "memory_read_bytes": 1360 + large, "memory_bytes": 1460 + large,
        "gm_read_bytes": {"key": 2500}, "gm_write_bytes": {"out": 50}, "bank_conflicts": {"a.h:1": 2.0},
    }  # fmt: skip
    counters = {
        "busy_by_core": {"AIC": {"M": 10.0}, "AIV": {"MTE3": 41.0}}, "product_cycles": 8.0,
        "memory_read_by_tensor": {"query": 100, "key": 600, "value": 1000, "cache": 2 * large},
        "memory_read_bytes": 1720 + 2 * large, "memory_bytes": 1830 + 2 * large,
        "gm_bytes": {"query": 1000, "key": 1000, "value": 1000, "cache": large},
        "gm_read_bytes": {"key": 5000}, "gm_write_bytes": {"out": 55}, "halfway": half,
        "bank_conflicts": {"a.h:1": 2.0, "a.h:2": 1.0}, "total_cycles": 1600.0,
        "critical_path": {"memory": 800.0, "flags": 800.0}, "block_ends": [1600.0],
        "progress": [[[800.0, 5.0]], [[1600.0, 10.0]]],
    }  # fmt: skip
    found = Extrapolation(share=0.2, ends=(6400.0,), spread=0.0)
    whole = whole_counters(counters, found, DEVICE)
    read = {"query": 500, "key": 1000, "value": 1000, "cache": 10 * large}
    assert whole["memory_read_by_tensor"] == read
    assert whole["memory_read_bytes"] == sum(read.values()) + 20 + 80
    assert whole["memory_bytes"] == whole["memory_read_bytes"] + 110 + 80
    assert whole["gm_read_bytes"] == {"key": 25000} and whole["gm_write_bytes"] == {"out": 95}
    assert whole["bank_conflicts"] == {"a.h:1": 2.0, "a.h:2": 9.0}
    assert whole["busy_by_core"] == {"AIC": {"M": 50.0}, "AIV": {"MTE3": 49.0}}
    assert whole["product_cycles"] == 40 and whole["critical_path"] == {"memory": 3200.0, "flags": 3200.0}


@needs_compiler
@pytest.mark.parametrize("arguments", [{}, {"heads": 8, **CAUSAL}], ids=["full", "causal"])
def test_a_quarter_of_a_prompt_tells_the_rest(arguments):
    """Against the whole, of 4096 tokens on two blocks; docs/performance.md has longer ones."""
    call = prompt(**arguments)
    whole = profile_call(call, cores=2)
    assert whole.extrapolation is None and whole.to_json()["extrapolated"] is None
    core_cycles = int(whole.time * 1e-6 * DEVICE.clock) * 6
    found = profile_call(call, cores=2, most_core_cycles=core_cycles // 4)
    assert 0.15 < found.extrapolation.share < 0.35
    assert found.time == pytest.approx(whole.time, rel=0.02)
    assert found.worst == pytest.approx(whole.worst, rel=0.02)
    assert found.cube == pytest.approx(whole.cube, rel=0.02)
    assert found.bytes["l2_read"] == pytest.approx(whole.bytes["l2_read"], rel=0.05)
    assert found.bank_conflicts == whole.bank_conflicts, "of a prologue alone"
    assert found.busy["AIC"]["M"] == pytest.approx(whole.busy["AIC"]["M"], rel=0.02)
    assert found.busy["AIV"]["V"] == pytest.approx(whole.busy["AIV"]["V"], rel=0.1)
    assert any("extrapolated: " in line for line in found.lines())
    enough = profile_call(call, cores=2, most_core_cycles=2 * core_cycles)
    assert enough == whole


@needs_compiler
def test_products_are_counted_as_the_emulator_counts_them():
    launch = prepare(prompt(1024, **CAUSAL), 2)
    counters = execute(launch, Knobs(timing=True)).counters
    assert counters["progress"] is None
    counted = sum(items.sum() for items in items_of_blocks(launch))
    assert counted == pytest.approx(counters["busy_by_core"]["AIC"]["M"], rel=1e-4)


@needs_compiler
def test_a_run_is_stopped_at_its_cycles():
    """After 600,000 of six cores each has gone 100,000, give or take an instruction."""
    counters = execute(prepare(prompt(1024), 2), Knobs(timing=True, most_core_cycles=600_000)).counters
    found = np.array(counters["progress"])
    assert found.shape == (32, 2, 2) and (np.diff(found, axis=0) >= 0).all()
    assert counters["total_cycles"] == pytest.approx(100_000, rel=0.1)


def test_what_a_kernel_finds_out_is_not_counted():
    """The kernel finds the ends of keys in a mask, nobody knows them beforehand; and steps of two kinds, over
    shared keys and over own ones, have no pace in common."""
    relay = whole_because(prepare(call_of_shape(load("relay_attention"), {})))
    assert relay == "its steps are of two kinds"
    for features, reason in (
        ((), ""),
        (("atten_mask",), "its work depends on what the kernel finds in the data"),
    ):
        call = call_of_shape(load("nsa_compress_attention"), {}, features=features)
        assert whole_because(prepare(call)) == reason


@needs_compiler
def test_work_that_is_not_counted_is_simulated_whole(monkeypatch):
    call = prompt(1024)
    assert profile_call(call, cores=2, most_core_cycles=600_000).extrapolation is not None
    monkeypatch.setattr("attndsl.profile.profile.whole_because", lambda launch: "it is a test")
    found = profile_call(call, cores=2, most_core_cycles=600_000)
    assert found.whole_because == found.to_json()["simulated_whole_because"] == "it is a test"
    assert "    simulated whole: it is a test" in found.lines()
    short = profile_call(call, cores=2)
    assert replace(found, whole_because="") == short and not short.whole_because
    assert profile_call(call, cores=2, most_core_cycles=1 << 40) == short


@needs_compiler
def test_a_pace_that_is_not_told_is_a_reason(monkeypatch):
    call = prompt(1024)
    monkeypatch.setattr("attndsl.profile.profile.extrapolated", lambda counters, items: "no pace")
    found = profile_call(call, cores=2, most_core_cycles=600_000)
    assert found.whole_because == "no pace" and found.time == profile_call(call, cores=2).time


@needs_compiler
def test_a_trace_tells_that_its_run_was_stopped(tmp_path):
    for most, count in ((0, 0), (600_000, 1)):
        profile_call(prompt(1024), cores=2, trace=tmp_path / "t.json", most_core_cycles=most)
        assert (tmp_path / "t.json").read_text().count("stopped here") == count
