"""Kernels on two faces: compiled against our headers of AscendC, and against those of a CANN."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from attndsl.compiler.prepare_launch import Launch
from attndsl.emulator import Knobs, Report, VendorHeaders
from attndsl.execute.execute import execute

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Difference:
    """How the two faces' runs of one launch differ.

    Attributes:
        outputs: names of outputs that are not the same bits.
        findings: "check/rule" that one face alone has.
        instructions: by pipe, how many more the other face has.
    """

    outputs: tuple[str, ...]
    findings: tuple[str, ...]
    instructions: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.outputs or self.findings or self.instructions)

    def __str__(self) -> str:
        parts = [f"other bits in {', '.join(self.outputs)}"] if self.outputs else []
        parts += [f"findings of one face: {', '.join(self.findings)}"] if self.findings else []
        if self.instructions:
            counts = ", ".join(f"{pipe} {number:+d}" for pipe, number in self.instructions.items())
            parts.append(f"instructions on CANN's headers against ours: {counts}")
        return "; ".join(parts)


class SecondFace:
    """Runs launches against a CANN's headers, and beside it on our own; several threads may do so at a time.

    Results and findings of a launch are those of CANN's headers.
    """

    def __init__(self, headers: VendorHeaders) -> None:
        self._headers = headers
        self._lock = threading.Lock()
        self._differences: Counter[str] = Counter()
        self._launches = 0

    def execute(self, launch: Launch, knobs: Knobs | None = None) -> Report:
        """As :func:`attndsl.execute.execute.execute`, with differences between the faces noted."""
        own = replace(launch, arguments=copied(launch.arguments))
        mine = execute(own, knobs)
        report = execute(launch, knobs, headers=self._headers)
        difference = differing(own, mine, launch, report)
        with self._lock:
            self._launches += 1
            if difference:
                self._differences[str(difference)] += 1
        return report

    def lines(self) -> list[str]:
        """What was found, a line each."""
        equal = self._launches - self._differences.total()
        head = (
            f"{self._launches} launches on both faces, {equal} with the same bits, findings and instructions"
        )
        return [head, *(f"  {number} x {text}" for text, number in self._differences.most_common())]

    def to_json(self) -> dict[str, Any]:
        """The same for ``--json``."""
        return {"launches": self._launches, "differences": dict(self._differences.most_common())}


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a launch, with arrays of their own."""
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return type(value)(_copy(each) for each in value)
    return value


def differing(own: Launch, mine: Report, launch: Launch, report: Report) -> Difference:
    """The difference between a launch run on our headers and the same run on a CANN's."""
    outputs = tuple(
        name for name, left in own.arguments.items() if _bytes(left) != _bytes(launch.arguments[name])
    )
    rules = set(mine.finding_counts) ^ set(report.finding_counts)
    here, there = mine.counters["instructions"], report.counters["instructions"]
    return Difference(
        outputs,
        tuple(sorted(rules)),
        {pipe: there[pipe] - count for pipe, count in here.items() if there[pipe] != count},
    )


def _bytes(value: Any) -> bytes:
    if isinstance(value, list | tuple):
        return b"".join(_bytes(each) for each in value)
    return b"" if value is None else np.ascontiguousarray(value).tobytes()
