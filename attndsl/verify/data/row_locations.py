"""Where the rows of each batch row lie in the tensors of a call, whatever the key source.

The reference's own readers are asked: every element of the stored tensors is replaced by its number, and
what a reader then gives for a row are the places of that row's channels. So pages, lists, rings, packed
tokens and appended rows need no word here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attndsl.graph.nodes import (
    CacheAppend,
    Dense,
    Dequantize,
    Input,
    Leading,
    Listed,
    Node,
    Packed,
    PackedQueries,
    Paged,
    Ring,
    Rows,
    Scores,
    Selected,
    Take,
    WeightedSum,
    Windowed,
)
from attndsl.reference.query_space import boundaries
from attndsl.reference.whole import new_state
from attndsl.spec.binding.call import Call
from attndsl.spec.contract.layout import Array
from attndsl.verify.space.argument_roles import dequantizations

_FLOAT64 = np.dtype(np.float64)
_BELOW: dict[type[Node], tuple[str, ...]] = {
    Dense: ("tensor",),
    Paged: ("tensor",),
    Packed: ("tensor",),
    Listed: ("tensors",),
    Ring: ("source",),
    Selected: ("source",),
    Windowed: ("source",),
    CacheAppend: ("cache", "rows"),
    Take: ("source",),
    Leading: ("source",),
    Dequantize: ("source",),
}


def stored_inputs(node: Node) -> Iterator[Input]:
    """The tensors whose rows a key source reads."""
    if isinstance(node, Input):
        yield node
    for name in _BELOW.get(type(node), ()):
        yield from stored_inputs(getattr(node, name))


class RowLocations:
    """The elements of all stored tensors of a call in one flat array.

    ``keys`` and ``values``: the key sources of scores and of weighted sums, in the order of segments;
    ``content``: the elements, to be written; ``written``: which of them have been.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        nodes = call.graph.nodes
        sums = [node for node in nodes if isinstance(node, WeightedSum)]
        scores = [next(e for e in s.weights.walk() if isinstance(e, Scores)) for s in sums]
        self.keys: tuple[Rows, ...] = tuple(each.keys for each in scores)
        self.values: tuple[Rows, ...] = tuple(each.values for each in sums)
        self._places: dict[str, list[tuple[slice, tuple[int, ...]]]] = {}
        total = 0
        for source in (*self.keys, *self.values):
            for tensor in stored_inputs(source):
                if tensor.name not in self._places:
                    total = self._place(tensor.name, total)
        self.content = np.zeros(total)
        self.written = np.zeros(total, bool)
        self._state = new_state(self._numbered(), _FLOAT64)

    def _place(self, name: str, total: int) -> int:
        found = []
        for entry in self.call.lists.get(name, (self.call.arrays.get(name),)):
            assert entry is not None
            found.append((slice(total, total + entry.size), entry.shape))
            total += entry.size
        self._places[name] = found
        return total

    def _numbered(self) -> Call:
        """The call with the number of each element in its place, and nothing scaled."""
        arrays, lists = dict(self.call.arrays), dict(self.call.lists)
        for name, places in self._places.items():
            numbers = tuple(
                np.arange(where.start, where.stop, dtype=np.float64).reshape(shape) for where, shape in places
            )
            if name in lists:
                lists[name] = numbers
            else:
                arrays[name] = numbers[0]
        for how in dequantizations(self.call.graph).values():
            arrays[how.scale] = np.ones(arrays[how.scale].shape)
            if how.offset:
                arrays[how.offset] = np.zeros(arrays[how.offset].shape)
        return replace(self.call, arrays=arrays, lists=lists)

    @property
    def sums_of_a_value(self) -> int:
        """How many weighted sums read the same values, at most.

        In a difference of two attentions the errors of both sets of probabilities count: with few keys of
        weight in a row, of values of the order 1, both together exceed what is allowed of a bfloat16 result.
        """
        read = Counter(tensor.name for source in self.values for tensor in stored_inputs(source))
        return max(read.values(), default=1)

    def rows(self, source: Rows, b: int, k: int) -> Array:
        """The places of the rows of batch row ``b`` and key/value head ``k``: (rows, channels)."""
        found = self._state.reader(source, b, k)
        if found.count == 0:
            return np.zeros((0, 0), np.int64)
        return found.fetch(found.first, found.first + found.count).astype(np.int64)

    def write(self, places: Array, values: Array) -> None:
        """Give elements that have no value yet theirs."""
        free = ~self.written[places]
        self.content[places[free]] = np.broadcast_to(values, places.shape)[free]
        self.written[places] = True

    def tensors(self) -> dict[str, list[Array]]:
        """The content by tensor, one array or those of a list."""
        return {
            name: [self.content[where].reshape(shape) for where, shape in places]
            for name, places in self._places.items()
        }

    def ranges(self) -> dict[str, tuple[int, int]]:
        """First element of each stored tensor, and the end; lists without tensors have none."""
        held = ((name, places) for name, places in self._places.items() if places)
        return {name: (places[0][0].start, places[-1][0].stop) for name, places in held}

    def queries(self, values: Array) -> dict[str, Array]:
        """``values`` (B, N, Q, D) as they are stored, by tensor, in the layout that is passed."""
        found = {}
        for node in self.call.graph.nodes:
            if not isinstance(node, Scores):
                continue
            below = node.query.tensor if isinstance(node.query, PackedQueries) else node.query
            tensor = next(each for each in below.walk() if isinstance(each, Input) and "D" in each.axes)
            layout = self.call.operator.tensor(tensor.name).layouts[self.call.layouts[tensor.name]]
            stored = np.zeros(self.call.arrays[tensor.name].shape)
            view = layout.view(stored, self.call.env(), self.call.extents)
            if isinstance(node.query, PackedQueries):
                ends = boundaries(self._state, node.query)
                at = {axis: layout.roles.index(axis) for axis in "SND"}
                tokens = view.transpose([at["N"], at["S"], at["D"]])
                for b in range(len(ends) - 1):
                    count = int(ends[b + 1] - ends[b])
                    tokens[:, ends[b] : ends[b + 1]] = values[b, :, :count]
            elif values.size:
                view[...] = _along(values, layout.roles)
            found[tensor.name] = stored
        return found


def _along(values: Array, roles: tuple[str, ...]) -> Array:
    """Values (B, N, Q, D) with the axes ``roles``; of an axis that is none of them, those of its first place
    stand for all."""
    axes = "BNQD"
    kept = [axis for axis in axes if axis in roles]
    first = values[tuple(slice(None) if axis in roles else 0 for axis in axes)]
    return first.transpose([kept.index(axis) for axis in roles])
