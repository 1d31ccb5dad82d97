"""Cases: legal calls of an operator, an endless deterministic stream.

Case number ``i`` of a seed is the same however many cases are asked for. The modes of an operator, which are
operators of their own, take turns; what is asked of the next case of one: :mod:`.mode_search`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

from attndsl.spec.operator.operator import Operator
from attndsl.verify.cases.case import Case
from attndsl.verify.cases.mode_search import ModeSearch
from attndsl.verify.cases.stored_cases import BLOCK, Block, Found, StoredCases
from attndsl.verify.cases.wanted_kernel import WantedKernel
from attndsl.verify.space.space import CaseSpace
from attndsl.verify.space.values import Values


class Stream:
    """The cases of an operator for one seed, by number.

    ``kernels``: those that cases are made for, in turn; without them for all that there may be.
    ``excluded``: optional tensors that no legal call was found for, such as arguments that are disabled.
    """

    def __init__(
        self,
        operator: Operator,
        seed: int = 0,
        values: Values | None = None,
        kernels: Sequence[WantedKernel] = (),
    ) -> None:
        self.operator = operator
        self.seed = seed
        self.excluded: tuple[str, ...] = ()
        modes = {each.mode.name for each in kernels}
        wanted = [space for space in spaces(operator, values) if not kernels or space.operator.name in modes]
        self.members = [ModeSearch(space, seed, kernels) for space in wanted]
        self._cases: list[Case] = []
        self._drawing = threading.Lock()
        self._searched = 0
        """Cases that were searched for here; others were read from the disk."""
        plain = values is None and not kernels
        self._stored = StoredCases.of(operator, seed) if plain else StoredCases(None)

    def take(self, count: int) -> tuple[Case, ...]:
        """The first ``count`` cases.

        Raises:
            NoCaseFound: no legal call was found for one of them.
        """
        with self._drawing:
            try:
                while len(self._cases) < count:
                    if not self._read_block():
                        self._search(len(self._cases) + 1)
            except BaseException:  # half a search leaves marks: whoever asks again starts anew
                stream_of.cache_clear()
                raise
            return tuple(self._cases[:count])

    def _read_block(self) -> bool:
        """Add the next cases as the disk has them; a search that has begun goes on by itself."""
        if self._searched or (block := self._stored.read(len(self._cases) // BLOCK)) is None:
            return False
        self.excluded = block.excluded
        for number, found in enumerate(block.cases, len(self._cases)):
            space = self.members[number % len(self.members)].space
            told = found.assignment, found.integers, found.attempt
            self._cases.append(Case(self.operator, space, self.seed, number, *told))
        return True

    def _search(self, count: int) -> None:
        """Search for cases until there are ``count``, from the first on: each depends on those before it."""
        if not self._searched:
            for member in self.members:
                member.prepare()
            excluded = dict.fromkeys(name for member in self.members for name in member.excluded)
            self.excluded = tuple(excluded)
        while self._searched < count:
            number = self._searched
            member = self.members[number % len(self.members)]
            case = member.next(self.operator, number, number // len(self.members))
            self._searched += 1
            if number == len(self._cases):
                self._cases.append(case)
                self._store_block()

    def _store_block(self) -> None:
        """Store the last cases, where they are a whole block."""
        number, rest = divmod(len(self._cases), BLOCK)
        if not rest:
            last = (Found(each.attempt, each.assignment, each.integers) for each in self._cases[-BLOCK:])
            self._stored.write(number - 1, Block(self.excluded, tuple(last)))


@lru_cache(maxsize=16)
def stream_of(operator: Operator, seed: int = 0, kernels: tuple[WantedKernel, ...] = ()) -> Stream:
    """The cases of an operator for a seed, drawn once a process: a case takes tenths of a second to find."""
    return Stream(operator, seed, kernels=kernels)


def spaces(operator: Operator, values: Values | None = None) -> list[CaseSpace]:
    """The case spaces of an operator and its modes, each with its values of the parameter that decides."""
    parameter, modes = operator.modes_by_value
    chosen = values or Values()
    if not modes:
        return [CaseSpace(operator, chosen)]
    legal = next(param for param in operator.params if param.name == parameter).choices.values()
    own = tuple(value for value in dict.fromkeys(legal) if value not in modes)
    only = [(operator, own), *((mode, (value,)) for value, mode in modes.items())]
    return [CaseSpace(each, chosen, {parameter: allowed}) for each, allowed in only]
