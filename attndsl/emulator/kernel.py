"""Compile an AscendC kernel file, unedited, and run it on the emulator."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import make_entry
from attndsl.base.provenance import note
from attndsl.emulator.calling_lines import tell_lines
from attndsl.emulator.errors import CompileFailed, KernelCrashed, KernelTimeout, LaunchError
from attndsl.emulator.global_memory import Argument, GlobalMemory, folder_for
from attndsl.emulator.halves import Half, compile_half, halves_of
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.launch_syntax import kernels
from attndsl.emulator.process import run_process
from attndsl.emulator.program_sources import read_unit
from attndsl.emulator.report import Report, report_of
from attndsl.emulator.toolchain import (
    PRELUDE,
    Compiler,
    Runtime,
    digest,
    kernel_flags,
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

_MEMORY_LIMIT = 12 << 30
_UNRESOLVED = ("undefined reference", "undefined symbol")
"""What linkers say of a name that is used and defined nowhere."""
MOST_STATEMENTS = 1 << 16
"""Statements that a run can tell apart, `kMostStatements` of `attnemu/harness.h`."""
USUAL_TIMEOUT = 120.0
"""Seconds of processor time that a run may take, if nothing else is said."""
PATIENCE = 10.0
"""How many times its processor time a run may take on a busy machine."""

KINDS = ("AIV_ONLY", "AIC_ONLY", "MIX_AIV_1_0", "MIX_AIC_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2")
"""Kernel types in the order of KernelMetaType."""


def _text_and_place(source: str | Path) -> tuple[str, Path | None]:
    if isinstance(source, str) and "\n" in source:
        return source, None
    path = Path(source).resolve()
    if not path.is_file():
        raise LaunchError(f"no such kernel file: {source}")
    return path.read_text(), path


def _headers_near(path: Path | None, include_dirs: Sequence[str | Path]) -> list[Path]:
    # every header a kernel can include from its own folders belongs to the cache key
    folders = ([path.parent] if path else []) + [Path(folder) for folder in include_dirs]
    return sorted(
        {file for folder in folders for file in folder.rglob("*.h")}
        | {f for folder in folders for f in folder.rglob("*.hpp")}
    )


def build_all(
    source: str | Path,
    *,
    entries: Sequence[str],
    include_dirs: Sequence[str | Path] = (),
    extra_sources: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    headers: VendorHeaders | None = None,
    packaged: bool = False,
) -> dict[str, Kernel]:
    """As `build`, for several kernels of one source file compiled together."""
    for entry in entries:
        if not re.fullmatch(r"[A-Za-z_]\w*", entry):
            raise LaunchError(f"entry {entry!r} is no C++ function name")
    compiler = require_compiler()
    made = runtime(compiler)
    text, path = _text_and_place(source)
    extras = [Path(extra).resolve() for extra in extra_sources]
    near = _headers_near(path, include_dirs)
    key = digest(
        made.key, preparation(), text, str(path), *entries, *defines, *map(str, include_dirs),
        headers.key if headers else "", *(headers.flags if headers else ()), str(packaged),
        *(part for file in [*extras, *near] for part in (str(file), file.read_bytes())),
    )  # fmt: skip

    def compile_into(folder: Path) -> None:
        _compile(
            compiler, made, text, path, entries, extras, folder, include_dirs, defines, headers, packaged
        )

    target = make_entry(f"kernel-{key}", compile_into)
    source_dir = str(path.parent) if path else ""
    return {entry: Kernel(entry, target / "kernel", source_dir, headers) for entry in entries}


def _halves(
    text: str,
    path: Path | None,
    include_dirs: Sequence[str | Path],
    defines: Sequence[str],
    headers: VendorHeaders | None,
) -> list[Half]:
    texts = (
        [text]
        if path is None
        else list(read_unit(path, [Path(d) for d in include_dirs], defines).texts.values())
    )
    said = [KINDS[kernel.kind] for part in texts for kernel in kernels(part) if kernel.kind is not None]
    return halves_of(texts, defines, said or ["MIX_AIC_1_2"], always=headers is not None)


def _compile(
    compiler: Compiler,
    made: Runtime,
    text: str,
    path: Path | None,
    entries: Sequence[str],
    extras: Sequence[Path],
    folder: Path,
    include_dirs: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    headers: VendorHeaders | None = None,
    packaged: bool = False,
) -> None:
    flags = [*(headers.flags if headers else made.include_flags)]
    flags += [part for include in include_dirs for part in ("-I", str(Path(include).resolve()))]
    flags += [f"-D{define}" for define in defines]
    halves = _halves(text, path, include_dirs, defines, headers)
    if path is None:
        # "kernel.cpp" is how findings name a source given as text
        (folder / "kernel.cpp").write_text(text)
    include = str(path) if path else "kernel.cpp"
    lines = [
        f'#include "{"kernel_operator.h" if headers else PRELUDE}"',
        f'#include "{include}"',
        *(f"ATTNEMU_ENTRY({entry})" for entry in entries),
        *(f"ATTNEMU_CLEARS_WORKSPACE({entry})" for entry in entries if packaged),
    ]
    (folder / "main.cpp").write_text("\n".join(lines) + "\n")
    what = path.name if path else "the kernel"
    jobs: list[tuple[list[str | Path], str]] = [([*flags, "-I", ".", "main.cpp"], what)]
    jobs += [([*flags, extra], extra.name) for extra in extras]

    def link(parts: Sequence[str]) -> None:
        whole: list[str | Path] = [*parts, *made.objects, *link_flags(compiler), "-o", "kernel"]
        run_compiler(compiler, whole, what, cwd=folder)

    def compile_whole(optimization: Sequence[str]) -> None:
        chosen = [flag for half in halves for flag in half.defines]
        parts = [f"part{number}.o" for number in range(len(jobs))]
        for part, (arguments, name) in zip(parts, jobs, strict=True):
            command: list[str | Path] = [*optimization, *arguments, *chosen, "-c", "-o", part]
            run_compiler(compiler, command, name, cwd=folder)
        link(parts)

    if len(halves) == 2 or headers is not None:
        optimized = [([*program_flags(compiler), *arguments], name) for arguments, name in jobs]
        for half in halves:
            compile_half(compiler, half, optimized, what, folder)
        link([])
        return
    try:
        compile_whole(kernel_flags(compiler))
    except CompileFailed as failure:
        if not any(words in failure.log for words in _UNRESOLVED):
            raise
        compile_whole(program_flags(compiler))  # names that an optimizer takes away, as the official one does


def build(
    source: str | Path,
    *,
    entry: str,
    include_dirs: Sequence[str | Path] = (),
    extra_sources: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    headers: VendorHeaders | None = None,
    packaged: bool = False,
) -> Kernel:
    """Compile a kernel: `source` is a file, or the text itself when it holds a newline.

    `headers`: AscendC's own, in place of ours. `packaged`: a kernel of both kinds of core, as an operator
    package builds it: in text that calls ``matmul::clearWorkspace`` ahead of it.

    Compiled things are cached by the bytes of every source and header, the compiler and the flags.
    Raises `CompilerMissing`, `CompileFailed`, `LaunchError` (no such file).
    """
    kernels = build_all(
        source,
        entries=[entry],
        include_dirs=include_dirs,
        extra_sources=extra_sources,
        defines=defines,
        headers=headers,
        packaged=packaged,
    )
    return kernels[entry]


def build_in(folder: Path, source: Path, *, entry: str) -> Kernel:
    """As `build` of a file, compiled into ``folder`` and not into the cache: for what runs once."""
    compiler = require_compiler()
    _compile(compiler, runtime(compiler), source.read_text(), source, [entry], (), folder)
    return Kernel(entry, folder / "kernel", str(source.parent))


def _check_launch(blocks: int, kind: str | None) -> None:
    if blocks < 1:
        raise LaunchError(f"blocks is {blocks}; at least 1 is needed")
    if kind is not None and kind not in KINDS:
        raise LaunchError(f"kind {kind!r} is none of {', '.join(KINDS)}")


def _write_request(path: Path, asked: Mapping[str, object], memory: GlobalMemory, knobs: Knobs) -> None:
    """What the kernel's process reads: a line for each thing that is asked, the arrays, and the knobs."""
    lines = [f"{name} {value}" for name, value in asked.items() if value is not None]
    lines += memory.request()
    lines += [f"knob {each.name} {int(getattr(knobs, each.name))}" for each in dataclasses.fields(Knobs)]
    path.write_text("\n".join(lines) + "\n")


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel."""

    entry: str
    executable: Path
    source_dir: str
    headers: VendorHeaders | None = None
    """AscendC's own that it is compiled against, in place of ours."""

    def run(
        self,
        blocks: int,
        args: Sequence[Argument],
        *,
        knobs: Knobs | None = None,
        timeout: float = USUAL_TIMEOUT,
        kind: str | None = None,
        tiling_key: int = 0,
        trace: str | Path | None = None,
        trace_block: int | None = None,
        costs: str | None = None,
        device: Device | None = None,
        batch_mode: bool | None = None,
    ) -> Report:
        """Run the kernel on `blocks` blocks with `args` in the order of its parameters.

        With the knob `timing` no array is updated.

        `kind` overrides the kernel's own KERNEL_TASK_TYPE; one of `KINDS`. The arrays are updated in
        place. `trace`: a file for the predicted timeline, to be opened in Perfetto, of one
        block alone if `trace_block` is given. `costs`: lines of
        `attndsl.target.costs.cost_lines` other than the device's own. `device`: the one whose time is
        predicted, the default one if none is given. `timeout`: seconds of processor
        time; on a busy machine the run takes longer, up to ten times as long. `batch_mode`: whether the
        host asks for all blocks to start together; None leaves it open, and nothing is checked of it.
        Raises `KernelCrashed`, `KernelTimeout`, `LaunchError`.
        """
        _check_launch(blocks, kind)
        device, knobs = device or device_named(DEFAULT_DEVICE), knobs or Knobs()
        place = folder_for(args, timing=knobs.timing)
        with tempfile.TemporaryDirectory(prefix="attndsl-", dir=place) as name:
            folder = Path(name)
            memory = GlobalMemory(folder / "data", args, knobs.poison, timing=knobs.timing)
            limit = _MEMORY_LIMIT + memory.bytes
            (folder / "costs").write_text(cost_lines(device.costs, device.rates) if costs is None else costs)
            asked = {
                "blocks": blocks,
                "entry": self.entry,
                "report": folder / "report.json",
                "kind": KINDS.index(kind) if kind else -1,
                "key": tiling_key,
                "limit": limit,
                "batch_mode": None if batch_mode is None else int(batch_mode),
                "costs": folder / "costs",
                "trace": None if trace is None else folder / "trace",
                "trace_block": trace_block,
                "source_dir": f"{self.source_dir}/" if self.source_dir else None,
            }
            _write_request(folder / "request", asked, memory, knobs)
            self._execute(folder, timeout, limit)
            data = self._told(folder / "report.json")
            if not knobs.timing:
                memory.copy_back(data["arrays"])
            if trace is not None:
                write_trace(folder / "trace", Path(trace), device.clock, stopped=data["stopped"])
        return report_of(data, device)

    def _told(self, report: Path) -> dict[str, Any]:
        """What the kernel's process reports, findings with the lines of the caller's files."""
        note("emulator")
        data: dict[str, Any] = json.loads(report.read_text())
        tell_lines(data["findings"], self.executable.parent, self.headers, self.source_dir)
        return data

    def _execute(self, folder: Path, timeout: float, limit: int) -> None:
        ended = run_process(
            [str(self.executable), str(folder / "request")], timeout=timeout, patience=PATIENCE
        )
        where = f" ({ended.last_words})" if ended.last_words else ""
        if ended.stopped:
            raise KernelTimeout(f"{self.entry} {ended.stopped}{where}")
        if ended.refusal:
            raise LaunchError(f"{self.entry}: {ended.refusal}")
        death = ended.death(self.entry, limit)
        if death:
            raise KernelCrashed(death)
        if ended.exit_code:
            raise KernelCrashed(f"{self.entry} ended its process with exit code {ended.exit_code}")
