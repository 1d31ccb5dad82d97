# ruff: noqa: E501, UP031  (C++ statements stay on one line, and are full of braces)
"""Sort32, MrgSort, Extract and the transposes against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.emulator_playground import fresh_image, get, put, run_image, vector_kernels

A, B, OUT, MORE = 0, 8192, 16384, 32768
LISTS = "MrgSortSrcList<T> list(ub.at<T>(%d), ub.at<T>(%d), ub.at<T>(%d), ub.at<T>(%d));"
RECORD = {
    "float": np.dtype([("score", np.float32), ("index", np.uint32)]),
    "half": np.dtype([("score", np.float16), ("pad", np.uint16), ("index", np.uint32)]),
}


@pytest.fixture(scope="module")
def kernels():
    bodies = {}
    for t in ("half", "float"):
        head = f"using T = {t};"
        bodies[f"sort_{t}"] = (
            f"Sort32(ub.at<{t}>({OUT}), ub.at<{t}>({A}), ub.at<uint32_t>({B}), 4); PipeBarrier<PIPE_V>(); Extract(ub.at<{t}>({MORE}), ub.at<uint32_t>({MORE + 4096}), ub.at<{t}>({OUT}), 4);"
        )
        bodies[f"merge_{t}"] = (
            head
            + LISTS % (A, A + 800, A + 1600, A + 2400)
            + "uint16_t n[4] = {100, 50, 64, 1}; MrgSort(ub.at<T>(%d), list, MrgSort4Info(n, false, 15, 1));"
            % OUT
        )
        bodies[f"suspend_{t}"] = (
            head + LISTS % (A, A + 800, A, A) + "uint16_t n[4] = {100, 50, 0, 0}; MrgSort(ub.at<T>(%d), list, MrgSort4Info(n, true, 3, 1));" % OUT
            + "uint16_t c[4]; GetMrgSortResult(c[0], c[1], c[2], c[3]); ub.at<uint32_t>(%d).SetValue(0, c[0]); ub.at<uint32_t>(%d).SetValue(1, c[1]);" % (MORE, MORE)
        )  # fmt: skip
        bodies[f"repeat_{t}"] = (
            head
            + LISTS % (A, A + 256, A + 512, A + 768)
            + "uint16_t n[4] = {32, 32, 32, 32}; MrgSort(ub.at<T>(%d), list, MrgSort4Info(n, false, 15, 2));"
            % OUT
        )
    for t in ("half", "float", "int8_t"):
        blocks = (
            "LocalTensor<T> rows[16], columns[16]; for (int i = 0; i < 16; ++i) { rows[i] = ub.at<T>(i * 64); columns[i] = ub.at<T>(%d + i * 96); }"
            % OUT
        )
        bodies[f"transdata_{t}"] = (
            f"using T = {t};"
            + blocks
            + "TransDataTo5HD(columns, rows, TransDataTo5HDParams(false, false, 2, 1, 1));"
        )
    bodies["transpose"] = f"Transpose(ub.at<half>({OUT}), ub.at<half>({A}));"
    return vector_kernels(bodies)


def _scores(t, n, seed=0):
    # few distinct values: ties matter
    return np.random.default_rng(seed).integers(-20, 20, n).astype(np.float16 if t == "half" else np.float32)


@pytest.mark.parametrize("t", ["half", "float"])
def test_sort_and_extract(kernels, t):
    image = fresh_image()
    scores, indices = _scores(t, 128), np.arange(128, dtype=np.uint32) + 1000
    put(image, A, scores)
    put(image, B, indices)
    out, report = run_image(kernels[f"sort_{t}"], image)
    assert report.ok, report.findings
    order = np.concatenate([np.argsort(-scores[r : r + 32], kind="stable") + r for r in range(0, 128, 32)])
    records = get(out, OUT, 128, RECORD[t])
    np.testing.assert_array_equal(records["score"], scores[order])
    np.testing.assert_array_equal(records["index"], indices[order])
    np.testing.assert_array_equal(get(out, MORE, 128, scores.dtype), scores[order])
    np.testing.assert_array_equal(get(out, MORE + 4096, 128, np.uint32), indices[order])


def _sorted_lists(t, lengths):
    records, first = [], 0
    for seed, n in enumerate(lengths):
        r = np.zeros(n, RECORD[t])
        r["score"] = -np.sort(-_scores(t, n, seed))
        r["index"] = np.arange(first, first + n)
        first += n
        records.append(r)
    return records


@pytest.mark.parametrize("t", ["half", "float"])
def test_merge(kernels, t):
    image = fresh_image()
    lists = _sorted_lists(t, (100, 50, 64, 1))
    for at, records in zip((A, A + 800, A + 1600, A + 2400), lists, strict=True):
        put(image, at, records)
    out, report = run_image(kernels[f"merge_{t}"], image)
    assert report.ok, report.findings
    joined = np.concatenate(lists)
    expected = joined[np.argsort(-joined["score"].astype(np.float32), kind="stable")]
    np.testing.assert_array_equal(get(out, OUT, 215, RECORD[t]), expected)


@pytest.mark.parametrize("t", ["half", "float"])
def test_merge_stops_when_a_list_is_exhausted(kernels, t):
    image = fresh_image()
    lists = _sorted_lists(t, (100, 50))
    put(image, A, lists[0])
    put(image, A + 800, lists[1])
    out, report = run_image(kernels[f"suspend_{t}"], image)
    assert report.ok, report.findings
    taken = get(out, MORE, 2, np.uint32)
    assert taken[0] == 100 or taken[1] == 50
    joined = np.concatenate([lists[0][: taken[0]], lists[1][: taken[1]]])
    expected = joined[np.argsort(-joined["score"].astype(np.float32), kind="stable")]
    np.testing.assert_array_equal(get(out, OUT, expected.size, RECORD[t]), expected)


@pytest.mark.parametrize("t", ["half", "float"])
def test_merge_repeats_over_adjacent_groups(kernels, t):
    image = fresh_image()
    lists = _sorted_lists(t, (32,) * 8)
    put(image, A, np.concatenate(lists))
    out, report = run_image(kernels[f"repeat_{t}"], image)
    assert report.ok, report.findings
    for r in range(2):
        joined = np.concatenate(lists[r * 4 : r * 4 + 4])
        expected = joined[np.argsort(-joined["score"].astype(np.float32), kind="stable")]
        np.testing.assert_array_equal(get(out, OUT + r * 1024, 128, RECORD[t]), expected)


@pytest.mark.parametrize(("t", "raw"), [("half", np.uint16), ("float", np.uint32), ("int8_t", np.uint8)])
def test_block_transpose(kernels, t, raw):
    image = fresh_image()
    out, report = run_image(kernels[f"transdata_{t}"], image)
    assert report.ok, report.findings
    per = 32 // np.dtype(raw).itemsize
    columns = min(per, 16)
    for r in range(2):
        rows = np.stack([get(image, A + i * 64 + r * 32, columns, raw) for i in range(16)])
        blocks = np.stack([get(out, OUT + i * 96 + r * 32, columns, raw) for i in range(16)])
        if per == 8:
            np.testing.assert_array_equal(blocks.reshape(8, 16), rows.T)
        else:
            np.testing.assert_array_equal(blocks, rows.T)


def test_transpose_of_one_matrix(kernels):
    image = fresh_image()
    out, report = run_image(kernels["transpose"], image)
    assert report.ok, report.findings
    np.testing.assert_array_equal(
        get(out, OUT, 256, np.uint16).reshape(16, 16), get(image, A, 256, np.uint16).reshape(16, 16).T
    )
