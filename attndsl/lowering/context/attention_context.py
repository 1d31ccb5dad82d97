"""The context of one attention: an emitter, with the attention's rows, keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.match.attention_pattern import Attention, Computation
from attndsl.lowering.rows.row_space import RowSpace


@dataclass(frozen=True, kw_only=True)
class Context(Emitter):
    """All that a rule of masks, scores, matrix stages or results may use.

    Attributes:
        computation: what all outputs ask for.
        attention: the attention that is lowered, one of ``computation``.
        rows: its query rows. ``keys``, ``values``: the rows that it attends to.
        continuous: its pipeline goes on from one item to the next.
    """

    computation: Computation
    attention: Attention
    rows: RowSpace
    keys: KeySource
    values: KeySource
    continuous: bool = False
