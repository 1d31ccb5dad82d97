# ruff: noqa: E501  (C++ statements stay on one line)
"""Text that only the device compiler reads: attributes' macros, pointers to UB, its names of types and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.emulator import Knobs, VendorHeaders
from attndsl.emulator.device_syntax import has_device_syntax, rewrite_device_syntax
from attndsl.emulator.program import build_program
from tests.emulator.small_cann import write_small_cann


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("#define __aicore__ [aicore]\n", "#define __aicore__ \n"),
        ("  #  define AICORE [ aicore ] // of cores\n", "  #  define AICORE  // of cores\n"),
        ("x = (float)(*((__ubuf__ float*)t.GetPhyAddr() + 3));", "x = (float)(*((ATTNEMU_UBUF_POINTER(float))t.GetPhyAddr() + 3));"),
        ("*(__ubuf__ int32_t *)p = 1;", "*(ATTNEMU_UBUF_POINTER(int32_t))p = 1;"),
        ("*(\n(__ubuf__\nhalf*)p)", "*(\n(ATTNEMU_UBUF_POINTER(half))\np)"),
    ],
)  # fmt: skip
def test_what_is_rewritten_stays_on_its_line(text: str, rewritten: str) -> None:
    assert has_device_syntax(text)
    assert rewrite_device_syntax(text) == rewritten
    assert not has_device_syntax(rewritten)


@pytest.mark.parametrize(
    "text",
    [
        "int of[4]; enum { aicore }; return of[aicore];\n",
        "// #define __aicore__ [aicore]\n",
        'const char* said = "*((__ubuf__ float*)p)";\n',
        "vector_dup((__ubuf__ float*)t.GetPhyAddr(), 0.0f, 1, 1, 0, 8, 0);\n",
        "float x = *((__gm__ float*)tiling + 5);\n",
    ],
)
def test_what_reads_the_same_is_left(text: str) -> None:
    assert not has_device_syntax(text)
    assert rewrite_device_syntax(text) == text


KERNEL = """#include "kernel_operator.h"
#define TILING_KEY_IS(k) (TILING_KEY_VAR == (k))
#define __aicore__ [aicore]
extern "C" __global__ __aicore__ void sums(__gm__ uint8_t* a) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  __gm__ float* all = (__gm__ float*)a + 64 * (block_num - 2 + block_idx);
  copy_gm_to_ubuf((void*)0, all, 0, 1, 8, 0, 0);
  set_flag(PIPE_MTE2, PIPE_S, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID0);
  AscendC::LocalTensor<float> t{0};
  float first = (float)(*((__ubuf__ float*)t.GetPhyAddr(0)));
  const float third = *((__ubuf__ float*)t.GetPhyAddr(0) + 2);
  if (TILING_KEY_IS(7)) *(__ubuf__ float*)t.GetPhyAddr(1) = first + third;
  *(__ubuf__ __bf16*)t.GetPhyAddr(3) = (__bf16)1.5f;
  set_flag(PIPE_S, PIPE_V, EVENT_ID0); wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
  set_vector_mask(0, ~0ull);
  AscendC::OneRepeat((__ubuf__ float*)0, (__ubuf__ float*)0, (__ubuf__ float*)0);
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(all, (void*)0, 0, 1, 8, 0, 0);
}
"""
HOST = """#include <cstdio>
#include "tikicpulib.h"
#include "aclrtlaunch_sums.h"
int main() {
  float host[128]; void* device = nullptr; aclrtStream stream = nullptr;
  for (int i = 0; i < 128; ++i) host[i] = i;
  aclInit(nullptr); aclrtSetDevice(0); aclrtCreateStream(&stream);
  aclrtMalloc(&device, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(device, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
  for (int key : {7, 0}) {
    ICPU_SET_TILING_KEY(key);
    ACLRT_LAUNCH_KERNEL(sums)(2, stream, device);
    aclrtSynchronizeStream(stream);
  }
  aclrtMemcpy(host, sizeof host, device, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%g %g %g\\n", host[0], host[1], host[65]);
}
"""


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> VendorHeaders:
    return VendorHeaders.at(write_small_cann(tmp_path_factory.mktemp("cann")))


def test_a_kernel_for_the_device_compiler_runs(headers: VendorHeaders, tmp_path: Path) -> None:
    # twice doubled; where the key asks for it, the second number is the sum of its neighbours before.
    # OneRepeat and LocalTensor{address} are the headers' alone: the host's reading of the kernel needs them, too
    kernel, host = tmp_path / "sums.cce", tmp_path / "main.cpp"
    kernel.write_text(KERNEL)
    host.write_text(HOST)
    report = build_program(host, sources=[kernel], headers=headers).run()
    assert (report.stdout, report.exit_code, report.error) == ("0 8 520\n", 0, None)
    assert [str(finding) for finding in report.findings] == []


def test_an_element_that_is_read_too_early_is_found(headers: VendorHeaders, tmp_path: Path) -> None:
    kernel, host = tmp_path / "kernels" / "sums.cce", tmp_path / "host" / "main.cpp"
    for file in (kernel, host):
        file.parent.mkdir()
    kernel.write_text(
        KERNEL.replace("set_flag(PIPE_MTE2, PIPE_S, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID0);", "")
    )
    host.write_text(HOST)
    report = build_program(host, sources=[kernel], headers=headers).run(
        knobs=Knobs()
    )  # nothing synchronises by itself
    told = {finding.source for finding in report.findings if finding.check == "racecheck"}
    line = KERNEL.splitlines().index("  AscendC::LocalTensor<float> t{0};") + 2
    assert f"{kernel}:{line}" in told, [str(each) for each in report.findings]
