"""What is told of a miss: the smallest case found for it, and where the kernel first goes wrong in it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attndsl.diagnosis.rounding import Precise

_CHECK = re.compile(r"(mem|race|sync|init)check/\w+")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """An element that kernel and tile program leave unlike.

    Attributes:
        tensor: its name; ``meaning``: what the tensor holds.
        element: its flat index, in its block's part of a workspace tensor.
        kernel, program: what the two have there.
        unlike: how many elements of the tensor differ.
        stage: the function of the kernel that writes it, "" if none was found.
        core: as "block 3 AIV1".
        at: scalars of the core at that moment.
        row, column: of the element in what the instruction wrote.
        instruction: the tile program's; ``where``: its spec line, "" where it serves all of a spec.
    """

    tensor: str
    meaning: str
    element: int
    kernel: float
    program: float
    unlike: int
    stage: str = ""
    core: str = ""
    at: Mapping[str, int] = field(default_factory=dict)
    row: int = 0
    column: int = 0
    instruction: str = ""
    where: str = ""

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; numbers that JSON has not, such as infinity, as text."""
        values = {"kernel": self.kernel, "program": self.program}
        plain = {name: each if math.isfinite(each) else str(each) for name, each in values.items()}
        return {**asdict(self), "at": dict(self.at), **plain}

    def lines(self) -> Iterator[str]:
        """The difference for a reader."""
        what = f"{self.tensor} ({self.meaning})" if self.meaning else self.tensor
        yield f"the kernel leaves its tile program at {what}: {self.unlike} elements differ"
        yield f"    element {self.element} is {self.kernel:g} by the kernel, {self.program:g} by the program"
        if self.stage:
            at = ", ".join(f"{name} {value}" for name, value in self.at.items())
            yield f"    written by stage {self.stage} on {self.core}: {at}"
            line = f"  ({self.where})" if self.where else ""
            yield f"    row {self.row}, column {self.column} of {self.instruction}{line}"


@dataclass(frozen=True, kw_only=True)
class SmallestMiss:
    """The smallest case found for a miss.

    Attributes:
        source: the operator's name, or the spec file as it was given.
        seed, case: of the case that missed.
        backend: that missed.
        changes: the variables that are not as in that case.
        shape: the extents of the smallest case.
        tries: cases that were run to find it.
        message: what is wrong in it.
        difference: where the kernel first leaves its tile program; None where the two agree, or where the
            backend is not the emulator.
        precise: its tile program in float64, where that was asked for.
        options: of the command that runs it, beyond seed, number and changes.
    """

    source: str
    seed: int
    case: int
    backend: str
    changes: Mapping[str, Any]
    shape: str
    tries: int
    message: str
    difference: Difference | None = None
    precise: Precise | None = None
    options: str = ""

    @property
    def reproduce(self) -> str:
        """A command that runs this case alone."""
        words = ["attndsl", "verify", self.source, "--seed", str(self.seed), "--case", str(self.case)]
        for name, value in self.changes.items():
            words += ["--with", f"{name}={value}"]
        command = shlex.join([*words, "--backend", self.backend] if self.backend != "reference" else words)
        return f"{command} {self.options}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; values of changes as commands take them."""
        told = {
            "case": self.case,
            "backend": self.backend,
            "changes": {name: str(value) for name, value in self.changes.items()},
            "shape": self.shape,
            "tries": self.tries,
            "message": self.message,
            "reproduce": self.reproduce,
        }
        return {
            **told,
            "difference": None if self.difference is None else self.difference.to_json(),
            "precise": None if self.precise is None else self.precise.to_json(),
        }

    def _agreement(self) -> Iterator[str]:
        """What a kernel that agrees with its tile program leaves to look at."""
        yield "the kernel's numbers agree with those of its tile program, up to rounding"
        if self.check:
            yield f"what is wrong is what a check of the emulator has found: {self.check}"
            yield "no spec should give such a kernel: please report it, with the spec"
        else:
            yield "look at the program, or at its rounding errors"

    @property
    def check(self) -> str:
        """The check of the emulator that found the miss, as "initcheck/undefined_value", or ""."""
        found = _CHECK.match(self.message)
        return found.group() if found else ""

    def lines(self) -> list[str]:
        """The case for a reader."""
        what = f"smallest case found for case {self.case}" if self.changes else f"case {self.case}"
        found = [f"{what} on {self.backend} ({self.tries} tried): {self.shape}"]
        found += [f"    {self.message}", f"    {self.reproduce}"]
        if self.difference is not None:
            found += [f"    {line}" for line in self.difference.lines()]
        elif self.backend == "emulator":
            found += [f"    {line}" for line in self._agreement()]
        if self.precise is not None:
            found.append(f"    {self.precise.line(self.difference is not None)}")
        return found
