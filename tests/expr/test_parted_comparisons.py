"""Comparisons of the larger or smaller of two numbers as comparisons of both."""

import itertools

import pytest

from attndsl.expr import Symbol, maximum, minimum, negation
from attndsl.expr.parted_comparisons import parted

i, j, w = Symbol("i"), Symbol("j"), Symbol("w")
HAS = {
    "a band": abs(i - j) <= w,
    "outside of a band": abs(i - j) > w,
    "on the right": w >= abs(j - i),
    "strictly": abs(i - j) < w + 1,
    "less than a difference": w - abs(i - j) >= 1,
    "a sum": abs(i - j) + 1 <= w,
    "a multiple": abs(i - j) * 2 <= w,
    "a quotient": abs(i - j) // 2 < w,
    "the smaller": minimum(j, i + 1) < w,
    "two inside each other": maximum(minimum(j, 2), i) <= w,
    "negated": negation(abs(i - j) <= w),
    "joined": (abs(i - j) <= w) | (j < 1),
}
HAS_NONE = {
    "of what is no key": j < minimum(i, w),
    "an equality": abs(i - j).__eq__(w),
    "a negative multiple": abs(i - j) * -2 <= w,
    "many": sum((maximum(j, each) for each in range(5)), w) <= 9,
}


def orderings(condition):
    """The extremes that are left."""
    return [part for part in condition.walk() if getattr(part, "op", "") in ("min", "max")]


@pytest.mark.parametrize("name", HAS)
def test_it_says_the_same(name: str) -> None:
    found = parted(HAS[name], "j")
    assert not orderings(found)
    for values in itertools.product(range(-1, 5), repeat=3):
        env = dict(zip("ijw", values, strict=True))
        assert bool(found.evaluate(env)) == bool(HAS[name].evaluate(env)), env


@pytest.mark.parametrize("name", HAS_NONE)
def test_others_stay_as_they_are(name: str) -> None:
    assert parted(HAS_NONE[name], "j").same(HAS_NONE[name])
