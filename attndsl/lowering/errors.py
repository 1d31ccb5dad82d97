"""What can be wrong with a schedule, or with a graph that is asked to become one."""

from __future__ import annotations

from attndsl.base.errors import UserError
from attndsl.base.source_location import UNKNOWN_LINE, SourceLine


class ScheduleError(UserError, ValueError):
    """A schedule choice that the compiler cannot honour."""


class UnknownScheduleChoice(ScheduleError):
    """``op.schedule`` got a name it does not know."""

    def __init__(self, name: str, nearest: str, where: SourceLine) -> None:
        super().__init__(f"{where}: op.schedule has no choice '{name}'; the nearest is '{nearest}'")


class IllegalScheduleValue(ScheduleError):
    """A schedule choice has a value outside its range, or one that the computation does not allow.

    ``where``: who states it, the author's line or an entry of a file; the lowering does not know, and whoever
    asked it says so (:meth:`at`).
    """

    def __init__(
        self, name: str, value: object, rule: str, nearest: object, where: SourceLine | str = UNKNOWN_LINE
    ) -> None:
        self.name, self._told = name, (value, rule, nearest)
        super().__init__(f"{where}: {name}={value!r} must be {rule}; the nearest legal value is {nearest!r}")

    def at(self, where: SourceLine | str) -> IllegalScheduleValue:
        """The same mistake, of somebody else."""
        return IllegalScheduleValue(self.name, *self._told, where)


_SMALLER_BUFFERS = "choose a smaller tile_k, rows, max_rows, base_n or base_k"


class DoesNotFit(ScheduleError):
    """The buffers of a schedule exceed a memory, ``space``; ``hint``: the options that make them smaller."""

    def __init__(
        self, space: str, needed: int, usable: int, largest: str, hint: str = _SMALLER_BUFFERS
    ) -> None:
        self.space = space
        super().__init__(
            f"the schedule needs {needed} bytes of {space}, {usable} are usable; "
            f"the largest buffer is {largest}; {hint}"
        )


class TooManyEvents(ScheduleError):
    """A pipe pair needs more event ids than the hardware has."""

    def __init__(self, pair: str, needed: int, available: int) -> None:
        super().__init__(
            f"{pair} needs {needed} event ids, the hardware has {available}; use fewer buffer slots "
            f"(op.schedule(slots=1))"
        )


class NotLowered(ScheduleError):
    """The graph has a construct that no lowering rule covers yet; ``instead``: what an author can write."""

    def __init__(self, what: str, where: SourceLine, instead: str = "") -> None:
        next_step = f"{instead}; " if instead else ""
        super().__init__(
            f"{where}: {what} has no lowering rule yet; {next_step}the reference backend computes it"
        )


class StoredScheduleRefused(ScheduleError):
    """The compiler cannot honour a stored choice of a schedule; ``entry``: its file and number."""

    def __init__(self, entry: str, reason: ScheduleError) -> None:
        said = str(reason).removeprefix(f"{UNKNOWN_LINE}: ")
        super().__init__(f"{entry}: {said}; run attndsl tune with --write again, or remove the entry")


class KernelsOfOneName(UserError, ValueError):
    """Two kernels of an operator have names of the same words."""

    def __init__(self, operator: str, suffix: str, first: str, second: str) -> None:
        super().__init__(
            f"{operator}: two kernels are called {suffix}: {first} and {second}; "
            f"rename a tensor or an enumerator of a parameter"
        )
