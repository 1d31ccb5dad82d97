"""Check of cross-core flags: the setting pipe is ordered after every ring access of its core.

The proof that no ring slot is overwritten early (passes/flags) assumes that a stage is finished when its
flag is set. One pipe sets the flag, so the ring accesses of the core's other pipes must be complete by then.
The check is the race analysis with one addition: loops over the same scalar that access rings run all or
none.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.passes.events.access_sets import Access, AccessIndex
from attndsl.passes.events.analysis_state import State
from attndsl.passes.events.flow import Flow, upper_bound
from attndsl.passes.events.transfer_functions import Branch, CaseSplit, Flag, Loop, Walk
from attndsl.passes.events.trip_counts import surely_run
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import For, Seq, SetCrossFlag


@dataclass(frozen=True, slots=True)
class EarlyFlag:
    """A flag that may be raised while an earlier instruction still accesses a ring.

    ``idle``: scalars n that are 0 whenever that may happen: loops ``0..n`` do not run then.
    """

    earlier: Instruction
    flag: SetCrossFlag
    tensor: GlobalTensor
    idle: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return (
            f"flag {self.flag.name} is raised behind {self.flag.pipe.value} while "
            f"'{self.earlier.describe()}' may still access {self.tensor.name}"
        )


def find_early_flags(tree: Seq, sure: frozenset[For] | None = None) -> tuple[EarlyFlag, ...]:
    """Every flag between the cores of a block that its pipe may raise too early.

    ``sure``: the loops of the tree that surely run, where that is known already.
    """
    if not any(isinstance(item, SetCrossFlag) for item in tree.walk()):
        return ()
    index = AccessIndex(tree, _is_of_ring, waits=False)
    sure = surely_run(tree) if sure is None else sure
    walk = _Flags(index)
    flow = Flow(tree, index, sure, split_at=_scalars_to_split(tree, index, sure))
    walk.run(flow.functions, flow.start())
    return tuple(walk.early.values())


def _is_of_ring(access: Access) -> bool:
    return isinstance(access[1], GlobalTensor)


def _scalars_to_split(tree: Seq, index: AccessIndex, sure: frozenset[For]) -> frozenset[str]:
    """Scalars that decide alone whether loops with ring accesses run."""
    loops = (item for item in tree.walk() if isinstance(item, For) and item not in sure)
    return frozenset(name for loop in loops if (name := upper_bound(loop)) and _accesses_rings(loop, index))


def _accesses_rings(loop: For, index: AccessIndex) -> bool:
    return any(isinstance(item, Instruction) and index.of[item] for item in loop.walk())


class _Flags(Walk):
    """Notes the flags that are raised while other pipes may still access a ring."""

    def __init__(self, index: AccessIndex) -> None:
        super().__init__()
        self.early: dict[tuple[Instruction, SetCrossFlag, GlobalTensor], EarlyFlag] = {}
        self._index = index
        self._empty: dict[str, bool] = {}  # scalars that were split at: whether their loops run no time

    def flag(self, flag: Flag, state: State) -> None:
        raised = flag.statement
        left = (state.bits & flag.unfinished) >> flag.first & ~self._index.of_pipe[raised.pipe]
        for earlier, tensor in self._index.members(left):
            assert isinstance(tensor, GlobalTensor)
            key, idle = (earlier, raised, tensor), self._idle()
            known = self.early.get(key)
            self.early[key] = EarlyFlag(*key, idle if known is None else idle & known.idle)

    def _idle(self) -> frozenset[str]:
        return frozenset(name for name, empty in self._empty.items() if empty)

    def decided(self, branch: Branch) -> bool | None:
        return self._empty.get(branch.unless_runs or "")

    def case_split(self, function: CaseSplit, state: State) -> None:
        """What follows a definition, with the scalar positive and with it not."""
        outer, other = self._empty, state.copy()
        for empty, way in ((False, state), (True, other)):
            self._empty = {**outer, function.name: empty}
            self.run(function.rest, way)
        self._empty = outer
        state.become(state.join(other))

    def loop(self, loop: Loop, state: State) -> None:
        if self._empty.get(loop.bound or "") is not True:
            super().loop(loop, state)

    def context(self, loop: Loop) -> object:
        return (loop.statement, *self._empty.items())

    def runs(self, loop: Loop) -> bool:
        return self._empty.get(loop.bound or "") is False or super().runs(loop)
