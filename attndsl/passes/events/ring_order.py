"""What a cross-core flag promises, checked: its core is done with the rings so far.

The proof that no ring slot is overwritten early (passes/flags) takes a stage for finished once its flag is
up. A flag is raised by one pipe, so this holds only if that pipe knows that what the core's other pipes did
to the rings is complete. It is the race analysis with one thing added: loops over the same scalar that
touch rings run all or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.passes.events.access_sets import Touch, TouchIndex
from attndsl.passes.events.flow import Either, Flag, Flow, Loop, State, Walk, upper_bound
from attndsl.passes.events.trip_counts import surely_run
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import For, Seq, SetCrossFlag


@dataclass(frozen=True, slots=True)
class EarlyFlag:
    """A flag that may be raised while an earlier instruction still touches a ring."""

    earlier: Instruction
    flag: SetCrossFlag
    tensor: GlobalTensor

    def __str__(self) -> str:
        return (
            f"flag {self.flag.name} is raised behind {self.flag.pipe.value} while "
            f"'{self.earlier.describe()}' may still touch {self.tensor.name}"
        )


def find_early_flags(tree: Seq, sure: frozenset[For] | None = None) -> tuple[EarlyFlag, ...]:
    """Every flag between the cores of a block that its pipe may raise too early.

    ``sure``: the loops of the tree that surely run, where that is known already.
    """
    if not any(isinstance(item, SetCrossFlag) for item in tree.walk()):
        return ()
    index = TouchIndex(tree, _is_of_ring, waits=False)
    sure = surely_run(tree) if sure is None else sure
    walk = _Flags(index)
    flow = Flow(tree, index, sure, split_at=_scalars_to_split(tree, index, sure))
    walk.run(flow.steps, flow.start())
    return tuple(walk.early.values())


def _is_of_ring(touch: Touch) -> bool:
    return isinstance(touch[1], GlobalTensor)


def _scalars_to_split(tree: Seq, index: TouchIndex, sure: frozenset[For]) -> frozenset[str]:
    """Scalars that decide alone whether loops with ring touches run."""
    loops = (item for item in tree.walk() if isinstance(item, For) and item not in sure)
    return frozenset(name for loop in loops if (name := upper_bound(loop)) and _touches_rings(loop, index))


def _touches_rings(loop: For, index: TouchIndex) -> bool:
    return any(isinstance(item, Instruction) and index.of[item] for item in loop.walk())


class _Flags(Walk):
    """Notes the flags that are raised while other pipes may still touch a ring."""

    def __init__(self, index: TouchIndex) -> None:
        super().__init__()
        self.early: dict[tuple[Instruction, SetCrossFlag, GlobalTensor], EarlyFlag] = {}
        self._index = index
        self._empty: dict[str, bool] = {}  # scalars that were split at: whether their loops run no time

    def flag(self, flag: Flag, state: State) -> None:
        raised = flag.statement
        left = (state.bits & flag.unfinished) >> flag.first & ~self._index.of_pipe[raised.pipe]
        for earlier, tensor in self._index.members(left):
            assert isinstance(tensor, GlobalTensor)
            if raised.ring in (None, tensor):
                self.early[earlier, raised, tensor] = EarlyFlag(earlier, raised, tensor)

    def either(self, step: Either, state: State) -> None:
        """What follows a definition, with the scalar positive and with it not."""
        outer, other = self._empty, state.copy()
        for empty, way in ((False, state), (True, other)):
            self._empty = {**outer, step.name: empty}
            self.run(step.rest, way)
        self._empty = outer
        state.become(state.join(other))

    def loop(self, loop: Loop, state: State) -> None:
        if self._empty.get(loop.bound or "") is not True:
            super().loop(loop, state)

    def context(self, loop: Loop) -> object:
        return (loop.statement, *self._empty.items())

    def runs(self, loop: Loop) -> bool:
        return self._empty.get(loop.bound or "") is False or super().runs(loop)
