"""A checked call: every size, layout and feature resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.graph.graph import Graph
from attndsl.spec.contract.contract import Contract
from attndsl.spec.contract.layout import Array
from attndsl.spec.contract.split import row_view


@dataclass(frozen=True, eq=False)
class Call:
    """One call of ``operator``.

    ``dims``: the contract's sizes; ``params``: scalar arguments; ``arrays``: the tensors that are passed,
    C-contiguous in the passed layout (lengths as int64, one a row); ``layouts``: key of the layout chosen
    for each; ``lists``: the lists of tensors that are passed, entries like those of ``arrays``;
    ``env_extra``: presence, dtypes and layouts as the symbols of constraints; ``l2_bytes``: what it has of
    the device's L2, None: all.
    """

    operator: Contract
    dims: Mapping[str, int]
    params: Mapping[str, Any]
    arrays: Mapping[str, Array]
    layouts: Mapping[str, str]
    dtype: str
    env_extra: Mapping[str, Any]
    lists: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    passed: Mapping[str, Array] = field(default_factory=dict)
    l2_bytes: int | None = None

    @property
    def present(self) -> frozenset[str]:
        """Names of the tensors that are passed."""
        return frozenset(self.arrays) | frozenset(self.lists)

    @cached_property
    def graph(self) -> Graph:
        """The computation of this call."""
        return self.operator.graph(self.present, self.env())

    def env(self) -> dict[str, Any]:
        """Sizes and parameters by name, for :meth:`Expr.evaluate`; with presence, dtypes and layouts."""
        return {**self.dims, **self.params, **self.env_extra}

    @cached_property
    def extents(self) -> dict[str, int]:
        """The size of each attention axis."""
        env = {**self.env(), **self.arrays}
        return {role: int(extent.evaluate(env)) for role, extent in self.operator.axis_extents.items()}

    @cached_property
    def views(self) -> dict[str, Array]:
        """The tensors with their canonical axes, as strided views; broadcast axes have stride 0."""
        env = self.env()
        found = {}
        for name, array in self.arrays.items():
            spec = self.operator.tensor(name)
            if name in self.layouts and not spec.indexed:
                found[name] = spec.layouts[self.layouts[name]].view(array, env, self.extents)
        return found

    @cached_property
    def list_views(self) -> dict[str, tuple[Array, ...]]:
        """The tensors of each list with their canonical axes, without that of the list."""
        env = self.env()
        found = {}
        for name, entries in self.lists.items():
            spec = self.operator.tensor(name)
            layout = spec.layouts[self.layouts[name]]
            found[name] = tuple(
                row_view(layout, entry, env, self.extents)
                if spec.split
                else layout.view(entry, env, self.extents)
                for entry in entries
            )
        return found

    def write_back(self) -> None:
        """Carry updates in place over to the caller's own arrays, where a call had to copy them."""
        for name in self.graph.updated():
            target, array = self.passed.get(name), self.arrays[name]
            if target is not None and target is not array and not np.shares_memory(target, array):
                target[...] = array.reshape(target.shape)

    def check_target(self) -> None:
        """Check the limits of the kernels on the target.

        Raises:
            TargetLimitError: the call is legal but beyond them.
        """
        env = {**self.env(), **self.arrays}
        for constraint in self.operator.constraints:
            if constraint.target and (failing := constraint.violation(env)) is not None:
                constraint.raise_for(self.operator.name, failing)
