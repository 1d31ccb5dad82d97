"""What fills the tensors of a call with given values."""

from __future__ import annotations

from typing import Any

import numpy as np

from attndsl.verify.cases.case import Case
from attndsl.verify.data.data import Filler
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.solve import solve
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import WORKLOAD
from tests.support.case_spaces import space_of


def filler(mode: str, *, seed: int = 0, **pins: Any) -> Filler:
    """A filler of some call with these values, its tensors made."""
    return filler_of(space_of(mode), seed=seed, **pins)


def filler_of(space: CaseSpace, *, seed: int = 0, **pins: Any) -> Filler:
    """The same of a space."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assignment = solve(space, rng, {WORKLOAD: "any", **pins})
        integers = assignment and Integers(space, assignment, rng).solve()
        if assignment and integers is not None:
            case = Case(space.operator, space, seed, 0, assignment, integers)
            found = case._filler()
            found.arguments()
            return found
    raise AssertionError("no legal call was found")
