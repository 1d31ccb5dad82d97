"""The emulator backend: compiles and runs the generated kernel; the generated host code does its tiling."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl import emulator
from attndsl.base.disk_cache import content_key, find_entry, make_entry, stored_or_made
from attndsl.base.errors import InternalError
from attndsl.base.package_files import USERS_OF_KERNELS, sources_key
from attndsl.codegen.host.problem_rows import problem_values
from attndsl.codegen.host.tiling_text import HostText, host_text
from attndsl.codegen.kernel_set.entry import is_unwrapped
from attndsl.codegen.names.arguments import Argument, Names, names_of
from attndsl.codegen.samples.device_files import device_files
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import Launch, compiled_for, prepare
from attndsl.compiler.stored_programs import entry_name
from attndsl.emulator.toolchain import require_compiler, run_compiler
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.backends import Backend

Array = npt.NDArray[Any]
_UNCONCERNED = USERS_OF_KERNELS | {"reference", "tile_interpreter", "verify"}
"""Packages that decide nothing about emitted files."""
_NAME = "folder"
_BATCH_MODE = 1
"""The schedule mode in which all blocks start together; ``kBatchMode`` of the emitted plan."""
_CTYPES = {
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
}


class PlanDiffers(InternalError):
    """The generated host code computes other tiling data than the compiled program."""


def run(call: Call, *, cores: int | None = None) -> tuple[Array, ...]:
    """The outputs of a call, computed by the generated kernel on ``cores`` blocks at most, None: all.

    Raises:
        FindingsError: the emulator's checks found a defect in the kernel.
        EmulatorError: the kernel does not compile, crashes or does not end.
        CompilerMissing: there is no C++ compiler.
    """
    launch = prepare(call, cores)
    execute(launch).raise_for_findings()
    return launch.outputs()


def run_checked(call: Call) -> tuple[tuple[Array, ...], tuple[str, ...]]:
    """The outputs of a call, and what the emulator's checks found in the kernel: three, and how many more.

    Raises:
        As :func:`run`, but for findings.
    """
    launch = prepare(call)
    report = execute(launch)
    return launch.outputs(), report.first_findings()


BACKEND = Backend(run, run_checked=run_checked)


def execute(
    launch: Launch,
    knobs: emulator.Knobs | None = None,
    *,
    trace: Path | None = None,
    trace_block: int | None = None,
    folder: Path | None = None,
    costs: str | None = None,
    headers: emulator.VendorHeaders | None = None,
    timeout: float = emulator.USUAL_TIMEOUT,
) -> emulator.Report:
    """Compile and run the kernel of a launch; the launch's arrays receive the results.

    ``trace``: a file for the predicted timeline, of one block alone with ``trace_block``. ``folder``: where
    the kernel's project is, if not where :func:`written` puts it. ``costs``: lines of costs other than the
    device's own. ``headers``: AscendC's own that the kernel is compiled against, in place of ours.
    ``timeout``: seconds of processor time that it may take.
    """
    folder, names = folder or written(launch.compiled), names_of(launch.compiled.operator)
    kernel = _kernel_in(folder, names.kernel, headers)
    plan = plan_of(launch, folder)
    if not plan.is_planned:
        raise PlanDiffers(f"{names.op}_plan.h: it has no launch for the call")
    if differing := plan.differing(launch):
        raise PlanDiffers(f"{names.op}_plan.h: {'; '.join(differing[:3])}")
    arguments = arguments_of(launch, plan.tiling)
    return kernel.run(
        launch.blocks,
        arguments,
        knobs=knobs or emulator.Knobs(),
        timeout=timeout,
        tiling_key=plan.key,
        trace=trace,
        trace_block=trace_block,
        costs=costs,
        device=launch.compiled.program.device,
        batch_mode=plan.batch_mode,
    )


def make_ready(launch: Launch) -> None:
    """Compile what :func:`execute` runs, so that several threads may run it without each compiling it."""
    folder = written(launch.compiled)
    _kernel_in(folder, names_of(launch.compiled.operator).kernel, None)
    _host_library(folder, _host_text(launch.compiled))


@lru_cache(maxsize=256)
def _kernel_in(folder: Path, name: str, headers: emulator.VendorHeaders | None) -> emulator.Kernel:
    """The compiled kernel of a project's folder."""
    source = folder / "op_kernel" / f"{name}.cpp"
    return emulator.build(source, entry=name, headers=headers, packaged=True)


def arguments_of(
    launch: Launch, tiling: Array, workspace_bytes: int | None = None
) -> list[emulator.Argument]:
    """The arguments of the kernel function: all tensors of the contract, results, workspace, tiling data.

    ``workspace_bytes``: of the workspace; where that is not the launch's, the launch's own is left alone.
    """
    names = names_of(launch.compiled.operator)
    found = [_argument(launch, item) for item in names.tensors]
    for name, spelled in names.outputs.items():
        found.append(emulator.Argument(spelled, launch.arguments[name], output=True))
    # What is updated in place is an output of the operator too, at the address of the input.
    found += [emulator.Argument(f"{item.name}Ref", None) for item in names.updated]
    own = workspace_bytes in (None, launch.workspace_bytes)
    workspace = launch.workspace if own else np.zeros(max(workspace_bytes or 0, 1), np.uint8)
    found.append(emulator.Argument("workspace", workspace, scratch=True))
    found.append(emulator.Argument("tiling", tiling))
    return found


