# ruff: noqa: E501  (C++ statements stay on one line)
"""Batches of products by the Matmul library: layouts, members that several products share, sums over an axis, biases."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build_all

M, N, K = 20, 36, 40
# what each layout calls its axes
_ORDER = {"BSNGD": "bsngd", "SBNGD": "sbngd", "BNGS1S2": "bngsd", "NORMAL": "bngsd"}
_CONFIGS = """
constexpr MatmulConfig kOnce = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(MatmulBatchParams{false, BatchMode::BATCH_LESS_THAN_L1, false});
constexpr MatmulConfig kEach = GetNormalConfig(false, true);
"""
_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR space) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_%(kind)s);
  TPipe pipe;
  TCubeTiling t;
  t.usedCoreNum = 1; t.M = t.singleCoreM = 20; t.N = t.singleCoreN = 36; t.Ka = t.Kb = t.singleCoreK = 40;
  t.baseM = 16; t.baseN = 32; t.baseK = 32; t.isBias = %(biased)d;
  %(axes)s
  GlobalTensor<half> ga, gb;
  GlobalTensor<float> gc, gbias, gspace;
  ga.SetGlobalBuffer((__gm__ half*)a); gb.SetGlobalBuffer((__gm__ half*)b); gc.SetGlobalBuffer((__gm__ float*)c);
  gbias.SetGlobalBuffer((__gm__ float*)bias); gspace.SetGlobalBuffer((__gm__ float*)space);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::%(operands)s>, MatmulType<TPosition::GM, CubeFormat::ND, half, true, LayoutMode::%(operands)s>,
         MatmulType<TPosition::GM, CubeFormat::ND, float, false, LayoutMode::%(results)s>, MatmulType<TPosition::GM, CubeFormat::ND, float>, %(config)s> mm;
  %(register)s
  if (GetBlockIdx() != 0) return;
  mm.SetTensorA(ga, false);
  mm.SetTensorB(gb, true);
  if (t.isBias) mm.SetBias(gbias);
  %(body)s
  mm.End();
}
"""


def _case(name, operands, results, a, b, c, batch, **changes):
    """Axes are (B, N, G) of the operands and of the result; `batch` what one call multiplies of each operand."""
    axes = ""
    for which, (nb, nn, ng), rows, columns in (
        ("A", a, M, K),
        ("B", b, N, K),
        ("C", c, M, N),
    ):
        s, d = ("S1", "S2") if which == "C" else ("S", "D")
        axes += f"t.{which}LayoutInfoB = {nb}; t.{which}LayoutInfo{s} = {rows}; t.{which}LayoutInfoN = {nn}; t.{which}LayoutInfoG = {ng}; t.{which}LayoutInfo{d} = {columns}; "
    case = {
        "name": name,
        "operands": operands,
        "results": results,
        "shapes": (a, b, c),
        "axes": axes,
        "kind": "MIX_AIC_1_2",
        "config": "CFG_NORM",
        "biased": 0,
        "register": "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);",
        "body": f"mm.IterateBatch(gc, {batch[0]}, {batch[1]}, false);",
    }
    return {**case, **changes}


