"""What index conditions say about a whole block of the score space, by interval arithmetic.

A block that a condition hides altogether is not computed, one that it leaves alone is not masked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.expr import intervals
from attndsl.expr.intervals import Range
from attndsl.graph.nodes import IndexCondition, Node, Replace
from attndsl.reference.blocks import Block, Part
from attndsl.reference.state import State

Known = dict[int, bool | None]
SMALLEST_CUT = 64  # keys; a smaller cut costs more than it saves


@dataclass(frozen=True)
class Masking:
    """A condition, and whether it hides (puts -inf)."""

    condition: IndexCondition
    hides: bool


class Visibility:
    """What the outermost conditions of some scores leave visible, block of queries by block of queries.

    Heads that the conditions cannot tell apart share what is found.
    """

    def __init__(self, state: State, scores: Node, step: int) -> None:
        self._state, self._step = state, step
        self._chain = outermost_conditions(scores)
        self._by_head = any("n" in each.condition.condition.symbols() for each in self._chain)
        self._found: dict[tuple[int, ...], list[Part]] = {}

    def parts(self, block: Block, keys: slice) -> list[Part]:
        """``keys`` in parts of at most ``step``, without what is hidden."""
        head = block.heads.start if self._by_head else -1
        place = (block.b, head, block.queries.start, keys.start, keys.stop)
        if place not in self._found:
            search = _Search(self._chain, conditions(self._state, block), self._step)
            self._found[place] = list(search.parts(keys)) if keys.start < keys.stop else []
        return self._found[place]


def outermost_conditions(scores: Node) -> list[Masking]:
    """The replacements by an index condition that nothing but each other is applied to, last one first."""
    chain = []
    while isinstance(scores, Replace) and isinstance(scores.condition, IndexCondition):
        chain.append(Masking(scores.condition, bool(np.isneginf(scores.value))))
        scores = scores.source
    return chain


@dataclass(frozen=True)
class _Search:
    """The search for the visible keys of one block of queries."""

    chain: list[Masking]
    conditions: Conditions
    step: int

    def parts(self, keys: slice) -> Iterator[Part]:
        """The visible parts of ``keys``, found by halves; a stretch that nothing divides is not searched."""
        known = self.known(keys)
        if self.hidden(known):
            return
        count = -(-(keys.stop - keys.start) // self.step)
        if None not in known.values():
            for start in range(keys.start, keys.stop, self.step):
                part = slice(start, min(start + self.step, keys.stop))
                yield Part(part, known, part)
        elif count == 1:
            keys = self.trimmed(keys, self.hidden)
            yield Part(keys, self.known(keys), self.trimmed(keys, _nowhere))
        else:
            middle = keys.start + count // 2 * self.step
            yield from self.parts(slice(keys.start, middle))
            yield from self.parts(slice(middle, keys.stop))

    def trimmed(self, keys: slice, drop: Callable[[Known], bool]) -> slice:
        """``keys`` without what is to be dropped at either end, in cuts of ``SMALLEST_CUT``."""
        last = keys.stop - self.cut(keys, drop, lambda size: slice(keys.stop - size, keys.stop))
        kept = slice(keys.start, last)
        return slice(
            keys.start + self.cut(kept, drop, lambda size: slice(kept.start, kept.start + size)), last
        )

    def cut(self, keys: slice, drop: Callable[[Known], bool], end: Callable[[int], slice]) -> int:
        """How many of ``keys`` are to be dropped at one end; where longer ends are, shorter ones are, too."""
        sizes = range(SMALLEST_CUT, keys.stop - keys.start + 1, SMALLEST_CUT)
        if not sizes or not drop(self.known(end(SMALLEST_CUT))):
            return 0
        return SMALLEST_CUT * bisect_left(sizes, True, key=lambda size: not drop(self.known(end(size))))

    def known(self, keys: slice) -> Known:
        """The values of all conditions on ``keys``."""
        return {id(each.condition): self.conditions.truth(each.condition, keys) for each in self.chain}

    def hidden(self, known: Known) -> bool:
        """Whether -inf is put everywhere, and nothing over it."""
        for each in self.chain:
            value = known[id(each.condition)]
            if value is not False and not each.hides:
                return False
            if value is True:
                return True
        return False


def _nowhere(known: Known) -> bool:
    return all(value is False for value in known.values())


@dataclass(frozen=True)
class Conditions:
    """The values of conditions for the heads and queries of a block."""

    spans: dict[str, Range]
    env: Mapping[str, Any]

    def truth(self, node: IndexCondition, keys: slice) -> bool | None:
        """The condition where it has one value on all of these keys, else None."""
        spans = {**self.spans, "j": (keys.start, keys.stop - 1)}
        always, ever = intervals.truth(node.condition, spans, self.env)
        return always if always == ever else None


def conditions(state: State, block: Block) -> Conditions:
    """What there is to know of conditions before a key is chosen."""
    indices = {"n": block.heads, "i": block.queries}
    spans = {name: (part.start, part.stop - 1) for name, part in indices.items()}
    return Conditions(spans, {**state.env, "b": block.b})


def truth(state: State, node: IndexCondition, block: Block) -> bool | None:
    """The condition where it has one value in all of the block, else None."""
    if id(node) in block.part.known:
        return block.part.known[id(node)]
    return conditions(state, block).truth(node, block.keys)
