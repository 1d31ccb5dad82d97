"""The project of an operator: its kernels, and the files around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from attndsl.base.errors import UserError
from attndsl.base.jobs import fork_map
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
from attndsl.lowering.signature.kernel_names import check_kernel_names
from attndsl.lowering.signature.specialization import Specialization, feature_names
from attndsl.spec.operator.operator import Operator

if TYPE_CHECKING:
    from attndsl.codegen.project.project_files import Page


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
        if not self.kernels:
            return {}
        from attndsl.codegen.project.project_files import project_files

        return project_files(self.kernels, _page(self))

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


def plan_projects(operator: Operator, request: KernelRequest) -> tuple[Project, ...]:
    """The projects of an operator and of its modes, which have signatures of their own.

    A combination that is asked for by name is made for the modes that have it, and for one alone where the
    parameter that decides between them is set.

    Raises:
        As :func:`plan_project`.
    """
    parameter, _ = operator.modes_by_value
    every = (operator, *operator.modes)
    if parameter in dict(request.settings):
        mode, request = chosen_mode(operator, request)
        every = (mode,)
    elif request.by_name:
        every = tuple(each for each in every if _has(each, request)) or (operator,)
    return tuple(plan_project(each, request) for each in every)


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
    check_told_apart(names_of(operator))
    kernels: dict[tuple[DispatchGuard, ...], Compiled] = {}
    missing: dict[str, NotLowered] = {}
    asked = _asked(operator, requests)
    for (wanted, by_name), made in zip(
        asked, _compiled(operator, [each.special for each, _ in asked]), strict=True
    ):
        try:
            compiled = compiled_for(operator, wanted.special) if made is None else made
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


def _compiled(operator: Operator, specials: Sequence[Specialization]) -> list[Compiled | None]:
    """The compiled specializations, by several processes; None where one has no lowering.

    Their twins, with which they may share a text, are compiled with them, each by the process that has just
    compiled the other: what passes make of one they need not make of the other again.
    """
    asked, pairs = frozenset(specials), _pairs(operator, specials)

    def made(pair: tuple[Specialization, ...]) -> tuple[bytes | None, ...]:
        return tuple(map(parts, pair))

    def parts(special: Specialization) -> bytes | None:
        """The program in parts; nothing where the cache has it from now on."""
        try:
            compiled = compiled_for(operator, special)
        except NotLowered:
            return None
        except ScheduleError:
            if special in asked:
                raise
            return None
        return b"" if is_stored(operator, special) else parts_of(compiled)

    def kept(special: Specialization, parts: bytes | None) -> Compiled | None:
        if parts is None:
            return None
        return keep_compiled(with_operator(parts, operator)) if parts else compiled_for(operator, special)

    import networkx  # noqa: F401 - here, once: forked workers have it then

    found: dict[Specialization, Compiled | None] = {}
    for pair, done in zip(pairs, fork_map(made, pairs), strict=True):
        _prepare_for_files()
        found |= zip(pair, map(kept, pair, done), strict=True)
        for each in filter(None, map(found.get, pair)):
            guards(each)
            dtype_parameter(each)
    return [found[special] for special in specials]


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


def _page(project: Project) -> Page:
    """The same for every request, so that several calls into one folder agree."""
    from attndsl.codegen.project.project_files import Page

    operator = project.operator
    return Page(
        command=comment(f"attndsl generate {operator.in_commands}{operator.device_option}"),
        verify=comment(f"attndsl verify {operator.in_commands}{operator.device_option} --project ."),
        names=names_of(operator),
        name=comment(operator.name),
        document=comment(operator.document),
        summary=comment(operator.summary),
        features=tuple(name for name in feature_names(operator) if name not in project.not_lowered),
        not_lowered={label: comment(reason) for label, reason in project.reasons.items()},
    )