CASES = {
    case["name"]: case
    for case in (
        _case("heads_inside", "BSNGD", "BSNGD", (1, 2, 3), (1, 2, 3), (1, 2, 3), (6, 6)),
        _case("heads_to_matrices", "BSNGD", "BNGS1S2", (1, 2, 3), (1, 2, 3), (1, 2, 3), (6, 6)),
        _case("batches_inside", "SBNGD", "SBNGD", (2, 1, 2), (2, 1, 2), (2, 1, 2), (4, 4)),
        _case("matrices", "BNGS1S2", "BNGS1S2", (2, 1, 2), (2, 1, 2), (2, 1, 2), (4, 4)),
        _case("groups_share_a_head", "BSNGD", "BSNGD", (1, 2, 3), (1, 2, 1), (1, 2, 3), (6, 2)),
        _case("sums_of_groups", "BSNGD", "BSNGD", (1, 2, 3), (1, 2, 3), (1, 2, 1), (6, 6), biased=1),
        _case("one_behind_the_other", "NORMAL", "NORMAL", (4, 1, 1), (2, 1, 1), (4, 1, 1), (4, 2), biased=1),
        _case("one_bias_for_all", "NORMAL", "NORMAL", (3, 1, 1), (3, 1, 1), (3, 1, 1), (3, 3), biased=1, config="kOnce"),
        _case("cube_alone", "NORMAL", "NORMAL", (2, 1, 1), (2, 1, 1), (2, 1, 1), (2, 2), kind="AIC_ONLY", body="mm.SetBatchNum(2, 2); mm.IterateBatch(gc, false, 0, false);"),
        _case("added", "NORMAL", "NORMAL", (2, 1, 1), (2, 1, 1), (2, 1, 1), (2, 2), body="for (int i = 0; i < 2; ++i) mm.IterateBatch(gc, 2, 2, false, 0, 0, 0, false, i);"),
        _case("strided", "NORMAL", "NORMAL", (2, 1, 1), (4, 1, 1), (2, 1, 1), (2, 2), body="mm.IterateBatch(gc, 2, 2, false, 0, 2 * 36 * 40);"),
        _case("calls_in_one", "BSNGD", "BSNGD", (2, 1, 3), (2, 1, 3), (2, 1, 3), (3, 3), config="kEach", biased=1, body="mm.SetWorkspace(gc); mm.IterateNBatch(2, 3, 3, false);"),
        _case("calls_taken_apart", "NORMAL", "NORMAL", (6, 1, 1), (6, 1, 1), (6, 1, 1), (3, 3), config="kEach", body="""mm.SetWorkspace(gspace); mm.template IterateNBatch<false>(2, 3, 3, false);
  TBuf<TPosition::VECCALC> ub; pipe.InitBuffer(ub, 3 * 20 * 36 * 4);
  for (int i = 0; i < 2; ++i) {
    GlobalTensor<float> part = mm.template GetBatchTensorC<false>(3, 3);
    PipeBarrier<PIPE_ALL>(); DataCopy(ub.Get<float>(), part, 3 * 20 * 36); PipeBarrier<PIPE_ALL>(); DataCopy(gc[i * 3 * 20 * 36], ub.Get<float>(), 3 * 20 * 36);
  }"""),
        _case("bad_multiple", "NORMAL", "NORMAL", (3, 1, 1), (2, 1, 1), (3, 1, 1), (3, 2)),
        _case("bad_row", "BSNGD", "BSNGD", (2, 1, 3), (2, 1, 3), (2, 1, 3), (6, 6)),
        _case("bad_quantised", "NORMAL", "NORMAL", (2, 1, 1), (2, 1, 1), (2, 1, 1), (2, 2), body="mm.SetQuantScalar(1); mm.IterateBatch(gc, 2, 2, false);"),
        _case("bad_size", "NORMAL", "NORMAL", (90, 1, 1), (90, 1, 1), (90, 1, 1), (90, 90)),
        _case("bad_workspace", "NORMAL", "NORMAL", (2, 1, 1), (2, 1, 1), (2, 1, 1), (2, 2), config="kEach", body="mm.IterateNBatch(1, 2, 2, false);"),
    )
}  # fmt: skip
_GOOD = [name for name in CASES if not name.startswith("bad_")]


@pytest.fixture(scope="module")
def kernels():
    text = (
        '#include "lib/matmul_intf.h"\nusing namespace AscendC;\n'
        + _CONFIGS
        + "".join(_KERNEL % case for case in CASES.values())
    )
    return build_all(text, entries=list(CASES))


def _stored(x: np.ndarray, layout: str) -> np.ndarray:
    """(B, N, G, S, D) as it lies in memory."""
    return np.ascontiguousarray(x.transpose(["bngsd".index(axis) for axis in _ORDER[layout]]))


def _run(kernels, name):
    case = CASES[name]
    rng = np.random.default_rng(3)
    of_a, of_b, of_c = case["shapes"]
    a = rng.standard_normal((*of_a, M, K)).astype(np.float16)
    b = rng.standard_normal((*of_b, N, K)).astype(np.float16)
    bias = rng.standard_normal((*of_c, 1, N)).astype(np.float32)
    c = np.zeros((*of_c, M, N), np.float32)
    if case["config"] == "kOnce":
        bias[:] = bias[:1]
    stored_c = _stored(c, case["results"])
    arguments = [
        Argument("a", _stored(a, case["operands"])),
        Argument("b", _stored(b, case["operands"])),
        Argument("bias", bias),
        Argument("c", stored_c, output=True),
        Argument("space", np.zeros_like(c), output=True),
    ]
    report = kernels[name].run(1, arguments)
    back = [_ORDER[case["results"]].index(axis) for axis in "bngsd"]
    return report, stored_c.transpose(back), a.astype(np.float64), b.astype(np.float64), bias


@pytest.mark.parametrize("name", _GOOD)
def test_batches(kernels, name):
    report, c, a, b, bias = _run(kernels, name)
    assert report.ok, report.findings
    if name == "one_behind_the_other":  # two left matrices for each right one
        b = np.repeat(b, 2, axis=0)
    if name == "strided":
        b = b[::2]
    exact = a @ b.swapaxes(-1, -2)
    if name == "sums_of_groups":
        exact = exact.sum(axis=2, keepdims=True)
    if name == "added":
        exact = 2 * exact
    if CASES[name]["biased"]:
        exact = exact + bias
    np.testing.assert_allclose(c, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bad_multiple", "one must be a multiple of the other"),
        ("bad_row", "do not divide N * G"),
        ("bad_quantised", "not quantised"),
        ("bad_size", "bytes of L1"),
        ("bad_workspace", "SetWorkspace"),
    ],
)
def test_batches_that_the_documentation_forbids(kernels, name, told):
    report, *_ = _run(kernels, name)
    first = report.findings[0]
    assert first.rule == "batch_shape" and told in first.message, report.findings
