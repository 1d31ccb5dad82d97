"""The predicted timeline: small ones against times computed by hand, facts that hold for any costs."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

from attndsl.emulator import Argument, Kernel, Knobs, LaunchError, Report, build_all
from attndsl.target.costs import COSTS, Cost, Rate, cost_lines
from tests.support.devices import DEVICE

OPS = Path(__file__).parents[2] / "attndsl" / "emulator" / "include" / "attnemu" / "ops.h"

# Round numbers: nothing costs anything but copies (10 + 1 a 128-byte piece, results 5 later), additions of a
# scalar (2 + 3 a repeat), exponentials (2 + 5 a repeat) and flags between cores (7 until they arrive).
RATES = DEVICE.rates
FREE = {name: Cost(0, 0, "test") for name in COSTS}
SIMPLE = FREE | {
    "LoadUB": Cost(10, 1 / 128, "test", latency=5),
    "StoreUB": Cost(10, 1 / 128, "test", latency=5),
    "Adds": Cost(2, 3, "test"),
    "Exp": Cost(2, 5, "test"),
    "CrossCoreSet": Cost(0, 0, "test", latency=7),
}
PLAIN = dict.fromkeys(("bank", "read_write"), Rate(1e-6, "test"))
UNBOUND = dict.fromkeys(("l2", "l2_read", "hbm", "miss", "miss_write"), Rate(1e9, "test"))
WIDE = {**RATES, **PLAIN, **UNBOUND, "l2_bytes": Rate(1 << 20, "test")}

KERNELS = """
#include "kernel_operator.h"
using namespace AscendC;
struct Places { TBuf<TPosition::VECCALC> buffer; LocalTensor<float> x, y, z; GlobalTensor<float> in, out; };
__aicore__ inline void prepare(TPipe &pipe, Places &p, GM_ADDR in, GM_ADDR out) {
  pipe.InitBuffer(p.buffer, 3 * 4096);
  p.x = p.buffer.Get<float>();
  p.y = p.x[1024];
  p.z = p.x[2048];
  p.in.SetGlobalBuffer((__gm__ float *)in);
  p.out.SetGlobalBuffer((__gm__ float *)out);
}
#define KERNEL(name, type, ...)                                       \\
  extern "C" __global__ __aicore__ void name(GM_ADDR in, GM_ADDR out) { \\
    KERNEL_TASK_TYPE_DEFAULT(type);                                   \\
    TPipe pipe;                                                       \\
    pipe.Destroy();                                                   \\
    Places p;                                                            \\
    prepare(pipe, p, in, out);                                        \\
    __VA_ARGS__                                                       \\
  }
