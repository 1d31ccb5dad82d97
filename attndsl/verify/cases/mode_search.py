"""The search for the cases of one mode of an operator: each is asked for what those before it lack.

Each new case is the one, of a few legal candidates, that covers most pairs of values not covered before
(AETG, Cohen et al. 1997). What mattered in none of the first cases, and situations that none has been in, are
then asked for by name, so that few cases check every feature. Kernels cost seconds to compile, so their
number grows slower than that of the cases: beyond an allowance a case reuses a specialization and varies
everything else.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from attndsl.base.errors import UserError
from attndsl.expr.argument_facts import DTYPE, GIVEN, LAYOUT, SPLIT, given, kind_of
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case, drawn_case, head_variable, kernel_key, kernel_variables
from attndsl.verify.cases.deciding_values import deciding_values
from attndsl.verify.cases.demand import Demand
from attndsl.verify.cases.effects import effective_features
from attndsl.verify.cases.features import declared_features, possible_features, work_of
from attndsl.verify.cases.kernel_demands import demands
from attndsl.verify.cases.other_calls import may_matter
from attndsl.verify.cases.prompt_demands import of_prompts, tasks_of_halves
from attndsl.verify.cases.score_bounds import unbounded
from attndsl.verify.cases.situations import Situation, situations, situations_of_kernels
from attndsl.verify.cases.wanted_kernel import FIRST, WantedKernel, beyond_a_tile, first_sizes
from attndsl.verify.space.solve import is_contradiction, solve
from attndsl.verify.space.space import Assignment, CaseSpace
from attndsl.verify.space.values import (
    ANY,
    FEW,
    FEW_FORCED,
    FILL,
    GROUP,
    PROBE,
    RAMP,
    RAMPS,
    ROOMY,
    SCORES_OF_HALVES,
    SLOPE,
    WIDE,
    WORKLOAD,
    WORKLOADS,
)
from attndsl.verify.space.work_clauses import may_be_wide

CANDIDATES = 3
PROBES = 0.4
"""Part of the cases that are pinned to be probes; with those drawn it is about half. They see most."""
_ATTEMPTS = 30
_PINNED = 5
"""Attempts with the work that it is the case's turn to have."""
_PAIR_TRIES = 2
_LOOKED_AT = 12
"""Cases of a mode with a feature in which it is looked for whether it matters: some never do."""
_ASKED = 6
"""How often one feature is asked for in vain at most; twice where no call that was drawn depends on it."""
_NAMES = 2
"""Features that a case is asked for, until one of them can matter in some call."""
_WISHES = 4
"""Calls that are tried for the feature that a case is asked for."""
_DRAWN, _DECIDED = 6, 24
"""Calls that are drawn for a feature at a time, until what they compute depends on it, and values of other
variables with which it may."""
_OVERDUE = 16
"""Cases of a mode after which a feature that mattered in none of them is asked for: half of a third of 96."""
_UNMET = 5
"""The turn of a mode from which on every second case is asked for a situation that none has been in."""
_FEATURE_WALKS = 4
_OF_DEFAULTS, _AT_DEFAULTS = 1, 10
"""The turn whose case has all numbers at their defaults, and its attempts that keep them there."""
_WALKS, _USUAL_WALKS, _LAST_WALKS = 3, 5, 12
"""Walks of a search for a kernel: more for what its first cases and demands ask for, which few calls have,
and most where there would be no case else."""
_KERNEL_PINNED = 3
"""Attempts with a kernel that exists, or with the head size that a new one shall have."""

_RANDOMLY_FORCED = 8
"""Every so many cases of a kernel, from the first one on, force a third of what is selected from."""
_LIKELY = 0.75
"""How many of a wanted kernel's likely values a candidate has, but for the first."""


