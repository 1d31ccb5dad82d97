"""Which features of a call matter: the results that are compared would be others without them.

A feature is left out, or another value, layout or table entry is read in its place, on the reference alone.
If no such run differs from the call's own by more than the tolerance of the comparison, a kernel that ignored
the feature would pass: the case has it and does not check it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attndsl.graph.nodes import Dequantize, TopK
from attndsl.reference.run import Some, run, run_some
from attndsl.reference.tasks import QUERY_ROWS_IN_BLOCK
from attndsl.reference.threads import single_threaded_blas
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.cases.other_calls import other_calls
from attndsl.verify.judge.benchmark import precision
from attndsl.verify.judge.compare import THRESHOLD, tolerance

_SAMPLED = 8
"""Blocks of queries that are computed first: most features that matter do so in some of them."""
_QUICK, _BLOCK = 1 << 27, 1 << 20
"""Multiplications of a run that a quick look may take, and those that a block of queries counts as."""


def effective_features(call: Call, features: Iterable[str], *, quick: bool = False) -> frozenset[str]:
    """Those of ``features``, as :func:`attndsl.verify.cases.features.declared_features` names them, that
    matter in a call. A dtype always does.

    ``quick``: look at some blocks of queries only, and at nothing where these tell nothing and the call is
    large: a feature that matters may then be missing.
    """
    asked = frozenset(features)
    if not asked:
        return asked
    found = frozenset(each for each in asked if each.startswith("dtype "))
    with single_threaded_blas():
        blocks, work = _blocks(call)
        if not quick or work <= _QUICK:
            if _can_sample(call) and not quick:
                found |= _mattering(call, asked - found, _SAMPLED)
            return found | _mattering(call, asked - found)
        most = min(max(_QUICK * blocks // work, 1), _SAMPLED)
        return found | _mattering(call, asked - found, most) if _can_sample(call) else found


def _blocks(call: Call) -> tuple[int, int]:
    """Blocks of queries of a run, at most, and its work in multiplications."""
    size = {**dict.fromkeys("BNKQTUDE", 1), **call.extents}
    keys = max(size["T"], size["U"])
    work = size["B"] * size["N"] * size["Q"] * keys * (size["D"] + size["E"])
    group = max(size["N"] // max(size["K"], 1), 1)
    in_block = max(1, QUERY_ROWS_IN_BLOCK // group)
    blocks = size["B"] * size["K"] * -(-size["Q"] // in_block)
    return blocks, work + blocks * _BLOCK


def _can_sample(call: Call) -> bool:
    """Whether the results of some blocks of queries are what they are in a run of all."""
    return not any(isinstance(node, TopK) for node in call.graph.nodes)


def _mattering(call: Call, features: frozenset[str], tasks: int | None = None) -> frozenset[str]:
    """The features that matter, as far as so many blocks of queries tell; None: all of them."""
    own = functools.cache(lambda: _results(call, call, tasks))  # of most features nothing else can be tried
    return frozenset(each for each in features if _matters(call, each, own, tasks))


def _matters(call: Call, feature: str, own_results: Callable[[], _Results], tasks: int | None) -> bool:
    for other in other_calls(call, feature):
        own = own_results()
        try:
            with np.errstate(all="ignore"):  # it may be no legal call
                found = _results(other, call, tasks)
        except Exception:  # not a call: sizes do not fit, or what is absent cannot be. It shows nothing
            continue
        if found.left_out == own.left_out and _differ(call, own.arrays, found.arrays):
            return True
    return False


class _Results(NamedTuple):
    """All results, and the arguments that the call itself updates in place, as they are afterwards; the
    blocks left out.

    Where other blocks are left out, as with other lengths of packed queries, results cannot be compared.
    """

    arrays: list[Array]
    left_out: frozenset[tuple[int, int, int, int]]


def _results(call: Call, of: Call, tasks: int | None) -> _Results:
    """What a call gives in the place of ``of``; ``tasks``: see :func:`attndsl.reference.run.run_some`."""
    compared = of.graph.updated()
    updated = {*compared, *call.graph.updated()}
    own = replace(
        call,
        arrays={name: array.copy() if name in updated else array for name, array in call.arrays.items()},
        lists={
            name: tuple(entry.copy() for entry in entries) if name in updated else entries
            for name, entries in call.lists.items()
        },
    )
    some = Some(run(own), frozenset()) if tasks is None else run_some(own, tasks)
    changed = (own.arrays[name] for name in sorted(compared) if name in own.arrays)
    return _Results([*some.results, *changed], some.left_out)


def _differ(call: Call, own: list[Array], found: list[Array]) -> bool:
    """Whether one result is another one by more than its tolerance."""
    if len(own) != len(found):
        return True
    keys = max(call.extents.get("T", 1), call.extents.get("U", 0) if "G" in call.extents else 0)
    dequantized = any(isinstance(node, Dequantize) for node in call.graph.nodes)
    for a, b, output in itertools.zip_longest(own, found, call.graph.outputs):
        dtype = a.dtype.name if output is None else precision(call, output.name)  # of what is updated its own
        bound = tolerance(dtype, keys, dequantized=dequantized) if dtype in THRESHOLD else 0.0
        if a.size and _is_another(a, b, bound):
            return True
    return False


def _is_another(own: Array, found: Array, bound: float) -> bool:
    """Whether a result is another one by more than ``bound``; 0 of what is compared exactly."""
    if own.size != found.size or own.dtype != found.dtype:
        return True
    if own.tobytes() == found.tobytes():
        return False
    a, b = (each.reshape(-1).astype(np.float64) for each in (own, found))
    with np.errstate(all="ignore"):
        close = np.isfinite(a) & (np.abs(a - b) <= bound * np.maximum(1.0, np.abs(a)))
    return not bool((close | (np.isnan(a) & np.isnan(b)) | (a == b)).all())
