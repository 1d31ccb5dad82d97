"""The state of the race analysis: a table of access sets, side by side in one integer.

The table has a row for each pipe (accesses that may be unfinished), a row for each id of each event (accesses
that the event does not know to be complete), and one row of the events that may be set. A change of every row
is one operation on the integer. :class:`Rows` gives the place of each row.
"""

from __future__ import annotations

from attndsl.passes.events.access_sets import AccessIndex, AccessSet
from attndsl.target import Pipe

_FEW = 8
"""So many bits are shifted one by one: a product of large numbers takes longer."""


class State:
    """What holds at one place of the tree, as one integer of rows.

    ``present``: all bits of the rows of pipes, and of events that may have been raised. No other row has a
    bit: an event that no path raised tells a waiting pipe nothing.
    """

    __slots__ = ("bits", "present")

    def __init__(self, bits: int, present: int) -> None:
        self.bits, self.present = bits, present

    def copy(self) -> State:
        """A state of its own."""
        return State(self.bits, self.present)

    def join(self, other: State) -> State:
        """Either of two paths."""
        return State(self.bits | other.bits, self.present | other.present)

    def without(self, bits: int) -> State:
        """The state without some bits of any row."""
        return State(self.bits ^ self.bits & bits, self.present ^ self.present & bits)

    def become(self, other: State) -> None:
        """What the other is."""
        self.bits, self.present = other.bits, other.present

    def same(self, other: State) -> bool:
        """Whether they are equal."""
        return self.bits == other.bits and self.present == other.present


class Rows:
    """Where the rows of a state lie: those of pipes first, then a row for each id of each event, then one
    of the events that may be up.

    Attributes:
        row: all bits of a row, at the first row. ``pipes``: all bits of the rows of pipes.
        up: the first bit of the row of the events that may be up.
    """

    def __init__(self, index: AccessIndex) -> None:
        self._width = index.width * index.blocks
        self.row = (1 << self._width) - 1
        self._pipes = {pipe: number * self._width for number, pipe in enumerate(index.pipes)}
        self._events: dict[str, int] = {}
        end = len(index.pipes) * self._width
        self.pipes = (1 << end) - 1
        for name, event in index.events.items():
            self._events[name] = end
            end += self._width * index.ids(event)
        self.up = end
        self._every = sum(1 << first for first in range(0, end, self._width)) if self._width else 0

    def pipe(self, pipe: Pipe) -> int:
        """The first bit of a pipe's row."""
        return self._pipes[pipe]

    def event(self, name: str, age: int = 0) -> int:
        """The first bit of the row of an event's id."""
        return self._events[name] + age * self._width

    def ids(self, name: str, count: int) -> int:
        """All bits of the rows of an event's first ``count`` ids."""
        return ((1 << count * self._width) - 1) << self._events[name]

    def everywhere(self, accesses: AccessSet) -> int:
        """A set of accesses in each row of a pipe or an event."""
        if accesses.bit_count() > _FEW:
            return accesses * self._every
        found = 0
        while accesses:
            lowest = accesses & -accesses
            found |= self._every << lowest.bit_length() - 1
            accesses ^= lowest
        return found

    @property
    def width(self) -> int:
        """Bits from a row to the next."""
        return self._width
