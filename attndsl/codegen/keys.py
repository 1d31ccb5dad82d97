"""Tiling keys: the number by which a host tells the device which specialisation a call needs."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Any

from attndsl.codegen.identifiers import pascal
from attndsl.errors import InternalError
from attndsl.hardware import ATLAS_A2
from attndsl.schedule.compile import Compiled
from attndsl.schedule.specialisation import feature_names
from attndsl.spec.arguments import TensorSpec, dtype_of
from attndsl.spec.operator import Operator
from attndsl.spec.settings import first_settings
from attndsl.symbolic import Expr
from attndsl.tile.naming import camel


@dataclass(frozen=True, slots=True)
class Selector:
    """One thing that kernels are specialised on.

    ``member``: of the problem that the host describes; ``value``: its value in one specialisation;
    ``test``: the C++ condition that the problem has this value.
    """

    member: str
    value: int | float
    test: str


def io_tensor(operator: Operator) -> TensorSpec:
    """The tensor whose dtype decides the arithmetic of a kernel."""
    return operator.tensor(operator.outputs[0].like)


def head_size(operator: Operator) -> Expr:
    """The size that kernels are specialised on by its bucket, the next multiple of a fractal."""
    return operator.axis_extents["D"]


def dtype_member(operator: Operator) -> str:
    """The problem's member for the io dtype."""
    return f"{camel(io_tensor(operator).name)}Dtype"


def given_member(feature: str) -> str:
    """The problem's member for the presence of an optional tensor."""
    return f"{camel(feature)}Given"


HEAD_SIZE, VALUE_SIZE = "headSize", "valueSize"


def setting_member(name: str) -> str:
    """The problem's member for a parameter, dtype or layout that the computation depends on."""
    return "setting" + pascal(re.sub(r"\W+", "_", name).strip("_"))


def setting_values(operator: Operator, name: str) -> tuple[Any, ...]:
    """The values of a setting, in the order of their codes; -1 stands for an argument that is absent."""
    kind, _, argument = name.rstrip(")").partition("(")
    if argument and kind in ("dtype", "layout"):
        spec = operator.tensor(argument)
        return tuple(spec.dtypes if kind == "dtype" else spec.layouts)
    if argument and kind in ("split", "given"):
        return ()
    param = next((spec for spec in operator.params if spec.name == name), None)
    if param is None:
        raise InternalError(f"kernels cannot be specialised on '{name}'")
    return tuple(dict.fromkeys(param.choices.values())) if param.type is str else ()


def setting_code(operator: Operator, name: str, value: Any) -> int | float:
    """A setting's value as the number by which hosts compare it."""
    values = setting_values(operator, name)
    if values:
        return values.index(value) if value in values else -1
    if value is None:
        return -1
    return value if isinstance(value, float) else int(value)


def selectors(compiled: Compiled) -> tuple[Selector, ...]:
    """What chooses a specialisation among those of its operator."""
    operator, special = compiled.operator, compiled.specialisation
    dtype = io_tensor(operator).dtypes.index(special.dtype)
    low, high = special.bucket - ATLAS_A2.fractal, special.bucket
    member = dtype_member(operator)
    size = f"problem.{HEAD_SIZE} > {low} && problem.{HEAD_SIZE} <= {high}"
    found = [
        Selector(member, dtype, f"problem.{member} == {dtype}"),
        Selector(HEAD_SIZE, special.bucket, size),
    ]
    if special.value_bucket is not None:
        low, high = special.value_bucket - ATLAS_A2.fractal, special.value_bucket
        size = f"problem.{VALUE_SIZE} > {low} && problem.{VALUE_SIZE} <= {high}"
        found.append(Selector(VALUE_SIZE, special.value_bucket, size))
    for feature in feature_names(operator):
        name, on = given_member(feature), feature in special.features
        found.append(Selector(name, int(on), f"problem.{name} {'!=' if on else '=='} 0"))
    for setting, value in chosen_settings(compiled).items():
        name, code = setting_member(setting), setting_code(operator, setting, value)
        found.append(Selector(name, code, f"problem.{name} == {code}"))
    return tuple(found)


def chosen_settings(compiled: Compiled) -> dict[str, Any]:
    """What a kernel's calls have to have: its settings, and the defaults of the other parameters.

    Dtypes and layouts that make no difference to the computation are not asked for, but for dtypes that calls
    choose.
    """
    operator, special = compiled.operator, compiled.specialisation
    stated = dict(compiled.specialisation.settings)
    asked = {name for name in operator.settings if not name.startswith(("dtype(", "layout("))}
    free = (spec for spec in operator.free_tensors if special.dtype not in spec.dtypes)
    asked |= {dtype_of(spec.name).name for spec in free if spec.name in special.features}
    defaults = first_settings(operator)
    return {name: defaults.get(name, False) for name in sorted(asked)} | stated


def tiling_key(compiled: Compiled) -> int:
    """Decimal ``FFF SS T``: features as bits, head size in fractals of 16, index of the io dtype.

    What else a kernel is specialised on is hashed into the digits in front. The key of a specialisation is
    the same whichever others are generated with it, and never 0.
    """
    operator, special = compiled.operator, compiled.specialisation
    bits = sum(1 << i for i, name in enumerate(feature_names(operator)) if name in special.features)
    dtype = io_tensor(operator).dtypes.index(special.dtype)
    key = (bits * 100 + special.bucket // ATLAS_A2.fractal) * 10 + dtype
    rest = [
        item.test for item in selectors(compiled) if item.member == VALUE_SIZE or "setting" in item.member
    ]
    return key + zlib.crc32("".join(rest).encode()) * 10**8 if rest else key
