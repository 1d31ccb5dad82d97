"""Arguments that are lists of tensors: ``key = [k0, k1, ...]``, one tensor a batch row or a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.spec import errors
from attndsl.spec.arguments import TensorSpec
from attndsl.spec.layout import Array


def tensor_list(operator: str, spec: TensorSpec, value: Any) -> tuple[Array, ...]:
    """The tensors of a list, tuple or of an array that stacks them along its first dimension.

    Raises:
        NotASequenceError: neither of these.
        NullTensorError: an entry is None.
        ArgumentTypeError: an entry is no array.
    """
    if isinstance(value, np.ndarray) and value.ndim and value.dtype != object:
        return tuple(value)
    if not isinstance(value, list | tuple):
        raise errors.NotASequenceError(
            f"{operator}: {spec.name}: must be a list of {spec.list_of} tensors, got {type(value).__name__};"
            f" write [{spec.name}_0, {spec.name}_1, ...]"
        )
    for position, entry in enumerate(value):
        if entry is None:
            raise errors.NullTensorError(
                f"{operator}: {spec.name}[{position}]: is None, every entry is a tensor;"
                " pass one of the common shape, its rows are not read where their length is 0"
            )
        if not isinstance(entry, np.ndarray):
            raise errors.ArgumentTypeError(
                f"{operator}: {spec.name}[{position}]: must be a NumPy array of dtype"
                f" {' or '.join(spec.dtypes)}, got {type(entry).__name__}"
            )
    return tuple(value)


def stacked(operator: str, spec: TensorSpec, value: list[Any] | tuple[Any, ...]) -> Array:
    """A tensor that is passed as a list of one tensor a batch row: (1, rows, ...).

    The parts have the shape that is left, or a further first dimension of 1.

    Raises:
        NullTensorError, ArgumentTypeError: an entry is no array.
        ShapeError: shapes differ. DtypeMismatchError: dtypes differ. EmptyTensorError: there is none.
    """
    parts = tensor_list(operator, spec, value)
    if not parts:
        raise errors.EmptyTensorError(f"{operator}: {spec.name}: an empty list, pass a tensor a batch row")
    rank = min(layout.rank for layout in spec.layouts.values()) - 1
    parts = tuple(part[0] if part.ndim > rank and part.shape[0] == 1 else part for part in parts)
    check_same_shape(operator, spec, parts)
    for position, part in enumerate(parts):
        if part.dtype != parts[0].dtype:
            raise errors.DtypeMismatchError(
                f"{operator}: {spec.name}[{position}]: dtype {part.dtype.name} differs from that of"
                f" {spec.name}[0], which is {parts[0].dtype.name}"
            )
    return np.stack(parts)[None]


def check_same_shape(operator: str, spec: TensorSpec, entries: tuple[Array, ...]) -> None:
    """All tensors of a list have one shape.

    Raises:
        ShapeError: naming the first that differs.
    """
    for position, entry in enumerate(entries):
        if entry.shape != entries[0].shape:
            raise errors.ShapeError(
                f"{operator}: {spec.name}[{position}]: shape {list(entry.shape)} differs from that of"
                f" {spec.name}[0]; all tensors of the list must be {list(entries[0].shape)}"
            )
