"""Race records are kept for whole repeats until an access takes a part: nothing is lost at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, Kernel, Report, build_all

_KERNEL = """
extern "C" __global__ __aicore__ void %s(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 1024);
  LocalTensor<float> u = buffer.Get<float>();
  GlobalTensor<float> to;
  to.SetGlobalBuffer((__gm__ float *)out);
  Duplicate(u, 1.0f, 256);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  %s
}
"""
_PART = "DataCopy(to, u[8], 8);"
_ORDER = "SetFlag<HardEvent::MTE3_V>(0); WaitFlag<HardEvent::MTE3_V>(0);"
_BACK = "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);"


def _fill(first: int, count: int) -> str:
    return f"PipeBarrier<PIPE_V>(); Duplicate(u[{first}], 2.0f, {count});"


BODIES = {
    "whole_over_part": _PART + _fill(0, 64),
    "part_over_part": _PART + _fill(8, 8),
    "part_over_whole": "DataCopy(to, u, 128);" + _fill(72, 8),
    "whole_over_whole": "DataCopy(to, u, 64);" + _fill(0, 64),
    "beside_the_part": _PART + _fill(16, 48) + _fill(0, 8),
    "ordered": _PART + _ORDER + _fill(0, 64),
    # one write takes all of it after parts were taken, and then parts again
    "united": _PART + _ORDER + _fill(0, 64) + _BACK + "DataCopy(to[64], u[8], 8);" + _fill(24, 40),
    "united_badly": _PART + _ORDER + _fill(0, 64) + "DataCopy(to[64], u[8], 8);",
}


@pytest.fixture(scope="module")
def kernels() -> dict[str, Kernel]:
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
    text += "".join(_KERNEL % item for item in BODIES.items())
    return build_all(text, entries=list(BODIES))


def run(kernel: Kernel) -> Report:
    return kernel.run(1, [Argument("out", np.zeros(128, np.float32))])


@pytest.mark.parametrize(
    ("name", "rule", "first", "size"),
    [
        ("whole_over_part", "write_after_read", 32, 32),
        ("part_over_part", "write_after_read", 32, 32),
        ("part_over_whole", "write_after_read", 288, 32),
        ("whole_over_whole", "write_after_read", 0, 256),
        ("united_badly", "read_after_write", 32, 32),
    ],
)
def test_what_nothing_orders_is_found_with_its_bytes(kernels, name, rule, first, size):
    found = [each for each in run(kernels[name]).findings if each.check == "racecheck"]
    assert [(each.rule, each.address, each.bytes) for each in found] == [(rule, first, size)]


@pytest.mark.parametrize("name", ["beside_the_part", "ordered", "united"])
def test_what_is_ordered_or_apart_is_not(kernels, name):
    assert run(kernels[name]).ok
