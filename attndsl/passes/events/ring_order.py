"""What a cross-core flag promises, checked: its core is done with the rings so far.

The proof that no ring slot is overwritten early (passes/flags) takes a stage for finished once its flag is
up. A flag is raised by one pipe, so this holds only if that pipe knows that what the core's other pipes did
to the rings is complete. It is the race analysis with one thing added: loops over the same scalar that
touch rings run all or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.expr import Const, Symbol
from attndsl.passes.events.hazards import State, Walker
from attndsl.tile.buffers import GlobalTensor
from attndsl.tile.instructions import Instruction
from attndsl.tile.statements import BLOCK_MODE, For, Let, Seq, SetCrossFlag, Statement, seq


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


def find_early_flags(tree: Seq) -> tuple[EarlyFlag, ...]:
    """Every flag between the cores of a block that its pipe may raise too early."""
    if not any(isinstance(item, SetCrossFlag) for item in tree.walk()):
        return ()
    walker = _FlagWalker(tree)
    walker.walk(tree, walker.start())
    return tuple(walker.early.values())


class _FlagWalker(Walker):
    def __init__(self, tree: Seq) -> None:
        super().__init__(tree)
        self.early: dict[tuple[Instruction, SetCrossFlag, GlobalTensor], EarlyFlag] = {}
        self._split_at = self._scalars_to_split(tree)
        self._empty: dict[str, bool] = {}

    def _scalars_to_split(self, tree: Seq) -> frozenset[str]:
        """Scalars that decide alone whether loops with ring touches run."""
        loops = (item for item in tree.walk() if isinstance(item, For) and item not in self.sure)
        return frozenset(name for loop in loops if (name := _upper_bound(loop)) and self._touches_rings(loop))

    def _touches_rings(self, loop: For) -> bool:
        return any(
            isinstance(item, Instruction) and self.index.of[item] & self.index.rings for item in loop.walk()
        )

    def walk(self, statement: Statement, state: State) -> tuple[Statement, State]:
        if isinstance(statement, SetCrossFlag) and statement.mode == BLOCK_MODE:
            self._flag(statement, state)
        return super().walk(statement, state)

    def _flag(self, flag: SetCrossFlag, state: State) -> None:
        left = state.unfinished[flag.pipe] & ~self.index.of_pipe[flag.pipe] & self.index.rings
        for earlier, tensor in self.index.members(left):
            assert isinstance(tensor, GlobalTensor)
            if flag.ring not in (None, tensor):
                continue
            self.early[earlier, flag, tensor] = EarlyFlag(earlier, flag, tensor)

    def sequence(self, statement: Seq, state: State) -> tuple[Statement, State]:
        for index, child in enumerate(statement.body):
            if isinstance(child, Let) and child.symbol.name in self._split_at:
                rest = seq(*statement.body[index + 1 :])
                return statement, self._either(child.symbol.name, rest, state)
            _, state = self.walk(child, state)
        return statement, state

    def _either(self, name: str, rest: Seq, state: State) -> State:
        """What follows a definition, with the scalar positive and with it not."""
        outer = self._empty
        found = []
        for empty in (False, True):
            self._empty = {**outer, name: empty}
            found.append(self.sequence(rest, state)[1])
        self._empty = outer
        return found[0].join(found[1])

    def fixpoint(self, loop: For, state: State) -> tuple[Statement, State]:
        if self._empty.get(_upper_bound(loop) or "") is True:
            return loop, state
        return super().fixpoint(loop, state)

    def context(self, loop: For) -> object:
        return (loop, *self._empty.items())

    def behind(self, loop: For, before: State, after: State) -> State:
        runs = self._empty.get(_upper_bound(loop) or "") is False
        return after if runs else super().behind(loop, before, after)


def _upper_bound(loop: For) -> str | None:
    """The scalar n of a loop ``0..n``."""
    from_zero = loop.begin.same(Const(0)) and isinstance(loop.end, Symbol)
    return loop.end.name if from_zero and isinstance(loop.end, Symbol) else None
