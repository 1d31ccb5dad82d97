"""Mutants of an operator as a campaign: kernels are measured on their cases, then mutants run on those."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attndsl.base.disk_cache import content_key
from attndsl.base.errors import UserError
from attndsl.base.package_files import sources_key
from attndsl.campaign.jobs import Job, Jobs, LocalProcesses, results_of
from attndsl.campaign.runner import CannotTravel
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import finished_projects
from attndsl.execute.execute import stored
from attndsl.execute.user_project import UserProject
from attndsl.mutate.bench import Bench, KernelFiles, Trial, kernel_files
from attndsl.mutate.mutants import Mutant, UnknownMutant, drawn, mutants_of
from attndsl.mutate.results import Mutation, TriedMutant, command_of
from attndsl.mutate.trial_run import NOT_COMPILED, Outcome, try_mutant
from attndsl.spec.operator.operator import Operator

Progress = Callable[[int, int], object]


class NoKernels(UserError, LookupError):
    """An operator without kernels has no mutants."""

    def __init__(self, operator: str) -> None:
        super().__init__(f"{operator} has no kernel that could be changed; attndsl generate says why")


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What is drawn. ``count``: mutants that compile; ``cases``: of each kernel; ``only``: the names of
    mutants to try instead."""

    count: int
    seed: int
    cases: int
    only: tuple[str, ...] = ()


def mutate(
    operator: Operator,
    draw: Draw,
    *,
    project: Path | None = None,
    jobs: Jobs | None = None,
    journal: Path | None = None,
    progress: Progress | None = None,
    options: str = "",
) -> Mutation:
    """Try seeded defects in the kernels and plans of an operator.

    Args:
        operator: whose projects are generated, with the kernels of the default request.
        draw: which mutants.
        project: the folder of a project of the operator, instead of generated ones.
        jobs: who runs them; by default processes on this machine.
        journal: a file of finished jobs, which are not run again.
        progress: called with (mutants done, mutants in all) after each.
        options: of the command that tries a mutant again, beside seed and name.

    Raises:
        NoKernels: there is nothing to change.
        KernelFails: a kernel misses a case as it is.
        UnknownMutant: ``draw.only`` names one that is not there.
        CannotTravel: no file declares the operator.
        WrongJournal, WorkersLost: as :mod:`attndsl.campaign.jobs`.
    """
    if operator.content_key is None:
        raise CannotTravel(operator.name)
    started = time.monotonic()
    kernels = _kernels(operator, project)
    campaign = _Campaign(kernels, draw, jobs or LocalProcesses(), journal, progress)
    tried, missing = campaign.run()
    return Mutation(
        operator=operator.name,
        seed=draw.seed,
        tried=tuple(
            TriedMutant(
                mutant=mutant,
                outcome=outcome,
                command=command_of(operator.in_commands, draw.seed, mutant.name, options),
            )
            for mutant, outcome in sorted(tried, key=lambda each: (each[0].file, each[0].start, each[0].end))
        ),
        not_compiled=missing,
        sites=campaign.sites,
        seconds=time.monotonic() - started,
    )


def _kernels(operator: Operator, project: Path | None) -> list[list[KernelFiles]]:
    """The kernels of each project."""
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
        self._trials: dict[str, tuple[Trial, ...]] = {}
        self._outcomes: dict[str, Outcome] = {}

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
            self._measure({each.kernel for each in waiting})
            self._try(waiting, len(chosen))
        failed = sum(each.status == NOT_COMPILED for each in self._outcomes.values())
        compiled = [each for each in chosen if self._outcomes[each.name].status != NOT_COMPILED]
        return [(each, self._outcomes[each.name]) for each in compiled], failed

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

    def _measure(self, kernels: Iterable[str]) -> None:
        """The cases of kernels, with what each executes."""
        wanted = sorted(set(kernels) - self._trials.keys())
        keys = {name: self._key("trials", self._kernels[name].key) for name in wanted}
        found = self._results(
            Job(keys[name], measure_kernel, (self._kernels[name], self._draw.seed, self._draw.cases))
            for name in wanted
        )
        self._trials |= {name: found[keys[name]] for name in wanted}

    def _try(self, mutants: Sequence[Mutant], total: int) -> None:
        keys = {each.name: self._key("mutant", self._kernels[each.kernel].key, each.name) for each in mutants}
        done = len(self._outcomes)
        progress = self._progress
        found = self._results(
            (
                Job(
                    keys[each.name], run_mutant, (each, self._kernels[each.kernel], self._trials[each.kernel])
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

    def _key(self, *parts: str) -> str:
        told = (sources_key(), str(self._draw.seed), str(self._draw.cases), *parts)
        return f"{parts[0]}-{content_key(*told)[:24]}"


def measure_kernel(files: KernelFiles, seed: int, count: int) -> tuple[Trial, ...]:
    """The job of finding cases for a kernel."""
    return Bench(files).trials(seed, count)


def run_mutant(mutant: Mutant, files: KernelFiles, trials: Sequence[Trial]) -> Outcome:
    """The job of trying one mutant."""
    return try_mutant(files, mutant.file, mutant.text(files), mutant.reaching(trials))
