"""What cases of a kernel may be asked for, and sizes with which they have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr import Symbol
from attndsl.spec.binding.call import Call
from attndsl.tile.instructions.units import block_elements
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FEW, GROUP

SEVERAL_ROWS = 3
"""Batch rows, so that strides between them count, and one of them may be without keys."""
FEW_POSITIONS = 3
"""Positions of a batch row where each is a task whose keys shall be split, at most."""
ROWS_OF_STEP = block_elements("float32")
"""Rows of a vector step of few rows, whose statistics fill a block."""

GENTLE = 0.25
"""The slope of scores that rise in some rows and fall in others, by so little from tile to tile that each
part has some weight where keys are split, and one that is not rescaled is seen, whichever it is."""
USUAL_HEAD_SIZE = 128
"""The head size that most kernels are made for."""


@dataclass(frozen=True)
class Demand:
    """``pins``: draws values of variables with which calls tend to meet it; ``holds``: whether one does;
    ``workload``: what its cases are about; ``whole``: whether rows have all channels of the kernel, so that
    its last lanes count; ``roomy``: whether tensors may be larger than those of other cases; ``beside``:
    values that a case has as well, each where it contradicts none before, by level: 0 for the first attempts
    to find a case, 1 where these found none; ``halves``: whether tasks shall have two halves, by the plan of
    the kernel."""

    name: str
    pins: Callable[[np.random.Generator], Mapping[str, Any]]
    holds: Callable[[Call], bool]
    workload: str = FEW
    whole: bool = False
    roomy: bool = False
    beside: Callable[[int], Mapping[str, Any]] = lambda level: {}
    halves: bool = False

    def workload_of(self, level: int) -> str:
        """What is asked for first, and then: where rows are as many as keys, long ones make no few tasks."""
        return self.workload.replace("long", "several") if level else self.workload


def size_of(
    space: CaseSpace, role: str, fits: Callable[[int], bool], rng: np.random.Generator
) -> dict[str, Any]:
    """A value of the size of an axis, where it is a variable that has one which fits. Where it is that of
    queries and of keys, one of several tiles of keys and few tasks is taken if there is any."""
    name = space.variable_of(role)
    sizes = [each for each in space.variables[name] if fits(each)] if name else []
    if not name or not sizes:
        return {}
    if name == space.variable_of("Q") == space.variable_of("T"):
        most = space.operator.device.aic // 2 * space.schedule.max_rows
        sizes = [each for each in sizes if space.edges[0][0] < each <= most] or sizes
    return {name: sizes[int(rng.integers(len(sizes)))]}


def several_rows(space: CaseSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Several batch rows, where their number varies."""
    most = space.operator.device.aic // 2  # so few that their keys are split
    return size_of(space, "B", lambda size: SEVERAL_ROWS <= size <= most, rng)


def heads_of_one_group(space: CaseSpace, heads: int) -> dict[str, int]:
    """So many query heads, and as many of the one key/value head, where they vary."""
    extents = space.operator.axis_extents
    every = space.repairs(extents["N"].symbols())[:1] if "N" in extents else ()
    of_one = (GROUP,) if GROUP in space.variables else ()
    return dict.fromkeys((*of_one, *every), heads)


def has_one_position(space: CaseSpace) -> bool:
    """Whether each batch row has one query position."""
    extents = space.operator.axis_extents
    return "S" not in extents and not isinstance(extents.get("Q"), Symbol)
