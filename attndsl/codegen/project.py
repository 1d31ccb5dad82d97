"""The files of an operator: one kernel for each specialisation, and a page that says how to use them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from attndsl.codegen.arguments import names_of
from attndsl.codegen.files import write_files
from attndsl.codegen.identifiers import comment, identifier
from attndsl.codegen.project_files import Page, project_files
from attndsl.errors import UserError
from attndsl.hardware import ATLAS_A2
from attndsl.schedule.compile import Compiled, check_lowers
from attndsl.schedule.errors import NotLowered
from attndsl.schedule.launch import compiled_for
from attndsl.schedule.specialisation import (
    Specialisation,
    canonical_settings,
    feature_names,
    kernel_inputs,
    used_inputs,
)
from attndsl.spec.arguments import given
from attndsl.spec.operator import Operator
from attndsl.spec.settings import setting_samples

# The head size that most models have; others are asked for with --set D=...
DEFAULT_HEAD_SIZES = (128,)


class UnknownFeature(UserError, ValueError):
    """A feature that the operator does not have."""


class UnknownDtype(UserError, ValueError):
    """A dtype that the operator does not have."""


class IllegalHeadSize(UserError, ValueError):
    """A head size outside what kernels are made for."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which specialisations are wanted; None stands for all that the spec enables."""

    dtypes: tuple[str, ...] | None = None
    head_sizes: tuple[int, ...] = DEFAULT_HEAD_SIZES
    features: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Project:
    """An operator's compiled specialisations and the features that no kernel covers yet.

    ``reason``: why there is no kernel at all, where there is none. ``spec``: the name that its spec file is
    loaded by, where that is not the operator's.
    """

    operator: Operator
    kernels: tuple[Compiled, ...]
    not_lowered: tuple[str, ...]
    reason: str = ""
    spec: str = ""

    def files(self) -> dict[str, str]:
        """Every file of the project by name; none without a kernel."""
        return dict(self._files)

    @cached_property
    def _files(self) -> dict[str, str]:
        if not self.kernels:
            return {}
        return project_files(self.kernels, _page(self), self.spec or self.operator.name)

    def write(self, out: Path) -> tuple[Path, ...]:
        """Write the project to ``out/NAME``; returns the files that changed.

        Raises:
            OutputNotWritable: the folder cannot be written.
        """
        return write_files(out / self.folder, self.files())

    @property
    def folder(self) -> str:
        """The name of the project's folder."""
        return identifier(self.operator.name)


def plan_projects(operator: Operator, selection: Selection) -> tuple[Project, ...]:
    """The projects of an operator and of its modes, which have signatures of their own.

    Raises:
        As :func:`plan_project`; features that are asked for by name are those of the operator itself.
    """
    modes = operator.modes if selection.features is None else ()
    others = (replace(plan_project(mode, selection), spec=operator.name) for mode in modes)
    return (plan_project(operator, selection), *others)


def plan_project(operator: Operator, selection: Selection) -> Project:
    """The kernels of an operator that a selection asks for.

    Raises:
        UnknownFeature, UnknownDtype, IllegalHeadSize: naming the legal values.
        NotLowered: a feature that was asked for by name has no kernel yet.
        ScheduleError: the stated schedule does not fit.
    """
    dtypes = _dtypes(operator, selection.dtypes)
    buckets = tuple(dict.fromkeys(_bucket(size, operator) for size in selection.head_sizes))
    _check_features(operator, selection.features or frozenset())
    try:
        _check_selectable(operator)
        check_lowers(operator, Specialisation(dtype=dtypes[0], bucket=buckets[0]))
    except NotLowered as error:
        if selection.features is not None:
            raise
        return Project(operator=operator, kernels=(), not_lowered=feature_names(operator), reason=str(error))
    lowered, missing = _lowered_features(operator, dtypes[0], buckets[0])
    combinations_wanted: Sequence[frozenset[str]]
    if selection.features is None:
        combinations_wanted = list(dict.fromkeys((frozenset(), *lowered.values())))
    else:
        combinations_wanted = [selection.features]
    kernels = {
        compiled.specialisation: compiled
        for dtype in dtypes
        for bucket in buckets
        for features in combinations_wanted
        for compiled in _of_settings(operator, dtype, bucket, features)
    }
    if not kernels and selection.features is not None:
        compiled_for(
            operator, Specialisation(dtype=dtypes[0], bucket=buckets[0], features=selection.features)
        )
    if not kernels:
        reason = f"{operator.name}: no legal choice of its parameters has a kernel yet"
        return Project(operator=operator, kernels=(), not_lowered=feature_names(operator), reason=reason)
    return Project(operator=operator, kernels=tuple(kernels.values()), not_lowered=missing)


