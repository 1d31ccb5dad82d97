"""The emulator: compiles an AscendC kernel unedited with an ordinary C++17 compiler, runs and checks it."""

from attndsl.emulator.errors import (
    CompileFailed,
    CompilerMissing,
    EmulatorError,
    FindingsError,
    KernelCrashed,
    KernelTimeout,
    LaunchError,
    NoHeaders,
)
from attndsl.emulator.global_memory import Argument
from attndsl.emulator.kernel import KINDS, USUAL_TIMEOUT, Kernel, build, build_all
from attndsl.emulator.knobs import Knobs
from attndsl.emulator.report import Finding, Report
from attndsl.emulator.toolchain import Compiler, find_compiler
from attndsl.emulator.vendor_headers import VendorHeaders

__all__ = [
    "KINDS",
    "USUAL_TIMEOUT",
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
    "NoHeaders",
    "Report",
    "VendorHeaders",
    "build",
    "build_all",
    "find_compiler",
]
