"""The layouts that a tensor can have in one specialization: their strides and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attndsl.expr import Const, Expr, Symbol, select
from attndsl.expr.argument_facts import layout_of, presence
from attndsl.lowering.signature.host_scalars import dimension, layout_choice
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Layout
from attndsl.spec.contract.split import BATCH, SINGLE, one_row, row_extent, rows_from_end


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """A tensor's strides in each layout that a kernel's calls may have: axis -> elements.

    ``own``: sizes of axes that this tensor alone has. ``source``: the argument whose layout it is, of a
    result the one that it is like. ``keys``: the names of the layouts, in the declared order. ``numbers``:
    their places among all layouts that are declared, by which the host tells them apart. ``shapes``: their
    dimensions. Of a list of one tensor a batch row they are those of a tensor, which has ``rows`` rows of its
    own, its dimension ``rows_from_end`` counted from the last (1).
    """

    name: str
    source: str
    strides: tuple[dict[str, Expr], ...]
    keys: tuple[str, ...]
    numbers: tuple[int, ...]
    shapes: tuple[tuple[Expr, ...], ...]
    rows: Symbol | None = None
    rows_from_end: tuple[int, ...] = ()
    own: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def choice(self) -> Symbol:
        """The host scalar that tells which layout a call uses: its number."""
        return layout_choice(self.source)

    def holds(self, place: int) -> Expr:
        """Whether a call uses the layout that is at this place of ``keys``."""
        return self.choice == self.numbers[place]


def legal_layouts(
    spec: TensorSpec, present: frozenset[str], settings: Mapping[str, Any] | None = None
) -> tuple[Layout, ...]:
    """The layouts that a tensor can have when exactly these tensors are passed.

    Where ``settings`` name its layout, those that have the same axes: one kernel serves them all.
    """
    found = tuple(layout for layout in spec.layouts.values() if _may_apply(layout, present))
    chosen = spec.layouts.get((settings or {}).get(layout_of(spec.name).name, ""))
    if chosen is None:
        return found
    axes = chosen.strides().keys()
    if spec.indexed:
        return (chosen,)
    return tuple(layout for layout in found if layout.strides().keys() == axes) or found


def stride_value(layout: TensorLayout, axis: str) -> Expr:
    """The stride along an axis in the layout of the call."""
    value: Expr = layout.strides[-1].get(axis, Const(0))
    for index in reversed(range(len(layout.strides) - 1)):
        value = select(layout.holds(index), layout.strides[index].get(axis, Const(0)), value)
    return value


def measured(spec: TensorSpec, layout: Layout) -> Layout:
    """The layout of a tensor that may be larger than its contract says: its dimensions are those it has."""
    if any(len(dim) != 1 for dim in layout.dims):
        return layout
    dims = tuple(
        (replace(axis, extent=dimension(spec.name, number)),) for number, (axis,) in enumerate(layout.dims)
    )
    return replace(layout, dims=dims)


def tensor_layout(name: str, layouts: Sequence[Layout], source: TensorSpec) -> TensorLayout:
    """A tensor in these layouts, which are some of those that ``source`` declares."""
    declared = list(source.layouts)
    return TensorLayout(
        name,
        source.name,
        tuple(layout.strides() for layout in layouts),
        tuple(layout.key for layout in layouts),
        tuple(declared.index(layout.key) for layout in layouts),
        tuple(tuple(layout.shape()) for layout in layouts),
        own={axis: size for layout in layouts for axis, size in layout.own_extents.items()},
    )


def list_layout(name: str, layouts: Sequence[Layout], source: TensorSpec) -> TensorLayout:
    """Each tensor in a list of one a batch row."""
    whole = [layout for layout in layouts if BATCH in layout.roles]
    one = tensor_layout(name, [one_row(layout) for layout in whole], source)
    places = tuple(rows_from_end(layout) or 0 for layout in whole)
    strides = tuple({axis: step for axis, step in each.items() if axis not in SINGLE} for each in one.strides)
    return replace(one, strides=strides, rows=row_extent(whole[0]), rows_from_end=places)


def _may_apply(layout: Layout, present: frozenset[str]) -> bool:
    """Whether presence alone does not rule the layout out."""
    if layout.when is None:
        return True
    try:
        return bool(layout.when.evaluate(presence(layout.when.symbols(), present)))
    except KeyError:  # it depends on more than presence
        return True
