"""Whether a result is right: exact special values, the contract's tolerance, CANN's double benchmark.

The golden result is computed in float64 and not rounded. Three judgements are made and all of them count:

1. NaN and infinities must be those of the golden result; where nothing was attended to, so must the sign
   of zero (elsewhere a sum that cancels may round to either zero). Nothing is replaced.
2. Elementwise, ``|actual - golden| <= bound * max(1, |golden|)``. Of probes, sums of hundreds of large terms
   that cancel, the size of an element is that of its row if that is larger (the root mean square of the
   channels: an element near zero has the rounding errors of its neighbours). There a plain computation in
   the dtype of the result may itself be further off; then twice its error is allowed (FlashAttention's
   tests compare so), and a few bounds at most: a key that is lost changes more. What either of two right
   integers of a probability makes of an element (``slack``, see
   :mod:`attndsl.verify.judge.rounding_sensitivity`) is no error, here and below.
3. Double benchmark: errors against the golden result are set in relation to those of a benchmark, a plain
   computation in the dtype of the result (:mod:`attndsl.verify.judge.benchmark`). The measures are CANN's for
   operators that mix cube and vector work:

   * relative error ``|actual - golden| / (|golden| + 1e-7)``, its maximum (MARE) and mean (MERE), and the
     root of the mean squared error (RMSE), each as ``error / max(benchmark error, threshold)`` with the
     threshold 2^-11 (float16), 2^-8 (bfloat16), 2^-14 (float32). Float32 results are maxima and sums of
     many terms, whose errors grow with them: the RMSE's threshold is 2^-14 of their own root mean square
     where that exceeds 1, as it is of each element for the bound. A maximum is judged less what chance
     explains. Results near zero give relative errors a heavy tail (an error e reaches e / x where a result
     comes within x of zero: ``P(relative error > y)`` falls as 1 / y), so that of two equally good
     computations one has twice the other's maximum in a third of all cases. If the errors were those of the
     benchmark times the limit, each of the largest would be as likely to be the benchmark's, and n of them
     beyond all of its own a matter of 2^-n: up to nine (three standard deviations) are passed over, and
     only where the absolute error is not beyond the benchmark's largest, which then only met a small
     result. A tenth, or one that the benchmark makes nowhere, counts. The mean
     has the same tail, and of a hundred elements it may be made by two: it is judged less three standard
     errors (the deviation over the root of the count), which are nothing where elements are many;
   * the small-value domain, ``|golden| < threshold``, is left out of them; there the elements whose error
     exceeds 2^-16 (2^-30 for float32) are counted, as ``count / max(benchmark count, 1)``. A count is
     judged less three of its standard deviations (its square root): tensors here may have ten elements,
     where 3 : 1 is chance.

   CANN's own tests (of operators in ATB and op-plugin) draw their inputs at random, and what the ratios may
   be holds for such inputs. Where inputs are constructed, fewer are judged: see :class:`Level`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import numpy as np

from attndsl.reference.state import rounded
from attndsl.spec.contract.layout import Array

_Found = TypeVar("_Found")
THRESHOLD = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}
SMALL_ERROR = {"float16": 2.0**-16, "bfloat16": 2.0**-16, "float32": 2.0**-30}
CHANCE = 9
"""How many relative errors beyond the benchmark's chance explains: one more has a probability of 2^-10."""
_DENOMINATOR = 1e-7


@dataclass(frozen=True)
class Level:
    """An accuracy level of CANN: upper limits of the ratios. ``small``: of the small-value domain's."""

    name: str
    mare: float
    mere: float
    rmse: float
    small: float = 2.0

    def of_means(self) -> Level:
        """The limits of the means alone: of the relative error, and of the squared error.

        For saturated softmax: weights that are exact in any dtype (one key, two equal ones) leave the
        benchmark no error at all, and where such terms cancel, the rounding of scores of the order 1000 is a
        large part of what is left. A maximum is then that of one element, against an exact benchmark. The
        same holds of merges of parts whose scores are of the order 100.
        """
        return replace(self, name=f"{self.name} (means)", mare=math.inf, small=math.inf)

    def of_squares(self) -> Level:
        """The limit of the root of the mean squared error alone.

        For inputs that are no random sample: in sums whose terms cancel, relative errors of what is left say
        nothing; where results are wrong together or not at all, maxima and counts compare coincidences.
        """
        free = math.inf
        return replace(self, name=f"{self.name} (RMSE)", mare=free, mere=free, small=free)


LEVELS = (Level("L2", 2, 1.2, 1.2), Level("L1", 5, 1.5, 1.5), Level("L0", 10, 2, 2))
"""From the strictest to the most lenient."""


