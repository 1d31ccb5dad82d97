"""What a run on the emulator has to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attndsl.emulator.errors import FindingsError
from attndsl.target import Device


@dataclass(frozen=True)
class Finding:
    """One defect: the check and rule that saw it, where it happened and what to do."""

    check: str
    """racecheck, synccheck, memcheck or initcheck."""
    rule: str
    message: str
    core: str
    """As "block 3 AIV1"."""
    pipe: str
    buffer: str
    """UB, L1, L0A, ... or the name of the argument in global memory."""
    address: int
    """Byte in the buffer."""
    bytes: int
    source: str
    """"file:line" of the instruction."""
    other: str
    """"file:line" of the other instruction of a pair, or empty."""

    def __str__(self) -> str:
        return f"{self.check}/{self.rule} at {self.source} ({self.core}): {self.message}"


@dataclass(frozen=True)
class Report:
    """Findings and counters of one run."""

    findings: tuple[Finding, ...]
    finding_counts: Mapping[str, int]
    """How often each "check/rule" was met, those beyond the cap and repetitions included."""
    counters: Mapping[str, Any]
    """`instructions` and `busy_cycles` a pipe, summed over cores; `busy_by_core` of each kind of core, and
    `active_by_core`, which are cycles with an instruction in flight, as a device's counters have them;
    `total_cycles` and `microseconds` of the launch, a prediction; by argument name `gm_bytes`, its size, and
    `gm_read_bytes`, `gm_write_bytes`; `memory_bytes` from and to memory behind L2, of which
    `memory_read_bytes` are read, `memory_read_by_tensor` by argument name; `product_cycles`: what products
    would take whose operands fill their fractals; `block_ends`: cycles at which each block ends; `progress`:
    of a run that was stopped, at equal distances of time, the cycles until which each cube core's products
    are known and how many of them they took; `halfway`: of such a run, those of the others that grow with the
    work as they were when half of `progress` was noted; both None of other runs; `critical_path`: cycles by
    what they went to along the chain of events that ends last; `bank_conflicts`: cycles by line that vector
    instructions took longer."""
    never_fully_written: tuple[str, ...]
    """Names of arguments with bytes that are undefined at the end."""
    cores: tuple[int, int, int]
    """Blocks, cube cores a block, vector cores a block."""
    reached: tuple[int, ...] = ()
    """The statements that ran, of an instrumented kernel (`attndsl.emulator.statements`), by number."""

    @property
    def ok(self) -> bool:
        """Whether no check found anything."""
        return not self.finding_counts

    def first_findings(self) -> tuple[str, ...]:
        """The first three findings as words, and how many more there are; nothing if there are none."""
        found = [str(finding) for finding in self.findings[:3]]
        if not self.ok and not found:
            found = [f"{rule}: {count} times" for rule, count in self.finding_counts.items()]
        more = sum(self.finding_counts.values()) - len(found)
        return (*found, f"and {more} more findings") if found and more > 0 else tuple(found)

    def raise_for_findings(self) -> None:
        """Raises `FindingsError` with the findings unless there are none."""
        if not self.ok:
            lines = [str(finding) for finding in self.findings[:10]]
            more = sum(self.finding_counts.values()) - len(lines)
            tail = f"\n(and {more} more)" if more > 0 else ""
            raise FindingsError("\n".join(lines) + tail)


def report_of(data: Mapping[str, Any], device: Device) -> Report:
    """A report from what the harness wrote of a run on ``device``."""
    arrays = data["arrays"]
    blocks, cubes, vectors = data["cores"]
    return Report(
        findings=tuple(Finding(**finding) for finding in data["findings"]),
        finding_counts=data["finding_counts"],
        counters={
            "instructions": data["instructions"],
            "busy_cycles": data["busy_cycles"],
            "active_by_core": data["active_by_core"],
            "total_cycles": data["cycles"],
            "microseconds": device.microseconds(data["cycles"]),
            **_moved(data),
            "product_cycles": data["product_cycles"],
            "block_ends": data["block_ends"],
            "progress": data["progress"] if data["stopped"] else None,
            "halfway": None if data["halfway"] is None else _moved(data["halfway"]),
            "critical_path": data["critical_path"],
            "gm_bytes": {name: array["bytes"] for name, array in arrays.items()},
        },
        never_fully_written=tuple(name for name, array in arrays.items() if not array["fully_defined"]),
        cores=(blocks, cubes, vectors),
        reached=tuple(data["reached"]),
    )


def _moved(data: Mapping[str, Any]) -> dict[str, Any]:
    """The counters that grow with the work."""
    arrays = data["arrays"]
    return {
        "busy_by_core": data["busy_by_core"],
        "bank_conflicts": data["bank_conflicts"],
        "memory_bytes": data["memory_read_bytes"] + data["memory_write_bytes"],
        "memory_read_bytes": data["memory_read_bytes"],
        "memory_read_by_tensor": {name: array["fetched_bytes"] for name, array in arrays.items()},
        "gm_read_bytes": {name: array["read_bytes"] for name, array in arrays.items()},
        "gm_write_bytes": {name: array["write_bytes"] for name, array in arrays.items()},
    }
