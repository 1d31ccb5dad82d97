"""Finished projects: all files as text, kept on disk under a key over all that decides them.

A second call with the same spec, request and sources compiles nothing and imports none of the compiler.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attndsl.base.disk_cache import (
    content_key,
    find_entry,
    stored_or_made,
    stores_programs,
)
from attndsl.base.errors import AttnDslError, InternalError, UserError
from attndsl.base.garbage import seldom_collected
from attndsl.base.package_files import USERS_OF_KERNELS, sources_key
from attndsl.codegen.kernel_set.request import KernelRequest, in_order
from attndsl.codegen.project.files import write_files
from attndsl.spec.operator.operator import Operator

if TYPE_CHECKING:
    from attndsl.codegen.project.project import Project

_FILE = "projects.json"
_UNCONCERNED = USERS_OF_KERNELS | {"execute"}
"""Packages that decide nothing about the files of a project."""


@dataclass(frozen=True, kw_only=True)
class FinishedProject:
    """A project as files.

    Attributes:
        operator: its name. ``folder``: of the project, in the folder for all.
        requests: what it was made for.
        files: texts by path in the project; none where there is no kernel.
        not_lowered: features without a kernel. ``reason``: why there is no kernel at all, where that is so.
    """

    operator: str
    folder: str
    requests: tuple[KernelRequest, ...]
    files: Mapping[str, str]
    not_lowered: tuple[str, ...]
    reason: str = ""

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write the project to ``out/FOLDER``; returns the files that changed.

        Raises:
            OutputNotWritable: the folder cannot be written.
        """
        return write_files(out / self.folder, self.files, self.remembered, self.operator)

    @property
    def remembered(self) -> list[dict[str, Any]]:
        """What the manifest keeps of the requests; nothing of the default one alone."""
        return [] if self.requests == (KernelRequest(),) else [each.to_json() for each in self.requests]


class EarlierRequestFails(UserError):
    """A project cannot be made with the kernels of earlier requests in it."""

    def __init__(self, folder: str, earlier: Sequence[KernelRequest], error: Exception) -> None:
        told = ", ".join(f"'{each.options}'" if each.options else "the default one" for each in earlier)
        super().__init__(
            f"'{folder}' holds kernels of earlier requests, {told}, which cannot be made any more: {error}; "
            "--prune forgets earlier requests"
        )


Earlier = Callable[[str], Sequence[KernelRequest]]
"""The requests that a project was made for before, by the name of its folder."""


Turn = Callable[[int], object]
"""Called when the projects of an operator are waited for, with its number."""


def finished_projects(
    operator: Operator, request: KernelRequest, earlier: Earlier | None = None
) -> tuple[FinishedProject, ...]:
    """The projects of an operator and of its modes, from the disk where they are there.

    Args:
        operator: whose projects.
        request: which kernels.
        earlier: requests whose kernels a project has besides.

    Raises:
        EarlierRequestFails: the spec has changed since an earlier request.
        As :func:`attndsl.codegen.project.project.plan_together`; failures are not stored.
    """
    return all_finished_projects((operator,), request, earlier)


def all_finished_projects(
    operators: Sequence[Operator],
    request: KernelRequest,
    earlier: Earlier | None = None,
    turn: Turn = lambda number: None,
) -> tuple[FinishedProject, ...]:
    """As :func:`finished_projects`, of several operators: what the disk has not is made together.

    Raises:
        As :func:`finished_projects`, for the first operator that fails.
    """
    missing = _Missing(operators, request, turn)
    found: list[FinishedProject] = []
    for number, operator in enumerate(operators):
        turn(number)
        made = _stored(operator, (request.told,), partial(missing.made, number))
        found += made if earlier is None else (_united(operator, each, earlier(each.folder)) for each in made)
    return tuple(found)


