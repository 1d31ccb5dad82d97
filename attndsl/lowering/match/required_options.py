"""Schedule options fixed by the computation; a spec cannot override them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const
from attndsl.lowering.match.attention_pattern import Computation


@dataclass(frozen=True, slots=True)
class RequiredOption:
    """A schedule option that the computation fixes, and why.

    ``where``: the line that asks for it. It tells no option apart: programs that are stored on disk come from
    any copy of a spec, and two kernels that share a text may come from two.
    """

    name: str
    value: int
    why: str
    where: SourceLine = field(compare=False)


def required_options(computation: Computation) -> tuple[RequiredOption, ...]:
    """The schedule options that a computation fixes, the first for each name."""
    found: dict[str, RequiredOption] = {}
    for choice in (*_tiles(computation), *_unsplit(computation)):
        found.setdefault(choice.name, choice)
    return tuple(found.values())


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
            why = "given steps divide probabilities under the maximum of all keys so far"
            yield RequiredOption("split_kv", 1, why, node.where)
