"""The members of the problem by which a host tells calls apart: one for each symbol that conditions use."""

from __future__ import annotations

import re
from typing import Any

from attndsl.base.errors import InternalError
from attndsl.codegen.names.identifiers import identifier
from attndsl.expr import Expr, Symbol
from attndsl.expr.argument_facts import asks, dtype_of, given
from attndsl.lowering.signature.enum_parameters import number_of
from attndsl.lowering.signature.host_scalars import DEVICE_MEANINGS, HOST, layout_choice
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.contract import Contract
from attndsl.tile.naming import camel

HEAD_SIZE, VALUE_SIZE = "sizeOfHead", "sizeOfValueHead"
"""Head sizes that are no size of the contract, but computed from such."""
_OF_DEVICE = "|".join(name.removeprefix(HOST) for name in DEVICE_MEANINGS)
_OF_HOSTS = re.compile(
    rf"{HEAD_SIZE}|{VALUE_SIZE}|{_OF_DEVICE}|measure\w+|(max|min|sum)Of\w+|\w+(Layout|Count|Dim\d+|Given|Dtype|Split)"
)
_SUFFIX = {"given": "Given", "dtype": "Dtype", "split": "Split"}


def io_tensor(operator: Contract) -> TensorSpec:
    """The tensor whose dtype decides the arithmetic of a kernel."""
    return operator.tensor(operator.outputs[0].like)


def head_size(operator: Contract) -> Expr:
    """The size that kernels are specialized on, padded to the next multiple of a fractal."""
    return operator.axis_extents["D"]


def head_symbol(operator: Contract, axis: str = "D") -> Symbol:
    """A head size as hosts know it, that of queries and keys or, of axis E, that of values: a size of the
    contract, or a member of its own."""
    extent = operator.axis_extents[axis]
    if isinstance(extent, Symbol) and extent.name in operator.dims_by_name:
        return extent
    return Symbol(f"{HOST}{HEAD_SIZE if axis == 'D' else VALUE_SIZE}")


def member_of(symbol: str) -> str:
    """``queryDtype`` for ``dtype(query)``, ``keyLayout`` for ``layout(key)``; the own name of a size or
    parameter, with ``Value`` after it where hosts may have something else of that name."""
    kind, argument = asks(symbol)
    if not kind:
        own = symbol.removeprefix(HOST)
        name = own if own != symbol else identifier(symbol)
        return f"{name}Value" if own == symbol and _OF_HOSTS.fullmatch(name) else name
    if kind == "layout":
        return layout_choice(argument).name.removeprefix(HOST)
    return camel(argument) + _SUFFIX[kind]


def dtype_member(operator: Contract) -> str:
    """The problem's member for the io dtype."""
    return member_of(dtype_of(io_tensor(operator).name).name)


def given_member(feature: str) -> str:
    """The problem's member for the presence of an optional tensor."""
    return member_of(given(feature).name)


def counted(operator: Contract, symbol: str) -> tuple[Any, ...]:
    """The dtypes, layouts or words that a host counts, in the order of their numbers; none of a number."""
    kind, argument = asks(symbol)
    if symbol.startswith(HOST):
        return ()
    if kind:
        spec = operator.tensor(argument)
        return {"dtype": tuple(spec.dtypes), "layout": tuple(spec.layouts)}.get(kind, ())
    param = operator.find_param(symbol)
    if param is None:
        raise InternalError(f"kernels cannot be specialized on '{symbol}'")
    return tuple(dict.fromkeys(param.choices.values())) if param.type is str else ()


def number_of_value(operator: Contract, symbol: str, value: Any) -> int | float:
    """A value as the number by which hosts compare it; -1 where its argument is absent."""
    values = counted(operator, symbol)
    if values:
        return number_of(value, values)
    if value is None:
        return -1
    return value if isinstance(value, float) else int(value)
