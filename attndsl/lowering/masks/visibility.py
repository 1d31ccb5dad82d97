"""Which keys a task skips, as no row of it sees them: never loaded, never multiplied.

Kinds of masks tell the interval of keys that each row sees (``MaskKind.visible``); what all masks of an
attention hide from all rows of a task is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.expr import Expr, maximum, minimum
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.masks.hidden_values import vanishing_masks
from attndsl.lowering.masks.interval_bounds import extreme, over_positions, over_task
from attndsl.lowering.masks.mask_kind import KnownNumbers, known_numbers
from attndsl.lowering.masks.mask_rules import mask_kind
from attndsl.lowering.masks.tile_tests import TileTest
from attndsl.lowering.masks.told_ends import told_end
from attndsl.lowering.masks.visible_interval import Interval
from attndsl.lowering.match.schedule_options import GRANULE


def visible_intervals(
    modifiers: tuple[nodes.Node, ...], known: KnownNumbers | None = None, *, softmax: bool = True
) -> tuple[Interval, ...]:
    """The intervals that masks show, where nothing but hiding acts on the scores after them.

    What such a mask hides has no weight. Masks that hide (put -inf) commute, whatever their conditions are.

    Args:
        modifiers: what is done to the scores.
        known: what is known of the numbers in conditions; nothing if None.
        softmax: whether the weights are a softmax of the modified scores, or these themselves.
    """
    found: list[Interval] = []
    known = known or KnownNumbers()
    for node in _hiding(modifiers, softmax):
        interval = mask_kind(node, known).visible(node, known)
        if interval is not None:
            found.append(interval)
    return tuple(found)


def _hiding(modifiers: tuple[nodes.Node, ...], softmax: bool) -> Iterator[nodes.Replace]:
    """The masks that take all weight from what they hide."""
    if not softmax:
        yield from vanishing_masks(modifiers)
        return
    for node in reversed(modifiers):
        if not isinstance(node, nodes.Replace) or node.value != float("-inf"):
            break
        yield node


def in_granules(context: Context, keys: Expr) -> Expr:
    """Keys that are skipped at the front, rounded down to what is skipped at once."""
    meaning = "keys skipped in front are a multiple of this"
    granule = context.inventory.constant("keyGranule", GRANULE, meaning)
    return keys // granule * granule


def first_visible(context: Context) -> Expr | None:
    """A key at or before the first that any row of the task sees; None where that is not known."""
    found = over_task(context, [extreme(each.begin, low=True) for each in _intervals(context)], maximum)
    return None if found is None else in_granules(context, found)


def task_end(context: Context) -> Expr | None:
    """A key after the last that any row of the task sees; None where that is not known."""
    known = over_task(context, [extreme(each.end, low=False) for each in _intervals(context)], minimum)
    told = told_end(context)
    if known is None or told is None:
        return told if known is None else known
    return minimum(known, told)


def end_of_positions(context: Context, positions: tuple[Expr, Expr]) -> Expr | None:
    """The same for some query positions of the task, the first and the last."""
    bounds = [extreme(each.end, low=False) for each in _intervals(context)]
    return over_positions(context, bounds, minimum, positions)


def first_of_positions(context: Context, positions: tuple[Expr, Expr]) -> Expr | None:
    """A key at or before the first that some query positions of the task see, the first and the last."""
    bounds = [extreme(each.begin, low=True) for each in _intervals(context)]
    return over_positions(context, bounds, maximum, positions)


def row_ends(context: Context) -> tuple[Expr, ...]:
    """Ends of the keys that a row sees, expressions of b, n and i: of each mask that hides later keys."""
    return tuple(each.end for each in _intervals(context) if each.end is not None)


def later_positions_see_more(context: Context) -> bool:
    """Whether later query positions see more keys, so that tasks have unequal numbers of tiles."""
    ends = [each.end for each in _intervals(context) if each.end is not None]
    return any("i" in end.symbols() and extreme(end, low=False) is not None for end in ends)


def later_positions_begin_later(context: Context) -> bool:
    """Whether earlier keys are hidden from later query positions, as a window does that moves with them."""
    return any("i" in begin.symbols() for begin in _begins(context))


def bands_begin_later(context: Context) -> bool:
    """The same, where the first keys that earlier positions of a task see are known."""
    begins = _begins(context)
    return any("i" in begin.symbols() and extreme(begin, low=True) is not None for begin in begins)


def _begins(context: Context) -> list[Expr]:
    return [each.begin for each in _intervals(context) if each.begin is not None]


def tile_tests(context: Context) -> tuple[TileTest, ...]:
    """What each key that a row sees passes, block of keys by block; none where tasks mix batch rows."""
    attention, known = context.attention, known_numbers(context)
    if not context.rows.one_batch_row:
        return ()
    masks = _hiding(attention.modifiers, attention.softmax is not None)
    return tuple(test for node in masks for test in mask_kind(node, known).tile_tests(node, known))


def begins_late(context: Context) -> bool:
    """Whether the first key of a task may be another than 0."""
    return context.keys.first(context) is not None or first_visible(context) is not None


def _intervals(context: Context) -> tuple[Interval, ...]:
    attention = context.attention
    softmax = attention.softmax is not None
    return visible_intervals(attention.modifiers, known_numbers(context), softmax=softmax)
