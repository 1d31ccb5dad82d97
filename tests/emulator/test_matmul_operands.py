# ruff: noqa: E501  (C++ statements stay on one line)
"""Less common operands and results of the Matmul library: 4 bits, 4:2 sparse, one row, the kernel's own parts of L1 and L0C."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.emulator import Argument, build_all

_KERNEL = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR extra, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  using A = %(a)s; using C = typename GetMmDstType<A>::Type;
  TPipe pipe;
  TCubeTiling t;
  t.usedCoreNum = 1; t.M = t.singleCoreM = %(m)d; t.N = t.singleCoreN = %(n)d; t.Ka = t.Kb = t.singleCoreK = %(k)d;
  t.baseM = %(bm)d; t.baseN = %(bn)d; t.baseK = %(bk)d;
  GlobalTensor<A> ga, gb;
  GlobalTensor<C> gc, gbias;
  GlobalTensor<uint8_t> gextra;
  ga.SetGlobalBuffer((__gm__ A*)a); gb.SetGlobalBuffer((__gm__ A*)b); gc.SetGlobalBuffer((__gm__ C*)c);
  gbias.SetGlobalBuffer((__gm__ C*)extra); gextra.SetGlobalBuffer((__gm__ uint8_t*)extra);
  Matmul<MatmulType<TPosition::GM, CubeFormat::%(left)s, A>, %(right)s, MatmulType<TPosition::%(out)s, C>, MatmulType<TPosition::GM, CubeFormat::ND, C>, CFG_MDL> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  mm.SetTensorA(ga);
  mm.SetTensorB(gb, %(turned)s);
  %(body)s
  mm.End();
}
"""
_SUMS = """
  TQue<TPosition::CO1, 1> queue;
  pipe.InitBuffer(queue, 1, 2 * 32 * 48 * 4);
  LocalTensor<C> sums = queue.AllocTensor<C>();
  for (int i = 0; mm.Iterate(false, sums[i * 32 * 48]); ++i);
  queue.EnQue(sums);
  sums = queue.DeQue<C>();
  for (int i = 0; i < 2; ++i) Fixpipe<C, C, CFG_ROW_MAJOR>(gc[i * 48], sums[i * 32 * 48], FixpipeParamsV220(48, 32, 32, 96, false));
  queue.FreeTensor(sums);
"""
_ADDED = """
  TQue<TPosition::CO1, 1> queue;
  pipe.InitBuffer(queue, 1, 32 * 48 * 4);
  LocalTensor<C> sums = queue.AllocTensor<C>();
  for (int i = 0; i < 2; ++i) { mm.SetTensorA(ga); mm.SetTensorB(gb); mm.Iterate(i > 0, sums); mm.End(); }
  queue.EnQue(sums);
  sums = queue.DeQue<C>();
  Fixpipe<C, C, CFG_ROW_MAJOR>(gc, sums, FixpipeParamsV220(48, 32, 32, 48, false));
  queue.FreeTensor(sums);
"""


def _case(name, a, shape, base, right="MatmulType<TPosition::GM, CubeFormat::ND, A>", **changes):
    (m, n, k), (bm, bn, bk) = shape, base
    case = {"name": name, "a": a, "m": m, "n": n, "k": k, "bm": bm, "bn": bn, "bk": bk, "right": right}
    case |= {"left": "ND", "out": "GM, CubeFormat::ND", "turned": "false", "body": "mm.IterateAll(gc);"}
    return {**case, **changes}


