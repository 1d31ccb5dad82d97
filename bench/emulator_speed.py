"""How fast the emulator is: causal attention with and without its checks, and compiling kernels.

The problem is B1 N8 S1024 D128 in fp16, the kernel is written by hand (bench/kernels/causal_attention.cpp).
Limits of the project: at most 1.0 s of execution with every check on and at most 3 times the time without;
compiling a kernel at most 4 s, and 1 s when the headers are precompiled; one compiled before at once.

    python bench/emulator_speed.py             (prints a table; --json for data; exit code 1 above a limit)

All times are processor seconds, child processes included: what an idle machine takes, as nothing here runs in
several threads. Wall seconds stand beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.emulator import Argument, Kernel, Knobs, Report, build
from attndsl.emulator.toolchain import INCLUDE, KERNEL_FLAGS, PRELUDE, require_compiler, run_compiler, runtime

Array = npt.NDArray[Any]
SOURCE = Path(__file__).parent / "kernels" / "causal_attention.cpp"
HEADS, LENGTH, SIZE, BLOCKS = 8, 1024, 128, 24
WORKSPACE = 2 * 128 * (256 * 6 + SIZE * 4)
NO_CHECKS = Knobs(racecheck=False, memcheck=False, synccheck=False, initcheck=False)
GENERATE = (
    "generate",
    "incre_flash_attention",
    "--dtype",
    "float16",
    "--feature",
    "attn_mask",
    "--feature",
    "pse_shift",
)
LIMITS = {
    "checked": 1.0,
    "ratio": 3.0,
    "compile by hand, cold": 4.0,
    "compile by hand": 1.0,
    "compile generated, cold": 4.0,
    "compile generated": 1.0,
    "cached": 0.1,
}


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
    """Processor seconds of each run, child processes included."""
    times = []
    for _ in range(runs):
        started = sum(os.times()[:4])
        work()
        times.append(sum(os.times()[:4]) - started)
    return times


def compile_and_link(source: Path, flags: Sequence[str | Path]) -> None:
    """Compiles one kernel file by hand, as `build` does but past its cache."""
    made = runtime(require_compiler())
    entry = source.stem
    with tempfile.TemporaryDirectory() as name:
        text = f'#include "{PRELUDE}"\n#include "{source}"\nATTNEMU_ENTRY({entry})\n'
        (Path(name) / "main.cpp").write_text(text)
        parts = [*KERNEL_FLAGS, *flags, "-I", source.parent, "main.cpp", *made.objects, "-o", "kernel"]
        run_compiler(require_compiler(), parts, source.name, cwd=Path(name))


def compile_times() -> dict[str, float]:
    """Seconds to compile with and without the precompiled header, and to take a kernel from the cache."""
    made = runtime(require_compiler())
    found = {}
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / PRELUDE).write_text('#pragma once\n#include "kernel_operator.h"\n')
        cold = ["-I", name, "-I", INCLUDE]
        subprocess.run(
            [sys.executable, "-m", "attndsl", *GENERATE, "--out", name], check=True, capture_output=True
        )
        generated = next(Path(name).rglob("op_kernel/*.cpp"))
        for label, source in (("by hand", SOURCE), ("generated", generated)):
            for suffix, flags in ((", cold", cold), ("", list(made.include_flags))):
                taken = seconds(lambda s=source, f=flags: compile_and_link(s, f), 2)  # type: ignore[misc]
                found[f"compile {label}{suffix}"] = min(taken)
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
    wall = []
    for _ in range(runs):
        for name, knobs in (("checked", Knobs()), ("unchecked", NO_CHECKS)):
            started = time.perf_counter()
            times[name] += seconds(lambda k=knobs: execute(kernel, given, k), 1)  # type: ignore[misc]
            wall += [time.perf_counter() - started] if name == "checked" else []
    figures |= {name: statistics.median(found) for name, found in times.items()}
    figures["checked, wall"] = min(wall)
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
            print(f"{name:26} {value:10.4g}{limit}")
    return int(any(figures[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
