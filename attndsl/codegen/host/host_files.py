"""The host code of an operator's project."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.codegen.host.checks import check_text
from attndsl.codegen.host.launch_problem import assignments
from attndsl.codegen.host.op_definition import definition, results_of
from attndsl.codegen.host.result_shapes import shapes_text
from attndsl.codegen.names.arguments import Names
from attndsl.codegen.names.identifiers import comment, string
from attndsl.codegen.text.render import render, runtime
from attndsl.compiler.compile import Compiled

_RUNTIME = ("op_host/arithmetic.h", "op_host/contract.h", "op_host/sizes.h", "op_host/shapes.h")


def host_files(names: Names) -> dict[str, str]:
    """The contract's checks and what they are made of, by path in the project; they need no CANN."""
    return {
        **{path: runtime(path) for path in _RUNTIME},
        f"op_host/{names.op}_check.h": render(
            "op_host/check.h.j2",
            check=check_text(names),
            results=tuple(results_of(names)),
            guard=guard_of(names),
            operator_literal=string(names.operator.name),
        ),
        f"op_host/{names.op}_shapes.h": render(
            "op_host/result_shapes.h.j2",
            shapes=shapes_text(names),
            guard=guard_of(names),
            operator=comment(names.operator.name),
        ),
    }


def definition_files(names: Names, kernels: Sequence[Compiled]) -> dict[str, str]:
    """What CANN asks of the host: definition, inference, tiling; and the way from a call to its launch."""
    found = {
        "op_host/cann_call.h": runtime("op_host/cann_call.h"),
        f"op_host/{names.kernel}.cpp": render("op_host/op.cpp.j2", op=definition(names.operator, kernels)),
    }
    if kernels:
        found[f"op_host/{names.op}_launch.h"] = render(
            "op_host/launch.h.j2",
            names=names,
            operator=comment(names.operator.name),
            guard=guard_of(names),
            assignments=assignments(kernels),
        )
    return found


def guard_of(names: Names) -> str:
    """The start of the project's include guards."""
    return f"ATTNDSL_{names.op.upper()}"
