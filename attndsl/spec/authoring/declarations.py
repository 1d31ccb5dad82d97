"""What an author says about an operator: sizes, arguments, constraints, schedule, results.

Declarations come in the order of the document's signature, because calls are positional too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attndsl.base.errors import printable
from attndsl.base.source_location import asked_by_author, author_line
from attndsl.expr import Expr
from attndsl.graph.nodes import Axes, Input, Node, Output, Paged
from attndsl.spec import errors
from attndsl.spec.authoring.argument_checks import (
    check_number,
    check_text,
    wrong,
)
from attndsl.spec.authoring.argument_declarations import ArgumentDeclarations, Layouts, layouts_by_key
from attndsl.spec.authoring.declared import DeclaredTensor, inherits_layout, resolve_tensor
from attndsl.spec.authoring.values import TensorValue, Value
from attndsl.spec.contract.arguments import FLOATS, ParamSpec
from attndsl.spec.contract.capacity import (
    cache_constraints,
    capacity_constraints,
    leading_constraints,
    list_constraints,
    paged_constraints,
)
from attndsl.spec.contract.constraint import Constraint
from attndsl.spec.contract.earlier_partials import pair_constraints
from attndsl.spec.contract.element_bounds import Extents, element_constraints
from attndsl.spec.contract.head_sizes import head_constraints
from attndsl.spec.contract.layout import UNIT, largest_of
from attndsl.spec.contract.linear_sums import always_holds
from attndsl.spec.contract.listed_bounds import listed_constraints
from attndsl.spec.contract.packed_bounds import packed_constraints, packed_facts
from attndsl.spec.contract.ring_rows import ring_row_constraints
from attndsl.spec.contract.ring_sizes import ring_constraints
from attndsl.spec.contract.selected_counts import selected_constraints
from attndsl.spec.contract.window_bounds import window_constraints


class Declarations(ArgumentDeclarations):
    """The declaring side of an operator.

    Args:
        name: the name of the operator, of its Python function and of its kernel.
        document: where the contract is published.
        target: the name of the device that kernels are made for, see :mod:`attndsl.target.devices`.
        summary: one sentence of what it computes.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if asked_by_author():
            raise _assigned(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if asked_by_author():
            raise _assigned(name)
        super().__delattr__(name)

    def schedule(self, **choices: Any) -> None:
        """Tile sizes, ring depth and splits that the author wants; what is left out is filled in with
        usual values."""
        for name, value in choices.items():
            if not isinstance(value, int | float | str):
                raise wrong(f"schedule choice '{name}'", value, "a number or a text")
            check_number(f"schedule choice '{name}'", value)
            if name in self.schedule_choices:
                raise errors.DuplicateNameError(f"schedule choice '{name}' is made twice", author_line())
            self.schedule_choices[name] = value
            self.schedule_lines[name] = author_line()

    def output(
        self,
        name: str,
        value: Value,
        *,
        like: TensorValue,
        layouts: Layouts | None = None,
        dtype: str = "",
    ) -> None:
        """A result.

        Args:
            name: as in the document.
            value: what it is.
            like: the input whose dtype and layout it takes, its head size replaced by that of the value.
            layouts: its own layout, or one for each key of ``like``'s.
            dtype: its own dtype.
        """
        self._reserve(name)
        if not isinstance(value, Value):
            raise wrong(f"output '{name}'", value, "a value of the computation")
        if not isinstance(like, TensorValue):
            raise wrong("like", like, "an input, whose dtype and layout the output takes")
        check_text("dtype", dtype)
        node = Output(
            name=name, source=value.node, dtype=dtype or like.spec.name, axes=value.axes, where=author_line()
        )
        own = layouts_by_key(layouts)
        self._check_axes(node, like, own)
        self._results[name] = (node, like.spec.name, own)
        self._add_rules_of(node)

    def _check_axes(self, node: Output, like: TensorValue, own: Mapping[str, Any]) -> None:
        """An output has rows of one kind of heads, and a layout: its own, or that of ``like``."""
        name, axes = node.name, node.axes
        if {"N", "K"} <= {*axes}:
            raise errors.LayoutTextError(
                f"output '{name}' has the axes ({', '.join(axes)}), with N query heads and K key/value "
                "heads: give what it is computed with an axis N in place of K, a row for each query head",
                node.where,
            )
        if not own and not inherits_layout(axes, like.spec.axes):
            raise errors.LayoutTextError(
                f"output '{name}' has the axes ({', '.join(axes)}), '{like.spec.name}' "
                f'({", ".join(like.spec.axes)}): say layouts=, such as layouts="{self._sizes(axes)}"',
                node.where,
            )

    def _add_rules_of(self, node: Output) -> None:
        """What the computation of an output needs of its arguments."""
        axes, own, extents = self._axes, self._own_sizes("T"), self._extents(node)
        tables, pools, split = self._table_shapes(node), self._own_sizes("P"), self._split()
        authored = [rule for rule in self.constraints if not any(rule is each for each in self._derived)]
        subjects: tuple[Callable[[], Iterator[Constraint]], ...] = (
            lambda: capacity_constraints(node, axes, own, self.constraints),
            lambda: listed_constraints(node, axes, own, split, self.constraints, authored),
            lambda: packed_constraints(node, extents, self._definitions(), self.constraints, authored),
            lambda: paged_constraints(node, tables, pools, axes, self.constraints),
            lambda: ring_constraints(node, extents, (*self.ranges, *self.constraints)),
            lambda: cache_constraints(node, axes, self.constraints),
            lambda: ring_row_constraints(node, extents, (*self.ranges, *self.constraints)),
            lambda: window_constraints(node, extents, self.constraints),
            lambda: element_constraints(
                node, extents, (*self.ranges, *self.constraints, *packed_facts(node, extents))
            ),
            lambda: selected_constraints(node, extents, (*self.ranges, *self.constraints)),
            lambda: leading_constraints(node, axes, self.constraints),
            lambda: list_constraints(node, axes, self.constraints),
            lambda: head_constraints(node, axes, self.constraints),
            lambda: pair_constraints(node, self.constraints),
        )
        for rules in subjects:
            for rule in rules():
                if not always_holds(rule.condition):
                    self._derived.append(rule)
                    self._add(rule)

    @property
    def ranges(self) -> tuple[Constraint, ...]:
        """The ranges of the parameters."""
        return tuple(
            Constraint(
                bound, str(bound), spec.error or errors.RangeError, argument=spec.name, where=spec.where
            )
            for spec in self._arguments.values()
            if isinstance(spec, ParamSpec)
            for bound in spec.bounds()
        )

    def _extents(self, node: Node) -> Extents:
        """The sizes that the reads of a result are compared with."""
        tensors = (each for each in self._arguments.values() if isinstance(each, DeclaredTensor))
        return Extents(
            axes=self._axes,
            shapes=self._shapes(self._is_read_by_index),
            own=self._own_sizes("T"),
            tables=self._table_shapes(node),
            optional=frozenset(each.name for each in tensors if each.optional),
        )

    def _is_read_by_index(self, tensor: DeclaredTensor) -> bool:
        """Whether a tensor is one whose sizes bound the indices of its elements: numbers of one layout."""
        several = tensor.at_least or tensor.split or tensor.sequence_of or tensor.list_of is not None
        return not several and (tensor.indexed or not FLOATS.intersection(self._all_dtypes(tensor)))

    def _split(self) -> frozenset[str]:
        """The tensors that may come as a list of one a batch row, each with rows of its own."""
        tensors = (each for each in self._arguments.values() if isinstance(each, DeclaredTensor))
        return frozenset(each.name for each in tensors if each.split)

    def _definitions(self) -> dict[str, Expr]:
        """What sizes are defined by."""
        known = ((name, size.definition) for name, size in self._dims.items())
        return {name: definition for name, definition in known if definition is not None}

    def _own_sizes(self, axis: str) -> dict[str, Expr]:
        """The rows (T) or blocks (P) of tensors that have place for fewer than the largest of their kind, by
        name."""
        found: dict[str, Expr] = {}
        if not largest_of(self._axes.get(axis, UNIT)):
            return found
        for each in self._arguments.values():
            if isinstance(each, DeclaredTensor) and not each.indexed and axis in each.axes:
                for layout in resolve_tensor(each, self._axes, self._all_dtypes(each)).layouts.values():
                    if axis in layout.own_extents:
                        found[each.name] = layout.own_extents[axis]
        return found

    def _table_shapes(self, node: Node) -> dict[str, tuple[Expr, ...]]:
        """Those of the block tables that a result reads."""
        tables = [each.table for each in node.walk() if isinstance(each, Paged)]
        names = {each.name for each in tables if isinstance(each, Input)}
        return self._shapes(lambda each: each.name in names)

    def _shapes(self, meant: Callable[[DeclaredTensor], bool]) -> dict[str, tuple[Expr, ...]]:
        found: dict[str, tuple[Expr, ...]] = {}
        for each in self._arguments.values():
            if isinstance(each, DeclaredTensor) and each.layouts and meant(each):
                layouts = resolve_tensor(each, self._axes, self._all_dtypes(each)).layouts
                if len(layouts) == 1:
                    found[each.name] = tuple(next(iter(layouts.values())).shape())
        return found

    def _sizes(self, axes: Axes) -> str:
        return " ".join(str(self._axes.get(axis, axis)) for axis in axes)


_OF_CONSTRUCTOR = {"name": "name", "document": "document", "device": "target", "summary": "summary"}
"""What the constructor alone sets, with its own word for it."""


def _assigned(name: str) -> errors.SpecError:
    """What an operator is, its author declares: nothing of it is set, replaced or deleted."""
    instead = "it is what op.dims, op.input, op.param, op.require, op.output and the like have declared"
    if name in _OF_CONSTRUCTOR:
        instead = f"Operator(...) takes it as {_OF_CONSTRUCTOR[name]}"
    return errors.SpecError(f"op.{printable(name)} can be neither set nor deleted: {instead}", author_line())
