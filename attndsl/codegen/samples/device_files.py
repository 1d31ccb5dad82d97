"""The files of an operator that a launch needs: kernels, the function that picks one, tiling data, plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel.device_header import DEVICE_HEADER, SCOPE, device_constants
from attndsl.codegen.kernel.dtype_parameter import text_name
from attndsl.codegen.kernel.kernel import kernel_text, schedule_of
from attndsl.codegen.kernel.runtime_header import with_used_functions
from attndsl.codegen.kernel.schedule_header import schedule_file
from attndsl.codegen.kernel.shared_texts import SharedText, shared_texts
from attndsl.codegen.kernel_set.entry import entry_text
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.text.render import render, runtime
from attndsl.compiler.compile import Compiled
from attndsl.target import Device

_RUNTIME_HEADER = "op_kernel/attndsl_kernel.h"
_COPIED = (_RUNTIME_HEADER, "op_host/arithmetic.h")
RUNTIME = (f"op_kernel/{DEVICE_HEADER}", *_COPIED)
"""What the texts of all kernels, and all plans, rest on."""


def runtime_files(device: Device) -> dict[str, str]:
    """The files of ``RUNTIME`` for a device."""
    constants = render(
        "op_kernel/device.h.j2",
        architecture=device.architecture.name,
        scope=SCOPE,
        constants=device_constants(device),
    )
    return {f"op_kernel/{DEVICE_HEADER}": constants, **{path: runtime(path) for path in _COPIED}}


def kernel_path(compiled: Compiled) -> str:
    """The file of the text that is named after a specialization, in the project."""
    return _path(text_name(compiled))


def text_path(text: SharedText) -> str:
    """The file of a text, in the project."""
    return _path(text.name)


def schedule_path(compiled: Compiled) -> str:
    """The schedule header of the text that is named after a specialization, in the project."""
    return _schedule_path(text_name(compiled))


def _path(name: str) -> str:
    return f"op_kernel/{name}.h"


def _schedule_path(name: str) -> str:
    return f"op_kernel/{schedule_file(name)}"


def kernel_files(kernels: Sequence[Compiled]) -> dict[str, SharedText]:
    """The kernels' texts by file."""
    return {text_path(each): each for each in shared_texts(kernels).texts}


def kernel_file(text: SharedText) -> str:
    """The file of a text."""
    return render("op_kernel/kernel.h.j2", kernel=kernel_text(text.first, text.others, text.name))


def device_files(kernels: Sequence[Compiled]) -> dict[str, str]:
    """The files by path in the project."""
    texts = {path: kernel_file(text) for path, text in kernel_files(kernels).items()}
    return with_used_runtime(texts | files_around(kernels))


def with_used_runtime(files: Mapping[str, str]) -> dict[str, str]:
    """All files of a project, whose runtime header has the functions that its kernels call."""
    kernels = [text for path, text in files.items() if path.startswith("op_kernel/") and path not in RUNTIME]
    return {**files, _RUNTIME_HEADER: with_used_functions(files[_RUNTIME_HEADER], kernels)}


def files_around(kernels: Sequence[Compiled]) -> dict[str, str]:
    """Of the files, those that are not the text of one kernel."""
    names, host = names_of(kernels[0].operator), host_text(kernels)
    found = dict[str, str]()
    for text in kernel_files(kernels).values():
        schedule = schedule_of(text.first, text.name)
        found[_schedule_path(text.name)] = render("op_kernel/schedule.h.j2", schedule=schedule)
    found |= runtime_files(kernels[0].program.device)
    found[f"op_kernel/{names.kernel}.cpp"] = render("op_kernel/entry.cpp.j2", entry=entry_text(kernels))
    found[f"op_kernel/{names.op}_tiling.h"] = render("op_kernel/tiling.h.j2", host=host)
    found[f"op_host/{names.op}_plan.h"] = render("op_host/plan.h.j2", host=host)
    return found
