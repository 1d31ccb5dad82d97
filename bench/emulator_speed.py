"""How fast the emulator is: compiling a kernel, and causal attention of B1 N8 S1024 D128 with and without its checks.

The kernel is written by hand (bench/kernels/causal_attention.cpp). Limits of the project: at most 1.0 s of execution
with every check on, at most 3 times that without; at most 4 s to compile without the precompiled header, 1 s with it.

    python bench/emulator_speed.py             (prints a table; --json for data; exit code 1 above a limit)
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.emulator import Argument, Kernel, Knobs, Report, build
from attndsl.emulator.toolchain import (
    INCLUDE,
    KERNEL_FLAGS,
    cache_dir,
    require_compiler,
    run_compiler,
    runtime,
)

Array = npt.NDArray[Any]
SOURCE = Path(__file__).parent / "kernels" / "causal_attention.cpp"
HEADS, LENGTH, SIZE, BLOCKS = 8, 1024, 128, 24
WORKSPACE = 2 * 128 * (256 * 6 + SIZE * 4)
NO_CHECKS = Knobs(race=False, memcheck=False, synccheck=False, initcheck=False)
LIMITS = {"checked": 1.0, "ratio": 3.0, "compile without header": 4.0, "compile": 1.0}


@dataclass(frozen=True)
class Problem:
    """Queries, keys, values and the expected output, [heads, length, size]."""

    q: Array
    k: Array
    v: Array
    expected: Array


def problem(heads: int = HEADS, length: int = LENGTH) -> Problem:
    """Normal numbers in fp16 and the result in fp64."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((heads, length, SIZE)).astype(np.float16) for _ in range(3))
    scores = np.einsum("nqd,nkd->nqk", q, k, dtype=np.float64, optimize=True) / np.sqrt(SIZE)
    scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return Problem(q, k, v, weights @ v.astype(np.float64))


def execute(
    kernel: Kernel, given: Problem, knobs: Knobs, blocks: int = BLOCKS, **options: Any
) -> tuple[Report, Array]:
    """One launch: its report and the output."""
    out = np.empty_like(given.q)
    heads, length = given.q.shape[:2]
    tiling = np.array([heads, length, 0], np.int64)
    tiling[2:].view(np.float32)[0] = 1 / np.sqrt(SIZE)
    inputs = [Argument("q", given.q), Argument("k", given.k), Argument("v", given.v)]
    scratch = [
        Argument("workspace", np.empty(blocks * WORKSPACE, np.uint8), scratch=True),
        Argument("tiling", tiling),
    ]
    report = kernel.run(blocks, [*inputs, Argument("o", out, output=True), *scratch], knobs=knobs, **options)
    return report, out


def seconds(work: Callable[[], object], runs: int) -> list[float]:
    """Processor seconds of each run, child processes included: what an idle machine would take.

    Neither the compiler nor the emulator runs in several threads.
    """
    times = []
    for _ in range(runs):
        started = sum(os.times()[:4])
        work()
        times.append(sum(os.times()[:4]) - started)
    return times


def compile_times() -> dict[str, float]:
    """Seconds to compile the kernel with and without the precompiled header, and to take it from the cache."""
    compiler = require_compiler()
    made = runtime(compiler)
    target = cache_dir() / "bench.o"
    plain = [*KERNEL_FLAGS, "-I", INCLUDE, "-c", SOURCE, "-o", target]
    main = cache_dir() / "bench.cpp"
    main.write_text(f'#include "attnemu_prelude.h"\n#include "{SOURCE}"\n')
    quick = [*KERNEL_FLAGS, *made.include_flags, "-c", main, "-o", target]
    found = {
        "compile without header": min(seconds(lambda: run_compiler(compiler, plain, "bench"), 2)),
        "compile": min(seconds(lambda: run_compiler(compiler, quick, "bench"), 2)),
    }
    build(SOURCE, entry="causal_attention")
    found["cached"] = min(seconds(lambda: build(SOURCE, entry="causal_attention"), 3))
    return found


def measure(runs: int) -> dict[str, float]:
    """All figures, processor seconds unless named otherwise. Checked and unchecked runs take turns."""
    figures = compile_times()
    kernel = build(SOURCE, entry="causal_attention")
    given = problem()
    report, out = execute(kernel, given, Knobs())
    report.raise_for_findings()
    figures["largest error"] = float(np.abs(out - given.expected).max())
    times: dict[str, list[float]] = {"checked": [], "unchecked": []}
    for _ in range(runs):
        for name, knobs in (("checked", Knobs()), ("unchecked", NO_CHECKS)):
            times[name] += seconds(lambda knobs=knobs: execute(kernel, given, knobs), 1)  # type: ignore[misc]
    figures |= {name: statistics.median(found) for name, found in times.items()}
    figures["ratio"] = figures["checked"] / figures["unchecked"]
    figures["predicted microseconds"] = report.counters["microseconds"]
    return figures


def main() -> int:
    """Prints the figures; 1 when one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.runs)
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            limit = f"   (limit {LIMITS[name]:g})" if name in LIMITS else ""
            print(f"{name:24} {value:10.4g}{limit}")
    return int(any(figures[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