@dataclass(frozen=True)
class Errors:
    """Error sums of one or several results of one dtype against their golden results.

    ``count``, ``largest``, ``total``, ``spread``: elements outside the small-value domain, their largest,
    summed and summed squared relative error; ``squares``: their summed squared error; ``energy``: the summed
    squares of their golden results; ``small``: elements in the domain; ``small_off``: those of them whose
    error is too large.
    ``tops``: the largest relative errors, largest first, ``CHANCE + 1`` at most, each with the absolute error
    of its element; ``widest``: the largest absolute error outside the domain.
    """

    count: int = 0
    largest: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    small: int = 0
    small_off: int = 0
    energy: float = 0.0
    widest: float = 0.0
    spread: float = 0.0
    tops: tuple[tuple[float, float], ...] = ()

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            self.count + other.count,
            max(self.largest, other.largest),
            self.total + other.total,
            self.squares + other.squares,
            self.small + other.small,
            self.small_off + other.small_off,
            self.energy + other.energy,
            max(self.widest, other.widest),
            self.spread + other.spread,
            tuple(sorted(self.tops + other.tops, reverse=True)[: CHANCE + 1]),
        )


@dataclass(frozen=True)
class Ratios:
    """The double benchmark's ratios; ``small_sure``, ``mare_sure`` and ``mere_sure``: what chance does not
    explain of the count of small values, of the maximum and of the mean."""

    mare: float
    mere: float
    rmse: float
    small: float
    small_sure: float = 0.0
    mare_sure: float = 0.0
    mere_sure: float = 0.0

    @property
    def level(self) -> str:
        """The strictest level that the ratios keep, empty if none."""
        return next((level.name for level in LEVELS if self.within(level)), "")

    def within(self, level: Level) -> bool:
        """Whether all ratios keep the limits of ``level``."""
        means = self.mere_sure <= level.mere and self.rmse <= level.rmse
        return means and self.mare_sure <= level.mare and self.small_sure <= level.small


@dataclass(frozen=True)
class Comparison:
    """What was found for one result.

    ``error``: the largest ``|actual - golden|`` in units of the element's size; ``bound``: what it may be;
    ``errors`` and ``benchmark``: for the ratios, None for integer results; ``problems``: why it is wrong,
    empty if it is right; ``note``: what is right and still worth a word.
    """

    error: float
    bound: float
    errors: Errors | None
    benchmark: Errors | None
    dtype: str
    problems: tuple[str, ...]
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def ratios(self) -> Ratios | None:
        """The double benchmark's ratios, None for integer results."""
        if self.errors is None or self.benchmark is None:
            return None
        return ratios(self.errors, self.benchmark, self.dtype)


@dataclass(frozen=True)
class Shared:
    """What the judgements of several results have in common that are held against the same golden result and
    the same benchmark, with the same sizes and slack: found when the first of them asks for it."""

    known: dict[str, object] = field(default_factory=dict)

    def once(self, name: str, find: Callable[[], _Found]) -> _Found:
        """``find()``, asked once for each name."""
        if name not in self.known:
            self.known[name] = find()
        return cast("_Found", self.known[name])


def tolerance(dtype: str, keys: int, *, dequantized: bool = False) -> float:
    """The elementwise bound of a result.

    Float16 2^-8, bfloat16 2^-7, twice that from 2048 keys on; at least 5e-3 where key and value are
    dequantized; 1 for an int8 result (its last place); 2^-14 for float32.
    """
    if dtype == "int8":
        return 1.0
    bound = {"float16": 2.0**-8, "bfloat16": 2.0**-7, "float32": 2.0**-14}[dtype]
    if keys >= 2048 and dtype != "float32":
        bound *= 2
    return max(bound, 5e-3) if dequantized else bound