KERNEL(events, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 256);
  SetFlag<HardEvent::MTE2_V>(0);
  DataCopy(p.y, p.in[256], 256);
  WaitFlag<HardEvent::MTE2_V>(0);
  Adds(p.x, p.x, 1.0f, 256);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(p.out, p.x, 256);
})
KERNEL(barrier, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 256);
  PipeBarrier<PIPE_ALL>();
  Adds(p.x, p.x, 1.0f, 256);
  PipeBarrier<PIPE_ALL>();
  DataCopy(p.out, p.x, 256);
})
KERNEL(gathers, KERNEL_TYPE_AIV_ONLY, {
  auto at = p.y.ReinterpretCast<uint32_t>();
  auto from = p.x.ReinterpretCast<uint32_t>();
  auto to = p.z.ReinterpretCast<uint32_t>();
  DataCopy(p.x, p.in, 256);
  Duplicate(at, 4u, 64);
  Duplicate(at[64], 32u, 64);
  PipeBarrier<PIPE_ALL>();
  Gather(to, from, at, 8u, 64);
  Gatherb(to[64], from, at[64], 1, {1, 8});
  PipeBarrier<PIPE_ALL>();
  DataCopy(p.out, p.z, 128);
})
KERNEL(latency, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 256);
  PipeBarrier<PIPE_MTE2>();
  DataCopy(p.x, p.in, 256);
})
KERNEL(no_latency, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 256);
  DataCopy(p.y, p.in, 256);
})
KERNEL(vector_work, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 1024);
  PipeBarrier<PIPE_V>();
  uint64_t lanes = p.in.GetValue(0);
  for (uint32_t i = 0; i < 4; ++i) Exp(p.y[i * 512], p.x, lanes, 8, UnaryRepeatParams(1, 1, 8, 8));
})
KERNEL(queued, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 512);
  PipeBarrier<PIPE_V>();
  for (uint32_t i = 0; i < 4; ++i) Exp(p.y[i * 512], p.x, 512);
  p.in.GetValue(0);
})
KERNEL(banks, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 1024);
  Duplicate(p.z, 1.0f, 512);
  PipeBarrier<PIPE_V>();
  uint32_t shift = uint32_t(p.in.GetValue(0));
  Add(p.y[64 * 8], p.x, p.x[shift], 64, 1, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
})
KERNEL(strided, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 3072);
  PipeBarrier<PIPE_V>();
  Adds(p.x, p.x, 1.0f, 64, 1, UnaryRepeatParams(16, 16, 8, 8));
})
KERNEL(written, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 512);
  PipeBarrier<PIPE_V>();
  Adds(p.y[uint32_t(p.in.GetValue(0))], p.x, 1.0f, 64);
})
KERNEL(published, KERNEL_TYPE_AIV_ONLY, {
  TBuf<TPosition::VECCALC> whole;
  pipe.Reset();
  pipe.InitBuffer(whole, 180 * 1024);
  LocalTensor<uint8_t> ub = whole.Get<uint8_t>();
  uint32_t first = uint32_t(p.in.GetValue(0));
  uint32_t second = uint32_t(p.in.GetValue(1));
  uint32_t result = uint32_t(p.in.GetValue(2));
  uint8_t step = uint8_t(p.in.GetValue(3));
  uint8_t stride = uint8_t(p.in.GetValue(4));
  Duplicate(whole.Get<float>(), 1.0f, 180 * 256);
  PipeBarrier<PIPE_V>();
  uint32_t additions = uint32_t(p.in.GetValue(5));
  LocalTensor<float> a = ub[first].ReinterpretCast<float>();
  LocalTensor<float> b = ub[second].ReinterpretCast<float>();
  LocalTensor<float> sum = ub[result].ReinterpretCast<float>();
  BinaryRepeatParams strides(1, step, 1, 8, stride, 8);
  for (uint32_t i = 0; i < additions; ++i) Add(sum, a, b, 64, 64, strides);
})
KERNEL(queue, KERNEL_TYPE_AIV_ONLY, {
  TQue<TPosition::VECIN, 2> from;
  TQue<TPosition::VECOUT, 2> to;
  pipe.Init();
  uint32_t buffers = uint32_t(p.in.GetValue(0));
  pipe.InitBuffer(from, buffers, 1024);
  pipe.InitBuffer(to, buffers, 1024);
  for (uint32_t i = 0; i < 4; ++i) {
    LocalTensor<float> a = from.AllocTensor<float>();
    DataCopy(a, p.in[i * 256], 256);
    from.EnQue(a);
    a = from.DeQue<float>();
    LocalTensor<float> b = to.AllocTensor<float>();
    Adds(b, a, 1.0f, 256);
    to.EnQue(b);
    from.FreeTensor(a);
    b = to.DeQue<float>();
    DataCopy(p.out[i * 256], b, 256);
    to.FreeTensor(b);
  }
})
KERNEL(hand_over, KERNEL_TYPE_MIX_AIC_1_2, {
  if ASCEND_IS_AIV {
    CrossCoreWaitFlag(3);
    DataCopy(p.x, p.in, 256);
    CrossCoreSetFlag<2, PIPE_MTE2>(4);
  }
  if ASCEND_IS_AIC {
    TBuf<TPosition::A1> l1;
    pipe.InitBuffer(l1, 4096);
    DataCopy(l1.Get<float>(), p.in, 512);
    CrossCoreSetFlag<2, PIPE_MTE2>(3);
    CrossCoreWaitFlag(4);
    p.in.GetValue(0);
  }
})
KERNEL(stream, KERNEL_TYPE_AIV_ONLY, {
  for (uint32_t i = 0; i < 4; ++i) {
    DataCopy(p.x, p.in[(GetBlockIdx() * 4 + i) * 1024], 1024);
    PipeBarrier<PIPE_MTE2>();
  }
})
KERNEL(long_stream, KERNEL_TYPE_AIV_ONLY, {
  for (uint32_t i = 0; i < 64; ++i) {
    DataCopy(p.x, p.in[(GetBlockIdx() * 4 + i % 4) * 1024], 1024);
    PipeBarrier<PIPE_MTE2>();
  }
})
KERNEL(beside, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in[GetBlockIdx() * 2048], GetBlockIdx() ? 256 : 2048);
})
KERNEL(half_cold, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 1024);
  PipeBarrier<PIPE_MTE2>();
  if (GetBlockIdx()) DataCopy(p.x, p.in[3072], 128);
  else DataCopy(p.x, p.in, 2048);
})
KERNEL(one_line, KERNEL_TYPE_AIV_ONLY, { DataCopy(p.x, p.in, 32); })
KERNEL(twice, KERNEL_TYPE_AIV_ONLY, {
  for (uint32_t i = 0; i < 8; ++i) {
    DataCopy(p.x, p.in[i % 4 * 1024], 1024);
    PipeBarrier<PIPE_MTE2>();
  }
})
KERNEL(passing_by, KERNEL_TYPE_AIV_ONLY, {
  if (p.in.GetValue(0) > 0) p.in.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
  for (uint32_t i = 0; i < 2; ++i) {
    DataCopy(p.x, p.in, 1024);
    PipeBarrier<PIPE_MTE2>();
  }
})
KERNEL(stores, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 1024);
  PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < 4; ++i) DataCopy(p.out[i * 1024], p.x, 1024);
  PipeBarrier<PIPE_ALL>();
  DataCopy(p.y, p.in, 256);
})
KERNEL(steered, KERNEL_TYPE_AIV_ONLY, {
  Duplicate(p.x, 1.0f, 64);
  PipeBarrier<PIPE_ALL>();
  p.y.SetValue(0, p.in.GetValue(0));
  for (uint32_t i = 1; i < 8; ++i) p.y.SetValue(i, 0.0f);
  SetFlag<HardEvent::S_MTE3>(0);
  WaitFlag<HardEvent::S_MTE3>(0);
  DataCopy(p.out, p.y, 8);
  SetFlag<HardEvent::MTE3_S>(0);
  WaitFlag<HardEvent::MTE3_S>(0);
  uint32_t count = uint32_t(p.out.GetValue(0));
  for (uint32_t i = 0; i < count; ++i) {
    Adds(p.x, p.x, 1.0f, 64);
    PipeBarrier<PIPE_V>();
  }
})
KERNEL(looked_at, KERNEL_TYPE_AIV_ONLY, {
  DataCopy(p.x, p.in, 64);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  Adds(p.y, p.x, 1.0f, 64);
  SetFlag<HardEvent::V_S>(0);
  WaitFlag<HardEvent::V_S>(0);
  for (float i = 0; i < p.y.GetValue(0); ++i) Adds(p.x, p.x, 1.0f, 64);
})
KERNEL(reordered, KERNEL_TYPE_AIC_ONLY, {
  TBuf<TPosition::A1> l1;
  pipe.InitBuffer(l1, 8192);
  DataCopy(l1.Get<float>(), p.in, Nd2NzParams(1, 16, 96, 0, 96, 16, 1, 0));
})
KERNEL(products, KERNEL_TYPE_AIC_ONLY, {
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(l0a, 512);
  pipe.InitBuffer(l0b, 512);
  pipe.InitBuffer(l0c, 1024);
  LocalTensor<half> a = l0a.Get<half>();
  LocalTensor<half> b = l0b.Get<half>();
  InitConstValue(a, InitConstValueParams<half>(1, 1, 0, half(1)));
  InitConstValue(b, InitConstValueParams<half>(1, 1, 0, half(1)));
  PipeBarrier<PIPE_ALL>();
  Mmad(l0c.Get<float>(), a, b, MmadParams(16, 16, 16, 0, false, true));
  PipeBarrier<PIPE_M>();
  Mmad(l0c.Get<float>(), a, b, MmadParams(16, 16, 16, 0, false, false));
})
KERNEL(written_back, KERNEL_TYPE_AIC_ONLY, {
  TBuf<TPosition::A2> l0a;
  TBuf<TPosition::B2> l0b;
  TBuf<TPosition::CO1> l0c;
  pipe.InitBuffer(l0a, 1024);
  pipe.InitBuffer(l0b, 1024);
  pipe.InitBuffer(l0c, 4096);
  LocalTensor<half> a = l0a.Get<half>();
  LocalTensor<half> b = l0b.Get<half>();
  InitConstValue(a, InitConstValueParams<half>(1, 2, 0, half(1)));
  InitConstValue(b, InitConstValueParams<half>(1, 2, 0, half(1)));
  PipeBarrier<PIPE_ALL>();
  auto setting = [&](uint32_t n) { return uint32_t(p.in.GetValue(n)); };
  bool flags = setting(0) == 0;
  if (setting(1)) SetMMRowMajor();
  uint32_t tiles = 1 + setting(2);
  uint32_t parts = 1 + setting(3);
  for (uint32_t t = 0; t < tiles; ++t) {
    for (uint32_t i = 0; i < parts; ++i) {
      MmadParams m(32, 32, 16, 0, false, i == 0);
      m.unitFlag = !flags ? 0 : i + 1 < parts ? 2 : 3;
      Mmad(l0c.Get<float>(), a, b, m);
      if (i + 1 < parts) PipeBarrier<PIPE_M>();
    }
    if (!flags) SetFlag<HardEvent::M_FIX>(0);
    if (!flags) WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 f(32, 32, 32, 32, false);
    f.unitFlag = flags ? 3 : 0;
    Fixpipe<float, float, CFG_ROW_MAJOR>(p.out, l0c.Get<float>(), f);
    PipeBarrier<PIPE_FIX>();
    if (!flags && t + 1 < tiles) SetFlag<HardEvent::FIX_M>(0);
    if (!flags && t + 1 < tiles) WaitFlag<HardEvent::FIX_M>(0);
  }
})
"""
NAMES = tuple(re.findall(r"KERNEL\((\w+), KERNEL_TYPE", KERNELS))


@pytest.fixture(scope="module")
def kernels() -> dict[str, Kernel]:
    return build_all(KERNELS, entries=NAMES)


def run(
    kernel: Kernel,
    costs: dict[str, Cost] | None = None,
    rates: dict[str, Rate] | None = None,
    *,
    blocks: int = 1,
    first: float | list[float] = 0,
    trace: Path | None = None,
    **knobs: int,
) -> Report:
    data = np.zeros(blocks * 4096, np.float32)
    values = first if isinstance(first, list) else [first]
    data[: len(values)] = values
    args = [Argument("in", data), Argument("out", np.zeros(4096, np.float32))]
    lines = cost_lines(COSTS if costs is None else costs, RATES if rates is None else rates)
    report = kernel.run(blocks, args, costs=lines, trace=trace, knobs=Knobs(**knobs))
    report.raise_for_findings()
    return report


def cycles(kernel: Kernel, costs: dict[str, Cost], **options: float) -> float:
    return float(run(kernel, costs, WIDE, **options).counters["total_cycles"])


def test_pipes_overlap_and_events_order_them(kernels):
    """Loads [0,18) and [18,36), the first there at 23; Adds [23, 37); store [37, 55), there at 60."""
    report = run(kernels["events"], SIMPLE, WIDE)
    assert report.counters["total_cycles"] == pytest.approx(60)
    assert report.counters["busy_cycles"]["MTE2"] == pytest.approx(36)
    assert report.counters["busy_cycles"]["V"] == pytest.approx(2 + 4 * 3)
    assert report.counters["busy_cycles"]["MTE3"] == pytest.approx(18)
    assert report.counters["microseconds"] == pytest.approx(60 / 1800, abs=1e-3)


def test_a_barrier_of_all_pipes_serialises(kernels):
    assert cycles(kernels["barrier"], SIMPLE) == pytest.approx(23 + 14 + 23)


def test_a_pipe_starts_before_the_latency_of_its_last_instruction_is_over(kernels):
    assert cycles(kernels["no_latency"], SIMPLE) == pytest.approx(18 + 18 + 5)
    assert cycles(kernels["latency"], SIMPLE) == pytest.approx(23 + 23)


def test_costs_follow_the_repeats_whatever_the_mask(kernels):
    """32 repeats of Exp in four instructions."""
    for lanes in (1, 64):
        assert cycles(kernels["vector_work"], SIMPLE, first=lanes) == pytest.approx(4 * (2 + 8 * 5))


def test_the_scalar_unit_hands_out_one_instruction_after_the_other(kernels):
    """Six for vector instructions and the barrier, behind a load through the cache."""
    costs = FREE | {"Issue": Cost(4, 0, "test"), "ScalarMiss": Cost(100, 0, "test")}
    assert cycles(kernels["vector_work"], costs, first=1) == pytest.approx(6 * 4 + 100)


def test_a_full_queue_holds_up_the_scalar_unit(kernels):
    """The load of 1000 cycles comes behind four of 50: at once, or when the third has started."""
    costs = FREE | {"Exp": Cost(50, 0, "test"), "ScalarLoadGlobal": Cost(1000, 0, "test")}
    assert run(kernels["queued"], costs, WIDE).counters["total_cycles"] == pytest.approx(1000)
    short = {**WIDE, "queue": Rate(1, "test")}
    assert run(kernels["queued"], costs, short).counters["total_cycles"] == pytest.approx(100 + 1000)


def test_operands_in_one_group_of_banks_take_turns(kernels):
    """512 bytes apart both are in the same sixteenth of UB; 256 bytes apart all eight rows differ."""
    costs = FREE | {"Add": Cost(0, 1, "test")}
    rates = {**WIDE, "bank": Rate(1.5, "test"), "read_write": Rate(1, "test")}
    assert run(kernels["banks"], costs, rates, first=128).counters["busy_cycles"]["V"] == pytest.approx(3)
    assert run(kernels["banks"], costs, rates, first=64).counters["busy_cycles"]["V"] == pytest.approx(1)


def test_eight_rows_of_one_group_take_eight_turns(kernels):
    costs = FREE | {"Adds": Cost(0, 1, "test")}
    rates = {**WIDE, "bank": Rate(1, "test")}
    assert run(kernels["strided"], costs, rates).counters["busy_cycles"]["V"] == pytest.approx(8)


def test_writes_beside_reads_of_one_bank_are_slower(kernels):
    """In the same place of the bank or half a row of groups away they are not, one block away they are."""
    costs = FREE | {"Adds": Cost(0, 1, "test")}
    rates = {**WIDE, "bank": Rate(1, "test"), "read_write": Rate(1.5, "test")}
    found = [run(kernels["written"], costs, rates, first=shift).counters for shift in (0, 64, 8)]
    assert [counters["busy_cycles"]["V"] for counters in found] == pytest.approx([1, 1, 1.5])


# asc-devkit, sample bank_conflict_ub: bytes of both sources and the result, block and repeat stride of the
# first source, and what 1000 additions of 64 repeats took on a device, in ticks of 37 cycles (1.85 GHz)
PUBLISHED = {
    "no conflict": (0, 0x10100, 0x20000, 1, 8, 2390),
    "sources in one bank": (0, 0x4000, 0x10000, 1, 8, 4167),
    "sources in one group": (0, 0x10000, 0x14100, 1, 8, 4167),
    "result in step with a source": (0, 0x10100, 0x4000, 1, 8, 2389),
    "result beside a source": (0, 0x10100, 0x4020, 1, 8, 3751),
    "in place": (0, 0x10100, 0x10100, 1, 8, 2390),
    "one block, moving": (0, 0x10100, 0x10100, 0, 1, 3584),
    "one block, in step": (0, 0x10100, 0x10100, 0, 8, 2389),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_additions_take_what_was_measured(kernels, name):
    """The numbers for Add were taken from these measurements; "one block, moving" is 9 % off.

    Each addition replaces the result of the one before, so that the compiler puts a barrier between them.
    """
    *setup, ticks = PUBLISHED[name]
    few, many = (
        run(kernels["published"], first=[*map(float, setup), additions], auto_sync=1).counters
        for additions in (10, 20)
    )
    error = (many["total_cycles"] - few["total_cycles"]) / 10 / (ticks * 37 / 1000) - 1
    assert abs(error) < (0.09 if name == "one block, moving" else 0.02)


def test_the_compilers_barriers_take_time_where_results_are_needed(kernels):
    """Four additions onto one result of 64 repeats: each waits for the latency of the one before."""
    setup = [*map(float, PUBLISHED["no conflict"][:5]), 4]
    costs = FREE | {"Add": Cost(0, 1, "test", latency=20)}
    free, ordered = (
        run(kernels["published"], costs, WIDE, first=setup, auto_sync=on, racecheck=0) for on in (0, 1)
    )
    assert free.counters["total_cycles"] == pytest.approx(4 * 64 + 20)
    assert ordered.counters["total_cycles"] == pytest.approx(4 * (64 + 20))


def test_a_short_instruction_takes_its_pipe_for_the_least(kernels):
    """32 repeats of Exp in four instructions: eight cycles each, or ten."""
    for least, taken in ((5, 8), (10, 10)):
        costs = FREE | {"Exp": Cost(0, 1, "test", least=least)}
        assert cycles(kernels["vector_work"], costs, first=1) == pytest.approx(4 * taken)


def test_rows_of_a_matrix_take_their_time(kernels):
    """16 rows of 384 bytes: 5 cycles a row, 4 for each of its two pieces, or a byte's share, the most."""
    for per_unit, per_piece, taken in ((1 / 128, 1, 5), (1 / 8, 1, 384 / 8), (1 / 128, 4, 2 * 4)):
        cost = Cost(0, per_unit, "test", per_row=5, per_piece=per_piece)
        assert cycles(kernels["reordered"], FREE | {"LoadL1Fractals": cost}) == pytest.approx(16 * taken)


