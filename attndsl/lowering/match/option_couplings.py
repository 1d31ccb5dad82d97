"""Schedule options that another option bounds: the one table of them.

``resolve`` follows it in what an author leaves open and refuses what he states against it, kernels assert it
of their constants, and a search keeps to it when it changes an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from attndsl.expr import Expr, Named
from attndsl.lowering.match.schedule_options import Legal, Schedule
from attndsl.target import Architecture
from attndsl.tile.instructions.units import VECTOR_CORES


@dataclass(frozen=True, kw_only=True)
class Coupling:
    """An option whose value another option bounds.

    Attributes:
        option: the one that is bounded. ``by``: the one that bounds it.
        bound: the bound, from the value of ``by`` and the vector cores of a block; ``written``: as text.
        holds: whether a value of the option keeps to the value of ``by``, with as many vector cores; of
            constants of a kernel the condition.
        repaired: a value that keeps to a bound, in place of one that does not.
        nearest: the legal value nearest to one that does not keep to a bound.
        rule: what the option must be, with {} for the bound.
        asserted: the condition as kernels name it; empty where none rests on it: what is stated then stays.
    """

    option: str
    by: str
    bound: Callable[[int, int], int]
    written: str
    holds: Callable[[Any, Any, Any], Any]
    repaired: Callable[[int, int], int]
    nearest: Callable[[Legal, int, int], int]
    rule: str
    asserted: str = ""

    def is_kept(self, schedule: Schedule, architecture: Architecture) -> bool:
        """Whether a schedule keeps to it; an option that is a word does."""
        value, by = getattr(schedule, self.option), getattr(schedule, self.by)
        return isinstance(value, str) or bool(self.holds(value, by, architecture.aiv_per_aic))

    def bound_in(self, schedule: Schedule, architecture: Architecture) -> int:
        """The bound that a schedule sets."""
        return self.bound(getattr(schedule, self.by), architecture.aiv_per_aic)

    def rule_of(self, bound: str, architecture: Architecture) -> str:
        """What the option must be; ``bound``: how the bound is printed, with {} for its formula."""
        return self.rule.format(bound.format(self.written.format(architecture.aiv_per_aic)))

    def repair(self, schedule: Schedule, architecture: Architecture) -> Schedule:
        """The schedule with the option as the other one wants it."""
        if self.is_kept(schedule, architecture):
            return schedule
        bound = self.bound_in(schedule, architecture)
        value: Any = self.repaired(getattr(schedule, self.option), bound)
        return replace(schedule, **{self.option: value})

    def condition(self, options: Mapping[str, Named], architecture: Architecture) -> Expr | None:
        """What kernels assert of the constants that stand for options; None where one of the two has none."""
        if not self.asserted or not {self.option, self.by} <= options.keys():
            return None
        found: Expr = self.holds(options[self.option], options[self.by], VECTOR_CORES)
        return found


def _divisor(option: str) -> Coupling:
    """An option that divides the rows of a vector core."""
    return Coupling(
        option=option,
        by="max_rows",
        bound=lambda rows, vectors: rows // vectors,
        written="max_rows / {}",
        holds=lambda value, rows, vectors: (rows // vectors % value) == 0,
        repaired=gcd,
        nearest=lambda legal, value, bound: legal.nearest_divisor(value, bound),
        rule="a divisor of {}, the rows of one vector core",
        asserted=f"{option} divides the rows of a vector core",
    )


COUPLINGS: tuple[Coupling, ...] = (
    _divisor("rows"),
    _divisor("result_rows"),
    Coupling(
        option="result_slots",
        by="slots",
        bound=lambda slots, vectors: slots,
        written="slots",
        holds=lambda value, slots, vectors: value <= slots,
        repaired=min,
        nearest=lambda legal, value, bound: bound,
        rule="at most {}",
    ),
    Coupling(
        option="widen_lead",
        by="ring",
        bound=lambda ring, vectors: ring - 2,
        written="ring - 2",
        holds=lambda value, ring, vectors: value + 2 <= ring,
        repaired=min,
        nearest=lambda legal, value, bound: bound,
        rule="at most {}",
        asserted="scores run ahead of weighted sums",
    ),
)
