"""Functions of the library on rows: softmax in one part and several, norms, reductions, broadcasts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.emulator_playground import IMAGE, run_image, vector_kernels

ROWS, COLUMNS, USED = 3, 144, 140
FLOAT, HALF = np.float32, np.float16
# bytes: two operands of rows, the result, three kinds of blocks, single values, scratch
A, B, OUT, SUM, MAX, FACTOR, GAMMA, BETA, ONES, TMP = (4096 * i for i in range(10))
NAMES = {FLOAT: "float", HALF: "half"}
TOLERANCE = {FLOAT: 1e-5, HALF: 5e-3}


def row_body(dtype, call, room=8192):
    return f"""using T = {NAMES[dtype]};
      auto a = ub.at<T>({A}), b = ub.at<T>({B}), d = ub.at<T>({OUT}), factor = ub.at<T>({FACTOR});
      auto gamma = ub.at<T>({GAMMA}), beta = ub.at<T>({BETA}), one = ub.at<T>({ONES});
      auto sum = ub.at<float>({SUM}), max = ub.at<float>({MAX});
      auto tmp = ub.at<uint8_t>({TMP}); tmp.SetSize({room});
      SoftMaxTiling tiling; LayerNormTiling ln; RmsNormTiling rms;
      SoftMaxShapeInfo shape{{{ROWS}, {COLUMNS}, {ROWS}, {USED}}};
      ln.bLength = rms.bLength = 1; ln.sLength = rms.sLength = {ROWS}; ln.hLength = rms.hLength = {COLUMNS};
      ln.originalHLength = rms.originalHLength = {USED};
      uint32_t rows[2] = {{{ROWS}, {COLUMNS}}}, column[2] = {{{ROWS}, 1}}, line[2] = {{1, {COLUMNS}}};
      uint32_t used[2] = {{{ROWS}, {USED}}};
      (void)used; (void)rows; (void)column; (void)line;
      {call};"""


SOFTMAX = "SoftMax<T>(d, sum, max, a, tmp, tiling, shape)"
CALLS = {
    "softmax": SOFTMAX,
    "softmax_free": "SoftMax<T>(d, a, tiling, shape)",
    "flash_first": "SoftmaxFlashV2<T>(d, sum, max, a, factor, sum, max, tmp, tiling, shape)",
    "flash_next": "SoftmaxFlashV2<T, true>(d, sum, max, a, factor, sum, max, tmp, tiling, shape)",
    "flash_divided": "SoftmaxFlash<T>(d, sum, max, a, factor, sum, max, tmp, tiling, true, shape)",
    "simple": "SimpleSoftMax<T>(d, sum, max, a, tmp, tiling, shape)",
    "grad": "SoftmaxGrad<T>(d, a, b, tmp, tiling, false, shape)",
    "grad_front": "SoftmaxGradFront<T>(d, a, b, tmp, tiling, shape)",
    "layernorm": "LayerNorm<T>(d, one, factor, a, gamma, beta, tmp, T(0.01), ln)",
    "rmsnorm": "RmsNorm<T>(d, a, gamma, tmp, T(0.01), rms)",
    "sum": f"Sum(d, a, tmp, {{{ROWS}, {COLUMNS}, {USED}}})",
    "mean": f"Mean<T, float>(d, a, tmp, {{{ROWS}, {COLUMNS}, {USED}}})",
    "max_along": "ReduceMax<T, Pattern::Reduce::AR>(d, a, tmp, used, true)",
    "min_down": "ReduceMin<T, Pattern::Reduce::RA>(d, a, tmp, used, true)",
    "spread": "BroadCast<T, 2, 1>(d, a, rows, column, tmp)",
    "repeated": "Broadcast<T, 2, 0>(d, a, rows, line)",
}
SUM_ALONG = "ReduceSum<T, Pattern::Reduce::AR, true>(d, a, used, true)"
WRONG = {
    "softmax_little": (SOFTMAX, (8 + COLUMNS + 64) * 4 - 32, "work_tensor_size"),
    "softmax_ragged": (f"shape.srcK = 130; {SOFTMAX}", 8192, "softmax_shape"),
    "norm_ragged": ("rms.hLength = 130; RmsNorm<T>(d, a, gamma, tmp, T(1), rms)", 8192, "norm_shape"),
    "norm_little": ("RmsNorm<T>(d, a, gamma, tmp, T(1), rms)", (COLUMNS + 8) * 4 - 32, "work_tensor_size"),
    "sum_ragged": ("Sum(d, a, tmp, {3, 144, 120})", 8192, "row_alignment"),
    "spread_wrong": ("BroadCast<T, 2, 1>(d, a, rows, line, tmp)", 8192, "broadcast_shape"),
}  # fmt: skip
LEAST = {
    "softmax_least": (SOFTMAX, (8 + COLUMNS + 64) * 4),
    "norm_least": ("RmsNorm<T>(d, a, gamma, tmp, T(1), rms)", (COLUMNS + 8) * 4),
}


@pytest.fixture(scope="module")
def kernels():
    bodies = {
        f"{name}_{NAMES[dtype]}": row_body(dtype, call) for name, call in CALLS.items() for dtype in NAMES
    }
    bodies["sum_along_float"] = row_body(FLOAT, SUM_ALONG, 0)
    bodies |= {name: row_body(FLOAT, call, room) for name, (call, room, _) in WRONG.items()}
    bodies |= {name: row_body(FLOAT, call, room) for name, (call, room) in LEAST.items()}
    return vector_kernels(bodies)


def blocks(values, dtype):
    return np.repeat(np.asarray(values, dtype)[:, None], 32 // np.dtype(dtype).itemsize, 1)


class Operands:
    def __init__(self, dtype):
        draw = np.random.default_rng(7)
        self.dtype = dtype
        self.a, self.b = (draw.uniform(-3, 3, (ROWS, COLUMNS)).astype(dtype) for _ in range(2))
        self.gamma, self.beta = (draw.uniform(-2, 2, COLUMNS).astype(dtype) for _ in range(2))
        self.sum, self.max = draw.uniform(1, 9, ROWS).astype(FLOAT), draw.uniform(1, 4, ROWS).astype(FLOAT)
        self.image = np.zeros(IMAGE, np.uint8)
        for at, values in (
            (A, self.a), (B, self.b), (GAMMA, self.gamma), (BETA, self.beta),
            (SUM, blocks(self.sum, FLOAT)), (MAX, blocks(self.max, FLOAT)),
        ):  # fmt: skip
            self.image[at : at + values.nbytes] = values.reshape(-1).view(np.uint8)

    def run(self, kernel):
        self.out, report = run_image(kernel, self.image)
        return report

    def read(self, at, count, dtype=None):
        dtype = dtype or self.dtype
        return self.out[at : at + count * np.dtype(dtype).itemsize].view(dtype).astype(np.float64)

    def rows(self):
        return self.read(OUT, ROWS * COLUMNS).reshape(ROWS, COLUMNS)

    def blocks(self, at, dtype):
        found = self.read(at, ROWS * 32 // np.dtype(dtype).itemsize, dtype).reshape(ROWS, -1)
        assert (found == found[:, :1]).all()
        return found[:, 0]


@pytest.fixture(params=NAMES, ids=NAMES.values())
def operands(request):
    return Operands(request.param)


def finish(operands, kernels, name):
    report = operands.run(kernels[f"{name}_{NAMES[operands.dtype]}"])
    assert report.findings == ()
    return {"rtol": TOLERANCE[operands.dtype], "atol": TOLERANCE[operands.dtype]}


@pytest.mark.parametrize("name", ["softmax", "softmax_free", "flash_first"])
def test_softmax(kernels, operands, name):
    near = finish(operands, kernels, name)
    x = operands.a.astype(np.float64)
    top = x[:, :USED].max(1)
    powers = np.exp(x - top[:, None])
    total = powers[:, :USED].sum(1)
    np.testing.assert_allclose(
        operands.rows(), powers if name == "flash_first" else powers / total[:, None], **near
    )
    if name != "softmax_free":
        np.testing.assert_allclose(operands.blocks(MAX, FLOAT), top, rtol=1e-6)
        np.testing.assert_allclose(operands.blocks(SUM, FLOAT), total, rtol=1e-5)


@pytest.mark.parametrize("name", ["flash_next", "flash_divided"])
def test_softmax_goes_on(kernels, operands, name):
    near = finish(operands, kernels, name)
    x = operands.a.astype(np.float64)
    top = np.maximum(x[:, :USED].max(1), operands.max)
    powers, rescale = np.exp(x - top[:, None]), np.exp(operands.max - top)
    total = powers[:, :USED].sum(1) + rescale * operands.sum
    divided = name == "flash_divided"
    np.testing.assert_allclose(operands.rows(), powers / total[:, None] if divided else powers, **near)
    factor = rescale * operands.sum / total if divided else rescale
    np.testing.assert_allclose(operands.blocks(FACTOR, operands.dtype), factor, **near)
    np.testing.assert_allclose(operands.blocks(MAX, FLOAT), top, rtol=1e-6)
    np.testing.assert_allclose(operands.blocks(SUM, FLOAT), total, rtol=1e-5)


def test_softmax_of_known_sums(kernels, operands):
    near = finish(operands, kernels, "simple")
    powers = np.exp(operands.a.astype(np.float64) - operands.max[:, None])
    np.testing.assert_allclose(operands.rows(), powers / operands.sum[:, None], **near)


def test_gradients(kernels, operands):
    g, y = operands.a.astype(np.float64), operands.b.astype(np.float64)
    s = (g * y)[:, :USED].sum(1)
    near = {"rtol": 4 * TOLERANCE[operands.dtype], "atol": 4 * TOLERANCE[operands.dtype]}
    finish(operands, kernels, "grad")
    np.testing.assert_allclose(operands.rows(), (g - s[:, None]) * y, **near)
    finish(operands, kernels, "grad_front")
    np.testing.assert_allclose(operands.blocks(OUT, operands.dtype), s, **near)


def test_norms(kernels, operands):
    near = finish(operands, kernels, "layernorm")
    x = operands.a.astype(np.float64)
    mean, variance = x[:, :USED].mean(1), x[:, :USED].var(1)
    expected = (x - mean[:, None]) / np.sqrt(variance + 0.01)[:, None] * operands.gamma + operands.beta
    np.testing.assert_allclose(operands.rows(), expected, **near)
    np.testing.assert_allclose(operands.read(ONES, ROWS), mean, **near)
    np.testing.assert_allclose(operands.read(FACTOR, ROWS), variance, **near)
    finish(operands, kernels, "rmsnorm")
    root = np.sqrt((x[:, :USED] ** 2).mean(1) + 0.01)
    np.testing.assert_allclose(operands.rows(), x / root[:, None] * operands.gamma, **near)


def test_reductions(kernels, operands):
    x = operands.a.astype(np.float64)
    near = finish(operands, kernels, "mean")
    np.testing.assert_allclose(operands.read(OUT, ROWS), x[:, :USED].mean(1), **near)
    finish(operands, kernels, "sum")
    loose = {"rtol": 2e-2, "atol": 2e-1} if operands.dtype is HALF else near
    np.testing.assert_allclose(operands.read(OUT, ROWS), x[:, :USED].sum(1), **loose)
    finish(operands, kernels, "max_along")
    assert (operands.read(OUT, ROWS) == x[:, :USED].max(1)).all()
    finish(operands, kernels, "min_down")
    assert (operands.read(OUT, USED) == x.min(0)[:USED]).all()


def test_sums_in_the_source(kernels):
    operands = Operands(FLOAT)
    near = finish(operands, kernels, "sum_along")
    np.testing.assert_allclose(
        operands.read(OUT, ROWS), operands.a[:, :USED].astype(np.float64).sum(1), **near
    )


def test_broadcasts(kernels, operands):
    finish(operands, kernels, "spread")
    x = operands.a.astype(np.float64)
    assert (operands.rows() == x.reshape(-1)[:ROWS, None]).all()
    finish(operands, kernels, "repeated")
    assert (operands.rows() == x[:1]).all()


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told(kernels, name):
    operands = Operands(FLOAT)
    assert [finding.rule for finding in operands.run(kernels[name]).findings] == [WRONG[name][2]]
    assert not operands.rows().any()


@pytest.mark.parametrize("name", LEAST)
def test_the_least_memory_is_enough(kernels, name):
    assert Operands(FLOAT).run(kernels[name]).findings == ()
