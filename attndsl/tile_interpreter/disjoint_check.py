"""Checks of what loops promise about their iterations, element by element (for tests: it is slow).

``For.disjoint`` tells the race analysis that different iterations touch different elements of a buffer, so
that they need no order. Here the elements are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from attndsl.base.errors import InternalError
from attndsl.tile.buffers import Buffer
from attndsl.tile.instructions import Instruction, Machine
from attndsl.tile.statements import Alloc, For

Mask = npt.NDArray[np.bool_]


@dataclass
class _Watched:
    """A disjoint loop that is running: elements of earlier iterations and of the present one."""

    loop: For
    earlier: dict[Buffer, Mask] = field(default_factory=dict)
    present: dict[Buffer, Mask] = field(default_factory=dict)


class DisjointCheck:
    """Watches the disjoint loops of one core."""

    def __init__(self) -> None:
        self._watched: list[_Watched] = []

    def begin(self, loop: For) -> None:
        """The loop is entered."""
        self._watched.append(_Watched(loop))

    def end(self) -> None:
        """The innermost watched loop is left."""
        self._watched.pop()

    def end_iteration(self) -> None:
        """Compare the iteration of the innermost watched loop with the earlier ones.

        Raises:
            InternalError: it touched an element that an earlier one had touched.
        """
        watched = self._watched[-1]
        for buffer, mask in watched.present.items():
            earlier = watched.earlier.setdefault(buffer, np.zeros_like(mask))
            common = np.flatnonzero(mask & earlier)
            if common.size:
                raise InternalError(
                    f"two iterations of the loop over {watched.loop.var} touch element {common[0]} of "
                    f"{buffer.name}, which it declares disjoint"
                )
            earlier |= mask
        watched.present.clear()

    def run(self, item: Instruction, machine: Machine) -> None:
        """Run an instruction and note what it touches.

        Raises:
            InternalError: it writes elements of a watched buffer that its operands do not cover.
        """
        touched = {*item.reads(), *item.writes()}
        watched = {buffer for loop in self._watched for buffer in _promised(loop.loop)} & touched
        before = {buffer: machine.slot(buffer).view(np.uint8).copy() for buffer in watched}
        masks = {buffer: touched_elements(item, buffer, machine) for buffer in watched}
        item.run(machine)
        for buffer, mask in masks.items():
            changed = machine.slot(buffer).view(np.uint8) != before[buffer]
            if (changed.reshape(mask.size, -1).any(axis=1) & ~mask).any():
                raise InternalError(f"'{item.describe()}' writes elements its operands do not cover")
            for loop in self._watched:
                if buffer in _promised(loop.loop):
                    loop.present[buffer] = loop.present.get(buffer, np.zeros_like(mask)) | mask


def _promised(loop: For) -> set[Buffer]:
    """Buffers whose slot stays the same while the loop runs; of others the promise counts for nothing."""
    taken = {buffer for item in loop.body.walk() if isinstance(item, Alloc) for buffer in item.buffers}
    return set(loop.disjoint) - taken


def touched_elements(item: Instruction, buffer: Buffer, machine: Machine) -> Mask:
    """Which elements of the buffer's slot an instruction reads or writes, by its operands."""
    mask = np.zeros(buffer.elements, np.bool_)
    for touched, indices in item.touched(machine):
        if touched is buffer:
            mask[indices] = True
    return mask
