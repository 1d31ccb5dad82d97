"""Where the keys end that a mask in bytes shows, and where it first hides one, as the bytes tell it.

A mask is data: nothing but its bytes says which keys no row of a task sees. Where blocks are selected, the
vector cores look through it once, before all items, and leave the end of the keys that each position sees and
its first hidden key (selection/find_key_ends.py); a task then goes as far as one of its positions, and a step
of rows hides nothing in front of the first key that is hidden from one of its own. A position that sees no
key at all has all of them: its hidden keys share the weight.

Of a mask that puts the lowest number, not -inf, hidden keys have no weight beside a score above that number.
"""

from __future__ import annotations

from typing import NamedTuple

from attndsl.expr import Expr, Symbol
from attndsl.expr.reductions import Fold
from attndsl.graph import nodes
from attndsl.lowering.context.attention_context import Context
from attndsl.lowering.emit.loop_scalars import FIRST_KEY, FIRST_QUERY, LOWEST, QUERIES
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.statements import Let

TOLD = 2
"""Numbers of each position: the end of the keys that it sees, and ``2 * keys - j`` of its first hidden key j,
or ``keys`` if none is hidden."""
FIRST_HIDDEN = Symbol("firstHidden")
_POSITION = Symbol("p")
_HIDES = (float("-inf"), float(LOWEST.value))
_AXES: nodes.Axes = ("Q", "T")


class BytesMask(NamedTuple):
    """A mask as it is stored, ``tensor``, and the score modifier that hides keys by it, ``modifier``."""

    modifier: nodes.Replace
    tensor: nodes.Input


def telling_mask(context: Context) -> BytesMask | None:
    """The mask that tells where keys end: one over positions and keys that all heads and batch rows share,
    with nothing done to the scores after it; None where there is none, or looking through it does not pay."""
    attention, computation = context.attention, context.computation
    if computation.selection is None or attention.softmax is None or not attention.modifiers:
        return None
    node = attention.modifiers[-1]
    if not isinstance(node, nodes.Replace) or node.value not in _HIDES:
        return None
    mask = bytes_mask(node)
    if mask is None or mask.tensor.axes != _AXES or context.parameter(mask.tensor.name).dtype != "uint8":
        return None
    from_first = context.keys.first(context) is None and not context.keys.wraps
    plain = from_first and attention.selected is None and not context.rows.one_position
    return mask if plain and context.rows.one_batch_row else None


def bytes_mask(modifier: nodes.Replace) -> BytesMask | None:
    """The stored mask that a modifier hides keys by, or None of other conditions."""
    condition = modifier.condition
    mask = condition.source if isinstance(condition, nodes.Opposite) else condition
    return BytesMask(modifier, mask) if isinstance(mask, nodes.Input) else None


def key_ends_tensor(context: Context) -> GlobalTensor:
    """The workspace tensor of the ends and first hidden keys, of each position of the longest batch row."""
    told = context.host(context.signature.extents["Q"]) * TOLD
    meaning = "ends of the keys that positions see, and their first hidden keys"
    return context.inventory.tensor("keyEnds", "int32", told, "device", meaning)


def told_end(context: Context) -> Expr | None:
    """The end of the keys that some position of the task sees; None where nothing tells."""
    return None if telling_mask(context) is None else _largest(context, 0, "LastEnd")


def first_hidden(context: Context, first: Expr, positions: Expr) -> Let:
    """The first key of the tile, and after, that is hidden from one of so many positions, from ``first`` of
    the task on, where the mask tells it: negative for one before the tile."""
    keys = context.host(context.signature.extents["T"])
    largest = _largest(context, 1, "FirstHidden", FIRST_QUERY + first, positions)
    return Let(symbol=FIRST_HIDDEN, value=TOLD * keys - FIRST_KEY - largest)


def _largest(
    context: Context, which: int, title: str, first: Expr = FIRST_QUERY, positions: Expr = QUERIES
) -> Expr:
    number = key_ends_tensor(context).at((first + _POSITION) * TOLD + which)
    return Fold("max", number, _POSITION.name, positions, title)
