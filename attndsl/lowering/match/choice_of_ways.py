"""Schedule options that choose between two ways of doing something, of which one is not always there."""

from __future__ import annotations

from collections.abc import Callable

from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.schedule_options import Schedule


def takes(
    schedule: Schedule, option: str, way: str, *, other: str, problem: Callable[[], str], by_itself: bool
) -> bool:
    """Whether the schedule's ``option``, ``way``, ``other`` or "auto", comes out as ``way``.

    Args:
        problem: why it cannot, as it ends a sentence; empty where it can.
        by_itself: whether "auto" takes that way where it can.

    Raises:
        IllegalScheduleValue: ``way`` is stated where it cannot be.
    """
    stated = getattr(schedule, option)
    if stated == other:
        return False
    why = problem()
    if stated == way and why:
        raise IllegalScheduleValue(option, stated, f'"{other}" or "auto" {why}', other)
    return not why and (stated == way or by_itself)