def compare(
    actual: Array,
    golden: Array,
    benchmark: Array,
    *,
    bound: float,
    level: Level | None = LEVELS[0],
    empty: Array | None = None,
    reach: int = 1,
    slack: Array | None = None,
    sizes: Array | None = None,
    precision: str = "",
    shared: Shared | None = None,
) -> Comparison:
    """Judge a result.

    Args:
        actual: the result, in its dtype.
        golden: the same shape in float64, not rounded; int8 for a quantized result.
        benchmark: a plain computation in the dtype of the result.
        bound: see :func:`tolerance`.
        level: the ratios' limits; None: they are measured only. For float32 results it is at least L0:
            the benchmark computes as the backends do, and which of two such errors is larger is chance.
        empty: true where nothing was attended to, so that the result is exact; broadcast to the shape.
        reach: how many bounds twice the benchmark's error may reach, where large terms cancel.
        slack: by how much elements may differ from ``golden`` and be right, the same shape.
        sizes: what errors are measured in, at least 1, the same shape; None: ``max(1, |golden|)``.
        precision: the dtype whose thresholds hold, that of ``actual`` if empty: a float32 result that is made
            of rounded numbers has their errors.
        shared: of the judgements of other results by the same ``golden``, ``benchmark``, ``sizes`` and
            ``precision``; None: there are none.
    """
    dtype = actual.dtype.name
    if actual.shape != golden.shape:
        return _wrong(dtype, bound, f"shape {list(actual.shape)} instead of {list(golden.shape)}")
    if actual.dtype != benchmark.dtype:
        return _wrong(dtype, bound, f"dtype {dtype} instead of {benchmark.dtype.name}")
    with np.errstate(all="ignore"):
        if actual.dtype.kind in "biu":
            return _integers(actual, golden, bound)
        size = np.maximum(1.0, np.abs(golden)) if sizes is None else sizes
        known = shared or Shared()
        plain = known.once("largest error", lambda: _largest_error(benchmark, golden, size))
        bound = extended(bound, plain, reach)
        exact = np.broadcast_to(False if empty is None else empty, actual.shape)
        told = precision or dtype
        return _floats(actual, golden, benchmark, exact, bound, level, slack, size, told, known)


def extended(bound: float, plain: float, reach: int) -> float:
    """A bound where large terms cancel. ``plain``: the benchmark's largest error; ``reach``: how many bounds
    twice that may reach."""
    return min(max(bound, 2 * plain), reach * bound)


def ratios(errors: Errors, benchmark: Errors, dtype: str) -> Ratios:
    """The ratios of error sums to those of the benchmark."""
    floor = THRESHOLD[dtype]

    def ratio(mine: float, other: float, floor: float = floor) -> float:
        return mine / max(other, floor)

    def mean(sums: Errors, value: float) -> float:
        return value / sums.count if sums.count else 0.0

    def root(sums: Errors, value: float) -> float:
        return math.sqrt(mean(sums, value))

    average, usual = mean(errors, errors.total), mean(benchmark, benchmark.total)
    deviation = math.sqrt(max(mean(errors, errors.spread) - average**2, 0.0))
    doubt = 3 * deviation / math.sqrt(max(errors.count, 1))

    size = max(root(errors, errors.energy), 1.0) if dtype == "float32" else 1.0
    sure = (relative for relative, absolute in errors.tops[:CHANCE] if absolute > benchmark.widest)
    tenth = errors.tops[CHANCE][0] if len(errors.tops) > CHANCE else 0.0
    return Ratios(
        mare=ratio(errors.largest, benchmark.largest),
        mere=ratio(average, usual),
        rmse=ratio(
            root(errors, errors.squares),
            root(benchmark, benchmark.squares),
            floor * size,
        ),
        small=errors.small_off / max(benchmark.small_off, 1),
        small_sure=max(errors.small_off - 3 * math.sqrt(errors.small_off), 0.0) / max(benchmark.small_off, 1),
        mare_sure=ratio(next(sure, tenth), benchmark.largest),
        mere_sure=ratio(max(average - doubt, 0.0), usual),
    )


def measure(values: Array, golden: Array, dtype: str) -> Errors:
    """The error sums of finite ``values``."""
    error, size = np.abs(values.astype(np.float64) - golden), np.abs(golden)
    small = size < THRESHOLD[dtype]
    outside, wanted = _where(error, ~small), _where(size, ~small)
    relative = outside / (wanted + _DENOMINATOR)
    top = np.argpartition(relative, -CHANCE - 1)[-CHANCE - 1 :] if relative.size > CHANCE else slice(None)
    tops = zip(relative[top].tolist(), outside[top].tolist(), strict=True)
    return Errors(
        count=relative.size,
        largest=float(relative.max(initial=0.0)),
        total=float(relative.sum()),
        squares=float(np.square(outside).sum()),
        small=int(small.sum()),
        small_off=int((error[small] > SMALL_ERROR[dtype]).sum()),
        energy=float(np.square(wanted).sum()),
        widest=float(outside.max(initial=0.0)),
        spread=float(np.square(relative).sum()),
        tops=tuple(sorted(tops, reverse=True)),
    )


def _where(values: Array, told: Array) -> Array:
    """``values[told]``, without a copy where that is all of them."""
    return values.ravel() if told.all() else values[told]


