"""What became of mutants: counts by class, survivors, a table, JSON."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attndsl.mutate.mutants import Mutant
from attndsl.mutate.trial_run import KILLED, Outcome


@dataclass(frozen=True, kw_only=True)
class TriedMutant:
    """A mutant that compiled, and what became of it. ``operator``: whose it is; ``command``: what tries it
    again."""

    mutant: Mutant
    outcome: Outcome
    operator: str
    command: str

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        mutant, outcome = self.mutant, self.outcome
        return {
            "id": mutant.name,
            "class": mutant.kind,
            "operator": self.operator,
            "kernel": mutant.kernel,
            "file": mutant.file,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
            "status": outcome.status,
            "by": outcome.by,
            "message": outcome.message,
            "case": outcome.case,
            "cases": outcome.cases,
            "reproduce": self.command,
        }


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """The mutants of operators.

    Attributes:
        operator: their names. ``seed``: of the draw.
        tried: those that compiled, by file and line.
        not_compiled: how many others were drawn and did not compile.
        sites: how many mutants there are to draw from, by class.
        seconds: wall time.
    """

    operator: str
    seed: int
    tried: tuple[TriedMutant, ...]
    not_compiled: int
    sites: dict[str, int]
    seconds: float

    @property
    def killed(self) -> int:
        """How many mutants were killed."""
        return sum(each.outcome.status == KILLED for each in self.tried)

    @property
    def survivors(self) -> tuple[TriedMutant, ...]:
        """Those that were not."""
        return tuple(each for each in self.tried if each.outcome.status != KILLED)

    def classes(self) -> dict[str, dict[str, int]]:
        """By class the numbers of sites, of mutants, of those killed by each means, and of other ends."""
        found: dict[str, dict[str, int]] = {}
        for kind, sites in sorted(self.sites.items()):
            mine = [each for each in self.tried if each.mutant.kind == kind]
            ends = Counter(each.outcome.by or each.outcome.status for each in mine)
            killed = sum(each.outcome.status == KILLED for each in mine)
            found[kind] = {"sites": sites, "mutants": len(mine), "killed": killed, **ends}
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "operator": self.operator,
            "seed": self.seed,
            "mutants": len(self.tried),
            "killed": self.killed,
            "not_compiled": self.not_compiled,
            "seconds": round(self.seconds, 2),
            "classes": self.classes(),
            "survivors": [each.to_json() for each in self.survivors],
            "tried": [each.to_json() for each in self.tried],
        }

    def operators(self) -> dict[str, tuple[int, int]]:
        """By operator how many mutants were tried, and how many killed."""
        total = Counter(each.operator for each in self.tried)
        killed = Counter(each.operator for each in self.tried if each.outcome.status == KILLED)
        return {name: (number, killed[name]) for name, number in sorted(total.items())}

    def lines(self) -> Iterator[str]:
        """As text: a line a class, the survivors, a line an operator if there are several, the sum."""
        for kind, counts in self.classes().items():
            ends = ", ".join(f"{name} {number}" for name, number in list(counts.items())[3:])
            told = f"{counts['killed']} of {counts['mutants']} killed"
            yield f"{kind:24} {told:20} ({ends or 'none drawn'}; {counts['sites']} sites)"
        for each in self.survivors:
            yield from survivor_lines(each)
        for operator, (total, killed) in self.operators().items() if " " in self.operator else ():
            yield f"{operator:24} {killed} of {total} killed"
        share = 100.0 * self.killed / max(len(self.tried), 1)
        yield (
            f"{self.operator}: {self.killed} of {len(self.tried)} mutants killed ({share:.1f} %), "
            f"{self.not_compiled} did not compile, {self.seconds:.0f} s"
        )


def survivor_lines(each: TriedMutant) -> Iterator[str]:
    """A survivor as text."""
    mutant, outcome = each.mutant, each.outcome
    ran = f"{outcome.cases} case{'s' if outcome.cases != 1 else ''}"
    yield f"{outcome.status} ({ran}): {mutant.kind} at {mutant.file}:{mutant.line}, {mutant.kernel}"
    yield f"    - {mutant.before}"
    yield f"    + {mutant.after}"
    if outcome.message:
        yield f"    {outcome.message}"
    yield f"    {each.command}"


def command_of(operator: str, name: str, options: str) -> str:
    """What tries a mutant again."""
    return f"attndsl mutate {shlex.quote(operator)} --only {name} {options}".rstrip()
