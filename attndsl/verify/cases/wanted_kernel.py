"""A kernel that cases are made for, and what its first cases have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr import Symbol
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.operator import Operator
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import GROUP, PROBE, RAMP, SUNK

FIRST = ((SUNK, "long few"), (RAMP, "several many"), (PROBE, "many"))
"""Data and work of the first cases of a wanted kernel: scores far below the 0 that a lane without a key must
not have; maxima that rise or fall along the tiles of a row that one core sees; steps of rows that follow each
other. Kernels begin with different ones."""
_TALL = {"Q": 128, GROUP: 32}
"""What makes tasks have many rows: so many queries, or query heads a key/value head."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedKernel:
    """A kernel that cases are made for.

    ``name``: what messages call it; ``mode``: the operator whose calls it takes; ``pins``: values of
    variables that its calls have; ``likely``: values that most of them have; ``sizes``: variables with the
    values that suit it; ``takes``: whether a call is one.
    """

    name: str
    mode: Operator
    pins: Mapping[str, Any]
    likely: Mapping[str, Any]
    sizes: Mapping[str, tuple[int, ...]]
    takes: Callable[[Call], bool]


def first_sizes(space: CaseSpace, rng: np.random.Generator, data: str) -> dict[str, Any]:
    """Values of variables of a first case with some data: floats such as the factor of scores at their
    defaults, where these are not 0; of :data:`PROBE`, sizes that make tasks have many rows."""
    legal, params = space.variables, space.operator.params
    own = {each.name: each.default for each in params if each.type is float and each.optional}
    found = {name: value for name, value in own.items() if value and value in legal.get(name, ())}
    extents = (space.operator.axis_extents.get(axis) for axis in "QS")
    names = [each.name for each in extents if isinstance(each, Symbol) and each.name in legal]
    name, least = (names[0], _TALL["Q"]) if names else (GROUP, _TALL[GROUP])
    sizes = [size for size in legal.get(name, ()) if size >= least and data == PROBE]
    return found | ({name: sizes[int(rng.integers(len(sizes)))]} if sizes else {})
