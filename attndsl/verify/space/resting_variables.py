"""What a change of one variable changes in an environment, where little else rests on the variable: a search
changes one at a time, and makes an environment anew only where other sizes follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from attndsl.expr import Expr, Load
from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.spec.contract.arguments import Dim, TensorSpec
from attndsl.verify.space.derived_variables import DerivedVariables

Reads = Callable[[Expr], frozenset[str]]
"""The symbols of an expression, and the lengths of the tensors that it reads."""


@dataclass(frozen=True)
class RestingOn:
    """What rests on a variable.

    ``sizes``: those that it defines, with how; ``axes``: the attention axes whose extents follow, with how;
    ``integers``: whether shapes of integer tensors do.
    """

    sizes: tuple[tuple[str, Function], ...]
    axes: tuple[tuple[str, Function], ...]
    integers: bool

    @cached_property
    def moves_heads(self) -> bool:
        """Whether the head size follows."""
        return any(role == "D" for role, _ in self.axes)


def resting_on(
    names: Iterable[str],
    dims: Mapping[str, Dim],
    derived: DerivedVariables,
    integers: Iterable[TensorSpec],
    extents: Mapping[str, Expr],
    reads: Reads,
) -> dict[str, RestingOn]:
    """Those of the variables ``names`` on which nothing rests but extents, integer tensors' shapes and sizes
    on which nothing else rests, each with these.

    Args:
        names: variables that an environment has as they are assigned, or not at all.
        dims: all sizes.
        derived: sizes and parameters that follow from others.
        integers: the integer tensors.
        extents: of the attention axes.
        reads: of the case space.
    """
    free = frozenset(names) - {each.name for each in derived.variables}
    free -= {name for name, dim in dims.items() if dim.default is not None}
    definitions = {name: dim.definition for name, dim in dims.items() if dim.definition is not None}
    sources = [part for each in derived.variables for part in (each.source, each.when)]
    followed = [each for each in (*sources, *(dim.default for dim in dims.values())) if each is not None]
    shapes = [size for spec in integers for each in spec.layouts.values() for size in each.shape()]
    read, shaping = _read_by(followed, reads), _read_by(shapes, reads)
    if any(map(_loads, (*followed, *definitions.values()))):
        read |= shaping  # elements of these tensors decide what follows
    inner = _read_by(definitions.values(), reads)
    ends = {
        name: definition
        for name, definition in definitions.items()
        if name not in read | inner | shaping and reads(definition) <= free
    }
    read |= _read_by((each for name, each in definitions.items() if name not in ends), reads)
    found = {}
    for name in free - read:
        sizes = {size for size, definition in ends.items() if name in reads(definition)}
        changed, reshaped = {name, *sizes}, name in shaping
        axes = (
            (role, compiled(extent))
            for role, extent in extents.items()
            if not changed.isdisjoint(reads(extent)) or (reshaped and _loads(extent))
        )
        found[name] = RestingOn(
            tuple((size, compiled(ends[size])) for size in dims if size in sizes), tuple(axes), reshaped
        )
    return found


def _read_by(exprs: Iterable[Expr], reads: Reads) -> frozenset[str]:
    return frozenset[str]().union(*map(reads, exprs))


def _loads(expr: Expr) -> bool:
    return any(isinstance(node, Load) for node in expr.walk())
