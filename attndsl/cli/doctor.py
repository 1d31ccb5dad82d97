"""What this installation has, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from attndsl import __version__
from attndsl.base.disk_cache import CacheNotWritable, cache_dir, entries
from attndsl.base.package_files import specs_dir, templates_dir
from attndsl.emulator.errors import WrongCompiler
from attndsl.emulator.toolchain import find_compiler

PACKAGES = ("click", "jinja2", "ml-dtypes", "networkx", "numpy", "platformdirs", "rich", "sympy")

_KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void probe(GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<int32_t> result;
    result.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t *>(out));
    result.SetValue(0, 42);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(result);
}
"""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; ``advice`` says how to get what is missing."""

    name: str
    ok: bool
    found: str
    advice: str = ""

    def line(self) -> str:
        """The check on one line."""
        advice = f"  -> {self.advice}" if not self.ok else ""
        return f"{'ok     ' if self.ok else 'MISSING'} {self.name:<12} {self.found}{advice}"

    def to_json(self) -> dict[str, object]:
        """The check as plain data."""
        return asdict(self)


def examine() -> Iterator[Check]:
    """Every check, in the order in which the product needs them, as each is done."""
    checks: tuple[Callable[[], Check], ...] = (_python, _packages, _resources, _compiler, _cache, _probe)
    yield from (check() for check in checks)


def _python() -> Check:
    return Check(
        "attndsl", True, f"{__version__}, Python {platform.python_version()} on {platform.platform()}"
    )


def _packages() -> Check:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    advice = f"pip install {' '.join(missing)}" if missing else ""
    return Check("packages", not missing, ", ".join(found), advice)


def _resources() -> Check:
    places = f"specs {specs_dir()}, templates {templates_dir()}"
    return Check("resources", True, places)


def _compiler() -> Check:
    try:
        compiler = find_compiler()
    except WrongCompiler as error:
        return Check("compiler", False, str(error), "unset CXX, or mend it")
    if compiler is None:
        advice = "apt-get install g++, or set CXX, or pip install 'attndsl[cxx]'"
        return Check("compiler", False, "no C++17 compiler ($CXX, g++, clang++)", advice)
    stated = ", from CXX" if os.environ.get("CXX", "").strip() else ""
    return Check("compiler", True, f"{compiler.path}: {compiler.version}{stated}")


def _cache() -> Check:
    try:
        folder = cache_dir()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (CacheNotWritable, OSError) as error:
        return Check("cache", False, str(error), "make it writable")
    count = sum(1 for _ in entries(folder))
    return Check("cache", True, f"{folder} ({count} entries{_override()})")


def _override() -> str:
    return ", from ATTNDSL_CACHE_DIR" if "ATTNDSL_CACHE_DIR" in os.environ else ""


def _probe() -> Check:
    """A one-line kernel, compiled and run."""
    import numpy as np

    from attndsl.emulator import Argument, EmulatorError, build

    out = np.zeros(8, np.int32)
    try:
        report = build(_KERNEL, entry="probe").run(1, [Argument("out", out)])
    except (EmulatorError, CacheNotWritable, OSError) as error:
        return Check("emulator", False, " ".join(str(error).split("\n")[:2]), "mend the lines above first")
    if not report.ok:
        return Check("emulator", False, str(report.findings[0]), "this is a defect of attndsl: report it")
    right = out[0] == 42
    found = "compiled and ran a probe kernel" if right else f"the probe gave {out[0]} for 42"
    return Check("emulator", bool(right), found, "" if right else "this is a defect of attndsl: report it")