def _wrong(dtype: str, bound: float, problem: str) -> Comparison:
    return Comparison(math.inf, bound, None, None, dtype, (problem,))


def _integers(actual: Array, golden: Array, bound: float) -> Comparison:
    error = np.abs(actual.astype(np.float64) - golden.astype(np.float64))
    largest = float(error.max(initial=0.0))
    problems = () if largest <= bound else (_worst("off by", error, bound, actual, golden),)
    return Comparison(largest, bound, None, None, actual.dtype.name, problems)


def _floats(
    actual: Array,
    golden: Array,
    benchmark: Array,
    exact: Array,
    bound: float,
    level: Level | None,
    slack: Array | None,
    size: Array,
    dtype: str,
    shared: Shared,
) -> Comparison:
    expected = shared.once("expected", lambda: rounded(golden, actual.dtype).astype(np.float64))
    wide = actual.astype(np.float64)
    problems = _special(wide, expected, exact)
    if slack is not None:
        wide = np.where(np.isfinite(wide), golden + _beyond(wide - golden, slack), wide)
    usual = shared.once("finite", lambda: np.isfinite(expected))
    finite = np.isfinite(wide) & usual
    error = _elementwise(wide, golden, finite, size)
    largest = float(error.max(initial=0.0))
    if not largest <= bound:
        problems.append(_worst("off by", error, bound, actual, golden))
    mine = measure(_where(wide, finite), _where(golden, finite), dtype)

    # Where the benchmark overflows it says nothing: its error counts as that of the golden result, rounded;
    # of sums whose terms are larger than the result, which may cancel, as one rounding of all terms.
    def of_benchmark() -> Errors:
        base = benchmark.astype(np.float64)
        told = np.isfinite(base)
        if not told.all():
            larger = size > np.maximum(1.0, np.abs(golden))
            base = np.where(told, base, np.where(larger, golden + THRESHOLD[dtype] * size, expected))
        return measure(_where(base, finite), _where(golden, finite), dtype)

    as_expected = np.array_equal(finite, usual)  # else the result is wrong, and has fewer elements to compare
    other = shared.once("benchmark", of_benchmark) if as_expected else of_benchmark()
    found = ratios(mine, other, dtype)
    if level in LEVELS and dtype == "float32":
        level = LEVELS[-1]
    if level is not None and not found.within(level):
        problems.append(
            f"beyond level {level.name}: MARE {found.mare:.2f}, MERE {found.mere:.2f},"
            f" RMSE {found.rmse:.2f}, small values {found.small:.2f} times the benchmark"
        )
    return Comparison(largest, bound, mine, other, dtype, tuple(problems))


def _beyond(difference: Array, slack: Array) -> Array:
    """What is left of differences less the slack."""
    left: Array = np.copysign(np.maximum(np.abs(difference) - slack, 0.0), difference)
    return left


def _elementwise(values: Array, golden: Array, finite: Array, size: Array) -> Array:
    return np.where(finite, np.abs(values - golden) / size, 0.0)


def _largest_error(values: Array, golden: Array, size: Array) -> float:
    wide = values.astype(np.float64)
    finite = np.isfinite(wide) & np.isfinite(golden)
    return float(_elementwise(wide, golden, finite, size).max(initial=0.0))


def _special(wide: Array, expected: Array, exact: Array) -> list[str]:
    """Differences in NaN, infinities and, where the result is exact, in zeros; one line a kind."""
    infinite = np.isinf(wide) | np.isinf(expected)
    kinds = {
        "NaN": np.isnan(wide) != np.isnan(expected),
        "infinity": infinite & ~np.isnan(wide) & ~np.isnan(expected) & (wide != expected),
        "exact value": exact
        & ~np.isnan(expected)
        & ((wide != expected) | (np.signbit(wide) != np.signbit(expected))),
    }
    found = []
    for name, wrong in kinds.items():
        if wrong.any():
            first = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            found.append(
                f"{name}: {int(wrong.sum())} elements differ, first [{index_text(first)}]:"
                f" {wide[first]!s} instead of {expected[first]!s}"
            )
    return found


def _worst(text: str, error: Array, bound: float, actual: Array, golden: Array) -> str:
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    count = int((~(error <= bound)).sum())
    return (
        f"{text} {error[at]:.3g} where {bound:.3g} is allowed, at [{index_text(at)}]:"
        f" {float(actual[at]):.6g} instead of {float(golden[at]):.6g} ({count} of {error.size} elements)"
    )


def index_text(at: tuple[np.intp, ...]) -> str:
    """Where an element is, as in a subscript."""
    return ", ".join(str(int(i)) for i in at)
