"""A miss made small: the smallest case found on which the same backend still misses, and where it goes wrong.

Greedy: of the changes that make a case smaller, the first with which the backend still misses is taken, and
the search goes on from there. Changes that keep the kernel come first, since others compile one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from attndsl.base.errors import InternalError, UserError
from attndsl.campaign.judging import judge, wanted_of
from attndsl.campaign.less_l2 import call_of
from attndsl.campaign.results import MISS, BackendResult, Row
from attndsl.diagnosis.first_difference import RunsKernels, first_difference
from attndsl.diagnosis.miss import Difference, SmallestMiss
from attndsl.diagnosis.rounding import Precise
from attndsl.diagnosis.rounding import precise as run_in_fp64
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.changed_case import changed, smaller, work_of_case
from attndsl.verify.judge.compare import LEVELS, Level

TRIES, KERNELS = 80, 6
"""Cases that are run at most, and those of them that need another kernel."""


def smallest_miss(
    case: Case,
    row: Row,
    *,
    level: Level | None = LEVELS[0],
    execute: RunsKernels | None = None,
    same_kernel: bool = False,
    tries: int = TRIES,
    precise: bool = False,
    progress: Callable[[int], object] | None = None,
) -> SmallestMiss:
    """The smallest case found on which the first backend that missed ``case`` still misses.

    Args:
        case: that missed.
        row: its row.
        level, execute: as of :func:`attndsl.campaign.runner.verify`.
        same_kernel: whether the kernel must stay, as where ``execute`` knows a few alone.
        tries: cases that are run at most; with 0 the case itself is explained.
        precise: whether the smallest case's tile program runs in float64, too, to see what rounding does.
        progress: called with the number of cases tried.
    """
    backend = next(result.backend for result in row.results if result.status == MISS)
    search = _Search(case, backend, level, execute, tries, progress)
    with single_threaded_blas():
        while search.step(same_kernel):
            pass
        call = call_of(search.best)
        difference = _difference(call, execute) if backend == "emulator" else None
        in_fp64 = _in_fp64(search, call) if precise and backend != "reference" else None
    extents = call.extents
    return SmallestMiss(
        source=case.operator.source,
        seed=case.seed,
        case=case.number,
        backend=backend,
        changes=search.changes,
        shape=" ".join(f"{axis}{extents[axis]}" for axis in "BNKQTUDE" if axis in extents),
        tries=search.tries,
        message=search.message or next(each.message for each in row.results if each.backend == backend),
        difference=difference,
        precise=in_fp64,
        options=row.options,
    )


def _difference(call: Call, execute: RunsKernels | None) -> Difference | None:
    try:
        return first_difference(call, execute)
    except (UserError, InternalError):
        return None  # the miss is that nothing comes out: its message says what


def _in_fp64(search: _Search, call: Call) -> Precise | None:
    try:
        return run_in_fp64(call, wanted_of(search.best, call, search.level))
    except (UserError, InternalError):
        return None  # as above


@dataclass
class _Search:
    """What a search has found so far."""

    case: Case
    backend: str
    level: Level | None
    execute: RunsKernels | None
    most: int
    progress: Callable[[int], object] | None
    changes: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    kernels: int = 0
    message: str = ""

    def __post_init__(self) -> None:
        self.best, self._failed = self.case, set[str]()

    def step(self, same_kernel: bool) -> bool:
        """Take the first smaller case that still misses; False where there is none, or all tries are used."""
        if self.tries >= self.most:
            return False
        work = work_of_case(self.best.outline())
        for changes in smaller(self.case, self.changes):
            found = None if repr(changes) in self._failed else changed(self.case, changes)
            if found is None or work_of_case(found.outline()) >= work:
                continue
            other = found.kernel != self.best.kernel
            if self.tries >= self.most:
                return False
            if other and (same_kernel or self.kernels >= KERNELS):
                continue
            self.kernels += other
            if self._misses(found):
                self.best, self.changes = found, changes
                return True
            self._failed.add(repr(changes))
        return False

    def _misses(self, case: Case) -> bool:
        self.tries += 1
        if self.progress is not None:
            self.progress(self.tries)
        result = self._result(case)
        if result.status == MISS:
            self.message = result.message
        return result.status == MISS

    def _result(self, case: Case) -> BackendResult:
        call = call_of(case)
        return judge(call, self.backend, wanted_of(case, call, self.level), self.execute)
