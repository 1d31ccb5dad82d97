"""Kernels of one project that share a text, because their finished programs are equal.

Several layouts of a mask, say, differ in strides alone, which are tiling data. Each such kernel keeps its
tiling key, its dispatch guards and its part of the tiling function; header and class are named by what the
kernels share. Programs are compared as trees, statement by statement.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from attndsl.codegen.kernel.dtype_parameter import (
    dtype_parameter,
    equal_programs,
    shared_name,
    text_name,
)
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for


@dataclass(frozen=True, eq=False)
class SharedText:
    """A text: its namespace, which is the stem of its file, and the kernels that have it.

    Of kernels that differ in the text's dtype parameter alone, one stands for both.
    """

    name: str
    first: Compiled
    others: tuple[Compiled, ...] = ()


@dataclass(frozen=True, eq=False)
class SharedTexts:
    """The text of each kernel of a project."""

    by_kernel: Mapping[Compiled, SharedText]

    def of(self, compiled: Compiled) -> SharedText:
        """The text of one of the kernels."""
        return self.by_kernel[compiled]

    @property
    def texts(self) -> tuple[SharedText, ...]:
        """Each text once, in the order of the kernels."""
        return tuple(dict.fromkeys(self.by_kernel.values()))


def shared_texts(kernels: Sequence[Compiled]) -> SharedTexts:
    """The texts of the kernels of one project."""
    return _shared_texts(tuple(kernels))


@lru_cache(maxsize=64)
def _shared_texts(kernels: tuple[Compiled, ...]) -> SharedTexts:
    by_name: dict[str, Compiled] = {}
    for compiled in kernels:
        by_name.setdefault(text_name(compiled), compiled)
    families: list[list[str]] = []
    for name, compiled in by_name.items():
        for family in families:
            if _equal(by_name[family[0]], compiled):
                family.append(name)
                break
        else:
            families.append([name])
    texts: dict[str, SharedText] = {}
    taken = set(by_name)
    for family in families:
        first, *others = (by_name[name] for name in sorted(family, key=len))
        name = _name((first, *others), taken)
        taken.add(name)
        texts |= dict.fromkeys(family, SharedText(name, first, tuple(others)))
    return SharedTexts({each: texts[text_name(each)] for each in kernels})


def _name(kernels: Sequence[Compiled], taken: Collection[str]) -> str:
    """What the names of the kernels share; the first one's name if another text has that."""
    own = text_name(kernels[0])
    shared = shared_name(kernels) if len(kernels) > 1 else own
    return own if shared in taken else shared


def _equal(first: Compiled, second: Compiled) -> bool:
    """Whether two kernels have one text: equal programs and schedules, and the same dtype left open."""
    mine, theirs = _named_after(first), _named_after(second)
    if (mine.schedule, mine.required) != (theirs.schedule, theirs.required):
        return False
    if not equal_programs(mine.program, theirs.program):
        return False
    return _open_operands(mine) == _open_operands(theirs)


def _named_after(compiled: Compiled) -> Compiled:
    """Of the two kernels that a dtype parameter stands for, the one after which the text is named."""
    parameter = dtype_parameter(compiled)
    if parameter is None or parameter.first == compiled.specialization:
        return compiled
    return compiled_for(compiled.operator, parameter.first)


def _open_operands(compiled: Compiled) -> frozenset[str]:
    """The names of the operands whose dtype the text leaves open."""
    parameter = dtype_parameter(compiled)
    return frozenset() if parameter is None else frozenset(each.name for each in parameter.operands)