class _Missing:
    """The projects that the disk has not, made together when the first of them is asked for."""

    def __init__(self, operators: Sequence[Operator], request: KernelRequest, turn: Turn) -> None:
        self._operators, self._request, self._turn = operators, request, turn
        self._made: dict[int, tuple[FinishedProject, ...]] = {}

    def made(self, number: int) -> tuple[FinishedProject, ...]:
        """Those of one of the operators."""
        if number not in self._made:
            numbers = [number, *filter(self._lacks, range(number + 1, len(self._operators)))]
            made = _made(
                [self._operators[each] for each in numbers],
                self._request,
                lambda place: self._turn(numbers[place]),
            )
            self._made |= zip(numbers, made, strict=True)
        return self._made[number]

    def _lacks(self, number: int) -> bool:
        name = _entry_name(self._operators[number], (self._request.told,))
        return name is None or find_entry(name) is None


def _united(
    operator: Operator, project: FinishedProject, earlier: Sequence[KernelRequest]
) -> FinishedProject:
    """The project with the kernels of earlier requests in it, too."""
    requests = in_order((*project.requests, *earlier))
    if requests == project.requests:
        return project
    mode = next(each for each in (operator, *operator.modes) if each.name == project.operator)
    told = (project.operator, *(each.told for each in requests))
    try:
        (made,) = _stored(operator, told, lambda: (_united_made(mode, requests),))
    except InternalError:
        raise
    except AttnDslError as error:
        others = [each for each in requests if each not in project.requests]
        raise EarlierRequestFails(project.folder, others, error) from error
    return made


def _stored(
    operator: Operator, told: Sequence[str], make: Callable[[], tuple[FinishedProject, ...]]
) -> tuple[FinishedProject, ...]:
    """The projects on disk under what is told of them, or made now and stored."""
    return stored_or_made(_entry_name(operator, told), make, _read, _write)


def _made(
    operators: Sequence[Operator], request: KernelRequest, turn: Turn
) -> list[tuple[FinishedProject, ...]]:
    """The projects of each operator."""
    with seldom_collected():
        # late: a stored project needs no compiler
        from attndsl.codegen.project.project import plan_together, project_requests

        requests = [project_requests(each, request) for each in operators]
        of = [number for number, some in enumerate(requests) for _ in some]
        projects = _as_files(plan_together([*chain(*requests)], lambda place: turn(of[place])))
        return [tuple(islice(projects, len(some))) for some in requests]


def _united_made(mode: Operator, requests: Sequence[KernelRequest]) -> FinishedProject:
    with seldom_collected():
        from attndsl.codegen.project.project import plan_project

        return next(_as_files((plan_project(mode, *requests),)))


def _as_files(projects: Sequence[Project]) -> Iterator[FinishedProject]:
    from attndsl.codegen.project.project import files_together

    for project, files in zip(projects, files_together(projects), strict=True):
        yield FinishedProject(
            operator=project.operator.name,
            folder=project.folder,
            requests=project.requests,
            files=files,
            not_lowered=project.not_lowered,
            reason=project.reason,
        )


def _entry_name(operator: Operator, told: Sequence[str]) -> str | None:
    if operator.content_key is None or not stores_programs():
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = (version, operator.content_key, operator.in_commands, *told)
    return f"projects/{content_key(sources_key(_UNCONCERNED), *told)}"


def _write(folder: Path, projects: tuple[FinishedProject, ...]) -> None:
    text = json.dumps([_as_row(each) for each in projects])
    (folder / _FILE).write_text(text, encoding="utf-8")


def _as_row(project: FinishedProject) -> dict[str, Any]:
    row = {each.name: getattr(project, each.name) for each in fields(project)}
    return {**row, "requests": [each.to_json() for each in project.requests]}


def _from_row(row: Mapping[str, Any]) -> FinishedProject:
    requests = tuple(KernelRequest.from_json(each) for each in row["requests"])
    return FinishedProject(**{**row, "requests": requests, "not_lowered": tuple(row["not_lowered"])})


def _read(folder: Path) -> tuple[FinishedProject, ...] | None:
    """The stored projects; None where the file cannot be read, or is not whole."""
    try:
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return tuple(_from_row(row) for row in rows)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
