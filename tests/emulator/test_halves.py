# ruff: noqa: E501  (C++ statements stay on one line)
"""Sources that choose by the preprocessor which half they are: both are compiled, each core runs its own."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build
from attndsl.emulator.errors import CompileFailed
from attndsl.emulator.halves import halves_of
from attndsl.emulator.program import build_program

# Words of 64 bytes: one of each cube core, then those of the vector cores.
HEADER = """#pragma once
#include "kernel_operator.h"
using namespace AscendC;
inline void put(__gm__ int32_t* x, int64_t line, int32_t value) {
  GlobalTensor<int32_t> g; g.SetGlobalBuffer(x + line * 16);
  g.SetValue(0, value); DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
}
#if defined(__DAV_C220_CUBE__)
template <int N> struct Work {
  static inline int32_t calls = 0;
  __aicore__ inline int32_t operator()() { return N + GetBlockIdx() + 0 * ++calls; }
};
#elif defined(__DAV_C220_VEC__)
template <int N> struct Work {
  int32_t unused[4];  // of another size than its namesake
  __aicore__ inline int32_t operator()() { return 100 * N + GetBlockIdx(); }
};
#endif
"""
KERNEL = """
__aicore__ inline void body(__gm__ int32_t* x, int32_t more) {
#ifdef __DAV_C220_CUBE__
  Work<N> work;
  put(x, GetBlockIdx(), work() + more);
  WRONG
#endif
#ifdef __DAV_C220_VEC__
  Work<N> work;
  put(x, 2 + GetBlockIdx(), work() + more);
#endif
}
"""
PROGRAM = (
    """#include <cstdio>
#include "acl/acl.h"
#include "work.h"
template <int N>"""
    + KERNEL.replace("void body", "void body_of").replace("WRONG", "")
    + """
template <int N> __global__ __mix__(1, 2) void k(__gm__ int32_t* x, int32_t more) { body_of<N>(x, more); }
extern "C" __global__ __aicore__ void other(__gm__ int32_t* x, int32_t more) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1); body_of<3>(x, more); }
template <int N> void run(int32_t* x, aclrtStream stream, int32_t more) { k<N><<<2, nullptr, stream>>>(x, more); }
int main() {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  int32_t* x; aclrtMalloc((void**)&x, 384, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int which = 0; which < 3; ++which) {
    aclrtMemset(x, 384, 0, 384);
    if (which == 0) run<1>(x, stream, 5);
    if (which == 1) run<2>(x, stream, 0);
    if (which == 2) other<<<2, nullptr, stream>>>(x, 0);
    aclrtSynchronizeStream(stream);
    int32_t got[96]; aclrtMemcpy(got, 384, x, 384, ACL_MEMCPY_DEVICE_TO_HOST);
    for (int i = 0; i < 96; i += 16) printf("%d ", got[i]);
  }
}
"""
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work.h").write_text(HEADER)
    return tmp_path


def test_a_program_runs_both_halves_of_its_kernels(folder):
    (folder / "both.asc").write_text(PROGRAM)
    report = build_program(folder / "both.asc").run()
    assert report.ok, report
    want = [6, 7, 105, 106, 107, 108, 2, 3, 200, 201, 202, 203, 3, 4, 300, 301, 0, 0]
    assert [int(word) for word in report.stdout.split()] == want


def kernel_file(folder, kind, wrong=""):
    path = folder / "kernel.cpp"
    text = '#include "work.h"\nconstexpr int N = 1;' + KERNEL.replace("WRONG", wrong)
    path.write_text(
        text
        + f'extern "C" __global__ __aicore__ void k(GM_ADDR x) {{ {kind} body((__gm__ int32_t*)x, 0); }}\n'
    )
    return path


def run(kernel):
    x = np.zeros(96, np.int32)
    report = kernel.run(2, [Argument("x", x, output=True)])
    return x[::16].tolist(), report


def test_a_kernel_by_itself(folder):
    mixed = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);"
    got, report = run(build(kernel_file(folder, mixed), entry="k"))
    assert report.ok, report.findings
    assert got == [1, 2, 100, 101, 102, 103]


def test_one_half_alone_where_kernels_need_no_other(folder):
    for kind, want in (("AIV", [0, 0, 100, 101, 0, 0]), ("AIC", [1, 2, 0, 0, 0, 0])):
        path = kernel_file(folder, f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{kind}_ONLY);")
        got, report = run(build(path, entry="k"))
        assert got == want and report.ok, report.findings


def test_findings_name_the_line_in_their_half(folder):
    path = kernel_file(
        folder,
        "",
        wrong="LocalTensor<half> t(TPosition::A1, 524288, 16); GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)x); DataCopy(t, g, 16);",
    )
    _, report = run(build(path, entry="k"))
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if "DataCopy(t" in text)
    assert {(f.rule, f.source) for f in report.findings} == {("out_of_range", f"kernel.cpp:{line}")}


_TYPES = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)x + (g_coreType == AIC ? GetBlockIdx() : 2 + GetBlockIdx()) * 16);
  CONSTANT
  g.SetValue(0, g_coreType); DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
}
"""
_CONSTANT = "#ifdef __DAV_C220_CUBE__\n static_assert(g_coreType == AIC);\n#elif defined(__DAV_C220_VEC__)\n static_assert(g_coreType == AIV);\n#endif"