class NoCaseFound(UserError, RuntimeError):
    """The search for a legal call found none.

    ``rules``: those over elements of tensors that it could not keep, where sizes and parameters were found.
    """

    def __init__(self, name: str, rules: Sequence[str] = ()) -> None:
        if rules:
            told = "; ".join(rules)
            super().__init__(
                f"the search for cases of {name} failed: it found sizes and parameters, but no elements of "
                f"tensors that keep {told}. The spec may well be right; a narrower rule on sizes, or a rule "
                "that compares an element with a number or a size, is found more easily"
            )
            return
        super().__init__(
            f"no legal case of {name} was found; if rules of op.require exclude each other, widen one of them"
        )


def _may_have(kernel: WantedKernel, pins: Mapping[str, Any]) -> bool:
    """Whether calls of a kernel may have these values, the tensors that it takes among them."""
    taken: dict[str, Any] = {name: v for name, v in kernel.likely.items() if kind_of(name) == GIVEN}
    taken |= kernel.pins
    return all(taken.get(name, value) == value for name, value in pins.items())


class ModeSearch:
    """The cases of one mode: what they have covered so far."""

    def __init__(self, space: CaseSpace, seed: int, kernels: Sequence[WantedKernel]) -> None:
        self.space, self.seed = space, seed
        self._wanted = [each for each in kernels if each.mode.name == space.operator.name]
        self.excluded: tuple[str, ...] = ()
        self._covered: set[tuple[Any, ...]] = set()
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._head = head_variable(space)
        self._tries: collections.Counter[tuple[Any, ...]] = collections.Counter()
        self._unsettled: list[tuple[Case, frozenset[str]]] = []
        """Cases with their declared features, of which it was not yet asked which matter."""
        self._seen: set[str] = set()
        """The features that mattered in a case."""
        self._looked_at: collections.Counter[str] = collections.Counter()
        self._asked: collections.Counter[str] = collections.Counter()
        """Cases that each feature was asked for in vain."""
        self._unmade: set[tuple[str, str]] = set()
        """Features and workloads that no search has brought together."""
        self._situations: tuple[Situation, ...] = ()
        self._met: set[str] = set()
        """The situations that a case has been in."""
        self._vain: collections.Counter[str] = collections.Counter()
        """Cases that each situation was asked for in vain."""
        self._hopeless: set[str] = set()
        """Workloads that no call has, or for which a whole turn has found no assignment."""

    def prepare(self) -> None:
        """Find out which optional tensors no legal call passes."""
        space, rng = self.space, np.random.default_rng([self.seed, 1 << 20])
        found = {
            name: solve(space, rng, {given(name).name: True, WORKLOAD: "any"}, walks=8)
            for name in space.optional
        }
        self.excluded = tuple(name for name, example in found.items() if example is None)
        self._never = {given(name).name: False for name in self.excluded}
        own = situations_of_kernels(space) if self._wanted else tasks_of_halves(space)
        self._situations = (*situations(space), *own)
        if not may_be_wide(space, space.variables):
            self._hopeless.add(WIDE)
        heavy = (GIVEN, DTYPE, LAYOUT, SPLIT)
        self._heavy = {
            name
            for name in space.variables
            if kind_of(name) in heavy
            or name in (GROUP, FILL, self._head, *space.operator.specialization_parameters)
            or any(param.name == name and param.choices for param in space.operator.params)
        }

    def next(self, operator: Operator, number: int, turn: int) -> Case:
        """Case ``number``, the ``turn``-th of this mode."""
        rng = np.random.default_rng([self.seed, number, 1 << 21])
        wanted = self._wanted[turn % len(self._wanted)] if self._wanted else None
        if turn >= _OVERDUE and wanted is None and (case := self._overdue(rng, operator, number, turn)):
            return case
        asks = turn >= _UNMET and turn % 2 and wanted is None and self._workload(turn, 0) != WIDE
        if asks and self._kernels and (case := self._in_a_new_situation(rng, operator, number, turn)):
            return case
        solved: set[str] = set()
        asked: set[str] = set()
        for attempt in range(_ATTEMPTS):
            candidates = list(self._candidates(rng, turn, attempt))
            workload = self._workload(turn, attempt)
            solved |= {workload} if candidates else set()
            asked.add(workload)
            for _, _, assignment in sorted(candidates, key=lambda item: (-item[0], item[1])):
                demand = self._demand(turn, attempt)
                space = self._space_for(demand)
                drawn = drawn_case(
                    operator, space, assignment, rng, seed=self.seed, number=number, attempt=attempt
                )
                if drawn is None or not self._is_affordable(*drawn, workload):
                    continue  # the next candidate
                if demand is not None and not demand.holds(drawn[1]):
                    continue
                if wanted is None or self._is_for(wanted, drawn[1], demand):
                    if wanted is None:  # wide rows are asked for in two ways, of which a turn tries one
                        self._hopeless |= asked - solved - {WIDE, ""}
                    return self._taken(*drawn)
        of = wanted.name if wanted is not None else self.space.operator.name
        raise NoCaseFound(of, self._rules_over_elements() if solved else ())

    @staticmethod
    def _is_for(kernel: WantedKernel, call: Call, demand: Demand | None) -> bool:
        """Whether a call is one of the kernel, with tasks of two halves where they are asked for."""
        halves = demand is not None and demand.halves
        return kernel.takes(call) and (not halves or kernel.has_halves(call))

    def _rules_over_elements(self) -> tuple[str, ...]:
        """The constraints that no sizes and parameters decide, as messages word them."""
        rules = (rule for rule in self.space.operator.constraints if rule.tensors() or rule.over)
        told = (f"'{rule.argument}' {rule.text}" if rule.argument else rule.text for rule in rules)
        return tuple(dict.fromkeys(told))

    def _is_affordable(self, case: Case, call: Call, workload: str) -> bool:
        """Whether lengths left the work what it shall be, and no tensor that follows from them is larger than
        sizes alone tell."""
        most = case.space.values.most_elements
        return work_of(self.space, call).keeps(workload) and all(
            array.size <= most for array in call.arrays.values()
        )

    def _taken(self, case: Case, call: Call) -> Case:
        """A case of the stream, with what it covers marked."""
        self._covered |= pairs(self.space.canonical(case.assignment))
        self._unsettled.append((case, frozenset(declared_features(call))))
        key = kernel_key(self.space, case.assignment)
        self._kernels[key] = self._kernels.get(key, 0) + 1
        self._met |= {
            each.name for each in self._situations if each.name not in self._met and each.holds(call)
        }
        return case

    # What matters in no case yet --------------------------------------------------------------------------

    def _settle(self) -> None:
        """Find what matters in the cases so far, of what has in none before: it takes longer than to find the
        cases, and the first ones are found without."""
        for case, declared in self._unsettled:
            new = [each for each in sorted(declared - self._seen) if self._looked_at[each] < _LOOKED_AT]
            outline = case.outline() if new else None
            asked = [each for each in new if outline is not None and may_matter(outline, each)]
            self._seen |= effective_features(case.call(), asked, quick=True) if asked else frozenset()
            self._looked_at.update(declared)
        self._unsettled.clear()

    @cached_property
    def _missing(self) -> dict[str, dict[str, Any]]:
        """The features that mattered in none of the first cases, and that legal calls have, with the values
        that make them."""
        rng, found = np.random.default_rng([self.seed, 1 << 24]), {}
        known = possible_features(self.space)
        for name in sorted(known.keys() - self._seen):
            pins = {**known[name], **self._never, WORKLOAD: "any"}
            never = any(self._never.get(each, value) != value for each, value in known[name].items())
            if never or is_contradiction(self.space, pins):
                continue
            if solve(self.space, rng, pins, walks=_FEATURE_WALKS) is not None:
                found[name] = known[name]
        return found

    def _overdue(self, rng: np.random.Generator, operator: Operator, number: int, turn: int) -> Case | None:
        """A case in which a feature matters that mattered in none, of those that were asked for least. No
        allowance of kernels is asked: a feature without a case would be one that nothing has checked."""
        self._settle()
        names = [each for each in self._missing if each not in self._seen and self._asked[each] < _ASKED]
        picked = [names[int(pick)] for pick in rng.permutation(len(names))]
        for name in sorted(picked, key=self._asked.__getitem__)[:_NAMES]:
            legal = False
            for _ in range(_WISHES):
                workloads = dict.fromkeys((self._workload(turn, 0), "any"))
                found = (self._dependent(rng, name, operator, number, each) for each in workloads)
                drawn = next((each for each in found if each is not None), None)
                if drawn is None:
                    break
                legal = True
                if effective_features(drawn[0].call(), [name], quick=True):
                    self._seen.add(name)
                    return self._taken(*drawn)
            self._asked[name] += 1 if legal else 2
            if legal:
                break  # it had its turn
        return None

    def _in_a_new_situation(
        self, rng: np.random.Generator, operator: Operator, number: int, turn: int
    ) -> Case | None:
        """A case in a situation that none has been in, of those that were asked for least: with a kernel that
        exists, or else with any."""
        mine = ("", self._workload(turn, 0))
        unmet = [each for each in self._situations if each.name not in self._met and each.workload in mine]
        picked = [unmet[int(pick)] for pick in rng.permutation(len(unmet))]
        asked = [each for each in picked if self._vain[each.name] < _ASKED]
        order = sorted(asked, key=lambda one: (not one.workload, self._vain[one.name], not one.first))
        for each in order[:_NAMES]:
            for kernel in (self._known_kernel(rng), {}):
                data = RAMP if self._place(turn) in RAMPS else PROBE  # which shows each key at an edge
                own = {WORKLOAD: self._workload(turn, 0), FILL: data, **kernel}
                pins = {**own, **each.pins(rng), **self._never}
                if is_contradiction(self.space, pins):
                    continue
                assignment = solve(self.space, rng, pins)
                drawn = assignment and drawn_case(
                    operator, self.space, assignment, rng, seed=self.seed, number=number
                )
                if drawn and self._is_affordable(*drawn, pins[WORKLOAD]) and each.holds(drawn[1]):
                    return self._taken(*drawn)
            self._vain[each.name] += 1
        return None

    def _known_kernel(self, rng: np.random.Generator) -> dict[str, Any]:
        """The values that decide about a kernel that cases have, one of those that few have most likely."""
        known = list(self._kernels)
        odds = np.array([1.0 / self._kernels[key] for key in known])
        picked = known[int(rng.choice(len(known), p=odds / odds.sum()))]
        return {name: value for name, value in picked if value is not None}

    def _dependent(
        self, rng: np.random.Generator, feature: str, operator: Operator, number: int, workload: str
    ) -> tuple[Case, Call] | None:
        """A case with a feature on which what is computed depends, so far as numbers do not decide: with a
        workload, or with any where the two do not go together."""
        own, solved = self._missing[feature], 0
        for _ in range(_DECIDED):
            of = "any" if (feature, workload) in self._unmade else workload or "any"
            beside = deciding_values(self.space, own, rng)
            pins = {**beside, **own, **self._never, WORKLOAD: of}
            if is_contradiction(self.space, pins):
                continue
            if (solved := solved + 1) > _DRAWN:
                break
            assignment = solve(self.space, rng, pins)
            if assignment is None:
                if not beside:
                    self._unmade.add((feature, workload))
                continue
            drawn = drawn_case(operator, self.space, assignment, rng, seed=self.seed, number=number)
            if drawn and self._is_affordable(*drawn, of) and may_matter(drawn[1], feature):
                return drawn
        return None

    # Candidates -------------------------------------------------------------------------------------------

    def _candidates(
        self, rng: np.random.Generator, turn: int, attempt: int
    ) -> Iterator[tuple[int, int, Assignment]]:
        if self._wanted:
            yield from self._for_kernel(rng, turn, attempt)
            return
        for position in range(CANDIDATES):
            pins = self._pins(rng, turn, attempt)
            if position == 0 and attempt < _KERNEL_PINNED and len(self._kernels) < allowance(turn):
                pins |= self._rare_pair(rng)
            assignment = solve(self.space, rng, {**pins, **self._never})
            if assignment is None:
                continue
            new = pairs(self.space.canonical(assignment)) - self._covered
            score = sum(3 if {a, b} <= self._heavy else 1 for (a, _), (b, _) in new)
            yield score, position, assignment

    def _for_kernel(
        self, rng: np.random.Generator, turn: int, attempt: int
    ) -> Iterator[tuple[int, int, Assignment]]:
        """Assignments for the kernel whose turn it is."""
        kernel, variables = self._wanted[turn % len(self._wanted)], self.space.variables
        first = self._first(turn) if attempt < _ATTEMPTS // 2 else None
        demand = self._demand(turn, attempt)
        usual = demand is not None or (first is not None and attempt < 2 * _PINNED)
        own = first_sizes(self.space, rng, first[0] if first else "") if usual else {}
        # some kernels have no such call that is affordable
        rising = first is not None and first[0] == RAMP and attempt < _KERNEL_PINNED
        beside = beyond_a_tile(self.space) if rising else self._beside(demand, attempt)
        whole = demand is not None and demand.whole
        for position in range(CANDIDATES):
            kept = _LIKELY if position else 1.0
            likely = {name: value for name, value in kernel.likely.items() if rng.random() < kept}
            pins = {name: value for name, value in {**likely, **kernel.pins}.items() if name in variables}
            for name, every in kernel.sizes.items():
                if name in variables:
                    legal = (each for each in every if not is_contradiction(self.space, {name: each}))
                    sizes = tuple(legal) or every
                    pins[name] = sizes[0 if whole else int(rng.integers(len(sizes)))]
            pins |= {WORKLOAD: workload} if (workload := self._workload(turn, attempt)) else {}
            pins |= {FILL: first[0]} if first else self._fill(rng, turn)
            if pins.get(FILL) == RAMP:
                pins[SLOPE] = own.get(SLOPE, float(rng.choice([-1.0, 1.0])))
            if self.space.forces and (turn // len(self._wanted)) % _RANDOMLY_FORCED:
                pins[FEW_FORCED] = True
            pins |= self._of_situation(rng, turn, attempt)
            pins = {**own, **self._never, **pins}
            fixed = pins.keys() - (likely.keys() - kernel.pins.keys() if demand is not None else set())
            for name, value in beside.items():
                if name not in fixed and not is_contradiction(self.space, {**pins, name: value}):
                    fixed, pins[name] = fixed | {name}, value
            walks = _LAST_WALKS if attempt >= _ATTEMPTS // 2 else _USUAL_WALKS if usual else _WALKS
            assignment = solve(self._space_for(demand), rng, pins, walks=walks)
            if assignment is not None:
                if SLOPE in assignment:
                    assignment = unbounded(self.space, assignment)
                yield len(pairs(self.space.canonical(assignment)) - self._covered), position, assignment

    @staticmethod
    def _beside(demand: Demand | None, attempt: int) -> Mapping[str, Any]:
        return {} if demand is None else demand.beside(attempt // _PINNED)

    def _space_for(self, demand: Demand | None) -> CaseSpace:
        """The space that cases are drawn from: of some demands with larger tensors, or more scores, too."""
        return self.space if demand is None or not demand.roomy else self._roomy[demand.halves]

    @cached_property
    def _roomy(self) -> tuple[CaseSpace, CaseSpace]:
        """The space with larger tensors; with room for the scores of tasks of two halves, too."""
        large = replace(self.space.values, most_elements=ROOMY)
        both = replace(large, most_scores=SCORES_OF_HALVES)
        return replace(self.space, values=large), replace(self.space, values=both)

    def _workload(self, turn: int, attempt: int) -> str:
        """What the case is about; some kernels and sizes do not go together, so that later attempts ask for
        less, and the last for nothing. Each of the wanted kernels starts with another."""
        if (demand := self._demand(turn, attempt)) is not None:
            return demand.workload_of(attempt // _PINNED)
        first = self._first(turn)
        workload = first[1] if first else WORKLOADS[self._place(turn)]
        words = workload.split()
        less = [words[-1]]
        if "long" in words or "deep" in words:
            less = ["several", words[-1]] if words[-1] != "long" else ["long", "several"]
            less = [f"several {words[-1]}", *less] if words[-1] in ("few", "many") else less
            less = ["long", *less] if words == ["long", "many"] else less
        less = ["several"] if first and first[0] == RAMP else less
        levels = [each for each in (workload, *less, "") if each not in self._hopeless]
        return levels[min(attempt // _PINNED, len(levels) - 1)]

    def _of_situation(self, rng: np.random.Generator, turn: int, attempt: int) -> dict[str, Any]:
        """What makes a case of a wanted kernel what it is asked for; where it is asked for nothing, what
        brings every second one after the first ones into a situation that none has been in."""
        if (demand := self._demand(turn, attempt)) is not None:
            return dict(demand.pins(rng))
        number = turn // len(self._wanted) - len(FIRST)
        unmet = [each for each in self._situations if each.name not in self._met]
        if attempt >= _PINNED or number < 0 or number % 2 or not unmet:
            return {}
        pool = [each for each in unmet if each.first] if number % 4 == 0 else []
        picked, kernel = pool or unmet, self._wanted[turn % len(self._wanted)]
        own = [pins for pins in (dict(each.pins(rng)) for each in picked) if _may_have(kernel, pins)]
        return own[int(rng.integers(len(own)))] if own else {}

    def _demand(self, turn: int, attempt: int = 0) -> Demand | None:
        """What a case of a wanted kernel is asked for, after the first ones: the next demand where it is the
        turn of few tasks with many keys, which most of them need, or of any work; of prompts also where there
        shall be many tasks."""
        of = len(self._wanted)
        asking = (FEW, ANY)
        if not of or attempt >= 2 * _PINNED or turn < of * len(FIRST):
            return None
        prompts = of_prompts(self.space)
        is_many = bool(prompts) and self._has_many(turn)
        if not is_many and WORKLOADS[self._place(turn)] not in asking:
            return None
        earlier = range(turn % of + of * len(FIRST), turn, of)
        before = sum(
            self._has_many(each) if is_many else WORKLOADS[self._place(each)] in asking for each in earlier
        )
        asked = prompts if is_many else demands(self.space)
        return asked[before] if before < len(asked) else None

    def _has_many(self, turn: int) -> bool:
        """Whether it is a turn of many tasks, or of rows with many tiles that one core sees."""
        words = WORKLOADS[self._place(turn)].split()
        return "deep" in words or ("many" in words and "edge" not in words)

    def _first(self, turn: int) -> tuple[str, str] | None:
        """Data and work of one of the first cases of a wanted kernel; None of others."""
        number, kernel = divmod(turn, len(self._wanted) or 1)
        return FIRST[(number + kernel) % len(FIRST)] if self._wanted and number < len(FIRST) else None

    def _place(self, turn: int) -> int:
        """Which workload's turn it is."""
        return (turn + (turn // len(self._wanted) if self._wanted else 0)) % len(WORKLOADS)

    def _fill(self, rng: np.random.Generator, turn: int) -> dict[str, Any]:
        """What the data are pinned to be: mostly nothing, often a probe. In two of the turns in which keys
        are split, scores rise or fall along them: of other data the parts have much the same maximum, and
        merging them rescales nothing."""
        probe = rng.random() < PROBES
        if self._place(turn) in RAMPS:
            return {FILL: RAMP}
        return {FILL: PROBE} if probe else {}

    def _pins(self, rng: np.random.Generator, turn: int, attempt: int) -> dict[str, Any]:
        pins: dict[str, Any] = {}
        if workload := self._workload(turn, attempt):
            pins[WORKLOAD] = workload
        pins |= self._fill(rng, turn)
        if workload == WIDE and turn // len(WORKLOADS) % 2 and (heads := self._many_small_heads):
            return pins | heads[int(rng.integers(len(heads)))]
        if turn == _OF_DEFAULTS and attempt < _AT_DEFAULTS:
            pins |= self._defaults
        if attempt >= _KERNEL_PINNED:
            return pins
        if len(self._kernels) < allowance(turn):
            return pins | self._rare_head(rng)
        return pins | self._known_kernel(rng)

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """Every parameter that is a number at its default, the values that users run with; of choices it is a
        feature. Data are no probe, which would take a scale of its own."""
        legal, params = self.space.variables, self.space.operator.params
        own = {each.name: each.default for each in params if each.optional and not each.choices}
        return {FILL: RAMP, **{name: value for name, value in own.items() if value in legal.get(name, ())}}

    def _rare_pair(self, rng: np.random.Generator) -> dict[str, Any]:
        """Two features that no case has together: by chance alone, some pairs would come late. Those that
        were asked for a few times in vain have no legal call."""
        known, legal = self._covered, self.space.variables
        features = set(kernel_variables(self.space)) - {self._head, *self._never}
        names = sorted(name for name in features if name in legal)
        rare = [
            ((a, one), (b, other))
            for a, b in itertools.combinations(names, 2)
            for one in dict.fromkeys(legal[a])
            for other in dict.fromkeys(legal[b])
            if ((a, str(one)), (b, str(other))) not in known and self._tries[a, one, b, other] < _PAIR_TRIES
        ]
        if not rare:
            return {}
        first, second = rare[int(rng.integers(len(rare)))]
        self._tries[(*first, *second)] += 1
        # Left to the search, nearly all calls would pass several optional tensors.
        alone = {given(name).name: False for name in self.space.optional} if rng.random() < 0.5 else {}
        return {**alone, **dict((first, second))}

    @cached_property
    def _many_small_heads(self) -> list[dict[str, Any]]:
        """What makes rows of small heads wide, where the contract allows so many: their loads are not cut
        along the channels, as those of the large heads are by which the search makes rows wide."""
        space, extents = self.space, self.space.operator.axis_extents
        if GROUP not in space.variables:
            return []
        most = space.operator.device.architecture.max_nd2nz_pitch
        every = space.sizes_of("N")
        behind = [space.repairs(extents[axis].symbols()) for axis in "NK"]
        found = []
        for size in space.variables.get(self._head, ()):
            if 64 <= size <= space.schedule.base_k:
                heads = min(each for each in every if each * size > most)
                pins = {names[0]: heads for names in behind if len(names) == 1}
                found.append({self._head: size, GROUP: 1, **pins})
        rng = np.random.default_rng([self.seed, 1 << 22])
        return [pins for pins in found if solve(space, rng, {**pins, **self._never, WORKLOAD: WIDE}, walks=8)]

    def _rare_head(self, rng: np.random.Generator) -> dict[str, Any]:
        """A head size that fewest kernels have: left to the search, large ones would hardly occur, as small
        ones leave more room for everything else."""
        if not self._head:
            return {}
        used = collections.Counter(dict(key)[self._head] for key in self._kernels)
        sizes = self.space.variables[self._head]
        least = min(used[size] for size in sizes)
        rare = [size for size in sizes if used[size] == least]
        return {self._head: rare[int(rng.integers(len(rare)))]}


def pairs(assignment: Mapping[str, Any]) -> set[tuple[Any, ...]]:
    """The pairs of values that an assignment has together."""
    items = sorted((name, str(value)) for name, value in assignment.items())
    return set(itertools.combinations(items, 2))


def allowance(turn: int) -> int:
    """How many kernels the cases up to the ``turn``-th of a mode may use."""
    return 12 + turn // 3
