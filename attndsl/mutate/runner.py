"""Mutants of operators as a campaign: kernels are measured on their cases, then mutants run on those.

Most mutants die in their first case, and finding cases for a kernel takes longer than running a mutant. So
all mutants run on a few cases of their kernels first; those that survive run on the others, which are
searched for where a kernel has survivors.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import content_key, stored_or_made, stores_programs
from attndsl.base.errors import UserError
from attndsl.campaign.jobs import Job, Jobs, LocalProcesses, results_of
from attndsl.campaign.record_keys import part_digests, source_digest
from attndsl.campaign.runner import CannotTravel, operator_of
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import finished_projects
from attndsl.execute.execute import stored
from attndsl.execute.user_project import UserProject
from attndsl.mutate.bench import Bench, KernelFails, KernelFiles, MissedCase, Trial, kernel_files
from attndsl.mutate.mutants import Mutant, UnknownMutant, drawn, mutants_of
from attndsl.mutate.results import Mutation, TriedMutant, command_of
from attndsl.mutate.trial_run import KILLED, NOT_COMPILED, Outcome, try_mutant
from attndsl.spec.operator.operator import Operator

Progress = Callable[[int, int], object]
CASES_SEED = 0
"""Of all cases: the same for every draw, so that they are found once, and a survivor stays one."""
FIRST_CASES = 3
"""Cases that all mutants of a kernel run on, before others are looked for."""
_MANY = 12
"""Of so many mutants one survives the first cases, mostly: all cases are found at once."""
_TRIALS = "trials.pickle"


class NoKernels(UserError, LookupError):
    """An operator without kernels has no mutants."""

    def __init__(self, operator: str) -> None:
        super().__init__(f"{operator} has no kernel that could be changed; attndsl generate says why")


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What is drawn. ``count``: mutants that compile; ``seed``: of the draw alone; ``cases``: of each kernel;
    ``only``: the names of mutants to try instead."""

    count: int
    seed: int
    cases: int
    only: tuple[str, ...] = ()


def mutate(
    operators: Sequence[Operator],
    draw: Draw,
    *,
    project: Path | None = None,
    jobs: Jobs | None = None,
    journal: Path | None = None,
    progress: Progress | None = None,
    options: str = "",
) -> Mutation:
    """Try seeded defects in the kernels and plans of operators.

    Args:
        operators: whose projects are generated, with the kernels of the default request.
        draw: which mutants, of all places of all of them.
        project: the folder of a project of the only operator, instead of generated ones.
        jobs: who runs them; by default processes on this machine.
        journal: a file of finished jobs, which are not run again.
        progress: called with (mutants done, mutants in all) after each.
        options: of the command that tries a mutant again, beside its name.

    Raises:
        NoKernels: there is nothing to change.
        KernelFails: a kernel misses a case as it is; mutants of the other kernels have been tried by then.
        UnknownMutant: ``draw.only`` names one that is not there.
        CannotTravel: no file declares an operator.
        WrongJournal, WorkersLost: as :mod:`attndsl.campaign.jobs`.
    """
    started = time.monotonic()
    projects = [(each, kernels) for each in operators for kernels in _kernels(each, project)]
    campaign = _Campaign(
        [kernels for _, kernels in projects], draw, jobs or LocalProcesses(), journal, progress
    )
    tried, missing = campaign.run()
    owners = {kernel.kernel: operator for operator, kernels in projects for kernel in kernels}
    return Mutation(
        operator=" ".join(each.name for each in operators),
        seed=draw.seed,
        tried=tuple(
            TriedMutant(
                mutant=mutant,
                outcome=outcome,
                operator=owners[mutant.kernel].name,
                command=command_of(owners[mutant.kernel].in_commands, mutant.name, options),
            )
            for mutant, outcome in sorted(tried, key=_place)
        ),
        not_compiled=missing,
        sites=campaign.sites,
        seconds=time.monotonic() - started,
    )


def _place(tried: tuple[Mutant, Outcome]) -> tuple[str, int, int, str]:
    mutant, _ = tried
    return mutant.file, mutant.start, mutant.end, mutant.name


