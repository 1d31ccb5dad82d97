"""A kernel that cases are made for, and what its first cases have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import IndexCondition
from attndsl.spec.binding.call import Call
from attndsl.spec.operator.operator import Operator
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import GROUP, PROBE, RAMP, SLOPE, SUNK, fill_of, longest_keys_of

FIRST = ((SUNK, "long few"), (RAMP, "several many"), (PROBE, "many"))
"""Data and work of the first cases of a wanted kernel: scores far below the 0 that a lane without a key must
not have; maxima that rise or fall along the tiles of a row that one core sees; steps of rows that follow each
other. Kernels begin with different ones."""
_SHORT_ROWS = 3
"""Batch rows of paged keys, of two tiles each, that may have pages of their own."""
_TALL = {"Q": 128, GROUP: 32}
"""What makes tasks have many rows: so many queries, or query heads a key/value head."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedKernel:
    """A kernel that cases are made for.

    ``name``: what messages call it; ``mode``: the operator whose calls it takes; ``pins``: values of
    variables that its calls have; ``likely``: values that most of them have; ``sizes``: variables with the
    values that suit it; ``takes``: whether a call is one; ``has_halves``: whether a call has tasks of two
    halves, which is so wherever no kernel's tasks have any.
    """

    name: str
    mode: Operator
    pins: Mapping[str, Any]
    likely: Mapping[str, Any]
    sizes: Mapping[str, tuple[int, ...]]
    takes: Callable[[Call], bool]
    has_halves: Callable[[Call], bool] = lambda call: True


def first_sizes(space: CaseSpace, rng: np.random.Generator, data: str) -> dict[str, Any]:
    """Values of variables of a first case with some data: floats such as the factor of scores at their
    defaults, where these are not 0; of :data:`PROBE`, sizes that make tasks have many rows; of
    :data:`RAMP` and :data:`SUNK`, scores that rise, so that each tile rescales those before it."""
    legal, params = space.variables, space.operator.params
    own = {each.name: each.default for each in params if each.type is float and each.optional}
    found = {name: value for name, value in own.items() if value and value in legal.get(name, ())}
    rows = space.variable_of("Q") or space.variable_of("S")
    name, least = (rows, _TALL["Q"]) if rows else (GROUP, _TALL[GROUP])
    sizes = [size for size in legal.get(name, ()) if size >= least and data == PROBE]
    found |= {SLOPE: 1.0} if data in (RAMP, SUNK) else {}
    tile, ring = space.edges[0]
    found |= own_pages(space, 1, ring * tile) if data == SUNK else {}
    if data == RAMP and (paged := own_pages(space, _SHORT_ROWS, tile)):
        found |= paged | {GROUP: max(legal[GROUP])} if GROUP in legal else paged
    return found | ({name: sizes[int(rng.integers(len(sizes)))]} if sizes else {})


def beyond_a_tile(space: CaseSpace) -> dict[str, Any]:
    """Where masks compare the numbers of queries and keys: so many queries, and so wide windows, that some
    row sees keys of two tiles. Otherwise no maximum rises, whatever the scores are."""
    if not any(isinstance(node, IndexCondition) for node in space.nodes):
        return {}
    tile, found = max(space.tiles), dict[str, Any]()
    for param in space.operator.params:
        if param.type is int and not param.choices and space.stands_with_keys(param.name):
            wide = [each for each in space.variables.get(param.name, ()) if each > 2 * tile]
            found |= {param.name: min(wide)} if wide else {}
    counts = [spec.name for spec in space.integers if space.measures.get(spec.name) == "Q"]
    for name in (space.variable_of("Q"), *(longest_of(each).name for each in counts)):
        legal = space.variables.get(name, ()) if name else ()
        if name and legal and max(legal) <= tile:
            found[name] = tile + 1
    for each in counts:
        keys = [size for size in space.variables.get(longest_keys_of(each), ()) if size > tile]
        found |= {longest_keys_of(each): min(keys), fill_of(each): "full"} if keys else {}
    return found


def own_pages(space: CaseSpace, rows: int, keys: int) -> dict[str, Any]:
    """Few batch rows and many pages, where keys are paged: rows of a few more keys than these have pages of
    their own. What pages are stored in several places has the same scores there, and maxima that neither rise
    nor fall."""
    pages, size, batch = (space.variable_of(axis) for axis in "PRB")
    if pages is None or size is None or batch is None:
        return {}
    most = max(space.variables[pages])
    large = [each for each in space.variables[size] if most * each >= rows * (keys + each)]
    return {pages: most, size: min(large), batch: rows} if large else {}
