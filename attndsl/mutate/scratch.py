"""Buffers of the vector pipe that hold nothing from one block of statements to another.

Each block that uses one writes it before it reads it, and calls nothing in between. Two such buffers may have
one place if their blocks are different ones, and a barrier stands between the last use of one and the first
of the other: behind the one or in front of the other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.base.facts import kept
from attndsl.mutate.instructions import EmittedText
from attndsl.mutate.source_model import Span, StatementText
from attndsl.mutate.turns import by_vector_pipe, uses_of

_Use = tuple[StatementText, str]
"""A statement that uses a buffer, and the buffer's name there."""


@dataclass(frozen=True)
class _Life:
    """A block that uses a buffer. ``opened``: with a barrier in front of the first use; ``closed``: with one
    behind the last."""

    block: Span
    opened: bool
    closed: bool


def are_scratch(kernel: EmittedText, one: str, other: str) -> bool:
    """Whether neither of two buffers, by the constants that are their addresses, holds anything while the
    other is in use."""
    first, second = (_all_lives(kernel).get(each, ()) for each in (one, other))
    return (
        bool(first)
        and bool(second)
        and all(
            (own.block.end <= its.block.start or its.block.end <= own.block.start)
            and (own.closed or its.opened)
            and (its.closed or own.opened)
            for own, its in itertools.product(first, second)
        )
    )


@kept
def _all_lives(kernel: EmittedText) -> dict[str, tuple[_Life, ...]]:
    return {buffer: _lives(kernel, buffer) for buffer in uses_of(kernel)}


def _lives(kernel: EmittedText, buffer: str) -> tuple[_Life, ...]:
    """The blocks that use a buffer; none if some keep what it holds, or another pipe takes it."""
    uses = uses_of(kernel).get(buffer, [])
    if not by_vector_pipe(kernel, uses):
        return ()
    found = list[_Life]()
    for function in dict.fromkeys(each.function for each, _ in uses):
        own = [use for use in uses if use[0].function == function]
        lives = _lives_in(kernel, kernel.body(function), own)
        if not lives:
            return ()
        found += lives
    return tuple(found)


def _lives_in(kernel: EmittedText, block: Span, uses: Sequence[_Use]) -> list[_Life]:
    """Those in a block: itself, or blocks in it; none if some use keeps what the buffer holds."""
    if _writes_first(kernel, block, uses):
        first, last = uses[0][0], uses[-1][0]
        inside = kernel.calls(Span(first.span.start, last.span.end))
        if any(call.name in kernel.functions for call in inside):
            return []
        return [_Life(block, *_barriers(kernel, block, first, last))]
    found = list[_Life]()
    children = [kernel.child(block, each.span.start) for each, _ in uses]
    for child in dict.fromkeys(children):
        if child is None:
            return []
        lives = _lives_in(kernel, child, [use for use, at in zip(uses, children, strict=True) if at == child])
        if not lives:
            return []
        found += lives
    return found


def _writes_first(kernel: EmittedText, block: Span, uses: Sequence[_Use]) -> bool:
    """Whether the first use of a buffer in a block writes it, always: in the block itself, or in both
    branches of a condition."""
    if not _writes(kernel, *uses[0]):
        return False
    child = kernel.child(block, uses[0][0].span.start)
    if child is None:
        return True
    branch = kernel.otherwise(child)
    if branch is None or kernel.code[: child.start - 1].rstrip()[-1:] != ")":
        return False
    inside = [use for use in uses if branch.start <= use[0].span.start < branch.end]
    return bool(inside) and _writes(kernel, *inside[0])


def _writes(kernel: EmittedText, statement: StatementText, member: str) -> bool:
    """Whether an instruction writes a buffer and does not read it."""
    call = kernel.leading_call(statement)
    if call is None or not call.arguments:
        return False
    first, *others = (kernel.code_at(each) for each in call.arguments)
    return re.match(rf"{member}\b", first) is not None and not any(
        re.search(rf"\b{member}\b", each) for each in others
    )


def _barriers(
    kernel: EmittedText, block: Span, first: StatementText, last: StatementText
) -> tuple[bool, bool]:
    """Whether barriers of a block itself stand in front of its first use of a buffer, and behind the last."""
    places = [
        each.span.start
        for each in kernel.functions[first.function]
        if block.start <= each.span.start < block.end
        and kernel.is_vector_barrier(each)
        and kernel.child(block, each.span.start) is None
    ]
    return any(at < first.span.start for at in places), any(at > last.span.start for at in places)
