"""An option that chooses one of two ways: stated, left to the compiler, or stated where it cannot be."""

from __future__ import annotations

import pytest

from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.choice_of_ways import takes
from attndsl.lowering.match.schedule_options import Schedule


def chosen(stated: str, problem: str = "", by_itself: bool = True) -> bool:
    schedule = Schedule(first_stores=stated)
    return takes(
        schedule, "first_stores", "vector", other="cube", problem=lambda: problem, by_itself=by_itself
    )


@pytest.mark.parametrize(
    ("stated", "problem", "by_itself", "holds"),
    [
        ("auto", "", True, True),
        ("auto", "", False, False),
        ("auto", "on Sundays", True, False),
        ("vector", "", False, True),
        ("cube", "", True, False),
        ("cube", "on Sundays", True, False),
    ],
)
def test_a_way_is_taken_where_it_is_there_and_stated_or_worth_it(
    stated: str, problem: str, by_itself: bool, holds: bool
) -> None:
    assert chosen(stated, problem, by_itself) is holds


def test_a_stated_way_that_is_not_there_is_refused_with_the_other_one() -> None:
    wanted = (
        r"first_stores='vector' must be \"cube\" or \"auto\" on Sundays; the nearest legal value is 'cube'"
    )
    with pytest.raises(IllegalScheduleValue, match=wanted):
        chosen("vector", "on Sundays")