_SPARSE = "SparseMatmulType<TPosition::GM, TPosition::GM, CubeFormat::ND, A, true>"
_CO1 = "CO1, CubeFormat::NZ"
CASES = {
    case["name"]: case
    for case in (
        _case("nibbles", "int4b_t", (70, 90, 96), (32, 64, 64), body="mm.SetBias(gbias); mm.IterateAll(gc);"),
        _case("nibbles_by_48", "int4b_t", (33, 96, 128), (32, 48, 64)),
        _case("nibbles_turned", "int4b_t", (70, 90, 96), (32, 64, 64), turned="true"),
        _case("sparse", "int8_t", (20, 40, 192), (16, 32, 128), _SPARSE, turned="true", body="mm.SetSparseIndex(gextra); mm.IterateAll(gc);"),
        _case("sparse_without_places", "int8_t", (20, 40, 192), (16, 32, 128), _SPARSE, turned="true"),
        _case("one_row", "half", (1, 90, 100), (16, 48, 32), left="VECTOR"),
        _case("more_rows", "half", (2, 90, 100), (16, 48, 32), left="VECTOR"),
        _case("own_sums", "half", (32, 96, 64), (32, 48, 32), out=_CO1, body=_SUMS),
        _case("sums_added", "half", (32, 48, 64), (32, 48, 32), out=_CO1, body=_ADDED),
        _case("sums_of_blocks_added", "half", (32, 96, 64), (32, 48, 32), out=_CO1, body=_ADDED),
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels():
    text = '#include "lib/matmul_intf.h"\nusing namespace AscendC;\n' + "".join(
        _KERNEL % case for case in CASES.values()
    )
    return build_all(text, entries=list(CASES))


def _packed(x: np.ndarray) -> np.ndarray:
    """Two elements a byte, the first in the low half."""
    pairs = x.astype(np.uint8) & 15
    return (pairs[:, ::2] | pairs[:, 1::2] << 4).astype(np.int8)


def _thinned(rng, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix with two of four elements a row: itself, those two, and their places as the device takes them."""
    first = rng.integers(0, 3, (n, k // 4))
    second = first + 1 + rng.integers(0, 3 - first)
    kept = rng.integers(1, 9, (n, k // 4, 2)).astype(np.int8)
    whole = np.zeros((n, k // 4, 4), np.int8)
    np.put_along_axis(whole, np.stack((first, second), -1), kept, -1)
    places = np.stack((first, second - 1), -1).reshape(n, k // 8, 4).astype(np.uint8)
    packed = np.zeros((-(-n // 16) * 16, k // 8), np.uint8)
    packed[:n] = (places << np.array([0, 2, 4, 6], np.uint8)).sum(-1, dtype=np.uint8)
    columns = packed.reshape(len(packed), -1, 8).transpose(1, 0, 2)
    return whole.reshape(n, k), kept.reshape(n, k // 2), np.ascontiguousarray(columns)


def _run(kernels, name):
    case = CASES[name]
    rng = np.random.default_rng(11)
    m, n, k = case["m"], case["n"], case["k"]
    integers = case["a"] != "half"
    c = np.zeros((m, n), np.int32 if integers else np.float32)
    extra = rng.integers(-9, 9, n).astype(np.int32)
    bias = extra if "SetBias" in case["body"] else 0
    if integers:
        a, b = rng.integers(-8, 8, (m, k)), rng.integers(-8, 8, (k, n))
    else:
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    if case["a"] == "int4b_t":
        given = [_packed(a), _packed(b.T if case["turned"] == "true" else b)]
    elif case["a"] == "int8_t":
        thinned, kept, extra = _thinned(rng, n, k)
        a, b, given = a.astype(np.int8), thinned.T, [a.astype(np.int8), kept]
    else:
        given = [a.astype(np.float16), b.astype(np.float16)]
        a, b = given
    names = ("a", "b", "extra")
    arguments = [Argument(which, x) for which, x in zip(names, (*given, extra), strict=True)]
    report = kernels[name].run(1, [*arguments, Argument("c", c, output=True)])
    return report, c, a.astype(np.float64) @ b.astype(np.float64) + bias


@pytest.mark.parametrize(
    "name", ["nibbles", "nibbles_by_48", "nibbles_turned", "sparse", "one_row", "own_sums", "sums_added"]
)
def test_products(kernels, name):
    report, c, exact = _run(kernels, name)
    assert report.ok, report.findings
    np.testing.assert_allclose(c, 2 * exact if name == "sums_added" else exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sparse_without_places", "SetSparseIndex"),
        ("more_rows", "VECTOR is one row, not 2"),
        ("sums_of_blocks_added", "products of one block only"),
    ],
)
def test_what_the_documentation_forbids(kernels, name, told):
    report, _, _ = _run(kernels, name)
    assert report.findings[0].rule == "matmul_tiling" and told in report.findings[0].message, report.findings


_TSCM = """
extern "C" __global__ __aicore__ void %(name)s(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_%(kind)s);
  using T = %(type)s;
  TPipe pipe;
  TCubeTiling t;
  t.usedCoreNum = 1; t.M = t.singleCoreM = 48; t.N = t.singleCoreN = 80; t.Ka = t.Kb = t.singleCoreK = 96;
  t.baseM = 32; t.baseN = 48; t.baseK = 32;
  GlobalTensor<T> ga, gb;
  GlobalTensor<float> gc;
  int part = %(part)s;
  ga.SetGlobalBuffer((__gm__ T*)a + part * 48 * 96); gb.SetGlobalBuffer((__gm__ T*)b + part * 96 * 80); gc.SetGlobalBuffer((__gm__ float*)c + part * 48 * 80);
  Matmul<MatmulType<TPosition::%(left)s, T, %(ta)s>, MatmulType<TPosition::%(right)s, T, %(tb)s>, MatmulType<TPosition::GM, CubeFormat::ND, float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  %(before)s
  TSCM<TPosition::GM, 1> queue;
  pipe.InitBuffer(queue, 1, 96 * 80 * sizeof(T));
  LocalTensor<T> l1 = queue.AllocTensor<T>();
  %(fill)s
  queue.EnQue(l1);
  l1 = queue.DeQue<T>();
  mm.SetTensorA(%(a)s, %(ta)s);
  mm.SetTensorB(%(b)s, %(tb)s);
  mm.IterateAll(gc);
  mm.End();
  queue.FreeTensor(l1);
}
"""


def _kept(name, kind="MIX_AIC_1_2", of="half", left=True, ta="false", tb="false"):
    case = {"name": name, "type": of, "ta": ta, "tb": tb, "kind": kind}
    case["before"] = ""
    case["left"], case["right"] = "GM, CubeFormat::ND", "GM, CubeFormat::ND"
    case["left" if left else "right"] = "TSCM, CubeFormat::NZ"
    case["a"], case["b"] = ("l1", "gb") if left else ("ga", "l1")
    case["part"] = "g_coreType == AIV ? GetSubBlockIdx() : 0"
    rows, columns = (
        (("96", "48") if ta == "true" else ("48", "96"))
        if left
        else (("80", "96") if tb == "true" else ("96", "80"))
    )
    source = "ga" if left else "gb"
    case["fill"] = f"DataCopy(l1, {source}, Nd2NzParams(1, {rows}, {columns}, 0, {columns}, {rows}, 1, 0));"
    return case


KEPT = {
    case["name"]: case
    for case in (
        _kept("left_in_l1"),
        _kept("left_in_l1_turned", ta="true"),
        _kept("right_in_l1", left=False),
        _kept("right_in_l1_turned", left=False, tb="true"),
        _kept("floats_in_l1", of="float"),
        _kept("floats_in_l1_right", of="float", left=False),
        _kept("by_a_cube_core", kind="AIC_ONLY"),
        _kept("too_far", kind="AIC_ONLY")
        | {"before": "TBuf<TPosition::A1> rest; pipe.InitBuffer(rest, 360 << 10);"},
        _kept("too_large") | {"before": "TSCM<TPosition::GM, 1> rest; pipe.InitBuffer(rest, 1, 170 << 10);"},
    )
}


@pytest.fixture(scope="module")
def kept():
    text = '#include "lib/matmul_intf.h"\nusing namespace AscendC;\n' + "".join(
        _TSCM % case for case in KEPT.values()
    )
    return build_all(text, entries=list(KEPT))


@pytest.mark.parametrize("name", [name for name in KEPT if not name.startswith("too_")])
def test_matrices_that_the_kernel_keeps_in_l1(kept, name):
    """Each vector core of a block its own product, or the cube core the first one."""
    report, c, exact = _run_kept(kept, name)
    assert report.findings == ()
    cores = 1 if KEPT[name]["kind"] == "AIC_ONLY" else 2
    np.testing.assert_allclose(c[:cores], exact[:cores], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "told"), [("too_far", "use L1 from byte 368640 on"), ("too_large", "for each vector core")]
)
def test_matrices_where_the_emulator_has_no_room(kept, name, told):
    report, _, _ = _run_kept(kept, name)
    assert report.findings[0].rule == "unsupported" and told in report.findings[0].message, report.findings


def _run_kept(kept, name):
    case = KEPT[name]
    rng = np.random.default_rng(2)
    kind = np.float32 if case["type"] == "float" else np.float16
    a, b = rng.standard_normal((2, 48, 96)).astype(kind), rng.standard_normal((2, 96, 80)).astype(kind)
    c = np.zeros((2, 48, 80), np.float32)
    given = [x.swapaxes(1, 2).copy() if case[turned] == "true" else x for x, turned in ((a, "ta"), (b, "tb"))]
    report = kept[name].run(
        1, [Argument("a", given[0]), Argument("b", given[1]), Argument("c", c, output=True)]
    )
    return report, c, a.astype(np.float64) @ b.astype(np.float64)
