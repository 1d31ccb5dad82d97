"""One case: a legal call, made anew from its seed, and the kernel that it runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import dtype_of, given
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import CallError
from attndsl.spec.operator.operator import Operator
from attndsl.verify.data.data import Filler
from attndsl.verify.data.integers import Integers
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import FILL


@dataclass(frozen=True, eq=False)
class Case:
    """A legal call, built anew from its seed each time. ``number``: its place in the stream.

    ``operator``: what is called; ``space``: that of its mode; ``integers``: the integer tensors.
    """

    operator: Operator
    space: CaseSpace
    seed: int
    number: int
    assignment: Mapping[str, Any]
    integers: Mapping[str, Array]
    attempt: int = 0

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call by name."""
        return self._filler().arguments()

    def result_elements(self) -> int:
        """Elements of all results together, known before any tensor is made."""
        return self._filler().result_elements()

    def largest_tensor(self) -> int:
        """Elements of the largest tensor, known before any is made."""
        return self._filler().largest_tensor()

    def outline(self) -> Call:
        """The call with zeros for what attention reads, made much faster: sizes, lengths, tables and masks
        are those of the call.

        Raises:
            CallError: the case is none.
        """
        return self._filler().outline()

    def _filler(self) -> Filler:
        rng = np.random.default_rng([self.seed, self.number, self.attempt])
        return Filler(self.space, self.assignment, dict(self.integers), rng)

    def call(self) -> Call:
        """The bound call."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.operator.bind(**self.arguments())

    @property
    def features(self) -> tuple[str, ...]:
        """The optional tensors that are passed, in signature order."""
        return tuple(name for name in self.space.optional if self.assignment[given(name).name])

    @property
    def data(self) -> str:
        """How the tensors are filled."""
        return str(self.assignment[FILL])

    @property
    def kernel(self) -> tuple[Any, ...]:
        """What decides which kernel runs, as far as the assignment tells."""
        return (self.space.operator.name, *kernel_key(self.space, self.assignment))


def drawn_case(
    operator: Operator,
    space: CaseSpace,
    assignment: Mapping[str, Any],
    rng: np.random.Generator,
    *,
    seed: int = 0,
    number: int = 0,
    attempt: int = 0,
) -> tuple[Case, Call] | None:
    """Some case with these values and its outline; None where no legal elements were found for them, or
    lengths make a tensor that follows from them larger than sizes alone tell."""
    integers = Integers(space, assignment, rng).solve()
    if integers is None:
        return None
    case = Case(operator, space, seed, number, assignment, integers, attempt)
    try:
        if case.largest_tensor() > space.values.most_elements:
            return None
        return case, case.outline()
    except CallError:  # a constraint over elements of other tensors
        return None


def head_variable(space: CaseSpace) -> str:
    """The variable that is the head size, which kernels are specialized on."""
    sizes = space.operator.axis_extents
    return next((str(sizes[role]) for role in ("D", "E") if str(sizes.get(role)) in space.variables), "")


def kernel_variables(space: CaseSpace) -> tuple[str, ...]:
    """The variables that decide which kernel runs."""
    main = dtype_of(space.operator.outputs[0].like).name
    givens = (given(name).name for name in space.optional)
    parameters = sorted(space.operator.specialization_parameters)
    return tuple(dict.fromkeys((main, head_variable(space), *givens, *parameters)))


def kernel_key(space: CaseSpace, assignment: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The variables that decide which kernel runs, with their values."""
    return tuple((name, assignment[name]) for name in kernel_variables(space) if name in assignment)
