"""asc-devkit's published samples for Atlas A2: what their pages say a device took, and what we predict.

Pages and kernels are read from a checkout (CANN Open Software License); neither is stored here.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attndsl.emulator.program import FOREIGN, Program, ProgramReport, build_program
from attndsl.target import device

PRACTICE = Path("examples/01_simd_cpp_api/05_best_practices")
DEVICE = "ascend910b1"
"""The part whose clock of 1.85 GHz the pages' cycles and times have."""
DURATIONS = ("aicore_time(μs)", "aic_time(μs)", "aiv_time(μs)")
PIPES = {
    "aic_mac_time(μs)": ("AIC", "M"),
    "aic_mte1_time(μs)": ("AIC", "MTE1"),
    "aic_mte2_time(μs)": ("AIC", "MTE2"),
    "aic_fixpipe_time(μs)": ("AIC", "FIX"),
    "aiv_vec_time(μs)": ("AIV", "V"),
    "aiv_mte2_time(μs)": ("AIV", "MTE2"),
    "aiv_mte3_time(μs)": ("AIV", "MTE3"),
}
"""Columns of a page that tell how long a core had a pipe at work."""
_TICKS, _TICKS_A_US = "打点性能", 50.0
"""The column of a page that counts ticks of 50 MHz."""
_LEAST = 5.0
"""Microseconds below which a pipe's time tells nothing."""


@dataclass(frozen=True)
class Case:
    """A kernel of a sample: how it is built, and the row of the page with its times.

    ``row``: of all rows of the page with a duration, in order, the one of this case. ``gave``: the number of
    ours that was taken from it. ``without``: what it needs that the model does not have.
    """

    family: str
    name: str
    source: Path
    defines: tuple[str, ...]
    files: Mapping[str, int]
    row: int
    gave: str = ""
    without: str = ""


_GAVE = {"to UB 1": "least of LoadUB", "to UB 3": "hbm", "to L1 2": "miss"}
_WITHOUT = {
    "to UB 4": "rows out of step with lines",
    "to L1 3": "rows out of step with lines",
    "to UB 7": "cores on the same lines",
    "to UB 8": "rows a KiB apart on all cores",
    "to L1 6": "cores on the same lines",
    "to L1 7": "rows a KiB apart on all cores",
}


def cases() -> Iterator[Case]:
    """Those whose pages tell times of Atlas A2, and which our emulator compiles."""
    add, size = PRACTICE / "00_vector_compute/add_high_performance/add.asc", 8192 * 8192 * 2
    for case in (1, 2, 3, 4, 5, 6):
        defines = (f"SCENARIO={case}", "NPU_ARCH=2201")
        files = {"input/input_x.bin": size, "input/input_y.bin": size}
        gave = "miss_write" if case <= 3 else "l2_bytes" if case == 4 else ""
        yield Case("Add", f"Add {case}", add, defines, files, case, gave)
    copy = PRACTICE / "04_memory_access/data_copy/data_copy.asc"
    files = {"input/input.bin": 12288 * 12288 * 2}
    # the page's tables: block sizes, rows out of step, L2, the same addresses; each to UB, then to L1
    for to, rows in (("UB", (0, 1, 2, 11, 18, 19, 26, 27)), ("L1", (6, 7, 15, 22, 23, 30, 31))):
        for number, row in enumerate(rows, 1):
            defines = (f"SCENARIO_NUM={number}", f"COPY_DST_{to}=1", "ARCH_2201=1")
            name = f"to {to} {number}"
            yield Case("copies", name, copy, defines, files, row, _GAVE.get(name, ""), _WITHOUT.get(name, ""))
    layout = PRACTICE / "04_memory_access/bank_conflict_nd2nz/bank_conflict_nd2nz.asc"
    for case in (1, 2):
        defines = (f"SCENARIO={case}", "NPU_ARCH=2201")
        files = {"input/input.bin": size}
        yield Case("ND2NZ", f"ND2NZ {case}", layout, defines, files, case - 1, "l2_bytes")
    product = PRACTICE / "01_matrix_compute/matmul_basic_api_high_performance/mmad.asc"
    files = {"input/x1_gm.bin": size, "input/x2_gm.bin": size}
    for case in (1, 2):
        defines = (f"SCENARIO_NUM={case}", "NPU_ARCH=2201")
        yield Case(
            "matmul", f"matmul {case}", product, defines, files, case - 1, "accumulate, LoadL0Transposed"
        )
    fused = PRACTICE / "03_fusion_compute/matmul_gelu_high_performance/mmad_gelu.asc"
    banks = PRACTICE / "04_memory_access/bank_conflict_ub/bank_conflict_ub.asc"
    files = {"input/input_x.bin": 4096 * 4, "input/input_y.bin": 4096 * 4}
    for case in range(1, 9):
        defines, gave = (
            (f"SCENARIO_NUM={case}",),
            "read_write" if case == 5 else "latency" if case == 1 else "",
        )
        yield Case("banks", f"banks {case}", banks, defines, files, case - 1, gave)
    files = {"input/x1_gm.bin": size, "input/x2_gm.bin": size}
    yield Case("fused", "matmul and Gelu 1", fused, ("SCENARIO_NUM=1", "NPU_ARCH=2201"), files, 2)


