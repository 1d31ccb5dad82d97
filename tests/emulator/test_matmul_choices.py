# ruff: noqa: E501  (C++ statements stay on one line)
"""What a Matmul object may be given beside its operands: copies of the kernel's own, policies, constant tilings."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build_all
from attndsl.emulator.program import build_program

M, N, K = 70, 90, 96
_HEAD = """
#include "lib/matmul_intf.h"
using namespace AscendC;
// the left operand has a gap of 32 columns behind its first 32, the right one lies upside down in blocks of 32 rows
constexpr int kWide = 128;
void GappedLeft(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int col, int m, int k, const uint64_t baseM, const uint64_t skip) {
  GlobalTensor<half> from;
  from.SetGlobalBuffer((__gm__ half*)gm);
  uint16_t height = (m + 15) / 16 * 16;
  DataCopy(to.ReinterpretCast<half>(), from[row * baseM * kWide + (col ? col + 1 : 0) * skip], Nd2NzParams(1, m, k, 0, kWide, height, 1, 0));
}
void TurnedRight(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int col, int k, int n, const uint64_t, const uint64_t) {
  GlobalTensor<half> from;
  from.SetGlobalBuffer((__gm__ half*)gm);
  DataCopy(to.ReinterpretCast<half>(), from[(2 - row) * 32 * 90 + col * 48], Nd2NzParams(1, k, n, 0, 90, (k + 15) / 16 * 16, 1, 0));
}
// rows of the result are twice as far apart
void SpreadOut(const __gm__ void* gm, const LocalTensor<int8_t>& sums, const void* how, const uint64_t base, const uint64_t) {
  auto p = *reinterpret_cast<const DataCopyOutParams*>(how);
  uint64_t at = reinterpret_cast<uint64_t>(gm), first = base;
  GlobalTensor<float> to;
  to.SetGlobalBuffer((__gm__ float*)(first + (at - first) / 4 / p.dstStride * p.dstStride * 8 + (at - first) / 4 % p.dstStride * 4));
  uint16_t m = p.burstLen / 2, column = (m + 15) / 16 * 16;
  if (p.cBurstNum != (p.oriNSize + 15) / 16) return;
  Fixpipe<float, float, CFG_ROW_MAJOR>(to, sums.ReinterpretCast<float>(), FixpipeParamsV220(p.oriNSize, m, column, 2 * p.dstStride, p.enUnitFlag));
}
constexpr MatmulConfig kShape = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(MatmulShapeParams{70, 90, 96, 32, 48, 32});
constexpr MatmulConfig kBase = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(MatmulShapeParams{0, 0, 0, 16, 32, 48});
using Half = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Float = MatmulType<TPosition::GM, CubeFormat::ND, float>;
constexpr auto kAll = GetMatmulApiTiling<Half, Half, Float, Float>(kShape);
constexpr MatmulApiStaticTiling kSome = GetMatmulApiTiling<Half, Half, Float, Float>(kBase);
"""
_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_%(kind)s);
  TPipe pipe;
  TCubeTiling t;
  t.usedCoreNum = 1; t.M = t.singleCoreM = 70; t.N = t.singleCoreN = 90; t.Ka = t.Kb = t.singleCoreK = 96;
  t.baseM = 32; t.baseN = 48; t.baseK = 32; t.stepM = 3; t.stepKa = t.stepKb = %(steps)d;
  GlobalTensor<half> ga, gb;
  GlobalTensor<float> gc;
  ga.SetGlobalBuffer((__gm__ half*)a); gb.SetGlobalBuffer((__gm__ half*)b); gc.SetGlobalBuffer((__gm__ float*)c);
  Matmul<Half, Half, Float, Float, %(config)s, MatmulCallBackFunc<%(callbacks)s>, Impl::Detail::%(policy)s> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, %(tiling)s);
  if (GetBlockIdx() != 0) return;
  %(before)s
  mm.SetTensorA(ga);
  mm.SetTensorB(gb);
  mm.IterateAll(gc);
  mm.End();
}
"""


def _case(name, **changes):
    case = {"name": name, "kind": "MIX_AIC_1_2", "config": "CFG_NORM", "callbacks": "", "policy": "MatmulPolicy", "tiling": "&t", "before": "", "steps": 3}  # fmt: skip
    return {**case, **changes}


