"""What an operator's declaration tells of sizes, whatever variables are made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from attndsl.compiler.stored_schedules import used_options
from attndsl.expr import Expr, Load
from attndsl.expr.argument_facts import longest_of
from attndsl.expr.compiled_evaluation import Function, compiled
from attndsl.graph.graph import Graph
from attndsl.graph.nodes import Input, Rows, WeightedSum, expressions_of
from attndsl.lowering.match.resolve_schedule import resolve
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import largest_of
from attndsl.spec.operator.operator import Operator
from attndsl.verify.space.argument_roles import measures, totals
from attndsl.verify.space.values import Values, longest_keys_of

EXTENTS = "(extents)"
"""The name under which an environment tells the sizes of the attention axes."""


@dataclass(frozen=True)
class SizeFacts:
    """Shapes, schedule and tasks of an operator.

    ``values``: the interesting sizes; an author with other needs passes his own.
    """

    operator: Operator
    values: Values = field(default_factory=Values)

    @cached_property
    def schedule(self) -> Schedule:
        """The operator's schedule, as its author states it."""
        return resolve(self.operator.schedule_choices, self.operator.device, self.operator.schedule_lines)

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Key tile and ring depth of each schedule that kernels of the operator have, without repetition: the
        author's, and those of stored choices. The first has the longest ring, in keys."""
        found = {(self.schedule.tile_k, self.schedule.ring): None}
        for options in used_options(self.operator):
            stored = replace(self.schedule, **options)  # type: ignore[arg-type]
            found[stored.tile_k, stored.ring] = None
        return tuple(sorted(found, key=lambda each: -each[0] * each[1]))

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """The key tiles of these schedules."""
        return tuple(dict.fromkeys(tile for tile, _ in self.edges))

    def sizes_of(self, role: str) -> tuple[int, ...]:
        """Values for an attention axis; keys surround the tiles of each schedule."""
        values = (size for tile, ring in self.edges for size in self.values.of_role(role, tile, ring))
        return tuple(dict.fromkeys(values))

    @cached_property
    def integers(self) -> tuple[TensorSpec, ...]:
        """The tensors of lengths, indices and prefix sums: those that are declared as such, and plain inputs
        that a source of rows counts with."""
        declared = {spec.name for spec in self.operator.tensors if spec.kind == "lengths"}
        plain = {spec.name for spec in self.operator.tensors if _may_count(spec)}
        counted = declared | measures(self._graph, frozenset(declared | plain)).keys()
        return tuple(spec for spec in self.operator.tensors if spec.name in counted)

    @cached_property
    def summed(self) -> frozenset[str]:
        """The integer tensors that are prefix sums, whose lengths are drawn and added up."""
        ends = totals(self._graph)
        return frozenset(spec.name for spec in self.integers if spec.prefix_sums or spec.name in ends)

    @cached_property
    def totals(self) -> dict[str, str]:
        """The prefix sums that need not end with the last row, each with the axis of all rows. Declared
        ones have the rule for their last one that their author states."""
        declared = {spec.name for spec in self.integers if spec.prefix_sums}
        return {name: axis for name, axis in totals(self._graph).items() if name not in declared}

    @cached_property
    def _graph(self) -> Graph:
        return self.operator.graph(frozenset(spec.name for spec in self.operator.tensors))

    @cached_property
    def shapes(self) -> dict[str, dict[str, tuple[Function, ...]]]:
        """The shapes of each tensor by layout, to be evaluated in an environment."""
        return {
            spec.name: {key: tuple(map(compiled, each.shape())) for key, each in spec.layouts.items()}
            for spec in self.operator.tensors
        }

    @cached_property
    def measures(self) -> dict[str, str]:
        """What each integer tensor counts, see :func:`~attndsl.verify.space.argument_roles.measures`."""
        return measures(self._graph, frozenset(spec.name for spec in self.integers))

    @cached_property
    def counts_differ(self) -> bool:
        """Whether a row has several sources of keys whose numbers are told by different arguments."""
        sums = [node for node in self._graph.nodes if isinstance(node, WeightedSum)]
        return len({frozenset(_told_by(node.values)) for node in sums}) > 1

    def extents(self, env: Mapping[str, Any]) -> dict[str, int]:
        """The attention axes' sizes that ``env`` tells."""
        if EXTENTS in env:
            known: dict[str, int] = env[EXTENTS]
            return known
        found = {}
        for role, extent in self._extents:
            try:
                found[role] = int(extent(env))
            except KeyError:
                continue
        return found

    def capacities(self, env: Mapping[str, Any]) -> tuple[int, ...]:
        """The rows that tensors of keys have place for: the sizes whose largest is the extent of T."""
        try:
            sizes = tuple([int(part(env)) for part in self._capacities])
        except KeyError:  # sizes are told as extents alone
            sizes = ()
        return sizes or tuple(size for role, size in self.extents(env).items() if role == "T")

    @cached_property
    def _capacities(self) -> tuple[Function, ...]:
        extent = self.operator.axis_extents.get("T")
        return tuple(map(compiled, largest_of(extent))) if extent is not None else ()

    def tasks(self, extents: Mapping[str, int]) -> int:
        """Tasks of a kernel: (batch row, key/value head, stretch of query rows), where all rows are full."""
        heads = extents.get("K", 1)
        rows = extents.get("Q", 1) * extents.get("N", 1) // max(heads, 1)
        return int(extents.get("B", 1) * heads * -(-rows // self.schedule.max_rows))

    def reads(self, expr: Expr) -> frozenset[str]:
        """The symbols of an expression, and the lengths of the tensors that it reads."""
        loads = {node.source for node in expr.walk() if isinstance(node, Load)}
        longest = {variable for name in loads for variable in (longest_of(name).name, longest_keys_of(name))}
        return expr.symbols() | longest

    def counts_rows(self, spec: TensorSpec) -> bool:
        """Whether its elements are numbers of rows: of queries, of keys, or of keys that are shared."""
        return self.measures.get(spec.name) in ("Q", "T", "U")

    @cached_property
    def _extents(self) -> tuple[tuple[str, Function], ...]:
        return tuple((role, compiled(size)) for role, size in self.operator.axis_extents.items())


def _may_count(spec: TensorSpec) -> bool:
    """Whether a plain input is a list of integers, as lengths are."""
    alone = spec.kind == "tensor" and not spec.sequence_of and spec.list_of is None and not spec.at_least
    integral = {*spec.dtypes} <= {"int32", "int64"}
    flat = [len(layout.shape()) == 1 for layout in spec.layouts.values()]
    return alone and integral and bool(flat) and all(flat)


def _told_by(rows: Rows) -> Iterator[str]:
    """The arguments that tell how many rows a source has."""
    sources = [each for each in rows.walk() if isinstance(each, Rows)]
    told = [
        node for each in sources for node in (each.length, getattr(each, "ends", None)) if node is not None
    ]
    yield from (node.name for each in told for node in each.walk() if isinstance(node, Input))
    for expr in expressions_of(told):
        yield from expr.symbols()
        yield from (part.source for part in expr.walk() if isinstance(part, Load))
