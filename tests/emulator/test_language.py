# ruff: noqa: E501  (C++ statements stay on one line)
"""What kernels take from the compiler and the scalar unit: its own names for synchronisation, divisions by zero."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from attndsl.emulator import Argument, build
from attndsl.emulator.program import build_program

HEAD = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
"""
COPY = """
  GlobalTensor<float> a, b; a.SetGlobalBuffer((__gm__ float*)x); b.SetGlobalBuffer((__gm__ float*)y);
  TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 512); LocalTensor<float> t = buf.Get<float>();
  DataCopy(t, a, 64); FIRST
  icache_preload(1);
  Adds(t, t, 1.0f, 64); SECOND
  Adds(t[64], t, 1.0f, 64); THIRD
  DataCopy(b, t[64], 64);
}
"""
STEPS = {
    "FIRST": "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID3); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID3);",
    "SECOND": "pipe_barrier(PIPE_V);",
    "THIRD": "pipe_barrier(PIPE_ALL);",
}


def _copied(left_out: str):
    text = HEAD + COPY
    for name, step in STEPS.items():
        text = text.replace(name, "" if name == left_out else step)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    report = build(text, entry="k").run(1, [Argument("x", x), Argument("y", y, output=True)])
    return y, {f.rule for f in report.findings}


def test_the_compilers_names_synchronise():
    y, rules = _copied("")
    assert rules == set() and y.tolist() == (np.arange(64) + 2).tolist()


@pytest.mark.parametrize("left_out", STEPS)
def test_each_of_them_is_needed(left_out):
    assert _copied(left_out)[1] & {"read_after_write", "write_after_write", "write_after_read"}


DIVIDE = """
  GlobalTensor<int64_t> a, b; a.SetGlobalBuffer((__gm__ int64_t*)x); b.SetGlobalBuffer((__gm__ int64_t*)y);
  int64_t n = a.GetValue(0), zero = a.GetValue(1);
  b.SetValue(0, n / zero); b.SetValue(1, n % zero); b.SetValue(2, (uint32_t)n / (uint32_t)zero); b.SetValue(3, (int32_t)n % (int32_t)zero);
  b.SetValue(4, (uint16_t)n % (uint16_t)zero); b.SetValue(5, (uint64_t)n % (uint64_t)zero); b.SetValue(6, n % (zero + 7));
  DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(b);
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors do not trap")
@pytest.mark.parametrize("n", [1000, -(1 << 40) - 5])
def test_a_core_that_divides_by_zero_goes_on(n):
    x, y = np.array([n, 0], np.int64), np.zeros(8, np.int64)
    report = build(HEAD + DIVIDE, entry="k").run(1, [Argument("x", x), Argument("y", y, output=True)])
    assert {f.rule for f in report.findings} == {"division_by_zero"}
    low = n & 0xFFFFFFFF
    want = [0, n, 0, low - (low >> 31 << 32), n & 0xFFFF, n, int(np.fmod(n, 7))]
    assert y.tolist()[:7] == want


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors do not trap")
def test_a_program_goes_on_but_its_host_does_not(tmp_path):
    host = """
#include <cstdlib>
#include "acl/acl.h"
int main(int argc, char** argv) {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  uint8_t *x, *y; aclrtMalloc((void**)&x, 64, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMalloc((void**)&y, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemset(x, 64, 0, 64);
  k<<<1, nullptr, stream>>>(x, y);
  aclrtSynchronizeStream(stream);
  return 10 / (std::atoi(argv[1]));
}
"""
    (tmp_path / "main.asc").write_text(HEAD + DIVIDE + host)
    program = build_program(tmp_path / "main.asc")
    report = program.run(["10"])
    assert report.exit_code == 1 and {f.rule for f in report.findings} == {"division_by_zero"}
    assert "SIGFPE" in str(program.run(["0"]).error)
