"""The oracle judged: each check flags what it is for, and lets the near twin pass."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from attndsl.verify.judge import compare as compare_module
from attndsl.verify.judge import compare as module
from attndsl.verify.judge.compare import (
    LEVELS,
    SMALL_ERROR,
    THRESHOLD,
    Errors,
    Ratios,
    Shared,
    compare,
    measure,
    ratios,
    tolerance,
)

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
L2, L1, L0 = LEVELS


@pytest.fixture(params=["float16", "bfloat16"])
def result(request):
    """Golden values between 0.5 and 1, and the benchmark: golden values rounded."""
    dtype = DTYPES[request.param]
    golden = np.random.default_rng(1).uniform(0.5, 1, (4, 64))
    return golden, golden.astype(dtype)


def judged(actual, result, *, bound=1e9, level=None, empty=None):
    golden, base = result
    return compare(actual.astype(base.dtype), golden, base, bound=bound, level=level, empty=empty)


@pytest.mark.parametrize(
    ("dtype", "keys", "dequantized", "bound"),
    [
        ("float16", 2047, False, 2**-8),
        ("float16", 2048, False, 2**-7),
        ("bfloat16", 2047, False, 2**-7),
        ("bfloat16", 2048, False, 2**-6),
        ("float16", 1, True, 5e-3),
        ("bfloat16", 1, True, 2**-7),
        ("int8", 9999, True, 1),
    ],
)
def test_tolerances_of_the_contract(dtype, keys, dequantized, bound):
    assert tolerance(dtype, keys, dequantized=dequantized) == bound


def test_thresholds_of_small_values_are_those_of_the_benchmark():
    assert THRESHOLD == {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-14}
    assert SMALL_ERROR == {"float16": 2**-16, "bfloat16": 2**-16, "float32": 2**-30}


def test_relative_errors_are_those_of_the_benchmark():
    """A ten-millionth is added to what divides, for results near zero."""
    golden = np.array([1e-4])
    assert measure(golden * 1.5, golden, "float32").largest == pytest.approx(0.5e-4 / (1e-4 + 1e-7), rel=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_problems_tell_what_is_and_what_should_be(dtype):
    golden = np.array([[1.0, 2.0, 3.0]])
    actual = np.array([[1.0, 2.5, 3.0]], dtype)
    (told,) = compare(actual, golden, golden.astype(dtype), bound=2.0**-8, level=None).problems
    assert "[0, 1]: 2.5 instead of 2 (1 of 3 elements)" in told
    whole = compare(np.array([1, 9], np.int8), np.array([1, 5], np.int8), np.zeros(2, np.int8), bound=1.0)
    assert "[1]: 9 instead of 5" in whole.problems[0]


def test_errors_are_measured_by_the_golden_result_and_not_by_the_result():
    """Beyond the bound by a thousandth of it: as a part of what came out it would be within."""
    golden, bound = np.array([100.0, 1.0]), 2.0**-6
    actual = np.array([100.0 * (1 + 1.001 * bound), 1.0], np.float32)
    assert not compare(actual, golden, golden.astype(np.float32), bound=bound, level=None).ok
    actual[0] = 100.0 * (1 + 0.999 * bound)
    assert compare(actual, golden, golden.astype(np.float32), bound=bound, level=None).ok


def test_elementwise_bound(result):
    golden, base = result
    bound = 2.0**-6
    off = base.astype(float)
    off[1, 3] = golden[1, 3] + 1.5 * bound
    found = judged(off, result, bound=bound)
    assert not found.ok and "[1, 3]" in found.problems[0] and "1 of 256" in found.problems[0]
    off[1, 3] = golden[1, 3] + 0.5 * bound
    assert judged(off, result, bound=bound).ok


def test_elementwise_bound_grows_with_the_result_only_above_one():
    golden = np.array([0.01, 100.0])
    for golden_at, allowed in ((0, 0.01 + 0.004), (1, 100.4)):
        actual = golden.copy()
        actual[golden_at] = allowed
        wide = actual.astype(np.float32)
        assert compare(wide, golden, golden.astype(np.float32), bound=2.0**-7, level=None).ok
        actual[golden_at] += 2.0**-7 * max(1, golden[golden_at])
        wide = actual.astype(np.float32)
        assert not compare(wide, golden, golden.astype(np.float32), bound=2.0**-7, level=None).ok


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_special_values_that_should_not_be_there(result, wrong):
    actual = result[1].astype(float)
    assert judged(actual, result).ok
    actual[2, 5] = wrong
    found = judged(actual, result)
    assert len(found.problems) == 1 and "[2, 5]" in found.problems[0]


@pytest.mark.parametrize("right", [np.nan, np.inf, -np.inf])
def test_special_values_that_should_be_there(result, right):
    golden, base = (part.copy() for part in result)
    golden[0, 0] = right
    assert judged(golden, (golden, base)).ok
    for wrong in (0.0, 1.0, np.nan, np.inf, -np.inf):
        if not np.array_equal(wrong, right, equal_nan=True):
            actual = golden.copy()
            actual[0, 0] = wrong
            assert not judged(actual, (golden, base)).ok, wrong


def test_a_result_of_nan_alone_is_not_a_pass(result):
    assert not judged(np.full((4, 64), np.nan), result, bound=1e9, level=L0).ok


def test_overflow_of_the_golden_result_must_show_as_infinity():
    golden = np.array([1e6, -1e6, 1.0])
    base = np.array([np.inf, -np.inf, 1.0], np.float16)
    assert compare(np.array([np.inf, -np.inf, 1], np.float16), golden, base, bound=1, level=None).ok
    for actual in ([65504, -np.inf, 1], [np.inf, np.inf, 1]):
        assert not compare(np.array(actual, np.float16), golden, base, bound=1e9, level=None).ok


def test_where_nothing_is_attended_zero_is_exact_with_its_sign():
    golden, base = np.zeros((2, 4)), np.zeros((2, 4), np.float16)
    empty = np.array([[True], [False]])
    for row, ok in ((0, False), (1, True)):
        actual = base.copy()
        actual[row, 2] = -0.0
        assert compare(actual, golden, base, bound=1, level=None, empty=empty).ok is ok
        actual[row, 2] = 2**-20
        assert compare(actual, golden, base, bound=1, level=None, empty=empty).ok is ok


def test_shape_and_dtype_must_match(result):
    golden, base = result
    assert not compare(base[:2], golden, base, bound=9).ok
    other = base.astype(np.float32)
    assert not compare(other, golden, base, bound=9).ok


def test_int8_results_within_their_bound():
    golden = np.array([-128, 0, 127], np.int8)
    assert compare(np.array([-127, 1, 126], np.int8), golden, golden, bound=1).ok
    assert not compare(np.array([-126, 0, 127], np.int8), golden, golden, bound=1).ok
    assert not compare(np.array([127, 0, 127], np.int8), golden, golden, bound=1).ok  # no wrap-around


# The double benchmark ------------------------------------------------------------------------------


def scaled(result, factors):
    """A result whose relative errors are ``factors`` times the threshold of its dtype."""
    golden, base = result
    return golden * (1 + np.asarray(factors) * module.THRESHOLD[base.dtype.name])


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_mare_alone(level):
    golden, base = np.full(1000, 0.75), np.full(1000, 0.75, np.float32)
    threshold = module.THRESHOLD["float16"]
    for factor, ok in ((0.9, True), (1.1, False)):
        actual = golden.copy()
        actual[7] *= 1 + factor * level.mare * threshold
        found = ratios(measure(actual, golden, "float16"), measure(base, golden, "float16"), "float16")
        assert found.mere < 0.1 and found.rmse < 0.5
        assert found.within(level) is ok


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_mere_alone(level):
    golden = np.full(1000, 0.01)  # small values: the root mean square stays far below its threshold
    for factor, ok in ((0.95, True), (1.05, False)):
        actual = golden * (1 + factor * level.mere * module.THRESHOLD["float16"])
        found = ratios(measure(actual, golden, "float16"), Errors(), "float16")
        assert found.mare < L2.mare + 1e-9 or level is not L2
        assert found.rmse < 0.1
        assert (found.mere <= level.mere) is ok
        assert found.within(level) is (ok and found.mare <= level.mare)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_rmse_alone(level):
    golden = np.full(1000, 64.0)  # large values: relative errors stay far below their threshold
    for factor, ok in ((0.95, True), (1.05, False)):
        actual = golden + factor * level.rmse * module.THRESHOLD["float16"]
        found = ratios(measure(actual, golden, "float16"), Errors(), "float16")
        assert found.mare < 0.1 and found.mere < 0.1
        assert found.within(level) is ok


def test_errors_are_in_relation_to_the_benchmarks():
    golden = np.full(100, 1.0)
    base = golden * 1.01
    mine = ratios(measure(golden * 1.011, golden, "float16"), measure(base, golden, "float16"), "float16")
    assert mine.level == "L2" and 1.05 < mine.mare < 1.15
    worse = ratios(measure(golden * 1.03, golden, "float16"), measure(base, golden, "float16"), "float16")
    assert worse.level == ""


def test_small_values_are_counted_and_nothing_else():
    golden, base = np.full(1000, 2.0**-13), np.full(1000, 2.0**-13)

    def found(mine, others):
        actual, other = golden.copy(), base.copy()
        actual[:mine] += 2.0**-15
        other[:others] += 2.0**-15
        return ratios(measure(actual, golden, "float16"), measure(other, golden, "float16"), "float16")

    assert found(500, 100).small == 5 and found(500, 100).level == ""
    assert found(500, 300).small == 5 / 3 and found(500, 300).level == "L2"
    assert (found(500, 100).mare, found(500, 100).mere, found(500, 100).rmse) == (0, 0, 0)
    assert measure(golden + 2.0**-17, golden, "float16").small_off == 0


def test_a_count_of_three_is_chance_and_one_of_thirty_is_not():
    few, many = (ratios(Errors(small=99, small_off=count), Errors(), "float16") for count in (3, 30))
    assert few.small == 3 and few.level == "L2"
    assert many.small == 30 and many.level == ""


def tailed(errors, plain=1e-3):
    """Ratios of a result with these absolute errors at its smallest elements, of size 0.01; the benchmark
    errs by ``plain`` at one of size 1, and by 0.4 times that at one of size 0.1."""
    golden = np.repeat([1.0, 0.1, 0.01], [500, 10, 40])
    actual, base = golden.copy(), golden.copy()
    base[7] += plain
    base[503] += 0.4 * plain
    actual[510 : 510 + len(errors)] += errors
    return ratios(*(measure(each, golden, "float16") for each in (actual, base)), "float16")


def test_a_large_relative_error_of_a_small_result_is_chance_and_of_ten_is_not():
    """Errors of a size that the benchmark has as well; the means stay as they are."""
    one, nine, ten = (tailed([0.0009] * count) for count in (1, 9, 10))
    assert one.mare == nine.mare == ten.mare > 2 * L0.mare
    assert (one.mare_sure, nine.mare_sure, ten.mare_sure) == (0, 0, ten.mare)
    assert one.level == "L2" and ten.level == ""


def test_an_error_that_the_benchmark_makes_nowhere_is_no_chance():
    """Of a single element that is wrong by a little more, at whatever place among the largest."""
    assert tailed([0.0011]).mare_sure == pytest.approx(0.11 / 0.004, rel=1e-4)
    assert tailed([0.0011]).level == ""
    assert tailed([0.0009, 0.0011, 0.0008]).mare_sure == tailed([0.0011]).mare_sure


def test_largest_errors_of_equally_good_computations():
    """A heavy tail: the largest relative error alone tells samples apart that differ in nothing. Errors three
    times as large are still told from them."""
    rng = np.random.default_rng(0)
    alone = sure = seen = 0
    for _ in range(300):
        golden = rng.standard_normal(1200) / 8
        mine, other = (golden + 2.0**-11 * rng.standard_normal(1200) for _ in range(2))
        sums = [measure(each, golden, "float16") for each in (mine, other, golden + 3 * (mine - golden))]
        found, worse = ratios(sums[0], sums[1], "float16"), ratios(sums[2], sums[1], "float16")
        alone += found.mare > L2.mare
        sure += found.mare_sure > L2.mare
        seen += not worse.within(L2)
    assert alone > 20 and sure <= 3 and seen > 290


def test_means_of_equally_good_computations():
    """Of eighty elements, two near zero make the mean. Errors three times as large are still told from
    them, and of many elements a quarter more."""
    rng = np.random.default_rng(0)
    alone = sure = seen = 0
    for _ in range(300):
        golden = rng.standard_normal(80) / 4
        mine, other = (golden + 2.0**-11 * rng.standard_normal(80) for _ in range(2))
        sums = [measure(each, golden, "float16") for each in (mine, other, golden + 3 * (mine - golden))]
        found, worse = ratios(sums[0], sums[1], "float16"), ratios(sums[2], sums[1], "float16")
        alone += found.mere > L2.mere
        sure += found.mere_sure > L2.mere
        seen += not worse.within(L2)
    assert alone > 60 and sure <= 3 and seen > 290
    golden = 1 + rng.random(20_000)
    base = golden + 2.0**-9 * rng.standard_normal(golden.size)
    for worse, level in ((1.1, "L2"), (1.25, "L1")):
        actual = golden + worse * (rng.permutation(base - golden))
        found = ratios(measure(actual, golden, "float16"), measure(base, golden, "float16"), "float16")
        assert replace(found, rmse=0.0).level == level


def test_levels_are_the_published_ones():
    found = {(each.name, each.mare, each.mere, each.rmse) for each in LEVELS}
    assert found == {("L0", 10, 2, 2), ("L1", 5, 1.5, 1.5), ("L2", 2, 1.2, 1.2)}
    assert Ratios(9, 1.1, 1.1, 9, 2, 1.9).level == "L2"
    assert Ratios(9, 1.3, 1.1, 9, 2, 1.9, 1.1).level == "L2"
    assert Ratios(9, 1.3, 1.1, 9, 2, 1.9, 1.3).level == "L1"
    assert Ratios(9, 1.1, 1.1, 9, 2, 2.1).level == "L1"
    assert Ratios(9, 1.1, 1.6, 9, 2, 1.9).level == "L0"
    assert Ratios(9, 1.1, 1.1, 9, 2.1, 1.9).level == ""
    assert Ratios(9, 0, 0, 0, 0, float("nan")).level == ""


def test_the_ratios_count_even_where_the_elementwise_bound_holds(result):
    actual = scaled(result, 3.0)
    assert judged(actual, result, bound=1.0).ok
    found = judged(actual, result, bound=1.0, level=L2)
    assert not found.ok and "MERE" in found.problems[0]


def test_the_elementwise_bound_counts_even_where_the_ratios_hold(result):
    golden, base = result
    bad = base.astype(float) * 1.5  # a benchmark as bad as the result
    found = compare(bad.astype(base.dtype), golden, bad.astype(base.dtype), bound=0.01, level=L2)
    assert found.ratios is not None and found.ratios.level == "L2" and not found.ok


def test_an_overflowing_benchmark_excuses_nothing(result):
    golden, base = result
    useless = np.full_like(base, np.nan)
    actual = scaled(result, 9.0).astype(base.dtype)
    assert not compare(actual, golden, useless, bound=1.0, level=L2).ok
    assert compare(base, golden, useless, bound=1.0, level=L2).ok


def test_error_sums_add_up():
    rng = np.random.default_rng(0)
    golden = rng.standard_normal(100)
    actual = golden + 1e-3 * rng.standard_normal(100)
    parts = [measure(actual[at], golden[at], "float16") for at in (slice(0, 30), slice(30, 100))]
    whole, both = measure(actual, golden, "float16"), parts[0] + parts[1]
    assert (whole.count, whole.largest, whole.small, whole.small_off) == (
        both.count,
        both.largest,
        both.small,
        both.small_off,
    )
    assert whole.total == pytest.approx(both.total) and whole.squares == pytest.approx(both.squares)
    assert whole.tops == both.tops and len(whole.tops) == module.CHANCE + 1
    assert whole.tops[0][0] == whole.largest and whole.widest == both.widest


def test_squares_alone_are_judged_where_inputs_are_no_random_sample():
    squares = L2.of_squares()
    assert Ratios(50, 9, 1.1, 9, 9, 50).within(squares) and not Ratios(50, 9, 1.1, 1, 1, 50).within(L2)
    assert not Ratios(1, 1.1, 1.3, 1).within(squares)


def test_where_terms_cancel_the_benchmark_extends_the_bound():
    """As far as a plain computation errs, and never so far that a lost key would pass."""
    golden = np.array([0.5, 0.25, -0.75])

    def moved(place, error):
        values = golden.copy()
        values[place] += error
        return values.astype(np.float16)

    for plain, reach, ok in ((0.004, 4, True), (0.004, 1, False), (0.002, 4, False), (0.3, 4, True)):
        found = compare(moved(0, 0.006), golden, moved(1, plain), bound=2**-8, level=None, reach=reach)
        assert found.ok == ok, (plain, reach)
    lost, far = moved(0, 0.02), moved(1, 0.3)
    assert not compare(lost, golden, far, bound=2**-8, level=None, reach=4).ok
    assert compare(lost, golden, far, bound=2**-8, level=None, reach=8).ok


def test_where_the_golden_result_overflows_the_benchmark_extends_nothing():
    """One that stays finite there is infinitely wrong, which says nothing about other elements."""
    golden = np.array([np.inf, 1.0])
    base = np.array([60000.0, 1.0], np.float16)
    for off, ok in ((0.9, True), (3.0, False)):
        actual = np.array([np.inf, 1.0 + off * 2.0**-8], np.float16)
        found = compare(actual, golden, base, bound=2.0**-8, level=None, reach=4)
        assert found.ok is ok


def test_errors_of_float32_sums_are_judged_by_the_size_of_the_sums():
    golden = np.full(7, 3000.0)
    plain = golden.astype(np.float32)
    for factor, ok in ((1.9, True), (2.1, False)):
        actual = (golden * (1 + factor * 2.0**-14)).astype(np.float32)
        assert compare(actual, golden, plain, bound=1e-3, level=L2).ok is ok


def test_a_comparison_with_problems_is_not_ok(result):
    _, base = result
    wrong = base.copy()
    wrong[0, 0] += 4
    assert judged(base, result, bound=2**-7).ok and not judged(wrong, result, bound=2**-7).ok


@pytest.mark.parametrize(("off", "ok"), [(0.9, True), (8.0, False)])
def test_where_the_benchmark_overflows_one_rounding_of_all_terms_is_allowed(off: float, ok: bool) -> None:
    """Sums of weights that are no softmax: the benchmark's weights are infinite in float16."""
    golden = np.full((4, 8), 40.0)
    sizes = np.full((4, 8), 400.0)
    step = off * THRESHOLD["float16"] * sizes * np.where(np.arange(8) % 2, 1, -1)
    actual = (golden + step).astype(np.float16)
    benchmark = np.full((4, 8), np.inf, np.float16)
    found = compare(actual, golden, benchmark, bound=1.0, sizes=sizes)
    assert found.ok == ok