CASES = {
    case["name"]: case
    for case in (
        _case("left_copied", callbacks="nullptr, GappedLeft, nullptr", before="mm.SetUserDefInfo(32); mm.SetSelfDefineData(32);"),
        _case("right_copied", callbacks="nullptr, nullptr, TurnedRight"),
        _case("result_copied", callbacks="SpreadOut, nullptr, nullptr", before="mm.SetUserDefInfo((uint64_t)c);"),
        _case("upper", policy="TrianUpperMatmulPolicy"),
        _case("lower", policy="TrianLowerMatmulPolicy"),
        _case("left_kept", policy="NBuffer33MatmulPolicy", config="CFG_MDL", kind="AIC_ONLY"),
        _case("left_not_kept", policy="NBuffer33MatmulPolicy", config="CFG_MDL", kind="AIC_ONLY", steps=2),
        _case("all_constant", config="kAll", tiling="(TCubeTiling*)nullptr"),
        _case("base_constant", config="kSome"),
        _case("without_a_tiling", tiling="(TCubeTiling*)nullptr"),
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    text = _HEAD + "".join(_KERNEL % case for case in CASES.values())
    return build_all(text, entries=list(CASES))


def _run(kernels, name):
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    given_a, given_b, c = a, b, np.zeros((M, N), np.float32)
    if name == "left_copied":
        given_a = np.concatenate((a[:, :32], np.full((M, 32), np.nan, np.float16), a[:, 32:]), axis=1)
    if name == "right_copied":
        given_b = np.concatenate((b[64:], b[32:64], b[:32]))
    if name == "result_copied":
        c = np.zeros((M, 2 * N), np.float32)
    arguments = [Argument("a", given_a), Argument("b", given_b), Argument("c", c, output=True)]
    return kernels[name].run(1, arguments), c, a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("name", ["left_copied", "right_copied", "result_copied", "left_kept", "all_constant", "base_constant"])  # fmt: skip
def test_products(kernels, name):
    report, c, exact = _run(kernels, name)
    assert report.findings == ()
    np.testing.assert_allclose(c[:, :N], exact, rtol=1e-5, atol=1e-4)
    assert not c[:, N:].any()


@pytest.mark.parametrize("name", ["upper", "lower"])
def test_triangles_of_blocks(kernels, name):
    report, c, exact = _run(kernels, name)
    assert report.findings == ()
    row, column = np.arange(M)[:, None] // 32, np.arange(N)[None] // 48
    kept = row <= column if name == "upper" else row >= column
    np.testing.assert_allclose(c, np.where(kept, exact, 0), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "told"), [("without_a_tiling", "has no tiling"), ("left_not_kept", "stepKa = stepKb = 3")]
)
def test_tilings_that_do_not_fit(kernels, name, told):
    report, c, _ = _run(kernels, name)
    assert report.findings[0].rule == "matmul_tiling" and told in report.findings[0].message
    assert not c.any()


HOST = """
#include "acl/acl.h"
#include "kernel_operator.h"
#include "tiling/tiling_api.h"
using namespace matmul_tiling;
template <class Api>
Api ready(int m, int n, int k) {
  Api api(*platform_ascendc::PlatformAscendCManager::GetInstance());
  api.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
  api.SetOrgShape(m, n, k);
  api.SetShape(-1, -1, k);
  return api;
}
int main() {
  optiling::TCubeTiling t;
  auto deep = ready<MultiCoreMatmulTiling>(16, 16, 1024);
  deep.SetDim(20);
  if (deep.GetTiling(t) != 0 || t.get_usedCoreNum() != 1 || t.get_singleCoreK() != 1024) return 1;
  deep.EnableMultiCoreSplitK(true);
  if (deep.GetTiling(t) != 0 || t.get_usedCoreNum() != 16 || t.get_singleCoreK() != 64 || t.get_Ka() != 1024) return 2;
  deep.EnableBias(true);
  if (deep.GetTiling(t) != 0 || t.get_usedCoreNum() != 1) return 3;
  auto even = ready<MultiCoreMatmulTiling>(256, 512, 192);
  even.SetDim(24);
  even.SetMatmulConfigParams(MatmulConfigParams(1, false, matmul_tiling::ScheduleType::N_BUFFER_33));
  if (even.GetTiling(t) != 0 || 256 % t.get_singleCoreM() || 512 % t.get_singleCoreN() || t.get_usedCoreNum() < 8) return 4;
  if (t.get_stepM() > 3 || t.get_stepKa() != t.get_stepKb() || t.get_stepKa() != (192 + t.get_baseK() - 1) / t.get_baseK()) return 5;
  even.SetSingleShape(256, 512, 192);
  even.SetFixSplit(64, 64);
  if (even.GetTiling(t) != -1) return 6;
  auto batch = ready<BatchMatmulTiling>(32, 256, 64);
  if (batch.SetBatchInfoForNormal(6, 3, 32, 256, 64) != 0 || batch.SetBatchNum(6) != 0 || batch.GetTiling(t) != 0) return 7;
  if (t.get_ALayoutInfoB() != 6 || t.get_BLayoutInfoB() != 3 || t.get_CLayoutInfoB() != 6 || t.get_CLayoutInfoS2() != 256 || t.get_BatchNum() != 6) return 8;
  if (batch.SetALayout(1, 0, 1, 1, 1) != -1 || batch.SetBLayout(1, 256, 2, 3, 64) != 0 || batch.GetTiling(t) != 0 || t.get_BLayoutInfoG() != 3) return 9;
  return 0;
}
"""


def test_the_hosts_side(tmp_path):
    (tmp_path / "cuts.asc").write_text(HOST)
    report = build_program(tmp_path / "cuts.asc").run()
    assert report.exit_code == 0, (report.exit_code, report.error)
