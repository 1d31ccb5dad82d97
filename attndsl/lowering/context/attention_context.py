"""The context of one attention: an emitter, with the attention's rows, keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Const, Expr, Named
from attndsl.lowering.emit.emitter import Emitter
from attndsl.lowering.keys.key_source import KeySource
from attndsl.lowering.match.computation import Attention, Computation
from attndsl.lowering.rows.row_space import RowSpace


@dataclass(frozen=True, kw_only=True)
class Context(Emitter):
    """All that a rule of masks, scores, matrix stages or results may use.

    Attributes:
        computation: what all outputs ask for.
        attention: the attention that is lowered, one of ``computation``.
        rows: its query rows. ``keys``, ``values``: the rows that it attends to.
        continuous: its pipeline goes on from one item to the next.
        waits_first: the cube waits for the probabilities of a tile before it makes scores in its place.
        drains: of a continuous pipeline, the last turn of a block's loop may be one of its items.
        larger_tasks_follow: of two attentions in one loop over items, tasks of the second have more rows.
        items_before: items of the attentions whose loops come before this one; None for the first.
    """

    computation: Computation
    attention: Attention
    rows: RowSpace
    keys: KeySource
    values: KeySource
    continuous: bool = False
    items_before: Expr | None = None
    waits_first: bool = False
    drains: bool = True
    larger_tasks_follow: bool = False

    @property
    def items_in_flight(self) -> Expr:
        """Items whose state is kept at one time: in a continuous pipeline each may have a single tile."""
        return self.item_slots if self.continuous else Const(1)

    @property
    def widens(self) -> bool:
        """Whether vector cores widen the keys of a tile before the cube multiplies them."""
        return self.keys.quantization is not None

    @property
    def widen_lead(self) -> Named | None:
        """Tiles by which keys and values are widened ahead of the scores; None where they are not."""
        if not self.widens:
            return None
        return self._option("widenLead", "widen_lead", "tiles by which rows are widened ahead of the scores")

    @property
    def prefetch(self) -> Named:
        """Tiles by which the first stage of a tile runs ahead of its weighted sums."""
        first = "rows are widened" if self.widens else "the scores run"
        meaning = f"tiles by which {first} ahead of the weighted sums"
        return self.inventory.constant("prefetch", self.ring - 1, meaning)
