"""The emulator backend: compiles and runs the generated kernel; the generated host code does its tiling."""

from __future__ import annotations

import ctypes
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl import emulator
from attndsl.codegen.host import HostText, host_text
from attndsl.codegen.kernel import kernel_name
from attndsl.codegen.render import kernel_files
from attndsl.emulator.toolchain import cache_dir, publish, require_compiler, run_compiler
from attndsl.hardware import ATLAS_A2
from attndsl.schedule.compile import Compiled
from attndsl.schedule.launch import Launch, prepare
from attndsl.spec.call import Call

Array = npt.NDArray[Any]
_CTYPES = {"int64_t": ctypes.c_int64, "float": ctypes.c_float}


def run(call: Call, *, cores: int = ATLAS_A2.aic) -> tuple[Array, ...]:
    """The outputs of a call, computed by the generated kernel on ``cores`` blocks at most.

    Raises:
        FindingsError: the emulator's checks found a defect in the kernel.
        EmulatorError: the kernel does not compile, crashes or does not end.
        CompilerMissing: there is no C++ compiler.
    """
    launch = prepare(call, cores)
    execute(launch).raise_for_findings()
    return launch.outputs()


def execute(launch: Launch, knobs: emulator.Knobs | None = None) -> emulator.Report:
    """Compile and run the kernel of a launch; the launch's arrays receive the results."""
    folder = written(launch.compiled)
    name = kernel_name(launch.compiled)
    kernel = _kernel(folder / f"{name}.cpp", name)
    return kernel.run(launch.blocks, _arguments(launch, folder), knobs=knobs or emulator.Knobs())


@lru_cache(maxsize=256)
def _kernel(source: Path, entry: str) -> emulator.Kernel:
    return emulator.build(source, entry=entry, include_dirs=[source.parent])


def _arguments(launch: Launch, folder: Path) -> list[emulator.Argument]:
    found = []
    for tensor in launch.compiled.program.parameters:
        array = launch.arguments[tensor.name]
        found.append(emulator.Argument(tensor.name, array, output=tensor.role == "output"))
    workspace = np.zeros(launch.workspace_bytes, np.uint8)
    found.append(emulator.Argument("workspace", workspace, scratch=True))
    found.append(emulator.Argument("tiling", tiling_bytes(launch, folder)))
    return found


def written(compiled: Compiled) -> Path:
    """The folder, in the cache, that holds the generated files of a specialisation."""
    files = kernel_files(compiled)
    key = hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in files.items()).encode()).hexdigest()
    folder = cache_dir() / "generated" / key[:24]
    if not folder.is_dir():
        made = folder.with_name(f"{folder.name}.{np.random.default_rng().integers(1 << 40)}")
        made.mkdir(parents=True)
        for name, text in files.items():
            (made / name).write_text(text)
        publish(made, folder)
    return folder


# ------------------------------------------------------------------------------------------------
# The host's tiling function


def tiling_bytes(launch: Launch, folder: Path) -> Array:
    """The tiling struct of a launch, as the generated C++ function fills it."""
    host = host_text(launch.compiled)
    problem_type = _struct(tuple((row.name, row.ctype) for row in host.problem))
    tiling_type = _struct(tuple((row.name, row.ctype) for row in host.fields))
    problem = problem_type(**{row.name: launch.host[row.name] for row in host.problem})
    tiling = tiling_type()
    _host_library(folder, host).attndsl_compute_tiling(ctypes.byref(problem), ctypes.byref(tiling))
    return np.frombuffer(bytes(tiling), np.uint8).copy()


@lru_cache(maxsize=256)
def _struct(members: tuple[tuple[str, str], ...]) -> type[ctypes.Structure]:
    fields = [(name, _CTYPES[ctype]) for name, ctype in members]
    return type("Struct", (ctypes.Structure,), {"_fields_": fields})


@lru_cache(maxsize=256)
def _load(library: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(library))


def _host_library(folder: Path, host: HostText) -> ctypes.CDLL:
    library = folder / f"{host.kernel}_host.so"
    if not library.is_file():
        source = folder / f"{host.kernel}_host_call.cpp"
        source.write_text(
            f'#include "{host.kernel}_host.h"\n'
            f'extern "C" void attndsl_compute_tiling(const {host.problem_struct} *problem, '
            f"{host.tiling_struct} *tiling)\n{{\n    *tiling = ComputeTiling(*problem);\n}}\n"
        )
        made = folder / f"{host.kernel}_host.{np.random.default_rng().integers(1 << 40)}.so"
        arguments = ["-std=c++17", "-O1", "-shared", "-fPIC", str(source), "-o", str(made)]
        run_compiler(require_compiler(), arguments, f"{host.kernel}_host.h")
        made.replace(library)
    return _load(library)
