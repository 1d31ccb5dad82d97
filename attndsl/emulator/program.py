"""Compile and run an AscendC program that has its own host ``main``."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import cache_dir, make_entry
from attndsl.emulator.calling_lines import tell_lines
from attndsl.emulator.errors import CompileFailed, LaunchError
from attndsl.emulator.halves import HOST_DEFINES, Half, compile_half, halves_of
from attndsl.emulator.kernel import KINDS
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.launch_syntax import guessed_kind, kernels
from attndsl.emulator.process import Ended, run_process
from attndsl.emulator.program_sources import (
    Unit,
    defined_kernels,
    find_function_file,
    find_kernel_file,
    read_unit,
    undefined_functions,
    write_launch_headers,
    write_unit,
)
from attndsl.emulator.report import Finding
from attndsl.emulator.toolchain import (
    Compiler,
    digest,
    link_flags,
    preparation,
    program_flags,
    require_compiler,
    run_compiler,
    runtime,
)
from attndsl.emulator.trace import write_trace
from attndsl.emulator.vendor_headers import VendorHeaders
from attndsl.target import DEFAULT_DEVICE, Device
from attndsl.target import device as device_named
from attndsl.target.costs import cost_lines

FOREIGN = Knobs(auto_sync=True, flags_count=True, clean_at_end=True, stack_bytes=8 << 20)
"""Knobs for programs of others: what official builds have on, and what vendor samples lean on.

Their cores have the stack that a process has: compilers that keep each local apart need it for what official
kernels inline."""


@dataclass
class ProgramReport:
    """What a run of a program left."""

    exit_code: int
    """The program's own; minus the signal's number when it was killed."""
    stdout: str = ""
    """What it printed, when captured."""
    findings: list[Finding] = field(default_factory=list)
    launches: list[dict[str, Any]] = field(default_factory=list)
    device: Device = field(default_factory=lambda: device_named(DEFAULT_DEVICE))
    """The device whose time the launches' cycles are."""
    error: str | None = None
    """Why it did not end by itself: a crash, a limit."""

    @property
    def ok(self) -> bool:
        """Whether the program succeeded and no check found anything."""
        return self.exit_code == 0 and not self.findings and self.error is None

    def counters(self) -> dict[str, Any]:
        """Over all launches: instructions and busy cycles a pipe, cycles, bytes a tensor; and each launch."""
        instructions: dict[str, int] = {}
        busy: dict[str, float] = {}
        read: dict[str, int] = {}
        written: dict[str, int] = {}
        for launch in self.launches:
            for pipe, count in launch["instructions"].items():
                instructions[pipe] = instructions.get(pipe, 0) + count
            for pipe, cycles in launch["busy_cycles"].items():
                busy[pipe] = round(busy.get(pipe, 0.0) + cycles, 2)
            for name, (reads, writes) in launch["arrays"].items():
                read[name] = read.get(name, 0) + reads
                written[name] = written.get(name, 0) + writes
        total = round(sum(launch["cycles"] for launch in self.launches), 2)
        return {
            "instructions": instructions,
            "busy_cycles": busy,
            "total_cycles": total,
            "microseconds": self.device.microseconds(total),
            "gm_read_bytes": read,
            "gm_write_bytes": written,
            "launches": [{key: one[key] for key in _OF_A_LAUNCH} for one in self.launches],
        }

    def times(self) -> Iterator[str]:
        """What each launch takes, a line each: the time, and how long a core of a kind had a pipe at work."""
        for one in self.launches:
            blocks, cubes, vectors = one["cores"]
            shares = [
                f"{kind} {pipe} {self.device.microseconds(cycles / count):.1f}"
                for kind, count in (("AIC", blocks * cubes), ("AIV", blocks * vectors))
                for pipe, cycles in one["active_by_core"][kind].items()
                if count and cycles
            ]
            took = self.device.microseconds(one["cycles"])
            yield f"{one['kernel']}: {took:.1f} us on {blocks} blocks; us by pipe: {', '.join(shares)}"

    def to_json(self) -> dict[str, Any]:
        """The document of ``attndsl emulate --json``."""
        document: dict[str, Any] = {
            "exit_code": self.exit_code,
            "stdout": self.stdout,
            "findings": [vars(finding) for finding in self.findings],
            "counters": self.counters(),
        }
        return document if self.error is None else {**document, "error": self.error}


