"""Cases: legal calls of an operator, an endless deterministic stream that covers pairs of values first.

Case number ``i`` of a seed is the same however many cases are asked for. Each new case is the one, of a few
legal candidates, that covers most pairs of values not covered before (AETG, Cohen et al. 1997). Kernels
cost seconds to compile, so their number grows slower than that of the cases: beyond an allowance a case
reuses a specialisation and varies everything else.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.spec.arguments import dtype_of, given
from attndsl.spec.call import Call
from attndsl.spec.errors import CallError
from attndsl.spec.operator import Operator
from attndsl.verify.data import Filler
from attndsl.verify.lowered import not_lowered
from attndsl.verify.solve import solve
from attndsl.verify.space import FILL, GROUP, PROBE, Assignment, CaseSpace

CANDIDATES = 6
EVERY_NOT_LOWERED = 6
"""One case in so many uses a feature that has no kernel yet, as long as there is one."""


@dataclass(frozen=True, eq=False)
class Case:
    """A legal call, built anew from its seed each time. ``number``: its place in the stream."""

    space: CaseSpace
    seed: int
    number: int
    assignment: Mapping[str, Any]
    attempt: int = 0

    @property
    def operator(self) -> Operator:
        """The operator that is called."""
        return self.space.operator

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call by name."""
        rng = np.random.default_rng([self.seed, self.number, self.attempt])
        env = self.space.environment(self.assignment)
        return Filler(self.space, self.assignment, env, rng, {}).arguments()

    def call(self) -> Call:
        """The bound call."""
        return self.operator.bind(**self.arguments())

    @property
    def features(self) -> tuple[str, ...]:
        """The optional tensors that are passed, in signature order."""
        return tuple(name for name in self.space.optional if self.assignment[_given(name)])

    @property
    def data(self) -> str:
        """How the tensors are filled."""
        return str(self.assignment[FILL])


class Stream:
    """The cases of an operator for one seed, by number.

    ``excluded``: features that no legal call was found for, such as arguments that are disabled.
    """

    def __init__(self, operator: Operator, seed: int = 0, space: CaseSpace | None = None) -> None:
        self.space = space or CaseSpace(operator)
        self.seed = seed
        self.excluded: tuple[str, ...] = ()
        self._covered: set[tuple[Any, ...]] = set()
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._cases: list[Case] = []
        self._prepared = False

    def take(self, count: int) -> tuple[Case, ...]:
        """The first ``count`` cases."""
        self._prepare()
        while len(self._cases) < count:
            self._cases.append(self._next(len(self._cases)))
        return tuple(self._cases[:count])

    # --------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        if self._prepared:
            return
        self._prepared = True
        space, rng = self.space, np.random.default_rng([self.seed, 1 << 20])
        found = {name: solve(space, rng, {_given(name): True}) for name in space.optional}
        self.excluded = tuple(name for name, example in found.items() if example is None)
        self._never = {_given(name): False for name in self.excluded}
        usable = [name for name in space.optional if name not in self.excluded]
        self._gaps = tuple(name for name in usable if self._gap({_given(name): True}))
        # An operator without any kernel yet still has its reference to verify.
        examples = [
            solve(space, rng, self._never | dict.fromkeys(map(_given, self._gaps), False)) for _ in "123"
        ]
        self._lowers = any(each is not None and not self._gap(each) for each in examples)
        self._io = dtype_of(self._main()).name
        sizes = space.operator.axis_extents
        self._head = next(
            (str(sizes[role]) for role in ("D", "E") if str(sizes.get(role)) in space.variables), ""
        )
        self._heavy = {
            name
            for name in space.variables
            if name.startswith(("given(", "dtype(", "layout(")) or name in (GROUP, FILL, self._head)
        }

    def _main(self) -> str:
        return self.space.operator.outputs[0].like

    def _present(self, assignment: Mapping[str, Any]) -> frozenset[str]:
        return frozenset(name for name in self.space.optional if assignment.get(_given(name)))

    def _gap(self, assignment: Mapping[str, Any]) -> str:
        dtype = assignment.get(dtype_of(self._main()).name, "float16")
        return not_lowered(self.space.operator, dtype, self._present(assignment))

    def _kernel(self, assignment: Mapping[str, Any]) -> tuple[Any, ...]:
        """What decides which kernel runs, as far as the assignment tells."""
        return (assignment[self._io], assignment.get(self._head), self._present(assignment))

    def _next(self, number: int) -> Case:
        rng = np.random.default_rng([self.seed, number, 1 << 21])
        gap = self._lowers and bool(self._gaps) and number % EVERY_NOT_LOWERED == EVERY_NOT_LOWERED - 1
        for attempt in itertools.count():
            candidates = list(self._candidates(rng, number, gap))
            for _, _, assignment in sorted(candidates, key=lambda item: (-item[0], item[1])):
                case = Case(self.space, self.seed, number, assignment, attempt)
                try:
                    case.call()
                except CallError:
                    continue  # a constraint over elements: the next candidate
                self._covered |= self._pairs(assignment)
                if not gap:
                    key = self._kernel(assignment)
                    self._kernels[key] = self._kernels.get(key, 0) + 1
                return case
            if attempt > 20:
                break
        raise RuntimeError(f"no legal case of {self.space.operator.name} was found")

    def _candidates(
        self, rng: np.random.Generator, number: int, gap: bool
    ) -> Iterator[tuple[int, int, Assignment]]:
        for position in range(CANDIDATES):
            pinned = {**self._never, **self._pins(rng, number, gap)}
            assignment = solve(self.space, rng, pinned)
            if assignment is None or (self._lowers and bool(self._gap(assignment)) != gap):
                continue
            kept = self.space.canonical(assignment)
            new = self._pairs(kept) - self._covered
            score = sum(3 if {a, b} <= self._heavy else 1 for (a, _), (b, _) in new)
            yield score, position, kept

    def _pins(self, rng: np.random.Generator, number: int, gap: bool) -> dict[str, Any]:
        if gap:
            return {_given(self._gaps[int(rng.integers(len(self._gaps)))]): True}
        pins: dict[str, Any] = {_given(name): False for name in self._gaps if self._lowers}
        if len(self._kernels) >= allowance(number):
            known = list(self._kernels)
            odds = np.array([1.0 / self._kernels[key] for key in known])
            dtype, head, present = known[int(rng.choice(len(known), p=odds / odds.sum()))]
            pins |= {self._io: dtype} | ({self._head: head} if head is not None else {})
            pins |= {_given(name): name in present for name in self.space.optional}
        # About half of all cases are probes: they see most.
        if rng.random() < 0.4:
            pins[FILL] = PROBE
        return pins

    def _pairs(self, assignment: Mapping[str, Any]) -> set[tuple[Any, ...]]:
        items = sorted((name, str(value)) for name, value in assignment.items())
        return set(itertools.combinations(items, 2))


def _given(name: str) -> str:
    return given(name).name


def allowance(number: int) -> int:
    """How many kernels the cases up to ``number`` may use."""
    return 8 + number // 5


def case_stream(operator: Operator, cases: int, seed: int = 0) -> tuple[Case, ...]:
    """The first ``cases`` cases of a seed."""
    return Stream(operator, seed).take(cases)
