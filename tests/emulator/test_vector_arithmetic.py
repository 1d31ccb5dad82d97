# ruff: noqa: E501  (C++ statements stay on one line)
"""Elementwise instructions against NumPy: types, tails, strides, masks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, B, OUT = 0, 16384, 32768
COUNTS = (1, 8, 63, 64, 65, 129, 1000)
DTYPES = {
    "half": np.float16,
    "float": np.float32,
    "int16_t": np.int16,
    "int32_t": np.int32,
    "uint16_t": np.uint16,
    "uint32_t": np.uint32,
}
FLOATS = ("half", "float")
NUMBERS = ("int16_t", "half", "int32_t", "float")

BINARY = {
    "Add": (NUMBERS, np.add),
    "Sub": (NUMBERS, np.subtract),
    "Mul": (NUMBERS, np.multiply),
    "Max": (NUMBERS, np.maximum),
    "Min": (NUMBERS, np.minimum),
    "Div": (FLOATS, np.divide),
    "And": (("int16_t", "uint16_t"), np.bitwise_and),
    "Or": (("int16_t", "uint16_t"), np.bitwise_or),
    "AddRelu": (("int16_t", "half", "float"), lambda a, b: np.maximum(a + b, 0)),
    "SubRelu": (("int16_t", "half", "float"), lambda a, b: np.maximum(a - b, 0)),
}
UNARY = {
    "Exp": (FLOATS, np.exp),
    "Ln": (FLOATS, np.log),
    "Abs": (FLOATS, np.abs),
    "Sqrt": (FLOATS, np.sqrt),
    "Rsqrt": (FLOATS, lambda a: 1 / np.sqrt(a)),
    "Reciprocal": (FLOATS, lambda a: 1 / a),
    "Relu": (("half", "int32_t", "float"), lambda a: np.maximum(a, 0)),
    "Not": (("int16_t", "uint16_t"), np.bitwise_not),
}
SCALAR = {
    "Adds": (NUMBERS, lambda a, s: a + s),
    "Muls": (NUMBERS, lambda a, s: a * s),
    "Maxs": (NUMBERS, np.maximum),
    "Mins": (NUMBERS, np.minimum),
    "ShiftLeft": (("uint16_t", "int16_t", "uint32_t", "int32_t"), lambda a, s: np.left_shift(a, s)),
    "ShiftRight": (("uint16_t", "int16_t", "uint32_t", "int32_t"), lambda a, s: np.right_shift(a, s)),
    "LeakyRelu": (FLOATS, lambda a, s: np.where(a >= 0, a, a * s)),
}


def _each_count(call: str) -> str:
    # one call a count, at outputs 4 KB apart
    return " ".join(
        call.replace("COUNT", str(n)).replace("DST", str(OUT + 4096 * i)) for i, n in enumerate(COUNTS)
    )


@pytest.fixture(scope="module")
def kernels():
    bodies = {}
    for name, (types, _) in BINARY.items():
        for t in types:
            bodies[f"{name}_{t}"] = _each_count(
                f"{name}(ub.at<{t}>(DST), ub.at<{t}>({A}), ub.at<{t}>({B}), COUNT);"
            )
    for name, (types, _) in UNARY.items():
        for t in types:
            bodies[f"{name}_{t}"] = _each_count(f"{name}(ub.at<{t}>(DST), ub.at<{t}>({A}), COUNT);")
    for name, (types, _) in SCALAR.items():
        for t in types:
            bodies[f"{name}_{t}"] = _each_count(f"{name}(ub.at<{t}>(DST), ub.at<{t}>({A}), ({t})3, COUNT);")
    bodies["strides"] = (
        f"Add(ub.at<float>({OUT}), ub.at<float>({A}), ub.at<float>({B}), (uint64_t)40, 3, BinaryRepeatParams(2, 1, 0, 16, 8, 1));"
    )
    bodies["bits"] = (
        f"uint64_t mask[2] = {{0x00FF00FF0F0F3333ull, 0x8000000000000001ull}};"
        f"Muls(ub.at<half>({OUT}), ub.at<half>({A}), (half)2, mask, 2, UnaryRepeatParams(1, 1, 8, 8));"
    )
    bodies["register_mask"] = (
        f"SetVectorMask<float>(0, 0xF0ull);"
        f"Add<float, false>(ub.at<float>({OUT}), ub.at<float>({A}), ub.at<float>({B}), MASK_PLACEHOLDER, 2, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); ResetMask();"
    )
    bodies["counter_mode"] = (
        f"SetMaskCount(); Add(ub.at<float>({OUT}), ub.at<float>({A}), ub.at<float>({B}), (uint64_t)150, 1, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); SetMaskNorm(); ResetMask();"
    )
    # 11 blocks and 4 lanes of a 12th, two repeats
    bodies["counted_copy"] = (
        f"SetMaskCount(); SetVectorMask<int32_t, MaskMode::COUNTER>(92);"
        f"Copy<int32_t, false>(ub.at<int32_t>({OUT}), ub.at<int32_t>({A}), MASK_PLACEHOLDER, 2, CopyRepeatParams(1, 3, 16, 5)); SetMaskNorm(); ResetMask();"
    )
    bodies["axpy"] = (
        f"Axpy(ub.at<float>({OUT}), ub.at<half>({A}), (half)2.5, 100); Axpy(ub.at<half>({OUT + 4096}), ub.at<half>({A}), (half)2.5, 100);"
    )
    bodies["mul_add"] = (
        f"MulAddDst(ub.at<float>({OUT}), ub.at<half>({A}), ub.at<half>({B}), 100); MulAddDst(ub.at<float>({OUT + 4096}), ub.at<float>({A}), ub.at<float>({B}), 100);"
        f"FusedMulAdd(ub.at<float>({OUT + 8192}), ub.at<float>({A}), ub.at<float>({B}), 100);"
    )
    bodies["fills"] = (
        f"Duplicate(ub.at<half>({OUT}), (half)1.5, 77); Duplicate(ub.at<float>({OUT + 4096}), 2.5f, (uint64_t)10, 3, 2, 16);"
        f"uint64_t mask[2] = {{5, 0}}; Duplicate(ub.at<bfloat16_t>({OUT + 8192}), bfloat16_t(3.0f), mask, 1, 1, 8);"
        f"CreateVecIndex(ub.at<int32_t>({OUT + 12288}), (int32_t)-5, 70); CreateVecIndex(ub.at<float>({OUT + 16384}), 0.5f, 70);"
        f"Copy(ub.at<uint16_t>({OUT + 20480}), ub.at<uint16_t>({A}), (uint64_t)128, 2, CopyRepeatParams(1, 2, 8, 16));"
        f"DataCopy(ub.at<float>({OUT + 24576}), ub.at<float>({A}), DataCopyParams(3, 2, 1, 2));"
    )
    return vector_kernels(bodies)


def _inputs(t: str) -> np.ndarray:
    image = fresh_image(1)
    rng = np.random.default_rng(2)
    dtype = DTYPES[t]
    for byte in (A, B):
        n = 16384 // np.dtype(dtype).itemsize
        if np.issubdtype(dtype, np.floating):
            put(image, byte, rng.uniform(0.1, 4, n).astype(dtype) * rng.choice([-1, 1], n).astype(dtype))
        else:
            info = np.iinfo(dtype)
            put(image, byte, rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True))
    return image


def _close(actual: np.ndarray, expected: np.ndarray) -> None:
    if actual.dtype == np.float32:
        np.testing.assert_allclose(actual, expected, rtol=3e-7)
    else:
        np.testing.assert_array_equal(actual, expected)


def _check(kernel, t: str, expected_of, positive: bool = False) -> None:
    image = _inputs(t)
    if positive:
        put(image, A, np.abs(get(image, A, 2048, DTYPES[t])))
    out, report = run_image(kernel, image)
    assert report.ok, report.findings
    untouched = image.copy()
    dtype = DTYPES[t]
    for i, n in enumerate(COUNTS):
        a, b = get(image, A, n, dtype), get(image, B, n, dtype)
        if dtype == np.float16:
            expected = expected_of(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
        else:
            with np.errstate(over="ignore"):
                expected = expected_of(a, b).astype(dtype)
        _close(get(out, OUT + 4096 * i, n, dtype), expected)
        put(untouched, OUT + 4096 * i, get(out, OUT + 4096 * i, n, dtype))
    np.testing.assert_array_equal(out, untouched)  # lanes behind the count keep their bytes


@pytest.mark.parametrize(("name", "t"), [(name, t) for name, (types, _) in BINARY.items() for t in types])
def test_binary(kernels, name, t):
    _check(kernels[f"{name}_{t}"], t, BINARY[name][1])


@pytest.mark.parametrize(("name", "t"), [(name, t) for name, (types, _) in UNARY.items() for t in types])
def test_unary(kernels, name, t):
    _check(
        kernels[f"{name}_{t}"], t, lambda a, b: UNARY[name][1](a), positive=name in ("Ln", "Sqrt", "Rsqrt")
    )


@pytest.mark.parametrize(("t", "bound"), [("half", 2**-8), ("float", 2**-12)])
@pytest.mark.parametrize("name", ["Reciprocal", "Rsqrt"])
def test_rough_reciprocals(kernels, name, t, bound):
    image = _inputs(t)
    put(image, A, np.abs(get(image, A, 2048, DTYPES[t])))
    out, report = run_image(kernels[f"{name}_{t}"], image, rough_reciprocal=True)
    assert report.ok, report.findings
    count = COUNTS[-1]
    exact = UNARY[name][1](get(image, A, count, DTYPES[t]).astype(float))
    at = OUT + 4096 * (len(COUNTS) - 1)
    error = np.abs(get(out, at, count, DTYPES[t]).astype(float) / exact - 1)
    assert bound / 4 < error.max() < bound * 1.01


@pytest.mark.parametrize(("name", "t"), [(name, t) for name, (types, _) in SCALAR.items() for t in types])
def test_scalar(kernels, name, t):
    scalar = np.float32(3) if t in FLOATS else DTYPES[t](3)
    _check(kernels[f"{name}_{t}"], t, lambda a, b: SCALAR[name][1](a, scalar))


def test_strides_and_continuous_mask(kernels):
    image = _inputs("float")
    out, report = run_image(kernels["strides"], image)
    assert report.ok, report.findings
    a, b = get(image, A, 4096, np.float32), get(image, B, 4096, np.float32)
    expected = image.copy()
    for r in range(3):
        for lane in range(40):
            block, k = divmod(lane, 8)
            value = a[(r * 8 + block) * 8 + k] + b[(r * 1 + 0) * 8 + k]
            put(expected, OUT + ((r * 16 + block * 2) * 8 + k) * 4, np.array([value], np.float32))
    np.testing.assert_array_equal(out, expected)


def test_bit_mask(kernels):
    image = _inputs("half")
    out, report = run_image(kernels["bits"], image)
    assert report.ok, report.findings
    bits = 0x00FF00FF0F0F3333 | 0x8000000000000001 << 64
    on = np.array([bits >> i & 1 for i in range(128)] * 2, bool)
    a, old = get(image, A, 256, np.float16), get(image, OUT, 256, np.float16)
    np.testing.assert_array_equal(get(out, OUT, 256, np.float16), np.where(on, a * np.float16(2), old))


@pytest.mark.parametrize(
    ("name", "lanes"), [("register_mask", [*range(4, 8), *range(68, 72)]), ("counter_mode", range(150))]
)
def test_mask_register(kernels, name, lanes):
    image = _inputs("float")
    out, report = run_image(kernels[name], image)
    assert report.ok, report.findings
    expected = get(image, OUT, 256, np.float32).copy()
    chosen = np.array(list(lanes))
    expected[chosen] = (get(image, A, 256, np.float32) + get(image, B, 256, np.float32))[chosen]
    np.testing.assert_array_equal(get(out, OUT, 256, np.float32), expected)


def test_copies_count_elements_a_repeat(kernels):
    """In counter mode a repeat of `Copy` takes as many elements as the mask says; of other instructions all repeats together."""
    image = _inputs("int32_t")
    out, report = run_image(kernels["counted_copy"], image)
    assert report.ok, report.findings
    expected = image.copy()
    blocks = get(image, A, 512, np.int32).reshape(64, 8)
    for repeat in range(2):
        chosen = blocks[repeat * 5 : repeat * 5 + 36 : 3]
        put(expected, OUT + repeat * 16 * 32, chosen.ravel()[:92])
    np.testing.assert_array_equal(out, expected)


def test_axpy(kernels):
    image = _inputs("half")
    put(image, OUT, np.linspace(-1, 1, 100, dtype=np.float32))
    put(image, OUT + 4096, np.linspace(-1, 1, 100).astype(np.float16))
    out, report = run_image(kernels["axpy"], image)
    assert report.ok, report.findings
    a = get(image, A, 100, np.float16).astype(np.float32)
    np.testing.assert_array_equal(
        get(out, OUT, 100, np.float32), get(image, OUT, 100, np.float32) + a * np.float32(2.5)
    )
    narrow = get(image, OUT + 4096, 100, np.float16).astype(np.float32) + a * np.float32(2.5)
    np.testing.assert_array_equal(get(out, OUT + 4096, 100, np.float16), narrow.astype(np.float16))


def test_multiply_add(kernels):
    image = _inputs("half")
    put(image, OUT, np.linspace(-1, 1, 100, dtype=np.float32))
    out, report = run_image(kernels["mul_add"], image)
    assert report.ok, report.findings
    a, b = (get(image, at, 100, np.float16).astype(np.float32) for at in (A, B))
    np.testing.assert_array_equal(get(out, OUT, 100, np.float32), a * b + get(image, OUT, 100, np.float32))
    a, b = (get(image, at, 100, np.float32) for at in (A, B))
    np.testing.assert_array_equal(
        get(out, OUT + 4096, 100, np.float32), a * b + get(image, OUT + 4096, 100, np.float32)
    )
    np.testing.assert_array_equal(
        get(out, OUT + 8192, 100, np.float32), a * get(image, OUT + 8192, 100, np.float32) + b
    )


def test_fills_and_copies(kernels):
    image = _inputs("float")
    out, report = run_image(kernels["fills"], image)
    assert report.ok, report.findings
    expected = image.copy()
    put(expected, OUT, np.full(77, 1.5, np.float16))
    for r in range(3):
        put(expected, OUT + 4096 + r * 512, np.full(8, 2.5, np.float32))
        put(expected, OUT + 4096 + r * 512 + 64, np.full(2, 2.5, np.float32))
    for lane in (0, 2):
        put(expected, OUT + 8192 + lane * 2, np.array([0x4040], np.uint16))  # bfloat16 3.0
    put(expected, OUT + 12288, np.arange(-5, 65, dtype=np.int32))
    put(expected, OUT + 16384, np.arange(70, dtype=np.float32) + np.float32(0.5))
    a = get(image, A, 1024, np.uint16).reshape(-1, 16)
    put(expected, OUT + 20480, np.concatenate([a[0:16:2], a[16:32:2]]))
    blocks = get(image, A, 9 * 8, np.float32).reshape(9, 8)
    for i in range(3):
        put(expected, OUT + 24576 + i * 128, blocks[i * 3 : i * 3 + 2])
    np.testing.assert_array_equal(out, expected)
