"""A tensor as a list of one tensor a batch row, each with rows of its own: ``key = [k0, k1, ...]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attndsl.expr import Symbol
from attndsl.spec.contract.layout import UNIT, Array, Axis, Layout

BATCH, ROWS = "B", "T"
ONE_EACH = ("Y",)
SINGLE = (BATCH, *ONE_EACH)
"""Axes of extent 1 in each tensor: it holds one batch row of one layer."""


def one_row(layout: Layout) -> Layout:
    """The layout of one tensor of the list."""

    def alone(axis: Axis) -> Axis:
        return Axis(UNIT, axis.role) if axis.role in SINGLE else axis

    return replace(layout, dims=tuple(tuple(alone(axis) for axis in dim) for dim in layout.dims))


def row_extent(layout: Layout) -> Symbol:
    """The size that each tensor has for itself."""
    extent = next(axis.extent for dim in layout.dims for axis in dim if axis.role == ROWS)
    assert isinstance(extent, Symbol)  # roles are those of declared sizes
    return extent


def rows_from_end(layout: Layout) -> int | None:
    """The dimension of its rows, counted from the last (1); None where it has other axes too."""
    for position, dim in enumerate(layout.dims):
        if any(axis.role == ROWS for axis in dim):
            return len(layout.dims) - position if len(dim) == 1 else None
    return None


def batch_extent(layout: Layout) -> Symbol:
    """The size that is the number of tensors in the list."""
    extent = next(axis.extent for dim in layout.dims for axis in dim if axis.role == BATCH)
    assert isinstance(extent, Symbol)
    return extent


def is_single(dim: tuple[Axis, ...]) -> bool:
    """Whether a dimension has one entry in each tensor, so that it may be left out."""
    return all(axis.role in SINGLE for axis in dim)


def whole_rank(layout: Layout, entry: Array) -> Array:
    """``entry`` with the leading dimensions of extent 1 that may be left out."""
    missing = layout.rank - entry.ndim
    heads = [is_single(dim) for dim in layout.dims]
    return entry[(None,) * missing] if missing > 0 and all(heads[:missing]) else entry


def one_row_sizes(
    layout: Layout, entry: Array, env: Mapping[str, Any], extents: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, int]]:
    """The environment and the axes' sizes of one tensor of the list; ``layout``: of the whole tensor."""
    place = next(p for p, dim in enumerate(layout.dims) if any(axis.role == ROWS for axis in dim))
    rows = entry.shape[place - layout.rank]
    return {**env, row_extent(layout).name: rows}, {**extents, **dict.fromkeys(SINGLE, 1), ROWS: rows}


def row_view(layout: Layout, entry: Array, env: Mapping[str, Any], extents: Mapping[str, int]) -> Array:
    """``entry`` seen with the canonical axes but that of batch rows; ``layout``: of the whole tensor."""
    one = one_row(layout)
    view = one.view(entry, *one_row_sizes(layout, entry, env, extents))
    picked: Array = view[tuple(0 if role == BATCH else slice(None) for role in one.roles)]
    return picked
