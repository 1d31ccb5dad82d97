"""Launches whose blocks may start one after the other: none waits for another, or the call is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attndsl.api import ops
from attndsl.compiler.prepare_launch import prepare
from attndsl.emulator.toolchain import find_compiler
from attndsl.execute.execute import plan_of, written
from attndsl.lowering.signature.host_scalars import L2_BYTES, START_TOGETHER

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def decode():
    """One token over many keys: fewer tasks than cores."""
    query, keys = np.zeros((1, 1, 16), np.float16), [np.zeros((1, 4096, 16), np.float16)]
    call = ops.incre_flash_attention.bind(query, keys, keys, num_heads=1, input_layout="BSH")
    return prepare(call, 20)


def planned(launch, **host):
    return plan_of(replace(launch, host={**launch.host, **host}), written(launch.compiled))


def number(plan, name):
    at = [field for field, _ in plan.fields].index(name)
    return int(plan.tiling.view(np.int64)[at])


def test_keys_are_split_where_blocks_start_together_and_nowhere_else():
    launch = decode()
    together, apart = planned(launch), planned(launch, **{START_TOGETHER.name: 0})
    assert together.schedule_mode == 1 and number(together, "splits") > 1
    assert apart.schedule_mode == 0 and number(apart, "splits") == number(apart, "blocks") == 1
    assert together.key == apart.key


def test_heads_whose_keys_l2_holds_depend_on_the_device():
    """Two heads of 32 MiB together in half of 192 MiB, one alone in half of 96 MiB."""
    rows = 1 << 19
    keys = np.zeros((rows, 2, 16), np.float16)
    encoder = next(each for each in ops.self_attention.modes if "pa_encoder" in each.name)
    call = encoder.bind(
        keys,
        keys,
        keys,
        mask=np.triu(np.full((128, 128), -10000, np.float16), 1),
        seqLen=np.array([rows], np.int32),
        headNum=2,
        kvHeadNum=2,
        maskType="NORM_COMPRESS",
        isTriuMask=1,
    )
    launch = prepare(call, 20)
    large, small = (planned(launch, **{L2_BYTES.name: size << 20}) for size in (192, 96))
    assert [number(plan, "headsAtOnce") for plan in (large, small)] == [2, 1]
