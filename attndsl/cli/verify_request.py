"""What ``attndsl verify`` is asked for: its options, what of them goes together, and which kernels run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from attndsl.diagnosis.first_difference import RunsKernels
    from attndsl.emulator import VendorHeaders
    from attndsl.execute.coverage import Coverage
    from attndsl.execute.second_face import SecondFace
    from attndsl.spec.operator.operator import Operator
    from attndsl.verify.cases.wanted_kernel import WantedKernel


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """The options of the command that say which cases run and how; fields are named as its parameters."""

    names: tuple[str, ...]
    cases: int
    seed: int
    only: tuple[int, ...]
    changes: tuple[str, ...]
    shrink: bool
    precise: bool
    backends: tuple[str, ...]
    device: str | None
    coverage: bool
    project: Path | None
    cann: Path | None
    record: bool
    scheduler: str | None
    journal: Path | None

    def check(self) -> None:
        """Whether the options go together.

        Raises:
            click.UsageError: naming those that do not.
        """
        self._check_numbers()
        self._check_changes()
        self._check_record()
        own_kernels = self.coverage or self.project or self.cann
        if own_kernels and "emulator" not in self.chosen:
            option = "--coverage" if self.coverage else "--project" if self.project else "--cann"
            raise click.UsageError(f"{option} speaks of what the emulator runs; add --backend emulator")
        if self.project:
            self._check_project()
        if self.cann and (self.coverage or self.project or self.record):
            raise click.UsageError(
                "--cann compares generated kernels on two faces, without --coverage, --project, --record"
            )
        if (self.scheduler or self.journal) and own_kernels:
            option = "--scheduler" if self.scheduler else "--journal"
            raise click.UsageError(
                f"{option} cannot be joined with --coverage, --project or --cann: they run here alone"
            )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The backends that run beside the reference."""
        emulated = self.coverage or self.project or self.cann
        return self.backends or (("emulator",) if emulated else ("tile", "emulator"))

    @property
    def stated(self) -> dict[str, str]:
        """The values that ``--with`` states, by variable."""
        return dict(change.split("=", 1) for change in self.changes)

    def options_of(self, operator: Operator) -> str:
        """What the command that runs a case of an operator again has besides its seed and number."""
        words = [word for change in self.changes for word in ("--with", change)]
        words += ["--project", str(self.project)] if self.project else []
        words += ["--cann", str(self.cann)] if self.cann else []
        return f"{operator.device_option} {shlex.join(words)}".strip()

    def kernels_of(self, operator: Operator, headers: VendorHeaders | None) -> ChosenKernels:
        """Which kernels of an operator run, and what is noted of them; ``headers``: those of ``--cann``."""
        from attndsl.execute.coverage import Coverage
        from attndsl.execute.second_face import SecondFace
        from attndsl.execute.user_project import UserProject

        seen = Coverage() if self.coverage else None
        if self.project:
            edited = UserProject.at(self.project, operator, seen)
            return ChosenKernels(edited.execute, edited.kernels(), seen)
        if headers:
            face = SecondFace(headers)
            return ChosenKernels(face.execute, (), face)
        return ChosenKernels(seen.execute if seen else None, (), seen)

    def _check_numbers(self) -> None:
        """Any case of the seed's stream can be run alone; where its length is given, one of these."""
        given = click.get_current_context().get_parameter_source("cases") is ParameterSource.COMMANDLINE
        for number in self.only:
            if given and number >= self.cases:
                last = self.cases - 1
                raise click.UsageError(
                    f"--case {number} is beyond --cases {self.cases}; cases are numbered from 0 to {last}"
                )

    def _check_changes(self) -> None:
        if self.changes and (len(self.only) != 1 or self.record):
            raise click.UsageError("--with changes one case, which --case names; it makes no record")
        found: dict[str, str] = {}
        for change in self.changes:
            name, equals, value = change.partition("=")
            if not equals or not name:
                raise click.UsageError(
                    f"--with {change}: write NAME=VALUE, a variable of the case and its value"
                )
            if name in found:
                raise click.UsageError(f"--with states '{name}' twice, {found[name]} and {value}")
            found[name] = value

    def _check_record(self) -> None:
        if not self.record:
            return
        check_for_record("--record", self.names)
        if self.only:
            raise click.UsageError("--record keeps what all cases have checked; leave out --case")
        if self.device:
            raise click.UsageError(
                "--record keeps what was checked for the targets of the specs, not --device"
            )

    def _check_project(self) -> None:
        if len(self.names) != 1:
            raise click.UsageError("--project DIR is the project of one operator; name it")
        if self.record:
            raise click.UsageError(
                "--record keeps what was found of generated kernels, not those of --project"
            )


@dataclass(frozen=True)
class ChosenKernels:
    """``execute``: runs a launch, None as the emulator backend does; ``wanted``: the kernels that cases are
    for, empty for all; ``notes``: what is told of the runs at the end."""

    execute: RunsKernels | None
    wanted: tuple[WantedKernel, ...]
    notes: Coverage | SecondFace | None


def check_for_record(option: str, names: tuple[str, ...]) -> None:
    """Records are of shipped operators: one of a user's file would get into the package, and nothing reads
    it there."""
    for name in names:
        if Path(name).is_file():
            raise click.UsageError(
                f"{option} is for the records of shipped operators, and {name} is none; "
                "--json tells what its cases have checked, --journal FILE keeps them"
            )
