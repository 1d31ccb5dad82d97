"""A project as it lies in a folder, edited or not: its kernels and its tiling on the emulator.

What runs are the files of the folder: ``op_kernel/``, with whatever headers are there, and the plan in
``op_host/``. The checks in front of a launch are not part of it: calls are checked by the spec.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from attndsl import emulator
from attndsl.base.errors import UserError
from attndsl.codegen.host.problem_members import head_symbol, member_of
from attndsl.codegen.host.problem_values import is_measured, known_members, member_values
from attndsl.codegen.kernel_set.kernel_list import (
    KERNEL_LIST,
    IllegalKernelList,
    ListedKernel,
    read_kernel_list,
)
from attndsl.codegen.kernel_set.kernel_names import name_of
from attndsl.codegen.names.arguments import Names, names_of
from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator.launch_syntax import includes, mask
from attndsl.execute.coverage import Coverage
from attndsl.execute.execute import Array, Plan, arguments_of, host_library, stored
from attndsl.execute.wanted_kernels import wanted_kernel
from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.wanted_kernel import WantedKernel

_EMPTY = re.compile(r"\bPlanLaunch\([^()]*\bbool\b")
_MEMBER = re.compile(r"\b(bool|int64_t|uint64_t|float)\s+(\w+)\s*(?:=[^;]*)?;")


@dataclass(frozen=True, kw_only=True)
class ProjectPlan(Plan):
    """What a project's host decides of a launch. ``blocks``: that are launched; ``workspace``: its bytes."""

    blocks: int
    workspace: int

    def run(
        self,
        kernel: emulator.Kernel,
        launch: Launch,
        timeout: float = 120.0,
        knobs: emulator.Knobs | None = None,
    ) -> emulator.Report:
        """Run a kernel as planned; the launch's arrays receive the results. ``timeout``: seconds.

        Raises:
            EmulatorError: the kernel crashes or does not end.
        """
        return kernel.run(
            self.blocks,
            arguments_of(launch, self.tiling, self.workspace),
            tiling_key=self.key,
            batch_mode=self.batch_mode,
            timeout=timeout,
            knobs=knobs,
        )


class NoProject(UserError, FileNotFoundError):
    """A folder that holds no project of the operator, or lacks one of its files."""


class NoKernel(UserError, LookupError):
    """A call that no kernel of the project takes."""


class TooManyRows(UserError):
    """A task with more query rows than its kernel takes, as after an edit of a schedule header."""


class UnknownMember(UserError):
    """A project's plan asks for what nothing is known of."""


