"""The host headers of an operator's project that need no CANN."""

from __future__ import annotations

from attndsl.codegen.arguments import DTYPE_ROWS, Names
from attndsl.codegen.checks import check_text
from attndsl.codegen.identifiers import string
from attndsl.codegen.render import render


def host_files(names: Names) -> dict[str, str]:
    """The contract's checks and what they are made of, by path in the project."""
    return {
        "op_host/contract.h": render("op_host/contract.h.j2", dtypes=DTYPE_ROWS),
        "op_host/sizes.h": render("op_host/sizes.h.j2"),
        f"op_host/{names.op}_check.h": render(
            "op_host/check.h.j2",
            check=check_text(names),
            guard=f"ATTNDSL_{names.op.upper()}",
            operator_literal=string(names.operator.name),
        ),
    }
