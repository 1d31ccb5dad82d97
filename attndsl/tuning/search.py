"""The search: from the default towards lower bounds, then predictions of the emulator for the best few.

It is deterministic: options and values are tried in a fixed order, and the first of equals is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from attndsl.compiler.compile import Compiled
from attndsl.lowering.match.schedule_options import Schedule
from attndsl.tuning.candidates import OF_ORDER, OF_WORK, Candidate, Candidates, same_kernel

Measure = Callable[[Compiled], float]
"""The predicted time of the call with a compiled kernel, in microseconds."""
_WORTH = 0.999
"""The part of the best rank, or time, below which another one is better."""
_ROUNDS = 6


@dataclass(frozen=True)
class Trial:
    """A candidate whose time the emulator predicted, in microseconds."""

    candidate: Candidate
    compiled: Compiled
    predicted: float


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes:
        default: the schedule without any choice. ``best``: the fastest; the default if none is faster.
        trials: all that were predicted, the fastest first.
        bounded: all candidates that have bounds, by rank.
        unfit: those of the best that the passes found no place or no event ids for.
    """

    default: Trial
    best: Trial
    trials: tuple[Trial, ...]
    bounded: tuple[Candidate, ...]
    unfit: tuple[Candidate, ...]


def ranked(candidates: Candidates, rounds: int = _ROUNDS) -> tuple[Candidate, ...]:
    """The candidates on the way from the default to lower bounds, and their neighbours, by rank.

    Each round looks at all schedules that differ from the best one in one option. ``rounds``: at most.
    """
    best = _default(candidates)
    for _ in range(rounds):
        around = (candidates.candidate(each) for each in candidates.neighbours(best.schedule, OF_WORK))
        lower = [each for each in around if each is not None and each.bounds.rank < best.bounds.rank * _WORTH]
        fitting = (each for each in sorted(lower, key=_rank) if candidates.compiled(each) is not None)
        nearest = next(fitting, None)
        if nearest is None:
            break
        best = nearest
    return tuple(sorted(candidates.known, key=_rank))


def search(
    candidates: Candidates,
    measure: Measure,
    top: int,
    stored: Mapping[str, int | str] | None = None,
) -> Search:
    """The best schedule of those that are tried: the default, ``stored`` options, and ``top`` others.

    First comes the one with the best rank. The others differ in one option from the fastest so far, or from
    the second. What cannot be faster than the fastest so far, by its bounds, is not predicted.

    Raises:
        ScheduleError: stored options are illegal.
    """
    bounded = ranked(candidates)
    first = _default(candidates)
    found = _Found(candidates, measure, Trial(first, candidates.default, measure(candidates.default)))
    if stored:
        known = candidates.candidate(candidates.with_options(stored))
        if known is not None:
            found.try_out(known)
    left = top
    for each in bounded:
        if left < top:
            break
        left -= found.try_out(each)
    while left > 0:
        another = next(found.around_the_fastest(), None)
        if another is None:
            break
        left -= found.try_out(another)
    trials = tuple(sorted(found.trials, key=lambda each: each.predicted))
    return Search(found.trials[0], found.best, trials, bounded, tuple(found.unfit))


def _default(candidates: Candidates) -> Candidate:
    found = candidates.candidate(candidates.default.schedule)
    assert found is not None, "the default is legal"
    return found


def _rank(candidate: Candidate) -> tuple[float, int]:
    """Lower bounds first, then fewer options."""
    return candidate.bounds.rank, len(candidate.options)


class _Found:
    """What a search has tried so far; the default is the first of ``trials``."""

    def __init__(self, candidates: Candidates, measure: Measure, default: Trial) -> None:
        self._candidates, self._measure = candidates, measure
        self.trials, self.best = [default], default
        self.unfit: list[Candidate] = []
        self._done = {default.candidate.schedule}

    def try_out(self, candidate: Candidate) -> bool:
        """Predict a candidate's time; False where that was done, is not possible, or cannot be the best."""
        if candidate.schedule in self._done or candidate.bounds.least >= self.best.predicted:
            return False
        self._done.add(candidate.schedule)
        compiled = self._candidates.compiled(candidate)
        if compiled is None:
            self.unfit.append(candidate)
            return False
        if any(same_kernel(trial.compiled, compiled) for trial in self.trials):
            return False
        trial = Trial(candidate, compiled, self._measure(compiled))
        self.trials.append(trial)
        if trial.predicted < self.best.predicted * _WORTH:
            self.best = trial
        return True

    def around_the_fastest(self) -> Iterator[Candidate]:
        """What to try next.

        First the fastest with one of its options as by default, which tells what that option is worth. Then
        in turn neighbours of the fastest by rank, of the second by rank, and those of the fastest that only
        the emulator tells apart.
        """
        fastest = sorted(self.trials, key=lambda trial: trial.predicted)[:2]
        best = self.best.candidate
        default = self._candidates.default.schedule
        back = {name: (getattr(default, name),) for name in best.options}
        yield from self._open(self._candidates.neighbours(best.schedule, back))
        by_rank = (self._by_rank(trial.candidate.schedule) for trial in fastest)
        told_apart = self._open(self._candidates.neighbours(best.schedule, OF_ORDER))
        for turn in zip_longest(*by_rank, told_apart):
            yield from (each for each in turn if each is not None)

    def _by_rank(self, schedule: Schedule) -> Iterator[Candidate]:
        """Neighbours in options that bounds see, one of those of equal rank, none of the rank of a trial."""
        known = {trial.candidate.bounds.rank for trial in self.trials}
        for each in sorted(self._open(self._candidates.neighbours(schedule, OF_WORK)), key=_rank):
            if each.bounds.rank not in known:
                known.add(each.bounds.rank)
                yield each

    def _open(self, schedules: Iterable[Schedule]) -> Iterator[Candidate]:
        """Those that are legal, may be faster than the fastest, and were not tried."""
        for schedule in schedules:
            if schedule in self._done:
                continue
            candidate = self._candidates.candidate(schedule)
            if candidate is None or candidate.bounds.least >= self.best.predicted:
                self._done.add(schedule)
            else:
                yield candidate