def test_products_that_add_to_l0c_take_longer(kernels):
    """Two products of 16x16x16, the second onto the result of the first."""
    costs = FREE | {"Product": Cost(0, 1, "test")}
    rates = {**WIDE, "accumulate": Rate(7, "test")}
    assert run(kernels["products"], costs, rates).counters["busy_cycles"]["M"] == pytest.approx(1 + 8)


# A fractal of results takes the cube 10 cycles, which others see 3 later, and the write-back 8 or 20.
BY_FLAGS = {
    "events": ([1, 1, 0, 0], 8, 43 + 32),
    "in_one_order": ([0, 1, 0, 0], 8, 43 + 8),
    # columns first, but written row by row: the second fractal of the first row is the third
    "in_two_orders": ([0, 0, 0, 0], 8, 33 + 3 * 8),
    "two_by_events": ([1, 1, 1, 0], 20, 2 * (43 + 80)),
    # the second product follows the first write-back fractal by fractal, then its own is not held
    "two": ([0, 1, 1, 0], 20, 13 + 160),
    # only the last product of a sum lets the write-back begin; a barrier is between the two
    "sum": ([0, 1, 0, 1], 8, 43 + 43 + 8),
    "sum_by_events": ([1, 1, 0, 1], 8, 43 + 43 + 32),
}


