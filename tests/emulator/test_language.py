# ruff: noqa: E501  (C++ statements stay on one line)
"""What kernels take from the compiler and the scalar unit: its own names for synchronization, divisions by zero."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from attndsl.emulator import Argument, build
from attndsl.emulator.program import build_program
from attndsl.emulator.toolchain import require_compiler

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


def test_the_compilers_names_synchronize():
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
def test_a_program_goes_on_and_so_does_its_host(tmp_path):
    host = """
#include <cstdlib>
#include "acl/acl.h"
int share(int n, int parts) { return n / parts; }
int main(int argc, char** argv) {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  uint8_t *x, *y; aclrtMalloc((void**)&x, 64, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMalloc((void**)&y, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemset(x, 64, 0, 64);
  k<<<1, nullptr, stream>>>(x, y);
  aclrtSynchronizeStream(stream);
  return share(10, std::atoi(argv[1]));
}
"""
    (tmp_path / "main.asc").write_text(HEAD + DIVIDE + host)
    program = build_program(tmp_path / "main.asc")
    report = program.run(["10"])
    assert report.exit_code == 1 and {f.rule for f in report.findings} == {"division_by_zero"}
    report = program.run(["0"])
    assert report.exit_code == 0 and [f.source for f in report.findings if f.core == "host"] == [
        "share(int, int)"
    ]


COPIED = """
  TPipe pipe; TBuf<TPosition::VECCALC> first, second; pipe.InitBuffer(first, 512); pipe.Destroy();
  [](TPipe mine) { TBuf<TPosition::VECCALC> more; mine.InitBuffer(more, 64); }(pipe);
  GetTPipePtr()->InitBuffer(second, 32);
  uint8_t pads[4] = {1, 2, 3, 4}; const uint8_t* pad = pads;
  LoadData3DParamsV2<half> image = {pad, 8, 8, 16, 16, 16, 0, 0, 1, 1, 3, 3, 1, 1, false, false, (half)0};
  GlobalTensor<int32_t> b; b.SetGlobalBuffer((__gm__ int32_t*)y);
  b.SetValue(0, GetTPipePtr() == &pipe); b.SetValue(1, image.padList[2]);
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(b);
}
"""


def test_copies_of_a_pipe_own_nothing_and_paddings_may_be_pointers():
    y = np.zeros(8, np.int32)
    report = build(HEAD + COPIED, entry="k").run(
        1, [Argument("x", np.zeros(8, np.int32)), Argument("y", y, output=True)]
    )
    assert not report.findings and y.tolist()[:2] == [1, 3]


MINIMUM = """#include <algorithm>
using namespace std;
namespace own {
template <class T, class U, std::enable_if_t<std::is_arithmetic_v<U>, bool> = true> auto min(T const&, U const&) { return -1; }
template <class T, class U> auto max(T, U) { return -2; }
}
namespace user { using namespace own; int least(int a, unsigned b) { return min(a, b) + max(a, b); } }
"""
USES = """
  GlobalTensor<int32_t> b; b.SetGlobalBuffer((__gm__ int32_t*)y); uint32_t four = 4; int64_t five = 5;
  b.SetValue(0, min(four, 7)); b.SetValue(1, (int32_t)max(five, four)); b.SetValue(2, min(3, 2) + std::max(10, 20)); b.SetValue(3, user::least(1, 2));
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(b);
}
"""


def test_minima_of_scalars_are_the_compilers():
    y = np.zeros(8, np.int32)
    report = build(MINIMUM + HEAD + USES, entry="k").run(
        1, [Argument("x", np.zeros(8, np.int32)), Argument("y", y, output=True)]
    )
    assert not report.findings and y.tolist()[:4] == [4, 5, 22, -3]


UNTOLD = """#include "kernel_operator.h"
#include <cstdio>
#include "acl/acl.h"
using namespace AscendC;
#define ENTRY __global__ __aicore__
ENTRY KIND void k(GM_ADDR x) {
  SetFlag<HardEvent::MTE1_M>(0); WaitFlag<HardEvent::MTE1_M>(0);
  LocalTensor<half> t(TPosition::A1, 0, 256); GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)x); DataCopy(t, g, 256);
  OWN
}
int main() {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  uint8_t* x; aclrtMalloc((void**)&x, 512, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMemset(x, 512, 0, 512);
  k<<<1, nullptr, stream>>>(x); aclrtSynchronizeStream(stream);
}
"""
OWN = "if ASCEND_IS_AIV { LocalTensor<half> u(TPosition::VECCALC, 0, 256); DataCopy(u, g, 256); }"


@pytest.mark.parametrize(
    ("own", "kind", "clean"), [("", "", True), (OWN, "", False), ("", "__mix__(1, 2)", False)]
)
def test_a_kind_of_core_that_has_nothing_to_do_is_not_in_a_kernel_that_tells_no_kind(
    tmp_path, own, kind, clean
):
    # behind a macro of the program's own, kernels tell nothing
    text = UNTOLD.replace("OWN", own).replace(
        "ENTRY KIND", f"__global__ {kind} __aicore__" if kind else "ENTRY"
    )
    (tmp_path / "k.asc").write_text(text)
    rules = {f.rule for f in build_program(tmp_path / "k.asc").run().findings}
    assert rules == (set() if clean else {"event_on_wrong_core", "wrong_memory"})


STEPS_OF_A_RING = """
  struct Step { int64_t at; };
  struct Ring { Step steps[3]; int64_t behind[4]; } ring{};
  GlobalTensor<int64_t> a; a.SetGlobalBuffer((__gm__ int64_t*)x);
  ring.steps[a.GetValue(0)].at += 1;
}
"""


@pytest.mark.skipif(not require_compiler().is_gnu, reason="other compilers do not call back")
@pytest.mark.parametrize(("index", "rules"), [(2, set()), (3, {"array_index"}), (-1, {"array_index"})])
def test_an_index_beyond_an_array_of_the_kernel(index, rules):
    x, y = np.array([index, 0], np.int64), np.zeros(8, np.int64)
    kernel = build(HEAD + STEPS_OF_A_RING, entry="k")
    report = kernel.run(1, [Argument("x", x), Argument("y", y, output=False)])
    assert {f.rule for f in report.findings} == rules
    assert all(f.source.startswith("kernel.cpp:") for f in report.findings)


KEPT = """
  struct Item { int64_t tiles; };
  struct Kept { Item items[4]; int64_t begun = 0; } kept;
  GlobalTensor<int64_t> a, b; a.SetGlobalBuffer((__gm__ int64_t*)x); b.SetGlobalBuffer((__gm__ int64_t*)y);
  if (a.GetValue(0) > 0) kept.items[a.GetValue(0)].tiles = 7;
  b.SetValue(0, kept.items[2].tiles > 0); b.SetValue(1, kept.items[a.GetValue(0)].tiles == 7); b.SetValue(2, kept.begun);
}
"""


@pytest.mark.parametrize(("index", "wanted"), [(0, [1, 0, 0]), (1, [1, 1, 0])])
def test_members_without_a_value_are_not_zero(index, wanted):
    """A kernel that reads one before it gives it a value is wrong on the device; here it is not right by chance."""
    x, y = np.array([index, 0], np.int64), np.zeros(8, np.int64)
    report = build(HEAD + KEPT, entry="k").run(1, [Argument("x", x), Argument("y", y, output=True)])
    assert y[:3].tolist() == wanted and not [f for f in report.findings if f.check == "memcheck"]
