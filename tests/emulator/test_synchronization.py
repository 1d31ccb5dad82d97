# ruff: noqa: E501  (C++ statements stay on one line)
"""Every synchronization call of a whole mix kernel is needed, and its absence is reported."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from attndsl.emulator import Argument, Knobs, build, build_all

SOURCE = Path(__file__).parent / "ping_pong.cpp"
M, T, D, TILES, BLOCKS = 32, 64, 64, 7, 2
LINES = SOURCE.read_text().splitlines()
CALLS = [number for number, line in enumerate(LINES) if "// @" in line]


def _run(kernel, knobs=None):
    rng = np.random.default_rng(0)
    # whole numbers: no sum is rounded, whatever order the machine's BLAS adds in
    q, k, v = (rng.integers(-2, 3, (TILES * rows, D)).astype(np.float16) for rows in (M, T, T))
    out = np.zeros((TILES * M, D), np.float32)
    args = [
        Argument("q", q),
        Argument("k", k),
        Argument("v", v),
        Argument("o", out, output=True),
        Argument("s", np.zeros((BLOCKS, 2, M, T), np.float32), scratch=True),
        Argument("p", np.zeros((BLOCKS, 2, M, T), np.float16), scratch=True),
        Argument("tiling", np.array([TILES], np.uint32)),
    ]
    report = kernel.run(BLOCKS, args, knobs=knobs or Knobs())
    expected = np.zeros_like(out)
    for i in range(TILES):
        s = q[i * M : (i + 1) * M].astype(np.float32) @ k[i * T : (i + 1) * T].astype(np.float32).T
        p = (s + 1).astype(np.float16).astype(np.float32)
        expected[i * M : (i + 1) * M] = 2 * p @ v[i * T : (i + 1) * T].astype(np.float32)
    return report, out, expected


@pytest.mark.parametrize("seed", range(6))
def test_whole_kernel_is_right_in_any_order_of_cores(seed):
    report, out, expected = _run(build(SOURCE, entry="ping_pong"), Knobs(seed=seed))
    assert report.ok, report.findings
    assert report.cores == (BLOCKS, 1, 2)
    np.testing.assert_array_equal(out, expected)


@pytest.fixture(scope="module")
def variants():
    """The kernel once for every call left out, all in one translation unit."""
    text = ['#include "kernel_operator.h"\n']
    for number in CALLS:
        lines = [line for line in LINES if not line.startswith(("#include", "//"))]
        missing = LINES[number]
        body = "\n".join("" if line is missing else line for line in lines)
        body = body.replace("using namespace AscendC;", "").replace("ping_pong(", f"without_{number}(")
        text.append(
            f"namespace n{number} {{ using namespace AscendC;\n{body}\n}}\nusing n{number}::without_{number};\n"
        )
    return build_all("".join(text), entries=[f"without_{number}" for number in CALLS])


@pytest.mark.parametrize(
    "number", CALLS, ids=lambda n: re.sub(r"\W+", "_", LINES[n].split("//")[0].strip()) + f"_{n + 1}"
)
def test_leaving_out_any_call_is_reported(variants, number):
    report, _, _ = _run(variants[f"without_{number}"])
    assert not report.ok
    assert {name.split("/")[0] for name in report.finding_counts} & {"racecheck", "synccheck"}