@pytest.mark.parametrize("timing", [0, 1])
@pytest.mark.parametrize("name", BY_FLAGS)
def test_unit_flags_let_a_write_back_follow_a_product_fractal_by_fractal(kernels, name, timing):
    first, write_back, expected = BY_FLAGS[name]
    costs = FREE | {
        "Product": Cost(0, 10, "test", latency=3),
        "WriteBack": Cost(0, write_back / 1024, "test"),
    }
    rates = {**WIDE, "accumulate": Rate(1e-9, "test")}
    counters = run(
        kernels["written_back"], costs, rates, first=list(map(float, first)), timing=timing
    ).counters
    assert counters["total_cycles"] == pytest.approx(expected)
    # what a pipe waits for flags is none of its work
    tiles, parts = 1 + first[2], 1 + first[3]
    assert counters["busy_cycles"]["M"] == pytest.approx(40 * tiles * parts)
    assert counters["busy_cycles"]["FIX"] == pytest.approx(4 * write_back * tiles)


def test_unit_flags_neither_hide_nor_add_work(kernels):
    """A kernel takes at least its last product and what is left of its write-back, at most both in turn."""
    whole = COSTS["Product"].head + 4 * COSTS["Product"].per_unit
    for settings in ([0, 0, 3, 2], [0, 1, 3, 2], [0, 0, 1, 0]):
        flags, events = (
            run(kernels["written_back"], first=[by, *settings[1:]]).counters for by in (0.0, 1.0)
        )
        assert flags["total_cycles"] < events["total_cycles"]
        tiles = 1 + settings[2]
        assert flags["total_cycles"] > tiles * (1 + settings[3]) * whole
        assert flags["total_cycles"] > flags["busy_cycles"]["FIX"] + whole / 4
        assert flags["busy_cycles"]["M"] == pytest.approx(events["busy_cycles"]["M"])


