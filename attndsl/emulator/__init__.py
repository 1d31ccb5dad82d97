"""The emulator: compiles an AscendC kernel unedited with an ordinary C++17 compiler, runs and checks it."""

from attndsl.emulator.errors import (
    CompileFailed,
    CompilerMissing,
    EmulatorError,
    FindingsError,
    KernelCrashed,
    KernelTimeout,
    LaunchError,
)
from attndsl.emulator.global_memory import Argument
from attndsl.emulator.kernel import KINDS, Kernel, build, build_all
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.report import Finding, Report
from attndsl.emulator.toolchain import Compiler, find_compiler

__all__ = [
    "KINDS",
    "Argument",
    "CompileFailed",
    "Compiler",
    "CompilerMissing",
    "EmulatorError",
    "Finding",
    "FindingsError",
    "Kernel",
    "KernelCrashed",
    "KernelTimeout",
    "Knobs",
    "LaunchError",
    "Report",
    "build",
    "build_all",
    "find_compiler",
]
