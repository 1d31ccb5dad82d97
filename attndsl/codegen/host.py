"""The tiling struct and the host's tiling function as data for their templates.

Both are printed from the same symbolic expressions that Python evaluates.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.codegen.helpers import Helper, used_helpers
from attndsl.codegen.kernel import CXX_SCALARS, kernel_name
from attndsl.codegen.naming import pascal
from attndsl.schedule.compile import Compiled
from attndsl.symbolic import Expr, Symbol
from attndsl.tile.program import TilingField, earlier


@dataclass(frozen=True, slots=True)
class Row:
    """A struct member: C++ type, name, meaning, and for tiling fields the expression of its value."""

    ctype: str
    name: str
    meaning: str
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class HostText:
    """Everything the tiling and host templates print."""

    kernel: str
    operator: str
    guard: str
    tiling_struct: str
    problem_struct: str
    problem: tuple[Row, ...]
    fields: tuple[Row, ...]
    helpers: tuple[Helper, ...]


def host_text(compiled: Compiled) -> HostText:
    """The host side of a compiled specialisation."""
    program, name = compiled.program, kernel_name(compiled)
    outside = outside_names(program.tiling)
    inputs = {symbol: f"problem.{symbol}" for symbol in outside}
    fields = {earlier(field.name).name: f"tiling.{field.name}" for field in program.tiling}
    return HostText(
        kernel=name,
        operator=compiled.operator.name,
        guard=f"ATTNDSL_{name.upper()}",
        tiling_struct=f"{pascal(name)}Tiling",
        problem_struct=f"{pascal(name)}Problem",
        problem=tuple(
            Row(_ctype(symbol, compiled), symbol, _meaning(symbol, compiled)) for symbol in outside
        ),
        fields=tuple(
            Row(CXX_SCALARS[field.ctype], field.name, field.meaning, _spell(field.value, inputs, fields))
            for field in program.tiling
        ),
        helpers=used_helpers(field.value for field in program.tiling),
    )


def outside_names(fields: tuple[TilingField, ...]) -> tuple[str, ...]:
    """Names that the host has to supply, in order of first use."""
    names: dict[str, None] = {}
    known = {earlier(field.name).name for field in fields}
    for field in fields:
        for node in field.value.walk():
            if isinstance(node, Symbol) and node.name not in known:
                names.setdefault(node.name)
    return tuple(names)


def _spell(expr: Expr, inputs: dict[str, str], fields: dict[str, str]) -> str:
    spelled = {name: Symbol(name, text) for name, text in {**fields, **inputs}.items()}
    return expr.substitute(spelled).text(cxx=True)


def _ctype(name: str, compiled: Compiled) -> str:
    floats = {spec.name for spec in compiled.operator.params if spec.type is float}
    return "float" if name in floats else "int64_t"


def _meaning(name: str, compiled: Compiled) -> str:
    if name == "cores":
        return "cube cores of the device"
    if name.endswith("Layout"):
        return f"index of the layout of {name.removesuffix('Layout')}"
    if name.endswith("Count"):
        return f"entries of {name.removesuffix('Count')}, 0 without it"
    if name in compiled.operator.dims_by_name:
        return f"size {name} of the contract"
    return f"parameter {name}"
