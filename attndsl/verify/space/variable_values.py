"""What the variables of a case may be: sizes of axes, lengths and parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attndsl.expr import Compare, Const, Expr, Load, Symbol
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import Conditional, Rows, expressions_of
from attndsl.spec.contract.arguments import Dim, ParamSpec, TensorSpec
from attndsl.spec.contract.layout import largest_of
from attndsl.verify.space.size_facts import SizeFacts
from attndsl.verify.space.values import FLOATS, MULTIPLES

_OF_DECIDING = 8
"""How many values a parameter has for each further time that one is listed which decides."""


@dataclass(frozen=True)
class VariableValues(SizeFacts):
    """The values of an operator's variables.

    ``only``: the values that parameters may have, for an operator that takes some calls of a name that it
    shares.
    """

    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @cached_property
    def dims(self) -> dict[str, Dim]:
        """The operator's sizes by name."""
        return self.operator.dims_by_name

    def lengths_values(self, spec: TensorSpec) -> tuple[int, ...]:
        """What the longest of these lengths may be: nothing for those that count no rows."""
        axes = [self.measures.get(spec.name, "")]
        for role, extent in self.operator.axis_extents.items():
            axes += [role] if self._tells(spec, extent) else []
        pools = [self.sizes_of(axis) for axis in axes if axis in ("Q", "T", "U", "J")]
        return tuple(dict.fromkeys(value for pool in pools for value in pool))

    def _tells(self, spec: TensorSpec, extent: Expr) -> bool:
        """Whether these lengths tell the size of an axis, or a size that it is made of."""
        defined = [self.dims[name].definition for name in sorted(extent.symbols() & self.dims.keys())]
        parts = [extent, *(each for each in defined if each is not None)]
        return any(
            longest_of(spec.name).name in part.symbols()
            or any(isinstance(node, Load) and node.source == spec.name for node in part.walk())
            for part in parts
        )

    def param_values(self, param: ParamSpec) -> tuple[Any, ...]:
        """What a parameter may be: its choices, or numbers within its bounds that tell errors apart."""
        default = (param.default,) if param.optional else ()
        if param.choices:
            found = dict.fromkeys(param.choices.values())
            allowed = self.only.get(param.name)
            return tuple(value for value in found if allowed is None or value in allowed)
        if param.type is bool:
            return (False, True)
        if param.type is float:
            return self._in_bounds(param, (*FLOATS, *default))
        if param.type is str:
            return default
        plain = (*self.values.plain, *MULTIPLES)
        if self.is_number_of_keys(param.name):  # a window, a length of all rows: edges of tiles tell
            plain = (
                *plain,
                *self.range_edges(param),
                *(tile + away for tile in self.tiles for away in (-1, 0, 1)),
                *self._several_tiles,
            )
        values = self._with_role(param.name) or self._with_role(param.name, by_default=True) or plain
        return self._in_bounds(param, self._with_decided(param.name, dict.fromkeys((*default, *values))))

    def _with_decided(self, name: str, values: Iterable[Any]) -> tuple[Any, ...]:
        """Values of a parameter, those that the computation compares it with more often: a window of 0 that
        stands for none is one of many sizes, and half of what is computed."""
        found = tuple(values)
        deciding = [value for value in found if value in self._compared_with.get(name, ())]
        return found + tuple(deciding) * (len(found) // _OF_DECIDING)

    @cached_property
    def _compared_with(self) -> dict[str, set[Any]]:
        """The numbers that conditions of the computation compare single parameters with."""
        nodes = (node for root in self.operator.roots for node in root.walk())
        asked = [node.condition for node in nodes if isinstance(node, Conditional)]
        found: dict[str, set[Any]] = {}
        for expr in (*asked, *expressions_of(self.operator.roots)):
            for part in expr.walk():
                if isinstance(part, Compare) and isinstance(part.left, Symbol):
                    of = found.setdefault(part.left.name, set())
                    of |= {part.right.value} if isinstance(part.right, Const) else set()
        return found

    @cached_property
    def _several_tiles(self) -> tuple[int, ...]:
        """Numbers of keys in several tiles: without them hardly an item of a mask has more than one."""
        return tuple(size for size in self.sizes_of("T") if size > 2 * min(self.tiles))

    def is_number_of_keys(self, name: str) -> bool:
        """Whether a parameter counts the keys of a source, or stands with keys."""
        return self.counts_keys(name) or self.stands_with_keys(name)

    def range_edges(self, param: ParamSpec) -> tuple[int, ...]:
        """The least and the largest integer of a parameter's declared range, as far as it has these."""
        inside = ((param.ge, math.ceil, 0), (param.gt, math.floor, 1), (param.le, math.floor, 0))
        found = [
            whole(limit) + step
            for limit, whole, step in (*inside, (param.lt, math.ceil, -1))
            if limit is not None and math.isfinite(limit)
        ]
        return tuple(dict.fromkeys(self._in_bounds(param, found)))

    def counts_keys(self, name: str) -> bool:
        """Whether the keys of a source are counted with a parameter, as in ``length=prefix_length``."""
        return name in self._counting

    @cached_property
    def _counting(self) -> frozenset[str]:
        rows = [each for root in self.operator.roots for each in root.walk() if isinstance(each, Rows)]
        lengths = [each.length for each in dict.fromkeys(rows) if each.length is not None]
        parameters = {spec.name for spec in self.operator.params}
        counted = {name for each in expressions_of(lengths) for name in each.symbols()}
        return frozenset(counted & parameters)

    def stands_with_keys(self, name: str) -> bool:
        """Whether a parameter is part of an expression over keys, as the size of a window is."""
        return any({name, "j"} <= each for each in self._symbols_of_expressions)

    @cached_property
    def _symbols_of_expressions(self) -> tuple[frozenset[str], ...]:
        return tuple(each.symbols() for each in expressions_of(self.operator.roots))

    def _in_bounds(self, param: ParamSpec, values: Iterable[Any]) -> tuple[Any, ...]:
        def legal(value: Any) -> bool:
            return isinstance(value, str) or all(b.evaluate({param.name: value}) for b in param.bounds())

        return tuple(value for value in values if legal(value))

    def role_values(self, name: str) -> tuple[int, ...]:
        """What a size may be, by the axes of attention that have it."""
        return self._with_role(name) or self.values.other

    def _with_role(self, name: str, *, by_default: bool = False) -> tuple[int, ...]:
        """The values of every attention axis whose size ``name`` is, or defines; ``by_default``: or whose
        size where no shape shows it."""
        found: list[int] = []
        for role, extent in self.operator.axis_extents.items():
            defining: set[str] = set()
            for dim in extent.symbols() & self.dims.keys():
                source = self.dims[dim].default if by_default else self.dims[dim].definition
                defining |= source.symbols() if source is not None else set()
            sizes = largest_of(extent) or (extent,)
            if any(isinstance(each, Symbol) and each.name == name for each in sizes) or name in defining:
                found += self.sizes_of(role)
        return tuple(dict.fromkeys(found))

    def within_limits(self, name: str, values: tuple[int, ...]) -> tuple[int, ...]:
        """The values within the limits that constraints put on this size alone."""
        alone = [rule.condition for rule in self.operator.constraints if rule.when is None and not rule.over]
        simple = [each for each in alone if _about(each, name)]
        return tuple(value for value in values if all(each.evaluate({name: value}) for each in simple))


def _about(condition: Expr, name: str) -> bool:
    """Whether a condition compares this size alone with a number."""
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return False
    return condition.symbols() == {name}