def test_two_buffers_in_a_queue_are_faster_than_one(kernels):
    """Per tile 18 + 5 for the load, 14 for the addition, 18 + 5 for the store."""
    one, two = (cycles(kernels["queue"], SIMPLE, first=buffers) for buffers in (1, 2))
    # one buffer: a load begins when the last addition has ended
    assert one == pytest.approx(4 * (23 + 14) + 23)
    # two buffers: the third addition waits for the first store, over at 60, and the stores follow at once
    assert two == pytest.approx(60 + 14 + 18 + 18 + 5)


def test_cores_wait_for_each_other(kernels):
    """AIC loads 10 + 16 (L1 free: 0), flag 7, AIV loads 18 + 5, flag 7."""
    costs = SIMPLE | {"LoadL1": Cost(20, 0, "test", latency=6)}
    assert cycles(kernels["hand_over"], costs) == pytest.approx(20 + 6 + 7 + 18 + 5 + 7)


def test_cores_share_the_rates_of_caches_and_memory(kernels):
    """Eight cores that read 128 KiB at 32 bytes a cycle each. First come, first served leaves small gaps."""
    costs = FREE | {"LoadUB": Cost(0, 1 / 32, "test")}
    alone = run(kernels["stream"], costs, WIDE, blocks=8).counters["total_cycles"]
    assert alone == pytest.approx(16384 / 32)
    shared = {**WIDE, "l2": Rate(64, "test")}
    total = run(kernels["stream"], costs, shared, blocks=8).counters["total_cycles"]
    assert 131072 / 64 <= total + 1e-2 <= 1.1 * 131072 / 64
    cold = {**WIDE, "hbm": Rate(16, "test")}
    total = run(kernels["stream"], costs, cold, blocks=8).counters["total_cycles"]
    assert 131072 / 16 <= total + 1e-2 <= 1.1 * 131072 / 16
    reads = {**WIDE, "l2_read": Rate(64, "test")}
    assert run(kernels["stream"], costs, reads, blocks=8).counters["total_cycles"] >= 131072 / 64 - 1e-2
    slow = {**WIDE, "miss": Rate(16, "test")}
    assert run(kernels["stream"], costs, slow, blocks=8).counters["total_cycles"] == pytest.approx(16384 / 16)


