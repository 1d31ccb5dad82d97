"""Tiling keys: the number by which a host tells the device which specialisation a call needs."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.hardware import ATLAS_A2
from attndsl.schedule.compile import Compiled
from attndsl.schedule.problem import feature_names
from attndsl.spec.arguments import TensorSpec
from attndsl.spec.operator import Operator
from attndsl.symbolic import Expr
from attndsl.tile.naming import camel


@dataclass(frozen=True, slots=True)
class Selector:
    """One thing that kernels are specialised on.

    ``member``: of the problem that the host describes; ``value``: its value in one specialisation;
    ``test``: the C++ condition that the problem has this value.
    """

    member: str
    value: int
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


HEAD_SIZE = "headSize"


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
    for feature in feature_names(operator):
        name, on = given_member(feature), feature in special.features
        found.append(Selector(name, int(on), f"problem.{name} {'!=' if on else '=='} 0"))
    return tuple(found)


def tiling_key(compiled: Compiled) -> int:
    """Decimal ``FFF SS T``: features as bits, head size in fractals of 16, index of the io dtype.

    The key of a specialisation is the same whichever others are generated with it, and never 0.
    """
    operator, special = compiled.operator, compiled.specialisation
    bits = sum(1 << i for i, name in enumerate(feature_names(operator)) if name in special.features)
    dtype = io_tensor(operator).dtypes.index(special.dtype)
    return (bits * 100 + special.bucket // ATLAS_A2.fractal) * 10 + dtype
