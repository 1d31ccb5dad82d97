"""Lengths of packed rows, from the prefix sums that end them: ``[3, 3, 8]`` for 3, 0, 5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import longest_of
from attndsl.spec.contract.arguments import TensorSpec
from attndsl.spec.contract.contract import Contract
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


def measured_by_sums(operator: Contract) -> set[str]:
    """Tensors of which the longest rows of prefix sums tell a size, and which tell no size themselves: sums
    that are wrong would be blamed on their shapes."""
    longest = {longest_of(spec.name).name for spec in operator.tensors if spec.prefix_sums}
    told = {
        dim.name
        for dim in operator.dims_by_name.values()
        if dim.definition is not None and dim.definition.symbols() & longest
    }
    return {
        spec.name
        for spec in operator.tensors
        if spec.at_least
        or (
            spec.indexed
            and any(size.symbols() & told for each in spec.layouts.values() for size in each.shape())
        )
    }
