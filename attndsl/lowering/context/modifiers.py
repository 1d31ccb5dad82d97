"""A score modifier, lowered: what to load once a tile (shared by all rows), what to load with the rows, and
what to do to the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from attndsl.base.source_location import SourceLine
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.errors import NotLowered
from attndsl.tile.buffers import Buffer
from attndsl.tile.statements import Statement

MakeStatements = Callable[[Context], list[Statement]]


def _nothing(context: Context) -> list[Statement]:
    return []


@dataclass(frozen=True, kw_only=True)
class Modifier:
    """One modifier, lowered.

    Attributes:
        title: what it does, in the spec's terms.
        source: what the loaded buffers hold; modifiers of one source share them.
        tile_loads: buffers loaded once a tile. ``row_loads``: buffers loaded with the rows of each step.
        scratch: further vector buffers.
        load_tile, prepare_tile: statements at the start of a tile.
        load_rows, apply: statements for the rows of each step, before and after the scores have arrived.
        begin: statements that do not read the scores, emitted right after the loads: they overlap with the
            widening and scaling of the scores.
        finish: what follows ``apply``, and touches no lane after the last key.
        of_probabilities: whether it acts once these are probabilities, and the sums of rows have taken them.
    """

    title: str
    source: str = ""
    tile_loads: tuple[Buffer, ...] = ()
    row_loads: tuple[Buffer, ...] = ()
    scratch: tuple[Buffer, ...] = ()
    load_tile: MakeStatements = field(default=_nothing)
    prepare_tile: MakeStatements = field(default=_nothing)
    load_rows: MakeStatements = field(default=_nothing)
    begin: MakeStatements = field(default=_nothing)
    apply: MakeStatements = field(default=_nothing)
    finish: MakeStatements = field(default=_nothing)
    of_probabilities: bool = False


@dataclass(frozen=True, slots=True)
class Modifiers:
    """All modifiers of one attention, in order.

    ``row_loads``, ``tile_loads``: what any attention of the computation loads with the rows of a step or
    with a tile. Its buffers live together wherever one of them does, so that they are one lifetime in all
    stages.
    """

    each: tuple[Modifier, ...]
    row_loads: tuple[Buffer, ...]
    tile_loads: tuple[Buffer, ...]


def share_loads_across_attentions(
    attentions: list[tuple[Modifier, ...]], where: SourceLine
) -> tuple[Modifiers, ...]:
    """The modifiers of each attention.

    Raises:
        NotLowered: one of them uses a tensor twice, with different elements.
    """
    shared = [_each_loaded_once(modifiers, where) for modifiers in attentions]
    modifiers = [modifier for each in shared for modifier in each]
    row_loads = tuple(dict.fromkeys(buffer for modifier in modifiers for buffer in modifier.row_loads))
    tile_loads = tuple(dict.fromkeys(buffer for modifier in modifiers for buffer in modifier.tile_loads))
    return tuple(Modifiers(each, row_loads, tile_loads) for each in shared)


def _each_loaded_once(modifiers: tuple[Modifier, ...], where: SourceLine) -> tuple[Modifier, ...]:
    """A modifier does not reload buffers that an earlier modifier has loaded."""
    held: dict[Buffer, str] = {}
    found: list[Modifier] = []
    for modifier in modifiers:
        buffers = (*modifier.tile_loads, *modifier.row_loads)
        if any(held.get(buffer, modifier.source) != modifier.source for buffer in buffers):
            what = f"scores and {modifier.source} beside other elements of the same tensor"
            raise NotLowered(what, where, "let the call pass it twice, as two inputs")
        if buffers and held.keys() >= set(buffers):
            modifier = replace(
                modifier,
                tile_loads=(),
                row_loads=(),
                load_tile=_nothing,
                prepare_tile=_nothing,
                load_rows=_nothing,
            )
        held.update(dict.fromkeys(buffers, modifier.source))
        found.append(modifier)
    return tuple(found)
