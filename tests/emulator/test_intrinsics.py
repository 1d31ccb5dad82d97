# ruff: noqa: E501  (C++ statements stay on one line)
"""The compiler's own instructions, as AscendC's headers call them: operands, registers, memories, checks.

The headers here are small ones of ours; those of a CANN never enter a test.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.emulator import Argument, Kernel, KernelCrashed, NoHeaders, Report, VendorHeaders, build
from attndsl.emulator.program import build_program
from attndsl.emulator.toolchain import INTRINSICS
from tests.emulator.small_cann import write_small_cann

RNG = np.random.default_rng(5)
A = RNG.standard_normal(512).astype(np.float32)
B = RNG.standard_normal(512).astype(np.float32)
SENTINEL = np.float32(-7)

# x, y and z: the operands and the result, each of 2 KiB, which hold a, b and sentinels; w: scratch of 2 KiB
STEPS = {
    "masked": "set_vector_mask(0, (1ull << 40) - 1); vadd(z, x, y, 2, 1, 1, 1, 8, 8, 8);",
    "counted": "set_mask_count(); set_vector_mask(0, 100); vexp(z, x, 1, 1, 1, 8, 8); set_mask_norm();",
    "strided": "vmuls(z, x, float32_t(3), 2, 1, 2, 8, 16);",
    "rounded": "vconv_f322f16r(wh, x, 4, 1, 1, 4, 8); pipe_barrier(PIPE_V); vconv_f162f32(z, wh, 4, 1, 1, 8, 4);",
    "scalar_selected": "vcmpvs_gt(wb, x, 0.0f, 2, 1, 1, 8, 8); vector_dup(w + 64, 5.0f, 1, 1, 1, 8, 0); pipe_barrier(PIPE_V);"
    "set_cmpmask(w + 64); pipe_barrier(PIPE_V); vsel(z, x, wb, 2, 1, 1, 1, 8, 8, 8, 1);",
    "tensor_selected": "vcmpv_lt(wb, x, y, 2, 1, 1, 1, 8, 8, 8); vector_dup((uint32_t*)(w + 64), (uint32_t)(uint64_t)wb, 1, 1, 1, 8, 0);"
    "pipe_barrier(PIPE_V); set_cmpmask(w + 64); pipe_barrier(PIPE_V); vsel(z, x, y, 2, 1, 1, 1, 8, 8, 8, 2);",
    "register_selected": "vcmp_ge(x, y, 1, 1, 1, 1, 8, 8, 8); pipe_barrier(PIPE_V); vsel(z, x, y, 2, 1, 1, 1, 8, 8, 8, 0);",
    "blocks_reduced": "vcgmax(z, x, 2, 1, 1, 8); vcadd(z + 16, x, 2, 1, 1, 8, false); vcmax(z + 24, x, 2, 1, 1, 8, INDEX_VALUE);",
    "broadcast": "vbrcb((uint32_t*)z, (uint32_t*)x, 1, 8, 2);",
    "gathered": "vector_dup((uint32_t*)w, 12u, 1, 1, 1, 8, 0); pipe_barrier(PIPE_V); vgather((uint32_t*)z, (uint32_t*)w, 2048, 8, 1);",
    "compacted": "vreducev2((uint32_t*)z, (uint32_t*)x, (uint32_t*)nullptr, 2, 1, 2, 8, 0);",
    "axpy": "vaxpy(z, x, 2.0f, 2, 1, 1, 8, 8); pipe_barrier(PIPE_V); vmla(z, x, y, 1, 1, 1, 1, 8, 8, 8);",
    "shifted": "vshr((int32_t*)z, (int32_t*)x, 3u, 2, 1, 1, 8, 8, false); pipe_barrier(PIPE_V); vshl((int32_t*)z, (int32_t*)z, 3u, 2, 1, 1, 8, 8);",
    "merged": "vbitsort(w, x, i, 2); pipe_barrier(PIPE_V); float* lists[4] = {w, w + 64, w, w}; vmrgsort4(z, lists, 32 | 32 << 16, 1 | 3 << 8);",
    "scalars": "set_flag(PIPE_MTE2, PIPE_S, EVENT_ID1); wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID1); set_flag(PIPE_V, PIPE_S, EVENT_ID1); wait_flag(PIPE_V, PIPE_S, EVENT_ID1);"
    "AscendC::LocalTensor<float> from{0}, to{4096}; AscendC::GlobalTensor<float> g{(float*)b}; to.SetValue(3, from.GetValue(5)); to.SetValue(4, g.GetValue(6)); set_flag(PIPE_S, PIPE_MTE3, EVENT_ID1); wait_flag(PIPE_S, PIPE_MTE3, EVENT_ID1);",
    "racing": "set_vector_mask(0, 255); vadd(z, x, y, 1, 1, 1, 1, 8, 8, 8); vadd(z, z, y, 1, 1, 1, 1, 8, 8, 8);",
    "outside": "vadd((float*)(196608 - 128), x, y, 1, 1, 1, 1, 8, 8, 8);",
    "outside_by_header": "AscendC::OneRepeat((float*)(196608 - 64), x, y); pipe_barrier(PIPE_V); AscendC::OneRepeat((float*)(196608 - 32), x, y);",
    "overlapping": "vadds(z, x, 0.0f, 2, 1, 1, 8, 8); pipe_barrier(PIPE_V); vmax(z, z, z + 8, 1, 1, 2, 2, 8, 16, 16);",
    "overlapping_a_later_repeat": "vmax(z + 64, z, y, 2, 1, 1, 1, 8, 8, 8);",
    "unwritten": "vadd(z, x, w, 1, 1, 1, 1, 8, 8, 8);",
    "unmodelled": "set_aipp_spr_0(1);",
    "unset_register": "vsel(z, x, y, 1, 1, 1, 1, 8, 8, 8, 2);",
    "followed": "*z = *x;",
}
VECTOR = (
    """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void steps(GM_ADDR a, GM_ADDR b, GM_ADDR indices, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  float *x = (float*)0, *y = (float*)2048, *z = (float*)4096, *w = (float*)6144;
  half* wh = (half*)w; uint8_t* wb = (uint8_t*)w; uint32_t* i = (uint32_t*)8192;
  copy_gm_to_ubuf_align_b32(x, a, 0, 1, 2048, 0, 0, 0, 0);
  copy_gm_to_ubuf_align_b32(y, b, 0, 1, 2048, 0, 0, 0, 0);
  copy_gm_to_ubuf(i, indices, 0, 1, 8, 0, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  set_vector_mask(~0ull, ~0ull);
  vector_dup(z, -7.0f, 8, 1, 1, 8, 0); pipe_barrier(PIPE_V);
  switch (TILING_KEY_VAR) {
"""
    + "".join(f"  case {key}: {{ {step} break; }}\n" for key, step in enumerate(STEPS.values()))
    + """  }
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm_align_b32(out, z, 0, 1, 2048, 0, 0, 0, 0);
}
"""
)


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> VendorHeaders:
    return VendorHeaders.at(write_small_cann(tmp_path_factory.mktemp("small") / "cann"))


@pytest.fixture(scope="module")
def steps(headers: VendorHeaders) -> Kernel:
    return build(VECTOR, entry="steps", headers=headers)


def run(steps: Kernel, name: str) -> tuple[np.ndarray, Report]:
    out = np.zeros(512, np.float32)
    arguments = [
        Argument("a", A.copy()),
        Argument("b", B.copy()),
        Argument("i", np.arange(64, dtype=np.uint32)),
    ]
    report = steps.run(1, [*arguments, Argument("out", out, output=True)], tiling_key=list(STEPS).index(name))
    return out, report


def expected(name: str) -> np.ndarray:
    z = np.full(512, SENTINEL)
    rows, other = A.reshape(8, 64), B.reshape(8, 64)
    if name == "masked":
        z.reshape(8, 64)[:2, :40] = (rows + other)[:2, :40]
    elif name == "counted":
        z[:100] = np.exp(A[:100].astype(np.float64)).astype(np.float32)
    elif name == "strided":
        z[:128] = 3 * A.reshape(-1, 2, 8)[:16, 0].ravel()
    elif name == "rounded":
        z[:256] = A[:256].astype(np.float16).astype(np.float32)
    elif name == "scalar_selected":
        z[:128] = np.where(A[:128] > 0, A[:128], 5)
    elif name == "tensor_selected":
        z[:128] = np.where(A[:128] < B[:128], A[:128], B[:128])
    elif name == "register_selected":  # the same 64 bits for each repeat
        z[:128] = np.where(np.tile(A[:64] >= B[:64], 2), A[:128], B[:128])
    elif name == "blocks_reduced":
        z[:16] = A[:128].reshape(16, 8).max(1)
        z[16:18] = [_tree(row) for row in rows[:2]]
        z[24:28:2] = rows[:2].argmax(1).astype(np.uint32).view(np.float32)
        z[25:29:2] = rows[:2].max(1)
    elif name == "broadcast":
        z[:128] = np.repeat(A[:16], 8)
    elif name == "gathered":  # byte 12 of what lies at 2048
        z[:64] = B[3]
    elif name == "compacted":  # pattern 2: the odd elements
        z[:64] = A[1:128:2]
    elif name == "axpy":
        z[:128] = _multiply_add(A[:128], np.float32(2), z[:128])
        z[:64] = _multiply_add(A[:64], B[:64], z[:64])
    elif name == "shifted":
        z[:128] = ((A[:128].view(np.int32) >> 3) << 3).view(np.float32)
    elif name == "merged":
        order = np.argsort(-A[:64], kind="stable")
        z[:128:2], z[1:128:2] = A[order], order.astype(np.uint32).view(np.float32)
    elif name == "scalars":
        z[3], z[4] = A[5], B[6]
    return z


def _tree(row: np.ndarray) -> np.float32:
    while row.size > 1:
        row = row[::2] + row[1::2]
    return np.float32(row[0])


def _multiply_add(a: np.ndarray, b: Any, c: np.ndarray) -> np.ndarray:
    exact: np.ndarray = a.astype(np.float64) * np.asarray(b, np.float64) + c
    return exact.astype(np.float32)


SOUND = [*STEPS][: [*STEPS].index("racing")]


@pytest.mark.parametrize("name", SOUND)
def test_an_instruction_does_what_its_words_say(steps: Kernel, name: str) -> None:
    out, report = run(steps, name)
    assert [str(finding) for finding in report.findings] == []
    wanted = expected(name)
    assert (wanted != SENTINEL).any()
    if name == "axpy":  # one rounding or two
        np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(out.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("racing", "racecheck/read_after_write"),
        ("outside", "memcheck/out_of_range"),
        ("overlapping", "memcheck/operand_overlap"),
        ("overlapping_a_later_repeat", "memcheck/operand_overlap"),
        ("unwritten", "initcheck/undefined_value"),
        ("unmodelled", "memcheck/unsupported"),
        ("unset_register", "memcheck/select_register"),
    ],
)
def test_the_checks_hold_below(steps: Kernel, name: str, rule: str) -> None:
    _, report = run(steps, name)
    assert rule in report.finding_counts, report.finding_counts


def test_lanes_that_a_repeat_writes_elsewhere_are_read_before(steps: Kernel) -> None:
    """CANN's softmax of 8 x 1024 folds blocks in place; of a later repeat's lanes nobody knows."""
    out, _ = run(steps, "overlapping")
    np.testing.assert_array_equal(out[:64], A[:128].reshape(8, 2, 8).max(1).ravel())
    out, _ = run(steps, "overlapping_a_later_repeat")
    assert (out == SENTINEL).all()


def test_a_finding_names_the_kernel_s_line_and_the_header_s(steps: Kernel) -> None:
    lines = [number for number, text in enumerate(VECTOR.splitlines(), 1) if "OneRepeat" in text]
    _, report = run(steps, "outside_by_header")
    assert {finding.source for finding in report.findings} == {f"kernel.cpp:{line}" for line in lines}
    assert len(report.findings) == 2, "each call is a finding, though the header's line is one"
    assert all(re.search(r" \(issued at kernel_operator.h:\d+\)$", each.message) for each in report.findings)
    _, report = run(steps, "outside")
    assert [finding.source for finding in report.findings] == [f"kernel.cpp:{lines[0] - 1}"]
    assert "issued at" not in report.findings[0].message


def test_an_address_that_is_followed_is_told(steps: Kernel) -> None:
    with pytest.raises(KernelCrashed, match="an on-chip address was followed as a pointer"):
        run(steps, "followed")


CUBE = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR half_out, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  half *l1a = (half*)0, *l1b = (half*)4096, *l0a = (half*)0, *l0b = (half*)0;
  float* l0c = (float*)0;
  copy_gm_to_cbuf_multi_nd2nz_b16(l1a, (half*)a, 0, 1, 16, 32, 0, 32, 16, 1, 0);
  copy_gm_to_cbuf_multi_nd2nz_b16(l1b, (half*)b, 0, 1, 32, 16, 0, 16, 32, 1, 0);
  set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
  set_fmatrix(16 | 1 << 16); set_fmatrix_b(32 | 1 << 16); set_l3d_rpt(1 << 16);
  if (TILING_KEY_VAR == 3) {
    set_l3d_rpt(1 | 2 << 16 | 1 << 24);
    img2colv2_cbuf_to_ca(l0a, l1a, 16, 16, 0, 0, 1, 1, 1, 1, 1, 1, false, false, false, false, 32);
    set_l3d_rpt(1 << 16);
  } else if (TILING_KEY_VAR >= 2) img2colv2_cbuf_to_ca(l0a, l1a, 32, 16, 0, 0, 1, 1, 1, 1, 1, 1, false, false, false, false, 32);
  else load_cbuf_to_ca(l0a, l1a, 0, 2, 1, 0, 0, false, inc);
  if (TILING_KEY_VAR >= 2) img2colv2_cbuf_to_cb(l0b, l1b, 16, 32, 0, 0, 1, 1, 1, 1, 1, 1, false, false, true, TILING_KEY_VAR != 4, 16);
  else if (TILING_KEY_VAR) load_cbuf_to_cb(l0b, l1b, 0, 2, 1, 0, 0, true, inc);
  else load_cbuf_to_cb_transpose(l0b, l1b, 0, 2, 1, 0, inc, 0);
  set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0); wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
  mad(l0c, l0a, l0b, 16, 32, 16, 0, false, false, true);
  pipe_barrier(PIPE_M);
  mad(l0c, l0a, l0b, 16, 16, 16, 0, false, false, false);
  set_flag(PIPE_M, PIPE_FIX, EVENT_ID0); wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
  set_nd_para(1);
  copy_matrix_cc_to_gm((half*)half_out, l0c, 0, 16, 12, 24, 16, 0, F322F16, 1, false, true);
  set_atomic_f32(); set_atomic_add();
  copy_matrix_cc_to_gm((float*)out, l0c, 0, 16, 16, 16, 16, 0, NoQuant, 0, false, true);
  set_atomic_none();
}
"""


def _product(headers: VendorHeaders, key: int) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    a, b = (RNG.integers(-8, 8, shape).astype(np.float16) for shape in ((16, 32), (32, 16)))
    rounded, sums = np.full((12, 24), 9, np.float16), np.ones((16, 16), np.float32)
    arguments = [
        Argument("a", a),
        Argument("b", b),
        Argument("half", rounded, output=True),
        Argument("out", sums),
    ]
    kernel = build(CUBE, entry="product", headers=headers)
    report = kernel.run(1, arguments, tiling_key=key)
    left, right = a.astype(np.float32), b.astype(np.float32)
    found = [str(finding) for finding in report.findings]
    return found, rounded, sums, left @ right + left[:, :16] @ right[:16]


@pytest.mark.parametrize("key", [0, 1, 2, 3], ids=["turned", "loaded", "windows", "repeated windows"])
def test_a_product(headers: VendorHeaders, key: int) -> None:
    findings, rounded, sums, wanted = _product(headers, key)
    assert findings == []
    np.testing.assert_array_equal(sums, wanted + 1)
    np.testing.assert_array_equal(rounded[:, :16], np.maximum(wanted[:12], 0).astype(np.float16))
    assert (rounded[:, 16:] == 9).all()


def test_windows_of_the_right_matrix_have_a_register_of_their_own(headers: VendorHeaders) -> None:
    """By the left one's, which says 16 positions, the other 16 rows are padding."""
    _, _, sums, wanted = _product(headers, 4)
    assert not np.array_equal(sums, wanted + 1)


FILLED = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void filled(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  create_cbuf_matrix((uint32_t*)0, 2 | 3 << 16 | 1ll << 32, 7u);
  set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  if (TILING_KEY_VAR) copy_cbuf_to_gm(out, (void*)0, 0, 1, 7, 0, 0);
  else copy_cbuf_to_gm(out, (void*)0, 0, 2, 3, 1, 1);
}
"""


def test_runs_of_blocks_are_filled_and_what_lies_between_is_not(headers: VendorHeaders) -> None:
    kernel, out = build(FILLED, entry="filled", headers=headers), np.zeros((8, 8), np.uint32)
    report = kernel.run(1, [Argument("out", out)])
    assert [str(finding) for finding in report.findings] == []
    assert (out == 7).all(1).tolist() == [True, True, True, False, True, True, True, False]
    report = kernel.run(1, [Argument("out", np.zeros_like(out), output=True)], tiling_key=1)
    assert "initcheck/undefined_value" in report.finding_counts


MIXED = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void mixed(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  g_of_core = 100 * get_block_idx() + get_subblockid();
  if ASCEND_IS_AIC {
    ffts_cross_core_sync(PIPE_MTE2, 1 | 2 << 4 | 3 << 8);
    wait_flag_dev(4);
  } else {
    wait_flag_dev(3);
    ffts_cross_core_sync(PIPE_MTE3, 1 | 2 << 4 | 4 << 8);
    AscendC::GlobalTensor<int64_t> g{(int64_t*)out};
    int64_t line = (get_block_idx() * get_subblockdim() + get_subblockid()) * 8;
    g.SetValue(line, g_of_core); dcci(g.GetPhyAddr(line), SINGLE_CACHE_LINE, CACHELINE_OUT);
  }
}
"""


def test_cores_take_turns_with_variables_of_their_own(headers: VendorHeaders) -> None:
    out = np.zeros((6, 8), np.int64)
    report = build(MIXED, entry="mixed", headers=headers).run(3, [Argument("out", out)])
    assert [str(finding) for finding in report.findings] == []
    assert report.cores == (3, 1, 2)
    assert out[:, 0].tolist() == [0, 1, 100, 101, 200, 201]


PROGRAM = """#include <cstdio>
#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR a) {
  if ASCEND_IS_AIC return;
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  copy_gm_to_ubuf((void*)0, a, 0, 1, 8, 0, 0);
  set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
  set_vector_mask(~0ull, ~0ull);
  vmuls((float*)0, (float*)0, 2.0f, 1, 1, 1, 8, 8);
  set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(a, (void*)0, 0, 1, 8, 0, 0);
}
int main() {
  float host[64]; void* device = nullptr; aclrtStream stream = nullptr;
  for (int i = 0; i < 64; ++i) host[i] = i;
  aclInit(nullptr); aclrtSetDevice(0); aclrtCreateStream(&stream);
  aclrtMalloc(&device, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(device, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
  twice<<<1, nullptr, stream>>>((uint8_t*)device);
  aclrtSynchronizeStream(stream);
  aclrtMemcpy(host, sizeof host, device, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("%g\\n", host[63]);
}
"""


def test_a_program_with_a_host_main(headers: VendorHeaders, tmp_path: Path) -> None:
    # the host's reading is ours, which has these names for programs on bare instructions
    source = tmp_path / "main.cpp"
    host = "#ifdef ATTNEMU_HOST_READING\ninline void copy_gm_to_ubuf(...) {} inline void copy_ubuf_to_gm(...) {} inline void vmuls(...) {} inline void set_vector_mask(...) {}\n#endif\n"
    source.write_text(PROGRAM.replace('extern "C"', host + 'extern "C"', 1))
    report = build_program(source, headers=headers).run()
    assert (report.stdout, report.exit_code, report.findings, report.error) == ("126\n", 0, [], None)


PADDED = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void padded(GM_ADDR a, GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  set_mov_pad_val(0x4000);
  copy_gm_to_ubuf_align_b16((void*)0, a, 0, 3, 20, 2, 4, 12, 1);
  set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
  copy_ubuf_to_gm(out, (void*)0, 0, 3, 1, 1, 0);
}
"""


def test_a_padded_load(headers: VendorHeaders) -> None:
    a, out = np.arange(48, dtype=np.float16).reshape(3, 16), np.zeros((3, 16), np.float16)
    report = build(PADDED, entry="padded", headers=headers).run(
        1, [Argument("a", a), Argument("out", out, output=True)]
    )
    assert [str(finding) for finding in report.findings] == []
    np.testing.assert_array_equal(out, np.pad(a[:, :10], ((0, 0), (2, 4)), constant_values=2))


def test_headers_are_found_where_they_are_installed(tmp_path: Path) -> None:
    with pytest.raises(NoHeaders, match="no headers of AscendC's basic API"):
        VendorHeaders.at(tmp_path)
    checkout = tmp_path / "devkit"
    (checkout / "include" / "basic_api").mkdir(parents=True)
    (checkout / "include" / "basic_api" / "kernel_basic_intf.h").write_text("// none\n")
    found = VendorHeaders.at(checkout)
    assert found.basic_only and "-DATTNEMU_BASIC_API" in found.flags
    before = found.key
    linux = tmp_path / "cann" / "aarch64-linux" / "asc"
    linux.parent.mkdir(parents=True)
    checkout.rename(linux)
    assert VendorHeaders.at(tmp_path / "cann").folders[0] == linux / "include"
    assert before != VendorHeaders.at(tmp_path / "cann").key


def test_every_instruction_stands_once() -> None:
    texts = "".join(file.read_text() for file in sorted((INTRINSICS / "intrinsics").glob("*.h")))
    missing = re.findall(r"\bX\((\w+)\)", texts)
    assert len(missing) == len(set(missing)) > 40
    made = set(re.findall(r"(?m)^(?:inline )?(?:void|int64_t|uint64_t|half|T) (\w+)\(", texts))
    made |= set(re.findall(r"\bATTNEMU_\w+\((\w+), \w+\)", texts))
    assert made & set(missing) == set()
