"""Kernels that share one text: their programs differ in one dtype alone, which is a template parameter.

A kernel's twin is the specialization in which float16 and bfloat16 have changed places. Whether the two share
a text is decided on their programs: these must be equal, statement by statement, but for tensors and buffers
that are float16 in one and bfloat16 in the other. Where anything else differs, each has a text of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from attndsl.codegen.host.problem_members import io_tensor
from attndsl.codegen.kernel_set.kernel_names import shared_name_of, text_name_of
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for
from attndsl.expr.argument_facts import DTYPE, asks
from attndsl.lowering.errors import ScheduleError
from attndsl.lowering.signature.specialization import (
    Specialization,
    kernel_inputs,
    settings_of,
    specialized_on,
)
from attndsl.spec.contract.contract import Contract
from attndsl.tile.operand_pairs import DTYPES, TWIN, Operand, OperandPairs
from attndsl.tile.program import Program
from attndsl.tile.statements import Stage


@dataclass(frozen=True, eq=False)
class DtypeParameter:
    """The dtype in which a kernel and its twin differ.

    ``own``: which of ``DTYPES`` it is in this kernel; ``operands``: the tensors and buffers of this kernel's
    program that have it; ``first``: of the two specializations the one after which the text is named.
    """

    own: str
    operands: frozenset[Operand]
    first: Specialization


@lru_cache(maxsize=128)
def dtype_parameter(compiled: Compiled) -> DtypeParameter | None:
    """The dtype that a kernel's text leaves open, None where the text is for this kernel alone."""
    own = compiled.specialization
    other = twin(compiled.operator, own)
    if other is None:
        return None
    try:
        second = compiled_for(compiled.operator, other)
    except ScheduleError:
        return None  # there is no such kernel
    if (compiled.schedule, compiled.required) != (second.schedule, second.required):
        return None
    operands = _differing(frozenset((compiled, second))).get(compiled)
    if operands is None:
        return None
    dtype = next(iter(operands)).dtype
    return DtypeParameter(dtype, operands, own if dtype == DTYPES[0] else other)


@lru_cache(maxsize=64)
def _differing(pair: frozenset[Compiled]) -> dict[Compiled, frozenset[Operand]]:
    """The operands of each of two kernels as of :func:`differing_operands`, compared once for both."""
    first, second = pair
    found = differing_operands(first.program, second.program)
    return {} if found is None else dict(zip((first, second), found, strict=True))


def text_name(compiled: Compiled) -> str:
    """The namespace and file of a kernel's text, which its twin may share."""
    special, dtype = _named_after(compiled)
    return text_name_of(compiled.operator, special, dtype)


def shared_name(kernels: Sequence[Compiled]) -> str:
    """The namespace and file of a text that several kernels have besides their twins."""
    specials, dtypes = zip(*map(_named_after, kernels), strict=True)
    return shared_name_of(kernels[0].operator, specials, dtypes[0])


def _named_after(compiled: Compiled) -> tuple[Specialization, str]:
    """Of a kernel and its twin the one after which their text is named, and the dtype that it leaves open."""
    parameter = dtype_parameter(compiled)
    if parameter is None:
        return compiled.specialization, ""
    first = parameter.first
    return first, first.dtype if first.dtype in DTYPES else ""


def twin(operator: Contract, special: Specialization) -> Specialization | None:
    """The specialization in which float16 and bfloat16 have changed places; None if there is none, or if it
    is the same."""
    values, present = settings_of(operator, special), kernel_inputs(operator, special.features)
    if _with_dtypes(operator, special, special.dtype, values) != special:
        return None
    dtype = TWIN.get(special.dtype, special.dtype)
    if dtype not in io_tensor(operator).dtypes:
        return None
    for name, value in values.items():
        kind, argument = asks(name)
        if kind == DTYPE and value in TWIN and argument in present:
            if TWIN[value] not in operator.tensor(argument).dtypes:
                return None
            values[name] = TWIN[value]
    other = _with_dtypes(operator, special, dtype, values)
    return None if other == special else other


def _with_dtypes(
    operator: Contract, special: Specialization, dtype: str, values: Mapping[str, Any]
) -> Specialization:
    """A specialization with other dtypes, those of ``values`` that make a difference."""
    present = kernel_inputs(operator, special.features)
    padded_sizes = (special.padded_head_size, special.padded_value_size or special.padded_head_size)
    dtypes = specialized_on(operator, present, values, dtype, padded_sizes).settings
    settings = dict(pair for pair in dtypes if asks(pair[0])[0] == DTYPE)
    settings |= dict(pair for pair in special.settings if asks(pair[0])[0] != DTYPE)
    return replace(special, dtype=dtype, settings=tuple(sorted(settings.items(), key=lambda each: each[0])))


def differing_operands(
    first: Program, second: Program
) -> tuple[frozenset[Operand], frozenset[Operand]] | None:
    """The tensors and buffers of each program whose dtype is another in the other one.

    None if the programs differ in anything else, in the two dtypes of ``DTYPES`` both ways, or in nothing.
    """
    comparison = _TwinComparison()
    same, found = comparison.programs(first, second), comparison.found
    if not same or len({each.dtype for each in found}) != 1:
        return None
    return frozenset(found), frozenset(map(comparison.second_of, found))


_NOT_COMPARED = {
    "name": "kernels of one text have names of their own",
    "device": "a project is for one",
    "dtype": "what is left out of the comparison",
    "tiling": "_fields_read has what a text shows",
    "requirements": "they follow from constants and statements",
    "body": "the statements of cores are made of it",
}
"""What two finished programs of one text need not have in common, and why; all else they have, a field that
programs get later among it."""


def equal_programs(first: Program, second: Program) -> bool:
    """Whether two programs are equal, dtypes included; the values of tiling fields are no part of them."""
    comparison = _TwinComparison()
    return comparison.programs(first, second) and not comparison.found


def _fields_read(program: Program) -> list[tuple[str, str, str]]:
    """The tiling fields as a kernel's text shows them; the values are no part of it.

    Meanings are printed where stages of several attentions take fields as members.
    """
    shown = any(isinstance(item, Stage) and item.attention_name for item in program.statements())
    return [(field.name, field.ctype, field.meaning if shown else "") for field in program.fields]


class _TwinComparison(OperandPairs):
    """Compares what the text of two programs shows."""

    def programs(self, first: Program, second: Program) -> bool:
        """Whether the finished programs are equal but for dtypes."""
        return _fields_read(first) == _fields_read(second) and all(
            self.same(getattr(first, each.name), getattr(second, each.name))
            for each in fields(Program)
            if each.name not in _NOT_COMPARED
        )
