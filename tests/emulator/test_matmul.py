# ruff: noqa: E501  (C++ statements stay on one line)
"""The Matmul library: products asked for by vector cores and done by cube cores, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from attndsl.emulator import Argument, build_all
from attndsl.emulator.program import build_program

_TILING = """
  TCubeTiling t;
  t.usedCoreNum = 1; t.M = t.singleCoreM = %(m)d; t.N = t.singleCoreN = %(n)d; t.Ka = t.Kb = t.singleCoreK = %(k)d;
  t.baseM = %(bm)d; t.baseN = %(bn)d; t.baseK = %(bk)d; t.isBias = %(biased)d; t.iterateOrder = %(order)d;
"""
_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  using A = %(a)s; using C = %(c)s; using Bias = %(bias)s;
  TPipe pipe;
  %(tiling)s
  GlobalTensor<A> ga, gb;
  GlobalTensor<C> gc;
  GlobalTensor<Bias> gbias;
  ga.SetGlobalBuffer((__gm__ A*)a); gb.SetGlobalBuffer((__gm__ A*)b); gc.SetGlobalBuffer((__gm__ C*)c); gbias.SetGlobalBuffer((__gm__ Bias*)bias);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, A, %(ta)s>, MatmulType<TPosition::GM, CubeFormat::ND, A, %(tb)s>,
         MatmulType<TPosition::%(out)s, CubeFormat::%(format)s, C>, MatmulType<TPosition::GM, CubeFormat::ND, Bias>, %(config)s> mm;
  %(register)s
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(ga, %(ta)s);
  mm.SetTensorB(gb, %(tb)s);
  if (t.isBias) mm.SetBias(gbias);
  %(body)s
  mm.End();
}
"""
_SPLIT = """
constexpr MatmulConfig split() { MatmulConfig c = CFG_NORM; c.isEnableChannelSplit = true; return c; }
constexpr MatmulConfig kSplit = split();
constexpr MatmulConfig parts() { MatmulConfig c = CFG_NORM; c.isPartialOutput = true; return c; }
constexpr MatmulConfig kParts = parts();
"""
# results that are not rows beside each other: rows of whole blocks, and columns of fractals so wide
_STORED = {"aligned": 8, "fractals": 16, "narrow_fractals": 8}
_REGISTER = "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);"
_ALL = "mm.IterateAll(gc);"
_BY_BLOCKS = """
  TQue<TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, t.baseM * t.baseN * sizeof(C));
  for (uint32_t i = 0; mm.Iterate(); ++i) {
    LocalTensor<C> block = queue.AllocTensor<C>();
    if (i % 2) mm.GetTensorC(block); else mm.GetTensorC(block, false, true);
    Muls(block, block, (C)2, t.baseM * t.baseN);
    queue.EnQue(block);
    block = queue.DeQue<C>();
    uint32_t row = i % (t.M / t.baseM) * t.baseM, column = i / (t.M / t.baseM) * t.baseN;
    DataCopy(gc[row * t.N + column], block, DataCopyParams(t.baseM, t.baseN * sizeof(C) / 32, 0, (t.N - t.baseN) * sizeof(C) / 32));
    queue.FreeTensor(block);
  }
"""
_T = {
    "half": np.float16,
    "float": np.float32,
    "bfloat16_t": ml_dtypes.bfloat16,
    "int8_t": np.int8,
    "int32_t": np.int32,
}


def _case(name, a="half", c="float", bias="float", shape=(70, 90, 100), base=(32, 48, 32), **changes):
    (m, n, k), (bm, bn, bk) = shape, base
    sizes = {"m": m, "n": n, "k": k, "bm": bm, "bn": bn, "bk": bk, "order": 0}
    sizes["biased"] = int(changes.pop("biased", False))
    sizes["order"] = changes.pop("order", 0)
    case = {
        "name": name,
        "a": a,
        "c": c,
        "bias": bias,
        "ta": "false",
        "tb": "false",
        "out": "GM",
        "format": "ND",
        "config": "CFG_NORM",
        "register": _REGISTER,
        "body": _ALL,
    }
    return {**case, **changes, **sizes, "tiling": _TILING % sizes}


