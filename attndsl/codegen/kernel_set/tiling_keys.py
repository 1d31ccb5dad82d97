"""Tiling keys: the number by which a host tells the device which specialization a call needs.

A key has a digit for each thing that a kernel can be specialized on, in the mixed-radix number system that
the contract gives: io dtype, head sizes in fractals, presence of each optional tensor, and the value of each
specialization parameter by its position among those that conditions tell apart. So the key of a
specialization is the same whichever others are generated with it, and two kernels have one key only if they
compute the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from attndsl.base.errors import UserError
from attndsl.codegen.host.problem_members import io_tensor
from attndsl.compiler.compile import Compiled
from attndsl.expr.argument_facts import DTYPE, LAYOUT, SPLIT, asks
from attndsl.graph.errors import GraphError
from attndsl.lowering.preconditions import largest_head
from attndsl.lowering.signature.specialization import (
    Specialization,
    feature_names,
    kernel_inputs,
    settings_of,
)
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import same_axes
from attndsl.spec.errors import SpecError
from attndsl.spec.operator.covering import choosable

MOST_BITS = 63
"""Bits of a key; signed and unsigned readers agree on it."""

SIZE_DIGITS = ("head size", "value size")
"""Digits that are a padded size in fractals."""


class TooManyKernels(UserError, ValueError):
    """An operator has more specializations than tiling keys."""


class KernelsOfOneKey(UserError, ValueError):
    """Two kernels of an operator have the same tiling key."""


@dataclass(frozen=True, slots=True)
class Digit:
    """One thing that kernels are specialized on, as a number below ``base``."""

    name: str
    value: int
    base: int


def tiling_key(compiled: Compiled) -> int:
    """The key of a kernel.

    Raises:
        TooManyKernels: naming what the operator's kernels can be specialized on.
    """
    return key_of(compiled.operator, compiled.specialization)


def check_tiling_keys(operator: Contract, specials: Iterable[Specialization]) -> None:
    """Hold the keys of an operator's kernels, which are made together, to be different.

    Raises:
        KernelsOfOneKey: naming both kernels.
    """
    keyed: dict[int, Specialization] = {}
    for special in specials:
        first = keyed.setdefault(key_of(operator, special), special)
        if first != special:
            raise KernelsOfOneKey(
                f"{operator.name}: two kernels have the tiling key {key_of(operator, special)}: {first} and "
                f"{special}; ask for one of them alone, or let conditions compare with constants"
            )


@lru_cache(maxsize=1024)
def key_of(operator: Contract, special: Specialization) -> int:
    """The key of a specialization; raises as :func:`tiling_key`."""
    key, span = 0, 1
    found = tuple(digits(operator, special))
    for digit in found:
        key += digit.value * span
        span *= digit.base
    if span >> MOST_BITS:
        names = ", ".join(digit.name for digit in found)
        raise TooManyKernels(
            f"{operator.name}: kernels can be specialized on {names}, which makes {span} combinations; "
            f"tiling keys have {MOST_BITS} bits: declare fewer optional tensors or layouts, or give calls "
            "with arguments of their own a mode (op.mode)"
        )
    return key


def digits(operator: Contract, special: Specialization) -> Iterator[Digit]:
    """The digits of a key, the lowest first."""
    io = io_tensor(operator)
    yield Digit(f"dtype of {io.name}", io.dtypes.index(special.dtype), len(io.dtypes))
    architecture = operator.device.architecture
    sizes = largest_head(architecture) // architecture.fractal + 1
    yield Digit(SIZE_DIGITS[0], special.padded_head_size // architecture.fractal, sizes)
    if special.padded_value_size is not None:
        yield Digit(SIZE_DIGITS[1], special.padded_value_size // architecture.fractal, sizes)
    for name in feature_names(operator):
        yield Digit(name, int(name in special.features), 2)
    yield from _settings(operator, special)


def _settings(operator: Contract, special: Specialization) -> Iterator[Digit]:
    """Each setting as the first value of its list with which the kernel computes the same.

    One setting after the other takes that value, so that all of them together still compute the same. A value
    without one that conditions tell it from (such as a number that is compared with another parameter) has
    the last digit; :func:`check_tiling_keys` holds that no two kernels meet there.
    """
    settings = settings_of(operator, special)
    for name in sorted(settings):
        values = _values(operator, name)
        for place, value in enumerate(values):
            if _alike(operator, special, settings, name, value):
                settings[name] = value
                yield Digit(name, place, len(values) + 1)
                break
        else:
            yield Digit(name, len(values), len(values) + 1)


def _values(operator: Contract, name: str) -> tuple[Any, ...]:
    """The values of a setting that kernels can be told apart by; None stands for an absent tensor."""
    kind, argument = asks(name)
    if not kind:
        return choosable(operator).get(name, ())
    spec = operator.tensor(argument)
    absent = (None,) if spec.optional else ()
    return {
        DTYPE: (*spec.dtypes, *absent),
        LAYOUT: (*spec.layouts, *absent),
        SPLIT: (False, True),
    }[kind]


def _alike(
    operator: Contract, special: Specialization, settings: Mapping[str, Any], name: str, value: Any
) -> bool:
    """Whether kernels with another value of a setting take arguments alike and compute the same."""
    own, (kind, argument) = settings[name], asks(name)
    if value == own:
        return True
    if kind == DTYPE or (kind and (value is None or own is None)):
        return False
    layouts = operator.tensor(argument).layouts if kind == LAYOUT else {}
    if kind == LAYOUT and not same_axes(layouts[own], layouts[value]):
        return False
    present = kernel_inputs(operator, special.features)
    try:
        key = operator.graph(present, {**settings, name: value}).key
    except (GraphError, SpecError):
        return False  # no call has these settings
    return key == operator.graph(present, settings).key
