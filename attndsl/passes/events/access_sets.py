"""Access sets: the accesses of a tree as bits of an integer, for the race analysis.

An access is an instruction at a buffer, an instruction at a ring in global memory, or a wait at its event.
Bit ``age * width + number``; after the ages comes, for each loop of a nest of disjoint loops, a block of
``width`` bits for accesses that its earlier iterations made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.target import Pipe
from attndsl.tile.buffers import Buffer, GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import Alloc, Barrier, For, Handed, SetCrossFlag, SetEvent, Statement

AccessSet = int
Access = tuple[Instruction, Buffer | GlobalTensor]
Group = tuple[Buffer, ...]


@kept
def is_of_handed(event: SetEvent) -> bool:
    """Whether an event orders a buffer that a stage hands over: its order is proved in handed_slots.py."""
    return any(buffer.by_step for buffer in event.buffers)


def _every(access: Access) -> bool:
    return True


@kept
def disjoint_depth(statement: Statement) -> int:
    """How many disjoint loops a statement has in each other, itself among them."""
    inside = max(map(disjoint_depth, statement.children()), default=0)
    return inside + (isinstance(statement, For) and bool(statement.disjoint))


class AccessIndex:
    """The accesses of a tree, or the ``wanted`` ones. The analysis of one access never depends on another.

    Attributes:
        width: how many accesses there are. ``ages``: how many ages an access may have.
        nested: how many disjoint loops are in each other. ``blocks``: blocks of ``width`` bits, of all kinds.
        of: an instruction's accesses, of age 0. ``waits``: the same for an event's waits.
        of_pipe: everything a pipe does, of any age. ``pipes``: those the tree uses.
        clashing: what must be complete before an instruction starts: one of the two writes.
        rings: accesses of rings.
        bit_of: the bit of each access of an instruction, at age 0.
        events: one statement of each event, by name.
        slot_events: events with an id for each slot, by the group whose slots they follow.
    """

    def __init__(
        self, tree: Statement, wanted: Callable[[Access], bool] = _every, *, waits: bool = True
    ) -> None:
        """``waits``: whether waits are accesses of their events; else events that overrun are not found."""
        self._wanted, self._waits = wanted, waits
        self._accesses: list[Access | None] = []
        self._of_buffer: dict[Buffer, AccessSet] = {}
        self._writes_of: dict[Buffer, AccessSet] = {}
        self.of: dict[Instruction, AccessSet] = {}
        self.bit_of: dict[Access, AccessSet] = {}
        self.waits: dict[str, AccessSet] = {}
        self.events: dict[str, SetEvent] = {}
        self.rings: AccessSet = 0
        mine: dict[Pipe, AccessSet] = {}
        lifetimes: list[Group] = []
        for item in tree.inside():
            if isinstance(item, Instruction):
                mine[item.pipe] = mine.get(item.pipe, 0) | self._number(item)
            elif isinstance(item, SetEvent) and not is_of_handed(item):
                self._await(item)
                mine |= {pipe: mine.get(pipe, 0) for pipe in (item.source, item.target)}
            elif isinstance(item, Barrier | SetCrossFlag):
                mine.setdefault(item.pipe, 0)
            elif isinstance(item, Alloc) and item.buffers[0].slots > 1 and not isinstance(item, Handed):
                lifetimes.append(item.buffers)
        self.width = len(self._accesses)
        self._groups: dict[Buffer, Group] = {buffer: group for group in lifetimes for buffer in group}
        self.ages = max((group[0].slots for group in lifetimes), default=1)
        self.nested = disjoint_depth(tree)
        self.blocks = self.ages + self.nested
        self.pipes = tuple(pipe for pipe in Pipe if pipe in mine)
        self.of_pipe = {pipe: self.at_any_age(mine[pipe]) for pipe in self.pipes}
        self.clashing = {item: self._clashing(item) for item in self.of}
        self.slot_events = self._slot_events()
        self._rotations = {group: self._rotation(group) for group in lifetimes}

    def _new(self, access: Access | None) -> AccessSet:
        self._accesses.append(access)
        return 1 << (len(self._accesses) - 1)

    def _number(self, item: Instruction) -> AccessSet:
        if item in self.of:
            return self.of[item]
        operands, found = _operands(item), 0
        for buffer in dict.fromkeys((*operands.reads, *operands.writes)):
            if self._wanted((item, buffer)):
                bit = self.bit_of[item, buffer] = self._new((item, buffer))
                found |= bit
                self._of_buffer[buffer] = self._of_buffer.get(buffer, 0) | bit
                if buffer in operands.writes:
                    self._writes_of[buffer] = self._writes_of.get(buffer, 0) | bit
        for tensor in operands.rings:
            if self._wanted((item, tensor)):
                bit = self.bit_of[item, tensor] = self._new((item, tensor))
                found |= bit
                self.rings |= bit
        self.of[item] = found
        return found

    def _await(self, event: SetEvent) -> None:
        if event.name not in self.events:
            self.events[event.name] = event
            self.waits[event.name] = self._new(None) if self._waits else 0

    def _clashing(self, item: Instruction) -> AccessSet:
        operands, found = _operands(item), 0
        for buffer in operands.writes:
            found |= self._of_buffer.get(buffer, 0)
        for buffer in operands.reads:
            found |= self._writes_of.get(buffer, 0)
        return found

    def _slot_events(self) -> dict[Group, tuple[str, ...]]:
        found: dict[Group, list[str]] = {}
        for name, event in self.events.items():
            if self.ages_with_slots(event):
                assert event.slot_of is not None
                found.setdefault(self._groups[event.slot_of], []).append(name)
        return {group: tuple(names) for group, names in found.items()}

    def _rotation(self, group: Group) -> tuple[AccessSet, AccessSet]:
        bits = self.of_buffers(group)
        for name in self.slot_events.get(group, ()):
            bits |= self.waits[name]
        every = 0
        for age in range(group[0].slots):
            every |= bits << age * self.width
        return every, bits << (group[0].slots - 1) * self.width

    def at_any_age(self, accesses: AccessSet) -> AccessSet:
        """Accesses of age 0 at every age, and as those of other iterations of disjoint loops."""
        found = 0
        for block in range(self.blocks):
            found |= accesses << block * self.width
        return found

    def ages_with_slots(self, event: SetEvent) -> bool:
        """Whether the event has an id for each slot of a group that has lifetimes."""
        return event.ids > 1 and event.slot_of in self._groups

    def of_buffers(self, buffers: Iterable[Buffer]) -> AccessSet:
        """All accesses of some buffers, of age 0."""
        found = 0
        for buffer in buffers:
            found |= self._of_buffer.get(buffer, 0)
        return found

    def ids(self, event: SetEvent) -> int:
        """How many ids of an event are told apart."""
        if not self.ages_with_slots(event):
            return 1
        assert event.slot_of is not None
        return max(event.ids, event.slot_of.slots)

    def rotation(self, group: Group) -> tuple[AccessSet, AccessSet]:
        """Bits that age with a group's lifetimes: of every age, and of the oldest."""
        return self._rotations[group]

    def members(self, accesses: AccessSet) -> Iterator[Access]:
        """The accesses of a set, waits aside."""
        while accesses:
            access = self._accesses[((accesses & -accesses).bit_length() - 1) % self.width]
            if access is not None:
                yield access
            accesses &= accesses - 1


@dataclass(frozen=True, slots=True)
class _Operands:
    """What an instruction accesses: buffers on the chip, and rings in global memory.

    Buffers that stages hand over are left out: handed_slots.py orders them.
    """

    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    rings: tuple[GlobalTensor, ...]


@kept
def _operands(item: Instruction) -> _Operands:
    tensors = dict.fromkeys((*item.gm_reads(), *item.gm_writes()))
    reads, writes = (
        tuple(each for each in buffers if not each.by_step) for buffers in (item.reads(), item.writes())
    )
    return _Operands(reads, writes, tuple(tensor for tensor in tensors if tensor.is_ring))