# ------------------------------------------------------------------------------------------------
# What a page tells


def measured_rows(page: str) -> list[dict[str, str]]:
    """Rows of all tables with a task's duration, by column, in the order of the page."""
    found = []
    for header, rows in _tables(page):
        timed = any(name.startswith("Task Duration") or name == _TICKS for name in header)
        if timed and "字段名" not in header:
            for row in rows:
                cells = row[len(row) - len(header) :] if len(row) > len(header) else row
                offset = len(header) - len(cells)  # a first cell that spans several rows
                found.append(dict(zip(header[offset:], cells, strict=False)))
    return found


def _tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Tables of Markdown and of HTML: names of columns, and cells by row."""
    pattern = re.compile(r"<table>(.*?)</table>|((?:^\|[^\n]*\|[ \t]*\n)+)", re.S | re.M)
    for html, markdown in pattern.findall(page):
        if html:
            rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in html.split("<tr>")[1:]]
        else:
            lines = [line.strip().strip("|").split("|") for line in markdown.strip().splitlines()]
            rows = [[cell.strip() for cell in line] for line in lines]
            rows = [row for row in rows if not all(set(cell) <= {":", "-"} for cell in row)]
        if len(rows) > 1:
            yield [name.strip() for name in rows[0]], rows[1:]


def _number(text: str) -> float | None:
    cleaned = text.replace("*", "").strip()
    return float(cleaned) if re.fullmatch(r"\d+(\.\d+)?", cleaned) else None


# ------------------------------------------------------------------------------------------------
# What we predict


@dataclass(frozen=True)
class Compared:
    """A kernel's time and its pipes', published and predicted, in microseconds."""

    case: Case
    duration: tuple[float, float]
    pipes: Mapping[str, tuple[float, float]]

    @property
    def error(self) -> float:
        """Of the duration, relatively."""
        return self.duration[1] / self.duration[0] - 1

    def pipe_errors(self) -> dict[str, float]:
        """Of each pipe at work, relatively."""
        return {pipe: predicted / published - 1 for pipe, (published, predicted) in self.pipes.items()}


def compare(checkout: Path, chosen: Sequence[Case]) -> Iterator[Compared]:
    """Runs the kernels without data and sets their times against those of the pages."""
    for case in chosen:
        source = checkout / case.source
        row = measured_rows((source.parent / "README.md").read_text())[case.row]
        report = _timed(build_program(source, defines=case.defines), case.files)
        if _TICKS in row:
            (ticks,) = re.findall(r"total cycles: (\d+)", report.stdout)
            yield Compared(case, (float(row[_TICKS]) / _TICKS_A_US, float(ticks) / _TICKS_A_US), {})
            continue
        (launch,) = report.launches
        yield _compared(case, row, launch)


def _timed(program: Program, files: Mapping[str, int]) -> ProgramReport:
    """The report of a program whose input files are zeros that take no room."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "output").mkdir()
        for name, size in files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            with (Path(folder) / name).open("wb") as file:
                file.truncate(size)
        os.chdir(folder)
        try:
            return program.run(knobs=replace(FOREIGN, timing=True), device=device(DEVICE))
        finally:
            os.chdir(before)


def _compared(case: Case, row: Mapping[str, str], launch: Mapping[str, Any]) -> Compared:
    part, (blocks, cubes, vectors) = device(DEVICE), launch["cores"]
    counts = {"AIC": blocks * cubes, "AIV": blocks * vectors}
    told = {name: number for name, text in row.items() if (number := _number(text)) is not None}
    pipes = {
        f"{kind} {pipe}": (told[name], part.microseconds(launch["active_by_core"][kind][pipe] / counts[kind]))
        for name, (kind, pipe) in PIPES.items()
        if told.get(name, 0.0) >= _LEAST and counts[kind]
    }
    known = [told[name] for name in DURATIONS if told.get(name)]
    # of a page without a kernel's time: cycles of all cores, of which all run all the time
    total = next((told[name] for name in told if name.endswith("total_cycles")), 0.0)
    cores = max(counts.values())
    duration = max(known) if known else total / cores / part.clock * 1e6
    return Compared(case, (duration, part.microseconds(launch["cycles"])), pipes)
