"""The reference backend: the executable spec, a graph interpreted by NumPy node by node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from attndsl.graph.nodes import CacheAppend, Output
from attndsl.reference.cache import write_appended
from attndsl.reference.state import State, rounded
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.arguments import DTYPES, dtype_name
from attndsl.spec.contract.layout import Array
from attndsl.spec.errors import ChoiceError
from attndsl.spec.operator.backends import Backend

PRECISIONS: dict[str, np.dtype[Any]] = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


def run(call: Call, precision: str = "float32", cast: bool = True) -> tuple[Array, ...]:
    """The results of ``call`` in the order of the contract, in the layout of the passed tensors.

    Args:
        call: a checked call.
        precision: the dtype of all arithmetic, ``"float32"`` or ``"float64"``.
        cast: whether results are rounded to their dtype (once, half to even); else they are left in the
            precision of the run, which an accuracy measurement wants.

    Raises:
        ChoiceError: an unknown precision.
    """
    if precision not in PRECISIONS:
        raise ChoiceError(f"precision: {precision!r} is none of {', '.join(map(repr, PRECISIONS))}")
    return _run(new_state(call, PRECISIONS[precision]), cast)


class Some(NamedTuple):
    """Results of some blocks of queries; ``left_out``: see :class:`attndsl.reference.state.State`."""

    results: tuple[Array, ...]
    left_out: frozenset[tuple[int, int, int, int]]


def run_some(call: Call, tasks: int) -> Some:
    """The results of :func:`run` in float32, of at most ``tasks`` blocks of queries, evenly chosen.

    Rows of others are NaN, or what casting NaN to the results' dtype gives. Selections, which may come from
    several blocks, mean nothing where one is left out.
    """
    state = new_state(call, PRECISIONS["float32"], most_tasks=tasks)
    results = _run(state, cast=True)
    return Some(results, frozenset(state.left_out))


def _run(state: State, cast: bool) -> tuple[Array, ...]:
    call = state.call
    with np.errstate(all="ignore"):
        results = tuple(_result(state, output, cast) for output in call.graph.outputs)
    for node in call.graph.nodes:
        if isinstance(node, CacheAppend):
            write_appended(state, node)
    return results


def _result(state: State, output: Output, cast: bool) -> Array:
    call = state.call
    spec = next(spec for spec in call.operator.outputs if spec.name == output.name)
    layout = spec.layout(call.layouts[spec.like])
    values = layout.restore(state.whole(output.source).aligned(layout.roles), call.env())
    dtype: np.dtype[Any] = DTYPES.get(output.dtype, DTYPES[dtype_name(call.arrays[spec.like])])
    return rounded(values, dtype) if cast else values


BACKEND = Backend(run, ("precision",), on_target=False)