def _argument(launch: Launch, item: Argument) -> emulator.Argument:
    array = launch.arguments.get(item.spec.name)
    if is_unwrapped(item) and isinstance(array, np.ndarray):
        return emulator.Argument(item.name, [array])
    return emulator.Argument(item.name, array)


def written(compiled: Compiled) -> Path:
    """The folder, in the cache, that holds the project of a single specialization.

    Which one it is, is kept in the cache too, so that its files need not be made to be named.
    """
    program = entry_name(compiled.operator, compiled.specialization)
    # somebody may have made another program of the specialization
    if program is None or compiled_for(compiled.operator, compiled.specialization) is not compiled:
        return stored(device_files([compiled]))
    note = f"folders/{content_key(sources_key(_UNCONCERNED), program)}"
    return stored_or_made(note, lambda: stored(device_files([compiled])), _noted_folder, _write_name)


def _noted_folder(note: Path) -> Path | None:
    """The folder that a note names; None where another process has taken either away."""
    try:
        return find_entry(f"generated/{(note / _NAME).read_text()}")
    except OSError:
        return None


def _write_name(note: Path, folder: Path) -> None:
    (note / _NAME).write_text(folder.name)


def stored(files: Mapping[str, str]) -> Path:
    """The folder, in the cache, that holds these files and no others."""
    key = content_key(*(part for item in files.items() for part in item))

    def write(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    return make_entry(f"generated/{key}", write)


# ------------------------------------------------------------------------------------------------
# The host's plan


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the host decides of a launch.

    Attributes:
        is_planned: whether it has a kernel that takes the call.
        key: of the kernel.
        schedule_mode: how blocks are launched.
        tiling: the tiling data as bytes.
        fields: name and C++ type of each field of the tiling data, in order.
    """

    is_planned: bool
    key: int
    schedule_mode: int
    tiling: Array
    fields: tuple[tuple[str, str], ...]

    @property
    def batch_mode(self) -> bool:
        """Whether all blocks start together."""
        return self.schedule_mode == _BATCH_MODE

    def differing(self, launch: Launch) -> tuple[str, ...]:
        """Where tiling data are not what the compiled program computes: a text for each field of the program
        that is missing or another. Fields that the program does not have are not compared."""
        struct = _struct(self.fields)
        if ctypes.sizeof(struct) != self.tiling.size:
            return (f"the tiling data have {self.tiling.size} bytes, their fields {ctypes.sizeof(struct)}",)
        told, found = struct.from_buffer_copy(self.tiling.tobytes()), []
        for name, wanted in launch.tiling.items():
            actual = getattr(told, name, None)
            if actual != (ctypes.c_float(wanted).value if isinstance(actual, float) else wanted):
                found.append(f"tiling field {name} is {actual}, and {wanted} in the compiled program")
        return tuple(found)


def plan_of(launch: Launch, folder: Path) -> Plan:
    """The plan of a launch, as the generated C++ function makes it."""
    compiled = launch.compiled
    host = _host_text(compiled)
    problem_type = _struct(tuple((row.name, row.ctype) for row in host.problem))
    problem = problem_type(**problem_values(compiled, launch.host))
    fields = tuple((row.name, row.ctype) for row in host.fields)
    tiling = _struct(fields)()
    key, mode = ctypes.c_uint64(), ctypes.c_uint32()
    library = _host_library(folder, host)
    library.attndsl_plan.restype = ctypes.c_bool
    is_planned = library.attndsl_plan(*map(ctypes.byref, (problem, tiling, key, mode)))
    data = np.frombuffer(bytes(tiling), np.uint8).copy()
    return Plan(is_planned=is_planned, key=key.value, schedule_mode=mode.value, tiling=data, fields=fields)


@lru_cache(maxsize=64)
def _host_text(compiled: Compiled) -> HostText:
    return host_text([compiled])


@lru_cache(maxsize=256)
def _struct(members: tuple[tuple[str, str], ...]) -> type[ctypes.Structure]:
    fields = [(name, _CTYPES[ctype]) for name, ctype in members]
    return type("Struct", (ctypes.Structure,), {"_fields_": fields})


@lru_cache(maxsize=256)
def _load(library: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(library))


_CALL = """#include "op_host/{names.op}_plan.h"
using namespace {names.host};
extern "C" bool attndsl_plan(const Problem *problem, {names.tiling} *tiling, uint64_t *key, uint32_t *mode)
{{
    const Plan plan = PlanLaunch(*problem);
    *tiling = plan.tiling;
    *key = plan.key;
    *mode = plan.scheduleMode;
    return plan.status == PlanStatus::kPlanned;
}}
"""


def _host_library(folder: Path, host: HostText) -> ctypes.CDLL:
    names: Names = host.names
    source = folder / f"{names.op}_plan_call.cpp"
    if not source.is_file():
        source.write_text(_CALL.format(names=names))
    return host_library(folder, source.stem, f"{names.op}_plan.h")


def host_library(folder: Path, name: str, what: str) -> ctypes.CDLL:
    """The library made of ``folder/NAME.cpp``, compiled once; ``what``: what messages call its source.

    Raises:
        CompileFailed: with the compiler's messages.
    """
    library = folder / f"{name}.so"
    if not library.is_file():
        made = folder / f"{name}.{np.random.default_rng().integers(1 << 40)}.so"
        arguments = ["-std=c++17", "-O1", "-shared", "-fPIC", str(folder / f"{name}.cpp"), "-o", str(made)]
        run_compiler(require_compiler(), arguments, what)
        made.replace(library)
    return _load(library)