def test_cores_that_do_the_same_end_together_whatever_the_seed(kernels, tmp_path):
    """Eight cores that share half of what they ask for: none takes it all before the others begin."""
    costs = FREE | {"LoadUB": Cost(0, 1 / 32, "test")}
    shared, totals = {**WIDE, "l2": Rate(128, "test")}, []
    for seed in range(4):
        report = run(kernels["long_stream"], costs, shared, blocks=8, trace=tmp_path / "t.json", seed=seed)
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        loads = [event for event in events if event["ph"] == "X" and event["cat"] == "instruction"]
        ends = {pid: max(e["ts"] + e["dur"] for e in loads if e["pid"] == pid) for pid in range(8)}
        assert min(ends.values()) > 0.95 * max(ends.values())
        totals.append(report.counters["total_cycles"])
    assert max(totals) <= 1.01 * min(totals)


def test_stores_to_lines_that_are_not_there_are_slower(kernels):
    """16 KiB at 8 bytes a cycle, where a copy alone takes 20 for 4 KiB and 100 until it is complete."""
    costs = FREE | {"StoreUB": Cost(20, 0, "test", latency=100)}
    report = run(kernels["stores"], costs, {**WIDE, "miss_write": Rate(8, "test")})
    assert report.counters["active_by_core"]["AIV"]["MTE3"] == pytest.approx(4 * (4096 / 8 - 100) + 100)