@pytest.mark.parametrize("constant", ["", _CONSTANT])
def test_the_type_of_a_core_is_known(constant):
    got, report = run(build(_TYPES.replace("CONSTANT", constant), entry="k"))
    assert report.ok and got == [1, 1, 2, 2, 2, 2], report.findings


def test_a_half_that_does_not_compile_is_named(folder):
    with pytest.raises(CompileFailed, match=r"its cube half"):
        build(kernel_file(folder, "", wrong="no_such_thing();"), entry="k")


def test_a_macro_of_the_caller_decides(folder):
    got, report = run(build(kernel_file(folder, ""), entry="k", defines=["__DAV_C220_VEC__"]))
    assert got == [0, 0, 100, 101, 102, 103], report.findings


_BY_TYPE = """#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
#define DEVICE_ENTRY __global__ __aicore__
struct Work {
  __gm__ int32_t* x;
  template <int32_t type = g_coreType> void operator()();
  template <> void operator()<AIC>() { put(GetBlockIdx(), 1 + GetBlockIdx()); }
  template <> void operator()<AIV>() { put(1 + GetBlockIdx(), 100 + GetBlockIdx()); }
  void put(int64_t line, int32_t value) {
    GlobalTensor<int32_t> g; g.SetGlobalBuffer(x + line * 16);
    if constexpr (g_coreType == AscendC::AIV) g.SetValue(0, value); else g.SetValue(0, -value);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
  }
};
template <class Operator> DEVICE_ENTRY void adapter(GM_ADDR x) {
  HEAD
  Operator work{(__gm__ int32_t*)x}; work();
}
int main() {
  aclInit(nullptr); aclrtSetDevice(0); aclrtStream stream; aclrtCreateStream(&stream);
  uint8_t* x; aclrtMalloc((void**)&x, 192, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMemset(x, 192, 0, 192);
  adapter<Work><<<1, nullptr, stream>>>(x); aclrtSynchronizeStream(stream);
  int32_t got[48]; aclrtMemcpy(got, 192, x, 192, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%d %d %d", got[0], got[16], got[32]);
}
"""
# as in catlass; the second is nothing that can be compiled without a half
_HEADS = [
    "",
    "#ifdef __DAV_CUBE__\n int more = 1;\n#elif defined(__DAV_VEC__)\n int more = 2;\n#endif\n more += 1;",
]


@pytest.mark.sweep(fast=1)
@pytest.mark.parametrize("head", _HEADS, ids=["by type", "no reading without a half"])
def test_a_program_may_choose_by_the_constant_type(tmp_path, head):
    # specializations inside the class are nothing for older g++
    text = _BY_TYPE.replace("HEAD", head)
    for kind in ("AIC", "AIV"):
        text = text.replace(
            f"  template <> void operator()<{kind}>()", f"  void run(std::integral_constant<int32_t, {kind}>)"
        )
    text = text.replace(
        "void operator()();", "void operator()() { run(std::integral_constant<int32_t, type>()); }"
    )
    (tmp_path / "both.asc").write_text(text)
    report = build_program(tmp_path / "both.asc").run()
    assert report.ok and report.stdout == "-1 100 101", report


def test_which_halves_are_compiled():
    def names(text, *kinds, defines=()):
        return [half.name for half in halves_of([text], defines, kinds)]

    chooses = "#if defined(__DAV_CUBE__)\n#endif\n"
    assert names(chooses, "MIX_AIC_1_2") == names(chooses, "AIC_ONLY", "AIV_ONLY") == ["cube", "vector"]
    assert names(chooses, "AIV_ONLY") == names(chooses, "MIX_AIV_1_0") == ["vector"]
    assert names(chooses, "AIC_ONLY") == names(chooses, "MIX_AIC_1_0") == ["cube"]
    assert names(chooses + "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY)", "MIX_AIC_1_2") == ["vector"]
    assert names("// __DAV_C220_VEC__", "MIX_AIC_1_2") == []
    # the type as a constant, but not at run time
    for constant in (
        "if constexpr (x && g_coreType == AIV) {}",
        "template <int T = g_coreType> void f();",
        "Flag<0, g_coreType>::id;",
    ):
        assert names(constant, "MIX_AIC_1_2") == ["cube", "vector"], constant
    assert names("if (g_coreType == AIV) x = g_coreType;", "MIX_AIC_1_2") == []
    assert names(chooses, "MIX_AIC_1_2", defines=["__DAV_CUBE__=1"]) == []
