"""A project's test for devices, with the emulator in the place of one: its own cases, host code, kernels."""

from __future__ import annotations

import ctypes
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from attndsl import emulator
from attndsl.codegen.names.arguments import names_of
from attndsl.compiler.prepare_launch import Launch, prepare
from attndsl.execute.execute import arguments_of
from attndsl.spec.operator.operator import Operator
from tests.support.compile_once import require_compiled

from .host_calls import Blob, Blobs, glue, reads_of

_PLAN = """
#include "{op}_launch.h"
extern "C" int64_t plan(
    const Blob *blobs, int64_t cores, int64_t *numbers, uint8_t *data, char *out, int64_t room)
{{
    {host}::Call call;
{reads}
    {host}::Sizes sizes;
    {host}::Plan plan;
    std::vector<std::string> warnings;
    const attndsl::Status status = {host}::PlanCall(
        call, sizes, {host}::DeviceShare{{cores, 192 << 20, true}}, plan, warnings);
    std::strncpy(out, status.message.c_str(), room - 1);
    numbers[0] = static_cast<int64_t>(plan.key);
    numbers[1] = plan.tiling.blocks;
    std::memcpy(data, &plan.tiling, sizeof(plan.tiling));
    return status.Ok() ? static_cast<int64_t>(sizeof(plan.tiling)) : -1;
}}
"""


def device_test(folder: Path) -> Any:
    """The module ``test/test_on_device.py`` of a project."""
    made = importlib.util.spec_from_file_location("test_on_device", folder / "test/test_on_device.py")
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


class Emulated:
    """What ``test_on_device.py`` calls a device; compiles in ``work``, and leaves the project as it is."""

    def __init__(self, operator: Operator, folder: Path, work: Path) -> None:
        self._operator, self._names = operator, names_of(operator)
        names = self._names
        source, made = work / "glue.cpp", work / "glue.so"
        plan = _PLAN.format(op=names.op, host=names.host, reads=reads_of(names))
        source.write_text(glue([operator]) + plan)
        flags = ["-std=c++17", "-O0", "-shared", "-fPIC", "-I", str(folder / "op_host")]
        require_compiled([*flags, source], made)
        self._library = ctypes.CDLL(str(made))
        self._library.plan.restype = ctypes.c_int64
        self._kernel = emulator.build(folder / f"op_kernel/{names.kernel}.cpp", entry=names.kernel)
        self._module = device_test(folder)

    def given(self, recipe: Any) -> Any:
        """The tensor of a recipe."""
        own = ml_dtypes.bfloat16 if recipe["dtype"] == "bfloat16" else recipe["dtype"]
        return self._module.tensor(recipe).astype(own)

    def results(self, found: Any) -> Any:
        """As the comparison wants them."""
        return [each.astype(np.float32) if each.dtype.kind not in "biu" else each for each in found]

    def call(self, **arguments: Any) -> Any:
        """Checked and planned by the project's host code, run by its kernel function, without findings."""
        spelled = {item.name: item.spec.name for item in self._names.arguments}
        call = {spelled[name]: value for name, value in arguments.items()}
        blobs = Blobs(self._operator, call)
        numbers, data, said = (ctypes.c_int64 * 2)(), (ctypes.c_char * 16384)(), (ctypes.c_char * 4096)()
        planned = ctypes.cast(blobs.array, ctypes.POINTER(Blob)), ctypes.c_int64(20), numbers, data, said
        size = self._library.plan(*planned, ctypes.c_int64(len(said)))
        if size < 0:
            raise RuntimeError(said.value.decode())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            launch = prepare(self._operator.bind(**call), 20)
        tiling = np.frombuffer(data.raw[:size], np.uint8).copy()
        passed = [self._whole(launch, call, each) for each in arguments_of(launch, tiling)]
        self._kernel.run(numbers[1], passed, tiling_key=numbers[0]).raise_for_findings()
        return launch.outputs()

    def _whole(self, launch: Launch, call: dict[str, Any], given: emulator.Argument) -> emulator.Argument:
        """Tensors that may be larger than needed as they are: the project's host code knows their pitches."""
        spec = next((each for each in launch.call.operator.tensors if each.name == given.name), None)
        if spec is None or not spec.at_least or given.array is None:
            return given
        return emulator.Argument(given.name, call[spec.name].view(np.uint8))
