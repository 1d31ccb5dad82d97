"""Whether rounding explains a miss: the same tile program in float64, held against the golden results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attndsl.campaign.judging import Wanted, bound_of
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.tile_interpreter.run import run_precise
from attndsl.verify.judge.golden import Result

_LEFT = 0.05
"""Part of a bound that a program without roundings may be off by; bounds are about ten roundings."""


@dataclass(frozen=True)
class Precise:
    """The tile program of a call in float64.

    ``error``: its largest error as a part of the bound of the comparison; infinite where a number is missing
    or an integer is another.
    """

    error: float

    @property
    def is_right(self) -> bool:
        """Whether the program computes what the spec says, but for roundings."""
        return self.error <= _LEFT

    def to_json(self) -> dict[str, Any]:
        """As plain data; infinity as text."""
        error = self.error if np.isfinite(self.error) else str(self.error)
        return {**asdict(self), "error": error, "is_right": self.is_right}

    def line(self, kernel_leaves: bool) -> str:
        """The finding for a reader; ``kernel_leaves``: whether a kernel was seen to leave its program."""
        told = f"in fp64 the tile program is off by {self.error:.2g} of the tolerance: "
        if not self.is_right:
            return told + "rounding does not explain the miss, the program computes something else"
        if kernel_leaves:
            return told + "the program is right, and the kernel leaves it"
        return told + "rounding explains the miss, or something that the program does not show"


def precise(call: Call, wanted: Wanted) -> Precise:
    """The tile program of ``call`` in float64, held against its golden results.

    Selected indices are not compared: equal scores have no order.

    Raises:
        NotLowered, TargetLimitError: the call has no kernel.
        InternalError: the tile program breaks its own rules.
    """
    results = zip(run_precise(call), wanted.golden.results, strict=True)
    return Precise(max((_error(call, *each) for each in results if each[1].importance is None), default=0.0))


def _error(call: Call, found: Array, want: Result) -> float:
    """The largest error of a result in bounds."""
    if found.dtype.kind in "iu":
        off = np.abs(found.astype(np.float64) - want.values)
        return 0.0 if (off <= 1).all() else float("inf")
    bound = bound_of(call, want.name)
    sizes = np.maximum(1.0, np.abs(want.values)) if want.sizes is None else want.sizes
    with np.errstate(all="ignore"):
        error = np.abs(found - want.values) / (bound * sizes)
        same = (found == want.values) | (np.isnan(found) & np.isnan(want.values)) | want.exact
    return float(np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)).max(initial=0.0))