def _kernels(operator: Operator, project: Path | None) -> list[list[KernelFiles]]:
    """The kernels of each project."""
    if operator.content_key is None:
        raise CannotTravel(operator.name)
    if project is not None:
        mode = UserProject.at(project, operator).operator
        found = [list(kernel_files(project.resolve(), operator, mode))]
    else:
        modes = {each.name: each for each in (operator, *operator.modes)}
        made = [each for each in finished_projects(operator, KernelRequest()) if each.files]
        found = [list(kernel_files(stored(each.files), operator, modes[each.operator])) for each in made]
    if not any(found):
        raise NoKernels(operator.name)
    return found


class _Campaign:
    """The jobs of one draw."""

    def __init__(
        self,
        projects: Sequence[Sequence[KernelFiles]],
        draw: Draw,
        jobs: Jobs,
        journal: Path | None,
        progress: Progress | None,
    ) -> None:
        self._kernels = {each.kernel: each for project in projects for each in project}
        self._mutants = [mutant for project in projects for mutant in mutants_of(project)]
        self._draw, self._jobs, self._journal, self._progress = draw, jobs, journal, progress
        self._trials: dict[tuple[str, range], tuple[Trial, ...]] = {}
        self._failing: dict[str, MissedCase] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._as_tried: dict[str, Mutant] = {}

    @property
    def sites(self) -> dict[str, int]:
        """By class the number of mutants that there are."""
        found: dict[str, int] = {}
        for each in self._mutants:
            found[each.kind] = found.get(each.kind, 0) + 1
        return found

    def run(self) -> tuple[list[tuple[Mutant, Outcome]], int]:
        """The drawn mutants that compiled, with what became of them, and how many others did not compile."""
        while True:
            chosen = self._chosen()
            waiting = [each for each in chosen if each.name not in self._outcomes]
            if not waiting:
                break
            self._try_all(waiting, len(chosen))
        failed = sum(each.status == NOT_COMPILED for each in self._outcomes.values())
        compiled = [each for each in chosen if self._outcomes[each.name].status != NOT_COMPILED]
        return [(self._as_tried[each.name], self._outcomes[each.name]) for each in compiled], failed

    def _chosen(self) -> list[Mutant]:
        """The mutants of the draw as far as it is known which compile."""
        if self._draw.only:
            known = {each.name: each for each in self._mutants}
            for name in self._draw.only:
                if name not in known:
                    raise UnknownMutant(name, len(known))
            return [known[name] for name in self._draw.only]
        found: dict[str, Mutant] = {}
        for count, mutants in drawn(self._mutants, self._draw.count, self._draw.seed):
            taken = 0 if count < self._draw.count else len(found)
            for each in mutants:
                if taken == count or len(found) == self._draw.count:
                    break
                outcome = self._outcomes.get(each.name)
                if each.name in found or (outcome is not None and outcome.status == NOT_COMPILED):
                    continue
                found[each.name] = each
                taken += 1
        return list(found.values())

    def _try_all(self, mutants: Sequence[Mutant], total: int) -> None:
        """Try mutants on the first cases, and those that are still alive on all others.

        Raises:
            KernelFails: kernels miss a case as they are. Mutants of others are tried before that, so that a
                journal has them.
        """
        counts, cases = Counter(each.kernel for each in mutants), self._draw.cases
        first = {
            name: range(cases if count >= _MANY else min(FIRST_CASES, cases))
            for name, count in counts.items()
        }
        self._measure(first)
        mutants = [
            self._with_reaching_kernel(each, first) for each in mutants if each.kernel not in self._failing
        ]
        self._as_tried |= {each.name: each for each in mutants}
        self._try(mutants, first, total)
        rest = {name: range(own.stop, cases) for name, own in first.items() if own.stop < cases}
        self._try_survivors(mutants, rest, total)
        if self._failing:
            raise KernelFails(*self._failing.values())

    def _try_survivors(self, mutants: Iterable[Mutant], further: Mapping[str, range], total: int) -> None:
        """What becomes of those mutants that are still alive on further cases of their kernels, if any."""
        alive = [
            each
            for each in mutants
            if each.kernel in further.keys() - self._failing.keys()
            and self._outcomes[each.name].status not in (KILLED, NOT_COMPILED)
        ]
        self._measure({each.kernel: further[each.kernel] for each in alive})
        alive = [each for each in alive if each.kernel not in self._failing]
        before = {each.name: self._outcomes.pop(each.name) for each in alive}
        self._try(alive, further, total)
        self._outcomes |= {name: each.then(self._outcomes[name]) for name, each in before.items()}

    def _with_reaching_kernel(self, mutant: Mutant, cases: Mapping[str, range]) -> Mutant:
        """The mutant; with another kernel that shares its file, where cases of that one alone reach it."""
        own = self._kernels[mutant.kernel]
        for name in (mutant.kernel, *sorted(cases.keys() - self._failing.keys())):
            other = self._kernels[name]
            shared = other.mode == own.mode and other.files.get(mutant.file) == own.files[mutant.file]
            if shared and mutant.reaching(self._trials[name, cases[name]]):
                return replace(mutant, kernel=name)
        return mutant

    def _measure(self, wanted: Mapping[str, range]) -> None:
        """The cases of kernels in a range, with what each executes."""
        missing = [each for each in sorted(wanted.items(), key=str) if each not in self._trials]
        keys = {each: self._key("trials", self._kernels[each[0]], str(each[1])) for each in missing}
        found = self._results(
            Job(key, measure_kernel, (self._kernels[name], cases, key)) for (name, cases), key in keys.items()
        )
        for each, key in keys.items():
            if isinstance(found[key], MissedCase):
                self._failing[each[0]] = found[key]
            else:
                self._trials[each] = found[key]

    def _try(self, mutants: Sequence[Mutant], cases: Mapping[str, range], total: int) -> None:
        """What becomes of mutants on the cases of their kernels in a range."""
        keys = {
            each.name: self._key("mutant", self._kernels[each.kernel], each.name, str(cases[each.kernel]))
            for each in mutants
        }
        done = len(self._outcomes)
        progress = self._progress
        found = self._results(
            (
                Job(
                    keys[each.name],
                    run_mutant,
                    (each, self._kernels[each.kernel], self._trials[each.kernel, cases[each.kernel]]),
                )
                for each in sorted(mutants, key=lambda each: (each.kernel, each.file, each.start))
            ),
            None if progress is None else lambda finished: progress(done + finished, total),
        )
        self._outcomes |= {each.name: found[keys[each.name]] for each in mutants}

    def _results(
        self, jobs: Iterable[Job], progress: Callable[[int], object] | None = None
    ) -> dict[str, Any]:
        with warnings.catch_warnings():  # here, for all threads: filters are one state of the process
            warnings.simplefilter("ignore")
            return results_of(jobs, self._jobs, self._journal, progress)

    @staticmethod
    def _key(what: str, files: KernelFiles, *parts: str) -> str:
        """Over all that decides a result: other kernels and how the compiler arrives at this one do not."""
        told = (what, files.key, *_sources(files.source, files.device), *parts)
        return f"{what}-{content_key(*told)[:24]}"