def test_a_transfer_does_not_wait_for_what_others_have_booked_beside_it(kernels):
    """8 KiB and one KiB at 32 bytes a cycle each, where all cores together have 64."""
    costs = FREE | {"LoadUB": Cost(0, 1 / 32, "test")}
    report = run(kernels["beside"], costs, {**WIDE, "l2": Rate(64, "test")}, blocks=2)
    assert report.counters["busy_cycles"]["MTE2"] == pytest.approx(8192 / 32 + 1024 / 32)


def test_bytes_from_memory_have_a_rate_of_their_own(kernels):
    """Half of 8 KiB comes from memory, over all of the time that the load takes: half of the rate is left."""
    costs = FREE | {"LoadUB": Cost(0, 1, "test")}
    report = run(kernels["half_cold"], costs, {**WIDE, "hbm": Rate(1, "test")}, blocks=2)
    assert report.counters["busy_cycles"]["MTE2"] <= 2 * 4096 + 8192 + 2 * 512 + 256


def test_lines_of_the_shared_cache_are_128_bytes(kernels):
    assert run(kernels["one_line"]).counters["memory_read_bytes"] == 128


def test_what_no_longer_fits_the_shared_cache_is_read_again(kernels):
    for held, read in ((1 << 20, 16384), (8192, 32768)):
        report = run(kernels["twice"], rates={**RATES, "l2_bytes": Rate(held, "test")})
        assert report.counters["memory_read_bytes"] == read


def test_what_passes_by_the_cache_does_not_stay_there(kernels):
    """4 KiB twice; a line of them has the number that the scalar unit read."""
    for first, read in ((0, 4096 - 128), (1, 2 * (4096 - 128))):
        assert run(kernels["passing_by"], first=first).counters["memory_read_bytes"] == read


def test_what_is_written_goes_to_memory_when_the_cache_is_full(kernels):
    """Of 16 KiB written half has to leave, then the other half for a KiB that is read; the read waits."""
    rates = {**WIDE, "hbm": Rate(1, "test")}
    for held, written in ((1 << 20, 0), (8192, 16384)):
        report = run(kernels["stores"], FREE, {**rates, "l2_bytes": Rate(held, "test")})
        gone = report.counters["memory_bytes"] - report.counters["memory_read_bytes"]
        assert gone == written and report.counters["memory_read_bytes"] == 1024
        assert report.counters["total_cycles"] >= 1024 + written / 2


@pytest.mark.parametrize("name", NAMES)
def test_nothing_becomes_faster_when_something_costs_more(kernels, name):
    published = [0, 65536, 131072, 1, 8, 1]
    first = {"queue": 2, "vector_work": 64, "banks": 64, "published": published}.get(name, 0)
    base = run(kernels[name], first=first).counters["total_cycles"]
    dearer = {
        key: dataclasses.replace(cost, head=cost.head * 2 + 1, least=cost.least * 2)
        for key, cost in COSTS.items()
    }
    assert run(kernels[name], dearer, first=first).counters["total_cycles"] > base
    busy = run(kernels[name], first=first).counters["busy_cycles"]
    assert max(busy.values()) <= 3 * base


@pytest.mark.parametrize("name", NAMES)
def test_time_is_the_same_without_data(kernels, name):
    """No array is written; what the scalar unit reads is real, and decides about the work here."""
    setup = [0, 65536, 131072, 1, 8, 3]
    first = {"queue": 2, "vector_work": 64, "banks": 64, "published": setup}.get(name, 0)
    blocks = 2 if name in ("beside", "half_cold", "stream") else 1
    whole, timed = (
        run(kernels[name], first=first, blocks=blocks, timing=on, racecheck=0, auto_sync=1).counters
        for on in (0, 1)
    )
    assert timed == whole


@pytest.mark.parametrize("timing", [0, 1])
def test_a_trace_tells_operands_on_chip_and_may_be_of_one_block(kernels, tmp_path, timing):
    """Loads to byte 0, an addition there, a store from there; block 1 alone."""
    trace = tmp_path / "t.json"
    data, out = np.zeros(8192, np.float32), np.zeros(8192, np.float32)
    arguments = [Argument("in", data), Argument("out", out)]
    report = kernels["events"].run(
        2, arguments, trace=trace, trace_block=1, knobs=Knobs(timing=bool(timing), racecheck=False)
    )
    events = [each for each in json.loads(trace.read_text())["traceEvents"] if each["ph"] == "X"]
    work = {each["name"].split()[0]: each["args"] for each in events if each["cat"] == "instruction"}
    assert {each["pid"] for each in events} == {1} and len(report.counters["block_ends"]) == 2
    assert max(report.counters["block_ends"]) == pytest.approx(report.counters["total_cycles"], abs=0.01)
    assert set(work["Adds"]["operands"].split(",")) == {"r UB 0", "w UB 0"}
    assert {each["args"]["operands"] for each in events if each["name"].startswith("DataCopy")} == {
        "w UB 0", "w UB 4096", "r UB 0"
    }  # fmt: skip


