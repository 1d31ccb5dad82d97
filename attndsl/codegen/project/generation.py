"""Bringing the folders of operators' projects in step with a request, and with those that came before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.project import finished
from attndsl.codegen.project.files import Change, FolderTaken, change_of, owner_of, remembered_requests
from attndsl.codegen.project.finished import FinishedProject
from attndsl.codegen.project.folder_lock import locked
from attndsl.spec.operator.operator import Operator

Progress = Callable[[Operator, int], object]
"""Called when an operator's projects are waited for, with its number."""


@dataclass(frozen=True)
class Planned:
    """A project, and what its folder lacks to be in step with it."""

    project: FinishedProject
    change: Change


@dataclass
class Generation:
    """One request for the projects of some operators.

    Attributes:
        operators: whose projects.
        request: which kernels they are to have.
        out: the folder for all projects.
        prune: forget earlier requests, whose kernels a project keeps otherwise.
        progress: see :data:`Progress`.
    """

    operators: Sequence[Operator]
    request: KernelRequest
    out: Path
    prune: bool = False
    progress: Progress | None = None
    _earlier: dict[str, tuple[KernelRequest, ...]] = field(default_factory=dict)

    def plan(self) -> tuple[Planned, ...]:
        """What is to be done; everything is computed, nothing is written.

        Raises:
            FolderTaken: the folder of a project is another operator's.
            As :func:`attndsl.codegen.project.finished.all_finished_projects`.
        """
        self._earlier.clear()
        projects = finished.all_finished_projects(
            self.operators, self.request, self._remembered, self._report
        )
        self._hold_apart(projects)
        return self._compared(projects)

    def write(self, planned: Sequence[Planned]) -> tuple[Planned, ...]:
        """Do what was planned; returns what was done, which differs if another process wrote meanwhile.

        All targets of all projects are tested before the first of them is touched.

        Raises:
            FolderLocked: another process writes one of the folders.
            OutputNotWritable: a folder cannot be written.
            As :meth:`plan`.
        """
        folders = [each.change.folder for each in planned if each.change.texts]
        if not folders:
            return tuple(planned)
        with locked(folders):
            now = {name: self._read(name) for name in self._earlier}
            done = self.plan() if now != self._earlier else self._compared([p.project for p in planned])
            for each in done:
                each.change.check()
            for each in done:
                each.change.apply()
        return done

    def _report(self, number: int) -> None:
        if self.progress is not None:
            self.progress(self.operators[number], number)

    def _hold_apart(self, projects: Sequence[FinishedProject]) -> None:
        owners = {each.folder: owner_of(self.out / each.folder) for each in projects}
        for each in projects:
            owner = owners[each.folder] or each.operator
            if owner != each.operator:
                raise FolderTaken(self.out / each.folder, owner, each.operator)
            owners[each.folder] = owner

    def _compared(self, projects: Sequence[FinishedProject]) -> tuple[Planned, ...]:
        return tuple(
            Planned(each, change_of(self.out / each.folder, each.files, each.remembered, each.operator))
            for each in projects
        )

    def _remembered(self, folder: str) -> tuple[KernelRequest, ...]:
        self._earlier[folder] = self._read(folder)
        return self._earlier[folder]

    def _read(self, folder: str) -> tuple[KernelRequest, ...]:
        """The requests that a folder's project was made for; none where there is none of ours."""
        told = None if self.prune else remembered_requests(self.out / folder)
        if told is None:
            return ()
        try:
            return tuple(KernelRequest.from_json(each) for each in told) or (KernelRequest(),)
        except ValueError:
            return ()