_OF_A_LAUNCH = ("kernel", "cores", "cycles", "active_by_core", "critical_path")


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    path: Path
    executable: Path
    headers: VendorHeaders | None = None
    """AscendC's own that its kernels are compiled against, in place of ours."""

    def run(
        self,
        args: Sequence[str] = (),
        *,
        knobs: Knobs | None = None,
        timeout: float = 300.0,
        memory: int = 16 << 30,
        capture: bool = True,
        trace: Path | None = None,
        copies: Path | None = None,
        device: Device | None = None,
    ) -> ProgramReport:
        """Run it in the current folder; `memory` is the most bytes of its address space.

        Without `capture` its output goes where ours goes. `trace`: a file for the predicted timeline.
        `copies`: a folder, which exists, for what it copies from the device: 000.bin, 001.bin, ...
        `device`: the one whose time is predicted, the default one if none is given.
        """
        device = device or device_named(DEFAULT_DEVICE)
        with tempfile.TemporaryDirectory(prefix="attndsl-") as name:
            folder = Path(name)
            (folder / "costs").write_text(cost_lines(device.costs, device.rates))
            environment = {
                **os.environ,
                "ATTNEMU_REPORT": str(folder / "report"),
                "ATTNEMU_KNOBS": _as_words(knobs or FOREIGN),
                "ATTNEMU_SOURCE_DIR": f"{self.path.parent}/",
                "ATTNEMU_MEMORY": str(memory),
                "ATTNEMU_COSTS": str(folder / "costs"),
                "ATTNEMU_TRACE": str(folder / "trace") if trace else "",
                "ATTNEMU_COPIES": str(copies.resolve()) if copies else "",
            }
            ended = run_process(
                [str(self.executable), *args], timeout=timeout, environment=environment, capture=capture
            )
            report = ProgramReport(ended.exit_code, ended.stdout, device=device)
            _read_report(folder / "report", report, self)
            if trace is not None:
                (folder / "trace").touch()
                write_trace(folder / "trace", trace, device.clock)
        sys.stderr.write(ended.own_words)
        report.error = _why(self.path.name, ended, memory)
        return report


def _as_words(knobs: Knobs) -> str:
    return " ".join(f"{name} {int(value)}" for name, value in vars(knobs).items())


def _why(name: str, ended: Ended, memory: int) -> str | None:
    """Why a program did not end by itself, if it did not."""
    if ended.stopped:
        where = f" ({ended.last_words})" if ended.last_words else ""
        return f"{name} {ended.stopped}{where}"
    return ended.refusal or ended.death(name, memory, "; raise --memory")


def _read_report(file: Path, report: ProgramReport, program: Program) -> None:
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    for line in lines:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a program that died while writing it
        if "finding" in entry:
            place = program.executable.parent
            tell_lines([entry["finding"]], place, program.headers, str(program.path.parent))
            report.findings.append(Finding(**entry["finding"]))
        else:
            report.launches.append(entry["launch"])


def build_program(
    path: str | Path,
    *,
    sources: Sequence[str | Path] = (),
    include_dirs: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    headers: VendorHeaders | None = None,
) -> Program:
    """Compile a program, unedited: `path` and further `sources`, with its launch syntax rewritten in copies.

    A kernel launched by ``ACLRT_LAUNCH_KERNEL``, and a function that is only declared, may stand in another
    file beside `path`. `headers`: AscendC's own that its kernels are compiled against, in place of ours.
    Cached by content.
    Raises `CompilerMissing`, `CompileFailed`, `LaunchError` (no such file, a launch that cannot be read).
    """
    files = [Path(file).resolve() for file in (path, *sources)]
    for file in files:
        if not file.is_file():
            raise LaunchError(f"no such program file: {file}")
    # build systems name folders that are only made later: compilers pass over what is not there, and so do we
    folders = [Path(folder).resolve() for folder in include_dirs if Path(folder).is_dir()]
    units = [read_unit(file, folders, defines) for file in files]
    compiler = require_compiler()
    made = runtime(compiler, programs=True)
    with tempfile.TemporaryDirectory(prefix="program-", dir=cache_dir()) as name:
        launchers = Path(name)
        units += _called_units(units, folders, defines)
        entries = write_launch_headers(units, launchers)
        if launched := _launched_units(entries, units, folders, defines):
            units += launched
            units += _called_units(units, folders, defines)
        texts = [part for unit in units for file, text in unit.texts.items() for part in (str(file), text)]
        face = (headers.key, *headers.flags) if headers else ()
        texts += [macro for unit in units for macro in (str(unit.path), *sorted(unit.given))]
        key = digest(made.key, preparation(), *texts, *defines, *map(str, folders), *face)

        def compile_into(work: Path) -> None:
            for header in launchers.iterdir():
                shutil.copy(header, work)
            shared = [*program_flags(compiler), "-I", str(work)]
            given = [part for folder in folders for part in ("-I", str(folder))]
            jobs: list[Job] = []
            for number, unit in enumerate(units):
                source, near = write_unit(unit, work, number, entries)
                quoted = [part for folder in near for part in ("-iquote", str(folder))]
                macros = [f"-D{macro}" for macro in (sorted(unit.given) if unit.has_kernels() else defines)]
                jobs.append(([*given, *macros, *quoted, source.name], unit.path.name))
            own: list[Job] = [([*shared, *made.include_flags, *rest], name) for rest, name in jobs]
            halves, theirs = _halves(units, defines, headers), None
            if headers is not None:
                theirs = [([*shared, *headers.flags, *rest], name) for rest, name in jobs]
            split = len(halves) == 2 or headers is not None
            for half in halves if split else ():
                compile_half(compiler, half, theirs or own, files[0].name, work)
            libraries: list[str | Path] = [*made.host_objects, *link_flags(compiler)]
            _compile_host(compiler, halves, split, own, theirs, libraries, work)

        target = make_entry(f"program-{key}", compile_into)
    return Program(files[0], target / "program", headers)