def test_only_the_numbers_that_may_steer_a_kernel_are_filled_in(kernels):
    """A gigabyte of zeros costs nothing; the result stays as it was."""
    data, out = np.zeros(1 << 28, np.float32), np.full(4096, 7, np.float32)
    started = time.process_time()
    report = kernels["events"].run(1, [Argument("in", data), Argument("out", out)], knobs=Knobs(timing=True))
    assert report.ok and report.counters["gm_write_bytes"]["out"] == 1024
    assert (out == 7).all() and time.process_time() - started < 0.5


@pytest.mark.parametrize("timing", [0, 1])
def test_what_the_scalar_unit_wrote_is_real_wherever_it_is_copied(kernels, timing):
    """Numbers go by UB to global memory and back, and decide how often the loop runs."""
    for count in (1, 5):
        report = run(kernels["steered"], FREE | {"Adds": Cost(0, 1, "test")}, first=count, timing=timing)
        assert report.counters["busy_cycles"]["V"] == pytest.approx(count)


@pytest.mark.parametrize(("size", "found"), [(8192, 4), (1 << 20, 0)])
def test_what_nothing_has_computed_is_read_as_0(kernels, size, found):
    """Without data a sum of what was loaded is known of small arrays alone."""
    data, out = np.full(size, 3, np.float32), np.zeros(4096, np.float32)
    costs = cost_lines(FREE | {"Adds": Cost(0, 1, "test")}, RATES)
    report = kernels["looked_at"].run(
        1, [Argument("in", data), Argument("out", out)], knobs=Knobs(timing=True), costs=costs
    )
    assert report.counters["busy_cycles"]["V"] == pytest.approx(1 + found)


def test_every_operation_has_a_cost_and_every_cost_an_operation():
    names = set(re.findall(r"X\((\w+)\)", OPS.read_text().replace("ATTNEMU_ONE(name)", ""))) - {"X"}
    assert names == set(COSTS)
    for cost in COSTS.values():
        parameters = dataclasses.astuple(dataclasses.replace(cost, source="", of_type={}))
        numbers = [each for each in parameters if isinstance(each, (int, float))]
        assert cost.source and min(numbers) >= 0 and sum(map(bool, numbers)) <= 4


def test_every_operation_on_lanes_has_a_meaning():
    """Of floats or of integers; those that only move lanes have functions of their own."""
    listed = re.search(r"LANE_OPS\(X\)(.*?)\n\n", OPS.read_text(), re.S)[1]
    source = OPS.parents[2] / "src" / "elementwise.cpp"
    meant = set(re.findall(r"case VectorOp::(\w+): return ", source.read_text()))
    assert set(re.findall(r"X\((\w+)\)", listed)) - {"Fill", "Index", "Copy"} == meant


@pytest.mark.parametrize("missing", ["Adds", "Barrier", "Product"])
def test_a_missing_cost_is_an_error(kernels, missing):
    costs = {name: cost for name, cost in COSTS.items() if name != missing}
    with pytest.raises(LaunchError, match=f"no cost for {missing}"):
        run(kernels["events"], costs)


def test_a_missing_rate_is_an_error(kernels):
    with pytest.raises(LaunchError, match="no rate for hbm"):
        run(kernels["events"], rates={name: rate for name, rate in RATES.items() if name != "hbm"})


def test_the_trace_opens_in_perfetto(kernels, tmp_path):
    report = run(kernels["hand_over"], trace=tmp_path / "t.json")
    document = json.loads((tmp_path / "t.json").read_text())
    events = document["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert all({"name", "ts", "dur", "pid", "tid"} <= set(event) for event in spans)
    assert all(event["dur"] > 0 and event["ts"] >= 0 for event in spans)
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {0: "block 0 AIC", 1: "block 0 AIV0", 2: "block 0 AIV1"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    loads = [event for event in spans if event["name"].startswith("DataCopy kernel.cpp:")]
    assert sorted((event["pid"], threads[event["pid"], event["tid"]]) for event in loads) == [
        (core, "MTE2") for core in (0, 1, 2)
    ]
    assert {event["cat"] for event in spans} == {"instruction", "wait"}
    assert any(event["name"].startswith("wait for cross-core flag") for event in spans)
    end = max(event["ts"] + event["dur"] for event in spans)
    assert end <= report.counters["microseconds"] + 1e-3
    # instructions of one pipe follow each other
    for key in threads:
        mine = sorted((e["ts"], e["dur"]) for e in spans if (e["pid"], e["tid"]) == key)
        assert all(a + d <= b + 1e-5 for (a, d), (b, _) in itertools.pairwise(mine))