@pytest.mark.parametrize(("off", "ok"), [(2.0**-12, True), (0.02, False)])
def test_where_the_benchmark_overflows_small_means_are_held_to_their_own_rounding(
    off: float, ok: bool
) -> None:
    """Probabilities sum up to 1, so that nothing of a mean is larger than its size tells: 2 % of a result of
    0.01 are far within the elementwise bound, and no rounding makes them."""
    golden = np.full((4, 8), 0.01)
    actual = (golden * (1 + off * np.where(np.arange(8) % 2, 1, -1))).astype(np.float16)
    found = compare(actual, golden, np.full((4, 8), np.nan, np.float16), bound=2.0**-8)
    assert found.error < found.bound and found.ok == ok


def test_judgements_of_several_results_measure_the_benchmark_once(result, monkeypatch):
    golden, base = result
    measured = []
    monkeypatch.setattr(module, "measure", lambda *told: measured.append(told) or measure(*told))
    off = (golden * 1.01).astype(base.dtype)
    alone = [compare(each, golden, base, bound=0.1) for each in (base, off, base)]
    shared, before = Shared(), len(measured)
    together = [compare(each, golden, base, bound=0.1, shared=shared) for each in (base, off, base)]
    assert together == alone and [each.ok for each in alone] == [True, False, True]
    assert before == 6 and len(measured) - before == 4  # each result, and the benchmark


