"""Lengths of packed rows, from the prefix sums that end them: ``[3, 3, 8]`` for 3, 0, 5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import longest_of
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.layout import Array


def lengths_in(ends: Array) -> Array:
    """The length of each batch row."""
    return np.diff(ends.reshape(-1), prepend=0)


def longest_rows(tensors: Iterable[TensorSpec], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """The values of ``longest_of`` for the sums of a call, which are checked only later."""
    return {
        longest_of(spec.name).name: max(0, int(lengths_in(arrays[spec.name]).max(initial=0)))
        for spec in tensors
        if spec.prefix_sums and spec.name in arrays
    }
