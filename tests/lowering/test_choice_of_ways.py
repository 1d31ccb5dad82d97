"""An option that chooses one of two ways: stated, left to the compiler, or stated where it cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attndsl.lowering.errors import IllegalScheduleValue
from attndsl.lowering.match.choice_of_ways import Way
from attndsl.lowering.match.schedule_options import Schedule, legal_values
from attndsl.lowering.ways import WAYS
from tests.support.devices import DEVICE

WAY = Way[str](
    option="first_stores",
    value="vector",
    other="cube",
    obstacles=(("on Sundays", lambda day: day == "Sunday"), ("at weekends", lambda day: day[0] == "S")),
)


def chosen(stated: str, day: str = "Monday", by_itself: bool = True) -> bool:
    return WAY.is_taken(Schedule(first_stores=stated), day, by_itself=by_itself)


@pytest.mark.parametrize(
    ("stated", "day", "by_itself", "holds"),
    [
        ("auto", "Monday", True, True),
        ("auto", "Monday", False, False),
        ("auto", "Sunday", True, False),
        ("vector", "Monday", False, True),
        ("cube", "Monday", True, False),
        ("cube", "Sunday", True, False),
    ],
)
def test_a_way_is_taken_where_it_is_there_and_stated_or_worth_it(
    stated: str, day: str, by_itself: bool, holds: bool
) -> None:
    assert chosen(stated, day, by_itself) is holds


def test_a_stated_way_that_is_not_there_is_refused_with_the_other_one() -> None:
    wanted = (
        r"first_stores='vector' must be \"cube\" or \"auto\" on Sundays; the nearest legal value is 'cube'"
    )
    with pytest.raises(IllegalScheduleValue, match=wanted):
        chosen("vector", "Sunday")
    with pytest.raises(IllegalScheduleValue, match=r'must be "cube" or "auto" at weekends;'):
        chosen("vector", "Saturday")


def test_an_option_without_auto_is_refused_without_it() -> None:
    assert replace(WAY, has_auto=False).instead == '"cube"'


def test_each_value_of_the_list_is_one_of_its_option() -> None:
    for way in WAYS:
        legal = legal_values(DEVICE)[way.option]
        assert legal.holds(way.value) and legal.holds(way.other) and legal.holds("auto") is way.has_auto