def test_what_a_wrong_nan_leaves_to_compare_is_not_kept_for_other_results(result):
    golden, base = result
    wrong = base.copy()
    wrong[1, 3] = np.nan
    shared = Shared()
    for actual, count in ((wrong, golden.size - 1), (base, golden.size), (wrong, golden.size - 1)):
        found = compare(actual, golden, base, bound=0.1, shared=shared)
        assert found == compare(actual, golden, base, bound=0.1)
        assert found.benchmark.count == count


def test_what_the_benchmark_may_be_off_by_is_told_by_the_golden_result() -> None:
    """Where it overflows: whatever is judged, terms count that are larger than what is right."""
    golden, size = np.array([[100.0, 0.5]]), np.array([[100.0, 0.5]])
    base = np.array([[np.inf, 0.5]], np.float16)
    right, wrong = golden.astype(np.float16), np.array([[0.25, 0.5]], np.float16)
    found = [compare(each, golden, base, bound=1.0, sizes=size) for each in (right, wrong)]
    assert found[0].benchmark == found[1].benchmark


def test_errors_are_largest_where_both_are_finite() -> None:
    values, size = np.array([1.0, 2.0, np.nan]), np.ones(3)
    assert module._largest_error(values, np.array([1.5, np.inf, 1.0]), size) == 0.5


def test_numbers_that_are_all_compared_are_not_copied() -> None:
    values = np.arange(12.0).reshape(3, 4)
    told = np.ones((3, 4), bool)
    assert np.shares_memory(compare_module._where(values, told), values)
    told[1, 2] = False
    assert compare_module._where(values, told).tolist() == np.delete(np.arange(12.0), 6).tolist()


@pytest.mark.parametrize("count", [3, compare_module.CHANCE + 1, 40])
def test_the_largest_errors_are_kept_and_no_more(count: int) -> None:
    """Those that chance may explain, and one."""
    golden = np.full(count, 1.0)
    found = compare_module.measure(golden + np.arange(count) * 2.0**-10, golden, "float16")
    kept = min(count, compare_module.CHANCE + 1)
    assert len(found.tops) == kept and found.tops == tuple(sorted(found.tops, reverse=True))
    assert found.tops[0][0] == pytest.approx((count - 1) * 2.0**-10, rel=1e-5)
