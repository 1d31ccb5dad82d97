"""The project of an operator: its kernels, and the files around them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from attndsl.base.errors import UserError
from attndsl.base.jobs import fork_map_while_made
from attndsl.codegen.host.op_definition import check_told_apart
from attndsl.codegen.kernel.dtype_parameter import dtype_parameter, twin
from attndsl.codegen.kernel_set.dispatch_guards import DispatchGuard, guards
from attndsl.codegen.kernel_set.kernel_request import Wanted, chosen_mode, wanted_specializations
from attndsl.codegen.kernel_set.request import KernelRequest
from attndsl.codegen.kernel_set.tiling_keys import check_tiling_keys
from attndsl.codegen.names.arguments import names_of
from attndsl.codegen.names.identifiers import comment
from attndsl.codegen.project.files import write_files
from attndsl.compiler.compile import Compiled
from attndsl.compiler.prepare_launch import compiled_for, keep_compiled
from attndsl.compiler.stored_programs import is_stored, parts_of, with_operator
from attndsl.lowering.errors import NotLowered, ScheduleError
from attndsl.lowering.match.schedule_options import NARROW_SCORES
from attndsl.lowering.signature.specialization import Specialization, feature_names
from attndsl.lowering.signature.specialization_words import check_kernel_names
from attndsl.spec.operator.operator import Operator

if TYPE_CHECKING:
    from attndsl.codegen.project.project_files import ReadmeFacts


@dataclass(frozen=True, kw_only=True)
class Project:
    """An operator's compiled specializations and the features that no kernel covers yet.

    ``requests``: what it was made for. ``reason``: why there is no kernel at all, where there is none.
    ``reasons``: why features have no kernel, by feature.
    """

    operator: Operator
    requests: tuple[KernelRequest, ...]
    kernels: tuple[Compiled, ...]
    not_lowered: tuple[str, ...]
    reason: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    def files(self) -> dict[str, str]:
        """Every file of the project by name; none without a kernel."""
        return dict(self._files)

    @cached_property
    def _files(self) -> dict[str, str]:
        return files_together((self,))[0]

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write the project to ``out/NAME``; returns the files that changed.

        Raises:
            OutputNotWritable: the folder cannot be written.
        """
        return write_files(out / self.folder, self.files(), operator=self.operator.name)

    @property
    def folder(self) -> str:
        """The name of the project's folder."""
        return names_of(self.operator).op


@dataclass(frozen=True)
class ProjectRequest:
    """What a project is to have: the kernels of an operator or mode that any of ``requests`` asks for."""

    operator: Operator
    requests: tuple[KernelRequest, ...]


Turn = Callable[[int], object]
"""Called when the first kernel of a project is waited for, with the number of the project's request."""


def files_together(projects: Sequence[Project]) -> tuple[dict[str, str], ...]:
    """Every file of several projects by name, none without a kernel; the same processes write all of them."""
    if not any(each.kernels for each in projects):
        return tuple({} for _ in projects)
    from attndsl.codegen.project.project_files import project_files

    made = iter(project_files([(each.kernels, _page(each)) for each in projects if each.kernels]))
    return tuple(next(made) if each.kernels else {} for each in projects)


def plan_projects(operator: Operator, request: KernelRequest) -> tuple[Project, ...]:
    """The projects of an operator and of its modes, as of :func:`project_requests`.

    Raises:
        As :func:`plan_project`.
    """
    return plan_together(project_requests(operator, request))


def project_requests(operator: Operator, request: KernelRequest) -> tuple[ProjectRequest, ...]:
    """The projects that a request stands for: of an operator and of its modes, which have signatures of their
    own.

    A combination that is asked for by name is made for the modes that have it, and for one alone where the
    parameter that decides between them is set.
    """
    parameter, _ = operator.modes_by_value
    every = (operator, *operator.modes)
    if parameter in dict(request.settings):
        mode, request = chosen_mode(operator, request)
        every = (mode,)
    elif request.by_name:
        every = tuple(each for each in every if _has(each, request)) or (operator,)
    return tuple(ProjectRequest(each, (request,)) for each in every)


def _has(operator: Operator, request: KernelRequest) -> bool:
    try:
        return bool(wanted_specializations(operator, request))
    except UserError:
        return False


def plan_project(operator: Operator, *requests: KernelRequest) -> Project:
    """The kernels of an operator that one or several requests ask for, each kernel once.

    Raises:
        AlikeNames: CANN does not tell the names of two arguments or results apart.
        KernelsOfOneName, KernelsOfOneKey: naming the two kernels.
        TooManyKernels: it has more specializations than tiling keys.
        UserError: the request names what the operator does not have, or does not allow.
        NotLowered: a combination that was asked for by name has no kernel yet.
        ScheduleError: the stated schedule does not fit.
    """
    return plan_together((ProjectRequest(operator, requests),))[0]


