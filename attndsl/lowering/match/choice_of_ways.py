"""Values of schedule options that not every computation can have, each with a table of obstacles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.schedule_options import Schedule

_Lowered = TypeVar("_Lowered")
"""What is lowered, as obstacles look at it: the context of an attention."""


@dataclass(frozen=True, kw_only=True)
class Way(Generic[_Lowered]):
    """One of two ways of doing something, between which an option chooses.

    Attributes:
        option, value: the option, and its value that chooses this way. ``other``: that of the other way,
            which is always there. ``has_auto``: whether the option may also be "auto".
        obstacles: where the way is not there, in words that end a sentence, and the test of it. The first
            that holds is told.
    """

    option: str
    value: str
    other: str
    obstacles: tuple[tuple[str, Callable[[_Lowered], bool]], ...]
    has_auto: bool = True

    @property
    def instead(self) -> str:
        """The values that are legal where this one is not."""
        return f'"{self.other}" or "auto"' if self.has_auto else f'"{self.other}"'

    def is_taken(self, schedule: Schedule, lowered: _Lowered, *, by_itself: bool) -> bool:
        """Whether a schedule takes this way. ``by_itself``: whether "auto" does, where the way is there.

        Raises:
            IllegalScheduleValue: it is stated where it is not there.
        """
        stated = getattr(schedule, self.option)
        if stated == self.other:
            return False
        obstacle = next((words for words, holds in self.obstacles if holds(lowered)), "")
        if stated == self.value and obstacle:
            raise IllegalScheduleValue(self.option, stated, f"{self.instead} {obstacle}", self.other)
        return not obstacle and (stated == self.value or by_itself)
