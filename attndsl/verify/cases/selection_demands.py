"""What cases of kernels that select blocks are asked for: groups of sorted blocks, whole tiles, lost rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attndsl.expr import Expr
from attndsl.expr.argument_facts import longest_of
from attndsl.graph.nodes import TopK, WindowSum
from attndsl.spec.binding.call import Call
from attndsl.tile.instructions.sort import GROUP as SORTED_TOGETHER
from attndsl.verify.cases.deciding_values import values_for
from attndsl.verify.cases.demand import Demand, several_rows, size_of
from attndsl.verify.cases.features import key_counts, query_counts, work_of
from attndsl.verify.space.argument_roles import integers_of
from attndsl.verify.space.solve import is_contradiction
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import (
    ANY,
    FEW_FORCED,
    FILL,
    GROUP,
    LOST,
    MASK,
    RAMP,
    SLOPE,
    WARNED,
    fill_of,
)

_RISING = 2
"""By how much two counts of a window differ whose weights stay the same for a while."""
_GROUPS = 3
"""Groups of sorted blocks of one tile: one more than a merge of pairs has."""
_STEEP = 8.0
"""The slope of scores of which the last ones shall be far larger than others of their tile."""
_DRAWN = 24
"""Values of blocks that are drawn, until some are legal together."""
_HEADS_OF_SELECTION, _SIZES_OF_SELECTION = (2, 4), {"Q": (17, 65)}
"""Query heads a key/value head, and positions of a batch row, of which some have no scores: so few that rows
may have several tiles."""
_TILES_OF_BLOCKS = 5
"""Key tiles that blocks reach over, behind the last key, too."""


def of_sorted_blocks(space: CaseSpace) -> Iterator[Demand]:
    """Tiles of keys that end several groups of blocks that are selected from; the weights of a window rise,
    stay and fall, where two counts can be so far apart."""
    sums = [node for node in space.nodes if isinstance(node, WindowSum)]
    if not sums:
        return
    step, counts = sums[0].step, sums[0].counts
    small = (step >= 1) & (step <= space.edges[0][0] // (_GROUPS * SORTED_TOGETHER))
    stays = small & (counts[0] >= counts[-1] + _RISING)

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        found = values_for(space, stays, rng, holds=True) or values_for(space, small, rng, holds=True)
        return {FILL: "normal", SLOPE: 1.0, MASK: "none", **(found or {})}

    yield Demand("several groups of sorted blocks", pins, lambda call: bool(small.evaluate(call.env())))
    yield _lost_rows(space, step)
    yield _whole_tile(space, step)


def _whole_tile(space: CaseSpace, step: Expr) -> Demand:
    """Items of one whole tile that follow each other on a core, whose last block ends behind it and has most
    of its keys in it: the last keys have the largest scores, so that it is among many selected ones."""
    tile, counts = space.edges[0][0], space.sizes_of("X")
    crosses = (step > 1) & (2 * (tile % step) > step)
    counting = [fill_of(spec.name) for spec in space.integers]
    longest = [longest_of(spec.name).name for spec in space.integers if space.measures.get(spec.name) == "T"]

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        found = {FILL: RAMP, SLOPE: _STEEP, MASK: "none", **dict.fromkeys(counting, "full")}
        found |= {name: tile for name in longest if tile in space.variables.get(name, ())}
        found |= size_of(space, "X", lambda size: size == max(counts), rng)
        return found | (values_for(space, crosses, rng, holds=True) or {})

    def holds(call: Call) -> bool:
        work = work_of(space, call)
        whole = bool((key_counts(call) == tile).any())
        return work.several_a_core and work.tiles == 1 and whole and bool(crosses.evaluate(call.env()))

    return Demand("items of one whole tile whose last block ends behind it", pins, holds, "edge many")


def _lost_rows(space: CaseSpace, step: Expr) -> Demand:
    """Blocks that do not end with a tile, some behind the last key, of rows whose scores are all -inf."""
    odd = (step % 2 == 1) & (step > 1)
    tile = space.edges[0][0]
    entries = {each for node in space.nodes if isinstance(node, TopK) for each in integers_of(node.length)}

    def pins(rng: np.random.Generator) -> Mapping[str, Any]:
        drawn = (dict(values_for(space, odd, rng, holds=True) or {}) for _ in range(_DRAWN))
        found = next((each for each in drawn if not is_contradiction(space, each)), {})
        found |= {FILL: "normal", LOST: True, FEW_FORCED: True, WARNED: True, MASK: "none"}
        for name in sorted(entries):
            found |= {fill_of(name): "full", longest_of(name).name: _TILES_OF_BLOCKS * tile // 3}
        for spec in space.integers:
            longest = longest_of(spec.name).name
            least, most = _SIZES_OF_SELECTION.get(space.measures.get(spec.name, ""), (tile + 1, 3 * tile))
            legal = [each for each in space.variables.get(longest, ()) if least <= each <= most]
            if legal and spec.name not in entries:
                found[longest] = legal[int(rng.integers(len(legal)))]
                found[fill_of(spec.name)] = "mixed"
        few = [each for each in space.variables.get(GROUP, ()) if each in _HEADS_OF_SELECTION]
        found |= {GROUP: few[int(rng.integers(len(few)))]} if few else {}
        return {**found, **size_of(space, "K", lambda size: size == 1, rng), **several_rows(space, rng)}

    def holds(call: Call) -> bool:
        keys, blocks = key_counts(call).sum(axis=0), call.extents.get("J", 0)
        lost = int(query_counts(call).max(initial=0)) > 2 and int(keys.max(initial=0)) > tile
        behind = blocks * int(step.evaluate(call.env())) > keys.max(initial=0) + tile
        return lost and behind and bool(odd.evaluate(call.env()))

    return Demand("rows without scores and blocks behind the last key", pins, holds, ANY, whole=True)