CASES = {
    case["name"]: case
    for case in (
        _case("plain"),
        _case("other_order_half_result", c="half", order=1),
        _case("left_transposed", ta="true"),
        _case("right_transposed", tb="true"),
        _case("both_transposed", "bfloat16_t", "bfloat16_t", ta="true", tb="true"),
        _case("biased", biased=True),
        _case("biased_by_halves", bias="half", biased=True),
        _case("floats", "float", base=(32, 48, 24)),
        _case("floats_right_transposed", "float", tb="true", base=(32, 48, 24)),
        _case("integers", "int8_t", "int32_t", "int32_t", base=(32, 64, 64)),
        _case("integers_by_48", "int8_t", "int32_t", "int32_t", base=(32, 48, 64)),
        _case("integers_right_transposed", "int8_t", "int32_t", "int32_t", tb="true", base=(32, 64, 64)),
        _case("one_row", shape=(1, 90, 100), base=(16, 48, 32)),
        _case("by_blocks", shape=(64, 96, 64), out="VECIN", body=_BY_BLOCKS),
        _case("into_ub", shape=(32, 48, 64), out="VECIN", body="TBuf<TPosition::VECIN> ub; pipe.InitBuffer(ub, 32 * 48 * 4); auto all = ub.Get<C>(); mm.IterateAll(all); DataCopy(gc, all, 32 * 48); PipeBarrier<PIPE_ALL>();"),
        _case("added", body="mm.IterateAll(gc); mm.IterateAll(gc, 1);"),
        _case("part", shape=(64, 96, 64), body="mm.SetTail(20, 50); mm.IterateAll(gc);"),
        _case("aligned", format="ND_ALIGN"),
        _case("fractals", format="NZ", shape=(70, 96, 100)),
        _case("narrow_fractals", format="NZ", config="kSplit", shape=(70, 96, 100)),
        _case("steps", config="kParts", body="for (uint32_t i = 0; mm.Iterate(); ++i) if (i % 4 == 1) mm.GetTensorC(gc);"),
        _case("not_registered", register="if ASCEND_IS_AIC { return; } mm.Init(&t);"),
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    text = (
        '#include "lib/matmul_intf.h"\nusing namespace AscendC;\n'
        + _SPLIT
        + "".join(_KERNEL % case for case in CASES.values())
    )
    return build_all(text, entries=list(CASES))


def _run(kernels, name):
    case = CASES[name]
    rng = np.random.default_rng(7)

    def numbers(*shape, kind=case["a"]):
        if kind in ("int8_t", "int32_t"):
            return rng.integers(-20, 20, shape).astype(_T[kind])
        return rng.standard_normal(shape).astype(_T[kind])

    a, b = numbers(case["m"], case["k"]), numbers(case["k"], case["n"])
    bias, c = numbers(case["n"], kind=case["bias"]), np.zeros((case["m"], case["n"]), _T[case["c"]])
    if name in _STORED:
        wide = -(-case["n"] // _STORED[name]) * _STORED[name]
        c = np.zeros((case["m"] if name == "aligned" else -(-case["m"] // 16) * 16, wide), c.dtype)
    stored = [np.ascontiguousarray(x.T) if case[t] == "true" else x for x, t in ((a, "ta"), (b, "tb"))]
    arguments = [
        Argument("a", stored[0]),
        Argument("b", stored[1]),
        Argument("bias", bias),
        Argument("c", c, output=True),
    ]
    report = kernels[name].run(1, arguments)
    exact = a.astype(np.float64) @ b.astype(np.float64) + (bias.astype(np.float64) if case["biased"] else 0)
    if name in ("fractals", "narrow_fractals"):
        c = c.reshape(c.shape[1] // _STORED[name], -1, _STORED[name]).transpose(1, 0, 2).reshape(c.shape)
    if name == "steps":  # the second of four
        exact = a[:, 32:64].astype(np.float64) @ b[32:64].astype(np.float64)
    return report, c[: case["m"], : case["n"]].astype(np.float64), exact


@pytest.mark.parametrize(
    "name", [n for n in CASES if n not in ("by_blocks", "added", "part", "steps", "not_registered")]
)
def test_products(kernels, name):
    report, c, exact = _run(kernels, name)
    assert report.ok, report.findings
    rounding = {"float": 1e-5, "half": 1e-3, "bfloat16_t": 8e-3, "int32_t": 0}[CASES[name]["c"]]
    np.testing.assert_allclose(c, exact, rtol=rounding, atol=rounding * 20)


@pytest.mark.parametrize("name", ["by_blocks", "added"])
def test_what_is_done_to_results(kernels, name):
    report, c, exact = _run(kernels, name)
    assert report.ok, report.findings
    np.testing.assert_allclose(c, 2 * exact, rtol=1e-5, atol=1e-4)


def test_one_step_over_k(kernels):
    report, found, exact = _run(kernels, "steps")
    assert report.findings == ()
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


def test_a_part_of_the_product(kernels):
    report, c, exact = _run(kernels, "part")
    assert report.ok, report.findings
    np.testing.assert_allclose(c[:20, :50], exact[:20, :50], rtol=1e-5, atol=1e-4)
    assert not c[20:].any() and not c[:, 50:].any()


def test_a_cube_core_that_never_serves(kernels):
    report, _, _ = _run(kernels, "not_registered")
    assert [finding.rule for finding in report.findings] == ["deadlock"]
    assert "IterateAll" in report.findings[0].message


HOST = """
#include <vector>
#include "acl/acl.h"
#include "opdev/bfloat16.h"
#include "opdev/fp16_t.h"
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "tiling/tiling_api.h"
__global__ __cube__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  AscendC::TPipe pipe;
  TCubeTiling t;
  for (uint32_t i = 0; i < sizeof(t) / 4; ++i) reinterpret_cast<uint32_t*>(&t)[i] = reinterpret_cast<__gm__ uint32_t*>(tiling)[i];
  if (AscendC::GetBlockIdx() >= t.usedCoreNum) return;
  uint32_t rows = (t.M + t.singleCoreM - 1) / t.singleCoreM, i = AscendC::GetBlockIdx() % rows * t.singleCoreM, j = AscendC::GetBlockIdx() / rows * t.singleCoreN;
  AscendC::GlobalTensor<half> ga, gb;
  AscendC::GlobalTensor<float> gc;
  ga.SetGlobalBuffer((__gm__ half*)a + i * t.Ka);
  gb.SetGlobalBuffer((__gm__ half*)b + j);
  gc.SetGlobalBuffer((__gm__ float*)c + i * t.N + j);
  using Half = matmul::MatmulType<AscendC::TPosition::GM, matmul::CubeFormat::ND, half>;
  matmul::Matmul<Half, Half, matmul::MatmulType<AscendC::TPosition::GM, matmul::CubeFormat::ND, float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(ga);
  mm.SetTensorB(gb);
  mm.SetTail(std::min<int>(t.singleCoreM, t.M - i), std::min<int>(t.singleCoreN, t.N - j));
  mm.IterateAll(gc);
  mm.End();
}
int main() {
  constexpr int m = 200, n = 300, k = 64;
  optiling::TCubeTiling t;
  matmul_tiling::MultiCoreMatmulTiling api(*platform_ascendc::PlatformAscendCManager::GetInstance());
  using namespace matmul_tiling;
  api.SetDim(6);
  api.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
  api.SetOrgShape(m, n, k);
  api.SetShape(m, n, k);
  api.SetFixSplit(64, 64, -1);
  if (api.GetTiling(t) != 0 || t.get_usedCoreNum() < 2 || t.get_usedCoreNum() > 6 || t.get_baseM() != 64) return 2;
  std::vector<uint8_t> cut(t.GetDataSize());
  t.SaveToBuffer(cut.data(), cut.size());
  api.SetShape(0, n, k);
  if (api.GetTiling(t) != -1) return 3;
  if (op::bfloat16(1.00390625f).value != 0x3f80 || float(op::bfloat16(1.01171875f)) != 1.015625f || op::fp16_t(2).val != 0x4000 || ((op::fp16_t(5) + op::fp16_t(0.1f)) * op::fp16_t(1.5f)).val != 0x47a7) return 4;
  std::vector<op::fp16_t> a(m * k), b(k * n);
  std::vector<float> c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = i % 7 - 3;
  for (int i = 0; i < k * n; ++i) b[i] = float(i % 5 - 2);
  uint8_t *da, *db, *dc, *dt;
  aclrtSetDevice(0);
  aclrtMalloc((void**)&da, a.size() * 2, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc((void**)&db, b.size() * 2, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc((void**)&dc, c.size() * 4, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc((void**)&dt, cut.size(), ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(da, a.size() * 2, a.data(), a.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE);
  aclrtMemcpy(db, b.size() * 2, b.data(), b.size() * 2, ACL_MEMCPY_HOST_TO_DEVICE);
  aclrtMemcpy(dt, cut.size(), cut.data(), cut.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  product<<<6, nullptr, nullptr>>>(da, db, dc, nullptr, dt);
  aclrtMemcpy(c.data(), c.size() * 4, dc, c.size() * 4, ACL_MEMCPY_DEVICE_TO_HOST);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += float(a[i * k + l]) * float(b[l * n + j]);
      if (c[i * n + j] != sum) return 1;
    }
  return 0;
}
"""


def test_a_program_that_cuts_its_product(tmp_path):
    (tmp_path / "product.asc").write_text(HOST)
    report = build_program(tmp_path / "product.asc").run()
    assert report.ok, (report.exit_code, report.findings, report.error)
    assert [launch["cores"] for launch in report.launches] == [[6, 1, 0]]
