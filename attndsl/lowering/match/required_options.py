"""Choices of a schedule that are part of what is computed: an author cannot make them otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attndsl.base.source_location import SourceLine
from attndsl.expr import Const
from attndsl.lowering.match.attention_pattern import Computation


@dataclass(frozen=True, slots=True)
class MeantChoice:
    """A choice that the computation makes, and why; ``where``: the line that asks for it."""

    name: str
    value: int
    why: str
    where: SourceLine


def meant_choices(computation: Computation) -> tuple[MeantChoice, ...]:
    """The choices that a computation makes, the first for each name."""
    found: dict[str, MeantChoice] = {}
    for choice in (*_tiles(computation), *_unsplit(computation)):
        found.setdefault(choice.name, choice)
    return tuple(found.values())


def _tiles(computation: Computation) -> Iterator[MeantChoice]:
    for node in (each.requantize for each in computation.attentions):
        if node is not None and isinstance(node.block, Const):
            yield MeantChoice("tile_k", int(node.block.value), "a block of int8 probabilities", node.where)


def _unsplit(computation: Computation) -> Iterator[MeantChoice]:
    """What needs the final maximum and sum of a row, or its maximum so far, needs its keys in one item."""
    for output in computation.statistics:
        yield MeantChoice("split_kv", 1, "row statistics are of all keys", output.where)
    if computation.selection is not None:
        where = computation.selection.where
        yield MeantChoice("split_kv", 1, "a selection needs probabilities under all keys", where)
    for node in (each.requantize for each in computation.attentions):
        if node is not None and node.scale is not None:
            why = "given steps divide probabilities under the maximum of all keys so far"
            yield MeantChoice("split_kv", 1, why, node.where)