def plan_together(
    requests: Sequence[ProjectRequest], turn: Turn = lambda number: None
) -> tuple[Project, ...]:
    """The projects of several requests. The same processes compile the kernels of all, so that none of them
    waits for the last kernel of a project.

    Raises:
        As :func:`plan_project`, for the first that fails.
    """
    asked: list[list[tuple[Wanted, bool]]] = []
    found: list[dict[Specialization, Compiled | None]] = [{} for _ in requests]

    def pairs() -> Iterator[_Pair]:
        for number, each in enumerate(requests):
            check_told_apart(names_of(each.operator))
            asked.append(_asked(each.operator, each.requests))
            specials = [wanted.special for wanted, _ in asked[-1]]
            for pair in _pairs(each.operator, specials):
                yield _Pair(number, pair, frozenset(pair).intersection(specials))

    def made(pair: _Pair) -> tuple[bytes | None, ...]:
        return tuple(_parts(requests[pair.request].operator, each, pair.asked) for each in pair.specials)

    import networkx  # noqa: F401 - here, once: forked workers have it then

    last = -1
    for pair, parts in fork_map_while_made(made, pairs()):
        if pair.request != last:
            last = pair.request
            turn(last)
        _prepare_for_files()
        _keep(requests[last].operator, pair.specials, parts, found[last])
    return tuple(map(_planned, requests, asked, found))


@dataclass(frozen=True)
class _Pair:
    """A specialization with its twin, where it has one: with the twin it may share a text, and the process
    that compiles both need not make of the second what passes made of the first.

    ``request``: the number of the request whose project they are of; ``asked``: those that the project has.
    """

    request: int
    specials: tuple[Specialization, ...]
    asked: frozenset[Specialization]


def _parts(operator: Operator, special: Specialization, asked: Collection[Specialization]) -> bytes | None:
    """A compiled specialization in parts; empty where the cache has it from now on, None where there is
    none."""
    try:
        compiled = compiled_for(operator, special)
    except NotLowered:
        return None
    except ScheduleError:
        if special in asked:
            raise
        return None
    return b"" if is_stored(operator, special) else parts_of(compiled)


def _keep(
    operator: Operator,
    specials: Sequence[Specialization],
    parts: Sequence[bytes | None],
    found: dict[Specialization, Compiled | None],
) -> None:
    """Put together what a process has compiled, and find out what processes that write files will ask for."""
    for special, part in zip(specials, parts, strict=True):
        if part is None:
            found[special] = None
        else:
            found[special] = (
                keep_compiled(with_operator(part, operator)) if part else compiled_for(operator, special)
            )
    for each in filter(None, map(found.get, specials)):
        guards(each)
        dtype_parameter(each)


def _planned(
    request: ProjectRequest,
    asked: Sequence[tuple[Wanted, bool]],
    found: Mapping[Specialization, Compiled | None],
) -> Project:
    """The project of a request whose kernels are compiled; None of those that have no lowering."""
    operator, requests = request.operator, request.requests
    kernels: dict[tuple[DispatchGuard, ...], Compiled] = {}
    missing: dict[str, NotLowered] = {}
    for wanted, by_name in asked:
        try:
            compiled = found[wanted.special] or compiled_for(operator, wanted.special)
        except NotLowered as error:
            if by_name:
                raise
            missing.setdefault(wanted.label, error)
            continue
        kernels.setdefault(guards(compiled), compiled)
    check_kernel_names(operator, (each.specialization for each in kernels.values()))
    check_tiling_keys(operator, (each.specialization for each in kernels.values()))
    lacking = tuple(label for label in missing if label)
    if not kernels:
        reason = str(next(iter(missing.values())))
        return Project(operator=operator, requests=requests, kernels=(), not_lowered=lacking, reason=reason)
    return Project(
        operator=operator,
        requests=requests,
        kernels=tuple(kernels.values()),
        not_lowered=lacking,
        reasons={label: str(missing[label]) for label in lacking},
    )


def _asked(operator: Operator, requests: Sequence[KernelRequest]) -> list[tuple[Wanted, bool]]:
    """What requests stand for, each specialization once, and whether one asks for it by name."""
    found: dict[Specialization, tuple[Wanted, bool]] = {}
    for request in requests:
        for wanted in wanted_specializations(operator, request):
            first, by_name = found.get(wanted.special, (wanted, False))
            found[wanted.special] = (first, by_name or request.by_name)
    return list(found.values())


@lru_cache(maxsize=1)
def _prepare_for_files() -> None:
    """What is needed once all is compiled; workers that still compile leave time for it, and the processes
    that write the files have it then."""
    import numpy.random  # noqa: F401

    import attndsl.codegen.project.project_files  # noqa: F401
    from attndsl.codegen.text.render import load_templates

    load_templates("op_host", "op_kernel", "torch")


def _pairs(operator: Operator, specials: Sequence[Specialization]) -> list[tuple[Specialization, ...]]:
    """Each specialization with its twin, where it has one, in the order of the first of them."""
    found: dict[frozenset[Specialization], tuple[Specialization, ...]] = {}
    for special in specials:
        other = twin(operator, special)
        pair = (special,) if other is None else (special, other)
        found.setdefault(frozenset(pair), pair)
    return list(found.values())


def _page(project: Project) -> ReadmeFacts:
    """The same for every request, so that several calls into one folder agree."""
    from attndsl.codegen.project.project_files import ReadmeFacts

    operator = project.operator
    return ReadmeFacts(
        command=comment(f"attndsl generate {operator.in_commands}{operator.device_option}"),
        verify=comment(f"attndsl verify {operator.in_commands}{operator.device_option} --project ."),
        names=names_of(operator),
        name=comment(operator.name),
        document=comment(operator.document),
        summary=comment(operator.summary),
        features=tuple(name for name in feature_names(operator) if name not in project.not_lowered),
        not_lowered={label: comment(reason) for label, reason in project.reasons.items()},
        says=(NARROW_SCORES,) if operator.schedule_choices.get("score_dtype") == "float16" else (),
    )