Job = tuple[list[str | Path], str]
"""The compiler's arguments for a source, and its name in messages."""


def _compile_host(
    compiler: Compiler,
    halves: Sequence[Half],
    split: bool,
    jobs: Sequence[Job],
    theirs: Sequence[Job] | None,
    libraries: Sequence[str | Path],
    work: Path,
) -> None:
    """The host's reading as a program, in `work`.

    It knows neither macro, unless all of the program's kernels are of one half (``split``: each half has a
    library of its own). Kernels that make no sense or
    name what is nowhere without one are then read as a half's: no core runs this reading. ``theirs``: the
    jobs with a CANN's own headers, for sources of kernels that ours do not serve.
    """
    tried: list[Sequence[str]] = [half.defines for half in halves] or [()]
    if split:
        tried.insert(0, HOST_DEFINES)
    failures: list[CompileFailed] = []
    for chosen in tried:
        parts: list[str | Path] = [f"unit{number}.o" for number in range(len(jobs))]
        try:
            for number, (arguments, name) in enumerate(jobs):
                command = [*chosen, "-c", "-o", parts[number]]
                try:
                    run_compiler(compiler, [*arguments, *command], name, cwd=work)
                except CompileFailed:
                    if theirs is None:
                        raise
                    as_half = halves[0].defines if chosen == HOST_DEFINES else ()
                    run_compiler(compiler, [*theirs[number][0], *as_half, *command], name, cwd=work)
            return run_compiler(compiler, [*parts, *libraries, "-o", "program"], jobs[0][1], cwd=work)
        except CompileFailed as failure:
            failures.append(failure)
    raise failures[0]


def _halves(units: Sequence[Unit], defines: Sequence[str], headers: VendorHeaders | None) -> list[Half]:
    texts = [unit.active(file) for unit in units for file in unit.texts]
    kinds = {kernel.kind for text in texts for kernel in kernels(text)}
    guess = guessed_kind(texts)
    names = {KINDS[guess if kind is None else kind] for kind in kinds}
    # a kernel behind a macro of the program's own is not seen, and launched as one of both kinds of core
    return halves_of(texts, defines, names or {"MIX_AIC_1_2"}, always=headers is not None)


def _launched_units(
    entries: Sequence[str], units: Sequence[Unit], folders: Sequence[Path], defines: Sequence[str]
) -> list[Unit]:
    """Units of kernels that are launched by name and defined in no given file."""
    known = {name for unit in units for name in defined_kernels(unit.texts.values())}
    near = units[0].path
    files = {find_kernel_file(name, near, folders).resolve() for name in entries if name not in known}
    return [read_unit(file, folders, defines) for file in sorted(files)]


def _called_units(units: Sequence[Unit], folders: Sequence[Path], defines: Sequence[str]) -> list[Unit]:
    """Units of functions that are declared and used in files, and defined in none of them."""
    found: list[Unit] = []
    near = units[0].path
    while True:
        names = sorted(undefined_functions([*units, *found]))
        files = {file for name in names if (file := find_function_file(name, near, folders))}
        files -= {unit.path for unit in (*units, *found)}
        if not files:
            return found
        found += [read_unit(file, folders, defines) for file in sorted(files)]