@dataclass(frozen=True)
class UserProject:
    """``folder``: where it is; ``operator``: the mode that it is for; ``coverage``: where to note which
    statements run, if anywhere."""

    folder: Path
    operator: Operator
    coverage: Coverage | None = None

    @staticmethod
    def at(folder: Path, operator: Operator, coverage: Coverage | None = None) -> UserProject:
        """The project of an operator, or of one of its modes, in a folder.

        Raises:
            NoProject: naming the file that is missing.
            UnknownMember: its plan asks for what nothing is known of.
            IllegalKernelList: its list of kernels is none, or lacks one that is included.
            NotUnderstood: with ``coverage``, a source whose statements cannot be told.
        """
        folder = folder.resolve()
        every = {mode: names_of(mode) for mode in (operator, *operator.modes)}
        found = [mode for mode, names in every.items() if (folder / _entry(names)).is_file()]
        if not found:
            wanted = " or ".join(_entry(names) for names in every.values())
            raise NoProject(f"{folder} has no {wanted}: it is no project of {operator.name}")
        project = UserProject(folder, found[0], coverage)
        for path in project._needed():
            if not path.is_file():
                raise NoProject(f"{path} is missing; attndsl generate {found[0].in_commands} writes it")
        project._members  # noqa: B018 -- what it asks for is looked at now, not in the first case
        project._check_listed()
        if coverage is not None:
            coverage.marked(folder)
        return project

    def execute(self, launch: Launch, knobs: emulator.Knobs | None = None) -> emulator.Report:
        """Run the project's kernel on a launch; the launch's arrays receive the results.

        Raises:
            NoKernel: the project's plan picks none for the call.
            TooManyRows: a task would have more rows than the kernel takes.
            EmulatorError: a file does not compile, or the kernel crashes or does not end.
        """
        plan = self.plan(launch)
        folder = self.folder if self.coverage is None else self.coverage.marked(self.folder)
        kernel = emulator.build(folder / _entry(self._names), entry=self._names.kernel, packaged=True)
        report = plan.run(kernel, launch, knobs=knobs)
        if self.coverage is not None:
            self.coverage.note(self.folder, report)
        return report

    def plan(self, launch: Launch) -> ProjectPlan:
        """What the project's host decides of a launch.

        Raises:
            NoKernel: the plan picks none for the call.
            TooManyRows: a task would have more rows than the kernel takes.
            UnknownMember: the tiling data are larger than any are.
            CompileFailed: the plan does not compile.
        """
        told, tiling = self._told(member_values(launch))
        if told.rows > 0:
            raise TooManyRows(
                f"{self._plan_file} plans a task of {told.rows} query rows, more than kMaxRows of the "
                "kernel's schedule header; use the header as it was generated"
            )
        if not told.planned:
            raise NoKernel(
                f"{self._plan_file} picks no kernel for this call, which is one for "
                f"{name_of(self.operator, launch.compiled.specialization)}"
            )
        return ProjectPlan(
            is_planned=True,
            key=told.key,
            blocks=told.blocks,
            workspace=told.workspace,
            schedule_mode=told.mode,
            tiling=tiling,
            fields=self._fields,
        )

    def keys_at_edges(self, launch: Launch) -> dict[str, int]:
        """The kernels that the plan picks for calls like a launch's whose head size, of keys or of values, is
        at either edge of what its kernel is padded to, or just outside: tiling keys, 0 for none, by what the
        size is."""
        values, special = member_values(launch), launch.compiled.specialization
        fractal, found = self.operator.device.architecture.fractal, {}
        for axis, size in (("D", special.padded_head_size), ("E", special.padded_value_size)):
            if size is None or axis not in self.operator.axis_extents:
                continue
            member = member_of(head_symbol(self.operator, axis).name)
            for each in (size - fractal, size - fractal + 1, size, size + 1):
                found[f"{member}={each}"] = int(self._told({**values, member: each})[0].key)
        return found

    def blocks_without_work(self, launch: Launch) -> int:
        """The blocks that the plan launches for a call like a launch's with nothing to compute: one, which
        starts and ends. 1 of a plan that is not told whether there is anything."""
        return int(self._told(member_values(launch), empty=True)[0].blocks) if self._knows_empty else 1

    def kernels(self) -> tuple[WantedKernel, ...]:
        """The kernels of the project's list whose files the kernel function includes.

        Raises:
            IllegalKernelList: the list is none.
        """
        included = {f"op_kernel/{name}" for name in self._headers()}
        return tuple(wanted_kernel(self.operator, each) for each in self._listed if each.file in included)

    # -----------------------------------------------------------------------------------------------------

    def _check_listed(self) -> None:
        """Every kernel that is included is in the list, so that none is left out silently."""
        listed = {each.file for each in self._listed} | {f"op_kernel/{self._names.op}_tiling.h"}
        for name in self._kernel_headers():
            if f"op_kernel/{name}" not in listed:
                raise IllegalKernelList(
                    f"{self.folder / KERNEL_LIST} does not list op_kernel/{name}, which "
                    f"{_entry(self._names)} includes: a kernel of your own needs a line there, which says "
                    "what its calls are"
                )

    @property
    def _names(self) -> Names:
        return names_of(self.operator)

    @property
    def _plan_file(self) -> Path:
        return self.folder / f"op_host/{self._names.op}_plan.h"

    @cached_property
    def _listed(self) -> tuple[ListedKernel, ...]:
        return read_kernel_list(self.operator, self.folder / KERNEL_LIST)

    def _headers(self) -> tuple[str, ...]:
        """The headers that the kernel function includes from its own folder."""
        text = (self.folder / _entry(self._names)).read_text(encoding="utf-8")
        own = (name for *_, quoted, name in includes(text) if quoted and name != "kernel_operator.h")
        return tuple(dict.fromkeys(name for name in own if "/" not in name and name.endswith(".h")))

    def _kernel_headers(self) -> tuple[str, ...]:
        """Those of kernels and tiling data, which are named after the operator."""
        return tuple(name for name in self._headers() if name.startswith(f"{self._names.op}_"))

    def _needed(self) -> Iterator[Path]:
        yield self._plan_file
        yield self.folder / KERNEL_LIST
        for name in self._kernel_headers():
            yield self.folder / f"op_kernel/{name}"

    @cached_property
    def _members(self) -> dict[str, str]:
        """The types of the members of the problem."""
        code = mask(self._plan_file.read_text(encoding="utf-8"))
        found = re.search(r"\bstruct Problem\s*\{(.*?)\};", code, re.DOTALL)
        if found is None:
            raise NoProject(f"{self._plan_file} has no struct Problem, which says what a launch depends on")
        members = {name: ctype for ctype, name in _MEMBER.findall(found[1])}
        known = known_members(self.operator)
        unknown = [name for name in members if name not in known and not is_measured(name)]
        if unknown:
            raise UnknownMember(
                f"{self._plan_file}: Problem has {', '.join(unknown)}, of which nothing is known here; what "
                "a launch depends on are arguments and sizes of the contract"
            )
        return members

    def _told(self, values: Mapping[str, int | float], *, empty: bool = False) -> tuple[_Told, Array]:
        """What the plan says for the values of a problem's members, and the tiling data as bytes."""
        members = self._members
        numbers = [float(values.get(name, 0)) for name in members]
        whole = [0 if members[name] == "float" else int(values.get(name, 0)) for name in members]
        told, tiling = _Told(empty=int(empty)), np.zeros(_MOST_TILING, np.uint8)
        self._library.attndsl_plan(
            (ctypes.c_double * len(numbers))(*numbers),
            (ctypes.c_int64 * len(whole))(*whole),
            ctypes.byref(told),
            tiling.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(tiling.size),
        )
        if told.bytes > tiling.size:
            raise UnknownMember(f"tiling data of {told.bytes} bytes are more than {tiling.size}")
        return told, tiling[: told.bytes].copy()

    def compiled_plan(self) -> ctypes.CDLL:
        """The plan as a shared object; the first call compiles it.

        Raises:
            CompileFailed: it does not compile.
        """
        return self._library

    @cached_property
    def _fields(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the fields of the tiling data, in order."""
        path = self.folder / f"op_kernel/{self._names.op}_tiling.h"
        found = re.search(r"\bstruct \w+\s*\{(.*?)\};", mask(path.read_text(encoding="utf-8")), re.DOTALL)
        return tuple((name, ctype) for ctype, name in _MEMBER.findall(found[1])) if found else ()

    @cached_property
    def _knows_empty(self) -> bool:
        """Whether the plan is told that there is nothing to compute."""
        return _EMPTY.search(mask(self._plan_file.read_text(encoding="utf-8"))) is not None

    @cached_property
    def _library(self) -> ctypes.CDLL:
        names = self._names
        sets = "\n".join(
            f"    problem.{name} = static_cast<{ctype}>({'numbers' if ctype == 'float' else 'whole'}[{i}]);"
            for i, (name, ctype) in enumerate(self._members.items())
        )
        text = _CALL.format(
            plan=self._plan_file,
            names=names,
            sets=sets,
            empty=", told->empty != 0" if self._knows_empty else "",
        )
        tiling = self.folder / f"op_kernel/{names.op}_tiling.h"
        schedules = sorted(self.folder.glob("op_kernel/*_schedule.h"))
        headers = (*sorted(self.folder.glob("op_host/*.h")), *schedules, tiling)
        seen = "".join(f"// {path}\n" + path.read_text(encoding="utf-8") for path in headers)
        return host_library(
            stored({"plan_call.cpp": text, "seen.txt": seen}), "plan_call", self._plan_file.name
        )


_MOST_TILING = 1 << 16
_CALL = """#include "{plan}"
#include <cstring>
using namespace {names.host};
struct Told {{ uint64_t key; int64_t planned, rows, blocks, workspace, mode, bytes, empty; }};
extern "C" void attndsl_plan(const double *numbers, const int64_t *whole, Told *told, void *into,
    int64_t room)
{{
    Problem problem;
{sets}
    const Plan plan = PlanLaunch(problem{empty});
    told->key = plan.key;
    told->planned = plan.status == PlanStatus::kPlanned;
    told->rows = plan.taskRows;
    told->blocks = plan.tiling.blocks;
    told->workspace = plan.tiling.workspaceBytes;
    told->mode = plan.scheduleMode;
    told->bytes = sizeof(plan.tiling);
    if (told->bytes <= room) std::memcpy(into, &plan.tiling, sizeof(plan.tiling));
    static_cast<void>(numbers);
}}
"""


class _Told(ctypes.Structure):
    """What the project's host tells of its plan."""

    _fields_ = [
        ("key", ctypes.c_uint64),
        ("planned", ctypes.c_int64),
        ("rows", ctypes.c_int64),
        ("blocks", ctypes.c_int64),
        ("workspace", ctypes.c_int64),
        ("mode", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("empty", ctypes.c_int64),
    ]
    key: int
    planned: int
    rows: int
    blocks: int
    workspace: int
    mode: int
    bytes: int
    empty: int


def _entry(names: Names) -> str:
    return f"op_kernel/{names.kernel}.cpp"
