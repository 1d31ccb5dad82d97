"""What those who fill some tensors of a case ask of the one who fills them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from attndsl.spec.contract.layout import Layout
from attndsl.verify.space.argument_roles import ArgumentRoles


class Draws(Protocol):
    """The dtypes, shapes and roles of a case's tensors, its source of randomness, and what is made so far.

    ``assignment``: the case's variables; ``made``: tensors by name, as they are passed, to be added to;
    ``probe``: whether its weights are to be powers of two.
    """

    assignment: Mapping[str, Any]
    made: dict[str, Any]
    rng: np.random.Generator
    roles: ArgumentRoles
    probe: bool

    @property
    def key_tiles(self) -> tuple[int, ...]:
        """Keys in a tile of each schedule that kernels of the operator have."""

    @property
    def io(self) -> str:
        """The dtype of queries, or that of the results where those are integers."""

    def dtype(self, name: str) -> str:
        """The dtype of a tensor in this case."""

    def layout(self, name: str) -> Layout:
        """The layout of a tensor in this case."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, of one of a list."""

    def factor(self) -> float:
        """What raw scores are multiplied by."""