def _of_settings(operator: Operator, dtype: str, bucket: int, features: frozenset[str]) -> Iterator[Compiled]:
    """The kernels for the parameters, dtypes and layouts that the computation depends on: with the defaults,
    and with each other value on its own, as far as they are legal and lower."""
    same = operator.axis_extents["E"].same(operator.axis_extents["D"])
    for sample in setting_samples(operator, operator.settings, features):
        if not _is_legal(operator, sample, features):
            continue
        names = sorted(operator.settings)
        settings = tuple((name, _setting(operator, name, sample, dtype, features)) for name in names)
        special = Specialisation(
            dtype=dtype,
            bucket=bucket,
            features=features,
            value_bucket=None if same else bucket,
            settings=canonical_settings(operator, features, settings),
        )
        with contextlib.suppress(NotLowered):
            yield compiled_for(operator, special)


def _is_legal(operator: Operator, sample: Mapping[str, Any], features: frozenset[str]) -> bool:
    """Whether the constraints over settings and presence alone allow a choice of settings.

    What is no setting, such as the size of a block, is the call's to choose.
    """
    known, passed = {name: sample.get(name) for name in operator.settings}, kernel_inputs(operator, features)
    known |= {given(spec.name).name: spec.name in passed for spec in operator.tensors}
    rules = (rule for rule in operator.constraints if not rule.tensors() and not rule.target)
    decided = (rule for rule in rules if rule.symbols() <= known.keys() and not rule.over)
    return not any(rule.violation(known) for rule in decided if not issubclass(rule.error, Warning))


def _setting(
    operator: Operator, name: str, sample: Mapping[str, Any], dtype: str, features: frozenset[str]
) -> Any:
    """A setting as calls have it: absent tensors have none, tensors that go with the io tensor its dtype."""
    kind, _, argument = name.rstrip(")").partition("(")
    if not argument:
        return sample.get(name)
    spec = operator.tensor(argument)
    if spec.optional and argument not in features:
        return None
    return dtype if kind == "dtype" and dtype in spec.dtypes else sample.get(name)


def _check_selectable(operator: Operator) -> None:
    """The host chooses kernels by dtype, head size and presence; by parameters and layouts it cannot yet.

    Raises:
        NotLowered: kernels depend on such settings. They are made for single calls all the same.
    """
    deciding = sorted(name for name in operator.settings if not name.startswith("split("))
    if deciding:
        raise NotLowered(f"a host that chooses kernels by {', '.join(deciding)}", operator.where)


def io_dtypes(operator: Operator) -> tuple[str, ...]:
    """The dtypes of the operator's first tensor, which kernels are specialised on."""
    return operator.tensors[0].dtypes


def _dtypes(operator: Operator, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    legal = io_dtypes(operator)
    for dtype in wanted or ():
        if dtype not in legal:
            raise UnknownDtype(f"dtype '{dtype}': {operator.name} takes {' or '.join(legal)}")
    return wanted or legal


def _bucket(size: int, operator: Operator) -> int:
    limit = 512
    if not 1 <= size <= limit:
        nearest = min(max(size, 1), limit)
        raise IllegalHeadSize(
            f"D={size}: head sizes of {operator.name} are 1 to {limit}; the nearest is {nearest}"
        )
    return ATLAS_A2.whole_fractals(size)


def _check_features(operator: Operator, wanted: frozenset[str]) -> None:
    legal = feature_names(operator)
    for name in sorted(wanted):
        if name not in legal:
            raise UnknownFeature(f"feature '{name}': {operator.name} has {', '.join(legal)}")


def _lowered_features(
    operator: Operator, dtype: str, bucket: int
) -> tuple[dict[str, frozenset[str]], tuple[str, ...]]:
    """Features with a kernel, each with what it cannot be without, and those without one."""
    yes: dict[str, frozenset[str]] = {}
    no: list[str] = []
    for name in feature_names(operator):
        together = _smallest_with(operator, name)
        try:
            check_lowers(operator, Specialisation(dtype=dtype, bucket=bucket, features=together))
        except NotLowered:
            no.append(name)
        else:
            yes[name] = together
    return yes, tuple(no)


def _smallest_with(operator: Operator, name: str) -> frozenset[str]:
    """The feature with as few others as the constraints on presence demand and its use needs."""
    others = [other for other in feature_names(operator) if other != name]
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            together = frozenset({name, *more})
            if _may_be_passed(operator, together) and name in used_inputs(operator, together):
                return together
    return frozenset({name})


def _may_be_passed(operator: Operator, features: frozenset[str]) -> bool:
    """Whether no constraint on presence alone forbids calls with exactly these optional tensors."""
    passed = kernel_inputs(operator, features)
    known = {given(spec.name).name: spec.name in passed for spec in operator.tensors}
    rules = (rule for rule in operator.constraints if rule.symbols() <= known.keys() and not rule.over)
    return all(rule.violation(known) is None for rule in rules)


def _page(project: Project) -> Page:
    """The same for every selection, so that several calls into one folder agree."""
    operator = project.operator
    return Page(
        names=names_of(operator),
        name=comment(operator.name),
        document=comment(operator.document),
        summary=comment(operator.summary),
        features=tuple(name for name in feature_names(operator) if name not in project.not_lowered),
        not_lowered=project.not_lowered,
    )
