"""Schedule options that the computation fixes, or bounds from below."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr import Const
from attndsl.lowering.match.computation import Computation
from attndsl.lowering.match.schedule_options import BAND_ROWS, RequiredOption


def required_options(computation: Computation) -> tuple[RequiredOption, ...]:
    """The schedule options that a computation fixes, the first for each name; a spec cannot override them."""
    found: dict[str, RequiredOption] = {}
    for choice in (*_tiles(computation), *_unsplit(computation)):
        found.setdefault(choice.name, choice)
    return tuple(found.values())


def least_options(computation: Computation) -> tuple[RequiredOption, ...]:
    """The least values of options that nobody but an author goes below, for whose own choice
    :func:`attndsl.lowering.preconditions.heads_of_a_selection_fit_one_core` asks which calls there are."""
    if computation.selection is None:
        return ()
    why = "all heads of a selection are rows of one vector core"
    return (RequiredOption("max_rows", BAND_ROWS, why, computation.selection.where),)


def _tiles(computation: Computation) -> Iterator[RequiredOption]:
    for node in (each.requantize for each in computation.attentions):
        if node is not None and isinstance(node.block, Const):
            yield RequiredOption("tile_k", int(node.block.value), "a block of int8 probabilities", node.where)


def _unsplit(computation: Computation) -> Iterator[RequiredOption]:
    """What needs the final maximum and sum of a row, or its maximum so far, needs its keys in one item."""
    if computation.selection is not None:
        where = computation.selection.where
        yield RequiredOption("split_kv", 1, "a selection needs probabilities under all keys", where)
    for node in (each.requantize for each in computation.attentions):
        if node is not None and node.scale is not None:
            why = "given scales divide probabilities under the maximum of all keys so far"
            yield RequiredOption("split_kv", 1, why, node.where)
