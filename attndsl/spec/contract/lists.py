"""Arguments that are lists of tensors: ``key = [k0, k1, ...]``, one tensor a batch row or a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.spec import errors
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Array


def is_list(operator: str, spec: TensorSpec, value: Any) -> bool:
    """Whether ``value`` is meant as one tensor a batch row or group, not as one tensor for all.

    Raises:
        NotASequenceError: a bare tensor where a tuple or list of tensors is needed.
        SequenceLengthError: a tuple or list with the wrong number of tensors.
    """
    if spec.list_of is not None or not spec.sequence_of:
        return spec.list_of is not None or (spec.split and isinstance(value, list | tuple))
    count = spec.sequence_of
    wanted = f"{count} tensor{'s'[: count > 1]}"
    if not isinstance(value, list | tuple):
        raise errors.NotASequenceError(
            f"{operator}: {spec.name}: must be a tuple or list of {wanted},"
            f" got {type(value).__name__}; write [{spec.name}]"
        )
    if len(value) == count:
        return False
    if not value or not spec.split:
        raise errors.SequenceLengthError(
            f"{operator}: {spec.name}: must hold exactly {wanted}{', or one a batch row' * spec.split},"
            f" got {len(value)}"
        )
    return True


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
                " pass one like the others, its rows are not read where their length is 0"
            )
        if not isinstance(entry, np.ndarray):
            raise errors.ArgumentTypeError(
                f"{operator}: {spec.name}[{position}]: must be a NumPy array of dtype"
                f" {' or '.join(spec.dtypes)}, got {type(entry).__name__}"
            )
    return tuple(value)


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
