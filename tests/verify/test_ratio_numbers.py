"""The double benchmark's ratios as numbers, on error sums that are written out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attndsl.verify.judge.compare import (
    CHANCE,
    LEVELS,
    SMALL_ERROR,
    THRESHOLD,
    Errors,
    Ratios,
    extended,
    measure,
    ratios,
)

FLOOR = THRESHOLD["float16"]


@pytest.mark.parametrize(
    ("mine", "other", "small", "sure"),
    [
        (100, 0, 100.0, 70.0),
        (100, 7, 100 / 7, 10.0),
        (9, 1, 9.0, 0.0),
        (16, 2, 8.0, 2.0),
        (0, 5, 0.0, 0.0),
    ],
)
def test_small_values_less_three_deviations(mine: int, other: int, small: float, sure: float) -> None:
    found = ratios(Errors(small_off=mine), Errors(small_off=other), "float16")
    assert found.small == pytest.approx(small) and found.small_sure == pytest.approx(sure)


def test_means_and_roots() -> None:
    mine = Errors(count=4, largest=0.5, total=1.0, squares=0.16, spread=0.25)
    other = Errors(count=4, largest=0.25, total=0.4, squares=0.04)
    found = ratios(mine, other, "float16")
    assert found.mare == 2.0 and found.mere == pytest.approx(2.5)
    assert found.rmse == pytest.approx(2.0)
    assert found.mere_sure == pytest.approx(2.5)  # no element is off the mean
    spread = ratios(replace(mine, spread=0.41), other, "float16")  # deviation 0.2
    assert spread.mere_sure == 0.0  # three standard errors are 0.3
    wide = ratios(replace(mine, count=400, total=100.0, spread=41.0), replace(other, count=400), "float16")
    assert wide.mere_sure == pytest.approx((0.25 - 3 * 0.2 / 20) / max(0.001, FLOOR))


def test_no_error_of_the_benchmark_counts_as_less_than_the_threshold() -> None:
    found = ratios(Errors(count=2, largest=FLOOR, total=FLOOR, squares=2 * FLOOR**2), Errors(), "float16")
    assert (found.mare, found.mere) == (1.0, 0.5) and found.rmse == pytest.approx(1.0)
    assert ratios(Errors(), Errors(), "float16") == Ratios(0.0, 0.0, 0.0, 0.0)


def test_float32_sums_are_judged_by_their_own_size() -> None:
    size = THRESHOLD["float32"]
    mine = Errors(count=4, squares=4 * (8 * size) ** 2, energy=4 * 16.0)
    assert ratios(mine, Errors(), "float32").rmse == pytest.approx(2.0)
    assert ratios(replace(mine, energy=4 * 0.25), Errors(), "float32").rmse == pytest.approx(8.0)
    half = Errors(count=4, squares=4 * (8 * FLOOR) ** 2, energy=4 * 16.0)
    assert ratios(half, Errors(), "float16").rmse == pytest.approx(8.0)


def test_the_largest_error_that_chance_does_not_explain() -> None:
    """A tenth, or one beyond the benchmark's largest absolute error."""
    tops = tuple((1.0 / each, 0.001) for each in range(1, CHANCE + 1))
    other = Errors(largest=0.1, widest=0.002)
    assert ratios(Errors(tops=tops), other, "float16").mare_sure == 0.0
    tenth = (*tops, (0.05, 0.0005))
    assert ratios(Errors(tops=tenth), other, "float16").mare_sure == pytest.approx(0.5)
    beyond = (*tops[:3], (0.2, 0.003), *tops[4:])
    assert ratios(Errors(tops=beyond), other, "float16").mare_sure == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("change", "level"),
    [
        ({}, "L2"),
        ({"mere_sure": 1.3}, "L1"),
        ({"rmse": 1.6}, "L0"),
        ({"mare_sure": 5.1}, "L0"),
        ({"mare_sure": 10.1}, ""),
        ({"small_sure": 2.1}, ""),
        ({"rmse": 2.1}, ""),
        ({"mare": 99.0, "mere": 99.0, "small": 99.0}, "L2"),  # what chance explains
    ],
)
def test_the_strictest_level_that_is_kept(change: dict[str, float], level: str) -> None:
    plain = Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert replace(plain, **change).level == level


def test_levels_without_maxima_and_without_means() -> None:
    far: dict[str, Any] = {"mare_sure": 1e9, "small_sure": 1e9}
    plain = Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    means, squares = LEVELS[0].of_means(), LEVELS[0].of_squares()
    assert replace(plain, **far).within(means) and not replace(plain, **far).within(LEVELS[0])
    assert not replace(plain, mere_sure=1.3).within(means)
    assert replace(plain, **far, mere_sure=1e9).within(squares)
    assert not replace(plain, rmse=1.3).within(squares)
    assert means.name == "L2 (means)" and squares.name == "L2 (RMSE)"


@pytest.mark.parametrize(
    ("bound", "plain", "reach", "wanted"),
    [(0.1, 0.01, 4, 0.1), (0.1, 0.1, 4, 0.2), (0.1, 0.5, 4, 0.4), (0.1, 0.5, 1, 0.1)],
)
def test_bounds_reach_twice_the_benchmarks_error(
    bound: float, plain: float, reach: int, wanted: float
) -> None:
    assert extended(bound, plain, reach) == pytest.approx(wanted)


def test_error_sums_of_values() -> None:
    golden = np.array([1.0, -2.0, FLOOR / 2, 0.0, FLOOR])
    values = golden + np.array([0.5, 0.5, 1.5 * SMALL_ERROR["float16"], SMALL_ERROR["float16"], FLOOR])
    found = measure(values, golden, "float16")
    assert (found.count, found.small, found.small_off) == (3, 2, 1)
    assert found.largest == pytest.approx(FLOOR / (FLOOR + 1e-7))
    assert found.total == pytest.approx(0.5 + 0.25 + 1.0, rel=1e-3)
    assert found.squares == pytest.approx(0.5 + FLOOR**2) and found.widest == 0.5
    assert found.energy == pytest.approx(5.0 + FLOOR**2)
    assert found.spread == pytest.approx(0.25 + 0.0625 + 1.0, rel=1e-3)
    assert [round(each, 2) for _, each in found.tops] == [0.0, 0.5, 0.5]


def test_the_constants_are_those_of_the_documents() -> None:
    assert THRESHOLD == {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-14}
    assert SMALL_ERROR == {"float16": 2**-16, "bfloat16": 2**-16, "float32": 2**-30}
    assert [(each.mare, each.mere, each.rmse, each.small) for each in LEVELS] == [
        (2, 1.2, 1.2, 2.0),
        (5, 1.5, 1.5, 2.0),
        (10, 2, 2, 2.0),
    ]
    assert CHANCE == 9 and not math.isinf(LEVELS[0].mare)
