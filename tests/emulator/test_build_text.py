"""What the official build puts around a kernel: the call ahead of it, and where its workspace is."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build
from attndsl.emulator.build_definitions import definitions_beside, workspace_place
from attndsl.emulator.errors import CompileFailed
from attndsl.emulator.program import build_program

MIX = """#include "kernel_operator.h"
%s
extern "C" __global__ __aicore__ void nothing(GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
}
"""
LIBRARY = '#include "lib/matmul_intf.h"'

STORE = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void store(GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::GlobalTensor<int32_t> from, to;
    from.SetGlobalBuffer((__gm__ int32_t*)tiling);
    to.SetGlobalBuffer((__gm__ int32_t*)AscendC::GetUserWorkspace(nullptr));
    to.SetValue(0, from.GetValue(0));
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE,
        AscendC::DcciDst::CACHELINE_OUT>(to);
}
"""
HOST = """#include "acl/acl.h"
#include "aclrtlaunch_store.h"
int main() {
  constexpr size_t kSystem = 16 << 20;
  uint8_t *workspace, *tiling;
  int32_t value = 41, found = 0;
  aclrtSetDevice(0);
  aclrtMalloc((void**)&workspace, kSystem + 32, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc((void**)&tiling, 32, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(tiling, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE);
  ACLRT_LAUNCH_KERNEL(store)(1, nullptr, workspace, tiling);
  aclrtMemcpy(&found, 4, workspace + kSystem, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  return found == 41 ? 0 : 1;
}
"""


def test_a_packaged_kernel_of_both_kinds_declares_what_its_build_calls():
    with pytest.raises(CompileFailed, match="matmul"):
        build(MIX % "", entry="nothing", packaged=True)
    assert build(MIX % "", entry="nothing")  # nobody wraps it
    kernel = build(MIX % LIBRARY, entry="nothing", packaged=True)
    words = [Argument(name, np.zeros(8, np.uint8)) for name in ("workspace", "tiling")]
    assert not kernel.run(1, words).findings


@pytest.mark.parametrize(
    ("definitions", "right"), [("HAVE_WORKSPACE HAVE_TILING", True), ("HAVE_WORKSPACE", False), ("", False)]
)
def test_a_launch_gets_the_workspace_that_its_build_rules_say(tmp_path, definitions, right):
    """Without HAVE_TILING the tiling data are taken for it, without both there is none."""
    (tmp_path / "store.cpp").write_text(STORE)
    (tmp_path / "main.cpp").write_text(HOST)
    (tmp_path / "CMakeLists.txt").write_text(
        f"ascendc_compile_definitions(kernels PRIVATE {definitions})  # HAVE_TILING\n"
    )
    report = build_program(tmp_path / "main.cpp").run()
    assert report.ok == right, report
    assert ("unset_workspace" in {finding.rule for finding in report.findings}) == (not definitions)


def test_definitions_of_a_cmake_file(tmp_path):
    kernel = tmp_path / "kernel.cpp"
    assert definitions_beside(kernel) == set()
    (tmp_path / "CMakeLists.txt").write_text(
        "# ascendc_compile_definitions(a PRIVATE NOT_THIS)\nascendc_compile_definitions(a PRIVATE\n"
        "    -DSIZE=3 HAVE_WORKSPACE)\ntarget_compile_definitions(a PRIVATE NOR_THIS)\n"
        "ascendc_compile_definitions(a HAVE_TILING)\n"
    )
    found = definitions_beside(kernel)
    assert found == {"SIZE=3", "HAVE_WORKSPACE", "HAVE_TILING"}
    assert [workspace_place(each) for each in (found, {"HAVE_WORKSPACE"}, {"HAVE_TILING"})] == [2, 1, 0]
