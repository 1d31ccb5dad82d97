"""One small kernel with its cases, compiled and measured once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project.finished import FinishedProject, finished_projects
from attndsl.execute.execute import stored
from attndsl.mutate.bench import Bench, KernelFiles, Trial, kernel_files
from attndsl.mutate.mutants import Mutant, mutants_of
from attndsl.spec.operator.loader import load

CASES = 8


@dataclass(frozen=True)
class Subject:
    """A kernel, its project, its cases, and its mutants by class."""

    project: FinishedProject
    files: KernelFiles
    trials: tuple[Trial, ...]
    mutants: dict[str, list[Mutant]]


@pytest.fixture(scope="session")
def subject() -> Subject:
    """The kernel of decoding attention for float16, without optional tensors."""
    operator = load("incre_flash_attention")
    request = KernelRequest(dtypes=("float16",), features=frozenset())
    (project,) = finished_projects(operator, request)
    (files,) = kernel_files(stored(project.files), operator, operator)
    mutants: dict[str, list[Mutant]] = {}
    for each in mutants_of([files]):
        mutants.setdefault(each.kind, []).append(each)
    return Subject(project, files, Bench(files).trials(0, range(CASES)), mutants)
