"""Indices and quantized results judged: what is wrong is seen, what rounding may do passes."""

import numpy as np
import pytest

from attndsl.verify.judge.golden import Importance
from attndsl.verify.judge.integral import compare_indices, compare_quantized

VALUES = np.array([[5.0, 4.0, 4.0 - 1e-7, 1.0, 0.5]])
GOLDEN = np.array([[0, 1, 2]], np.int32)


def importance(forced=None, rounding=1e-6):
    forced = None if forced is None else np.array([forced], bool)
    return Importance(VALUES, np.full(VALUES.shape, rounding), forced, np.array([5]))


def judged(indices, **options):
    return compare_indices(np.array([indices], np.int32), GOLDEN, importance(**options))


def test_equal_indices_pass_without_a_note():
    assert judged([0, 1, 2]).ok and not judged([0, 1, 2]).note


def test_near_ties_may_swap_and_are_counted():
    found = judged([0, 2, 1])
    assert found.ok and found.note.startswith("2 of 3")
    assert not judged([0, 2, 1], rounding=1e-8).ok


@pytest.mark.parametrize("indices", [[1, 0, 2], [0, 1, 3], [0, 1, 1], [0, 1, 5], [0, 1, -1]])
def test_other_values_repetitions_and_no_entries_are_wrong(indices):
    assert not judged(indices).ok


def test_forced_entries_keep_their_place():
    golden = np.array([[2, 0, 1]], np.int32)
    chosen = importance(forced=[0, 0, 1, 0, 0])
    assert compare_indices(golden, golden, chosen).ok
    assert not compare_indices(np.array([[1, 0, 2]], np.int32), golden, chosen).ok


def test_ranks_without_an_entry_hold_minus_one():
    golden = np.array([[0, 1, -1]], np.int32)
    chosen = Importance(VALUES, np.zeros(VALUES.shape), None, np.array([2]))
    assert compare_indices(golden, golden, chosen).ok
    assert not compare_indices(np.array([[0, 1, 2]], np.int32), golden, chosen).ok


def test_off_by_one_only_at_a_rounding_boundary():
    unrounded, step = np.array([1.4999, 1.3, -2.5001]), np.full(3, 1.0)
    golden = np.rint(unrounded).astype(np.int8)

    def ok(*values):
        return compare_quantized(np.array(values, np.int8), golden, unrounded, step, 2**-8).ok

    assert ok(1, 1, -3) and ok(2, 1, -2)
    assert not ok(1, 2, -3) and not ok(3, 1, -3) and not ok(0, 1, -3)


def test_integers_of_another_shape_are_wrong():
    """Numpy would repeat the single one."""
    assert "shape [1, 1] instead of [1, 3]" in judged([0]).problems[0]
    golden, unrounded = np.full((1, 4), 3, np.int8), np.full((1, 4), 3.0)
    assert compare_quantized(golden, golden, unrounded, step=np.ones((1, 4)), tolerance=0.0).ok
    found = compare_quantized(golden[:, :1], golden, unrounded, step=np.ones((1, 4)), tolerance=0.0)
    assert not found.ok and "shape [1, 1] instead of [1, 4]" in found.problems[0]


def test_problems_tell_what_is_and_what_should_be():
    golden, values = np.array([[3, 4]], np.int8), np.array([[3.0, 4.0]])
    (told,) = compare_quantized(golden + np.int8(5), golden, values, np.ones((1, 2)), 0.0).problems
    assert "[0, 0] is 8 instead of 3 (2 of 2 elements)" in told
    (told,) = judged([0, 1, 3]).problems
    assert "[0, 2] is 3 instead of 2" in told


def test_slack_of_what_is_rounded_moves_the_boundary():
    unrounded, step = np.array([1.2, 1.2]), np.full(2, 1.0)
    golden, slack = np.ones(2, np.int8), np.array([0.31, 2.31])

    def ok(*values):
        actual = np.array(values, np.int8)
        return compare_quantized(actual, golden, unrounded, step, 2**-8, slack=slack).ok

    assert ok(2, 2) and ok(1, 4) and ok(1, -1)
    assert not ok(3, 1) and not ok(0, 1) and not ok(1, 5) and not ok(1, -2)