@cache
def _sources(source: str, device: str) -> tuple[str, ...]:
    """Digests of what finds cases for an operator's kernels, changes, runs and judges them."""
    operator, _ = operator_of(source, device)
    parts = part_digests(operator, "emulator")
    return (*(parts[each] for each in sorted(parts) if each != "project"), source_digest("mutants"))


def measure_kernel(files: KernelFiles, cases: range, key: str) -> tuple[Trial, ...] | MissedCase:
    """The job of finding cases for a kernel, which are kept on disk, or the one that it misses as it is;
    ``key``: over all that decides them."""

    def read(folder: Path) -> tuple[Trial, ...] | None:
        try:
            found: tuple[Trial, ...] = pickle.loads((folder / _TRIALS).read_bytes())
        except Exception:  # a damaged pickle may raise anything; the cases are found again
            return None
        return found

    try:
        return stored_or_made(
            f"cases/{key}" if stores_programs() else None,
            lambda: Bench(files).trials(CASES_SEED, cases),
            read,
            lambda folder, made: (folder / _TRIALS).write_bytes(pickle.dumps(made, protocol=5)),
        )
    except KernelFails as error:
        return error.missed[0]


def run_mutant(mutant: Mutant, files: KernelFiles, trials: Sequence[Trial]) -> Outcome:
    """The job of trying one mutant."""
    return try_mutant(files, mutant.file, mutant.text(files), mutant.reaching(trials))
