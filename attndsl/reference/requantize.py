"""Probabilities that pass through int8 block by block on their way to integer values.

In a block of keys with the running row maximum m, ``p = exp(s - m)`` is replaced by ``a x`` with
``x = clip(round_half_even(p / a), -128, 127)``. The step a is given (offline), or a 127th of the largest p of
the row in the block (online). Row sums are those of p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attndsl.reference.accumulator import Accumulator
from attndsl.reference.products import weighted_values
from attndsl.spec.contract.layout import Array


@dataclass
class RequantizingAccumulator(Accumulator):
    """``steps``: the step of each row, (rows,); None for steps from the probabilities themselves."""

    steps: Array | None = None

    def weighted(self, weights: Array, values: Array, out: Array) -> Array:
        """The weighted sum of int8 values, its integers exact before they are scaled."""
        steps = weights.max(axis=1) / 127 if self.steps is None else self.steps
        safe = np.where(steps == 0, 1, steps)[:, None].astype(weights.dtype)
        whole = np.divide(weights, safe, out=weights)
        np.clip(np.rint(whole, out=whole), -128, 127, out=whole)
        weighted_values(whole, values, out)
        out *= safe
        return out
