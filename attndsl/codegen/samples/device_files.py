"""The files of an operator that a launch needs: kernels, the function that picks one, tiling data, plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.codegen.host.tiling_text import host_text
from attndsl.codegen.kernel.dtype_parameter import text_name
from attndsl.codegen.kernel.kernel import kernel_text
from attndsl.codegen.kernel_set.entry import entry_text
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.text.render import render, runtime
from attndsl.compiler.compile import Compiled

RUNTIME = ("op_kernel/attndsl_kernel.h", "op_host/arithmetic.h")
"""What the texts of all kernels, and all plans, rest on."""


def kernel_path(compiled: Compiled) -> str:
    """The file of a specialization's text, in the project."""
    return f"op_kernel/{text_name(compiled)}.h"


def kernel_files(kernels: Sequence[Compiled]) -> dict[str, Compiled]:
    """The files of the kernels' texts, each with a kernel that has it."""
    return {kernel_path(each): each for each in kernels}


def kernel_file(compiled: Compiled) -> str:
    """The file of a specialization's text."""
    return render("op_kernel/kernel.h.j2", kernel=kernel_text(compiled))


def device_files(kernels: Sequence[Compiled], texts: Mapping[str, str] | None = None) -> dict[str, str]:
    """The files by path in the project.

    Args:
        kernels: whose files.
        texts: those of :func:`kernel_files`, where they are made already.
    """
    names, host = names_of(kernels[0].operator), host_text(kernels)
    if texts is None:
        texts = {path: kernel_file(each) for path, each in kernel_files(kernels).items()}
    found = dict(texts)
    found |= {path: runtime(path) for path in RUNTIME}
    found[f"op_kernel/{names.kernel}.cpp"] = render("op_kernel/entry.cpp.j2", entry=entry_text(kernels))
    found[f"op_kernel/{names.op}_tiling.h"] = render("op_kernel/tiling.h.j2", host=host)
    found[f"op_host/{names.op}_plan.h"] = render("op_host/plan.h.j2", host=host)
    return found
