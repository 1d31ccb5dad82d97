"""Deleting any synchronization statement of relay_attention's kernel is reported: of its shared stages too,
which both attentions run, and of the merge behind them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.emulator.toolchain import find_compiler

from .mutants import Switched, place

# (query heads a key/value head, key/value heads, own keys by batch row, keys by group, groups, cores)
CASES = (
    (20, 1, [1104, 600], [1104], [0, 0], 2),
    (3, 2, [40, 0, 17], [2100, 30], [0, 0, 1], 2),
    (20, 1, [30] * 5, [40, 600], [0, 0, 1, -1, 0], 1),
    (40, 1, [1700, 1700], [30], [-1, 0], 4),
    (1, 1, [2104], [2600], [0], 4),
    (16, 1, [5] * 8, [1600], [0] * 8, 1),
)

# The maxima are started just before, after a barrier. The analysis takes equal conditions as independent.
SUPERFLUOUS = ["StartSumsKeyShare: PipeBarrier<PIPE_V>(); before Duplicate(accumulator_"]


def launch_of(case) -> Launch:
    group, kv_heads, own, shared, where, cores = case
    rng, batch, heads = np.random.default_rng(1), len(own), group * kv_heads

    def half(*shape: int):
        return rng.standard_normal(shape).astype(np.float16)

    def caches(count: int, rows: int):
        return [half(rows, kv_heads, 128) for _ in range(count)]

    lists = (caches(count, rows) for count, rows in ((batch, max(own)), (len(shared), max(shared))) * 2)
    key, key_share, value, value_share = lists
    total = [length + (shared[g] if g >= 0 else 0) for length, g in zip(own, where, strict=True)]
    call = ops.relay_attention.bind(
        half(batch, heads * 128), key, value, key_share, value_share, half(1), [1] * batch, total, where,
        shared, headNum=heads, kvHeadNum=kv_heads, qkScale=0.1,
    )  # fmt: skip
    return prepare(call, cores)


@lru_cache(maxsize=1)
def switched() -> Switched:
    return Switched(launch_of(CASES[0]).compiled)


needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


@needs_compiler
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_the_kernel_itself_has_no_finding(case):
    assert switched().run(launch_of(case)).ok


@needs_compiler
@pytest.mark.parametrize(
    "text",
    [
        "CrossCoreSetFlag<kBlockCores, PIPE_FIX>(kScoreRingReady);",
        "CrossCoreWaitFlag(kProbRingReady);",
    ],
)
def test_flags_of_shared_stages_are_missed(text):
    numbers = [number for number, item in enumerate(switched().statements) if item.text == text]
    assert len(numbers) == 1
    assert not switched().run(launch_of(CASES[0]), numbers).ok


@needs_compiler
@pytest.mark.long
def test_each_deletion_is_reported():
    numbers = range(len(switched().statements))
    missed = [n for n in numbers if all(switched().run(launch_of(case), [n]).ok for case in CASES)]
    assert [place(switched().source, switched().statements[n]) for n in missed] == SUPERFLUOUS
