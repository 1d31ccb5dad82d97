"""Whether integer results are right: indices of the largest values, and quantized results.

Indices: equal to the golden ones, or, where the importance scores of the two entries differ by less than
their accumulated rounding in float32, of the same value; what is forced comes first in any case, and no
entry twice. Quantized results: equal, or off by one where the value before rounding is within what the
float tolerance of the result makes of the boundary between the two integers (anywhere, where kernels
round dequantized keys to the io dtype: the contracts accept one unit there). Where integers of probabilities
have slack (:mod:`attndsl.verify.judge.rounding_sensitivity`), so have they.
"""

from __future__ import annotations

import math

import numpy as np

from attndsl.spec.contract.layout import Array
from attndsl.verify.judge.compare import Comparison, index_text
from attndsl.verify.judge.golden import Importance


def compare_indices(actual: Array, golden: Array, importance: Importance) -> Comparison:
    """Judge selected indices, both with the ranks last or in the same place as ``importance``'s entries.

    The error of the comparison is the largest difference of importance scores as a part of the rounding
    that is allowed there; ``note`` says how many indices differ at all.
    """
    dtype = actual.dtype.name
    if actual.shape != golden.shape:
        return _wrong(dtype, f"shape {list(actual.shape)} instead of {list(golden.shape)}")
    entries = importance.entries[..., None]
    wanted = golden.astype(np.int64)
    found = actual.astype(np.int64)
    legal = np.where(wanted < 0, found == wanted, (found >= 0) & (found < entries))
    if not legal.all():
        return _wrong(dtype, _first("is no entry", ~legal, found, wanted))
    ordered = np.sort(np.where(found < 0, -1 - np.arange(found.shape[-1]), found), axis=-1)
    if (np.diff(ordered, axis=-1) == 0).any():
        twice = np.broadcast_to((np.diff(ordered, axis=-1) == 0).any(axis=-1, keepdims=True), found.shape)
        return _wrong(dtype, _first("a row with an index twice", twice, found, wanted))
    differ = found != wanted
    if not differ.any():
        return Comparison(0.0, 1.0, None, None, dtype, ())
    mine, other = (_taken(importance.values, index) for index in (found, wanted))
    allowed = np.maximum(*(_taken(importance.rounding, index) for index in (found, wanted)))
    gap = np.where(differ, np.abs(mine - other), 0.0)
    wrong = differ & ~(gap <= allowed)
    if importance.forced is not None:
        forced = importance.forced.astype(np.int8)
        wrong |= differ & ((_taken(forced, found) != 0) | (_taken(forced, wanted) != 0))
    largest = float(np.max(gap / np.where(allowed > 0, allowed, 1.0)))
    note = f"{int(differ.sum())} of {differ.size} indices differ, where importance is equal up to rounding"
    problems = (_first("another value is selected", wrong, found, wanted),) if wrong.any() else ()
    return Comparison(largest, 1.0, None, None, dtype, problems, note)


def compare_quantized(
    actual: Array,
    golden: Array,
    unrounded: Array,
    step: Array,
    tolerance: float,
    *,
    one_off: bool = False,
    slack: Array | None = None,
) -> Comparison:
    """Judge a result that was rounded to integers.

    Args:
        actual: the result.
        golden: what it must be, the same shape.
        unrounded: the golden values before rounding and saturation.
        step: what the float result's size, at least 1, is in units of the integers.
        tolerance: of the float result in relation to its size.
        one_off: off by one is right anywhere: the contract's acceptance where inputs are quantized, too.
        slack: by how much values before rounding may differ from ``unrounded`` and be right.
    """
    dtype = actual.dtype.name
    if actual.shape != golden.shape:
        return _wrong(dtype, f"shape {list(actual.shape)} instead of {list(golden.shape)}")
    error = np.abs(actual.astype(np.float64) - golden.astype(np.float64))
    limits = np.iinfo(actual.dtype)
    away = np.abs(actual.astype(np.float64) - np.clip(unrounded, limits.min, limits.max))
    free = 0.0 if slack is None else slack
    near = np.full(error.shape, True) if one_off else away <= 0.5 + tolerance * step + free
    wrong = (error > 1 + free) | ((error >= 1) & ~near)
    largest = float(error.max(initial=0.0))
    count = int((error == 1).sum())
    note = f"{count} of {error.size} are off by one at a rounding boundary" if count else ""
    if not wrong.any():
        return Comparison(largest, 1.0, None, None, dtype, (), note)
    return Comparison(largest, 1.0, None, None, dtype, (_first("is wrong", wrong, actual, golden),), note)


def _taken(values: Array, index: Array) -> Array:
    return np.take_along_axis(values, np.maximum(index, 0), axis=-1)


def _first(text: str, wrong: Array, actual: Array, golden: Array) -> str:
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return (
        f"{text}: [{index_text(at)}] is {int(actual[at])} instead of {int(golden[at])}"
        f" ({int(wrong.sum())} of {wrong.size} elements)"
    )


def _wrong(dtype: str, problem: str) -> Comparison:
    return Comparison(math.inf, 1.0, None, None, dtype, (problem,))
